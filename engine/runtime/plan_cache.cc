#include "engine/runtime/plan_cache.h"

#include <utility>

namespace inferd::engine {

absl::StatusOr<std::shared_ptr<const Plan>> PlanCache::Get(Key key, Compile compile) {
  std::shared_ptr<Entry> entry;
  bool found = true;
  {
    absl::MutexLock lock(&mutex_);
    auto it = entries_.find(key);
    if (it != entries_.end()) {
      order_.splice(order_.begin(), order_, it->second);
      ++statistics_.hits;
      entry = *it->second;
    } else {
      found = false;
      ++statistics_.misses;
      entry = std::make_shared<Entry>();
      entry->key.assign(key.begin(), key.end());
      order_.push_front(entry);
      entries_.emplace(Key(entry->key), order_.begin());
      if (static_cast<int>(order_.size()) > capacity_) {
        entries_.erase(Key(order_.back()->key));
        order_.pop_back();
        ++statistics_.evictions;
      }
      // Taken before anyone else can find the entry: others wait for the plan, not for a turn.
      entry->mutex.Lock();
    }
  }
  if (found) {
    absl::MutexLock lock(&entry->mutex);
    if (entry->done) return entry->plan;
    return entry->status;
  }
  absl::StatusOr<std::shared_ptr<const Plan>> plan = compile();
  if (plan.ok()) {
    entry->done = true;
    entry->plan = *plan;
  } else {
    entry->status = plan.status();
  }
  entry->mutex.Unlock();
  if (!plan.ok()) Forget(entry);
  return plan;
}

void PlanCache::Forget(const std::shared_ptr<Entry>& entry) {
  absl::MutexLock lock(&mutex_);
  auto it = entries_.find(Key(entry->key));
  // It may have been evicted and made anew since.
  if (it == entries_.end() || *it->second != entry) return;
  order_.erase(it->second);
  entries_.erase(it);
}

PlanCache::Statistics PlanCache::statistics() const {
  absl::MutexLock lock(&mutex_);
  Statistics s = statistics_;
  s.size = static_cast<int>(order_.size());
  return s;
}

}  // namespace inferd::engine
