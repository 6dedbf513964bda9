// com.microsoft::MultiHeadAttention and DecoderMaskedMultiHeadAttention: attention over projected
// queries, keys and values, apart or packed, with a cache that grows or is shared.
#include <algorithm>
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
#include "engine/ops/microsoft/multi_head_operands.h"
#include "engine/ops/microsoft/padding_mask.h"
#include "engine/ops/op_def.h"
#include "engine/ops/schema.h"
#include "engine/ops/shape_functions.h"
#include "engine/status_macros.h"

namespace inferd::engine {
namespace {

enum Output { kY, kPresentKey, kPresentValue, kScores };

constexpr MultiHeadInputs kMultiHead = {.bias = 3,
                                        .mask = 4,
                                        .attention_bias = 5,
                                        .past_key = 6,
                                        .past_value = 7,
                                        .past_length = 8,
                                        .indirection = 9};
constexpr MultiHeadInputs kDecoder = {.bias = 10,
                                      .mask = 3,
                                      .attention_bias = 4,
                                      .past_key = 5,
                                      .past_value = 6,
                                      .past_length = 7,
                                      .indirection = 9};

std::optional<int> KnownRank(const InferenceContext& context, int i) {
  if (!context.has_input(i) || !context.shape(i).has_rank()) return std::nullopt;
  return context.shape(i).rank();
}

absl::Status InferWith(InferenceContext& context, const MultiHeadInputs& in, bool decoder) {
  ASSIGN_OR_RETURN(const int64_t heads, HeadCountAttribute(context.attributes(), "num_heads"));
  if (context.has_input(in.past_key) != context.has_input(in.past_value)) {
    return absl::InvalidArgumentError("past_key and past_value are given one without the other");
  }
  if (context.has_input(in.past_length) && !context.has_input(in.past_key)) {
    return absl::InvalidArgumentError("past_sequence_length is given without past_key");
  }
  if (context.has_input(in.indirection) && !context.has_input(in.past_length)) {
    return absl::InvalidArgumentError("cache_indirection is given without past_sequence_length");
  }
  if (context.has_input(in.past_length)) {
    RETURN_IF_ERROR(ExpectScalar(context, in.past_length));
  }
  if (decoder && context.attributes().GetInt("past_present_share_buffer", 0) != 0 &&
      context.has_input(in.past_key) && !context.has_input(in.past_length)) {
    return absl::InvalidArgumentError(
        "past_present_share_buffer is set and past_sequence_length is absent");
  }
  if (context.has_input(in.indirection)) RETURN_IF_ERROR(ExpectRank(context, in.indirection, 3, 3));
  ASSIGN_OR_RETURN(
      const std::optional<MultiHeadPacking> packing,
      ResolvePacking(context.has_input(in.key), context.has_input(in.value),
                     KnownRank(context, in.query), KnownRank(context, in.key), decoder));
  SymbolicShape y, present_key, present_value, scores;
  if (packing.has_value()) {
    ASSIGN_OR_RETURN(const MultiHeadDims dims, ResolveMultiHeadDims(context, in, *packing, heads));
    // Under a shared buffer the keys in use are known when it runs.
    const Dim keys = context.has_input(in.past_length) ? Dim() : dims.total;
    RETURN_IF_ERROR(
        CheckAttentionBias(context, in.attention_bias, {dims.batch, Dim(heads), dims.rows, keys}));
    ASSIGN_OR_RETURN(const Dim hidden, MultiplyDims(Dim(heads), dims.value_size));
    y = SymbolicShape({dims.batch, dims.rows, hidden});
    present_key = SymbolicShape({dims.batch, Dim(heads), dims.total, dims.head_size});
    present_value = SymbolicShape({dims.batch, Dim(heads), dims.total, dims.value_size});
    scores = SymbolicShape({dims.batch, Dim(heads), dims.rows, keys});
  }
  const ElementType type = context.element_type(in.query);
  const Node& node = context.node();
  context.SetOutput(kY, type, y);
  if (node.output(kPresentKey) != nullptr) context.SetOutput(kPresentKey, type, present_key);
  if (node.output(kPresentValue) != nullptr) context.SetOutput(kPresentValue, type, present_value);
  if (node.output(kScores) != nullptr) {
    if (context.has_input(in.past_length)) {
      return absl::UnimplementedError("output qk together with past_sequence_length");
    }
    context.SetOutput(kScores, ElementType::kFloat32, scores);
  }
  return absl::OkStatus();
}

absl::Status InferMultiHead(InferenceContext& context) {
  return InferWith(context, kMultiHead, false);
}
absl::Status InferDecoder(InferenceContext& context) { return InferWith(context, kDecoder, true); }

class MultiHeadKernel final : public Kernel {
 public:
  MultiHeadKernel(const NodeSpec& spec, const MultiHeadInputs& in, MultiHeadPacking packing,
                  const AttentionShape& shape)
      : in_(in), packing_(packing), shape_(shape), threads_(spec.threads) {
    const Attributes& attributes = spec.attributes();
    const float scale = attributes.GetFloat("scale", 0);
    scale_ = scale != 0 ? scale : 1 / std::sqrt(static_cast<float>(shape.head_size));
    rules_.causal = attributes.GetInt("unidirectional", 0) != 0;
    rules_.filter = attributes.GetFloat("mask_filter_value", -10000.0f);
    if (spec.has_input(in.attention_bias)) {
      rules_.SetBias(spec.input(in.attention_bias).shape, spec.input(in.attention_bias).type);
      bias_keys_ = spec.input(in.attention_bias).shape[3];
    }
    if (spec.has_input(in.mask)) mask_shape_ = spec.input(in.mask).shape;
    type_ = spec.input(in.query).type;
    current_ = shape.keys - shape.past_rows;
    add_bias_ = spec.has_input(in.bias);
    shared_ = spec.has_input(in.past_length);
    buffer_rows_ = spec.has_input(in.past_key) ? spec.input(in.past_key).shape[2] : 0;
    attention_bytes_ = AttentionWorkspaceBytes<float>(shape, threads_);
    attention_bytes_ = (attention_bytes_ + 63) / 64 * 64;
  }

  absl::Status ResolveMask() {
    if (mask_shape_.has_value()) {
      ASSIGN_OR_RETURN(rules_.form, ResolvePaddingForm(*mask_shape_, shape_, "the padding mask"));
    }
    return absl::OkStatus();
  }
  bool shared() const { return shared_; }

  size_t workspace_bytes() const override {
    return attention_bytes_ + (add_bias_ ? BiasedRows() * sizeof(float) : 0);
  }

  absl::Status Run(KernelContext& context) const override {
    AttentionShape shape = shape_;
    MaskRules rules = rules_;
    if (shared_) RETURN_IF_ERROR(ResolveShared(context, shape, rules));
    Operands operands = Locate(context);
    if (add_bias_) AddBias(context, operands);
    if (context.has_input(in_.past_key)) {
      const auto past = [&](int i, int64_t size) {
        const TensorView& view = context.input(i);
        return HeadRows::HeadMajor(view.data, view.type, shape.heads, buffer_rows_, size);
      };
      operands.keys.past = past(in_.past_key, shape.head_size);
      operands.values.past = past(in_.past_value, shape.value_size);
    }
    if (context.has_input(in_.indirection)) RETURN_IF_ERROR(Indirect(context, shape, operands));
    Present(context, kPresentKey, in_.past_key, shape, operands.keys, shape.head_size);
    Present(context, kPresentValue, in_.past_value, shape, operands.values, shape.value_size);

    const AttentionMask mask(
        rules, shape,
        rules.form != PaddingForm::kNone ? context.input(in_.mask).as<int32_t>() : nullptr,
        context.has_input(in_.attention_bias) ? context.input(in_.attention_bias).data : nullptr);
    const auto range = [&](int64_t b, int64_t row) { return mask.Range(b, row); };
    const auto bias = [&](int64_t b, int64_t h, int64_t row, int64_t begin, int64_t end,
                          float* out) { mask.Bias(b, h, row, begin, end, out); };
    const TensorView& y = context.output(kY);
    AttentionProblem<float> problem{
        .shape = shape,
        .scale = scale_,
        .query = operands.query,
        .keys = operands.keys,
        .values = operands.values,
        .output = HeadRows::RowMajor(y.data, y.type, shape.heads, shape.rows, shape.value_size),
        .key_range = range};
    if (!mask.trivial()) problem.bias.emplace(bias);
    if (context.has_output(kScores)) {
      problem.score_output = context.output(kScores).data;
      problem.score_type = context.output(kScores).type;
      problem.score_stage = ScoreStage::kAfterBias;
      problem.hidden_score = kFutureScore;
    }
    RunAttention(problem, context.threads(), threads_, context.workspace());
    return absl::OkStatus();
  }

 private:
  struct Operands {
    HeadRows query;
    CachedRows keys, values;
  };

  size_t BiasedRows() const {
    return static_cast<size_t>(shape_.batch * shape_.heads) *
           (shape_.rows * shape_.head_size + current_ * (shape_.head_size + shape_.value_size));
  }

  // The cache holds past_sequence_length rows of the buffer.
  absl::Status ResolveShared(KernelContext& context, AttentionShape& shape,
                             MaskRules& rules) const {
    const int64_t past = *context.input(in_.past_length).as<int32_t>();
    if (past < 0 || past > buffer_rows_ - current_) {
      return absl::InvalidArgumentError(absl::StrCat(
          "past_sequence_length is ", past, ", expected at most ", buffer_rows_ - current_,
          ": the cache has ", buffer_rows_, " rows, ", current_, " are added"));
    }
    shape.keys_limit = shape_.keys;
    shape.past_rows = past;
    shape.keys = past + current_;
    if (mask_shape_.has_value()) {
      ASSIGN_OR_RETURN(rules.form, ResolvePaddingForm(*mask_shape_, shape, "the padding mask"));
    }
    if (context.has_input(in_.attention_bias) && bias_keys_ != shape.keys) {
      return absl::InvalidArgumentError(
          absl::StrCat("attention_bias covers ", bias_keys_, " keys, expected ", shape.keys));
    }
    return absl::OkStatus();
  }

  Operands Locate(KernelContext& context) const {
    Operands o;
    const TensorView& query = context.input(in_.query);
    const int64_t heads = shape_.heads, size = shape_.head_size;
    o.query = HeadRows::RowMajor(query.data, query.type, heads, shape_.rows, size);
    const auto part = [&](const TensorView& view, int64_t offset, int64_t head_stride,
                          int64_t row_stride) {
      const char* data = static_cast<const char*>(view.data) + offset * ElementBytes(view.type, 1);
      return HeadRows{data, view.type, current_ * row_stride, head_stride, row_stride};
    };
    switch (packing_) {
      case MultiHeadPacking::kApart:
      case MultiHeadPacking::kCross: {
        const auto make =
            packing_ == MultiHeadPacking::kApart ? &HeadRows::RowMajor : &HeadRows::HeadMajor;
        o.keys.current = make(context.input(in_.key).data, type_, heads, current_, size);
        o.values.current =
            make(context.input(in_.value).data, type_, heads, current_, shape_.value_size);
        break;
      }
      case MultiHeadPacking::kKeyValue:
        o.keys.current = part(context.input(in_.key), 0, 2 * size, 2 * heads * size);
        o.values.current = part(context.input(in_.key), size, 2 * size, 2 * heads * size);
        break;
      case MultiHeadPacking::kQueryKeyValue:
        o.query = part(query, 0, 3 * size, 3 * heads * size);
        o.keys.current = part(query, size, 3 * size, 3 * heads * size);
        o.values.current = part(query, 2 * size, 3 * size, 3 * heads * size);
        break;
      case MultiHeadPacking::kRows:
        o.query = part(query, 0, size, 3 * heads * size);
        o.keys.current = part(query, heads * size, size, 3 * heads * size);
        o.values.current = part(query, 2 * heads * size, size, 3 * heads * size);
        break;
    }
    return o;
  }

  // Moves query, keys and values with their biases to the workspace, as float.
  void AddBias(KernelContext& context, Operands& o) const {
    const LoadRowFn<float> load = RowLoader<float>(type_);
    float* target =
        reinterpret_cast<float*>(static_cast<char*>(context.workspace()) + attention_bytes_);
    const void* bias = context.input(in_.bias).data;
    int64_t first = 0;
    const auto add = [&](HeadRows& rows, int64_t count, int64_t size) {
      const int64_t heads = shape_.heads;
      context.threads().ParallelFor(shape_.batch * count, 1, [&](int64_t begin, int64_t end) {
        constexpr int64_t kChunk = 64;
        float chunk[kChunk];
        for (int64_t i = begin; i < end; ++i) {
          for (int64_t h = 0; h < heads; ++h) {
            float* to = target + (i * heads + h) * size;
            load(rows.data, rows.offset(i / count, h, i % count), size, to);
            for (int64_t d = 0; d < size; d += kChunk) {
              const int64_t n = std::min(kChunk, size - d);
              load(bias, first + h * size + d, n, chunk);
              for (int64_t k = 0; k < n; ++k) to[d + k] += chunk[k];
            }
          }
        }
      });
      rows = HeadRows::RowMajor(target, ElementType::kFloat32, heads, count, size);
      target += shape_.batch * count * heads * size;
      first += heads * size;
    };
    add(o.query, shape_.rows, shape_.head_size);
    // Keys and values of rank 4 are a cache, which holds biased numbers.
    if (packing_ == MultiHeadPacking::kCross) return;
    add(o.keys.current, current_, shape_.head_size);
    add(o.values.current, current_, shape_.value_size);
  }

  // Row j of the cache of each beam comes from the beam that cache_indirection names.
  absl::Status Indirect(KernelContext& context, const AttentionShape& shape, Operands& o) const {
    const TensorView& table = context.input(in_.indirection);
    const int64_t beams = table.shape[1], length = table.shape[2];
    if (table.shape[0] * beams != shape.batch || length < shape.past_rows) {
      return absl::InvalidArgumentError(
          absl::StrCat("cache_indirection has shape ", table.shape.ToString(), ", expected ",
                       shape.batch, " beams and at least ", shape.past_rows, " positions"));
    }
    const int32_t* source = table.as<int32_t>();
    for (int64_t b = 0; b < shape.batch; ++b) {
      for (int64_t j = 0; j < shape.past_rows; ++j) {
        const int64_t beam = source[b * length + j];
        if (beam < 0 || beam >= beams) {
          return absl::InvalidArgumentError(
              absl::StrCat("cache_indirection names beam ", beam, " of ", beams));
        }
      }
    }
    for (CachedRows* rows : {&o.keys, &o.values}) {
      rows->past_beams = source;
      rows->past_beams_stride = length;
      rows->beams = beams;
    }
    return absl::OkStatus();
  }

  // The grown cache, or the shared buffer with the new rows in it.
  void Present(KernelContext& context, int output, int past_input, const AttentionShape& shape,
               const CachedRows& rows, int64_t size) const {
    if (!context.has_output(output)) return;
    const TensorView& present = context.output(output);
    if (!shared_) {
      ConcatenateRows(rows, shape.batch, shape.heads, shape.past_rows, current_, size, present.type,
                      present.data, context.threads());
      return;
    }
    const TensorView& past = context.input(past_input);
    if (present.data != past.data && past.num_bytes() > 0) {
      std::memcpy(present.data, past.data, past.num_bytes());
    }
    const LoadRowFn<double> load = RowLoader<double>(rows.current.type);
    const StoreRowFn<double> store = RowStorer<double>(present.type);
    constexpr int64_t kChunk = 128;
    double chunk[kChunk];
    for (int64_t i = 0; i < shape.batch * shape.heads; ++i) {
      for (int64_t r = 0; r < current_; ++r) {
        const int64_t to = (i * buffer_rows_ + shape.past_rows + r) * size;
        for (int64_t d = 0; d < size; d += kChunk) {
          const int64_t n = std::min(kChunk, size - d);
          load(rows.current.data, rows.current.offset(i / shape.heads, i % shape.heads, r) + d, n,
               chunk);
          store(chunk, n, present.data, to + d);
        }
      }
    }
  }

  const MultiHeadInputs& in_;
  MultiHeadPacking packing_;
  AttentionShape shape_;
  int threads_;
  float scale_;
  MaskRules rules_;
  std::optional<Shape> mask_shape_;
  int64_t bias_keys_ = 0;
  ElementType type_;
  int64_t current_;      // keys that are new
  int64_t buffer_rows_;  // of the past
  bool add_bias_;
  bool shared_;
  size_t attention_bytes_;
};

absl::StatusOr<std::unique_ptr<Kernel>> MakeReference(const NodeSpec& spec,
                                                      const MultiHeadInputs& in, bool decoder) {
  const Shape& query = spec.input(in.query).shape;
  const bool has_key = spec.has_input(in.key);
  ASSIGN_OR_RETURN(
      const std::optional<MultiHeadPacking> packing,
      ResolvePacking(has_key, spec.has_input(in.value), query.rank(),
                     has_key ? std::optional(spec.input(in.key).shape.rank()) : std::nullopt,
                     decoder));
  AttentionShape shape;
  ASSIGN_OR_RETURN(shape.heads, HeadCountAttribute(spec.attributes(), "num_heads"));
  shape.kv_heads = shape.heads;
  shape.batch = query[0];
  shape.rows = query[1];
  int64_t current = shape.rows;
  switch (*packing) {
    case MultiHeadPacking::kApart:
    case MultiHeadPacking::kCross: {
      const Shape& key = spec.input(in.key).shape;
      const Shape& value = spec.input(in.value).shape;
      const bool cross = *packing == MultiHeadPacking::kCross;
      shape.head_size = query[2] / shape.heads;
      shape.value_size = cross ? value[3] : value[2] / shape.heads;
      current = cross ? key[2] : key[1];
      break;
    }
    case MultiHeadPacking::kKeyValue:
      shape.head_size = shape.value_size = query[2] / shape.heads;
      current = spec.input(in.key).shape[1];
      break;
    case MultiHeadPacking::kQueryKeyValue:
      shape.head_size = shape.value_size = query[4];
      break;
    case MultiHeadPacking::kRows:
      shape.head_size = shape.value_size = query[2] / (3 * shape.heads);
      break;
  }
  if (spec.has_input(in.past_key)) shape.past_rows = spec.input(in.past_key).shape[2];
  // With a shared buffer this is the most there can be: new rows lie within it.
  shape.keys = shape.past_rows + current;
  RETURN_IF_ERROR(CheckAttentionShape(shape));
  auto kernel = std::make_unique<MultiHeadKernel>(spec, in, *packing, shape);
  if (!kernel->shared()) RETURN_IF_ERROR(kernel->ResolveMask());
  return kernel;
}

absl::StatusOr<std::unique_ptr<Kernel>> MultiHeadReference(const NodeSpec& spec) {
  return MakeReference(spec, kMultiHead, false);
}
absl::StatusOr<std::unique_ptr<Kernel>> DecoderReference(const NodeSpec& spec) {
  return MakeReference(spec, kDecoder, true);
}

}  // namespace

void RegisterMicrosoftMultiHeadAttentionOps(OpRegistry& registry) {
  using Kind = AttributeSpec::Kind;
  constexpr ElementTypeSet kTypes = {ElementType::kFloat32, ElementType::kFloat16,
                                     ElementType::kBfloat16};
  constexpr ElementTypeSet kIndex = {ElementType::kInt32};
  const std::vector<FormalParameter> outputs = {
      RequiredParameter("output", "T", kTypes), OptionalParameter("present_key", "T", kTypes),
      OptionalParameter("present_value", "T", kTypes), OptionalParameter("qk", "", kTypes)};
  registry.Register(
      {.domain = "com.microsoft",
       .name = "MultiHeadAttention",
       .inputs = {RequiredParameter("query", "T", kTypes), OptionalParameter("key", "T", kTypes),
                  OptionalParameter("value", "T", kTypes), OptionalParameter("bias", "T", kTypes),
                  OptionalParameter("key_padding_mask", "", kIndex),
                  OptionalParameter("attention_bias", "T", kTypes),
                  OptionalParameter("past_key", "T", kTypes),
                  OptionalParameter("past_value", "T", kTypes),
                  OptionalParameter("past_sequence_length", "", kIndex),
                  OptionalParameter("cache_indirection", "", kIndex)},
       .outputs = outputs,
       .attributes = {{"mask_filter_value", Kind::kFloat},
                      {"num_heads", Kind::kInt, true},
                      {"scale", Kind::kFloat},
                      {"unidirectional", Kind::kInt}},
       .infer = InferMultiHead,
       .reference = MultiHeadReference});
  registry.Register(
      {.domain = "com.microsoft",
       .name = "DecoderMaskedMultiHeadAttention",
       .inputs = {RequiredParameter("query", "T", kTypes), OptionalParameter("key", "T", kTypes),
                  OptionalParameter("value", "T", kTypes),
                  OptionalParameter("mask_index", "", kIndex),
                  OptionalParameter("attention_bias", "T", kTypes),
                  OptionalParameter("past_key", "T", kTypes),
                  OptionalParameter("past_value", "T", kTypes),
                  OptionalParameter("past_sequence_length", "", kIndex),
                  OptionalParameter("beam_width", "", kIndex),
                  OptionalParameter("cache_indirection", "", kIndex),
                  OptionalParameter("bias", "T", kTypes)},
       .outputs = outputs,
       .attributes = {{"mask_filter_value", Kind::kFloat},
                      {"num_heads", Kind::kInt, true},
                      {"output_qk", Kind::kInt},
                      {"past_present_share_buffer", Kind::kInt},
                      {"scale", Kind::kFloat}},
       .infer = InferDecoder,
       .reference = DecoderReference});
}

}  // namespace inferd::engine
