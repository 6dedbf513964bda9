// MatMul: NumPy's matmul, any ranks.
#include <memory>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/kernel/kernel.h"
#include "engine/ops/all_ops.h"
#include "engine/ops/matmul_shape.h"
#include "engine/ops/matrix_row.h"
#include "engine/ops/op_def.h"
#include "engine/ops/shape_functions.h"
#include "engine/ops/shape_input.h"
#include "engine/status_macros.h"

namespace inferd::engine {
namespace {

absl::Status Infer(InferenceContext& context) {
  const ElementType type = context.element_type(0);
  const SymbolicShape& a = context.shape(0);
  const SymbolicShape& b = context.shape(1);
  if (!a.has_rank() || !b.has_rank()) {
    context.SetOutput(0, type, {});
    return absl::OkStatus();
  }
  if (a.rank() == 0 || b.rank() == 0) {
    return absl::InvalidArgumentError(absl::StrCat("A has shape ", a.ToString(), " and B ",
                                                   b.ToString(), ", expected no scalars"));
  }
  const Dim& a_inner = a[a.rank() - 1];
  const Dim& b_inner = b[std::max(0, b.rank() - 2)];
  if (a_inner.known() && b_inner.known() && a_inner.value() != b_inner.value()) {
    return absl::InvalidArgumentError(absl::StrCat("cannot multiply A of shape ", a.ToString(),
                                                   " with B of shape ", b.ToString(),
                                                   ": inner dimensions differ"));
  }
  const auto batch = [](const SymbolicShape& s) {
    return SymbolicShape(
        std::vector<Dim>(s.dims().begin(), s.dims().begin() + std::max(0, s.rank() - 2)));
  };
  ASSIGN_OR_RETURN(const SymbolicShape batches, BroadcastSymbolicShapes(batch(a), batch(b)));
  std::vector<Dim> dims = batches.dims();
  if (a.rank() > 1) dims.push_back(a[a.rank() - 2]);
  if (b.rank() > 1) dims.push_back(b[b.rank() - 1]);
  context.SetOutput(0, type, SymbolicShape(std::move(dims)));
  return absl::OkStatus();
}

template <typename T>
std::unique_ptr<Kernel> MakeMatMul(const MatMulShape& m) {
  return MakeKernel([m](KernelContext& context) {
    const T* a = context.input(0).as<T>();
    const T* b = context.input(1).as<T>();
    T* y = context.output(0).as<T>();
    context.threads().ParallelFor(m.batch_size() * m.rows, 1, [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) {
        const int64_t product = r / m.rows;
        const MatrixView<T> left{a + m.a_offset(product), m.inner, 1};
        const MatrixView<T> right{b + m.b_offset(product), m.columns, 1};
        MultiplyRow(left, r % m.rows, right, m.inner, m.columns, [&](int64_t j, SumType<T> sum) {
          y[r * m.columns + j] = static_cast<T>(static_cast<ComputeType<T>>(sum));
        });
      }
    });
    return absl::OkStatus();
  });
}

absl::StatusOr<std::unique_ptr<Kernel>> Reference(const NodeSpec& spec) {
  ASSIGN_OR_RETURN(const MatMulShape m, ResolveMatMul(spec.input(0).shape, spec.input(1).shape));
  RETURN_IF_ERROR(CheckOutputShape(spec, 0, m.output));
  std::unique_ptr<Kernel> kernel;
  DispatchType<float, double, Float16, BFloat16, int32_t, int64_t, uint32_t, uint64_t>(
      spec.input(0).type, [&]<typename T>() { kernel = MakeMatMul<T>(m); });
  return kernel;
}

}  // namespace

void RegisterMatMulOps(OpRegistry& registry) {
  constexpr ElementTypeSet kTypes =
      type_sets::kFloats | ElementTypeSet{ElementType::kInt32, ElementType::kInt64,
                                          ElementType::kUint32, ElementType::kUint64};
  registry.Register({.name = "MatMul",
                     .version = 13,
                     .inputs = {{"A", "T", kTypes}, {"B", "T", kTypes}},
                     .outputs = {{"Y", "T", kTypes}},
                     .infer = Infer,
                     .reference = Reference});
}

}  // namespace inferd::engine
