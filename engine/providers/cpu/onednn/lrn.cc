// LRN across channels by oneDNN, in whichever layout the input has.
#include <utility>

#include "engine/kernel/kernel.h"
#include "engine/providers/cpu/blocked_layout.h"
#include "engine/providers/cpu/candidate_table.h"
#include "engine/providers/cpu/onednn/primitive.h"
#include "engine/providers/cpu/openmp_shim.h"
#include "engine/status_macros.h"

namespace inferd::engine::cpu {
namespace {

using PrimitiveDesc = dnnl::lrn_forward::primitive_desc;

// A power per element and a window of sums.
int Threads(const NodeSpec& spec) {
  constexpr double kOperationsPerElement = 64;
  return WorthwhileThreads(
      kOperationsPerElement * static_cast<double>(spec.input(0).shape.NumElements()), spec.threads);
}

absl::StatusOr<PrimitiveDesc> Describe(const NodeSpec& spec, Layout layout) {
  return CatchDnnl("LRN", [&]() -> absl::StatusOr<PrimitiveDesc> {
    const Attributes& a = spec.attributes();
    // Both divide alpha by size: https://onnx.ai/onnx/operators/onnx__LRN.html and
    // https://oneapi-src.github.io/oneDNN/dev_guide_lrn.html.
    const dnnl::lrn_forward::desc desc(
        dnnl::prop_kind::forward_inference, dnnl::algorithm::lrn_across_channels,
        DescOf(spec.input(0).shape, layout), a.GetInt("size", 1), a.GetFloat("alpha", 1e-4f),
        a.GetFloat("beta", 0.75f), a.GetFloat("bias", 1.0f));
    dnnl::primitive_attr attributes;
    attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    ScopedOpenMpPool planned(Threads(spec));
    PrimitiveDesc primitive_desc(desc, attributes, OneDnnEngine(), /*allow_empty=*/true);
    if (!primitive_desc || IsReferenceImplementation(primitive_desc.impl_info_str())) {
      return absl::UnimplementedError("oneDNN LRN: no fast implementation for this shape");
    }
    return primitive_desc;
  });
}

class LrnImplementation final : public KernelImplementation {
 public:
  absl::string_view name() const override { return "onednn_lrn"; }

  absl::StatusOr<KernelLayouts> Accept(const NodeSpec& spec) const override {
    const OperandSpec& x = spec.input(0);
    if (x.type != ElementType::kFloat32) return absl::UnimplementedError("oneDNN LRN: float only");
    if (x.shape.rank() != 4 || x.shape.NumElements() == 0) {
      return absl::UnimplementedError("oneDNN LRN: non-empty input of rank 4 only");
    }
    if (spec.attributes().GetInt("size", 1) % 2 == 0) {
      return absl::UnimplementedError("oneDNN LRN: even size not supported");
    }
    for (const Layout layout : {x.layout, BlockedLayout(), Layout::Plain()}) {
      if (Describe(spec, layout).ok()) return KernelLayouts{{layout}, {layout}};
    }
    return Describe(spec, x.layout).status();
  }

  absl::StatusOr<std::unique_ptr<Kernel>> Create(const NodeSpec& spec) const override {
    ASSIGN_OR_RETURN(const PrimitiveDesc desc, Describe(spec, spec.input(0).layout));
    return CatchDnnl("LRN", [&]() -> absl::StatusOr<std::unique_ptr<Kernel>> {
      ScopedOpenMpPool planned(Threads(spec));
      return MakeUnaryPrimitiveKernel(dnnl::lrn_forward(desc), desc.src_desc(), desc.dst_desc(),
                                      desc.scratchpad_desc(), Threads(spec));
    });
  }
};

}  // namespace

void RegisterLrn(CandidateTable& table) {
  table.Add("LRN", table.Own(std::make_unique<LrnImplementation>()));
}

}  // namespace inferd::engine::cpu
