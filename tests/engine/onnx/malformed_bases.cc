#include "tests/engine/onnx/malformed_bases.h"

#include "absl/strings/str_cat.h"
#include "tests/engine/onnx/model_text.h"

namespace inferd::engine {
namespace {

std::string Body(absl::string_view name, const std::string& graph) {
  return absl::StrCat(" attribute { name: \"", name, "\" type: GRAPH g { name: \"", name, "\" ",
                      graph, " } } ");
}

std::string Image() {
  return ModelText(
      13, FloatInput("x", "1,2,8,8") + FloatsText("w", "3,2,3,3", std::vector<float>(54, 0.25f)) +
              FloatsText("s", "3", {1, 2, 3}) + FloatsText("v", "3", {1, 1, 1}) +
              FloatsText("m", "3,4", std::vector<float>(12, 0.5f)) +
              NodeText("Conv", "x,w,s", "c",
                       IntsAttribute("pads", {1, 1, 1, 1}) + IntsAttribute("strides", {2, 2}) +
                           IntAttribute("group", 1)) +
              NodeText("BatchNormalization", "c,s,s,s,v", "n", FloatAttribute("epsilon", 0.1f)) +
              NodeText("MaxPool", "n", "p", IntsAttribute("kernel_shape", {2, 2})) +
              NodeText("GlobalAveragePool", "p", "g") +
              NodeText("Flatten", "g", "f", IntAttribute("axis", 1)) +
              NodeText("Gemm", "f,m", "h", FloatAttribute("alpha", 0.5f)) +
              NodeText("Softmax", "h", "y", IntAttribute("axis", -1)) + OutputText("y"));
}

std::string Shapes() {
  return ModelText(
      13, FloatInput("x", "N,3,4") + NodeText("Shape", "x", "s") + IntsText("zero", {0}) +
              NodeText("Gather", "s,zero", "n", IntAttribute("axis", 0)) + IntsText("rest", {-1}) +
              NodeText("Concat", "n,rest", "target", IntAttribute("axis", 0)) +
              NodeText("Reshape", "x,target", "f") + IntsText("one", {1}) + IntsText("big", {6}) +
              NodeText("Slice", "f,one,big,one,one", "l") +
              NodeText("Transpose", "l", "t", IntsAttribute("perm", {1, 0})) +
              NodeText("Split", "t", "a,b", IntAttribute("axis", 0)) +
              NodeText("ReduceMax", "a", "r", IntsAttribute("axes", {0})) +
              NodeText("Where", "q,r,r", "u") +
              "initializer { name: \"q\" data_type: 9 dims: 1 "
              "int32_data: 1 } " +
              NodeText("Cast", "u", "y", IntAttribute("to", 7)) + OutputText("y") +
              OutputText("b"));
}

std::string OldOpset() {
  return ModelText(
      6,
      FloatInput("x", "2,3,4") + FloatsText("b", "3", {1, 2, 3}) +
          NodeText("Add", "x,b", "a", IntAttribute("broadcast", 1) + IntAttribute("axis", 1)) +
          NodeText("Clip", "a", "c", FloatAttribute("max", 6)) +
          NodeText("Slice", "c", "t", IntsAttribute("starts", {0}) + IntsAttribute("ends", {1})) +
          NodeText("Squeeze", "t", "q", IntsAttribute("axes", {0})) +
          NodeText("Pad", "q", "y", IntsAttribute("pads", {0, 0, 1, 1})) + OutputText("y"));
}

std::string Dynamic() {
  return ModelText(
      13, FloatInput("x", "4,5") + NodeText("NonZero", "x", "z") +
              NodeText("Transpose", "z", "i", IntsAttribute("perm", {1, 0})) +
              NodeText("GatherND", "x,i", "v", IntAttribute("batch_dims", 0)) + IntsText("k", {0}) +
              NodeText("TopK", "v,k", "t,j", IntAttribute("axis", 0)) +
              NodeText("ReduceSum", "t", "y", IntAttribute("keepdims", 1)) + OutputText("y"));
}

std::string Trees() {
  return ModelText(
      13,
      FloatInput("x", "N,2") +
          NodeText("Scaler", "x", "s",
                   "domain: \"ai.onnx.ml\" attribute { name: \"offset\" type: FLOATS floats: [1, "
                   "2] } attribute { name: \"scale\" type: FLOATS floats: [3, 4] }") +
          NodeText("TreeEnsembleRegressor", "s", "y",
                   "domain: \"ai.onnx.ml\"" + IntsAttribute("nodes_treeids", {0, 0, 0}) +
                       IntsAttribute("nodes_nodeids", {0, 1, 2}) +
                       IntsAttribute("nodes_featureids", {0, 0, 0}) +
                       " attribute { name: \"nodes_modes\" type: STRINGS strings: \"BRANCH_LEQ\" "
                       "strings: \"LEAF\" strings: \"LEAF\" } attribute { name: \"nodes_values\" "
                       "type: FLOATS floats: [0.5, 0, 0] }" +
                       IntsAttribute("nodes_truenodeids", {1, 0, 0}) +
                       IntsAttribute("nodes_falsenodeids", {2, 0, 0}) +
                       IntsAttribute("target_treeids", {0, 0}) +
                       IntsAttribute("target_nodeids", {1, 2}) +
                       IntsAttribute("target_ids", {0, 0}) +
                       " attribute { name: \"target_weights\" type: FLOATS floats: [1, 2] }" +
                       IntAttribute("n_targets", 1)) +
          OutputText("y"),
      "opset_import { domain: \"ai.onnx.ml\" version: 3 }");
}

std::string Functions() {
  return ModelText(
      13,
      FloatInput("x", "2") + FloatsText("w", "2", {1, 2}) +
          NodeText("F", "x", "y", "domain: \"my\"" + FloatAttribute("slope", 0.5f)) +
          OutputText("y"),
      "opset_import { domain: \"my\" version: 1 } functions { name: \"F\" domain: \"my\" "
      "opset_import { version: 13 } input: \"a\" output: \"b\" attribute: \"slope\" " +
          NodeText("LeakyRelu", "a", "t",
                   " attribute { name: \"alpha\" type: FLOAT ref_attr_name: \"slope\" }") +
          NodeText("Abs", "t", "b") + "}");
}

std::string Branches() {
  return ModelText(
      16, InputText("c", 9, "") + FloatInput("x", "2") +
              NodeText("If", "c", "z",
                       Body("then_branch", NodeText("Relu", "x", "r") + OutputText("r")) +
                           Body("else_branch", NodeText("Neg", "x", "r") + OutputText("r"))) +
              NodeText("Abs", "z", "y") + OutputText("y"));
}

std::string Loop() {
  const std::string body = InputText("i", 7, "") + InputText("go", 9, "") + FloatInput("v", "2") +
                           NodeText("Identity", "go", "on") + NodeText("Add", "v,v", "w") +
                           OutputText("on") + OutputText("w") + OutputText("v");
  return ModelText(16, FloatInput("x", "2") +
                           "initializer { name: \"m\" data_type: 7 int64_data: 3 } " +
                           NodeText("Loop", "m,_,x", "z,all", Body("body", body)) +
                           NodeText("Abs", "z", "y") + OutputText("y") + OutputText("all"));
}

std::string Scan() {
  const std::string body = FloatInput("s", "2") + FloatInput("e", "2") +
                           NodeText("Add", "s,e", "t") + NodeText("Identity", "t", "o") +
                           OutputText("t") + OutputText("o");
  return ModelText(16, FloatInput("x", "2") + FloatInput("xs", "3,2") +
                           NodeText("Scan", "x,xs", "y,ys",
                                    Body("body", body) + IntAttribute("num_scan_inputs", 1)) +
                           OutputText("y") + OutputText("ys"));
}

}  // namespace

std::vector<MalformedBase> MalformedBases() {
  return {{"Image", Image()},       {"Shapes", Shapes()}, {"OldOpset", OldOpset()},
          {"Dynamic", Dynamic()},   {"Trees", Trees()},   {"Functions", Functions()},
          {"Branches", Branches()}, {"Loop", Loop()},     {"Scan", Scan()}};
}

}  // namespace inferd::engine
