// inferd::ChannelShuffle in plain and blocked layouts.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "engine/kernel/kernel.h"
#include "engine/ops/op_def.h"
#include "engine/providers/cpu/candidate_table.h"

namespace inferd::engine::cpu {
namespace {

class ChannelShuffleKernel final : public Kernel {
 public:
  ChannelShuffleKernel(const Shape& shape, int64_t group, int block)
      : images_(shape[0]),
        channels_(shape[1]),
        spatial_(shape.Product(2, shape.rank())),
        block_(block),
        blocks_((shape[1] + block - 1) / block),
        source_(channels_) {
    const int64_t per_group = channels_ / group;
    for (int64_t c = 0; c < channels_; ++c) source_[c] = c % group * per_group + c / group;
  }

  absl::Status Run(KernelContext& context) const override {
    const float* x = context.input(0).as<float>();
    float* y = context.output(0).as<float>();
    const int64_t grain = std::max<int64_t>(1, 16384 / (spatial_ * block_ + 1));
    context.threads().ParallelFor(images_ * blocks_, grain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) FillBlock(x, y, i / blocks_, i % blocks_);
    });
    return absl::OkStatus();
  }

 private:
  // Channels b * block and on of the result.
  void FillBlock(const float* x, float* y, int64_t image, int64_t b) const {
    const int64_t row = spatial_ * block_;
    const float* from = x + image * blocks_ * row;
    float* to = y + (image * blocks_ + b) * row;
    if (block_ == 1) {
      std::memcpy(to, from + source_[b] * row, row * sizeof(float));
      return;
    }
    const int64_t lanes = std::min<int64_t>(block_, channels_ - b * block_);
    int64_t offsets[kMaxBlock];
    for (int64_t l = 0; l < lanes; ++l) {
      const int64_t c = source_[b * block_ + l];
      offsets[l] = c / block_ * row + c % block_;
    }
    for (int64_t s = 0; s < row; s += block_) {
      for (int64_t l = 0; l < lanes; ++l) to[s + l] = from[offsets[l] + s];
      for (int64_t l = lanes; l < block_; ++l) to[s + l] = 0.0f;
    }
  }

  static constexpr int kMaxBlock = 16;
  int64_t images_, channels_, spatial_, block_, blocks_;
  std::vector<int64_t> source_;  // of each channel of the result
};

class ChannelShuffleImplementation final : public KernelImplementation {
 public:
  absl::string_view name() const override { return "channel_shuffle"; }

  absl::StatusOr<KernelLayouts> Accept(const NodeSpec& spec) const override {
    const OperandSpec& x = spec.input(0);
    if (x.shape.rank() < 3 || x.shape.NumElements() == 0) {
      return absl::UnimplementedError("channel_shuffle: rank 3 or more, not empty");
    }
    return KernelLayouts{{x.layout}, {x.layout}};
  }

  absl::StatusOr<std::unique_ptr<Kernel>> Create(const NodeSpec& spec) const override {
    return std::make_unique<ChannelShuffleKernel>(spec.input(0).shape,
                                                  spec.attributes().GetInt("group", 1),
                                                  spec.input(0).layout.channel_block);
  }
};

}  // namespace

void RegisterChannelShuffleKernel(CandidateTable& table) {
  table.Add("inferd::ChannelShuffle", table.Own(std::make_unique<ChannelShuffleImplementation>()));
}

}  // namespace inferd::engine::cpu
