// Tensor data kept in files beside the model.
#pragma once

#include <cstdint>
#include <string>
#include <tuple>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "engine/tensor/tensor.h"

namespace inferd::engine {

// Reads pieces of the files in one directory, and of nothing outside it: absolute paths, "..",
// and links that lead out are refused. Files stay open while the reader lives. One thread.
class ExternalDataReader {
 public:
  // `directory` is the model's; "" refuses every read.
  explicit ExternalDataReader(std::string directory);
  ~ExternalDataReader();
  ExternalDataReader(const ExternalDataReader&) = delete;
  ExternalDataReader& operator=(const ExternalDataReader&) = delete;

  // The `bytes` bytes at `offset`; the same range read again, as tied weights are, is the same
  // buffer. The range is checked against the size of the file before anything is allocated.
  // INVALID_ARGUMENT or NOT_FOUND names the file.
  absl::StatusOr<BufferRef> Read(const std::string& location, int64_t offset, int64_t bytes);

 private:
  struct File {
    int fd = -1;
    int64_t size = 0;
  };
  absl::StatusOr<File> Open(const std::string& location);

  std::string directory_;
  absl::flat_hash_map<std::string, File> files_;
  absl::flat_hash_map<std::tuple<std::string, int64_t, int64_t>, BufferRef> ranges_;
};

}  // namespace inferd::engine
