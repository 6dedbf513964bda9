// One version directory -> a servable: the model, its effective configuration, its instances.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "model_repository/directory_scan.h"
#include "model_repository/model_config.h"
#include "model_repository/repository.h"

namespace inferd::repository {

struct VersionToLoad {
  std::string model;
  VersionDirectory directory;
  ModelConfig config;  // as written
};

// Loads, checks the configuration against the model, creates the instances and warms them up.
// Blocks for as long as that takes. INVALID_ARGUMENT for a configuration the model contradicts,
// with what to change; the engine's own errors for a model that cannot run.
absl::StatusOr<std::unique_ptr<ModelVersion>> LoadVersion(const VersionToLoad& version,
                                                          const RepositoryOptions& options);

}  // namespace inferd::repository
