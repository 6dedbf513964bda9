// STFT: the Fourier transforms of the windowed frames of a signal.
#include <memory>
#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/kernel/kernel.h"
#include "engine/ops/all_ops.h"
#include "engine/ops/elementwise.h"
#include "engine/ops/fourier_transform.h"
#include "engine/ops/index_tensor.h"
#include "engine/ops/one_value.h"
#include "engine/ops/op_def.h"
#include "engine/ops/shape_functions.h"
#include "engine/ops/shape_input.h"
#include "engine/ops/work_slots.h"
#include "engine/status_macros.h"

namespace inferd::engine {
namespace {

absl::Status CheckFrame(int64_t length) {
  if (length >= 1 && length <= kMaxFourierLength) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("the length of a frame is ", length,
                                                 ", expected one in [1, ", kMaxFourierLength, "]"));
}

absl::StatusOr<int64_t> CountFrames(int64_t signal, int64_t frame, int64_t step) {
  if (step < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("input frame_step is ", step, ", expected >= 1"));
  }
  if (frame > signal) {
    return absl::InvalidArgumentError(
        absl::StrCat("a frame is ", frame, " samples long, the signal only ", signal));
  }
  return (signal - frame) / step + 1;
}

int64_t Bins(int64_t frame, bool onesided) { return onesided ? frame / 2 + 1 : frame; }

absl::Status CheckComponents(int64_t count) {
  if (count == 1 || count == 2) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("the last dimension of input signal is ", count,
                                                 ", expected 1 (real) or 2 (complex)"));
}

absl::Status CheckWindow(int64_t window, int64_t frame) {
  if (window == frame) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("input window has ", window, " elements, expected ", frame, ": frame_length"));
}

absl::Status Infer(InferenceContext& context) {
  const bool onesided = context.attributes().GetInt("onesided", 1) != 0;
  RETURN_IF_ERROR(ExpectRank(context, 0, 3, 3));
  if (context.has_input(2)) RETURN_IF_ERROR(ExpectRank(context, 2, 1, 1));
  const SymbolicShape x = context.shape(0).has_rank() ? context.shape(0) : SymbolicShape::OfRank(3);
  if (x[2].known()) RETURN_IF_ERROR(CheckComponents(x[2].value()));

  std::optional<int64_t> window, frame;
  if (context.has_input(2) && context.shape(2).has_rank() && context.shape(2)[0].known()) {
    window = context.shape(2)[0].value();
  }
  if (context.has_input(3)) {
    ASSIGN_OR_RETURN(const auto values, ConstantInts(context, 3));
    if (values.has_value()) {
      ASSIGN_OR_RETURN(frame, OneValue(*values, "frame_length"));
      if (window.has_value()) RETURN_IF_ERROR(CheckWindow(*window, *frame));
    } else {
      frame = window;
    }
  } else if (context.has_input(2)) {
    frame = window;
  } else if (x[1].known()) {
    frame = x[1].value();
  }
  SymbolicShape y({x[0], Dim::Unknown(), Dim::Unknown(), Dim(2)});
  if (frame.has_value()) {
    RETURN_IF_ERROR(CheckFrame(*frame));
    y[2] = Bins(*frame, onesided);
    ASSIGN_OR_RETURN(const auto steps, ConstantInts(context, 1));
    if (steps.has_value() && x[1].known()) {
      ASSIGN_OR_RETURN(const int64_t step, OneValue(*steps, "frame_step"));
      ASSIGN_OR_RETURN(y[1], CountFrames(x[1].value(), *frame, step));
    }
  }
  context.SetOutput(0, context.element_type(0), std::move(y));
  return absl::OkStatus();
}

template <typename T>
class StftKernel final : public Kernel {
 public:
  StftKernel(const Shape& signal, const Shape& output, int64_t frame, int64_t step, int threads)
      : samples_(signal[1]),
        components_(signal[2]),
        frames_(output[1]),
        bins_(output[2]),
        step_(step),
        transform_(frame),
        slots_(signal[0] * output[1], threads,
               sizeof(Complex) * (frame + transform_.scratch_size())) {}

  size_t workspace_bytes() const override { return slots_.workspace_bytes(); }

  absl::Status Run(KernelContext& context) const override {
    const T* x = context.input(0).as<T>();
    const T* window = context.has_input(2) ? context.input(2).as<T>() : nullptr;
    T* y = context.output(0).as<T>();
    const int64_t length = transform_.length();
    slots_.Run(context, [&](int64_t begin, int64_t end, void* memory) {
      Complex* row = static_cast<Complex*>(memory);
      for (int64_t f = begin; f < end; ++f) {
        const T* from = x + (f / frames_ * samples_ + f % frames_ * step_) * components_;
        for (int64_t i = 0; i < length; ++i, from += components_) {
          const double weight = window == nullptr ? 1.0 : Number(window[i]);
          row[i].re = weight * Number(from[0]);
          row[i].im = components_ == 2 ? weight * Number(from[1]) : 0.0;
        }
        transform_.Forward(row, row + length);
        T* to = y + f * bins_ * 2;
        for (int64_t k = 0; k < bins_; ++k) {
          to[2 * k] = static_cast<T>(static_cast<ComputeType<T>>(row[k].re));
          to[2 * k + 1] = static_cast<T>(static_cast<ComputeType<T>>(row[k].im));
        }
      }
    });
    return absl::OkStatus();
  }

 private:
  static double Number(T value) { return static_cast<ComputeType<T>>(value); }

  int64_t samples_, components_, frames_, bins_, step_;
  FourierTransform transform_;
  WorkSlots slots_;
};

absl::StatusOr<std::unique_ptr<Kernel>> Reference(const NodeSpec& spec) {
  const Shape& x = spec.input(0).shape;
  RETURN_IF_ERROR(CheckComponents(x[2]));
  ASSIGN_OR_RETURN(const std::vector<int64_t> steps, PlannedInts(spec, 1));
  ASSIGN_OR_RETURN(const int64_t step, OneValue(steps, "frame_step"));
  int64_t frame = spec.has_input(2) ? spec.input(2).shape.NumElements() : x[1];
  if (spec.has_input(3)) {
    ASSIGN_OR_RETURN(const std::vector<int64_t> values, PlannedInts(spec, 3));
    ASSIGN_OR_RETURN(frame, OneValue(values, "frame_length"));
    if (spec.has_input(2)) RETURN_IF_ERROR(CheckWindow(spec.input(2).shape.NumElements(), frame));
  }
  RETURN_IF_ERROR(CheckFrame(frame));
  ASSIGN_OR_RETURN(const int64_t frames, CountFrames(x[1], frame, step));
  const Shape y{x[0], frames, Bins(frame, spec.attributes().GetInt("onesided", 1) != 0), 2};
  RETURN_IF_ERROR(CheckOutputShape(spec, 0, y));
  std::unique_ptr<Kernel> kernel;
  if (!DispatchType<float, double, Float16, BFloat16>(spec.input(0).type, [&]<typename T>() {
        kernel = std::make_unique<StftKernel<T>>(x, y, frame, step, spec.threads);
      })) {
    return UnsupportedType(spec, spec.input(0).type);
  }
  return kernel;
}

}  // namespace

void RegisterStftOps(OpRegistry& registry) {
  using Option = FormalParameter::Option;
  registry.Register({.name = "STFT",
                     .version = 17,
                     .oldest_version = 17,
                     .inputs = {{"signal", "T1", type_sets::kFloats},
                                {"frame_step", "T2", kIndexTypes},
                                {"window", "T1", type_sets::kFloats, Option::kOptional},
                                {"frame_length", "T2", kIndexTypes, Option::kOptional}},
                     .outputs = {{"output", "T1", type_sets::kFloats}},
                     .attributes = {{"onesided", AttributeSpec::Kind::kInt}},
                     .infer = Infer,
                     .reference = Reference,
                     .shape_inputs = {1, 3}});
}

}  // namespace inferd::engine
