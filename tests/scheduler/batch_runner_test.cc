// Gathering, splitting and checking, without threads.
#include "scheduler/batch_runner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/scheduler/fake_executor.h"
#include "tests/scheduler/manual_clock.h"

namespace inferd::scheduler {
namespace {

using engine::ElementType;
using engine::Shape;
using engine::Tensor;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class BatchRunnerTest : public ::testing::Test {
 protected:
  BatchRunnerTest() {
    options_.model = "m";
    options_.batching.max_batch_size = 8;
  }
  void AddInput(const std::string& name, ElementType type, std::vector<int64_t> dims,
                bool optional = false) {
    options_.inputs.push_back({name, type, dims, optional});
    options_.outputs.push_back({name + "_out", type, dims});
  }
  void Create(FunctionExecutor::Function function) {
    runner_ = std::make_unique<BatchRunner>(
        options_, std::make_unique<FunctionExecutor>(std::move(function)), clock_);
  }
  // A request from tensors; undefined ones are left out.
  BatchItem* Add(int64_t rows, std::vector<Tensor> tensors) {
    auto request = std::make_unique<Request>();
    for (const Tensor& tensor : tensors) {
      request->inputs.push_back(tensor.defined() ? tensor.view() : TensorView{});
    }
    requests_.push_back(std::move(request));
    tensors_.push_back(std::move(tensors));
    BatchItem item;
    item.request = requests_.back().get();
    item.rows = rows;
    items_.push_back(std::move(item));
    return &items_.back();
  }
  void Run() { runner_->Run(absl::MakeSpan(items_), &report_); }

  ManualClock clock_;
  ServableOptions options_;
  std::unique_ptr<BatchRunner> runner_;
  std::vector<std::unique_ptr<Request>> requests_;
  std::vector<std::vector<Tensor>> tensors_;
  std::vector<BatchItem> items_;
  RunReport report_;
};

template <typename T>
std::vector<T> Values(const OutputSlice& slice) {
  const auto span = slice.view.span<T>();
  return std::vector<T>(span.begin(), span.end());
}

TEST_F(BatchRunnerTest, JoinsAndSplitsSeveralInputsOfDifferentTypes) {
  AddInput("a", ElementType::kInt32, {-1, 2});
  AddInput("b", ElementType::kUint8, {-1});
  Create(CopyInputs);
  Add(1, {Tensor::FromValues<int32_t>({1, 2}, {1, 2}), Tensor::FromValues<uint8_t>({1}, {9})});
  Add(2, {Tensor::FromValues<int32_t>({2, 2}, {3, 4, 5, 6}),
          Tensor::FromValues<uint8_t>({2}, {8, 7})});
  Run();
  EXPECT_TRUE(report_.first_try);
  ASSERT_EQ(items_[0].response.outputs.size(), 2);
  EXPECT_THAT(Values<int32_t>(items_[0].response.outputs[0]), ElementsAre(1, 2));
  EXPECT_THAT(Values<int32_t>(items_[1].response.outputs[0]), ElementsAre(3, 4, 5, 6));
  EXPECT_THAT(Values<uint8_t>(items_[1].response.outputs[1]), ElementsAre(8, 7));
  EXPECT_EQ(items_[1].response.outputs[0].view.shape, Shape({2, 2}));
}

TEST_F(BatchRunnerTest, StringsAreCopiedAsObjects) {
  AddInput("s", ElementType::kString, {-1, 2});
  Create(CopyInputs);
  const std::string longer(100, 'x');
  for (int round = 0; round < 2; ++round) {
    items_.clear();
    Add(1, {Tensor::FromValues<std::string>({1, 2}, {"one", longer})});
    Add(1, {Tensor::FromValues<std::string>({1, 2}, {"", "four"})});
    Run();
    EXPECT_THAT(Values<std::string>(items_[0].response.outputs[0]), ElementsAre("one", longer));
    EXPECT_THAT(Values<std::string>(items_[1].response.outputs[0]), ElementsAre("", "four"));
    // The inputs are whole still.
    EXPECT_EQ(items_[0].request->inputs[0].as<std::string>()[1], longer);
  }
}

TEST_F(BatchRunnerTest, StagingIsReusedAndTheReceivedBuffersAreNotTouched) {
  AddInput("a", ElementType::kFloat32, {-1, 4});
  std::vector<const void*> addresses;
  Create([&](auto inputs, auto* outputs) {
    addresses.push_back(inputs[0].data);
    return CopyInputs(inputs, outputs);
  });
  for (int round = 0; round < 3; ++round) {
    items_.clear();
    for (int i = 0; i < 8; ++i) {
      Add(1, {Tensor::FromValues<float>({1, 4}, std::vector<float>(4, i))});
    }
    Run();
    for (int i = 0; i < 8; ++i) {
      EXPECT_THAT(Values<float>(items_[i].response.outputs[0]), testing::Each(i));
    }
  }
  EXPECT_EQ(addresses[0], addresses[1]);
  EXPECT_EQ(addresses[1], addresses[2]);
}

TEST_F(BatchRunnerTest, OutputsSurviveTheNextBatch) {
  AddInput("a", ElementType::kFloat32, {-1});
  Create(CopyInputs);
  Add(1, {Tensor::FromValues<float>({1}, {5})});
  Add(1, {Tensor::FromValues<float>({1}, {6})});
  Run();
  const OutputSlice kept = items_[1].response.outputs[0];
  items_.clear();
  Add(1, {Tensor::FromValues<float>({1}, {7})});
  Add(1, {Tensor::FromValues<float>({1}, {8})});
  Run();
  EXPECT_THAT(Values<float>(kept), ElementsAre(6));
}

TEST_F(BatchRunnerTest, OptionalInputsStayLeftOut) {
  AddInput("a", ElementType::kFloat32, {-1});
  AddInput("b", ElementType::kFloat32, {-1}, /*optional=*/true);
  Create([](auto inputs, auto* outputs) {
    EXPECT_EQ(inputs[1].data, nullptr);
    auto copy = CopyInputs(inputs.subspan(0, 1), outputs);
    outputs->push_back(outputs->front());
    return copy;
  });
  Add(1, {Tensor::FromValues<float>({1}, {5}), Tensor()});
  Add(1, {Tensor::FromValues<float>({1}, {6}), Tensor()});
  Run();
  EXPECT_TRUE(report_.first_try);
  EXPECT_THAT(Values<float>(items_[1].response.outputs[1]), ElementsAre(6));
}

TEST_F(BatchRunnerTest, EmptyTensorsAreNotLeftOut) {
  AddInput("a", ElementType::kFloat32, {-1, -1});
  Create([](auto inputs, auto* outputs) {
    EXPECT_NE(inputs[0].data, nullptr);
    return CopyInputs(inputs, outputs);
  });
  for (int requests : {1, 2}) {
    items_.clear();
    for (int i = 0; i < requests; ++i) {
      Add(3, {Tensor()});
      TensorView& view = requests_.back()->inputs[0];
      view.type = ElementType::kFloat32;
      view.shape = {3, 0};
    }
    Run();
    EXPECT_TRUE(items_[0].response.status.ok()) << items_[0].response.status;
    EXPECT_EQ(items_[0].response.outputs[0].view.shape, Shape({3, 0}));
  }
}

TEST_F(BatchRunnerTest, PackedRowsThatDoNotEndAtAByteRunAlone) {
  AddInput("a", ElementType::kInt4, {-1, 3});
  int executions = 0;
  Create([&](auto inputs, auto* outputs) {
    ++executions;
    EXPECT_EQ(inputs[0].shape[0], 1);
    return CopyInputs(inputs, outputs);
  });
  for (int i = 0; i < 2; ++i) Add(1, {*Tensor::Allocate(ElementType::kInt4, {1, 3})});
  Run();
  EXPECT_EQ(executions, 2);
  EXPECT_EQ(report_.retried, 2);
  for (const BatchItem& item : items_) EXPECT_TRUE(item.response.status.ok());
}

TEST_F(BatchRunnerTest, AbandonedRequestsAreNotRetried) {
  AddInput("a", ElementType::kFloat32, {-1});
  int executions = 0;
  Create([&](auto, auto*) {
    ++executions;
    return absl::InternalError("no");
  });
  std::atomic<bool> abandoned{true};
  for (int i = 0; i < 3; ++i) Add(1, {Tensor::FromValues<float>({1}, {1})});
  items_[1].abandoned = &abandoned;
  Run();
  EXPECT_EQ(executions, 3);
  EXPECT_EQ(report_.retried, 2);
  EXPECT_FALSE(items_[1].response.status.ok());
}

TEST_F(BatchRunnerTest, TheExecutorStaysUsableAfterAFailure) {
  AddInput("a", ElementType::kFloat32, {-1});
  bool fail = true;
  Create([&](auto inputs, auto* outputs) {
    return fail ? absl::InternalError("no") : CopyInputs(inputs, outputs);
  });
  Add(1, {Tensor::FromValues<float>({1}, {1})});
  Run();
  EXPECT_EQ(items_[0].response.status, absl::InternalError("no"));
  fail = false;
  items_[0].response = Response();
  Run();
  EXPECT_TRUE(items_[0].response.status.ok());
}

TEST_F(BatchRunnerTest, WrongNumberOfOutputsAndMissingOutputsAreErrors) {
  AddInput("a", ElementType::kFloat32, {-1});
  bool none = true;
  Create([&](auto, auto* outputs) {
    outputs->assign(none ? 0 : 1, Tensor());
    return absl::OkStatus();
  });
  Add(1, {Tensor::FromValues<float>({1}, {1})});
  Run();
  EXPECT_THAT(std::string(items_[0].response.status.message()),
              HasSubstr("produced 0 outputs instead of 1"));
  none = false;
  Run();
  EXPECT_THAT(std::string(items_[0].response.status.message()),
              HasSubstr("did not produce output 'a_out'"));
}

TEST_F(BatchRunnerTest, PhasesAreTimed) {
  AddInput("a", ElementType::kFloat32, {-1});
  Create([&](auto inputs, auto* outputs) {
    clock_.Advance(absl::Milliseconds(3));
    return CopyInputs(inputs, outputs);
  });
  Add(2, {Tensor::FromValues<float>({2}, {1, 2})});
  Run();
  ASSERT_EQ(report_.executions.size(), 1);
  EXPECT_EQ(report_.executions[0].rows, 2);
  EXPECT_EQ(report_.executions[0].compute_infer, absl::Milliseconds(3));
  EXPECT_EQ(items_[0].response.timing.compute_infer, absl::Milliseconds(3));
}

}  // namespace
}  // namespace inferd::scheduler
