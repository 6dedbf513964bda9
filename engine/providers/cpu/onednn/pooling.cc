// MaxPool and AveragePool by oneDNN, in whichever layout the input has.
#include <algorithm>
#include <utility>

#include "engine/kernel/kernel.h"
#include "engine/ops/pooling_shape.h"
#include "engine/providers/cpu/blocked_layout.h"
#include "engine/providers/cpu/candidate_table.h"
#include "engine/providers/cpu/onednn/primitive.h"
#include "engine/providers/cpu/openmp_shim.h"
#include "engine/status_macros.h"

namespace inferd::engine::cpu {
namespace {

using dnnl::memory;
using PrimitiveDesc = dnnl::pooling_forward::primitive_desc;

absl::Status Decline(absl::string_view reason) {
  return absl::UnimplementedError(absl::StrCat("oneDNN pooling: ", reason));
}

// Bound by reading the input, which takes longer than the arithmetic done on it.
int Threads(const NodeSpec& spec) {
  constexpr double kOperationsPerElement = 16;
  return WorthwhileThreads(
      kOperationsPerElement * static_cast<double>(spec.input(0).shape.NumElements()), spec.threads);
}

absl::StatusOr<PrimitiveDesc> Describe(const NodeSpec& spec, Layout layout) {
  ASSIGN_OR_RETURN(const PoolingShape shape,
                   ResolvePooling(spec.attributes(), spec.input(0).shape));
  const bool max = spec.op().name == "MaxPool";
  const bool count_pads = !max && spec.attributes().GetInt("count_include_pad", 0) != 0;
  memory::dims kernel, strides, pads_begin, pads_end;
  for (const WindowAxis& axis : shape.axes) {
    if (axis.dilation != 1) return Decline("dilations not supported");
    // What the last window reads beyond the input. It may be more than the model's pad
    // (ceil_mode): harmless where padding does not count, another divisor where it does.
    const int64_t beyond = axis.start(axis.output - 1) + axis.kernel - axis.input;
    if (count_pads && beyond > axis.pad_end) {
      return Decline("count_include_pad with a window beyond the padding (ceil_mode)");
    }
    if (axis.pad_begin >= axis.kernel || beyond >= axis.kernel) {
      return Decline("a window that lies in padding alone");
    }
    kernel.push_back(axis.kernel);
    strides.push_back(axis.stride);
    pads_begin.push_back(axis.pad_begin);
    pads_end.push_back(std::max<int64_t>(0, beyond));
  }
  const dnnl::algorithm algorithm = max          ? dnnl::algorithm::pooling_max
                                    : count_pads ? dnnl::algorithm::pooling_avg_include_padding
                                                 : dnnl::algorithm::pooling_avg_exclude_padding;
  return CatchDnnl("pooling", [&]() -> absl::StatusOr<PrimitiveDesc> {
    const dnnl::pooling_forward::desc desc(
        dnnl::prop_kind::forward_inference, algorithm, DescOf(spec.input(0).shape, layout),
        DescOf(spec.output(0).shape, layout), strides, kernel, pads_begin, pads_end);
    dnnl::primitive_attr attributes;
    attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    ScopedOpenMpPool planned(Threads(spec));
    PrimitiveDesc primitive_desc(desc, attributes, OneDnnEngine(), /*allow_empty=*/true);
    if (!primitive_desc || IsReferenceImplementation(primitive_desc.impl_info_str())) {
      return Decline("no fast implementation for this geometry");
    }
    return primitive_desc;
  });
}

class PoolingImplementation final : public KernelImplementation {
 public:
  absl::string_view name() const override { return "onednn_pool"; }

  absl::StatusOr<KernelLayouts> Accept(const NodeSpec& spec) const override {
    const OperandSpec& x = spec.input(0);
    if (x.type != ElementType::kFloat32) return Decline("float only");
    if (spec.has_output(1)) return Decline("Indices output not supported");
    if (x.shape.rank() < 3 || x.shape.rank() > 5) return Decline("1 to 3 spatial axes only");
    if (x.shape.NumElements() == 0) return Decline("empty tensor");
    // A plain input stays plain unless oneDNN is slow there: pooling is not worth a reorder.
    Layout layout = x.layout.is_plain() ? Layout::Plain() : BlockedLayout();
    if (!Describe(spec, layout).ok()) layout = BlockedLayout();
    RETURN_IF_ERROR(Describe(spec, layout).status());
    KernelLayouts layouts{{layout}, std::vector<Layout>(spec.outputs.size())};
    layouts.outputs[0] = layout;
    return layouts;
  }

  absl::StatusOr<std::unique_ptr<Kernel>> Create(const NodeSpec& spec) const override {
    ASSIGN_OR_RETURN(const PrimitiveDesc desc, Describe(spec, spec.input(0).layout));
    return CatchDnnl("pooling", [&]() -> absl::StatusOr<std::unique_ptr<Kernel>> {
      ScopedOpenMpPool planned(Threads(spec));
      return MakeUnaryPrimitiveKernel(dnnl::pooling_forward(desc), desc.src_desc(), desc.dst_desc(),
                                      desc.scratchpad_desc(), Threads(spec));
    });
  }
};

}  // namespace

void RegisterPooling(CandidateTable& table) {
  const auto* pooling = table.Own(std::make_unique<PoolingImplementation>());
  table.Add("MaxPool", pooling);
  table.Add("AveragePool", pooling);
}

}  // namespace inferd::engine::cpu
