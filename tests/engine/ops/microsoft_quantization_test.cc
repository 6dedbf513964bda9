// com.microsoft's quantized operators. Expected values are those of ONNX Runtime 1.32 unless they
// are derived beside them.
#include <vector>

#include "tests/engine/ops/op_tester.h"

namespace inferd::engine {
namespace {

using ::testing::HasSubstr;
using enum ElementType;

OpTester Microsoft(absl::string_view op) { return OpTester(op, "com.microsoft"); }
Tensor Scale(float value) { return Tensor::Scalar<float>(value); }
Tensor U8(uint8_t value) { return Tensor::Scalar<uint8_t>(value); }
Tensor I8(int8_t value) { return Tensor::Scalar<int8_t>(value); }

TEST(MicrosoftLinearQuantizationTest, SixteenBits) {
  ASSERT_OK_AND_ASSIGN(const Tensor q, Microsoft("QuantizeLinear")
                                           .Input(MakeTensor<float>({3}, {1, -1, 5e4f}))
                                           .Input(Scale(0.5f))
                                           .Input(Tensor::Scalar<uint16_t>(100))
                                           .Run1());
  EXPECT_THAT(q, TensorIs<uint16_t>({3}, {102, 98, 65535}));
  ASSERT_OK_AND_ASSIGN(const Tensor x, Microsoft("DequantizeLinear")
                                           .Input(MakeTensor<uint16_t>({3}, {0, 100, 65535}))
                                           .Input(Scale(0.5f))
                                           .Input(Tensor::Scalar<uint16_t>(100))
                                           .Run1());
  EXPECT_THAT(x, TensorIs<float>({3}, {-50, 0, 32717.5f}));
}

TEST(QLinearBinaryTest, TheZeroPointIsRoundedWithTheSum) {
  // The second sum is 3.5, and with the zero point 4.5: to even is 4, not 4 + 1.
  ASSERT_OK_AND_ASSIGN(const Tensor sum, Microsoft("QLinearAdd")
                                             .Input(MakeTensor<uint8_t>({4}, {5, 7, 200, 0}))
                                             .Input(Scale(0.5f))
                                             .Input(U8(0))
                                             .Input(MakeTensor<uint8_t>({4}, {0, 1, 255, 0}))
                                             .Input(Scale(0.25f))
                                             .Input(U8(1))
                                             .Input(Scale(1))
                                             .Input(U8(1))
                                             .Run1());
  EXPECT_THAT(sum, TensorIs<uint8_t>({4}, {3, 4, 164, 1}));
  ASSERT_OK_AND_ASSIGN(const Tensor product, Microsoft("QLinearMul")
                                                 .Input(MakeTensor<int8_t>({4}, {-10, 5, 127, 3}))
                                                 .Input(Scale(0.5f))
                                                 .Input(I8(1))
                                                 .Input(MakeTensor<int8_t>({1}, {4}))
                                                 .Input(Scale(0.25f))
                                                 .Input(I8(-2))
                                                 .Input(Scale(0.25f))
                                                 .Input(I8(3))
                                                 .Run1());
  EXPECT_THAT(product, TensorIs<int8_t>({4}, {-30, 15, 127, 9}));
  EXPECT_THAT(Microsoft("QLinearAdd")
                  .Input(MakeTensor<uint8_t>({2}, {1, 2}))
                  .Input(MakeTensor<float>({2}, {1, 2}))
                  .NoInput()
                  .Input(MakeTensor<uint8_t>({2}, {1, 2}))
                  .Input(Scale(1))
                  .NoInput()
                  .Input(Scale(1))
                  .Run()
                  .status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("A_scale")));
}

TEST(QLinearUnaryTest, LeakyReluAndSigmoid) {
  ASSERT_OK_AND_ASSIGN(const Tensor leaky, Microsoft("QLinearLeakyRelu")
                                               .Attr("alpha", 0.25f)
                                               .Input(MakeTensor<uint8_t>({4}, {0, 100, 128, 255}))
                                               .Input(Scale(0.1f))
                                               .Input(U8(128))
                                               .Input(Scale(0.05f))
                                               .Input(U8(20))
                                               .Run1());
  EXPECT_THAT(leaky, TensorIs<uint8_t>({4}, {0, 6, 20, 255}));
  ASSERT_OK_AND_ASSIGN(const Tensor sigmoid,
                       Microsoft("QLinearSigmoid")
                           .Input(MakeTensor<int8_t>({5}, {-128, -20, 0, 60, 127}))
                           .Input(Scale(0.05f))
                           .Input(I8(0))
                           .Input(Scale(1.0f / 256))
                           .Input(I8(-128))
                           .Run1());
  EXPECT_THAT(sigmoid, TensorIs<int8_t>({5}, {-128, -59, 0, 116, 127}));
}

TEST(QLinearConcatTest, BringsOperandsToOneQuantization) {
  const auto concat = [](Tensor last_zero_point) {
    OpTester tester = Microsoft("QLinearConcat");
    tester.Attr("axis", int64_t{0})
        .Input(Scale(0.5f))
        .Input(U8(10))
        .Input(MakeTensor<uint8_t>({1, 3}, {0, 4, 9}))
        .Input(Scale(0.25f))
        .Input(U8(2))
        .Input(MakeTensor<uint8_t>({1, 3}, {1, 255, 10}))
        .Input(Scale(0.5f))
        .Input(std::move(last_zero_point));
    return tester.Run1();
  };
  ASSERT_OK_AND_ASSIGN(const Tensor y, concat(U8(10)));
  EXPECT_THAT(y, TensorIs<uint8_t>({2, 3}, {9, 11, 14, 1, 255, 10}));
  EXPECT_THAT(concat(I8(10)).status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("inputs 5 and 7")));
}

TEST(QLinearWhereTest, BringsBothToTheResultsQuantization) {
  ASSERT_OK_AND_ASSIGN(const Tensor y, Microsoft("QLinearWhere")
                                           .Input(MakeTensor<bool>({3}, {true, false, true}))
                                           .Input(MakeTensor<uint8_t>({3}, {0, 4, 9}))
                                           .Input(Scale(0.25f))
                                           .Input(U8(2))
                                           .Input(MakeTensor<uint8_t>({1}, {7}))
                                           .Input(Scale(1))
                                           .Input(U8(0))
                                           .Input(Scale(0.5f))
                                           .Input(U8(10))
                                           .Run1());
  EXPECT_THAT(y, TensorIs<uint8_t>({3}, {9, 24, 14}));
}

TEST(QLinearPoolTest, MeansOfWindowsAndPlanes) {
  const auto average = [](int64_t include) {
    return Microsoft("QLinearAveragePool")
        .Attr("kernel_shape", std::vector<int64_t>{2, 2})
        .Attr("pads", std::vector<int64_t>{1, 1, 0, 0})
        .Attr("count_include_pad", include)
        .Input(MakeTensor<uint8_t>({1, 1, 3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9}))
        .Input(Scale(0.5f))
        .Input(U8(1))
        .Input(Scale(0.25f))
        .Input(U8(3))
        .Run1();
  };
  ASSERT_OK_AND_ASSIGN(const Tensor inside, average(0));
  EXPECT_THAT(inside, TensorIs<uint8_t>({1, 1, 3, 3}, {3, 4, 6, 6, 7, 9, 12, 13, 15}));
  ASSERT_OK_AND_ASSIGN(const Tensor padded, average(1));
  EXPECT_THAT(padded, TensorIs<uint8_t>({1, 1, 3, 3}, {3, 4, 4, 4, 7, 9, 8, 13, 15}));
  ASSERT_OK_AND_ASSIGN(const Tensor global,
                       Microsoft("QLinearGlobalAveragePool")
                           .Attr("channels_last", int64_t{1})
                           .Input(MakeTensor<uint8_t>({1, 2, 2, 2}, {1, 10, 2, 20, 3, 30, 7, 60}))
                           .Input(Scale(0.5f))
                           .Input(U8(1))
                           .Input(Scale(0.25f))
                           .Input(U8(3))
                           .Run1());
  EXPECT_THAT(global, TensorIs<uint8_t>({1, 1, 1, 2}, {7, 61}));
}

TEST(QLinearSoftmaxTest, OneAxisOrAllFromIt) {
  const auto softmax = [](int64_t opset, int64_t axis) {
    return Microsoft("QLinearSoftmax")
        .Attr("opset", opset)
        .Attr("axis", axis)
        .Input(MakeTensor<uint8_t>({2, 3}, {10, 20, 30, 40, 40, 0}))
        .Input(Scale(0.1f))
        .Input(U8(5))
        .Input(Scale(1.0f / 256))
        .Input(U8(0))
        .Run1();
  };
  ASSERT_OK_AND_ASSIGN(const Tensor one, softmax(13, 1));
  EXPECT_THAT(one, TensorIs<uint8_t>({2, 3}, {23, 63, 170, 127, 127, 2}));
  ASSERT_OK_AND_ASSIGN(const Tensor all, softmax(12, 0));
  EXPECT_THAT(all, TensorIs<uint8_t>({2, 3}, {5, 13, 37, 100, 100, 2}));
}

TEST(QLinearReduceMeanTest, OverSomeAxes) {
  // By hand, ONNX Runtime has no kernel: steps from the zero point of 10 average -1, 4 and 9.5,
  // which are -2, 8 and 19 steps of half the size.
  ASSERT_OK_AND_ASSIGN(const Tensor y,
                       Microsoft("QLinearReduceMean")
                           .Attr("axes", std::vector<int64_t>{0})
                           .Attr("keepdims", int64_t{0})
                           .Input(MakeTensor<uint8_t>({2, 3}, {8, 13, 19, 10, 15, 20}))
                           .Input(Scale(1))
                           .Input(U8(10))
                           .Input(Scale(0.5f))
                           .Input(U8(100))
                           .Run1());
  EXPECT_THAT(y, TensorIs<uint8_t>({3}, {98, 108, 119}));
}

TEST(QGemmTest, QuantizedAndFloatResults) {
  ASSERT_OK_AND_ASSIGN(const Tensor y,
                       Microsoft("QGemm")
                           .Input(MakeTensor<uint8_t>({2, 2}, {1, 2, 3, 4}))
                           .Input(Scale(0.5f))
                           .Input(U8(2))
                           .Constant(MakeTensor<int8_t>({2, 3}, {1, -2, 3, 4, -5, 6}))
                           .Input(MakeTensor<float>({3}, {0.5f, 1, 2}))
                           .Constant(MakeTensor<int8_t>({3}, {0, 1, 0}))
                           .Input(MakeTensor<int32_t>({3}, {10, 20, -30}))
                           .Input(Scale(0.25f))
                           .Input(U8(100))
                           .Run1());
  EXPECT_THAT(y, TensorIs<uint8_t>({2, 3}, {109, 146, 0, 119, 110, 40}));
  ASSERT_OK_AND_ASSIGN(const Tensor real,
                       Microsoft("QGemm")
                           .Attr("transA", int64_t{1})
                           .Attr("transB", int64_t{1})
                           .Attr("alpha", 2.0f)
                           .Input(MakeTensor<uint8_t>({2, 2}, {1, 2, 3, 4}))
                           .Input(Scale(0.5f))
                           .Input(U8(2))
                           .Input(MakeTensor<int8_t>({3, 2}, {1, -2, 3, 4, -5, 6}))
                           .Input(Scale(0.5f))
                           .Input(I8(0))
                           .Run1());
  EXPECT_THAT(real, TensorIs<float>({2, 3}, {-1.5f, 0.5f, 5.5f, -2, 4, 6}));
}

TEST(QuantizedMatMulTest, ScaledToFloat) {
  ASSERT_OK_AND_ASSIGN(const Tensor dynamic,
                       Microsoft("DynamicQuantizeMatMul")
                           .Input(MakeTensor<float>({1, 4}, {0, 0.5f, 1, 2.55f}))
                           .Input(MakeTensor<uint8_t>({4, 1}, {1, 2, 3, 4}))
                           .Input(Scale(0.5f))
                           .Input(U8(1))
                           .Input(MakeTensor<float>({1}, {0.25f}))
                           .Run1());
  EXPECT_THAT(dynamic, TensorIs<float>({1, 1}, {5.325f}, 0, 1e-6));
  ASSERT_OK_AND_ASSIGN(const Tensor columns, Microsoft("MatMulIntegerToFloat")
                                                 .Input(MakeTensor<uint8_t>({2, 2}, {1, 2, 3, 4}))
                                                 .Input(MakeTensor<int8_t>({2, 2}, {5, 6, 7, 8}))
                                                 .Input(Scale(0.5f))
                                                 .Input(MakeTensor<float>({2}, {1, 2}))
                                                 .Input(U8(1))
                                                 .Input(MakeTensor<int8_t>({2}, {1, 2}))
                                                 .Input(MakeTensor<float>({2}, {0.5f, 0.25f}))
                                                 .Run1());
  EXPECT_THAT(columns, TensorIs<float>({2, 2}, {3.5f, 6.25f, 13.5f, 26.25f}));
  ASSERT_OK_AND_ASSIGN(const Tensor words, Microsoft("MatMulInteger16")
                                               .Input(MakeTensor<int16_t>({1, 2}, {30000, -30000}))
                                               .Input(MakeTensor<int16_t>({2, 1}, {30000, -30000}))
                                               .Run1());
  EXPECT_THAT(words, TensorIs<int32_t>({1, 1}, {1800000000}));
}

TEST(MicrosoftQLinearConvTest, ChannelsLast) {
  std::vector<uint8_t> x(18);
  for (int i = 0; i < 18; ++i) x[i] = static_cast<uint8_t>(i);
  ASSERT_OK_AND_ASSIGN(const Tensor y,
                       Microsoft("QLinearConv")
                           .Attr("channels_last", int64_t{1})
                           .Attr("strides", std::vector<int64_t>{2, 2})
                           .Input(Tensor::FromValues<uint8_t>({1, 3, 3, 2}, absl::MakeConstSpan(x)))
                           .Input(Scale(0.5f))
                           .Input(U8(3))
                           .Input(MakeTensor<int8_t>({3, 2, 1, 1}, {1, -1, 2, 3, -2, 1}))
                           .Input(MakeTensor<float>({3}, {0.5f, 0.25f, 1}))
                           .Input(MakeTensor<int8_t>({3}, {0, 0, 0}))
                           .Input(Scale(0.5f))
                           .Input(U8(50))
                           .Run1());
  EXPECT_THAT(y, TensorIs<uint8_t>({1, 2, 2, 3}, {50, 47, 54, 50, 52, 50, 50, 62, 42, 50, 67, 38}));
}

}  // namespace
}  // namespace inferd::engine
