#include <limits>

#include "tests/engine/ops/op_tester.h"

namespace inferd::engine {
namespace {

using ::testing::HasSubstr;

TEST(MatMul, VectorsAndBatches) {
  const Tensor m = MakeTensor<float>({2, 3}, {1, 2, 3, 4, 5, 6});
  const Tensor v = MakeTensor<float>({3}, {1, 0, -1});
  ASSERT_OK_AND_ASSIGN(Tensor mv, OpTester("MatMul").Input(m).Input(v).Run1());
  EXPECT_THAT(mv, TensorIs<float>({2}, {-2, -2}));
  ASSERT_OK_AND_ASSIGN(Tensor vm, OpTester("MatMul").Input(v).Input(m.Reshaped({3, 2})).Run1());
  EXPECT_THAT(vm, TensorIs<float>({2}, {-4, -4}));
  ASSERT_OK_AND_ASSIGN(Tensor vv, OpTester("MatMul").Input(v).Input(v).Run1());
  EXPECT_THAT(vv, TensorIs<float>({}, {2}));
  // [2,1,1,2] x [3,2,1]: batches broadcast to [2,3].
  ASSERT_OK_AND_ASSIGN(Tensor b, OpTester("MatMul")
                                     .Input(MakeTensor<float>({2, 1, 1, 2}, {1, 2, 3, 4}))
                                     .Input(MakeTensor<float>({3, 2, 1}, {1, 0, 0, 1, 1, 1}))
                                     .Run1());
  EXPECT_THAT(b, TensorIs<float>({2, 3, 1, 1}, {1, 2, 3, 3, 4, 7}));
}

TEST(MatMul, IntegersWrap) {
  const int32_t big = std::numeric_limits<int32_t>::max();
  ASSERT_OK_AND_ASSIGN(Tensor y, OpTester("MatMul")
                                     .Input(MakeTensor<int32_t>({1, 2}, {big, 1}))
                                     .Input(MakeTensor<int32_t>({2, 1}, {2, 3}))
                                     .Run1());
  EXPECT_THAT(y, TensorIs<int32_t>({1, 1}, {1}));
}

TEST(MatMul, EmptySums) {
  ASSERT_OK_AND_ASSIGN(Tensor y, OpTester("MatMul")
                                     .Input(MakeTensor<float>({2, 0}, {}))
                                     .Input(MakeTensor<float>({0, 2}, {}))
                                     .Run1());
  EXPECT_THAT(y, TensorIs<float>({2, 2}, {0, 0, 0, 0}));
}

TEST(MatMul, Mismatch) {
  EXPECT_THAT(OpTester("MatMul")
                  .Input(RandomFloats({2, 3}, 1))
                  .Input(RandomFloats({2, 3}, 1))
                  .Run1()
                  .status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("inner dimensions")));
  EXPECT_THAT(
      OpTester("MatMul").Input(RandomFloats({}, 1)).Input(RandomFloats({3}, 1)).Run1().status(),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("scalar")));
}

TEST(Gemm, AllTranspositionsAgree) {
  // 200 columns: more than one chunk of the inner loop.
  const int64_t rows = 3, inner = 5, columns = 200;
  const Tensor a = RandomFloats({rows, inner}, 1), b = RandomFloats({inner, columns}, 2);
  const auto transposed = [](const Tensor& t) {
    std::vector<float> v(t.num_elements());
    const int64_t r = t.shape()[0], c = t.shape()[1];
    for (int64_t i = 0; i < r; ++i) {
      for (int64_t j = 0; j < c; ++j) v[j * r + i] = t.data<float>()[i * c + j];
    }
    return Tensor::FromValues<float>(Shape{c, r}, absl::Span<const float>(v));
  };
  std::vector<float> expected;
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j) {
      double sum = 0;
      for (int64_t k = 0; k < inner; ++k) {
        sum +=
            static_cast<double>(a.data<float>()[i * inner + k]) * b.data<float>()[k * columns + j];
      }
      expected.push_back(static_cast<float>(0.5 * sum + 2.0 * (i + 1)));
    }
  }
  const Tensor want =
      Tensor::FromValues<float>(Shape{rows, columns}, absl::Span<const float>(expected));
  const Tensor c = MakeTensor<float>({3, 1}, {1, 2, 3});
  for (int64_t ta : {0, 1}) {
    for (int64_t tb : {0, 1}) {
      ASSERT_OK_AND_ASSIGN(Tensor y, OpTester("Gemm")
                                         .Attr("alpha", 0.5f)
                                         .Attr("beta", 2.0f)
                                         .Attr("transA", ta)
                                         .Attr("transB", tb)
                                         .Input(ta ? transposed(a) : a)
                                         .Input(tb ? transposed(b) : b)
                                         .Input(c)
                                         .Run1());
      EXPECT_TRUE(TensorsClose(y, want, 1e-5)) << ta << tb;
    }
  }
}

TEST(Gemm, BroadcastsC) {
  const Tensor eye = MakeTensor<float>({2, 2}, {1, 0, 0, 1});
  const auto run = [&](Tensor c) {
    return OpTester("Gemm").Input(eye).Input(eye).Input(std::move(c)).Run1();
  };
  ASSERT_OK_AND_ASSIGN(Tensor y, run(MakeTensor<float>({2}, {10, 20})));
  EXPECT_THAT(y, TensorIs<float>({2, 2}, {11, 20, 10, 21}));
  ASSERT_OK_AND_ASSIGN(y, run(MakeTensor<float>({}, {5})));
  EXPECT_THAT(y, TensorIs<float>({2, 2}, {6, 5, 5, 6}));
  EXPECT_THAT(run(MakeTensor<float>({3}, {1, 2, 3})).status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("does not broadcast")));
}

TEST(Gemm, Integers) {
  ASSERT_OK_AND_ASSIGN(Tensor y, OpTester("Gemm")
                                     .Input(MakeTensor<int64_t>({1, 2}, {1, 2}))
                                     .Input(MakeTensor<int64_t>({2, 1}, {3, 4}))
                                     .Input(MakeTensor<int64_t>({1}, {-20}))
                                     .Run1());
  EXPECT_THAT(y, TensorIs<int64_t>({1, 1}, {-9}));
}

}  // namespace
}  // namespace inferd::engine
