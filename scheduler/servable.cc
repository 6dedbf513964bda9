#include "scheduler/servable.h"

#include <system_error>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/status_macros.h"
#include "scheduler/request_validation.h"
#include "scheduler/servable_state.h"

namespace inferd::scheduler {
namespace {

class ThreadedServable : public Servable {
 public:
  ThreadedServable(ServableOptions options, Clock& clock,
                   std::shared_ptr<ServableObserver> observer)
      : state_(std::make_shared<ServableState>(std::move(options), clock, std::move(observer))) {
    timer_ = clock.NewTimer([weak = std::weak_ptr<ServableState>(state_)] {
      if (auto state = weak.lock()) state->OnTimer();
    });
    state_->SetTimer(timer_.get());
  }

  absl::Status Start() {
    try {
      for (int i = 0; i < state_->num_instances(); ++i) {
        threads_.emplace_back([state = state_, i] { state->RunInstance(i); });
      }
    } catch (const std::system_error& e) {
      return absl::ResourceExhaustedError(absl::StrCat("no thread for instance ", threads_.size(),
                                                       " of model '", state_->options().model,
                                                       "': ", e.what()));
    }
    return absl::OkStatus();
  }

  ~ThreadedServable() override {
    state_->Drain(absl::InfinitePast());
    state_->Stop();
    timer_.reset();
    for (std::thread& thread : threads_) {
      // The last reference may be dropped by a `done` that runs on an instance's thread. It cannot
      // wait for itself; it ends on its own, and the state lives as long as it does.
      if (thread.get_id() == std::this_thread::get_id()) {
        thread.detach();
      } else {
        thread.join();
      }
    }
  }

  const ServableOptions& options() const override { return state_->options(); }
  std::shared_ptr<RequestHandle> Submit(std::unique_ptr<Request> request) override {
    return state_->Submit(std::move(request));
  }
  absl::Status WarmUp() override { return state_->WarmUp(); }
  void Drain(absl::Time deadline) override { state_->Drain(deadline); }
  ServableStatistics statistics() const override { return state_->statistics(); }

 private:
  const std::shared_ptr<ServableState> state_;
  std::unique_ptr<Timer> timer_;
  std::vector<std::thread> threads_;
};

}  // namespace

absl::string_view CloseReasonName(CloseReason reason) {
  switch (reason) {
    case CloseReason::kFull:
      return "full";
    case CloseReason::kBudget:
      return "budget";
    case CloseReason::kIdle:
      return "idle";
    case CloseReason::kDelay:
      return "delay";
    case CloseReason::kUnbatched:
      return "unbatched";
  }
  return "unknown";
}

absl::StatusOr<std::shared_ptr<Servable>> Servable::Create(
    ServableOptions options, Clock& clock, std::shared_ptr<ServableObserver> observer) {
  RETURN_IF_ERROR(CheckOptions(options));
  auto servable =
      std::make_shared<ThreadedServable>(std::move(options), clock, std::move(observer));
  RETURN_IF_ERROR(servable->Start());
  return servable;
}

}  // namespace inferd::scheduler
