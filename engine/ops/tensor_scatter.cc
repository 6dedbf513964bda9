// TensorScatter: writes new rows into a cache, each sample of the batch at a place of its own.
#include <memory>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/kernel/kernel.h"
#include "engine/ops/all_ops.h"
#include "engine/ops/copy_kernel.h"
#include "engine/ops/element_copy.h"
#include "engine/ops/op_def.h"
#include "engine/ops/schema.h"
#include "engine/ops/shape_functions.h"
#include "engine/status_macros.h"

namespace inferd::engine {
namespace {

enum Input { kCache, kUpdate, kIndices };

absl::Status Infer(InferenceContext& context) {
  const std::string mode = context.attributes().GetString("mode", "linear");
  if (mode != "linear" && mode != "circular") {
    return absl::InvalidArgumentError(
        absl::StrCat("attribute mode is \"", mode, "\", expected \"linear\" or \"circular\""));
  }
  context.SetOutput(0, context.input_type(kCache));
  if (context.has_input(kIndices)) RETURN_IF_ERROR(ExpectRank(context, kIndices, 1, 1));
  const SymbolicShape& cache = context.shape(kCache);
  if (!cache.has_rank()) return absl::OkStatus();
  ASSIGN_OR_RETURN(const int axis, AxisAttribute(context, -2));
  if (axis == 0) {
    return absl::InvalidArgumentError(
        "attribute axis names dimension 0, the batch; expected the sequence");
  }
  RETURN_IF_ERROR(ExpectRank(context, kUpdate, cache.rank(), cache.rank()));
  const SymbolicShape& update = context.shape(kUpdate);
  for (int d = 0; update.has_rank() && d < cache.rank(); ++d) {
    if (!cache[d].known() || !update[d].known()) continue;
    const bool fits =
        d == axis ? update[d].value() <= cache[d].value() : update[d].value() == cache[d].value();
    if (!fits) {
      return absl::InvalidArgumentError(absl::StrCat("update of shape ", update.ToString(),
                                                     " does not fit past_cache of shape ",
                                                     cache.ToString(), " along axis ", axis));
    }
  }
  if (context.has_input(kIndices) && context.shape(kIndices).has_rank()) {
    const Dim& count = context.shape(kIndices)[0];
    if (count.known() && cache[0].known() && count.value() != cache[0].value()) {
      return absl::InvalidArgumentError(absl::StrCat("write_indices holds ", count.value(),
                                                     " indices, expected one for each of the ",
                                                     cache[0].value(), " samples"));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Kernel>> Reference(const NodeSpec& spec) {
  const Shape& cache = spec.input(kCache).shape;
  ASSIGN_OR_RETURN(const int axis,
                   NormalizeAxis(spec.attributes().GetInt("axis", -2), cache.rank()));
  const bool circular = spec.attributes().GetString("mode", "linear") == "circular";
  const int64_t batch = cache[0];
  const int64_t middle = cache.Product(1, axis), length = cache[axis];
  const int64_t inner = cache.Product(axis + 1, cache.rank());
  const int64_t rows = spec.input(kUpdate).shape[axis];
  const ElementCopier copier(spec.input(kCache).type);
  return MakeKernel([=](KernelContext& context) -> absl::Status {
    const int64_t* indices =
        context.has_input(kIndices) ? context.input(kIndices).as<int64_t>() : nullptr;
    for (int64_t b = 0; !circular && indices != nullptr && b < batch; ++b) {
      if (indices[b] < 0 || indices[b] > length - rows) {
        return absl::InvalidArgumentError(absl::StrCat(
            "TensorScatter: write_indices holds ", indices[b], ", expected a number in [0, ",
            length - rows, "]: ", rows, " rows are written into ", length));
      }
    }
    CopyElements(context.input(kCache), context.output(0));
    const void* update = context.input(kUpdate).data;
    void* present = context.output(0).data;
    for (int64_t i = 0; i < batch * middle; ++i) {
      int64_t first = indices != nullptr ? indices[i / middle] : 0;
      if (circular && length > 0) first = (first % length + length) % length;
      for (int64_t row = 0; row < rows; ++row) {
        const int64_t from = (i * rows + row) * inner;
        const int64_t to = (i * length + (first + row) % length) * inner;
        copier.Copy(update, from, present, to, inner);
      }
    }
    return absl::OkStatus();
  });
}

}  // namespace

void RegisterTensorScatterOps(OpRegistry& registry) {
  using Kind = AttributeSpec::Kind;
  registry.Register({.name = "TensorScatter",
                     .version = 24,
                     .oldest_version = 24,
                     .inputs = {RequiredParameter("past_cache", "T", kAllElementTypes),
                                RequiredParameter("update", "T", kAllElementTypes),
                                OptionalParameter("write_indices", "", {ElementType::kInt64})},
                     .outputs = {RequiredParameter("present_cache", "T", kAllElementTypes)},
                     .attributes = {{"axis", Kind::kInt}, {"mode", Kind::kString}},
                     .infer = Infer,
                     .reference = Reference,
                     .in_place_inputs = {0}});
}

}  // namespace inferd::engine
