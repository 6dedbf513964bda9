// DFT: the discrete Fourier transform along one axis, its inverse, and both for real signals.
#include <algorithm>
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

struct Options {
  bool inverse = false;
  bool onesided = false;
  bool from_half_spectrum() const { return inverse && onesided; }
  bool to_half_spectrum() const { return !inverse && onesided; }
};

Options ReadOptions(const Attributes& attributes) {
  return {.inverse = attributes.GetInt("inverse", 0) != 0,
          .onesided = attributes.GetInt("onesided", 0) != 0};
}

absl::Status CheckComponents(const Dim& components, const Options& options) {
  if (!components.known()) return absl::OkStatus();
  const int64_t count = components.value();
  if (count != 1 && count != 2) {
    return absl::InvalidArgumentError(absl::StrCat("the last dimension of the input is ", count,
                                                   ", expected 1 (real) or 2 (complex)"));
  }
  if (options.to_half_spectrum() && count != 1) {
    return absl::InvalidArgumentError(
        "attribute onesided is 1 for a complex input: only the spectrum of a real one has equal "
        "halves");
  }
  if (options.from_half_spectrum() && count != 2) {
    return absl::InvalidArgumentError(
        "attributes inverse and onesided are 1 for a real input, expected a complex spectrum");
  }
  return absl::OkStatus();
}

absl::StatusOr<int> TransformAxis(int64_t axis, int rank) {
  ASSIGN_OR_RETURN(const int normalized, NormalizeAxis(axis, rank));
  if (normalized == rank - 1) {
    return absl::InvalidArgumentError(absl::StrCat(
        "axis is ", axis, ", the last dimension, which holds the parts of complex numbers"));
  }
  return normalized;
}

// The length where no input gives it.
int64_t DefaultLength(int64_t extent, const Options& options) {
  return options.from_half_spectrum() ? 2 * (std::max<int64_t>(extent, 1) - 1) : extent;
}

absl::Status CheckLength(int64_t length) {
  if (length >= 0 && length <= kMaxFourierLength) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("the length of the transform is ", length,
                                                 ", expected one in [0, ", kMaxFourierLength, "]"));
}

int64_t OutputExtent(int64_t length, const Options& options) {
  return options.to_half_spectrum() ? length / 2 + 1 : length;
}

absl::Status Infer(InferenceContext& context) {
  const Options options = ReadOptions(context.attributes());
  const SymbolicShape& x = context.shape(0);
  const ElementType type = context.element_type(0);
  RETURN_IF_ERROR(ExpectRank(context, 0, 2));
  if (!x.has_rank()) {
    context.SetOutput(0, type, {});
    return absl::OkStatus();
  }
  const int rank = x.rank();
  RETURN_IF_ERROR(CheckComponents(x[rank - 1], options));
  SymbolicShape y = x;
  y[rank - 1] = options.from_half_spectrum() ? 1 : 2;
  ASSIGN_OR_RETURN(const auto axes, ConstantInts(context, 2));
  if (context.has_input(2) && !axes.has_value()) {
    for (int i = 0; i < rank - 1; ++i) y[i] = Dim::Unknown();
    context.SetOutput(0, type, std::move(y));
    return absl::OkStatus();
  }
  int axis = rank - 2;
  if (axes.has_value()) {
    ASSIGN_OR_RETURN(const int64_t value, OneValue(*axes, "axis"));
    ASSIGN_OR_RETURN(axis, TransformAxis(value, rank));
  }
  ASSIGN_OR_RETURN(const auto lengths, ConstantInts(context, 1));
  std::optional<int64_t> length;
  if (lengths.has_value()) {
    ASSIGN_OR_RETURN(length, OneValue(*lengths, "dft_length"));
  } else if (!context.has_input(1) && x[axis].known()) {
    // Half the largest number there is, so that doubling cannot overflow.
    length = DefaultLength(std::min<int64_t>(x[axis].value(), INT64_MAX / 4), options);
  }
  if (length.has_value()) {
    RETURN_IF_ERROR(CheckLength(*length));
    y[axis] = OutputExtent(*length, options);
  } else if (context.has_input(1) || options.onesided) {
    y[axis] = Dim::Unknown();
  }
  context.SetOutput(0, type, std::move(y));
  return absl::OkStatus();
}

template <typename T>
class DftKernel final : public Kernel {
 public:
  struct Geometry {
    Options options;
    int64_t outer = 1;   // dimensions before the axis
    int64_t inner = 1;   // dimensions after it, save the last
    int64_t extent = 0;  // of the axis in the input
    int64_t components = 1;
    int64_t y_extent = 0;
  };

  DftKernel(const Geometry& geometry, int64_t length, int threads)
      : g_(geometry),
        transform_(length),
        slots_(geometry.outer * geometry.inner, threads,
               sizeof(Complex) * (length + transform_.scratch_size())) {}

  size_t workspace_bytes() const override { return slots_.workspace_bytes(); }

  absl::Status Run(KernelContext& context) const override {
    const T* x = context.input(0).as<T>();
    T* y = context.output(0).as<T>();
    const int64_t y_components = g_.options.from_half_spectrum() ? 1 : 2;
    slots_.Run(context, [&](int64_t begin, int64_t end, void* memory) {
      Complex* row = static_cast<Complex*>(memory);
      Complex* scratch = row + transform_.length();
      for (int64_t r = begin; r < end; ++r) {
        const int64_t outer = r / g_.inner, inner = r % g_.inner;
        Load(x + (outer * g_.extent * g_.inner + inner) * g_.components, row);
        if (g_.options.inverse) {
          transform_.Inverse(row, scratch);
        } else {
          transform_.Forward(row, scratch);
        }
        T* out = y + (outer * g_.y_extent * g_.inner + inner) * y_components;
        for (int64_t k = 0; k < g_.y_extent; ++k, out += g_.inner * y_components) {
          out[0] = static_cast<T>(static_cast<ComputeType<T>>(row[k].re));
          if (y_components == 2) out[1] = static_cast<T>(static_cast<ComputeType<T>>(row[k].im));
        }
      }
    });
    return absl::OkStatus();
  }

 private:
  // The input along the axis, cut or filled with zeros.
  void Load(const T* x, Complex* row) const {
    const int64_t length = transform_.length();
    const int64_t wanted = g_.options.from_half_spectrum() ? length / 2 + 1 : length;
    const int64_t given = std::min({g_.extent, wanted, length});
    for (int64_t i = 0; i < given; ++i, x += g_.inner * g_.components) {
      row[i].re = static_cast<ComputeType<T>>(x[0]);
      row[i].im = g_.components == 2 ? static_cast<double>(static_cast<ComputeType<T>>(x[1])) : 0.0;
    }
    std::fill(row + given, row + length, Complex{});
    if (!g_.options.from_half_spectrum() || length == 0) return;
    // The other half of the spectrum of a real signal. Values that are their own mirror image are
    // real.
    row[0].im = 0;
    if (length % 2 == 0) row[length / 2].im = 0;
    for (int64_t k = 1; k < length - k; ++k) row[length - k] = Conjugate(row[k]);
  }

  Geometry g_;
  FourierTransform transform_;
  WorkSlots slots_;
};

absl::StatusOr<std::unique_ptr<Kernel>> Reference(const NodeSpec& spec) {
  const Options options = ReadOptions(spec.attributes());
  const Shape& x = spec.input(0).shape;
  const int rank = x.rank();
  RETURN_IF_ERROR(CheckComponents(x[rank - 1], options));
  int axis = rank - 2;
  if (spec.has_input(2)) {
    ASSIGN_OR_RETURN(const std::vector<int64_t> values, PlannedInts(spec, 2));
    ASSIGN_OR_RETURN(const int64_t value, OneValue(values, "axis"));
    ASSIGN_OR_RETURN(axis, TransformAxis(value, rank));
  }
  int64_t length = DefaultLength(x[axis], options);
  if (spec.has_input(1)) {
    ASSIGN_OR_RETURN(const std::vector<int64_t> values, PlannedInts(spec, 1));
    ASSIGN_OR_RETURN(length, OneValue(values, "dft_length"));
  }
  RETURN_IF_ERROR(CheckLength(length));
  Shape y = x;
  y[axis] = OutputExtent(length, options);
  y[rank - 1] = options.from_half_spectrum() ? 1 : 2;
  RETURN_IF_ERROR(CheckOutputShape(spec, 0, y));
  std::unique_ptr<Kernel> kernel;
  if (!DispatchType<float, double, Float16, BFloat16>(spec.input(0).type, [&]<typename T>() {
        kernel = std::make_unique<DftKernel<T>>(
            typename DftKernel<T>::Geometry{.options = options,
                                            .outer = x.Product(0, axis),
                                            .inner = x.Product(axis + 1, rank - 1),
                                            .extent = x[axis],
                                            .components = x[rank - 1],
                                            .y_extent = y[axis]},
            y.NumElements() == 0 ? 0 : length, spec.threads);
      })) {
    return UnsupportedType(spec, spec.input(0).type);
  }
  return kernel;
}

}  // namespace

void RegisterDftOps(OpRegistry& registry) {
  using Option = FormalParameter::Option;
  using Kind = AttributeSpec::Kind;
  registry.Register({.name = "DFT",
                     .version = 20,
                     .oldest_version = 17,
                     .inputs = {{"input", "T1", type_sets::kFloats},
                                {"dft_length", "", kIndexTypes, Option::kOptional},
                                {"axis", "", {ElementType::kInt64}, Option::kOptional}},
                     .outputs = {{"output", "T1", type_sets::kFloats}},
                     .attributes = {{"inverse", Kind::kInt}, {"onesided", Kind::kInt}},
                     .infer = Infer,
                     .reference = Reference,
                     .shape_inputs = {1, 2}});
}

}  // namespace inferd::engine
