// The repository over local directories.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "model_repository/directory_scan.h"
#include "model_repository/index.h"
#include "model_repository/lease.h"
#include "model_repository/model_plan.h"
#include "model_repository/repository.h"

namespace inferd::repository {

// State lives in `models_` under one mutex that is held for bookkeeping only; every change is
// published as a new immutable snapshot, which is all that lookups see. Loading and draining hold
// no lock: a model being changed is marked busy, and a second change of it waits for that.
class DirectoryRepository final : public ModelRepository {
 public:
  explicit DirectoryRepository(RepositoryOptions options) : options_(std::move(options)) {}
  ~DirectoryRepository() override;

  // Picks up new directories and new problems; loads and unloads nothing.
  absl::Status Rescan();

  void LoadAll() override;
  absl::Status Load(const std::string& name) override;
  absl::Status Unload(const std::string& name, absl::Time drain_deadline) override;
  absl::StatusOr<std::shared_ptr<const ModelVersion>> Find(
      absl::string_view name, absl::string_view version) const override;
  std::vector<IndexEntry> Index() const override;
  std::vector<std::shared_ptr<const ModelVersion>> ReadyVersions() const override;
  bool Ready() const override;
  void Shutdown(absl::Time drain_deadline) override;

 private:
  struct Version {
    ModelState state = ModelState::kUnknown;
    std::string reason;
    std::shared_ptr<Lease> lease;  // null unless served
    std::string fingerprint;       // of what is served
  };
  struct Model {
    std::string path;
    absl::Status problem;
    bool busy = false;    // a Load or Unload is at work
    bool wanted = false;  // counts for readiness
    std::map<int64_t, Version> versions;
    ModelState state = ModelState::kUnknown;  // while there are no versions
    std::string reason;
  };

  // Marks `name` busy for its life; waits for whoever has it.
  class Claim;

  absl::Status LoadClaimed(const std::string& name);
  absl::Status LoadOneVersion(const std::string& name, const ModelPlan& plan,
                              const VersionDirectory& directory);
  // Records that the model as a whole cannot be loaded; what is served stays.
  absl::Status FailModel(const std::string& name, const absl::Status& status);
  // Takes versions `doomed` out of service, publishes, and drains them.
  void RetireVersions(const std::string& name, const std::set<int64_t>& doomed,
                      absl::Time deadline);
  // Waits until no Load or Unload is at work.
  bool AwaitIdle(absl::Duration patience);
  static std::shared_ptr<const ModelView> ViewOf(const Model& model);
  void PublishAll() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Publish(const std::string& name) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void UpdateReady() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Report(const std::string& name, const std::string& version, const absl::Status& status);

  const RepositoryOptions options_;
  mutable absl::Mutex mu_;
  std::map<std::string, Model> models_ ABSL_GUARDED_BY(mu_);
  bool stopping_ ABSL_GUARDED_BY(mu_) = false;
  bool loaded_all_ ABSL_GUARDED_BY(mu_) = false;
  std::atomic<bool> ready_{false};
  PublishedIndex index_;
};

}  // namespace inferd::repository
