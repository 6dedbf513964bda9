// What LSTM, GRU and RNN share: directions, layouts, sequence lengths, optional operands and the
// loop over time. What differs is a RecurrentCell, one step of a layer.
//
// The products of the inputs with W do not depend on the state. They are computed for many steps
// at once; the steps then add the product of the state with R.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "engine/kernel/kernel.h"
#include "engine/ops/op_def.h"

namespace inferd::engine {

// The sizes of a layer.
struct RecurrentSizes {
  int64_t steps = 0;
  int64_t batch = 0;
  int64_t input = 0;
  int64_t hidden = 0;
  int64_t gates = 1;  // W and R have gates * hidden rows per direction
  int directions = 1;
  bool batch_major = false;  // layout 1
  bool reverse = false;      // the first direction runs backward in time

  int64_t width() const { return gates * hidden; }
  // Where the vectors of X, of Y and of the states (initial_h, Y_h, ...) begin, in elements.
  int64_t XOffset(int64_t t, int64_t b) const {
    return (batch_major ? b * steps + t : t * batch + b) * input;
  }
  int64_t YOffset(int64_t t, int direction, int64_t b) const {
    return (batch_major ? (b * steps + t) * directions + direction
                        : (t * directions + direction) * batch + b) *
           hidden;
  }
  int64_t StateOffset(int direction, int64_t b) const {
    return (batch_major ? b * directions + direction : direction * batch + b) * hidden;
  }
};

// Sequential parts of a kernel's workspace, each aligned for any type.
class WorkspaceParts {
 public:
  // Returns the offset of a part of `bytes` bytes.
  size_t Add(size_t bytes) {
    const size_t offset = bytes_;
    bytes_ += (bytes + kBufferAlignment - 1) / kBufferAlignment * kBufferAlignment;
    return offset;
  }
  size_t bytes() const { return bytes_; }

 private:
  size_t bytes_ = 0;
};

// The weights W and R of a layer, however they are stored. C is the type the layer computes in.
template <typename C>
class RecurrentWeights {
 public:
  virtual ~RecurrentWeights() = default;
  // Memory every other call is given. max_rows: the most rows one call will get.
  virtual size_t workspace_bytes(int64_t max_rows) const = 0;
  // Makes one direction's weights ready for the calls below.
  virtual void Prepare(KernelContext& context, int direction, void* workspace) const = 0;
  // out[i][j] += x[i] . row j of W, for all of W's rows.
  virtual void AddInput(KernelContext& context, int direction, void* workspace, const C* const* x,
                        C* const* out, int64_t rows) const = 0;
  // out[i][j] += h[i] . row first + j of R, for j in [0, count).
  virtual void AddState(KernelContext& context, int direction, void* workspace, const C* const* h,
                        C* const* out, int64_t rows, int64_t first, int64_t count) const = 0;
  virtual size_t held_bytes() const { return 0; }
  virtual bool consumed_constant(int /*input*/) const { return false; }
};

// One step in time of the sequences of a batch that have not ended.
template <typename C>
struct RecurrentStep {
  KernelContext& context;
  const RecurrentWeights<C>& weights;
  void* weights_workspace;
  int direction;
  int64_t rows;  // sequences
  // One pointer a sequence. The gates hold X W^T and the bias a cell wants there; `hidden` and
  // `cell` the state before the step, replaced by the state after it.
  C* const* gates;
  C* const* hidden;
  C* const* cell;           // only where the layer has a cell state
  C* const* scratch;        // `hidden` elements each, contents undefined
  C** operands;             // for the cell to fill: rows of its own for AddState
  const C* recurrent_bias;  // the second half of B; null where B is absent
  const C* peepholes;       // null where absent

  // out[i][j] += a[i] . row first + j of R, for j in [0, count).
  void AddState(const C* const* a, C* const* out, int64_t first, int64_t count) const {
    weights.AddState(context, direction, weights_workspace, a, out, rows, first, count);
  }
  // Calls fn(i) for every sequence.
  template <typename Fn>
  void ForEachRow(int64_t elements_per_row, Fn fn) const {
    const int64_t grain = std::max<int64_t>(1, 4096 / std::max<int64_t>(1, elements_per_row));
    context.threads().ParallelFor(rows, grain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) fn(i);
    });
  }
};

template <typename C>
class RecurrentCell {
 public:
  virtual ~RecurrentCell() = default;
  virtual void Step(const RecurrentStep<C>& step) const = 0;
  // Whether the part of the recurrent bias that belongs to gate `gate` is added to the gates before
  // the step, as the input bias always is.
  virtual bool adds_recurrent_bias(int64_t /*gate*/) const { return true; }
};

// Operands of a layer by their place in the operator's inputs; -1: the operator has none.
struct RecurrentInputs {
  int bias = 3;
  int sequence_lens = 4;
  int initial_h = 5;
  int initial_c = -1;
  int peepholes = -1;
};

// Shapes of the outputs Y, Y_h and, where the layer has an initial_c, Y_c. `weights_transposed`:
// W and R are [directions, input or hidden, gates * hidden].
absl::Status InferRecurrent(InferenceContext& context, int64_t gates, const RecurrentInputs& inputs,
                            bool weights_transposed = false);

// 1 or 2; INVALID_ARGUMENT for a direction the standard does not know.
absl::StatusOr<int> RecurrentDirections(const Attributes& attributes);
// Attribute clip, or infinity.
absl::StatusOr<float> RecurrentClip(const Attributes& attributes);

// The sizes of a node that InferRecurrent accepted.
absl::StatusOr<RecurrentSizes> ResolveRecurrent(const NodeSpec& spec, int64_t gates);

// W and R in inputs 1 and 2, of the layer's element type T, as the standard lays them out.
template <typename T>
std::unique_ptr<RecurrentWeights<ComputeType<T>>> PlainRecurrentWeights(
    const NodeSpec& spec, const RecurrentSizes& sizes);

// `cells` has one cell per direction.
template <typename T>
std::unique_ptr<Kernel> MakeRecurrentKernel(
    const RecurrentSizes& sizes, const RecurrentInputs& inputs,
    std::unique_ptr<RecurrentWeights<ComputeType<T>>> weights,
    std::vector<std::unique_ptr<RecurrentCell<ComputeType<T>>>> cells);

// The kernel of a node with plain weights, for its element type. make_cell<C>(direction) returns a
// std::unique_ptr<RecurrentCell<C>>.
template <typename MakeCell>
absl::StatusOr<std::unique_ptr<Kernel>> RecurrentReference(const NodeSpec& spec,
                                                           const RecurrentSizes& sizes,
                                                           const RecurrentInputs& inputs,
                                                           MakeCell make_cell) {
  std::unique_ptr<Kernel> kernel;
  DispatchType<float, double, Float16, BFloat16>(spec.input(0).type, [&]<typename T>() {
    using C = ComputeType<T>;
    std::vector<std::unique_ptr<RecurrentCell<C>>> cells;
    for (int d = 0; d < sizes.directions; ++d) {
      cells.push_back(make_cell.template operator()<C>(d));
    }
    kernel = MakeRecurrentKernel<T>(sizes, inputs, PlainRecurrentWeights<T>(spec, sizes),
                                    std::move(cells));
  });
  if (kernel == nullptr) {
    return absl::UnimplementedError("no recurrent layer for this element type");
  }
  return kernel;
}

}  // namespace inferd::engine
