#include "engine/tensor/tensor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace inferd::engine {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(ElementType, NamesRoundTripAndCodesFollowOnnx) {
  for (int i = 1; i < kNumElementTypes; ++i) {
    const auto type = static_cast<ElementType>(i);
    EXPECT_EQ(ElementTypeFromName(ElementTypeName(type)), type);
    EXPECT_EQ(ElementTypeFromOnnx(i), type);
    EXPECT_GT(ElementBits(type), 0);
  }
  EXPECT_EQ(ElementTypeFromOnnx(1), ElementType::kFloat32);
  EXPECT_EQ(ElementTypeFromOnnx(16), ElementType::kBfloat16);
  EXPECT_FALSE(ElementTypeFromOnnx(99).has_value());
  EXPECT_FALSE(ElementTypeFromOnnx(-1).has_value());
}

TEST(ElementType, SubByteTypesRoundUpToBytes) {
  EXPECT_EQ(ElementBytes(ElementType::kInt4, 3), 2);
  EXPECT_EQ(ElementBytes(ElementType::kInt2, 5), 2);
  EXPECT_EQ(ElementBytes(ElementType::kFloat32, 3), 12);
}

// Against the compiler's own half type, over every bit pattern and many floats around ties.
TEST(Float16, ConvertsAsTheHardwareDoes) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto half = Float16::FromBits(static_cast<uint16_t>(bits));
    const float expected = static_cast<float>(std::bit_cast<_Float16>(half.bits));
    const float got = half;
    if (std::isnan(expected)) {
      EXPECT_TRUE(std::isnan(got));
    } else {
      ASSERT_EQ(std::bit_cast<uint32_t>(got), std::bit_cast<uint32_t>(expected)) << bits;
      ASSERT_EQ(Float16(got).bits, half.bits);
    }
  }
  uint32_t state = 1;
  for (int i = 0; i < 2000000; ++i) {
    state = state * 1664525u + 1013904223u;
    const float value = std::bit_cast<float>(state);
    if (std::isnan(value)) continue;
    const auto expected = std::bit_cast<uint16_t>(static_cast<_Float16>(value));
    ASSERT_EQ(Float16(value).bits, expected) << value;
  }
}

TEST(BFloat16, RoundsToNearestEven) {
  EXPECT_EQ(BFloat16(1.0f).bits, 0x3f80);
  EXPECT_EQ(BFloat16(std::bit_cast<float>(0x3f808000u)).bits, 0x3f80);  // tie, even below
  EXPECT_EQ(BFloat16(std::bit_cast<float>(0x3f818000u)).bits, 0x3f82);  // tie, even above
  EXPECT_EQ(BFloat16(std::bit_cast<float>(0x3f808001u)).bits, 0x3f81);
  EXPECT_TRUE(std::isnan(static_cast<float>(BFloat16(NAN))));
  EXPECT_EQ(static_cast<float>(BFloat16(INFINITY)), INFINITY);
}

TEST(Shape, CountsWithOverflowChecks) {
  EXPECT_EQ(*Shape({2, 3}).CheckedNumElements(), 6);
  EXPECT_EQ(*Shape({}).CheckedNumElements(), 1);
  EXPECT_EQ(*Shape({int64_t{1} << 40, 0, 8}).CheckedNumElements(), 0);
  EXPECT_FALSE(Shape({int64_t{1} << 62, 0, 8}).CheckedNumElements().ok());
  EXPECT_FALSE(Shape({int64_t{1} << 62, 8}).CheckedNumElements().ok());
  EXPECT_FALSE(Shape({2, -1}).CheckedNumElements().ok());
}

TEST(Shape, Broadcasts) {
  EXPECT_EQ(*BroadcastShapes({2, 1, 4}, {3, 1}), Shape({2, 3, 4}));
  EXPECT_EQ(*BroadcastShapes({}, {5}), Shape({5}));
  EXPECT_EQ(*BroadcastShapes({0}, {1}), Shape({0}));
  const auto bad = BroadcastShapes({2}, {3});
  ASSERT_FALSE(bad.ok());
  EXPECT_THAT(std::string(bad.status().message()), HasSubstr("[2] and [3]"));
}

TEST(Layout, BlockedTensorsPadTheirChannels) {
  EXPECT_EQ(Layout::Blocked(8).PhysicalElements({2, 3, 5, 5}), 2 * 8 * 25);
  EXPECT_EQ(Layout::Plain().PhysicalElements({2, 3, 5, 5}), 2 * 3 * 25);
}

TEST(Tensor, SharesItsBuffer) {
  Tensor a = Tensor::FromValues<float>({2}, {1, 2});
  EXPECT_TRUE(a.buffer()->unique());
  Tensor b = a;
  EXPECT_FALSE(a.buffer()->unique());
  b.mutable_data<float>()[0] = 7;
  EXPECT_THAT(a.values<float>(), ElementsAre(7, 2));
  EXPECT_EQ(reinterpret_cast<uintptr_t>(a.view().data) % kBufferAlignment, 0u);
}

TEST(Tensor, RefusesWhatNoMemoryHolds) {
  EXPECT_EQ(Tensor::Allocate(ElementType::kFloat32, {int64_t{1} << 46}).status().code(),
            absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(Tensor::Allocate(ElementType::kFloat32, {int64_t{1} << 62}).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_FALSE(Tensor::Allocate(ElementType::kFloat32, {-1}).ok());
  EXPECT_FALSE(Tensor::Allocate(ElementType::kUndefined, {1}).ok());
}

TEST(Tensor, StringsAreObjects) {
  Tensor t = Tensor::FromValues<std::string>({2}, {"a", std::string(100, 'x')});
  EXPECT_EQ(t.values<std::string>()[1].size(), 100u);
}

TEST(Tensor, ExternalMemoryKeepsItsOwner) {
  auto owner = std::make_shared<std::vector<float>>(4, 1.5f);
  std::weak_ptr<std::vector<float>> watch = owner;
  {
    Tensor t(ElementType::kFloat32, {4}, WrapExternalMemory(owner->data(), 16, owner));
    owner.reset();
    EXPECT_EQ(t.values<float>()[3], 1.5f);
    EXPECT_FALSE(watch.expired());
  }
  EXPECT_TRUE(watch.expired());
}

TEST(Tensor, IntegersOfAnyWidthBecomeInt64) {
  EXPECT_THAT(*ToInt64Vector(Tensor::FromValues<int32_t>({2}, {-1, 5}).view()), ElementsAre(-1, 5));
  EXPECT_FALSE(ToInt64Vector(Tensor::Scalar(1.0f).view()).ok());
}

}  // namespace
}  // namespace inferd::engine
