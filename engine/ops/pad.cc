// Pad: a border of a constant, of the edge, of a reflection, or wrapped around; negative pads
// remove.
#include <algorithm>
#include <complex>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/kernel/kernel.h"
#include "engine/ops/all_ops.h"
#include "engine/ops/element_copy.h"
#include "engine/ops/index_map_gather.h"
#include "engine/ops/op_def.h"
#include "engine/ops/shape_functions.h"
#include "engine/ops/shape_input.h"
#include "engine/status_macros.h"

namespace inferd::engine {
namespace {

enum class Mode { kConstant, kReflect, kEdge, kWrap };

absl::StatusOr<Mode> ReadMode(const Attributes& attributes) {
  const std::string mode = attributes.GetString("mode", "constant");
  if (mode == "constant") return Mode::kConstant;
  if (mode == "reflect") return Mode::kReflect;
  if (mode == "edge") return Mode::kEdge;
  if (mode == "wrap") return Mode::kWrap;
  return absl::InvalidArgumentError(
      absl::StrCat("attribute mode is \"", mode, "\", expected constant, reflect, edge or wrap"));
}

struct Pads {
  int64_t begin = 0;
  int64_t end = 0;
};

// Pads per axis of the input.
absl::StatusOr<std::vector<Pads>> PadsByAxis(const std::vector<int64_t>& pads,
                                             const std::optional<std::vector<int64_t>>& axes,
                                             int rank) {
  std::vector<int64_t> padded(rank);
  std::iota(padded.begin(), padded.end(), 0);
  if (axes.has_value()) padded = *axes;
  if (pads.size() != 2 * padded.size()) {
    return absl::InvalidArgumentError(absl::StrCat("input pads has ", pads.size(),
                                                   " values, expected ", 2 * padded.size(),
                                                   ": a begin and an end for each axis"));
  }
  ASSIGN_OR_RETURN(const std::vector<int> normalized, NormalizeAxes(padded, rank));
  std::vector<Pads> result(rank);
  for (size_t i = 0; i < normalized.size(); ++i) {
    result[normalized[i]] = {pads[i], pads[i + normalized.size()]};
  }
  return result;
}

// The padded size; INVALID_ARGUMENT where it would be negative or there is nothing to repeat.
absl::StatusOr<int64_t> PaddedSize(int64_t size, const Pads& pads, Mode mode) {
  int64_t padded;
  if (__builtin_add_overflow(size, pads.begin, &padded) ||
      __builtin_add_overflow(padded, pads.end, &padded) || padded < 0) {
    return absl::InvalidArgumentError(absl::StrCat("pads ", pads.begin, " and ", pads.end,
                                                   " of an axis of size ", size,
                                                   " leave no valid size"));
  }
  // The kernel keeps a table of this many positions.
  if (padded > (int64_t{1} << 30)) {
    return absl::InvalidArgumentError(absl::StrCat("pads ", pads.begin, " and ", pads.end,
                                                   " make an axis of ", padded,
                                                   " elements, more than the limit of 2^30"));
  }
  // What negative pads leave is what the others repeat.
  const int64_t kept = size + std::min<int64_t>(0, pads.begin) + std::min<int64_t>(0, pads.end);
  if (kept < 0 && mode != Mode::kConstant) {
    return absl::InvalidArgumentError(absl::StrCat("pads ", pads.begin, " and ", pads.end,
                                                   " remove more than the ", size,
                                                   " elements of the axis"));
  }
  if (mode != Mode::kConstant && kept == 0 && padded > 0) {
    return absl::InvalidArgumentError("an axis without elements has nothing to repeat");
  }
  return padded;
}

absl::Status Infer(InferenceContext& context) {
  const ElementType type = context.element_type(0);
  const SymbolicShape& x = context.shape(0);
  ASSIGN_OR_RETURN(const Mode mode, ReadMode(context.attributes()));
  ASSIGN_OR_RETURN(const auto pads, ConstantInts(context, 1));
  ASSIGN_OR_RETURN(const auto axes, ConstantInts(context, 3));
  if (!x.has_rank()) {
    context.SetOutput(0, type, {});
    return absl::OkStatus();
  }
  if (!pads.has_value() || (context.has_input(3) && !axes.has_value())) {
    context.SetOutput(0, type, SymbolicShape::OfRank(x.rank()));
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(const std::vector<Pads> by_axis, PadsByAxis(*pads, axes, x.rank()));
  SymbolicShape y = x;
  for (int i = 0; i < x.rank(); ++i) {
    if (x[i].known()) {
      ASSIGN_OR_RETURN(const int64_t size, PaddedSize(x[i].value(), by_axis[i], mode));
      y[i] = Dim(size);
    } else if (by_axis[i].begin != 0 || by_axis[i].end != 0) {
      y[i] = Dim::Unknown();
    }
  }
  context.SetOutput(0, type, std::move(y));
  return absl::OkStatus();
}

// Where output position i of a padded axis comes from; -1 is the constant.
std::vector<int64_t> SourceMap(int64_t size, const Pads& pads, int64_t padded, Mode mode) {
  // The elements kept are [first, first + kept).
  const int64_t first = std::max<int64_t>(0, -pads.begin);
  const int64_t kept = size - first - std::max<int64_t>(0, -pads.end);
  std::vector<int64_t> map(padded);
  for (int64_t i = 0; i < padded; ++i) {
    const int64_t p = i - std::max<int64_t>(0, pads.begin);  // position among those kept
    if (p >= 0 && p < kept) {
      map[i] = first + p;
    } else if (mode == Mode::kConstant) {
      map[i] = -1;
    } else if (mode == Mode::kEdge) {
      map[i] = first + std::clamp<int64_t>(p, 0, kept - 1);
    } else if (mode == Mode::kWrap) {
      map[i] = first + ((p % kept) + kept) % kept;
    } else {
      // There and back again without repeating the ends has a period of 2 * (kept - 1).
      const int64_t period = std::max<int64_t>(1, 2 * (kept - 1));
      const int64_t phase = ((p % period) + period) % period;
      map[i] = first + (phase < kept ? phase : period - phase);
    }
  }
  return map;
}

absl::StatusOr<std::unique_ptr<Kernel>> Reference(const NodeSpec& spec) {
  const OperandSpec& x = spec.input(0);
  ASSIGN_OR_RETURN(const Mode mode, ReadMode(spec.attributes()));
  ASSIGN_OR_RETURN(const std::vector<int64_t> pads, PlannedInts(spec, 1));
  std::optional<std::vector<int64_t>> axes;
  if (spec.has_input(3)) {
    ASSIGN_OR_RETURN(axes, PlannedInts(spec, 3));
  }
  ASSIGN_OR_RETURN(const std::vector<Pads> by_axis, PadsByAxis(pads, axes, x.shape.rank()));
  if (spec.has_input(2) && spec.input(2).shape.NumElements() != 1) {
    return absl::InvalidArgumentError(absl::StrCat(
        "input constant_value has shape ", spec.input(2).shape.ToString(), ", expected a scalar"));
  }
  Shape y = x.shape;
  for (int i = 0; i < y.rank(); ++i) {
    ASSIGN_OR_RETURN(y[i], PaddedSize(x.shape[i], by_axis[i], mode));
  }
  RETURN_IF_ERROR(CheckOutputShape(spec, 0, y));
  std::vector<std::vector<int64_t>> maps;
  if (y.NumElements() > 0) {
    for (int i = 0; i < y.rank(); ++i) {
      maps.push_back(SourceMap(x.shape[i], by_axis[i], y[i], mode));
    }
  } else {
    maps.emplace_back();
  }
  return MakeKernel(
      [gather = IndexMapGather(x.type, x.shape, std::move(maps))](KernelContext& context) {
        // All bits zero is zero in every type; a string is empty.
        const std::complex<double> zero;
        const std::string empty;
        const void* fill = context.has_input(2) ? context.input(2).data
                           : context.input(0).type == ElementType::kString
                               ? static_cast<const void*>(&empty)
                               : &zero;
        gather.Run(context.input(0).data, fill, context.output(0).data);
        return absl::OkStatus();
      });
}

}  // namespace

void RegisterPadOps(OpRegistry& registry) {
  constexpr auto kOptional = FormalParameter::Option::kOptional;
  registry.Register(
      {.name = "Pad",
       .version = 25,
       .inputs = {{"data", "T", kAllElementTypes},
                  {"pads", "", {ElementType::kInt64}},
                  {"constant_value", "T", kAllElementTypes, kOptional},
                  {"axes", "", {ElementType::kInt32, ElementType::kInt64}, kOptional}},
       .outputs = {{"output", "T", kAllElementTypes}},
       .attributes = {{"mode", AttributeSpec::Kind::kString}},
       .infer = Infer,
       .reference = Reference,
       .shape_inputs = {1, 3}});
}

}  // namespace inferd::engine
