// MatMul, Gemm and their fused forms with a single row on the left: bound by reading the matrix,
// which is read once and as it lies, so nothing is packed.
#include <algorithm>
#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/kernel/kernel.h"
#include "engine/ops/fused_activation.h"
#include "engine/providers/cpu/candidate_table.h"
#include "engine/providers/cpu/vector/function_of.h"
#include "engine/providers/cpu/vector/kernels.h"
#include "engine/status_macros.h"

namespace inferd::engine::cpu {
namespace {

constexpr int kAddend = 2;  // C of Gemm, bias of FusedMatMul

// y[n] = activations(alpha * (x[k] times the matrix) + beta * addend).
struct Product {
  int64_t k = 0, n = 0;
  bool transposed = false;  // the matrix lies as [n, k]
  float alpha = 1, beta = 1;
};

bool IsGemm(const NodeSpec& spec) {
  return spec.op().name == "Gemm" || spec.op().name == "FusedGemm";
}

absl::StatusOr<Product> ProductOf(const NodeSpec& spec) {
  auto decline = [](absl::string_view reason) {
    return absl::UnimplementedError(absl::StrCat("vector_matvec: ", reason));
  };
  const OperandSpec& a = spec.input(0);
  const OperandSpec& b = spec.input(1);
  if (a.type != ElementType::kFloat32) return decline("float only");
  if (b.shape.rank() != 2 || a.shape.rank() < 1) return decline("a matrix on the right only");
  Product p;
  if (IsGemm(spec)) {
    p.transposed = spec.attributes().GetInt("transB", 0) != 0;
    p.alpha = spec.attributes().GetFloat("alpha", 1.0f);
    p.beta = spec.attributes().GetFloat("beta", 1.0f);
  }
  p.k = b.shape[p.transposed ? 1 : 0];
  p.n = b.shape[p.transposed ? 0 : 1];
  if (p.k == 0 || p.n == 0) return decline("empty operand");
  // One row, transposed or not, lies the same way.
  if (a.shape.NumElements() != p.k) return decline("more than one row");
  return p;
}

class MatVecKernel final : public Kernel {
 public:
  MatVecKernel(Product product, bool scalar_addend, UnaryChain chain)
      : p_(product), scalar_addend_(scalar_addend), chain_(std::move(chain)) {}

  absl::Status Run(KernelContext& context) const override {
    const float* x = context.input(0).as<float>();
    const float* w = context.input(1).as<float>();
    const float* c = context.has_input(kAddend) ? context.input(kAddend).as<float>() : nullptr;
    float* y = context.output(0).as<float>();
    const VectorKernels& vectors = Vectors();
    const int64_t grain = std::max<int64_t>(kColumns, kGrain / p_.k / kColumns * kColumns);
    context.threads().ParallelFor(p_.n, grain, [&](int64_t begin, int64_t end) {
      // Results that stay in the first-level cache while the matrix streams by.
      for (int64_t j = begin; j < end; j += kTile) {
        const int64_t n = std::min(kTile, end - j);
        if (p_.transposed) {
          vectors.dot_rows(x, w + j * p_.k, p_.k, n, p_.k, y + j);
        } else {
          vectors.combine_rows(x, w + j, p_.n, p_.k, n, y + j);
        }
        Finish(c, y, j, n);
      }
    });
    return absl::OkStatus();
  }

 private:
  static constexpr int64_t kColumns = 16;   // a cache line of results
  static constexpr int64_t kTile = 1024;    // results
  static constexpr int64_t kGrain = 65536;  // elements of the matrix worth waking a thread for

  void Finish(const float* c, float* y, int64_t j, int64_t n) const {
    for (int64_t i = j; i < j + n; ++i) {
      y[i] *= p_.alpha;
      if (c != nullptr) y[i] += p_.beta * c[scalar_addend_ ? 0 : i];
    }
    for (const UnaryStep& step : chain_) {
      Vectors().unary[static_cast<int>(step.function)](y + j, y + j, n, step.alpha, step.beta);
    }
  }

  Product p_;
  bool scalar_addend_;
  UnaryChain chain_;
};

class MatVecImplementation final : public KernelImplementation {
 public:
  absl::string_view name() const override { return "vector_matvec"; }

  absl::StatusOr<KernelLayouts> Accept(const NodeSpec& spec) const override {
    RETURN_IF_ERROR(ProductOf(spec).status());
    return KernelLayouts{std::vector<Layout>(spec.inputs.size()), {Layout::Plain()}};
  }

  absl::StatusOr<std::unique_ptr<Kernel>> Create(const NodeSpec& spec) const override {
    ASSIGN_OR_RETURN(const Product product, ProductOf(spec));
    ASSIGN_OR_RETURN(const ActivationChain activations, ReadActivations(spec.attributes()));
    const bool scalar = spec.has_input(kAddend) && spec.input(kAddend).shape.NumElements() == 1;
    return std::make_unique<MatVecKernel>(product, scalar, StepsOf(activations));
  }
};

}  // namespace

void RegisterMatVec(CandidateTable& table) {
  const auto* matvec = table.Own(std::make_unique<MatVecImplementation>());
  for (const char* op : {"MatMul", "Gemm", "inferd::FusedMatMul", "inferd::FusedGemm"}) {
    table.Add(op, matvec);
  }
}

}  // namespace inferd::engine::cpu
