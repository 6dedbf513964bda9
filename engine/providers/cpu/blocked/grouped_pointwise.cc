// Conv and FusedConv with kernel 1 and groups whose channels do not fill whole blocks, in the
// blocked layout. oneDNN has only a plain GEMM for these; between depthwise neighbours, which want
// blocks, that would cost two reorders a convolution. Here each block of output channels reads the
// channels of the one or few groups it belongs to; weights outside a lane's group are zero.
#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/kernel/kernel.h"
#include "engine/kernel/packed_weights.h"
#include "engine/ops/convolution_shape.h"
#include "engine/ops/fused_activation.h"
#include "engine/providers/cpu/blocked/channel_rows.h"
#include "engine/providers/cpu/blocked_layout.h"
#include "engine/providers/cpu/candidate_table.h"
#include "engine/providers/cpu/vector/function_of.h"
#include "engine/providers/cpu/vector/kernels.h"
#include "engine/status_macros.h"

namespace inferd::engine::cpu {
namespace {

constexpr int kWeights = 1, kBias = 2, kResidual = 3;

// What one block of output channels reads.
struct OutputBlock {
  int64_t first;    // input channel
  int64_t count;    // input channels
  int64_t weights;  // offset of its `count` vectors of weights
};

std::vector<OutputBlock> BlocksOf(const ConvolutionShape& shape, int64_t lanes) {
  std::vector<OutputBlock> blocks;
  int64_t offset = 0;
  for (int64_t c = 0; c < shape.output_channels(); c += lanes) {
    const int64_t last = std::min(c + lanes, shape.output_channels()) - 1;
    const int64_t first_group = c / shape.outputs_per_group;
    const int64_t last_group = last / shape.outputs_per_group;
    OutputBlock block;
    block.first = first_group * shape.channels_per_group;
    block.count = (last_group - first_group + 1) * shape.channels_per_group;
    block.weights = offset;
    offset += block.count * lanes;
    blocks.push_back(block);
  }
  return blocks;
}

absl::StatusOr<Tensor> Pack(const Tensor& weights, const ConvolutionShape& shape, int64_t lanes,
                            const std::vector<OutputBlock>& blocks) {
  const int64_t floats = blocks.back().weights + blocks.back().count * lanes;
  ASSIGN_OR_RETURN(Tensor packed, Tensor::Allocate(ElementType::kFloat32, {floats}));
  float* to = packed.mutable_data<float>();
  std::fill_n(to, floats, 0.0f);
  const float* from = weights.data<float>();
  for (int64_t c = 0; c < shape.output_channels(); ++c) {
    const OutputBlock& block = blocks[c / lanes];
    const int64_t group_start = c / shape.outputs_per_group * shape.channels_per_group;
    for (int64_t i = 0; i < shape.channels_per_group; ++i) {
      to[block.weights + (group_start + i - block.first) * lanes + c % lanes] =
          from[c * shape.channels_per_group + i];
    }
  }
  return packed;
}

class GroupedPointwiseKernel final : public Kernel {
 public:
  GroupedPointwiseKernel(const ConvolutionShape& shape, ChannelRows rows,
                         std::vector<OutputBlock> blocks, Tensor weights, bool shared,
                         std::vector<float> bias, UnaryChain chain)
      : rows_(rows),
        input_blocks_((shape.input_channels() + rows.lanes - 1) / rows.lanes),
        blocks_(std::move(blocks)),
        weights_(std::move(weights)),
        weights_shared_(shared),
        bias_(std::move(bias)),
        chain_(std::move(chain)) {}

  size_t held_bytes() const override {
    return bias_.size() * sizeof(float) + (weights_shared_ ? 0 : weights_.num_bytes());
  }

  absl::Status Run(KernelContext& context) const override {
    const float* x = context.input(0).as<float>();
    const float* z = context.has_input(kResidual) ? context.input(kResidual).as<float>() : nullptr;
    float* y = context.output(0).as<float>();
    const VectorKernels& vectors = Vectors();
    const PointwiseLoop loop = vectors.pointwise[LaneCountOf(rows_.lanes)];
    rows_.ForEachPiece(context.threads(), [&](int64_t row, int64_t at, int64_t n) {
      const int64_t image = row / rows_.rows_per_image;
      const int64_t b = row % rows_.rows_per_image;
      const OutputBlock& block = blocks_[b];
      // Offset within the row: input and output have the same positions.
      const int64_t start = at - row * rows_.row_length;
      loop(x + image * input_blocks_ * rows_.row_length + start, rows_.row_length, block.first,
           block.count, weights_.data<float>() + block.weights, bias_.data() + b * rows_.lanes,
           z == nullptr ? z : z + at, y + at, n / rows_.lanes);
      for (const UnaryStep& step : chain_) {
        vectors.unary[static_cast<int>(step.function)](y + at, y + at, n, step.alpha, step.beta);
      }
      rows_.ZeroPadding(row, y + at, n);
    });
    return absl::OkStatus();
  }

 private:
  ChannelRows rows_;
  int64_t input_blocks_;
  std::vector<OutputBlock> blocks_;
  Tensor weights_;
  bool weights_shared_;
  std::vector<float> bias_;
  UnaryChain chain_;
};

class GroupedPointwiseImplementation final : public KernelImplementation {
 public:
  absl::string_view name() const override { return "blocked_grouped_pointwise"; }

  absl::StatusOr<KernelLayouts> Accept(const NodeSpec& spec) const override {
    auto decline = [](absl::string_view reason) {
      return absl::UnimplementedError(absl::StrCat("blocked_grouped_pointwise: ", reason));
    };
    if (spec.input(0).type != ElementType::kFloat32) return decline("float only");
    ASSIGN_OR_RETURN(const ConvolutionShape shape, ResolveConvolution(spec));
    if (shape.groups == 1 || shape.depthwise()) return decline("groups of channels only");
    if (!shape.pointwise()) return decline("kernel 1, stride 1, no pads only");
    if (spec.input(kWeights).constant == nullptr ||
        (spec.has_input(kBias) && spec.input(kBias).constant == nullptr)) {
      return decline("weights are not constant");
    }
    if (spec.input(0).shape.NumElements() == 0 || spec.output(0).shape.NumElements() == 0) {
      return decline("empty tensor");
    }
    KernelLayouts layouts{std::vector<Layout>(spec.inputs.size()), {BlockedLayout()}};
    layouts.inputs[0] = BlockedLayout();
    if (spec.has_input(kResidual)) layouts.inputs[kResidual] = BlockedLayout();
    return layouts;
  }

  absl::StatusOr<std::unique_ptr<Kernel>> Create(const NodeSpec& spec) const override {
    ASSIGN_OR_RETURN(const ConvolutionShape shape, ResolveConvolution(spec));
    ASSIGN_OR_RETURN(const ActivationChain activations, ReadActivations(spec.attributes()));
    const OperandSpec& output = spec.output(0);
    const ChannelRows rows = ChannelRows::Of(output.shape, output.layout);
    std::vector<OutputBlock> blocks = BlocksOf(shape, rows.lanes);
    const Tensor& source = *spec.input(kWeights).constant;
    auto pack = [&] { return Pack(source, shape, rows.lanes, blocks); };
    Tensor weights;
    if (spec.packed_weights != nullptr) {
      ASSIGN_OR_RETURN(
          weights,
          spec.packed_weights->GetOrPack(
              source, absl::StrCat("grouped_pointwise:", shape.groups, ":", rows.lanes), pack));
    } else {
      ASSIGN_OR_RETURN(weights, pack());
    }
    std::vector<float> bias(rows.rows_per_image * rows.lanes, 0.0f);
    if (spec.has_input(kBias)) {
      std::copy_n(spec.input(kBias).constant->data<float>(), shape.output_channels(), bias.begin());
    }
    return std::make_unique<GroupedPointwiseKernel>(
        shape, rows, std::move(blocks), std::move(weights), spec.packed_weights != nullptr,
        std::move(bias), StepsOf(activations));
  }
};

}  // namespace

void RegisterGroupedPointwise(CandidateTable& table) {
  const auto* pointwise = table.Own(std::make_unique<GroupedPointwiseImplementation>());
  table.Add("Conv", pointwise);
  table.Add("inferd::FusedConv", pointwise);
}

}  // namespace inferd::engine::cpu
