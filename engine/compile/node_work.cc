#include "engine/compile/node_work.h"

#include <algorithm>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "engine/ops/op_def.h"

namespace inferd::engine {
namespace {

double Elements(const OperandSpec& operand) {
  return operand.present ? static_cast<double>(operand.shape.NumElements()) : 0;
}
double In(const NodeSpec& spec, int i = 0) {
  return spec.has_input(i) ? Elements(spec.input(i)) : 0;
}
double Out(const NodeSpec& spec) { return spec.has_output(0) ? Elements(spec.output(0)) : 0; }
// Dimension d of an operand, from the end where negative; 1 where there is none.
double Dim(const OperandSpec& operand, int d) {
  const int rank = operand.shape.rank();
  if (d < 0) d += rank;
  return operand.present && d >= 0 && d < rank ? static_cast<double>(operand.shape[d]) : 1;
}
double Ratio(double a, double b) { return b > 0 ? a / b : 0; }

// Every output element is a sum over one filter: the filters' elements per output channel.
template <int kWeight>
double Convolution(const NodeSpec& spec) {
  const OperandSpec& w = spec.input(kWeight);
  return 2 * Out(spec) * Ratio(Elements(w), Dim(w, 0));
}
double TransposedConvolution(const NodeSpec& spec) {
  return 2 * In(spec) * Ratio(In(spec, 1), Dim(spec.input(1), 0));
}
double MatrixProduct(const NodeSpec& spec) { return 2 * Out(spec) * Dim(spec.input(0), -1); }
double Gemm(const NodeSpec& spec) {
  const bool transposed = spec.attributes().GetInt("transA", 0) != 0;
  return 2 * Out(spec) * Dim(spec.input(0), transposed ? 0 : 1);
}
// The weights of every gate meet every step of every sequence once. X[steps, batch, inputs].
double Recurrence(const NodeSpec& spec) {
  return 2 * Dim(spec.input(0), 0) * Dim(spec.input(0), 1) * (In(spec, 1) + In(spec, 2));
}
double PoolingWindow(const NodeSpec& spec) {
  double window = 1;
  for (int64_t k : spec.attributes().GetInts("kernel_shape")) window *= static_cast<double>(k);
  return Out(spec) * window;
}
// Q·Kᵀ and the weighted sum of V. Heads and widths are in the elements of Q whichever of its
// layouts it has; the second dimension from the end is the sequence.
double Attention(const NodeSpec& spec) {
  return spec.has_input(1) ? 4 * In(spec) * Dim(spec.input(1), -2) : -1;
}
template <int kPerElement>
double PerInput(const NodeSpec& spec) {
  return kPerElement * In(spec);
}
template <int kPerElement>
double PerOutput(const NodeSpec& spec) {
  return kPerElement * Out(spec);
}
// One less than there are terms.
double Variadic(const NodeSpec& spec) {
  return Out(spec) * std::max<double>(1, static_cast<double>(spec.inputs.size()) - 1);
}
double None(const NodeSpec&) { return 0; }

struct Formula {
  double (*flops)(const NodeSpec& spec);
  // Only elements that arrive are read of input 0, not the whole of it.
  bool looks_up = false;
};

const absl::flat_hash_map<std::string, Formula>& Formulas() {
  static const auto* const formulas = [] {
    auto* table = new absl::flat_hash_map<std::string, Formula>;
    const auto add = [&](double (*flops)(const NodeSpec&), std::initializer_list<const char*> names,
                         bool looks_up = false) {
      for (const char* name : names) table->emplace(name, Formula{flops, looks_up});
    };
    add(Convolution<1>, {"Conv", "inferd::FusedConv", "ConvInteger", "com.microsoft::FusedConv",
                         "com.microsoft::NhwcConv", "DeformConv"});
    add(Convolution<3>, {"QLinearConv", "com.microsoft::QLinearConv"});
    add(TransposedConvolution, {"ConvTranspose"});
    add(MatrixProduct, {"MatMul", "inferd::FusedMatMul", "MatMulInteger", "QLinearMatMul",
                        "com.microsoft::MatMulNBits", "com.microsoft::MatMulBnb4",
                        "com.microsoft::MatMulInteger16", "com.microsoft::DynamicQuantizeMatMul",
                        "com.microsoft::MatMulIntegerToFloat"});
    add(Gemm, {"Gemm", "inferd::FusedGemm", "com.microsoft::QGemm", "com.microsoft::FusedGemm"});
    add(Recurrence, {"LSTM", "GRU", "RNN", "com.microsoft::DynamicQuantizeLSTM"});
    add(PoolingWindow, {"MaxPool", "AveragePool", "LpPool", "com.microsoft::QLinearAveragePool"});
    add(PerInput<1>,
        {"GlobalAveragePool", "GlobalMaxPool", "com.microsoft::QLinearGlobalAveragePool",
         "ReduceMean", "ReduceSum", "ReduceMax", "ReduceMin", "ReduceProd", "CumSum", "ArgMax",
         "ArgMin", "com.microsoft::QLinearReduceMean"});
    add(PerInput<2>, {"ReduceSumSquare", "ReduceL1", "ReduceL2", "ReduceLogSum", "GlobalLpPool"});
    add(PerInput<3>, {"ReduceLogSumExp"});
    add(Attention, {"Attention", "com.microsoft::MultiHeadAttention"});
    add(PerOutput<2>, {"BatchNormalization", "inferd::ScaleShift", "QuantizeLinear",
                       "DequantizeLinear", "com.microsoft::QuantizeLinear",
                       "com.microsoft::DequantizeLinear", "inferd::FusedAdd", "LpNormalization"});
    add(PerOutput<4>, {"RMSNormalization", "SimplifiedLayerNormalization",
                       "com.microsoft::SimplifiedLayerNormalization"});
    // Largest, difference, exponential, sum, quotient.
    add(PerOutput<5>, {"Softmax", "LogSoftmax", "com.microsoft::SkipSimplifiedLayerNormalization",
                       "com.microsoft::QLinearSoftmax"});
    // Sum, difference, square and its sum, quotient, scale, shift.
    add(PerOutput<7>, {"LayerNormalization", "InstanceNormalization", "GroupNormalization",
                       "MeanVarianceNormalization"});
    add(PerOutput<8>, {"com.microsoft::SkipLayerNormalization"});
    add(PerOutput<1>, {"Abs",
                       "Acos",
                       "Acosh",
                       "Asin",
                       "Asinh",
                       "Atan",
                       "Atanh",
                       "Ceil",
                       "Cos",
                       "Cosh",
                       "Erf",
                       "Exp",
                       "Floor",
                       "Log",
                       "Neg",
                       "Reciprocal",
                       "Relu",
                       "Round",
                       "Sigmoid",
                       "Sign",
                       "Sin",
                       "Sinh",
                       "Sqrt",
                       "Tan",
                       "Tanh",
                       "Not",
                       "BitwiseNot",
                       "IsNaN",
                       "IsInf",
                       "Add",
                       "Sub",
                       "Mul",
                       "Div",
                       "Pow",
                       "Mod",
                       "BitShift",
                       "BitwiseAnd",
                       "BitwiseOr",
                       "BitwiseXor",
                       "And",
                       "Or",
                       "Xor",
                       "Equal",
                       "Greater",
                       "GreaterOrEqual",
                       "Less",
                       "LessOrEqual",
                       "Cast",
                       "Where",
                       "PRelu",
                       "LeakyRelu",
                       "ThresholdedRelu",
                       "com.microsoft::QLinearAdd",
                       "com.microsoft::QLinearMul",
                       "com.microsoft::QLinearSigmoid",
                       "com.microsoft::QLinearLeakyRelu"});
    add(PerOutput<2>, {"Clip", "Elu", "Selu", "Celu", "HardSigmoid", "Softsign", "Softplus",
                       "Swish", "com.microsoft::QuickGelu", "Shrink"});
    add(PerOutput<4>,
        {"Gelu", "com.microsoft::Gelu", "com.microsoft::BiasGelu", "Mish", "HardSwish"});
    add(Variadic, {"Sum", "Mean", "Max", "Min"});
    add(None, {"Concat",
               "com.microsoft::QLinearConcat",
               "Split",
               "Slice",
               "Transpose",
               "Reshape",
               "Squeeze",
               "Unsqueeze",
               "Flatten",
               "Identity",
               "Pad",
               "Tile",
               "DepthToSpace",
               "SpaceToDepth",
               "Shape",
               "Size",
               "OneHot",
               "Range",
               "Trilu",
               "ConstantOfShape",
               "EyeLike",
               "ReverseSequence",
               "ScatterND",
               "ScatterElements",
               "NonZero",
               "inferd::Reorder",
               "inferd::ChannelShuffle"});
    add(None, {"Gather", "GatherElements", "GatherND", "Expand"}, /*looks_up=*/true);
    return table;
  }();
  return *formulas;
}

// Negative where it is not known.
double Bytes(const OperandSpec& operand) {
  if (!operand.present) return 0;
  if (operand.type == ElementType::kUndefined || operand.type == ElementType::kString ||
      operand.type == ElementType::kComposite) {
    return -1;
  }
  return static_cast<double>(ElementBytes(operand.type, operand.shape.NumElements()));
}

double TotalBytes(const NodeSpec& spec, bool looks_up) {
  double total = 0;
  for (size_t i = 0; i < spec.inputs.size(); ++i) {
    double bytes = Bytes(spec.inputs[i]);
    if (bytes < 0) return -1;
    if (i == 0 && looks_up && spec.has_output(0)) {
      bytes = std::min(bytes, Bytes(spec.outputs[0]));
    }
    total += bytes;
  }
  for (const OperandSpec& output : spec.outputs) {
    const double bytes = Bytes(output);
    if (bytes < 0) return -1;
    total += bytes;
  }
  return total;
}

}  // namespace

NodeWork WorkOf(const NodeSpec& spec) {
  // What bodies do is counted at their nodes.
  if (spec.op().dynamic_outputs || !spec.node->bodies().empty()) return {};
  const auto it = Formulas().find(spec.op().qualified_name());
  NodeWork work;
  work.bytes = TotalBytes(spec, it != Formulas().end() && it->second.looks_up);
  if (it != Formulas().end() && !spec.inputs.empty() && !spec.outputs.empty()) {
    work.flops = it->second.flops(spec);
  }
  return work;
}

}  // namespace inferd::engine
