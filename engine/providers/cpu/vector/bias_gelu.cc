// com.microsoft::BiasGelu, and FastGelu with a bias: of float, in plain layout.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "engine/kernel/kernel.h"
#include "engine/ops/op_def.h"
#include "engine/providers/cpu/candidate_table.h"
#include "engine/providers/cpu/vector/kernels.h"
#include "engine/status_macros.h"

namespace inferd::engine::cpu {
namespace {

constexpr int64_t kGrain = 4096;  // elements worth waking a thread for
constexpr int64_t kPiece = 2048;  // elements between two loops, in the first-level cache

class BiasGeluKernel final : public Kernel {
 public:
  BiasGeluKernel(UnaryFunction function, int64_t rows, int64_t n)
      : function_(function), rows_(rows), n_(n) {}

  absl::Status Run(KernelContext& context) const override {
    const float* x = context.input(0).as<float>();
    const float* bias = context.input(1).as<float>();
    float* y = context.output(0).as<float>();
    const BinaryLoop add = Vectors().binary[static_cast<int>(BinaryFunction::kAdd)];
    const UnaryLoop gelu = Vectors().unary[static_cast<int>(function_)];
    const int64_t grain = std::max<int64_t>(1, kGrain / n_);
    context.threads().ParallelFor(rows_, grain, [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) {
        for (int64_t i = 0; i < n_; i += kPiece) {
          const int64_t at = r * n_ + i, count = std::min(kPiece, n_ - i);
          add(x + at, bias + i, y + at, count);
          gelu(y + at, y + at, count, 0, 0);
        }
      }
    });
    return absl::OkStatus();
  }

 private:
  UnaryFunction function_;
  int64_t rows_, n_;
};

class BiasGeluImplementation final : public KernelImplementation {
 public:
  absl::string_view name() const override { return "vector_bias_gelu"; }

  absl::StatusOr<KernelLayouts> Accept(const NodeSpec& spec) const override {
    if (spec.input(0).type != ElementType::kFloat32) {
      return absl::UnimplementedError("vector_bias_gelu: float only");
    }
    if (!spec.has_input(1)) return absl::UnimplementedError("vector_bias_gelu: no bias");
    if (spec.input(0).shape.NumElements() == 0) {
      return absl::UnimplementedError("vector_bias_gelu: empty tensor");
    }
    return KernelLayouts{std::vector<Layout>(spec.inputs.size()), {Layout::Plain()}};
  }

  absl::StatusOr<std::unique_ptr<Kernel>> Create(const NodeSpec& spec) const override {
    // The reference kernel's factory checks the shape of the bias.
    RETURN_IF_ERROR(spec.op().reference(spec).status());
    const int64_t n = spec.input(1).shape.NumElements();
    return std::make_unique<BiasGeluKernel>(
        spec.op().name == "FastGelu" ? UnaryFunction::kGeluTanh : UnaryFunction::kGelu,
        spec.input(0).shape.NumElements() / n, n);
  }
};

}  // namespace

void RegisterBiasGelu(CandidateTable& table) {
  const auto* gelu = table.Own(std::make_unique<BiasGeluImplementation>());
  for (const char* op : {"com.microsoft::BiasGelu", "com.microsoft::FastGelu"}) table.Add(op, gelu);
}

}  // namespace inferd::engine::cpu
