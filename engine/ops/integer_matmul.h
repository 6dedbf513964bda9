// Matrix products of 8-bit integers with 32-bit sums: MatMulInteger, QLinearMatMul and the
// com.microsoft operators built on them.
#pragma once

#include <cstdint>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "engine/ir/value_type.h"
#include "engine/kernel/kernel.h"
#include "engine/ops/matmul_shape.h"
#include "engine/tensor/tensor.h"

namespace inferd::engine {

// Shape of a matrix product where either side may be unknown.
absl::StatusOr<SymbolicShape> InferMatMulShape(const SymbolicShape& a, const SymbolicShape& b);

// Where a value per row (of A) or per column (of B) is found: one for all, one for each of `lines`
// repeated over the batch, or one for each line of each matrix.
struct PerLine {
  int64_t count = 1;
  int64_t lines = 1;
  int64_t index(int64_t matrix, int64_t line) const {
    return count == 1 ? 0 : count == lines ? line : matrix * lines + line;
  }
};
// INVALID_ARGUMENT naming the input for any other count. `batch` is the number of matrices.
absl::StatusOr<PerLine> ResolvePerLine(absl::string_view input, const Shape& values, int64_t lines,
                                       int64_t batch);

class IntegerMatMul {
 public:
  // One operand: its shape and type, and where its values and zero points come from.
  struct Operand {
    const OperandSpec* values = nullptr;
    const OperandSpec* zero_points = nullptr;  // null: none
    // Of [columns, rows] matrices instead of [rows, columns].
    bool transposed = false;
  };
  // Addresses at run time. Zero points are of the operand's own type, null where there are none.
  struct Data {
    const void* a = nullptr;
    const void* a_zero_points = nullptr;
    const void* b = nullptr;
    const void* b_zero_points = nullptr;
  };

  // B is packed now where its values and zero points are constant; `packed_weights` may be null.
  static absl::StatusOr<IntegerMatMul> Make(const Operand& a, const Operand& b, int threads,
                                            PackedWeights* packed_weights);

  const MatMulShape& shape() const { return shape_; }
  // Matrices A and B have in all, before broadcasting.
  int64_t a_matrices() const { return a_.matrices; }
  int64_t b_matrices() const { return b_.matrices; }
  // Which of its matrices each side contributes to product i.
  int64_t a_matrix(int64_t product) const;
  int64_t b_matrix(int64_t product) const;

  size_t workspace_bytes() const { return workspace_bytes_; }
  size_t held_bytes() const { return held_bytes_; }

  // sums[i] is element [row, first_column + i] of product `product`.
  using FinishFn = absl::FunctionRef<void(int64_t product, int64_t row, int64_t first_column,
                                          int64_t count, const int32_t* sums)>;
  // Calls finish, from several threads at once, with every sum once.
  void Run(KernelContext& context, const Data& data, void* workspace, FinishFn finish) const;

 private:
  struct Side {
    ElementType type = ElementType::kUndefined;
    int64_t matrices = 1;
    int64_t lines = 1;  // rows of A, columns of B
    // Elements between neighbours along a line and between lines.
    int64_t inner_stride = 1;
    int64_t line_stride = 1;
    PerLine zero_points;
    bool has_zero_points = false;
  };

  absl::StatusOr<Side> ResolveSide(absl::string_view name, const Operand& operand, bool is_a) const;
  absl::Status PackB(const Operand& b, PackedWeights* packed_weights);
  void PackLines(const Side& side, const void* values, const void* zero_points, int64_t begin,
                 int64_t end, int16_t* packed) const;

  MatMulShape shape_;
  Side a_;
  Side b_;
  int64_t depth_ = 0;  // shape_.inner, padded to whole vectors
  int64_t row_block_ = 1;
  int64_t column_block_ = 1;
  int64_t slots_ = 1;  // threads with workspace of their own
  Tensor packed_b_;    // undefined: B is packed at run time
  size_t workspace_bytes_ = 0;
  size_t held_bytes_ = 0;
};

}  // namespace inferd::engine
