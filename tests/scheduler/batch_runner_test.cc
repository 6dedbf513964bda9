// Gathering, splitting and checking, without threads.
#include "scheduler/batch_runner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <numeric>
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
  // Cuts input `input` of the request added last into pieces of `sizes`, over and over. Each lies
  // alone in memory at an odd address; the whole is gone.
  void Scatter(size_t input, const std::vector<size_t>& sizes) {
    Request& request = *requests_.back();
    TensorView& view = request.inputs[input];
    auto scattered = std::make_unique<Scattered>();
    const auto* data = static_cast<const uint8_t*>(view.data);
    size_t left = static_cast<size_t>(view.num_bytes());
    for (size_t i = 0; left > 0; ++i) {
      const size_t size = std::min(sizes[i % sizes.size()], left);
      auto& block = scattered->blocks.emplace_back(new uint8_t[size + 1]);
      if (size > 0) std::memcpy(block.get() + 1, data, size);
      scattered->pieces.emplace_back(block.get() + 1, size);
      data += size;
      left -= size;
    }
    view.data = nullptr;
    request.pieces.resize(request.inputs.size());
    request.pieces[input] = scattered->pieces;
    scattered_.push_back(std::move(scattered));
    tensors_.back()[input] = Tensor();
  }
  void Run() { runner_->Run(absl::MakeSpan(items_), &report_); }

  struct Scattered {
    std::vector<std::unique_ptr<uint8_t[]>> blocks;
    std::vector<absl::Span<const uint8_t>> pieces;
  };

  ManualClock clock_;
  ServableOptions options_;
  std::unique_ptr<BatchRunner> runner_;
  std::vector<std::unique_ptr<Request>> requests_;
  std::vector<std::vector<Tensor>> tensors_;
  std::vector<std::unique_ptr<Scattered>> scattered_;
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

Tensor Counting(int64_t rows, int64_t columns, int32_t first) {
  std::vector<int32_t> values(static_cast<size_t>(rows * columns));
  std::iota(values.begin(), values.end(), first);
  return Tensor::FromValues<int32_t>({rows, columns}, values);
}

std::vector<int32_t> CountingValues(int64_t count, int32_t first) {
  std::vector<int32_t> values(static_cast<size_t>(count));
  std::iota(values.begin(), values.end(), first);
  return values;
}

TEST_F(BatchRunnerTest, ARequestAloneIsBoundWhereItLiesUnlessItIsScattered) {
  AddInput("whole", ElementType::kInt32, {-1, 5});
  AddInput("pieces", ElementType::kInt32, {-1, 5});
  AddInput("left_out", ElementType::kInt32, {-1, 5}, /*optional=*/true);
  std::vector<TensorView> seen;
  Create([&](auto inputs, auto* outputs) {
    seen.assign(inputs.begin(), inputs.end());
    const absl::Status status = CopyInputs(inputs.subspan(0, 2), outputs);
    outputs->push_back(outputs->front());
    return status;
  });
  const void* staging = nullptr;
  for (int round = 0; round < 2; ++round) {
    items_.clear();
    Add(3, {Counting(3, 5, 100), Counting(3, 5, 200), Tensor()});
    Scatter(1, {1, 7, 0, 13});
    Run();
    ASSERT_TRUE(items_[0].response.status.ok()) << items_[0].response.status;
    EXPECT_EQ(seen[0].data, requests_.back()->inputs[0].data) << "copied without need";
    EXPECT_EQ(reinterpret_cast<uintptr_t>(seen[1].data) % engine::kBufferAlignment, 0u);
    EXPECT_EQ(seen[1].shape, Shape({3, 5}));
    EXPECT_EQ(seen[2].data, nullptr);
    EXPECT_EQ(Values<int32_t>(items_[0].response.outputs[0]), CountingValues(15, 100));
    EXPECT_EQ(Values<int32_t>(items_[0].response.outputs[1]), CountingValues(15, 200));
    if (round == 0) staging = seen[1].data;
  }
  EXPECT_EQ(seen[1].data, staging) << "the staging buffer is reused";
}

TEST_F(BatchRunnerTest, ScatteredInputsOfAnyTypeAndRankRunUnbatched) {
  options_.batching.max_batch_size = 1;
  AddInput("scalar", ElementType::kFloat64, {});
  AddInput("matrix", ElementType::kInt32, {-1, -1});
  AddInput("packed", ElementType::kInt4, {-1, 3});
  Create(CopyInputs);
  Tensor packed = *Tensor::Allocate(ElementType::kInt4, {3, 3});
  std::memcpy(packed.view().data, "abcde", 5);
  Add(1, {Tensor::Scalar<double>(0.1), Counting(7, 3, 1), packed});
  Scatter(0, {3});
  Scatter(1, {1});
  Scatter(2, {2});
  Run();
  ASSERT_TRUE(items_[0].response.status.ok()) << items_[0].response.status;
  EXPECT_THAT(Values<double>(items_[0].response.outputs[0]), ElementsAre(0.1));
  EXPECT_EQ(Values<int32_t>(items_[0].response.outputs[1]), CountingValues(21, 1));
  EXPECT_EQ(items_[0].response.outputs[1].view.shape, Shape({7, 3}));
  EXPECT_EQ(0, std::memcmp(items_[0].response.outputs[2].view.data, "abcde", 5));
}

TEST_F(BatchRunnerTest, WholeAndScatteredRequestsShareABatch) {
  AddInput("a", ElementType::kInt32, {-1, 6});
  AddInput("b", ElementType::kUint8, {-1});
  AddInput("s", ElementType::kString, {-1});
  Create(CopyInputs);
  auto bytes = [](uint8_t first) { return Tensor::FromValues<uint8_t>({2}, {first, 255}); };
  auto strings = [](const char* text) { return Tensor::FromValues<std::string>({2}, {text, ""}); };
  Add(2, {Counting(2, 6, 0), bytes(1), strings("x")});
  Add(2, {Counting(2, 6, 100), bytes(2), strings("y")});
  Scatter(0, {5, 1, 30});
  Add(2, {Counting(2, 6, 200), bytes(3), strings("z")});
  Scatter(0, {1000});
  Scatter(1, {1});
  Run();
  EXPECT_TRUE(report_.first_try);
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(items_[i].response.status.ok()) << items_[i].response.status;
    EXPECT_EQ(Values<int32_t>(items_[i].response.outputs[0]), CountingValues(12, 100 * i));
    EXPECT_THAT(Values<uint8_t>(items_[i].response.outputs[1]), ElementsAre(i + 1, 255));
    EXPECT_THAT(Values<std::string>(items_[i].response.outputs[2]),
                ElementsAre(std::string(1, static_cast<char>('x' + i)), ""));
  }
}

TEST_F(BatchRunnerTest, ScatteredRequestsOfAFailedBatchRunAlone) {
  AddInput("a", ElementType::kInt32, {-1, 4});
  Create([](auto inputs, auto* outputs) {
    const auto values = inputs[0].template span<int32_t>();
    if (std::find(values.begin(), values.end(), -1) != values.end()) {
      return absl::InvalidArgumentError("a negative element");
    }
    return CopyInputs(inputs, outputs);
  });
  for (int32_t first : {10, -2, 30}) {
    Add(1, {Counting(1, 4, first)});
    Scatter(0, {3});
  }
  Add(1, {Counting(1, 4, 40)});
  Run();
  EXPECT_FALSE(report_.first_try);
  EXPECT_EQ(report_.retried, 4);
  EXPECT_EQ(Values<int32_t>(items_[0].response.outputs[0]), CountingValues(4, 10));
  EXPECT_EQ(items_[1].response.status, absl::InvalidArgumentError("a negative element"));
  EXPECT_EQ(Values<int32_t>(items_[2].response.outputs[0]), CountingValues(4, 30));
  EXPECT_EQ(Values<int32_t>(items_[3].response.outputs[0]), CountingValues(4, 40));
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
