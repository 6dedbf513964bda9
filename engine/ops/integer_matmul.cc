#include "engine/ops/integer_matmul.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "engine/kernel/packed_weights.h"
#include "engine/ops/integer_product.h"
#include "engine/ops/shape_functions.h"
#include "engine/status_macros.h"

namespace inferd::engine {
namespace {

// A tile of sums.
constexpr int64_t kRows = 32;
constexpr int64_t kColumns = 64;

// [.., m, n] as [.., n, m].
Shape Transposed(const Shape& shape) {
  Shape result = shape;
  if (shape.rank() >= 2) {
    std::swap(result[shape.rank() - 2], result[shape.rank() - 1]);
  }
  return result;
}

}  // namespace

absl::StatusOr<SymbolicShape> InferMatMulShape(const SymbolicShape& a, const SymbolicShape& b) {
  if (!a.has_rank() || !b.has_rank()) return SymbolicShape();
  const auto mismatch = [&](absl::string_view why) {
    return absl::InvalidArgumentError(absl::StrCat("cannot multiply A of shape ", a.ToString(),
                                                   " with B of shape ", b.ToString(), ": ", why));
  };
  if (a.rank() == 0 || b.rank() == 0) return mismatch("a scalar is not a matrix");
  const Dim& a_inner = a[a.rank() - 1];
  const Dim& b_inner = b[std::max(0, b.rank() - 2)];
  if (a_inner.known() && b_inner.known() && a_inner.value() != b_inner.value()) {
    return mismatch("inner dimensions differ");
  }
  const auto batch = [](const SymbolicShape& s) {
    return SymbolicShape(
        std::vector<Dim>(s.dims().begin(), s.dims().begin() + std::max(0, s.rank() - 2)));
  };
  ASSIGN_OR_RETURN(const SymbolicShape batches, BroadcastSymbolicShapes(batch(a), batch(b)));
  std::vector<Dim> dims = batches.dims();
  if (a.rank() > 1) dims.push_back(a[a.rank() - 2]);
  if (b.rank() > 1) dims.push_back(b[b.rank() - 1]);
  return SymbolicShape(std::move(dims));
}

absl::StatusOr<PerLine> ResolvePerLine(absl::string_view input, const Shape& values, int64_t lines,
                                       int64_t batch) {
  PerLine per_line;
  per_line.count = values.NumElements();
  per_line.lines = lines;
  if (per_line.count == 1 || per_line.count == lines ||
      per_line.count == Shape{batch, lines}.CheckedNumElements().value_or(-1)) {
    return per_line;
  }
  return absl::InvalidArgumentError(absl::StrCat("input ", input, " has shape ", values.ToString(),
                                                 ", expected 1, ", lines, " or ", batch, " x ",
                                                 lines, " elements"));
}

absl::StatusOr<IntegerMatMul::Side> IntegerMatMul::ResolveSide(absl::string_view name,
                                                               const Operand& operand,
                                                               bool is_a) const {
  Side side;
  const Shape& shape = operand.values->shape;
  side.type = operand.values->type;
  side.lines = is_a ? shape_.rows : shape_.columns;
  side.matrices = shape.Product(0, std::max(0, shape.rank() - 2));
  // Lines of A are rows, lines of B columns; transposition turns one into the other.
  const bool contiguous = is_a != operand.transposed || (shape.rank() == 1);
  side.inner_stride = contiguous ? 1 : side.lines;
  side.line_stride = contiguous ? shape_.inner : 1;
  if (operand.zero_points != nullptr) {
    ASSIGN_OR_RETURN(side.zero_points,
                     ResolvePerLine(absl::StrCat(name, "_zero_point"), operand.zero_points->shape,
                                    side.lines, side.matrices));
    side.has_zero_points = true;
  }
  return side;
}

absl::StatusOr<IntegerMatMul> IntegerMatMul::Make(const Operand& a, const Operand& b, int threads,
                                                  PackedWeights* packed_weights) {
  IntegerMatMul m;
  ASSIGN_OR_RETURN(m.shape_,
                   ResolveMatMul(a.transposed ? Transposed(a.values->shape) : a.values->shape,
                                 b.transposed ? Transposed(b.values->shape) : b.values->shape));
  ASSIGN_OR_RETURN(m.a_, m.ResolveSide("a", a, true));
  ASSIGN_OR_RETURN(m.b_, m.ResolveSide("b", b, false));
  m.depth_ = PaddedDepth(m.shape_.inner);
  RETURN_IF_ERROR(m.PackB(b, packed_weights));
  m.slots_ = std::max(1, threads);
  m.row_block_ = std::min(kRows, std::max<int64_t>(1, m.shape_.rows));
  m.column_block_ = std::min(kColumns, std::max<int64_t>(1, m.shape_.columns));
  m.workspace_bytes_ = m.a_.matrices * m.a_.lines * m.depth_ * sizeof(int16_t) +
                       m.slots_ * m.row_block_ * m.column_block_ * sizeof(int32_t);
  if (!m.packed_b_.defined()) {
    m.workspace_bytes_ += m.b_.matrices * m.b_.lines * m.depth_ * sizeof(int16_t);
  }
  return m;
}

absl::Status IntegerMatMul::PackB(const Operand& b, PackedWeights* packed_weights) {
  const Tensor* values = b.values->constant;
  if (values == nullptr) return absl::OkStatus();
  if (b.zero_points != nullptr && b.zero_points->constant == nullptr) return absl::OkStatus();
  const void* zero_points =
      b.zero_points == nullptr ? nullptr : b.zero_points->constant->view().data;
  const auto pack = [&]() -> absl::StatusOr<Tensor> {
    ASSIGN_OR_RETURN(Tensor packed,
                     Tensor::Allocate(ElementType::kInt16, Shape{b_.matrices, b_.lines, depth_}));
    PackLines(b_, values->view().data, zero_points, 0, b_.matrices * b_.lines,
              packed.mutable_data<int16_t>());
    return packed;
  };
  if (packed_weights != nullptr) {
    const std::string form = absl::StrCat(
        "int16 columns of ", depth_, b.transposed ? " transposed" : "", " less ",
        zero_points == nullptr ? ""
                               : absl::BytesToHexString(absl::string_view(
                                     static_cast<const char*>(zero_points), b_.zero_points.count)));
    ASSIGN_OR_RETURN(packed_b_, packed_weights->GetOrPack(*values, form, pack));
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(packed_b_, pack());
  held_bytes_ = packed_b_.num_bytes();
  return absl::OkStatus();
}

void IntegerMatMul::PackLines(const Side& side, const void* values, const void* zero_points,
                              int64_t begin, int64_t end, int16_t* packed) const {
  const int64_t inner = shape_.inner;
  for (int64_t i = begin; i < end; ++i) {
    const int64_t matrix = i / side.lines;
    const int64_t line = i % side.lines;
    const int zero = zero_points == nullptr
                         ? 0
                         : LoadByte(side.type, zero_points, side.zero_points.index(matrix, line));
    WidenRow(side.type, values, matrix * side.lines * inner + line * side.line_stride,
             side.inner_stride, inner, zero, depth_, packed + i * depth_);
  }
}

int64_t IntegerMatMul::a_matrix(int64_t product) const {
  const int64_t size = shape_.rows * shape_.inner;
  return size == 0 ? 0 : shape_.a_offset(product) / size;
}

int64_t IntegerMatMul::b_matrix(int64_t product) const {
  const int64_t size = shape_.inner * shape_.columns;
  return size == 0 ? 0 : shape_.b_offset(product) / size;
}

void IntegerMatMul::Run(KernelContext& context, const Data& data, void* workspace,
                        FinishFn finish) const {
  int16_t* memory = static_cast<int16_t*>(workspace);
  const auto pack = [&](const Side& side, const void* values, const void* zero_points) {
    int16_t* packed = memory;
    const int64_t lines = side.matrices * side.lines;
    memory += lines * depth_;
    context.threads().ParallelFor(
        lines, std::max<int64_t>(1, (1 << 14) / std::max<int64_t>(1, depth_)),
        [&](int64_t begin, int64_t end) {
          PackLines(side, values, side.has_zero_points ? zero_points : nullptr, begin, end, packed);
        });
    return packed;
  };
  const int16_t* a = pack(a_, data.a, data.a_zero_points);
  const int16_t* b =
      packed_b_.defined() ? packed_b_.data<int16_t>() : pack(b_, data.b, data.b_zero_points);
  int32_t* tiles = reinterpret_cast<int32_t*>(memory);
  const int64_t row_blocks = (shape_.rows + row_block_ - 1) / row_block_;
  const int64_t column_blocks = (shape_.columns + column_block_ - 1) / column_block_;
  const int64_t items = shape_.batch_size() * row_blocks * column_blocks;
  context.threads().ParallelFor(slots_, 1, [&](int64_t slot_begin, int64_t slot_end) {
    for (int64_t slot = slot_begin; slot < slot_end; ++slot) {
      int32_t* sums = tiles + slot * row_block_ * column_block_;
      for (int64_t item = items * slot / slots_; item < items * (slot + 1) / slots_; ++item) {
        // Neighbouring items share their columns: B is the larger side as a rule.
        const int64_t row = item % row_blocks * row_block_;
        const int64_t column = item / row_blocks % column_blocks * column_block_;
        const int64_t product = item / row_blocks / column_blocks;
        const int64_t rows = std::min(row_block_, shape_.rows - row);
        const int64_t columns = std::min(column_block_, shape_.columns - column);
        MultiplyInt16(a + (a_matrix(product) * shape_.rows + row) * depth_, rows,
                      b + (b_matrix(product) * shape_.columns + column) * depth_, columns, depth_,
                      sums, columns);
        for (int64_t i = 0; i < rows; ++i) {
          finish(product, row + i, column, columns, sums + i * columns);
        }
      }
    }
  });
}

}  // namespace inferd::engine
