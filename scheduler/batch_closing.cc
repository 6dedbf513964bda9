// When the batcher closes a batch, and of what.
#include <algorithm>

#include "scheduler/batcher.h"

namespace inferd::scheduler {
namespace {

// Batches faster than this are never worth holding back: waking up for the next request would
// cost as much as is won.
constexpr absl::Duration kMinComputeToHold = absl::Microseconds(200);

}  // namespace

Batcher::Prefix Batcher::LongestPrefix(const Bucket& bucket, int64_t max_rows) const {
  Prefix prefix;
  for (const QueueEntry* entry : bucket.entries) {
    if (prefix.requests > 0 && prefix.rows + entry->rows > max_rows) {
      prefix.cut_by_size = true;
      break;
    }
    ++prefix.requests;
    prefix.rows += entry->rows;
    prefix.finish_by = std::min(prefix.finish_by, entry->finish_by);
    prefix.oldest_arrival = std::min(prefix.oldest_arrival, entry->arrival);
  }
  return prefix;
}

void Batcher::CutByTime(const Bucket& bucket, const LatencyModel& model, absl::Time now,
                        Prefix* prefix) const {
  if (now + model.Likely(prefix->rows) <= prefix->finish_by) return;
  // Times of those considered so far, ascending; the first `late` of them cannot be kept any more.
  finish_by_.clear();
  size_t late = 0;
  Prefix considered;
  Prefix best;
  double best_rate = -1;
  for (const QueueEntry* entry : bucket.entries) {
    if (considered.requests == prefix->requests) break;
    ++considered.requests;
    considered.rows += entry->rows;
    considered.oldest_arrival = std::min(considered.oldest_arrival, entry->arrival);
    considered.finish_by = std::min(considered.finish_by, entry->finish_by);
    const auto place = std::upper_bound(finish_by_.begin(), finish_by_.end(), entry->finish_by);
    if (static_cast<size_t>(place - finish_by_.begin()) < late) ++late;
    finish_by_.insert(place, entry->finish_by);
    const absl::Time end = now + model.Likely(considered.rows);
    while (late < finish_by_.size() && finish_by_[late] < end) ++late;
    const double rate = static_cast<double>(finish_by_.size() - late) /
                        std::max(1.0, model.MeanNanos(considered.rows));
    if (rate >= best_rate) {
      best_rate = rate;
      best = considered;
    }
  }
  if (best_rate <= 0) return;  // all are late: the whole prefix is done soonest as it is
  best.cut_by_time = best.requests < prefix->requests;
  best.cut_by_size = prefix->cut_by_size && !best.cut_by_time;
  *prefix = best;
}

absl::Time Batcher::HoldForReturning(int64_t rows, const LatencyModel& model,
                                     absl::Time now) const {
  // Of several buckets nobody knows which one will grow.
  if (queue_.num_buckets() > 1 || !model.known()) return absl::InfinitePast();
  const double alone = model.MeanNanos(rows);
  if (alone < absl::ToDoubleNanoseconds(kMinComputeToHold)) return absl::InfinitePast();
  const double expected = returning_.Expected(now);
  if (expected < 0.5) return absl::InfinitePast();
  const double joined = static_cast<double>(rows) + expected;
  const double wait = absl::ToDoubleNanoseconds(returning_.Remaining(now));
  const double together =
      wait + model.MeanNanos(std::min(max_batch_, static_cast<int64_t>(joined + 0.5)));
  if (joined / together <= static_cast<double>(rows) / alone) return absl::InfinitePast();
  return returning_.window_end();
}

Batcher::Decision Batcher::Decide(const Bucket& bucket, int group, absl::Time now) const {
  Decision decision;
  decision.close = true;
  if (!batches()) {
    decision.reason = CloseReason::kUnbatched;
    decision.requests = 1;
    return decision;
  }
  const LatencyModel& model = models_[group];
  Prefix prefix = LongestPrefix(bucket, max_batch_);
  CutByTime(bucket, model, now, &prefix);
  decision.requests = prefix.requests;
  if (prefix.cut_by_time) {
    decision.reason = CloseReason::kBudget;
    return decision;
  }
  if (prefix.cut_by_size || prefix.rows >= max_batch_) {
    decision.reason = CloseReason::kFull;
    return decision;
  }
  int64_t preferred = 0;
  for (int64_t size : options_.batching.preferred_sizes) {
    if (size <= prefix.rows) preferred = std::max(preferred, size);
  }
  if (preferred > 0) {
    decision.reason = CloseReason::kFull;
    decision.requests = LongestPrefix(bucket, preferred).requests;
    return decision;
  }

  absl::Time hold_until = absl::InfinitePast();
  if (!explicit_delay_) {
    if (has_budget_) hold_until = HoldForReturning(prefix.rows, model, now);
  } else if (options_.batching.max_delay > absl::ZeroDuration()) {
    hold_until = prefix.oldest_arrival + options_.batching.max_delay;
  }
  const absl::Time latest_start =
      prefix.finish_by == absl::InfiniteFuture()
          ? prefix.finish_by
          : prefix.finish_by - model.Upper(std::min(prefix.rows + 1, max_batch_));
  if (now < hold_until && now < latest_start) {
    decision.close = false;
    decision.recheck = std::min(hold_until, latest_start);
  } else if (now < hold_until) {
    decision.reason = CloseReason::kBudget;
  } else {
    decision.reason = explicit_delay_ && hold_until != absl::InfinitePast() ? CloseReason::kDelay
                                                                            : CloseReason::kIdle;
  }
  return decision;
}

const Bucket* Batcher::Choose(int group, absl::Time now, Decision* decision) {
  recheck_ = absl::InfiniteFuture();
  const QueueEntry* head = queue_.head();
  if (head == nullptr) return nullptr;
  *decision = Decide(*head->bucket, group, now);
  if (decision->close) return head->bucket;
  recheck_ = decision->recheck;
  // The most urgent bucket is held back; that must not hold back the others.
  const Bucket* best = nullptr;
  for (const auto& [signature, bucket] : queue_.buckets()) {
    if (bucket.get() == head->bucket) continue;
    if (best != nullptr && EntryOrder()(*best->entries.begin(), *bucket->entries.begin())) continue;
    const Decision other = Decide(*bucket, group, now);
    if (other.close) {
      best = bucket.get();
      *decision = other;
    } else {
      recheck_ = std::min(recheck_, other.recheck);
    }
  }
  return best;
}

}  // namespace inferd::scheduler
