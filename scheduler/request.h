// One inference request on its way through the scheduler.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "engine/tensor/tensor.h"

namespace inferd::scheduler {

using engine::Tensor;
using engine::TensorView;

// An output of one request: a slice of the batch's output tensor. `buffer` keeps the memory (the
// instance's output buffer) alive until the response has been sent.
struct OutputSlice {
  TensorView view;  // this request's part; shape includes the batch dimension
  engine::BufferRef buffer;
};

// Where the time of a request went. Durations are zero until the phase has happened.
struct RequestTiming {
  absl::Time arrival;
  absl::Duration queue;          // arrival -> its batch starts
  absl::Duration compute_input;  // gathering inputs
  absl::Duration compute_infer;
  absl::Duration compute_output;  // splitting outputs
  int64_t batch_size = 0;         // rows of the batch it ran in
};

struct Response {
  absl::Status status;
  std::string model_version;
  // One per output of the servable, in its order; empty on error.
  absl::InlinedVector<OutputSlice, 4> outputs;
  RequestTiming timing;
};

// The plain bytes of a tensor where they were received: in order, of any sizes, at any alignment.
using InputPieces = absl::Span<const absl::Span<const uint8_t>>;

// Filled by a front end, consumed by Servable::Submit. Inputs are already checked by name;
// `inputs[i]` is input i of the servable (null data where an optional one is left out), plain
// layout, aligned to its element size.
struct Request {
  std::string id;
  absl::InlinedVector<TensorView, 4> inputs;
  // Inputs whose bytes do not lie together or not aligned. Either empty or one entry per input;
  // where entry i is not empty, it takes the place of `inputs[i].data`, which is null. Pieces are
  // copied once, into the staging buffer of the instance that runs the request. Not for strings.
  absl::InlinedVector<InputPieces, 4> pieces;
  // Keeps the memory behind `inputs` and `pieces` alive, the lists of pieces included: the received
  // message.
  std::shared_ptr<const void> payload;
  // Point on the scheduler's clock after which the answer is worthless; infinite by default, then
  // the model's own queue timeout applies.
  absl::Time deadline = absl::InfiniteFuture();
  // 0 is the most urgent level.
  int priority = 0;
  // Called exactly once, from any thread, possibly before Submit returns. Must be quick.
  absl::AnyInvocable<void(Response)> done;

  InputPieces pieces_of(size_t input) const {
    return pieces.empty() ? InputPieces() : pieces[input];
  }
};

// Lets a front end withdraw a submitted request: queued work is dropped, the result of running
// work is discarded; `done` is called with CANCELLED in both cases. Thread-safe, idempotent, and
// harmless after completion.
class RequestHandle {
 public:
  virtual ~RequestHandle() = default;
  virtual void Cancel() = 0;
};

}  // namespace inferd::scheduler
