// Operators that make or inspect tensors rather than compute with them: Identity Dropout Shape
// Size ConstantOfShape Range EyeLike Trilu NonZero.
#include <cstdint>
#include <limits>

#include "tests/engine/ops/op_tester.h"

namespace inferd::engine {
namespace {

using ::testing::HasSubstr;

TEST(IdentityTest, AnyElementType) {
  const Tensor text = MakeTensor<std::string>({2}, {"a", "b"});
  ASSERT_OK_AND_ASSIGN(const Tensor y, OpTester("Identity").Input(text).Run1());
  EXPECT_THAT(y, IsCloseTo(text, 0, 0));
  const Tensor packed = MakeRaw(ElementType::kInt4, {3}, {0x21, 0x03});
  ASSERT_OK_AND_ASSIGN(const Tensor z, OpTester("Identity").Input(packed).Run1());
  EXPECT_THAT(z, IsCloseTo(packed, 0, 0));
}

TEST(DropoutTest, InferencePassesThrough) {
  const Tensor x = MakeTensor<float>({2, 2}, {1, 2, 3, 4});
  ASSERT_OK_AND_ASSIGN(const auto y, OpTester("Dropout").Input(x).Outputs(2).Run());
  EXPECT_THAT(y[0], IsCloseTo(x, 0, 0));
  EXPECT_THAT(y[1], TensorIs<bool>({2, 2}, {true, true, true, true}));
}

TEST(DropoutTest, TrainingDropsTheGivenShareAndScalesTheRest) {
  const Tensor x = Tensor::FromValues<float>({100000}, std::vector<float>(100000, 1.0f));
  const auto run = [&](int64_t seed) {
    return OpTester("Dropout")
        .Attr("seed", seed)
        .Input(x)
        .Input(MakeTensor<float>({}, {0.25f}))
        .Input(MakeTensor<bool>({}, {true}))
        .Outputs(2)
        .Run();
  };
  ASSERT_OK_AND_ASSIGN(const auto y, run(7));
  int64_t kept = 0;
  for (int64_t i = 0; i < x.num_elements(); ++i) {
    const bool keep = y[1].data<bool>()[i];
    kept += keep;
    ASSERT_EQ(y[0].data<float>()[i], keep ? 1 / 0.75f : 0.0f);
  }
  // Six standard deviations of a binomial distribution.
  EXPECT_NEAR(static_cast<double>(kept), 75000, 6 * 137);
  ASSERT_OK_AND_ASSIGN(const auto same, run(7));
  EXPECT_THAT(same[1], IsCloseTo(y[1], 0, 0));
  ASSERT_OK_AND_ASSIGN(const auto other, run(8));
  EXPECT_FALSE(TensorsClose(other[1], y[1]));
}

TEST(DropoutTest, RatioOutOfRangeIsRefused) {
  EXPECT_THAT(OpTester("Dropout")
                  .Input(MakeTensor<float>({1}, {1}))
                  .Input(MakeTensor<float>({}, {1}))
                  .Input(MakeTensor<bool>({}, {true}))
                  .Run()
                  .status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("[0, 1)")));
}

TEST(ShapeTest, SlicesOfTheShape) {
  const Tensor x = RandomFloats({2, 3, 4}, 1);
  const auto run = [&](int64_t start, int64_t end) {
    return OpTester("Shape").Attr("start", start).Attr("end", end).Input(x).Run1();
  };
  ASSERT_OK_AND_ASSIGN(const Tensor all, OpTester("Shape").Input(x).Run1());
  EXPECT_THAT(all, TensorIs<int64_t>({3}, {2, 3, 4}));
  ASSERT_OK_AND_ASSIGN(const Tensor inner, run(1, -1));
  EXPECT_THAT(inner, TensorIs<int64_t>({1}, {3}));
  ASSERT_OK_AND_ASSIGN(const Tensor clamped, run(-10, 100));
  EXPECT_THAT(clamped, TensorIs<int64_t>({3}, {2, 3, 4}));
  ASSERT_OK_AND_ASSIGN(const Tensor none, run(2, 1));
  EXPECT_THAT(none, TensorIs<int64_t>({0}, {}));
  ASSERT_OK_AND_ASSIGN(const Tensor scalar,
                       OpTester("Shape").Input(MakeTensor<bool>({}, {true})).Run1());
  EXPECT_THAT(scalar, TensorIs<int64_t>({0}, {}));
  ASSERT_OK_AND_ASSIGN(const Tensor size, OpTester("Size").Input(x).Run1());
  EXPECT_THAT(size, TensorIs<int64_t>({}, {24}));
}

TEST(ConstantOfShapeTest, ValuesAndShapes) {
  ASSERT_OK_AND_ASSIGN(const Tensor zeros,
                       OpTester("ConstantOfShape").Input(Tensor::Vector({2, 2})).Run1());
  EXPECT_THAT(zeros, TensorIs<float>({2, 2}, {0, 0, 0, 0}));
  ASSERT_OK_AND_ASSIGN(const Tensor ints, OpTester("ConstantOfShape")
                                              .Attr("value", MakeTensor<int64_t>({1}, {7}))
                                              .Input(Tensor::Vector({3}))
                                              .Run1());
  EXPECT_THAT(ints, TensorIs<int64_t>({3}, {7, 7, 7}));
  ASSERT_OK_AND_ASSIGN(const Tensor packed,
                       OpTester("ConstantOfShape")
                           .Attr("value", MakeRaw(ElementType::kUint4, {1}, {0x5}))
                           .Input(Tensor::Vector({3}))
                           .Run1());
  EXPECT_THAT(packed, IsCloseTo(MakeRaw(ElementType::kUint4, {3}, {0x55, 0x05}), 0, 0));
  ASSERT_OK_AND_ASSIGN(const Tensor scalar, OpTester("ConstantOfShape")
                                                .Attr("value", MakeTensor<bool>({1}, {true}))
                                                .Input(Tensor::Vector({}))
                                                .Run1());
  EXPECT_THAT(scalar, TensorIs<bool>({}, {true}));
  ASSERT_OK_AND_ASSIGN(const Tensor empty,
                       OpTester("ConstantOfShape").Input(Tensor::Vector({0, 3})).Run1());
  EXPECT_THAT(empty, TensorIs<float>({0, 3}, {}));
}

TEST(ConstantOfShapeTest, AbsurdShapesAreRefused) {
  EXPECT_THAT(OpTester("ConstantOfShape").Input(Tensor::Vector({2, -1})).Run().status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("-1")));
  constexpr int64_t kHuge = int64_t{1} << 62;
  EXPECT_FALSE(OpTester("ConstantOfShape").Input(Tensor::Vector({kHuge, kHuge})).Run().ok());
  OpTester tester("ConstantOfShape");
  tester.Input(Tensor::Vector({1}));
  const ValueType types[] = {ValueType::TensorOf(ElementType::kInt64, Shape{kHuge})};
  EXPECT_THAT(tester.Infer(types).status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("dimensions")));
}

template <typename T>
absl::StatusOr<Tensor> RunRange(T start, T limit, T delta) {
  return OpTester("Range")
      .Input(MakeTensor<T>({}, {start}))
      .Input(MakeTensor<T>({}, {limit}))
      .Input(MakeTensor<T>({}, {delta}))
      .Run1();
}

TEST(RangeTest, CountsUpAndDown) {
  ASSERT_OK_AND_ASSIGN(const Tensor up, RunRange<int64_t>(3, 10, 3));
  EXPECT_THAT(up, TensorIs<int64_t>({3}, {3, 6, 9}));
  ASSERT_OK_AND_ASSIGN(const Tensor down, RunRange<int32_t>(10, 4, -2));
  EXPECT_THAT(down, TensorIs<int32_t>({3}, {10, 8, 6}));
  ASSERT_OK_AND_ASSIGN(const Tensor none, RunRange<int64_t>(3, 3, 1));
  EXPECT_THAT(none, TensorIs<int64_t>({0}, {}));
  ASSERT_OK_AND_ASSIGN(const Tensor real, RunRange<float>(1, 2, 0.25f));
  EXPECT_THAT(real, TensorIs<float>({4}, {1, 1.25f, 1.5f, 1.75f}));
  ASSERT_OK_AND_ASSIGN(const Tensor half,
                       RunRange<Float16>(Float16(1.0f), Float16(5.0f), Float16(2.0f)));
  EXPECT_THAT(half, TensorIsFrom<Float16>({2}, {1, 3}));
}

TEST(RangeTest, ExtremesAreRefusedOrRight) {
  constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  EXPECT_THAT(RunRange<int64_t>(0, 5, 0).status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("delta")));
  EXPECT_FALSE(RunRange<int64_t>(kMin, kMax, 1).ok());
  ASSERT_OK_AND_ASSIGN(const Tensor wide, RunRange<int64_t>(kMin, kMax, kMax));
  EXPECT_THAT(wide, TensorIs<int64_t>({3}, {kMin, -1, kMax - 1}));
  ASSERT_OK_AND_ASSIGN(const Tensor back, RunRange<int64_t>(kMax, kMin, kMin));
  EXPECT_THAT(back, TensorIs<int64_t>({2}, {kMax, -1}));
  EXPECT_FALSE(RunRange<float>(0, std::numeric_limits<float>::infinity(), 1).ok());
}

TEST(EyeLikeTest, DiagonalsAndTypes) {
  const Tensor x = MakeTensor<int32_t>({2, 3}, {9, 9, 9, 9, 9, 9});
  ASSERT_OK_AND_ASSIGN(const Tensor main, OpTester("EyeLike").Input(x).Run1());
  EXPECT_THAT(main, TensorIs<int32_t>({2, 3}, {1, 0, 0, 0, 1, 0}));
  ASSERT_OK_AND_ASSIGN(
      const Tensor upper,
      OpTester("EyeLike").Attr("k", int64_t{1}).Attr("dtype", int64_t{1}).Input(x).Run1());
  EXPECT_THAT(upper, TensorIs<float>({2, 3}, {0, 1, 0, 0, 0, 1}));
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  ASSERT_OK_AND_ASSIGN(const Tensor outside, OpTester("EyeLike").Attr("k", kMax).Input(x).Run1());
  EXPECT_THAT(outside, TensorIs<int32_t>({2, 3}, {0, 0, 0, 0, 0, 0}));
}

TEST(TriluTest, TrianglesOfEachMatrix) {
  const Tensor x = MakeTensor<int64_t>({1, 2, 3}, {1, 2, 3, 4, 5, 6});
  ASSERT_OK_AND_ASSIGN(const Tensor upper, OpTester("Trilu").Input(x).Run1());
  EXPECT_THAT(upper, TensorIs<int64_t>({1, 2, 3}, {1, 2, 3, 0, 5, 6}));
  const auto lower = [&](int64_t k) {
    return OpTester("Trilu")
        .Attr("upper", int64_t{0})
        .Input(x)
        .Input(Tensor::Scalar<int64_t>(k))
        .Run1();
  };
  ASSERT_OK_AND_ASSIGN(const Tensor below, lower(-1));
  EXPECT_THAT(below, TensorIs<int64_t>({1, 2, 3}, {0, 0, 0, 4, 0, 0}));
  ASSERT_OK_AND_ASSIGN(const Tensor all, lower(std::numeric_limits<int64_t>::max()));
  EXPECT_THAT(all, IsCloseTo(x, 0, 0));
  ASSERT_OK_AND_ASSIGN(const Tensor none, lower(std::numeric_limits<int64_t>::min()));
  EXPECT_THAT(none, TensorIs<int64_t>({1, 2, 3}, {0, 0, 0, 0, 0, 0}));
  ASSERT_OK_AND_ASSIGN(
      const Tensor text,
      OpTester("Trilu").Input(MakeTensor<std::string>({2, 2}, {"a", "b", "c", "d"})).Run1());
  EXPECT_THAT(text, TensorIs<std::string>({2, 2}, {"a", "b", "", "d"}));
}

TEST(NonZeroTest, CoordinatesByDimension) {
  ASSERT_OK_AND_ASSIGN(
      const Tensor y,
      OpTester("NonZero").Input(MakeTensor<float>({2, 2}, {1, 0, -0.0f, 2})).Run1());
  EXPECT_THAT(y, TensorIs<int64_t>({2, 2}, {0, 1, 0, 1}));
  ASSERT_OK_AND_ASSIGN(
      const Tensor none,
      OpTester("NonZero").Input(MakeTensor<bool>({3}, {false, false, false})).Run1());
  EXPECT_THAT(none, TensorIs<int64_t>({1, 0}, {}));
  ASSERT_OK_AND_ASSIGN(const Tensor scalar,
                       OpTester("NonZero").Input(MakeTensor<int32_t>({}, {5})).Run1());
  EXPECT_THAT(scalar, TensorIs<int64_t>({0, 1}, {}));
}

}  // namespace
}  // namespace inferd::engine
