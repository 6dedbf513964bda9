// Whether a request fits a servable, decided before it costs anything.
#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "scheduler/request.h"
#include "scheduler/request_queue.h"
#include "scheduler/servable.h"

namespace inferd::scheduler {

// What batching has to know of a request.
struct RequestExtent {
  int64_t rows = 1;   // 1 where the model does not batch
  int64_t bytes = 0;  // of all inputs, the text of strings included
  ShapeSignature signature;
};

// INVALID_ARGUMENT, naming input and model, if the number of inputs, a type, a rank, a dimension,
// the length of its pieces, or the batch size does not fit. Element types are named as the engine
// names them: a front end that wants its protocol's names compares types with
// ServableOptions::inputs itself, before.
absl::StatusOr<RequestExtent> CheckRequest(const ServableOptions& options, const Request& request);

// INVALID_ARGUMENT for options that contradict themselves.
absl::Status CheckOptions(const ServableOptions& options);

}  // namespace inferd::scheduler
