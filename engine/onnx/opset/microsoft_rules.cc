// com.microsoft operators that the standard has under another name, with another signature or as
// a few operators.
#include "absl/strings/str_cat.h"
#include "engine/onnx/opset/node_adapter.h"
#include "engine/onnx/opset/rules.h"
#include "engine/status_macros.h"

namespace inferd::engine {
namespace {

Value* Cast(NodeAdapter& node, Value* x, ElementType type) {
  if (NodeAdapter::ElementOf(x) == type) return x;
  Attributes to;
  to.Set("to", static_cast<int64_t>(type));
  return node.Emit("Cast", {x}, std::move(to));
}

// An integer operand as int64 in one dimension; a constant stays one, for shapes to follow from.
absl::StatusOr<Value*> FlatInts(NodeAdapter& node, Value* x) {
  if (const Tensor* constant = NodeAdapter::ConstantOf(x)) {
    ASSIGN_OR_RETURN(const std::vector<int64_t> values, ToInt64Vector(constant->view()));
    return node.Ints("flat", values);
  }
  return node.Emit("Reshape", {Cast(node, x, ElementType::kInt64), node.Ints("shape", {-1})});
}

// The same operator in the standard.
absl::Status SameInStandard(NodeAdapter& node) {
  node.domain.clear();
  return absl::OkStatus();
}

absl::Status GridSample(NodeAdapter& node) {
  const std::string mode = node.attributes.GetString("mode", "bilinear");
  if (mode == "bilinear") node.attributes.Set("mode", std::string("linear"));
  if (mode == "bicubic") node.attributes.Set("mode", std::string("cubic"));
  return SameInStandard(node);
}

absl::Status ExpandDims(NodeAdapter& node) {
  RETURN_IF_ERROR(node.RequireInput(0, "X"));
  RETURN_IF_ERROR(node.RequireInput(1, "axis"));
  ASSIGN_OR_RETURN(Value * axis, FlatInts(node, node.input(1)));
  node.Become("Unsqueeze", {node.input(0), axis});
  return absl::OkStatus();
}

absl::Status Range(NodeAdapter& node) {
  RETURN_IF_ERROR(node.RequireInput(0, "start"));
  RETURN_IF_ERROR(node.RequireInput(1, "limit"));
  if (node.input(2) == nullptr) node.SetInput(2, node.ScalarLike("delta", 1.0f, node.input(0)));
  return SameInStandard(node);
}

// pads may be a row of a matrix.
absl::Status Pad(NodeAdapter& node) {
  RETURN_IF_ERROR(node.RequireInput(0, "data"));
  RETURN_IF_ERROR(node.RequireInput(1, "pads"));
  ASSIGN_OR_RETURN(Value * pads, FlatInts(node, node.input(1)));
  node.SetInput(1, pads);
  return SameInStandard(node);
}

// In order of occurrence; the indices are those the standard calls inverse.
absl::Status Unique(NodeAdapter& node) {
  RETURN_IF_ERROR(node.RequireInput(0, "x"));
  Attributes attributes;
  attributes.Set("sorted", int64_t{0});
  node.Become("Unique", {node.input(0)}, std::move(attributes));
  node.output_order = {0, -1, 1, 2};
  return absl::OkStatus();
}

absl::Status GatherND(NodeAdapter& node) {
  RETURN_IF_ERROR(node.RequireInput(0, "data"));
  RETURN_IF_ERROR(node.RequireInput(1, "indices"));
  node.SetInput(1, Cast(node, node.input(1), ElementType::kInt64));
  return SameInStandard(node);
}

absl::Status TorchEmbedding(NodeAdapter& node) {
  RETURN_IF_ERROR(node.RequireInput(0, "weight"));
  RETURN_IF_ERROR(node.RequireInput(1, "indices"));
  // The others matter to training alone.
  node.Become("Gather", {node.input(0), node.input(1)});
  return absl::OkStatus();
}

absl::Status ConvTransposeWithDynamicPads(NodeAdapter& node) {
  if (Value* pads = node.input(2)) {
    const Tensor* values = NodeAdapter::ConstantOf(pads);
    if (values == nullptr) {
      return absl::UnimplementedError("input Pads is supported as a constant only");
    }
    ASSIGN_OR_RETURN(std::vector<int64_t> ints, ToInt64Vector(values->view()));
    node.attributes.Set("pads", std::move(ints));
  }
  node.Become("ConvTranspose", {node.input(0), node.input(1), node.input(3)}, node.attributes);
  return absl::OkStatus();
}

absl::Status BiasAdd(NodeAdapter& node) {
  RETURN_IF_ERROR(node.RequireInput(0, "X"));
  RETURN_IF_ERROR(node.RequireInput(1, "bias"));
  RETURN_IF_ERROR(node.RequireInput(2, "skip"));
  node.Become("Add", {node.Emit("Add", {node.input(0), node.input(1)}), node.input(2)});
  return absl::OkStatus();
}

// The left half of X + bias times the Gelu of the right half.
absl::Status BiasSplitGelu(NodeAdapter& node) {
  RETURN_IF_ERROR(node.RequireInput(0, "X"));
  RETURN_IF_ERROR(node.RequireInput(1, "bias"));
  Value* x = node.Emit("Add", {node.input(0), node.input(1)});
  Value* width = node.Emit("Shape", {node.input(1)});
  Value* half = node.Emit("Div", {width, node.Ints("two", {2})});
  Value* axis = node.Ints("axis", {-1});
  Value* left = node.Emit("Slice", {x, node.Ints("start", {0}), half, axis});
  Value* right = node.Emit("Slice", {x, half, width, axis});
  node.Become("Mul", {left, node.Emit("Gelu", {right})});
  return absl::OkStatus();
}

// UNIMPLEMENTED unless dropout is off for certain.
absl::Status ExpectInference(Value* training_mode) {
  if (training_mode == nullptr) return absl::OkStatus();
  const Tensor* value = NodeAdapter::ConstantOf(training_mode);
  if (value != nullptr && value->type() == ElementType::kBool && value->num_elements() == 1 &&
      !value->data<bool>()[0]) {
    return absl::OkStatus();
  }
  return absl::UnimplementedError("training_mode must be absent or a constant false");
}

absl::Status BitmaskUnused(const NodeAdapter& node) {
  if (node.output_used.size() < 2 || !node.output_used[1]) return absl::OkStatus();
  return absl::UnimplementedError("output 1 (mask), packed bits, is for training");
}

// data + bias, and the residual on top.
absl::Status BiasDropout(NodeAdapter& node) {
  RETURN_IF_ERROR(node.RequireInput(0, "data"));
  RETURN_IF_ERROR(node.RequireInput(1, "bias"));
  RETURN_IF_ERROR(ExpectInference(node.input(4)));
  std::vector<Value*> sum = {node.input(0), node.input(1)};
  if (node.input(2) != nullptr) sum = {node.Emit("Add", std::move(sum)), node.input(2)};
  if (node.output_used.size() > 1 && node.output_used[1]) {
    Attributes ones;
    bool yes = true;
    ones.Set("value", Tensor::FromValues<bool>({1}, absl::Span<const bool>(&yes, 1)));
    Value* shape = node.Emit("Shape", {node.input(0)});
    node.aliases.push_back({1, node.Emit("ConstantOfShape", {shape}, std::move(ones))});
  }
  node.Become("Add", std::move(sum));
  return absl::OkStatus();
}

absl::Status BitmaskBiasDropout(NodeAdapter& node) {
  RETURN_IF_ERROR(BitmaskUnused(node));
  return BiasDropout(node);
}

absl::Status BitmaskDropout(NodeAdapter& node) {
  RETURN_IF_ERROR(node.RequireInput(0, "data"));
  RETURN_IF_ERROR(ExpectInference(node.input(2)));
  RETURN_IF_ERROR(BitmaskUnused(node));
  node.Become("Identity", {node.input(0)});
  return absl::OkStatus();
}

// No element of any input is NaN or infinite.
absl::Status IsAllFinite(NodeAdapter& node) {
  const bool nan = node.attributes.GetInt("isinf_only", 0) == 0;
  const bool infinite = node.attributes.GetInt("isnan_only", 0) == 0;
  if (!nan && !infinite) {
    return absl::InvalidArgumentError("isinf_only and isnan_only exclude each other");
  }
  if (node.inputs.empty()) return absl::InvalidArgumentError("it has no input");
  Value* total = nullptr;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    RETURN_IF_ERROR(node.RequireInput(i, "input"));
    for (const char* test : {"IsNaN", "IsInf"}) {
      if (absl::string_view(test) == "IsNaN" ? !nan : !infinite) continue;
      Value* found = Cast(node, node.Emit(test, {node.input(i)}), ElementType::kInt64);
      Attributes reduce;
      reduce.Set("keepdims", int64_t{0});
      Value* count = node.Emit("ReduceSum", {found}, std::move(reduce));
      total = total == nullptr ? count : node.Emit("Add", {total, count});
    }
  }
  node.Become("Equal", {total, node.Constant("none", Tensor::Scalar<int64_t>(0))});
  return absl::OkStatus();
}

absl::Status OnlyOneSided(const NodeAdapter& node) {
  if (node.attributes.GetInt("onesided", 1) != 1 || node.attributes.GetInt("normalized", 0) != 0 ||
      node.attributes.GetInt("signal_ndim", 1) != 1) {
    return absl::UnimplementedError(
        "only onesided 1, normalized 0 and signal_ndim 1 are defined for it");
  }
  return absl::OkStatus();
}

// Along the last dimension; the result has real and imaginary parts behind it.
absl::Status Rfft(NodeAdapter& node) {
  RETURN_IF_ERROR(node.RequireInput(0, "X"));
  RETURN_IF_ERROR(OnlyOneSided(node));
  Value* x = node.Emit("Unsqueeze", {node.input(0), node.Ints("last", {-1})});
  Attributes attributes;
  attributes.Set("onesided", int64_t{1});
  node.Become("DFT", {x, nullptr, node.Constant("axis", Tensor::Scalar<int64_t>(-2))},
              std::move(attributes));
  return absl::OkStatus();
}

// The missing half of the spectrum is the conjugate of the given one, its ends excepted.
absl::Status Irfft(NodeAdapter& node) {
  RETURN_IF_ERROR(node.RequireInput(0, "X"));
  RETURN_IF_ERROR(OnlyOneSided(node));
  Value* x = node.input(0);
  Value* axis = node.Ints("axis", {-2});
  Value* mirrored = node.Emit(
      "Slice", {x, node.Ints("from", {-2}), node.Ints("to", {0}), axis, node.Ints("step", {-1})});
  const float signs[] = {1, -1};
  Value* conjugation = node.Constant("conjugation", Tensor::FromValues<float>({2}, signs));
  if (NodeAdapter::ElementOf(x) != ElementType::kFloat32) {
    conjugation = node.Emit("CastLike", {conjugation, x});
  }
  Attributes concat;
  concat.Set("axis", int64_t{-2});
  Value* whole =
      node.Emit("Concat", {x, node.Emit("Mul", {mirrored, conjugation})}, std::move(concat));
  Attributes inverse;
  inverse.Set("inverse", int64_t{1});
  Value* dft_axis = node.Constant("dft_axis", Tensor::Scalar<int64_t>(-2));
  Value* signal = node.Emit("DFT", {whole, nullptr, dft_axis}, std::move(inverse));
  Attributes gather;
  gather.Set("axis", int64_t{-1});
  node.Become("Gather", {signal, node.Constant("real", Tensor::Scalar<int64_t>(0))},
              std::move(gather));
  return absl::OkStatus();
}

// Sums and products of small integers are in int32.
absl::Status ReduceSumInteger(NodeAdapter& node) {
  RETURN_IF_ERROR(node.RequireInput(0, "data"));
  const bool is_signed = NodeAdapter::ElementOf(node.input(0)) == ElementType::kInt8;
  Attributes attributes;
  attributes.Set("keepdims", node.attributes.GetInt("keepdims", 1));
  Value* axes = node.Ints("axes", node.attributes.GetInts("axes"));
  Value* wide = Cast(node, node.input(0), is_signed ? ElementType::kInt32 : ElementType::kUint32);
  node.Become("ReduceSum", {wide, axes}, std::move(attributes));
  return absl::OkStatus();
}

absl::Status MulInteger(NodeAdapter& node) {
  std::vector<Value*> factors;
  for (size_t i = 0; i < 4; i += 2) {
    RETURN_IF_ERROR(node.RequireInput(i, i == 0 ? "A" : "B"));
    Value* x = Cast(node, node.input(i), ElementType::kInt32);
    if (Value* zero = node.input(i + 1)) {
      x = node.Emit("Sub", {x, Cast(node, zero, ElementType::kInt32)});
    }
    factors.push_back(x);
  }
  node.Become("Mul", std::move(factors));
  return absl::OkStatus();
}

// Z * sigmoid(Z) of the scaled input, rounded after each step as the operator is defined.
absl::Status ScaledSiLU(NodeAdapter& node) {
  RETURN_IF_ERROR(node.RequireInput(0, "X"));
  Value* x = node.input(0);
  Value* scale = node.input(1);
  if (scale != nullptr) {
    scale = node.Emit("CastLike", {scale, x});
  } else {
    scale = node.ScalarLike("alpha", node.attributes.GetFloat("alpha", 1.0f), x);
  }
  Value* z = node.Emit("Mul", {x, scale});
  node.Become("Mul", {z, node.Emit("Sigmoid", {z})});
  return absl::OkStatus();
}

absl::Status GatedAdd(NodeAdapter& node) {
  RETURN_IF_ERROR(node.RequireInput(0, "X"));
  RETURN_IF_ERROR(node.RequireInput(1, "Y"));
  RETURN_IF_ERROR(node.RequireInput(2, "gate"));
  if (node.input(3) != nullptr) {
    return absl::UnimplementedError("input gate_weight: the projected form is for GPUs alone");
  }
  node.Become("Add", {node.input(0), node.Emit("Mul", {node.input(1), node.input(2)})});
  return absl::OkStatus();
}

absl::Status CompiledElsewhere(NodeAdapter&) {
  return absl::UnimplementedError(
      "it holds a program compiled for one accelerator; use the model it was made from");
}

constexpr OpsetRule kRules[] = {
    {"com.microsoft", "BiasAdd", 1, BiasAdd},
    {"com.microsoft", "BiasDropout", 1, BiasDropout},
    {"com.microsoft", "BiasSplitGelu", 1, BiasSplitGelu},
    {"com.microsoft", "BitmaskBiasDropout", 1, BitmaskBiasDropout},
    {"com.microsoft", "BitmaskDropout", 1, BitmaskDropout},
    {"com.microsoft", "ConvTransposeWithDynamicPads", 1, ConvTransposeWithDynamicPads},
    {"com.microsoft", "EPContext", 1, CompiledElsewhere},
    {"com.microsoft", "ExpandDims", 1, ExpandDims},
    {"com.microsoft", "GatedAdd", 1, GatedAdd},
    {"com.microsoft", "GatherND", 1, GatherND},
    {"com.microsoft", "GridSample", 1, GridSample},
    {"com.microsoft", "Irfft", 1, Irfft},
    {"com.microsoft", "IsAllFinite", 1, IsAllFinite},
    {"com.microsoft", "MulInteger", 1, MulInteger},
    {"com.microsoft", "Pad", 1, Pad},
    {"com.microsoft", "Range", 1, Range},
    {"com.microsoft", "ReduceSumInteger", 1, ReduceSumInteger},
    {"com.microsoft", "Rfft", 1, Rfft},
    {"com.microsoft", "ScaledSiLU", 1, ScaledSiLU},
    {"com.microsoft", "Snpe", 1, CompiledElsewhere},
    {"com.microsoft", "TorchEmbedding", 1, TorchEmbedding},
    {"com.microsoft", "Trilu", 1, SameInStandard},
    {"com.microsoft", "Unique", 1, Unique},
};

}  // namespace

absl::Span<const OpsetRule> MicrosoftRules() { return kRules; }

}  // namespace inferd::engine
