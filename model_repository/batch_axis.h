// Which models can be batched, and how they are described to the scheduler.
//
// A model batches along dimension 0 when every required input and every output is a tensor of
// known rank whose first dimension is free: a symbol or unknown. Where two of them carry different
// symbols the exporter may have meant different things ("batch" and "tokens"), so the model is
// served unbatched unless config.yaml says otherwise with max_batch_size.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "engine/runtime/model.h"
#include "scheduler/executor.h"

namespace inferd::repository {

struct BatchAxis {
  enum class Kind : uint8_t {
    kFree,       // dimension 0 of everything
    kAmbiguous,  // free, but under different names
    kNone,       // fixed or absent somewhere
  };
  Kind kind = Kind::kNone;
  // Names the tensor: "input 'x' has a fixed first dimension 1". Empty when kFree.
  std::string reason;
};

BatchAxis FindBatchAxis(const std::vector<engine::TensorInfo>& inputs,
                        const std::vector<engine::TensorInfo>& outputs);

// A tensor as the scheduler checks it. UNIMPLEMENTED for a value that is no tensor. `what` is
// "input" or "output".
absl::StatusOr<scheduler::TensorSpec> MakeTensorSpec(const engine::TensorInfo& info,
                                                     const std::string& what);

}  // namespace inferd::repository
