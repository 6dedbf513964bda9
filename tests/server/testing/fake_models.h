// A repository and servables of which a test decides everything.
#pragma once

#include <algorithm>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "engine/tensor/tensor.h"
#include "model_repository/repository.h"
#include "scheduler/servable.h"

namespace inferd::server::testing {

// Computes outputs from the inputs of one request.
using Compute =
    std::function<absl::StatusOr<std::vector<engine::Tensor>>(const scheduler::Request& request)>;

// Answers in Submit, on the caller's thread, or holds requests until the test lets them go.
class FakeServable final : public scheduler::Servable {
 public:
  FakeServable(scheduler::ServableOptions options, Compute compute)
      : options_(std::move(options)), compute_(std::move(compute)) {}

  const scheduler::ServableOptions& options() const override { return options_; }

  std::shared_ptr<scheduler::RequestHandle> Submit(
      std::unique_ptr<scheduler::Request> request) override {
    auto held = std::make_shared<Held>();
    held->request = std::move(request);
    {
      absl::MutexLock lock(&mutex_);
      deadlines_.push_back(held->request->deadline);
      priorities_.push_back(held->request->priority);
      if (hold_) {
        held_.push_back(held);
        return std::make_shared<Handle>(held, this);
      }
    }
    Run(*held);
    return std::make_shared<Handle>(held, this);
  }

  absl::Status WarmUp() override { return absl::OkStatus(); }
  void Drain(absl::Time) override {}
  scheduler::ServableStatistics statistics() const override {
    scheduler::ServableStatistics s;
    s.inference_count = 7;
    s.execution_count = 3;
    s.success = {3, absl::Milliseconds(6)};
    s.last_inference = absl::FromUnixMillis(1234567);
    s.batches[2] = {3, absl::Microseconds(1), absl::Microseconds(2), absl::Microseconds(3)};
    return s;
  }

  // From now on requests wait for ReleaseAll.
  void Hold() {
    absl::MutexLock lock(&mutex_);
    hold_ = true;
  }
  void AwaitHeld(size_t n) {
    absl::MutexLock lock(&mutex_);
    auto reached = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return held_.size() >= n; };
    mutex_.Await(absl::Condition(&reached));
  }
  // Lets go of what is held, computing it on this thread, and holds no more.
  void ReleaseAll() {
    std::vector<std::shared_ptr<Held>> held;
    {
      absl::MutexLock lock(&mutex_);
      hold_ = false;
      held.swap(held_);
    }
    for (auto& h : held) Run(*h);
  }
  // Waits until `n` requests have been cancelled.
  void AwaitCancelled(int n) {
    absl::MutexLock lock(&mutex_);
    auto reached = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return cancelled_ >= n; };
    mutex_.Await(absl::Condition(&reached));
  }
  std::vector<absl::Time> deadlines() const {
    absl::MutexLock lock(&mutex_);
    return deadlines_;
  }
  std::vector<int> priorities() const {
    absl::MutexLock lock(&mutex_);
    return priorities_;
  }

 private:
  struct Held {
    absl::Mutex mutex;
    std::unique_ptr<scheduler::Request> request ABSL_GUARDED_BY(mutex);  // null once answered
  };
  class Handle final : public scheduler::RequestHandle {
   public:
    Handle(std::shared_ptr<Held> held, FakeServable* owner)
        : held_(std::move(held)), owner_(owner) {}
    void Cancel() override {
      auto request = Take(*held_);
      if (request == nullptr) return;
      scheduler::Response response;
      response.status = absl::CancelledError("cancelled by the client");
      request->done(std::move(response));
      absl::MutexLock lock(&owner_->mutex_);
      ++owner_->cancelled_;
    }

   private:
    const std::shared_ptr<Held> held_;
    FakeServable* const owner_;
  };

  static std::unique_ptr<scheduler::Request> Take(Held& held) {
    absl::MutexLock lock(&held.mutex);
    return std::move(held.request);
  }

  void Run(Held& held) {
    auto request = Take(held);
    if (request == nullptr) return;
    scheduler::Response response;
    response.model_version = options_.version;
    response.timing.batch_size = 1;
    auto outputs = compute_(*request);
    if (!outputs.ok()) {
      response.status = outputs.status();
    } else {
      for (const engine::Tensor& tensor : *outputs) {
        response.outputs.push_back({tensor.view(), tensor.buffer()});
      }
    }
    request->done(std::move(response));
  }

  const scheduler::ServableOptions options_;
  const Compute compute_;
  mutable absl::Mutex mutex_;
  bool hold_ ABSL_GUARDED_BY(mutex_) = false;
  int cancelled_ ABSL_GUARDED_BY(mutex_) = 0;
  std::vector<std::shared_ptr<Held>> held_ ABSL_GUARDED_BY(mutex_);
  std::vector<absl::Time> deadlines_ ABSL_GUARDED_BY(mutex_);
  std::vector<int> priorities_ ABSL_GUARDED_BY(mutex_);
};

class FakeRepository final : public repository::ModelRepository {
 public:
  // The servable of the new version.
  std::shared_ptr<FakeServable> Add(const std::string& name, const std::string& version,
                                    std::vector<scheduler::TensorSpec> inputs,
                                    std::vector<scheduler::TensorSpec> outputs,
                                    int64_t max_batch_size, Compute compute, int priorities = 1) {
    scheduler::ServableOptions options;
    options.model = name;
    options.version = version;
    options.inputs = std::move(inputs);
    options.outputs = std::move(outputs);
    options.batching.max_batch_size = max_batch_size;
    options.queue.priorities = priorities;
    auto servable = std::make_shared<FakeServable>(std::move(options), std::move(compute));
    Add(servable);
    return servable;
  }
  void Add(std::shared_ptr<scheduler::Servable> servable) {
    auto model = std::make_shared<repository::ModelVersion>();
    model->name = servable->options().model;
    model->version = servable->options().version;
    model->servable = std::move(servable);
    const std::pair<std::string, std::string> key(model->name, model->version);
    absl::MutexLock lock(&mutex_);
    models_[key] = std::move(model);
  }
  void AddUnavailable(const std::string& name, const std::string& reason) {
    absl::MutexLock lock(&mutex_);
    unavailable_[name] = reason;
  }

  void LoadAll() override {}
  absl::Status Load(const std::string& name) override {
    absl::MutexLock lock(&mutex_);
    loaded_.push_back(name);
    return name == "missing" ? absl::NotFoundError("no model 'missing'") : absl::OkStatus();
  }
  absl::Status Unload(const std::string& name, absl::Time) override {
    absl::MutexLock lock(&mutex_);
    unloaded_.push_back(name);
    return absl::OkStatus();
  }
  absl::StatusOr<std::shared_ptr<const repository::ModelVersion>> Find(
      absl::string_view name, absl::string_view version) const override {
    absl::MutexLock lock(&mutex_);
    std::shared_ptr<const repository::ModelVersion> newest;
    for (const auto& [key, model] : models_) {
      if (key.first != name) continue;
      newest = model;
      if (key.second == version) return newest;
    }
    if (version.empty() && newest != nullptr) return newest;
    if (const auto it = unavailable_.find(std::string(name)); it != unavailable_.end()) {
      return absl::UnavailableError(absl::StrCat("Request for unknown model: '", name,
                                                 "' is not at ready state: ", it->second));
    }
    return absl::NotFoundError(
        absl::StrCat("Request for unknown model: '", name, "' is not found"));
  }
  std::vector<repository::IndexEntry> Index() const override {
    absl::MutexLock lock(&mutex_);
    std::vector<repository::IndexEntry> index;
    for (const auto& [key, model] : models_) {
      index.push_back({key.first, key.second, repository::ModelState::kReady, ""});
    }
    for (const auto& [name, reason] : unavailable_) {
      index.push_back({name, "1", repository::ModelState::kUnavailable, reason});
    }
    return index;
  }
  std::vector<std::shared_ptr<const repository::ModelVersion>> ReadyVersions() const override {
    absl::MutexLock lock(&mutex_);
    std::vector<std::shared_ptr<const repository::ModelVersion>> all;
    for (const auto& [key, model] : models_) all.push_back(model);
    return all;
  }
  bool Ready() const override {
    absl::MutexLock lock(&mutex_);
    return ready_;
  }
  void Shutdown(absl::Time) override {}

  void SetReady(bool ready) {
    absl::MutexLock lock(&mutex_);
    ready_ = ready;
  }
  std::vector<std::string> loaded() const {
    absl::MutexLock lock(&mutex_);
    return loaded_;
  }
  std::vector<std::string> unloaded() const {
    absl::MutexLock lock(&mutex_);
    return unloaded_;
  }

 private:
  mutable absl::Mutex mutex_;
  bool ready_ ABSL_GUARDED_BY(mutex_) = true;
  std::map<std::pair<std::string, std::string>, std::shared_ptr<const repository::ModelVersion>>
      models_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, std::string> unavailable_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::string> loaded_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::string> unloaded_ ABSL_GUARDED_BY(mutex_);
};

// A copy of `view` with memory of its own.
inline engine::Tensor CopyOf(const engine::TensorView& view) {
  engine::Tensor copy = engine::Tensor::Allocate(view.type, view.shape).value();
  if (view.type == engine::ElementType::kString) {
    for (int64_t i = 0; i < view.num_elements(); ++i) {
      copy.mutable_data<std::string>()[i] = view.as<std::string>()[i];
    }
  } else if (view.num_bytes() > 0) {
    std::memcpy(copy.view().data, view.data, view.num_bytes());
  }
  return copy;
}

// The same of an input of a request, in pieces or not.
inline engine::Tensor CopyOf(const scheduler::Request& request, size_t input) {
  const engine::TensorView& view = request.inputs[input];
  if (request.pieces_of(input).empty()) return CopyOf(view);
  engine::Tensor copy = engine::Tensor::Allocate(view.type, view.shape).value();
  auto* out = static_cast<uint8_t*>(copy.view().data);
  for (absl::Span<const uint8_t> piece : request.pieces_of(input)) {
    out = std::copy(piece.begin(), piece.end(), out);
  }
  return copy;
}

// OUTPUT = INPUT.
inline Compute Identity() {
  return [](const scheduler::Request& request) -> absl::StatusOr<std::vector<engine::Tensor>> {
    return std::vector<engine::Tensor>{CopyOf(request, 0)};
  };
}

// OUTPUT0 = INPUT0 + INPUT1, OUTPUT1 = INPUT0 - INPUT1, all INT32.
inline Compute SumAndDifference() {
  return [](const scheduler::Request& request) -> absl::StatusOr<std::vector<engine::Tensor>> {
    engine::Tensor sum = CopyOf(request, 0), difference = CopyOf(request, 0);
    const engine::Tensor other = CopyOf(request, 1);
    for (int64_t i = 0; i < sum.num_elements(); ++i) {
      sum.mutable_data<int32_t>()[i] += other.data<int32_t>()[i];
      difference.mutable_data<int32_t>()[i] -= other.data<int32_t>()[i];
    }
    return std::vector<engine::Tensor>{std::move(sum), std::move(difference)};
  };
}

// The models most tests use: "simple" (INT32 [-1,16] twice to twice, batched up to 8), "identity"
// (FP32 [-1,-1]), "text" (BYTES [-1]), "vector" (FP32 [4], not batched), "any_rank" (FP32 of any
// shape), and "broken", which is not available.
struct StandardModels {
  explicit StandardModels(FakeRepository& repository) {
    using engine::ElementType;
    simple = repository.Add(
        "simple", "1",
        {{"INPUT0", ElementType::kInt32, {-1, 16}}, {"INPUT1", ElementType::kInt32, {-1, 16}}},
        {{"OUTPUT0", ElementType::kInt32, {-1, 16}}, {"OUTPUT1", ElementType::kInt32, {-1, 16}}}, 8,
        SumAndDifference(), /*priorities=*/2);
    identity = repository.Add("identity", "1", {{"X", ElementType::kFloat32, {-1, -1}}},
                              {{"Y", ElementType::kFloat32, {-1, -1}}}, 4, Identity());
    text = repository.Add("text", "2", {{"X", ElementType::kString, {-1}}},
                          {{"Y", ElementType::kString, {-1}}}, 1, Identity());
    vector = repository.Add("vector", "1", {{"X", ElementType::kFloat32, {4}}},
                            {{"Y", ElementType::kFloat32, {4}}}, 1, Identity());
    scheduler::TensorSpec any{"X", ElementType::kFloat32, {}};
    any.any_rank = true;
    any_rank = repository.Add("any_rank", "1", {any}, {any}, 1, Identity());
    repository.AddUnavailable("broken", "the file is damaged");
  }
  std::shared_ptr<FakeServable> simple, identity, text, vector, any_rank;
};

}  // namespace inferd::server::testing
