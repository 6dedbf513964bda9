#include "scheduler/request_queue.h"

#include <algorithm>

namespace inferd::scheduler {
namespace {

// Longest walk through overtaken requests for an exact count of rows ahead.
constexpr int kMaxWalk = 256;

}  // namespace

void RequestQueue::Push(QueueEntry* entry) {
  std::unique_ptr<Bucket>& bucket = buckets_[entry->signature];
  if (bucket == nullptr) {
    bucket = std::make_unique<Bucket>();
    bucket->signature = entry->signature;
  }
  entry->bucket = bucket.get();
  bucket->entries.insert(entry);
  bucket->rows += entry->rows;
  order_.insert(entry);
  rows_by_priority_[entry->priority] += entry->rows;
  rows_ += entry->rows;
  bytes_ += entry->bytes;
}

void RequestQueue::Remove(QueueEntry* entry) {
  Bucket* bucket = entry->bucket;
  bucket->entries.erase(entry);
  bucket->rows -= entry->rows;
  entry->bucket = nullptr;
  order_.erase(entry);
  rows_by_priority_[entry->priority] -= entry->rows;
  rows_ -= entry->rows;
  bytes_ -= entry->bytes;
  if (bucket->entries.empty()) buckets_.erase(entry->signature);
}

const Bucket* RequestQueue::FindBucket(const ShapeSignature& signature) const {
  auto it = buckets_.find(signature);
  return it == buckets_.end() ? nullptr : it->second.get();
}

RequestQueue::Ahead RequestQueue::RowsAhead(const QueueEntry& entry) const {
  Ahead ahead;
  const Bucket* own = FindBucket(entry.signature);
  const EntryOrder before;
  // const_cast: the order only compares.
  QueueEntry* const key = const_cast<QueueEntry*>(&entry);
  if (order_.empty() || !before(key, *order_.rbegin())) {
    ahead.rows = rows_;
    ahead.own_bucket_rows = own == nullptr ? 0 : own->rows;
    return ahead;
  }
  int steps = 0;
  for (const QueueEntry* other : order_) {
    if (!before(other, key)) return ahead;
    if (++steps > kMaxWalk) break;
    ahead.rows += other->rows;
    if (other->bucket == own) ahead.own_bucket_rows += other->rows;
  }
  ahead.rows = 0;
  for (int p = 0; p <= entry.priority; ++p) ahead.rows += rows_by_priority_[p];
  ahead.own_bucket_rows = own == nullptr ? 0 : std::min(own->rows, ahead.rows);
  return ahead;
}

}  // namespace inferd::scheduler
