// Fourier transforms, windows and mel filters.
#include <cmath>
#include <complex>
#include <numbers>

#include "engine/ops/fourier_transform.h"
#include "tests/engine/ops/op_tester.h"

namespace inferd::engine {
namespace {

using ::testing::HasSubstr;

// The sum of the definition.
std::vector<std::complex<double>> Definition(const std::vector<std::complex<double>>& x) {
  const size_t n = x.size();
  std::vector<std::complex<double>> y(n);
  for (size_t k = 0; k < n; ++k) {
    for (size_t i = 0; i < n; ++i) {
      const double angle = -2 * std::numbers::pi * static_cast<double>(k * i % n) / n;
      y[k] += x[i] * std::polar(1.0, angle);
    }
  }
  return y;
}

TEST(FourierTransformTest, EveryKindOfLength) {
  // Powers, products of all radices with a butterfly and without, and primes past the largest.
  for (const int64_t n :
       {1, 2, 3, 4, 5, 7, 8, 12, 30, 31, 37, 64, 77, 97, 210, 400, 486, 1001, 1019}) {
    SCOPED_TRACE(n);
    std::vector<std::complex<double>> x;
    for (int64_t i = 0; i < n; ++i) x.emplace_back(std::sin(3.0 * i), std::cos(5.0 * i * i));
    const FourierTransform transform(n);
    std::vector<Complex> data(n), scratch(transform.scratch_size());
    for (int64_t i = 0; i < n; ++i) data[i] = {x[i].real(), x[i].imag()};
    transform.Forward(data.data(), scratch.data());
    const auto expected = Definition(x);
    for (int64_t k = 0; k < n; ++k) {
      ASSERT_NEAR(data[k].re, expected[k].real(), 1e-11 * n) << k;
      ASSERT_NEAR(data[k].im, expected[k].imag(), 1e-11 * n) << k;
    }
    transform.Inverse(data.data(), scratch.data());
    for (int64_t i = 0; i < n; ++i) {
      ASSERT_NEAR(data[i].re, x[i].real(), 1e-13) << i;
      ASSERT_NEAR(data[i].im, x[i].imag(), 1e-13) << i;
    }
  }
}

TEST(DftTest, AnyAxisPaddedAndCut) {
  // Columns (1, 3) and (2, 4).
  const Tensor x = MakeTensor<float>({2, 2, 1}, {1, 2, 3, 4});
  const auto run = [&](int64_t length) {
    return OpTester("DFT")
        .Input(x)
        .Input(Tensor::Scalar<int64_t>(length))
        .Input(Tensor::Scalar<int64_t>(0))
        .Run1();
  };
  ASSERT_OK_AND_ASSIGN(const Tensor same, run(2));
  EXPECT_THAT(same, TensorIs<float>({2, 2, 2}, {4, 0, 6, 0, -2, 0, -2, 0}, 1e-6));
  ASSERT_OK_AND_ASSIGN(const Tensor cut, run(1));
  EXPECT_THAT(cut, TensorIs<float>({1, 2, 2}, {1, 0, 2, 0}, 1e-6));
  ASSERT_OK_AND_ASSIGN(const Tensor padded, run(4));  // (1, 3, 0, 0): 4, 1-3i, -2, 1+3i
  EXPECT_THAT(padded, TensorIs<float>({4, 2, 2},
                                      {4, 0, 6, 0, 1, -3, 2, -4, -2, 0, -2, 0, 1, 3, 2, 4}, 1e-6));
}

TEST(DftTest, HalfASpectrumAndBack) {
  for (const int64_t n : {1, 6, 7}) {
    const Tensor x = RandomFloats({2, n, 1}, 3);
    ASSERT_OK_AND_ASSIGN(const Tensor spectrum,
                         OpTester("DFT").Attr("onesided", int64_t{1}).Input(x).Run1());
    EXPECT_EQ(spectrum.shape(), Shape({2, n / 2 + 1, 2}));
    ASSERT_OK_AND_ASSIGN(const Tensor back, OpTester("DFT")
                                                .Attr("onesided", int64_t{1})
                                                .Attr("inverse", int64_t{1})
                                                .Input(spectrum)
                                                .Input(Tensor::Scalar<int64_t>(n))
                                                .Run1());
    EXPECT_THAT(back, IsCloseTo(x, 1e-6, 1e-6));
  }
}

TEST(DftTest, Refusals) {
  const Tensor complex = RandomFloats({1, 4, 2}, 1);
  EXPECT_THAT(OpTester("DFT").Attr("onesided", int64_t{1}).Input(complex).Run1().status().message(),
              HasSubstr("onesided is 1 for a complex input"));
  EXPECT_THAT(OpTester("DFT")
                  .Input(complex)
                  .NoInput()
                  .Input(Tensor::Scalar<int64_t>(-1))
                  .Run1()
                  .status()
                  .message(),
              HasSubstr("which holds the parts of complex numbers"));
  EXPECT_THAT(OpTester("DFT")
                  .Input(complex)
                  .Input(Tensor::Scalar<int64_t>(int64_t{1} << 60))
                  .Run1()
                  .status()
                  .message(),
              HasSubstr("the length of the transform"));
}

TEST(StftTest, FramesAreWindowedTransforms) {
  const Tensor x = MakeTensor<float>({1, 5, 1}, {1, 2, 3, 4, 5});
  ASSERT_OK_AND_ASSIGN(const Tensor y, OpTester("STFT")
                                           .Input(x)
                                           .Input(Tensor::Scalar<int64_t>(3))
                                           .Input(MakeTensor<float>({2}, {1, 2}))
                                           .Run1());
  // Frames (1, 2 * 2) and (4, 2 * 5).
  EXPECT_THAT(y, TensorIs<float>({1, 2, 2, 2}, {5, 0, -3, 0, 14, 0, -6, 0}, 1e-6));
  EXPECT_THAT(OpTester("STFT").Input(x).Input(Tensor::Scalar<int64_t>(0)).Run1().status().message(),
              HasSubstr("frame_step is 0"));
  EXPECT_THAT(OpTester("STFT")
                  .Input(x)
                  .Input(Tensor::Scalar<int64_t>(1))
                  .NoInput()
                  .Input(Tensor::Scalar<int64_t>(6))
                  .Run1()
                  .status()
                  .message(),
              HasSubstr("a frame is 6 samples long"));
}

TEST(WindowTest, EdgesAndTypes) {
  const auto run = [](const char* op, int64_t size, int64_t periodic) {
    return OpTester(op).Attr("periodic", periodic).Input(Tensor::Scalar<int64_t>(size)).Run1();
  };
  ASSERT_OK_AND_ASSIGN(const Tensor hann, run("HannWindow", 4, 1));
  EXPECT_THAT(hann, TensorIs<float>({4}, {0, 0.5, 1, 0.5}, 1e-7));
  ASSERT_OK_AND_ASSIGN(const Tensor symmetric, run("HannWindow", 3, 0));
  EXPECT_THAT(symmetric, TensorIs<float>({3}, {0, 1, 0}, 1e-7));
  ASSERT_OK_AND_ASSIGN(const Tensor blackman, run("BlackmanWindow", 2, 1));
  EXPECT_THAT(blackman, TensorIs<float>({2}, {0, 1}, 1e-7));
  ASSERT_OK_AND_ASSIGN(const Tensor one, run("HannWindow", 1, 0));
  EXPECT_THAT(one, TensorIs<float>({1}, {1}));
  ASSERT_OK_AND_ASSIGN(const Tensor none, run("HammingWindow", 0, 0));
  EXPECT_EQ(none.shape(), Shape{0});
  ASSERT_OK_AND_ASSIGN(const Tensor doubles, OpTester("HannWindow")
                                                 .Attr("output_datatype", int64_t{11})
                                                 .Input(MakeTensor<int32_t>({}, {2}))
                                                 .Run1());
  EXPECT_THAT(doubles, TensorIs<double>({2}, {0, 1}, 1e-15));
  EXPECT_THAT(run("HannWindow", -1, 1).status().message(), HasSubstr("size is -1"));
}

TEST(MelWeightMatrixTest, FiltersPastTheSpectrumAreRefused) {
  const auto run = [](float high) {
    return OpTester("MelWeightMatrix")
        .Input(Tensor::Scalar<int64_t>(2))
        .Input(Tensor::Scalar<int64_t>(8))
        .Input(Tensor::Scalar<int64_t>(8000))
        .Input(Tensor::Scalar<float>(0))
        .Input(Tensor::Scalar<float>(high))
        .Run1();
  };
  ASSERT_OK_AND_ASSIGN(const Tensor y, run(4000));
  EXPECT_EQ(y.shape(), Shape({5, 2}));
  EXPECT_THAT(run(1e9f).status().message(), HasSubstr("upper_edge_hertz"));
  EXPECT_THAT(run(NAN).status().message(), HasSubstr("upper_edge_hertz"));
}

}  // namespace
}  // namespace inferd::engine
