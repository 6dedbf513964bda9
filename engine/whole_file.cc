#include "engine/whole_file.h"

#include <cerrno>
#include <fstream>

#include "absl/strings/str_cat.h"

namespace inferd::engine {
namespace {

absl::Status Failure(absl::string_view what, const std::string& path) {
  // Streams do not promise to set errno, and a status made of 0 would be OK.
  return absl::ErrnoToStatus(errno == 0 ? EIO : errno, absl::StrCat("cannot ", what, " ", path));
}

}  // namespace

absl::StatusOr<std::string> ReadFile(const std::string& path) {
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  if (!file) return Failure("read", path);
  std::string contents;
  constexpr size_t kChunk = size_t{1} << 18;
  while (file) {
    const size_t end = contents.size();
    contents.resize(end + kChunk);
    file.read(contents.data() + end, kChunk);
    contents.resize(end + static_cast<size_t>(file.gcount()));
  }
  if (file.bad()) return Failure("read", path);
  return contents;
}

absl::Status WriteFile(const std::string& path, absl::string_view contents) {
  errno = 0;
  std::ofstream file(path, std::ios::binary);
  if (!file) return Failure("write", path);
  file.write(contents.data(), static_cast<std::streamsize>(contents.size()));
  file.close();
  if (!file) return Failure("write", path);
  return absl::OkStatus();
}

}  // namespace inferd::engine
