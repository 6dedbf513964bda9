// Unique.
#include <cmath>
#include <limits>

#include "tests/engine/ops/op_tester.h"

namespace inferd::engine {
namespace {

using ::testing::HasSubstr;

TEST(UniqueTest, SortedOrByFirstOccurrence) {
  const Tensor x = MakeTensor<float>({2, 3}, {2, 1, 1, 3, 4, 3});
  ASSERT_OK_AND_ASSIGN(const auto sorted, OpTester("Unique").Input(x).Outputs(4).Run());
  EXPECT_THAT(sorted[0], TensorIs<float>({4}, {1, 2, 3, 4}));
  EXPECT_THAT(sorted[1], TensorIs<int64_t>({4}, {1, 0, 3, 4}));
  EXPECT_THAT(sorted[2], TensorIs<int64_t>({6}, {1, 0, 0, 2, 3, 2}));
  EXPECT_THAT(sorted[3], TensorIs<int64_t>({4}, {2, 1, 2, 1}));
  ASSERT_OK_AND_ASSIGN(
      const auto seen,
      OpTester("Unique").Attr("sorted", int64_t{0}).Input(x).Outputs(4, {1}).Run());
  EXPECT_THAT(seen[0], TensorIs<float>({4}, {2, 1, 3, 4}));
  EXPECT_THAT(seen[2], TensorIs<int64_t>({6}, {0, 1, 1, 2, 3, 2}));
  EXPECT_THAT(seen[3], TensorIs<int64_t>({4}, {1, 2, 2, 1}));
}

TEST(UniqueTest, SlicesAlongAnAxis) {
  const Tensor x = MakeTensor<int32_t>({2, 3}, {5, 1, 5, 6, 9, 6});
  ASSERT_OK_AND_ASSIGN(const auto y,
                       OpTester("Unique").Attr("axis", int64_t{-1}).Input(x).Outputs(4).Run());
  EXPECT_THAT(y[0], TensorIs<int32_t>({2, 2}, {1, 5, 9, 6}));
  EXPECT_THAT(y[1], TensorIs<int64_t>({2}, {1, 0}));
  EXPECT_THAT(y[2], TensorIs<int64_t>({3}, {1, 0, 1}));
  EXPECT_THAT(y[3], TensorIs<int64_t>({2}, {1, 2}));
}

TEST(UniqueTest, StringsHalvesAndNan) {
  ASSERT_OK_AND_ASSIGN(
      const Tensor text,
      OpTester("Unique").Input(MakeTensor<std::string>({4}, {"b", "a", "b", ""})).Run1());
  EXPECT_THAT(text, TensorIs<std::string>({3}, {"", "a", "b"}));
  const float nan = std::numeric_limits<float>::quiet_NaN();
  ASSERT_OK_AND_ASSIGN(const Tensor half,
                       OpTester("Unique").Input(MakeFrom<Float16>({4}, {nan, 1, nan, -1})).Run1());
  EXPECT_THAT(half, TensorIsFrom<Float16>({3}, {-1, 1, nan}));
}

TEST(UniqueTest, EmptyInputAndBadAxis) {
  ASSERT_OK_AND_ASSIGN(const auto y,
                       OpTester("Unique").Input(RandomFloats({0, 3}, 1)).Outputs(4).Run());
  for (const Tensor& t : y) EXPECT_EQ(t.shape(), (Shape{0}));
  EXPECT_THAT(
      OpTester("Unique").Attr("axis", int64_t{2}).Input(RandomFloats({2, 3}, 1)).Run().status(),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("attribute axis is 2")));
}

}  // namespace
}  // namespace inferd::engine
