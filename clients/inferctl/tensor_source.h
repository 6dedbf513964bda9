// Where the input tensors of a command come from: files, images or made-up values.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "clients/cpp/client.h"

namespace inferd::client {

// How pixels become elements: element = (pixel / 255, inverted if asked) * scale, then
// (element - mean[c]) / std[c].
struct ImageOptions {
  bool invert = false;
  double scale = 1.0;
  std::vector<double> mean = {};  // one per channel, or one for all; empty: 0
  std::vector<double> std = {};   // likewise; empty: 1
  bool channels_last = false;
};

// Reads an input from `path` by its ending:
//   .npy            type and shape from the file
//   .pb             an ONNX TensorProto
//   .png .jpg       an image, resized bilinearly to the input's height and width
//   anything else   raw bytes in the protocol's form; dimensions that are free in the metadata
//                   must follow from the size (one at most)
// `metadata` is the input as the server describes it.
absl::StatusOr<InferTensor> ReadInputFile(const TensorMetadata& metadata, const std::string& path,
                                          const ImageOptions& image);

// Every input from one JSON file: a whole request body ({"inputs": [...]}).
absl::StatusOr<std::vector<InferTensor>> ReadInputsJson(const std::string& path);

// Random values (seeded, reproducible) of the input's type: floats in [0, 1), integers in [0, 10),
// strings of decimal digits. `shape` has no free dimension.
absl::StatusOr<InferTensor> RandomInput(const TensorMetadata& metadata,
                                        const std::vector<int64_t>& shape, uint64_t seed);

// Replaces the free dimensions of `metadata.shape`: from `given` where not empty, else the first
// becomes `batch` and the others 1. INVALID_ARGUMENT when `given` does not fit.
absl::StatusOr<std::vector<int64_t>> ConcreteShape(const TensorMetadata& metadata,
                                                   const std::vector<int64_t>& given,
                                                   int64_t batch);

}  // namespace inferd::client
