// GlobalAveragePool in plain and blocked layouts, float32.
#include <algorithm>
#include <utility>
#include <vector>

#include "engine/kernel/kernel.h"
#include "engine/providers/cpu/blocked/channel_rows.h"
#include "engine/providers/cpu/candidate_table.h"
#include "engine/providers/cpu/vector/kernels.h"
#include "engine/status_macros.h"

namespace inferd::engine::cpu {
namespace {

class GlobalAveragePoolKernel final : public Kernel {
 public:
  explicit GlobalAveragePoolKernel(ChannelRows rows) : rows_(rows) {}

  absl::Status Run(KernelContext& context) const override {
    const float* x = context.input(0).as<float>();
    float* y = context.output(0).as<float>();
    const auto sum = Vectors().sum[LaneCountOf(rows_.lanes)];
    const int64_t positions = rows_.row_length / rows_.lanes;
    const int64_t grain = std::max<int64_t>(1, 16384 / rows_.row_length);
    context.threads().ParallelFor(rows_.rows, grain, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        // Padding lanes of the input are zero, so their sums are.
        float* sums = y + row * rows_.lanes;
        sum(x + row * rows_.row_length, positions, sums);
        for (int l = 0; l < rows_.lanes; ++l) sums[l] /= static_cast<float>(positions);
      }
    });
    return absl::OkStatus();
  }

 private:
  ChannelRows rows_;
};

class GlobalAveragePoolImplementation final : public KernelImplementation {
 public:
  absl::string_view name() const override { return "vector_global_average_pool"; }

  absl::StatusOr<KernelLayouts> Accept(const NodeSpec& spec) const override {
    const OperandSpec& x = spec.input(0);
    if (x.type != ElementType::kFloat32) {
      return absl::UnimplementedError("vector_global_average_pool: float only");
    }
    if (x.shape.rank() < 3 || x.shape.NumElements() == 0) {
      return absl::UnimplementedError("vector_global_average_pool: rank 3 or more, not empty");
    }
    return KernelLayouts{{x.layout}, {x.layout}};
  }

  absl::StatusOr<std::unique_ptr<Kernel>> Create(const NodeSpec& spec) const override {
    return std::make_unique<GlobalAveragePoolKernel>(
        ChannelRows::Of(spec.input(0).shape, spec.input(0).layout));
  }
};

}  // namespace

void RegisterGlobalAveragePool(CandidateTable& table) {
  table.Add("GlobalAveragePool", table.Own(std::make_unique<GlobalAveragePoolImplementation>()));
}

}  // namespace inferd::engine::cpu
