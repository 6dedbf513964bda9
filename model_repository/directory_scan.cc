#include "model_repository/directory_scan.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <map>
#include <system_error>

#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "engine/status_macros.h"

namespace inferd::repository {
namespace {

namespace fs = std::filesystem;

constexpr char kModelFile[] = "model.onnx";
constexpr char kConfigFile[] = "config.yaml";
constexpr size_t kLargestConfig = 1 << 20;

struct Listing {
  std::vector<std::string> directories;
  std::vector<std::string> files;
};

// Names below `path`, sorted; symbolic links count as what they point at.
absl::StatusOr<Listing> List(const std::string& path) {
  std::error_code error;
  fs::directory_iterator it(path, error);
  Listing listing;
  for (; !error && it != fs::directory_iterator(); it.increment(error)) {
    std::error_code unreadable;
    const bool directory = it->is_directory(unreadable);
    std::string name = it->path().filename().string();
    if (name.empty() || name[0] == '.') continue;
    (directory ? listing.directories : listing.files).push_back(std::move(name));
  }
  if (error) {
    return absl::UnavailableError(
        absl::StrCat("cannot read directory ", path, ": ", error.message()));
  }
  std::sort(listing.directories.begin(), listing.directories.end());
  std::sort(listing.files.begin(), listing.files.end());
  return listing;
}

// A name that can stand in a URL, a metric label and a log line: printable UTF-8, no space.
bool IsServableName(const std::string& name) {
  size_t i = 0;
  while (i < name.size()) {
    const unsigned char c = name[i];
    const int length = c < 0x80                ? 1
                       : c >= 0xc2 && c < 0xe0 ? 2
                       : c >= 0xe0 && c < 0xf0 ? 3
                       : c >= 0xf0 && c < 0xf5 ? 4
                                               : 0;
    if (length == 0 || i + length > name.size()) return false;
    if (length == 1 && (c <= 0x20 || c == 0x7f)) return false;
    for (int k = 1; k < length; ++k) {
      if ((static_cast<unsigned char>(name[i + k]) & 0xc0) != 0x80) return false;
    }
    i += length;
  }
  return true;
}

// Whole positive numbers without leading zeros, so that no two directories are one version.
bool ParseVersionName(const std::string& name, int64_t* number) {
  return !name.empty() && name[0] >= '1' && name[0] <= '9' &&
         name.find_first_not_of("0123456789") == std::string::npos &&
         absl::SimpleAtoi(name, number);
}

std::string ListNames(const std::vector<std::string>& names) {
  constexpr size_t kShown = 5;
  if (names.empty()) return "nothing";
  std::vector<std::string> shown(names.begin(), names.begin() + std::min(kShown, names.size()));
  return absl::StrCat(
      absl::StrJoin(shown, ", "),
      names.size() > kShown ? absl::StrCat(" and ", names.size() - kShown, " more") : "");
}

std::string Fingerprint(const std::string& path) {
  constexpr int kMostFiles = 10'000;
  std::vector<std::string> parts;
  std::error_code error;
  fs::recursive_directory_iterator it(path, fs::directory_options::follow_directory_symlink, error);
  for (int n = 0; !error && it != fs::recursive_directory_iterator() && n < kMostFiles;
       it.increment(error), ++n) {
    if (it.depth() > 8) it.disable_recursion_pending();
    std::error_code ignored;
    if (!it->is_regular_file(ignored)) continue;
    const auto size = it->file_size(ignored);
    const auto time = it->last_write_time(ignored).time_since_epoch().count();
    parts.push_back(absl::StrCat(it->path().string(), ":", size, ":", time));
  }
  std::sort(parts.begin(), parts.end());
  return absl::StrJoin(parts, "\n");
}

}  // namespace

absl::StatusOr<Scan> ScanRepositories(const std::vector<std::string>& directories) {
  std::map<std::string, std::string> given;  // canonical path -> as given
  std::map<std::string, std::vector<std::string>> paths;
  Scan scan;
  for (const std::string& directory : directories) {
    std::error_code error;
    const fs::path canonical = fs::canonical(directory, error);
    if (error) {
      return absl::NotFoundError(
          absl::StrCat("model repository ", directory, ": ", error.message()));
    }
    if (!fs::is_directory(canonical, error)) {
      return absl::InvalidArgumentError(
          absl::StrCat("model repository ", directory, " is not a directory"));
    }
    const auto [first, is_new] = given.emplace(canonical.string(), directory);
    if (!is_new) {
      return absl::InvalidArgumentError(absl::StrCat("model repository ", directory,
                                                     " is given twice, first as ", first->second));
    }
    ASSIGN_OR_RETURN(Listing listing, List(directory));
    for (const std::string& name : listing.directories) {
      const std::string path = (fs::path(directory) / name).string();
      if (name == "lost+found") {
        scan.ignored.push_back(absl::StrCat(path, " is the file system's own"));
      } else if (!IsServableName(name)) {
        scan.ignored.push_back(
            absl::StrCat(directory, ": directory \"", absl::CHexEscape(name),
                         "\" is no model: its name is not printable UTF-8 without spaces"));
      } else {
        paths[name].push_back(path);
      }
    }
  }
  for (auto& [name, found] : paths) {
    ModelDirectory model{.name = name, .path = found[0], .problem = absl::OkStatus()};
    if (found.size() > 1) {
      model.problem = absl::AlreadyExistsError(absl::StrCat("model '", name, "' was found in ",
                                                            absl::StrJoin(found, " and in "),
                                                            "; keep one of them or rename one"));
    }
    scan.models.push_back(std::move(model));
  }
  return scan;
}

absl::StatusOr<std::vector<VersionDirectory>> ScanVersions(const std::string& model_path) {
  ASSIGN_OR_RETURN(Listing listing, List(model_path));
  std::vector<VersionDirectory> versions;
  for (const std::string& name : listing.directories) {
    int64_t number = 0;
    if (!ParseVersionName(name, &number)) continue;
    const std::string path = (fs::path(model_path) / name).string();
    versions.push_back({.number = number, .path = path, .fingerprint = Fingerprint(path)});
  }
  if (versions.empty()) {
    std::vector<std::string> found = listing.directories;
    found.insert(found.end(), listing.files.begin(), listing.files.end());
    const bool model_itself =
        std::count(listing.files.begin(), listing.files.end(), kModelFile) > 0;
    return absl::NotFoundError(absl::StrCat(
        "no version directory in ", model_path, ": found ", ListNames(found),
        "; expected a directory named by a positive whole number that holds ", kModelFile,
        ", such as ", model_path, "/1/", kModelFile,
        model_itself ? "; if the repository itself was meant to be the model, give its parent"
                     : ""));
  }
  std::sort(versions.begin(), versions.end(),
            [](const auto& a, const auto& b) { return a.number < b.number; });
  return versions;
}

SelectedVersions SelectVersions(const VersionPolicy& policy,
                                const std::vector<VersionDirectory>& found) {
  SelectedVersions selected;
  switch (policy.kind) {
    case VersionPolicy::Kind::kAll:
      selected.versions = found;
      break;
    case VersionPolicy::Kind::kLatest: {
      const size_t count = std::min<size_t>(found.size(), policy.latest);
      selected.versions.assign(found.end() - count, found.end());
      break;
    }
    case VersionPolicy::Kind::kSpecific:
      for (int64_t number : policy.specific) {
        const auto it = std::find_if(found.begin(), found.end(),
                                     [&](const auto& v) { return v.number == number; });
        if (it == found.end()) {
          selected.missing.push_back(number);
        } else {
          selected.versions.push_back(*it);
        }
      }
      break;
  }
  return selected;
}

absl::StatusOr<std::string> FindModelFile(const VersionDirectory& version) {
  const std::string path = (fs::path(version.path) / kModelFile).string();
  std::error_code error;
  if (fs::is_regular_file(path, error)) return path;
  ASSIGN_OR_RETURN(Listing listing, List(version.path));
  std::vector<std::string> found = listing.files;
  found.insert(found.end(), listing.directories.begin(), listing.directories.end());
  return absl::NotFoundError(
      absl::StrCat("no ", kModelFile, " in ", version.path, ": found ", ListNames(found)));
}

absl::StatusOr<ConfigFile> ReadConfigFile(const std::string& model_path) {
  ConfigFile config{.path = (fs::path(model_path) / kConfigFile).string(), .text = ""};
  std::error_code error;
  if (!fs::exists(config.path, error)) {
    for (const char* near : {"config.yml", "config.json", "Config.yaml", "config.yaml.txt"}) {
      const std::string other = (fs::path(model_path) / near).string();
      if (fs::exists(other, error)) {
        return absl::InvalidArgumentError(
            absl::StrCat("found ", other, "; the configuration is named ", kConfigFile,
                         ": rename it, or remove it to run on defaults"));
      }
    }
    return config;
  }
  std::ifstream in(config.path, std::ios::binary);
  if (!in || fs::is_directory(config.path, error)) {
    // A directory opens, and only fails to be read.
    const int cause = in ? EISDIR : errno;
    return absl::UnavailableError(
        absl::StrCat("cannot read ", config.path, ": ", std::generic_category().message(cause)));
  }
  config.text.resize(kLargestConfig + 1);
  in.read(config.text.data(), static_cast<std::streamsize>(config.text.size()));
  config.text.resize(static_cast<size_t>(in.gcount()));
  if (in.bad()) return absl::UnavailableError(absl::StrCat("cannot read ", config.path));
  return config;
}

}  // namespace inferd::repository
