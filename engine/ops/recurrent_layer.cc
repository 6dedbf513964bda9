#include "engine/ops/recurrent_layer.h"

#include <type_traits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/status_macros.h"

namespace inferd::engine {
namespace {

// Elements of gates that are computed ahead of the steps.
constexpr int64_t kGatesAhead = 131072;

template <typename T, typename C>
void Load(const T* from, int64_t count, C* to) {
  for (int64_t i = 0; i < count; ++i) to[i] = static_cast<C>(from[i]);
}
template <typename C, typename T>
void Store(const C* from, int64_t count, T* to) {
  for (int64_t i = 0; i < count; ++i) to[i] = static_cast<T>(from[i]);
}

template <typename T>
class RecurrentKernel final : public Kernel {
  using C = ComputeType<T>;
  using Cells = std::vector<std::unique_ptr<RecurrentCell<C>>>;
  static constexpr bool kWidened = !std::is_same_v<T, C>;

 public:
  RecurrentKernel(const RecurrentSizes& sizes, const RecurrentInputs& inputs,
                  std::unique_ptr<RecurrentWeights<C>> weights, Cells cells)
      : sizes_(sizes), inputs_(inputs), weights_(std::move(weights)), cells_(std::move(cells)) {
    if (empty()) return;
    const int64_t batch = sizes.batch, width = sizes.width();
    steps_ahead_ =
        std::clamp<int64_t>(kGatesAhead / (batch * width), 1, std::max<int64_t>(1, sizes.steps));
    const int64_t rows_ahead = steps_ahead_ * batch;
    parts_.gates = all_.Add(sizeof(C) * rows_ahead * width);
    parts_.inputs = all_.Add(kWidened ? sizeof(C) * rows_ahead * sizes.input : 0);
    parts_.input_rows = all_.Add(sizeof(C*) * rows_ahead);
    parts_.gate_rows = all_.Add(sizeof(C*) * rows_ahead);
    parts_.hidden = all_.Add(sizeof(C) * batch * sizes.hidden);
    parts_.cell = all_.Add(sizeof(C) * batch * sizes.hidden);
    parts_.scratch = all_.Add(sizeof(C) * batch * sizes.hidden);
    parts_.step_rows = all_.Add(sizeof(C*) * 5 * batch);
    parts_.bias = all_.Add(sizeof(C) * 3 * width);
    parts_.peepholes = all_.Add(sizeof(C) * 3 * sizes.hidden);
    parts_.weights = all_.Add(weights_->workspace_bytes(rows_ahead));
  }

  absl::Status Run(KernelContext& context) const override {
    const int32_t* lengths = nullptr;
    if (Has(context, inputs_.sequence_lens)) {
      lengths = context.input(inputs_.sequence_lens).as<int32_t>();
      for (int64_t b = 0; b < sizes_.batch; ++b) {
        if (lengths[b] >= 0 && lengths[b] <= sizes_.steps) continue;
        return absl::InvalidArgumentError(
            absl::StrCat("input ", inputs_.sequence_lens, " (sequence_lens) holds ", lengths[b],
                         ", expected a length in [0, ", sizes_.steps, "]"));
      }
    }
    if (empty()) return absl::OkStatus();
    for (int d = 0; d < sizes_.directions; ++d) RunDirection(context, d, lengths);
    return absl::OkStatus();
  }

  size_t workspace_bytes() const override { return all_.bytes(); }
  size_t held_bytes() const override { return weights_->held_bytes(); }
  bool consumed_constant(int input) const override { return weights_->consumed_constant(input); }

 private:
  // input < 0: the operator has no such input.
  static bool Has(KernelContext& context, int input) {
    return input >= 0 && context.has_input(input);
  }
  bool empty() const { return sizes_.batch == 0 || sizes_.hidden == 0; }

  template <typename V>
  V* Part(KernelContext& context, size_t offset) const {
    return reinterpret_cast<V*>(static_cast<char*>(context.workspace()) + offset);
  }
  int64_t Length(const int32_t* lengths, int64_t b) const {
    return lengths == nullptr ? sizes_.steps : lengths[b];
  }
  // The moment that step s of sequence b works on.
  int64_t Time(int direction, const int32_t* lengths, int64_t s, int64_t b) const {
    return sizes_.reverse || direction == 1 ? Length(lengths, b) - 1 - s : s;
  }

  void LoadState(KernelContext& context, int input, int direction, C* state) const {
    const int64_t hidden = sizes_.hidden;
    if (!Has(context, input)) {
      std::fill_n(state, sizes_.batch * hidden, C{0});
      return;
    }
    const T* from = context.input(input).as<T>();
    for (int64_t b = 0; b < sizes_.batch; ++b) {
      Load(from + sizes_.StateOffset(direction, b), hidden, state + b * hidden);
    }
  }

  // A sequence of no steps has no last state: zero.
  void StoreState(KernelContext& context, int output, int direction, const int32_t* lengths,
                  const C* state) const {
    if (!context.has_output(output)) return;
    T* to = context.output(output).as<T>();
    for (int64_t b = 0; b < sizes_.batch; ++b) {
      T* row = to + sizes_.StateOffset(direction, b);
      if (Length(lengths, b) == 0) {
        std::fill_n(row, sizes_.hidden, T{});
      } else {
        Store(state + b * sizes_.hidden, sizes_.hidden, row);
      }
    }
  }

  // The three parts of `bias`: what the gates begin with, the input bias and the recurrent bias.
  void LoadBias(KernelContext& context, int direction, C* bias) const {
    const int64_t width = sizes_.width();
    if (!Has(context, inputs_.bias)) {
      std::fill_n(bias, width, C{0});
      return;
    }
    Load(context.input(inputs_.bias).as<T>() + direction * 2 * width, 2 * width, bias + width);
    std::copy_n(bias + width, width, bias);
    for (int64_t gate = 0; gate < sizes_.gates; ++gate) {
      if (!cells_[direction]->adds_recurrent_bias(gate)) continue;
      for (int64_t i = gate * sizes_.hidden; i < (gate + 1) * sizes_.hidden; ++i) {
        bias[i] += bias[2 * width + i];
      }
    }
  }

  // Gates of steps [first, last) from the inputs and the bias alone: gates of step s and sequence b
  // are row (s - first) * batch + b.
  void ComputeInputGates(KernelContext& context, int direction, const int32_t* lengths,
                         int64_t first, int64_t last) const {
    const T* x = context.input(0).as<T>();
    const C* bias = Part<C>(context, parts_.bias);
    C* gates = Part<C>(context, parts_.gates);
    const C** input_rows = Part<const C*>(context, parts_.input_rows);
    C** gate_rows = Part<C*>(context, parts_.gate_rows);
    int64_t rows = 0;
    for (int64_t s = first; s < last; ++s) {
      for (int64_t b = 0; b < sizes_.batch; ++b) {
        if (s >= Length(lengths, b)) continue;
        const T* from = x + sizes_.XOffset(Time(direction, lengths, s, b), b);
        if constexpr (kWidened) {
          C* widened = Part<C>(context, parts_.inputs) + rows * sizes_.input;
          Load(from, sizes_.input, widened);
          input_rows[rows] = widened;
        } else {
          input_rows[rows] = from;
        }
        gate_rows[rows] = gates + ((s - first) * sizes_.batch + b) * sizes_.width();
        std::copy_n(bias, sizes_.width(), gate_rows[rows]);
        ++rows;
      }
    }
    weights_->AddInput(context, direction, Part<void>(context, parts_.weights), input_rows,
                       gate_rows, rows);
  }

  // Step s; its gates begin at `gates`. False when every sequence has ended.
  bool RunStep(KernelContext& context, int direction, const int32_t* lengths, int64_t s,
               C* gates) const {
    const int64_t batch = sizes_.batch, hidden = sizes_.hidden;
    C** gate_rows = Part<C*>(context, parts_.step_rows);
    C** hidden_rows = gate_rows + batch;
    C** cell_rows = hidden_rows + batch;
    C** scratch_rows = cell_rows + batch;
    int64_t rows = 0;
    for (int64_t b = 0; b < batch; ++b) {
      if (s >= Length(lengths, b)) continue;
      gate_rows[rows] = gates + b * sizes_.width();
      hidden_rows[rows] = Part<C>(context, parts_.hidden) + b * hidden;
      cell_rows[rows] = Part<C>(context, parts_.cell) + b * hidden;
      scratch_rows[rows] = Part<C>(context, parts_.scratch) + b * hidden;
      ++rows;
    }
    if (rows == 0) return false;
    const C* bias = Part<C>(context, parts_.bias);
    cells_[direction]->Step(RecurrentStep<C>{
        .context = context,
        .weights = *weights_,
        .weights_workspace = Part<void>(context, parts_.weights),
        .direction = direction,
        .rows = rows,
        .gates = gate_rows,
        .hidden = hidden_rows,
        .cell = cell_rows,
        .scratch = scratch_rows,
        .operands = scratch_rows + batch,
        .recurrent_bias = Has(context, inputs_.bias) ? bias + 2 * sizes_.width() : nullptr,
        .peepholes = Has(context, inputs_.peepholes) ? Part<C>(context, parts_.peepholes) : nullptr,
    });
    if (!context.has_output(0)) return true;
    T* y = context.output(0).as<T>();
    for (int64_t b = 0; b < batch; ++b) {
      if (s >= Length(lengths, b)) continue;
      Store(Part<C>(context, parts_.hidden) + b * hidden, hidden,
            y + sizes_.YOffset(Time(direction, lengths, s, b), direction, b));
    }
    return true;
  }

  void RunDirection(KernelContext& context, int direction, const int32_t* lengths) const {
    weights_->Prepare(context, direction, Part<void>(context, parts_.weights));
    LoadBias(context, direction, Part<C>(context, parts_.bias));
    if (Has(context, inputs_.peepholes)) {
      const int64_t count = 3 * sizes_.hidden;
      Load(context.input(inputs_.peepholes).as<T>() + direction * count, count,
           Part<C>(context, parts_.peepholes));
    }
    LoadState(context, inputs_.initial_h, direction, Part<C>(context, parts_.hidden));
    LoadState(context, inputs_.initial_c, direction, Part<C>(context, parts_.cell));

    bool running = true;
    for (int64_t first = 0; running && first < sizes_.steps; first += steps_ahead_) {
      const int64_t last = std::min(sizes_.steps, first + steps_ahead_);
      ComputeInputGates(context, direction, lengths, first, last);
      C* gates = Part<C>(context, parts_.gates);
      for (int64_t s = first; running && s < last; ++s) {
        running = RunStep(context, direction, lengths, s, gates);
        gates += sizes_.batch * sizes_.width();
      }
    }
    if (lengths != nullptr && context.has_output(0)) {
      T* y = context.output(0).as<T>();
      for (int64_t b = 0; b < sizes_.batch; ++b) {
        for (int64_t t = lengths[b]; t < sizes_.steps; ++t) {
          std::fill_n(y + sizes_.YOffset(t, direction, b), sizes_.hidden, T{});
        }
      }
    }
    StoreState(context, 1, direction, lengths, Part<C>(context, parts_.hidden));
    if (inputs_.initial_c >= 0) {
      StoreState(context, 2, direction, lengths, Part<C>(context, parts_.cell));
    }
  }

  RecurrentSizes sizes_;
  RecurrentInputs inputs_;
  std::unique_ptr<RecurrentWeights<C>> weights_;
  Cells cells_;
  int64_t steps_ahead_ = 0;
  WorkspaceParts all_;
  struct {
    size_t gates, inputs, input_rows, gate_rows, hidden, cell, scratch, step_rows, bias, peepholes,
        weights;
  } parts_ = {};
};

}  // namespace

template <typename T>
std::unique_ptr<Kernel> MakeRecurrentKernel(
    const RecurrentSizes& sizes, const RecurrentInputs& inputs,
    std::unique_ptr<RecurrentWeights<ComputeType<T>>> weights,
    std::vector<std::unique_ptr<RecurrentCell<ComputeType<T>>>> cells) {
  return std::make_unique<RecurrentKernel<T>>(sizes, inputs, std::move(weights), std::move(cells));
}

#define INFERD_RECURRENT_KERNEL(T)                         \
  template std::unique_ptr<Kernel> MakeRecurrentKernel<T>( \
      const RecurrentSizes&, const RecurrentInputs&,       \
      std::unique_ptr<RecurrentWeights<ComputeType<T>>>,   \
      std::vector<std::unique_ptr<RecurrentCell<ComputeType<T>>>>)
INFERD_RECURRENT_KERNEL(float);
INFERD_RECURRENT_KERNEL(double);
INFERD_RECURRENT_KERNEL(Float16);
INFERD_RECURRENT_KERNEL(BFloat16);
#undef INFERD_RECURRENT_KERNEL

}  // namespace inferd::engine
