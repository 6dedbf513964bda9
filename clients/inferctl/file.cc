#include "clients/inferctl/file.h"

#include <cerrno>
#include <fstream>
#include <iterator>

#include "absl/strings/str_cat.h"

namespace inferd::client {

absl::StatusOr<std::string> ReadFile(const std::string& path) {
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  if (!file) return absl::ErrnoToStatus(errno, absl::StrCat("cannot read ", path));
  std::string contents{std::istreambuf_iterator<char>(file), {}};
  if (file.bad()) return absl::ErrnoToStatus(errno, absl::StrCat("cannot read ", path));
  return contents;
}

absl::Status WriteFile(const std::string& path, const std::string& contents) {
  errno = 0;
  std::ofstream file(path, std::ios::binary);
  if (file) file << contents << std::flush;
  if (!file) return absl::ErrnoToStatus(errno, absl::StrCat("cannot write ", path));
  return absl::OkStatus();
}

}  // namespace inferd::client
