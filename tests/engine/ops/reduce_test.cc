// Reductions, ArgMax and ArgMin, cumulative sums, softmax.
#include <cmath>
#include <limits>

#include "tests/engine/ops/op_tester.h"

namespace inferd::engine {
namespace {

using ::testing::HasSubstr;

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

OpTester Reduce(const char* op, Tensor x, std::initializer_list<int64_t> axes, bool keepdims) {
  OpTester tester(op);
  tester.Attr("keepdims", int64_t{keepdims}).Input(std::move(x)).Input(Tensor::Vector(axes));
  return tester;
}

TEST(ReduceTest, SumOverEachAxis) {
  const Tensor x = MakeTensor<float>({2, 3}, {1, 2, 3, 4, 5, 6});
  ASSERT_OK_AND_ASSIGN(const Tensor rows, Reduce("ReduceSum", x, {-1}, true).Run1());
  EXPECT_THAT(rows, TensorIs<float>({2, 1}, {6, 15}));
  ASSERT_OK_AND_ASSIGN(const Tensor columns, Reduce("ReduceSum", x, {0}, false).Run1());
  EXPECT_THAT(columns, TensorIs<float>({3}, {5, 7, 9}));
  ASSERT_OK_AND_ASSIGN(const Tensor all, Reduce("ReduceSum", x, {}, false).Run1());
  EXPECT_THAT(all, TensorIs<float>({}, {21}));
}

// Every set of axes of a rank-4 tensor against a direct computation.
TEST(ReduceTest, EverySetOfAxes) {
  const Shape shape = {3, 4, 2, 5};
  const Tensor x = RandomFloats(shape, 1);
  for (int mask = 1; mask < 16; ++mask) {
    std::vector<int64_t> axes;
    Shape kept;
    for (int d = 0; d < 4; ++d) {
      if ((mask >> d) & 1) {
        axes.push_back(d);
      } else {
        kept.push_back(shape[d]);
      }
    }
    std::vector<double> sums(kept.NumElements(), 0);
    for (int64_t i = 0; i < x.num_elements(); ++i) {
      int64_t rest = i, position[4];
      for (int d = 3; d >= 0; --d) {
        position[d] = rest % shape[d];
        rest /= shape[d];
      }
      int64_t out = 0;
      for (int d = 0; d < 4; ++d) {
        if (!((mask >> d) & 1)) out = out * shape[d] + position[d];
      }
      sums[out] += x.data<float>()[i];
    }
    const std::vector<float> expected(sums.begin(), sums.end());
    ASSERT_OK_AND_ASSIGN(const Tensor y, OpTester("ReduceSum")
                                             .Attr("keepdims", int64_t{0})
                                             .Input(x)
                                             .Input(Tensor::Vector(axes))
                                             .Run1());
    EXPECT_TRUE(TensorsClose(y, Tensor::FromValues<float>(kept, expected), 1e-6)) << mask;
  }
}

TEST(ReduceTest, AllOperators) {
  const Tensor x = MakeTensor<float>({2, 2}, {1, -2, 3, 4});
  const std::pair<const char*, std::vector<float>> cases[] = {
      {"ReduceSum", {-1, 7}},
      {"ReduceMean", {-0.5f, 3.5f}},
      {"ReduceMax", {1, 4}},
      {"ReduceMin", {-2, 3}},
      {"ReduceProd", {-2, 12}},
      {"ReduceL1", {3, 7}},
      {"ReduceL2", {std::sqrt(5.0f), 5}},
      {"ReduceSumSquare", {5, 25}},
      {"ReduceLogSum", {kNan, std::log(7.0f)}},
      {"ReduceLogSumExp", {1.0485873f, 4.3132617f}}};
  for (const auto& [op, expected] : cases) {
    ASSERT_OK_AND_ASSIGN(const Tensor y, Reduce(op, x, {1}, false).Run1());
    EXPECT_TRUE(TensorsClose(y, Tensor::FromValues<float>({2}, expected), 0, 1e-6)) << op;
  }
}

TEST(ReduceTest, IntegersAndBools) {
  const Tensor x = MakeTensor<int32_t>({3}, {7, -3, -9});
  ASSERT_OK_AND_ASSIGN(const Tensor mean, Reduce("ReduceMean", x, {0}, true).Run1());
  EXPECT_THAT(mean, TensorIs<int32_t>({1}, {-1}));
  ASSERT_OK_AND_ASSIGN(const Tensor l1, Reduce("ReduceL1", x, {0}, true).Run1());
  EXPECT_THAT(l1, TensorIs<int32_t>({1}, {19}));
  const Tensor b = MakeTensor<bool>({2, 2}, {true, false, true, true});
  ASSERT_OK_AND_ASSIGN(const Tensor any, Reduce("ReduceMax", b, {1}, false).Run1());
  EXPECT_THAT(any, TensorIs<bool>({2}, {true, true}));
  ASSERT_OK_AND_ASSIGN(const Tensor all, Reduce("ReduceMin", b, {1}, false).Run1());
  EXPECT_THAT(all, TensorIs<bool>({2}, {false, true}));
  constexpr int32_t kMax = std::numeric_limits<int32_t>::max();
  ASSERT_OK_AND_ASSIGN(const Tensor wrapped,
                       Reduce("ReduceSum", MakeTensor<int32_t>({2}, {kMax, 1}), {0}, false).Run1());
  EXPECT_THAT(wrapped, TensorIs<int32_t>({}, {std::numeric_limits<int32_t>::min()}));
}

TEST(ReduceTest, EmptySetsGiveTheIdentity) {
  const Tensor x = MakeTensor<float>({2, 0}, {});
  const std::pair<const char*, float> cases[] = {
      {"ReduceSum", 0},     {"ReduceProd", 1}, {"ReduceMax", -kInf},    {"ReduceMin", kInf},
      {"ReduceMean", kNan}, {"ReduceL2", 0},   {"ReduceLogSum", -kInf}, {"ReduceLogSumExp", -kInf}};
  for (const auto& [op, expected] : cases) {
    ASSERT_OK_AND_ASSIGN(const Tensor y, Reduce(op, x, {1}, false).Run1());
    EXPECT_THAT(y, TensorIs<float>({2}, {expected, expected})) << op;
    ASSERT_OK_AND_ASSIGN(const Tensor none, Reduce(op, x, {0}, false).Run1());
    EXPECT_THAT(none, TensorIs<float>({0}, {})) << op;
  }
  EXPECT_THAT(Reduce("ReduceMean", MakeTensor<int32_t>({0}, {}), {0}, false).Run().status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("mean of no elements")));
}

TEST(ReduceTest, NoopWithEmptyAxesStillFoldsEachElement) {
  const Tensor x = MakeTensor<float>({2}, {-3, 4});
  const auto run = [&](const char* op) {
    return OpTester(op).Attr("noop_with_empty_axes", int64_t{1}).Input(x).Run1();
  };
  ASSERT_OK_AND_ASSIGN(const Tensor sum, run("ReduceSum"));
  EXPECT_THAT(sum, TensorIs<float>({2}, {-3, 4}));
  ASSERT_OK_AND_ASSIGN(const Tensor square, run("ReduceSumSquare"));
  EXPECT_THAT(square, TensorIs<float>({2}, {9, 16}));
}

TEST(ReduceTest, LongSumsStayExact) {
  // In float the running sum would stop growing at 2^24.
  std::vector<float> ones(20000000, 1.0f);
  const Tensor x = Tensor::FromValues<float>({20000000}, ones);
  ASSERT_OK_AND_ASSIGN(const Tensor y, Reduce("ReduceSum", x, {0}, false).Run1());
  EXPECT_THAT(y, TensorIs<float>({}, {20000000}));
}

TEST(ReduceTest, HalfAccumulatesInHigherPrecision) {
  std::vector<Float16> values(4096, Float16(1.0f));
  const Tensor x = Tensor::FromValues<Float16>({4096}, values);
  ASSERT_OK_AND_ASSIGN(const Tensor mean, Reduce("ReduceMean", x, {0}, false).Run1());
  EXPECT_THAT(mean, TensorIsFrom<Float16>({}, {1}));
}

TEST(ReduceTest, LogSumExpOfLargeAndInfiniteNumbers) {
  const Tensor x = MakeTensor<double>({4, 2}, {1000, 1000, -1000, -1000, kInf, 1, -kInf, -kInf});
  ASSERT_OK_AND_ASSIGN(const Tensor y, Reduce("ReduceLogSumExp", x, {1}, false).Run1());
  const double log2 = std::log(2.0);
  EXPECT_THAT(y, TensorIs<double>({4}, {1000 + log2, -1000 + log2, kInf, -kInf}, 0, 1e-15));
}

TEST(ReduceTest, NanIsTheExtreme) {
  const Tensor x = MakeTensor<float>({3}, {1, kNan, 3});
  ASSERT_OK_AND_ASSIGN(const Tensor max, Reduce("ReduceMax", x, {0}, false).Run1());
  EXPECT_THAT(max, TensorIs<float>({}, {kNan}));
}

TEST(ReduceTest, BadAxesAreNamed) {
  const Tensor x = MakeTensor<float>({2, 2}, {1, 2, 3, 4});
  EXPECT_THAT(
      Reduce("ReduceSum", x, {2}, true).Run().status(),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("expected values in [-2, 2)")));
  EXPECT_THAT(Reduce("ReduceSum", x, {1, -1}, true).Run().status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("names dimension 1 twice")));
}

TEST(ReduceTest, InferenceKeepsSymbols) {
  const Dim n = Dim::Symbol("n");
  const OpTester tester = [] {
    OpTester t("ReduceSum");
    t.Attr("keepdims", int64_t{1}).Input(MakeTensor<float>({1, 1}, {0}));
    t.Constant(Tensor::Vector({1}));
    return t;
  }();
  const ValueType types[] = {ValueType::TensorOf(ElementType::kFloat32, SymbolicShape({n, Dim(4)})),
                             ValueType::TensorOf(ElementType::kInt64, Shape{1})};
  ASSERT_OK_AND_ASSIGN(const auto y, tester.Infer(types));
  EXPECT_EQ(y[0].shape, SymbolicShape({n, Dim(1)}));
}

TEST(ArgReduceTest, TiesAndNan) {
  const Tensor x = MakeTensor<float>({2, 3}, {1, 3, 3, kNan, 5, kNan});
  const auto run = [&](const char* op, int64_t last) {
    return OpTester(op)
        .Attr("axis", int64_t{-1})
        .Attr("keepdims", int64_t{0})
        .Attr("select_last_index", last)
        .Input(x)
        .Run1();
  };
  ASSERT_OK_AND_ASSIGN(const Tensor first, run("ArgMax", 0));
  EXPECT_THAT(first, TensorIs<int64_t>({2}, {1, 0}));
  ASSERT_OK_AND_ASSIGN(const Tensor last, run("ArgMax", 1));
  EXPECT_THAT(last, TensorIs<int64_t>({2}, {2, 2}));
  ASSERT_OK_AND_ASSIGN(const Tensor min, run("ArgMin", 0));
  EXPECT_THAT(min, TensorIs<int64_t>({2}, {0, 0}));
}

TEST(ArgReduceTest, InnerAxisAndEmptyAxis) {
  const Tensor x = MakeTensor<int32_t>({2, 2}, {1, 9, 5, 3});
  ASSERT_OK_AND_ASSIGN(const Tensor y, OpTester("ArgMax").Input(x).Run1());
  EXPECT_THAT(y, TensorIs<int64_t>({1, 2}, {1, 0}));
  EXPECT_THAT(OpTester("ArgMax").Input(MakeTensor<float>({0, 2}, {})).Run().status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("no element along axis 0")));
  ASSERT_OK_AND_ASSIGN(
      const Tensor none,
      OpTester("ArgMin").Attr("axis", int64_t{1}).Input(MakeTensor<float>({0, 2}, {})).Run1());
  EXPECT_THAT(none, TensorIs<int64_t>({0, 1}, {}));
}

TEST(CumulativeTest, AllModes) {
  const Tensor x = MakeTensor<int64_t>({2, 3}, {1, 2, 3, 4, 5, 6});
  const auto run = [&](const char* op, int64_t axis, int64_t exclusive, int64_t reverse) {
    return OpTester(op)
        .Attr("exclusive", exclusive)
        .Attr("reverse", reverse)
        .Input(x)
        .Input(Tensor::Scalar<int64_t>(axis))
        .Run1();
  };
  ASSERT_OK_AND_ASSIGN(const Tensor plain, run("CumSum", 1, 0, 0));
  EXPECT_THAT(plain, TensorIs<int64_t>({2, 3}, {1, 3, 6, 4, 9, 15}));
  ASSERT_OK_AND_ASSIGN(const Tensor exclusive, run("CumSum", -1, 1, 0));
  EXPECT_THAT(exclusive, TensorIs<int64_t>({2, 3}, {0, 1, 3, 0, 4, 9}));
  ASSERT_OK_AND_ASSIGN(const Tensor reverse, run("CumSum", 1, 1, 1));
  EXPECT_THAT(reverse, TensorIs<int64_t>({2, 3}, {5, 3, 0, 11, 6, 0}));
  ASSERT_OK_AND_ASSIGN(const Tensor down, run("CumSum", 0, 0, 0));
  EXPECT_THAT(down, TensorIs<int64_t>({2, 3}, {1, 2, 3, 5, 7, 9}));
  ASSERT_OK_AND_ASSIGN(const Tensor product, run("CumProd", 1, 0, 0));
  EXPECT_THAT(product, TensorIs<int64_t>({2, 3}, {1, 2, 6, 4, 20, 120}));
  EXPECT_THAT(run("CumSum", 2, 0, 0).status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("axis")));
}

TEST(SoftmaxTest, AlongAnyAxis) {
  const Tensor x = RandomFloats({3, 4, 5}, 1, -5, 5);
  for (int64_t axis : {0, 1, 2, -2}) {
    ASSERT_OK_AND_ASSIGN(const Tensor y, OpTester("Softmax").Attr("axis", axis).Input(x).Run1());
    ASSERT_OK_AND_ASSIGN(const Tensor log_y,
                         OpTester("LogSoftmax").Attr("axis", axis).Input(x).Run1());
    const int a = static_cast<int>(axis < 0 ? axis + 3 : axis);
    const int64_t inner = x.shape().Product(a + 1, 3), extent = x.shape()[a];
    std::vector<float> expected(x.num_elements()), expected_log(x.num_elements());
    for (int64_t i = 0; i < x.num_elements(); ++i) {
      const int64_t first = i / (extent * inner) * extent * inner + i % inner;
      double sum = 0;
      for (int64_t k = 0; k < extent; ++k) {
        sum += std::exp(static_cast<double>(x.data<float>()[first + k * inner]));
      }
      expected[i] = static_cast<float>(std::exp(static_cast<double>(x.data<float>()[i])) / sum);
      expected_log[i] = static_cast<float>(x.data<float>()[i] - std::log(sum));
    }
    EXPECT_TRUE(TensorsClose(y, Tensor::FromValues<float>(x.shape(), expected), 1e-8, 1e-6));
    EXPECT_TRUE(
        TensorsClose(log_y, Tensor::FromValues<float>(x.shape(), expected_log), 1e-6, 1e-6));
  }
}

TEST(SoftmaxTest, LargeNumbersAndHalf) {
  ASSERT_OK_AND_ASSIGN(
      const Tensor large,
      OpTester("Softmax").Input(MakeTensor<float>({1, 3}, {10000, 10000, -kInf})).Run1());
  EXPECT_THAT(large, TensorIs<float>({1, 3}, {0.5f, 0.5f, 0}));
  ASSERT_OK_AND_ASSIGN(const Tensor half,
                       OpTester("Softmax").Input(MakeFrom<Float16>({2}, {1, 1})).Run1());
  EXPECT_THAT(half, TensorIsFrom<Float16>({2}, {0.5f, 0.5f}));
  ASSERT_OK_AND_ASSIGN(const Tensor empty,
                       OpTester("Softmax").Input(MakeTensor<float>({2, 0}, {})).Run1());
  EXPECT_THAT(empty, TensorIs<float>({2, 0}, {}));
}

TEST(SoftmaxTest, HardmaxMarksTheFirstMaximum) {
  ASSERT_OK_AND_ASSIGN(
      const Tensor y,
      OpTester("Hardmax").Input(MakeTensor<float>({2, 3}, {1, 3, 3, 5, 2, 1})).Run1());
  EXPECT_THAT(y, TensorIs<float>({2, 3}, {0, 1, 0, 1, 0, 0}));
}

TEST(SoftmaxTest, BadAxisIsNamed) {
  EXPECT_THAT(OpTester("Softmax")
                  .Attr("axis", int64_t{2})
                  .Input(MakeTensor<float>({1, 1}, {1}))
                  .Run()
                  .status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("attribute axis is 2")));
}

}  // namespace
}  // namespace inferd::engine
