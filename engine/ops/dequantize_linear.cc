// DequantizeLinear: y = (x - zero_point) * scale.
#include <algorithm>
#include <memory>

#include "absl/strings/str_cat.h"
#include "engine/kernel/kernel.h"
#include "engine/ops/all_ops.h"
#include "engine/ops/element_conversion.h"
#include "engine/ops/linear_quantization.h"
#include "engine/ops/op_def.h"
#include "engine/ops/scale_layout.h"
#include "engine/ops/shape_input.h"
#include "engine/status_macros.h"

namespace inferd::engine {
namespace {

using enum ElementType;

constexpr ElementTypeSet kDequantizable = kQuantizedTypes | ElementTypeSet{kInt32};
constexpr ElementTypeSet kScales = {kFloat32, kFloat16, kBfloat16, kFloat8E8M0};
constexpr ElementTypeSet kResults = {kFloat32, kFloat16, kBfloat16};

absl::StatusOr<ElementType> OutputType(const Attributes& attributes, ElementType scale) {
  ASSIGN_OR_RETURN(const ElementType attribute,
                   TypeAttribute(attributes, "output_dtype", kResults));
  if (attribute != kUndefined) return attribute;
  if (!kResults.contains(scale)) {
    return absl::InvalidArgumentError(
        absl::StrCat("attribute output_dtype is missing: the scale's type, ",
                     ElementTypeName(scale), ", is none of ", kResults.ToString()));
  }
  return scale;
}

template <typename T>
void LoadIntegers(const void* source, int64_t first, int64_t count, float* target) {
  const T* x = static_cast<const T*>(source) + first;
  for (int64_t i = 0; i < count; ++i) target[i] = static_cast<float>(x[i]);
}
using LoadIntegersFn = void (*)(const void*, int64_t, int64_t, float*);

template <typename T>
void StoreAs(const float* values, int64_t count, void* target, int64_t first) {
  T* y = static_cast<T*>(target) + first;
  for (int64_t i = 0; i < count; ++i) y[i] = T(values[i]);
}
using StoreAsFn = void (*)(const float*, int64_t, void*, int64_t);

class DequantizeLinearKernel final : public Kernel {
 public:
  DequantizeLinearKernel(const NodeSpec& spec, const ScaleLayout& layout)
      : layout_(layout),
        elements_(spec.input(0).shape.NumElements()),
        x_type_(spec.input(0).type),
        scale_type_(spec.input(1).type),
        load_(ElementLoader(x_type_)) {
    DispatchType<uint8_t, int8_t, uint16_t, int16_t, int32_t>(
        x_type_, [&]<typename T>() { load_integers_ = LoadIntegers<T>; });
    DispatchType<Float16, BFloat16>(spec.output(0).type,
                                    [&]<typename T>() { store_ = StoreAs<T>; });
  }

  // Scales, then zero points.
  size_t workspace_bytes() const override { return layout_.scale_count * 2 * sizeof(float); }

  absl::Status Run(KernelContext& context) const override {
    float* scales = static_cast<float*>(context.workspace());
    float* zero_points = scales + layout_.scale_count;
    LoadAsFloats(scale_type_, context.input(1).data, layout_.scale_count, scales);
    if (context.has_input(2)) {
      LoadAsFloats(x_type_, context.input(2).data, layout_.scale_count, zero_points);
    } else {
      std::fill_n(zero_points, layout_.scale_count, 0.0f);
    }
    const void* x = context.input(0).data;
    void* y = context.output(0).data;
    const int64_t blocks = (elements_ + kConversionBlock - 1) / kConversionBlock;
    context.threads().ParallelFor(blocks, 64, [&](int64_t begin, int64_t end) {
      for (int64_t b = begin; b < end; ++b) {
        const int64_t first = b * kConversionBlock;
        const int64_t count = std::min(kConversionBlock, elements_ - first);
        float values[kConversionBlock];
        Load(x, first, count, values);
        float* target = store_ == nullptr ? static_cast<float*>(y) + first : values;
        ForEachScaleRun(layout_, first, first + count,
                        [&](int64_t at, int64_t n, int64_t scale, int64_t step) {
                          const float* from = values + (at - first);
                          float* to = target + (at - first);
                          const float* s = scales + scale;
                          const float* z = zero_points + scale;
                          if (step == 0) {
                            for (int64_t i = 0; i < n; ++i) to[i] = (from[i] - *z) * *s;
                          } else {
                            for (int64_t i = 0; i < n; ++i) to[i] = (from[i] - z[i]) * s[i];
                          }
                        });
        if (store_ != nullptr) store_(values, count, y, first);
      }
    });
    return absl::OkStatus();
  }

 private:
  void Load(const void* x, int64_t first, int64_t count, float* values) const {
    if (load_integers_ != nullptr) {
      load_integers_(x, first, count, values);
      return;
    }
    WideBlock block;
    load_(x, first, count, block);
    if (IsInteger(x_type_)) {
      for (int64_t i = 0; i < count; ++i) values[i] = static_cast<float>(block.i[i]);
    } else {
      std::copy_n(block.f, count, values);
    }
  }

  ScaleLayout layout_;
  int64_t elements_;
  ElementType x_type_;
  ElementType scale_type_;
  LoadFn load_;
  LoadIntegersFn load_integers_ = nullptr;  // null for types that are no plain integers
  StoreAsFn store_ = nullptr;               // null for float
};

}  // namespace

absl::Status InferDequantizeLinear(InferenceContext& context) {
  ASSIGN_OR_RETURN(const ElementType type,
                   OutputType(context.attributes(), context.element_type(1)));
  RETURN_IF_ERROR(CheckScaleInputs(context));
  context.SetOutput(0, type, context.shape(0));
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Kernel>> DequantizeLinearReference(const NodeSpec& spec) {
  ASSIGN_OR_RETURN(const ScaleLayout layout,
                   ResolveScaleLayout(spec.attributes(), spec.input(0).shape, spec.input(1).shape));
  if (spec.has_input(2) && spec.input(2).shape.NumElements() != layout.scale_count) {
    return absl::InvalidArgumentError(absl::StrCat("zero point has shape ",
                                                   spec.input(2).shape.ToString(), ", expected ",
                                                   layout.scale_count, " elements"));
  }
  RETURN_IF_ERROR(CheckOutputShape(spec, 0, spec.input(0).shape));
  return std::make_unique<DequantizeLinearKernel>(spec, layout);
}

void RegisterDequantizeLinearOps(OpRegistry& registry) {
  using Kind = AttributeSpec::Kind;
  registry.Register(
      {.name = "DequantizeLinear",
       .version = 25,
       .oldest_version = 10,
       .inputs = {{"x", "T1", kDequantizable},
                  {"x_scale", "T2", kScales},
                  {"x_zero_point", "T1", kDequantizable, FormalParameter::Option::kOptional}},
       .outputs = {{"y", "T3", kResults}},
       .attributes = {{"axis", Kind::kInt},
                      {"block_size", Kind::kInt},
                      {"output_dtype", Kind::kInt}},
       .infer = InferDequantizeLinear,
       .reference = DequantizeLinearReference});
}

}  // namespace inferd::engine
