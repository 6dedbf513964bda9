// Inputs with a default: constants unless fed.
#include "engine/runtime/optional_inputs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <string>
#include <thread>

#include "absl/strings/str_cat.h"
#include "engine/whole_file.h"
#include "tests/engine/onnx/model_text.h"

namespace inferd::engine {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// y = reshape(x * w + b, shape); w, shape and b have defaults, and stand around x in the file.
std::string Text() {
  return ModelText(13, FloatInput("w", "N") + FloatInput("x", "4") + InputText("shape", 7, "2") +
                           FloatInput("b", "1") + FloatsText("w", "4", {1, 2, 3, 4}) +
                           FloatsText("b", "1", {0}) + IntsText("shape", {2, 2}) +
                           NodeText("Mul", "x,w", "m") + NodeText("Add", "m,b", "a") +
                           NodeText("Reshape", "a,shape", "y") + OutputText("y"));
}

Tensor Floats(const std::vector<float>& values) {
  return Tensor::FromValues<float>({static_cast<int64_t>(values.size())}, values);
}

class OptionalInputsTest : public ::testing::Test {
 protected:
  void Load(const ModelOptions& options = {}) {
    auto model = Model::LoadFromBytes(ModelBytes(Text()), "", options);
    ASSERT_TRUE(model.ok()) << model.status();
    model_ = *std::move(model);
    auto context = model_->NewContext({1, false});
    ASSERT_TRUE(context.ok()) << context.status();
    context_ = *std::move(context);
  }
  std::vector<float> Run(const TensorView& w, const TensorView& shape, const TensorView& b) {
    const Tensor x = Floats({1, 1, 1, 1});
    const absl::Status status = context_->Run({w, x.view(), shape, b}, &outputs_);
    EXPECT_TRUE(status.ok()) << status;
    if (!status.ok()) return {};
    const auto values = outputs_[0].values<float>();
    return {values.begin(), values.end()};
  }

  std::shared_ptr<Model> model_;
  std::unique_ptr<Context> context_;
  std::vector<Tensor> outputs_;
};

TEST_F(OptionalInputsTest, AreListedInTheOrderOfTheFile) {
  Load();
  std::vector<std::string> names;
  for (const TensorInfo& info : model_->inputs()) {
    names.push_back(absl::StrCat(info.name, info.optional ? "?" : ""));
  }
  EXPECT_THAT(names, ElementsAre("w?", "x", "shape?", "b?"));
  EXPECT_EQ(model_->inputs()[0].type.ToString(), "float[N]");
  EXPECT_THAT(model_->notes(), ElementsAre(HasSubstr("3 inputs have a default")));
}

TEST_F(OptionalInputsTest, AnyOfThemMayBeFed) {
  for (bool eager : {false, true}) {
    ModelOptions options;
    options.eager = eager;
    Load(options);
    const Tensor w = Floats({5, 6, 7, 8});
    const Tensor b = Floats({10});
    const Tensor shape = Tensor::Vector(std::vector<int64_t>{4, 1});
    EXPECT_THAT(Run({}, {}, {}), ElementsAre(1, 2, 3, 4));
    EXPECT_EQ(outputs_[0].shape(), (Shape{2, 2}));
    EXPECT_THAT(Run(w.view(), {}, {}), ElementsAre(5, 6, 7, 8));
    EXPECT_THAT(Run({}, {}, b.view()), ElementsAre(11, 12, 13, 14));
    EXPECT_THAT(Run(w.view(), shape.view(), b.view()), ElementsAre(15, 16, 17, 18));
    EXPECT_EQ(outputs_[0].shape(), (Shape{4, 1}));
    EXPECT_THAT(Run({}, shape.view(), {}), ElementsAre(1, 2, 3, 4));
    EXPECT_THAT(Run({}, {}, {}), ElementsAre(1, 2, 3, 4)) << "the default is still there";
    EXPECT_EQ(outputs_[0].shape(), (Shape{2, 2}));
  }
}

TEST_F(OptionalInputsTest, WhatIsFedIsChecked) {
  Load();
  const Tensor x = Floats({1, 1, 1, 1});
  const Tensor wrong = Floats({1, 2, 3});
  absl::Status status =
      context_->Run({TensorView(), x.view(), TensorView(), wrong.view()}, &outputs_);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("input \"b\": expected shape [1]"));
  status = context_->Run({x.view(), TensorView(), TensorView(), TensorView()}, &outputs_);
  EXPECT_THAT(std::string(status.message()), HasSubstr("input \"x\": is missing"));
  status = context_->Run({x.view()}, &outputs_);
  EXPECT_THAT(std::string(status.message()), HasSubstr("expected 4 inputs (w, x, shape, b)"));
}

TEST_F(OptionalInputsTest, ContextsOfOneModelMayFeedDifferentOnes) {
  Load();
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      auto context = model_->NewContext({1, false});
      ASSERT_TRUE(context.ok());
      const Tensor x = Floats({1, 1, 1, 1});
      const Tensor b = Floats({static_cast<float>(t)});
      std::vector<Tensor> outputs;
      for (int i = 0; i < 20; ++i) {
        const TensorView fed = t % 2 == 0 ? TensorView() : b.view();
        ASSERT_TRUE((*context)->Run({TensorView(), x.view(), TensorView(), fed}, &outputs).ok());
        EXPECT_EQ(outputs[0].values<float>()[0], t % 2 == 0 ? 1 : 1 + t);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_F(OptionalInputsTest, AChangedFileIsNotReadAgain) {
  const std::string path =
      absl::StrCat(::testing::TempDir(), "/optional_inputs_", ::getpid(), ".onnx");
  ASSERT_TRUE(WriteFile(path, ModelBytes(Text())).ok());
  auto model = Model::Load(path, {});
  ASSERT_TRUE(model.ok()) << model.status();
  auto context = (*model)->NewContext({1, false});
  ASSERT_TRUE(context.ok());
  const Tensor x = Floats({1, 1, 1, 1});
  const Tensor b = Floats({3});
  ASSERT_TRUE((*context)->Run({TensorView(), x.view(), TensorView(), b.view()}, &outputs_).ok());
  EXPECT_EQ(outputs_[0].values<float>()[0], 4);
  ASSERT_TRUE(WriteFile(path, "another model").ok());
  // What is known goes on; what would have to be read fails.
  EXPECT_TRUE((*context)->Run({TensorView(), x.view(), TensorView(), b.view()}, &outputs_).ok());
  const absl::Status status =
      (*context)->Run({x.view(), x.view(), TensorView(), TensorView()}, &outputs_);
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("has changed since it was loaded"));
  std::remove(path.c_str());
}

}  // namespace
}  // namespace inferd::engine
