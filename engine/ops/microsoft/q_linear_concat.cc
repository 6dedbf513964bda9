// com.microsoft QLinearConcat: quantized tensors one after the other along an axis, each brought
// to the quantization of the result.
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/kernel/kernel.h"
#include "engine/ops/all_ops.h"
#include "engine/ops/microsoft/quantized_bytes.h"
#include "engine/ops/op_def.h"
#include "engine/ops/shape_functions.h"
#include "engine/ops/shape_input.h"
#include "engine/status_macros.h"

namespace inferd::engine {
namespace {

// Scale and zero point of the result, then tensor, scale and zero point of each input.
constexpr int kFirst = 2;

absl::Status CheckTriples(int inputs) {
  if (inputs >= kFirst + 3 && (inputs - kFirst) % 3 == 0) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "there are ", inputs,
      " inputs, expected 2 for the result and 3 (tensor, scale, zero point) for each operand"));
}

absl::Status CheckTypes(const InferenceContext& context) {
  for (int i = kFirst; i < context.node().num_inputs(); i += 3) {
    if (context.element_type(i) != context.element_type(1) ||
        context.element_type(i + 2) != context.element_type(1)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "inputs ", i, " and ", i + 2, " have types ", ElementTypeName(context.element_type(i)),
          " and ", ElementTypeName(context.element_type(i + 2)),
          ", expected that of Y_zero_point, ", ElementTypeName(context.element_type(1))));
    }
    if (context.element_type(i + 1) != ElementType::kFloat32) {
      return absl::InvalidArgumentError(absl::StrCat("input ", i + 1, ", a scale, has type ",
                                                     ElementTypeName(context.element_type(i + 1)),
                                                     ", expected float"));
    }
  }
  return absl::OkStatus();
}

absl::Status Infer(InferenceContext& context) {
  RETURN_IF_ERROR(ExpectAllInputs(context));
  const int inputs = context.node().num_inputs();
  RETURN_IF_ERROR(CheckTriples(inputs));
  RETURN_IF_ERROR(CheckTypes(context));
  int rank = -1;
  bool ranks_known = true;
  for (int i = kFirst; i < inputs; i += 3) {
    const SymbolicShape& x = context.shape(i);
    if (!x.has_rank()) {
      ranks_known = false;
      continue;
    }
    if (rank >= 0 && x.rank() != rank) {
      return absl::InvalidArgumentError(absl::StrCat("input ", i, " has shape ", x.ToString(),
                                                     ", expected rank ", rank, " as before"));
    }
    rank = x.rank();
  }
  if (rank < 0) {
    context.SetOutput(0, context.element_type(1), {});
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(const int axis, NormalizeAxis(context.attributes().GetInt("axis", 0), rank));
  SymbolicShape y = SymbolicShape::OfRank(rank);
  int64_t total = 0;
  bool total_known = ranks_known;
  for (int i = kFirst; i < inputs; i += 3) {
    const SymbolicShape& x = context.shape(i);
    if (!x.has_rank()) continue;
    for (int d = 0; d < rank; ++d) {
      if (d == axis) continue;
      absl::StatusOr<Dim> merged = MergeDims(y[d], x[d]);
      if (!merged.ok()) {
        return absl::InvalidArgumentError(absl::StrCat("input ", i, " has shape ", x.ToString(),
                                                       ", expected ", y[d].ToString(), " on axis ",
                                                       d));
      }
      y[d] = *std::move(merged);
    }
    if (!x[axis].known()) {
      total_known = false;
    } else if (__builtin_add_overflow(total, x[axis].value(), &total)) {
      return absl::InvalidArgumentError("the size along the axis overflows");
    }
  }
  if (total_known) y[axis] = Dim(total);
  context.SetOutput(0, context.element_type(1), std::move(y));
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Kernel>> Reference(const NodeSpec& spec) {
  const int inputs = static_cast<int>(spec.inputs.size());
  RETURN_IF_ERROR(CheckTriples(inputs));
  RETURN_IF_ERROR(ExpectOneElement(spec, {0, 1}));
  const Shape& y = spec.output(0).shape;
  ASSIGN_OR_RETURN(const int axis, NormalizeAxis(spec.attributes().GetInt("axis", 0), y.rank()));
  const int64_t inner = y.Product(axis + 1, y.rank());
  std::vector<int64_t> runs;  // elements of one outer step, per operand
  for (int i = kFirst; i < inputs; i += 3) {
    RETURN_IF_ERROR(ExpectOneElement(spec, {i + 1, i + 2}));
    runs.push_back(spec.input(i).shape[axis] * inner);
  }
  const int64_t outer = y.Product(0, axis);
  const int64_t total = y[axis] * inner;
  const ElementType type = spec.output(0).type;
  return MakeKernel([=, runs = std::move(runs)](KernelContext& context) {
    const ByteQuantization result = ReadQuantization(context, type, 0, 1);
    int64_t start = 0;
    for (size_t k = 0; k < runs.size(); ++k) {
      const int i = kFirst + 3 * static_cast<int>(k);
      const ByteTable table =
          MakeRequantizingTable(ReadQuantization(context, type, i + 1, i + 2), result);
      const auto* x = static_cast<const uint8_t*>(context.input(i).data);
      auto* out = static_cast<uint8_t*>(context.output(0).data);
      for (int64_t o = 0; o < outer; ++o) {
        for (int64_t j = 0; j < runs[k]; ++j) {
          out[o * total + start + j] = table[x[o * runs[k] + j]];
        }
      }
      start += runs[k];
    }
    return absl::OkStatus();
  });
}

}  // namespace

void RegisterQLinearConcatOps(OpRegistry& registry) {
  constexpr ElementTypeSet kOperands = kByteTypes | ElementTypeSet{ElementType::kFloat32};
  registry.Register({.domain = "com.microsoft",
                     .name = "QLinearConcat",
                     .inputs = {{"Y_scale", "", {ElementType::kFloat32}},
                                {"Y_zero_point", "T8", kByteTypes},
                                {"inputs", "", kOperands, FormalParameter::Option::kVariadic}},
                     .outputs = {{"Y", "T8", kByteTypes}},
                     .attributes = {{"axis", AttributeSpec::Kind::kInt, /*required=*/true}},
                     .infer = Infer,
                     .reference = Reference});
}

}  // namespace inferd::engine
