// Split: parts of a tensor along an axis, by sizes or by their number.
#include <algorithm>
#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "engine/kernel/kernel.h"
#include "engine/ops/all_ops.h"
#include "engine/ops/element_copy.h"
#include "engine/ops/op_def.h"
#include "engine/ops/shape_functions.h"
#include "engine/ops/shape_input.h"
#include "engine/status_macros.h"

namespace inferd::engine {
namespace {

absl::Status CheckSizes(const std::vector<int64_t>& sizes, const Dim& dim) {
  int64_t sum = 0;
  for (const int64_t s : sizes) {
    if (s < 0 || __builtin_add_overflow(sum, s, &sum)) {
      return absl::InvalidArgumentError(
          absl::StrCat("input split is [", absl::StrJoin(sizes, ","), "], expected sizes >= 0"));
    }
  }
  if (dim.known() && sum != dim.value()) {
    return absl::InvalidArgumentError(absl::StrCat("input split is [", absl::StrJoin(sizes, ","),
                                                   "], which does not add up to ", dim.value()));
  }
  return absl::OkStatus();
}

// Equal parts, the last one smaller where the size does not divide.
std::vector<int64_t> EqualSizes(int64_t dim, int64_t parts) {
  const int64_t chunk = dim / parts + (dim % parts != 0);
  std::vector<int64_t> sizes;
  for (int64_t i = 0; i < parts; ++i) {
    sizes.push_back(std::min(chunk, dim));
    dim -= sizes.back();
  }
  return sizes;
}

absl::StatusOr<int64_t> NumParts(const Node& node) {
  const int64_t parts = node.attributes().GetInt("num_outputs", node.num_outputs());
  if (parts < 1 || parts < node.num_outputs()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "attribute num_outputs is ", parts, ", but the node has ", node.num_outputs(), " outputs"));
  }
  // Parts beyond the node's outputs would be lost anyhow, so a huge number is only a fault.
  if (parts > 1'000'000) {
    return absl::InvalidArgumentError(
        absl::StrCat("attribute num_outputs is ", parts, ", expected at most 1000000"));
  }
  return parts;
}

absl::Status Infer(InferenceContext& context) {
  const Node& node = context.node();
  const ElementType type = context.element_type(0);
  const SymbolicShape& x = context.shape(0);
  ASSIGN_OR_RETURN(const auto sizes, ConstantInts(context, 1));
  if (sizes.has_value() && static_cast<int>(sizes->size()) < node.num_outputs()) {
    return absl::InvalidArgumentError(absl::StrCat("input split has ", sizes->size(), " sizes for ",
                                                   node.num_outputs(), " outputs"));
  }
  if (!x.has_rank()) {
    for (int i = 0; i < node.num_outputs(); ++i) context.SetOutput(i, type, {});
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(const int axis, NormalizeAxis(context.attributes().GetInt("axis", 0), x.rank()));
  std::optional<std::vector<int64_t>> known = sizes;
  if (sizes.has_value()) {
    RETURN_IF_ERROR(CheckSizes(*sizes, x[axis]));
  } else if (!context.has_input(1)) {
    ASSIGN_OR_RETURN(const int64_t parts, NumParts(node));
    if (x[axis].known()) known = EqualSizes(x[axis].value(), parts);
  }
  for (int i = 0; i < node.num_outputs(); ++i) {
    SymbolicShape y = x;
    y[axis] = known.has_value() ? Dim((*known)[i]) : Dim::Unknown();
    context.SetOutput(i, type, std::move(y));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Kernel>> Reference(const NodeSpec& spec) {
  const Shape& x = spec.input(0).shape;
  ASSIGN_OR_RETURN(const int axis, NormalizeAxis(spec.attributes().GetInt("axis", 0), x.rank()));
  std::vector<int64_t> sizes;
  if (spec.has_input(1)) {
    ASSIGN_OR_RETURN(sizes, PlannedInts(spec, 1));
    RETURN_IF_ERROR(CheckSizes(sizes, Dim(x[axis])));
  } else {
    ASSIGN_OR_RETURN(const int64_t parts, NumParts(*spec.node));
    sizes = EqualSizes(x[axis], parts);
  }
  if (sizes.size() < spec.outputs.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat(sizes.size(), " sizes for ", spec.outputs.size(), " outputs"));
  }
  sizes.resize(spec.outputs.size());
  for (int i = 0; i < static_cast<int>(sizes.size()); ++i) {
    Shape part = x;
    part[axis] = sizes[i];
    RETURN_IF_ERROR(CheckOutputShape(spec, i, part));
  }
  const int64_t outer = x.Product(0, axis);
  const int64_t inner = x.Product(axis + 1, x.rank());
  const int64_t step = x[axis] * inner;
  const ElementCopier copier(spec.input(0).type);
  return MakeKernel([outer, inner, step, sizes, copier](KernelContext& context) {
    int64_t start = 0;
    for (int i = 0; i < static_cast<int>(sizes.size()); ++i) {
      const int64_t run = sizes[i] * inner;
      for (int64_t o = 0; o < outer && context.has_output(i); ++o) {
        copier.Copy(context.input(0).data, o * step + start, context.output(i).data, o * run, run);
      }
      start += run;
    }
    return absl::OkStatus();
  });
}

}  // namespace

void RegisterSplitOps(OpRegistry& registry) {
  registry.Register(
      {.name = "Split",
       .version = 18,
       .inputs = {{"input", "T", type_sets::kMovable},
                  {"split", "", {ElementType::kInt64}, FormalParameter::Option::kOptional}},
       .outputs = {{"outputs", "T", type_sets::kMovable, FormalParameter::Option::kVariadic}},
       .attributes = {{"axis", AttributeSpec::Kind::kInt},
                      {"num_outputs", AttributeSpec::Kind::kInt}},
       .infer = Infer,
       .reference = Reference,
       .shape_inputs = {1}});
}

}  // namespace inferd::engine
