// com.microsoft.MatMulNBits of 4-bit weights in float, multiplied as they lie: a single row of A is
// bound by reading them, and they are an eighth of floats.
#include "engine/providers/cpu/vector/matmul_nbits.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/kernel/kernel.h"
#include "engine/ops/microsoft/block_quantized.h"
#include "engine/ops/op_def.h"
#include "engine/providers/cpu/candidate_table.h"
#include "engine/providers/cpu/vector/nibbles.h"
#include "engine/status_macros.h"

namespace inferd::engine::cpu {
namespace {

enum Input { kA, kB, kScales, kZeroPoints, kGroupIndex, kBias };

constexpr int kBits = 4;
constexpr int64_t kRows = 256;   // of A, prepared at a time
constexpr int64_t kColumns = 8;  // whose packed weights fit in the first-level cache with a row
constexpr int64_t kSpan = 128;   // blocks multiplied at a time; whole chunks, whatever their size

struct Geometry {
  int64_t rows, k, n, block, blocks;
  ElementType zero_point_type;  // kUndefined: 8 throughout

  int64_t padded() const { return blocks * block; }
  int64_t row_bytes() const { return padded() / 2; }
};

absl::StatusOr<Geometry> GeometryOf(const NodeSpec& spec) {
  auto decline = [](absl::string_view reason) {
    return absl::UnimplementedError(absl::StrCat("vector_matmul_nbits: ", reason));
  };
  const Attributes& attributes = spec.attributes();
  if (spec.input(kA).type != ElementType::kFloat32) return decline("float only");
  if (attributes.GetInt("bits", 4) != kBits) return decline("4 bits only");
  if (spec.has_input(kGroupIndex)) return decline("g_idx not supported");
  if (spec.input(kB).shape.NumElements() == 0) return decline("empty operand");
  const Shape& a = spec.input(kA).shape;
  Geometry g{};
  g.k = attributes.GetInt("K", 0);
  g.n = attributes.GetInt("N", 0);
  g.block = attributes.GetInt("block_size", 0);
  g.blocks = g.k / g.block + (g.k % g.block != 0);
  g.rows = a.Product(0, a.rank() - 1);
  g.zero_point_type =
      spec.has_input(kZeroPoints) ? spec.input(kZeroPoints).type : ElementType::kUndefined;
  return g;
}

class MatMulNBitsKernel final : public Kernel {
 public:
  explicit MatMulNBitsKernel(const Geometry& geometry) : g_(geometry) {}

  size_t workspace_bytes() const override {
    return std::min(kRows, g_.rows) * g_.padded() * sizeof(float);
  }

  absl::Status Run(KernelContext& context) const override {
    const int64_t grain = std::max<int64_t>(kColumns, 65536 / g_.k / kColumns * kColumns);
    for (int64_t row = 0; row < g_.rows; row += kRows) {
      const int64_t rows = std::min(kRows, g_.rows - row);
      context.threads().ParallelFor(rows, 8, [&](int64_t begin, int64_t end) {
        for (int64_t r = begin; r < end; ++r) {
          PrepareRow(context.input(kA).as<float>() + (row + r) * g_.k, permuted(context, r));
        }
      });
      float* y = context.output(0).as<float>() + row * g_.n;
      context.threads().ParallelFor(g_.n, grain, [&](int64_t begin, int64_t end) {
        for (int64_t c = begin; c < end; c += kColumns) {
          MultiplyTile(context, rows, c, std::min(kColumns, end - c), y + c);
        }
      });
    }
    return absl::OkStatus();
  }

 private:
  float* permuted(KernelContext& context, int64_t row) const {
    return static_cast<float*>(context.workspace()) + row * g_.padded();
  }

  // A row in the order of DotNibbles, zeros behind K. What is left of whole chunks stays in order.
  void PrepareRow(const float* a, float* x) const {
    const int64_t whole = g_.padded() / 64 * 64;
    for (int64_t i = 0; i < g_.padded(); ++i) {
      const int64_t in_chunk = i % 64;
      const int64_t at = i < whole ? i - in_chunk + in_chunk % 8 * 8 + in_chunk / 8 : i;
      x[at] = i < g_.k ? a[i] : 0.0f;
    }
  }

  float ZeroPoint(KernelContext& context, int64_t column, int64_t block) const {
    if (g_.zero_point_type == ElementType::kUndefined) return DefaultZeroPoint(kBits);
    if (g_.zero_point_type == ElementType::kFloat32) {
      return context.input(kZeroPoints).as<float>()[column * g_.blocks + block];
    }
    const int64_t row_bytes = (g_.blocks + 1) / 2;
    return static_cast<float>(
        PackedValue(context.input(kZeroPoints).as<uint8_t>() + column * row_bytes, block, kBits));
  }

  float Bias(KernelContext& context, int64_t column) const {
    return context.has_input(kBias) ? context.input(kBias).as<float>()[column] : 0.0f;
  }

  // Column `column + c` of row r at y[r * n + c].
  void MultiplyTile(KernelContext& context, int64_t rows, int64_t column, int64_t columns,
                    float* y) const {
    const DotNibblesLoop dot = DotNibbles();
    const uint8_t* weights = context.input(kB).as<uint8_t>() + column * g_.row_bytes();
    const float* scales = context.input(kScales).as<float>() + column * g_.blocks;
    float zeros[kColumns][kSpan];
    for (int64_t first = 0; first < g_.blocks; first += kSpan) {
      const int64_t count = std::min(kSpan, g_.blocks - first);
      const int64_t begin = first * g_.block, chunks = count * g_.block / 64;
      // Blocks of 16 or 32 behind the last whole chunk.
      const int64_t tail = count * g_.block - chunks * 64;
      float rest[kColumns][64];
      for (int64_t c = 0; c < columns; ++c) {
        for (int64_t b = 0; b < count; ++b) zeros[c][b] = ZeroPoint(context, column + c, first + b);
        for (int64_t i = 0; i < tail; i += g_.block) {
          const int64_t b = (chunks * 64 + i) / g_.block;
          DequantizeRun(weights + c * g_.row_bytes() + (begin + chunks * 64 + i) / 2, g_.block,
                        kBits, scales[c * g_.blocks + first + b], zeros[c][b], rest[c] + i);
        }
      }
      for (int64_t r = 0; r < rows; ++r) {
        const float* x = permuted(context, r) + begin;
        for (int64_t c = 0; c < columns; ++c) {
          float sum = first == 0 ? Bias(context, column + c) : y[r * g_.n + c];
          sum += dot(x, weights + c * g_.row_bytes() + begin / 2, scales + c * g_.blocks + first,
                     zeros[c], chunks, g_.block);
          for (int64_t i = 0; i < tail; ++i) sum += x[chunks * 64 + i] * rest[c][i];
          y[r * g_.n + c] = sum;
        }
      }
    }
  }

  Geometry g_;
};

class MatMulNBitsImplementation final : public KernelImplementation {
 public:
  absl::string_view name() const override { return "vector_matmul_nbits"; }

  absl::StatusOr<KernelLayouts> Accept(const NodeSpec& spec) const override {
    RETURN_IF_ERROR(GeometryOf(spec).status());
    return KernelLayouts{std::vector<Layout>(spec.inputs.size()), {Layout::Plain()}};
  }

  absl::StatusOr<std::unique_ptr<Kernel>> Create(const NodeSpec& spec) const override {
    // The reference kernel's factory checks every shape.
    RETURN_IF_ERROR(spec.op().reference(spec).status());
    ASSIGN_OR_RETURN(const Geometry g, GeometryOf(spec));
    return std::make_unique<MatMulNBitsKernel>(g);
  }
};

}  // namespace

void RegisterMatMulNBits(CandidateTable& table) {
  table.Add("com.microsoft::MatMulNBits", table.Own(std::make_unique<MatMulNBitsImplementation>()));
}

}  // namespace inferd::engine::cpu
