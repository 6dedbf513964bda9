#include "engine/onnx/model_file.h"

#include <fcntl.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <limits>
#include <system_error>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "engine/status_macros.h"
#include "onnx/onnx_pb.h"

namespace inferd::engine {
namespace {

namespace pbio = google::protobuf::io;

// Each nested subgraph costs three levels of messages, so this allows about 60 of them; both
// parsing and import recurse, and this bounds the stack of both.
constexpr int kMaxMessageDepth = 200;

// What people hand in by mistake; empty when the start of the file says nothing.
std::string GuessContent(absl::string_view head) {
  if (absl::StartsWith(head, "version https://git-lfs")) {
    return "; this is a Git LFS pointer: fetch the real file with `git lfs pull`";
  }
  if (absl::StartsWith(head, "\x89HDF")) return "; this looks like an HDF5 (Keras) file";
  if (absl::StartsWith(head, "PK\x03\x04")) {
    return "; this looks like a zip archive, perhaps a PyTorch checkpoint: export it to ONNX first";
  }
  if (head.size() >= 8 && head.substr(4, 4) == "TFL3") {
    return "; this looks like a TensorFlow Lite model: convert it to ONNX first";
  }
  if (absl::StartsWith(head, "<") || absl::StartsWith(head, "{")) {
    return "; this looks like text, perhaps an error page saved in place of the model";
  }
  return "; the file is damaged, incomplete or of another format";
}

absl::Status NotAModel(absl::string_view source, absl::string_view why, absl::string_view head) {
  return absl::InvalidArgumentError(
      absl::StrCat(source, ": not an ONNX model: ", why, GuessContent(head)));
}

absl::StatusOr<std::unique_ptr<onnx::ModelProto>> Parse(pbio::ZeroCopyInputStream& stream,
                                                        int64_t size, absl::string_view head,
                                                        absl::string_view source) {
  if (size == 0) {
    return absl::InvalidArgumentError(absl::StrCat(source, ": not an ONNX model: it is empty"));
  }
  if (size > std::numeric_limits<int32_t>::max()) {
    return absl::InvalidArgumentError(
        absl::StrCat(source, ": ", size,
                     " bytes are more than a protobuf message can hold (2 GiB); save the weights "
                     "of such a model as external data"));
  }
  auto model = std::make_unique<onnx::ModelProto>();
  pbio::CodedInputStream coded(&stream);
  coded.SetTotalBytesLimit(std::numeric_limits<int32_t>::max());
  coded.SetRecursionLimit(kMaxMessageDepth);
  if (!model->ParsePartialFromCodedStream(&coded) || !coded.ConsumedEntireMessage()) {
    return NotAModel(source, absl::StrCat("its ", size, " bytes are no well-formed ModelProto"),
                     head);
  }
  if (!model->has_graph()) return NotAModel(source, "it has no graph", head);
  if (!model->has_ir_version()) return NotAModel(source, "it has no ir_version", head);
  if (model->ir_version() <= 0) {
    return NotAModel(source, absl::StrCat("its ir_version is ", model->ir_version()), head);
  }
  return model;
}

}  // namespace

absl::StatusOr<std::unique_ptr<onnx::ModelProto>> ReadModelFile(const std::string& path) {
  // O_NONBLOCK: opening a named pipe must fail below instead of waiting for a writer.
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) {
    const int error = errno;
    const std::string message =
        absl::StrCat("cannot open model file ", path, ": ", std::generic_category().message(error));
    if (error == ENOENT || error == ENOTDIR) return absl::NotFoundError(message);
    if (error == EACCES) return absl::PermissionDeniedError(message);
    return absl::InvalidArgumentError(message);
  }
  pbio::FileInputStream stream(fd, 1 << 20);
  stream.SetCloseOnDelete(true);
  struct stat st;
  if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": not an ONNX model: it is ",
                     S_ISDIR(st.st_mode) ? "a directory" : "not a regular file"));
  }
  char head[32];
  const ssize_t head_size = pread(fd, head, sizeof(head), 0);
  return Parse(stream, st.st_size,
               absl::string_view(head, head_size > 0 ? static_cast<size_t>(head_size) : 0), path);
}

absl::StatusOr<std::unique_ptr<onnx::ModelProto>> ParseModelBytes(absl::string_view bytes,
                                                                  absl::string_view source) {
  if (bytes.size() > static_cast<size_t>(std::numeric_limits<int32_t>::max())) {
    return absl::InvalidArgumentError(absl::StrCat(
        source, ": ", bytes.size(), " bytes are more than a protobuf message can hold"));
  }
  pbio::ArrayInputStream stream(bytes.data(), static_cast<int>(bytes.size()));
  return Parse(stream, static_cast<int64_t>(bytes.size()), bytes.substr(0, 32), source);
}

std::string ProducerOf(const onnx::ModelProto& model) {
  if (model.producer_version().empty()) return model.producer_name();
  return absl::StrCat(model.producer_name(), " ", model.producer_version());
}

std::string DirectoryOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

}  // namespace inferd::engine
