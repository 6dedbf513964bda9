// JSON numbers, data and bodies, without a server.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <charconv>
#include <cmath>
#include <cstring>
#include <random>

#include "absl/strings/str_cat.h"
#include "server/http/json/json_data.h"
#include "server/http/json/json_number.h"
#include "server/http/json/json_parser.h"
#include "server/http/json/json_writer.h"
#include "server/wire/raw_tensor.h"

namespace inferd::server {
namespace {

using engine::ElementType;
using engine::Float16;
using engine::Shape;
using engine::Tensor;
using ::testing::HasSubstr;

template <typename T>
std::optional<T> Read(const std::string& text) {
  // Exactly as long as the text, so that a sanitizer sees a read past its end.
  std::vector<char> memory(text.begin(), text.end());
  const char* error = nullptr;
  T value{};
  const char* after = ReadNumber(memory.data(), memory.data() + memory.size(), &value, &error);
  if (after != memory.data() + memory.size()) {
    EXPECT_TRUE(after != nullptr || error != nullptr) << text;
    return std::nullopt;
  }
  return value;
}

TEST(JsonNumber, FloatsAreTheNearestOnes) {
  std::mt19937_64 random(3);
  for (int i = 0; i < 200'000; ++i) {
    std::string text;
    switch (i % 4) {
      case 0:  // shortest form of a random float
        text = absl::StrCat(std::bit_cast<float>(static_cast<uint32_t>(random())));
        char buffer[64];
        text.assign(buffer, std::to_chars(buffer, buffer + 64,
                                          std::bit_cast<float>(static_cast<uint32_t>(random())))
                                .ptr);
        break;
      case 1:
        text = absl::StrCat("0.", random() % 1'000'000'000);
        break;
      case 2:
        text = absl::StrCat("-", random() % 1'000'000, ".", random(), "e",
                            static_cast<int>(random() % 60) - 30);
        break;
      default: {  // halfway between two floats, and just beside it
        const float f = 1.0f + static_cast<float>(random() % (1 << 23)) * 0x1p-23f;
        const double half =
            (static_cast<double>(f) + static_cast<double>(std::nextafter(f, 2.0f))) / 2;
        char exact[64];
        text.assign(exact, std::to_chars(exact, exact + 64, half, std::chars_format::fixed).ptr);
        if (random() % 2) text += "00001";
      }
    }
    if (text.find("inf") != std::string::npos || text.find("nan") != std::string::npos) continue;
    float expected = 0;
    if (std::from_chars(text.data(), text.data() + text.size(), expected).ec != std::errc())
      continue;
    const auto got = Read<float>(text);
    ASSERT_TRUE(got.has_value()) << text;
    ASSERT_EQ(std::bit_cast<uint32_t>(*got), std::bit_cast<uint32_t>(expected)) << text;
    double wide = 0;
    std::from_chars(text.data(), text.data() + text.size(), wide);
    ASSERT_EQ(Read<double>(text), wide) << text;
  }
}

TEST(JsonNumber, HalfPrecisionIsRoundedOnce) {
  // 1 + 2^-11 lies between two halves; the tie goes to even, the least more goes up.
  EXPECT_EQ(static_cast<float>(*Read<Float16>("1.00048828125")), 1.0f);
  EXPECT_EQ(static_cast<float>(*Read<Float16>("1.00048828125001")), 1.0009765625f);
  EXPECT_EQ(Read<Float16>("65504")->bits, 0x7bff);
  EXPECT_EQ(Read<Float16>("65520"), std::nullopt);
  EXPECT_EQ(Read<Float16>("-Infinity")->bits, 0xfc00);
  EXPECT_EQ(Read<Float16>("5.9604644775390625e-8")->bits, 1);
  EXPECT_EQ(Read<engine::BFloat16>("1.0")->bits, 0x3f80);
}

TEST(JsonNumber, KeepsToTheGrammarAndTheRange) {
  for (const char* bad : {"-", "+1", "01", "1.", ".5", "1e", "1e+", "0x10", "nan", "inf", "--1",
                          "1.5.2", "Inf inity", "NaN1"}) {
    EXPECT_EQ(Read<double>(bad), std::nullopt) << bad;
  }
  EXPECT_EQ(*Read<double>("1e-400"), 0);
  EXPECT_EQ(Read<double>("1e400"), std::nullopt);
  EXPECT_EQ(Read<float>("3.5e38"), std::nullopt);
  EXPECT_TRUE(std::signbit(*Read<double>("-0")));
  EXPECT_TRUE(std::isnan(*Read<float>("NaN")));
  EXPECT_EQ(*Read<float>("-Inf"), -INFINITY);
  EXPECT_EQ(*Read<int8_t>("-128"), -128);
  EXPECT_EQ(Read<int8_t>("128"), std::nullopt);
  EXPECT_EQ(Read<uint8_t>("-1"), std::nullopt);
  EXPECT_EQ(*Read<uint8_t>("-0"), 0);
  EXPECT_EQ(*Read<uint64_t>("18446744073709551615"), UINT64_MAX);
  EXPECT_EQ(*Read<int64_t>("-9223372036854775808"), INT64_MIN);
  EXPECT_EQ(Read<int32_t>("1.5"), std::nullopt);
  EXPECT_EQ(Read<int32_t>("1e3"), std::nullopt);
}

absl::StatusOr<std::vector<int32_t>> Data(const std::string& json, Shape shape) {
  InferRequest request;
  InferInput input;
  input.name = "x";
  input.tensor.type = ElementType::kInt32;
  input.tensor.shape = std::move(shape);
  if (absl::Status status = BindJsonData(json, &request, &input); !status.ok()) return status;
  const auto values = input.tensor.span<int32_t>();
  return std::vector<int32_t>(values.begin(), values.end());
}

TEST(JsonData, FlatOrNestedAsTheShapeSays) {
  using V = std::vector<int32_t>;
  EXPECT_EQ(Data("[1,2,3,4]", {2, 2}).value(), (V{1, 2, 3, 4}));
  EXPECT_EQ(Data(" [ [1 , 2],\n[3,4] ] ", {2, 2}).value(), (V{1, 2, 3, 4}));
  EXPECT_EQ(Data("7", {}).value(), V{7});
  EXPECT_EQ(Data("[7]", {}).value(), V{7});
  EXPECT_EQ(Data("[]", {0}).value(), V{});
  EXPECT_EQ(Data("[[],[]]", {2, 0}).value(), V{});
  EXPECT_EQ(Data("[[[1],[2]]]", {1, 2, 1}).value(), (V{1, 2}));
  for (const char* bad :
       {"[1,2,3]", "[1,2,3,4,5]", "[[1,2,3],[4]]", "[[1,2],3,4]", "[[[1,2],[3,4]]]", "[1,2,3,4",
        "[1,2,3,4]]", "[1,2,,3,4]", "[1,2,3,4,]", "[,1,2,3,4]", "[1 2,3,4]", "", "{}", "\"1\"",
        "[[1,2],[3,4]", "[[1,2][3,4]]", "[true,1,2,3]"}) {
    EXPECT_FALSE(Data(bad, {2, 2}).ok()) << bad;
  }
  EXPECT_THAT(std::string(Data("[[1,2,3],[4]]", {2, 2}).status().message()),
              HasSubstr("array of length 3 where dimension 1 of shape [2,2] is 2"));
  EXPECT_FALSE(Data("[1]", {int64_t{1} << 40}).ok());
}

class JsonBodyTest : public ::testing::Test {
 protected:
  absl::Status Parse(const std::string& json) {
    request_ = {};
    request_.model_name = "m";
    extras_ = {};
    std::string padded = json + std::string(kJsonPadding, '\0');
    return parser_.ParseInferRequest(absl::string_view(padded).substr(0, json.size()), &request_,
                                     &extras_);
  }
  JsonParser parser_;
  InferRequest request_;
  JsonInferExtras extras_;
};

TEST_F(JsonBodyTest, MembersComeInAnyOrderAndUnknownOnesAreIgnored) {
  ASSERT_TRUE(
      Parse(R"({"future":{"a":[1,{"b":"]}"}]},"outputs":[{"parameters":{"binary_data":true},)"
            R"("name":"y"}],"inputs":[{"data":[1.5],"x":null,"shape":[1],"name":"i\u0031",)"
            R"("datatype":"FP32"},{"name":"b","datatype":"INT8","shape":[3],)"
            R"("parameters":{"binary_data_size":3}}],"id":"7",)"
            R"("parameters":{"binary_data_output":true,"n":-1,"u":18446744073709551615,)"
            R"("d":0.5,"s":"t"}})")
          .ok());
  EXPECT_EQ(request_.id, "7");
  ASSERT_EQ(request_.inputs.size(), 2u);
  EXPECT_EQ(request_.inputs[0].name, "i1");
  EXPECT_EQ(request_.inputs[0].tensor.as<float>()[0], 1.5f);
  ASSERT_EQ(extras_.binary_inputs.size(), 1u);
  EXPECT_EQ(extras_.binary_inputs[0].index, 1u);
  EXPECT_EQ(extras_.binary_inputs[0].bytes, 3);
  EXPECT_EQ(extras_.binary_output_default, true);
  EXPECT_EQ(*request_.parameters.Find("n"), ParameterValue(int64_t{-1}));
  EXPECT_EQ(*request_.parameters.Find("u"), ParameterValue(UINT64_MAX));
  EXPECT_EQ(*request_.outputs[0].parameters.Find("binary_data"), ParameterValue(true));
}

TEST_F(JsonBodyTest, SurvivesTruncationAndRandomChanges) {
  const std::string good =
      R"({"id":"a","inputs":[{"name":"x","shape":[2,2],"datatype":"FP32","data":[[1,2],[3e1,NaN]]},)"
      R"({"name":"s","shape":[2],"datatype":"BYTES","data":["\u00e4","b"]}],"outputs":[{"name":"y"}]})";
  ASSERT_TRUE(Parse(good).ok());
  for (size_t n = 0; n < good.size(); ++n) EXPECT_FALSE(Parse(good.substr(0, n)).ok()) << n;
  std::mt19937 random(5);
  const std::string alphabet = "[]{},:\"\\0123456789eE.-+ntfuNI \x80\xff";
  for (int i = 0; i < 20'000; ++i) {
    std::string bad = good;
    for (int k = 1 + static_cast<int>(random() % 5); k > 0; --k) {
      bad[random() % bad.size()] = alphabet[random() % alphabet.size()];
    }
    Parse(bad).IgnoreError();
  }
  EXPECT_TRUE(Parse(good).ok());
}

TEST(JsonWriter, WritesWhatReadsBack) {
  std::mt19937 random(9);
  std::vector<float> values(5000);
  for (float& v : values) v = std::bit_cast<float>(static_cast<uint32_t>(random()));
  values[0] = 0.1f;
  values[1] = -0.0f;
  const Tensor tensor = Tensor::FromValues<float>(Shape{5000}, values);
  std::string text;
  JsonWriter json(&text);
  ASSERT_TRUE(json.Elements(tensor.view()).ok());
  EXPECT_THAT(text, ::testing::StartsWith("[0.1,-0,"));
  InferRequest request;
  InferInput input;
  input.tensor.type = ElementType::kFloat32;
  input.tensor.shape = Shape{5000};
  ASSERT_TRUE(BindJsonData(text, &request, &input).ok());
  for (size_t i = 0; i < values.size(); ++i) {
    const float got = input.tensor.as<float>()[i];
    if (std::isnan(values[i])) {
      EXPECT_TRUE(std::isnan(got));
    } else {
      EXPECT_EQ(std::bit_cast<uint32_t>(got), std::bit_cast<uint32_t>(values[i]));
    }
  }
}

TEST(JsonWriter, RefusesBytesThatAreNotText) {
  const Tensor tensor = Tensor::FromValues<std::string>(Shape{1}, std::vector<std::string>{"\xff"});
  std::string text;
  JsonWriter json(&text);
  const absl::Status status = json.Elements(tensor.view());
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("binary_data"));
}

}  // namespace
}  // namespace inferd::server
