#include "clients/inferctl/load_generator.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <random>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace inferd::client {
namespace {

using SteadyClock = std::chrono::steady_clock;
using TimePoint = SteadyClock::time_point;

// State all completions share.
class Run {
 public:
  Run(Client& client, std::shared_ptr<const Client::Prepared> request, const LoadOptions& options)
      : client_(client), request_(std::move(request)), options_(options) {
    const auto warmup = absl::ToChronoNanoseconds(options.warmup);
    const auto duration = absl::ToChronoNanoseconds(options.duration);
    begin_ = SteadyClock::now() + warmup;
    end_ = begin_ + duration;
  }

  void Closed() {
    for (int i = 0; i < options_.concurrency; ++i) {
      {
        absl::MutexLock lock(&mutex_);
        ++outstanding_;
      }
      SendClosed();
    }
    WaitForAnswers();
  }

  void Open() {
    std::mt19937_64 random(options_.seed);
    std::exponential_distribution<double> gap(options_.rate);
    TimePoint intended = SteadyClock::now();
    while (true) {
      intended += std::chrono::nanoseconds(static_cast<int64_t>(gap(random) * 1e9));
      if (intended >= end_) break;
      std::this_thread::sleep_until(intended);
      {
        absl::MutexLock lock(&mutex_);
        if (outstanding_ >= options_.max_outstanding) {
          if (intended >= begin_) ++result_.dropped;
          continue;
        }
        ++outstanding_;
      }
      client_.InferAsync(request_, /*want_result=*/false,
                         [this, intended](const absl::StatusOr<InferResult>& answer) {
                           const TimePoint now = SteadyClock::now();
                           absl::MutexLock lock(&mutex_);
                           // Throughput is what is answered within the window; latencies are those
                           // of the window's arrivals, so that slow answers count too.
                           if (answer.ok() && now >= begin_ && now < end_) ++result_.completed;
                           if (intended >= begin_) Record(answer.status(), intended, now);
                           --outstanding_;
                         });
    }
    WaitForAnswers();
  }

  LoadResult Take() {
    absl::MutexLock lock(&mutex_);
    result_.seconds = std::chrono::duration<double>(end_ - begin_).count();
    std::sort(result_.latencies.begin(), result_.latencies.end());
    return std::move(result_);
  }

 private:
  void SendClosed() {
    const TimePoint sent = SteadyClock::now();
    client_.InferAsync(request_, /*want_result=*/false,
                       [this, sent](const absl::StatusOr<InferResult>& answer) {
                         const TimePoint now = SteadyClock::now();
                         const bool more = now < end_;
                         {
                           absl::MutexLock lock(&mutex_);
                           if (now >= begin_ && more) {
                             Record(answer.status(), sent, now);
                             if (answer.ok()) ++result_.completed;
                           }
                           if (!more) --outstanding_;
                         }
                         if (more) SendClosed();
                       });
  }

  void Record(const absl::Status& status, TimePoint sent, TimePoint now)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (status.ok()) {
      ++result_.ok;
      result_.latencies.push_back(std::chrono::nanoseconds(now - sent).count());
      return;
    }
    ++result_.errors[absl::StatusCodeToString(status.code())];
    if (result_.first_error.empty()) result_.first_error = status.ToString();
  }

  void WaitForAnswers() {
    absl::MutexLock lock(&mutex_);
    auto none = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return outstanding_ == 0; };
    mutex_.Await(absl::Condition(&none));
  }

  Client& client_;
  const std::shared_ptr<const Client::Prepared> request_;
  const LoadOptions options_;
  TimePoint begin_, end_;
  absl::Mutex mutex_;
  int64_t outstanding_ ABSL_GUARDED_BY(mutex_) = 0;
  LoadResult result_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace

absl::Duration LoadResult::Quantile(double q) const {
  if (latencies.empty()) return absl::ZeroDuration();
  const auto rank = static_cast<size_t>(std::ceil(q * static_cast<double>(latencies.size())));
  return absl::Nanoseconds(latencies[std::clamp<size_t>(rank, 1, latencies.size()) - 1]);
}

absl::Duration LoadResult::Mean() const {
  if (latencies.empty()) return absl::ZeroDuration();
  double total = 0;
  for (int64_t ns : latencies) total += static_cast<double>(ns);
  return absl::Nanoseconds(total / static_cast<double>(latencies.size()));
}

LoadResult GenerateLoad(Client& client, std::shared_ptr<const Client::Prepared> request,
                        const LoadOptions& options) {
  Run run(client, std::move(request), options);
  if (options.rate > 0) {
    run.Open();
  } else {
    run.Closed();
  }
  return run.Take();
}

}  // namespace inferd::client
