#include "engine/onnx/opset/foreign_domains.h"

namespace inferd::engine {

absl::string_view WhyNoneOf(absl::string_view domain) {
  if (domain == "com.microsoft.nchwc" || domain == "com.ms.internal.nhwc") {
    return "the file was saved after ONNX Runtime had optimized it for one machine; use the model "
           "it was made from";
  }
  if (domain == "ai.onnx.contrib" || domain == "com.microsoft.extensions") {
    return "it is a custom operator of the onnxruntime-extensions library; export the model "
           "without it and run that step in the client";
  }
  if (domain == "org.pytorch.aten") {
    return "it calls a function of PyTorch by name; export the model without fallback to ATen";
  }
  if (domain == "ai.onnx.preview.training" || domain == "ai.onnx.training") {
    return "it is an operator of training; export the model for inference";
  }
  return {};
}

}  // namespace inferd::engine
