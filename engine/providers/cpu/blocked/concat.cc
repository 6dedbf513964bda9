// Concat in the blocked layout, elements of four bytes. Along channels whole blocks are copied
// where a part starts on a block's edge; other parts are shifted across lanes.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "engine/kernel/kernel.h"
#include "engine/ops/op_def.h"
#include "engine/providers/cpu/blocked_layout.h"
#include "engine/providers/cpu/candidate_table.h"
#include "engine/status_macros.h"

namespace inferd::engine::cpu {
namespace {

int64_t Blocks(int64_t channels, int64_t block) { return (channels + block - 1) / block; }

// Axis 1: part i holds channels [first, first + count) of the result.
class ChannelConcatKernel final : public Kernel {
 public:
  ChannelConcatKernel(const NodeSpec& spec, int block)
      : images_(spec.output(0).shape[0]),
        channels_(spec.output(0).shape[1]),
        spatial_(spec.output(0).shape.Product(2, spec.output(0).shape.rank())),
        block_(block) {
    int64_t first = 0;
    for (const OperandSpec& input : spec.inputs) {
      const int64_t count = input.shape[1];
      parts_.push_back({first, count});
      // One task per image and source block: small enough to share, large enough to be worth it.
      for (int64_t b = 0; b < Blocks(count, block); ++b) {
        tasks_.push_back({static_cast<int>(parts_.size()) - 1, b});
      }
      first += count;
    }
  }

  absl::Status Run(KernelContext& context) const override {
    auto* y = static_cast<uint32_t*>(context.output(0).data);
    const int64_t per_image = static_cast<int64_t>(tasks_.size());
    const int64_t grain = std::max<int64_t>(1, 16384 / (spatial_ * block_ + 1));
    context.threads().ParallelFor(images_ * per_image, grain, [&](int64_t begin, int64_t end) {
      for (int64_t t = begin; t < end; ++t) {
        const Task& task = tasks_[t % per_image];
        CopyBlock(static_cast<const uint32_t*>(context.input(task.part).data), y, t / per_image,
                  parts_[task.part], task.block);
      }
    });
    // Lanes beyond the last channel belong to no part.
    const int64_t tail = channels_ % block_;
    if (tail != 0) {
      for (int64_t n = 0; n < images_; ++n) {
        uint32_t* last = y + ((n + 1) * Blocks(channels_, block_) - 1) * spatial_ * block_;
        for (int64_t s = 0; s < spatial_; ++s) {
          std::fill(last + s * block_ + tail, last + (s + 1) * block_, 0u);
        }
      }
    }
    return absl::OkStatus();
  }

 private:
  struct Part {
    int64_t first, count;
  };
  struct Task {
    int part;
    int64_t block;
  };

  void CopyBlock(const uint32_t* x, uint32_t* y, int64_t image, const Part& part,
                 int64_t source_block) const {
    const int64_t row = spatial_ * block_;
    const uint32_t* from = x + (image * Blocks(part.count, block_) + source_block) * row;
    uint32_t* image_start = y + image * Blocks(channels_, block_) * row;
    const int64_t lanes = std::min(block_, part.count - source_block * block_);
    const int64_t target = part.first + source_block * block_;
    if (target % block_ == 0 && lanes == block_) {
      std::memcpy(image_start + target / block_ * row, from, row * sizeof(uint32_t));
      return;
    }
    // The lanes fall into one or two blocks of the result.
    for (int64_t lane = 0; lane < lanes;) {
      const int64_t channel = target + lane;
      const int64_t count = std::min(lanes - lane, block_ - channel % block_);
      uint32_t* to = image_start + channel / block_ * row + channel % block_;
      for (int64_t s = 0; s < spatial_; ++s) {
        for (int64_t l = 0; l < count; ++l) to[s * block_ + l] = from[s * block_ + lane + l];
      }
      lane += count;
    }
  }

  int64_t images_, channels_, spatial_, block_;
  std::vector<Part> parts_;
  std::vector<Task> tasks_;
};

// Any other axis: contiguous slabs, blocks of channels being one more leading axis.
class SlabConcatKernel final : public Kernel {
 public:
  SlabConcatKernel(const NodeSpec& spec, int axis, int block) {
    const Shape& shape = spec.output(0).shape;
    outer_ = axis == 0 ? 1 : shape[0] * Blocks(shape[1], block) * shape.Product(2, axis);
    for (const OperandSpec& input : spec.inputs) {
      const int64_t inner = axis == 0 ? Blocks(shape[1], block) * shape.Product(2, shape.rank())
                                      : shape.Product(axis + 1, shape.rank());
      slabs_.push_back(input.shape[axis] * inner * block);
      total_ += slabs_.back();
    }
  }

  absl::Status Run(KernelContext& context) const override {
    auto* y = static_cast<uint32_t*>(context.output(0).data);
    const int64_t grain = std::max<int64_t>(1, 16384 / (total_ + 1));
    context.threads().ParallelFor(outer_, grain, [&](int64_t begin, int64_t end) {
      for (int64_t o = begin; o < end; ++o) {
        uint32_t* to = y + o * total_;
        for (size_t i = 0; i < slabs_.size(); ++i) {
          const auto* x = static_cast<const uint32_t*>(context.input(static_cast<int>(i)).data);
          std::memcpy(to, x + o * slabs_[i], slabs_[i] * sizeof(uint32_t));
          to += slabs_[i];
        }
      }
    });
    return absl::OkStatus();
  }

 private:
  int64_t outer_ = 1;
  int64_t total_ = 0;
  std::vector<int64_t> slabs_;
};

class ConcatImplementation final : public KernelImplementation {
 public:
  absl::string_view name() const override { return "blocked_concat"; }

  absl::StatusOr<KernelLayouts> Accept(const NodeSpec& spec) const override {
    if (ElementBits(spec.output(0).type) != 32) {
      return absl::UnimplementedError("blocked_concat: elements of 4 bytes only");
    }
    bool any_blocked = false;
    for (const OperandSpec& input : spec.inputs) {
      any_blocked = any_blocked || !input.layout.is_plain();
    }
    if (!any_blocked) return absl::UnimplementedError("blocked_concat: no input is blocked");
    if (spec.output(0).shape.rank() < 3 || spec.output(0).shape.NumElements() == 0) {
      return absl::UnimplementedError("blocked_concat: rank 3 or more, not empty");
    }
    return KernelLayouts{std::vector<Layout>(spec.inputs.size(), BlockedLayout()),
                         {BlockedLayout()}};
  }

  absl::StatusOr<std::unique_ptr<Kernel>> Create(const NodeSpec& spec) const override {
    ASSIGN_OR_RETURN(const int axis, NormalizeAxis(spec.attributes().GetInt("axis", 0),
                                                   spec.output(0).shape.rank()));
    const int block = spec.output(0).layout.channel_block;
    if (axis == 1) return std::make_unique<ChannelConcatKernel>(spec, block);
    return std::make_unique<SlabConcatKernel>(spec, axis, block);
  }
};

}  // namespace

void RegisterBlockedConcat(CandidateTable& table) {
  table.Add("Concat", table.Own(std::make_unique<ConcatImplementation>()));
}

}  // namespace inferd::engine::cpu
