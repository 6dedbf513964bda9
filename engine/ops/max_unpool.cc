// MaxUnpool: puts elements back where MaxPool found them; everything else is zero.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/kernel/kernel.h"
#include "engine/ops/all_ops.h"
#include "engine/ops/element_copy.h"
#include "engine/ops/op_def.h"
#include "engine/ops/shape_functions.h"
#include "engine/ops/shape_input.h"
#include "engine/ops/sliding_window.h"
#include "engine/status_macros.h"

namespace inferd::engine {
namespace {

struct Geometry {
  std::vector<int64_t> kernel;
  WindowAttributes window;
};

absl::StatusOr<Geometry> ReadGeometry(const Attributes& attributes, int rank) {
  if (rank < 3) {
    return absl::InvalidArgumentError(
        absl::StrCat("input X has rank ", rank, ", expected at least 3: [N,C,spatial...]"));
  }
  Geometry g;
  g.kernel = attributes.GetInts("kernel_shape");
  RETURN_IF_ERROR(CheckKernelShape(g.kernel, rank - 2));
  ASSIGN_OR_RETURN(g.window, ReadWindowAttributes(attributes, rank - 2));
  return g;
}

// The axis MaxPool would make `pooled` positions of.
absl::StatusOr<int64_t> UnpooledSize(const Geometry& g, int axis, int64_t pooled) {
  const int spatial = static_cast<int>(g.kernel.size());
  int64_t size;
  if (__builtin_mul_overflow(pooled - 1, g.window.strides[axis], &size) ||
      __builtin_add_overflow(size, g.kernel[axis], &size)) {
    return absl::InvalidArgumentError(
        absl::StrCat("spatial axis ", axis, " of ", pooled, " windows is too large to unpool"));
  }
  size -= g.window.pads[axis] + g.window.pads[spatial + axis];
  if (size < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("spatial axis ", axis, ": the pads remove more than the windows cover"));
  }
  return size;
}

// The shape the indices count in, from the attributes alone.
absl::StatusOr<Shape> IndexedShape(const Geometry& g, const Shape& x) {
  Shape y{x[0], x[1]};
  for (int i = 2; i < x.rank(); ++i) {
    ASSIGN_OR_RETURN(const int64_t size, UnpooledSize(g, i - 2, x[i]));
    y.push_back(size);
  }
  RETURN_IF_ERROR(y.CheckedNumElements().status());
  return y;
}

absl::Status Infer(InferenceContext& context) {
  const ElementType type = context.element_type(0);
  const SymbolicShape& x = context.shape(0);
  const int rank = x.has_rank()
                       ? x.rank()
                       : static_cast<int>(context.attributes().GetInts("kernel_shape").size()) + 2;
  ASSIGN_OR_RETURN(const Geometry g, ReadGeometry(context.attributes(), rank));
  RETURN_IF_ERROR(ExpectRank(context, 1, rank, rank));
  if (context.has_input(2)) {
    ASSIGN_OR_RETURN(const auto dims, ConstantInts(context, 2));
    if (!dims.has_value()) {
      context.SetOutput(0, type, SymbolicShape::OfRank(rank));
      return absl::OkStatus();
    }
    if (static_cast<int>(dims->size()) != rank) {
      return absl::InvalidArgumentError(
          absl::StrCat("input output_shape has ", dims->size(), " elements, expected ", rank));
    }
    ASSIGN_OR_RETURN(SymbolicShape y, ShapeFromValues(*dims));
    context.SetOutput(0, type, std::move(y));
    return absl::OkStatus();
  }
  SymbolicShape y = x.has_rank() ? x : SymbolicShape::OfRank(rank);
  for (int i = 2; i < rank; ++i) {
    if (!y[i].known()) {
      y[i] = Dim::Unknown();
      continue;
    }
    ASSIGN_OR_RETURN(const int64_t size, UnpooledSize(g, i - 2, y[i].value()));
    y[i] = Dim(size);
  }
  context.SetOutput(0, type, std::move(y));
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Kernel>> Reference(const NodeSpec& spec) {
  const Shape& x = spec.input(0).shape;
  if (spec.input(1).shape != x) {
    return absl::InvalidArgumentError(absl::StrCat("input I has shape ",
                                                   spec.input(1).shape.ToString(), ", expected ",
                                                   x.ToString(), " as X"));
  }
  ASSIGN_OR_RETURN(const Geometry g, ReadGeometry(spec.attributes(), x.rank()));
  // Indices count in the shape the attributes give; an explicit output shape is larger and holds
  // it in its first corner, or smaller and cuts it off.
  ASSIGN_OR_RETURN(const Shape indexed, IndexedShape(g, x));
  const Shape& y = spec.output(0).shape;
  const int64_t limit = indexed.NumElements();
  const ElementCopier copier(spec.input(0).type);
  return MakeKernel([=](KernelContext& context) -> absl::Status {
    const TensorView& output = context.output(0);
    const int64_t* indices = context.input(1).as<int64_t>();
    const int64_t count = x.NumElements();
    std::fill_n(static_cast<char*>(output.data), output.num_bytes(), 0);
    const bool same = indexed == y;
    for (int64_t i = 0; i < count; ++i) {
      int64_t rest = indices[i];
      if (rest < 0 || rest >= limit) {
        return absl::InvalidArgumentError(absl::StrCat(
            "element ", i, " of input I is ", rest, ", expected an index in [0,", limit - 1, "]"));
      }
      int64_t to = rest;
      if (!same) {
        int64_t stride = 1;
        to = 0;
        bool inside = true;
        for (int d = y.rank() - 1; d >= 0; --d) {
          const int64_t position = rest % indexed[d];
          rest /= indexed[d];
          inside = inside && position < y[d];
          to += position * stride;
          stride *= y[d];
        }
        if (!inside) continue;
      }
      copier.Copy(context.input(0).data, i, output.data, to, 1);
    }
    return absl::OkStatus();
  });
}

}  // namespace

void RegisterMaxUnpoolOps(OpRegistry& registry) {
  using Kind = AttributeSpec::Kind;
  constexpr ElementTypeSet kInt = {ElementType::kInt64};
  registry.Register({.name = "MaxUnpool",
                     .version = 22,
                     .oldest_version = 9,
                     .inputs = {{"X", "T1", type_sets::kFloats},
                                {"I", "", kInt},
                                {"output_shape", "", kInt, FormalParameter::Option::kOptional}},
                     .outputs = {{"output", "T1", type_sets::kFloats}},
                     .attributes = {{"kernel_shape", Kind::kInts, /*required=*/true},
                                    {"pads", Kind::kInts},
                                    {"strides", Kind::kInts}},
                     .infer = Infer,
                     .reference = Reference,
                     .shape_inputs = {2}});
}

}  // namespace inferd::engine
