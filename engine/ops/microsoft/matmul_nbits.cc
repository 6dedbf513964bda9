// com.microsoft.MatMulNBits: A times the transpose of a matrix of N rows of K weights, each row
// quantized in blocks. Blocks of a few rows are dequantized into a buffer that stays in the
// first-level cache and multiplied with every row of A from there, so that the weights are read
// once and in their packed form.
#include <algorithm>
#include <memory>

#include "absl/strings/str_cat.h"
#include "engine/kernel/kernel.h"
#include "engine/ops/elementwise.h"
#include "engine/ops/microsoft/block_quantized.h"
#include "engine/ops/microsoft/microsoft_ops.h"
#include "engine/ops/op_def.h"
#include "engine/ops/schema.h"
#include "engine/ops/shape_functions.h"
#include "engine/ops/shape_input.h"
#include "engine/status_macros.h"

namespace inferd::engine {
namespace {

enum Input { kA, kB, kScales, kZeroPoints, kGroupIndex, kBias };

constexpr int64_t kColumns = 4;  // rows of weights multiplied at a time
constexpr int64_t kChunk = 256;  // weights of each that are dequantized at a time
constexpr int64_t kRows = 32;    // rows of A multiplied with one such chunk

absl::Status Infer(InferenceContext& context) {
  const Attributes& attributes = context.attributes();
  const int64_t k = attributes.GetInt("K", 0), n = attributes.GetInt("N", 0);
  if (k < 1 || n < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("attributes K and N are ", k, " and ", n, ", expected positive numbers"));
  }
  if (attributes.GetInt("weight_prepacked", 0) != 0) {
    return absl::UnimplementedError(
        "weight_prepacked: B is laid out for one kind of GPU; export it without prepacking");
  }
  RETURN_IF_ERROR(
      CheckBlockQuantization(attributes.GetInt("bits", 4), attributes.GetInt("block_size", 0)));
  RETURN_IF_ERROR(ExpectRank(context, kA, 1));
  const SymbolicShape& a = context.shape(kA);
  if (!a.has_rank()) {
    context.SetOutput(0, context.element_type(kA), {});
    return absl::OkStatus();
  }
  const Dim& inner = a[a.rank() - 1];
  if (inner.known() && inner.value() != k) {
    return absl::InvalidArgumentError(
        absl::StrCat("A has shape ", a.ToString(), ", expected a last dimension of K = ", k));
  }
  SymbolicShape y = a;
  y[a.rank() - 1] = n;
  context.SetOutput(0, context.element_type(kA), std::move(y));
  return absl::OkStatus();
}

absl::Status ExpectCount(const NodeSpec& spec, int input, const char* name, int64_t expected) {
  const int64_t found = spec.input(input).shape.NumElements();
  if (found == expected) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("input ", input, " (", name, ") has shape ",
                                                 spec.input(input).shape.ToString(), ", expected ",
                                                 expected, " elements"));
}

// y[c] += the product of a and row c of b, for kColumns rows kChunk apart.
void AddProducts(const float* a, const float* b, int64_t count, float* y) {
  constexpr int kLanes = 8;
  float sums[kColumns][kLanes] = {};
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    for (int c = 0; c < kColumns; ++c) {
      for (int l = 0; l < kLanes; ++l) sums[c][l] += a[i + l] * b[c * kChunk + i + l];
    }
  }
  for (int c = 0; c < kColumns; ++c) {
    float sum = 0;
    for (int l = 0; l < kLanes; ++l) sum += sums[c][l];
    for (int64_t j = i; j < count; ++j) sum += a[j] * b[c * kChunk + j];
    y[c] += sum;
  }
}

// T: element type of A, the scales and the output.
template <typename T>
class MatMulNBits final : public Kernel {
 public:
  struct Geometry {
    int64_t rows, k, n, block, blocks;
    int bits;
    bool omitted;  // B is empty: the product counts as zero
    ElementType zero_point_type;
  };
  explicit MatMulNBits(const Geometry& geometry) : g_(geometry) {}

  // A as float, where it is not.
  size_t workspace_bytes() const override {
    return std::is_same_v<T, float> ? 0 : g_.rows * g_.k * sizeof(float);
  }

  absl::Status Run(KernelContext& context) const override {
    if (g_.omitted) {
      WriteBiasAlone(context);
      return absl::OkStatus();
    }
    const int32_t* groups = nullptr;
    if (context.has_input(kGroupIndex)) {
      groups = context.input(kGroupIndex).as<int32_t>();
      for (int64_t i = 0; i < g_.k; ++i) {
        if (groups[i] < 0 || groups[i] >= g_.blocks) {
          return absl::InvalidArgumentError(absl::StrCat("g_idx[", i, "] is ", groups[i],
                                                         ", expected a block below ", g_.blocks));
        }
      }
    }
    const float* a = nullptr;
    if constexpr (std::is_same_v<T, float>) {
      a = context.input(kA).as<float>();
    } else {
      float* converted = static_cast<float*>(context.workspace());
      const T* from = context.input(kA).as<T>();
      std::copy_n(from, g_.rows * g_.k, converted);
      a = converted;
    }
    const int64_t groups_of_columns = (g_.n + kColumns - 1) / kColumns;
    context.threads().ParallelFor(groups_of_columns, 8, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) MultiplyColumns(context, a, groups, i * kColumns);
    });
    return absl::OkStatus();
  }

 private:
  float Bias(KernelContext& context, int64_t column) const {
    return context.has_input(kBias) ? static_cast<float>(context.input(kBias).as<T>()[column]) : 0;
  }

  void WriteBiasAlone(KernelContext& context) const {
    T* y = context.output(0).as<T>();
    for (int64_t r = 0; r < g_.rows; ++r) {
      for (int64_t j = 0; j < g_.n; ++j) y[r * g_.n + j] = static_cast<T>(Bias(context, j));
    }
  }

  float ZeroPoint(KernelContext& context, int64_t row, int64_t block) const {
    if (g_.zero_point_type == ElementType::kUndefined) return DefaultZeroPoint(g_.bits);
    const TensorView& zero_points = context.input(kZeroPoints);
    if (g_.zero_point_type == ElementType::kUint8) {
      const int64_t row_bytes = (g_.blocks * g_.bits + 7) / 8;
      return static_cast<float>(
          PackedValue(zero_points.as<uint8_t>() + row * row_bytes, block, g_.bits));
    }
    return static_cast<float>(zero_points.as<T>()[row * g_.blocks + block]);
  }

  // Weights [first, first + count) of `row`; `first` is a multiple of kChunk.
  void Dequantize(KernelContext& context, const int32_t* groups, int64_t row, int64_t first,
                  int64_t count, float* out) const {
    const uint8_t* packed =
        context.input(kB).as<uint8_t>() + (row * g_.blocks * g_.block + first) * g_.bits / 8;
    const T* scales = context.input(kScales).as<T>() + row * g_.blocks;
    if (groups != nullptr) {
      for (int64_t i = 0; i < count; ++i) {
        const int64_t group = groups[first + i];
        const float value = static_cast<float>(PackedValue(packed, i, g_.bits));
        out[i] = (value - ZeroPoint(context, row, group)) * static_cast<float>(scales[group]);
      }
      return;
    }
    for (int64_t i = 0; i < count;) {
      const int64_t block = (first + i) / g_.block;
      const int64_t run = std::min(count, (block + 1) * g_.block - first) - i;
      DequantizeRun(packed + i * g_.bits / 8, run, g_.bits, static_cast<float>(scales[block]),
                    ZeroPoint(context, row, block), out + i);
      i += run;
    }
  }

  // Columns [column, column + kColumns) of the output, as far as there are.
  void MultiplyColumns(KernelContext& context, const float* a, const int32_t* groups,
                       int64_t column) const {
    const int64_t columns = std::min(kColumns, g_.n - column);
    alignas(64) float weights[kColumns * kChunk] = {};
    float sums[kRows][kColumns];
    T* y = context.output(0).as<T>();
    for (int64_t row = 0; row < g_.rows; row += kRows) {
      const int64_t rows = std::min(kRows, g_.rows - row);
      for (int64_t r = 0; r < rows; ++r) {
        for (int64_t c = 0; c < kColumns; ++c) {
          sums[r][c] = c < columns ? Bias(context, column + c) : 0.0f;
        }
      }
      for (int64_t first = 0; first < g_.k; first += kChunk) {
        const int64_t count = std::min(kChunk, g_.k - first);
        for (int64_t c = 0; c < columns; ++c) {
          Dequantize(context, groups, column + c, first, count, weights + c * kChunk);
        }
        for (int64_t r = 0; r < rows; ++r) {
          AddProducts(a + (row + r) * g_.k + first, weights, count, sums[r]);
        }
      }
      for (int64_t r = 0; r < rows; ++r) {
        for (int64_t c = 0; c < columns; ++c) {
          y[(row + r) * g_.n + column + c] = static_cast<T>(sums[r][c]);
        }
      }
    }
  }

  Geometry g_;
};

template <typename T>
absl::StatusOr<std::unique_ptr<Kernel>> Make(const NodeSpec& spec) {
  const Attributes& attributes = spec.attributes();
  typename MatMulNBits<T>::Geometry g{};
  g.k = attributes.GetInt("K", 0);
  g.n = attributes.GetInt("N", 0);
  g.block = attributes.GetInt("block_size", 0);
  g.bits = static_cast<int>(attributes.GetInt("bits", 4));
  // Without a loss: a block beyond K holds K weights and padding.
  g.blocks = g.k / g.block + (g.k % g.block != 0);
  g.rows = spec.input(kA).shape.Product(0, spec.input(kA).shape.rank() - 1);
  g.omitted = spec.input(kB).shape.NumElements() == 0;
  if (!g.omitted) {
    int64_t weights = 0;
    if (__builtin_mul_overflow(g.blocks, g.block, &weights) ||
        __builtin_mul_overflow(weights, g.n, &weights) ||
        __builtin_mul_overflow(weights, int64_t{g.bits}, &weights)) {
      return absl::InvalidArgumentError("attributes K, N and block_size are too large");
    }
    RETURN_IF_ERROR(ExpectCount(spec, kB, "B", weights / 8));
    RETURN_IF_ERROR(ExpectCount(spec, kScales, "scales", g.n * g.blocks));
    if (spec.has_input(kZeroPoints)) {
      g.zero_point_type = spec.input(kZeroPoints).type;
      const bool packed = g.zero_point_type == ElementType::kUint8;
      if (!packed && g.zero_point_type != TypeOf<T>()) {
        return absl::InvalidArgumentError(absl::StrCat("input 3 (zero_points) holds ",
                                                       ElementTypeName(g.zero_point_type),
                                                       ", expected uint8 or the type of A"));
      }
      RETURN_IF_ERROR(ExpectCount(spec, kZeroPoints, "zero_points",
                                  g.n * (packed ? (g.blocks * g.bits + 7) / 8 : g.blocks)));
    }
    if (spec.has_input(kGroupIndex)) {
      // Older writers pad it to whole blocks.
      if (spec.input(kGroupIndex).shape.NumElements() < g.k) {
        RETURN_IF_ERROR(ExpectCount(spec, kGroupIndex, "g_idx", g.k));
      }
    }
  }
  if (spec.has_input(kBias)) RETURN_IF_ERROR(ExpectCount(spec, kBias, "bias", g.n));
  Shape expected = spec.input(kA).shape;
  expected[expected.rank() - 1] = g.n;
  RETURN_IF_ERROR(CheckOutputShape(spec, 0, expected));
  return std::make_unique<MatMulNBits<T>>(g);
}

absl::StatusOr<std::unique_ptr<Kernel>> Reference(const NodeSpec& spec) {
  absl::StatusOr<std::unique_ptr<Kernel>> kernel = UnsupportedType(spec, spec.input(kA).type);
  DispatchType<float, Float16, BFloat16>(spec.input(kA).type,
                                         [&]<typename T>() { kernel = Make<T>(spec); });
  return kernel;
}

}  // namespace

void RegisterMatMulNBitsOps(OpRegistry& registry) {
  using Kind = AttributeSpec::Kind;
  constexpr ElementTypeSet kTypes = {ElementType::kFloat32, ElementType::kFloat16,
                                     ElementType::kBfloat16};
  registry.Register({.domain = "com.microsoft",
                     .name = "MatMulNBits",
                     .inputs = {RequiredParameter("A", "T1", kTypes),
                                RequiredParameter("B", "", {ElementType::kUint8}),
                                RequiredParameter("scales", "T1", kTypes),
                                OptionalParameter("zero_points", "",
                                                  kTypes | ElementTypeSet{ElementType::kUint8}),
                                OptionalParameter("g_idx", "", {ElementType::kInt32}),
                                OptionalParameter("bias", "T1", kTypes)},
                     .outputs = {RequiredParameter("Y", "T1", kTypes)},
                     // accuracy_level allows less precision than this kernel has.
                     .attributes = {{"K", Kind::kInt, true},
                                    {"N", Kind::kInt, true},
                                    {"accuracy_level", Kind::kInt},
                                    {"bits", Kind::kInt},
                                    {"block_size", Kind::kInt, true},
                                    {"weight_prepacked", Kind::kInt}},
                     .infer = Infer,
                     .reference = Reference});
}

}  // namespace inferd::engine
