// EyeLike: ones on the k-th diagonal of a matrix shaped like the input, zeros elsewhere.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "engine/kernel/kernel.h"
#include "engine/ops/all_ops.h"
#include "engine/ops/elementwise.h"
#include "engine/ops/op_def.h"
#include "engine/ops/schema.h"
#include "engine/ops/shape_functions.h"
#include "engine/status_macros.h"

namespace inferd::engine {
namespace {

constexpr ElementTypeSet kTypes = type_sets::kNumeric | ElementTypeSet{ElementType::kBool};

absl::Status InferEyeLike(InferenceContext& context) {
  RETURN_IF_ERROR(ExpectRank(context, 0, 2, 2));
  ElementType type = context.element_type(0);
  if (context.attributes().has("dtype")) {
    const int64_t code = context.attributes().GetInt("dtype", 0);
    const std::optional<ElementType> named = code >= 0 && code <= INT32_MAX
                                                 ? ElementTypeFromOnnx(static_cast<int32_t>(code))
                                                 : std::nullopt;
    if (!named.has_value() || !kTypes.contains(*named)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "attribute dtype is ", code, ", expected the number of one of ", kTypes.ToString()));
    }
    type = *named;
  }
  const SymbolicShape& x = context.shape(0);
  context.SetOutput(0, type, x.has_rank() ? x : SymbolicShape::OfRank(2));
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Kernel>> Reference(const NodeSpec& spec) {
  const Shape& shape = spec.output(0).shape;
  const int64_t rows = shape[0], columns = shape[1];
  // Beyond the matrix every k is the same: clamping keeps r + k from overflowing.
  const int64_t k = std::clamp(spec.attributes().GetInt("k", 0), -rows, columns);
  std::unique_ptr<Kernel> kernel;
  const ElementType type = spec.output(0).type;
  if (!DispatchType<float, double, Float16, BFloat16, int8_t, int16_t, int32_t, int64_t, uint8_t,
                    uint16_t, uint32_t, uint64_t, bool>(type, [&]<typename T>() {
        kernel = MakeKernel([rows, columns, k](KernelContext& context) {
          T* y = context.output(0).as<T>();
          for (int64_t r = 0; r < rows; ++r, y += columns) {
            std::fill_n(y, columns, T());
            if (r + k >= 0 && r + k < columns) {
              y[r + k] = static_cast<T>(static_cast<ComputeType<T>>(1));
            }
          }
          return absl::OkStatus();
        });
      })) {
    return UnsupportedType(spec, type);
  }
  return kernel;
}

}  // namespace

void RegisterEyeLikeOps(OpRegistry& registry) {
  OpDef def;
  def.name = "EyeLike";
  def.version = 22;
  def.oldest_version = 9;
  def.inputs = {RequiredParameter("input", "T1", kTypes)};
  def.outputs = {RequiredParameter("output", "T2", kTypes)};
  def.attributes = {{"dtype", AttributeSpec::Kind::kInt}, {"k", AttributeSpec::Kind::kInt}};
  def.infer = InferEyeLike;
  def.reference = Reference;
  registry.Register(std::move(def));
}

}  // namespace inferd::engine
