// QuantizeLinear: y = saturate(round(x / scale) + zero_point).
#include <algorithm>
#include <memory>

#include "absl/strings/str_cat.h"
#include "engine/kernel/kernel.h"
#include "engine/ops/all_ops.h"
#include "engine/ops/element_conversion.h"
#include "engine/ops/linear_quantization.h"
#include "engine/ops/op_def.h"
#include "engine/ops/quantized_range.h"
#include "engine/ops/scale_layout.h"
#include "engine/ops/shape_input.h"
#include "engine/status_macros.h"

namespace inferd::engine {
namespace {

using enum ElementType;

constexpr ElementTypeSet kHighPrecision = {kFloat32, kFloat16, kBfloat16, kInt32};
constexpr ElementTypeSet kScales = {kFloat32, kFloat16, kBfloat16, kInt32, kFloat8E8M0};
constexpr ElementTypeSet kPrecisions = {kFloat32, kFloat64, kFloat16, kBfloat16};

absl::StatusOr<ElementType> OutputType(const Attributes& attributes, ElementType zero_point) {
  ASSIGN_OR_RETURN(const ElementType attribute,
                   TypeAttribute(attributes, "output_dtype", kQuantizedTypes));
  if (zero_point == kUndefined) return attribute == kUndefined ? kUint8 : attribute;
  if (attribute != kUndefined && attribute != zero_point) {
    return absl::InvalidArgumentError(
        absl::StrCat("attribute output_dtype is ", ElementTypeName(attribute),
                     ", expected the zero point's type, ", ElementTypeName(zero_point)));
  }
  return zero_point;
}

// In which type x / scale is computed.
absl::StatusOr<ElementType> DivisionType(const Attributes& attributes, ElementType scale) {
  ASSIGN_OR_RETURN(const ElementType attribute,
                   TypeAttribute(attributes, "precision", kPrecisions));
  if (attribute != kUndefined) return attribute;
  if (scale == kFloat8E8M0) return kFloat32;
  // Quotients of integers are no integers: they are rounded from the exact quotient.
  return scale == kInt32 ? kFloat64 : scale;
}

template <typename T>
void RoundTo(float* values, int64_t count) {
  for (int64_t i = 0; i < count; ++i) values[i] = static_cast<float>(T(values[i]));
}

template <typename T>
void StoreIntegers(const float* values, int64_t count, void* target, int64_t first) {
  T* out = static_cast<T*>(target) + first;
  for (int64_t i = 0; i < count; ++i) out[i] = static_cast<T>(static_cast<int32_t>(values[i]));
}
using StoreIntegersFn = void (*)(const float*, int64_t, void*, int64_t);

class QuantizeLinearKernel final : public Kernel {
 public:
  QuantizeLinearKernel(const NodeSpec& spec, const ScaleLayout& layout, ElementType division,
                       bool saturate)
      : layout_(layout),
        elements_(spec.input(0).shape.NumElements()),
        x_type_(spec.input(0).type),
        scale_type_(spec.input(1).type),
        y_type_(spec.output(0).type),
        division_(division),
        load_(ElementLoader(x_type_)) {
    options_.saturate = saturate;
    integer_ = IsInteger(y_type_);
    store_ = ElementStorer(integer_ ? WideType::kInt64 : WideType::kFloat, y_type_);
    DispatchType<uint8_t, int8_t, uint16_t, int16_t>(
        y_type_, [&]<typename T>() { store_integers_ = StoreIntegers<T>; });
  }

  // Scales, then zero points.
  size_t workspace_bytes() const override { return layout_.scale_count * 2 * sizeof(float); }

  absl::Status Run(KernelContext& context) const override {
    const TensorView& scale = context.input(1);
    float* scales = static_cast<float*>(context.workspace());
    float* zero_points = scales + layout_.scale_count;
    LoadAsFloats(scale_type_, scale.data, layout_.scale_count, scales);
    if (context.has_input(2)) {
      LoadAsFloats(y_type_, context.input(2).data, layout_.scale_count, zero_points);
    } else {
      std::fill_n(zero_points, layout_.scale_count, 0.0f);
    }
    const void* x = context.input(0).data;
    void* y = context.output(0).data;
    // Whole blocks, so that no two threads write into one byte of a sub-byte type.
    const int64_t blocks = (elements_ + kConversionBlock - 1) / kConversionBlock;
    context.threads().ParallelFor(blocks, 64, [&](int64_t begin, int64_t end) {
      for (int64_t b = begin; b < end; ++b) {
        const int64_t first = b * kConversionBlock;
        const int64_t count = std::min(kConversionBlock, elements_ - first);
        float q[kConversionBlock];
        if (division_ == kFloat64) {
          DivideExactly(x, scale.data, first, count, q);
        } else {
          Divide(x, scales, first, count, q);
        }
        Finish(zero_points, first, count, q);
        Store(q, first, count, y);
      }
    });
    return absl::OkStatus();
  }

 private:
  void Divide(const void* x, const float* scales, int64_t first, int64_t count, float* q) const {
    WideBlock block;
    const float* values = block.f;
    if (x_type_ == kFloat32) {
      values = static_cast<const float*>(x) + first;
    } else {
      load_(x, first, count, block);
      if (x_type_ == kInt32) {
        for (int64_t i = 0; i < count; ++i) q[i] = static_cast<float>(block.i[i]);
        values = q;
      }
    }
    if (division_ != kFloat32 && x_type_ != division_) {
      if (values != q) std::copy_n(values, count, q);
      RoundToDivisionType(q, count);
      values = q;
    }
    ForEachScaleRun(layout_, first, first + count,
                    [&](int64_t at, int64_t n, int64_t scale, int64_t step) {
                      const float* from = values + (at - first);
                      float* to = q + (at - first);
                      const float* s = scales + scale;
                      if (step == 0) {
                        for (int64_t i = 0; i < n; ++i) to[i] = from[i] / *s;
                      } else {
                        for (int64_t i = 0; i < n; ++i) to[i] = from[i] / s[i];
                      }
                    });
    if (division_ != kFloat32) RoundToDivisionType(q, count);
  }

  void RoundToDivisionType(float* q, int64_t count) const {
    if (division_ == kFloat16) RoundTo<Float16>(q, count);
    if (division_ == kBfloat16) RoundTo<BFloat16>(q, count);
  }

  // Rounded to odd, so that the rounding to the result is the only one.
  void DivideExactly(const void* x, const void* scale, int64_t first, int64_t count,
                     float* q) const {
    ForEachScaleRun(
        layout_, first, first + count, [&](int64_t at, int64_t n, int64_t index, int64_t step) {
          for (int64_t i = 0; i < n; ++i) {
            q[at - first + i] =
                DoubleToFloatRoundToOdd(LoadAsDouble(x_type_, x, at + i) /
                                        LoadAsDouble(scale_type_, scale, index + i * step));
          }
        });
  }

  void Finish(const float* zero_points, int64_t first, int64_t count, float* q) const {
    const QuantizedRange range = RangeOf(y_type_);
    ForEachScaleRun(layout_, first, first + count,
                    [&](int64_t at, int64_t n, int64_t scale, int64_t step) {
                      float* values = q + (at - first);
                      const float* z = zero_points + scale;
                      if (!integer_) {
                        for (int64_t i = 0; i < n; ++i) values[i] += z[i * step];
                      } else if (step == 0) {
                        const float zero_point = *z;
                        for (int64_t i = 0; i < n; ++i) {
                          values[i] = RoundAndSaturate(values[i], zero_point, range);
                        }
                      } else {
                        for (int64_t i = 0; i < n; ++i) {
                          values[i] = RoundAndSaturate(values[i], z[i], range);
                        }
                      }
                    });
  }

  void Store(const float* q, int64_t first, int64_t count, void* y) const {
    if (store_integers_ != nullptr) {
      store_integers_(q, count, y, first);
      return;
    }
    WideBlock block;
    if (integer_) {
      for (int64_t i = 0; i < count; ++i) block.i[i] = static_cast<int64_t>(q[i]);
    } else {
      std::copy_n(q, count, block.f);
    }
    store_(block, options_, y, first, count);
  }

  ScaleLayout layout_;
  int64_t elements_;
  ElementType x_type_;
  ElementType scale_type_;
  ElementType y_type_;
  ElementType division_;
  bool integer_ = false;
  CastOptions options_;
  LoadFn load_;
  StoreFn store_ = nullptr;
  StoreIntegersFn store_integers_ = nullptr;  // null for types that are no plain integers
};

}  // namespace

absl::Status InferQuantizeLinear(InferenceContext& context) {
  ASSIGN_OR_RETURN(
      const ElementType type,
      OutputType(context.attributes(),
                 context.has_input(2) ? context.element_type(2) : ElementType::kUndefined));
  RETURN_IF_ERROR(DivisionType(context.attributes(), context.element_type(1)).status());
  RETURN_IF_ERROR(CheckScaleInputs(context));
  context.SetOutput(0, type, context.shape(0));
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Kernel>> QuantizeLinearReference(const NodeSpec& spec) {
  ASSIGN_OR_RETURN(const ScaleLayout layout,
                   ResolveScaleLayout(spec.attributes(), spec.input(0).shape, spec.input(1).shape));
  ASSIGN_OR_RETURN(const ElementType division, DivisionType(spec.attributes(), spec.input(1).type));
  if (spec.has_input(2) && spec.input(2).shape.NumElements() != layout.scale_count) {
    return absl::InvalidArgumentError(absl::StrCat("zero point has shape ",
                                                   spec.input(2).shape.ToString(), ", expected ",
                                                   layout.scale_count, " elements"));
  }
  RETURN_IF_ERROR(CheckOutputShape(spec, 0, spec.input(0).shape));
  return std::make_unique<QuantizeLinearKernel>(spec, layout, division,
                                                spec.attributes().GetInt("saturate", 1) != 0);
}

void RegisterQuantizeLinearOps(OpRegistry& registry) {
  using Kind = AttributeSpec::Kind;
  registry.Register(
      {.name = "QuantizeLinear",
       .version = 25,
       .oldest_version = 10,
       .inputs = {{"x", "T1", kHighPrecision},
                  {"y_scale", "T2", kScales},
                  {"y_zero_point", "T3", kQuantizedTypes, FormalParameter::Option::kOptional}},
       .outputs = {{"y", "T3", kQuantizedTypes}},
       .attributes = {{"axis", Kind::kInt},
                      {"block_size", Kind::kInt},
                      {"output_dtype", Kind::kInt},
                      {"precision", Kind::kInt},
                      {"saturate", Kind::kInt}},
       .infer = InferQuantizeLinear,
       .reference = QuantizeLinearReference});
}

}  // namespace inferd::engine
