// Inputs for a model from the command line: shapes, files, random numbers.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "engine/runtime/model.h"

namespace inferd::engine {

// One concrete shape per input: `shapes` by input name, else the declared shape with `free_dim`
// for every unknown dimension save the first, which becomes 1. INVALID_ARGUMENT for a name the
// model lacks and for a tensor of unknown rank that is not optional and has no shape.
absl::StatusOr<std::vector<Shape>> ChooseShapes(const std::vector<TensorInfo>& inputs,
                                                const std::map<std::string, Shape>& shapes,
                                                int64_t free_dim = 1);

// Seeded: floats uniform in [-1, 1), integers in [0, 8), bools, strings of digits.
absl::StatusOr<Tensor> RandomTensor(ElementType type, const Shape& shape, uint64_t seed);
absl::StatusOr<Tensor> ZeroTensor(ElementType type, const Shape& shape);

// A tensor per input from "random", "zeros", FILE.pb or FILE.npy by name; "random" by default.
// The shape of a file wins over `shapes`. An optional input for which neither is given is left out:
// its tensor is undefined.
absl::StatusOr<std::vector<Tensor>> MakeInputs(const std::vector<TensorInfo>& inputs,
                                               const std::map<std::string, std::string>& sources,
                                               const std::map<std::string, Shape>& shapes);

// --shape values.
absl::StatusOr<std::map<std::string, Shape>> ParseShapes(
    const std::map<std::string, std::string>& texts);

}  // namespace inferd::engine
