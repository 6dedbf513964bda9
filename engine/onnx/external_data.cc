#include "engine/onnx/external_data.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <memory>
#include <system_error>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "engine/status_macros.h"

namespace inferd::engine {
namespace {

// The canonical path with every link followed; empty when there is no such file.
std::string Canonical(const std::string& path) {
  std::unique_ptr<char, decltype(&std::free)> real(realpath(path.c_str(), nullptr), &std::free);
  return real == nullptr ? std::string() : std::string(real.get());
}

absl::Status CheckLocation(const std::string& location) {
  const std::string quoted = absl::StrCat("external data location \"", location, "\"");
  if (location.empty()) return absl::InvalidArgumentError("external data has no location");
  if (location.find('\0') != std::string::npos) {
    return absl::InvalidArgumentError("external data location has a NUL byte in it");
  }
  if (location[0] == '/') {
    return absl::InvalidArgumentError(
        absl::StrCat(quoted, " is an absolute path; it must be relative to the model's directory"));
  }
  for (absl::string_view part : absl::StrSplit(location, absl::ByAnyChar("/\\"))) {
    if (part == "..") {
      return absl::InvalidArgumentError(
          absl::StrCat(quoted, " leaves the model's directory; \"..\" is not allowed"));
    }
  }
  return absl::OkStatus();
}

}  // namespace

ExternalDataReader::ExternalDataReader(std::string directory) : directory_(std::move(directory)) {}

ExternalDataReader::~ExternalDataReader() {
  for (const auto& [name, file] : files_) close(file.fd);
}

absl::StatusOr<ExternalDataReader::File> ExternalDataReader::Open(const std::string& location) {
  if (auto it = files_.find(location); it != files_.end()) return it->second;
  RETURN_IF_ERROR(CheckLocation(location));
  if (directory_.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("external data file \"", location,
                     "\" cannot be read: the model was given as bytes without a directory"));
  }
  const std::string root = Canonical(directory_);
  const std::string path = Canonical(absl::StrCat(directory_, "/", location));
  if (root.empty() || path.empty()) {
    return absl::NotFoundError(
        absl::StrCat("external data file ", directory_, "/", location, " does not exist"));
  }
  if (!absl::StartsWith(path, root == "/" ? root : absl::StrCat(root, "/"))) {
    return absl::InvalidArgumentError(absl::StrCat("external data file ", directory_, "/", location,
                                                   " is a link out of the model's directory, to ",
                                                   path));
  }
  File file;
  // The path is canonical, so a link met now was put there after the check above.
  file.fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (file.fd < 0) {
    return absl::InvalidArgumentError(absl::StrCat("cannot open external data file ", path, ": ",
                                                   std::generic_category().message(errno)));
  }
  struct stat st;
  if (fstat(file.fd, &st) != 0 || !S_ISREG(st.st_mode)) {
    close(file.fd);
    return absl::InvalidArgumentError(
        absl::StrCat("external data file ", path, " is not a regular file"));
  }
  file.size = st.st_size;
  files_.emplace(location, file);
  return file;
}

absl::StatusOr<BufferRef> ExternalDataReader::Read(const std::string& location, int64_t offset,
                                                   int64_t bytes) {
  std::tuple range(location, offset, bytes);
  if (auto it = ranges_.find(range); it != ranges_.end()) return it->second;
  ASSIGN_OR_RETURN(const File file, Open(location));
  if (offset < 0 || bytes < 0 || offset > file.size || bytes > file.size - offset) {
    return absl::InvalidArgumentError(absl::StrCat("external data file \"", location, "\" has ",
                                                   file.size, " bytes, ", bytes,
                                                   " were expected at offset ", offset));
  }
  ASSIGN_OR_RETURN(BufferRef buffer, AllocateHostBuffer(static_cast<size_t>(bytes)));
  // Read, not mapped: a file that shrinks while the model runs must not end in SIGBUS.
  char* out = static_cast<char*>(buffer->data());
  for (int64_t done = 0; done < bytes;) {
    const size_t step = static_cast<size_t>(std::min<int64_t>(bytes - done, int64_t{1} << 30));
    const ssize_t n = pread(file.fd, out + done, step, offset + done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) {
      return absl::InvalidArgumentError(absl::StrCat(
          "external data file \"", location, "\" could not be read at offset ", offset + done, ": ",
          n < 0 ? std::generic_category().message(errno) : "it was cut short"));
    }
    done += n;
  }
  ranges_.emplace(std::move(range), buffer);
  return buffer;
}

}  // namespace inferd::engine
