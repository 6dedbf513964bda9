// com.microsoft.UnfoldTensor: all windows of `size` along one dimension, `step` apart; what is in
// a window becomes a new last dimension.
#include <memory>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/kernel/kernel.h"
#include "engine/ops/element_copy.h"
#include "engine/ops/microsoft/microsoft_ops.h"
#include "engine/ops/op_def.h"
#include "engine/ops/schema.h"
#include "engine/ops/shape_functions.h"
#include "engine/ops/shape_input.h"
#include "engine/status_macros.h"

namespace inferd::engine {
namespace {

struct Window {
  int axis;
  int64_t size, step;
};

absl::StatusOr<Window> WindowOf(const Attributes& attributes, int rank) {
  Window w{};
  ASSIGN_OR_RETURN(w.axis, NormalizeAxis(attributes.GetInt("dim", -1), rank));
  w.size = attributes.GetInt("size", 0);
  w.step = attributes.GetInt("step", 1);
  if (w.size < 1 || w.step < 1) {
    return absl::InvalidArgumentError(absl::StrCat("attributes size and step are ", w.size, " and ",
                                                   w.step, ", expected positive numbers"));
  }
  return w;
}

absl::StatusOr<int64_t> CountWindows(const Window& w, int64_t length) {
  if (length < w.size) {
    return absl::InvalidArgumentError(absl::StrCat("input has ", length,
                                                   " elements along dimension ", w.axis,
                                                   ", fewer than one window of ", w.size));
  }
  return (length - w.size) / w.step + 1;
}

absl::Status Infer(InferenceContext& context) {
  RETURN_IF_ERROR(ExpectRank(context, 0, 1));
  const SymbolicShape& x = context.shape(0);
  if (!x.has_rank()) {
    context.SetOutput(0, context.element_type(0), {});
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(const Window w, WindowOf(context.attributes(), x.rank()));
  std::vector<Dim> dims = x.dims();
  if (dims[w.axis].known()) {
    ASSIGN_OR_RETURN(dims[w.axis], CountWindows(w, dims[w.axis].value()));
  } else {
    dims[w.axis] = Dim::Unknown();
  }
  dims.push_back(w.size);
  context.SetOutput(0, context.element_type(0), SymbolicShape(std::move(dims)));
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Kernel>> Reference(const NodeSpec& spec) {
  const Shape& x = spec.input(0).shape;
  ASSIGN_OR_RETURN(const Window w, WindowOf(spec.attributes(), x.rank()));
  ASSIGN_OR_RETURN(const int64_t windows, CountWindows(w, x[w.axis]));
  Shape expected = x;
  expected[w.axis] = windows;
  expected.push_back(w.size);
  RETURN_IF_ERROR(CheckOutputShape(spec, 0, expected));
  const int64_t outer = x.Product(0, w.axis), inner = x.Product(w.axis + 1, x.rank());
  const int64_t length = x[w.axis];
  const ElementCopier copier(spec.input(0).type);
  return MakeKernel([=](KernelContext& context) {
    const void* from = context.input(0).data;
    void* to = context.output(0).data;
    int64_t at = 0;
    for (int64_t o = 0; o < outer; ++o) {
      for (int64_t i = 0; i < windows; ++i) {
        const int64_t first = o * length + i * w.step;
        for (int64_t j = 0; j < inner; ++j, at += w.size) {
          if (inner == 1) {
            copier.Copy(from, first, to, at, w.size);
            continue;
          }
          for (int64_t k = 0; k < w.size; ++k) {
            copier.Copy(from, (first + k) * inner + j, to, at + k, 1);
          }
        }
      }
    }
    return absl::OkStatus();
  });
}

}  // namespace

void RegisterUnfoldTensorOps(OpRegistry& registry) {
  using Kind = AttributeSpec::Kind;
  registry.Register(
      {.domain = "com.microsoft",
       .name = "UnfoldTensor",
       .inputs = {RequiredParameter("input", "T", type_sets::kMovable)},
       .outputs = {RequiredParameter("output", "T", type_sets::kMovable)},
       .attributes = {{"dim", Kind::kInt}, {"size", Kind::kInt, true}, {"step", Kind::kInt}},
       .infer = Infer,
       .reference = Reference});
}

}  // namespace inferd::engine
