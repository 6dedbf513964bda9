// Trilu: the upper or lower triangle of the last two dimensions; elements outside are zero.
#include <algorithm>
#include <cstring>
#include <string>

#include "engine/kernel/kernel.h"
#include "engine/ops/all_ops.h"
#include "engine/ops/op_def.h"
#include "engine/ops/schema.h"
#include "engine/ops/shape_functions.h"
#include "engine/status_macros.h"

namespace inferd::engine {
namespace {

absl::Status InferTrilu(InferenceContext& context) {
  RETURN_IF_ERROR(ExpectRank(context, 0, 2));
  if (context.has_input(1)) RETURN_IF_ERROR(ExpectScalar(context, 1));
  return InferSameAsInput(context);
}

// One row of `columns` elements, of which [keep_first, keep_last) stay.
void Row(const char* x, char* y, int64_t size, int64_t columns, int64_t keep_first,
         int64_t keep_last) {
  std::memset(y, 0, keep_first * size);
  if (x != y && keep_last > keep_first) {
    std::memcpy(y + keep_first * size, x + keep_first * size, (keep_last - keep_first) * size);
  }
  std::memset(y + keep_last * size, 0, (columns - keep_last) * size);
}
void Row(const std::string* x, std::string* y, int64_t columns, int64_t keep_first,
         int64_t keep_last) {
  for (int64_t c = 0; c < columns; ++c) {
    if (c < keep_first || c >= keep_last) {
      y[c].clear();
    } else if (x != y) {
      y[c] = x[c];
    }
  }
}

absl::StatusOr<std::unique_ptr<Kernel>> Reference(const NodeSpec& spec) {
  const Shape& shape = spec.input(0).shape;
  const int64_t rows = shape[shape.rank() - 2], columns = shape[shape.rank() - 1];
  const int64_t matrices = shape.Product(0, shape.rank() - 2);
  const bool upper = spec.attributes().GetInt("upper", 1) != 0;
  const bool strings = spec.input(0).type == ElementType::kString;
  const int64_t size = ElementBits(spec.input(0).type) / 8;
  return MakeKernel([=](KernelContext& context) {
    const TensorView& x = context.input(0);
    const TensorView& y = context.output(0);
    if (columns == 0) return absl::OkStatus();
    const int64_t wanted = context.has_input(1) ? *context.input(1).as<int64_t>() : 0;
    // Beyond the matrix every k is the same: clamping keeps r + k from overflowing.
    const int64_t k = std::clamp(wanted, -rows - 1, columns + 1);
    for (int64_t row = 0; row < matrices * rows; ++row) {
      const int64_t diagonal = row % rows + k;
      const int64_t first = upper ? std::clamp<int64_t>(diagonal, 0, columns) : 0;
      const int64_t last = upper ? columns : std::clamp<int64_t>(diagonal + 1, 0, columns);
      if (strings) {
        Row(x.as<std::string>() + row * columns, y.as<std::string>() + row * columns, columns,
            first, last);
      } else {
        Row(static_cast<const char*>(x.data) + row * columns * size,
            static_cast<char*>(y.data) + row * columns * size, size, columns, first, last);
      }
    }
    return absl::OkStatus();
  });
}

}  // namespace

void RegisterTriluOps(OpRegistry& registry) {
  const ElementTypeSet types = type_sets::kNumeric | type_sets::kComplex |
                               ElementTypeSet{ElementType::kBool, ElementType::kString};
  OpDef def;
  def.name = "Trilu";
  def.version = 14;
  def.oldest_version = 14;
  def.inputs = {RequiredParameter("input", "T", types),
                OptionalParameter("k", "", {ElementType::kInt64})};
  def.outputs = {RequiredParameter("output", "T", types)};
  def.attributes = {{"upper", AttributeSpec::Kind::kInt}};
  def.infer = InferTrilu;
  def.reference = Reference;
  def.in_place_inputs = {0};
  registry.Register(std::move(def));
}

}  // namespace inferd::engine
