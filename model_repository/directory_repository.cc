#include "model_repository/directory_repository.h"

#include <malloc.h>

#include <algorithm>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/device/thread_pool.h"
#include "engine/status_macros.h"
#include "model_repository/load_version.h"

namespace inferd::repository {

class DirectoryRepository::Claim {
 public:
  Claim(DirectoryRepository& repository, std::string name)
      : repository_(repository), name_(std::move(name)) {
    absl::MutexLock lock(&repository_.mu_);
    repository_.mu_.Await(absl::Condition(
        +[](Claim* claim) ABSL_NO_THREAD_SAFETY_ANALYSIS {
          const auto it = claim->repository_.models_.find(claim->name_);
          return it == claim->repository_.models_.end() || !it->second.busy;
        },
        this));
    const auto it = repository_.models_.find(name_);
    held_ = it != repository_.models_.end();
    if (held_) it->second.busy = true;
  }
  ~Claim() {
    absl::MutexLock lock(&repository_.mu_);
    if (held_) repository_.models_.at(name_).busy = false;
  }
  // False when there is no such model.
  bool held() const { return held_; }

 private:
  DirectoryRepository& repository_;
  const std::string name_;
  bool held_ = false;
};

absl::StatusOr<std::unique_ptr<ModelRepository>> ModelRepository::Open(RepositoryOptions options) {
  if (options.clock == nullptr) options.clock = &scheduler::MonotonicClock();
  auto repository = std::make_unique<DirectoryRepository>(std::move(options));
  RETURN_IF_ERROR(repository->Rescan());
  return repository;
}

DirectoryRepository::~DirectoryRepository() {
  Shutdown(options_.clock->Now());
  AwaitIdle(absl::InfiniteDuration());
}

absl::Status DirectoryRepository::Rescan() {
  ASSIGN_OR_RETURN(Scan scan, ScanRepositories(options_.directories));
  absl::MutexLock lock(&mu_);
  std::set<std::string> found;
  for (ModelDirectory& directory : scan.models) {
    found.insert(directory.name);
    Model& model = models_[directory.name];
    model.path = std::move(directory.path);
    model.problem = std::move(directory.problem);
    if (model.state == ModelState::kUnknown && model.reason.empty()) model.reason = "not loaded";
  }
  for (auto it = models_.begin(); it != models_.end();) {
    Model& model = it->second;
    if (found.contains(it->first)) {
      ++it;
      continue;
    }
    model.problem = absl::NotFoundError(absl::StrCat(model.path, " is no longer there"));
    const bool served = std::any_of(model.versions.begin(), model.versions.end(),
                                    [](const auto& v) { return v.second.lease != nullptr; });
    // What is served goes on being served; the rest is forgotten.
    it = served || model.busy ? std::next(it) : models_.erase(it);
  }
  PublishAll();
  return absl::OkStatus();
}

void DirectoryRepository::Report(const std::string& name, const std::string& version,
                                 const absl::Status& status) {
  if (options_.on_load) options_.on_load(name, version, status);
}

void DirectoryRepository::LoadAll() {
  std::vector<std::string> names;
  {
    absl::MutexLock lock(&mu_);
    for (auto& [name, model] : models_) {
      model.wanted = true;
      names.push_back(name);
    }
  }
  // A load is part computation, part reading; some side by side help, many would only compete.
  constexpr int kMostThreads = 8;
  const int threads = options_.load_threads > 0
                          ? options_.load_threads
                          : std::clamp(engine::AvailableThreads() / 2, 1, kMostThreads);
  std::atomic<size_t> next{0};
  const auto work = [&] {
    for (size_t i = next++; i < names.size(); i = next++) {
      Claim claim(*this, names[i]);
      if (claim.held()) LoadClaimed(names[i]).IgnoreError();  // recorded and reported
    }
  };
  std::vector<std::thread> helpers;
  for (int i = 1; i < threads && i < static_cast<int>(names.size()); ++i)
    helpers.emplace_back(work);
  work();
  for (std::thread& helper : helpers) helper.join();
  absl::MutexLock lock(&mu_);
  loaded_all_ = true;
  UpdateReady();
}

absl::Status DirectoryRepository::Load(const std::string& name) {
  RETURN_IF_ERROR(Rescan());
  Claim claim(*this, name);
  if (!claim.held()) {
    return absl::NotFoundError(
        absl::StrCat("Request for unknown model: '", name.substr(0, 256), "' is not found"));
  }
  {
    absl::MutexLock lock(&mu_);
    models_.at(name).wanted = true;
  }
  return LoadClaimed(name);
}

absl::Status DirectoryRepository::FailModel(const std::string& name, const absl::Status& status) {
  {
    absl::MutexLock lock(&mu_);
    Model& model = models_.at(name);
    model.state = ModelState::kUnavailable;
    model.reason = std::string(status.message());
    for (auto it = model.versions.begin(); it != model.versions.end();) {
      Version& version = it->second;
      if (version.lease != nullptr) {
        version.reason = absl::StrCat("served as before, the reload failed: ", status.message());
        ++it;
      } else {
        it = model.versions.erase(it);
      }
    }
    Publish(name);
  }
  Report(name, "", status);
  return status;
}

absl::Status DirectoryRepository::LoadClaimed(const std::string& name) {
  std::string path;
  absl::Status problem;
  {
    absl::MutexLock lock(&mu_);
    if (stopping_) return absl::UnavailableError("the server is shutting down");
    path = models_.at(name).path;
    problem = models_.at(name).problem;
  }
  if (!problem.ok()) return FailModel(name, problem);
  absl::StatusOr<ModelPlan> plan = PlanModel(path);
  if (!plan.ok()) return FailModel(name, plan.status());

  std::set<int64_t> wanted(plan->missing.begin(), plan->missing.end());
  std::vector<const VersionDirectory*> to_load;
  {
    absl::MutexLock lock(&mu_);
    Model& model = models_.at(name);
    model.reason.clear();
    for (int64_t number : plan->missing) {
      Version& version = model.versions[number];
      if (version.lease == nullptr) version.state = ModelState::kUnavailable;
      version.reason =
          absl::StrCat("named by `versions`, but ", path, "/", number, " does not exist");
    }
    for (const VersionDirectory& directory : plan->versions) {
      wanted.insert(directory.number);
      Version& version = model.versions[directory.number];
      if (version.lease != nullptr && version.fingerprint == directory.fingerprint) {
        version.reason.clear();
        continue;
      }
      if (version.lease == nullptr) version.state = ModelState::kLoading;
      to_load.push_back(&directory);
    }
    Publish(name);
  }

  absl::Status result;
  for (const VersionDirectory* directory : to_load) {
    if (absl::Status s = LoadOneVersion(name, *plan, *directory); !s.ok()) result = s;
  }
  for (int64_t number : plan->missing) {
    result = absl::NotFoundError(
        absl::StrCat("version ", number, " of model '", name, "' does not exist below ", path));
    Report(name, absl::StrCat(number), result);
  }

  // Versions the policy no longer asks for go, unless that would leave nothing to serve.
  std::set<int64_t> doomed;
  {
    absl::MutexLock lock(&mu_);
    Model& model = models_.at(name);
    bool any_wanted_ready = false;
    for (const auto& [number, version] : model.versions) {
      if (version.lease == nullptr && !wanted.contains(number)) doomed.insert(number);
      any_wanted_ready |= version.lease != nullptr && wanted.contains(number);
    }
    if (any_wanted_ready) {
      for (const auto& [number, version] : model.versions) {
        if (!wanted.contains(number)) doomed.insert(number);
      }
    }
  }
  RetireVersions(name, doomed, options_.clock->Now() + options_.drain_timeout);
  return result;
}

absl::Status DirectoryRepository::LoadOneVersion(const std::string& name, const ModelPlan& plan,
                                                 const VersionDirectory& directory) {
  {
    absl::MutexLock lock(&mu_);
    if (stopping_) return absl::UnavailableError("the server is shutting down");
  }
  absl::StatusOr<std::unique_ptr<ModelVersion>> loaded =
      LoadVersion({.model = name, .directory = directory, .config = plan.config}, options_);
  const std::string number = absl::StrCat(directory.number);
  if (!loaded.ok()) {
    {
      absl::MutexLock lock(&mu_);
      Version& version = models_.at(name).versions[directory.number];
      if (version.lease != nullptr) {
        version.reason =
            absl::StrCat("served as before, the reload failed: ", loaded.status().message());
      } else {
        version.state = ModelState::kUnavailable;
        version.reason = std::string(loaded.status().message());
      }
      Publish(name);
    }
    Report(name, number, loaded.status());
    return loaded.status();
  }
  ModelVersion& ready = **loaded;
  ready.notes.insert(ready.notes.end(), plan.notes.begin(), plan.notes.end());
  if (options_.on_ready) options_.on_ready(ready);
  std::shared_ptr<Lease> fresh = Lease::Make(*std::move(loaded));
  std::shared_ptr<Lease> replaced;
  {
    absl::MutexLock lock(&mu_);
    if (stopping_) {
      replaced = std::move(fresh);
    } else {
      Version& version = models_.at(name).versions[directory.number];
      replaced = std::exchange(version.lease, std::move(fresh));
      version.state = ModelState::kReady;
      version.reason.clear();
      version.fingerprint = directory.fingerprint;
      Publish(name);
    }
  }
  Report(name, number, absl::OkStatus());
  if (replaced != nullptr) {
    replaced->Retire(options_.clock->Now() + options_.drain_timeout, *options_.clock);
    malloc_trim(0);  // a model's memory is worth giving back at once
  }
  return absl::OkStatus();
}

void DirectoryRepository::RetireVersions(const std::string& name, const std::set<int64_t>& doomed,
                                         absl::Time deadline) {
  std::vector<std::shared_ptr<Lease>> leases;
  {
    absl::MutexLock lock(&mu_);
    Model& model = models_.at(name);
    for (int64_t number : doomed) {
      const auto it = model.versions.find(number);
      if (it == model.versions.end()) continue;
      if (it->second.lease != nullptr) leases.push_back(std::move(it->second.lease));
      model.versions.erase(it);
    }
    Publish(name);
  }
  for (const auto& lease : leases) lease->Retire(deadline, *options_.clock);
  if (!leases.empty()) malloc_trim(0);
}

absl::Status DirectoryRepository::Unload(const std::string& name, absl::Time drain_deadline) {
  Claim claim(*this, name);
  if (!claim.held()) {
    return absl::NotFoundError(
        absl::StrCat("Request for unknown model: '", name.substr(0, 256), "' is not found"));
  }
  std::vector<std::shared_ptr<Lease>> leases;
  const auto set_state = [&](ModelState state, const char* reason) {
    absl::MutexLock lock(&mu_);
    Model& model = models_.at(name);
    model.wanted = false;
    model.state = state;
    model.reason = reason;
    for (auto& [number, version] : model.versions) {
      if (version.lease != nullptr) leases.push_back(std::move(version.lease));
      version.lease = nullptr;
      version.state = state;
      version.reason = reason;
      version.fingerprint.clear();
    }
    Publish(name);
  };
  set_state(ModelState::kUnloading, "unloading");
  for (const auto& lease : leases) lease->Retire(drain_deadline, *options_.clock);
  leases.clear();
  set_state(ModelState::kUnavailable, "unloaded");
  malloc_trim(0);
  return absl::OkStatus();
}

void DirectoryRepository::Shutdown(absl::Time drain_deadline) {
  std::vector<std::shared_ptr<Lease>> leases;
  {
    absl::MutexLock lock(&mu_);
    stopping_ = true;
    for (auto& [name, model] : models_) {
      model.state = ModelState::kUnavailable;
      model.reason = "the server is shutting down";
      for (auto& [number, version] : model.versions) {
        if (version.lease != nullptr) leases.push_back(std::move(version.lease));
        version.lease = nullptr;
        version.state = ModelState::kUnavailable;
        version.reason = model.reason;
      }
    }
    PublishAll();
  }
  // All of them refuse new work by now, so waiting for one after the other is waiting for all.
  for (const auto& lease : leases) lease->Retire(drain_deadline, *options_.clock);
  // A load under way finds itself unwanted when it is done; it cannot be interrupted.
  AwaitIdle(drain_deadline - options_.clock->Now());
}

bool DirectoryRepository::AwaitIdle(absl::Duration patience) {
  const auto idle = +[](DirectoryRepository* self) ABSL_NO_THREAD_SAFETY_ANALYSIS {
    return std::none_of(self->models_.begin(), self->models_.end(),
                        [](const auto& m) { return m.second.busy; });
  };
  absl::MutexLock lock(&mu_);
  return mu_.AwaitWithTimeout(absl::Condition(idle, this), patience);
}

std::shared_ptr<const ModelView> DirectoryRepository::ViewOf(const Model& model) {
  auto view = std::make_shared<ModelView>();
  view->state = model.state;
  view->reason = model.reason;
  for (const auto& [number, version] : model.versions) {
    view->versions.push_back({number, version.state, version.reason,
                              version.lease != nullptr ? version.lease->shared() : nullptr});
  }
  return view;
}

void DirectoryRepository::Publish(const std::string& name) {
  auto snapshot = std::make_shared<IndexSnapshot>(*index_.Get());
  (*snapshot)[name] = ViewOf(models_.at(name));
  index_.Swap(std::move(snapshot));
  UpdateReady();
}

void DirectoryRepository::PublishAll() {
  auto snapshot = std::make_shared<IndexSnapshot>();
  for (const auto& [name, model] : models_) (*snapshot)[name] = ViewOf(model);
  index_.Swap(std::move(snapshot));
  UpdateReady();
}

void DirectoryRepository::UpdateReady() {
  int wanted = 0, ready = 0;
  for (const auto& [name, model] : models_) {
    if (!model.wanted) continue;
    ++wanted;
    ready += std::any_of(model.versions.begin(), model.versions.end(),
                         [](const auto& v) { return v.second.lease != nullptr; });
  }
  const bool enough =
      options_.readiness == Readiness::kAnyModel ? ready > 0 : ready > 0 && ready == wanted;
  ready_.store(loaded_all_ && !stopping_ && enough, std::memory_order_release);
}

absl::StatusOr<std::shared_ptr<const ModelVersion>> DirectoryRepository::Find(
    absl::string_view name, absl::string_view version) const {
  return index_.Find(name, version);
}

bool DirectoryRepository::Ready() const { return ready_.load(std::memory_order_acquire); }

std::vector<IndexEntry> DirectoryRepository::Index() const {
  const std::shared_ptr<const IndexSnapshot> snapshot = index_.Get();
  std::vector<IndexEntry> entries;
  for (const auto& [name, model] : *snapshot) {
    if (model->versions.empty()) entries.push_back({name, "", model->state, model->reason});
    for (const ModelView::Version& version : model->versions) {
      entries.push_back({name, absl::StrCat(version.number), version.state, version.reason});
    }
  }
  // Versions of one model are in order already.
  std::stable_sort(entries.begin(), entries.end(),
                   [](const auto& a, const auto& b) { return a.name < b.name; });
  return entries;
}

std::vector<std::shared_ptr<const ModelVersion>> DirectoryRepository::ReadyVersions() const {
  const std::shared_ptr<const IndexSnapshot> snapshot = index_.Get();
  std::vector<std::shared_ptr<const ModelVersion>> versions;
  for (const auto& [name, model] : *snapshot) {
    for (const ModelView::Version& version : model->versions) {
      if (version.ready != nullptr) versions.push_back(version.ready);
    }
  }
  std::sort(versions.begin(), versions.end(), [](const auto& a, const auto& b) {
    if (a->name != b->name) return a->name < b->name;
    return std::stoll(a->version) < std::stoll(b->version);
  });
  return versions;
}

absl::string_view ModelStateName(ModelState state) {
  switch (state) {
    case ModelState::kUnknown:
      return "UNKNOWN";
    case ModelState::kLoading:
      return "LOADING";
    case ModelState::kReady:
      return "READY";
    case ModelState::kUnloading:
      return "UNLOADING";
    case ModelState::kUnavailable:
      return "UNAVAILABLE";
  }
  return "UNKNOWN";
}

}  // namespace inferd::repository
