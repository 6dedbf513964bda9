// com.microsoft.FusedMatMul where the ranks of its operands are not known on import; where they
// are it comes in as Transpose, MatMul and Mul. alpha times the product of A and B, each of them
// transposed before.
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/kernel/kernel.h"
#include "engine/ops/elementwise.h"
#include "engine/ops/matmul_shape.h"
#include "engine/ops/matrix_row.h"
#include "engine/ops/microsoft/microsoft_ops.h"
#include "engine/ops/op_def.h"
#include "engine/ops/schema.h"
#include "engine/ops/shape_functions.h"
#include "engine/ops/shape_input.h"
#include "engine/ops/strided_copy.h"
#include "engine/status_macros.h"

namespace inferd::engine {
namespace {

// The order of the dimensions of operand `side` ("A" or "B") in the product.
std::vector<int> OrderOf(const Attributes& attributes, const char* side, int rank) {
  std::vector<int> order(rank);
  for (int d = 0; d < rank; ++d) order[d] = d;
  if (rank < 2) return order;
  if (attributes.GetInt(absl::StrCat("transBatch", side), 0) != 0) {
    for (int d = 0; d + 2 < rank; ++d) order[d] = d + 1;
    order[rank - 2] = 0;
  }
  if (attributes.GetInt(absl::StrCat("trans", side), 0) != 0) {
    std::swap(order[rank - 2], order[rank - 1]);
  }
  return order;
}

absl::Status Infer(InferenceContext& context) {
  SymbolicShape shapes[2];
  for (int i = 0; i < 2; ++i) {
    RETURN_IF_ERROR(ExpectRank(context, i, 1));
    const SymbolicShape& shape = context.shape(i);
    if (!shape.has_rank()) {
      context.SetOutput(0, context.element_type(0), {});
      return absl::OkStatus();
    }
    std::vector<Dim> dims;
    for (const int d : OrderOf(context.attributes(), i == 0 ? "A" : "B", shape.rank())) {
      dims.push_back(shape[d]);
    }
    shapes[i] = SymbolicShape(std::move(dims));
  }
  const auto& [a, b] = shapes;
  const Dim &a_inner = a[a.rank() - 1], &b_inner = b[std::max(0, b.rank() - 2)];
  if (a_inner.known() && b_inner.known() && a_inner.value() != b_inner.value()) {
    return absl::InvalidArgumentError(absl::StrCat("cannot multiply A, transposed to ",
                                                   a.ToString(), ", with B, transposed to ",
                                                   b.ToString(), ": inner dimensions differ"));
  }
  const auto batch = [](const SymbolicShape& s) {
    return SymbolicShape(
        std::vector<Dim>(s.dims().begin(), s.dims().begin() + std::max(0, s.rank() - 2)));
  };
  ASSIGN_OR_RETURN(const SymbolicShape batches, BroadcastSymbolicShapes(batch(a), batch(b)));
  std::vector<Dim> dims = batches.dims();
  if (a.rank() > 1) dims.push_back(a[a.rank() - 2]);
  if (b.rank() > 1) dims.push_back(b[b.rank() - 1]);
  context.SetOutput(0, context.element_type(0), SymbolicShape(std::move(dims)));
  return absl::OkStatus();
}

struct Operand {
  Shape shape;  // in the product
  StridedCopy copy;
  size_t bytes;
};

absl::StatusOr<Operand> OperandOf(const NodeSpec& spec, int i) {
  const Shape& shape = spec.input(i).shape;
  const auto strides = RowMajorStrides(shape);
  Shape dims;
  std::vector<int64_t> read;
  for (const int d : OrderOf(spec.attributes(), i == 0 ? "A" : "B", shape.rank())) {
    dims.push_back(shape[d]);
    read.push_back(strides[d]);
  }
  const ElementType type = spec.input(i).type;
  ASSIGN_OR_RETURN(StridedCopy copy,
                   StridedCopy::Make(type, {.dims = dims.dims(), .strides = read}));
  const size_t bytes = ElementBytes(type, shape.NumElements());
  return Operand{std::move(dims), copy, (bytes + kBufferAlignment - 1) & ~(kBufferAlignment - 1)};
}

template <typename T>
class FusedMatMulKernel final : public Kernel {
 public:
  FusedMatMulKernel(Operand a, Operand b, MatMulShape shape, float alpha)
      : a_(std::move(a)), b_(std::move(b)), m_(std::move(shape)), alpha_(alpha) {}
  size_t workspace_bytes() const override { return a_.bytes + b_.bytes; }

  absl::Status Run(KernelContext& context) const override {
    char* workspace = static_cast<char*>(context.workspace());
    T* a = reinterpret_cast<T*>(workspace);
    T* b = reinterpret_cast<T*>(workspace + a_.bytes);
    a_.copy.Run(context.input(0).data, a);
    b_.copy.Run(context.input(1).data, b);
    T* y = context.output(0).as<T>();
    context.threads().ParallelFor(m_.batch_size() * m_.rows, 1, [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) {
        const int64_t product = r / m_.rows;
        const MatrixView<T> left{a + m_.a_offset(product), m_.inner, 1};
        const MatrixView<T> right{b + m_.b_offset(product), m_.columns, 1};
        MultiplyRow(left, r % m_.rows, right, m_.inner, m_.columns, [&](int64_t j, double sum) {
          y[r * m_.columns + j] = static_cast<T>(static_cast<ComputeType<T>>(alpha_ * sum));
        });
      }
    });
    return absl::OkStatus();
  }

 private:
  Operand a_, b_;
  MatMulShape m_;
  float alpha_;
};

absl::StatusOr<std::unique_ptr<Kernel>> Reference(const NodeSpec& spec) {
  ASSIGN_OR_RETURN(Operand a, OperandOf(spec, 0));
  ASSIGN_OR_RETURN(Operand b, OperandOf(spec, 1));
  ASSIGN_OR_RETURN(MatMulShape shape, ResolveMatMul(a.shape, b.shape));
  RETURN_IF_ERROR(CheckOutputShape(spec, 0, shape.output));
  const float alpha = spec.attributes().GetFloat("alpha", 1.0f);
  std::unique_ptr<Kernel> kernel;
  if (!DispatchType<float, double, Float16, BFloat16>(spec.input(0).type, [&]<typename T>() {
        kernel = std::make_unique<FusedMatMulKernel<T>>(std::move(a), std::move(b),
                                                        std::move(shape), alpha);
      })) {
    return UnsupportedType(spec, spec.input(0).type);
  }
  return kernel;
}

}  // namespace

void RegisterFusedMatMulOps(OpRegistry& registry) {
  using Kind = AttributeSpec::Kind;
  registry.Register({.domain = "com.microsoft",
                     .name = "FusedMatMul",
                     .inputs = {RequiredParameter("A", "T", type_sets::kFloats),
                                RequiredParameter("B", "T", type_sets::kFloats)},
                     .outputs = {RequiredParameter("Y", "T", type_sets::kFloats)},
                     .attributes = {{"alpha", Kind::kFloat},
                                    {"transA", Kind::kInt},
                                    {"transB", Kind::kInt},
                                    {"transBatchA", Kind::kInt},
                                    {"transBatchB", Kind::kInt}},
                     .infer = Infer,
                     .reference = Reference});
}

}  // namespace inferd::engine
