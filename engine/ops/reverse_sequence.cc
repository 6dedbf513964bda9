// ReverseSequence: reverses the start of each sequence of a batch, by its length.
#include "absl/strings/str_cat.h"
#include "engine/kernel/kernel.h"
#include "engine/ops/all_ops.h"
#include "engine/ops/element_copy.h"
#include "engine/ops/op_def.h"
#include "engine/ops/shape_input.h"
#include "engine/status_macros.h"

namespace inferd::engine {
namespace {

struct Axes {
  int64_t batch = 1;
  int64_t time = 0;
};

absl::StatusOr<Axes> ReadAxes(const Attributes& attributes) {
  const Axes axes{attributes.GetInt("batch_axis", 1), attributes.GetInt("time_axis", 0)};
  const bool known = axes.batch == 0 || axes.batch == 1;
  if (!known || axes.time != 1 - axes.batch) {
    return absl::InvalidArgumentError(absl::StrCat("attributes batch_axis and time_axis are ",
                                                   axes.batch, " and ", axes.time,
                                                   ", expected 0 and 1 or 1 and 0"));
  }
  return axes;
}

absl::Status Infer(InferenceContext& context) {
  RETURN_IF_ERROR(ReadAxes(context.attributes()).status());
  const SymbolicShape& x = context.shape(0);
  if (x.has_rank() && x.rank() < 2) {
    return absl::InvalidArgumentError(
        absl::StrCat("input has shape ", x.ToString(), ", expected rank 2 or more"));
  }
  context.SetOutput(0, context.element_type(0), x);
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Kernel>> Reference(const NodeSpec& spec) {
  const Shape& x = spec.input(0).shape;
  ASSIGN_OR_RETURN(const Axes axes, ReadAxes(spec.attributes()));
  RETURN_IF_ERROR(CheckOutputShape(spec, 0, x));
  if (spec.input(1).shape != Shape{x[axes.batch]}) {
    return absl::InvalidArgumentError(absl::StrCat("input sequence_lens has shape ",
                                                   spec.input(1).shape.ToString(), ", expected [",
                                                   x[axes.batch], "]"));
  }
  const int64_t batch = x[axes.batch], time = x[axes.time];
  const int64_t inner = x.Product(2, x.rank());
  const int64_t batch_stride = axes.batch == 0 ? time * inner : inner;
  const int64_t time_stride = axes.time == 0 ? batch * inner : inner;
  const ElementCopier copier(spec.input(0).type);
  return MakeKernel([=](KernelContext& context) {
    const int64_t* lengths = context.input(1).as<int64_t>();
    for (int64_t b = 0; b < batch; ++b) {
      if (lengths[b] < 0 || lengths[b] > time) {
        return absl::InvalidArgumentError(absl::StrCat("element ", b, " of input sequence_lens is ",
                                                       lengths[b], ", expected a length in [0,",
                                                       time, "]"));
      }
      for (int64_t t = 0; t < time; ++t) {
        const int64_t source = t < lengths[b] ? lengths[b] - 1 - t : t;
        copier.Copy(context.input(0).data, b * batch_stride + source * time_stride,
                    context.output(0).data, b * batch_stride + t * time_stride, inner);
      }
    }
    return absl::OkStatus();
  });
}

}  // namespace

void RegisterReverseSequenceOps(OpRegistry& registry) {
  using Kind = AttributeSpec::Kind;
  registry.Register({.name = "ReverseSequence",
                     .version = 28,
                     .oldest_version = 10,
                     .inputs = {{"input", "T", type_sets::kMovable},
                                {"sequence_lens", "", {ElementType::kInt64}}},
                     .outputs = {{"Y", "T", type_sets::kMovable}},
                     .attributes = {{"batch_axis", Kind::kInt}, {"time_axis", Kind::kInt}},
                     .infer = Infer,
                     .reference = Reference});
}

}  // namespace inferd::engine
