// Layout changes between plain and channel-blocked tensors.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>

#include "engine/ops/op_def.h"
#include "engine/providers/cpu/candidate_table.h"

namespace inferd::engine::cpu {
namespace {

// Spatial positions transposed at a time: a tile of tile x block elements stays in L1 and every
// plain row contributes whole cache lines.
constexpr int64_t kTile = 64;

struct Extent {
  int64_t channels, blocks, spatial;
};

// [channels, spatial] -> [blocks, spatial, B] for one (image, block).
template <int B>
void ToBlocked(const uint32_t* x, uint32_t* y, int64_t lanes, int64_t spatial) {
  for (int64_t s0 = 0; s0 < spatial; s0 += kTile) {
    const int64_t s1 = std::min(spatial, s0 + kTile);
    if (lanes == B) {
      for (int64_t s = s0; s < s1; ++s) {
        for (int b = 0; b < B; ++b) y[s * B + b] = x[b * spatial + s];
      }
    } else {
      for (int64_t s = s0; s < s1; ++s) {
        for (int64_t b = 0; b < lanes; ++b) y[s * B + b] = x[b * spatial + s];
        for (int64_t b = lanes; b < B; ++b) y[s * B + b] = 0;
      }
    }
  }
}

template <int B>
void ToPlain(const uint32_t* x, uint32_t* y, int64_t lanes, int64_t spatial) {
  for (int64_t s0 = 0; s0 < spatial; s0 += kTile) {
    const int64_t s1 = std::min(spatial, s0 + kTile);
    for (int64_t b = 0; b < lanes; ++b) {
      for (int64_t s = s0; s < s1; ++s) y[b * spatial + s] = x[s * B + b];
    }
  }
}

using TileFn = void (*)(const uint32_t*, uint32_t*, int64_t, int64_t);

class ReorderKernel final : public Kernel {
 public:
  ReorderKernel(const Shape& shape, int block, bool to_blocked)
      : images_(shape[0]),
        channels_(shape[1]),
        spatial_(shape.Product(2, shape.rank())),
        block_(block),
        to_blocked_(to_blocked) {
    if (to_blocked) {
      tile_ = block == 16 ? ToBlocked<16> : ToBlocked<8>;
    } else {
      tile_ = block == 16 ? ToPlain<16> : ToPlain<8>;
    }
  }

  absl::Status Run(KernelContext& context) const override {
    const auto* x = static_cast<const uint32_t*>(context.input(0).data);
    auto* y = static_cast<uint32_t*>(context.output(0).data);
    const int64_t blocks = (channels_ + block_ - 1) / block_;
    const int64_t grain = std::max<int64_t>(1, 16384 / (spatial_ * block_ + 1));
    context.threads().ParallelFor(images_ * blocks, grain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t n = i / blocks;
        const int64_t c = i % blocks * block_;
        const int64_t lanes = std::min<int64_t>(block_, channels_ - c);
        const int64_t plain = (n * channels_ + c) * spatial_;
        const int64_t blocked = i * spatial_ * block_;
        if (to_blocked_) {
          tile_(x + plain, y + blocked, lanes, spatial_);
        } else {
          tile_(x + blocked, y + plain, lanes, spatial_);
        }
      }
    });
    return absl::OkStatus();
  }

 private:
  int64_t images_, channels_, spatial_;
  int block_;
  bool to_blocked_;
  TileFn tile_;
};

absl::StatusOr<KernelLayouts> LayoutsAsGiven(const NodeSpec& spec) {
  return KernelLayouts{{spec.input(0).layout}, {spec.output(0).layout}};
}

// Between plain and blocks of 8 or 16, elements of four bytes.
class FastReorder final : public KernelImplementation {
 public:
  absl::string_view name() const override { return "reorder"; }

  absl::StatusOr<KernelLayouts> Accept(const NodeSpec& spec) const override {
    const Layout from = spec.input(0).layout;
    const Layout to = spec.output(0).layout;
    if (ElementBits(spec.input(0).type) != 32) {
      return absl::UnimplementedError("reorder: elements of 4 bytes only, found " +
                                      std::string(ElementTypeName(spec.input(0).type)));
    }
    if (spec.input(0).shape.rank() < 2 || from.is_plain() == to.is_plain()) {
      return absl::UnimplementedError("reorder: between plain and blocked only, found " +
                                      from.ToString() + " to " + to.ToString());
    }
    const int block = std::max(from.channel_block, to.channel_block);
    if (block != 8 && block != 16) {
      return absl::UnimplementedError("reorder: blocks of 8 or 16 only");
    }
    return LayoutsAsGiven(spec);
  }

  absl::StatusOr<std::unique_ptr<Kernel>> Create(const NodeSpec& spec) const override {
    const Layout from = spec.input(0).layout;
    const Layout to = spec.output(0).layout;
    return std::make_unique<ReorderKernel>(spec.input(0).shape,
                                           std::max(from.channel_block, to.channel_block),
                                           /*to_blocked=*/from.is_plain());
  }
};

// The operator's own kernel, which takes any pair of layouts (as the reference candidate, it would
// take plain ones only).
class AnyReorder final : public KernelImplementation {
 public:
  absl::string_view name() const override { return "reorder_any"; }
  absl::StatusOr<KernelLayouts> Accept(const NodeSpec& spec) const override {
    return LayoutsAsGiven(spec);
  }
  absl::StatusOr<std::unique_ptr<Kernel>> Create(const NodeSpec& spec) const override {
    return spec.op().reference(spec);
  }
};

}  // namespace

void RegisterReorder(CandidateTable& table) {
  table.Add("inferd::Reorder", table.Own(std::make_unique<FastReorder>()));
  table.Add("inferd::Reorder", table.Own(std::make_unique<AnyReorder>()));
}

}  // namespace inferd::engine::cpu
