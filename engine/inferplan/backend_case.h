// ONNX backend-test folders: model.onnx beside test_data_set_N with input_N.pb and output_N.pb
// (https://github.com/onnx/onnx/blob/main/docs/OnnxBackendTest.md).
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "engine/tensor/tensor_comparison.h"
#include "engine/runtime/model.h"
#include "engine/tensor/tensor.h"

namespace inferd::engine {

struct BackendCase {
  std::string name;  // of the folder
  std::string model;
  std::vector<std::string> data_sets;  // in order
};

// Every folder at or below `root` that holds a model and data, by path. NOT_FOUND when `root`
// does not exist.
absl::StatusOr<std::vector<BackendCase>> FindBackendCases(const std::string& root);

// One test_data_set_N.
struct DataSet {
  std::vector<Tensor> inputs;    // one per model input, in its order
  std::vector<Tensor> expected;  // of the first outputs, in order
};
absl::StatusOr<DataSet> ReadDataSet(const std::string& directory, const Model& model);

struct BackendCaseOptions {
  bool eager = false;
  int threads = 1;
  Tolerance tolerance;
};

// OK when every data set runs and gives the outputs that it holds, if any, or outputs of their types
// and shapes where the model draws random numbers; otherwise the reason.
absl::Status RunBackendCase(const BackendCase& backend_case, const BackendCaseOptions& options);

}  // namespace inferd::engine
