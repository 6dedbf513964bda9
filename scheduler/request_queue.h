// The waiting requests of one servable.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/container/btree_set.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"
#include "absl/time/time.h"

namespace inferd::scheduler {

// What must be equal for requests to share a batch: the dimensions other than the batch of every
// input, and which inputs are present.
using ShapeSignature = absl::InlinedVector<int64_t, 12>;

struct Bucket;

// What the policies know of a request. Owned by the caller, who keeps it in place from Push until
// it has left the queue.
struct QueueEntry {
  int64_t rows = 1;
  int64_t bytes = 0;
  int priority = 0;  // 0 is the most urgent
  absl::Time arrival;
  absl::Time deadline = absl::InfiniteFuture();  // the client's own
  ShapeSignature signature;

  // Set by the batcher on admission.
  absl::Time expiry = absl::InfiniteFuture();     // answered DEADLINE_EXCEEDED at this instant
  absl::Time finish_by = absl::InfiniteFuture();  // to be answered by now: deadline or budget
  absl::Time urgency = absl::InfiniteFuture();    // place within its priority level
  uint64_t sequence = 0;                          // order of admission
  enum class State : uint8_t { kNew, kQueued, kRunning, kLeft };
  State state = State::kNew;
  Bucket* bucket = nullptr;
};

// (priority, urgency, admission) ascending.
struct EntryOrder {
  bool operator()(const QueueEntry* a, const QueueEntry* b) const {
    if (a->priority != b->priority) return a->priority < b->priority;
    if (a->urgency != b->urgency) return a->urgency < b->urgency;
    return a->sequence < b->sequence;
  }
};

// Requests of one signature. Never empty while in the queue.
struct Bucket {
  ShapeSignature signature;
  absl::btree_set<QueueEntry*, EntryOrder> entries;
  int64_t rows = 0;
};

// Ordered by EntryOrder, as a whole and per bucket. All operations are O(log n). Not thread-safe.
class RequestQueue {
 public:
  explicit RequestQueue(int priorities) : rows_by_priority_(priorities) {}

  void Push(QueueEntry* entry);
  void Remove(QueueEntry* entry);

  bool empty() const { return order_.empty(); }
  int64_t requests() const { return static_cast<int64_t>(order_.size()); }
  int64_t rows() const { return rows_; }
  int64_t bytes() const { return bytes_; }
  int64_t num_buckets() const { return static_cast<int64_t>(buckets_.size()); }
  // The most urgent request; null when empty.
  QueueEntry* head() const { return order_.empty() ? nullptr : *order_.begin(); }
  // Null if no request of this signature waits.
  const Bucket* FindBucket(const ShapeSignature& signature) const;
  const absl::flat_hash_map<ShapeSignature, std::unique_ptr<Bucket>>& buckets() const {
    return buckets_;
  }

  // Rows that would be served before `entry` (which is not in the queue): in the whole queue and
  // in its own bucket. For an entry that overtakes others the count stops being exact, on the
  // high side, after a bounded number of steps.
  struct Ahead {
    int64_t rows = 0;
    int64_t own_bucket_rows = 0;
  };
  Ahead RowsAhead(const QueueEntry& entry) const;

 private:
  absl::btree_set<QueueEntry*, EntryOrder> order_;
  absl::flat_hash_map<ShapeSignature, std::unique_ptr<Bucket>> buckets_;
  std::vector<int64_t> rows_by_priority_;
  int64_t rows_ = 0;
  int64_t bytes_ = 0;
};

// The instants at which requests expire. O(log n) per operation. Not thread-safe.
class ExpirySet {
 public:
  void Add(QueueEntry* entry) {
    if (entry->expiry != absl::InfiniteFuture()) entries_.insert(Key(entry));
  }
  void Remove(QueueEntry* entry) {
    if (entry->expiry != absl::InfiniteFuture()) entries_.erase(Key(entry));
  }
  // Takes out the earliest if it is not after `now`; null otherwise.
  QueueEntry* PopExpired(absl::Time now) {
    if (entries_.empty() || entries_.begin()->when > now) return nullptr;
    QueueEntry* entry = entries_.begin()->entry;
    entries_.erase(entries_.begin());
    return entry;
  }
  absl::Time earliest() const {
    return entries_.empty() ? absl::InfiniteFuture() : entries_.begin()->when;
  }

 private:
  struct Item {
    absl::Time when;
    uint64_t sequence;
    QueueEntry* entry;
    bool operator<(const Item& o) const {
      return when != o.when ? when < o.when : sequence < o.sequence;
    }
  };
  static Item Key(QueueEntry* entry) { return {entry->expiry, entry->sequence, entry}; }
  absl::btree_set<Item> entries_;
};

}  // namespace inferd::scheduler
