// CenterCropPad: crops or zero-pads axes around their centers.
#include <complex>
#include <cstdint>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/kernel/kernel.h"
#include "engine/ops/all_ops.h"
#include "engine/ops/index_map_gather.h"
#include "engine/ops/op_def.h"
#include "engine/ops/shape_functions.h"
#include "engine/ops/shape_input.h"
#include "engine/status_macros.h"

namespace inferd::engine {
namespace {

// The axes that input shape talks about.
absl::StatusOr<std::vector<int>> Axes(const Attributes& attributes, int rank) {
  if (attributes.has("axes")) return NormalizeAxes(attributes.GetInts("axes"), rank);
  std::vector<int> all(rank);
  std::iota(all.begin(), all.end(), 0);
  return all;
}

absl::Status CheckTarget(const std::vector<int64_t>& target, size_t axes) {
  if (target.size() != axes) {
    return absl::InvalidArgumentError(
        absl::StrCat("input shape has ", target.size(), " elements for ", axes, " axes"));
  }
  for (const int64_t size : target) {
    // The kernel keeps a table of this many positions.
    if (size < 0 || size > (int64_t{1} << 30)) {
      return absl::InvalidArgumentError(
          absl::StrCat("input shape holds ", size, ", expected values in [0, 2^30]"));
    }
  }
  return absl::OkStatus();
}

absl::Status Infer(InferenceContext& context) {
  SymbolicShape y = context.shape(0);
  RETURN_IF_ERROR(ExpectRank(context, 1, 1, 1));
  if (y.has_rank()) {
    ASSIGN_OR_RETURN(const std::vector<int> axes, Axes(context.attributes(), y.rank()));
    ASSIGN_OR_RETURN(const auto target, ConstantInts(context, 1));
    if (target.has_value()) RETURN_IF_ERROR(CheckTarget(*target, axes.size()));
    for (size_t i = 0; i < axes.size(); ++i) {
      y[axes[i]] = target.has_value() ? Dim((*target)[i]) : Dim::Unknown();
    }
  }
  context.SetOutput(0, context.element_type(0), std::move(y));
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Kernel>> Reference(const NodeSpec& spec) {
  const OperandSpec& x = spec.input(0);
  ASSIGN_OR_RETURN(const std::vector<int> axes, Axes(spec.attributes(), x.shape.rank()));
  ASSIGN_OR_RETURN(const std::vector<int64_t> target, PlannedInts(spec, 1));
  RETURN_IF_ERROR(CheckTarget(target, axes.size()));
  Shape y = x.shape;
  for (size_t i = 0; i < axes.size(); ++i) y[axes[i]] = target[i];
  RETURN_IF_ERROR(CheckOutputShape(spec, 0, y));
  std::vector<std::vector<int64_t>> maps;
  if (y.NumElements() > 0) {
    for (int i = 0; i < y.rank(); ++i) {
      // Half of what is too much goes at the begin, rounded down, and so does half of what lacks.
      const int64_t shift =
          y[i] <= x.shape[i] ? (x.shape[i] - y[i]) / 2 : -((y[i] - x.shape[i]) / 2);
      std::vector<int64_t>& map = maps.emplace_back(y[i]);
      for (int64_t o = 0; o < y[i]; ++o) {
        const int64_t source = o + shift;
        map[o] = source >= 0 && source < x.shape[i] ? source : -1;
      }
    }
  } else {
    maps.emplace_back();
  }
  return MakeKernel(
      [gather = IndexMapGather(x.type, x.shape, std::move(maps))](KernelContext& context) {
        // All bits zero is zero in every type; a string is empty.
        const std::complex<double> zero;
        const std::string empty;
        const bool strings = context.input(0).type == ElementType::kString;
        gather.Run(context.input(0).data,
                   strings ? static_cast<const void*>(&empty) : static_cast<const void*>(&zero),
                   context.output(0).data);
        return absl::OkStatus();
      });
}

}  // namespace

void RegisterCenterCropPadOps(OpRegistry& registry) {
  registry.Register({.name = "CenterCropPad",
                     .version = 18,
                     .oldest_version = 18,
                     .inputs = {{"input_data", "T", type_sets::kMovable},
                                {"shape", "", {ElementType::kInt32, ElementType::kInt64}}},
                     .outputs = {{"output_data", "T", type_sets::kMovable}},
                     .attributes = {{"axes", AttributeSpec::Kind::kInts}},
                     .infer = Infer,
                     .reference = Reference,
                     .shape_inputs = {1}});
}

}  // namespace inferd::engine
