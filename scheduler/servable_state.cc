#include "scheduler/servable_state.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "scheduler/request_validation.h"

namespace inferd::scheduler {
namespace {

// Instances with equal options share a latency model.
BatcherOptions MakeBatcherOptions(const ServableOptions& options) {
  BatcherOptions batcher;
  batcher.model = options.model;
  batcher.batching = options.batching;
  batcher.queue = options.queue;
  batcher.instance_groups.clear();
  std::vector<std::pair<std::string, int>> groups;
  for (const auto& [instance, executor] : options.instances) {
    const std::pair<std::string, int> key(instance.device, instance.threads);
    const auto it = std::find(groups.begin(), groups.end(), key);
    batcher.instance_groups.push_back(static_cast<int>(it - groups.begin()));
    if (it == groups.end()) groups.push_back(key);
  }
  return batcher;
}

}  // namespace

void Job::Cancel() {
  if (answered.load(std::memory_order_acquire)) return;
  if (auto owner = servable.lock()) owner->Cancel(this);
}

ServableState::ServableState(ServableOptions options, Clock& clock,
                             std::shared_ptr<ServableObserver> observer)
    : options_(std::move(options)),
      clock_(clock),
      observer_(std::move(observer)),
      instances_([this] {
        std::vector<std::unique_ptr<Instance>> instances;
        for (auto& [instance_options, executor] : options_.instances) {
          auto instance = std::make_unique<Instance>();
          instance->runner = std::make_unique<BatchRunner>(options_, std::move(executor), clock_);
          instances.push_back(std::move(instance));
        }
        return instances;
      }()),
      batcher_(MakeBatcherOptions(options_)) {}

void ServableState::SetTimer(Timer* timer) {
  absl::MutexLock lock(&mutex_);
  timer_ = timer;
}

std::shared_ptr<RequestHandle> ServableState::Submit(std::unique_ptr<Request> request) {
  auto job = std::make_shared<Job>(std::move(request), weak_from_this());
  absl::StatusOr<RequestExtent> extent = CheckRequest(options_, *job->request);
  Answers answers;
  if (extent.ok()) {
    job->rows = extent->rows;
    job->bytes = extent->bytes;
    job->signature = std::move(extent->signature);
    job->priority = job->request->priority;
    job->deadline = job->request->deadline;
    absl::MutexLock lock(&mutex_);
    const absl::Time now = clock_.Now();
    job->arrival = now;
    job->timing.arrival = now;
    Expire(now, &answers);
    absl::Status status;
    if (draining_) {
      status = absl::UnavailableError(
          absl::StrCat("Server is stopping, scheduler for model '", options_.model,
                       "' has stopped accepting new inference requests"));
    } else {
      status = batcher_.Admit(job.get(), now);
    }
    if (status.ok()) {
      job->self = job;
      ++unanswered_;
      if (options_.batching.preserve_order) order_.Expect(job->sequence);
      Schedule(now);
    } else {
      Response response;
      response.status = std::move(status);
      Claim(job.get(), std::move(response), now, &answers);
    }
  } else {
    job->answered = true;
    job->timing.arrival = clock_.Now();
    Answer answer;
    answer.job = job;
    answer.done = std::move(job->request->done);
    answer.response.status = extent.status();
    answer.response.timing = job->timing;
    answers.push_back(std::move(answer));
  }
  Deliver(&answers);
  return job;
}

void ServableState::Cancel(Job* job) {
  Answers answers;
  {
    absl::MutexLock lock(&mutex_);
    const absl::Time now = clock_.Now();
    Fail(job, absl::CancelledError("the request was cancelled"), now, &answers);
    Schedule(now);
  }
  Deliver(&answers);
}

void ServableState::OnTimer() {
  Answers answers;
  {
    absl::MutexLock lock(&mutex_);
    armed_for_ = absl::InfiniteFuture();
    const absl::Time now = clock_.Now();
    Expire(now, &answers);
    Schedule(now);
  }
  Deliver(&answers);
}

void ServableState::Schedule(absl::Time now) {
  while (const std::optional<int> index = batcher_.Wake(now)) {
    instances_[*index]->woken = true;
    instances_[*index]->wake.Signal();
  }
  const absl::Time next = batcher_.NextTimer();
  // A timer that fires too early only looks again.
  if (timer_ != nullptr && next < armed_for_) {
    armed_for_ = next;
    timer_->Arm(next);
  }
}

void ServableState::Expire(absl::Time now, Answers* answers) {
  expired_.clear();
  batcher_.Expire(now, &expired_);
  for (QueueEntry* entry : expired_) {
    Job* job = static_cast<Job*>(entry);
    Fail(job,
         absl::DeadlineExceededError(absl::StrCat(
             "Request timeout expired after ", absl::FormatDuration(now - job->arrival),
             job->state == QueueEntry::State::kRunning ? " while running on '"
                                                       : " in the queue of '",
             options_.model, "'")),
         now, answers);
  }
}

void ServableState::Fail(Job* job, absl::Status status, absl::Time now, Answers* answers) {
  if (job->answered) return;
  if (options_.batching.preserve_order) order_.Forget(job->sequence);
  const bool running = job->state == QueueEntry::State::kRunning;
  if (!running) {
    job->timing.queue = now - job->arrival;
    batcher_.Withdraw(job);
  }
  Response response;
  response.status = std::move(status);
  Claim(job, std::move(response), now, answers);
}

void ServableState::Claim(Job* job, Response response, absl::Time now, Answers* answers) {
  job->answered = true;
  Answer answer;
  answer.job = job->shared_from_this();
  answer.done = std::move(job->request->done);
  answer.counted = job->self != nullptr;
  answer.running = job->state == QueueEntry::State::kRunning;
  if (!answer.running) job->self.reset();
  answer.total = now - job->arrival;
  RequestTiming& timing = response.timing;
  timing.arrival = job->timing.arrival;
  timing.queue = job->timing.queue;
  response.model_version = options_.version;
  recorder_.AddRequest(response.status, timing, job->rows, answer.total);
  answer.response = std::move(response);
  answers->push_back(std::move(answer));
}

void ServableState::CallBack(Answer* answer) {
  if (observer_ != nullptr) {
    observer_->OnRequestDone(answer->response.status, answer->response.timing, answer->total);
  }
  if (answer->done) answer->done(std::move(answer->response));
  // A handle may live long; the received message must not.
  if (!answer->running) answer->job->request.reset();
}

void ServableState::Deliver(Answers* answers) {
  int64_t counted = 0;
  for (Answer& answer : *answers) {
    CallBack(&answer);
    if (answer.counted) ++counted;
  }
  answers->clear();
  if (options_.batching.preserve_order) DeliverInOrder();
  if (counted == 0) return;
  absl::MutexLock lock(&mutex_);
  unanswered_ -= counted;
  if (unanswered_ == 0) all_answered_.SignalAll();
}

void ServableState::DeliverInOrder() {
  Answers answers;
  absl::MutexLock lock(&mutex_);
  // Two threads delivering at once would mix the order up again.
  if (delivering_) return;
  delivering_ = true;
  while (true) {
    order_.Release(&answers);
    if (answers.empty()) break;
    mutex_.Unlock();
    for (Answer& answer : answers) CallBack(&answer);
    mutex_.Lock();
    unanswered_ -= static_cast<int64_t>(answers.size());
    answers.clear();
  }
  delivering_ = false;
  if (unanswered_ == 0) all_answered_.SignalAll();
}

void ServableState::RunInstance(int index) {
  Instance& instance = *instances_[index];
  Batch batch;
  std::vector<BatchItem> items;
  RunReport report;
  Answers answers;
  bool ran = false;
  while (true) {
    bool took = false;
    std::function<void()> task;
    {
      absl::MutexLock lock(&mutex_);
      // An answer may have destroyed the servable, and its owner the clock.
      if (stopping_) return;
      if (ran) {
        const absl::Time now = clock_.Now();
        instance.busy.Add(batch.start, now);
        instance.running = nullptr;
        batcher_.Release(batch, now, report.first_try);
        instance.woken = true;
        ran = false;
      }
      while (!instance.woken && instance.task == nullptr && !stopping_) instance.wake.Wait(&mutex_);
      if (stopping_) return;
      if (instance.task != nullptr) {
        task = std::exchange(instance.task, nullptr);
      } else {
        instance.woken = false;
        const absl::Time now = clock_.Now();
        Expire(now, &answers);
        took = batcher_.Take(index, now, &batch);
        if (took) BeginBatch(index, batch, &items);
        Schedule(now);
      }
    }
    Deliver(&answers);
    if (task != nullptr) task();
    if (!took) continue;
    instance.runner->Run(absl::MakeSpan(items), &report);
    FinishBatch(index, batch, &items, report);
    ran = true;
  }
}

void ServableState::BeginBatch(int index, const Batch& batch, std::vector<BatchItem>* items) {
  instances_[index]->running = &batch;
  items->clear();
  for (QueueEntry* entry : batch.entries) {
    Job* job = static_cast<Job*>(entry);
    job->timing.queue = batch.start - job->arrival;
    BatchItem item;
    item.request = job->request.get();
    item.rows = job->rows;
    item.abandoned = &job->answered;
    items->push_back(std::move(item));
  }
}

void ServableState::FinishBatch(int index, const Batch& batch, std::vector<BatchItem>* items,
                                const RunReport& report) {
  Answers answers;
  // Jobs answered while they ran; their inputs can go now.
  std::vector<std::shared_ptr<Job>> abandoned;
  const absl::Time wall_clock = absl::Now();
  absl::Time now;
  {
    absl::MutexLock lock(&mutex_);
    now = clock_.Now();
    batcher_.Done(batch, now);
    recorder_.AddBatch(batch.reason, report, wall_clock);
    answers.reserve(items->size());
    for (size_t i = 0; i < items->size(); ++i) {
      Job* job = static_cast<Job*>(batch.entries[i]);
      if (job->answered) {
        abandoned.push_back(std::move(job->self));
        continue;
      }
      const uint64_t number = job->sequence;
      Claim(job, std::move((*items)[i].response), now, &answers);
      if (options_.batching.preserve_order) {
        order_.Ready(number, std::move(answers.back()));
        answers.pop_back();
      }
    }
    // From here on nothing refers to the entries but their answers.
    instances_[index]->running = nullptr;
    if (draining_) all_answered_.SignalAll();
  }
  for (const auto& job : abandoned) job->request.reset();
  if (observer_ != nullptr) {
    for (const Execution& execution : report.executions) {
      observer_->OnBatch(
          batch.reason, execution.rows,
          execution.compute_input + execution.compute_infer + execution.compute_output);
    }
  }
  items->clear();
  Deliver(&answers);
}

void ServableState::Drain(absl::Time deadline) {
  // Declared before the lock: a timer must not be destroyed under the lock its callback takes.
  bool expired = false;
  std::unique_ptr<Timer> timer;
  if (deadline != absl::InfiniteFuture() && deadline > clock_.Now()) {
    timer = clock_.NewTimer([this, &expired] {
      absl::MutexLock lock(&mutex_);
      expired = true;
      all_answered_.SignalAll();
    });
    timer->Arm(deadline);
  }
  Answers answers;
  {
    absl::MutexLock lock(&mutex_);
    draining_ = true;
    if (deadline != absl::InfiniteFuture() && timer == nullptr) expired = true;
    // An abandoned request is answered, but may still be running.
    while ((unanswered_ > 0 || batcher_.in_flight() > 0) && !expired) all_answered_.Wait(&mutex_);
    if (unanswered_ > 0) {
      const absl::Time now = clock_.Now();
      const absl::Status status =
          absl::UnavailableError(absl::StrCat("Server is stopping: model '", options_.model,
                                              "' was unloaded before the request was finished"));
      while (QueueEntry* entry = batcher_.queue().head()) {
        Fail(static_cast<Job*>(entry), status, now, &answers);
      }
      for (const auto& instance : instances_) {
        if (instance->running == nullptr) continue;
        for (QueueEntry* entry : instance->running->entries) {
          Fail(static_cast<Job*>(entry), status, now, &answers);
        }
      }
    }
  }
  Deliver(&answers);
}

void ServableState::Stop() {
  absl::MutexLock lock(&mutex_);
  draining_ = true;
  stopping_ = true;
  timer_ = nullptr;
  for (const auto& instance : instances_) instance->wake.Signal();
}

ServableStatistics ServableState::statistics() const {
  absl::MutexLock lock(&mutex_);
  ServableStatistics statistics = recorder_.totals();
  statistics.queue_depth = batcher_.queue().requests();
  statistics.queue_bytes = batcher_.queue().bytes();
  statistics.in_flight = batcher_.in_flight();
  const absl::Time now = clock_.Now();
  absl::Duration busy;
  for (const auto& instance : instances_) {
    busy += instance->busy.Busy(now);
    if (instance->running != nullptr) {
      busy += now - std::max(instance->running->start, BusyWindow::Begin(now));
    }
  }
  const absl::Duration window =
      (now - BusyWindow::Begin(now)) * static_cast<int64_t>(instances_.size());
  statistics.instance_busy_ratio = std::min(1.0, absl::FDivDuration(busy, window));
  // Of several groups the slowest estimate is the one to plan with.
  for (int group = 0; group < batcher_.num_groups(); ++group) {
    for (const auto& [rows, time] : batcher_.latency_model(group).Estimates()) {
      absl::Duration& estimate = statistics.estimated_compute[rows];
      estimate = std::max(estimate, time);
    }
    statistics.latency_margin =
        std::max(statistics.latency_margin, batcher_.latency_model(group).margin());
  }
  return statistics;
}

}  // namespace inferd::scheduler
