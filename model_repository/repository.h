// The models of one daemon: directories -> servables, by name and version.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "engine/runtime/model.h"
#include "model_repository/model_config.h"
#include "scheduler/servable.h"

namespace inferd::repository {

enum class ModelState : uint8_t { kUnknown, kLoading, kReady, kUnloading, kUnavailable };
absl::string_view ModelStateName(ModelState state);  // "READY", ... as the wire protocol spells it

// One version of one model. Held by requests in flight, so that an unload waits for them.
// Immutable once ready; thread-safe.
struct ModelVersion {
  std::string name;
  std::string version;
  ModelConfig config;  // effective: defaults filled in
  std::shared_ptr<engine::Model> model;
  std::shared_ptr<scheduler::Servable> servable;
  // Sentences for the status page: why it is served unbatched, notes of the importer, ...
  std::vector<std::string> notes;
  absl::Duration load_time;
};

struct IndexEntry {
  std::string name;
  std::string version;  // "" for a model none of whose versions was found
  ModelState state = ModelState::kUnknown;
  std::string reason;
};

// Makes the observer of a version's servable, for metrics; may return null.
using ObserverFactory = std::function<std::shared_ptr<scheduler::ServableObserver>(
    const std::string& model, const std::string& version)>;

// What "ready" means for the whole repository. Either way it takes at least one ready model, and a
// model someone unloaded is not waited for.
enum class Readiness : uint8_t { kAllModels, kAnyModel };

struct RepositoryOptions {
  std::vector<std::string> directories;
  scheduler::Clock* clock = nullptr;  // outlives the repository; deadlines below are its time
  ObserverFactory observer_factory;
  // Loads whose model fails are reported here as they happen (model, version, status), as are
  // successes (OK). The version is "" when the model failed as a whole. Called from the loading
  // thread, without a lock.
  std::function<void(const std::string&, const std::string&, const absl::Status&)> on_load;
  // Called just before a version is served, with its effective configuration and notes.
  std::function<void(const ModelVersion&)> on_ready;
  Readiness readiness = Readiness::kAllModels;
  // Models loaded side by side by LoadAll; 0: follows from the CPU.
  int load_threads = 0;
  // How long a replaced version may take to finish its requests.
  absl::Duration drain_timeout = absl::Seconds(30);
};

// Thread-safe.
class ModelRepository {
 public:
  // Scans the directories; loads nothing yet. NOT_FOUND for a directory that does not exist.
  static absl::StatusOr<std::unique_ptr<ModelRepository>> Open(RepositoryOptions options);
  virtual ~ModelRepository() = default;

  // Loads every model, each on its own: one that fails becomes kUnavailable with its reason.
  virtual void LoadAll() = 0;
  // Explicit (re)load and unload of one model by name. A reload that fails keeps what is served.
  // Versions whose files and configuration have not changed stay as they are. Both wait for
  // another Load or Unload of the same model, and return once replaced versions are drained.
  virtual absl::Status Load(const std::string& name) = 0;
  virtual absl::Status Unload(const std::string& name, absl::Time drain_deadline) = 0;

  // "" is the newest ready version. NOT_FOUND for an unknown model or version; UNAVAILABLE with
  // the reason for one that is not ready. INVALID_ARGUMENT for a version that is not a number.
  virtual absl::StatusOr<std::shared_ptr<const ModelVersion>> Find(
      absl::string_view name, absl::string_view version) const = 0;
  // Every known version, sorted by name then version number.
  virtual std::vector<IndexEntry> Index() const = 0;
  virtual std::vector<std::shared_ptr<const ModelVersion>> ReadyVersions() const = 0;
  // True once LoadAll has finished and every model has a ready version (or, by
  // RepositoryOptions::readiness, any); false with no models. A reload never turns it false.
  virtual bool Ready() const = 0;
  // Drains all models at once. Find fails with UNAVAILABLE afterwards.
  virtual void Shutdown(absl::Time drain_deadline) = 0;
};

}  // namespace inferd::repository
