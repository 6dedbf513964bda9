// A model at several batch sizes, for commands that measure.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "engine/runtime/model.h"

namespace inferd::engine {

struct LoadOptions {
  bool eager = false;
  bool randomize = false;  // float weights, seeded; says so on standard output
  // Declares first dimensions of 1 free: many exports fix the batch without depending on it.
  bool free_batch = false;
};

absl::StatusOr<std::shared_ptr<Model>> LoadModel(const std::string& path, const LoadOptions& load);

// No input that must be given has a free first dimension.
bool FixesBatch(const Model& model);

// The shapes of a batch: dimension 0 of every input whose first one is not fixed.
absl::StatusOr<std::map<std::string, Shape>> ShapesForBatch(
    const std::vector<TensorInfo>& inputs, const std::map<std::string, Shape>& given,
    int64_t batch);

// Of values in ascending order, at least one; p in [0, 1].
double Percentile(const std::vector<double>& sorted, double p);

}  // namespace inferd::engine
