// What stands in the repositories' directories. Reads names and file properties, no model.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "model_repository/model_config.h"

namespace inferd::repository {

struct ModelDirectory {
  std::string name;
  std::string path;
  // Not OK: why the model cannot be loaded although it was found, such as a second model of the
  // same name.
  absl::Status problem;
};

struct Scan {
  std::vector<ModelDirectory> models;  // by name
  // Entries left out, a sentence each.
  std::vector<std::string> ignored;
};

// Every subdirectory is a model; names that start with a dot are skipped. NOT_FOUND for a
// repository that does not exist, INVALID_ARGUMENT for one that is no directory or is given twice.
absl::StatusOr<Scan> ScanRepositories(const std::vector<std::string>& directories);

struct VersionDirectory {
  int64_t number = 0;
  std::string path;
  // Changes when a file below `path` does.
  std::string fingerprint;
};

// The numeric subdirectories of a model, ascending. NOT_FOUND says what was found instead.
absl::StatusOr<std::vector<VersionDirectory>> ScanVersions(const std::string& model_path);

// The versions of `found` the policy asks for, ascending, and those it names that are missing.
struct SelectedVersions {
  std::vector<VersionDirectory> versions;
  std::vector<int64_t> missing;
};
SelectedVersions SelectVersions(const VersionPolicy& policy,
                                const std::vector<VersionDirectory>& found);

// The ONNX file of a version. NOT_FOUND says what was found instead.
absl::StatusOr<std::string> FindModelFile(const VersionDirectory& version);

// The text of config.yaml and where it stands; empty text where there is none. INVALID_ARGUMENT
// for a file that is nearly, but not quite, named so.
struct ConfigFile {
  std::string path;
  std::string text;
};
absl::StatusOr<ConfigFile> ReadConfigFile(const std::string& model_path);

}  // namespace inferd::repository
