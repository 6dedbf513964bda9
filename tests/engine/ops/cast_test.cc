// Cast between element types, and the low-precision formats behind it.
#include <cmath>
#include <cstdint>
#include <limits>

#include "engine/tensor/low_precision.h"
#include "tests/engine/ops/op_tester.h"

namespace inferd::engine {
namespace {

using ::testing::HasSubstr;
using enum ElementType;

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

OpTester CastTo(ElementType to, Tensor x) {
  OpTester tester("Cast");
  tester.Attr("to", static_cast<int64_t>(to)).Input(std::move(x));
  return tester;
}

TEST(CastTest, BetweenNumbers) {
  ASSERT_OK_AND_ASSIGN(
      const Tensor truncated,
      CastTo(kInt32, MakeTensor<float>({5}, {-1.9f, 1.9f, 300, kNan, -kInf})).Run1());
  EXPECT_EQ(truncated.data<int32_t>()[0], -1);
  EXPECT_EQ(truncated.data<int32_t>()[1], 1);
  EXPECT_EQ(truncated.data<int32_t>()[2], 300);
  ASSERT_OK_AND_ASSIGN(const Tensor narrowed,
                       CastTo(kInt8, MakeTensor<int16_t>({3}, {200, -129, 7})).Run1());
  EXPECT_THAT(narrowed, TensorIs<int8_t>({3}, {-56, 127, 7}));
  ASSERT_OK_AND_ASSIGN(const Tensor truth,
                       CastTo(kBool, MakeTensor<float>({4}, {0, -0.0f, 0.5f, kNan})).Run1());
  EXPECT_THAT(truth, TensorIs<bool>({4}, {false, false, true, true}));
  ASSERT_OK_AND_ASSIGN(const Tensor from_bool,
                       CastTo(kFloat64, MakeTensor<bool>({2}, {true, false})).Run1());
  EXPECT_THAT(from_bool, TensorIs<double>({2}, {1, 0}));
  constexpr uint64_t kBig = 0xFFFFFFFFFFFFFFFFu;
  ASSERT_OK_AND_ASSIGN(const Tensor big,
                       CastTo(kFloat64, MakeTensor<uint64_t>({1}, {kBig})).Run1());
  EXPECT_THAT(big, TensorIs<double>({1}, {0x1p64}));
  ASSERT_OK_AND_ASSIGN(const Tensor back,
                       CastTo(kUint64, MakeTensor<double>({1}, {0x1p63})).Run1());
  EXPECT_THAT(back, TensorIs<uint64_t>({1}, {uint64_t{1} << 63}));
}

TEST(CastTest, DoubleToHalfRoundsOnce) {
  // Just above halfway between 1 and the next half: through float it would tie and go down.
  const double x = 1 + 0x1p-11 + 0x1p-40;
  ASSERT_OK_AND_ASSIGN(const Tensor y, CastTo(kFloat16, MakeTensor<double>({1}, {x})).Run1());
  EXPECT_EQ(y.data<Float16>()->bits, 0x3C01);
  ASSERT_OK_AND_ASSIGN(const Tensor brain,
                       CastTo(kBfloat16, MakeTensor<double>({1}, {1 + 0x1p-8 + 0x1p-50})).Run1());
  EXPECT_EQ(brain.data<BFloat16>()->bits, 0x3F81);
}

TEST(CastTest, ManyElementsCrossBlocksAndThreads) {
  const Tensor x = RandomFloats({70001}, 1, -1000, 1000);
  ASSERT_OK_AND_ASSIGN(const Tensor ints, CastTo(kInt64, x).Run1());
  for (int64_t i = 0; i < x.num_elements(); ++i) {
    ASSERT_EQ(ints.data<int64_t>()[i], static_cast<int64_t>(x.data<float>()[i]));
  }
  ASSERT_OK_AND_ASSIGN(const Tensor nibbles, CastTo(kUint4, ints).Run1());
  ASSERT_OK_AND_ASSIGN(const Tensor bytes, CastTo(kUint8, nibbles).Run1());
  for (int64_t i = 0; i < x.num_elements(); ++i) {
    ASSERT_EQ(bytes.data<uint8_t>()[i], ints.data<int64_t>()[i] & 15);
  }
}

TEST(CastTest, SubByteIntegersWrapAndPackLowBitsFirst) {
  const Tensor x = MakeTensor<float>({5}, {-9, 7, 8, -1, 3});
  ASSERT_OK_AND_ASSIGN(const Tensor int4, CastTo(kInt4, x).Run1());
  EXPECT_THAT(int4, IsCloseTo(MakeRaw(kInt4, {5}, {0x77, 0xF8, 0x03}), 0, 0));
  ASSERT_OK_AND_ASSIGN(const Tensor back, CastTo(kInt8, int4).Run1());
  EXPECT_THAT(back, TensorIs<int8_t>({5}, {7, 7, -8, -1, 3}));
  ASSERT_OK_AND_ASSIGN(const Tensor int2, CastTo(kInt2, x).Run1());
  EXPECT_THAT(int2, IsCloseTo(MakeRaw(kInt2, {5}, {0xCF, 0x03}), 0, 0));
  ASSERT_OK_AND_ASSIGN(const Tensor uint2, CastTo(kUint2, x).Run1());
  ASSERT_OK_AND_ASSIGN(const Tensor uint2_back, CastTo(kInt32, uint2).Run1());
  EXPECT_THAT(uint2_back, TensorIs<int32_t>({5}, {3, 3, 0, 3, 3}));
}

TEST(CastTest, Float8Saturation) {
  const Tensor x = MakeTensor<float>({6}, {1e6f, -kInf, kNan, -0.0f, 0.4789f, 464});
  ASSERT_OK_AND_ASSIGN(const Tensor saturated, CastTo(kFloat8E4M3FN, x).Run1());
  EXPECT_THAT(saturated,
              IsCloseTo(MakeRaw(kFloat8E4M3FN, {6}, {0x7E, 0xFE, 0x7F, 0x80, 0x2F, 0x7E}), 0, 0));
  ASSERT_OK_AND_ASSIGN(const Tensor open,
                       CastTo(kFloat8E4M3FN, x).Attr("saturate", int64_t{0}).Run1());
  EXPECT_THAT(open,
              IsCloseTo(MakeRaw(kFloat8E4M3FN, {6}, {0x7F, 0xFF, 0x7F, 0x80, 0x2F, 0x7E}), 0, 0));
  ASSERT_OK_AND_ASSIGN(const Tensor e5m2,
                       CastTo(kFloat8E5M2, x).Attr("saturate", int64_t{0}).Run1());
  EXPECT_THAT(e5m2,
              IsCloseTo(MakeRaw(kFloat8E5M2, {6}, {0x7C, 0xFC, 0x7E, 0x80, 0x38, 0x5F}), 0, 0));
  ASSERT_OK_AND_ASSIGN(const Tensor uz, CastTo(kFloat8E5M2FNUZ, x).Run1());
  EXPECT_THAT(uz,
              IsCloseTo(MakeRaw(kFloat8E5M2FNUZ, {6}, {0x7F, 0xFF, 0x80, 0x00, 0x3C, 0x63}), 0, 0));
}

// Every code of every 8-bit kind survives the way to float and back.
TEST(CastTest, Float8CodesRoundTrip) {
  for (ElementType type : {kFloat8E4M3FN, kFloat8E4M3FNUZ, kFloat8E5M2, kFloat8E5M2FNUZ}) {
    for (int code = 0; code < 256; ++code) {
      const float value = LowPrecisionToFloat(type, static_cast<uint8_t>(code));
      const uint8_t back = FloatToFloat8(type, value, false);
      if (std::isnan(value)) {
        EXPECT_TRUE(std::isnan(LowPrecisionToFloat(type, back)));
      } else {
        EXPECT_EQ(back, code) << ElementTypeName(type);
      }
    }
  }
  for (int code = 0; code < 16; ++code) {
    EXPECT_EQ(FloatToFloat4E2M1(LowPrecisionToFloat(kFloat4E2M1, static_cast<uint8_t>(code))),
              code);
  }
}

// Between two neighbouring codes the nearer one wins; in the middle the even one.
TEST(CastTest, Float8RoundsToNearestEven) {
  for (ElementType type : {kFloat8E4M3FN, kFloat8E4M3FNUZ, kFloat8E5M2, kFloat8E5M2FNUZ}) {
    for (int code = 0; code < 0x7A; ++code) {
      const float low = LowPrecisionToFloat(type, static_cast<uint8_t>(code));
      const float high = LowPrecisionToFloat(type, static_cast<uint8_t>(code + 1));
      const float middle = low + (high - low) / 2;
      EXPECT_EQ(FloatToFloat8(type, std::nextafter(middle, low), true), code);
      EXPECT_EQ(FloatToFloat8(type, std::nextafter(middle, high), true), code + 1);
      EXPECT_EQ(FloatToFloat8(type, middle, true), code % 2 == 0 ? code : code + 1);
    }
  }
}

TEST(CastTest, Float4Saturates) {
  const Tensor x = MakeTensor<float>({8}, {0.48f, 0.25f, -3.5f, -8, 9, kInf, 5, 0.75f});
  ASSERT_OK_AND_ASSIGN(const Tensor y, CastTo(kFloat4E2M1, x).Run1());
  ASSERT_OK_AND_ASSIGN(const Tensor back, CastTo(kFloat32, y).Run1());
  EXPECT_THAT(back, TensorIs<float>({8}, {0.5f, 0, -4, -6, 6, 6, 4, 1}));
}

TEST(CastTest, E8M0Rounding) {
  const Tensor x = MakeTensor<float>({6}, {0, 1, 1.1f, 1.5f, kInf, kNan});
  const auto cast = [&](const char* mode, int64_t saturate) {
    return CastTo(kFloat8E8M0, x)
        .Attr("round_mode", std::string(mode))
        .Attr("saturate", saturate)
        .Run1();
  };
  ASSERT_OK_AND_ASSIGN(const Tensor up, cast("up", 1));
  EXPECT_THAT(up, IsCloseTo(MakeRaw(kFloat8E8M0, {6}, {0, 127, 128, 128, 254, 255}), 0, 0));
  ASSERT_OK_AND_ASSIGN(const Tensor down, cast("down", 1));
  EXPECT_THAT(down, IsCloseTo(MakeRaw(kFloat8E8M0, {6}, {0, 127, 127, 127, 254, 255}), 0, 0));
  ASSERT_OK_AND_ASSIGN(const Tensor nearest, cast("nearest", 0));
  EXPECT_THAT(nearest, IsCloseTo(MakeRaw(kFloat8E8M0, {6}, {255, 127, 127, 128, 255, 255}), 0, 0));
  EXPECT_THAT(cast("sideways", 1).status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("round_mode")));
}

TEST(CastTest, NumbersToStrings) {
  ASSERT_OK_AND_ASSIGN(const Tensor floats,
                       CastTo(kString, MakeTensor<float>({8}, {1, 0.1f, 314.15926f, 1e-5f, 1e16f,
                                                               kNan, -kInf, -0.5f}))
                           .Run1());
  EXPECT_THAT(floats, TensorIs<std::string>({8}, {"1.0", "0.1", "314.15927", "1e-05", "1e+16",
                                                  "NaN", "-INF", "-0.5"}));
  ASSERT_OK_AND_ASSIGN(const Tensor doubles,
                       CastTo(kString, MakeTensor<double>({2}, {0.1, 123456789.125})).Run1());
  EXPECT_THAT(doubles, TensorIs<std::string>({2}, {"0.1", "123456789.125"}));
  ASSERT_OK_AND_ASSIGN(const Tensor halves,
                       CastTo(kString, MakeFrom<Float16>({2}, {0.1f, 1000})).Run1());
  EXPECT_THAT(halves, TensorIs<std::string>({2}, {"0.1", "1000.0"}));
  ASSERT_OK_AND_ASSIGN(const Tensor ints,
                       CastTo(kString, MakeTensor<int64_t>({2}, {-5, 1234567890123})).Run1());
  EXPECT_THAT(ints, TensorIs<std::string>({2}, {"-5", "1234567890123"}));
}

TEST(CastTest, StringsToNumbers) {
  ASSERT_OK_AND_ASSIGN(const Tensor floats,
                       CastTo(kFloat32, MakeTensor<std::string>(
                                            {6}, {"3.14", " 1e-5", "+INF", "-inf", "nan", "1000"}))
                           .Run1());
  EXPECT_THAT(floats, TensorIs<float>({6}, {3.14f, 1e-5f, kInf, -kInf, kNan, 1000}));
  ASSERT_OK_AND_ASSIGN(
      const Tensor ints,
      CastTo(kInt64, MakeTensor<std::string>({3}, {"100.5", "-7", "9223372036854775807"})).Run1());
  EXPECT_THAT(ints, TensorIs<int64_t>({3}, {100, -7, std::numeric_limits<int64_t>::max()}));
  EXPECT_THAT(CastTo(kFloat32, MakeTensor<std::string>({1}, {"Hello"})).Run().status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("\"Hello\"")));
}

TEST(CastTest, BadTargetIsNamed) {
  EXPECT_THAT(
      OpTester("Cast").Attr("to", int64_t{99}).Input(MakeTensor<float>({1}, {1})).Run().status(),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("attribute to is 99")));
  EXPECT_THAT(OpTester("Cast").Input(MakeTensor<float>({1}, {1})).Run().status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("'to'")));
}

TEST(CastTest, ScalarsAndEmptyTensors) {
  ASSERT_OK_AND_ASSIGN(const Tensor scalar, CastTo(kInt4, MakeTensor<float>({}, {-3})).Run1());
  EXPECT_THAT(scalar, IsCloseTo(MakeRaw(kInt4, {}, {0x0D}), 0, 0));
  ASSERT_OK_AND_ASSIGN(const Tensor empty, CastTo(kInt8, MakeTensor<float>({0, 2}, {})).Run1());
  EXPECT_THAT(empty, TensorIs<int8_t>({0, 2}, {}));
}

TEST(CastLikeTest, TakesTheTypeOfItsSecondInput) {
  ASSERT_OK_AND_ASSIGN(const Tensor y, OpTester("CastLike")
                                           .Input(MakeTensor<float>({2}, {1.5f, -2.5f}))
                                           .Input(MakeTensor<int8_t>({}, {0}))
                                           .Run1());
  EXPECT_THAT(y, TensorIs<int8_t>({2}, {1, -2}));
}

}  // namespace
}  // namespace inferd::engine
