// What the scheduler runs batches on.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "engine/tensor/tensor.h"

namespace inferd::scheduler {

// A tensor of a servable. -1 stands for a dimension any size of which is accepted.
struct TensorSpec {
  std::string name;
  engine::ElementType type = engine::ElementType::kUndefined;
  std::vector<int64_t> dims;  // batch dimension included where the model batches
  bool optional = false;
  // The model does not even fix the rank: `dims` is empty and any shape is accepted.
  bool any_rank = false;
};

// One instance's way to run a batch: an engine context in production, a model of time in tests.
// One thread at a time.
class Executor {
 public:
  virtual ~Executor() = default;
  // As engine::Context::Run. Any error fails the whole call; the executor stays usable.
  virtual absl::Status Execute(absl::Span<const engine::TensorView> inputs,
                               std::vector<engine::Tensor>* outputs) = 0;
};

}  // namespace inferd::scheduler
