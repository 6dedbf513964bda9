// Gemm: alpha * op(A) * op(B) + beta * C, C broadcast to the result.
#include <cmath>
#include <limits>
#include <memory>
#include <type_traits>

#include "absl/strings/str_cat.h"
#include "engine/kernel/kernel.h"
#include "engine/ops/all_ops.h"
#include "engine/ops/matrix_row.h"
#include "engine/ops/op_def.h"
#include "engine/ops/shape_functions.h"
#include "engine/ops/shape_input.h"
#include "engine/status_macros.h"

namespace inferd::engine {
namespace {

absl::Status Infer(InferenceContext& context) {
  for (int i = 0; i < 2; ++i) RETURN_IF_ERROR(ExpectRank(context, i, 2, 2));
  const bool transpose_a = context.attributes().GetInt("transA", 0) != 0;
  const bool transpose_b = context.attributes().GetInt("transB", 0) != 0;
  const SymbolicShape a = context.shape(0).has_rank() ? context.shape(0) : SymbolicShape::OfRank(2);
  const SymbolicShape b = context.shape(1).has_rank() ? context.shape(1) : SymbolicShape::OfRank(2);
  const Dim& a_inner = a[transpose_a ? 0 : 1];
  const Dim& b_inner = b[transpose_b ? 1 : 0];
  if (a_inner.known() && b_inner.known() && a_inner.value() != b_inner.value()) {
    return absl::InvalidArgumentError(
        absl::StrCat("cannot multiply A of shape ", a.ToString(), transpose_a ? " transposed" : "",
                     " with B of shape ", b.ToString(), transpose_b ? " transposed" : "",
                     ": inner dimensions differ"));
  }
  SymbolicShape y({a[transpose_a ? 1 : 0], b[transpose_b ? 0 : 1]});
  if (context.has_input(2) && context.shape(2).has_rank()) {
    const SymbolicShape& c = context.shape(2);
    bool fits = c.rank() <= 2;
    for (int i = 0; fits && i < c.rank(); ++i) {
      const Dim& target = y[2 - c.rank() + i];
      fits =
          !c[i].known() || c[i].value() == 1 || !target.known() || c[i].value() == target.value();
    }
    if (!fits) {
      return absl::InvalidArgumentError(absl::StrCat(
          "C has shape ", c.ToString(), ", which does not broadcast to ", y.ToString()));
    }
  }
  context.SetOutput(0, context.element_type(0), std::move(y));
  return absl::OkStatus();
}

struct GemmShape {
  int64_t rows, inner, columns;
  int64_t a_row, a_column, b_row, b_column;  // strides
  int64_t c_row, c_column;                   // 0 where C is repeated
  bool has_c;
  float alpha, beta;
};

// alpha * sum + beta * c. Exact modulo 2^bits where both factors are 1, as integer models have it.
template <typename T>
T Combine(const GemmShape& g, SumType<T> sum, T c) {
  if constexpr (std::is_integral_v<T>) {
    if (g.alpha == 1 && (g.beta == 1 || !g.has_c)) {
      return static_cast<T>(sum + static_cast<uint64_t>(c));
    }
    const double value = static_cast<double>(g.alpha) * static_cast<double>(static_cast<T>(sum)) +
                         static_cast<double>(g.beta) * static_cast<double>(c);
    if (!(value > static_cast<double>(std::numeric_limits<T>::min()))) {
      return std::numeric_limits<T>::min();
    }
    if (value >= static_cast<double>(std::numeric_limits<T>::max())) {
      return std::numeric_limits<T>::max();
    }
    return static_cast<T>(value);
  } else {
    const double scaled = g.alpha * sum;
    const double value =
        g.has_c ? scaled + g.beta * static_cast<double>(static_cast<ComputeType<T>>(c)) : scaled;
    return static_cast<T>(static_cast<ComputeType<T>>(value));
  }
}

template <typename T>
std::unique_ptr<Kernel> MakeGemm(const GemmShape& g) {
  return MakeKernel([g](KernelContext& context) {
    const MatrixView<T> a{context.input(0).as<T>(), g.a_row, g.a_column};
    const MatrixView<T> b{context.input(1).as<T>(), g.b_row, g.b_column};
    const T* c = g.has_c ? context.input(2).as<T>() : nullptr;
    T* y = context.output(0).as<T>();
    context.threads().ParallelFor(g.rows, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        MultiplyRow(a, i, b, g.inner, g.columns, [&](int64_t j, SumType<T> sum) {
          const T addend = c == nullptr ? T{} : c[i * g.c_row + j * g.c_column];
          y[i * g.columns + j] = Combine<T>(g, sum, addend);
        });
      }
    });
    return absl::OkStatus();
  });
}

absl::StatusOr<std::unique_ptr<Kernel>> Reference(const NodeSpec& spec) {
  const Shape& a = spec.input(0).shape;
  const Shape& b = spec.input(1).shape;
  const Attributes& attributes = spec.attributes();
  const bool transpose_a = attributes.GetInt("transA", 0) != 0;
  const bool transpose_b = attributes.GetInt("transB", 0) != 0;
  GemmShape g{};
  g.rows = a[transpose_a ? 1 : 0];
  g.inner = a[transpose_a ? 0 : 1];
  g.columns = b[transpose_b ? 0 : 1];
  if (b[transpose_b ? 1 : 0] != g.inner) {
    return absl::InvalidArgumentError(
        absl::StrCat("inner dimensions of ", a.ToString(), " and ", b.ToString(), " differ"));
  }
  RETURN_IF_ERROR(CheckOutputShape(spec, 0, Shape{g.rows, g.columns}));
  g.a_row = transpose_a ? 1 : a[1];
  g.a_column = transpose_a ? a[1] : 1;
  g.b_row = transpose_b ? 1 : b[1];
  g.b_column = transpose_b ? b[1] : 1;
  g.alpha = attributes.GetFloat("alpha", 1.0f);
  g.beta = attributes.GetFloat("beta", 1.0f);
  // As in BLAS, C is not read where beta is 0, so that its NaNs do not spread.
  g.has_c = spec.has_input(2) && g.beta != 0;
  if (g.has_c) {
    const Shape& c = spec.input(2).shape;
    const int64_t c_rows = c.rank() == 2 ? c[0] : 1;
    const int64_t c_columns = c.rank() >= 1 ? c[c.rank() - 1] : 1;
    if (c.rank() > 2 || (c_rows != 1 && c_rows != g.rows) ||
        (c_columns != 1 && c_columns != g.columns)) {
      return absl::InvalidArgumentError(absl::StrCat("C has shape ", c.ToString(),
                                                     ", which does not broadcast to [", g.rows, ",",
                                                     g.columns, "]"));
    }
    g.c_row = c_rows == 1 ? 0 : c_columns;
    g.c_column = c_columns == 1 ? 0 : 1;
  }
  std::unique_ptr<Kernel> kernel;
  DispatchType<float, double, Float16, BFloat16, int32_t, int64_t, uint32_t, uint64_t>(
      spec.input(0).type, [&]<typename T>() { kernel = MakeGemm<T>(g); });
  return kernel;
}

}  // namespace

void RegisterGemmOps(OpRegistry& registry) {
  using Kind = AttributeSpec::Kind;
  constexpr ElementTypeSet kTypes =
      type_sets::kFloats | ElementTypeSet{ElementType::kInt32, ElementType::kInt64,
                                          ElementType::kUint32, ElementType::kUint64};
  registry.Register({.name = "Gemm",
                     .version = 13,
                     .inputs = {{"A", "T", kTypes},
                                {"B", "T", kTypes},
                                {"C", "T", kTypes, FormalParameter::Option::kOptional}},
                     .outputs = {{"Y", "T", kTypes}},
                     .attributes = {{"alpha", Kind::kFloat},
                                    {"beta", Kind::kFloat},
                                    {"transA", Kind::kInt},
                                    {"transB", Kind::kInt}},
                     .infer = Infer,
                     .reference = Reference});
}

}  // namespace inferd::engine
