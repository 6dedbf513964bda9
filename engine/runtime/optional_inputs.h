// A model some of whose inputs have a default (an initializer of the same name): constants as long
// as nobody feeds them, so that passes fold and kernels pack them; for a request that does feed
// some, a variant of the model in which these are inputs like any other, made on first use.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "engine/onnx/import.h"
#include "engine/runtime/model.h"

namespace inferd::engine {

// The model with the named defaults as inputs.
using MakeVariant =
    std::function<absl::StatusOr<std::shared_ptr<Model>>(const std::vector<std::string>& fed)>;

// `base` has no optional inputs. `make_variant` may be called from any thread, one call at a time.
std::shared_ptr<Model> WithOptionalInputs(std::shared_ptr<Model> base,
                                          std::vector<OptionalInput> optional,
                                          MakeVariant make_variant);

}  // namespace inferd::engine
