// Small models that reach every part of the importer.
#include "absl/strings/str_cat.h"
#include "tests/engine/onnx/model_text.h"
#include "tests/fuzz/mutating_driver.h"

namespace inferd::fuzz {

using namespace inferd::engine;  // NOLINT: the model-text vocabulary

namespace {

std::string Perceptron() {
  return ModelText(13, FloatInput("x", "N,2") + FloatsText("w", "2,3", {1, 2, 3, 4, 5, 6}) +
                           FloatsText("b", "3", {1, 2, 3}) +
                           NodeText("Gemm", "x,w,b", "h", IntAttribute("transB", 0)) +
                           NodeText("Relu", "h", "r") + NodeText("Softmax", "r", "y") +
                           OutputText("y"));
}

std::string Convolution() {
  return ModelText(
      7, FloatInput("x", "1,1,6,6") + FloatsText("w", "2,1,3,3", std::vector<float>(18, 0.5f)) +
             FloatsText("s", "2", {1, 1}) + FloatsText("m", "2", {0, 0}) +
             NodeText("Conv", "x,w", "c",
                      IntsAttribute("pads", {1, 1, 1, 1}) + IntsAttribute("strides", {2, 2})) +
             NodeText("BatchNormalization", "c,s,m,m,s", "n") +
             NodeText("MaxPool", "n", "p", IntsAttribute("kernel_shape", {2, 2})) +
             NodeText("Flatten", "p", "f") + NodeText("Dropout", "f", "y") + OutputText("y"));
}

std::string OldOpsets() {
  return ModelText(
      6,
      FloatInput("x", "2,3,4") + FloatsText("b", "3", {1, 2, 3}) +
          NodeText("Add", "x,b", "a", IntAttribute("broadcast", 1) + IntAttribute("axis", 1)) +
          NodeText("Clip", "a", "c", FloatAttribute("max", 6)) +
          NodeText("Softmax", "c", "s", IntAttribute("axis", 1)) +
          NodeText("Slice", "s", "t", IntsAttribute("starts", {0}) + IntsAttribute("ends", {1})) +
          NodeText("Squeeze", "t", "q", IntsAttribute("axes", {0})) +
          NodeText("ReduceMean", "q", "r", IntsAttribute("axes", {-1})) +
          NodeText("Pad", "r", "p", IntsAttribute("pads", {0, 0, 1, 1})) +
          NodeText("Split", "p", "y,z", IntsAttribute("split", {2, 2})) + OutputText("y") +
          OutputText("z"));
}

std::string Functions() {
  return ModelText(
      13,
      FloatInput("x", "2") +
          NodeText("F", "x", "y", "domain: \"my\" name: \"call\"" + FloatAttribute("slope", 0.5f)) +
          OutputText("y"),
      "opset_import { domain: \"my\" version: 1 } functions { name: \"F\" domain: \"my\" "
      "opset_import { version: 13 } input: \"a\" output: \"b\" attribute: \"slope\" " +
          NodeText("LeakyRelu", "a", "t",
                   " attribute { name: \"alpha\" type: FLOAT ref_attr_name: \"slope\" }") +
          NodeText("Constant", "", "c", FloatAttribute("value_float", 1)) +
          NodeText("Add", "t,c", "b") + "}");
}

std::string Bodies() {
  const std::string then_branch =
      " attribute { name: \"then_branch\" type: GRAPH g { name: \"t\" " +
      NodeText("Relu", "x", "r") + OutputText("r") + " } }";
  const std::string else_branch =
      " attribute { name: \"else_branch\" type: GRAPH g { name: \"e\" " +
      NodeText("Neg", "x", "r") + OutputText("r") + " } }";
  return ModelText(16, InputText("c", 9, "") + FloatInput("x", "2") +
                           NodeText("If", "c", "y", then_branch + else_branch) + OutputText("y"));
}

std::string Tensors() {
  return ModelText(
      21,
      "initializer { name: \"h\" data_type: 10 dims: 2 int32_data: [1, 2] } "
      "initializer { name: \"n\" data_type: 22 dims: 3 raw_data: \"\\x21\\x03\" } "
      "initializer { name: \"s\" data_type: 8 dims: 2 string_data: \"a\" string_data: \"b\" } "
      "initializer { name: \"e\" data_type: 1 dims: 1 data_location: EXTERNAL external_data { key: "
      "\"location\" value: \"w.bin\" } } "
      "sparse_initializer { dims: [2, 3] values { name: \"w\" data_type: 1 dims: 2 float_data: [5, "
      "6] } indices { data_type: 7 dims: 2 int64_data: [1, 5] } } " +
          IntsText("shape", {3, 2}) + NodeText("Reshape", "w,shape", "y") + OutputText("y") +
          OutputText("h") + OutputText("n") + OutputText("s"));
}

std::string Shapes() {
  return ModelText(
      13, FloatInput("x", "N,3,8,8") + NodeText("Shape", "x", "s") + IntsText("zero", {0}) +
              NodeText("Gather", "s,zero", "n") + IntsText("rest", {-1}) +
              NodeText("Concat", "n,rest", "target", IntAttribute("axis", 0)) +
              NodeText("Reshape", "x,target", "f") + FloatsText("scales", "4", {1, 1, 2, 2}) +
              NodeText("Resize", "x,_,scales", "r") + IntsText("axes", {2, 3}) +
              NodeText("ReduceSum", "r,axes", "m", IntAttribute("keepdims", 0)) +
              NodeText("Transpose", "m", "t", IntsAttribute("perm", {1, 0})) +
              NodeText("Expand", "f,s", "e") + NodeText("Cast", "t", "y", IntAttribute("to", 7)) +
              OutputText("y") + OutputText("f"));
}

}  // namespace

std::vector<std::string> SeedInputs() {
  std::vector<std::string> seeds;
  for (const std::string& text :
       {Perceptron(), Convolution(), OldOpsets(), Functions(), Bodies(), Tensors(), Shapes()}) {
    seeds.push_back(ModelBytes(text));
  }
  return seeds;
}

}  // namespace inferd::fuzz
