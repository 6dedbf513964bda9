// The published state of a repository: what lookups read while loads and unloads go on.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "model_repository/repository.h"

namespace inferd::repository {

// One model at one moment. Immutable.
struct ModelView {
  struct Version {
    int64_t number = 0;
    ModelState state = ModelState::kUnknown;
    std::string reason;
    std::shared_ptr<const ModelVersion> ready;  // null unless served
  };
  std::vector<Version> versions;            // ascending
  ModelState state = ModelState::kUnknown;  // of a model without versions
  std::string reason;                       // likewise
};

// By name. Immutable.
using IndexSnapshot = absl::flat_hash_map<std::string, std::shared_ptr<const ModelView>>;

// Hands the current snapshot to many threads at once. Each thread locks a shard of its own, so
// that lookups do not meet on one lock; a swap visits all shards. Thread-safe.
class PublishedIndex {
 public:
  PublishedIndex();

  // After the return no lookup sees the old snapshot any more.
  void Swap(std::shared_ptr<const IndexSnapshot> snapshot);
  std::shared_ptr<const IndexSnapshot> Get() const;
  // As ModelRepository::Find.
  absl::StatusOr<std::shared_ptr<const ModelVersion>> Find(absl::string_view name,
                                                           absl::string_view version) const;

 private:
  static constexpr int kShards = 16;
  struct alignas(64) Shard {
    mutable absl::Mutex mu;
    std::shared_ptr<const IndexSnapshot> snapshot ABSL_GUARDED_BY(mu);
  };
  const Shard& ShardOfThread() const;

  std::array<Shard, kShards> shards_;
};

}  // namespace inferd::repository
