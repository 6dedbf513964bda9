#include "scheduler/batcher.h"

#include <algorithm>
#include <utility>

#include "absl/hash/hash.h"
#include "absl/strings/str_cat.h"

namespace inferd::scheduler {
namespace {

// A request without any time limit ranks among the others as if it had to be answered this long
// after its arrival, so that requests with deadlines cannot starve it.
constexpr absl::Duration kPatience = absl::Seconds(1);
// Bound of the memory of which shapes have run before.
constexpr size_t kMaxSeenShapes = 4096;
// So many first runs are not believed even where nothing else is known. Where every request has a
// shape of its own, first runs are all there is.
constexpr int kDoubtfulRuns = 3;

}  // namespace

Batcher::Batcher(BatcherOptions options)
    : options_(std::move(options)),
      max_batch_(std::max<int64_t>(1, options_.batching.max_batch_size)),
      has_budget_(options_.batching.latency_budget != absl::InfiniteDuration()),
      explicit_delay_(options_.batching.max_delay != absl::InfiniteDuration()),
      queue_(std::max(1, options_.queue.priorities)) {
  int groups = 1;
  for (int group : options_.instance_groups) {
    Instance instance;
    instance.group = group;
    instances_.push_back(instance);
    groups = std::max(groups, group + 1);
  }
  // The first instance is the first to be used.
  for (int i = static_cast<int>(instances_.size()) - 1; i >= 0; --i) idle_.push_back(i);
  models_.resize(groups);
  steady_batch_.assign(groups, max_batch_);
  available_.reserve(instances_.size());
  finish_by_.reserve(static_cast<size_t>(std::min<int64_t>(max_batch_, 4096)));
}

absl::Status Batcher::Admit(QueueEntry* entry, absl::Time now) {
  const BatchingOptions& batching = options_.batching;
  entry->priority = std::clamp(entry->priority, 0, std::max(1, options_.queue.priorities) - 1);
  if (entry->deadline <= now) {
    return absl::DeadlineExceededError(
        absl::StrCat("Request timeout expired before the request reached '", options_.model, "'"));
  }
  const absl::Time timeout = now + options_.queue.timeout;
  entry->expiry = entry->deadline != absl::InfiniteFuture() ? entry->deadline : timeout;
  entry->finish_by = std::min(entry->deadline, now + batching.latency_budget);
  entry->urgency = std::min({entry->finish_by, entry->expiry, now + kPatience});
  entry->sequence = next_sequence_;
  offered_.Add(now, entry->rows);
  returning_.OnArrival(now, entry->rows);
  if (absl::Status status = CheckLimits(*entry, now); !status.ok()) return status;
  if (absl::Status status = CheckTime(*entry, now); !status.ok()) return status;
  ++next_sequence_;
  ++in_flight_;
  in_flight_bytes_ += entry->bytes;
  entry->state = QueueEntry::State::kQueued;
  queue_.Push(entry);
  expiry_.Add(entry);
  return absl::OkStatus();
}

std::optional<int> Batcher::Wake(absl::Time now) {
  recheck_ = absl::InfiniteFuture();
  if (idle_.empty() || queue_.empty()) return std::nullopt;
  if (waking_ > 0) {
    // What the instances on their way will take is spoken for.
    const int64_t ready =
        batches() ? std::max(queue_.num_buckets(), (queue_.rows() + max_batch_ - 1) / max_batch_)
                  : queue_.requests();
    if (ready <= waking_) return std::nullopt;
  }
  size_t chosen = idle_.size() - 1;
  if (models_.size() > 1) {
    auto time = [&](size_t i) { return models_[instances_[idle_[i]].group].Mean(1); };
    for (size_t i = 0; i < idle_.size(); ++i) {
      if (time(i) < time(chosen)) chosen = i;
    }
  }
  const int instance = idle_[chosen];
  Decision decision;
  if (Choose(instances_[instance].group, now, &decision) == nullptr) return std::nullopt;
  idle_.erase(idle_.begin() + static_cast<std::ptrdiff_t>(chosen));
  instances_[instance].state = InstanceState::kWaking;
  ++waking_;
  return instance;
}

bool Batcher::Take(int index, absl::Time now, Batch* batch) {
  Instance& instance = instances_[index];
  --waking_;
  Decision decision;
  const Bucket* bucket = Choose(instance.group, now, &decision);
  if (bucket == nullptr) {
    instance.state = InstanceState::kIdle;
    idle_.push_back(index);
    return false;
  }
  batch->instance = index;
  batch->reason = decision.reason;
  batch->rows = 0;
  batch->start = now;
  batch->signature_hash = absl::HashOf(bucket->signature);
  batch->entries.clear();
  auto it = bucket->entries.begin();
  for (int i = 0; i < decision.requests; ++i, ++it) batch->entries.push_back(*it);
  for (QueueEntry* entry : batch->entries) {
    batch->rows += entry->rows;
    queue_.Remove(entry);  // the last one destroys the bucket
    entry->state = QueueEntry::State::kRunning;
    // The queue timeout has been kept; the client's own deadline still runs.
    if (entry->deadline == absl::InfiniteFuture()) expiry_.Remove(entry);
  }
  instance.state = InstanceState::kRunning;
  instance.expected = models_[instance.group].Mean(batch->rows);
  instance.expected_end = now + instance.expected;
  return true;
}

void Batcher::Done(const Batch& batch, absl::Time now) {
  for (QueueEntry* entry : batch.entries) {
    expiry_.Remove(entry);
    Leave(entry);
    if (has_budget_) caution_.OnAnswer(now - entry->arrival > options_.batching.latency_budget);
  }
  instances_[batch.instance].expected_end = now;
  returning_.OnAnswered(now, batch.rows, now - batch.start);
}

void Batcher::Release(const Batch& batch, absl::Time now, bool measured) {
  Instance& instance = instances_[batch.instance];
  instance.state = InstanceState::kWaking;
  ++waking_;
  if (!measured) return;
  LatencyModel& model = models_[instance.group];
  last_measured_ = now;
  // The first batch of a shape pays for building its plan and tells nothing about the next.
  const size_t shape = absl::HashOf(instance.group, batch.rows, batch.signature_hash);
  if (seen_shapes_.size() >= kMaxSeenShapes) seen_shapes_.clear();
  if (seen_shapes_.insert(shape).second && (model.known() || ++first_runs_ <= kDoubtfulRuns)) {
    return;
  }
  model.Observe(batch.rows, now - batch.start);
  UpdateSteadyBatch(instance.group, now);
}

bool Batcher::Withdraw(QueueEntry* entry) {
  if (entry->state != QueueEntry::State::kQueued) return false;
  queue_.Remove(entry);
  expiry_.Remove(entry);
  Leave(entry);
  return true;
}

void Batcher::Expire(absl::Time now, std::vector<QueueEntry*>* expired) {
  while (QueueEntry* entry = expiry_.PopExpired(now)) {
    if (entry->state == QueueEntry::State::kQueued) {
      queue_.Remove(entry);
      Leave(entry);
    }
    expired->push_back(entry);
  }
}

void Batcher::Clear(std::vector<QueueEntry*>* removed) {
  while (QueueEntry* entry = queue_.head()) {
    Withdraw(entry);
    removed->push_back(entry);
  }
}

absl::Time Batcher::NextTimer() const { return std::min(expiry_.earliest(), recheck_); }

void Batcher::Seed(int instance, int64_t rows, absl::Duration time) {
  const int group = instances_[instance].group;
  models_[group].Observe(rows, time);
  UpdateSteadyBatch(group, absl::InfiniteFuture());
}

void Batcher::Leave(QueueEntry* entry) {
  entry->state = QueueEntry::State::kLeft;
  --in_flight_;
  in_flight_bytes_ -= entry->bytes;
}

}  // namespace inferd::scheduler
