// Attention: scaled dot-product attention of the standard, with a growing cache inside
// (past -> present) or a fixed one outside (nonpad_kv_seqlen).
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <memory>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/kernel/kernel.h"
#include "engine/ops/all_ops.h"
#include "engine/ops/attention_core.h"
#include "engine/ops/attention_shape.h"
#include "engine/ops/element_rows.h"
#include "engine/ops/op_def.h"
#include "engine/ops/schema.h"
#include "engine/ops/shape_functions.h"
#include "engine/status_macros.h"

namespace inferd::engine {
namespace {

enum Input { kQuery, kKey, kValue, kMask, kPastKey, kPastValue, kNonPad };
enum Output { kY, kPresentKey, kPresentValue, kScores };

// The dimensions all operands are made of.
struct AttentionDims {
  Dim batch, heads, kv_heads, rows, current, past, total, head_size, value_size;
};

absl::Status CheckAttributes(const InferenceContext& context) {
  const Attributes& attributes = context.attributes();
  const int64_t precision = attributes.GetInt("softmax_precision", 1);
  if (precision != 1 && precision != 10 && precision != 11 && precision != 16) {
    return absl::InvalidArgumentError(
        absl::StrCat("attribute softmax_precision is ", precision,
                     ", expected 1 (float), 10 (float16), 11 (double) or 16 (bfloat16)"));
  }
  const int64_t mode = attributes.GetInt("qk_matmul_output_mode", 0);
  if (mode < 0 || mode > 3) {
    return absl::InvalidArgumentError(
        absl::StrCat("attribute qk_matmul_output_mode is ", mode, ", expected 0, 1, 2 or 3"));
  }
  for (const char* name : {"left_window_size", "right_window_size"}) {
    if (const int64_t size = attributes.GetInt(name, -1); size < -1) {
      return absl::InvalidArgumentError(
          absl::StrCat("attribute ", name, " is ", size, ", expected -1 or more"));
    }
  }
  if (context.has_input(kPastKey) != context.has_input(kPastValue)) {
    return absl::InvalidArgumentError("past_key and past_value are given one without the other");
  }
  if (context.has_input(kNonPad) && context.has_input(kPastKey)) {
    return absl::InvalidArgumentError("nonpad_kv_seqlen is given together with past_key");
  }
  return absl::OkStatus();
}

// Query, key and value of shape [batch, heads, length, size] or [batch, length, heads * size].
absl::StatusOr<AttentionDims> ResolveDims(const InferenceContext& context, int rank) {
  AttentionDims dims;
  for (int i : {kQuery, kKey, kValue}) {
    RETURN_IF_ERROR(ExpectRank(context, i, rank, rank));
    RETURN_IF_ERROR(MergeInputDim(context, i, 0, "batch size", dims.batch));
  }
  const Attributes& attributes = context.attributes();
  if (rank == 3) {
    ASSIGN_OR_RETURN(const int64_t heads, HeadCountAttribute(attributes, "q_num_heads"));
    ASSIGN_OR_RETURN(const int64_t kv_heads, HeadCountAttribute(attributes, "kv_num_heads"));
    dims.heads = heads;
    dims.kv_heads = kv_heads;
    dims.rows = InputDim(context, kQuery, 1);
    ASSIGN_OR_RETURN(dims.head_size,
                     DivideDim(InputDim(context, kQuery, 2), heads, "the last dimension of Q"));
    ASSIGN_OR_RETURN(const Dim key_size,
                     DivideDim(InputDim(context, kKey, 2), kv_heads, "the last dimension of K"));
    absl::StatusOr<Dim> merged = MergeDims(dims.head_size, key_size);
    if (!merged.ok()) {
      return absl::InvalidArgumentError(absl::StrCat("heads of Q have size ",
                                                     dims.head_size.ToString(), ", those of K ",
                                                     key_size.ToString()));
    }
    dims.head_size = *merged;
    ASSIGN_OR_RETURN(dims.value_size,
                     DivideDim(InputDim(context, kValue, 2), kv_heads, "the last dimension of V"));
    for (int i : {kKey, kValue}) {
      RETURN_IF_ERROR(MergeInputDim(context, i, 1, "kv sequence length", dims.current));
    }
  } else {
    dims.heads = InputDim(context, kQuery, 1);
    dims.rows = InputDim(context, kQuery, 2);
    for (int i : {kKey, kValue}) {
      RETURN_IF_ERROR(MergeInputDim(context, i, 1, "kv heads", dims.kv_heads));
      RETURN_IF_ERROR(MergeInputDim(context, i, 2, "kv sequence length", dims.current));
    }
    for (int i : {kQuery, kKey}) {
      RETURN_IF_ERROR(MergeInputDim(context, i, 3, "head size", dims.head_size));
    }
    dims.value_size = InputDim(context, kValue, 3);
  }
  if (dims.heads.known() && dims.kv_heads.known()) {
    const int64_t heads = dims.heads.value(), kv_heads = dims.kv_heads.value();
    if (heads != kv_heads && (kv_heads == 0 || heads % kv_heads != 0)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "Q has ", heads, " heads, expected a multiple of the ", kv_heads, " of K and V"));
    }
  }
  dims.past = context.has_input(kPastKey) ? Dim() : Dim(0);
  for (int i : {kPastKey, kPastValue}) {
    if (!context.has_input(i)) continue;
    RETURN_IF_ERROR(ExpectRank(context, i, 4, 4));
    RETURN_IF_ERROR(MergeInputDim(context, i, 0, "batch size", dims.batch));
    RETURN_IF_ERROR(MergeInputDim(context, i, 1, "kv heads", dims.kv_heads));
    RETURN_IF_ERROR(MergeInputDim(context, i, 2, "past sequence length", dims.past));
    RETURN_IF_ERROR(MergeInputDim(context, i, 3, "head size",
                                  i == kPastKey ? dims.head_size : dims.value_size));
  }
  ASSIGN_OR_RETURN(dims.total, AddDims(dims.past, dims.current));
  return dims;
}

// A mask may be shorter than the keys in its last dimension: what it does not cover is masked.
absl::Status CheckMask(const InferenceContext& context, const AttentionDims& dims) {
  if (!context.has_input(kMask) || !context.shape(kMask).has_rank()) return absl::OkStatus();
  RETURN_IF_ERROR(ExpectRank(context, kMask, 1, 4));
  const SymbolicShape& mask = context.shape(kMask);
  const Dim& columns = mask[mask.rank() - 1];
  if (columns.known() && dims.total.known() && columns.value() > dims.total.value()) {
    return absl::InvalidArgumentError(absl::StrCat("attn_mask of shape ", mask.ToString(),
                                                   " covers ", columns.value(),
                                                   " keys, expected at most ", dims.total.value()));
  }
  return ExpectBroadcastable(context, kMask, {dims.batch, dims.heads, dims.rows, columns});
}

absl::Status Infer(InferenceContext& context) {
  RETURN_IF_ERROR(CheckAttributes(context));
  int rank = 0;
  for (int i : {kQuery, kKey, kValue}) {
    if (!context.shape(i).has_rank()) continue;
    RETURN_IF_ERROR(ExpectRank(context, i, 3, 4));
    if (rank == 0) rank = context.shape(i).rank();
  }
  SymbolicShape y, present_key, present_value, scores;
  if (rank != 0) {
    ASSIGN_OR_RETURN(const AttentionDims dims, ResolveDims(context, rank));
    RETURN_IF_ERROR(CheckMask(context, dims));
    if (context.has_input(kNonPad)) {
      RETURN_IF_ERROR(ExpectRank(context, kNonPad, 1, 1));
      Dim batch = dims.batch;
      RETURN_IF_ERROR(MergeInputDim(context, kNonPad, 0, "batch size", batch));
    }
    if (rank == 3) {
      ASSIGN_OR_RETURN(const Dim hidden, MultiplyDims(dims.heads, dims.value_size));
      y = SymbolicShape({dims.batch, dims.rows, hidden});
    } else {
      y = SymbolicShape({dims.batch, dims.heads, dims.rows, dims.value_size});
    }
    present_key = SymbolicShape({dims.batch, dims.kv_heads, dims.total, dims.head_size});
    present_value = SymbolicShape({dims.batch, dims.kv_heads, dims.total, dims.value_size});
    scores = SymbolicShape({dims.batch, dims.heads, dims.rows, dims.total});
  }
  const Node& node = context.node();
  context.SetOutput(kY, context.element_type(kQuery), y);
  if (node.output(kPresentKey) != nullptr) {
    context.SetOutput(kPresentKey, context.element_type(kKey), present_key);
  }
  if (node.output(kPresentValue) != nullptr) {
    context.SetOutput(kPresentValue, context.element_type(kValue), present_value);
  }
  if (node.output(kScores) != nullptr) {
    context.SetOutput(kScores, context.element_type(kQuery), scores);
  }
  return absl::OkStatus();
}

template <typename C>
class AttentionKernel final : public Kernel {
 public:
  explicit AttentionKernel(const NodeSpec& spec, const AttentionShape& shape, bool row_major)
      : shape_(shape), row_major_(row_major), threads_(spec.threads) {
    const Attributes& attributes = spec.attributes();
    scale_ = attributes.has("scale")
                 ? static_cast<C>(attributes.GetFloat("scale", 1))
                 : static_cast<C>(1 / std::sqrt(static_cast<double>(shape.head_size)));
    softcap_ = static_cast<C>(attributes.GetFloat("softcap", 0));
    causal_ = attributes.GetInt("is_causal", 0) != 0;
    // A bound as long as all keys is no bound; limited so that sums stay in range.
    const int64_t unbounded = shape.keys + shape.rows;
    const auto window = [&](const char* name) {
      const int64_t size = attributes.GetInt(name, -1);
      return size < 0 ? unbounded : std::min(size, unbounded);
    };
    left_ = window("left_window_size");
    right_ = causal_ ? 0 : window("right_window_size");
    bounded_left_ = attributes.GetInt("left_window_size", -1) >= 0;
    bounded_right_ = causal_ || attributes.GetInt("right_window_size", -1) >= 0;
    stage_ = static_cast<ScoreStage>(attributes.GetInt("qk_matmul_output_mode", 0));
    if (spec.has_input(kMask)) {
      const Shape& mask = spec.input(kMask).shape;
      int64_t stride = 1;
      for (int d = 1; d <= mask.rank(); ++d) {
        const int64_t extent = mask[mask.rank() - d];
        if (d == 1 || extent != 1) mask_strides_[4 - d] = stride;
        stride *= extent;
      }
      mask_columns_ = mask[mask.rank() - 1];
      load_mask_ = RowLoader<C>(spec.input(kMask).type);
      boolean_mask_ = spec.input(kMask).type == ElementType::kBool;
    }
  }

  size_t workspace_bytes() const override { return AttentionWorkspaceBytes<C>(shape_, threads_); }

  absl::Status Run(KernelContext& context) const override {
    const auto rows = [&](const TensorView& view, int64_t heads, int64_t length, int64_t size) {
      return row_major_ ? HeadRows::RowMajor(view.data, view.type, heads, length, size)
                        : HeadRows::HeadMajor(view.data, view.type, heads, length, size);
    };
    const int64_t current = shape_.keys - shape_.past_rows;
    CachedRows keys, values;
    keys.current = rows(context.input(kKey), shape_.kv_heads, current, shape_.head_size);
    values.current = rows(context.input(kValue), shape_.kv_heads, current, shape_.value_size);
    if (context.has_input(kPastKey)) {
      const TensorView& past_key = context.input(kPastKey);
      const TensorView& past_value = context.input(kPastValue);
      keys.past = HeadRows::HeadMajor(past_key.data, past_key.type, shape_.kv_heads,
                                      shape_.past_rows, shape_.head_size);
      values.past = HeadRows::HeadMajor(past_value.data, past_value.type, shape_.kv_heads,
                                        shape_.past_rows, shape_.value_size);
    }
    const auto present = [&](int output, const CachedRows& source, int64_t size) {
      if (!context.has_output(output)) return;
      const TensorView& target = context.output(output);
      ConcatenateRows(source, shape_.batch, shape_.kv_heads, shape_.past_rows, current, size,
                      target.type, target.data, context.threads());
    };
    present(kPresentKey, keys, shape_.head_size);
    present(kPresentValue, values, shape_.value_size);

    const int64_t* lengths =
        context.has_input(kNonPad) ? context.input(kNonPad).as<int64_t>() : nullptr;
    const auto range = [&](int64_t batch, int64_t row) { return Range(lengths, batch, row); };
    const void* mask = context.has_input(kMask) ? context.input(kMask).data : nullptr;
    const auto bias = [&](int64_t batch, int64_t head, int64_t row, int64_t begin, int64_t end,
                          C* out) { Bias(mask, batch, head, row, begin, end, out); };

    AttentionProblem<C> problem{
        .shape = shape_,
        .scale = scale_,
        .softcap = softcap_,
        .query = rows(context.input(kQuery), shape_.heads, shape_.rows, shape_.head_size),
        .keys = keys,
        .values = values,
        .output = rows(context.output(kY), shape_.heads, shape_.rows, shape_.value_size),
        .key_range = range};
    if (mask != nullptr) problem.bias.emplace(bias);
    if (context.has_output(kScores)) {
      problem.score_output = context.output(kScores).data;
      problem.score_type = context.output(kScores).type;
      problem.score_stage = stage_;
    }
    RunAttention(problem, context.threads(), threads_, context.workspace());
    return absl::OkStatus();
  }

 private:
  KeyRange Range(const int64_t* lengths, int64_t batch, int64_t row) const {
    KeyRange range{0, mask_columns_};
    int64_t position = shape_.past_rows + row;
    if (lengths != nullptr) {
      const int64_t length = std::clamp<int64_t>(lengths[batch], 0, shape_.keys);
      range.end = std::min(range.end, length);
      position = length - shape_.rows + row;
    }
    if (bounded_left_) range.begin = position - left_;
    if (bounded_right_) range.end = std::min(range.end, position + right_ + 1);
    return range;
  }

  void Bias(const void* mask, int64_t batch, int64_t head, int64_t row, int64_t begin, int64_t end,
            C* out) const {
    load_mask_(mask,
               batch * mask_strides_[0] + head * mask_strides_[1] + row * mask_strides_[2] + begin,
               end - begin, out);
    if (!boolean_mask_) return;
    for (int64_t j = 0; j < end - begin; ++j) {
      out[j] = out[j] != 0 ? C{0} : -std::numeric_limits<C>::infinity();
    }
  }

  AttentionShape shape_;
  bool row_major_;
  int threads_;
  C scale_;
  C softcap_;
  bool causal_;
  bool bounded_left_;
  bool bounded_right_;
  int64_t left_;
  int64_t right_;
  ScoreStage stage_;
  std::array<int64_t, 4> mask_strides_ = {};
  // Without a mask: as if it covered every key.
  int64_t mask_columns_ = std::numeric_limits<int64_t>::max();
  LoadRowFn<C> load_mask_ = nullptr;
  bool boolean_mask_ = false;
};

absl::StatusOr<std::unique_ptr<Kernel>> Reference(const NodeSpec& spec) {
  const Shape& q = spec.input(kQuery).shape;
  const Shape& k = spec.input(kKey).shape;
  const Shape& v = spec.input(kValue).shape;
  const bool row_major = q.rank() == 3;
  AttentionShape shape;
  shape.batch = q[0];
  shape.past_rows = spec.has_input(kPastKey) ? spec.input(kPastKey).shape[2] : 0;
  if (row_major) {
    ASSIGN_OR_RETURN(shape.heads, HeadCountAttribute(spec.attributes(), "q_num_heads"));
    ASSIGN_OR_RETURN(shape.kv_heads, HeadCountAttribute(spec.attributes(), "kv_num_heads"));
    shape.rows = q[1];
    shape.keys = shape.past_rows + k[1];
    shape.head_size = q[2] / shape.heads;
    shape.value_size = v[2] / shape.kv_heads;
  } else {
    shape.heads = q[1];
    shape.kv_heads = k[1];
    shape.rows = q[2];
    shape.keys = shape.past_rows + k[2];
    shape.head_size = q[3];
    shape.value_size = v[3];
  }
  RETURN_IF_ERROR(CheckAttentionShape(shape));
  const bool in_double =
      spec.input(kQuery).type == ElementType::kFloat64 ||
      spec.attributes().GetInt("softmax_precision", 1) == static_cast<int>(ElementType::kFloat64);
  if (in_double) return std::make_unique<AttentionKernel<double>>(spec, shape, row_major);
  return std::make_unique<AttentionKernel<float>>(spec, shape, row_major);
}

}  // namespace

void RegisterAttentionOps(OpRegistry& registry) {
  using Kind = AttributeSpec::Kind;
  using type_sets::kFloats;
  constexpr ElementTypeSet kMaskTypes = type_sets::kNumeric | ElementTypeSet{ElementType::kBool};
  registry.Register(
      {.name = "Attention",
       .version = 25,
       .oldest_version = 23,
       .inputs = {RequiredParameter("Q", "T1", kFloats), RequiredParameter("K", "T1", kFloats),
                  RequiredParameter("V", "T2", kFloats),
                  OptionalParameter("attn_mask", "U", kMaskTypes),
                  OptionalParameter("past_key", "T1", kFloats),
                  OptionalParameter("past_value", "T2", kFloats),
                  OptionalParameter("nonpad_kv_seqlen", "", {ElementType::kInt64})},
       .outputs = {RequiredParameter("Y", "T1", kFloats),
                   OptionalParameter("present_key", "T1", kFloats),
                   OptionalParameter("present_value", "T2", kFloats),
                   OptionalParameter("qk_matmul_output", "T1", kFloats)},
       .attributes = {{"is_causal", Kind::kInt},
                      {"kv_num_heads", Kind::kInt},
                      {"left_window_size", Kind::kInt},
                      {"q_num_heads", Kind::kInt},
                      {"qk_matmul_output_mode", Kind::kInt},
                      {"right_window_size", Kind::kInt},
                      {"scale", Kind::kFloat},
                      {"softcap", Kind::kFloat},
                      {"softmax_precision", Kind::kInt}},
       .infer = Infer,
       .reference = Reference});
}

}  // namespace inferd::engine
