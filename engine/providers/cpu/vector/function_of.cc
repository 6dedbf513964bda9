#include "engine/providers/cpu/vector/function_of.h"

#include <limits>

#include "absl/strings/string_view.h"
#include "engine/ops/op_def.h"

namespace inferd::engine::cpu {
namespace {

constexpr absl::string_view kMicrosoftDomain = "com.microsoft";

// Clip's bound i, or `open` where absent; nullopt where it is not constant.
std::optional<float> Bound(const NodeSpec& spec, int i, float open) {
  if (!spec.has_input(i)) return open;
  const Tensor* bound = spec.input(i).constant;
  if (bound == nullptr || bound->num_elements() != 1) return std::nullopt;
  return bound->data<float>()[0];
}

}  // namespace

UnaryStep StepOf(const Activation& a) {
  switch (a.kind) {
    case ActivationKind::kRelu:
      return {UnaryFunction::kRelu};
    case ActivationKind::kLeakyRelu:
      return {UnaryFunction::kLeakyRelu, a.alpha};
    case ActivationKind::kClip:
      return {UnaryFunction::kClip, a.alpha, a.beta};
    case ActivationKind::kSigmoid:
      return {UnaryFunction::kSigmoid};
    case ActivationKind::kTanh:
      return {UnaryFunction::kTanh};
    case ActivationKind::kElu:
      return {UnaryFunction::kElu, a.alpha};
    case ActivationKind::kHardSigmoid:
      return {UnaryFunction::kHardSigmoid, a.alpha, a.beta};
    case ActivationKind::kHardSwish:
      return {UnaryFunction::kHardSwish};
    case ActivationKind::kSilu:
      return {UnaryFunction::kSilu};
    case ActivationKind::kGelu:
      return {UnaryFunction::kGelu};
    case ActivationKind::kGeluTanh:
      return {UnaryFunction::kGeluTanh};
    case ActivationKind::kSoftplus:
      return {UnaryFunction::kSoftplus};
    case ActivationKind::kMish:
      return {UnaryFunction::kMish};
  }
  return {UnaryFunction::kRelu};
}

UnaryChain StepsOf(const ActivationChain& chain) {
  UnaryChain steps;
  for (const Activation& activation : chain) steps.push_back(StepOf(activation));
  return steps;
}

std::optional<UnaryStep> UnaryFunctionOf(const NodeSpec& spec) {
  const absl::string_view op = spec.op().name;
  const Attributes& a = spec.attributes();
  using Function = UnaryFunction;
  if (spec.op().domain == kMicrosoftDomain) {
    if (op == "QuickGelu") return UnaryStep{Function::kQuickGelu, a.GetFloat("alpha", 1.702f)};
    if (spec.has_input(1)) return std::nullopt;
    if (op == "Gelu") return UnaryStep{Function::kGelu};
    if (op == "FastGelu") return UnaryStep{Function::kGeluTanh};
    return std::nullopt;
  }
  if (!spec.op().domain.empty()) return std::nullopt;
  if (op == "Relu") return UnaryStep{Function::kRelu};
  if (op == "LeakyRelu") return UnaryStep{Function::kLeakyRelu, a.GetFloat("alpha", 0.01f)};
  if (op == "Sigmoid") return UnaryStep{Function::kSigmoid};
  if (op == "Tanh") return UnaryStep{Function::kTanh};
  if (op == "Elu") return UnaryStep{Function::kElu, a.GetFloat("alpha", 1.0f)};
  if (op == "HardSigmoid") {
    return UnaryStep{Function::kHardSigmoid, a.GetFloat("alpha", 0.2f), a.GetFloat("beta", 0.5f)};
  }
  if (op == "HardSwish") return UnaryStep{Function::kHardSwish};
  if (op == "Swish") {
    const float alpha = a.GetFloat("alpha", 1.0f);
    if (alpha == 1.0f) return UnaryStep{Function::kSilu};
    return UnaryStep{Function::kQuickGelu, alpha};
  }
  if (op == "Erf") return UnaryStep{Function::kErf};
  if (op == "Softplus") return UnaryStep{Function::kSoftplus};
  if (op == "Mish") return UnaryStep{Function::kMish};
  if (op == "Abs") return UnaryStep{Function::kAbs};
  if (op == "Neg") return UnaryStep{Function::kNeg};
  if (op == "Sqrt") return UnaryStep{Function::kSqrt};
  if (op == "Exp") return UnaryStep{Function::kExp};
  if (op == "Reciprocal") return UnaryStep{Function::kReciprocal};
  if (op == "Floor") return UnaryStep{Function::kFloor};
  if (op == "Ceil") return UnaryStep{Function::kCeil};
  if (op == "Gelu") {
    return UnaryStep{a.GetString("approximate", "none") == "tanh" ? Function::kGeluTanh
                                                                  : Function::kGelu};
  }
  if (op == "Clip") {
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    const std::optional<float> low = Bound(spec, 1, -kInfinity);
    const std::optional<float> high = Bound(spec, 2, kInfinity);
    if (!low.has_value() || !high.has_value()) return std::nullopt;
    return UnaryStep{Function::kClip, *low, *high};
  }
  return std::nullopt;
}

std::optional<BinaryFunction> BinaryFunctionOf(const NodeSpec& spec) {
  const absl::string_view op = spec.op().name;
  if (spec.inputs.size() != 2 || !spec.has_input(0) || !spec.has_input(1)) return std::nullopt;
  if (spec.op().domain == kInferdDomain) {
    if (op == "FusedAdd") return BinaryFunction::kAdd;
    return std::nullopt;
  }
  if (!spec.op().domain.empty()) return std::nullopt;
  if (op == "Add" || op == "Sum") return BinaryFunction::kAdd;
  if (op == "Sub") return BinaryFunction::kSub;
  if (op == "Mul") return BinaryFunction::kMul;
  if (op == "Div") return BinaryFunction::kDiv;
  if (op == "Max") return BinaryFunction::kMax;
  if (op == "Min") return BinaryFunction::kMin;
  if (op == "PRelu") return BinaryFunction::kPRelu;
  return std::nullopt;
}

}  // namespace inferd::engine::cpu
