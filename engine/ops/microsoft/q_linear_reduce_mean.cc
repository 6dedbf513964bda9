// com.microsoft QLinearReduceMean: means of quantized bytes over some axes.
#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "engine/ops/all_ops.h"
#include "engine/ops/elementwise.h"
#include "engine/ops/microsoft/quantized_bytes.h"
#include "engine/ops/op_def.h"
#include "engine/ops/reduction.h"
#include "engine/ops/shape_functions.h"
#include "engine/ops/shape_input.h"
#include "engine/status_macros.h"

namespace inferd::engine {
namespace {

enum Input : int { kX, kXScale, kXZero, kYScale, kYZero };

absl::StatusOr<absl::InlinedVector<bool, 8>> ReducedAxes(const Attributes& attributes, int rank) {
  const std::vector<int64_t> axes = attributes.GetInts("axes");
  absl::InlinedVector<bool, 8> reduced(rank, axes.empty());
  ASSIGN_OR_RETURN(const std::vector<int> normalized, NormalizeAxes(axes, rank));
  for (const int axis : normalized) reduced[axis] = true;
  return reduced;
}

absl::Status Infer(InferenceContext& context) {
  const SymbolicShape& x = context.shape(kX);
  if (!x.has_rank()) {
    context.SetOutput(0, context.element_type(kX), {});
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(const auto reduced, ReducedAxes(context.attributes(), x.rank()));
  const bool keep = context.attributes().GetInt("keepdims", 1) != 0;
  std::vector<Dim> dims;
  for (int i = 0; i < x.rank(); ++i) {
    if (!reduced[i]) {
      dims.push_back(x[i]);
    } else if (keep) {
      dims.push_back(Dim(1));
    }
  }
  context.SetOutput(0, context.element_type(kX), SymbolicShape(std::move(dims)));
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Kernel>> Reference(const NodeSpec& spec) {
  RETURN_IF_ERROR(ExpectOneElement(spec, {kXScale, kXZero, kYScale, kYZero}));
  const Shape& x = spec.input(kX).shape;
  ASSIGN_OR_RETURN(const auto reduced, ReducedAxes(spec.attributes(), x.rank()));
  const ElementType type = spec.input(kX).type;
  return MakeKernel([plan = PlanReduction(x, reduced), type](KernelContext& context) {
    const ByteQuantization from = ReadQuantization(context, type, kXScale, kXZero);
    const ByteQuantization to = ReadQuantization(context, type, kYScale, kYZero);
    const auto* x_bytes = static_cast<const uint8_t*>(context.input(kX).data);
    auto* y_bytes = static_cast<uint8_t*>(context.output(0).data);
    const int64_t grain =
        std::max<int64_t>(1, kElementwiseGrain / std::max<int64_t>(1, plan.count));
    context.threads().ParallelFor(plan.outputs, grain, [&](int64_t begin, int64_t end) {
      for (int64_t o = begin; o < end; ++o) {
        const int64_t base = plan.Offset(o);
        int64_t sum = 0;
        ForEachReducedRow(plan, 0, [&](int64_t offset) {
          sum += from.Value(x_bytes[base + offset]) - from.zero_point;
        });
        const double mean = plan.count == 0 ? 0
                                            : double{from.scale} * static_cast<double>(sum) /
                                                  static_cast<double>(plan.count);
        y_bytes[o] = to.Quantize(static_cast<float>(mean));
      }
    });
    return absl::OkStatus();
  });
}

}  // namespace

void RegisterQLinearReduceMeanOps(OpRegistry& registry) {
  using Kind = AttributeSpec::Kind;
  constexpr auto kOptional = FormalParameter::Option::kOptional;
  constexpr ElementTypeSet kFloat = {ElementType::kFloat32};
  registry.Register({.domain = "com.microsoft",
                     .name = "QLinearReduceMean",
                     .inputs = {{"data", "T", kByteTypes},
                                {"data_scale", "", kFloat},
                                {"data_zero_point", "T", kByteTypes, kOptional},
                                {"reduced_scale", "", kFloat},
                                {"reduced_zero_point", "T", kByteTypes, kOptional}},
                     .outputs = {{"reduced", "T", kByteTypes}},
                     .attributes = {{"axes", Kind::kInts}, {"keepdims", Kind::kInt}},
                     .infer = Infer,
                     .reference = Reference});
}

}  // namespace inferd::engine
