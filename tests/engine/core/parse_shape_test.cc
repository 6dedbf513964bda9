#include "engine/tensor/parse_shape.h"

#include <gtest/gtest.h>

namespace inferd::engine {
namespace {

TEST(ParseShapeTest, BothSeparatorsAndScalars) {
  EXPECT_EQ(*ParseShape("1x3x224x224"), (Shape{1, 3, 224, 224}));
  EXPECT_EQ(*ParseShape("1,3,8"), (Shape{1, 3, 8}));
  EXPECT_EQ(*ParseShape("0"), Shape{0});
  EXPECT_EQ(*ParseShape("scalar"), Shape{});
  EXPECT_EQ(*ParseShape(""), Shape{});
}

TEST(ParseShapeTest, RefusesTheRest) {
  for (const char* bad : {"x", "1x", "1x-2", "axb", "1 x 2y", "1xq", "9999999999x9999999999"}) {
    EXPECT_EQ(ParseShape(bad).status().code(), absl::StatusCode::kInvalidArgument) << bad;
  }
}

}  // namespace
}  // namespace inferd::engine
