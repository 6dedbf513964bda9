// com.microsoft.Inverse: the inverse of each matrix of a batch, by Gauss-Jordan elimination with
// partial pivoting in double. A singular matrix gives infinities and NaNs.
#include <cmath>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/kernel/kernel.h"
#include "engine/ops/elementwise.h"
#include "engine/ops/microsoft/microsoft_ops.h"
#include "engine/ops/op_def.h"
#include "engine/ops/schema.h"
#include "engine/ops/shape_functions.h"
#include "engine/status_macros.h"

namespace inferd::engine {
namespace {

absl::Status Infer(InferenceContext& context) {
  RETURN_IF_ERROR(ExpectRank(context, 0, 2));
  const SymbolicShape& x = context.shape(0);
  if (x.has_rank()) {
    const Dim &rows = x[x.rank() - 2], &columns = x[x.rank() - 1];
    if (rows.known() && columns.known() && rows.value() != columns.value()) {
      return absl::InvalidArgumentError(
          absl::StrCat("X has shape ", x.ToString(), ", expected square matrices"));
    }
  }
  return InferSameAsInput(context);
}

// Turns the n x 2n matrix [A | I] into [I | inverse of A].
void Eliminate(double* m, int64_t n) {
  const int64_t width = 2 * n;
  for (int64_t k = 0; k < n; ++k) {
    int64_t pivot = k;
    for (int64_t r = k + 1; r < n; ++r) {
      if (std::abs(m[r * width + k]) > std::abs(m[pivot * width + k])) pivot = r;
    }
    if (pivot != k) std::swap_ranges(m + k * width, m + (k + 1) * width, m + pivot * width);
    const double factor = 1 / m[k * width + k];
    for (int64_t j = 0; j < width; ++j) m[k * width + j] *= factor;
    for (int64_t r = 0; r < n; ++r) {
      const double multiple = m[r * width + k];
      if (r == k || multiple == 0) continue;
      for (int64_t j = 0; j < width; ++j) m[r * width + j] -= multiple * m[k * width + j];
    }
  }
}

template <typename T>
class InverseKernel final : public Kernel {
 public:
  InverseKernel(int64_t batch, int64_t n) : batch_(batch), n_(n) {}
  // Without a matrix n may be anything.
  size_t workspace_bytes() const override { return batch_ == 0 ? 0 : 2 * n_ * n_ * sizeof(double); }

  absl::Status Run(KernelContext& context) const override {
    double* m = static_cast<double*>(context.workspace());
    for (int64_t b = 0; b < batch_; ++b) {
      const T* x = context.input(0).as<T>() + b * n_ * n_;
      T* y = context.output(0).as<T>() + b * n_ * n_;
      for (int64_t i = 0; i < n_; ++i) {
        for (int64_t j = 0; j < n_; ++j) {
          m[i * 2 * n_ + j] = static_cast<ComputeType<T>>(x[i * n_ + j]);
          m[i * 2 * n_ + n_ + j] = i == j;
        }
      }
      Eliminate(m, n_);
      for (int64_t i = 0; i < n_; ++i) {
        for (int64_t j = 0; j < n_; ++j) {
          y[i * n_ + j] = static_cast<T>(static_cast<ComputeType<T>>(m[i * 2 * n_ + n_ + j]));
        }
      }
    }
    return absl::OkStatus();
  }

 private:
  int64_t batch_, n_;
};

absl::StatusOr<std::unique_ptr<Kernel>> Reference(const NodeSpec& spec) {
  const Shape& x = spec.input(0).shape;
  std::unique_ptr<Kernel> kernel;
  if (!DispatchType<float, double, Float16>(spec.input(0).type, [&]<typename T>() {
        kernel = std::make_unique<InverseKernel<T>>(x.Product(0, x.rank() - 2), x[x.rank() - 1]);
      })) {
    return UnsupportedType(spec, spec.input(0).type);
  }
  return kernel;
}

}  // namespace

void RegisterInverseOps(OpRegistry& registry) {
  constexpr ElementTypeSet kTypes = {ElementType::kFloat32, ElementType::kFloat64,
                                     ElementType::kFloat16};
  registry.Register({.domain = "com.microsoft",
                     .name = "Inverse",
                     .inputs = {RequiredParameter("X", "T", kTypes)},
                     .outputs = {RequiredParameter("Y", "T", kTypes)},
                     .infer = Infer,
                     .reference = Reference});
}

}  // namespace inferd::engine
