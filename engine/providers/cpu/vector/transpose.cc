// Transpose of 32-bit elements in plain layout: runs that stay together are copied whole, and where
// the last axis moves, matrices are transposed tile by tile.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/strings/str_cat.h"
#include "engine/kernel/kernel.h"
#include "engine/ops/op_def.h"
#include "engine/providers/cpu/candidate_table.h"
#include "engine/providers/cpu/vector/transpose_tiles.h"
#include "engine/status_macros.h"

namespace inferd::engine::cpu {
namespace {

constexpr int64_t kGrain = 8192;  // elements worth waking a thread for

// A dimension of the output, with the distance of its elements in the input and in the output.
struct Axis {
  int64_t extent, from, to;
};
using Axes = absl::InlinedVector<Axis, 6>;

// Dimensions of one are dropped, and neighbours that stay neighbours merged.
Axes AxesOf(const Shape& x, const std::vector<int64_t>& perm) {
  std::vector<int64_t> strides(x.rank(), 1);
  for (int d = x.rank() - 2; d >= 0; --d) strides[d] = strides[d + 1] * x[d + 1];
  Axes axes;
  int64_t to = 1;
  for (int d = x.rank() - 1; d >= 0; --d) {
    const Axis axis = {x[perm[d]], strides[perm[d]], to};
    to *= axis.extent;
    if (axis.extent == 1) continue;
    if (!axes.empty() && axes.back().from * axes.back().extent == axis.from) {
      axes.back().extent *= axis.extent;
    } else {
      axes.push_back(axis);
    }
  }
  std::reverse(axes.begin(), axes.end());
  return axes;
}

class TransposeKernel final : public Kernel {
 public:
  explicit TransposeKernel(Axes axes) {
    if (axes.empty()) axes.push_back({1, 1, 1});
    row_ = axes.back();
    axes.pop_back();
    // The input's last dimension, unless it is the output's too.
    const auto inner =
        std::find_if(axes.begin(), axes.end(), [](const Axis& a) { return a.from == 1; });
    if (inner != axes.end()) {
      column_ = *inner;
      axes.erase(inner);
    }
    outer_ = std::move(axes);
    for (const Axis& axis : outer_) count_ *= axis.extent;
    // A thread's share of the columns where there is nothing else to share out.
    strips_ = (column_.extent + kStrip - 1) / kStrip;
  }

  absl::Status Run(KernelContext& context) const override {
    const float* x = context.input(0).as<float>();
    float* y = context.output(0).as<float>();
    const TransposeKernels& best = BestTranspose();
    const int64_t piece = row_.extent * std::min(kStrip, column_.extent);
    const int64_t grain = std::max<int64_t>(1, kGrain / piece);
    context.threads().ParallelFor(count_ * strips_, grain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end;) {
        int64_t index = i / strips_, from = 0, to = 0;
        for (int d = static_cast<int>(outer_.size()) - 1; d >= 0; --d) {
          const int64_t at = index % outer_[d].extent;
          index /= outer_[d].extent;
          from += at * outer_[d].from;
          to += at * outer_[d].to;
        }
        if (row_.from == 1) {
          std::memcpy(y + to, x + from, row_.extent * sizeof(float));
          ++i;
          continue;
        }
        const int64_t strip = i % strips_;
        const int64_t next = std::min(end, i - strip + strips_);
        const int64_t column = strip * kStrip;
        const int64_t columns = std::min(column_.extent, (strip + next - i) * kStrip) - column;
        best.transpose(x + from + column, row_.from, y + to + column * column_.to, column_.to,
                       row_.extent, columns);
        i = next;
      }
    });
    return absl::OkStatus();
  }

 private:
  static constexpr int64_t kStrip = 16;

  Axis row_;                 // along which the output is contiguous
  Axis column_ = {1, 1, 0};  // along which the input is
  Axes outer_;
  int64_t count_ = 1, strips_ = 1;
};

class TransposeImplementation final : public KernelImplementation {
 public:
  absl::string_view name() const override { return "vector_transpose"; }

  absl::StatusOr<KernelLayouts> Accept(const NodeSpec& spec) const override {
    const ElementType type = spec.input(0).type;
    if (type != ElementType::kFloat32 && type != ElementType::kInt32 &&
        type != ElementType::kUint32) {
      return absl::UnimplementedError("vector_transpose: elements of 32 bits only");
    }
    if (spec.input(0).shape.NumElements() == 0) {
      return absl::UnimplementedError("vector_transpose: empty tensor");
    }
    return KernelLayouts{{Layout::Plain()}, {Layout::Plain()}};
  }

  absl::StatusOr<std::unique_ptr<Kernel>> Create(const NodeSpec& spec) const override {
    // The reference kernel's factory checks the permutation.
    RETURN_IF_ERROR(spec.op().reference(spec).status());
    const Shape& x = spec.input(0).shape;
    std::vector<int64_t> perm = spec.attributes().GetInts("perm");
    if (!spec.attributes().has("perm")) {
      perm.resize(x.rank());
      std::iota(perm.rbegin(), perm.rend(), 0);
    }
    for (int64_t& axis : perm) axis += axis < 0 ? x.rank() : 0;
    return std::make_unique<TransposeKernel>(AxesOf(x, perm));
  }
};

}  // namespace

void RegisterTranspose(CandidateTable& table) {
  table.Add("Transpose", table.Own(std::make_unique<TransposeImplementation>()));
}

}  // namespace inferd::engine::cpu
