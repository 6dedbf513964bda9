// MelWeightMatrix: triangular filters evenly spaced on the mel scale, as the columns of a matrix
// that turns a spectrum into a mel spectrum.
#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/kernel/kernel.h"
#include "engine/ops/all_ops.h"
#include "engine/ops/element_conversion.h"
#include "engine/ops/elementwise.h"
#include "engine/ops/index_tensor.h"
#include "engine/ops/op_def.h"
#include "engine/ops/output_datatype.h"
#include "engine/ops/shape_functions.h"
#include "engine/ops/shape_input.h"
#include "engine/status_macros.h"

namespace inferd::engine {
namespace {

constexpr const char* kInputNames[] = {"num_mel_bins", "dft_length", "sample_rate",
                                       "lower_edge_hertz", "upper_edge_hertz"};

absl::StatusOr<int64_t> Count(const std::vector<int64_t>& values, int input) {
  // The bound keeps sums of counts and indices far from overflow.
  if (values.size() != 1 || values[0] < 0 || values[0] > INT32_MAX) {
    return absl::InvalidArgumentError(
        values.size() == 1 ? absl::StrCat("input ", kInputNames[input], " is ", values[0],
                                          ", expected a number in [0, 2^31)")
                           : absl::StrCat("input ", kInputNames[input], " has ", values.size(),
                                          " values, expected one"));
  }
  return values[0];
}

absl::Status Infer(InferenceContext& context) {
  ASSIGN_OR_RETURN(const ElementType type, OutputDatatype(context.attributes()));
  for (int i = 0; i < 5; ++i) RETURN_IF_ERROR(ExpectScalar(context, i));
  SymbolicShape y = SymbolicShape::OfRank(2);
  ASSIGN_OR_RETURN(const auto bins, ConstantInts(context, 0));
  if (bins.has_value()) {
    ASSIGN_OR_RETURN(y[1], Count(*bins, 0));
  }
  ASSIGN_OR_RETURN(const auto lengths, ConstantInts(context, 1));
  if (lengths.has_value()) {
    ASSIGN_OR_RETURN(const int64_t length, Count(*lengths, 1));
    y[0] = length / 2 + 1;
  }
  context.SetOutput(0, type, std::move(y));
  return absl::OkStatus();
}

double HertzToMel(double hertz) { return 2595 * std::log10(1 + hertz / 700); }
double MelToHertz(double mel) { return 700 * (std::pow(10, mel / 2595) - 1); }

// The bins of the spectrum at which the triangles begin, peak and end: bins + 2 of them.
class TriangleCorners {
 public:
  static absl::StatusOr<TriangleCorners> Make(KernelContext& context, int64_t bins,
                                              int64_t dft_length) {
    const double rate = Scalar(context, 2);
    const double low = Scalar(context, 3), high = Scalar(context, 4);
    if (!(rate > 0)) {
      return absl::InvalidArgumentError(
          absl::StrCat("input sample_rate is ", rate, ", expected > 0"));
    }
    if (!(low >= 0) || !(high >= low) || !std::isfinite(high)) {
      return absl::InvalidArgumentError(
          absl::StrCat("inputs lower_edge_hertz and upper_edge_hertz are ", low, " and ", high,
                       ", expected 0 <= lower <= upper"));
    }
    TriangleCorners corners;
    corners.low_ = HertzToMel(low);
    corners.step_ = (HertzToMel(high) - corners.low_) / static_cast<double>(bins + 2);
    corners.per_hertz_ = static_cast<double>(dft_length + 1) / rate;
    const double last = corners.Exact(bins + 1);
    if (last > static_cast<double>(dft_length / 2 + 1)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "the filters reach up to bin ", last, " of a spectrum of ", dft_length / 2 + 1,
          " bins: input upper_edge_hertz is ", high, " at a sample_rate of ", rate));
    }
    return corners;
  }
  int64_t operator[](int64_t i) const { return static_cast<int64_t>(Exact(i)); }

 private:
  static double Scalar(KernelContext& context, int i) {
    return LoadAsDouble(context.input(i).type, context.input(i).data, 0);
  }
  double Exact(int64_t i) const {
    return std::floor(MelToHertz(low_ + static_cast<double>(i) * step_) * per_hertz_);
  }

  double low_ = 0, step_ = 0, per_hertz_ = 0;
};

template <typename T>
absl::Status Run(KernelContext& context, int64_t dft_length) {
  const TensorView& output = context.output(0);
  const int64_t spectrum = output.shape[0], bins = output.shape[1];
  T* y = output.as<T>();
  std::fill_n(y, spectrum * bins, static_cast<T>(static_cast<ComputeType<T>>(0)));
  ASSIGN_OR_RETURN(const TriangleCorners corners, TriangleCorners::Make(context, bins, dft_length));
  const auto set = [&](int64_t row, int64_t column, double value) {
    if (row < spectrum) y[row * bins + column] = static_cast<T>(static_cast<ComputeType<T>>(value));
  };
  for (int64_t b = 0; b < bins; ++b) {
    const int64_t begin = corners[b], peak = corners[b + 1], end = corners[b + 2];
    for (int64_t j = begin; j < peak; ++j) {
      set(j, b, static_cast<double>(j - begin) / static_cast<double>(peak - begin));
    }
    set(peak, b, 1);
    for (int64_t j = peak + 1; j < end; ++j) {
      set(j, b, static_cast<double>(end - j) / static_cast<double>(end - peak));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Kernel>> Reference(const NodeSpec& spec) {
  ASSIGN_OR_RETURN(const std::vector<int64_t> bin_values, PlannedInts(spec, 0));
  ASSIGN_OR_RETURN(const std::vector<int64_t> length_values, PlannedInts(spec, 1));
  ASSIGN_OR_RETURN(const int64_t bins, Count(bin_values, 0));
  ASSIGN_OR_RETURN(const int64_t length, Count(length_values, 1));
  RETURN_IF_ERROR(CheckOutputShape(spec, 0, Shape{length / 2 + 1, bins}));
  std::unique_ptr<Kernel> kernel;
  const ElementType type = spec.output(0).type;
  if (!DispatchType<float, double, Float16, BFloat16, int8_t, int16_t, int32_t, int64_t, uint8_t,
                    uint16_t, uint32_t, uint64_t>(type, [&]<typename T>() {
        kernel = MakeKernel([length](KernelContext& context) { return Run<T>(context, length); });
      })) {
    return UnsupportedType(spec, type);
  }
  return kernel;
}

}  // namespace

void RegisterMelWeightMatrixOps(OpRegistry& registry) {
  registry.Register({.name = "MelWeightMatrix",
                     .version = 17,
                     .oldest_version = 17,
                     .inputs = {{"num_mel_bins", "T1", kIndexTypes},
                                {"dft_length", "T1", kIndexTypes},
                                {"sample_rate", "T1", kIndexTypes},
                                {"lower_edge_hertz", "T2", type_sets::kFloats},
                                {"upper_edge_hertz", "T2", type_sets::kFloats}},
                     .outputs = {{"output", "", type_sets::kNumeric}},
                     .attributes = {{"output_datatype", AttributeSpec::Kind::kInt}},
                     .infer = Infer,
                     .reference = Reference,
                     .shape_inputs = {0, 1}});
}

}  // namespace inferd::engine
