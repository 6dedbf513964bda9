// com.microsoft::Attention and QAttention: projection of the input to queries, keys and values by
// one merged weight matrix, then attention with an optional cache.
#include <cmath>
#include <cstring>
#include <memory>
#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/kernel/kernel.h"
#include "engine/ops/all_ops.h"
#include "engine/ops/attention_core.h"
#include "engine/ops/attention_shape.h"
#include "engine/ops/elementwise.h"
#include "engine/ops/microsoft/padding_mask.h"
#include "engine/ops/microsoft/qkv_projection.h"
#include "engine/ops/op_def.h"
#include "engine/ops/schema.h"
#include "engine/ops/shape_functions.h"
#include "engine/status_macros.h"

namespace inferd::engine {
namespace {

enum Output { kY, kPresent };

// Where the two operators keep their inputs. -1: there is none.
struct Inputs {
  int x = 0, weights = 1, bias = 2;
  int mask, past, attention_bias, past_length;
  int x_scale, weight_scale, x_zero, weight_zero;
};
constexpr Inputs kFloat = {.mask = 3,
                           .past = 4,
                           .attention_bias = 5,
                           .past_length = 6,
                           .x_scale = -1,
                           .weight_scale = -1,
                           .x_zero = -1,
                           .weight_zero = -1};
constexpr Inputs kQuantized = {.mask = 5,
                               .past = 8,
                               .attention_bias = -1,
                               .past_length = -1,
                               .x_scale = 3,
                               .weight_scale = 4,
                               .x_zero = 6,
                               .weight_zero = 7};

// Hidden sizes of queries (and keys), and of values.
struct HiddenSizes {
  Dim query, value;
};

absl::StatusOr<HiddenSizes> ResolveHidden(const Attributes& attributes, const Dim& columns) {
  const std::vector<int64_t> sizes = attributes.GetInts("qkv_hidden_sizes");
  if (sizes.empty()) {
    ASSIGN_OR_RETURN(const Dim part, DivideDim(columns, 3, "the last dimension of weights"));
    return HiddenSizes{part, part};
  }
  constexpr int64_t kLimit = int64_t{1} << 40;
  const bool valid = sizes.size() == 3 && sizes[0] == sizes[1] && sizes[0] >= 0 && sizes[2] >= 0 &&
                     sizes[0] < kLimit && sizes[2] < kLimit;
  if (!valid) {
    return absl::InvalidArgumentError(
        "attribute qkv_hidden_sizes: expected three sizes, of which the first two are equal");
  }
  if (columns.known() && columns.value() != 2 * sizes[0] + sizes[2]) {
    return absl::InvalidArgumentError(
        absl::StrCat("weights have ", columns.value(), " columns, expected the sum ",
                     2 * sizes[0] + sizes[2], " of qkv_hidden_sizes"));
  }
  return HiddenSizes{sizes[0], sizes[2]};
}

absl::Status CheckSupported(const Attributes& attributes) {
  if (attributes.GetInt("do_rotary", 0) != 0) {
    return absl::UnimplementedError(
        "attribute do_rotary: rotary embedding of merged projections is not supported; "
        "RotaryEmbedding with MultiHeadAttention is");
  }
  if (attributes.GetInt("past_present_share_buffer", 0) != 0) {
    return absl::UnimplementedError(
        "attribute past_present_share_buffer: not supported with merged projections");
  }
  return absl::OkStatus();
}

absl::Status InferWith(InferenceContext& context, const Inputs& in) {
  const Attributes& attributes = context.attributes();
  RETURN_IF_ERROR(CheckSupported(attributes));
  ASSIGN_OR_RETURN(const int64_t heads, HeadCountAttribute(attributes, "num_heads"));
  RETURN_IF_ERROR(ExpectRank(context, in.x, 3, 3));
  RETURN_IF_ERROR(ExpectRank(context, in.weights, 2, 2));
  Dim batch = InputDim(context, in.x, 0), rows = InputDim(context, in.x, 1);
  Dim inner = InputDim(context, in.x, 2);
  RETURN_IF_ERROR(MergeInputDim(context, in.weights, 0, "input hidden size", inner));
  Dim columns = InputDim(context, in.weights, 1);
  if (context.has_input(in.bias)) {
    RETURN_IF_ERROR(ExpectRank(context, in.bias, 1, 1));
    RETURN_IF_ERROR(MergeInputDim(context, in.bias, 0, "columns of weights", columns));
  }
  ASSIGN_OR_RETURN(const HiddenSizes hidden, ResolveHidden(attributes, columns));
  ASSIGN_OR_RETURN(Dim head_size, DivideDim(hidden.query, heads, "the hidden size of queries"));
  ASSIGN_OR_RETURN(const Dim value_size,
                   DivideDim(hidden.value, heads, "the hidden size of values"));
  Dim past = context.has_input(in.past) ? Dim() : Dim(0);
  if (context.has_input(in.past)) {
    RETURN_IF_ERROR(ExpectRank(context, in.past, 5, 5));
    Dim two(2), head_dim(heads);
    RETURN_IF_ERROR(MergeInputDim(context, in.past, 0, "keys and values", two));
    RETURN_IF_ERROR(MergeInputDim(context, in.past, 1, "batch size", batch));
    RETURN_IF_ERROR(MergeInputDim(context, in.past, 2, "num_heads", head_dim));
    RETURN_IF_ERROR(MergeInputDim(context, in.past, 3, "past sequence length", past));
    RETURN_IF_ERROR(MergeInputDim(context, in.past, 4, "head size", head_size));
  }
  ASSIGN_OR_RETURN(const Dim total, AddDims(past, rows));
  RETURN_IF_ERROR(CheckAttentionBias(context, in.attention_bias, {batch, Dim(heads), rows, total}));
  for (int i : {in.x_scale, in.x_zero}) {
    if (i >= 0 && context.has_input(i)) RETURN_IF_ERROR(ExpectScalar(context, i));
  }
  for (int i : {in.weight_scale, in.weight_zero}) {
    const Dim count = i >= 0 ? InputDim(context, i, 0) : Dim();
    if (i >= 0 && context.has_input(i)) RETURN_IF_ERROR(ExpectRank(context, i, 0, 1));
    if (count.known() && count.value() != 1 && columns.known() && count != columns) {
      return absl::InvalidArgumentError(absl::StrCat("input ", i, " holds ", count.value(),
                                                     " numbers, expected 1 or one for each of the ",
                                                     columns.value(), " columns of weights"));
    }
  }
  const ElementType type = context.element_type(in.x_scale >= 0 ? in.x_scale : in.x);
  ASSIGN_OR_RETURN(const Dim out, MultiplyDims(Dim(heads), value_size));
  context.SetOutput(kY, type, SymbolicShape({batch, rows, out}));
  if (context.node().output(kPresent) != nullptr) {
    if (head_size.known() && value_size.known() && head_size != value_size) {
      return absl::InvalidArgumentError(
          absl::StrCat("output present holds keys and values, but their head sizes ",
                       head_size.ToString(), " and ", value_size.ToString(), " differ"));
    }
    context.SetOutput(kPresent, type, SymbolicShape({Dim(2), batch, Dim(heads), total, head_size}));
  }
  return absl::OkStatus();
}

absl::Status InferFloat(InferenceContext& context) { return InferWith(context, kFloat); }
absl::Status InferQuantized(InferenceContext& context) { return InferWith(context, kQuantized); }

class ProjectedAttentionKernel : public Kernel {
 public:
  ProjectedAttentionKernel(const NodeSpec& spec, const Inputs& in, const AttentionShape& shape)
      : in_(in), shape_(shape), threads_(spec.threads) {
    const Attributes& attributes = spec.attributes();
    const float scale = attributes.GetFloat("scale", 0);
    scale_ = scale != 0 ? scale : 1 / std::sqrt(static_cast<float>(shape.head_size));
    rules_.causal = attributes.GetInt("unidirectional", 0) != 0;
    rules_.filter = attributes.GetFloat("mask_filter_value", -10000.0f);
    if (in.attention_bias >= 0 && spec.has_input(in.attention_bias)) {
      rules_.SetBias(spec.input(in.attention_bias).shape, spec.input(in.attention_bias).type);
    }
    if (spec.has_input(in.bias)) load_bias_ = RowLoader<float>(spec.input(in.bias).type);
    projection_ = {shape.batch * shape.rows, spec.input(in.x).shape[2],
                   spec.input(in.weights).shape[1]};
    attention_bytes_ = (AttentionWorkspaceBytes<float>(shape, threads_) + 63) / 64 * 64;
  }

  absl::Status ResolveMask(const NodeSpec& spec) {
    if (!spec.has_input(in_.mask)) return absl::OkStatus();
    ASSIGN_OR_RETURN(rules_.form,
                     ResolvePaddingForm(spec.input(in_.mask).shape, shape_, "mask_index"));
    return absl::OkStatus();
  }

  size_t workspace_bytes() const override {
    return attention_bytes_ +
           static_cast<size_t>(projection_.rows * projection_.columns) * sizeof(float);
  }

  absl::Status Run(KernelContext& context) const override {
    float* projected =
        reinterpret_cast<float*>(static_cast<char*>(context.workspace()) + attention_bytes_);
    ProjectInput(context, projected);

    const int64_t row = projection_.columns, hidden = shape_.heads * shape_.head_size;
    const auto part = [&](int64_t offset, int64_t size) {
      return HeadRows{projected + offset, ElementType::kFloat32, shape_.rows * row, size, row};
    };
    CachedRows keys{.current = part(hidden, shape_.head_size)};
    CachedRows values{.current = part(2 * hidden, shape_.value_size)};
    if (context.has_input(in_.past)) {
      const TensorView& past = context.input(in_.past);
      keys.past = HeadRows::HeadMajor(past.data, past.type, shape_.heads, shape_.past_rows,
                                      shape_.head_size);
      values.past = keys.past;
      values.past.data = static_cast<const char*>(past.data) + past.num_bytes() / 2;
    }
    if (context.has_output(kPresent)) {
      const TensorView& present = context.output(kPresent);
      char* data = static_cast<char*>(present.data);
      for (const CachedRows* rows : {&keys, &values}) {
        ConcatenateRows(*rows, shape_.batch, shape_.heads, shape_.past_rows, shape_.rows,
                        shape_.head_size, present.type, data, context.threads());
        data += present.num_bytes() / 2;
      }
    }

    const bool has_bias = in_.attention_bias >= 0 && context.has_input(in_.attention_bias);
    const AttentionMask mask(
        rules_, shape_,
        rules_.form != PaddingForm::kNone ? context.input(in_.mask).as<int32_t>() : nullptr,
        has_bias ? context.input(in_.attention_bias).data : nullptr);
    const auto range = [&](int64_t b, int64_t r) { return mask.Range(b, r); };
    const auto bias = [&](int64_t b, int64_t h, int64_t r, int64_t begin, int64_t end, float* out) {
      mask.Bias(b, h, r, begin, end, out);
    };
    const TensorView& y = context.output(kY);
    AttentionProblem<float> problem{
        .shape = shape_,
        .scale = scale_,
        .query = part(0, shape_.head_size),
        .keys = keys,
        .values = values,
        .output = HeadRows::RowMajor(y.data, y.type, shape_.heads, shape_.rows, shape_.value_size),
        .key_range = range};
    if (!mask.trivial()) problem.bias.emplace(bias);
    RunAttention(problem, context.threads(), threads_, context.workspace());
    return absl::OkStatus();
  }

 protected:
  // Writes [batch, rows, columns of the weights].
  virtual void ProjectInput(KernelContext& context, float* projected) const = 0;

  // Where a block of projected columns goes, its bias already in it.
  float* WithBias(KernelContext& context, float* projected, int64_t row, int64_t column,
                  int64_t count) const {
    float* y = projected + row * projection_.columns + column;
    if (context.has_input(in_.bias)) {
      load_bias_(context.input(in_.bias).data, column, count, y);
    } else {
      std::fill(y, y + count, 0.0f);
    }
    return y;
  }

  const Inputs& in_;
  ProjectionShape projection_;

 private:
  AttentionShape shape_;
  int threads_;
  float scale_;
  MaskRules rules_;
  LoadRowFn<float> load_bias_ = nullptr;
  size_t attention_bytes_;
};

template <typename T>
class FloatAttentionKernel final : public ProjectedAttentionKernel {
 public:
  using ProjectedAttentionKernel::ProjectedAttentionKernel;

 protected:
  void ProjectInput(KernelContext& context, float* projected) const override {
    Project<float>(
        projection_, context.input(in_.x).as<T>(), context.input(in_.weights).as<T>(),
        [](T x) { return static_cast<float>(x); },
        [](T w, int64_t) { return static_cast<float>(w); },
        [&](int64_t row, int64_t column, int64_t count, const float* sums) {
          float* y = WithBias(context, projected, row, column, count);
          for (int64_t c = 0; c < count; ++c) y[c] += sums[c];
        },
        context.threads());
  }
};

// Integers multiply exactly; scales of weights may differ by column.
template <typename X, typename W>
class QuantizedAttentionKernel final : public ProjectedAttentionKernel {
 public:
  using ProjectedAttentionKernel::ProjectedAttentionKernel;

 protected:
  void ProjectInput(KernelContext& context, float* projected) const override {
    const TensorView& weight_scale = context.input(in_.weight_scale);
    const LoadRowFn<float> load = RowLoader<float>(weight_scale.type);
    float x_scale;
    load(context.input(in_.x_scale).data, 0, 1, &x_scale);
    const int32_t x_zero =
        context.has_input(in_.x_zero) ? *context.input(in_.x_zero).template as<X>() : 0;
    const W* weight_zero = context.has_input(in_.weight_zero)
                               ? context.input(in_.weight_zero).template as<W>()
                               : nullptr;
    const bool zero_per_column =
        weight_zero != nullptr && context.input(in_.weight_zero).num_elements() > 1;
    const bool scale_per_column = weight_scale.num_elements() > 1;
    Project<int32_t>(
        projection_, context.input(in_.x).template as<X>(),
        context.input(in_.weights).template as<W>(),
        [x_zero](X x) { return static_cast<int32_t>(x) - x_zero; },
        [&](W w, int64_t column) {
          return static_cast<int32_t>(w) -
                 (weight_zero == nullptr ? 0 : int32_t{weight_zero[zero_per_column ? column : 0]});
        },
        [&](int64_t row, int64_t column, int64_t count, const int32_t* sums) {
          float* y = WithBias(context, projected, row, column, count);
          float scales[64];
          load(weight_scale.data, scale_per_column ? column : 0, scale_per_column ? count : 1,
               scales);
          for (int64_t c = 0; c < count; ++c) {
            y[c] += static_cast<float>(sums[c]) * (x_scale * scales[scale_per_column ? c : 0]);
          }
        },
        context.threads());
  }
};

absl::StatusOr<AttentionShape> ResolveShape(const NodeSpec& spec, const Inputs& in) {
  RETURN_IF_ERROR(CheckSupported(spec.attributes()));
  AttentionShape shape;
  ASSIGN_OR_RETURN(shape.heads, HeadCountAttribute(spec.attributes(), "num_heads"));
  ASSIGN_OR_RETURN(const HiddenSizes hidden,
                   ResolveHidden(spec.attributes(), Dim(spec.input(in.weights).shape[1])));
  shape.kv_heads = shape.heads;
  shape.batch = spec.input(in.x).shape[0];
  shape.rows = spec.input(in.x).shape[1];
  shape.head_size = hidden.query.value() / shape.heads;
  shape.value_size = hidden.value.value() / shape.heads;
  shape.past_rows = spec.has_input(in.past) ? spec.input(in.past).shape[3] : 0;
  shape.keys = shape.past_rows + shape.rows;
  RETURN_IF_ERROR(CheckAttentionShape(shape));
  return shape;
}

absl::StatusOr<std::unique_ptr<Kernel>> FloatReference(const NodeSpec& spec) {
  ASSIGN_OR_RETURN(const AttentionShape shape, ResolveShape(spec, kFloat));
  std::unique_ptr<ProjectedAttentionKernel> kernel;
  if (!DispatchType<float, Float16, BFloat16>(spec.input(0).type, [&]<typename T>() {
        kernel = std::make_unique<FloatAttentionKernel<T>>(spec, kFloat, shape);
      })) {
    return UnsupportedType(spec, spec.input(0).type);
  }
  RETURN_IF_ERROR(kernel->ResolveMask(spec));
  return kernel;
}

absl::StatusOr<std::unique_ptr<Kernel>> QuantizedReference(const NodeSpec& spec) {
  ASSIGN_OR_RETURN(const AttentionShape shape, ResolveShape(spec, kQuantized));
  std::unique_ptr<ProjectedAttentionKernel> kernel;
  DispatchType<uint8_t, int8_t>(spec.input(0).type, [&]<typename X>() {
    DispatchType<uint8_t, int8_t>(spec.input(1).type, [&]<typename W>() {
      kernel = std::make_unique<QuantizedAttentionKernel<X, W>>(spec, kQuantized, shape);
    });
  });
  if (kernel == nullptr) return UnsupportedType(spec, spec.input(0).type);
  RETURN_IF_ERROR(kernel->ResolveMask(spec));
  return kernel;
}

}  // namespace

void RegisterMicrosoftAttentionOps(OpRegistry& registry) {
  using Kind = AttributeSpec::Kind;
  constexpr ElementTypeSet kTypes = {ElementType::kFloat32, ElementType::kFloat16,
                                     ElementType::kBfloat16};
  constexpr ElementTypeSet kBytes = {ElementType::kInt8, ElementType::kUint8};
  constexpr ElementTypeSet kIndex = {ElementType::kInt32};
  registry.Register(
      {.domain = "com.microsoft",
       .name = "Attention",
       .inputs = {RequiredParameter("input", "T", kTypes),
                  RequiredParameter("weights", "T", kTypes), OptionalParameter("bias", "T", kTypes),
                  OptionalParameter("mask_index", "", kIndex),
                  OptionalParameter("past", "T", kTypes),
                  OptionalParameter("attention_bias", "T", kTypes),
                  OptionalParameter("past_sequence_length", "", kIndex)},
       .outputs = {RequiredParameter("output", "T", kTypes),
                   OptionalParameter("present", "T", kTypes)},
       .attributes = {{"do_rotary", Kind::kInt},
                      {"mask_filter_value", Kind::kFloat},
                      {"num_heads", Kind::kInt, true},
                      {"past_present_share_buffer", Kind::kInt},
                      {"qkv_hidden_sizes", Kind::kInts},
                      {"rotary_embedding_dim", Kind::kInt},
                      {"scale", Kind::kFloat},
                      {"unidirectional", Kind::kInt}},
       .infer = InferFloat,
       .reference = FloatReference});
  registry.Register({.domain = "com.microsoft",
                     .name = "QAttention",
                     .inputs = {RequiredParameter("input", "T1", kBytes),
                                RequiredParameter("weight", "T2", kBytes),
                                RequiredParameter("bias", "T3", kTypes),
                                RequiredParameter("input_scale", "T3", kTypes),
                                RequiredParameter("weight_scale", "T3", kTypes),
                                OptionalParameter("mask_index", "", kIndex),
                                OptionalParameter("input_zero_point", "T1", kBytes),
                                OptionalParameter("weight_zero_point", "T2", kBytes),
                                OptionalParameter("past", "T3", kTypes)},
                     .outputs = {RequiredParameter("output", "T3", kTypes),
                                 OptionalParameter("present", "T3", kTypes)},
                     .attributes = {{"do_rotary", Kind::kInt},
                                    {"mask_filter_value", Kind::kFloat},
                                    {"num_heads", Kind::kInt, true},
                                    {"past_present_share_buffer", Kind::kInt},
                                    {"scale", Kind::kFloat},
                                    {"unidirectional", Kind::kInt}},
                     .infer = InferQuantized,
                     .reference = QuantizedReference});
}

}  // namespace inferd::engine
