// com.microsoft.MatMulNBits of 4-bit weights in float. A few rows of A are multiplied with the
// packed weights as they lie, which are then read at the speed of memory; for more rows weights
// are dequantized into the first-level cache first, once for all of them.
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
#include "engine/providers/cpu/vector/kernels.h"
#include "engine/providers/cpu/vector/nibbles.h"
#include "engine/status_macros.h"

namespace inferd::engine::cpu {
namespace {

enum Input { kA, kB, kScales, kZeroPoints, kGroupIndex, kBias };

constexpr int kBits = 4;
constexpr int64_t kFewRows = 8;

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
    return g_.rows > kFewRows ? 0 : g_.rows * g_.padded() * sizeof(float);
  }

  absl::Status Run(KernelContext& context) const override {
    const int64_t grain = std::max<int64_t>(kTile, 65536 / g_.k / kTile * kTile);
    if (g_.rows > kFewRows) {
      context.threads().ParallelFor(g_.n, grain, [&](int64_t begin, int64_t end) {
        for (int64_t c = begin; c < end; c += kTile) {
          MultiplyTile(context, c, std::min(kTile, end - c));
        }
      });
      return absl::OkStatus();
    }
    PrepareRows(context);
    context.threads().ParallelFor(g_.n, grain, [&](int64_t begin, int64_t end) {
      for (int64_t c = begin; c < end; ++c) MultiplyColumn(context, c);
    });
    return absl::OkStatus();
  }

 private:
  static constexpr int64_t kTile = 8;     // columns dequantized at a time
  static constexpr int64_t kChunk = 512;  // weights of each

  float* permuted(KernelContext& context, int64_t row) const {
    return static_cast<float*>(context.workspace()) + row * g_.padded();
  }

  // Rows of A in the order of DotNibbles, zeros behind K. What is left of whole chunks stays in
  // order.
  void PrepareRows(KernelContext& context) const {
    const int64_t whole = g_.padded() / 64 * 64;
    for (int64_t r = 0; r < g_.rows; ++r) {
      const float* a = context.input(kA).as<float>() + r * g_.k;
      float* x = permuted(context, r);
      for (int64_t i = 0; i < g_.padded(); ++i) {
        const int64_t in_chunk = i % 64;
        const int64_t at = i < whole ? i - in_chunk + in_chunk % 8 * 8 + in_chunk / 8 : i;
        x[at] = i < g_.k ? a[i] : 0.0f;
      }
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

  void MultiplyColumn(KernelContext& context, int64_t column) const {
    const uint8_t* weights = context.input(kB).as<uint8_t>() + column * g_.row_bytes();
    const float* scales = context.input(kScales).as<float>() + column * g_.blocks;
    const DotNibblesLoop dot = DotNibbles();
    float sums[kFewRows];
    std::fill_n(sums, g_.rows, Bias(context, column));
    // Zero points of so many blocks at a time, which are whole chunks.
    constexpr int64_t kSpan = 128;
    float zeros[kSpan];
    for (int64_t first = 0; first < g_.blocks; first += kSpan) {
      const int64_t count = std::min(kSpan, g_.blocks - first);
      for (int64_t b = 0; b < count; ++b) zeros[b] = ZeroPoint(context, column, first + b);
      const int64_t begin = first * g_.block, chunks = count * g_.block / 64;
      for (int64_t r = 0; r < g_.rows; ++r) {
        sums[r] += dot(permuted(context, r) + begin, weights + begin / 2, scales + first, zeros,
                       chunks, g_.block);
      }
      // Blocks of 16 or 32 behind the last whole chunk.
      for (int64_t b = chunks * 64 / g_.block; b < count; ++b) {
        float block[32];
        const int64_t at = (first + b) * g_.block;
        DequantizeRun(weights + at / 2, g_.block, kBits, scales[first + b], zeros[b], block);
        for (int64_t r = 0; r < g_.rows; ++r) {
          const float* x = permuted(context, r) + at;
          for (int64_t i = 0; i < g_.block; ++i) sums[r] += x[i] * block[i];
        }
      }
    }
    float* y = context.output(0).as<float>() + column;
    for (int64_t r = 0; r < g_.rows; ++r) y[r * g_.n] = sums[r];
  }

  void MultiplyTile(KernelContext& context, int64_t column, int64_t columns) const {
    alignas(64) float buffer[kTile * kChunk];
    const VectorKernels& vectors = Vectors();
    for (int64_t first = 0; first < g_.k; first += kChunk) {
      const int64_t count = std::min(kChunk, g_.k - first);
      for (int64_t c = 0; c < columns; ++c) {
        Dequantize(context, column + c, first, count, buffer + c * kChunk);
      }
      for (int64_t r = 0; r < g_.rows; ++r) {
        float* y = context.output(0).as<float>() + r * g_.n + column;
        float products[kTile];
        vectors.dot_rows(context.input(kA).as<float>() + r * g_.k + first, buffer, kChunk, columns,
                         count, products);
        for (int64_t c = 0; c < columns; ++c) {
          y[c] = (first == 0 ? Bias(context, column + c) : y[c]) + products[c];
        }
      }
    }
  }

  // Weights [first, first + count) of a column; first is a multiple of kChunk.
  void Dequantize(KernelContext& context, int64_t column, int64_t first, int64_t count,
                  float* out) const {
    const uint8_t* weights = context.input(kB).as<uint8_t>() + column * g_.row_bytes() + first / 2;
    const float* scales = context.input(kScales).as<float>() + column * g_.blocks;
    for (int64_t i = 0; i < count;) {
      const int64_t block = (first + i) / g_.block;
      const int64_t run = std::min(count, (block + 1) * g_.block - first) - i;
      DequantizeRun(weights + i / 2, run, kBits, scales[block], ZeroPoint(context, column, block),
                    out + i);
      i += run;
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
