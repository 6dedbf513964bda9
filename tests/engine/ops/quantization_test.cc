// Linear quantization and the integer convolutions and products of the standard.
#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "engine/ops/quantized_range.h"
#include "tests/engine/ops/op_tester.h"

namespace inferd::engine {
namespace {

using ::testing::HasSubstr;
using enum ElementType;

TEST(QuantizeLinearTest, RoundsHalfToEvenBeforeTheZeroPoint) {
  // 0.5, 1.5, 2.5 and -0.5 steps: ties go to even steps, whatever the zero point.
  ASSERT_OK_AND_ASSIGN(const Tensor y,
                       OpTester("QuantizeLinear")
                           .Input(MakeTensor<float>({6}, {1, 3, 5, -1, 1e30f, -1e30f}))
                           .Input(MakeTensor<float>({}, {2}))
                           .Input(MakeTensor<uint8_t>({}, {129}))
                           .Run1());
  EXPECT_THAT(y, TensorIs<uint8_t>({6}, {129, 131, 131, 129, 255, 0}));
}

TEST(QuantizeLinearTest, DividesInTheTypeOfTheScaleOrThePrecision) {
  // 3.49951 is 3.5 in float16, which goes to 4.
  const auto quantize = [](int64_t precision) {
    OpTester tester("QuantizeLinear");
    tester.Attr("precision", precision);
    return tester.Input(MakeFrom<Float16>({1}, {7.01953125f}))
        .Input(MakeFrom<Float16>({}, {2.005859375f}))
        .Input(MakeTensor<int8_t>({}, {0}))
        .Run1();
  };
  ASSERT_OK_AND_ASSIGN(const Tensor half, quantize(0));
  EXPECT_THAT(half, TensorIs<int8_t>({1}, {4}));
  ASSERT_OK_AND_ASSIGN(const Tensor single, quantize(1));
  EXPECT_THAT(single, TensorIs<int8_t>({1}, {3}));
  // Exact for integers: (2^24 + 1) / 2^25 is above one half, which float cannot tell.
  ASSERT_OK_AND_ASSIGN(const Tensor integers,
                       OpTester("QuantizeLinear")
                           .Input(MakeTensor<int32_t>({2}, {(1 << 24) + 1, 1 << 24}))
                           .Input(MakeTensor<int32_t>({}, {1 << 25}))
                           .Run1());
  EXPECT_THAT(integers, TensorIs<uint8_t>({2}, {1, 0}));
}

TEST(QuantizeLinearTest, PerAxisAndBlocked) {
  const Tensor x = MakeTensor<float>({2, 3}, {2, 4, 6, 2, 4, 6});
  ASSERT_OK_AND_ASSIGN(const Tensor rows, OpTester("QuantizeLinear")
                                              .Attr("axis", int64_t{0})
                                              .Input(x)
                                              .Input(MakeTensor<float>({2}, {1, 2}))
                                              .Input(MakeTensor<int16_t>({2}, {0, 100}))
                                              .Run1());
  EXPECT_THAT(rows, TensorIs<int16_t>({2, 3}, {2, 4, 6, 101, 102, 103}));
  ASSERT_OK_AND_ASSIGN(const Tensor columns, OpTester("QuantizeLinear")
                                                 .Attr("axis", int64_t{-1})
                                                 .Input(x)
                                                 .Input(MakeTensor<float>({3}, {1, 2, 3}))
                                                 .Run1());
  EXPECT_THAT(columns, TensorIs<uint8_t>({2, 3}, {2, 2, 2, 2, 2, 2}));
  // The last block of the axis is short.
  ASSERT_OK_AND_ASSIGN(const Tensor blocks, OpTester("QuantizeLinear")
                                                .Attr("axis", int64_t{1})
                                                .Attr("block_size", int64_t{2})
                                                .Input(x)
                                                .Input(MakeTensor<float>({2, 2}, {1, 2, 2, 1}))
                                                .Run1());
  EXPECT_THAT(blocks, TensorIs<uint8_t>({2, 3}, {2, 4, 3, 1, 2, 6}));
  ASSERT_OK_AND_ASSIGN(const Tensor outer, OpTester("QuantizeLinear")
                                               .Attr("axis", int64_t{0})
                                               .Attr("block_size", int64_t{2})
                                               .Input(x)
                                               .Input(MakeTensor<float>({1, 3}, {1, 2, 3}))
                                               .Run1());
  EXPECT_THAT(outer, TensorIs<uint8_t>({2, 3}, {2, 2, 2, 2, 2, 2}));
}

TEST(QuantizeLinearTest, PackedAndLowPrecisionResults) {
  const auto quantize = [](ElementType type, bool saturate) {
    return OpTester("QuantizeLinear")
        .Attr("output_dtype", static_cast<int64_t>(type))
        .Attr("saturate", int64_t{saturate})
        .Input(MakeTensor<float>({5}, {-100, -1, 1, 3, 1000}))
        .Input(MakeTensor<float>({}, {1}))
        .Run1();
  };
  ASSERT_OK_AND_ASSIGN(const Tensor int4, quantize(kInt4, true));
  EXPECT_THAT(int4, IsCloseTo(MakeRaw(kInt4, {5}, {0xF8, 0x31, 0x07}), 0, 0));
  ASSERT_OK_AND_ASSIGN(const Tensor uint4, quantize(kUint4, true));
  EXPECT_THAT(uint4, IsCloseTo(MakeRaw(kUint4, {5}, {0x00, 0x31, 0x0F}), 0, 0));
  ASSERT_OK_AND_ASSIGN(const Tensor int2, quantize(kInt2, true));
  EXPECT_THAT(int2, IsCloseTo(MakeRaw(kInt2, {5}, {0b01011110, 0b01}), 0, 0));
  // E4M3FN: 448 is the largest, NaN is 0x7F.
  ASSERT_OK_AND_ASSIGN(const Tensor saturated, quantize(kFloat8E4M3FN, true));
  EXPECT_THAT(saturated,
              IsCloseTo(MakeRaw(kFloat8E4M3FN, {5}, {0xEC, 0xB8, 0x38, 0x44, 0x7E}), 0, 0));
  ASSERT_OK_AND_ASSIGN(const Tensor not_a_number, quantize(kFloat8E4M3FN, false));
  EXPECT_EQ(static_cast<const uint8_t*>(not_a_number.view().data)[4], 0x7F);
}

TEST(QuantizeLinearTest, NamesWhatDoesNotFit) {
  const auto infer = [](int64_t block, Shape scale, int64_t type) {
    return OpTester("QuantizeLinear")
        .Attr("block_size", block)
        .Attr("output_dtype", type)
        .Input(RandomFloats({4, 6}, 1))
        .Input(RandomFloats(scale, 2))
        .Infer()
        .status();
  };
  EXPECT_THAT(infer(0, {5}, 0),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("a vector of 6")));
  EXPECT_THAT(infer(4, {4, 3}, 0),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("expected [4,2]")));
  EXPECT_THAT(infer(-1, {}, 0),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("block_size is -1")));
  EXPECT_THAT(infer(0, {}, 1),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("output_dtype is 1")));
}

TEST(DequantizeLinearTest, AllGranularitiesAndTypes) {
  ASSERT_OK_AND_ASSIGN(const Tensor tensor, OpTester("DequantizeLinear")
                                                .Input(MakeTensor<uint8_t>({3}, {0, 128, 255}))
                                                .Input(MakeTensor<float>({1}, {0.5f}))
                                                .Input(MakeTensor<uint8_t>({}, {128}))
                                                .Run1());
  EXPECT_THAT(tensor, TensorIs<float>({3}, {-64, 0, 63.5f}));
  ASSERT_OK_AND_ASSIGN(const Tensor half, OpTester("DequantizeLinear")
                                              .Attr("output_dtype", int64_t{10})
                                              .Input(MakeTensor<int32_t>({2}, {3, -70000}))
                                              .Input(MakeTensor<float>({}, {0.5f}))
                                              .Run1());
  EXPECT_THAT(half, TensorIsFrom<Float16>({2}, {1.5f, -35008}));
  ASSERT_OK_AND_ASSIGN(const Tensor packed, OpTester("DequantizeLinear")
                                                .Attr("axis", int64_t{0})
                                                .Input(MakeRaw(kInt4, {2, 2}, {0x8F, 0x71}))
                                                .Input(MakeTensor<float>({2}, {2, 3}))
                                                .Input(MakeRaw(kInt4, {2}, {0x10}))
                                                .Run1());
  EXPECT_THAT(packed, TensorIs<float>({2, 2}, {-2, -16, 0, 18}));
  // A scale of 2^(130 - 127).
  ASSERT_OK_AND_ASSIGN(const Tensor microscaled,
                       OpTester("DequantizeLinear")
                           .Attr("output_dtype", int64_t{1})
                           .Attr("block_size", int64_t{4})
                           .Input(MakeRaw(kFloat4E2M1, {1, 4}, {0x71, 0x9F}))
                           .Input(MakeRaw(kFloat8E8M0, {1, 1}, {130}))
                           .Run1());
  EXPECT_THAT(microscaled, TensorIs<float>({1, 4}, {4, 48, -48, -4}));
  EXPECT_THAT(OpTester("DequantizeLinear")
                  .Input(MakeTensor<int8_t>({1}, {1}))
                  .Input(MakeRaw(kFloat8E8M0, {}, {130}))
                  .Infer()
                  .status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("output_dtype is missing")));
}

TEST(DynamicQuantizeLinearTest, FitsZeroIntoTheRange) {
  ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> y,
                       OpTester("DynamicQuantizeLinear")
                           .Input(MakeTensor<float>({4}, {1, 2, 5.1f, 3}))
                           .Outputs(3)
                           .Run());
  EXPECT_THAT(y[0], TensorIs<uint8_t>({4}, {50, 100, 255, 150}));
  EXPECT_THAT(y[1], TensorIs<float>({}, {5.1f / 255}));
  EXPECT_THAT(y[2], TensorIs<uint8_t>({}, {0}));
  ASSERT_OK_AND_ASSIGN(
      const std::vector<Tensor> zeros,
      OpTester("DynamicQuantizeLinear").Input(MakeTensor<float>({2}, {0, 0})).Outputs(3).Run());
  EXPECT_THAT(zeros[1], TensorIs<float>({}, {1}));
}

// Random bytes of a type.
Tensor Bytes(ElementType type, const Shape& shape, std::mt19937& random) {
  Tensor tensor = *Tensor::Allocate(type, shape);
  auto* bytes = static_cast<uint8_t*>(tensor.view().data);
  for (int64_t i = 0; i < tensor.num_elements(); ++i) bytes[i] = static_cast<uint8_t>(random());
  return tensor;
}
int At(const Tensor& tensor, int64_t i) {
  const auto* bytes = static_cast<const uint8_t*>(tensor.view().data);
  return tensor.type() == kInt8 ? static_cast<int8_t>(bytes[i]) : bytes[i];
}

struct ConvCase {
  int64_t groups, channels, outputs, size, kernel, stride, dilation, pad;
};

// ConvInteger of square images, by the definition.
std::vector<int32_t> NaiveConvolution(const ConvCase& c, const Tensor& x, const Tensor& w,
                                      const Tensor& x_zero, const Tensor& w_zero, int64_t batch,
                                      int64_t* size) {
  const int64_t extent = (c.kernel - 1) * c.dilation + 1;
  const int64_t out = (c.size + 2 * c.pad - extent) / c.stride + 1;
  const int64_t per_group = c.channels / c.groups;
  std::vector<int32_t> y;
  for (int64_t n = 0; n < batch; ++n) {
    for (int64_t o = 0; o < c.outputs; ++o) {
      for (int64_t p = 0; p < out * out; ++p) {
        int32_t sum = 0;
        for (int64_t ch = 0; ch < per_group; ++ch) {
          for (int64_t k = 0; k < c.kernel * c.kernel; ++k) {
            const int64_t i = p / out * c.stride + k / c.kernel * c.dilation - c.pad;
            const int64_t j = p % out * c.stride + k % c.kernel * c.dilation - c.pad;
            if (i < 0 || i >= c.size || j < 0 || j >= c.size) continue;
            const int64_t channel = o / (c.outputs / c.groups) * per_group + ch;
            sum += (At(x, ((n * c.channels + channel) * c.size + i) * c.size + j) - At(x_zero, 0)) *
                   (At(w, (o * per_group + ch) * c.kernel * c.kernel + k) -
                    At(w_zero, w_zero.num_elements() == 1 ? 0 : o));
          }
        }
        y.push_back(sum);
      }
    }
  }
  *size = out;
  return y;
}

const ConvCase kConvCases[] = {
    {1, 3, 8, 11, 3, 1, 1, 1},  {1, 20, 37, 9, 1, 1, 1, 0}, {6, 6, 6, 12, 3, 2, 1, 1},
    {2, 8, 10, 10, 3, 1, 2, 2}, {1, 5, 4, 8, 5, 3, 1, 4},   {1, 40, 70, 5, 3, 1, 1, 1},
    {4, 4, 8, 7, 2, 1, 1, 0},   {1, 6, 9, 7, 1, 2, 1, 0},
};

TEST(ConvIntegerTest, AgreesWithTheDefinition) {
  std::mt19937 random(1);
  for (const ConvCase& c : kConvCases) {
    for (const bool constant : {false, true}) {
      const ElementType x_type = random() % 2 == 0 ? kUint8 : kInt8;
      const ElementType w_type = random() % 2 == 0 ? kUint8 : kInt8;
      const Tensor x = Bytes(x_type, {2, c.channels, c.size, c.size}, random);
      const Tensor w =
          Bytes(w_type, {c.outputs, c.channels / c.groups, c.kernel, c.kernel}, random);
      const Tensor x_zero = Bytes(x_type, {}, random);
      const Tensor w_zero = Bytes(w_type, random() % 2 == 0 ? Shape{} : Shape{c.outputs}, random);
      OpTester tester("ConvInteger");
      tester.Attr("group", c.groups)
          .Attr("strides", std::vector<int64_t>{c.stride, c.stride})
          .Attr("dilations", std::vector<int64_t>{c.dilation, c.dilation})
          .Attr("pads", std::vector<int64_t>(4, c.pad))
          .Input(x);
      constant ? tester.Constant(w) : tester.Input(w);
      tester.Input(x_zero);
      constant ? tester.Constant(w_zero) : tester.Input(w_zero);
      ASSERT_OK_AND_ASSIGN(const Tensor y, tester.Run1());
      int64_t size;
      const std::vector<int32_t> expected = NaiveConvolution(c, x, w, x_zero, w_zero, 2, &size);
      EXPECT_TRUE(TensorsClose(y, Tensor::FromValues<int32_t>({2, c.outputs, size, size},
                                                              absl::MakeConstSpan(expected))))
          << "channels " << c.channels << " outputs " << c.outputs;
    }
  }
}

TEST(QLinearConvTest, ScalesTheSumsOfEveryChannel) {
  std::mt19937 random(2);
  for (const ConvCase& c : kConvCases) {
    const Tensor x = Bytes(kUint8, {1, c.channels, c.size, c.size}, random);
    const Tensor w = Bytes(kInt8, {c.outputs, c.channels / c.groups, c.kernel, c.kernel}, random);
    const Tensor x_zero = Bytes(kUint8, {}, random);
    const Tensor w_zero = MakeTensor<int8_t>({}, {0});
    const Tensor w_scale = RandomFloats({c.outputs}, 3, 1e-5f, 1e-4f);
    std::vector<int32_t> bias(c.outputs);
    for (int32_t& b : bias) b = static_cast<int32_t>(random() % 20000) - 10000;
    ASSERT_OK_AND_ASSIGN(
        const Tensor y,
        OpTester("QLinearConv")
            .Attr("group", c.groups)
            .Attr("strides", std::vector<int64_t>{c.stride, c.stride})
            .Attr("dilations", std::vector<int64_t>{c.dilation, c.dilation})
            .Attr("pads", std::vector<int64_t>(4, c.pad))
            .Input(x)
            .Input(MakeTensor<float>({}, {2.5f}))
            .Input(x_zero)
            .Constant(w)
            .Constant(w_scale)
            .Constant(w_zero)
            .Input(MakeTensor<float>({}, {0.125f}))
            .Input(MakeTensor<int8_t>({}, {3}))
            .Input(Tensor::FromValues<int32_t>({c.outputs}, absl::MakeConstSpan(bias)))
            .Run1());
    int64_t size;
    const std::vector<int32_t> sums = NaiveConvolution(c, x, w, x_zero, w_zero, 1, &size);
    std::vector<int8_t> expected;
    for (size_t i = 0; i < sums.size(); ++i) {
      const int64_t channel = static_cast<int64_t>(i) / (size * size);
      const float scale = 2.5f * w_scale.data<float>()[channel] / 0.125f;
      const float value = std::nearbyint(static_cast<float>(sums[i] + bias[channel]) * scale);
      expected.push_back(static_cast<int8_t>(std::clamp(value + 3, -128.0f, 127.0f)));
    }
    EXPECT_TRUE(TensorsClose(
        y, Tensor::FromValues<int8_t>({1, c.outputs, size, size}, absl::MakeConstSpan(expected))));
  }
}

TEST(MatMulIntegerTest, RowsColumnsAndBatches) {
  std::mt19937 random(4);
  const int64_t rows = 5, inner = 70, columns = 67;
  const Tensor a = Bytes(kInt8, {2, rows, inner}, random);
  const Tensor b = Bytes(kUint8, {inner, columns}, random);
  const Tensor a_zero = Bytes(kInt8, {2, rows, 1}, random);
  const Tensor b_zero = Bytes(kUint8, {columns}, random);
  std::vector<int32_t> expected;
  for (int64_t r = 0; r < 2 * rows; ++r) {
    for (int64_t j = 0; j < columns; ++j) {
      int32_t sum = 0;
      for (int64_t k = 0; k < inner; ++k) {
        sum += (At(a, r * inner + k) - At(a_zero, r)) * (At(b, k * columns + j) - At(b_zero, j));
      }
      expected.push_back(sum);
    }
  }
  for (const bool constant : {false, true}) {
    OpTester tester("MatMulInteger");
    tester.Input(a);
    constant ? tester.Constant(b) : tester.Input(b);
    tester.Input(a_zero);
    constant ? tester.Constant(b_zero) : tester.Input(b_zero);
    ASSERT_OK_AND_ASSIGN(const Tensor y, tester.Run1());
    EXPECT_TRUE(TensorsClose(
        y, Tensor::FromValues<int32_t>({2, rows, columns}, absl::MakeConstSpan(expected))));
  }
  // Nothing to add up is 0; vectors add no dimension.
  ASSERT_OK_AND_ASSIGN(const Tensor empty, OpTester("MatMulInteger")
                                               .Input(Bytes(kInt8, {3, 0}, random))
                                               .Input(Bytes(kInt8, {0}, random))
                                               .Run1());
  EXPECT_THAT(empty, TensorIs<int32_t>({3}, {0, 0, 0}));
  EXPECT_THAT(
      OpTester("MatMulInteger").Input(a).Input(b).Input(Bytes(kInt8, {3}, random)).Run().status(),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("a_zero_point")));
}

TEST(QLinearMatMulTest, PerColumnScalesAndFloat8) {
  ASSERT_OK_AND_ASSIGN(const Tensor y, OpTester("QLinearMatMul")
                                           .Input(MakeTensor<uint8_t>({1, 2}, {130, 126}))
                                           .Input(MakeTensor<float>({}, {0.5f}))
                                           .Input(MakeTensor<uint8_t>({}, {128}))
                                           .Input(MakeTensor<int8_t>({2, 2}, {10, 1, -10, 2}))
                                           .Input(MakeTensor<float>({2}, {1, 0.25f}))
                                           .Input(MakeTensor<int8_t>({2}, {0, 0}))
                                           .Input(MakeTensor<float>({}, {0.5f}))
                                           .Input(MakeTensor<uint8_t>({}, {100}))
                                           .Run1());
  // Sums 40 and -2: 40 * 1 + 100 and, a tie, -0.5 to 0.
  EXPECT_THAT(y, TensorIs<uint8_t>({1, 2}, {140, 100}));
  // E5M2: 0x3C is 1, 0x40 is 2, 0x44 is 4.
  ASSERT_OK_AND_ASSIGN(const Tensor low, OpTester("QLinearMatMul")
                                             .Input(MakeRaw(kFloat8E5M2, {1, 2}, {0x3C, 0x40}))
                                             .Input(MakeTensor<float>({}, {1}))
                                             .Input(MakeRaw(kFloat8E5M2, {}, {0}))
                                             .Input(MakeRaw(kFloat8E5M2, {2, 1}, {0x40, 0x3C}))
                                             .Input(MakeTensor<float>({}, {1}))
                                             .Input(MakeRaw(kFloat8E5M2, {}, {0}))
                                             .Input(MakeTensor<float>({}, {1}))
                                             .Input(MakeRaw(kFloat8E5M2, {}, {0}))
                                             .Run1());
  EXPECT_THAT(low, IsCloseTo(MakeRaw(kFloat8E5M2, {1, 1}, {0x44}), 0, 0));
}

TEST(PadTest, PackedTypes) {
  // Elements 1, 2, 3 between two of the constant and none.
  ASSERT_OK_AND_ASSIGN(const Tensor y, OpTester("Pad")
                                           .Input(MakeRaw(kUint4, {3}, {0x21, 0x03}))
                                           .Input(Tensor::Vector({2, 0}))
                                           .Input(MakeRaw(kUint4, {}, {0x0F}))
                                           .Run1());
  EXPECT_THAT(y, IsCloseTo(MakeRaw(kUint4, {5}, {0xFF, 0x21, 0x03}), 0, 0));
  ASSERT_OK_AND_ASSIGN(const Tensor edge, OpTester("Pad")
                                              .Attr("mode", std::string("edge"))
                                              .Input(MakeRaw(kInt2, {3}, {0b111001}))
                                              .Input(Tensor::Vector({1, 1}))
                                              .Run1());
  EXPECT_THAT(edge, IsCloseTo(MakeRaw(kInt2, {5}, {0b11100101, 0b11}), 0, 0));
}

}  // namespace
}  // namespace inferd::engine
