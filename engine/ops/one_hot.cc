// OneHot: a new axis that is on where the index points and off elsewhere.
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/kernel/kernel.h"
#include "engine/ops/all_ops.h"
#include "engine/ops/element_copy.h"
#include "engine/ops/op_def.h"
#include "engine/ops/shape_functions.h"
#include "engine/ops/shape_input.h"
#include "engine/status_macros.h"

namespace inferd::engine {
namespace {

constexpr ElementTypeSet kNumbers =
    type_sets::kIntegers |
    ElementTypeSet{ElementType::kFloat16, ElementType::kFloat32, ElementType::kFloat64};

// A number of any type as an integer; nullopt where it is not one.
std::optional<int64_t> AsInteger(const TensorView& tensor, int64_t i) {
  std::optional<int64_t> result;
  DispatchType<float, double, Float16, uint8_t, int8_t, uint16_t, int16_t, uint32_t, int32_t,
               uint64_t, int64_t>(tensor.type, [&]<typename T>() {
    const T value = tensor.as<T>()[i];
    if constexpr (std::is_integral_v<T>) {
      if (std::is_signed_v<T> || static_cast<uint64_t>(value) <= INT64_MAX) {
        result = static_cast<int64_t>(value);
      }
    } else {
      // The standard casts indices to int64: fractions are cut off.
      const double number = static_cast<double>(static_cast<ComputeType<T>>(value));
      if (std::abs(number) < 0x1p62) result = static_cast<int64_t>(number);
    }
  });
  return result;
}

absl::StatusOr<int64_t> Depth(const Tensor& tensor) {
  if (tensor.num_elements() != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("input depth has shape ", tensor.shape().ToString(), ", expected one number"));
  }
  const std::optional<int64_t> depth = AsInteger(tensor.view(), 0);
  if (!depth.has_value() || *depth < 0) {
    return absl::InvalidArgumentError("input depth is not a number >= 0");
  }
  return *depth;
}

absl::Status Infer(InferenceContext& context) {
  const SymbolicShape& indices = context.shape(0);
  const ElementType type = context.element_type(2);
  if (!indices.has_rank()) {
    context.SetOutput(0, type, {});
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(const int axis,
                   NormalizeAxis(context.attributes().GetInt("axis", -1), indices.rank() + 1));
  Dim depth;
  if (context.constant(1) != nullptr) {
    ASSIGN_OR_RETURN(const int64_t value, Depth(*context.constant(1)));
    depth = Dim(value);
  }
  std::vector<Dim> dims = indices.dims();
  dims.insert(dims.begin() + axis, depth);
  context.SetOutput(0, type, SymbolicShape(std::move(dims)));
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Kernel>> Reference(const NodeSpec& spec) {
  const Shape& indices = spec.input(0).shape;
  ASSIGN_OR_RETURN(const int axis,
                   NormalizeAxis(spec.attributes().GetInt("axis", -1), indices.rank() + 1));
  const Tensor* depth_input = spec.input(1).constant;
  if (depth_input == nullptr) {
    return absl::InternalError(
        "the value of input depth shapes the output but is not known to the plan");
  }
  ASSIGN_OR_RETURN(const int64_t depth, Depth(*depth_input));
  if (spec.input(2).shape != Shape{2}) {
    return absl::InvalidArgumentError(absl::StrCat(
        "input values has shape ", spec.input(2).shape.ToString(), ", expected [2]: off and on"));
  }
  Shape y(indices.dims().subspan(0, axis));
  y.push_back(depth);
  for (int i = axis; i < indices.rank(); ++i) y.push_back(indices[i]);
  RETURN_IF_ERROR(CheckOutputShape(spec, 0, y));
  const int64_t inner = indices.Product(axis, indices.rank());
  const int64_t count = indices.NumElements();
  const ElementCopier copier(spec.input(2).type);
  return MakeKernel([=](KernelContext& context) {
    void* out = context.output(0).data;
    const void* values = context.input(2).data;
    copier.Fill(values, 0, out, 0, count * depth);
    for (int64_t i = 0; i < count; ++i) {
      // An index out of range leaves its column off.
      std::optional<int64_t> index = AsInteger(context.input(0), i);
      if (!index.has_value() || *index < -depth || *index >= depth) continue;
      if (*index < 0) *index += depth;
      copier.Copy(values, 1, out, (i / inner * depth + *index) * inner + i % inner, 1);
    }
    return absl::OkStatus();
  });
}

}  // namespace

void RegisterOneHotOps(OpRegistry& registry) {
  registry.Register({.name = "OneHot",
                     .version = 28,
                     .oldest_version = 9,
                     .inputs = {{"indices", "", kNumbers},
                                {"depth", "", kNumbers},
                                {"values", "T3", type_sets::kMovable}},
                     .outputs = {{"output", "T3", type_sets::kMovable}},
                     .attributes = {{"axis", AttributeSpec::Kind::kInt}},
                     .infer = Infer,
                     .reference = Reference,
                     .shape_inputs = {1}});
}

}  // namespace inferd::engine
