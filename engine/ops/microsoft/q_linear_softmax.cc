// com.microsoft QLinearSoftmax: softmax of quantized bytes, by the rules of the Softmax of an
// opset: before 13 over all axes from `axis` on, from 13 over that axis alone.
#include <algorithm>
#include <cmath>
#include <memory>

#include "engine/ops/all_ops.h"
#include "engine/ops/elementwise.h"
#include "engine/ops/microsoft/quantized_bytes.h"
#include "engine/ops/op_def.h"
#include "engine/ops/shape_functions.h"
#include "engine/status_macros.h"

namespace inferd::engine {
namespace {

enum Input : int { kX, kXScale, kXZero, kYScale, kYZero };

bool OneAxis(const Attributes& attributes) { return attributes.GetInt("opset", 13) >= 13; }

absl::StatusOr<int> AxisOf(const Attributes& attributes, int rank) {
  return NormalizeAxis(attributes.GetInt("axis", OneAxis(attributes) ? -1 : 1), rank);
}

absl::Status Infer(InferenceContext& context) {
  if (context.shape(kX).has_rank()) {
    RETURN_IF_ERROR(ExpectRank(context, kX, 1));
    RETURN_IF_ERROR(AxisOf(context.attributes(), context.shape(kX).rank()).status());
  }
  return InferSameAsInput(context);
}

absl::StatusOr<std::unique_ptr<Kernel>> Reference(const NodeSpec& spec) {
  RETURN_IF_ERROR(ExpectOneElement(spec, {kXScale, kXZero, kYScale, kYZero}));
  const Shape& x = spec.input(kX).shape;
  ASSIGN_OR_RETURN(const int axis, AxisOf(spec.attributes(), x.rank()));
  const bool one_axis = OneAxis(spec.attributes());
  const int64_t extent = one_axis ? x[axis] : x.Product(axis, x.rank());
  const int64_t stride = one_axis ? x.Product(axis + 1, x.rank()) : 1;
  const int64_t columns = x.Product(0, axis) * stride;
  const ElementType type = spec.input(kX).type;
  return MakeKernel([=](KernelContext& context) {
    const ByteQuantization from = ReadQuantization(context, type, kXScale, kXZero);
    const ByteQuantization to = ReadQuantization(context, type, kYScale, kYZero);
    // The whole number of steps to 1, as ONNX Runtime has it.
    const float steps = std::floor(1.0f / to.scale);
    ByteQuantization in_steps = to;
    in_steps.scale = 1;
    // exp of a byte that lies `below` under the largest.
    std::array<float, 256> exponentials;
    for (int below = 0; below < 256; ++below) {
      exponentials[below] = std::exp(-static_cast<float>(below) * from.scale);
    }
    const auto* x_bytes = static_cast<const uint8_t*>(context.input(kX).data);
    auto* y_bytes = static_cast<uint8_t*>(context.output(0).data);
    const int64_t grain = std::max<int64_t>(1, kElementwiseGrain / std::max<int64_t>(1, extent));
    context.threads().ParallelFor(columns, grain, [&](int64_t begin, int64_t end) {
      for (int64_t c = begin; c < end; ++c) {
        const int64_t first = c / stride * extent * stride + c % stride;
        int largest = -256;
        for (int64_t i = 0; i < extent; ++i) {
          largest = std::max(largest, from.Value(x_bytes[first + i * stride]));
        }
        double sum = 0;
        for (int64_t i = 0; i < extent; ++i) {
          sum += exponentials[largest - from.Value(x_bytes[first + i * stride])];
        }
        for (int64_t i = 0; i < extent; ++i) {
          const float e = exponentials[largest - from.Value(x_bytes[first + i * stride])];
          y_bytes[first + i * stride] =
              in_steps.Quantize(static_cast<float>(static_cast<double>(e * steps) / sum));
        }
      }
    });
    return absl::OkStatus();
  });
}

}  // namespace

void RegisterQLinearSoftmaxOps(OpRegistry& registry) {
  using Kind = AttributeSpec::Kind;
  constexpr ElementTypeSet kFloat = {ElementType::kFloat32};
  registry.Register(
      {.domain = "com.microsoft",
       .name = "QLinearSoftmax",
       .inputs = {{"X", "T", kByteTypes},
                  {"X_scale", "", kFloat},
                  {"x_zero_point", "T", kByteTypes, FormalParameter::Option::kOptional},
                  {"y_scale", "", kFloat},
                  {"y_zero_point", "T", kByteTypes}},
       .outputs = {{"Y", "T", kByteTypes}},
       .attributes = {{"axis", Kind::kInt}, {"opset", Kind::kInt, /*required=*/true}},
       .infer = Infer,
       .reference = Reference,
       .in_place_inputs = {0}});
}

}  // namespace inferd::engine
