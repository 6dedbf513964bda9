// Conv and FusedConv by oneDNN: dense, grouped and depthwise, 1 to 3 spatial axes.
#include <cstring>
#include <utility>

#include "engine/kernel/kernel.h"
#include "engine/ops/convolution_shape.h"
#include "engine/providers/cpu/blocked_layout.h"
#include "engine/providers/cpu/candidate_table.h"
#include "engine/providers/cpu/onednn/primitive.h"
#include "engine/providers/cpu/openmp_shim.h"
#include "engine/status_macros.h"

namespace inferd::engine::cpu {
namespace {

using dnnl::memory;
using PrimitiveDesc = dnnl::convolution_forward::primitive_desc;

// Input of so few channels lies plain: a blocked one would be mostly padding, and oneDNN has
// kernels that read a plain image and write a blocked result.
constexpr int64_t kPlainInputChannels = 3;

constexpr int kWeights = 1, kBias = 2, kResidual = 3;

struct Convolution {
  PrimitiveDesc primitive_desc;
  memory::desc source_weights;  // as the constant lies
};

// The weights' dimensions as oneDNN names them: groups first, where there are any.
memory::dims WeightDims(const ConvolutionShape& shape) {
  memory::dims dims;
  if (shape.groups > 1) {
    dims = {shape.groups, shape.outputs_per_group, shape.channels_per_group};
  } else {
    dims = {shape.outputs_per_group, shape.channels_per_group};
  }
  for (const WindowAxis& axis : shape.axes) dims.push_back(axis.kernel);
  return dims;
}

int Threads(const NodeSpec& spec, const ConvolutionShape& shape) {
  double operations = 2.0 * static_cast<double>(spec.output(0).shape.NumElements()) *
                      static_cast<double>(shape.channels_per_group);
  for (const WindowAxis& axis : shape.axes) operations *= static_cast<double>(axis.kernel);
  return WorthwhileThreads(operations, spec.threads);
}

// UNIMPLEMENTED where oneDNN has no fast implementation for these layouts.
absl::StatusOr<Convolution> Describe(const NodeSpec& spec, const ConvolutionShape& shape,
                                     Layout source, Layout destination) {
  ASSIGN_OR_RETURN(const ActivationChain activations, ReadActivations(spec.attributes()));
  return CatchDnnl("convolution", [&]() -> absl::StatusOr<Convolution> {
    memory::dims strides, dilations, pads_begin, pads_end;
    for (const WindowAxis& axis : shape.axes) {
      strides.push_back(axis.stride);
      dilations.push_back(axis.dilation - 1);
      pads_begin.push_back(axis.pad_begin);
      // What the last window reads beyond the input; trailing input no window reads is not a
      // negative pad to oneDNN but a remainder of its division.
      pads_end.push_back(
          std::max<int64_t>(0, axis.start(axis.output - 1) + axis.extent() - axis.input));
    }
    const memory::dims weight_dims = WeightDims(shape);
    const bool bias = spec.has_input(kBias);
    const dnnl::convolution_forward::desc desc(
        dnnl::prop_kind::forward_inference, dnnl::algorithm::convolution_direct,
        DescOf(spec.input(0).shape, source), AnyDesc(weight_dims),
        bias ? PlainDesc({shape.output_channels()}) : memory::desc(),
        DescOf(spec.output(0).shape, destination), strides, dilations, pads_begin, pads_end);

    dnnl::post_ops post_ops;
    if (spec.has_input(kResidual)) post_ops.append_sum(1.0f);
    AppendActivations(activations, &post_ops);
    dnnl::primitive_attr attributes;
    attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    attributes.set_post_ops(post_ops);

    ScopedOpenMpPool planned(Threads(spec, shape));
    PrimitiveDesc primitive_desc(desc, attributes, OneDnnEngine(), /*allow_empty=*/true);
    if (!primitive_desc || IsReferenceImplementation(primitive_desc.impl_info_str())) {
      return absl::UnimplementedError(
          absl::StrCat("oneDNN convolution: no fast implementation from ", source.ToString(),
                       " to ", destination.ToString()));
    }
    return Convolution{std::move(primitive_desc), PlainDesc(weight_dims)};
  });
}

class ConvolutionKernel final : public Kernel {
 public:
  ConvolutionKernel(std::unique_ptr<PrimitiveRunner> runner, bool bias, bool residual,
                    size_t workspace_bytes, size_t held_bytes)
      : runner_(std::move(runner)),
        bias_(bias),
        residual_(residual),
        workspace_bytes_(workspace_bytes),
        held_bytes_(held_bytes) {}

  size_t workspace_bytes() const override { return workspace_bytes_; }
  size_t held_bytes() const override { return held_bytes_; }

  absl::Status Run(KernelContext& context) const override {
    const TensorView& y = context.output(0);
    if (residual_ && context.input(kResidual).data != y.data) {
      CopyResidual(context.input(kResidual), y, context.threads());
    }
    void* addresses[4];
    int n = 0;
    addresses[n++] = context.input(0).data;
    addresses[n++] = y.data;
    if (bias_) addresses[n++] = context.input(kBias).data;
    if (workspace_bytes_ > 0) addresses[n++] = context.workspace();
    return runner_->Run(context.threads(), absl::MakeConstSpan(addresses, n));
  }

 private:
  // The sum is taken in place; the planner could not give the residual's memory to the output.
  static void CopyResidual(const TensorView& z, const TensorView& y, ThreadPool& threads) {
    threads.ParallelFor(z.num_bytes(), 1 << 16, [&](int64_t begin, int64_t end) {
      std::memcpy(static_cast<char*>(y.data) + begin, static_cast<const char*>(z.data) + begin,
                  end - begin);
    });
  }

  std::unique_ptr<PrimitiveRunner> runner_;
  bool bias_, residual_;
  size_t workspace_bytes_, held_bytes_;
};

absl::Status CheckCommon(const NodeSpec& spec) {
  if (spec.input(0).type != ElementType::kFloat32) {
    return absl::UnimplementedError("oneDNN convolution: float only");
  }
  const int rank = spec.input(0).shape.rank();
  if (rank < 3 || rank > 5) {
    return absl::UnimplementedError("oneDNN convolution: 1 to 3 spatial axes only");
  }
  if (spec.input(kWeights).constant == nullptr) {
    return absl::UnimplementedError("oneDNN convolution: weights are not constant");
  }
  if (spec.input(0).shape.NumElements() == 0 || spec.output(0).shape.NumElements() == 0) {
    return absl::UnimplementedError("oneDNN convolution: empty tensor");
  }
  return absl::OkStatus();
}

class ConvolutionImplementation final : public KernelImplementation {
 public:
  explicit ConvolutionImplementation(bool blocked) : blocked_(blocked) {}

  absl::string_view name() const override {
    return blocked_ ? "onednn_conv_blocked" : "onednn_conv_plain";
  }

  absl::StatusOr<KernelLayouts> Accept(const NodeSpec& spec) const override {
    RETURN_IF_ERROR(CheckCommon(spec));
    ASSIGN_OR_RETURN(const ConvolutionShape shape, ResolveConvolution(spec));
    if (!blocked_) {
      RETURN_IF_ERROR(Describe(spec, shape, Layout::Plain(), Layout::Plain()).status());
      return Layouts(spec, Layout::Plain(), Layout::Plain());
    }
    if (shape.groups == 1 && shape.input_channels() <= kPlainInputChannels &&
        Describe(spec, shape, Layout::Plain(), BlockedLayout()).ok()) {
      return Layouts(spec, Layout::Plain(), BlockedLayout());
    }
    RETURN_IF_ERROR(Describe(spec, shape, BlockedLayout(), BlockedLayout()).status());
    return Layouts(spec, BlockedLayout(), BlockedLayout());
  }

  absl::StatusOr<std::unique_ptr<Kernel>> Create(const NodeSpec& spec) const override {
    ASSIGN_OR_RETURN(const ConvolutionShape shape, ResolveConvolution(spec));
    ASSIGN_OR_RETURN(Convolution convolution,
                     Describe(spec, shape, spec.input(0).layout, spec.output(0).layout));
    const PrimitiveDesc& desc = convolution.primitive_desc;
    ASSIGN_OR_RETURN(Tensor weights,
                     PackConstant(*spec.input(kWeights).constant, convolution.source_weights,
                                  desc.weights_desc(), spec.packed_weights));
    return CatchDnnl("convolution", [&]() -> absl::StatusOr<std::unique_ptr<Kernel>> {
      const bool bias = spec.has_input(kBias);
      std::vector<PrimitiveRunner::Operand> operands = {{DNNL_ARG_SRC, desc.src_desc()},
                                                        {DNNL_ARG_DST, desc.dst_desc()}};
      if (bias) operands.push_back({DNNL_ARG_BIAS, desc.bias_desc()});
      const size_t workspace = desc.scratchpad_desc().get_size();
      if (workspace > 0) operands.push_back({DNNL_ARG_SCRATCHPAD, desc.scratchpad_desc()});
      const size_t held = spec.packed_weights == nullptr ? weights.num_bytes() : 0;
      const int threads = Threads(spec, shape);
      ScopedOpenMpPool planned(threads);
      auto runner = std::make_unique<PrimitiveRunner>(
          dnnl::convolution_forward(desc), std::move(operands),
          std::vector<PrimitiveRunner::Constant>{
              {DNNL_ARG_WEIGHTS, desc.weights_desc(), std::move(weights)}},
          threads);
      return std::make_unique<ConvolutionKernel>(std::move(runner), bias, spec.has_input(kResidual),
                                                 workspace, held);
    });
  }

 private:
  static KernelLayouts Layouts(const NodeSpec& spec, Layout source, Layout destination) {
    KernelLayouts layouts{std::vector<Layout>(spec.inputs.size()), {destination}};
    layouts.inputs[0] = source;
    if (spec.has_input(kResidual)) layouts.inputs[kResidual] = destination;
    return layouts;
  }

  bool blocked_;
};

}  // namespace

void RegisterConvolution(CandidateTable& table) {
  const auto* blocked = table.Own(std::make_unique<ConvolutionImplementation>(true));
  for (const char* op : {"Conv", "inferd::FusedConv"}) table.Add(op, blocked);
}

void RegisterPlainConvolution(CandidateTable& table) {
  const auto* plain = table.Own(std::make_unique<ConvolutionImplementation>(false));
  for (const char* op : {"Conv", "inferd::FusedConv"}) table.Add(op, plain);
}

}  // namespace inferd::engine::cpu
