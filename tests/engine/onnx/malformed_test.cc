// Files that are no models, and models that are wrong: each ends in a clear error.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/engine/onnx/model_text.h"

namespace inferd::engine {
namespace {

using ::testing::HasSubstr;

const char kX[] =
    "input { name: \"x\" type { tensor_type { elem_type: 1 shape { dim { dim_value: 2 } } } } } ";
const char kRelu[] = "node { op_type: \"Relu\" input: \"x\" output: \"y\" } ";
const char kY[] = "output { name: \"y\" } ";

std::string Graph13(const std::string& graph) { return ModelText(13, graph); }

struct Malformed {
  const char* what;
  std::string text;
  const char* message;
};

std::vector<Malformed> Models() {
  const std::string io = std::string(kX) + kY;
  const std::string ok = std::string(kX) + kRelu + kY;
  auto with = [&](const std::string& more) { return Graph13(ok + more); };
  auto node = [&](const std::string& text) { return Graph13(io + text); };
  auto input = [&](const std::string& type) {
    return Graph13(ok + "input { name: \"z\" type { " + type + " } }");
  };
  auto initializer = [&](const std::string& text) {
    return with("initializer { name: \"w\" " + text + " }");
  };
  auto constant = [&](const std::string& attributes) {
    return with("node { op_type: \"Constant\" output: \"c\" " + attributes + " }");
  };
  return {
      {"NoGraph", "ir_version: 8 opset_import { version: 13 }", "it has no graph"},
      {"NoIrVersion", "opset_import { version: 13 } graph { " + ok + "}", "it has no ir_version"},
      {"ZeroIrVersion", "ir_version: 0 graph { " + ok + "}", "ir_version is 0"},
      {"NegativeIrVersion", "ir_version: -5 graph { " + ok + "}", "ir_version is -5"},
      {"NoOpset", "ir_version: 8 graph { " + ok + "}", "imports no opset"},
      {"ZeroOpset", ModelText(0, ok), "has version 0"},
      {"NegativeOpset", ModelText(-1, ok), "has version -1"},
      {"NoStandardOpset",
       "ir_version: 8 opset_import { domain: \"a\" version: 1 } graph { " + ok + "}",
       "imports no opset of domain ai.onnx"},
      {"NoOutputs", Graph13(std::string(kX) + kRelu), "the graph has no outputs"},
      {"EmptyGraph", Graph13(""), "the graph has no outputs"},
      {"OutputNobodyMakes", Graph13(std::string(kX) + kY), "output \"y\" is produced by no node"},
      {"OutputWithoutName", Graph13(ok + "output { }"), "output \"\" is produced by no node"},
      {"InputNobodyMakes", node("node { op_type: \"Relu\" input: \"q\" output: \"y\" }"),
       "input \"q\" is produced by no node"},
      {"SelfLoop", node("node { op_type: \"Add\" input: \"x\" input: \"y\" output: \"y\" }"),
       "cycle"},
      {"Cycle",
       node("node { op_type: \"Add\" input: \"x\" input: \"b\" output: \"y\" } "
            "node { op_type: \"Relu\" input: \"y\" output: \"b\" name: \"back\" }"),
       "back (Relu)"},
      {"ProducedTwice", with(kRelu), "\"y\" is produced twice"},
      {"ProducedTwiceByOneNode",
       node("node { op_type: \"Split\" input: \"x\" output: \"y\" output: \"y\" }"),
       "\"y\" is produced twice"},
      {"OutputIsAnInput", node("node { op_type: \"Relu\" input: \"y\" output: \"x\" }"), "\"x\""},
      {"OutputIsAnInitializer",
       with("initializer { name: \"w\" data_type: 1 float_data: 1 } "
            "node { op_type: \"Relu\" input: \"x\" output: \"w\" }"),
       "output \"w\" has the name of"},
      {"InputTwice", Graph13(ok + std::string(kX)), "input \"x\" is defined twice"},
      {"InputWithoutName", with("input { }"), "input has no name"},
      {"InputWithoutType", with("input { name: \"z\" }"), "\"z\" has no element type"},
      {"InputWithoutElementType", input("tensor_type { }"), "\"z\" has no element type"},
      {"InputElementTypeUnknown", input("tensor_type { elem_type: 77 }"),
       "element type code 77 is not known"},
      {"InputElementTypeNegative", input("tensor_type { elem_type: -3 }"),
       "element type code -3 is not known"},
      {"InputNegativeDim", input("tensor_type { elem_type: 1 shape { dim { dim_value: -2 } } }"),
       "dimension 0 is -2"},
      {"InputAbsurdDim",
       input("tensor_type { elem_type: 1 shape { dim { dim_value: 9223372036854775807 } } }"),
       "dimension 0 is 9223372036854775807, which no tensor has"},
      {"InputSparse", input("sparse_tensor_type { elem_type: 1 }"), "sparse"},
      {"SequenceOfUnknown", input("sequence_type { elem_type { tensor_type { elem_type: 99 } } }"),
       "code 99"},
      {"MapWithUnknownKey",
       input("map_type { key_type: 99 value_type { tensor_type { elem_type: 1 } } }"), "code 99"},
      {"NodeWithoutOperator", with("node { input: \"x\" output: \"z\" }"), "no operator type"},
      {"InitializerWithoutName", with("initializer { data_type: 1 float_data: 1 }"),
       "initializer has no name"},
      {"InitializerWithoutType", initializer("dims: 1 float_data: 1"), "element type code 0"},
      {"InitializerTruncated", initializer("data_type: 1 dims: 4 raw_data: \"1234\""),
       "\"w\": raw data has 4 bytes, expected 16"},
      {"InitializerNegativeDim", initializer("data_type: 1 dims: -4"), "negative dimension"},
      {"InitializerAbsurd", initializer("data_type: 1 dims: [1099511627776, 1099511627776]"),
       "63 bits"},
      {"InitializerHuge", initializer("data_type: 1 dims: 1099511627776"),
       "expected 1099511627776"},
      {"InitializerExternalFromBytes",
       initializer("data_type: 1 dims: 1 data_location: EXTERNAL external_data { key: \"location\" "
                   "value: \"w.bin\" }"),
       "without a directory"},
      {"InitializerEscapes",
       initializer("data_type: 1 dims: 1 data_location: EXTERNAL external_data { key: \"location\" "
                   "value: \"../../etc/passwd\" }"),
       "\"..\" is not allowed"},
      {"SparseOutside",
       with(
           "sparse_initializer { dims: 2 values { name: \"w\" data_type: 1 dims: 1 float_data: 1 } "
           "indices { data_type: 7 dims: 1 int64_data: 2 } }"),
       "outside the shape"},
      {"SparseHuge",
       with("sparse_initializer { dims: 1099511627776 values { name: \"w\" data_type: 1 dims: 1 "
            "float_data: 1 } indices { data_type: 7 dims: 1 int64_data: 2 } }"),
       "bytes left for sparse tensors"},
      {"ConstantWithoutValue", constant(""), "has 0 value attributes"},
      {"ConstantWithTwoValues",
       constant(IntAttribute("value_int", 1) + FloatAttribute("value_float", 1)),
       "has 2 value attributes"},
      {"ConstantWithInput",
       with("node { op_type: \"Constant\" input: \"x\" output: \"c\" " +
            IntAttribute("value_int", 1) + " }"),
       "Constant has 1 inputs"},
      {"ConstantTruncated",
       constant("attribute { name: \"value\" type: TENSOR t { data_type: 7 dims: 1 raw_data: "
                "\"123\" } }"),
       "raw data has 3 bytes, expected 8"},
      {"ConstantGraph", constant("attribute { name: \"value\" type: GRAPH g { " + ok + " } }"),
       "is no constant"},
      {"AttributeWithoutValue",
       with("node { op_type: \"Relu\" input: \"x\" output: \"z\" attribute "
            "{ name: \"a\" } }"),
       "no value at all"},
      {"AttributeTwice",
       with("node { op_type: \"Flatten\" input: \"x\" output: \"z\" " + IntAttribute("axis", 1) +
            IntAttribute("axis", 0) + " }"),
       "\"axis\" is given twice"},
      {"ReferenceOutsideAFunction",
       with("node { op_type: \"Flatten\" input: \"x\" output: \"z\" attribute { name: \"axis\" "
            "type: "
            "INT ref_attr_name: \"a\" } }"),
       "stands outside of one"},
      {"BodyReadsNothing",
       with("node { op_type: \"If\" input: \"x\" output: \"z\" attribute { name: \"then_branch\" "
            "type: GRAPH g { node { op_type: \"Relu\" input: \"q\" output: \"r\" } output { name: "
            "\"r\" } } } }"),
       "input \"q\" is produced by no node"},
      {"BodyOutputNobodyMakes",
       with("node { op_type: \"If\" input: \"x\" output: \"z\" attribute { name: \"then_branch\" "
            "type: GRAPH g { output { name: \"r\" } } } }"),
       "output \"r\" is produced by no node"},
      {"BodyCycle",
       with("node { op_type: \"If\" input: \"x\" output: \"z\" attribute { name: \"then_branch\" "
            "type: GRAPH g { node { op_type: \"Relu\" input: \"r\" output: \"r\" } output { name: "
            "\"r\" } } } }"),
       "cycle"},
      {"CaptureOfOwnResult",
       with("node { op_type: \"If\" input: \"x\" output: \"z\" attribute { name: \"then_branch\" "
            "type: GRAPH g { node { op_type: \"Relu\" input: \"z\" output: \"r\" } output { name: "
            "\"r\" } } } }"),
       "cycle"},
  };
}

class MalformedTest : public ::testing::TestWithParam<Malformed> {};

TEST_P(MalformedTest, EndsInAClearError) {
  auto model = ImportText(GetParam().text);
  ASSERT_FALSE(model.ok());
  EXPECT_EQ(model.status().code(), absl::StatusCode::kInvalidArgument) << model.status();
  EXPECT_THAT(std::string(model.status().message()), HasSubstr(GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(All, MalformedTest, ::testing::ValuesIn(Models()),
                         [](const auto& tested) { return tested.param.what; });

void ExpectNotAModel(const std::string& bytes, const std::string& message) {
  auto model = ImportOnnxBytes(bytes, "", OpRegistry::Global());
  ASSERT_FALSE(model.ok());
  EXPECT_EQ(model.status().code(), absl::StatusCode::kInvalidArgument) << model.status();
  EXPECT_THAT(std::string(model.status().message()), HasSubstr(message));
}

TEST(NotAModelTest, SaysWhatTheBytesLookLike) {
  ExpectNotAModel("", "it is empty");
  ExpectNotAModel("version https://git-lfs.github.com/spec/v1\noid sha256:00\n", "Git LFS pointer");
  ExpectNotAModel("<!DOCTYPE html><html></html>", "looks like text");
  ExpectNotAModel("{\"a\": 1}", "looks like text");
  ExpectNotAModel("PK\x03\x04 and more", "zip archive");
  ExpectNotAModel(std::string("\x1c\0\0\0TFL3", 8) + " and more", "TensorFlow Lite");
  ExpectNotAModel(std::string(64, '\0'), "not an ONNX model");
  ExpectNotAModel(std::string(64, '\xff'), "not an ONNX model");
}

TEST(NotAModelTest, EveryTruncationIsRefusedOrRuns) {
  // Cut where the graph is complete a file may still be a model, since most fields are optional;
  // it must never crash, and errors must be of the right kind.
  const std::string bytes = ModelBytes(ModelText(
      13, FloatInput("x", "2") + FloatsText("w", "2", {1, 2}) + NodeText("Add", "x,w", "h") +
              NodeText("Relu", "h", "y") + OutputText("y")));
  int refused = 0;
  for (size_t n = 0; n < bytes.size(); ++n) {
    auto model = ImportOnnxBytes(absl::string_view(bytes).substr(0, n), "", OpRegistry::Global());
    if (model.ok()) continue;
    ++refused;
    EXPECT_EQ(model.status().code(), absl::StatusCode::kInvalidArgument) << model.status();
  }
  EXPECT_GT(refused, static_cast<int>(bytes.size()) - 10);
}

TEST(NotAModelTest, RandomBytesAreRefused) {
  std::mt19937 random(7);
  for (int round = 0; round < 2000; ++round) {
    std::string bytes(random() % 200, '\0');
    for (char& c : bytes) c = static_cast<char>(random());
    EXPECT_FALSE(ImportOnnxBytes(bytes, "", OpRegistry::Global()).ok());
  }
}

TEST(NotAModelTest, FlippedBytesNeverCrash) {
  const std::string bytes = ModelBytes(ModelText(
      11, FloatInput("x", "2,3,4") + FloatsText("w", "4", {1, 2, 3, 4}) +
              NodeText("Add", "x,w", "h") + NodeText("Softmax", "h", "s", IntAttribute("axis", 1)) +
              NodeText("Squeeze", "s", "y", IntsAttribute("axes", {0})) + OutputText("y")));
  std::mt19937 random(11);
  for (int round = 0; round < 5000; ++round) {
    std::string changed = bytes;
    for (int k = 0; k < 3; ++k) {
      changed[random() % changed.size()] = static_cast<char>(random());
    }
    auto model = ImportOnnxBytes(changed, "", OpRegistry::Global());
    if (!model.ok()) {
      EXPECT_TRUE(absl::IsInvalidArgument(model.status()) || absl::IsUnimplemented(model.status()))
          << model.status();
    }
  }
}

TEST(NotAModelTest, DeepNestingIsRefused) {
  std::string graph =
      "node { op_type: \"Relu\" input: \"x\" output: \"y\" } output { name: \"y\" }";
  for (int i = 0; i < 100; ++i) {
    graph = absl::StrCat(
        "node { op_type: \"If\" input: \"x\" output: \"y\" attribute { name: "
        "\"then_branch\" type: GRAPH g { ",
        graph, " } } } output { name: \"y\" }");
  }
  ExpectNotAModel(ModelBytes(Graph13(kX + graph)), "no well-formed ModelProto");
}

}  // namespace
}  // namespace inferd::engine
