// com.microsoft operators that are two or three operators of the standard in one: they come in as
// those, so that passes fuse them again in the forms the providers have.
#include "absl/strings/str_cat.h"
#include "engine/onnx/opset/node_adapter.h"
#include "engine/onnx/opset/rules.h"
#include "engine/status_macros.h"

namespace inferd::engine {
namespace {

// `operand` with the transpositions of FusedMatMul: first dimension 0 moves behind the batch
// dimensions, then the last two change places. Vectors stay.
absl::StatusOr<Value*> TransposedOperand(NodeAdapter& node, size_t i, const char* side) {
  Value* operand = node.input(i);
  const bool batch = node.TakeAttribute<int64_t>(absl::StrCat("transBatch", side)).value_or(0) != 0;
  const bool matrix = node.TakeAttribute<int64_t>(absl::StrCat("trans", side)).value_or(0) != 0;
  if (!batch && !matrix) return operand;
  const std::optional<int> rank = NodeAdapter::RankOf(operand);
  if (!rank.has_value()) {
    return absl::UnimplementedError(
        absl::StrCat("the rank of input ", side, " must be known to transpose it"));
  }
  if (*rank < 2) return operand;
  std::vector<int64_t> order(*rank);
  for (int d = 0; d < *rank; ++d) order[d] = d;
  if (batch) {
    for (int d = 0; d + 2 < *rank; ++d) order[d] = d + 1;
    order[*rank - 2] = 0;
  }
  if (matrix) std::swap(order[*rank - 2], order[*rank - 1]);
  Attributes attributes;
  attributes.Set("perm", std::move(order));
  return node.Emit("Transpose", {operand}, std::move(attributes));
}

// Takes the attributes of the product away and returns the two operands of MatMul.
absl::StatusOr<std::vector<Value*>> ProductOperands(NodeAdapter& node) {
  RETURN_IF_ERROR(node.RequireInput(0, "A"));
  RETURN_IF_ERROR(node.RequireInput(1, "B"));
  ASSIGN_OR_RETURN(Value * a, TransposedOperand(node, 0, "A"));
  ASSIGN_OR_RETURN(Value * b, TransposedOperand(node, 1, "B"));
  return std::vector<Value*>{a, b};
}

bool IsTransposed(const NodeAdapter& node, const char* side) {
  return node.attributes.GetInt(absl::StrCat("transBatch", side), 0) != 0 ||
         node.attributes.GetInt(absl::StrCat("trans", side), 0) != 0;
}

absl::Status FusedMatMul(NodeAdapter& node) {
  // How to transpose operands of unknown rank shows when the model runs.
  for (const size_t i : {0, 1}) {
    if (node.input(i) == nullptr || !IsTransposed(node, i == 0 ? "A" : "B")) continue;
    if (!NodeAdapter::RankOf(node.input(i)).has_value()) {
      node.op = "FusedMatMul";
      return absl::OkStatus();
    }
  }
  ASSIGN_OR_RETURN(std::vector<Value*> operands, ProductOperands(node));
  const float alpha = node.TakeAttribute<float>("alpha").value_or(1.0f);
  if (alpha == 1.0f) {
    node.Become("MatMul", std::move(operands), node.attributes);
    return absl::OkStatus();
  }
  Value* scale = node.ScalarLike("alpha", alpha, operands[0]);
  node.Become("Mul", {node.Emit("MatMul", std::move(operands)), scale}, node.attributes);
  return absl::OkStatus();
}

// The node becomes the activation of `x`, parameters named as the standard names them.
void BecomeActivation(NodeAdapter& node, const std::string& name, Value* x, Attributes parameters) {
  // Clip takes its bounds as inputs.
  if (name == "Clip") {
    Value* low = node.ScalarLike("min", parameters.GetFloat("alpha", 0), x);
    Value* high = node.ScalarLike("max", parameters.GetFloat("beta", 0), x);
    node.Become("Clip", {x, low, high});
    return;
  }
  node.Become(name, {x}, std::move(parameters));
}

// activation_alpha, _beta and _gamma as alpha, beta and gamma.
Attributes TakeNamedParameters(NodeAdapter& node) {
  Attributes parameters;
  for (const char* name : {"alpha", "beta", "gamma"}) {
    if (auto value = node.TakeAttribute<float>(absl::StrCat("activation_", name))) {
      parameters.Set(name, *value);
    }
  }
  return parameters;
}

absl::Status FusedGemm(NodeAdapter& node) {
  const std::string activation = node.TakeAttribute<std::string>("activation").value_or("");
  Attributes parameters = TakeNamedParameters(node);
  if (activation.empty()) {
    node.Become("Gemm", node.inputs, node.attributes);
    return absl::OkStatus();
  }
  Value* product = node.Emit("Gemm", node.inputs, node.attributes);
  BecomeActivation(node, activation, product, std::move(parameters));
  return absl::OkStatus();
}

absl::Status FusedMatMulActivation(NodeAdapter& node) {
  ASSIGN_OR_RETURN(std::vector<Value*> operands, ProductOperands(node));
  const std::optional<std::string> activation = node.TakeAttribute<std::string>("activation");
  if (!activation.has_value() || activation->empty()) {
    return absl::InvalidArgumentError("attribute \"activation\" is missing");
  }
  Attributes parameters = TakeNamedParameters(node);
  if (auto axis = node.TakeAttribute<int64_t>("activation_axis")) parameters.Set("axis", *axis);
  Value* product = node.Emit("MatMul", std::move(operands));
  const float alpha = node.TakeAttribute<float>("alpha").value_or(1.0f);
  if (alpha != 1.0f) {
    product = node.Emit("Mul", {product, node.ScalarLike("alpha", alpha, product)});
  }
  BecomeActivation(node, *activation, product, std::move(parameters));
  return absl::OkStatus();
}

// Channels of an image from last to second or back; it has two spatial dimensions unless known
// otherwise.
Value* MoveChannels(NodeAdapter& node, Value* image, int rank, bool to_last) {
  std::vector<int64_t> order = {0};
  if (to_last) {
    for (int d = 2; d < rank; ++d) order.push_back(d);
    order.push_back(1);
  } else {
    order.push_back(rank - 1);
    for (int d = 1; d + 1 < rank; ++d) order.push_back(d);
  }
  Attributes attributes;
  attributes.Set("perm", std::move(order));
  return node.Emit("Transpose", {image}, std::move(attributes));
}

int ImageRank(const Value* image) { return std::max(3, NodeAdapter::RankOf(image).value_or(4)); }

// The activation of a fused convolution takes its parameters by position.
absl::StatusOr<Attributes> ConvActivationParameters(const std::string& activation,
                                                    const std::vector<float>& values) {
  const size_t count = activation == "LeakyRelu"                             ? 1
                       : activation == "Clip" || activation == "HardSigmoid" ? 2
                                                                             : 0;
  if (values.size() < count) {
    return absl::InvalidArgumentError(absl::StrCat("attribute activation_params has ",
                                                   values.size(), " values, ", activation,
                                                   " needs ", count));
  }
  Attributes parameters;
  if (count > 0) parameters.Set("alpha", values[0]);
  if (count > 1) parameters.Set("beta", values[1]);
  return parameters;
}

absl::Status FusedConvolution(NodeAdapter& node, bool channels_last) {
  RETURN_IF_ERROR(node.RequireInput(0, "X"));
  RETURN_IF_ERROR(node.RequireInput(1, "W"));
  const std::string activation = node.TakeAttribute<std::string>("activation").value_or("");
  const std::vector<float> values =
      node.TakeAttribute<std::vector<float>>("activation_params").value_or(std::vector<float>());
  ASSIGN_OR_RETURN(Attributes parameters, ConvActivationParameters(activation, values));
  const int rank = ImageRank(node.input(0));
  Value* x = node.input(0);
  Value* z = node.input(3);
  if (channels_last) {
    x = MoveChannels(node, x, rank, false);
    if (z != nullptr) z = MoveChannels(node, z, rank, false);
  }
  std::vector<Value*> inputs = {x, node.input(1), node.input(2)};
  if (z == nullptr && activation.empty() && !channels_last) {
    node.Become("Conv", std::move(inputs), node.attributes);
    return absl::OkStatus();
  }
  Value* y = node.Emit("Conv", std::move(inputs), node.attributes);
  if (z != nullptr) {
    if (activation.empty() && !channels_last) {
      node.Become("Add", {y, z});
      return absl::OkStatus();
    }
    y = node.Emit("Add", {y, z});
  }
  if (!channels_last) {
    BecomeActivation(node, activation, y, std::move(parameters));
    return absl::OkStatus();
  }
  if (activation == "Clip") {
    y = node.Emit("Clip", {y, node.ScalarLike("min", parameters.GetFloat("alpha", 0), y),
                           node.ScalarLike("max", parameters.GetFloat("beta", 0), y)});
  } else if (!activation.empty()) {
    y = node.Emit(activation, {y}, std::move(parameters));
  }
  std::vector<int64_t> order = {0};
  for (int d = 2; d < rank; ++d) order.push_back(d);
  order.push_back(1);
  Attributes transpose;
  transpose.Set("perm", std::move(order));
  node.Become("Transpose", {y}, std::move(transpose));
  return absl::OkStatus();
}
absl::Status FusedConv(NodeAdapter& node) { return FusedConvolution(node, false); }
absl::Status NhwcFusedConv(NodeAdapter& node) { return FusedConvolution(node, true); }

absl::Status NhwcMaxPool(NodeAdapter& node) {
  RETURN_IF_ERROR(node.RequireInput(0, "x"));
  // kernel_shape is required, and tells the rank for sure.
  const int rank = static_cast<int>(node.attributes.GetInts("kernel_shape").size()) + 2;
  if (rank < 3 || rank > 5) {
    return absl::InvalidArgumentError(
        absl::StrCat("attribute kernel_shape has ", rank - 2, " values, expected 1 to 3"));
  }
  Value* x = MoveChannels(node, node.input(0), rank, false);
  Value* y = node.Emit("MaxPool", {x}, node.attributes);
  std::vector<int64_t> order = {0};
  for (int d = 2; d < rank; ++d) order.push_back(d);
  order.push_back(1);
  Attributes transpose;
  transpose.Set("perm", std::move(order));
  node.Become("Transpose", {y}, std::move(transpose));
  return absl::OkStatus();
}

// GroupNormalization of `x` and the activation; computed in the type of gamma, the wider one.
absl::Status BecomeGroupNorm(NodeAdapter& node, Value* x) {
  RETURN_IF_ERROR(node.RequireInput(1, "gamma"));
  RETURN_IF_ERROR(node.RequireInput(2, "beta"));
  const bool channels_last = node.attributes.GetInt("channels_last", 1) != 0;
  const int64_t activation = node.attributes.GetInt("activation", 0);
  if (activation != 0 && activation != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("attribute activation is ", activation, ", expected 0 or 1 (SiLU)"));
  }
  const int rank = ImageRank(x);
  const bool cast = NodeAdapter::ElementOf(x) != NodeAdapter::ElementOf(node.input(1)) ||
                    NodeAdapter::ElementOf(x) == ElementType::kUndefined;
  Value* y = channels_last ? MoveChannels(node, x, rank, false) : x;
  if (cast) y = node.Emit("CastLike", {y, node.input(1)});
  Attributes norm;
  norm.Set("num_groups", node.attributes.GetInt("groups", 0));
  norm.Set("epsilon", node.attributes.GetFloat("epsilon", 1e-5f));
  y = node.Emit("GroupNormalization", {y, node.input(1), node.input(2)}, std::move(norm));
  if (activation == 1) y = node.Emit("Mul", {y, node.Emit("Sigmoid", {y})});
  if (channels_last) y = MoveChannels(node, y, rank, true);
  if (cast) {
    node.Become("CastLike", {y, x});
  } else {
    node.Become("Identity", {y});
  }
  return absl::OkStatus();
}

absl::Status GroupNorm(NodeAdapter& node) {
  RETURN_IF_ERROR(node.RequireInput(0, "X"));
  return BecomeGroupNorm(node, node.input(0));
}

absl::Status SkipGroupNorm(NodeAdapter& node) {
  RETURN_IF_ERROR(node.RequireInput(0, "X"));
  RETURN_IF_ERROR(node.RequireInput(3, "skip"));
  const bool channels_last = node.attributes.GetInt("channels_last", 1) != 0;
  const int rank = ImageRank(node.input(0));
  Value* skip = node.input(3);
  Value* bias = node.input(4);
  std::vector<int64_t> spatial;
  for (int d = 0; d + 2 < rank; ++d) spatial.push_back((channels_last ? 1 : 2) + d);
  // [N, C] holds for every position.
  if (NodeAdapter::RankOf(skip) == 2) {
    skip = node.Emit("Unsqueeze", {skip, node.Ints("spatial", spatial)});
  }
  if (bias != nullptr && !channels_last) {
    for (int64_t& axis : spatial) --axis;
    bias = node.Emit("Unsqueeze", {bias, node.Ints("behind_channels", spatial)});
  }
  Value* sum = node.Emit("Add", {node.input(0), skip});
  if (bias != nullptr) sum = node.Emit("Add", {sum, bias});
  if (node.output_used.size() > 1 && node.output_used[1]) node.aliases.push_back({1, sum});
  return BecomeGroupNorm(node, sum);
}

absl::Status GemmFastGelu(NodeAdapter& node) {
  RETURN_IF_ERROR(node.RequireInput(0, "X"));
  RETURN_IF_ERROR(node.RequireInput(1, "W"));
  Value* y = node.Emit("MatMul", {node.input(0), node.input(1)});
  if (node.input(2) != nullptr) y = node.Emit("Add", {y, node.input(2)});
  Attributes gelu;
  gelu.Set("approximate", std::string("tanh"));
  node.Become("Gelu", {y}, std::move(gelu));
  return absl::OkStatus();
}

constexpr OpsetRule kRules[] = {
    {"com.microsoft", "FusedConv", 1, FusedConv},
    {"com.microsoft", "FusedGemm", 1, FusedGemm},
    {"com.microsoft", "FusedMatMul", 1, FusedMatMul},
    {"com.microsoft", "FusedMatMulActivation", 1, FusedMatMulActivation},
    {"com.microsoft", "GemmFastGelu", 1, GemmFastGelu},
    {"com.microsoft", "GroupNorm", 1, GroupNorm},
    {"com.microsoft", "NhwcFusedConv", 1, NhwcFusedConv},
    {"com.microsoft", "NhwcMaxPool", 1, NhwcMaxPool},
    {"com.microsoft", "SkipGroupNorm", 1, SkipGroupNorm},
    {"com.microsoft", "TransposeMatMul", 1, FusedMatMul},
};

}  // namespace

absl::Span<const OpsetRule> MicrosoftFusedRules() { return kRules; }

}  // namespace inferd::engine
