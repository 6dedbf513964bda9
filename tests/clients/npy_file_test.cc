#include "clients/inferctl/npy_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_replace.h"
#include "clients/inferctl/file.h"

namespace inferd::client {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Written by NumPy itself when the examples were made.
TEST(NpyFile, ReadsWhatNumpyWrote) {
  const auto bytes = ReadFile("examples/data/digits/test_images.npy");
  ASSERT_TRUE(bytes.ok()) << bytes.status();
  const auto array = ParseNpy(*bytes);
  ASSERT_TRUE(array.ok()) << array.status();
  EXPECT_EQ(array->type, engine::ElementType::kUint8);
  EXPECT_THAT(array->shape, ElementsAre(360, 1, 8, 8));
  EXPECT_EQ(array->data.size(), 360u * 64);
}

TEST(NpyFile, RoundTrips) {
  const std::string data(12, '\x2a');
  for (const std::vector<int64_t>& shape : {std::vector<int64_t>{3}, {1, 3}, {3, 1, 1}}) {
    const auto bytes = FormatNpy(engine::ElementType::kFloat32, shape, data);
    ASSERT_TRUE(bytes.ok());
    const auto array = ParseNpy(*bytes);
    ASSERT_TRUE(array.ok()) << array.status();
    EXPECT_EQ(array->shape, shape);
    EXPECT_EQ(array->data, data);
    EXPECT_EQ((bytes->size() - data.size()) % 64, 0u);
  }
}

TEST(NpyFile, ScalarHasNoDimensions) {
  const auto bytes = FormatNpy(engine::ElementType::kInt8, {}, "x");
  EXPECT_TRUE(ParseNpy(*bytes)->shape.empty());
}

TEST(NpyFile, RefusesWhatDoesNotFit) {
  const std::string good = *FormatNpy(engine::ElementType::kFloat32, {3}, std::string(12, 'x'));
  EXPECT_THAT(std::string(ParseNpy(good.substr(0, good.size() - 1)).status().message()),
              HasSubstr("needs 3 elements, the file has 11 bytes"));
  EXPECT_FALSE(ParseNpy("").ok());
  EXPECT_FALSE(ParseNpy("\x93NUMPY").ok());
  EXPECT_FALSE(ParseNpy(good.substr(0, 20)).ok());
  EXPECT_THAT(std::string(ParseNpy(absl::StrReplaceAll(good, {{"<f4", ">f4"}})).status().message()),
              HasSubstr("'>f4' are not supported"));
  EXPECT_THAT(
      std::string(ParseNpy(absl::StrReplaceAll(good, {{"False", "True "}})).status().message()),
      HasSubstr("Fortran"));
  EXPECT_FALSE(ParseNpy(absl::StrReplaceAll(good, {{"(3,)", "(-3)"}})).ok());
}

}  // namespace
}  // namespace inferd::client
