// HannWindow, HammingWindow and BlackmanWindow: sums of cosines that fade a signal in and out.
#include <array>
#include <cmath>
#include <memory>
#include <numbers>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/kernel/kernel.h"
#include "engine/ops/all_ops.h"
#include "engine/ops/elementwise.h"
#include "engine/ops/index_tensor.h"
#include "engine/ops/op_def.h"
#include "engine/ops/output_datatype.h"
#include "engine/ops/shape_functions.h"
#include "engine/ops/shape_input.h"
#include "engine/status_macros.h"

namespace inferd::engine {
namespace {

// w[n] = a0 - a1 cos(2 pi n / N) + a2 cos(4 pi n / N).
using Coefficients = std::array<double, 3>;
constexpr Coefficients kHann = {0.5, 0.5, 0.0};
constexpr Coefficients kHamming = {25.0 / 46, 21.0 / 46, 0.0};
constexpr Coefficients kBlackman = {0.42, 0.5, 0.08};

absl::StatusOr<int64_t> Size(const std::vector<int64_t>& values) {
  if (values.size() != 1 || values[0] < 0) {
    return absl::InvalidArgumentError(
        values.size() == 1
            ? absl::StrCat("input size is ", values[0], ", expected >= 0")
            : absl::StrCat("input size has ", values.size(), " values, expected one"));
  }
  return values[0];
}

absl::Status Infer(InferenceContext& context) {
  ASSIGN_OR_RETURN(const ElementType type, OutputDatatype(context.attributes()));
  RETURN_IF_ERROR(ExpectScalar(context, 0));
  Dim size;
  ASSIGN_OR_RETURN(const auto values, ConstantInts(context, 0));
  if (values.has_value()) {
    ASSIGN_OR_RETURN(size, Size(*values));
  }
  context.SetOutput(0, type, SymbolicShape({size}));
  return absl::OkStatus();
}

template <const Coefficients& kCoefficients>
absl::StatusOr<std::unique_ptr<Kernel>> Reference(const NodeSpec& spec) {
  ASSIGN_OR_RETURN(const std::vector<int64_t> values, PlannedInts(spec, 0));
  ASSIGN_OR_RETURN(const int64_t size, Size(values));
  RETURN_IF_ERROR(CheckOutputShape(spec, 0, Shape{size}));
  const int64_t period = spec.attributes().GetInt("periodic", 1) != 0 ? size : size - 1;
  std::unique_ptr<Kernel> kernel;
  const ElementType type = spec.output(0).type;
  if (!DispatchType<float, double, Float16, BFloat16, int8_t, int16_t, int32_t, int64_t, uint8_t,
                    uint16_t, uint32_t, uint64_t>(type, [&]<typename T>() {
        kernel = MakeKernel([size, period](KernelContext& context) {
          T* y = context.output(0).as<T>();
          const auto [a0, a1, a2] = kCoefficients;
          for (int64_t n = 0; n < size; ++n) {
            // A symmetric window of one point has no period; its point is the peak.
            const double phase = period == 0 ? std::numbers::pi
                                             : 2 * std::numbers::pi * static_cast<double>(n) /
                                                   static_cast<double>(period);
            const double w = a0 - a1 * std::cos(phase) + a2 * std::cos(2 * phase);
            y[n] = static_cast<T>(static_cast<ComputeType<T>>(w));
          }
          return absl::OkStatus();
        });
      })) {
    return UnsupportedType(spec, type);
  }
  return kernel;
}

OpDef WindowOp(absl::string_view name, ReferenceFn reference) {
  using Kind = AttributeSpec::Kind;
  return {.name = name,
          .version = 17,
          .oldest_version = 17,
          .inputs = {{"size", "", kIndexTypes}},
          .outputs = {{"output", "", type_sets::kNumeric}},
          .attributes = {{"output_datatype", Kind::kInt}, {"periodic", Kind::kInt}},
          .infer = Infer,
          .reference = reference,
          .shape_inputs = {0}};
}

}  // namespace

void RegisterWindowFunctionOps(OpRegistry& registry) {
  registry.Register(WindowOp("BlackmanWindow", Reference<kBlackman>));
  registry.Register(WindowOp("HammingWindow", Reference<kHamming>));
  registry.Register(WindowOp("HannWindow", Reference<kHann>));
}

}  // namespace inferd::engine
