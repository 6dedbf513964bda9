// Operators between DequantizeLinear and QuantizeLinear become the operator on the 8-bit numbers
// themselves: DequantizeLinear, Conv, QuantizeLinear is QLinearConv. Runs before other folding, so
// that quantized weights are still there to be used.
//
// Preserves results up to the rounding of float sums, which integer sums do not have: a quantized
// result can differ by one step where the float sum fell on the other side of a tie. Movement of
// bytes whose quantization does not change is exact.
#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "engine/ops/integer_product.h"
#include "engine/ops/quantized_range.h"
#include "engine/passes/all_passes.h"
#include "engine/passes/rewrite.h"
#include "engine/status_macros.h"

namespace inferd::engine {
namespace {

constexpr absl::string_view kMicrosoft = "com.microsoft";

// A value known by its bytes and constant parameters.
struct Quantized {
  Value* bytes = nullptr;
  Value* scale = nullptr;
  Value* zero_point = nullptr;  // null: 0
  ElementType type = ElementType::kUndefined;
  std::optional<int> axis;  // of the scales; none: one for the whole tensor

  bool per_tensor() const { return !axis.has_value(); }
  float scale_value() const { return scale->constant().data<float>()[0]; }
  int zero_point_value() const {
    return zero_point == nullptr ? 0 : LoadByte(type, zero_point->constant().view().data, 0);
  }
};

bool IsByte(ElementType type) { return type == ElementType::kUint8 || type == ElementType::kInt8; }

bool IsOneOf(const Node* node, absl::string_view name) {
  return node != nullptr && node->op().name == name &&
         (node->op().domain.empty() || node->op().domain == kMicrosoft);
}

// Scale and zero point of a QuantizeLinear or DequantizeLinear; the type is that of `bytes`.
std::optional<Quantized> ParametersOf(const Node& node, Value* bytes) {
  Quantized q;
  q.bytes = bytes;
  q.scale = node.input(1);
  q.zero_point = node.input(2);
  q.type = bytes->type().element;
  const Tensor* scale = FloatConstant(q.scale);
  if (scale == nullptr || node.attributes().GetInt("block_size", 0) != 0) return std::nullopt;
  if (q.zero_point != nullptr &&
      (!q.zero_point->is_constant() ||
       q.zero_point->constant().num_elements() != scale->num_elements())) {
    return std::nullopt;
  }
  if (scale->num_elements() == 1 && scale->shape().rank() <= 1) return q;
  if (scale->shape().rank() != 1 || !bytes->type().shape.has_rank()) return std::nullopt;
  const int rank = bytes->type().shape.rank();
  const int64_t axis = rank == 1 ? 0 : node.attributes().GetInt("axis", 1);
  if (axis < -rank || axis >= rank) return std::nullopt;
  q.axis = static_cast<int>(axis < 0 ? axis + rank : axis);
  return q;
}

std::optional<Quantized> DequantizedFrom(const Value* value) {
  if (value == nullptr || !IsOneOf(value->producer(), "DequantizeLinear") || !IsFloat32(value)) {
    return std::nullopt;
  }
  const Node& node = *value->producer();
  return ParametersOf(node, node.input(0));
}
std::optional<Quantized> ByteOperand(const Value* value) {
  std::optional<Quantized> q = DequantizedFrom(value);
  if (q.has_value() && IsByte(q->type)) return q;
  return std::nullopt;
}
std::optional<Quantized> ByteTensor(const Value* value) {
  std::optional<Quantized> q = ByteOperand(value);
  if (q.has_value() && q->per_tensor()) return q;
  return std::nullopt;
}

// Nodes that change nothing a quantized result can hold: Relu and Clip to its range or beyond.
bool IsImpliedBy(const Node* node, const Quantized& y) {
  const QuantizedRange range = RangeOf(y.type);
  const float zero = static_cast<float>(y.zero_point_value());
  const float lowest = (range.low - zero) * y.scale_value();
  const float highest = (range.high - zero) * y.scale_value();
  if (IsOp(node, "Identity")) return true;
  if (IsOp(node, "Relu")) return lowest >= 0;
  if (!IsOp(node, "Clip")) return false;
  const auto bound = [&](int i) { return ScalarConstant(node->input(i)); };
  if (node->input(1) != nullptr && !(bound(1).has_value() && *bound(1) <= lowest)) return false;
  if (node->input(2) != nullptr && !(bound(2).has_value() && *bound(2) >= highest)) return false;
  return true;
}

// One QuantizeLinear and what is to take its place.
class Fusion {
 public:
  Fusion(Rewriter& rewriter, Node* quantize, const Quantized& y)
      : rewriter_(rewriter), quantize_(quantize), y_(y) {}

  bool Try() {
    Value* real = quantize_->input(0);
    std::vector<Node*> passed;  // from the last to the operator
    while (real->producer() != nullptr && rewriter_.HasOneUse(real) &&
           IsImpliedBy(real->producer(), y_)) {
      passed.push_back(real->producer());
      real = real->producer()->input(0);
    }
    op_ = real->producer();
    if (op_ == nullptr || !rewriter_.HasOneUse(real) || !rewriter_.IsReplaceable(op_) || !Match()) {
      return false;
    }
    const std::string name = op_->name().empty() ? quantize_->name() : op_->name();
    Node* fused =
        rewriter_.Replace(quantize_, *target_, name, std::move(inputs_), std::move(attributes_));
    passed.push_back(op_);
    for (const Node* node : passed) fused->AddOrigins(*node);
    for (Node* node : passed) rewriter_.RemoveIfUnused(node);
    return true;
  }

 private:
  // Sets target_, inputs_ and attributes_.
  bool Match() {
    attributes_ = op_->attributes();
    if (IsOp(op_, "Conv")) return Convolution();
    if (IsOp(op_, "MatMul")) return Product();
    if (IsOp(op_, "Gemm")) return Affine();
    if (IsOp(op_, "Add")) return Binary("QLinearAdd");
    if (IsOp(op_, "Mul")) return Binary("QLinearMul");
    if (IsOp(op_, "Concat")) return Concatenation();
    if (IsOp(op_, "Sigmoid")) return Unary("QLinearSigmoid");
    if (IsOp(op_, "LeakyRelu")) return Unary("QLinearLeakyRelu");
    if (IsOp(op_, "GlobalAveragePool")) return Unary("QLinearGlobalAveragePool");
    if (IsOp(op_, "AveragePool")) {
      for (const int64_t d : attributes_.GetInts("dilations")) {
        if (d != 1) return false;
      }
      attributes_.Erase("dilations");
      return Unary("QLinearAveragePool");
    }
    return Movement();
  }

  void SetTarget(absl::string_view domain, absl::string_view name) {
    target_ = &rewriter_.registry().Get(name, domain);
  }

  // bytes, scale and zero point, which the target requires.
  void Append(const Quantized& q) {
    inputs_.push_back(q.bytes);
    AppendParameters(q);
  }
  void AppendParameters(const Quantized& q) {
    inputs_.push_back(q.scale);
    Value* zero_point = q.zero_point;
    if (zero_point == nullptr) {
      const Shape& shape = q.scale->constant().shape();
      absl::StatusOr<Tensor> zeros = Tensor::Allocate(q.type, shape);
      std::fill_n(static_cast<uint8_t*>(zeros->view().data), shape.NumElements(), uint8_t{0});
      zero_point = rewriter_.graph().AddConstant(op_->name() + "_zero_point", *std::move(zeros));
    }
    inputs_.push_back(zero_point);
  }

  // An absent zero point is zero.
  static bool IsZero(const Value* zero_point) {
    if (zero_point == nullptr) return true;
    const TensorView& view = zero_point->constant().view();
    const auto* bytes = static_cast<const uint8_t*>(view.data);
    return std::all_of(bytes, bytes + view.num_bytes(), [](uint8_t b) { return b == 0; });
  }

  // An int32 bias whose scales are the products of the operands': it can be added to the sums.
  static bool IsSumBias(const Quantized& bias, const Quantized& x, const Quantized& w) {
    if (bias.type != ElementType::kInt32 || !IsZero(bias.zero_point)) return false;
    const Tensor& scales = bias.scale->constant();
    const Tensor& w_scales = w.scale->constant();
    const int64_t n = w_scales.num_elements();
    if (scales.num_elements() != n && scales.num_elements() != 1) return false;
    for (int64_t i = 0; i < n; ++i) {
      const float expected = x.scale_value() * w_scales.data<float>()[i];
      const float found = scales.data<float>()[scales.num_elements() == 1 ? 0 : i];
      if (!(std::abs(found - expected) <= 1e-5f * std::abs(expected))) return false;
    }
    return true;
  }

  bool Convolution() {
    const std::optional<Quantized> x = ByteTensor(op_->input(0));
    const std::optional<Quantized> w = ByteOperand(op_->input(1));
    if (!x.has_value() || !w.has_value() || !w->bytes->is_constant()) return false;
    if (!w->per_tensor() && *w->axis != 0) return false;
    Value* bias = nullptr;
    if (op_->input(2) != nullptr) {
      const std::optional<Quantized> b = DequantizedFrom(op_->input(2));
      if (!b.has_value() || !IsSumBias(*b, *x, *w)) return false;
      bias = b->bytes;
    }
    SetTarget("", "QLinearConv");
    Append(*x);
    Append(*w);
    AppendParameters(y_);
    inputs_.push_back(bias);
    return true;
  }

  bool Product() {
    const std::optional<Quantized> a = ByteTensor(op_->input(0));
    const std::optional<Quantized> b = ByteOperand(op_->input(1));
    if (!a.has_value() || !b.has_value()) return false;
    if (!b->per_tensor() && (b->bytes->type().shape.rank() != 2 || *b->axis != 1)) return false;
    SetTarget("", "QLinearMatMul");
    Append(*a);
    Append(*b);
    AppendParameters(y_);
    return true;
  }

  bool Affine() {
    const std::optional<Quantized> a = ByteTensor(op_->input(0));
    const std::optional<Quantized> b = ByteOperand(op_->input(1));
    if (!a.has_value() || !b.has_value()) return false;
    const bool transposed = attributes_.GetInt("transB", 0) != 0;
    if (!b->per_tensor() && *b->axis != (transposed ? 0 : 1)) return false;
    Value* c = nullptr;
    if (op_->input(2) != nullptr) {
      const std::optional<Quantized> bias = DequantizedFrom(op_->input(2));
      if (!bias.has_value() || !IsSumBias(*bias, *a, *b)) return false;
      if (attributes_.GetFloat("alpha", 1) != 1 || attributes_.GetFloat("beta", 1) != 1) {
        return false;
      }
      c = bias->bytes;
    }
    attributes_.Erase("beta");
    SetTarget(kMicrosoft, "QGemm");
    Append(*a);
    Append(*b);
    inputs_.push_back(c);
    AppendParameters(y_);
    return true;
  }

  bool Binary(absl::string_view name) {
    const std::optional<Quantized> a = ByteTensor(op_->input(0));
    const std::optional<Quantized> b = ByteTensor(op_->input(1));
    if (!a.has_value() || !b.has_value() || a->type != y_.type || b->type != y_.type) return false;
    SetTarget(kMicrosoft, name);
    Append(*a);
    Append(*b);
    AppendParameters(y_);
    return true;
  }

  bool Unary(absl::string_view name) {
    const std::optional<Quantized> x = ByteTensor(op_->input(0));
    if (!x.has_value() || x->type != y_.type) return false;
    SetTarget(kMicrosoft, name);
    Append(*x);
    AppendParameters(y_);
    return true;
  }

  bool Concatenation() {
    std::vector<Quantized> operands;
    for (const Value* input : op_->inputs()) {
      std::optional<Quantized> x = ByteTensor(input);
      if (!x.has_value() || x->type != y_.type) return false;
      operands.push_back(*std::move(x));
    }
    SetTarget(kMicrosoft, "QLinearConcat");
    AppendParameters(y_);
    for (const Quantized& x : operands) Append(x);
    return true;
  }

  // Where the quantization stays, bytes move as floats do.
  bool Movement() {
    constexpr std::array<absl::string_view, 10> kMovements = {
        "DepthToSpace", "Flatten",      "Gather",  "MaxPool",   "Reshape",
        "Slice",        "SpaceToDepth", "Squeeze", "Transpose", "Unsqueeze"};
    bool moves = false;
    for (const absl::string_view name : kMovements) moves |= IsOp(op_, name);
    const std::optional<Quantized> x = ByteTensor(op_->input(0));
    if (!moves || !x.has_value() || x->type != y_.type || x->scale_value() != y_.scale_value() ||
        x->zero_point_value() != y_.zero_point_value()) {
      return false;
    }
    target_ = &op_->op();
    inputs_ = op_->inputs();
    inputs_[0] = x->bytes;
    return true;
  }

  Rewriter& rewriter_;
  Node* quantize_;
  Quantized y_;
  Node* op_ = nullptr;
  const OpDef* target_ = nullptr;
  std::vector<Value*> inputs_;
  Attributes attributes_;
};

}  // namespace

absl::StatusOr<int> FuseQuantized(Graph& graph, const OpRegistry& registry) {
  // Exporters reach weights and parameters through Identity, Cast and the like.
  ASSIGN_OR_RETURN(int applied, FoldAllButDequantize(graph, registry));
  Rewriter rewriter(graph, registry);
  for (Node* node : rewriter.Snapshot()) {
    if (!IsOneOf(node, "QuantizeLinear") || !rewriter.IsReplaceable(node)) continue;
    if (!IsFloat32(node->input(0)) || !IsByte(node->output(0)->type().element)) continue;
    if (node->attributes().GetInt("precision", 0) > 1) continue;
    const std::optional<Quantized> y = ParametersOf(*node, node->output(0));
    if (!y.has_value() || !y->per_tensor()) continue;
    if (Fusion(rewriter, node, *y).Try()) ++applied;
  }
  return applied;
}

}  // namespace inferd::engine
