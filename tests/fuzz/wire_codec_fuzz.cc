// Any bytes as a ModelInferRequest: refused or decoded, and what the codec decodes the generated
// class decodes too. The first byte says where the message is cut into slices.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "proto/inference.pb.h"
#include "server/wire/infer_codec.h"
#include "server/wire/raw_tensor.h"
#include "tests/fuzz/mutating_driver.h"

namespace inferd::fuzz {

std::vector<std::string> SeedInputs() {
  inference::ModelInferRequest raw;
  raw.set_model_name("model");
  raw.set_model_version("1");
  raw.set_id("id");
  (*raw.mutable_parameters())["timeout"].set_int64_param(1000);
  (*raw.mutable_parameters())["ratio"].set_double_param(0.5);
  auto add = [](inference::ModelInferRequest& message, const char* datatype, int64_t dim) {
    auto* input = message.add_inputs();
    input->set_name("x");
    input->set_datatype(datatype);
    input->add_shape(dim);
    return input;
  };
  add(raw, "FP32", 2);
  raw.add_raw_input_contents(std::string(8, '\1'));
  add(raw, "BYTES", 2);
  raw.add_raw_input_contents(std::string("\1\0\0\0a\0\0\0\0", 9));
  add(raw, "BOOL", 1);
  raw.add_raw_input_contents(std::string(1, '\1'));
  raw.add_outputs()->set_name("y");

  inference::ModelInferRequest typed;
  typed.set_model_name("model");
  auto* ints = add(typed, "INT8", 2)->mutable_contents();
  ints->add_int_contents(-1);
  ints->add_int_contents(5);
  add(typed, "FP64", 1)->mutable_contents()->add_fp64_contents(1);
  add(typed, "BYTES", 1)->mutable_contents()->add_bytes_contents("text");
  add(typed, "UINT64", 1)->mutable_contents()->add_uint64_contents(UINT64_MAX);
  return {"\5" + raw.SerializeAsString(), "\40" + typed.SerializeAsString()};
}

}  // namespace inferd::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using inferd::server::ByteSpan;
  if (size == 0) return 0;
  const uint8_t* message = data + 1;
  const size_t message_size = size - 1;
  const size_t cut = message_size == 0 ? 0 : data[0] * 37u % message_size;
  // Copies of their own, so that a read past the end of a slice is seen.
  const std::vector<uint8_t> first(message, message + cut);
  const std::vector<uint8_t> second(message + cut, message + message_size);
  const ByteSpan slices[] = {ByteSpan(first.data(), first.size()),
                             ByteSpan(second.data(), second.size())};
  inferd::server::InferRequest request;
  if (!inferd::server::ParseInferRequest(inferd::server::BytesView(slices), nullptr, &request)
           .ok()) {
    return 0;
  }
  for (const auto& input : request.inputs) {
    if (input.tensor.data != nullptr) inferd::server::RawTensorBytes(input.tensor);
    if (input.pieces.empty()) continue;
    int64_t bytes = 0;
    volatile uint8_t last = 0;  // read, so that a piece outside the slices is seen
    for (ByteSpan piece : input.pieces) {
      for (uint8_t byte : piece) last = byte;
      bytes += static_cast<int64_t>(piece.size());
    }
    if (input.tensor.data != nullptr || bytes != input.tensor.num_bytes()) {
      std::fprintf(stderr, "pieces that are not the tensor (ending in %d)\n", int{last});
      std::abort();
    }
  }
  inference::ModelInferRequest generated;
  if (!generated.ParseFromArray(message, static_cast<int>(message_size)) ||
      generated.model_name() != request.model_name ||
      generated.inputs_size() != static_cast<int>(request.inputs.size())) {
    std::fprintf(stderr, "decoded otherwise than by the generated class\n");
    std::abort();
  }
  return 0;
}
