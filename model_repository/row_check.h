// Does a model treat the rows of a batch independently?
//
// A free first dimension need not be a batch: in a model over a sequence, rows are moments of one
// recording, and joining requests along it would answer each with a mixture. The check runs two
// random rows together and each alone, and compares.
#pragma once

#include <string>
#include <vector>

#include "engine/runtime/model.h"

namespace inferd::repository {

struct RowCheck {
  enum class Outcome : uint8_t {
    kIndependent,
    kDependent,
    kInconclusive,  // the model refuses made-up inputs, or they would be too large
  };
  Outcome outcome = Outcome::kInconclusive;
  // What was seen: "output 'y' of two rows together differs by 0.3 from ...".
  std::string detail;
};

// Inputs are tensors with a free first dimension. Runs the model up to seven times.
RowCheck CheckRows(engine::Context& context, const std::vector<engine::TensorInfo>& inputs,
                   const std::vector<engine::TensorInfo>& outputs);

}  // namespace inferd::repository
