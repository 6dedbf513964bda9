// Whom the batcher admits.
#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "scheduler/admission.h"
#include "scheduler/batcher.h"

namespace inferd::scheduler {
namespace {

// Estimates older than this refuse nobody while an instance is free: the request admitted instead
// renews them.
constexpr absl::Duration kTrustedAge = absl::Seconds(1);
constexpr absl::Duration kUnknownRetry = absl::Milliseconds(100);

absl::Duration Nanoseconds(double n) { return absl::Nanoseconds(static_cast<int64_t>(n)); }

std::string Milliseconds(absl::Duration d) {
  return absl::StrFormat("%.1f ms", absl::ToDoubleMilliseconds(d));
}

}  // namespace

double Batcher::Slack(const LatencyModel& model, double nanos) const {
  return caution_.factor() * (model.margin() - 1) * nanos;
}

absl::Status Batcher::CheckLimits(const QueueEntry& entry, absl::Time now) const {
  const QueueOptions& limits = options_.queue;
  if (entry.bytes > limits.max_bytes) {
    return absl::ResourceExhaustedError(
        absl::StrCat("Exceeds maximum queue size: the request holds ", entry.bytes,
                     " bytes, but all requests for '", options_.model, "' together may hold ",
                     limits.max_bytes, " (queue.max_bytes); retrying will not help"));
  }
  if (in_flight_ >= limits.max_requests) {
    return Refusal(absl::StrCat("Exceeds maximum queue size: ", in_flight_,
                                " requests are queued or running for '", options_.model,
                                "' (queue.max_requests ", limits.max_requests, ")"),
                   NextFree(now));
  }
  if (in_flight_bytes_ + entry.bytes > limits.max_bytes) {
    return Refusal(absl::StrCat("Exceeds maximum queue size: ", in_flight_bytes_,
                                " bytes are queued or running for '", options_.model,
                                "' (queue.max_bytes ", limits.max_bytes, ")"),
                   NextFree(now));
  }
  return absl::OkStatus();
}

absl::Duration Batcher::NextFree(absl::Time now) const {
  absl::Time earliest = absl::InfiniteFuture();
  for (const Instance& instance : instances_) {
    earliest = std::min(earliest, Available(instance, now));
  }
  return models_[0].known() ? earliest - now : kUnknownRetry;
}

absl::Time Batcher::Available(const Instance& instance, absl::Time now) const {
  if (instance.state != InstanceState::kRunning) return now;
  if (instance.expected_end >= now) return instance.expected_end;
  // Overdue: the longer a batch is late, the longer it is likely to take still.
  return now + (now - instance.expected_end);
}

Batcher::Forecast Batcher::Predict(const QueueEntry& entry, absl::Time now) const {
  Forecast forecast;
  available_.clear();
  double batches_per_nano = 0;
  const Instance* first = &instances_[0];
  absl::Time first_available = absl::InfiniteFuture();
  for (const Instance& instance : instances_) {
    const absl::Time available = Available(instance, now);
    if (available < first_available) {
      first_available = available;
      first = &instance;
    }
    available_.push_back(available);
    const absl::Duration batch_time = models_[instance.group].Mean(steady_batch_[instance.group]);
    batches_per_nano += 1.0 / std::max(1.0, absl::ToDoubleNanoseconds(batch_time));
  }
  forecast.group = first->group;
  const int64_t size = steady_batch_[forecast.group];

  const RequestQueue::Ahead ahead = queue_.RowsAhead(entry);
  int64_t batches = ahead.own_bucket_rows / size;
  const int64_t other_rows = ahead.rows - ahead.own_bucket_rows;
  if (other_rows > 0) {
    const int64_t other_buckets = std::max<int64_t>(
        1, queue_.num_buckets() - (queue_.FindBucket(entry.signature) != nullptr ? 1 : 0));
    const int64_t rows_each = (other_rows + other_buckets - 1) / other_buckets;
    batches += other_buckets * ((rows_each + size - 1) / size);
  }
  std::sort(available_.begin(), available_.end());
  const int64_t n = static_cast<int64_t>(available_.size());
  const double batch_nanos = models_[forecast.group].MeanNanos(size);
  forecast.ahead = static_cast<double>(batches / n) * batch_nanos;
  if (first->state == InstanceState::kRunning) {
    forecast.running = absl::ToDoubleNanoseconds(first->expected);
  }
  if (models_.size() == 1) {
    forecast.start = available_[batches % n] + (batches / n) * models_[forecast.group].Mean(size);
  } else {
    forecast.start =
        available_[0] +
        absl::Nanoseconds(static_cast<int64_t>(static_cast<double>(batches) / batches_per_nano));
  }
  return forecast;
}

absl::Status Batcher::CheckTime(const QueueEntry& entry, absl::Time now) const {
  if (entry.finish_by == absl::InfiniteFuture()) return absl::OkStatus();
  const Forecast forecast = Predict(entry, now);
  const LatencyModel& model = models_[forecast.group];
  if (!model.known()) return absl::OkStatus();
  const bool starts_now = forecast.start <= now;

  if (entry.deadline != absl::InfiniteFuture()) {
    const absl::Time finish = forecast.start + model.Mean(entry.rows);
    const bool trusted = !starts_now || now - last_measured_ <= kTrustedAge;
    if (finish > entry.deadline && trusted) {
      return Refusal(absl::StrCat("the deadline cannot be met by '", options_.model, "': it is in ",
                                  Milliseconds(entry.deadline - now), ", the predicted answer in ",
                                  Milliseconds(finish - now)),
                     finish - entry.deadline);
    }
  }
  if (has_budget_ && !starts_now) {
    // A budget below the time of a single run cannot be kept by refusing; then only as much is
    // queued as keeps the instances busy.
    const absl::Duration alone = model.Upper(entry.rows);
    const absl::Duration budget = options_.batching.latency_budget;
    const absl::Time limit = now + (alone <= budget ? budget : 2 * alone);
    // Counted as part of a whole batch, so that those who join it do not make it late.
    const double own = model.MeanNanos(std::max(entry.rows, steady_batch_[forecast.group]));
    // What runs now and the own batch may both be slower than predicted; their errors are
    // independent, so their squares add up. Whole batches in between count in full: a longer
    // queue serves no more per second, so there is nothing to be won by a risk.
    const double reserve = std::hypot(forecast.running, own) + forecast.ahead;
    const absl::Time finish = forecast.start + Nanoseconds(own + Slack(model, reserve));
    if (finish > limit) {
      return Refusal(absl::StrCat("'", options_.model, "' is at capacity: the predicted answer in ",
                                  Milliseconds(finish - now), " would break the latency budget of ",
                                  Milliseconds(budget)),
                     finish - limit);
    }
  }
  return absl::OkStatus();
}

void Batcher::UpdateSteadyBatch(int group, absl::Time now) {
  if (!has_budget_) return;
  const LatencyModel& model = models_[group];
  const double budget = absl::ToDoubleNanoseconds(options_.batching.latency_budget);
  const double offered = now == absl::InfiniteFuture() ? 0
                                                       : offered_.RowsPerNanosecond(now) /
                                                             static_cast<double>(instances_.size());
  // While a batch of n runs, a request is admitted if it can wait for its end and run in the next
  // one, which leaves a window of at most `budget - time - slack` in which the next batch gathers.
  // Served per unit of time: what gathers, or n if that is less.
  int64_t best = 1;
  double best_rate = 0;
  for (int64_t n = 1;; n = std::min(max_batch_, n + std::max<int64_t>(1, n / 4))) {
    const double time = std::max(1.0, model.MeanNanos(n));
    const double window =
        std::clamp(budget - time - Slack(model, std::hypot(time, time)), 0.0, time);
    const double rate =
        offered > 0 ? std::min(static_cast<double>(n), offered * window) / time : window / time;
    if (rate >= 0.999 * best_rate && rate > 0) {
      best = n;
      best_rate = std::max(rate, best_rate);
    }
    if (n == max_batch_) break;
  }
  steady_batch_[group] = best;
}

}  // namespace inferd::scheduler
