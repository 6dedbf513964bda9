// ConstantOfShape: a tensor of the given shape filled with attribute value (float 0 by default).
#include "absl/strings/str_cat.h"
#include "engine/kernel/kernel.h"
#include "engine/ops/all_ops.h"
#include "engine/ops/fill.h"
#include "engine/ops/op_def.h"
#include "engine/ops/schema.h"
#include "engine/ops/shape_functions.h"
#include "engine/status_macros.h"

namespace inferd::engine {
namespace {

constexpr ElementTypeSet kTypes =
    type_sets::kNumeric | type_sets::kFloat8s |
    ElementTypeSet{ElementType::kBool,  ElementType::kFloat4E2M1, ElementType::kFloat8E8M0,
                   ElementType::kUint4, ElementType::kInt4,       ElementType::kUint2,
                   ElementType::kInt2};
// More dimensions than any tensor has; keeps an absurd shape of the shape input harmless.
constexpr int64_t kMaxRank = 1024;

absl::Status InferConstantOfShape(InferenceContext& context) {
  ElementType type = ElementType::kFloat32;
  if (const auto* value = context.attributes().Get<Tensor>("value")) {
    if (!value->defined() || value->num_elements() != 1 || !kTypes.contains(value->type())) {
      return absl::InvalidArgumentError(
          absl::StrCat("attribute value is ", ElementTypeName(value->type()),
                       value->shape().ToString(), ", expected one element of ", kTypes.ToString()));
    }
    type = value->type();
  }
  RETURN_IF_ERROR(ExpectRank(context, 0, 1, 1));
  ASSIGN_OR_RETURN(const auto dims, ConstantInts(context, 0));
  if (dims.has_value()) {
    ASSIGN_OR_RETURN(SymbolicShape shape, ShapeFromValues(*dims));
    context.SetOutput(0, type, std::move(shape));
    return absl::OkStatus();
  }
  const SymbolicShape& shape = context.shape(0);
  if (!shape.has_rank() || !shape[0].known()) {
    context.SetOutput(0, type, SymbolicShape());
    return absl::OkStatus();
  }
  if (shape[0].value() > kMaxRank) {
    return absl::InvalidArgumentError(absl::StrCat("input 0 holds ", shape[0].value(),
                                                   " dimensions, expected at most ", kMaxRank));
  }
  context.SetOutput(0, type, SymbolicShape::OfRank(static_cast<int>(shape[0].value())));
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Kernel>> Reference(const NodeSpec& spec) {
  const auto* attribute = spec.attributes().Get<Tensor>("value");
  const Tensor value = attribute != nullptr ? *attribute : Tensor::Scalar<float>(0);
  return MakeKernel([value](KernelContext& context) {
    FillWithElement(value.view(), context.output(0));
    return absl::OkStatus();
  });
}

}  // namespace

void RegisterConstantOfShapeOps(OpRegistry& registry) {
  OpDef def;
  def.name = "ConstantOfShape";
  def.version = 25;
  def.oldest_version = 9;
  def.inputs = {RequiredParameter("input", "T1", {ElementType::kInt64})};
  def.outputs = {RequiredParameter("output", "T2", kTypes)};
  def.attributes = {{"value", AttributeSpec::Kind::kTensor}};
  def.infer = InferConstantOfShape;
  def.reference = Reference;
  def.shape_inputs = {0};
  registry.Register(std::move(def));
}

}  // namespace inferd::engine
