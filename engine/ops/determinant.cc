// Det: determinants of the matrices in the last two dimensions, by elimination with partial
// pivoting in double.
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/ops/all_ops.h"
#include "engine/ops/elementwise.h"
#include "engine/ops/op_def.h"
#include "engine/ops/schema.h"
#include "engine/ops/shape_functions.h"
#include "engine/status_macros.h"

namespace inferd::engine {
namespace {

absl::Status InferDet(InferenceContext& context) {
  RETURN_IF_ERROR(ExpectRank(context, 0, 2));
  const SymbolicShape& x = context.shape(0);
  SymbolicShape y;
  if (x.has_rank()) {
    if (!MergeDims(x[x.rank() - 2], x[x.rank() - 1]).ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat("input 0 has shape ", x.ToString(), ", expected square matrices"));
    }
    y = SymbolicShape(std::vector<Dim>(x.dims().begin(), x.dims().end() - 2));
  }
  context.SetOutput(0, context.element_type(0), std::move(y));
  return absl::OkStatus();
}

// Destroys the matrix.
double Determinant(double* a, int64_t n) {
  double result = 1;
  for (int64_t k = 0; k < n; ++k) {
    int64_t pivot = k;
    for (int64_t i = k + 1; i < n; ++i) {
      if (std::abs(a[i * n + k]) > std::abs(a[pivot * n + k])) pivot = i;
    }
    if (pivot != k) {
      std::swap_ranges(a + k * n + k, a + k * n + n, a + pivot * n + k);
      result = -result;
    }
    const double diagonal = a[k * n + k];
    result *= diagonal;
    if (diagonal == 0) return 0;
    for (int64_t i = k + 1; i < n; ++i) {
      const double factor = a[i * n + k] / diagonal;
      for (int64_t j = k + 1; j < n; ++j) a[i * n + j] -= factor * a[k * n + j];
    }
  }
  return result;
}

template <typename T>
class DetKernel final : public Kernel {
 public:
  DetKernel(int64_t matrices, int64_t size) : matrices_(matrices), size_(size) {}

  size_t workspace_bytes() const override { return sizeof(double) * matrices_ * size_ * size_; }

  absl::Status Run(KernelContext& context) const override {
    using Compute = ComputeType<T>;
    const int64_t elements = size_ * size_;
    const T* x = context.input(0).as<T>();
    T* y = context.output(0).as<T>();
    double* copies = static_cast<double*>(context.workspace());
    const int64_t grain = std::max<int64_t>(1, kElementwiseGrain / (elements * size_ + 1));
    context.threads().ParallelFor(matrices_, grain, [&](int64_t begin, int64_t end) {
      for (int64_t m = begin; m < end; ++m) {
        double* a = copies + m * elements;
        for (int64_t i = 0; i < elements; ++i) a[i] = static_cast<Compute>(x[m * elements + i]);
        y[m] = static_cast<T>(static_cast<Compute>(Determinant(a, size_)));
      }
    });
    return absl::OkStatus();
  }

 private:
  int64_t matrices_;
  int64_t size_;
};

absl::StatusOr<std::unique_ptr<Kernel>> DetReference(const NodeSpec& spec) {
  const Shape& x = spec.input(0).shape;
  std::unique_ptr<Kernel> kernel;
  const ElementType type = spec.input(0).type;
  if (!DispatchType<float, double, Float16, BFloat16>(type, [&]<typename T>() {
        kernel = std::make_unique<DetKernel<T>>(x.Product(0, x.rank() - 2), x[x.rank() - 1]);
      })) {
    return UnsupportedType(spec, type);
  }
  return kernel;
}

}  // namespace

void RegisterDeterminantOps(OpRegistry& registry) {
  registry.Register({.name = "Det",
                     .version = 22,
                     .oldest_version = 11,
                     .inputs = {RequiredParameter("X", "T", type_sets::kFloats)},
                     .outputs = {RequiredParameter("Y", "T", type_sets::kFloats)},
                     .infer = InferDet,
                     .reference = DetReference});
}

}  // namespace inferd::engine
