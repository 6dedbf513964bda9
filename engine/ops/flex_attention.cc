// ai.onnx.preview::FlexAttention: attention whose scores and probabilities pass through graphs of
// the model's own.
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/kernel/kernel.h"
#include "engine/ops/all_ops.h"
#include "engine/ops/attention_core.h"
#include "engine/ops/attention_shape.h"
#include "engine/ops/control_flow/bodies.h"
#include "engine/ops/element_rows.h"
#include "engine/ops/op_def.h"
#include "engine/ops/schema.h"
#include "engine/ops/shape_functions.h"
#include "engine/status_macros.h"

namespace inferd::engine {
namespace {

enum Input { kQuery, kKey, kValue, kInputs };

// The type scores and probabilities have: at least float unless asked for otherwise.
absl::StatusOr<ElementType> ScoreType(const Attributes& attributes, ElementType input) {
  if (!attributes.has("softmax_precision")) {
    return input == ElementType::kFloat64 ? ElementType::kFloat64 : ElementType::kFloat32;
  }
  const int64_t code = attributes.GetInt("softmax_precision", 1);
  for (ElementType type : {ElementType::kFloat32, ElementType::kFloat16, ElementType::kFloat64,
                           ElementType::kBfloat16}) {
    if (code == static_cast<int64_t>(type)) return type;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("attribute softmax_precision is ", code,
                   ", expected 1 (float), 10 (float16), 11 (double) or 16 (bfloat16)"));
}

absl::Status Infer(InferenceContext& context) {
  const Node& node = context.node();
  RETURN_IF_ERROR(ScoreType(context.attributes(), context.element_type(kQuery)).status());
  const int captures = NumCaptures(node, node.num_inputs() - kInputs);
  for (const char* name : {"score_mod", "prob_mod"}) {
    if (!context.attributes().has(name)) continue;
    ASSIGN_OR_RETURN(const Graph* body, BodyOf(node, name));
    RETURN_IF_ERROR(ExpectBodyInputs(*body, name, 1 + captures));
    RETURN_IF_ERROR(ExpectBodyOutputs(*body, name, 1));
  }
  Dim batch, kv_heads, keys, head_size;
  for (int i : {kQuery, kKey, kValue}) {
    RETURN_IF_ERROR(ExpectRank(context, i, 4, 4));
    RETURN_IF_ERROR(MergeInputDim(context, i, 0, "batch size", batch));
    if (i != kValue) RETURN_IF_ERROR(MergeInputDim(context, i, 3, "head size", head_size));
    if (i == kQuery) continue;
    RETURN_IF_ERROR(MergeInputDim(context, i, 1, "kv heads", kv_heads));
    RETURN_IF_ERROR(MergeInputDim(context, i, 2, "kv sequence length", keys));
  }
  const Dim heads = InputDim(context, kQuery, 1);
  if (heads.known() && kv_heads.known() && heads != kv_heads &&
      (kv_heads.value() == 0 || heads.value() % kv_heads.value() != 0)) {
    return absl::InvalidArgumentError(absl::StrCat("Q has ", heads.value(),
                                                   " heads, expected a multiple of the ",
                                                   kv_heads.value(), " of K and V"));
  }
  context.SetOutput(
      0, context.element_type(kQuery),
      SymbolicShape({batch, heads, InputDim(context, kQuery, 2), InputDim(context, kValue, 3)}));
  return absl::OkStatus();
}

template <typename C>
class FlexAttentionKernel final : public Kernel {
 public:
  FlexAttentionKernel(const NodeSpec& spec, const AttentionShape& shape, ElementType score_type)
      : shape_(shape), score_type_(score_type), threads_(spec.threads) {
    const Attributes& attributes = spec.attributes();
    scale_ = attributes.has("scale")
                 ? static_cast<C>(attributes.GetFloat("scale", 1))
                 : static_cast<C>(1 / std::sqrt(static_cast<double>(shape.head_size)));
    score_mod_ = attributes.has("score_mod");
    prob_mod_ = attributes.has("prob_mod");
    captures_ = NumCaptures(*spec.node, static_cast<int>(spec.inputs.size()) - kInputs);
    attention_bytes_ = (AttentionWorkspaceBytes<C>(shape, threads_) + 63) / 64 * 64;
    if (score_mod_ || prob_mod_) {
      score_bytes_ = ElementBytes(score_type, shape.batch * shape.heads * shape.rows * shape.keys);
    }
  }

  size_t workspace_bytes() const override { return attention_bytes_ + score_bytes_; }

  absl::Status Run(KernelContext& context) const override {
    Pass pass{.shape = shape_, .scale = scale_};
    if (!score_mod_ && !prob_mod_) {
      Attend(context, pass);
      return absl::OkStatus();
    }
    const TensorView scores{.type = score_type_,
                            .shape = Shape{shape_.batch, shape_.heads, shape_.rows, shape_.keys},
                            .layout = {},
                            .data = static_cast<char*>(context.workspace()) + attention_bytes_};
    std::vector<Tensor> modified_scores, modified_probabilities;
    if (score_mod_) {
      Pass products = pass;
      products.shape.value_size = 0;  // scores alone
      products.score_output = scores.data;
      Attend(context, products);
      ASSIGN_OR_RETURN(const TensorView changed,
                       Modify(context, "score_mod", scores, modified_scores));
      // The products are done: from here on the scores come from the graph.
      pass.shape.head_size = 0;
      pass.scores = changed.data;
    }
    if (!prob_mod_) {
      Attend(context, pass);
      return absl::OkStatus();
    }
    pass.shape.value_size = 0;
    pass.score_output = scores.data;
    pass.stage = ScoreStage::kProbabilities;
    Attend(context, pass);
    ASSIGN_OR_RETURN(const TensorView probabilities,
                     Modify(context, "prob_mod", scores, modified_probabilities));
    WeighValues(context, probabilities.data);
    return absl::OkStatus();
  }

 private:
  struct Pass {
    AttentionShape shape;
    C scale = 1;
    const void* scores = nullptr;  // in place of products of queries and keys
    void* score_output = nullptr;
    ScoreStage stage = ScoreStage::kProduct;
  };

  int64_t ScoreRow(int64_t batch, int64_t head, int64_t row) const {
    return ((batch * shape_.heads + head) * shape_.rows + row) * shape_.keys;
  }
  HeadRows Rows(const TensorView& view, int64_t heads, int64_t rows, int64_t size) const {
    return HeadRows::HeadMajor(view.data, view.type, heads, rows, size);
  }

  void Attend(KernelContext& context, const Pass& pass) const {
    const auto range = [&](int64_t, int64_t) { return KeyRange{0, shape_.keys}; };
    const LoadRowFn<C> load = RowLoader<C>(score_type_);
    const auto bias = [&](int64_t b, int64_t h, int64_t row, int64_t begin, int64_t end, C* out) {
      load(pass.scores, ScoreRow(b, h, row) + begin, end - begin, out);
    };
    AttentionProblem<C> problem{
        .shape = pass.shape,
        .scale = pass.scale,
        .query = Rows(context.input(kQuery), shape_.heads, shape_.rows, shape_.head_size),
        .keys = {.current =
                     Rows(context.input(kKey), shape_.kv_heads, shape_.keys, shape_.head_size)},
        .values = {.current = Rows(context.input(kValue), shape_.kv_heads, shape_.keys,
                                   shape_.value_size)},
        .output = Rows(context.output(0), shape_.heads, shape_.rows, shape_.value_size),
        .key_range = range};
    if (pass.scores != nullptr) problem.bias.emplace(bias);
    problem.score_output = pass.score_output;
    problem.score_type = score_type_;
    problem.score_stage = pass.stage;
    RunAttention(problem, context.threads(), threads_, context.workspace());
  }

  // What the graph makes of `view`; `results` keeps it.
  absl::StatusOr<TensorView> Modify(KernelContext& context, absl::string_view body,
                                    const TensorView& view, std::vector<Tensor>& results) const {
    std::vector<TensorView> inputs = {view};
    for (int i = 0; i < captures_; ++i) {
      inputs.push_back(context.input(context.num_inputs() - captures_ + i));
    }
    RETURN_IF_ERROR(context.RunBody(body, inputs, &results));
    const TensorView& result = results[0].view();
    if (result.type != view.type || result.shape != view.shape) {
      return absl::InvalidArgumentError(absl::StrCat(
          "graph '", body, "' made ", ElementTypeName(result.type), result.shape.ToString(), " of ",
          ElementTypeName(view.type), view.shape.ToString(), ", expected the same"));
    }
    return result;
  }

  void WeighValues(KernelContext& context, const void* probabilities) const {
    const TensorView& value = context.input(kValue);
    const TensorView& y = context.output(0);
    const LoadRowFn<C> load_value = RowLoader<C>(value.type);
    const LoadRowFn<C> load_weight = RowLoader<C>(score_type_);
    const StoreRowFn<C> store = RowStorer<C>(y.type);
    const int64_t rows = shape_.batch * shape_.heads * shape_.rows;
    context.threads().ParallelFor(rows, 1, [&](int64_t begin, int64_t end) {
      constexpr int64_t kColumns = 64;
      C sums[kColumns], line[kColumns];
      for (int64_t r = begin; r < end; ++r) {
        const int64_t head = r / shape_.rows % shape_.heads;
        const int64_t kv_head =
            r / shape_.rows / shape_.heads * shape_.kv_heads + head / shape_.group();
        for (int64_t first = 0; first < shape_.value_size; first += kColumns) {
          const int64_t count = std::min(kColumns, shape_.value_size - first);
          std::fill(sums, sums + count, C{0});
          for (int64_t j = 0; j < shape_.keys; ++j) {
            C weight;
            load_weight(probabilities, r * shape_.keys + j, 1, &weight);
            load_value(value.data, (kv_head * shape_.keys + j) * shape_.value_size + first, count,
                       line);
            for (int64_t c = 0; c < count; ++c) sums[c] += weight * line[c];
          }
          store(sums, count, y.data, r * shape_.value_size + first);
        }
      }
    });
  }

  AttentionShape shape_;
  ElementType score_type_;
  int threads_;
  C scale_;
  bool score_mod_;
  bool prob_mod_;
  int captures_;
  size_t attention_bytes_;
  size_t score_bytes_ = 0;
};

absl::StatusOr<std::unique_ptr<Kernel>> Reference(const NodeSpec& spec) {
  const Shape& q = spec.input(kQuery).shape;
  const Shape& k = spec.input(kKey).shape;
  const AttentionShape shape{.batch = q[0],
                             .heads = q[1],
                             .kv_heads = k[1],
                             .rows = q[2],
                             .keys = k[2],
                             .head_size = q[3],
                             .value_size = spec.input(kValue).shape[3]};
  RETURN_IF_ERROR(CheckAttentionShape(shape));
  ASSIGN_OR_RETURN(const ElementType type, ScoreType(spec.attributes(), spec.input(kQuery).type));
  if (type == ElementType::kFloat64) {
    return std::make_unique<FlexAttentionKernel<double>>(spec, shape, type);
  }
  return std::make_unique<FlexAttentionKernel<float>>(spec, shape, type);
}

}  // namespace

void RegisterFlexAttentionOps(OpRegistry& registry) {
  using Kind = AttributeSpec::Kind;
  using type_sets::kFloats;
  registry.Register(
      {.domain = "ai.onnx.preview",
       .name = "FlexAttention",
       .inputs = {RequiredParameter("Q", "T1", kFloats), RequiredParameter("K", "T1", kFloats),
                  RequiredParameter("V", "T1", kFloats), RepeatedParameter("captured", "", {})},
       .outputs = {RequiredParameter("Y", "T1", kFloats)},
       .attributes = {{"prob_mod", Kind::kGraph},
                      {"scale", Kind::kFloat},
                      {"score_mod", Kind::kGraph},
                      {"softmax_precision", Kind::kInt},
                      kCapturesSpec},
       .infer = Infer,
       .reference = Reference});
}

}  // namespace inferd::engine
