#include "engine/onnx/tensor_file.h"

#include <fcntl.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl.h>
#include <sys/stat.h>

#include <cerrno>
#include <limits>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "engine/onnx/tensor_proto.h"
#include "engine/status_macros.h"
#include "onnx/onnx_pb.h"

namespace inferd::engine {
namespace {

namespace pbio = google::protobuf::io;

absl::StatusOr<Tensor> Parse(pbio::ZeroCopyInputStream& stream, std::string* name) {
  onnx::TensorProto proto;
  if (!proto.ParsePartialFromZeroCopyStream(&stream)) {
    return absl::InvalidArgumentError("not a well-formed TensorProto");
  }
  if (!proto.has_data_type()) {
    return absl::InvalidArgumentError("not a TensorProto: it has no element type");
  }
  if (name != nullptr) *name = proto.name();
  return TakeTensorFromProto(proto, /*external=*/nullptr);
}

}  // namespace

absl::StatusOr<Tensor> ReadTensorFile(const std::string& path, std::string* name) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) {
    const int error = errno;
    const std::string message = absl::StrCat("cannot open tensor file ", path, ": ",
                                             std::generic_category().message(error));
    return error == ENOENT ? absl::NotFoundError(message) : absl::InvalidArgumentError(message);
  }
  pbio::FileInputStream stream(fd, 1 << 16);
  stream.SetCloseOnDelete(true);
  struct stat st;
  if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": not a regular file"));
  }
  absl::StatusOr<Tensor> tensor = Parse(stream, name);
  if (tensor.ok()) return tensor;
  return absl::Status(tensor.status().code(), absl::StrCat(path, ": ", tensor.status().message()));
}

absl::StatusOr<Tensor> ParseTensorProto(absl::string_view bytes, std::string* name) {
  if (bytes.size() > static_cast<size_t>(std::numeric_limits<int>::max())) {
    return absl::InvalidArgumentError(
        absl::StrCat(bytes.size(), " bytes are more than a TensorProto can hold"));
  }
  pbio::ArrayInputStream stream(bytes.data(), static_cast<int>(bytes.size()));
  return Parse(stream, name);
}

std::string SerializeTensorProto(const TensorView& tensor, absl::string_view name) {
  onnx::TensorProto proto;
  proto.set_name(std::string(name));
  proto.set_data_type(static_cast<int32_t>(tensor.type));
  for (int64_t d : tensor.shape) proto.add_dims(d);
  if (tensor.type == ElementType::kString) {
    for (const std::string& s : tensor.span<std::string>()) proto.add_string_data(s);
  } else {
    proto.set_raw_data(tensor.data, static_cast<size_t>(tensor.num_bytes()));
  }
  return proto.SerializeAsString();
}

}  // namespace inferd::engine
