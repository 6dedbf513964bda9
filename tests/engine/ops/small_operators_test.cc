// Operators with a rule of a line or two: BitCast Det MaxRoiPool Shrink SwiGLU.
#include <cmath>
#include <limits>

#include "tests/engine/ops/op_tester.h"

namespace inferd::engine {
namespace {

using ::testing::HasSubstr;

int64_t Code(ElementType type) { return static_cast<int64_t>(type); }

TEST(BitCastTest, KeepsTheBits) {
  ASSERT_OK_AND_ASSIGN(const Tensor bits, OpTester("BitCast")
                                              .Attr("to", Code(ElementType::kUint32))
                                              .Input(MakeTensor<float>({1, 2}, {1, -2}))
                                              .Run1());
  EXPECT_THAT(bits, TensorIs<uint32_t>({1, 2}, {0x3f800000u, 0xc0000000u}));
  // Two elements a byte, three of them.
  ASSERT_OK_AND_ASSIGN(const Tensor packed,
                       OpTester("BitCast")
                           .Attr("to", Code(ElementType::kUint4))
                           .Input(MakeRaw(ElementType::kInt4, {3}, {0xf1, 0x08}))
                           .Run1());
  EXPECT_THAT(packed, IsCloseTo(MakeRaw(ElementType::kUint4, {3}, {0xf1, 0x08}), 0, 0));
  ASSERT_OK_AND_ASSIGN(const Tensor truth, OpTester("BitCast")
                                               .Attr("to", Code(ElementType::kBool))
                                               .Input(MakeTensor<uint8_t>({3}, {0, 1, 2}))
                                               .Run1());
  EXPECT_THAT(truth, TensorIs<bool>({3}, {false, true, true}));
}

TEST(BitCastTest, WidthsMustAgree) {
  const auto run = [](int64_t to) {
    return OpTester("BitCast").Attr("to", to).Input(MakeTensor<float>({1}, {1})).Run().status();
  };
  EXPECT_THAT(run(Code(ElementType::kInt64)),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("int64 of 64 bits")));
  for (int64_t to : {Code(ElementType::kString), int64_t{0}, int64_t{-1}, int64_t{1} << 40}) {
    EXPECT_THAT(run(to),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("attribute to is")));
  }
}

TEST(DetTest, MatricesOfAnySize) {
  ASSERT_OK_AND_ASSIGN(
      const Tensor two,
      OpTester("Det").Input(MakeTensor<float>({2, 2, 2}, {0, 2, 3, 4, 1, 2, 2, 4})).Run1());
  EXPECT_THAT(two, TensorIs<float>({2}, {-6, 0}));
  ASSERT_OK_AND_ASSIGN(
      const Tensor three,
      OpTester("Det").Input(MakeTensor<double>({3, 3}, {2, -3, 1, 2, 0, -1, 1, 4, 5})).Run1());
  EXPECT_THAT(three, TensorIs<double>({}, {49}, 1e-12));
  // A matrix of no elements is an identity.
  ASSERT_OK_AND_ASSIGN(const Tensor none, OpTester("Det").Input(RandomFloats({2, 0, 0}, 1)).Run1());
  EXPECT_THAT(none, TensorIs<float>({2}, {1, 1}));
  EXPECT_THAT(OpTester("Det").Input(RandomFloats({2, 3}, 1)).Run().status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("square")));
}

TEST(MaxRoiPoolTest, CellsOfARegionAndBeyondThePicture) {
  const Tensor x = MakeTensor<float>({1, 1, 3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9});
  const auto run = [&](std::initializer_list<float> roi) {
    return OpTester("MaxRoiPool")
        .Attr("pooled_shape", std::vector<int64_t>{2, 2})
        .Attr("spatial_scale", 0.5f)
        .Input(x)
        .Input(MakeTensor<float>({1, 5}, roi))
        .Run();
  };
  // Three elements each way: the two cells overlap in the middle one.
  ASSERT_OK_AND_ASSIGN(const auto whole, run({0, 0, 0, 4, 4}));
  EXPECT_THAT(whole[0], TensorIs<float>({1, 1, 2, 2}, {5, 6, 8, 9}));
  ASSERT_OK_AND_ASSIGN(const auto outside, run({0, 2, 2, 8, 4}));
  EXPECT_THAT(outside[0], TensorIs<float>({1, 1, 2, 2}, {6, 0, 9, 0}));
  EXPECT_THAT(run({1, 0, 0, 4, 4}).status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("image 1")));
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(run({0, nan, 1e30f, -1e30f, nan}).ok());
}

TEST(ShrinkTest, BiasOutsideTheInterval) {
  const auto run = [](Tensor x) {
    return OpTester("Shrink").Attr("lambd", 1.5f).Attr("bias", 1.0f).Input(std::move(x)).Run1();
  };
  ASSERT_OK_AND_ASSIGN(const Tensor y, run(MakeTensor<float>({5}, {-3, -1.5f, 0, 1.5f, 3})));
  EXPECT_THAT(y, TensorIs<float>({5}, {-2, 0, 0, 0, 2}));
  ASSERT_OK_AND_ASSIGN(const Tensor bytes, run(MakeTensor<uint8_t>({3}, {1, 2, 255})));
  EXPECT_THAT(bytes, TensorIs<uint8_t>({3}, {0, 1, 254}));
  ASSERT_OK_AND_ASSIGN(const Tensor wide, run(MakeTensor<int64_t>({2}, {INT64_MIN, -2})));
  EXPECT_THAT(wide, TensorIs<int64_t>({2}, {INT64_MIN, -1}));
}

TEST(SwiGluTest, SwishOfTheGateTimesTheValue) {
  ASSERT_OK_AND_ASSIGN(const Tensor y, OpTester("SwiGLU")
                                           .Attr("alpha", 2.0f)
                                           .Input(MakeTensor<float>({3}, {0, 1, -1}))
                                           .Input(MakeTensor<float>({3}, {5, 3, 2}))
                                           .Run1());
  const float sigmoid = 1 / (1 + std::exp(-2.0f));
  EXPECT_THAT(y, TensorIs<float>({3}, {0, 3 * sigmoid, -2 * (1 - sigmoid)}, 1e-6));
  EXPECT_THAT(
      OpTester("SwiGLU").Input(RandomFloats({3}, 1)).Input(RandomFloats({1}, 1)).Run().status(),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("equal")));
}

}  // namespace
}  // namespace inferd::engine
