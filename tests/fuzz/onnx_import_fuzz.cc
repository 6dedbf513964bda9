// Any bytes as a model: import ends in a graph that verifies, or in an error of the right kind.
#include <cstdio>
#include <cstdlib>

#include "engine/onnx/import.h"
#include "engine/onnx/tensor_file.h"
#include "onnx/onnx_pb.h"
#include "tests/fuzz/mutating_driver.h"
#include "tests/fuzz/proto_mutator.h"

namespace {

void Expect(bool right, const absl::Status& status) {
  if (right) return;
  std::fprintf(stderr, "unexpected kind of error: %s\n", std::string(status.ToString()).c_str());
  std::abort();
}

}  // namespace

bool inferd::fuzz::MutateInput(std::string& input, std::mt19937_64& random) {
  onnx::ModelProto model;
  if (!model.ParsePartialFromString(input)) return false;
  MutateMessage(model, random);
  return model.SerializePartialToString(&input);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace inferd::engine;  // NOLINT: one function
  const absl::string_view bytes(reinterpret_cast<const char*>(data), size);
  const absl::Status model = ImportOnnxBytes(bytes, "", OpRegistry::Global()).status();
  // INTERNAL would be a graph the verifier refuses: a mistake of the importer.
  Expect(model.ok() || absl::IsInvalidArgument(model) || absl::IsUnimplemented(model) ||
             absl::IsResourceExhausted(model),
         model);
  const absl::Status tensor = ParseTensorProto(bytes).status();
  Expect(tensor.ok() || absl::IsInvalidArgument(tensor) || absl::IsResourceExhausted(tensor),
         tensor);
  return 0;
}
