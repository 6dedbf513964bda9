// com.microsoft.GatherBlockQuantized: Gather from a table that is quantized in blocks along one
// axis; what is picked is dequantized.
#include <memory>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/kernel/kernel.h"
#include "engine/ops/element_conversion.h"
#include "engine/ops/elementwise.h"
#include "engine/ops/index_tensor.h"
#include "engine/ops/microsoft/block_quantized.h"
#include "engine/ops/microsoft/microsoft_ops.h"
#include "engine/ops/op_def.h"
#include "engine/ops/schema.h"
#include "engine/ops/shape_functions.h"
#include "engine/ops/shape_input.h"
#include "engine/status_macros.h"

namespace inferd::engine {
namespace {

enum Input { kData, kIndices, kScales, kZeroPoints };

bool IsSymmetric(ElementType type) {
  return type_sets::kFloat8s.contains(type) || type == ElementType::kFloat4E2M1;
}

// Values of uint8 data in one byte: they are packed along the last axis.
int64_t ValuesPerByte(ElementType type, const Attributes& attributes) {
  return type == ElementType::kUint8 ? 8 / attributes.GetInt("bits", 4) : 1;
}

absl::Status CheckAttributes(ElementType type, const Attributes& attributes) {
  const int64_t block = attributes.GetInt("block_size", 128);
  if (IsSymmetric(type) && block == 0) return absl::OkStatus();
  return CheckBlockQuantization(
      type == ElementType::kUint8 ? attributes.GetInt("bits", 4) : int64_t{8}, block);
}

absl::Status Infer(InferenceContext& context) {
  const ElementType type = context.element_type(kData);
  RETURN_IF_ERROR(CheckAttributes(type, context.attributes()));
  RETURN_IF_ERROR(ExpectRank(context, kData, 1));
  const SymbolicShape& data = context.shape(kData);
  const SymbolicShape& indices = context.shape(kIndices);
  if (!data.has_rank() || !indices.has_rank()) {
    context.SetOutput(0, context.element_type(kScales), {});
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(const int axis,
                   NormalizeAxis(context.attributes().GetInt("gather_axis", 0), data.rank()));
  std::vector<Dim> table = data.dims();
  if (table.back().known()) {
    int64_t values = 0;
    if (__builtin_mul_overflow(table.back().value(), ValuesPerByte(type, context.attributes()),
                               &values)) {
      return absl::InvalidArgumentError("input 0 (data) is too large");
    }
    table.back() = values;
  } else if (ValuesPerByte(type, context.attributes()) != 1) {
    table.back() = Dim::Unknown();
  }
  std::vector<Dim> dims(table.begin(), table.begin() + axis);
  dims.insert(dims.end(), indices.dims().begin(), indices.dims().end());
  dims.insert(dims.end(), table.begin() + axis + 1, table.end());
  context.SetOutput(0, context.element_type(kScales), SymbolicShape(std::move(dims)));
  return absl::OkStatus();
}

// How the scale of a value is found from its coordinates: the value at (c0, c1, ...) has scale
// sum of c_i / divide_i * stride_i.
struct ScaleAxis {
  int64_t divide;
  int64_t stride;
};

struct Table {
  Shape shape;  // in values
  int axis = 0;
  ElementType type = ElementType::kUndefined;
  int bits = 8;  // of uint8 data
  std::vector<ScaleAxis> scale_axes;
  Shape scales;
  // Packed zero points: bytes a row of the last axis of the scales takes.
  bool packed_zero_points = false;
};

absl::StatusOr<Table> ResolveTable(const NodeSpec& spec) {
  const Attributes& attributes = spec.attributes();
  Table t;
  t.shape = spec.input(kData).shape;
  t.type = spec.input(kData).type;
  RETURN_IF_ERROR(CheckAttributes(t.type, attributes));
  const int rank = t.shape.rank();
  const int64_t per_byte = ValuesPerByte(t.type, attributes);
  t.bits = static_cast<int>(8 / per_byte);
  t.shape[rank - 1] *= per_byte;
  ASSIGN_OR_RETURN(t.axis, NormalizeAxis(attributes.GetInt("gather_axis", 0), rank));
  ASSIGN_OR_RETURN(const int quantized, NormalizeAxis(attributes.GetInt("quantize_axis", 1), rank));
  if (t.type == ElementType::kUint8 && (t.axis != 0 || (t.axis == quantized && per_byte > 1))) {
    return absl::InvalidArgumentError(
        "data of type uint8 needs gather_axis 0 and another quantize_axis");
  }
  t.scales = spec.input(kScales).shape;
  if (t.scales.rank() != rank) {
    return absl::InvalidArgumentError(
        absl::StrCat("input 2 (scales) has shape ", t.scales.ToString(), ", expected rank ", rank));
  }
  int64_t block = attributes.GetInt("block_size", 128);
  if (block == 0) block = std::max<int64_t>(1, t.shape[quantized]);
  const auto strides = RowMajorStrides(t.scales);
  for (int i = 0; i < rank; ++i) {
    const int64_t divide = i == quantized ? block : 1;
    const int64_t expected = t.shape[i] / divide + (t.shape[i] % divide != 0);
    const bool repeated = i != quantized && t.scales[i] == 1 && IsSymmetric(t.type);
    if (t.scales[i] != expected && !repeated) {
      return absl::InvalidArgumentError(absl::StrCat("input 2 (scales) has shape ",
                                                     t.scales.ToString(), ", expected ", expected,
                                                     " in dimension ", i));
    }
    t.scale_axes.push_back({divide, repeated ? 0 : strides[i]});
  }
  if (spec.has_input(kZeroPoints)) {
    if (IsSymmetric(t.type)) {
      return absl::InvalidArgumentError(
          "input 3 (zero_points) is given, but floating-point data has none");
    }
    Shape expected = t.scales;
    t.packed_zero_points = t.type == ElementType::kUint8;
    if (t.packed_zero_points) {
      expected[rank - 1] = (expected[rank - 1] + per_byte - 1) / per_byte;
    }
    if (!(spec.input(kZeroPoints).shape == expected)) {
      return absl::InvalidArgumentError(absl::StrCat("input 3 (zero_points) has shape ",
                                                     spec.input(kZeroPoints).shape.ToString(),
                                                     ", expected ", expected.ToString()));
    }
  }
  return t;
}

template <typename T>
class GatherKernel final : public Kernel {
 public:
  GatherKernel(Table table, int64_t count) : t_(std::move(table)), count_(count) {
    const int rank = t_.shape.rank();
    outer_ = t_.shape.Product(0, t_.axis);
    inner_ = t_.shape.Product(t_.axis + 1, rank);
    strides_ = RowMajorStrides(t_.shape);
    if (t_.type != ElementType::kUint8) load_ = ElementLoader(t_.type);
  }

  absl::Status Run(KernelContext& context) const override {
    const int64_t size = t_.shape[t_.axis];
    T* y = context.output(0).as<T>();
    context.threads().ParallelFor(outer_ * count_, 16, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        int64_t index = IndexAt(context.input(kIndices), i % count_);
        // As the operator is defined, unlike Gather, an index out of range gives zeros.
        if (!NormalizeIndex(size, &index)) {
          std::fill_n(y + i * inner_, inner_, static_cast<T>(0.0f));
          continue;
        }
        DequantizeRow(context, (i / count_ * size + index) * inner_, y + i * inner_);
      }
    });
    return absl::OkStatus();
  }

 private:
  // Values [first, first + inner_) of the table.
  void DequantizeRow(KernelContext& context, int64_t first, T* y) const {
    const void* data = context.input(kData).data;
    const T* scales = context.input(kScales).as<T>();
    // Loads start at a whole byte: a row of sub-byte values need not.
    WideBlock block;
    constexpr int64_t kSpan = kConversionBlock - 2;
    for (int64_t i = 0; i < inner_; i += kSpan) {
      const int64_t count = std::min(kSpan, inner_ - i);
      const int64_t aligned = (first + i) / 2 * 2;
      const int64_t skip = first + i - aligned;
      if (load_ != nullptr) load_(data, aligned, count + skip, block);
      for (int64_t j = 0; j < count; ++j) {
        const int64_t at = ScaleIndex(first + i + j);
        float value = 0;
        if (load_ == nullptr) {
          value = static_cast<float>(
              PackedValue(static_cast<const uint8_t*>(data), first + i + j, t_.bits));
        } else {
          value = WideTypeOf(t_.type) == WideType::kFloat ? block.f[skip + j]
                                                          : WideInteger(block, skip + j);
        }
        y[i + j] =
            static_cast<T>((value - ZeroPoint(context, at)) * static_cast<float>(scales[at]));
      }
    }
  }

  float WideInteger(const WideBlock& block, int64_t i) const {
    return WideTypeOf(t_.type) == WideType::kInt64 ? static_cast<float>(block.i[i])
                                                   : static_cast<float>(block.u[i]);
  }

  int64_t ScaleIndex(int64_t flat) const {
    int64_t index = 0;
    for (int a = 0; a < t_.shape.rank(); ++a) {
      index += flat / strides_[a] / t_.scale_axes[a].divide * t_.scale_axes[a].stride;
      flat %= strides_[a];
    }
    return index;
  }

  float ZeroPoint(KernelContext& context, int64_t scale) const {
    if (!context.has_input(kZeroPoints)) {
      return t_.type == ElementType::kUint8 ? DefaultZeroPoint(t_.bits) : 0.0f;
    }
    const void* zero_points = context.input(kZeroPoints).data;
    if (!t_.packed_zero_points) {
      return static_cast<float>(LoadAsDouble(t_.type, zero_points, scale));
    }
    const int64_t columns = t_.scales[t_.scales.rank() - 1];
    const int64_t row_bytes = (columns * t_.bits + 7) / 8;
    return static_cast<float>(
        PackedValue(static_cast<const uint8_t*>(zero_points) + scale / columns * row_bytes,
                    scale % columns, t_.bits));
  }

  Table t_;
  int64_t count_;
  int64_t outer_ = 0, inner_ = 0;
  absl::InlinedVector<int64_t, 6> strides_;
  LoadFn load_ = nullptr;
};

absl::StatusOr<std::unique_ptr<Kernel>> Reference(const NodeSpec& spec) {
  ASSIGN_OR_RETURN(Table table, ResolveTable(spec));
  const Shape& indices = spec.input(kIndices).shape;
  Shape expected(table.shape.dims().subspan(0, table.axis));
  for (const int64_t d : indices) expected.push_back(d);
  for (int i = table.axis + 1; i < table.shape.rank(); ++i) expected.push_back(table.shape[i]);
  RETURN_IF_ERROR(CheckOutputShape(spec, 0, expected));
  std::unique_ptr<Kernel> kernel;
  if (!DispatchType<float, Float16, BFloat16>(spec.input(kScales).type, [&]<typename T>() {
        kernel = std::make_unique<GatherKernel<T>>(table, indices.NumElements());
      })) {
    return UnsupportedType(spec, spec.input(kScales).type);
  }
  return kernel;
}

}  // namespace

void RegisterGatherBlockQuantizedOps(OpRegistry& registry) {
  using Kind = AttributeSpec::Kind;
  constexpr ElementTypeSet kData =
      type_sets::kFloat8s | ElementTypeSet{ElementType::kInt4, ElementType::kUint4,
                                           ElementType::kUint8, ElementType::kFloat4E2M1};
  constexpr ElementTypeSet kFloat = {ElementType::kFloat32, ElementType::kFloat16,
                                     ElementType::kBfloat16};
  registry.Register({.domain = "com.microsoft",
                     .name = "GatherBlockQuantized",
                     .inputs = {RequiredParameter("data", "T1", kData),
                                RequiredParameter("indices", "", kIndexTypes),
                                RequiredParameter("scales", "T2", kFloat),
                                OptionalParameter("zero_points", "T1", kData)},
                     .outputs = {RequiredParameter("output", "T2", kFloat)},
                     .attributes = {{"bits", Kind::kInt},
                                    {"block_size", Kind::kInt},
                                    {"gather_axis", Kind::kInt},
                                    {"quantize_axis", Kind::kInt}},
                     .infer = Infer,
                     .reference = Reference});
}

}  // namespace inferd::engine
