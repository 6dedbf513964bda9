#include "model_repository/lease.h"

#include <utility>

namespace inferd::repository {

std::shared_ptr<Lease> Lease::Make(std::unique_ptr<const ModelVersion> version) {
  std::shared_ptr<Lease> lease(new Lease);
  // The deleter keeps the lease alive as long as anybody holds the version.
  std::shared_ptr<const ModelVersion> shared(
      version.release(), [lease](const ModelVersion* last) { lease->Returned(last); });
  absl::MutexLock lock(&lease->mu_);
  lease->shared_ = std::move(shared);
  return lease;
}

std::shared_ptr<const ModelVersion> Lease::shared() const {
  absl::MutexLock lock(&mu_);
  return shared_;
}

void Lease::Returned(const ModelVersion* version) {
  std::unique_ptr<const ModelVersion> owned(version);
  absl::MutexLock lock(&mu_);
  if (!abandoned_) returned_ = std::move(owned);
  // Otherwise `owned` goes after the lock, in this thread: the servable is drained by then, so
  // this is no instance's thread.
}

void Lease::Retire(absl::Time deadline, const scheduler::Clock& clock) {
  std::shared_ptr<const ModelVersion> held;
  {
    absl::MutexLock lock(&mu_);
    held = std::move(shared_);
  }
  if (held == nullptr) return;
  const std::shared_ptr<scheduler::Servable> servable = held->servable;
  held.reset();
  {
    const absl::Duration patience =
        deadline == absl::InfiniteFuture() ? absl::InfiniteDuration() : deadline - clock.Now();
    absl::MutexLock lock(&mu_);
    mu_.AwaitWithTimeout(
        absl::Condition(
            +[](std::unique_ptr<const ModelVersion>* r) { return *r != nullptr; }, &returned_),
        std::max(patience, absl::ZeroDuration()));
  }
  if (servable != nullptr) servable->Drain(deadline);
  std::unique_ptr<const ModelVersion> owned;
  absl::MutexLock lock(&mu_);
  owned = std::move(returned_);
  abandoned_ = true;
}

}  // namespace inferd::repository
