// com.microsoft.MoE and QMoE: each token goes through the k experts its router likes best, two or
// three layers each, and the results are added with the router's weights. QMoE's experts are
// quantized. Experts are taken one after another with all of their tokens, so that weights are
// read, and dequantized, once.
#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/kernel/kernel.h"
#include "engine/ops/elementwise.h"
#include "engine/ops/microsoft/block_quantized.h"
#include "engine/ops/microsoft/microsoft_ops.h"
#include "engine/ops/op_def.h"
#include "engine/ops/schema.h"
#include "engine/ops/shape_functions.h"
#include "engine/status_macros.h"

namespace inferd::engine {
namespace {

enum class Gate : uint8_t { kNone, kInterleaved, kHalves, kSeparate };
enum class Function : uint8_t { kRelu, kGelu, kSilu, kIdentity };

// Where the parts of one layer stand among the inputs; -1: the operator has no such input.
struct LayerInputs {
  int weights, bias, scales, zero_points;
};
constexpr LayerInputs kFloatLayers[] = {{2, 3, -1, -1}, {4, 5, -1, -1}, {6, 7, -1, -1}};
constexpr LayerInputs kQuantizedLayers[] = {{2, 4, 3, 11}, {5, 7, 6, 12}, {8, 10, 9, 13}};
constexpr int kRouterWeights = 14;  // of QMoE

bool IsQuantized(const OpDef& op) { return op.name == "QMoE"; }

struct Layer {
  LayerInputs inputs{};
  bool has_bias = false, has_zero_points = false;
  int64_t outputs = 0, depth = 0;
  int bits = 0;       // 0: not quantized
  int64_t block = 0;  // weights per scale
  int64_t blocks = 1;
};

struct Mixture {
  int64_t tokens, hidden, inner, experts, chosen;
  bool quantized, normalize, has_router_weights;
  Function function;
  Gate gate;
  float alpha, beta, limit;
  bool limit_after;
  Layer layers[3];
};

absl::Status ReadActivation(const Attributes& attributes, Mixture* m) {
  const std::string type = attributes.GetString("activation_type", "relu");
  m->alpha = attributes.GetFloat("activation_alpha", 1.0f);
  m->beta = attributes.GetFloat("activation_beta", 0.0f);
  m->limit = attributes.GetFloat("swiglu_limit", std::numeric_limits<float>::infinity());
  m->limit_after = attributes.GetInt("swiglu_limit_after_activation", 0) != 0;
  if (!(m->limit >= 0)) {
    return absl::InvalidArgumentError(
        absl::StrCat("attribute swiglu_limit is ", m->limit, ", expected 0 or more"));
  }
  m->gate = Gate::kNone;
  if (type == "relu") {
    m->function = Function::kRelu;
  } else if (type == "gelu") {
    m->function = Function::kGelu;
  } else if (type == "identity") {
    m->function = Function::kIdentity;
  } else if (type == "silu") {
    m->function = Function::kSilu;
    m->alpha = 1;
    m->beta = 0;
    m->limit = std::numeric_limits<float>::infinity();
  } else if (type == "swiglu") {
    m->function = Function::kSilu;
    const int64_t fusion = attributes.GetInt("swiglu_fusion", 0);
    if (fusion < 0 || fusion > 2) {
      return absl::InvalidArgumentError(
          absl::StrCat("attribute swiglu_fusion is ", fusion, ", expected 0, 1 or 2"));
    }
    m->gate = fusion == 0 ? Gate::kSeparate : fusion == 1 ? Gate::kInterleaved : Gate::kHalves;
  } else {
    return absl::UnimplementedError(absl::StrCat("activation_type \"", type,
                                                 "\"; relu, gelu, silu, swiglu and identity are "
                                                 "supported"));
  }
  return absl::OkStatus();
}

absl::Status Infer(InferenceContext& context) {
  const Attributes& attributes = context.attributes();
  Mixture m{};
  RETURN_IF_ERROR(ReadActivation(attributes, &m));
  if (attributes.GetInt("use_sparse_mixer", 0) != 0) {
    return absl::UnimplementedError("use_sparse_mixer is not supported");
  }
  if (attributes.GetString("quant_type", "int") != "int" ||
      attributes.GetInt("weights_prepacked", -1) == 1) {
    return absl::UnimplementedError("only quant_type int with unpacked weights is supported");
  }
  if (attributes.GetInt("k", 1) < 1) {
    return absl::InvalidArgumentError("attribute k must be positive");
  }
  RETURN_IF_ERROR(ExpectRank(context, 0, 2, 3));
  RETURN_IF_ERROR(ExpectRank(context, 1, 2, 2));
  return InferSameAsInput(context);
}

absl::Status ExpectShape(const NodeSpec& spec, int input, const Shape& expected) {
  if (spec.input(input).shape == expected) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("input ", input, " (", spec.op().input_parameter(input)->name, ") has shape ",
                   spec.input(input).shape.ToString(), ", expected ", expected.ToString()));
}

// A layer of `outputs` rows of `depth` weights per expert.
absl::StatusOr<Layer> ResolveLayer(const NodeSpec& spec, int i, int64_t experts, int64_t outputs,
                                   int64_t depth) {
  const Attributes& attributes = spec.attributes();
  Layer layer;
  layer.outputs = outputs;
  layer.depth = depth;
  layer.block = std::max<int64_t>(1, depth);
  const bool quantized = IsQuantized(spec.op());
  layer.inputs = quantized ? kQuantizedLayers[i] : kFloatLayers[i];
  layer.has_bias = spec.has_input(layer.inputs.bias);
  if (layer.has_bias) RETURN_IF_ERROR(ExpectShape(spec, layer.inputs.bias, {experts, outputs}));
  if (!quantized) {
    RETURN_IF_ERROR(ExpectShape(spec, layer.inputs.weights, {experts, outputs, depth}));
    return layer;
  }
  const int64_t bits = attributes.GetInt(absl::StrCat("fc", i + 1, "_expert_weight_bits"),
                                         attributes.GetInt("expert_weight_bits", 4));
  const int64_t block = attributes.GetInt("block_size", 0);
  RETURN_IF_ERROR(CheckBlockQuantization(bits, block > 0 ? block : 16));
  layer.bits = static_cast<int>(bits);
  if (depth % (8 / bits) != 0 || (block > 0 && depth % block != 0)) {
    return absl::InvalidArgumentError(absl::StrCat("rows of ", depth, " weights of ", bits,
                                                   " bits are no whole number of ",
                                                   block > 0 ? "blocks" : "bytes"));
  }
  RETURN_IF_ERROR(ExpectShape(spec, layer.inputs.weights, {experts, outputs, depth * bits / 8}));
  Shape scales = {experts, outputs}, zero_points = {experts, (outputs * bits + 7) / 8};
  if (block > 0) {
    layer.block = block;
    layer.blocks = depth / block;
    scales.push_back(layer.blocks);
    zero_points = {experts, outputs, (layer.blocks * bits + 7) / 8};
  }
  if (!spec.has_input(layer.inputs.scales)) {
    return absl::InvalidArgumentError(
        absl::StrCat("input ", layer.inputs.scales, " (scales) is missing"));
  }
  RETURN_IF_ERROR(ExpectShape(spec, layer.inputs.scales, scales));
  layer.has_zero_points = spec.has_input(layer.inputs.zero_points);
  if (layer.has_zero_points) {
    RETURN_IF_ERROR(ExpectShape(spec, layer.inputs.zero_points, zero_points));
  }
  return layer;
}

absl::StatusOr<Mixture> Resolve(const NodeSpec& spec) {
  const Attributes& attributes = spec.attributes();
  Mixture m{};
  RETURN_IF_ERROR(ReadActivation(attributes, &m));
  const Shape &x = spec.input(0).shape, &router = spec.input(1).shape;
  m.quantized = IsQuantized(spec.op());
  m.hidden = x[x.rank() - 1];
  m.tokens = x.Product(0, x.rank() - 1);
  m.experts = router[1];
  m.chosen = attributes.GetInt("k", 1);
  m.normalize = attributes.GetInt("normalize_routing_weights", 0) != 0;
  RETURN_IF_ERROR(ExpectShape(spec, 1, {m.tokens, m.experts}));
  if (m.chosen > m.experts) {
    return absl::InvalidArgumentError(
        absl::StrCat("attribute k is ", m.chosen, ", there are ", m.experts, " experts"));
  }
  const LayerInputs* layers = m.quantized ? kQuantizedLayers : kFloatLayers;
  const Shape& first = spec.input(layers[0].weights).shape;
  if (first.rank() != 3) {
    return absl::InvalidArgumentError(
        absl::StrCat("input 2 has shape ", first.ToString(), ", expected three dimensions"));
  }
  const bool fused = m.gate == Gate::kInterleaved || m.gate == Gate::kHalves;
  if (spec.has_input(layers[2].weights)) {
    if (fused) return absl::InvalidArgumentError("fc3 is given, but swiglu_fusion has it in fc1");
    m.gate = Gate::kSeparate;
  } else if (m.gate == Gate::kSeparate) {
    return absl::InvalidArgumentError("swiglu_fusion 0 needs fc3");
  }
  m.inner = fused ? first[1] / 2 : first[1];
  ASSIGN_OR_RETURN(m.layers[0],
                   ResolveLayer(spec, 0, m.experts, fused ? 2 * m.inner : m.inner, m.hidden));
  ASSIGN_OR_RETURN(m.layers[1], ResolveLayer(spec, 1, m.experts, m.hidden, m.inner));
  if (m.gate == Gate::kSeparate) {
    ASSIGN_OR_RETURN(m.layers[2], ResolveLayer(spec, 2, m.experts, m.inner, m.hidden));
  }
  if (m.quantized) {
    m.has_router_weights = spec.has_input(kRouterWeights);
    if (m.has_router_weights) {
      RETURN_IF_ERROR(ExpectShape(spec, kRouterWeights, {m.tokens, m.experts}));
    }
  }
  return m;
}

float Dot(const float* a, const float* b, int64_t n) {
  float lanes[8] = {};
  int64_t i = 0;
  for (; i + 8 <= n; i += 8) {
    for (int l = 0; l < 8; ++l) lanes[l] += a[i + l] * b[i + l];
  }
  float sum = 0;
  for (const float lane : lanes) sum += lane;
  for (; i < n; ++i) sum += a[i] * b[i];
  return sum;
}

template <typename T>
class ExpertsKernel final : public Kernel {
 public:
  explicit ExpertsKernel(Mixture mixture) : m_(std::move(mixture)) {}

  size_t workspace_bytes() const override {
    const int64_t per_token =
        2 * m_.hidden + 2 * m_.inner + m_.layers[0].outputs + m_.experts + m_.chosen;
    return m_.tokens * per_token * sizeof(float) + m_.tokens * (m_.chosen + 2) * sizeof(int64_t) +
           (m_.experts + 1) * sizeof(int64_t);
  }

  absl::Status Run(KernelContext& context) const override {
    Buffers b = Split(static_cast<char*>(context.workspace()));
    std::copy_n(context.input(0).as<T>(), m_.tokens * m_.hidden, b.x);
    std::fill_n(b.sums, m_.tokens * m_.hidden, 0.0f);
    for (int64_t t = 0; t < m_.tokens; ++t) Route(context, t, b);
    for (int64_t e = 0; e < m_.experts; ++e) {
      int64_t count = 0;
      for (int64_t i = 0; i < m_.tokens * m_.chosen; ++i) {
        if (b.expert[i] == e) b.picks[count++] = i;
      }
      if (count > 0) RunExpert(context, e, b, count);
    }
    T* y = context.output(0).as<T>();
    for (int64_t i = 0; i < m_.tokens * m_.hidden; ++i) y[i] = static_cast<T>(b.sums[i]);
    return absl::OkStatus();
  }

 private:
  struct Buffers {
    float *x, *sums, *projected, *gate, *activated, *probabilities, *weight;
    int64_t *expert, *picks;
  };

  Buffers Split(char* memory) const {
    Buffers b{};
    auto* ints = reinterpret_cast<int64_t*>(memory);
    b.expert = ints;
    ints += m_.tokens * m_.chosen;
    b.picks = ints;
    // An expert is chosen once by a token at most.
    ints += m_.tokens + m_.experts;
    auto* floats = reinterpret_cast<float*>(ints);
    const auto take = [&](int64_t n) {
      float* result = floats;
      floats += m_.tokens * n;
      return result;
    };
    b.x = take(m_.hidden);
    b.sums = take(m_.hidden);
    b.projected = take(m_.layers[0].outputs);
    b.gate = take(m_.inner);
    b.activated = take(m_.inner);
    b.probabilities = take(m_.experts);
    b.weight = take(m_.chosen);
    return b;
  }

  // The experts of a token, best first, and what each result counts.
  void Route(KernelContext& context, int64_t token, const Buffers& b) const {
    const T* scores = context.input(1).as<T>() + token * m_.experts;
    float* p = b.probabilities + token * m_.experts;
    int64_t* expert = b.expert + token * m_.chosen;
    float* weight = b.weight + token * m_.chosen;
    for (int64_t c = 0; c < m_.chosen; ++c) {
      int64_t best = -1;
      for (int64_t e = 0; e < m_.experts; ++e) {
        if (std::find(expert, expert + c, e) != expert + c) continue;
        if (best < 0 || static_cast<float>(scores[e]) > static_cast<float>(scores[best])) best = e;
      }
      expert[c] = best;
    }
    bool normalize = m_.normalize;
    if (m_.has_router_weights) {
      const T* weights = context.input(kRouterWeights).as<T>() + token * m_.experts;
      std::copy_n(weights, m_.experts, p);
    } else {
      const auto top = static_cast<float>(scores[expert[0]]);
      float sum = 0;
      for (int64_t e = 0; e < m_.experts; ++e) {
        p[e] = std::exp(static_cast<float>(scores[e]) - top);
        sum += p[e];
      }
      for (int64_t e = 0; e < m_.experts; ++e) p[e] /= sum;
      // QMoE's softmax is over the chosen ones alone.
      normalize = normalize || m_.quantized;
    }
    float total = 0;
    for (int64_t c = 0; c < m_.chosen; ++c) total += p[expert[c]];
    for (int64_t c = 0; c < m_.chosen; ++c) {
      weight[c] = normalize && total > 0 ? p[expert[c]] / total : p[expert[c]];
    }
  }

  // Weights [first, first + count) of one row of an expert's layer as floats; first is a multiple
  // of kChunk.
  void LoadWeights(KernelContext& context, const Layer& layer, int64_t expert, int64_t row,
                   int64_t first, int64_t count, float* out) const {
    const int64_t at = expert * layer.outputs + row;
    if (layer.bits == 0) {
      std::copy_n(context.input(layer.inputs.weights).template as<T>() + at * layer.depth + first,
                  count, out);
      return;
    }
    const uint8_t* packed = context.input(layer.inputs.weights).template as<uint8_t>() +
                            (at * layer.depth + first) * layer.bits / 8;
    const T* scales = context.input(layer.inputs.scales).template as<T>() + at * layer.blocks;
    for (int64_t i = 0; i < count;) {
      const int64_t block = (first + i) / layer.block;
      const int64_t run = std::min(count, (block + 1) * layer.block - first) - i;
      DequantizeRun(packed + i * layer.bits / 8, run, layer.bits, static_cast<float>(scales[block]),
                    ZeroPoint(context, layer, expert, row, block), out + i);
      i += run;
    }
  }

  float ZeroPoint(KernelContext& context, const Layer& layer, int64_t expert, int64_t row,
                  int64_t block) const {
    if (!layer.has_zero_points) return DefaultZeroPoint(layer.bits);
    const TensorView& zero_points = context.input(layer.inputs.zero_points);
    const uint8_t* packed = zero_points.as<uint8_t>();
    if (zero_points.shape.rank() == 2) {
      return static_cast<float>(
          PackedValue(packed + expert * zero_points.shape[1], row, layer.bits));
    }
    const int64_t at = expert * layer.outputs + row;
    return static_cast<float>(PackedValue(packed + at * zero_points.shape[2], block, layer.bits));
  }

  // store(pick, row, value) for every output of the layer for every pick; input(pick) is where a
  // pick's inputs lie.
  template <typename InputOf, typename Store>
  void Project(KernelContext& context, const Layer& layer, int64_t expert, int64_t count,
               InputOf input, Store store) const {
    context.threads().ParallelFor(layer.outputs, 8, [&](int64_t begin, int64_t end) {
      alignas(64) float weights[kChunk];
      float sums[kPicks];
      for (int64_t row = begin; row < end; ++row) {
        const float bias =
            !layer.has_bias
                ? 0.0f
                : static_cast<float>(context.input(layer.inputs.bias)
                                         .template as<T>()[expert * layer.outputs + row]);
        for (int64_t p = 0; p < count; p += kPicks) {
          const int64_t picks = std::min(kPicks, count - p);
          std::fill_n(sums, picks, bias);
          for (int64_t first = 0; first < layer.depth; first += kChunk) {
            const int64_t n = std::min(kChunk, layer.depth - first);
            LoadWeights(context, layer, expert, row, first, n, weights);
            for (int64_t i = 0; i < picks; ++i) {
              sums[i] += Dot(input(p + i) + first, weights, n);
            }
          }
          for (int64_t i = 0; i < picks; ++i) store(p + i, row, sums[i]);
        }
      }
    });
  }

  void RunExpert(KernelContext& context, int64_t expert, const Buffers& b, int64_t count) const {
    const auto token_of = [&](int64_t p) { return b.picks[p] / m_.chosen; };
    const auto x = [&](int64_t p) { return b.x + token_of(p) * m_.hidden; };
    const int64_t width = m_.layers[0].outputs;
    Project(context, m_.layers[0], expert, count, x,
            [&](int64_t p, int64_t row, float v) { b.projected[p * width + row] = v; });
    if (m_.gate == Gate::kSeparate) {
      Project(context, m_.layers[2], expert, count, x,
              [&](int64_t p, int64_t row, float v) { b.gate[p * m_.inner + row] = v; });
    }
    for (int64_t p = 0; p < count; ++p) {
      for (int64_t i = 0; i < m_.inner; ++i) {
        b.activated[p * m_.inner + i] = Activate(b.projected + p * width, b.gate + p * m_.inner, i);
      }
    }
    Project(
        context, m_.layers[1], expert, count, [&](int64_t p) { return b.activated + p * m_.inner; },
        [&](int64_t p, int64_t row, float v) {
          b.sums[token_of(p) * m_.hidden + row] += b.weight[b.picks[p]] * v;
        });
  }

  float Activate(const float* projected, const float* separate, int64_t i) const {
    if (m_.gate == Gate::kNone) return Apply(projected[i]);
    const bool interleaved = m_.gate == Gate::kInterleaved;
    const float g = projected[interleaved ? 2 * i : i];
    const float l = interleaved                ? projected[2 * i + 1]
                    : m_.gate == Gate::kHalves ? projected[m_.inner + i]
                                               : separate[i];
    if (m_.function != Function::kSilu) return Apply(g) * l;
    const float linear = std::clamp(l, -m_.limit, m_.limit) + m_.beta;
    return m_.limit_after ? std::min(Apply(g), m_.limit) * linear
                          : Apply(std::min(g, m_.limit)) * linear;
  }

  float Apply(float v) const {
    switch (m_.function) {
      case Function::kRelu:
        return v > 0 ? v : 0;
      case Function::kSilu:
        return v / (1 + std::exp(-m_.alpha * v));
      case Function::kGelu:
        return 0.5f * v * (1 + std::tanh(0.7978845608f * (v + 0.044715f * v * v * v)));
      default:
        return v;
    }
  }

  static constexpr int64_t kChunk = 512;
  static constexpr int64_t kPicks = 32;

  Mixture m_;
};

absl::StatusOr<std::unique_ptr<Kernel>> Reference(const NodeSpec& spec) {
  ASSIGN_OR_RETURN(const Mixture mixture, Resolve(spec));
  std::unique_ptr<Kernel> kernel;
  if (!DispatchType<float, Float16, BFloat16>(spec.input(0).type, [&]<typename T>() {
        kernel = std::make_unique<ExpertsKernel<T>>(mixture);
      })) {
    return UnsupportedType(spec, spec.input(0).type);
  }
  return kernel;
}

constexpr ElementTypeSet kTypes = {ElementType::kFloat32, ElementType::kFloat16,
                                   ElementType::kBfloat16};

OpDef CommonDef(absl::string_view name) {
  using Kind = AttributeSpec::Kind;
  OpDef def;
  def.domain = "com.microsoft";
  def.name = name;
  def.inputs = {RequiredParameter("input", "T", kTypes),
                RequiredParameter("router_probs", "T", kTypes)};
  def.outputs = {RequiredParameter("output", "T", kTypes)};
  def.attributes = {{"activation_alpha", Kind::kFloat},
                    {"activation_beta", Kind::kFloat},
                    {"activation_type", Kind::kString},
                    {"k", Kind::kInt},
                    {"normalize_routing_weights", Kind::kInt},
                    {"swiglu_fusion", Kind::kInt},
                    {"swiglu_limit", Kind::kFloat},
                    {"swiglu_limit_after_activation", Kind::kInt},
                    {"use_sparse_mixer", Kind::kInt}};
  def.infer = Infer;
  def.reference = Reference;
  return def;
}

}  // namespace

void RegisterMixtureOfExpertsOps(OpRegistry& registry) {
  using Kind = AttributeSpec::Kind;
  OpDef moe = CommonDef("MoE");
  moe.inputs.insert(moe.inputs.end(), {RequiredParameter("fc1_experts_weights", "T", kTypes),
                                       OptionalParameter("fc1_experts_bias", "T", kTypes),
                                       RequiredParameter("fc2_experts_weights", "T", kTypes),
                                       OptionalParameter("fc2_experts_bias", "T", kTypes),
                                       OptionalParameter("fc3_experts_weights", "T", kTypes),
                                       OptionalParameter("fc3_experts_bias", "T", kTypes)});
  registry.Register(std::move(moe));

  constexpr ElementTypeSet kPacked = {ElementType::kUint8};
  OpDef quantized = CommonDef("QMoE");
  quantized.inputs.insert(quantized.inputs.end(),
                          {RequiredParameter("fc1_experts_weights", "T1", kPacked),
                           OptionalParameter("fc1_scales", "T", kTypes),
                           OptionalParameter("fc1_experts_bias", "T", kTypes),
                           RequiredParameter("fc2_experts_weights", "T1", kPacked),
                           OptionalParameter("fc2_scales", "T", kTypes),
                           OptionalParameter("fc2_experts_bias", "T", kTypes),
                           OptionalParameter("fc3_experts_weights", "T1", kPacked),
                           OptionalParameter("fc3_scales", "T", kTypes),
                           OptionalParameter("fc3_experts_bias", "T", kTypes),
                           OptionalParameter("fc1_zero_points", "T1", kPacked),
                           OptionalParameter("fc2_zero_points", "T1", kPacked),
                           OptionalParameter("fc3_zero_points", "T1", kPacked),
                           OptionalParameter("router_weights", "T", kTypes)});
  for (const AttributeSpec& attribute :
       {AttributeSpec{"accuracy_level", Kind::kInt}, AttributeSpec{"block_size", Kind::kInt},
        AttributeSpec{"expert_weight_bits", Kind::kInt},
        AttributeSpec{"fc1_expert_weight_bits", Kind::kInt},
        AttributeSpec{"fc2_expert_weight_bits", Kind::kInt},
        AttributeSpec{"fc3_expert_weight_bits", Kind::kInt},
        AttributeSpec{"quant_type", Kind::kString},
        AttributeSpec{"weights_prepacked", Kind::kInt}}) {
    quantized.attributes.push_back(attribute);
  }
  registry.Register(std::move(quantized));
}

}  // namespace inferd::engine
