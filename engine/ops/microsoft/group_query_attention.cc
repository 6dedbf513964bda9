// com.microsoft::GroupQueryAttention: causal attention of decoders, with rotary embedding, a cache
// that grows or keeps its size, and lengths that differ by sample.
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
#include "engine/ops/element_rows.h"
#include "engine/ops/elementwise.h"
#include "engine/ops/microsoft/padding_mask.h"
#include "engine/ops/op_def.h"
#include "engine/ops/rotary.h"
#include "engine/ops/schema.h"
#include "engine/ops/shape_functions.h"
#include "engine/ops/shape_input.h"
#include "engine/status_macros.h"

namespace inferd::engine {
namespace {

enum Input {
  kQuery,
  kKey,
  kValue,
  kPastKey,
  kPastValue,
  kLengths,
  kTotal,
  kCosines,
  kSines,
  kPositions,
  kBias,
  kSinks,
  kKeyScale,
  kValueScale,
  kQueryNorm,
  kKeyNorm,
  kQueryLengths
};
enum Output { kY, kPresentKey, kPresentValue, kScores };

struct Heads {
  int64_t query = 0, kv = 0;
};

absl::StatusOr<Heads> HeadCounts(const Attributes& attributes) {
  Heads heads;
  ASSIGN_OR_RETURN(heads.query, HeadCountAttribute(attributes, "num_heads"));
  ASSIGN_OR_RETURN(heads.kv, HeadCountAttribute(attributes, "kv_num_heads"));
  if (heads.query % heads.kv != 0) {
    return absl::InvalidArgumentError(absl::StrCat("attribute num_heads is ", heads.query,
                                                   ", expected a multiple of kv_num_heads ",
                                                   heads.kv));
  }
  return heads;
}

absl::Status CheckInputs(const InferenceContext& context) {
  const Attributes& attributes = context.attributes();
  for (const char* name : {"k_quant_type", "v_quant_type"}) {
    if (const std::string type = attributes.GetString(name, "NONE"); type != "NONE") {
      return absl::UnimplementedError(
          absl::StrCat("attribute ", name, " is ", type, ": quantized caches are not supported"));
    }
  }
  constexpr struct {
    int input;
    const char* what;
  } kUnsupported[] = {{kKeyScale, "k_scale: quantized caches are"},
                      {kValueScale, "v_scale: quantized caches are"},
                      {kQueryNorm, "q_norm_weight: normalization of queries is"},
                      {kKeyNorm, "k_norm_weight: normalization of keys is"},
                      {kQueryLengths, "query_seqlens: right-padded chunks are"}};
  for (const auto& unsupported : kUnsupported) {
    if (context.has_input(unsupported.input)) {
      return absl::UnimplementedError(absl::StrCat("input ", unsupported.what, " not supported"));
    }
  }
  if (attributes.GetInt("sliding_window_cache", 0) != 0) {
    return absl::UnimplementedError(
        "attribute sliding_window_cache: caches of the size of the window are not supported");
  }
  if (attributes.GetInt("causal", 1) == 0 && attributes.GetInt("local_window_size", -1) > 0) {
    return absl::InvalidArgumentError("local_window_size is given although causal is 0");
  }
  if (context.has_input(kKey) != context.has_input(kValue)) {
    return absl::InvalidArgumentError("key and value are given one without the other");
  }
  if (context.has_input(kPastKey) != context.has_input(kPastValue)) {
    return absl::InvalidArgumentError("past_key and past_value are given one without the other");
  }
  if (attributes.GetInt("do_rotary", 0) != 0 &&
      !(context.has_input(kCosines) && context.has_input(kSines))) {
    return absl::InvalidArgumentError("do_rotary is set: expected cos_cache and sin_cache");
  }
  const int64_t mode = attributes.GetInt("qk_output", 0);
  if (mode < 0 || mode > 2 || (mode == 0 && context.node().output(kScores) != nullptr)) {
    return absl::InvalidArgumentError(
        absl::StrCat("attribute qk_output is ", mode,
                     ", expected 1 (before softmax) or 2 (after) for output_qk, 0 without"));
  }
  return ExpectScalar(context, kTotal);
}

// One row of queries, keys and values: [heads.query + 2 * heads.kv, head size].
absl::StatusOr<Dim> HeadSize(const InferenceContext& context, const Heads& heads) {
  if (!context.has_input(kKey)) {
    return DivideDim(InputDim(context, kQuery, 2), heads.query + 2 * heads.kv,
                     "the last dimension of packed query, key and value");
  }
  ASSIGN_OR_RETURN(Dim size, DivideDim(InputDim(context, kQuery, 2), heads.query,
                                       "the last dimension of "
                                       "query"));
  for (int i : {kKey, kValue}) {
    RETURN_IF_ERROR(ExpectRank(context, i, 3, 3));
    ASSIGN_OR_RETURN(const Dim own, DivideDim(InputDim(context, i, 2), heads.kv,
                                              "the last dimension of key and value"));
    absl::StatusOr<Dim> merged = MergeDims(size, own);
    if (!merged.ok()) {
      return absl::InvalidArgumentError(absl::StrCat("heads of query have size ", size.ToString(),
                                                     ", those of input ", i, " ", own.ToString()));
    }
    size = *std::move(merged);
  }
  return size;
}

// Rows of the cache afterwards: it keeps its size where the total fits.
absl::StatusOr<Dim> PresentRows(const Dim& past, const Dim& rows, std::optional<int64_t> total) {
  if (past == Dim(0)) return rows;
  if (!past.known() || !total.has_value()) return Dim();
  if (*total <= past.value()) return past;
  return AddDims(past, rows);
}

absl::Status Infer(InferenceContext& context) {
  RETURN_IF_ERROR(CheckInputs(context));
  ASSIGN_OR_RETURN(const Heads heads, HeadCounts(context.attributes()));
  RETURN_IF_ERROR(ExpectRank(context, kQuery, 3, 3));
  Dim batch = InputDim(context, kQuery, 0), rows = InputDim(context, kQuery, 1);
  ASSIGN_OR_RETURN(Dim size, HeadSize(context, heads));
  for (int i : {kKey, kValue}) {
    if (!context.has_input(i)) continue;
    RETURN_IF_ERROR(MergeInputDim(context, i, 0, "batch size", batch));
    RETURN_IF_ERROR(MergeInputDim(context, i, 1, "sequence length", rows));
  }
  Dim past = context.has_input(kPastKey) ? Dim() : Dim(0);
  for (int i : {kPastKey, kPastValue}) {
    if (!context.has_input(i)) continue;
    Dim kv_heads(heads.kv);
    RETURN_IF_ERROR(ExpectRank(context, i, 4, 4));
    RETURN_IF_ERROR(MergeInputDim(context, i, 0, "batch size", batch));
    RETURN_IF_ERROR(MergeInputDim(context, i, 1, "kv_num_heads", kv_heads));
    RETURN_IF_ERROR(MergeInputDim(context, i, 2, "past sequence length", past));
    RETURN_IF_ERROR(MergeInputDim(context, i, 3, "head size", size));
  }
  if (const std::optional<int64_t> lengths = KnownCount(context, kLengths);
      lengths.has_value() && batch.known() && *lengths != batch.value()) {
    return absl::InvalidArgumentError(absl::StrCat("seqlens_k holds ", *lengths,
                                                   " lengths, expected one for each of the ",
                                                   batch.value(), " samples"));
  }
  if (context.has_input(kPositions)) {
    RETURN_IF_ERROR(ExpectRank(context, kPositions, 2, 2));
    Dim b = batch, r = rows;
    RETURN_IF_ERROR(MergeInputDim(context, kPositions, 0, "batch size", b));
    RETURN_IF_ERROR(MergeInputDim(context, kPositions, 1, "sequence length", r));
  }
  Dim cached, half;
  for (int i : {kCosines, kSines}) {
    if (!context.has_input(i)) continue;
    RETURN_IF_ERROR(ExpectRank(context, i, 2, 2));
    RETURN_IF_ERROR(MergeInputDim(context, i, 0, "positions", cached));
    RETURN_IF_ERROR(MergeInputDim(context, i, 1, "half the rotary dimension", half));
  }
  if (half.known() && size.known() && half.value() > size.value() / 2) {
    return absl::InvalidArgumentError(absl::StrCat("cos_cache has ", half.value(),
                                                   " columns, expected at most half the head size ",
                                                   size.value()));
  }
  if (context.has_input(kBias)) {
    RETURN_IF_ERROR(ExpectRank(context, kBias, 4, 4));
    RETURN_IF_ERROR(ExpectBroadcastable(context, kBias, {batch, Dim(heads.query), rows, Dim()}));
    Dim own = rows;  // one row does not serve all
    RETURN_IF_ERROR(MergeInputDim(context, kBias, 2, "sequence length", own));
  }
  if (context.has_input(kSinks)) {
    RETURN_IF_ERROR(ExpectRank(context, kSinks, 1, 1));
    Dim count(heads.query);
    RETURN_IF_ERROR(MergeInputDim(context, kSinks, 0, "num_heads", count));
  }

  std::optional<int64_t> total;
  ASSIGN_OR_RETURN(const auto values, ConstantInts(context, kTotal));
  if (values.has_value()) total = (*values)[0];
  ASSIGN_OR_RETURN(const Dim present, PresentRows(past, rows, total));
  ASSIGN_OR_RETURN(const Dim hidden, MultiplyDims(Dim(heads.query), size));
  const ElementType type = context.element_type(kQuery);
  const Node& node = context.node();
  context.SetOutput(kY, type, SymbolicShape({batch, rows, hidden}));
  const SymbolicShape cache({batch, Dim(heads.kv), present, size});
  if (node.output(kPresentKey) != nullptr) context.SetOutput(kPresentKey, type, cache);
  if (node.output(kPresentValue) != nullptr) context.SetOutput(kPresentValue, type, cache);
  if (node.output(kScores) != nullptr) {
    const Dim keys = total.has_value() && *total >= 0 ? Dim(*total) : Dim();
    context.SetOutput(kScores, type, SymbolicShape({batch, Dim(heads.query), rows, keys}));
  }
  return absl::OkStatus();
}

template <typename T>
class GroupQueryKernel final : public Kernel {
 public:
  // `present` rows in the cache; shape.keys of them are in use at most.
  GroupQueryKernel(const NodeSpec& spec, const AttentionShape& shape, int64_t past, int64_t present)
      : shape_(shape), past_(past), present_(present), threads_(spec.threads) {
    const Attributes& attributes = spec.attributes();
    const float scale = attributes.GetFloat("scale", 0);
    scale_ = scale != 0 ? scale : 1 / std::sqrt(static_cast<float>(shape.head_size));
    softcap_ = attributes.GetFloat("softcap", 0);
    const int64_t window = attributes.GetInt("local_window_size", -1);
    window_ = window > 0 ? window : -1;
    causal_ = attributes.GetInt("causal", 1) != 0;
    rotary_ = attributes.GetInt("do_rotary", 0) != 0;
    interleaved_ = attributes.GetInt("rotary_interleaved", 0) != 0;
    if (rotary_) {
      cached_rows_ = spec.input(kCosines).shape[0];
      half_ = spec.input(kCosines).shape[1];
    }
    packed_ = !spec.has_input(kKey);
    smooth_ = attributes.GetInt("smooth_softmax", 0) == 1;
    stage_ = attributes.GetInt("qk_output", 0) == 2 ? ScoreStage::kProbabilities
                                                    : ScoreStage::kAfterBias;
    if (spec.has_input(kBias)) {
      rules_.SetBias(spec.input(kBias).shape, spec.input(kBias).type);
      bias_keys_ = spec.input(kBias).shape[3];
    }
    const auto aligned = [](size_t bytes) { return (bytes + 63) / 64 * 64; };
    attention_bytes_ = aligned(AttentionWorkspaceBytes<float>(shape, threads_));
    sink_bytes_ = aligned(shape.heads * sizeof(float));
    const size_t cache = aligned(
        static_cast<size_t>(shape.batch * shape.kv_heads * present * shape.head_size) * sizeof(T));
    key_bytes_ = spec.has_output(kPresentKey) ? 0 : cache;
    value_bytes_ = spec.has_output(kPresentValue) ? 0 : cache;
    query_bytes_ =
        rotary_ ? static_cast<size_t>(shape.batch * shape.rows * shape.heads * shape.head_size) *
                      sizeof(T)
                : 0;
  }

  size_t workspace_bytes() const override {
    return attention_bytes_ + sink_bytes_ + key_bytes_ + value_bytes_ + query_bytes_;
  }

  absl::Status Run(KernelContext& context) const override {
    RETURN_IF_ERROR(CheckValues(context));
    const int32_t* lengths = context.input(kLengths).as<int32_t>();
    char* memory = static_cast<char*>(context.workspace()) + attention_bytes_;
    float* sinks = reinterpret_cast<float*>(memory);
    memory += sink_bytes_;
    T* keys = static_cast<T*>(key_bytes_ != 0 ? memory : context.output(kPresentKey).data);
    memory += key_bytes_;
    T* values = static_cast<T*>(value_bytes_ != 0 ? memory : context.output(kPresentValue).data);
    memory += value_bytes_;
    HeadRows query = NewRows(context, kQuery, 0, shape_.heads);
    FillCache(context, kKey, kPastKey, shape_.heads, keys);
    FillCache(context, kValue, kPastValue, shape_.heads + shape_.kv_heads, values);
    if (rotary_) query = Rotate(context, query, reinterpret_cast<T*>(memory));

    const float* head_sinks = nullptr;
    if (context.has_input(kSinks)) {
      RowLoader<float>(context.input(kSinks).type)(context.input(kSinks).data, 0, shape_.heads,
                                                   sinks);
      head_sinks = sinks;
    } else if (smooth_) {
      std::fill(sinks, sinks + shape_.heads, 0.0f);
      head_sinks = sinks;
    }
    const auto range = [&](int64_t batch, int64_t row) {
      if (!causal_) return KeyRange{0, int64_t{lengths[batch]} + 1};
      const int64_t end = Past(lengths, batch) + row + 1;
      return KeyRange{window_ > 0 ? end - window_ : 0,
                      std::min<int64_t>(end, int64_t{lengths[batch]} + 1)};
    };
    // Biases have rows of bias_keys_, not of shape_.keys.
    const void* bias_data = context.has_input(kBias) ? context.input(kBias).data : nullptr;
    const auto bias = [&](int64_t b, int64_t h, int64_t row, int64_t begin, int64_t end,
                          float* out) {
      rules_.load_bias(
          bias_data,
          b * rules_.bias_batch_stride + h * rules_.bias_head_stride + row * bias_keys_ + begin,
          end - begin, out);
    };
    const auto cache = [&](const T* data) {
      return CachedRows{.current = HeadRows::HeadMajor(data, TypeOf<T>(), shape_.kv_heads, present_,
                                                       shape_.head_size)};
    };
    const TensorView& y = context.output(kY);
    AttentionProblem<float> problem{
        .shape = shape_,
        .scale = scale_,
        .softcap = softcap_,
        .query = query,
        .keys = cache(keys),
        .values = cache(values),
        .output = HeadRows::RowMajor(y.data, y.type, shape_.heads, shape_.rows, shape_.head_size),
        .key_range = range};
    if (bias_data != nullptr) problem.bias.emplace(bias);
    problem.sinks = head_sinks;
    if (context.has_output(kScores)) {
      problem.score_output = context.output(kScores).data;
      problem.score_type = context.output(kScores).type;
      problem.score_stage = stage_;
      problem.hidden_score = 0;
    }
    RunAttention(problem, context.threads(), threads_, context.workspace());
    return absl::OkStatus();
  }

 private:
  // The first call fills the cache from its start; lengths then only say what is padding.
  bool first() const { return shape_.keys == shape_.rows; }
  int64_t Past(const int32_t* lengths, int64_t batch) const {
    return first() ? 0 : int64_t{lengths[batch]} + 1 - shape_.rows;
  }

  absl::Status CheckValues(KernelContext& context) const {
    const int32_t* lengths = context.input(kLengths).as<int32_t>();
    for (int64_t b = 0; b < shape_.batch; ++b) {
      const int64_t past = Past(lengths, b);
      if (lengths[b] < 0 || lengths[b] >= shape_.keys || past < 0 || past > past_) {
        return absl::InvalidArgumentError(absl::StrCat(
            "GroupQueryAttention: seqlens_k holds ", lengths[b], ", expected a number below ",
            shape_.keys, " that leaves room for ", shape_.rows, " new rows after at most ", past_));
      }
      for (int64_t r = 0; rotary_ && r < shape_.rows; ++r) {
        const int64_t position = Position(context, b, r);
        if (position < 0 || position >= cached_rows_) {
          return absl::InvalidArgumentError(absl::StrCat("GroupQueryAttention: position ", position,
                                                         " is not one of the ", cached_rows_,
                                                         " that cos_cache holds"));
        }
      }
    }
    return absl::OkStatus();
  }

  int64_t Position(KernelContext& context, int64_t batch, int64_t row) const {
    if (context.has_input(kPositions)) {
      // ONNX Runtime counts up from the first position when the cache is empty, in every sample.
      const int64_t* positions = context.input(kPositions).as<int64_t>();
      if (!first()) return positions[batch * shape_.rows + row];
      // A position near the end of int64 wraps to a negative one, which is refused.
      return static_cast<int64_t>(static_cast<uint64_t>(positions[0]) + static_cast<uint64_t>(row));
    }
    return Past(context.input(kLengths).as<int32_t>(), batch) + row;
  }

  // Rows of an input, or of the packed query from head `head` on.
  HeadRows NewRows(KernelContext& context, int input, int64_t head, int64_t heads) const {
    const TensorView& view = context.input(packed_ ? static_cast<int>(kQuery) : input);
    if (!packed_) {
      return HeadRows::RowMajor(view.data, view.type, heads, shape_.rows, shape_.head_size);
    }
    const int64_t row = (shape_.heads + 2 * shape_.kv_heads) * shape_.head_size;
    return {static_cast<const T*>(view.data) + head * shape_.head_size, view.type,
            shape_.rows * row, shape_.head_size, row};
  }

  // Past rows, new rows (keys turned) and zeros.
  void FillCache(KernelContext& context, int input, int past_input, int64_t packed_head,
                 T* cache) const {
    const HeadRows rows = NewRows(context, input, packed_head, shape_.kv_heads);
    const int32_t* lengths = context.input(kLengths).as<int32_t>();
    const int64_t size = shape_.head_size;
    const T* past = context.has_input(past_input) ? context.input(past_input).as<T>() : nullptr;
    const bool turn = rotary_ && input == kKey;
    const T* cosines = turn ? context.input(kCosines).as<T>() : nullptr;
    const T* sines = turn ? context.input(kSines).as<T>() : nullptr;
    const int64_t grain = std::max<int64_t>(1, 32768 / std::max<int64_t>(1, present_ * size));
    context.threads().ParallelFor(
        shape_.batch * shape_.kv_heads, grain, [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i) {
            const int64_t b = i / shape_.kv_heads, h = i % shape_.kv_heads;
            const int64_t kept = Past(lengths, b);
            T* to = cache + i * present_ * size;
            if (past != nullptr) std::copy_n(past + i * past_ * size, kept * size, to);
            for (int64_t r = 0; r < shape_.rows; ++r) {
              const T* from = static_cast<const T*>(rows.data) + rows.offset(b, h, r);
              T* row = to + (kept + r) * size;
              if (turn) {
                const int64_t position = Position(context, b, r) * half_;
                RotateHead(from, cosines + position, sines + position, half_, size, interleaved_,
                           row);
              } else {
                std::copy_n(from, size, row);
              }
            }
            std::fill(to + (kept + shape_.rows) * size, to + present_ * size, T{});
          }
        });
  }

  HeadRows Rotate(KernelContext& context, const HeadRows& query, T* target) const {
    const RotaryHeads heads{.batch = shape_.batch,
                            .rows = shape_.rows,
                            .heads = shape_.heads,
                            .size = shape_.head_size,
                            .half = half_,
                            .interleaved = interleaved_,
                            .batch_stride = query.batch_stride,
                            .row_stride = query.row_stride,
                            .head_stride = query.head_stride,
                            .y_batch_stride = shape_.rows * shape_.heads * shape_.head_size,
                            .y_row_stride = shape_.heads * shape_.head_size,
                            .y_head_stride = shape_.head_size};
    RotateHeads(
        heads, static_cast<const T*>(query.data), context.input(kCosines).as<T>(),
        context.input(kSines).as<T>(), target,
        [&](int64_t b, int64_t r) { return Position(context, b, r); }, context.threads());
    return HeadRows::RowMajor(target, query.type, shape_.heads, shape_.rows, shape_.head_size);
  }

  AttentionShape shape_;
  int64_t past_;
  int64_t present_;
  int threads_;
  float scale_;
  float softcap_;
  int64_t window_;
  bool causal_;
  bool rotary_;
  bool interleaved_;
  int64_t cached_rows_ = 0;
  int64_t half_ = 0;
  bool packed_;
  bool smooth_;
  ScoreStage stage_;
  MaskRules rules_;
  int64_t bias_keys_ = 0;
  size_t attention_bytes_, sink_bytes_, key_bytes_, value_bytes_, query_bytes_;
};

absl::StatusOr<std::unique_ptr<Kernel>> Reference(const NodeSpec& spec) {
  ASSIGN_OR_RETURN(const Heads heads, HeadCounts(spec.attributes()));
  const Shape& query = spec.input(kQuery).shape;
  AttentionShape shape;
  shape.batch = query[0];
  shape.rows = query[1];
  shape.heads = heads.query;
  shape.kv_heads = heads.kv;
  shape.head_size = query[2] / (spec.has_input(kKey) ? heads.query : heads.query + 2 * heads.kv);
  shape.value_size = shape.head_size;
  const int64_t past = spec.has_input(kPastKey) ? spec.input(kPastKey).shape[2] : 0;
  ASSIGN_OR_RETURN(const std::vector<int64_t> totals, PlannedInts(spec, kTotal));
  const int64_t total = totals.empty() ? 0 : totals[0];
  ASSIGN_OR_RETURN(const Dim present, PresentRows(Dim(past), Dim(shape.rows), total));
  if (total < shape.rows || total > past + shape.rows) {
    return absl::InvalidArgumentError(absl::StrCat("total_sequence_length is ", total,
                                                   ", expected ", shape.rows,
                                                   " new rows and "
                                                   "at most ",
                                                   past, " past ones"));
  }
  // Even a call without a past may be told of a shorter total than the cache has rows.
  shape.keys = total;
  RETURN_IF_ERROR(CheckAttentionShape(shape));
  if (spec.has_input(kBias) && spec.input(kBias).shape[3] < total) {
    return absl::InvalidArgumentError(absl::StrCat(
        "attention_bias covers ", spec.input(kBias).shape[3], " keys, expected ", total));
  }
  std::unique_ptr<Kernel> kernel;
  if (!DispatchType<float, Float16, BFloat16>(spec.input(kQuery).type, [&]<typename T>() {
        kernel = std::make_unique<GroupQueryKernel<T>>(spec, shape, past, present.value());
      })) {
    return UnsupportedType(spec, spec.input(kQuery).type);
  }
  return kernel;
}

}  // namespace

void RegisterMicrosoftGroupQueryAttentionOps(OpRegistry& registry) {
  using Kind = AttributeSpec::Kind;
  constexpr ElementTypeSet kTypes = {ElementType::kFloat32, ElementType::kFloat16,
                                     ElementType::kBfloat16};
  constexpr ElementTypeSet kIndex = {ElementType::kInt32};
  registry.Register(
      {.domain = "com.microsoft",
       .name = "GroupQueryAttention",
       .inputs = {RequiredParameter("query", "T", kTypes), OptionalParameter("key", "T", kTypes),
                  OptionalParameter("value", "T", kTypes),
                  OptionalParameter("past_key", "T", kTypes),
                  OptionalParameter("past_value", "T", kTypes),
                  RequiredParameter("seqlens_k", "", kIndex),
                  RequiredParameter("total_sequence_length", "", kIndex),
                  OptionalParameter("cos_cache", "T", kTypes),
                  OptionalParameter("sin_cache", "T", kTypes),
                  OptionalParameter("position_ids", "", {ElementType::kInt64}),
                  OptionalParameter("attention_bias", "T", kTypes),
                  OptionalParameter("head_sink", "T", kTypes),
                  OptionalParameter("k_scale", "", {ElementType::kFloat32}),
                  OptionalParameter("v_scale", "", {ElementType::kFloat32}),
                  OptionalParameter("q_norm_weight", "T", kTypes),
                  OptionalParameter("k_norm_weight", "T", kTypes),
                  OptionalParameter("query_seqlens", "", kIndex)},
       .outputs = {RequiredParameter("output", "T", kTypes),
                   OptionalParameter("present_key", "T", kTypes),
                   OptionalParameter("present_value", "T", kTypes),
                   OptionalParameter("output_qk", "T", kTypes)},
       .attributes = {{"causal", Kind::kInt},
                      {"do_rotary", Kind::kInt},
                      {"k_norm_epsilon", Kind::kFloat},
                      {"k_quant_type", Kind::kString},
                      {"kv_cache_bit_width", Kind::kInt},
                      {"kv_num_heads", Kind::kInt, true},
                      {"local_window_size", Kind::kInt},
                      {"num_heads", Kind::kInt, true},
                      {"q_norm_epsilon", Kind::kFloat},
                      {"qk_norm_epsilon", Kind::kFloat},
                      {"qk_output", Kind::kInt},
                      {"rotary_interleaved", Kind::kInt},
                      {"scale", Kind::kFloat},
                      {"sliding_window_cache", Kind::kInt},
                      {"smooth_softmax", Kind::kInt},
                      {"softcap", Kind::kFloat},
                      {"v_quant_type", Kind::kString}},
       .infer = Infer,
       .reference = Reference,
       .shape_inputs = {kTotal}});
}

}  // namespace inferd::engine
