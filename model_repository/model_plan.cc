#include "model_repository/model_plan.h"

#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/status_macros.h"

namespace inferd::repository {

absl::StatusOr<ModelPlan> PlanModel(const std::string& path) {
  ModelPlan plan;
  ASSIGN_OR_RETURN(ConfigFile file, ReadConfigFile(path));
  ASSIGN_OR_RETURN(plan.config, ParseModelConfig(file.text, file.path));
  plan.config_text = std::move(file.text);
  ASSIGN_OR_RETURN(std::vector<VersionDirectory> found, ScanVersions(path));
  SelectedVersions selected = SelectVersions(plan.config.versions, found);
  plan.versions = std::move(selected.versions);
  plan.missing = std::move(selected.missing);
  for (VersionDirectory& version : plan.versions) {
    absl::StrAppend(&version.fingerprint, "\n", plan.config_text);
  }
  std::error_code error;
  const std::filesystem::path foreign = std::filesystem::path(path) / "config.pbtxt";
  if (plan.config_text.empty() && std::filesystem::exists(foreign, error)) {
    plan.notes.push_back(absl::StrCat(foreign.string(),
                                      " is not read; the configuration is config.yaml, without "
                                      "which the model runs on defaults"));
  }
  return plan;
}

}  // namespace inferd::repository
