// The threads around the policy core. Executions wait at gates and the clock is moved by hand, so
// nothing depends on how fast the machine is.
#include "scheduler/servable.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/blocking_counter.h"
#include "absl/synchronization/notification.h"
#include "scheduler/admission.h"
#include "tests/scheduler/fake_executor.h"
#include "tests/scheduler/manual_clock.h"

namespace inferd::scheduler {
namespace {

using absl::Milliseconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A request of one or several rows of two floats, and its answer.
class Call {
 public:
  explicit Call(float value, int64_t rows = 1)
      : data_(static_cast<size_t>(rows) * 2, value), rows_(rows) {
    request = std::make_unique<Request>();
    TensorView view;
    view.type = engine::ElementType::kFloat32;
    view.shape = {rows, 2};
    view.data = data_.data();
    request->inputs.push_back(view);
    request->payload = payload_;
    request->done = [this](Response r) {
      EXPECT_FALSE(done_.HasBeenNotified()) << "answered twice";
      response = std::move(r);
      done_.Notify();
    };
  }
  Call(const Call&) = delete;

  const Response& Wait() {
    done_.WaitForNotification();
    return response;
  }
  bool done() const { return done_.HasBeenNotified(); }
  float value(size_t i = 0) const { return response.outputs[0].view.as<float>()[i]; }
  const float* input() const { return data_.data(); }
  int64_t rows() const { return rows_; }
  // The test holds one reference.
  bool payload_released() const { return payload_.use_count() == 1; }

  std::unique_ptr<Request> request;
  std::shared_ptr<RequestHandle> handle;
  Response response;

 private:
  std::vector<float> data_;
  int64_t rows_;
  std::shared_ptr<int> payload_ = std::make_shared<int>(0);
  absl::Notification done_;
};

class Observer : public ServableObserver {
 public:
  void OnRequestDone(const absl::Status& status, const RequestTiming&, absl::Duration) override {
    absl::MutexLock lock(&mutex_);
    ++codes_[status.code()];
  }
  void OnBatch(CloseReason, int64_t rows, absl::Duration) override {
    absl::MutexLock lock(&mutex_);
    rows_.push_back(rows);
  }
  std::map<absl::StatusCode, int> codes() const {
    absl::MutexLock lock(&mutex_);
    return codes_;
  }
  std::vector<int64_t> rows() const {
    absl::MutexLock lock(&mutex_);
    return rows_;
  }

 private:
  mutable absl::Mutex mutex_;
  std::map<absl::StatusCode, int> codes_ ABSL_GUARDED_BY(mutex_);
  std::vector<int64_t> rows_ ABSL_GUARDED_BY(mutex_);
};

class ServableTest : public ::testing::Test {
 protected:
  ServableTest() {
    options_.model = "m";
    options_.version = "3";
    options_.batching.max_batch_size = 8;
    options_.inputs.push_back({"x", engine::ElementType::kFloat32, {-1, 2}});
    options_.outputs.push_back({"y", engine::ElementType::kFloat32, {-1, 2}});
  }
  ~ServableTest() override { gate_.Open(); }

  void Create(int instances = 1, FunctionExecutor::Function function = nullptr) {
    if (function == nullptr) {
      function = [this](auto inputs, auto* outputs) {
        gate_.Pass();
        return CopyInputs(inputs, outputs);
      };
    }
    for (int i = 0; i < instances; ++i) {
      options_.instances.emplace_back(InstanceOptions{},
                                      std::make_unique<FunctionExecutor>(function));
    }
    auto servable = Servable::Create(std::move(options_), clock_, observer_);
    ASSERT_TRUE(servable.ok()) << servable.status();
    servable_ = *std::move(servable);
  }

  void Submit(Call* call) { call->handle = servable_->Submit(std::move(call->request)); }
  // Occupies the first instance.
  void Block(Call* call, int arrived = 1) {
    Submit(call);
    gate_.AwaitArrived(arrived);
  }

  ManualClock clock_;
  Gate gate_;
  std::shared_ptr<Observer> observer_ = std::make_shared<Observer>();
  ServableOptions options_;
  std::shared_ptr<Servable> servable_;
};

TEST_F(ServableTest, AnswersWithModelVersionAndTiming) {
  Create();
  Call call(7);
  Block(&call);
  clock_.Advance(Milliseconds(4));
  gate_.Open();
  const Response& response = call.Wait();
  ASSERT_TRUE(response.status.ok()) << response.status;
  EXPECT_EQ(response.model_version, "3");
  EXPECT_EQ(call.value(), 7);
  EXPECT_EQ(response.timing.batch_size, 1);
  EXPECT_EQ(response.timing.compute_infer, Milliseconds(4));
  EXPECT_EQ(response.timing.queue, absl::ZeroDuration());
}

TEST_F(ServableTest, ABatchOfOneRunsOnTheReceivedBufferItself) {
  const void* seen = nullptr;
  Create(1, [&](auto inputs, auto* outputs) {
    seen = inputs[0].data;
    return CopyInputs(inputs, outputs);
  });
  Call call(1, 3);
  const void* received = call.input();
  Submit(&call);
  ASSERT_TRUE(call.Wait().status.ok());
  EXPECT_EQ(seen, received);
}

// Puts the call's row into pieces that its payload alone owns.
std::weak_ptr<const void> Scatter(Call* call) {
  struct Received {
    std::vector<uint8_t> bytes;
    std::vector<absl::Span<const uint8_t>> pieces;
  };
  auto received = std::make_shared<Received>();
  const auto* data = reinterpret_cast<const uint8_t*>(call->input());
  received->bytes.assign(data, data + 2 * sizeof(float));
  const absl::Span<const uint8_t> bytes(received->bytes);
  received->pieces = {bytes.first(3), bytes.subspan(3)};
  call->request->inputs[0].data = nullptr;
  call->request->pieces.assign(1, received->pieces);
  call->request->payload = received;
  return received;
}

TEST_F(ServableTest, PiecesLiveUntilTheLastRunThatReadsThem) {
  Create(1, [this](auto inputs, auto* outputs) {
    gate_.Pass();
    if (inputs[0].shape[0] > 1) return absl::InternalError("not together");
    return CopyInputs(inputs, outputs);
  });
  Call blocker(0);
  Block(&blocker);
  Call withdrawn(1), cancelled(2), retried(3);
  const auto withdrawn_payload = Scatter(&withdrawn);
  const auto cancelled_payload = Scatter(&cancelled);
  const auto retried_payload = Scatter(&retried);
  for (Call* call : {&withdrawn, &cancelled, &retried}) Submit(call);
  withdrawn.handle->Cancel();
  EXPECT_TRUE(withdrawn_payload.expired());
  gate_.LetOnePass();
  gate_.AwaitArrived(2);  // the batch of the other two
  cancelled.handle->Cancel();
  EXPECT_EQ(cancelled.Wait().status.code(), absl::StatusCode::kCancelled);
  EXPECT_FALSE(cancelled_payload.expired()) << "it belongs to the batch that runs";
  gate_.Open();
  ASSERT_TRUE(retried.Wait().status.ok()) << retried.response.status;
  EXPECT_EQ(retried.value(), 3);
  EXPECT_TRUE(cancelled_payload.expired());
  servable_->Drain(absl::InfiniteFuture());
  EXPECT_TRUE(retried_payload.expired());
}

TEST_F(ServableTest, PiecesOfTheWrongLengthAreRefused) {
  Create();
  Call call(1);
  Scatter(&call);
  call.request->inputs[0].shape = {2, 2};
  Submit(&call);
  EXPECT_EQ(call.Wait().status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(call.response.status.message()), HasSubstr("pieces of 8 bytes"));
}

TEST_F(ServableTest, RequestsThatGatherRunAsOneBatchAndGetTheirOwnRowsBack) {
  Create();
  Call blocker(0);
  Block(&blocker);
  std::vector<std::unique_ptr<Call>> calls;
  for (int i = 1; i <= 3; ++i) {
    calls.push_back(std::make_unique<Call>(static_cast<float>(i), i));
    Submit(calls.back().get());
  }
  EXPECT_EQ(servable_->statistics().queue_depth, 3);
  EXPECT_EQ(servable_->statistics().in_flight, 4);
  gate_.Open();
  for (int i = 1; i <= 3; ++i) {
    const Response& response = calls[i - 1]->Wait();
    ASSERT_TRUE(response.status.ok()) << response.status;
    EXPECT_EQ(response.timing.batch_size, 6);
    ASSERT_EQ(response.outputs.size(), 1);
    EXPECT_EQ(response.outputs[0].view.shape, engine::Shape({i, 2}));
    for (int k = 0; k < 2 * i; ++k) EXPECT_EQ(calls[i - 1]->value(k), i);
  }
  // Views of one output buffer, not copies.
  EXPECT_EQ(calls[0]->response.outputs[0].buffer.get(), calls[2]->response.outputs[0].buffer.get());
  EXPECT_THAT(observer_->rows(), ElementsAre(1, 6));
  const ServableStatistics statistics = servable_->statistics();
  EXPECT_EQ(statistics.success.count, 4);
  EXPECT_EQ(statistics.inference_count, 7);
  EXPECT_EQ(statistics.execution_count, 2);
  EXPECT_EQ(statistics.batches.at(6).executions, 1);
  EXPECT_EQ(statistics.close_reasons[static_cast<int>(CloseReason::kIdle)], 2);
  EXPECT_EQ(statistics.in_flight, 0);
}

TEST_F(ServableTest, ABadRequestFailsAloneAndCostsItsBatchMatesNothing) {
  Create(1, [this](auto inputs, auto* outputs) {
    gate_.Pass();
    for (float v : inputs[0].template span<float>()) {
      if (v == 13) return absl::InvalidArgumentError("unlucky");
    }
    return CopyInputs(inputs, outputs);
  });
  Call blocker(0);
  Block(&blocker);
  Call good(1), bad(13), fine(2, 2);
  for (Call* call : {&good, &bad, &fine}) Submit(call);
  gate_.Open();
  EXPECT_TRUE(good.Wait().status.ok());
  EXPECT_EQ(good.value(), 1);
  EXPECT_EQ(bad.Wait().status, absl::InvalidArgumentError("unlucky"));
  EXPECT_TRUE(bad.response.outputs.empty());
  EXPECT_TRUE(fine.Wait().status.ok());
  EXPECT_EQ(fine.value(3), 2);
  EXPECT_EQ(fine.response.timing.batch_size, 2);
  const ServableStatistics statistics = servable_->statistics();
  EXPECT_EQ(statistics.retried, 3);
  EXPECT_EQ(statistics.fail.count, 1);
  EXPECT_EQ(statistics.success.count, 3);
  EXPECT_EQ(statistics.execution_count, 3);
}

TEST_F(ServableTest, ExceptionsOfLibrariesBecomeStatuses) {
  Create(1, [](auto, auto*) -> absl::Status { throw std::bad_alloc(); });
  Call call(1);
  Submit(&call);
  EXPECT_EQ(call.Wait().status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(servable_->statistics().rejected, 0) << "it was not admission that refused it";
}

TEST_F(ServableTest, OutputsThatDoNotFollowTheBatchAreAnErrorThatSaysWhatToDo) {
  Create(1, [](auto, auto* outputs) {
    outputs->assign(1, engine::Tensor::FromValues<float>({3, 2}, std::vector<float>(6)));
    return absl::OkStatus();
  });
  Call call(1);
  Submit(&call);
  const absl::Status& status = call.Wait().status;
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
  EXPECT_THAT(std::string(status.message()), HasSubstr("'y'"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("max_batch_size: 1"));
}

TEST_F(ServableTest, InvalidRequestsNeverReachABatch) {
  Create();
  Call call(1, 9);
  Submit(&call);
  EXPECT_EQ(call.Wait().status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(gate_.arrived(), 0);
  EXPECT_TRUE(call.payload_released());
  EXPECT_EQ(servable_->statistics().fail.count, 0);
  EXPECT_EQ(observer_->codes()[absl::StatusCode::kInvalidArgument], 1);
}

TEST_F(ServableTest, DeadlinesExpireByTimerWhileTheInstanceIsBusy) {
  Create();
  Call blocker(0);
  Block(&blocker);
  Call call(1);
  call.request->deadline = clock_.Now() + Milliseconds(5);
  Submit(&call);
  EXPECT_EQ(clock_.NextTimer(), clock_.Now() + Milliseconds(5));
  clock_.Advance(Milliseconds(5) - absl::Nanoseconds(1));
  EXPECT_FALSE(call.done());
  clock_.Advance(absl::Nanoseconds(1));
  ASSERT_TRUE(call.done()) << "answered by the timer, before the clock moves on";
  EXPECT_EQ(call.response.status.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_EQ(call.response.timing.queue, Milliseconds(5));
  EXPECT_TRUE(call.payload_released());
  EXPECT_EQ(servable_->statistics().expired, 1);
  gate_.Open();
  EXPECT_TRUE(blocker.Wait().status.ok());
}

TEST_F(ServableTest, ARunningRequestIsAnsweredAtItsDeadlineAndItsResultDiscarded) {
  Create();
  Call call(1);
  call.request->deadline = clock_.Now() + Milliseconds(5);
  Block(&call);
  clock_.Advance(Milliseconds(5));
  ASSERT_TRUE(call.done());
  EXPECT_EQ(call.response.status.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_FALSE(call.payload_released()) << "the executor still reads it";
  EXPECT_EQ(servable_->statistics().in_flight, 1);
  gate_.Open();
  Call next(2);
  Submit(&next);
  EXPECT_TRUE(next.Wait().status.ok());
  EXPECT_TRUE(call.payload_released());
}

TEST_F(ServableTest, QueueTimeoutWorksForUnbatchedModelsToo) {
  options_.batching.max_batch_size = 1;
  options_.queue.timeout = Milliseconds(20);
  Create();
  Call blocker(0);
  Block(&blocker);
  Call call(1);
  Submit(&call);
  clock_.Advance(Milliseconds(20));
  EXPECT_TRUE(call.done());
  EXPECT_EQ(call.response.status.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_FALSE(blocker.done()) << "it had left the queue in time";
  gate_.Open();
  EXPECT_TRUE(blocker.Wait().status.ok());
}

TEST_F(ServableTest, CancelDropsQueuedWork) {
  Create();
  Call blocker(0);
  Block(&blocker);
  Call call(1);
  Submit(&call);
  call.handle->Cancel();
  EXPECT_TRUE(call.done());
  EXPECT_EQ(call.response.status.code(), absl::StatusCode::kCancelled);
  EXPECT_TRUE(call.payload_released());
  call.handle->Cancel();
  EXPECT_EQ(servable_->statistics().queue_depth, 0);
  EXPECT_EQ(servable_->statistics().cancelled, 1);
  gate_.Open();
  blocker.Wait();
  EXPECT_EQ(gate_.arrived(), 1);
}

TEST_F(ServableTest, CancelDiscardsTheResultOfRunningWork) {
  Create();
  Call call(1);
  Block(&call);
  call.handle->Cancel();
  EXPECT_TRUE(call.done());
  EXPECT_EQ(call.response.status.code(), absl::StatusCode::kCancelled);
  gate_.Open();
  servable_->Drain(absl::InfiniteFuture());
  EXPECT_EQ(servable_->statistics().success.count, 0);
}

TEST_F(ServableTest, CancelAfterCompletionAndAfterTheServableIsGoneIsHarmless) {
  Create();
  gate_.Open();
  Call call(1);
  Submit(&call);
  EXPECT_TRUE(call.Wait().status.ok());
  call.handle->Cancel();
  servable_.reset();
  call.handle->Cancel();
}

TEST_F(ServableTest, AFullQueueRefusesAtOnceWithAHint) {
  options_.queue.max_requests = 2;
  Create();
  Call running(0), waiting(1), excess(2);
  Block(&running);
  Submit(&waiting);
  Submit(&excess);
  ASSERT_TRUE(excess.done());
  EXPECT_EQ(excess.response.status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(RetryAfter(excess.response.status).has_value());
  EXPECT_EQ(servable_->statistics().rejected, 1);
  gate_.Open();
  EXPECT_TRUE(waiting.Wait().status.ok());
}

TEST_F(ServableTest, UnbatchedRequestsRunSideBySideOnSeveralInstances) {
  options_.batching.max_batch_size = 1;
  options_.inputs[0].dims = {1, 2};
  Create(3);
  Call a(1), b(2), c(3);
  for (Call* call : {&a, &b, &c}) Submit(call);
  gate_.AwaitArrived(3);
  gate_.Open();
  for (Call* call : {&a, &b, &c}) EXPECT_TRUE(call->Wait().status.ok());
  EXPECT_EQ(servable_->statistics().close_reasons[static_cast<int>(CloseReason::kUnbatched)], 3);
}

TEST_F(ServableTest, PreserveOrderReleasesAnswersInTheOrderOfArrival) {
  options_.batching.max_batch_size = 1;
  options_.batching.preserve_order = true;
  std::map<float, Gate> gates;
  for (float v : {1.f, 2.f, 3.f}) gates[v];
  Create(3, [&](auto inputs, auto* outputs) {
    gates.at(inputs[0].template as<float>()[0]).Pass();
    return CopyInputs(inputs, outputs);
  });
  absl::Mutex mutex;
  std::vector<float> order;
  absl::BlockingCounter left(3);
  std::vector<std::unique_ptr<Call>> calls;
  for (float v : {1.f, 2.f, 3.f}) {
    calls.push_back(std::make_unique<Call>(v));
    calls.back()->request->done = [&, v](Response r) {
      EXPECT_TRUE(r.status.ok());
      {
        absl::MutexLock lock(&mutex);
        order.push_back(v);
      }
      left.DecrementCount();
    };
    Submit(calls.back().get());
    gates.at(v).AwaitArrived(1);
  }
  for (float v : {3.f, 2.f, 1.f}) {
    gates.at(v).Open();
    if (v != 1) {
      absl::MutexLock lock(&mutex);
      EXPECT_TRUE(order.empty());
    }
  }
  left.Wait();
  EXPECT_THAT(order, ElementsAre(1, 2, 3));
}

TEST_F(ServableTest, PreserveOrderDoesNotWaitForWhatWasCancelled) {
  options_.batching.max_batch_size = 1;
  options_.batching.preserve_order = true;
  Create(2);
  Call first(1), second(2);
  Submit(&first);
  Submit(&second);
  gate_.AwaitArrived(2);
  first.handle->Cancel();
  EXPECT_TRUE(first.done());
  gate_.Open();
  EXPECT_TRUE(second.Wait().status.ok());
  servable_->Drain(absl::InfiniteFuture());
}

TEST_F(ServableTest, DrainFinishesWhatWasAdmittedAndRefusesTheRest) {
  Create();
  Call running(0), waiting(1);
  Block(&running);
  Submit(&waiting);
  std::thread drain([&] { servable_->Drain(absl::InfiniteFuture()); });
  // Admission closes before Drain waits; until then requests are served as ever.
  while (true) {
    Call late(2);
    Submit(&late);
    late.handle->Cancel();
    if (late.Wait().status.code() == absl::StatusCode::kUnavailable) break;
  }
  gate_.Open();
  drain.join();
  EXPECT_TRUE(running.done() && running.response.status.ok());
  EXPECT_TRUE(waiting.done() && waiting.response.status.ok());
}

TEST_F(ServableTest, DrainFailsWhatIsLeftAtItsDeadline) {
  Create();
  Call running(0), waiting(1);
  Block(&running);
  Submit(&waiting);
  const absl::Time deadline = clock_.Now() + absl::Seconds(1);
  std::thread drain([&] { servable_->Drain(deadline); });
  while (clock_.NextTimer() != deadline) std::this_thread::yield();
  clock_.Advance(absl::Seconds(1));
  drain.join();
  for (Call* call : {&running, &waiting}) {
    ASSERT_TRUE(call->done());
    EXPECT_EQ(call->response.status.code(), absl::StatusCode::kUnavailable);
  }
  gate_.Open();
  servable_.reset();
}

TEST_F(ServableTest, DestructionAnswersEverything) {
  Create();
  Call running(0), waiting(1);
  Block(&running);
  Submit(&waiting);
  std::thread destroy([&] { servable_.reset(); });
  EXPECT_EQ(waiting.Wait().status.code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(running.Wait().status.code(), absl::StatusCode::kUnavailable);
  gate_.Open();
  destroy.join();
}

TEST_F(ServableTest, TheLastReferenceMayBeDroppedByAnAnswer) {
  Create();
  gate_.Open();
  absl::Notification destroyed;
  Call call(1);
  struct Holder {
    std::shared_ptr<Servable> servable;
    absl::Notification* destroyed;
    ~Holder() {
      servable.reset();
      destroyed->Notify();
    }
  };
  auto holder = std::make_shared<Holder>();
  holder->servable = servable_;
  holder->destroyed = &destroyed;
  absl::Notification released;
  call.request->done = [holder, &released](Response) mutable {
    released.WaitForNotification();
    holder.reset();
  };
  holder.reset();
  Submit(&call);
  servable_.reset();
  released.Notify();
  destroyed.WaitForNotification();
}

TEST_F(ServableTest, WarmUpRunsEveryBucketOnEveryInstanceAndSeedsTheModel) {
  absl::Mutex mutex;
  std::map<int64_t, int> runs;
  options_.batching.max_batch_size = 6;
  Create(2, [&](auto inputs, auto* outputs) {
    {
      absl::MutexLock lock(&mutex);
      ++runs[inputs[0].shape[0]];
    }
    for (float v : inputs[0].template span<float>()) EXPECT_EQ(v, 0);
    clock_.Advance(Milliseconds(10 + inputs[0].shape[0]));
    return CopyInputs(inputs, outputs);
  });
  ASSERT_TRUE(servable_->WarmUp().ok());
  EXPECT_THAT(runs, ElementsAre(testing::Pair(1, 4), testing::Pair(2, 4), testing::Pair(4, 4),
                                testing::Pair(6, 4)));
  const ServableStatistics statistics = servable_->statistics();
  EXPECT_EQ(statistics.estimated_compute.at(4), Milliseconds(14));
  EXPECT_EQ(statistics.execution_count, 0) << "warm-up is not traffic";
}

TEST_F(ServableTest, WarmUpErrorsNameInstanceAndBatchSize) {
  Create(1, [](auto inputs, auto* outputs) {
    if (inputs[0].shape[0] == 4) return absl::InternalError("no plan");
    return CopyInputs(inputs, outputs);
  });
  const absl::Status status = servable_->WarmUp();
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
  EXPECT_THAT(std::string(status.message()), HasSubstr("instance 0, batch size 4: no plan"));
}

TEST_F(ServableTest, WarmUpSkipsModelsWithFreeDimensions) {
  options_.inputs[0].dims = {-1, -1};
  Create();
  EXPECT_TRUE(servable_->WarmUp().ok());
  EXPECT_EQ(gate_.arrived(), 0);
}

TEST_F(ServableTest, BusyRatioIsTheShareOfTimeInstancesRan) {
  Create(2);
  Call call(1);
  Block(&call);
  clock_.Advance(absl::Seconds(10));
  EXPECT_NEAR(servable_->statistics().instance_busy_ratio, 0.5, 0.01);
  gate_.Open();
  call.Wait();
  servable_->Drain(absl::InfiniteFuture());
  clock_.Advance(absl::Seconds(20));
  EXPECT_EQ(servable_->statistics().instance_busy_ratio, 0);
}

TEST_F(ServableTest, ManyThreadsGetEachTheirOwnAnswerOnce) {
  options_.queue.max_requests = 64;
  options_.queue.priorities = 2;
  options_.instances.clear();
  gate_.Open();
  Create(3);
  constexpr int kThreads = 4;
  constexpr int kCalls = 500;
  std::atomic<int> served{0}, cancelled{0}, refused{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      std::vector<std::unique_ptr<Call>> calls;
      for (int i = 0; i < kCalls; ++i) {
        calls.push_back(std::make_unique<Call>(static_cast<float>(t * kCalls + i), 1 + i % 3));
        Call* call = calls.back().get();
        call->request->priority = i % 2;
        Submit(call);
        if (i % 7 == 0) call->handle->Cancel();
        if (i % 16 == 15) call->Wait();
      }
      for (size_t i = 0; i < calls.size(); ++i) {
        const Response& response = calls[i]->Wait();
        if (response.status.ok()) {
          ++served;
          for (int64_t k = 0; k < 2 * calls[i]->rows(); ++k) {
            EXPECT_EQ(calls[i]->value(static_cast<size_t>(k)),
                      static_cast<float>(t * kCalls + static_cast<int>(i)));
          }
        } else if (response.status.code() == absl::StatusCode::kCancelled) {
          ++cancelled;
        } else {
          EXPECT_EQ(response.status.code(), absl::StatusCode::kResourceExhausted);
          ++refused;
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(served + cancelled + refused, kThreads * kCalls);
  servable_->Drain(absl::InfiniteFuture());
  const ServableStatistics statistics = servable_->statistics();
  EXPECT_EQ(statistics.success.count, served);
  EXPECT_EQ(statistics.cancelled, cancelled);
  EXPECT_EQ(statistics.rejected, refused);
  EXPECT_EQ(statistics.in_flight, 0);
  EXPECT_EQ(statistics.queue_bytes, 0);
}

TEST_F(ServableTest, ContradictingOptionsAreRefused) {
  auto error = [&](auto change) {
    ServableOptions options;
    options.model = "m";
    options.inputs = options_.inputs;
    options.outputs = options_.outputs;
    options.instances.emplace_back(InstanceOptions{},
                                   std::make_unique<FunctionExecutor>(CopyInputs));
    change(&options);
    return std::string(Servable::Create(std::move(options), clock_, nullptr).status().message());
  };
  EXPECT_EQ(error([](ServableOptions*) {}), "");
  EXPECT_THAT(error([](ServableOptions* o) { o->instances.clear(); }), HasSubstr("no instance"));
  EXPECT_THAT(error([](ServableOptions* o) { o->batching.preferred_sizes = {4}; }),
              HasSubstr("preferred size 4"));
  EXPECT_THAT(error([](ServableOptions* o) {
                o->batching.max_batch_size = 4;
                o->outputs[0].dims = {5, 2};
              }),
              HasSubstr("'y' has shape [5,2] without a free first dimension"));
  EXPECT_THAT(error([](ServableOptions* o) { o->queue.max_requests = 0; }),
              HasSubstr("max_requests"));
  EXPECT_THAT(error([](ServableOptions* o) { o->batching.latency_budget = absl::ZeroDuration(); }),
              HasSubstr("latency_budget"));
}

}  // namespace
}  // namespace inferd::scheduler
