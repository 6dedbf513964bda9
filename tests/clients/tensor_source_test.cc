#include "clients/inferctl/tensor_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/onnx/tensor_file.h"
#include "engine/whole_file.h"

namespace inferd::client {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const TensorMetadata kImage = {"image", "FP32", {-1, 1, 8, 8}};

std::string Write(const std::string& name, const std::string& contents) {
  const std::string path = testing::TempDir() + "/" + name;
  EXPECT_TRUE(engine::WriteFile(path, contents).ok());
  return path;
}

// The picture and the request body of the same digit hold the same pixels.
TEST(TensorSource, AnImageFillsAnInput) {
  const auto from_png =
      ReadInputFile(kImage, "examples/data/digits/7.png", {.invert = true, .scale = 16.0});
  ASSERT_TRUE(from_png.ok()) << from_png.status();
  EXPECT_THAT(from_png->shape, ElementsAre(1, 1, 8, 8));
  const auto from_json = ReadInputsJson("examples/data/digits/7.json");
  ASSERT_TRUE(from_json.ok()) << from_json.status();
  ASSERT_EQ(from_json->size(), 1u);
  for (int i = 0; i < 64; ++i) {
    EXPECT_NEAR(from_png->values<float>()[i], (*from_json)[0].values<float>()[i], 0.05) << i;
  }
}

TEST(TensorSource, MeanAndStdArePerChannel) {
  const auto image = ReadInputFile({"x", "FP32", {1, 3, 1, 1}}, "examples/data/digits/7.png",
                                   {.mean = {0, 1, 2}, .std = {1, 1, 2}});
  ASSERT_TRUE(image.ok()) << image.status();
  const auto v = image->values<float>();
  EXPECT_NEAR(v[0] - 1, v[1], 1e-6);
  EXPECT_NEAR((v[0] - 2) / 2, v[2], 1e-6);
  EXPECT_FALSE(
      ReadInputFile({"x", "FP32", {1, 3, 1, 1}}, "examples/data/digits/7.png", {.mean = {0, 1}})
          .ok());
  EXPECT_FALSE(ReadInputFile({"x", "INT64", {1, 3, 1, 1}}, "examples/data/digits/7.png", {}).ok());
}

TEST(TensorSource, RawBytesSettleTheFreeDimension) {
  const std::string path = Write("raw.bin", std::string(24, '\0'));
  const auto tensor = ReadInputFile({"x", "FP32", {-1, 2}}, path, {});
  ASSERT_TRUE(tensor.ok()) << tensor.status();
  EXPECT_THAT(tensor->shape, ElementsAre(3, 2));
  EXPECT_FALSE(ReadInputFile({"x", "FP32", {-1, 5}}, path, {}).ok());
}

TEST(TensorSource, AFileIsOneString) {
  const auto tensor = ReadInputFile({"x", "BYTES", {-1, 1}}, Write("text.txt", "hello"), {});
  ASSERT_TRUE(tensor.ok());
  EXPECT_THAT(*tensor->strings(), ElementsAre("hello"));
  EXPECT_THAT(tensor->shape, ElementsAre(1, 1));
}

TEST(TensorSource, TensorProtoFiles) {
  const auto source = engine::Tensor::FromValues<int64_t>({2}, {5, -6});
  const std::string path =
      Write("input_0.pb", engine::SerializeTensorProto(source.view(), "anything"));
  const auto tensor = ReadInputFile({"x", "INT64", {-1}}, path, {});
  ASSERT_TRUE(tensor.ok()) << tensor.status();
  EXPECT_EQ(tensor->datatype, "INT64");
  EXPECT_THAT(tensor->values<int64_t>(), ElementsAre(5, -6));
}

TEST(TensorSource, JsonErrorsNameFileAndPlace) {
  EXPECT_THAT(std::string(ReadInputsJson(Write("a.json", "{\"inputs\": [")).status().message()),
              HasSubstr("not JSON"));
  EXPECT_THAT(std::string(ReadInputsJson(Write("b.json", "[]")).status().message()),
              HasSubstr("expected a request body"));
  EXPECT_THAT(
      std::string(ReadInputsJson(Write("c.json", R"({"inputs":[{"name":"x","datatype":"FP32",
                                       "shape":[1],"data":["a"]}]})"))
                      .status()
                      .message()),
      HasSubstr("input 0: data must be numbers"));
}

TEST(TensorSource, JsonNumbersMustFitTheirType) {
  auto read = [](const std::string& datatype, const std::string& value) {
    return ReadInputsJson(Write("n.json", R"({"inputs":[{"name":"x","datatype":")" + datatype +
                                              R"(","shape":[1],"data":[)" + value + "]}]}"));
  };
  for (const auto& [datatype, value] :
       std::vector<std::pair<std::string, std::string>>{{"UINT8", "256"},
                                                        {"UINT8", "-1"},
                                                        {"INT32", "1e300"},
                                                        {"INT64", "1.5"},
                                                        {"INT8", "128"}}) {
    EXPECT_THAT(std::string(read(datatype, value).status().message()),
                HasSubstr("does not fit " + datatype))
        << value;
  }
  EXPECT_THAT((*read("UINT64", "18446744073709551615"))[0].values<uint64_t>(),
              ElementsAre(18446744073709551615u));
  EXPECT_THAT((*read("INT8", "-128"))[0].values<int8_t>(), ElementsAre(-128));
  EXPECT_TRUE(read("BOOL", "true").ok());
  EXPECT_THAT((*read("FP32", "3"))[0].values<float>(), ElementsAre(3.0f));
}

TEST(TensorSource, ShapesFit) {
  EXPECT_THAT(*ConcreteShape(kImage, {}, 4), ElementsAre(4, 1, 8, 8));
  EXPECT_THAT(*ConcreteShape(kImage, {2, 1, 8, 8}, 4), ElementsAre(2, 1, 8, 8));
  EXPECT_FALSE(ConcreteShape(kImage, {2, 1, 8, 9}, 4).ok());
}

TEST(TensorSource, MadeUpValuesAreReproducible) {
  for (const char* datatype : {"FP32", "INT8", "BYTES", "BOOL", "FP16", "UINT64"}) {
    const auto a = RandomInput({"x", datatype, {}}, {3, 2}, 7);
    const auto b = RandomInput({"x", datatype, {}}, {3, 2}, 7);
    ASSERT_TRUE(a.ok()) << a.status();
    EXPECT_EQ(a->data, b->data);
    EXPECT_FALSE(a->data.empty());
  }
  EXPECT_FALSE(RandomInput({"x", "FP99", {}}, {1}, 7).ok());
}

}  // namespace
}  // namespace inferd::client
