#include "tests/engine/onnx/malformed_requests.h"

#include <random>

#include "absl/strings/str_cat.h"
#include "onnx/onnx_pb.h"
#include "tests/engine/onnx/malformed_cases.h"
#include "tests/engine/onnx/model_text.h"

namespace inferd::engine {
namespace {

void AddHugeResults(Cases& cases) {
  const std::string x = FloatInput("x", "2,3");
  // Sizes from constants, and the same sizes from an input that says them at run time.
  const std::string constant = IntsText("n", {kHuge, kHuge});
  const std::string medium = IntsText("n", {1 << 20, 1 << 20});
  const std::string late = InputText("huge", 7, "2");
  cases.push_back(One("ConstantOfShapeHuge", "ConstantOfShape", "n", constant));
  cases.push_back(One("ConstantOfShapeMedium", "ConstantOfShape", "n", medium));
  cases.push_back(One("ConstantOfShapeLate", "ConstantOfShape", "huge", late));
  cases.push_back(One("ExpandHuge", "Expand", "w,n", FloatsText("w", "1", {1}) + constant));
  cases.push_back(One("ExpandMedium", "Expand", "w,n", FloatsText("w", "1", {1}) + medium));
  cases.push_back(One("ExpandLate", "Expand", "w,huge", FloatsText("w", "1", {1}) + late));
  cases.push_back(One("ReshapeHuge", "Reshape", "x,n", x + constant));
  cases.push_back(One("ReshapeLate", "Reshape", "x,huge", x + late));
  cases.push_back(One("TileHuge", "Tile", "x,n", x + constant));
  cases.push_back(One("TileLate", "Tile", "x,huge", x + late));
  cases.push_back(One("PadHuge", "Pad", "x,p", x + IntsText("p", {kHuge, 0, kLargest, 0})));
  cases.push_back(
      One("PadLargest", "Pad", "x,p", x + IntsText("p", {kLargest, kLargest, kLargest, kLargest})));
  cases.push_back(One("PadSmallest", "Pad", "x,p", x + IntsText("p", {kSmallest, 0, 0, 0})));
  const std::string scalar = "initializer { name: \"d\" data_type: 7 int64_data: ";
  cases.push_back(One("OneHotHuge", "OneHot", "x,d,v",
                      x + scalar + absl::StrCat(kHuge, " } ") + FloatsText("v", "2", {0, 1})));
  cases.push_back(One("OneHotNegative", "OneHot", "x,d,v",
                      x + scalar + "-3 } " + FloatsText("v", "2", {0, 1})));
  cases.push_back(One("RangeHuge", "Range", "a,d,b",
                      "initializer { name: \"a\" data_type: 7 int64_data: 0 } "
                      "initializer { name: \"b\" data_type: 7 int64_data: 1 } " +
                          scalar + absl::StrCat(kLargest, " } ")));
  cases.push_back(One("RangeWithoutStep", "Range", "a,d,a",
                      "initializer { name: \"a\" data_type: 7 int64_data: 0 } " + scalar + "9 } "));
  cases.push_back(One("ResizeHuge", "Resize", "x,_,s", x + FloatsText("s", "2", {1e9f, 1e9f})));
  cases.push_back(One("ResizeToHuge", "Resize", "x,_,_,n", x + constant));
  cases.push_back(
      One("ResizeNotANumber", "Resize", "x,_,s",
          x + "initializer { name: \"s\" data_type: 1 dims: 2 float_data: [nan, nan] } "));
  cases.push_back(One("ResizeNegative", "Resize", "x,_,s", x + FloatsText("s", "2", {-1, -1})));
  cases.push_back(One("ConvPadsHuge", "Conv", "i,k",
                      FloatInput("i", "1,1,4,4") + FloatsText("k", "1,1,1,1", {1}),
                      IntsAttribute("pads", {kHuge, kHuge, kHuge, kHuge})));
  cases.push_back(One("ConvTransposeHuge", "ConvTranspose", "i,k",
                      FloatInput("i", "1,1,4,4") + FloatsText("k", "1,1,1,1", {1}),
                      IntsAttribute("strides", {kHuge, kHuge})));
  cases.push_back(One("InitializerlessConcat", "Concat", "_,_", "", IntAttribute("axis", 0)));
}

void AddWrongRequests(Cases& cases) {
  const std::string x = FloatInput("x", "2,3");
  const std::string image = FloatInput("x", "1,2,5,5");
  const std::string kernel = FloatsText("k", "2,2,1,1", {1, 2, 3, 4});
  auto conv = [&](std::string name, const std::string& attributes) {
    cases.push_back(One(std::move(name), "Conv", "x,k", image + kernel, attributes));
  };
  conv("ConvGroupZero", IntAttribute("group", 0));
  conv("ConvGroupNegative", IntAttribute("group", -2));
  conv("ConvGroupTooMany", IntAttribute("group", 7));
  conv("ConvStrideZero", IntsAttribute("strides", {0, 0}));
  conv("ConvStrideNegative", IntsAttribute("strides", {-1, -1}));
  conv("ConvDilationZero", IntsAttribute("dilations", {0, 0}));
  conv("ConvKernelLies", IntsAttribute("kernel_shape", {9, 9}));
  conv("ConvPadsShort", IntsAttribute("pads", {1}));
  conv("ConvAutoPadUnknown", StringAttribute("auto_pad", "SAME_MIDDLE"));
  cases.push_back(One("ConvChannelsDiffer", "Conv", "x,k",
                      image + FloatsText("k", "2,3,1,1", {1, 2, 3, 4, 5, 6})));
  cases.push_back(One("ConvDilationLargest", "Conv", "x,k",
                      image + FloatsText("k", "1,2,2,2", std::vector<float>(8, 1)),
                      IntsAttribute("dilations", {kLargest, kLargest})));
  cases.push_back(
      One("ConvBiasLong", "Conv", "x,k,b", image + kernel + FloatsText("b", "5", {1, 2, 3, 4, 5})));
  cases.push_back(
      One("PoolKernelZero", "MaxPool", "x", image, IntsAttribute("kernel_shape", {0, 0})));
  cases.push_back(
      One("PoolKernelNegative", "AveragePool", "x", image, IntsAttribute("kernel_shape", {-3, 2})));
  cases.push_back(
      One("PoolKernelTooLarge", "MaxPool", "x", image, IntsAttribute("kernel_shape", {50, 50})));
  cases.push_back(One("PoolWithoutKernel", "MaxPool", "x", image));
  cases.push_back(One("MatMulDiffers", "MatMul", "x,x", x));
  cases.push_back(One("GemmOfAVector", "Gemm", "v,v", FloatInput("v", "3")));
  cases.push_back(One("AddDiffers", "Add", "x,v", x + FloatInput("v", "7")));
  cases.push_back(
      One("ConcatDiffers", "Concat", "x,z", x + FloatInput("z", "2,4"), IntAttribute("axis", 0)));
  cases.push_back(One("ConcatWithoutAxis", "Concat", "x,x", x));
  cases.push_back(One("ConcatAxisOutside", "Concat", "x,x", x, IntAttribute("axis", 9)));
  cases.push_back(One("SoftmaxAxisOutside", "Softmax", "x", x, IntAttribute("axis", kLargest)));
  cases.push_back(One("TransposeTwice", "Transpose", "x", x, IntsAttribute("perm", {1, 1})));
  cases.push_back(One("TransposeOutside", "Transpose", "x", x, IntsAttribute("perm", {0, 5})));
  cases.push_back(One("TransposeShort", "Transpose", "x", x, IntsAttribute("perm", {0})));
  cases.push_back(One("FlattenOutside", "Flatten", "x", x, IntAttribute("axis", kSmallest)));
  cases.push_back(One("ReshapeTwoWildcards", "Reshape", "x,n", x + IntsText("n", {-1, -1})));
  cases.push_back(One("ReshapeNegative", "Reshape", "x,n", x + IntsText("n", {-9, 2})));
  cases.push_back(One("ReshapeLoses", "Reshape", "x,n", x + IntsText("n", {5})));
  cases.push_back(One("ReshapeOverflows", "Reshape", "x,n", x + IntsText("n", {kHuge, kHuge, -1})));
  cases.push_back(One("ExpandNegative", "Expand", "x,n", x + IntsText("n", {-4, 3})));
  cases.push_back(One("SqueezeWide", "Squeeze", "x,n", x + IntsText("n", {0})));
  cases.push_back(One("UnsqueezeTwice", "Unsqueeze", "x,n", x + IntsText("n", {0, 0})));
  cases.push_back(One("UnsqueezeOutside", "Unsqueeze", "x,n", x + IntsText("n", {kHuge})));
  cases.push_back(One("SliceStepZero", "Slice", "x,n,n,n,n", x + IntsText("n", {0})));
  cases.push_back(
      One("SliceShort", "Slice", "x,n,m", x + IntsText("n", {0}) + IntsText("m", {1, 1})));
  cases.push_back(
      One("SplitLoses", "Split", "x,n", x + IntsText("n", {1, 9}), IntAttribute("axis", 1), "y,z"));
  cases.push_back(One("SplitNegative", "Split", "x,n", x + IntsText("n", {-1, 4}),
                      IntAttribute("axis", 1), "y,z"));
  cases.push_back(One("GatherOutside", "Gather", "x,n", x + IntsText("n", {kHuge})));
  cases.push_back(One("GatherBefore", "Gather", "x,n", x + IntsText("n", {-3})));
  cases.push_back(One("GatherElementsOutside", "GatherElements", "x,n",
                      x + "initializer { name: \"n\" data_type: 7 dims: [1, 1] int64_data: 77 } "));
  cases.push_back(One("GatherNDOutside", "GatherND", "x,n",
                      x + "initializer { name: \"n\" data_type: 7 dims: [1, 2] int64_data: [0, 99] "
                          "} "));
  cases.push_back(One("ScatterOutside", "ScatterElements", "x,n,x",
                      x + "initializer { name: \"n\" data_type: 7 dims: [2, 3] int64_data: [0, 0, "
                          "0, 0, 0, 500] } "));
  cases.push_back(One("ScatterNDOutside", "ScatterND", "x,n,v",
                      x + FloatInput("v", "1") +
                          "initializer { name: \"n\" data_type: 7 dims: [1, 2] int64_data: [-9, 0] "
                          "} "));
  cases.push_back(One("TopKTooMany", "TopK", "x,n", x + IntsText("n", {kHuge}), "", "y,z"));
  cases.push_back(One("TopKNegative", "TopK", "x,n", x + IntsText("n", {-1}), "", "y,z"));
  cases.push_back(One("ArgMaxOutside", "ArgMax", "x", x, IntAttribute("axis", kLargest)));
  cases.push_back(One("ReduceOutside", "ReduceSum", "x,n", x + IntsText("n", {17})));
  cases.push_back(One("CumSumOutside", "CumSum", "x,n",
                      x + "initializer { name: \"n\" data_type: 7 int64_data: 5 } "));
  cases.push_back(
      One("DepthToSpaceZero", "DepthToSpace", "x", image, IntAttribute("blocksize", 0)));
  cases.push_back(
      One("SpaceToDepthNegative", "SpaceToDepth", "x", image, IntAttribute("blocksize", -2)));
  cases.push_back(One("CastToNothing", "Cast", "x", x, IntAttribute("to", 99)));
  cases.push_back(One("CastWithoutType", "Cast", "x", x));
  cases.push_back(One("EinsumGarbage", "Einsum", "x,x", x, StringAttribute("equation", "i->->j")));
  cases.push_back(
      One("EinsumUnknown", "Einsum", "x,x", x, StringAttribute("equation", "ij,jk->z")));
  cases.push_back(
      One("BatchNormShort", "BatchNormalization", "x,b,b,b,b", image + FloatsText("b", "1", {1})));
  cases.push_back(
      One("WhereDiffers", "Where", "c,x,v", InputText("c", 9, "5") + x + FloatInput("v", "1")));
  cases.push_back(One("CompressOutside", "Compress", "x,c", InputText("c", 9, "2") + x,
                      IntAttribute("axis", -8)));
  cases.push_back(One("EyeLikeOfACube", "EyeLike", "c", FloatInput("c", "2,2,2")));
  cases.push_back(One("TriluOfAVector", "Trilu", "v", FloatInput("v", "2")));
  cases.push_back(One("LrnSizeZero", "LRN", "x", image, IntAttribute("size", 0)));
  cases.push_back(One("ReluOfStrings", "Relu", "t", InputText("t", 8, "2")));
}

void AddTrees(Cases& cases) {
  auto tree = [&](std::string name, const std::string& features, const std::string& yes,
                  const std::string& no, int64_t targets, const std::string& ids, bool may_run) {
    const auto ints = [](const char* attribute, const std::string& values) {
      return absl::StrCat(" attribute { name: \"", attribute, "\" type: INTS ints: [", values,
                          "] }");
    };
    cases.push_back(Text(
        std::move(name),
        ModelText(
            18,
            FloatInput("x", "2,2") +
                NodeText("TreeEnsembleRegressor", "x", "y",
                         "name: \"culprit\" domain: \"ai.onnx.ml\"" +
                             ints("nodes_treeids", "0, 0, 0") + ints("nodes_nodeids", "0, 1, 2") +
                             ints("nodes_featureids", features) +
                             " attribute { name: \"nodes_modes\" type: STRINGS strings: "
                             "\"BRANCH_LEQ\" strings: \"BRANCH_LEQ\" strings: \"LEAF\" } attribute "
                             "{ name: \"nodes_values\" type: FLOATS floats: [0.5, 0.5, 0] }" +
                             ints("nodes_truenodeids", yes) + ints("nodes_falsenodeids", no) +
                             ints("target_treeids", "0") + ints("target_nodeids", "2") +
                             ints("target_ids", ids) +
                             " attribute { name: \"target_weights\" type: FLOATS floats: [1] }" +
                             IntAttribute("n_targets", targets)) +
                OutputText("y"),
            "opset_import { domain: \"ai.onnx.ml\" version: 3 }"),
        "culprit", may_run));
  };
  tree("TreeCycle", "0, 0, 0", "1, 0, 0", "2, 2, 0", 1, "0", false);
  tree("TreeOfItself", "0, 0, 0", "0, 1, 0", "0, 1, 0", 1, "0", false);
  tree("TreeChildAbsent", "0, 0, 0", "1, 77, 0", "2, 2, 0", 1, "0", false);
  tree("TreeFeatureOutside", "9, 0, 0", "1, 2, 0", "2, 2, 0", 1, "0", false);
  tree("TreeFeatureNegative", "-1, 0, 0", "1, 2, 0", "2, 2, 0", 1, "0", false);
  tree("TreeTargetsHuge", "0, 0, 0", "1, 2, 0", "2, 2, 0", kHuge, "0", false);
  tree("TreeTargetsNegative", "0, 0, 0", "1, 2, 0", "2, 2, 0", -4, "0", false);
  tree("TreeTargetOutside", "0, 0, 0", "1, 2, 0", "2, 2, 0", 1, "5", false);
  tree("TreeListsDiffer", "0", "1, 2, 0", "2, 2, 0", 1, "0", false);
}

void AddBigGraphs(Cases& cases) {
  std::string chain = FloatInput("x", "2");
  constexpr int kLength = 20000;
  for (int i = 0; i < kLength; ++i) {
    absl::StrAppend(&chain,
                    NodeText("Abs", i == 0 ? "x" : absl::StrCat("t", i), absl::StrCat("t", i + 1)));
  }
  cases.push_back(Text("ChainOfTwentyThousand",
                       ModelText(18, chain + OutputText(absl::StrCat("t", kLength))), "", true));
  std::string wide = FloatInput("x", "2");
  std::string inputs = "x";
  for (int i = 0; i < 10000; ++i) absl::StrAppend(&inputs, ",x");
  cases.push_back(Text(
      "ConcatOfTenThousand",
      ModelText(18,
                wide + NodeText("Concat", inputs, "y", IntAttribute("axis", 0)) + OutputText("y")),
      "", true));
  auto function = [](int i, const std::string& body) {
    return absl::StrCat("functions { name: \"F", i,
                        "\" domain: \"my\" opset_import { version: 18 } opset_import { domain: "
                        "\"my\" version: 1 } input: \"a\" output: \"b\" ",
                        body, "} ");
  };
  auto call = [](int i, absl::string_view in, absl::string_view out) {
    return NodeText(absl::StrCat("F", i), in, out, "domain: \"my\"");
  };
  auto calls = [&](std::string name, const std::string& functions, std::string named) {
    cases.push_back(Text(std::move(name),
                         ModelText(18, FloatInput("x", "2") + call(0, "x", "y") + OutputText("y"),
                                   "opset_import { domain: \"my\" version: 1 } " + functions),
                         std::move(named)));
  };
  calls("FunctionsCallEachOther", function(0, call(1, "a", "b")) + function(1, call(0, "a", "b")),
        "calls itself");
  std::string doubling, deep;
  for (int i = 0; i < 40; ++i) {
    doubling += function(i, call(i + 1, "a", "t") + call(i + 1, "t", "b"));
  }
  for (int i = 0; i < 300; ++i) deep += function(i, call(i + 1, "a", "b"));
  calls("FunctionsDouble", doubling + function(40, NodeText("Abs", "a", "b")), "too many nodes");
  calls("FunctionsDeep", deep + function(300, NodeText("Abs", "a", "b")), "levels deep");
  std::string nested = NodeText("Relu", "x", "y") + OutputText("y");
  for (int i = 0; i < 100; ++i) {
    nested = NodeText("If", "c", "y",
                      " attribute { name: \"then_branch\" type: GRAPH g { " + nested + " } }") +
             OutputText("y");
  }
  cases.push_back(Text("BranchesNested",
                       ModelText(18, InputText("c", 9, "") + FloatInput("x", "2") + nested),
                       "no well-formed ModelProto"));
}

void AddSparse(Cases& cases) {
  auto sparse = [&](std::string name, const std::string& dims, const std::string& values,
                    const std::string& indices) {
    cases.push_back(Text(std::move(name),
                         ModelText(18, "sparse_initializer { dims: [" + dims +
                                           "] values { name: \"w\" data_type: 1 " + values +
                                           " } indices { data_type: 7 " + indices + " } } " +
                                           NodeText("Abs", "w", "y") + OutputText("y")),
                         "\"w\""));
  };
  const std::string one = "dims: 1 float_data: 1";
  sparse("SparseIndexNegative", "4", one, "dims: 1 int64_data: -1");
  sparse("SparseIndexOutside", "4", one, "dims: 1 int64_data: 4");
  sparse("SparseIndexSmallest", "4", one, "dims: 1 int64_data: -9223372036854775808");
  sparse("SparseCoordinateOutside", "4, 4", one, "dims: [1, 2] int64_data: [1, 4]");
  sparse("SparseIndicesShort", "4", "dims: 2 float_data: [1, 2]", "dims: 1 int64_data: 1");
  sparse("SparseDimNegative", "-4", one, "dims: 1 int64_data: 0");
  sparse("SparseOverflows", "1099511627776, 1099511627776", one, "dims: 1 int64_data: 0");
  sparse("SparseTooDense", "1099511627776", one, "dims: 1 int64_data: 0");
  sparse("SparseValuesAreAMatrix", "4", "dims: [1, 1] float_data: 1", "dims: 1 int64_data: 0");
}

void AddBytes(Cases& cases) {
  auto bytes = [&](std::string name, std::string content, std::string named, bool may_run = false) {
    cases.push_back({.name = std::move(name),
                     .bytes = std::move(content),
                     .may_run = may_run,
                     .named = std::move(named)});
  };
  const std::string good = ModelBytes(ModelText(
      18, FloatInput("x", "2,2") + FloatsText("w", "2,2", {1, 2, 3, 4}) +
              NodeText("MatMul", "x,w", "h") + NodeText("Softmax", "h", "y") + OutputText("y")));
  bytes("Nothing", "", "empty");
  bytes("Zeros", std::string(4096, '\0'), "not an ONNX model");
  bytes("Ones", std::string(4096, '\xff'), "not an ONNX model");
  bytes("Zip", "PK\x03\x04 archive", "zip archive");
  bytes("Html", "<html></html>", "looks like text");
  bytes("LfsPointer", "version https://git-lfs.github.com/spec/v1\n", "Git LFS");
  // Field 7 (graph) with a length of two gigabytes, and with one longer than eight bytes can say.
  bytes("LengthLies", std::string("\x08\x08\x3a\xff\xff\xff\xff\x07", 8), "not an ONNX model");
  bytes("LengthOverlong", std::string("\x08\x08\x3a") + std::string(11, '\xff'),
        "not an ONNX model");
  bytes("GroupsNested", good + std::string(500, '\x0b' | '\x60'), "not an ONNX model");
  bytes("GroupNeverEnds", good + "\x6b", "not an ONNX model");
  bytes("UnknownFields",
        good + std::string("\xc0\x3e\x07\xca\x3e\x03"
                           "abc",
                           8),
        "", true);
  bytes("GraphTwice", good + good, "", true);
  bytes("GiantDocString", good + "\x32\x80\x80\x80\x08" + std::string(16 << 20, 'd'), "", true);
  for (int i = 1; i <= 16; ++i) {
    bytes(absl::StrCat("CutAtSixteenth", i), good.substr(0, good.size() * i / 17), "", true);
  }
  std::mt19937 random(3);
  for (int i = 0; i < 40; ++i) {
    std::string changed = good;
    for (int k = 0; k < 4; ++k) changed[random() % changed.size()] = static_cast<char>(random());
    bytes(absl::StrCat("FlippedBytes", i), changed, "", true);
  }
}

}  // namespace

MalformedCase Text(std::string name, const std::string& text, std::string named, bool may_run) {
  return {.name = std::move(name),
          .bytes = ModelBytes(text),
          .may_run = may_run,
          .named = std::move(named)};
}

MalformedCase One(std::string name, absl::string_view op, absl::string_view inputs,
                  const std::string& declared, const std::string& attributes,
                  absl::string_view outputs) {
  return Text(
      std::move(name),
      ModelText(18, declared + NodeText(op, inputs, outputs, "name: \"culprit\"" + attributes) +
                        OutputText("y")),
      "culprit|value \"y\"");
}

std::vector<MalformedCase> ImpossibleModels() {
  Cases cases;
  AddHugeResults(cases);
  AddWrongRequests(cases);
  AddTrees(cases);
  AddBigGraphs(cases);
  AddSparse(cases);
  AddControlFlow(cases);
  AddBytes(cases);
  return cases;
}

}  // namespace inferd::engine
