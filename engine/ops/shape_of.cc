// Shape and Size: what is known of a tensor without looking at its elements.
#include <algorithm>

#include "engine/kernel/kernel.h"
#include "engine/ops/all_ops.h"
#include "engine/ops/op_def.h"
#include "engine/ops/schema.h"
#include "engine/ops/shape_functions.h"

namespace inferd::engine {
namespace {

constexpr ElementTypeSet kAnyTensor =
    type_sets::kMovable | ElementTypeSet{ElementType::kFloat4E2M1, ElementType::kUint4,
                                         ElementType::kInt4, ElementType::kUint2,
                                         ElementType::kInt2};

struct Slice {
  int first;
  int last;  // exclusive, not below first
};

// Attributes start and end, counted from the back where negative, clamped to the rank.
Slice SliceOf(const Attributes& attributes, int rank) {
  const auto clamp = [rank](int64_t v) {
    if (v < 0) v += rank;
    return static_cast<int>(std::clamp<int64_t>(v, 0, rank));
  };
  const int first = clamp(attributes.GetInt("start", 0));
  const int last = clamp(attributes.GetInt("end", rank));
  return {first, std::max(first, last)};
}

absl::Status InferShape(InferenceContext& context) {
  const SymbolicShape& x = context.shape(0);
  Dim count;
  if (x.has_rank()) {
    const Slice slice = SliceOf(context.attributes(), x.rank());
    count = Dim(slice.last - slice.first);
  }
  context.SetOutput(0, ElementType::kInt64, SymbolicShape({count}));
  return absl::OkStatus();
}

absl::Status InferSize(InferenceContext& context) {
  context.SetOutput(0, ElementType::kInt64, SymbolicShape(Shape{}));
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Kernel>> ShapeReference(const NodeSpec& spec) {
  const Shape& shape = spec.input(0).shape;
  const Slice slice = SliceOf(spec.attributes(), shape.rank());
  return MakeKernel([slice](KernelContext& context) {
    const Shape& dims = context.input(0).shape;
    std::copy(dims.begin() + slice.first, dims.begin() + slice.last,
              context.output(0).as<int64_t>());
    return absl::OkStatus();
  });
}

absl::StatusOr<std::unique_ptr<Kernel>> SizeReference(const NodeSpec&) {
  return MakeKernel([](KernelContext& context) {
    *context.output(0).as<int64_t>() = context.input(0).num_elements();
    return absl::OkStatus();
  });
}

}  // namespace

void RegisterShapeOps(OpRegistry& registry) {
  OpDef shape;
  shape.name = "Shape";
  shape.version = 25;
  shape.inputs = {RequiredParameter("data", "T", kAnyTensor)};
  shape.outputs = {RequiredParameter("shape", "T1", {ElementType::kInt64})};
  shape.attributes = {{"start", AttributeSpec::Kind::kInt}, {"end", AttributeSpec::Kind::kInt}};
  shape.infer = InferShape;
  shape.reference = ShapeReference;
  registry.Register(std::move(shape));

  OpDef size;
  size.name = "Size";
  size.version = 25;
  size.inputs = {RequiredParameter("data", "T", kAnyTensor)};
  size.outputs = {RequiredParameter("size", "T1", {ElementType::kInt64})};
  size.infer = InferSize;
  size.reference = SizeReference;
  registry.Register(std::move(size));
}

}  // namespace inferd::engine
