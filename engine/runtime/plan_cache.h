// Plans by key: bounded, least recently used goes first, one compilation per key.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "absl/hash/hash.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/span.h"
#include "engine/compile/plan.h"

namespace inferd::engine {

// Thread-safe. A plan that is evicted lives on while a context runs it.
class PlanCache {
 public:
  using Key = absl::Span<const int64_t>;
  using Compile = absl::FunctionRef<absl::StatusOr<std::shared_ptr<const Plan>>()>;

  // `capacity` >= 1.
  explicit PlanCache(int capacity) : capacity_(capacity) {}

  // A hit allocates nothing. Callers that ask for a key while it is being compiled wait and get
  // the same plan, or the same error; an error is not kept.
  absl::StatusOr<std::shared_ptr<const Plan>> Get(Key key, Compile compile);

  struct Statistics {
    int64_t hits = 0;
    int64_t misses = 0;
    int64_t evictions = 0;
    int size = 0;
  };
  Statistics statistics() const;

 private:
  struct Entry {
    std::vector<int64_t> key;
    absl::Mutex mutex;
    bool done ABSL_GUARDED_BY(mutex) = false;
    absl::Status status ABSL_GUARDED_BY(mutex);
    std::shared_ptr<const Plan> plan ABSL_GUARDED_BY(mutex);
  };
  using Order = std::list<std::shared_ptr<Entry>>;
  struct KeyHash {
    using is_transparent = void;
    size_t operator()(Key key) const { return absl::Hash<Key>()(key); }
  };
  struct KeyEqual {
    using is_transparent = void;
    bool operator()(Key a, Key b) const { return a == b; }
  };

  void Forget(const std::shared_ptr<Entry>& entry);

  const int capacity_;
  mutable absl::Mutex mutex_;
  Order order_ ABSL_GUARDED_BY(mutex_);  // most recently used first
  // Keys are views of the entries' own.
  absl::flat_hash_map<Key, Order::iterator, KeyHash, KeyEqual> entries_ ABSL_GUARDED_BY(mutex_);
  Statistics statistics_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace inferd::engine
