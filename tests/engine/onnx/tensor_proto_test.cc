#include "engine/onnx/tensor_proto.h"

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "engine/onnx/external_data.h"
#include "onnx/onnx_pb.h"

namespace inferd::engine {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

onnx::TensorProto Proto(const std::string& text) {
  onnx::TensorProto proto;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &proto)) << text;
  return proto;
}

absl::StatusOr<Tensor> FromText(const std::string& text) {
  return TensorFromProto(Proto(text), nullptr);
}

std::vector<int> BytesOf(const Tensor& tensor) {
  const auto* data = static_cast<const uint8_t*>(tensor.view().data);
  return std::vector<int>(data, data + tensor.num_bytes());
}

TEST(TensorProtoTest, ReadsTypedFields) {
  auto floats = FromText("data_type: 1 dims: 2 float_data: [1.5, -2]");
  ASSERT_TRUE(floats.ok()) << floats.status();
  EXPECT_THAT(floats->values<float>(), ElementsAre(1.5f, -2.0f));
  auto doubles = FromText("data_type: 11 dims: 1 double_data: 0.25");
  ASSERT_TRUE(doubles.ok()) << doubles.status();
  EXPECT_THAT(doubles->values<double>(), ElementsAre(0.25));
  auto longs = FromText("data_type: 7 dims: 2 int64_data: [-9000000000, 4]");
  ASSERT_TRUE(longs.ok()) << longs.status();
  EXPECT_THAT(longs->values<int64_t>(), ElementsAre(-9000000000, 4));
  auto unsigneds = FromText("data_type: 12 dims: 1 uint64_data: 4294967295");
  ASSERT_TRUE(unsigneds.ok()) << unsigneds.status();
  EXPECT_THAT(unsigneds->values<uint32_t>(), ElementsAre(4294967295u));
  auto complex = FromText("data_type: 14 dims: 1 float_data: [1, 2]");
  ASSERT_TRUE(complex.ok()) << complex.status();
  EXPECT_EQ(complex->data<std::complex<float>>()[0], std::complex<float>(1, 2));
  auto strings = FromText("data_type: 8 dims: 2 string_data: \"a\" string_data: \"\"");
  ASSERT_TRUE(strings.ok()) << strings.status();
  EXPECT_THAT(strings->values<std::string>(), ElementsAre("a", ""));
}

TEST(TensorProtoTest, ReadsNarrowTypesFromInt32Data) {
  auto int8 = FromText("data_type: 3 dims: 3 int32_data: [-128, 127, 255]");
  ASSERT_TRUE(int8.ok()) << int8.status();
  EXPECT_THAT(int8->values<int8_t>(), ElementsAre(-128, 127, -1));
  auto half = FromText("data_type: 10 dims: 1 int32_data: 15360");
  ASSERT_TRUE(half.ok()) << half.status();
  EXPECT_EQ(static_cast<float>(half->data<Float16>()[0]), 1.0f);
  auto bools = FromText("data_type: 9 dims: 3 int32_data: [0, 1, 2]");
  ASSERT_TRUE(bools.ok()) << bools.status();
  EXPECT_THAT(bools->values<bool>(), ElementsAre(false, true, true));
  auto float8 = FromText("data_type: 17 dims: 1 int32_data: 56");
  ASSERT_TRUE(float8.ok()) << float8.status();
  EXPECT_THAT(BytesOf(*float8), ElementsAre(56));
}

TEST(TensorProtoTest, ReadsPackedSubByteTypes) {
  // Three 4-bit elements take two bytes, in raw data and as int32 entries.
  auto typed = FromText("data_type: 22 dims: 3 int32_data: [33, 3]");
  ASSERT_TRUE(typed.ok()) << typed.status();
  EXPECT_THAT(BytesOf(*typed), ElementsAre(33, 3));
  auto raw = FromText("data_type: 21 dims: 3 raw_data: \"\\x21\\x03\"");
  ASSERT_TRUE(raw.ok()) << raw.status();
  EXPECT_THAT(BytesOf(*raw), ElementsAre(0x21, 3));
  // Five 2-bit elements too.
  auto two_bits = FromText("data_type: 25 dims: 5 raw_data: \"\\x1b\\x02\"");
  ASSERT_TRUE(two_bits.ok()) << two_bits.status();
  EXPECT_THAT(BytesOf(*two_bits), ElementsAre(0x1b, 2));
}

TEST(TensorProtoTest, RawBoolsAreNormalized) {
  auto bools = FromText("data_type: 9 dims: 3 raw_data: \"\\x00\\x02\\xff\"");
  ASSERT_TRUE(bools.ok()) << bools.status();
  EXPECT_THAT(BytesOf(*bools), ElementsAre(0, 1, 1));
}

TEST(TensorProtoTest, EmptyRawDataBesideATypedFieldIsIgnored) {
  auto tensor = FromText("data_type: 1 dims: 1 raw_data: \"\" float_data: 3");
  ASSERT_TRUE(tensor.ok()) << tensor.status();
  EXPECT_THAT(tensor->values<float>(), ElementsAre(3.0f));
}

TEST(TensorProtoTest, TakesLargeRawDataOver) {
  onnx::TensorProto proto;
  proto.set_data_type(1);
  proto.add_dims(100000);
  proto.mutable_raw_data()->resize(400000, '\0');
  const void* before = proto.raw_data().data();
  auto tensor = TakeTensorFromProto(proto, nullptr);
  ASSERT_TRUE(tensor.ok()) << tensor.status();
  EXPECT_EQ(tensor->view().data, before);
  EXPECT_EQ(tensor->num_elements(), 100000);
}

struct BadTensor {
  const char* what;
  const char* text;
  const char* message;
};

class BadTensorTest : public ::testing::TestWithParam<BadTensor> {};

TEST_P(BadTensorTest, IsRefused) {
  auto tensor = FromText(GetParam().text);
  ASSERT_FALSE(tensor.ok());
  EXPECT_EQ(tensor.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(tensor.status().message()), HasSubstr(GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(
    All, BadTensorTest,
    ::testing::Values(
        BadTensor{"NoType", "dims: 1 float_data: 1", "element type code 0"},
        BadTensor{"UnknownType", "data_type: 99", "element type code 99"},
        BadTensor{"NegativeCode", "data_type: -1", "element type code -1"},
        BadTensor{"NegativeDim", "data_type: 1 dims: -2", "negative dimension"},
        BadTensor{"OverflowingDims", "data_type: 1 dims: [4294967296, 4294967296]", "63 bits"},
        BadTensor{"OverflowBesideZero", "data_type: 1 dims: [4294967296, 4294967296, 0]",
                  "63 bits"},
        BadTensor{"HugeWithoutData", "data_type: 1 dims: 1000000000000",
                  "has 0 entries, expected 1000000000000"},
        BadTensor{"HugeRaw", "name: \"w\" data_type: 1 dims: 1000000000000 raw_data: \"abcd\"",
                  "tensor \"w\": raw data has 4 bytes, expected 4000000000000"},
        BadTensor{"TooLargeForBytes", "data_type: 11 dims: 1152921504606846976", "too large"},
        BadTensor{"TruncatedRaw", "name: \"w\" data_type: 7 dims: 2 raw_data: \"12345678\"",
                  "raw data has 8 bytes, expected 16"},
        BadTensor{"TooMuchRaw", "data_type: 3 dims: 1 raw_data: \"12\"",
                  "raw data has 2 bytes, expected 1"},
        BadTensor{"TooFewFloats", "data_type: 1 dims: 3 float_data: 1", "expected 3"},
        BadTensor{"WrongField", "data_type: 1 dims: 1 int32_data: 1", "float_data has 0"},
        BadTensor{"RawStrings", "data_type: 8 dims: 1 raw_data: \"abc\"", "strings cannot"},
        BadTensor{"MissingStrings", "data_type: 8 dims: 2 string_data: \"a\"", "string_data has 1"},
        BadTensor{"DoesNotFitInt8", "data_type: 3 dims: 1 int32_data: 300", "does not fit in int8"},
        BadTensor{"DoesNotFitUint32", "data_type: 12 dims: 1 uint64_data: 4294967296",
                  "does not fit in uint32"},
        BadTensor{"Segment", "data_type: 1 dims: 1 float_data: 1 segment { begin: 0 end: 1 }",
                  "segments"},
        BadTensor{"ExternalWithoutDirectory", "data_type: 1 dims: 1 data_location: EXTERNAL",
                  "external data is not allowed here"}),
    [](const auto& param) { return param.param.what; });

class ExternalDataTest : public ::testing::Test {
 protected:
  ExternalDataTest() {
    char pattern[] = "/tmp/inferd_external_XXXXXX";
    root_ = mkdtemp(pattern);
    model_dir_ = absl::StrCat(root_, "/model");
    std::filesystem::create_directories(absl::StrCat(model_dir_, "/sub"));
    const float values[] = {1, 2, 3, 4};
    for (const char* file : {"/model/data.bin", "/model/sub/data.bin", "/outside.bin"}) {
      std::ofstream(root_ + file, std::ios::binary)
          .write(reinterpret_cast<const char*>(values), sizeof(values));
    }
  }
  ~ExternalDataTest() override { std::filesystem::remove_all(root_); }

  absl::StatusOr<Tensor> Read(const std::string& entries, const std::string& dims = "dims: 2") {
    ExternalDataReader reader(model_dir_);
    return TensorFromProto(
        Proto(absl::StrCat("name: \"w\" data_type: 1 data_location: EXTERNAL ", dims, entries)),
        &reader);
  }
  static std::string Entry(const std::string& key, const std::string& value) {
    return absl::StrCat(" external_data { key: \"", key, "\" value: \"", value, "\" }");
  }
  void ExpectRefused(const std::string& entries, const std::string& message) {
    auto tensor = Read(entries);
    ASSERT_FALSE(tensor.ok()) << entries;
    EXPECT_THAT(std::string(tensor.status().message()), HasSubstr("tensor \"w\""));
    EXPECT_THAT(std::string(tensor.status().message()), HasSubstr(message));
  }

  std::string root_;
  std::string model_dir_;
};

TEST_F(ExternalDataTest, ReadsARange) {
  auto tensor = Read(Entry("location", "data.bin") + Entry("offset", "4") + Entry("length", "8"));
  ASSERT_TRUE(tensor.ok()) << tensor.status();
  EXPECT_THAT(tensor->values<float>(), ElementsAre(2, 3));
  auto defaults = Read(Entry("location", "sub/data.bin"));
  ASSERT_TRUE(defaults.ok()) << defaults.status();
  EXPECT_THAT(defaults->values<float>(), ElementsAre(1, 2));
}

TEST_F(ExternalDataTest, TiedTensorsShareTheirBuffer) {
  ExternalDataReader reader(model_dir_);
  auto first = reader.Read("data.bin", 0, 8);
  auto second = reader.Read("data.bin", 0, 8);
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_EQ(first->get(), second->get());
}

TEST_F(ExternalDataTest, RefusesPathsOutOfTheDirectory) {
  ExpectRefused(Entry("location", "../outside.bin"), "leaves the model's directory");
  ExpectRefused(Entry("location", "sub/../../outside.bin"), "leaves the model's directory");
  ExpectRefused(Entry("location", "..\\\\outside.bin"), "leaves the model's directory");
  ExpectRefused(Entry("location", absl::StrCat(root_, "/outside.bin")), "absolute path");
  ExpectRefused(Entry("location", ""), "no location");
  ExpectRefused("", "no location");
  ExpectRefused(Entry("location", "data.bin\\000x"), "NUL byte");
}

TEST_F(ExternalDataTest, RefusesLinksOutOfTheDirectory) {
  std::filesystem::create_symlink("../outside.bin", model_dir_ + "/link.bin");
  ExpectRefused(Entry("location", "link.bin"), "is a link out of the model's directory");
  std::filesystem::create_directory_symlink("..", model_dir_ + "/up");
  ExpectRefused(Entry("location", "up/outside.bin"), "is a link out of the model's directory");
  std::filesystem::create_symlink("sub/data.bin", model_dir_ + "/inner.bin");
  EXPECT_TRUE(Read(Entry("location", "inner.bin")).ok());
}

TEST_F(ExternalDataTest, RefusesWhatIsNoRegularFile) {
  ExpectRefused(Entry("location", "sub"), "not a regular file");
  ExpectRefused(Entry("location", "missing.bin"), "does not exist");
  ASSERT_EQ(mkfifo((model_dir_ + "/pipe").c_str(), 0600), 0);
  ExpectRefused(Entry("location", "pipe"), "not a regular file");
}

TEST_F(ExternalDataTest, ChecksRangesBeforeAllocating) {
  ExpectRefused(Entry("location", "data.bin") + Entry("offset", "12"),
                "has 16 bytes, 8 were expected at offset 12");
  ExpectRefused(Entry("location", "data.bin") + Entry("offset", "-4"), "non-negative number");
  ExpectRefused(Entry("location", "data.bin") + Entry("offset", "x"), "non-negative number");
  ExpectRefused(Entry("location", "data.bin") + Entry("offset", "9223372036854775807"),
                "8 were expected at offset 9223372036854775807");
  ExpectRefused(Entry("location", "data.bin") + Entry("length", "12"),
                "external data has 12 bytes, expected 8");
  auto huge = Read(Entry("location", "data.bin"), "dims: 1000000000000");
  ASSERT_FALSE(huge.ok());
  EXPECT_THAT(std::string(huge.status().message()), HasSubstr("4000000000000 were expected"));
}

TEST_F(ExternalDataTest, WithoutADirectoryNothingIsRead) {
  ExternalDataReader reader("");
  auto buffer = reader.Read("data.bin", 0, 4);
  ASSERT_FALSE(buffer.ok());
  EXPECT_THAT(std::string(buffer.status().message()), HasSubstr("without a directory"));
}

absl::StatusOr<Tensor> Dense(const std::string& text, int64_t budget = 1 << 20) {
  onnx::SparseTensorProto proto;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &proto)) << text;
  return DenseFromSparseProto(proto, nullptr, &budget);
}

TEST(SparseTensorTest, BothIndexForms) {
  auto linear = Dense(
      "dims: [2, 3] values { data_type: 1 dims: 2 float_data: [5, 6] } "
      "indices { data_type: 7 dims: 2 int64_data: [1, 5] }");
  ASSERT_TRUE(linear.ok()) << linear.status();
  EXPECT_THAT(linear->values<float>(), ElementsAre(0, 5, 0, 0, 0, 6));
  auto coordinates = Dense(
      "dims: [2, 3] values { data_type: 7 dims: 2 int64_data: [5, 6] } "
      "indices { data_type: 7 dims: [2, 2] int64_data: [0, 1, 1, 2] }");
  ASSERT_TRUE(coordinates.ok()) << coordinates.status();
  EXPECT_THAT(coordinates->values<int64_t>(), ElementsAre(0, 5, 0, 0, 0, 6));
  auto packed = Dense(
      "dims: [4] values { data_type: 21 dims: 2 int32_data: [0xba] } "
      "indices { data_type: 7 dims: 2 int64_data: [1, 2] }");
  ASSERT_TRUE(packed.ok()) << packed.status();
  EXPECT_THAT(BytesOf(*packed), ElementsAre(0xa0, 0x0b));
}

TEST(SparseTensorTest, RefusesBadIndicesAndSizes) {
  const std::string values = "values { data_type: 1 dims: 1 float_data: 5 } ";
  auto expect = [](const std::string& text, const std::string& message) {
    auto dense = Dense(text);
    ASSERT_FALSE(dense.ok()) << text;
    EXPECT_THAT(std::string(dense.status().message()), HasSubstr(message));
  };
  expect("dims: 3 " + values + "indices { data_type: 7 dims: 1 int64_data: 3 }", "outside");
  expect("dims: 3 " + values + "indices { data_type: 7 dims: 1 int64_data: -1 }", "outside");
  expect("dims: 3 " + values + "indices { data_type: 1 dims: 1 float_data: 0 }", "expected int64");
  expect("dims: 3 " + values + "indices { data_type: 7 dims: 2 int64_data: [0, 1] }",
         "indices have shape [2]");
  expect("dims: 1000000000000 " + values + "indices { data_type: 7 dims: 1 int64_data: 3 }",
         "takes more than the");
  expect("dims: -1 " + values + "indices { data_type: 7 dims: 1 int64_data: 3 }", "negative");
}

}  // namespace
}  // namespace inferd::engine
