#include "engine/tensor/npy_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "engine/whole_file.h"

namespace inferd::engine {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string Npy(const std::string& header, const std::string& data) {
  std::string bytes("\x93NUMPY\x01\x00", 8);
  bytes += static_cast<char>(header.size() & 255);
  bytes += static_cast<char>(header.size() >> 8);
  return bytes + header + data;
}

std::string ErrorOf(absl::string_view bytes) {
  return std::string(ParseNpy(bytes).status().message());
}

// Written by NumPy itself when the examples were made.
TEST(NpyFileTest, ReadsWhatNumpyWrote) {
  const auto tensor = ReadNpyFile("examples/data/digits/test_images.npy");
  ASSERT_TRUE(tensor.ok()) << tensor.status();
  EXPECT_EQ(tensor->type(), ElementType::kUint8);
  EXPECT_EQ(tensor->shape(), (Shape{360, 1, 8, 8}));
  EXPECT_EQ(tensor->num_bytes(), 360 * 64);
}

TEST(NpyFileTest, Reads) {
  const float values[] = {1, 2, 3, 4, 5, 6};
  const std::string data(reinterpret_cast<const char*>(values), sizeof(values));
  auto t = ParseNpy(Npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }\n", data));
  ASSERT_TRUE(t.ok()) << t.status();
  EXPECT_EQ(t->shape(), (Shape{2, 3}));
  EXPECT_THAT(t->values<float>(), ElementsAre(1, 2, 3, 4, 5, 6));
  auto scalar = ParseNpy(Npy("{'descr': '|b1', 'fortran_order': False, 'shape': (), }", "\1"));
  ASSERT_TRUE(scalar.ok()) << scalar.status();
  EXPECT_EQ(scalar->shape().rank(), 0);
  auto row = ParseNpy(Npy("{'descr': '|u1', 'fortran_order': True, 'shape': (2,), }", "\1\2"));
  ASSERT_TRUE(row.ok()) << row.status();
  EXPECT_THAT(row->values<uint8_t>(), ElementsAre(1, 2));
}

TEST(NpyFileTest, LongHeadersHaveFourBytesOfLength) {
  const std::string header = "{'descr': '<i2', 'fortran_order': False, 'shape': (1,), }";
  for (const char version : {'\x02', '\x03'}) {
    const std::string start =
        absl::StrCat(absl::string_view("\x93NUMPY", 6), absl::string_view(&version, 1),
                     absl::string_view("\0", 1), std::string(1, static_cast<char>(header.size())),
                     std::string(3, '\0'));
    const auto tensor = ParseNpy(absl::StrCat(start, header, "\x05", std::string(1, '\0')));
    ASSERT_TRUE(tensor.ok()) << tensor.status();
    EXPECT_THAT(tensor->values<int16_t>(), ElementsAre(5));
  }
}

TEST(NpyFileTest, RefusesWhatItCannotRead) {
  const std::string good =
      Npy("{'descr': '<i8', 'fortran_order': False, 'shape': (1,), }", "12345678");
  ASSERT_TRUE(ParseNpy(good).ok());
  for (size_t n = 0; n < good.size(); ++n) EXPECT_FALSE(ParseNpy(good.substr(0, n)).ok()) << n;
  EXPECT_FALSE(ParseNpy(good + "x").ok());
  EXPECT_THAT(ErrorOf(absl::StrReplaceAll(good, {{"<i8", ">i8"}})),
              HasSubstr("'>i8' are not supported"));
  EXPECT_THAT(ErrorOf(absl::StrReplaceAll(good, {{"(1,)", "(-1)"}})), HasSubstr("(-1) is not one"));
  EXPECT_THAT(ErrorOf(Npy("{'descr': '<i8', 'fortran_order': True, 'shape': (1,1), }", "12345678")),
              HasSubstr("Fortran"));
  EXPECT_THAT(ErrorOf(Npy("{'descr': '<i8', 'fortran_order': False, "
                          "'shape': (9999999999,9999999999,9999999999)}",
                          "")),
              HasSubstr("63 bits"));
  EXPECT_THAT(ErrorOf(Npy("{'descr': [('a', '<i8')], 'fortran_order': False, 'shape': (1,), }",
                          "12345678")),
              HasSubstr("descr in its header is not a plain one"));
  EXPECT_THAT(ErrorOf(Npy("{'shape'", "")), HasSubstr("no descr"));
  EXPECT_THAT(ErrorOf(Npy("{'descr': '<i8', 'shape': (1,), }", "12345678")),
              HasSubstr("no fortran_order"));
  std::string next_version = good;
  next_version[6] = 4;
  EXPECT_THAT(ErrorOf(next_version), HasSubstr("format version 4 is unknown"));
}

TEST(NpyFileTest, RoundTrips) {
  const float values[] = {1, 2, 3};
  for (const Shape& shape : {Shape{3}, Shape{1, 3}, Shape{3, 1, 1}}) {
    const Tensor tensor = Tensor::FromValues<float>(shape, values);
    const auto bytes = FormatNpy(tensor.view());
    ASSERT_TRUE(bytes.ok()) << bytes.status();
    EXPECT_EQ((bytes->size() - sizeof(values)) % 64, 0u);
    const auto back = ParseNpy(*bytes);
    ASSERT_TRUE(back.ok()) << back.status();
    EXPECT_EQ(back->shape(), shape);
    EXPECT_THAT(back->values<float>(), ElementsAre(1, 2, 3));
    EXPECT_THAT(ErrorOf(bytes->substr(0, bytes->size() - 1)),
                HasSubstr("needs 3 elements, the file has 11 bytes"));
  }
}

TEST(NpyFileTest, EveryTypeNumpyNamesRoundTrips) {
  using enum ElementType;
  for (ElementType type : {kFloat32, kFloat64, kFloat16, kInt8, kInt16, kInt32, kInt64, kUint8,
                           kUint16, kUint32, kUint64, kBool, kComplex64, kComplex128}) {
    const Tensor empty = *Tensor::Allocate(type, Shape{0, 2});
    const auto bytes = FormatNpy(empty.view());
    ASSERT_TRUE(bytes.ok()) << bytes.status();
    const auto back = ParseNpy(*bytes);
    ASSERT_TRUE(back.ok()) << back.status();
    EXPECT_EQ(back->type(), type);
    EXPECT_EQ(back->shape(), (Shape{0, 2}));
  }
}

TEST(NpyFileTest, FormatsOnlyWhatNumpyHas) {
  const Tensor scalar = Tensor::Scalar<int8_t>('x');
  EXPECT_EQ(ParseNpy(*FormatNpy(scalar.view()))->shape().rank(), 0);
  const Tensor text = *Tensor::Allocate(ElementType::kString, Shape{1});
  EXPECT_EQ(FormatNpy(text.view()).status().code(), absl::StatusCode::kUnimplemented);
  const Tensor bfloat = *Tensor::Allocate(ElementType::kBfloat16, Shape{1});
  EXPECT_EQ(FormatNpy(bfloat.view()).status().code(), absl::StatusCode::kUnimplemented);
  const Tensor image = *Tensor::Allocate(ElementType::kFloat32, Shape{1, 8, 1, 1});
  TensorView blocked = image.view();
  blocked.layout = Layout::Blocked(8);
  EXPECT_EQ(FormatNpy(blocked).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(NpyFileTest, FilesAreNamedInErrors) {
  const std::string path = absl::StrCat(::testing::TempDir(), "/npy_file_test.npy");
  const Tensor tensor = Tensor::Vector({4, 5});
  ASSERT_TRUE(WriteNpyFile(path, tensor.view()).ok());
  const auto back = ReadNpyFile(path);
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_THAT(back->values<int64_t>(), ElementsAre(4, 5));
  ASSERT_TRUE(WriteFile(path, "no array").ok());
  EXPECT_THAT(std::string(ReadNpyFile(path).status().message()), HasSubstr(path));
  std::filesystem::remove(path);
  EXPECT_EQ(ReadNpyFile(path).status().code(), absl::StatusCode::kNotFound);
  EXPECT_FALSE(ReadNpyFile(::testing::TempDir()).ok()) << "a directory";
  EXPECT_FALSE(WriteNpyFile(::testing::TempDir(), tensor.view()).ok());
}

}  // namespace
}  // namespace inferd::engine
