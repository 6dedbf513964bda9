// Shared ownership of a model version whose end somebody waits for.
#pragma once

#include <memory>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "model_repository/repository.h"

namespace inferd::repository {

// Requests hold a version through `shared()`. The last of them may go in an instance's own thread,
// where the servable must not be destroyed (it would wait for that very thread); so the version
// then goes back to the lease, and its keeper destroys it. Thread-safe.
class Lease {
 public:
  static std::shared_ptr<Lease> Make(std::unique_ptr<const ModelVersion> version);

  // Null after Retire.
  std::shared_ptr<const ModelVersion> shared() const;

  // Gives up the keeper's hold, waits until no request holds the version or until `deadline`,
  // drains the servable, and destroys the version; where requests hold on to it beyond that, the
  // last of them does. Blocks.
  void Retire(absl::Time deadline, const scheduler::Clock& clock);

 private:
  Lease() = default;
  void Returned(const ModelVersion* version);

  mutable absl::Mutex mu_;
  std::shared_ptr<const ModelVersion> shared_ ABSL_GUARDED_BY(mu_);
  std::unique_ptr<const ModelVersion> returned_ ABSL_GUARDED_BY(mu_);
  bool abandoned_ ABSL_GUARDED_BY(mu_) = false;
};

}  // namespace inferd::repository
