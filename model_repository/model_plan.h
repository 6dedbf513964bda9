// What a model's directory asks for, before anything is loaded.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "model_repository/directory_scan.h"
#include "model_repository/model_config.h"

namespace inferd::repository {

struct ModelPlan {
  ModelConfig config;
  std::string config_text;
  std::vector<VersionDirectory> versions;  // ascending; fingerprints cover the configuration too
  std::vector<int64_t> missing;            // named by the policy, but not there
  std::vector<std::string> notes;
};

// Reads config.yaml and the version directories of the model at `path`.
absl::StatusOr<ModelPlan> PlanModel(const std::string& path);

}  // namespace inferd::repository
