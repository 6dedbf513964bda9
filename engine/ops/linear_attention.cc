// LinearAttention of ai.onnx and com.microsoft: attention whose state is one matrix per head,
// updated token by token.
//   https://arxiv.org/abs/2006.16236 (linear), https://arxiv.org/abs/2312.06635 (gated),
//   https://arxiv.org/abs/2406.06484 (delta), https://arxiv.org/abs/2412.06464 (gated delta)
#include <algorithm>
#include <cmath>
#include <memory>

#include "absl/strings/str_cat.h"
#include "engine/kernel/kernel.h"
#include "engine/ops/all_ops.h"
#include "engine/ops/attention_shape.h"
#include "engine/ops/element_rows.h"
#include "engine/ops/elementwise.h"
#include "engine/ops/op_def.h"
#include "engine/ops/schema.h"
#include "engine/ops/shape_functions.h"
#include "engine/status_macros.h"

namespace inferd::engine {
namespace {

enum Input { kQuery, kKey, kValue, kPastState, kDecay, kBeta };

struct UpdateRule {
  bool gated = false;
  bool delta = false;
};

absl::StatusOr<UpdateRule> RuleAttribute(const Attributes& attributes) {
  const std::string rule = attributes.GetString("update_rule", "gated_delta");
  if (rule == "linear") return UpdateRule{};
  if (rule == "gated") return UpdateRule{.gated = true};
  if (rule == "delta") return UpdateRule{.delta = true};
  if (rule == "gated_delta") return UpdateRule{.gated = true, .delta = true};
  return absl::InvalidArgumentError(
      absl::StrCat("attribute update_rule is \"", rule,
                   "\", expected \"linear\", \"gated\", \"delta\" or \"gated_delta\""));
}

absl::Status ExpectPresence(const InferenceContext& context, int input, bool wanted,
                            absl::string_view name) {
  if (context.has_input(input) == wanted) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("update_rule \"", context.attributes().GetString("update_rule", "gated_delta"),
                   "\" ", wanted ? "needs input " : "forbids input ", name));
}

absl::Status Infer(InferenceContext& context) {
  const Attributes& attributes = context.attributes();
  if (const int64_t window = attributes.GetInt("state_window", 0); window != 0) {
    return absl::UnimplementedError(absl::StrCat(
        "attribute state_window is ", window, ": states of several positions are not supported"));
  }
  ASSIGN_OR_RETURN(const UpdateRule rule, RuleAttribute(attributes));
  RETURN_IF_ERROR(ExpectPresence(context, kDecay, rule.gated, "decay"));
  RETURN_IF_ERROR(ExpectPresence(context, kBeta, rule.delta, "beta"));
  ASSIGN_OR_RETURN(const int64_t heads, HeadCountAttribute(attributes, "q_num_heads"));
  ASSIGN_OR_RETURN(const int64_t kv_heads, HeadCountAttribute(attributes, "kv_num_heads"));
  if (heads % kv_heads != 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "attribute q_num_heads is ", heads, ", expected a multiple of kv_num_heads ", kv_heads));
  }
  Dim batch, tokens;
  for (int i : {kQuery, kKey, kValue, kDecay, kBeta}) {
    if (!context.has_input(i)) continue;
    RETURN_IF_ERROR(ExpectRank(context, i, 3, 3));
    RETURN_IF_ERROR(MergeInputDim(context, i, 0, "batch size", batch));
    RETURN_IF_ERROR(MergeInputDim(context, i, 1, "sequence length", tokens));
  }
  ASSIGN_OR_RETURN(Dim key_size,
                   DivideDim(InputDim(context, kQuery, 2), heads, "the last dimension of query"));
  ASSIGN_OR_RETURN(const Dim own_key_size,
                   DivideDim(InputDim(context, kKey, 2), kv_heads, "the last dimension of key"));
  absl::StatusOr<Dim> merged = MergeDims(key_size, own_key_size);
  if (!merged.ok()) {
    return absl::InvalidArgumentError(absl::StrCat("heads of query have size ", key_size.ToString(),
                                                   ", those of key ", own_key_size.ToString()));
  }
  key_size = *std::move(merged);
  ASSIGN_OR_RETURN(Dim value_size, DivideDim(InputDim(context, kValue, 2), kv_heads,
                                             "the last dimension of value"));
  Dim state_heads(kv_heads);
  if (context.has_input(kPastState)) {
    RETURN_IF_ERROR(ExpectRank(context, kPastState, 4, 4));
    RETURN_IF_ERROR(MergeInputDim(context, kPastState, 0, "batch size", batch));
    RETURN_IF_ERROR(MergeInputDim(context, kPastState, 1, "kv_num_heads", state_heads));
    RETURN_IF_ERROR(MergeInputDim(context, kPastState, 2, "key head size", key_size));
    RETURN_IF_ERROR(MergeInputDim(context, kPastState, 3, "value head size", value_size));
  }
  if (const Dim decay = InputDim(context, kDecay, 2); decay.known()) {
    ASSIGN_OR_RETURN(const Dim per_key, MultiplyDims(Dim(kv_heads), key_size));
    if (decay.value() != kv_heads && per_key.known() && decay != per_key) {
      return absl::InvalidArgumentError(
          absl::StrCat("decay has ", decay.value(), " in dimension 2, expected kv_num_heads ",
                       kv_heads, " or that times the key head size, ", per_key.ToString()));
    }
  }
  if (const Dim beta = InputDim(context, kBeta, 2);
      beta.known() && beta.value() != kv_heads && beta.value() != 1) {
    return absl::InvalidArgumentError(absl::StrCat(
        "beta has ", beta.value(), " in dimension 2, expected kv_num_heads ", kv_heads, " or 1"));
  }
  ASSIGN_OR_RETURN(const Dim hidden, MultiplyDims(Dim(heads), value_size));
  context.SetOutput(0, context.element_type(kQuery), SymbolicShape({batch, tokens, hidden}));
  if (context.node().output(1) != nullptr) {
    context.SetOutput(1, context.element_type(context.has_input(kPastState) ? kPastState : kQuery),
                      SymbolicShape({batch, state_heads, key_size, value_size}));
  }
  return absl::OkStatus();
}

// Columns of the state do not depend on each other: each task owns a block of them.
template <typename T>
class LinearAttentionKernel final : public Kernel {
 public:
  static constexpr int64_t kColumns = 32;

  LinearAttentionKernel(const NodeSpec& spec, UpdateRule rule, int64_t heads, int64_t kv_heads)
      : rule_(rule), heads_(heads), kv_heads_(kv_heads), group_(heads / kv_heads) {
    const Shape& q = spec.input(kQuery).shape;
    batch_ = q[0];
    tokens_ = q[1];
    key_size_ = q[2] / heads;
    value_size_ = spec.input(kValue).shape[2] / kv_heads;
    blocks_ = (value_size_ + kColumns - 1) / kColumns;
    const float scale = spec.attributes().GetFloat("scale", 0);
    scale_ = scale != 0 ? scale : 1 / std::sqrt(static_cast<float>(key_size_));
    decay_per_key_ = spec.has_input(kDecay) && spec.input(kDecay).shape[2] != kv_heads;
    beta_heads_ = spec.has_input(kBeta) ? spec.input(kBeta).shape[2] : 0;
    state_type_ = spec.input(spec.has_input(kPastState) ? kPastState : kQuery).type;
  }

  size_t workspace_bytes() const override {
    return static_cast<size_t>(batch_ * kv_heads_ * blocks_ * key_size_) * kColumns * sizeof(float);
  }

  absl::Status Run(KernelContext& context) const override {
    const int64_t tasks = batch_ * kv_heads_ * blocks_;
    context.threads().ParallelFor(tasks, 1, [&](int64_t begin, int64_t end) {
      for (int64_t task = begin; task < end; ++task) RunBlock(context, task);
    });
    return absl::OkStatus();
  }

 private:
  void RunBlock(KernelContext& context, int64_t task) const {
    const int64_t head_index = task / blocks_;  // batch * kv_heads + head
    const int64_t batch = head_index / kv_heads_, head = head_index % kv_heads_;
    const int64_t first = task % blocks_ * kColumns;
    const int64_t columns = std::min(kColumns, value_size_ - first);
    float* state = static_cast<float*>(context.workspace()) + task * key_size_ * kColumns;
    std::fill(state, state + key_size_ * kColumns, 0.0f);
    const int64_t state_offset = head_index * key_size_ * value_size_ + first;
    if (context.has_input(kPastState)) {
      const LoadRowFn<float> load = RowLoader<float>(state_type_);
      for (int64_t d = 0; d < key_size_; ++d) {
        load(context.input(kPastState).data, state_offset + d * value_size_, columns,
             state + d * kColumns);
      }
    }
    for (int64_t t = 0; t < tokens_; ++t) {
      Update(context, batch * tokens_ + t, head, first, columns, state);
      Read(context, batch * tokens_ + t, head, first, columns, state);
    }
    if (!context.has_output(1)) return;
    const StoreRowFn<float> store = RowStorer<float>(state_type_);
    for (int64_t d = 0; d < key_size_; ++d) {
      store(state + d * kColumns, columns, context.output(1).data, state_offset + d * value_size_);
    }
  }

  void Update(KernelContext& context, int64_t token, int64_t head, int64_t first, int64_t columns,
              float* state) const {
    if (rule_.gated) {
      const T* decay = context.input(kDecay).as<T>() +
                       (token * kv_heads_ + head) * (decay_per_key_ ? key_size_ : 1);
      for (int64_t d = 0; d < key_size_; ++d) {
        const float factor = std::exp(static_cast<float>(decay[decay_per_key_ ? d : 0]));
        for (int64_t c = 0; c < kColumns; ++c) state[d * kColumns + c] *= factor;
      }
    }
    const T* key = context.input(kKey).as<T>() + (token * kv_heads_ + head) * key_size_;
    const T* value =
        context.input(kValue).as<T>() + (token * kv_heads_ + head) * value_size_ + first;
    float written[kColumns] = {};
    for (int64_t c = 0; c < columns; ++c) written[c] = static_cast<float>(value[c]);
    if (rule_.delta) {
      float retrieved[kColumns] = {};
      for (int64_t d = 0; d < key_size_; ++d) {
        const float k = static_cast<float>(key[d]);
        for (int64_t c = 0; c < kColumns; ++c) retrieved[c] += k * state[d * kColumns + c];
      }
      const float beta = static_cast<float>(
          context.input(kBeta).as<T>()[token * beta_heads_ + (beta_heads_ == 1 ? 0 : head)]);
      for (int64_t c = 0; c < columns; ++c) written[c] = beta * (written[c] - retrieved[c]);
    }
    for (int64_t d = 0; d < key_size_; ++d) {
      const float k = static_cast<float>(key[d]);
      for (int64_t c = 0; c < kColumns; ++c) state[d * kColumns + c] += k * written[c];
    }
  }

  void Read(KernelContext& context, int64_t token, int64_t head, int64_t first, int64_t columns,
            const float* state) const {
    for (int64_t h = head * group_; h < (head + 1) * group_; ++h) {
      const T* query = context.input(kQuery).as<T>() + (token * heads_ + h) * key_size_;
      float sums[kColumns] = {};
      for (int64_t d = 0; d < key_size_; ++d) {
        const float q = static_cast<float>(query[d]);
        for (int64_t c = 0; c < kColumns; ++c) sums[c] += q * state[d * kColumns + c];
      }
      T* y = context.output(0).as<T>() + (token * heads_ + h) * value_size_ + first;
      for (int64_t c = 0; c < columns; ++c) y[c] = static_cast<T>(scale_ * sums[c]);
    }
  }

  UpdateRule rule_;
  int64_t heads_, kv_heads_, group_;
  int64_t batch_, tokens_, key_size_, value_size_, blocks_;
  float scale_;
  bool decay_per_key_;
  int64_t beta_heads_;
  ElementType state_type_;
};

absl::StatusOr<std::unique_ptr<Kernel>> Reference(const NodeSpec& spec) {
  ASSIGN_OR_RETURN(const UpdateRule rule, RuleAttribute(spec.attributes()));
  ASSIGN_OR_RETURN(const int64_t heads, HeadCountAttribute(spec.attributes(), "q_num_heads"));
  ASSIGN_OR_RETURN(const int64_t kv_heads, HeadCountAttribute(spec.attributes(), "kv_num_heads"));
  std::unique_ptr<Kernel> kernel;
  if (!DispatchType<float, Float16, BFloat16>(spec.input(kQuery).type, [&]<typename T>() {
        kernel = std::make_unique<LinearAttentionKernel<T>>(spec, rule, heads, kv_heads);
      })) {
    return UnsupportedType(spec, spec.input(kQuery).type);
  }
  return kernel;
}

}  // namespace

void RegisterLinearAttentionOps(OpRegistry& registry) {
  using Kind = AttributeSpec::Kind;
  constexpr ElementTypeSet kTypes = {ElementType::kFloat32, ElementType::kFloat16,
                                     ElementType::kBfloat16};
  OpDef def = {
      .name = "LinearAttention",
      .version = 27,
      .oldest_version = 27,
      .inputs = {RequiredParameter("query", "T", kTypes), RequiredParameter("key", "T", kTypes),
                 RequiredParameter("value", "T", kTypes),
                 OptionalParameter("past_state", "S", kTypes),
                 OptionalParameter("decay", "T", kTypes), OptionalParameter("beta", "T", kTypes)},
      .outputs = {RequiredParameter("output", "T", kTypes),
                  OptionalParameter("present_state", "S", kTypes)},
      .attributes = {{"chunk_size", Kind::kInt},
                     {"kv_num_heads", Kind::kInt},
                     {"q_num_heads", Kind::kInt},
                     {"scale", Kind::kFloat},
                     {"update_rule", Kind::kString}},
      .infer = Infer,
      .reference = Reference};
  registry.Register(def);
  def.domain = "com.microsoft";
  def.version = 1;
  def.oldest_version = 1;
  def.attributes.push_back({"state_window", Kind::kInt});
  registry.Register(std::move(def));
}

}  // namespace inferd::engine
