// Operators that pick, place and order elements by index, and Einsum.
#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "tests/engine/ops/op_tester.h"

namespace inferd::engine {
namespace {

using ::testing::HasSubstr;
using Ints = std::vector<int64_t>;

TEST(GatherElements, AxisAndFaults) {
  const Tensor x = MakeTensor<float>({3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9});
  ASSERT_OK_AND_ASSIGN(Tensor y, OpTester("GatherElements")
                                     .Input(x)
                                     .Input(MakeTensor<int32_t>({2, 3}, {1, 2, 0, 2, 0, -3}))
                                     .Run1());
  EXPECT_THAT(y, TensorIs<float>({2, 3}, {4, 8, 3, 7, 2, 3}));
  EXPECT_THAT(
      OpTester("GatherElements").Input(x).Input(MakeTensor<int64_t>({1, 1}, {3})).Run1().status(),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("is 3")));
  EXPECT_THAT(OpTester("GatherElements")
                  .Input(x)
                  .Input(MakeTensor<int64_t>({1, 4}, {0, 0, 0, 0}))
                  .Run1()
                  .status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("larger than data")));
}

TEST(GatherND, TuplesAndBatches) {
  const Tensor x = MakeTensor<int32_t>({2, 2, 2}, {0, 1, 2, 3, 4, 5, 6, 7});
  ASSERT_OK_AND_ASSIGN(
      Tensor y,
      OpTester("GatherND").Input(x).Input(MakeTensor<int64_t>({2, 2}, {0, 1, -1, 0})).Run1());
  EXPECT_THAT(y, TensorIs<int32_t>({2, 2}, {2, 3, 4, 5}));
  ASSERT_OK_AND_ASSIGN(y, OpTester("GatherND")
                              .Attr("batch_dims", int64_t{1})
                              .Input(x)
                              .Input(MakeTensor<int64_t>({2, 1}, {1, 0}))
                              .Run1());
  EXPECT_THAT(y, TensorIs<int32_t>({2, 2}, {2, 3, 4, 5}));
  EXPECT_THAT(
      OpTester("GatherND").Input(x).Input(MakeTensor<int64_t>({1, 2}, {0, 2})).Run1().status(),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("is 2")));
}

TEST(ScatterElements, ReductionsAndOrder) {
  const Tensor x = MakeTensor<float>({1, 5}, {1, 2, 3, 4, 5});
  const auto run = [&](const char* reduction) {
    return OpTester("ScatterElements")
        .Attr("axis", int64_t{1})
        .Attr("reduction", std::string(reduction))
        .Input(x)
        .Input(MakeTensor<int64_t>({1, 3}, {1, -4, 3}))
        .Input(MakeTensor<float>({1, 3}, {10, 20, 0.5f}))
        .Run1();
  };
  ASSERT_OK_AND_ASSIGN(Tensor y, run("none"));
  EXPECT_THAT(y, TensorIs<float>({1, 5}, {1, 20, 3, 0.5f, 5}));
  ASSERT_OK_AND_ASSIGN(y, run("add"));
  EXPECT_THAT(y, TensorIs<float>({1, 5}, {1, 32, 3, 4.5f, 5}));
  ASSERT_OK_AND_ASSIGN(y, run("mul"));
  EXPECT_THAT(y, TensorIs<float>({1, 5}, {1, 400, 3, 2, 5}));
  ASSERT_OK_AND_ASSIGN(y, run("max"));
  EXPECT_THAT(y, TensorIs<float>({1, 5}, {1, 20, 3, 4, 5}));
  ASSERT_OK_AND_ASSIGN(y, run("min"));
  EXPECT_THAT(y, TensorIs<float>({1, 5}, {1, 2, 3, 0.5f, 5}));
  EXPECT_THAT(run("mean").status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("reduction")));
}

TEST(ScatterND, SlicesStringsAndFaults) {
  ASSERT_OK_AND_ASSIGN(Tensor y, OpTester("ScatterND")
                                     .Input(MakeTensor<std::string>({2, 2}, {"a", "b", "c", "d"}))
                                     .Input(MakeTensor<int64_t>({1, 1}, {1}))
                                     .Input(MakeTensor<std::string>({1, 2}, {"x", "y"}))
                                     .Run1());
  EXPECT_THAT(y, TensorIs<std::string>({2, 2}, {"a", "b", "x", "y"}));
  EXPECT_THAT(OpTester("ScatterND")
                  .Attr("reduction", std::string("add"))
                  .Input(MakeTensor<bool>({2}, {true, false}))
                  .Input(MakeTensor<int64_t>({1, 1}, {1}))
                  .Input(MakeTensor<bool>({1}, {true}))
                  .Run1()
                  .status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("not defined for bool")));
  EXPECT_THAT(OpTester("ScatterND")
                  .Input(MakeTensor<float>({2}, {1, 2}))
                  .Input(MakeTensor<int64_t>({1, 1}, {2}))
                  .Input(MakeTensor<float>({1}, {3}))
                  .Run1()
                  .status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("is 2")));
}

TEST(TopK, TiesByLowestIndexAndNan) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Tensor x = MakeTensor<float>({6}, {3, 1, nan, 3, 1, 3});
  const auto run = [&](int64_t largest) {
    return OpTester("TopK")
        .Attr("largest", largest)
        .Outputs(2)
        .Input(x)
        .Input(Tensor::Vector({3}))
        .Run();
  };
  ASSERT_OK_AND_ASSIGN(auto out, run(1));
  EXPECT_THAT(out[0], TensorIs<float>({3}, {nan, 3, 3}));
  EXPECT_THAT(out[1], TensorIs<int64_t>({3}, {2, 0, 3}));
  ASSERT_OK_AND_ASSIGN(out, run(0));
  EXPECT_THAT(out[0], TensorIs<float>({3}, {1, 1, 3}));
  EXPECT_THAT(out[1], TensorIs<int64_t>({3}, {1, 4, 0}));
  EXPECT_THAT(OpTester("TopK").Outputs(2).Input(x).Input(Tensor::Vector({7})).Run().status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("K is 7")));
}

TEST(TopK, MatchesStableSort) {
  std::mt19937 rng(4);
  for (int round = 0; round < 100; ++round) {
    const int64_t size = 1 + rng() % 40, k = rng() % (size + 1), inner = 1 + rng() % 3;
    std::vector<int32_t> x(size * inner);
    for (int32_t& v : x) v = static_cast<int32_t>(rng() % 8);
    const bool largest = rng() % 2 == 0;
    ASSERT_OK_AND_ASSIGN(auto out, OpTester("TopK")
                                       .Attr("axis", int64_t{0})
                                       .Attr("largest", int64_t{largest})
                                       .Outputs(2)
                                       .Input(Tensor::FromValues<int32_t>(
                                           {size, inner}, absl::Span<const int32_t>(x)))
                                       .Input(Tensor::Vector({k}))
                                       .Run());
    for (int64_t n = 0; n < inner; ++n) {
      std::vector<int64_t> order(size);
      for (int64_t i = 0; i < size; ++i) order[i] = i;
      std::stable_sort(order.begin(), order.end(), [&](int64_t i, int64_t j) {
        return largest ? x[i * inner + n] > x[j * inner + n] : x[i * inner + n] < x[j * inner + n];
      });
      for (int64_t i = 0; i < k; ++i) {
        ASSERT_EQ(out[1].data<int64_t>()[i * inner + n], order[i]);
        ASSERT_EQ(out[0].data<int32_t>()[i * inner + n], x[order[i] * inner + n]);
      }
    }
  }
}

TEST(OneHot, AxisNegativeAndOutOfRange) {
  ASSERT_OK_AND_ASSIGN(Tensor y, OpTester("OneHot")
                                     .Attr("axis", int64_t{0})
                                     .Input(MakeTensor<int64_t>({3}, {0, -1, 5}))
                                     .Input(MakeTensor<float>({}, {3}))
                                     .Input(MakeTensor<float>({2}, {0, 9}))
                                     .Run1());
  EXPECT_THAT(y, TensorIs<float>({3, 3}, {9, 0, 0, 0, 0, 0, 0, 9, 0}));
  EXPECT_THAT(OpTester("OneHot")
                  .Input(MakeTensor<int64_t>({1}, {0}))
                  .Input(MakeTensor<int64_t>({1}, {-2}))
                  .Input(MakeTensor<float>({2}, {0, 1}))
                  .Run1()
                  .status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("depth")));
}

TEST(Compress, AxisOrFlat) {
  const Tensor x = MakeTensor<float>({3, 2}, {1, 2, 3, 4, 5, 6});
  ASSERT_OK_AND_ASSIGN(Tensor y, OpTester("Compress")
                                     .Attr("axis", int64_t{0})
                                     .Input(x)
                                     .Input(MakeTensor<bool>({3}, {false, true, true}))
                                     .Run1());
  EXPECT_THAT(y, TensorIs<float>({2, 2}, {3, 4, 5, 6}));
  ASSERT_OK_AND_ASSIGN(y, OpTester("Compress")
                              .Input(x)
                              .Input(MakeTensor<bool>({4}, {false, true, false, true}))
                              .Run1());
  EXPECT_THAT(y, TensorIs<float>({2}, {2, 4}));
}

TEST(ReverseSequence, TimeFirst) {
  ASSERT_OK_AND_ASSIGN(Tensor y, OpTester("ReverseSequence")
                                     .Input(MakeTensor<float>({3, 2}, {0, 1, 2, 3, 4, 5}))
                                     .Input(Tensor::Vector({2, 3}))
                                     .Run1());
  EXPECT_THAT(y, TensorIs<float>({3, 2}, {2, 5, 0, 3, 4, 1}));
  EXPECT_THAT(OpTester("ReverseSequence")
                  .Input(MakeTensor<float>({1, 1}, {0}))
                  .Input(Tensor::Vector({2}))
                  .Run1()
                  .status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("sequence_lens is 2")));
}

TEST(DepthToSpace, RoundTripInBothModes) {
  const Tensor x = MakeTensor<float>({1, 8, 1, 1}, {0, 1, 2, 3, 4, 5, 6, 7});
  for (const char* mode : {"DCR", "CRD"}) {
    ASSERT_OK_AND_ASSIGN(Tensor wide, OpTester("DepthToSpace")
                                          .Attr("blocksize", int64_t{2})
                                          .Attr("mode", std::string(mode))
                                          .Input(x)
                                          .Run1());
    EXPECT_THAT(wide, std::string(mode) == "DCR"
                          ? TensorIs<float>({1, 2, 2, 2}, {0, 2, 4, 6, 1, 3, 5, 7})
                          : TensorIs<float>({1, 2, 2, 2}, {0, 1, 2, 3, 4, 5, 6, 7}));
    const Tensor large = RandomFloats({2, 12, 3, 2}, 5);
    ASSERT_OK_AND_ASSIGN(wide, OpTester("DepthToSpace")
                                   .Attr("blocksize", int64_t{2})
                                   .Attr("mode", std::string(mode))
                                   .Input(large)
                                   .Run1());
    ASSERT_OK_AND_ASSIGN(Tensor back, OpTester("SpaceToDepth")
                                          .Attr("blocksize", int64_t{2})
                                          .Attr("mode", std::string(mode))
                                          .Input(wide)
                                          .Run1());
    EXPECT_TRUE(TensorsClose(back, large)) << mode;
  }
  EXPECT_THAT(OpTester("DepthToSpace").Attr("blocksize", int64_t{3}).Input(x).Run1().status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("does not divide")));
}

absl::StatusOr<Tensor> Einsum(const char* equation, std::vector<Tensor> inputs) {
  OpTester op("Einsum");
  op.Attr("equation", std::string(equation));
  for (Tensor& t : inputs) op.Input(std::move(t));
  return op.Run1();
}

TEST(Einsum, Forms) {
  const Tensor m = MakeTensor<float>({2, 2}, {1, 2, 3, 4});
  const Tensor v = MakeTensor<float>({2}, {1, 10});
  ASSERT_OK_AND_ASSIGN(Tensor y, Einsum("ij,j->i", {m, v}));
  EXPECT_THAT(y, TensorIs<float>({2}, {21, 43}));
  ASSERT_OK_AND_ASSIGN(y, Einsum("ii", {m}));
  EXPECT_THAT(y, TensorIs<float>({}, {5}));
  ASSERT_OK_AND_ASSIGN(y, Einsum("ii->i", {m}));
  EXPECT_THAT(y, TensorIs<float>({2}, {1, 4}));
  ASSERT_OK_AND_ASSIGN(y, Einsum("ba", {m}));
  EXPECT_THAT(y, TensorIs<float>({2, 2}, {1, 3, 2, 4}));
  ASSERT_OK_AND_ASSIGN(
      y, Einsum("...ij, ...jk -> ...ik", {MakeTensor<float>({2, 1, 2}, {1, 2, 3, 4}), m}));
  EXPECT_THAT(y, TensorIs<float>({2, 1, 2}, {7, 10, 15, 22}));
  EXPECT_THAT(Einsum("ij,j->k", {m, v}).status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("'k'")));
  EXPECT_THAT(Einsum("ij->i", {v}).status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("rank 1")));
  EXPECT_THAT(Einsum("i,i->", {v}).status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("2 terms for 1 inputs")));
}

}  // namespace
}  // namespace inferd::engine
