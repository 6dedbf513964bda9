// Elementwise arithmetic, comparison, logic and selection, with broadcast.
#include <cmath>
#include <cstdint>
#include <limits>

#include "tests/engine/ops/op_tester.h"

namespace inferd::engine {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

template <typename T>
absl::StatusOr<Tensor> Binary(const char* op, Tensor a, Tensor b) {
  return OpTester(op).Input(std::move(a)).Input(std::move(b)).Run1();
}

TEST(BinaryTest, EqualShapes) {
  ASSERT_OK_AND_ASSIGN(const Tensor y, Binary<float>("Add", MakeTensor<float>({2, 2}, {1, 2, 3, 4}),
                                                     MakeTensor<float>({2, 2}, {10, 20, 30, 40})));
  EXPECT_THAT(y, TensorIs<float>({2, 2}, {11, 22, 33, 44}));
}

TEST(BinaryTest, EitherSideMayBroadcast) {
  const Tensor matrix = MakeTensor<float>({2, 3}, {1, 2, 3, 4, 5, 6});
  const Tensor row = MakeTensor<float>({3}, {10, 20, 30});
  const Tensor column = MakeTensor<float>({2, 1}, {100, 200});
  ASSERT_OK_AND_ASSIGN(const Tensor right, Binary<float>("Sub", matrix, row));
  EXPECT_THAT(right, TensorIs<float>({2, 3}, {-9, -18, -27, -6, -15, -24}));
  ASSERT_OK_AND_ASSIGN(const Tensor left, Binary<float>("Sub", column, matrix));
  EXPECT_THAT(left, TensorIs<float>({2, 3}, {99, 98, 97, 196, 195, 194}));
  ASSERT_OK_AND_ASSIGN(const Tensor both, Binary<float>("Add", column, row));
  EXPECT_THAT(both, TensorIs<float>({2, 3}, {110, 120, 130, 210, 220, 230}));
}

// Every dimension pattern of rank 4 against a direct computation.
TEST(BinaryTest, AllBroadcastPatternsOfRankFour) {
  const int64_t full[4] = {2, 3, 4, 5};
  for (int mask_a = 0; mask_a < 16; ++mask_a) {
    for (int mask_b = 0; mask_b < 16; ++mask_b) {
      Shape sa, sb, so;
      for (int d = 0; d < 4; ++d) {
        sa.push_back((mask_a >> d) & 1 ? full[d] : 1);
        sb.push_back((mask_b >> d) & 1 ? full[d] : 1);
        so.push_back(std::max(sa[d], sb[d]));
      }
      const Tensor a = RandomFloats(sa, 1), b = RandomFloats(sb, 2);
      std::vector<float> expected;
      const auto ta = RowMajorStrides(sa), tb = RowMajorStrides(sb);
      for (int64_t i = 0; i < so.NumElements(); ++i) {
        int64_t rest = i, ia = 0, ib = 0;
        for (int d = 3; d >= 0; --d) {
          const int64_t p = rest % so[d];
          rest /= so[d];
          ia += sa[d] == 1 ? 0 : p * ta[d];
          ib += sb[d] == 1 ? 0 : p * tb[d];
        }
        expected.push_back(a.data<float>()[ia] - b.data<float>()[ib]);
      }
      ASSERT_OK_AND_ASSIGN(const Tensor y, Binary<float>("Sub", a, b));
      ASSERT_TRUE(TensorsClose(y, Tensor::FromValues<float>(so, expected)))
          << sa.ToString() << " - " << sb.ToString();
    }
  }
}

// Long enough to be split over threads at places that are not row starts.
TEST(BinaryTest, LargeTensorsAreSplit) {
  const Tensor a = RandomFloats({37, 41, 53}, 3), b = RandomFloats({41, 1}, 4);
  ASSERT_OK_AND_ASSIGN(const Tensor y, OpTester("Mul").Input(a).Input(b).Threads(4).Run1());
  for (int64_t i = 0; i < y.num_elements(); ++i) {
    ASSERT_EQ(y.data<float>()[i], a.data<float>()[i] * b.data<float>()[i / 53 % 41]);
  }
}

TEST(BinaryTest, ScalarsAndZeroSizes) {
  ASSERT_OK_AND_ASSIGN(const Tensor scalar, Binary<float>("Mul", MakeTensor<float>({}, {3}),
                                                          MakeTensor<float>({}, {4})));
  EXPECT_THAT(scalar, TensorIs<float>({}, {12}));
  ASSERT_OK_AND_ASSIGN(const Tensor empty, Binary<float>("Add", MakeTensor<float>({2, 0, 3}, {}),
                                                         MakeTensor<float>({1, 3}, {1, 2, 3})));
  EXPECT_THAT(empty, TensorIs<float>({2, 0, 3}, {}));
}

TEST(BinaryTest, ShapesThatDoNotBroadcastAreRefused) {
  const auto result = Binary<float>("Add", MakeTensor<float>({2, 3}, {1, 2, 3, 4, 5, 6}),
                                    MakeTensor<float>({2}, {1, 2}));
  EXPECT_THAT(result.status(), StatusIs(absl::StatusCode::kInvalidArgument,
                                        HasSubstr("shapes [2,3] and [2] do not broadcast")));
}

TEST(BinaryTest, DifferentElementTypesAreRefused) {
  const auto result =
      Binary<float>("Add", MakeTensor<float>({1}, {1}), MakeTensor<int32_t>({1}, {1}));
  EXPECT_THAT(result.status(), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("int32")));
}

TEST(BinaryTest, IntegersWrap) {
  constexpr int32_t kMax = std::numeric_limits<int32_t>::max();
  ASSERT_OK_AND_ASSIGN(const Tensor y, Binary<int32_t>("Add", MakeTensor<int32_t>({1}, {kMax}),
                                                       MakeTensor<int32_t>({1}, {1})));
  EXPECT_THAT(y, TensorIs<int32_t>({1}, {std::numeric_limits<int32_t>::min()}));
  ASSERT_OK_AND_ASSIGN(const Tensor product,
                       Binary<uint16_t>("Mul", MakeTensor<uint16_t>({1}, {65535}),
                                        MakeTensor<uint16_t>({1}, {65535})));
  EXPECT_THAT(product, TensorIs<uint16_t>({1}, {1}));
}

TEST(BinaryTest, IntegerDivisionTruncatesAndNeverTraps) {
  constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
  ASSERT_OK_AND_ASSIGN(const Tensor y,
                       Binary<int64_t>("Div", MakeTensor<int64_t>({4}, {-7, 7, kMin, 5}),
                                       MakeTensor<int64_t>({4}, {2, -2, -1, -1})));
  EXPECT_THAT(y, TensorIs<int64_t>({4}, {-3, -3, kMin, -5}));
  const auto zero = Binary<int32_t>("Div", MakeTensor<int32_t>({3}, {1, 2, 3}),
                                    MakeTensor<int32_t>({3}, {1, 0, 3}));
  EXPECT_THAT(zero.status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("input 1 is 0 at element 1")));
  const auto mod_zero =
      Binary<uint8_t>("Mod", MakeTensor<uint8_t>({1}, {1}), MakeTensor<uint8_t>({1}, {0}));
  EXPECT_THAT(mod_zero.status(), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("Mod")));
}

TEST(BinaryTest, FloatDivisionByZeroIsInfinite) {
  ASSERT_OK_AND_ASSIGN(const Tensor y, Binary<float>("Div", MakeTensor<float>({3}, {1, -1, 0}),
                                                     MakeTensor<float>({1}, {0})));
  EXPECT_THAT(y, TensorIs<float>({3}, {kInf, -kInf, kNan}));
}

TEST(BinaryTest, SixteenBitFloats) {
  ASSERT_OK_AND_ASSIGN(const Tensor half,
                       Binary<Float16>("Add", MakeFrom<Float16>({2}, {1.5f, 2048}),
                                       MakeFrom<Float16>({2}, {0.25f, 1})));
  EXPECT_THAT(half, TensorIsFrom<Float16>({2}, {1.75f, 2048}));  // 2049 ties to even
  ASSERT_OK_AND_ASSIGN(const Tensor brain, Binary<BFloat16>("Mul", MakeFrom<BFloat16>({1}, {3}),
                                                            MakeFrom<BFloat16>({1}, {0.5f})));
  EXPECT_THAT(brain, TensorIsFrom<BFloat16>({1}, {1.5f}));
}

TEST(ModTest, SignFollowsTheDivisorOrWithFmodTheDividend) {
  const Tensor a = MakeTensor<int32_t>({6}, {-4, 7, 5, 4, -7, 8});
  const Tensor b = MakeTensor<int32_t>({6}, {2, -3, 8, -2, 3, 5});
  ASSERT_OK_AND_ASSIGN(const Tensor floor, Binary<int32_t>("Mod", a, b));
  EXPECT_THAT(floor, TensorIs<int32_t>({6}, {0, -2, 5, 0, 2, 3}));
  ASSERT_OK_AND_ASSIGN(const Tensor trunc,
                       OpTester("Mod").Attr("fmod", int64_t{1}).Input(a).Input(b).Run1());
  EXPECT_THAT(trunc, TensorIs<int32_t>({6}, {0, 1, 5, 0, -1, 3}));
}

TEST(ModTest, Floats) {
  const Tensor a = MakeTensor<float>({4}, {-4.5f, 5.5f, 3, 1});
  const Tensor b = MakeTensor<float>({4}, {2, -2, kInf, -kInf});
  ASSERT_OK_AND_ASSIGN(const Tensor floor, Binary<float>("Mod", a, b));
  EXPECT_THAT(floor, TensorIs<float>({4}, {1.5f, -0.5f, 3, -kInf}));
  ASSERT_OK_AND_ASSIGN(const Tensor trunc,
                       OpTester("Mod").Attr("fmod", int64_t{1}).Input(a).Input(b).Run1());
  EXPECT_THAT(trunc, TensorIs<float>({4}, {-0.5f, 1.5f, 3, 1}));
}

TEST(PowTest, MixedTypes) {
  ASSERT_OK_AND_ASSIGN(const Tensor a, Binary<float>("Pow", MakeTensor<float>({3}, {1, 2, 9}),
                                                     MakeTensor<int64_t>({3}, {4, -1, 0})));
  EXPECT_THAT(a, TensorIs<float>({3}, {1, 0.5f, 1}));
  ASSERT_OK_AND_ASSIGN(const Tensor b, Binary<int32_t>("Pow", MakeTensor<int32_t>({2}, {4, 2}),
                                                       MakeTensor<float>({2}, {0.5f, 40})));
  EXPECT_THAT(b, TensorIs<int32_t>({2}, {2, std::numeric_limits<int32_t>::max()}));
  ASSERT_OK_AND_ASSIGN(const Tensor c,
                       Binary<int64_t>("Pow", MakeTensor<int64_t>({5}, {3, -1, -1, 2, 0}),
                                       MakeTensor<int32_t>({5}, {39, -3, -2, -1, 0})));
  EXPECT_THAT(c, TensorIs<int64_t>({5}, {4052555153018976267, -1, 1, 0, 1}));
}

TEST(PReluTest, SlopeBroadcastsToXOnly) {
  const Tensor x = MakeTensor<float>({2, 2}, {-1, 2, -3, 4});
  ASSERT_OK_AND_ASSIGN(const Tensor y,
                       Binary<float>("PRelu", x, MakeTensor<float>({2, 1}, {0.5f, 2})));
  EXPECT_THAT(y, TensorIs<float>({2, 2}, {-0.5f, 2, -6, 4}));
  const auto wide = Binary<float>("PRelu", MakeTensor<float>({1}, {1}), x);
  EXPECT_THAT(wide.status(), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("slope")));
}

TEST(VariadicTest, CombinesAnyNumberOfOperands) {
  const Tensor a = MakeTensor<float>({2, 2}, {1, 5, -2, kNan});
  const Tensor b = MakeTensor<float>({2}, {3, 4});
  const Tensor c = MakeTensor<float>({}, {2});
  const auto run = [&](const char* op) { return OpTester(op).Input(a).Input(b).Input(c).Run1(); };
  ASSERT_OK_AND_ASSIGN(const Tensor sum, run("Sum"));
  EXPECT_THAT(sum, TensorIs<float>({2, 2}, {6, 11, 3, kNan}));
  ASSERT_OK_AND_ASSIGN(const Tensor mean, run("Mean"));
  EXPECT_THAT(mean, TensorIs<float>({2, 2}, {2, 11.0f / 3, 1, kNan}));
  ASSERT_OK_AND_ASSIGN(const Tensor min, run("Min"));
  EXPECT_THAT(min, TensorIs<float>({2, 2}, {1, 2, -2, kNan}));
  ASSERT_OK_AND_ASSIGN(const Tensor max, run("Max"));
  EXPECT_THAT(max, TensorIs<float>({2, 2}, {3, 5, 3, kNan}));
  ASSERT_OK_AND_ASSIGN(const Tensor one, OpTester("Max").Input(b).Run1());
  EXPECT_THAT(one, TensorIs<float>({2}, {3, 4}));
}

TEST(VariadicTest, HalfIsRoundedOnce) {
  // 2048 + 1 + 1 in steps would stay at 2048.
  ASSERT_OK_AND_ASSIGN(const Tensor y, OpTester("Sum")
                                           .Input(MakeFrom<Float16>({1}, {2048}))
                                           .Input(MakeFrom<Float16>({1}, {1}))
                                           .Input(MakeFrom<Float16>({1}, {1}))
                                           .Run1());
  EXPECT_THAT(y, TensorIsFrom<Float16>({1}, {2050}));
}

TEST(VariadicTest, NeedsAnOperand) {
  EXPECT_THAT(OpTester("Sum").Run().status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("0 inputs")));
}

TEST(VariadicTest, LargeTensorsOfUnsignedIntegers) {
  std::vector<uint64_t> values(100000);
  for (size_t i = 0; i < values.size(); ++i) values[i] = i;
  const Tensor a = Tensor::FromValues<uint64_t>({1000, 100}, values);
  const Tensor b = MakeTensor<uint64_t>({1}, {50000});
  ASSERT_OK_AND_ASSIGN(const Tensor y, OpTester("Max").Input(a).Input(b).Run1());
  for (size_t i = 0; i < values.size(); ++i) {
    ASSERT_EQ(y.data<uint64_t>()[i], std::max<uint64_t>(i, 50000));
  }
}

TEST(UnaryTest, Integers) {
  constexpr int8_t kMin = -128;
  const Tensor x = MakeTensor<int8_t>({3}, {kMin, -3, 5});
  ASSERT_OK_AND_ASSIGN(const Tensor abs, OpTester("Abs").Input(x).Run1());
  EXPECT_THAT(abs, TensorIs<int8_t>({3}, {kMin, 3, 5}));
  ASSERT_OK_AND_ASSIGN(const Tensor neg, OpTester("Neg").Input(x).Run1());
  EXPECT_THAT(neg, TensorIs<int8_t>({3}, {kMin, 3, -5}));
  ASSERT_OK_AND_ASSIGN(const Tensor sign, OpTester("Sign").Input(x).Run1());
  EXPECT_THAT(sign, TensorIs<int8_t>({3}, {-1, -1, 1}));
  ASSERT_OK_AND_ASSIGN(const Tensor bits, OpTester("BitwiseNot").Input(x).Run1());
  EXPECT_THAT(bits, TensorIs<int8_t>({3}, {127, 2, -6}));
}

TEST(UnaryTest, RoundGoesToEven) {
  ASSERT_OK_AND_ASSIGN(
      const Tensor y,
      OpTester("Round").Input(MakeTensor<float>({5}, {0.5f, 1.5f, 2.5f, -2.5f, 2.6f})).Run1());
  EXPECT_THAT(y, TensorIs<float>({5}, {0, 2, 2, -2, 3}));
}

TEST(UnaryTest, FloatFunctionsAgainstTheMathematicalLibraryInDouble) {
  const std::pair<const char*, double (*)(double)> functions[] = {
      {"Exp", std::exp},   {"Log", std::log},    {"Sqrt", std::sqrt},   {"Sin", std::sin},
      {"Cos", std::cos},   {"Tan", std::tan},    {"Sinh", std::sinh},   {"Cosh", std::cosh},
      {"Tanh", std::tanh}, {"Atan", std::atan},  {"Asinh", std::asinh}, {"Erf", std::erf},
      {"Ceil", std::ceil}, {"Floor", std::floor}};
  const Tensor x = RandomFloats({2, 50}, 5, 0.01f, 3);
  for (const auto& [op, fn] : functions) {
    std::vector<float> expected;
    for (float v : x.values<float>()) expected.push_back(static_cast<float>(fn(v)));
    ASSERT_OK_AND_ASSIGN(const Tensor y, OpTester(op).Input(x).Run1());
    EXPECT_TRUE(TensorsClose(y, Tensor::FromValues<float>({2, 50}, expected), 0, 5e-7)) << op;
  }
  const std::pair<const char*, double (*)(double)> inner[] = {
      {"Asin", std::asin}, {"Acos", std::acos}, {"Atanh", std::atanh}};
  const Tensor small = RandomFloats({64}, 6, -0.95f, 0.95f);
  for (const auto& [op, fn] : inner) {
    std::vector<float> expected;
    for (float v : small.values<float>()) expected.push_back(static_cast<float>(fn(v)));
    ASSERT_OK_AND_ASSIGN(const Tensor y, OpTester(op).Input(small).Run1());
    EXPECT_TRUE(TensorsClose(y, Tensor::FromValues<float>({64}, expected), 0, 5e-7)) << op;
  }
}

TEST(UnaryTest, Classification) {
  const Tensor x = MakeTensor<float>({4}, {1, kNan, kInf, -kInf});
  ASSERT_OK_AND_ASSIGN(const Tensor nan, OpTester("IsNaN").Input(x).Run1());
  EXPECT_THAT(nan, TensorIs<bool>({4}, {false, true, false, false}));
  ASSERT_OK_AND_ASSIGN(const Tensor inf, OpTester("IsInf").Input(x).Run1());
  EXPECT_THAT(inf, TensorIs<bool>({4}, {false, false, true, true}));
  ASSERT_OK_AND_ASSIGN(const Tensor negative,
                       OpTester("IsInf").Attr("detect_positive", int64_t{0}).Input(x).Run1());
  EXPECT_THAT(negative, TensorIs<bool>({4}, {false, false, false, true}));
  ASSERT_OK_AND_ASSIGN(
      const Tensor float8,
      OpTester("IsNaN").Input(MakeRaw(ElementType::kFloat8E5M2, {3}, {0x7C, 0x7F, 0x3C})).Run1());
  EXPECT_THAT(float8, TensorIs<bool>({3}, {false, true, false}));
}

TEST(ComparisonTest, AllOperators) {
  const Tensor a = MakeTensor<float>({4}, {1, 2, 3, kNan});
  const Tensor b = MakeTensor<float>({4}, {2, 2, 2, kNan});
  const auto run = [&](const char* op) { return Binary<float>(op, a, b); };
  ASSERT_OK_AND_ASSIGN(const Tensor equal, run("Equal"));
  EXPECT_THAT(equal, TensorIs<bool>({4}, {false, true, false, false}));
  ASSERT_OK_AND_ASSIGN(const Tensor greater, run("Greater"));
  EXPECT_THAT(greater, TensorIs<bool>({4}, {false, false, true, false}));
  ASSERT_OK_AND_ASSIGN(const Tensor greater_equal, run("GreaterOrEqual"));
  EXPECT_THAT(greater_equal, TensorIs<bool>({4}, {false, true, true, false}));
  ASSERT_OK_AND_ASSIGN(const Tensor less, run("Less"));
  EXPECT_THAT(less, TensorIs<bool>({4}, {true, false, false, false}));
  ASSERT_OK_AND_ASSIGN(const Tensor less_equal, run("LessOrEqual"));
  EXPECT_THAT(less_equal, TensorIs<bool>({4}, {true, true, false, false}));
}

TEST(ComparisonTest, Strings) {
  ASSERT_OK_AND_ASSIGN(const Tensor y,
                       Binary<std::string>("Equal", MakeTensor<std::string>({2}, {"a", "bc"}),
                                           MakeTensor<std::string>({1}, {"bc"})));
  EXPECT_THAT(y, TensorIs<bool>({2}, {false, true}));
}

TEST(LogicalTest, BoolsAndBits) {
  const Tensor a = MakeTensor<bool>({2, 2}, {false, false, true, true});
  const Tensor b = MakeTensor<bool>({2}, {false, true});
  ASSERT_OK_AND_ASSIGN(const Tensor conjunction, Binary<bool>("And", a, b));
  EXPECT_THAT(conjunction, TensorIs<bool>({2, 2}, {false, false, false, true}));
  ASSERT_OK_AND_ASSIGN(const Tensor disjunction, Binary<bool>("Or", a, b));
  EXPECT_THAT(disjunction, TensorIs<bool>({2, 2}, {false, true, true, true}));
  ASSERT_OK_AND_ASSIGN(const Tensor exclusive, Binary<bool>("Xor", a, b));
  EXPECT_THAT(exclusive, TensorIs<bool>({2, 2}, {false, true, true, false}));
  ASSERT_OK_AND_ASSIGN(const Tensor inverse, OpTester("Not").Input(a).Run1());
  EXPECT_THAT(inverse, TensorIs<bool>({2, 2}, {true, true, false, false}));
  const Tensor x = MakeTensor<uint8_t>({2}, {0b1100, 0b1010});
  const Tensor y = MakeTensor<uint8_t>({1}, {0b0110});
  ASSERT_OK_AND_ASSIGN(const Tensor bit_and, Binary<uint8_t>("BitwiseAnd", x, y));
  EXPECT_THAT(bit_and, TensorIs<uint8_t>({2}, {0b0100, 0b0010}));
  ASSERT_OK_AND_ASSIGN(const Tensor bit_or, Binary<uint8_t>("BitwiseOr", x, y));
  EXPECT_THAT(bit_or, TensorIs<uint8_t>({2}, {0b1110, 0b1110}));
  ASSERT_OK_AND_ASSIGN(const Tensor bit_xor, Binary<uint8_t>("BitwiseXor", x, y));
  EXPECT_THAT(bit_xor, TensorIs<uint8_t>({2}, {0b1010, 0b1100}));
}

TEST(LogicalTest, ShiftsBeyondTheWidthAreDefined) {
  const Tensor x = MakeTensor<uint8_t>({3}, {1, 255, 255});
  const Tensor by = MakeTensor<uint8_t>({3}, {7, 1, 8});
  ASSERT_OK_AND_ASSIGN(
      const Tensor left,
      OpTester("BitShift").Attr("direction", std::string("LEFT")).Input(x).Input(by).Run1());
  EXPECT_THAT(left, TensorIs<uint8_t>({3}, {128, 254, 0}));
  const Tensor sx = MakeTensor<int32_t>({3}, {-8, 8, -1});
  const Tensor sby = MakeTensor<int32_t>({3}, {1, 40, -1});
  ASSERT_OK_AND_ASSIGN(
      const Tensor right,
      OpTester("BitShift").Attr("direction", std::string("RIGHT")).Input(sx).Input(sby).Run1());
  EXPECT_THAT(right, TensorIs<int32_t>({3}, {-4, 0, -1}));
  EXPECT_THAT(
      OpTester("BitShift").Attr("direction", std::string("UP")).Input(x).Input(by).Run().status(),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("LEFT")));
}

TEST(WhereTest, BroadcastsAllThree) {
  ASSERT_OK_AND_ASSIGN(const Tensor y, OpTester("Where")
                                           .Input(MakeTensor<bool>({2, 1}, {true, false}))
                                           .Input(MakeTensor<int64_t>({3}, {1, 2, 3}))
                                           .Input(MakeTensor<int64_t>({}, {9}))
                                           .Run1());
  EXPECT_THAT(y, TensorIs<int64_t>({2, 3}, {1, 2, 3, 9, 9, 9}));
  ASSERT_OK_AND_ASSIGN(const Tensor text, OpTester("Where")
                                              .Input(MakeTensor<bool>({2}, {true, false}))
                                              .Input(MakeTensor<std::string>({2}, {"a", "b"}))
                                              .Input(MakeTensor<std::string>({2}, {"c", "d"}))
                                              .Run1());
  EXPECT_THAT(text, TensorIs<std::string>({2}, {"a", "d"}));
}

TEST(ClipTest, BoundsAreOptional) {
  const Tensor x = MakeTensor<float>({4}, {-5, 0.5f, 5, kNan});
  const Tensor low = MakeTensor<float>({}, {-1}), high = MakeTensor<float>({}, {1});
  ASSERT_OK_AND_ASSIGN(const Tensor both, OpTester("Clip").Input(x).Input(low).Input(high).Run1());
  EXPECT_THAT(both, TensorIs<float>({4}, {-1, 0.5f, 1, kNan}));
  ASSERT_OK_AND_ASSIGN(const Tensor above, OpTester("Clip").Input(x).NoInput().Input(high).Run1());
  EXPECT_THAT(above, TensorIs<float>({4}, {-5, 0.5f, 1, kNan}));
  ASSERT_OK_AND_ASSIGN(const Tensor none, OpTester("Clip").Input(x).Run1());
  EXPECT_THAT(none, TensorIs<float>({4}, {-5, 0.5f, 5, kNan}));
  // Where the bounds cross, the upper one wins.
  ASSERT_OK_AND_ASSIGN(const Tensor crossed,
                       OpTester("Clip").Input(x).Input(high).Input(low).Run1());
  EXPECT_THAT(crossed, TensorIs<float>({4}, {-1, -1, -1, kNan}));
  EXPECT_THAT(OpTester("Clip").Input(x).Input(x).Run().status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("expected a scalar")));
}

TEST(BroadcastInferenceTest, SymbolsSurviveWhereTheyMust) {
  using Types = std::vector<ValueType>;
  const auto infer = [](SymbolicShape a, SymbolicShape b) {
    return OpTester("Add")
        .Input(MakeTensor<float>({1}, {0}))
        .Input(MakeTensor<float>({1}, {0}))
        .Infer(Types{ValueType::TensorOf(ElementType::kFloat32, std::move(a)),
                     ValueType::TensorOf(ElementType::kFloat32, std::move(b))});
  };
  const Dim n = Dim::Symbol("n"), m = Dim::Symbol("m"), unknown;
  ASSERT_OK_AND_ASSIGN(const Types y, infer(SymbolicShape({n, n, n, n, unknown, unknown, 1}),
                                            SymbolicShape({n, m, 1, 4, 5, 1, n})));
  EXPECT_THAT(y[0].shape.dims(), ElementsAre(n, unknown, n, Dim(4), Dim(5), unknown, n));
  ASSERT_OK_AND_ASSIGN(const Types vague, infer(SymbolicShape(), SymbolicShape({n})));
  EXPECT_FALSE(vague[0].shape.has_rank());
}

}  // namespace
}  // namespace inferd::engine
