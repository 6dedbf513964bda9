// Any bytes as the body of an infer request over HTTP: refused or decoded, and decoded tensors are
// complete. The first byte is the length of a binary part after the JSON.
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "server/http/json/json_parser.h"
#include "server/http/json/json_writer.h"
#include "tests/fuzz/mutating_driver.h"

namespace inferd::fuzz {

std::vector<std::string> SeedInputs() {
  return {R"( {"id":"a","parameters":{"timeout":1,"x":1.5e3,"s":"\u00e4\n","b":true},"inputs":[)"
          R"({"name":"x","shape":[2,2],"datatype":"FP32","data":[[1,-2.5],[3e-7,NaN]]},)"
          R"({"name":"s","shape":[2],"datatype":"BYTES","data":["\ud83d\ude00","b"]},)"
          R"({"name":"h","shape":[1],"datatype":"FP16","data":[Infinity]}],)"
          R"("outputs":[{"name":"y","parameters":{"binary_data":true}}]})",
          R"( {"inputs":[{"name":"b","datatype":"BOOL","shape":[2],"data":[true,0]},)"
          R"({"name":"u","data":[18446744073709551615],"datatype":"UINT64","shape":[1]},)"
          R"({"name":"r","shape":[3],"datatype":"INT8","parameters":{"binary_data_size":3}}]})",
          R"( {"future":{"a":[[[]],{}]},"inputs":[]})"};
}

}  // namespace inferd::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace inferd::server;
  if (size == 0) return 0;
  const size_t length = size - 1;
  // Exactly as much memory as promised beyond the text.
  const std::unique_ptr<char[]> body(new char[length + kJsonPadding]);
  std::copy(data + 1, data + size, body.get());
  std::fill_n(body.get() + length, kJsonPadding, static_cast<char>(data[0]));
  static JsonParser& parser = *new JsonParser;
  InferRequest request;
  request.model_name = "m";
  JsonInferExtras extras;
  const absl::string_view text(body.get(), length);
  if (parser.ParseInferRequest(text, &request, &extras).ok()) {
    for (const InferInput& input : request.inputs) {
      if (input.tensor.data == nullptr) continue;
      std::string out;
      JsonWriter(&out).Elements(input.tensor).IgnoreError();
    }
  }
  parser.ParseRepositoryParameters(text).IgnoreError();
  parser.ParseReadyFlag(text).IgnoreError();
  return 0;
}
