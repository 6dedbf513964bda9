// Range: start, start + delta, ... below (above for a negative delta) limit.
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "engine/kernel/kernel.h"
#include "engine/ops/all_ops.h"
#include "engine/ops/element_conversion.h"
#include "engine/ops/elementwise.h"
#include "engine/ops/op_def.h"
#include "engine/ops/scalar_functions.h"
#include "engine/ops/schema.h"
#include "engine/ops/shape_functions.h"
#include "engine/status_macros.h"

namespace inferd::engine {
namespace {

constexpr ElementTypeSet kTypes =
    type_sets::kFloats |
    ElementTypeSet{ElementType::kInt16, ElementType::kInt32, ElementType::kInt64};

absl::StatusOr<int64_t> CountOfReals(double start, double limit, double delta) {
  const double count = std::ceil((limit - start) / delta);
  // A shape holds fewer than 2^63 elements; NaN and infinities end here as well.
  if (delta == 0 || std::isnan(count) || count >= 0x1p63) {
    return absl::InvalidArgumentError(absl::StrCat(
        "start ", start, ", limit ", limit, " and delta ", delta, " make no finite sequence"));
  }
  return count > 0 ? static_cast<int64_t>(count) : 0;
}

absl::StatusOr<int64_t> CountOfIntegers(int64_t start, int64_t limit, int64_t delta) {
  if (delta == 0) return absl::InvalidArgumentError("input 2 (delta) is 0");
  const bool up = delta > 0;
  if (up ? start >= limit : start <= limit) return 0;
  // Distance and step as unsigned numbers: neither overflows.
  const uint64_t distance = up ? static_cast<uint64_t>(limit) - static_cast<uint64_t>(start)
                               : static_cast<uint64_t>(start) - static_cast<uint64_t>(limit);
  const uint64_t step = up ? static_cast<uint64_t>(delta) : 0 - static_cast<uint64_t>(delta);
  const uint64_t count = distance / step + (distance % step != 0);
  if (count > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
    return absl::InvalidArgumentError(absl::StrCat("start ", start, ", limit ", limit,
                                                   " and delta ", delta,
                                                   " make more elements than a tensor can hold"));
  }
  return static_cast<int64_t>(count);
}

absl::Status InferRange(InferenceContext& context) {
  const ElementType type = context.element_type(0);
  const Tensor* operands[3];
  bool known = true;
  for (int i = 0; i < 3; ++i) {
    RETURN_IF_ERROR(ExpectScalar(context, i));
    operands[i] = context.constant(i);
    known = known && operands[i] != nullptr && operands[i]->num_elements() == 1;
  }
  if (!known) {
    context.SetOutput(0, type, SymbolicShape::OfRank(1));
    return absl::OkStatus();
  }
  int64_t count = 0;
  if (IsInteger(type)) {
    int64_t values[3];
    for (int i = 0; i < 3; ++i) {
      ASSIGN_OR_RETURN(const std::vector<int64_t> v, ToInt64Vector(operands[i]->view()));
      values[i] = v[0];
    }
    ASSIGN_OR_RETURN(count, CountOfIntegers(values[0], values[1], values[2]));
  } else {
    double values[3];
    for (int i = 0; i < 3; ++i) values[i] = LoadAsDouble(type, operands[i]->view().data, 0);
    ASSIGN_OR_RETURN(count, CountOfReals(values[0], values[1], values[2]));
  }
  RETURN_IF_ERROR(Shape({count}).CheckedNumElements().status());
  context.SetOutput(0, type, SymbolicShape(Shape{count}));
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Kernel>> RangeReference(const NodeSpec& spec) {
  const int64_t count = spec.output(0).shape[0];
  std::unique_ptr<Kernel> kernel;
  const ElementType type = spec.input(0).type;
  if (!DispatchType<float, double, Float16, BFloat16, int16_t, int32_t, int64_t>(
          type, [&]<typename T>() {
            kernel = MakeKernel([count](KernelContext& context) {
              using Compute = ComputeType<T>;
              const auto start = static_cast<Compute>(*context.input(0).as<T>());
              const auto delta = static_cast<Compute>(*context.input(2).as<T>());
              T* y = context.output(0).as<T>();
              for (int64_t i = 0; i < count; ++i) {
                y[i] = static_cast<T>(
                    scalar::Add{}(start, scalar::Mul{}(static_cast<Compute>(i), delta)));
              }
              return absl::OkStatus();
            });
          })) {
    return UnsupportedType(spec, type);
  }
  return kernel;
}

}  // namespace

void RegisterRangeOps(OpRegistry& registry) {
  OpDef def;
  def.name = "Range";
  def.version = 27;
  def.oldest_version = 11;
  def.inputs = {RequiredParameter("start", "T", kTypes), RequiredParameter("limit", "T", kTypes),
                RequiredParameter("delta", "T", kTypes)};
  def.outputs = {RequiredParameter("output", "T", kTypes)};
  def.attributes = {{"stash_type", AttributeSpec::Kind::kInt}};
  def.infer = InferRange;
  def.reference = RangeReference;
  def.shape_inputs = {0, 1, 2};
  registry.Register(std::move(def));
}

}  // namespace inferd::engine
