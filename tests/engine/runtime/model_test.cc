#include "engine/runtime/model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <thread>

#include "engine/passes/pass.h"
#include "tests/engine/runtime/test_graphs.h"

namespace inferd::engine {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr char kMlp[] = R"(
graph mlp (x: float[batch,2]) -> (y) {
  w = constant float[2,3] {1,0,-1, 2,1,0}
  h = MatMul(x, w)
  y = Relu(h)
})";

TEST(ModelTest, RunsAGraph) {
  absl::StatusOr<std::shared_ptr<Model>> model = ModelFromText(kMlp);
  ASSERT_TRUE(model.ok()) << model.status();
  ASSERT_EQ((*model)->inputs().size(), 1u);
  EXPECT_EQ((*model)->inputs()[0].name, "x");
  EXPECT_EQ((*model)->outputs()[0].name, "y");
  auto context = ContextFor(**model);
  auto outputs = RunOnce(*context, {Floats({2, 2}, {1, 1, -1, 2})});
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  EXPECT_EQ((*outputs)[0].shape(), (Shape{2, 3}));
  EXPECT_THAT(ValuesOf((*outputs)[0]), ElementsAre(3, 1, 0, 3, 2, 1));
}

TEST(ModelTest, EagerGivesTheSameAndShowsEveryTensor) {
  ModelOptions options;
  options.eager = true;
  absl::StatusOr<std::shared_ptr<Model>> model = ModelFromText(kMlp, options);
  ASSERT_TRUE(model.ok()) << model.status();
  auto context = ContextFor(**model);
  std::map<std::string, std::vector<float>> seen;
  context->SetObserver([&](absl::string_view name, const TensorView& view) {
    const auto span = view.span<float>();
    seen[std::string(name)] = {span.begin(), span.end()};
  });
  auto outputs = RunOnce(*context, {Floats({1, 2}, {-1, -1})});
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  EXPECT_THAT(seen["h"], ElementsAre(-3, -1, 1));
  EXPECT_THAT(seen["y"], ElementsAre(0, 0, 1));
}

TEST(ModelTest, WrongInputsAreNamed) {
  auto model = *ModelFromText(R"(
graph g (image: float[n,3,4], label: int64[n]) -> (image2, label2) {
  image2 = Relu(image)
  label2 = Neg(label)
})");
  auto context = ContextFor(*model);
  const Tensor image = Ramp({2, 3, 4});
  const Tensor label = Tensor::Vector({1, 2});
  const auto error = [&](const std::vector<Tensor>& inputs) {
    const auto outputs = RunOnce(*context, inputs);
    EXPECT_EQ(outputs.status().code(), absl::StatusCode::kInvalidArgument);
    return std::string(outputs.status().message());
  };
  EXPECT_THAT(error({image}), AllOf(HasSubstr("expected 2 inputs"), HasSubstr("found 1")));
  EXPECT_THAT(error({label, label}),
              AllOf(HasSubstr("image"), HasSubstr("float"), HasSubstr("int64")));
  EXPECT_THAT(error({Ramp({2, 5, 4}), label}), AllOf(HasSubstr("image"), HasSubstr("[2,5,4]")));
  EXPECT_THAT(error({Ramp({3, 4}), label}), AllOf(HasSubstr("image"), HasSubstr("[3,4]")));
  EXPECT_THAT(error({image, Tensor()}), AllOf(HasSubstr("label"), HasSubstr("missing")));
  // Null data is no tensor either.
  std::vector<Tensor> outputs;
  const TensorView nothing{ElementType::kInt64, Shape{2}, Layout::Plain(), nullptr};
  EXPECT_THAT(std::string(context->Run({image.view(), nothing}, &outputs).message()),
              HasSubstr("label"));
  // The symbol n is advice: the two may differ.
  EXPECT_TRUE(RunOnce(*context, {Ramp({5, 3, 4}), label}).ok());
}

TEST(ModelTest, AnErrorLeavesTheContextUsable) {
  auto model = *ModelFromText(R"(
graph g (a: float[?,?], b: float[?,?]) -> (c) {
  c = MatMul(a, b)
})");
  auto context = ContextFor(*model);
  std::vector<Tensor> outputs;
  for (int round = 0; round < 3; ++round) {
    const auto bad = RunOnce(*context, {Ramp({2, 3}), Ramp({2, 3})});
    EXPECT_EQ(bad.status().code(), absl::StatusCode::kInvalidArgument) << bad.status();
    const auto good = RunOnce(*context, {Ramp({1, 2}), Ramp({2, 2})});
    ASSERT_TRUE(good.ok()) << good.status();
    EXPECT_THAT(ValuesOf((*good)[0]), ElementsAre(2, 3));
  }
}

TEST(ModelTest, OutputsStayWhileHeldAcrossRuns) {
  auto model = *ModelFromText("graph g (x: float[n]) -> (y) {\n  y = Neg(x)\n}");
  auto context = ContextFor(*model);
  std::vector<Tensor> held;
  for (int i = 0; i < 20; ++i) {
    held.push_back((*RunOnce(*context, {Floats({1}, {static_cast<float>(i)})}))[0]);
  }
  for (int i = 0; i < 20; ++i) EXPECT_THAT(ValuesOf(held[i]), ElementsAre(-i));
  context.reset();
  model.reset();
  for (int i = 0; i < 20; ++i) EXPECT_THAT(ValuesOf(held[i]), ElementsAre(-i));
}

TEST(ModelTest, AnOutputMayBeTheNextInput) {
  auto model = *ModelFromText(
      "graph g (x: float[n]) -> (y) {\n  one = constant float[] {1}\n  y = Add(x, one)\n}");
  auto context = ContextFor(*model);
  std::vector<Tensor> state = {Floats({3}, {0, 10, 20})};
  for (int i = 0; i < 5; ++i) {
    const TensorView input = state[0].view();
    ASSERT_TRUE(context->Run({input}, &state).ok());
  }
  EXPECT_THAT(ValuesOf(state[0]), ElementsAre(5, 15, 25));
}

TEST(ModelTest, InputsAndConstantsAsOutputsAreCopies) {
  auto model = *ModelFromText(R"(
graph g (x: float[n]) -> (x, y, k, k) {
  k = constant float[2] {7,8}
  y = Identity(x)
})");
  auto context = ContextFor(*model);
  const Tensor x = Floats({2}, {1, 2});
  auto outputs = RunOnce(*context, {x});
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  EXPECT_THAT(ValuesOf((*outputs)[0]), ElementsAre(1, 2));
  EXPECT_THAT(ValuesOf((*outputs)[1]), ElementsAre(1, 2));
  EXPECT_THAT(ValuesOf((*outputs)[2]), ElementsAre(7, 8));
  EXPECT_THAT(ValuesOf((*outputs)[3]), ElementsAre(7, 8));
  EXPECT_NE((*outputs)[0].view().data, x.view().data);
  EXPECT_NE((*outputs)[1].view().data, x.view().data);
}

TEST(ModelTest, ZeroSizeTensors) {
  auto model = *ModelFromText(R"(
graph g (x: float[n,3]) -> (y, s) {
  a = Relu(x)
  y = Concat{axis=0}(a, x)
  s = ReduceSum(x)
})");
  auto context = ContextFor(*model);
  auto outputs = RunOnce(*context, {Floats({0, 3}, {})});
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  EXPECT_EQ((*outputs)[0].shape(), (Shape{0, 3}));
  EXPECT_THAT(ValuesOf((*outputs)[1]), ElementsAre(0));
  // An empty input may come without an address.
  std::vector<Tensor> again;
  const TensorView empty{ElementType::kFloat32, Shape{0, 3}, Layout::Plain(), nullptr};
  EXPECT_TRUE(context->Run({empty}, &again).ok());
}

TEST(ModelTest, Strings) {
  auto model = *ModelFromText(R"(
graph g (x: string[n]) -> (y, z) {
  t = Concat{axis=0}(x, x)
  y = Concat{axis=0}(t, x)
  z = Identity(x)
})");
  auto context = ContextFor(*model);
  const std::vector<std::string> words = {"a", std::string(100, 'b')};
  const Tensor x = Tensor::FromValues<std::string>({2}, words);
  for (int i = 0; i < 3; ++i) {
    auto outputs = RunOnce(*context, {x});
    ASSERT_TRUE(outputs.ok()) << outputs.status();
    EXPECT_THAT((*outputs)[0].values<std::string>(),
                ElementsAre("a", words[1], "a", words[1], "a", words[1]));
    EXPECT_THAT((*outputs)[1].values<std::string>(), ElementsAre("a", words[1]));
  }
}

TEST(ModelTest, ContextsInParallelGiveEqualResults) {
  auto model = *ModelFromText(R"(
graph g (x: float[n,8]) -> (y) {
  w = constant float[8,8] {1,2,3,4,5,6,7,8, 2,3,4,5,6,7,8,9, 3,4,5,6,7,8,9,1, 4,5,6,7,8,9,1,2, 5,6,7,8,9,1,2,3, 6,7,8,9,1,2,3,4, 7,8,9,1,2,3,4,5, 8,9,1,2,3,4,5,6}
  a = MatMul(x, w)
  b = Relu(a)
  c = MatMul(b, w)
  d = Sub(c, a)
  y = Softmax{axis=1}(d)
})");
  std::vector<std::vector<float>> expected;
  auto reference = ContextFor(*model);
  for (int n = 1; n <= 6; ++n) {
    expected.push_back(ValuesOf((*RunOnce(*reference, {Ramp({n, 8}, 1e-3f)}))[0]));
  }
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      auto context = ContextFor(*model);
      for (int i = 0; i < 50; ++i) {
        const int n = 1 + (i + t) % 6;
        auto outputs = RunOnce(*context, {Ramp({n, 8}, 1e-3f)});
        ASSERT_TRUE(outputs.ok()) << outputs.status();
        ASSERT_EQ(ValuesOf((*outputs)[0]), expected[n - 1]);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(ModelTest, ReportNamesProviderAndKernelOfEveryNode) {
  auto model = *ModelFromText(kMlp);
  auto report = model->Report({Shape{4, 2}}, 1);
  ASSERT_TRUE(report.ok()) << report.status();
  ASSERT_FALSE(report->empty());
  for (const NodeReport& node : *report) {
    EXPECT_FALSE(node.node.empty());
    EXPECT_FALSE(node.op.empty());
    EXPECT_FALSE(node.provider.empty());
    EXPECT_FALSE(node.kernel.empty());
  }
  EXPECT_FALSE(model->Report({Shape{4, 3}}, 1).ok());
  EXPECT_FALSE(model->Report({}, 1).ok());
}

TEST(ModelTest, ProfileTimesNodes) {
  auto model = *ModelFromText(kMlp);
  auto context = *model->NewContext({.threads = 1, .profile = true});
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(RunOnce(*context, {Ramp({1, 2})}).ok());
  const std::vector<NodeProfile> profile = context->Profile();
  ASSERT_FALSE(profile.empty());
  for (const NodeProfile& node : profile) EXPECT_EQ(node.runs, 3);
  EXPECT_TRUE(ContextFor(*model)->Profile().empty());
}

TEST(ModelTest, MemoryIsCounted) {
  auto model = *ModelFromText(R"(
graph g (x: float[n,1000]) -> (y) {
  a = Exp(x)
  b = Softmax{axis=0}(a)
  y = Sub(a, b)
})");
  EXPECT_EQ(model->memory().arena_bytes, 0);
  auto context = ContextFor(*model);
  {
    auto outputs = RunOnce(*context, {Ramp({4, 1000}, 1e-4f)});
    ASSERT_TRUE(outputs.ok()) << outputs.status();
    EXPECT_GE(model->memory().output_bytes, 16000);
    EXPECT_GE(model->memory().arena_bytes, 16000);
  }
  context.reset();
  EXPECT_EQ(model->memory().arena_bytes, 0);
  EXPECT_EQ(model->memory().output_bytes, 0);
}

TEST(ModelTest, BadOptionsAreRefused) {
  ModelOptions options;
  options.max_cached_plans = 0;
  EXPECT_FALSE(ModelFromText(kMlp, options).ok());
  options = {};
  options.disabled_passes = {"no_such_pass"};
  EXPECT_THAT(std::string(ModelFromText(kMlp, options).status().message()),
              HasSubstr("no_such_pass"));
  auto model = *ModelFromText(kMlp);
  EXPECT_FALSE(model->NewContext({.threads = 0}).ok());
  EXPECT_FALSE(model->NewContext({.threads = 1000000}).ok());
}

}  // namespace
}  // namespace inferd::engine
