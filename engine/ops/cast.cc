// Cast and CastLike between all element types.
#include <algorithm>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "engine/kernel/kernel.h"
#include "engine/ops/all_ops.h"
#include "engine/ops/copy_kernel.h"
#include "engine/ops/element_conversion.h"
#include "engine/ops/op_def.h"
#include "engine/ops/schema.h"
#include "engine/ops/shape_functions.h"
#include "engine/status_macros.h"

namespace inferd::engine {
namespace {

using KernelOr = absl::StatusOr<std::unique_ptr<Kernel>>;
using enum ElementType;

constexpr ElementTypeSet kCastable =
    type_sets::kNumeric | type_sets::kFloat8s |
    ElementTypeSet{kBool, kString, kUint4, kInt4, kFloat4E2M1, kFloat8E8M0, kUint2, kInt2};

// A multiple of the conversion block.
constexpr int64_t kGrain = 64 * kConversionBlock;

absl::StatusOr<CastOptions> OptionsOf(const Attributes& attributes) {
  CastOptions options;
  options.saturate = attributes.GetInt("saturate", 1) != 0;
  const std::string mode = attributes.GetString("round_mode", "up");
  if (mode == "up") {
    options.e8m0_rounding = E8M0Rounding::kUp;
  } else if (mode == "down") {
    options.e8m0_rounding = E8M0Rounding::kDown;
  } else if (mode == "nearest") {
    options.e8m0_rounding = E8M0Rounding::kNearest;
  } else {
    return absl::InvalidArgumentError(absl::StrCat("attribute round_mode is \"", mode,
                                                   "\", expected \"up\", \"down\" or \"nearest\""));
  }
  return options;
}

absl::Status InferCast(InferenceContext& context) {
  const int64_t code = context.attributes().GetInt("to", 0);
  const std::optional<ElementType> to = code >= 0 && code <= INT32_MAX
                                            ? ElementTypeFromOnnx(static_cast<int32_t>(code))
                                            : std::nullopt;
  if (!to.has_value() || !kCastable.contains(*to)) {
    return absl::InvalidArgumentError(absl::StrCat("attribute to is ", code,
                                                   ", which is no element type Cast supports (",
                                                   kCastable.ToString(), ")"));
  }
  RETURN_IF_ERROR(OptionsOf(context.attributes()).status());
  context.SetOutput(0, *to, context.shape(0));
  return absl::OkStatus();
}

absl::Status InferCastLike(InferenceContext& context) {
  RETURN_IF_ERROR(OptionsOf(context.attributes()).status());
  context.SetOutput(0, context.element_type(1), context.shape(0));
  return absl::OkStatus();
}

std::unique_ptr<Kernel> NumericKernel(ElementType from, ElementType to, CastOptions options) {
  const LoadFn load = ElementLoader(from);
  const StoreFn store = ElementStorer(WideTypeOf(from), to);
  return MakeKernel([load, store, options](KernelContext& context) {
    const void* x = context.input(0).data;
    void* y = context.output(0).data;
    // Split by whole blocks, so that no two threads write into one byte of a sub-byte type.
    const int64_t elements = context.input(0).num_elements();
    const int64_t blocks = (elements + kConversionBlock - 1) / kConversionBlock;
    context.threads().ParallelFor(
        blocks, kGrain / kConversionBlock, [&](int64_t begin, int64_t end) {
          WideBlock block;
          for (int64_t b = begin; b < end; ++b) {
            const int64_t first = b * kConversionBlock;
            const int64_t count = std::min(kConversionBlock, elements - first);
            load(x, first, count, block);
            store(block, options, y, first, count);
          }
        });
    return absl::OkStatus();
  });
}

std::unique_ptr<Kernel> ToStringKernel(ElementType from) {
  return MakeKernel([from](KernelContext& context) {
    const void* x = context.input(0).data;
    std::string* y = context.output(0).as<std::string>();
    const int64_t elements = context.input(0).num_elements();
    for (int64_t i = 0; i < elements; ++i) y[i] = NumberToString(from, x, i);
    return absl::OkStatus();
  });
}

std::unique_ptr<Kernel> FromStringKernel(ElementType to, CastOptions options) {
  const bool integer = WideTypeOf(to) == WideType::kInt64 || WideTypeOf(to) == WideType::kUint64;
  const StoreFn store = ElementStorer(integer ? WideType::kUint64 : WideType::kDouble, to);
  return MakeKernel([integer, store, options](KernelContext& context) -> absl::Status {
    const std::string* x = context.input(0).as<std::string>();
    void* y = context.output(0).data;
    const int64_t elements = context.input(0).num_elements();
    WideBlock block;
    for (int64_t first = 0; first < elements; first += kConversionBlock) {
      const int64_t count = std::min(kConversionBlock, elements - first);
      for (int64_t i = 0; i < count; ++i) {
        if (integer) {
          ASSIGN_OR_RETURN(block.u[i], StringToIntegerBits(x[first + i]));
        } else {
          ASSIGN_OR_RETURN(block.d[i], StringToDouble(x[first + i]));
        }
      }
      store(block, options, y, first, count);
    }
    return absl::OkStatus();
  });
}

KernelOr CastReference(const NodeSpec& spec) {
  const ElementType from = spec.input(0).type;
  const ElementType to = spec.output(0).type;
  if (!kCastable.contains(from) || !kCastable.contains(to)) {
    return absl::UnimplementedError(absl::StrCat("Cast from ", ElementTypeName(from), " to ",
                                                 ElementTypeName(to), " has no kernel"));
  }
  ASSIGN_OR_RETURN(const CastOptions options, OptionsOf(spec.attributes()));
  if (from == to) return MakeCopyKernel();
  if (to == kString) return ToStringKernel(from);
  if (from == kString) return FromStringKernel(to, options);
  return NumericKernel(from, to, options);
}

}  // namespace

void RegisterCastOps(OpRegistry& registry) {
  using Kind = AttributeSpec::Kind;
  OpDef cast;
  cast.name = "Cast";
  cast.version = 25;
  cast.inputs = {RequiredParameter("input", "T1", kCastable)};
  cast.outputs = {RequiredParameter("output", "T2", kCastable)};
  cast.attributes = {
      {"to", Kind::kInt, true}, {"saturate", Kind::kInt}, {"round_mode", Kind::kString}};
  cast.infer = InferCast;
  cast.reference = CastReference;
  cast.is_elementwise = true;
  registry.Register(std::move(cast));

  OpDef like;
  like.name = "CastLike";
  like.version = 25;
  like.oldest_version = 15;
  like.inputs = {RequiredParameter("input", "T1", kCastable),
                 RequiredParameter("target_type", "T2", kCastable)};
  like.outputs = {RequiredParameter("output", "T2", kCastable)};
  like.attributes = {{"saturate", Kind::kInt}, {"round_mode", Kind::kString}};
  like.infer = InferCastLike;
  like.reference = CastReference;
  registry.Register(std::move(like));
}

}  // namespace inferd::engine
