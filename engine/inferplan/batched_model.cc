#include "engine/inferplan/batched_model.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <utility>

#include "absl/status/status.h"
#include "engine/inferplan/model_inputs.h"
#include "engine/inferplan/randomize_weights.h"
#include "engine/onnx/import.h"
#include "engine/ops/op_def.h"
#include "engine/status_macros.h"

namespace inferd::engine {

absl::StatusOr<std::shared_ptr<Model>> LoadModel(const std::string& path, const LoadOptions& load) {
  ModelOptions options;
  options.eager = load.eager;
  if (!load.randomize && !load.free_batch) return Model::Load(path, options);
  ASSIGN_OR_RETURN(ImportedModel imported, ImportOnnxFile(path, OpRegistry::Global()));
  if (load.randomize) {
    ASSIGN_OR_RETURN(const int count, RandomizeWeights(*imported.graph, /*seed=*/1));
    std::printf("randomized %d weights\n", count);
  }
  if (load.free_batch) {
    for (Value* input : imported.graph->inputs()) {
      SymbolicShape& shape = input->type().shape;
      if (shape.has_rank() && shape.rank() > 0 && shape[0].value() == 1) {
        shape[0] = Dim::Symbol("batch");
      }
    }
  }
  return Model::FromGraph(std::move(imported.graph), options);
}

bool FixesBatch(const Model& model) {
  return std::none_of(model.inputs().begin(), model.inputs().end(), [](const TensorInfo& input) {
    const SymbolicShape& shape = input.type.shape;
    if (input.optional) return false;
    return !shape.has_rank() || (shape.rank() > 0 && !shape[0].known());
  });
}

absl::StatusOr<std::map<std::string, Shape>> ShapesForBatch(
    const std::vector<TensorInfo>& inputs, const std::map<std::string, Shape>& given,
    int64_t batch) {
  ASSIGN_OR_RETURN(const std::vector<Shape> chosen, ChooseShapes(inputs, given));
  std::map<std::string, Shape> shapes;
  bool batches = false;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].optional) continue;
    Shape shape = chosen[i];
    const SymbolicShape& declared = inputs[i].type.shape;
    if (shape.rank() > 0 && (!declared.has_rank() || !declared[0].known())) {
      if (batch > 1 || given.count(inputs[i].name) == 0) shape[0] = batch;
      batches = true;
    }
    shapes[inputs[i].name] = shape;
  }
  if (batch > 1 && !batches) {
    return absl::InvalidArgumentError("the model fixes its first dimension; only --batch 1 runs");
  }
  return shapes;
}

double Percentile(const std::vector<double>& sorted, double p) {
  const auto at = static_cast<size_t>(std::lround(p * static_cast<double>(sorted.size() - 1)));
  return sorted[std::min(at, sorted.size() - 1)];
}

}  // namespace inferd::engine
