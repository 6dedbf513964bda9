#include "engine/ops/fourier_transform.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <utility>

namespace inferd::engine {
namespace {

// Above this a pass of that radix costs more than a convolution.
constexpr int64_t kMaxRadix = 31;

// exp(-2 pi i k / n) for 0 <= k < n, rounded once.
Complex RootOfUnity(int64_t k, int64_t n) {
  const long double angle = 2 * std::numbers::pi_v<long double> * static_cast<long double>(k) /
                            static_cast<long double>(n);
  return {static_cast<double>(std::cos(angle)), static_cast<double>(-std::sin(angle))};
}

// Factors in the order their passes run; empty where a prime factor is too large.
std::vector<int64_t> Radices(int64_t n) {
  std::vector<int64_t> radices;
  for (const int64_t radix : {4, 2, 3, 5}) {
    while (n % radix == 0) {
      radices.push_back(radix);
      n /= radix;
    }
  }
  for (int64_t radix = 7; radix <= kMaxRadix; radix += 2) {
    while (n % radix == 0) {
      radices.push_back(radix);
      n /= radix;
    }
  }
  if (n > 1) radices.clear();
  return radices;
}

// The transform of `Radix` values.
template <int Radix>
void Butterfly(std::array<Complex, Radix>& x, const Complex* roots) {
  if constexpr (Radix == 2) {
    x = {x[0] + x[1], x[0] - x[1]};
  } else if constexpr (Radix == 4) {
    const Complex sum02 = x[0] + x[2], difference02 = x[0] - x[2];
    const Complex sum13 = x[1] + x[3], d13 = x[1] - x[3];
    const Complex turned = {d13.im, -d13.re};  // times -i
    x = {sum02 + sum13, difference02 + turned, sum02 - sum13, difference02 - turned};
  } else {
    // Odd: the sums and differences of opposite values serve two results at once.
    constexpr int kHalf = Radix / 2;
    std::array<Complex, kHalf> sum, difference;
    Complex total = x[0];
    for (int q = 0; q < kHalf; ++q) {
      sum[q] = x[q + 1] + x[Radix - 1 - q];
      difference[q] = x[q + 1] - x[Radix - 1 - q];
      total = total + sum[q];
    }
    std::array<Complex, Radix> y;
    y[0] = total;
    for (int j = 1; j <= kHalf; ++j) {
      Complex even = x[0], odd = {};
      for (int q = 0; q < kHalf; ++q) {
        const Complex root = roots[j * (q + 1) % Radix];
        even = {even.re + sum[q].re * root.re, even.im + sum[q].im * root.re};
        // i times the imaginary part of the root times the difference.
        odd = {odd.re - difference[q].im * root.im, odd.im + difference[q].re * root.im};
      }
      y[j] = even + odd;
      y[Radix - j] = even - odd;
    }
    x = y;
  }
}

// One pass: `done` transforms lie interleaved in blocks of Radix * stride; see MixedRadix.
template <int Radix>
void RunPass(const Complex* in, Complex* out, int64_t stride, int64_t done,
             const Complex* twiddles) {
  const Complex* roots = twiddles + (Radix - 1) * stride;
  for (int64_t k = 0; k < done; ++k) {
    const Complex* block = in + k * stride * Radix;
    Complex* target = out + k * stride;
    for (int64_t i = 0; i < stride; ++i) {
      std::array<Complex, Radix> x;
      for (int q = 0; q < Radix; ++q) x[q] = block[q * stride + i];
      Butterfly<Radix>(x, roots);
      target[i] = x[0];
      for (int j = 1; j < Radix; ++j) {
        target[j * stride * done + i] = x[j] * twiddles[(j - 1) * stride + i];
      }
    }
  }
}

// The same for a radix without a butterfly of its own.
void RunGenericPass(int64_t radix, const Complex* in, Complex* out, int64_t stride, int64_t done,
                    const Complex* twiddles) {
  const Complex* roots = twiddles + (radix - 1) * stride;
  for (int64_t k = 0; k < done; ++k) {
    const Complex* block = in + k * stride * radix;
    for (int64_t j = 0; j < radix; ++j) {
      Complex* target = out + (k + j * done) * stride;
      for (int64_t i = 0; i < stride; ++i) {
        Complex sum = block[i];
        int64_t power = 0;
        for (int64_t q = 1; q < radix; ++q) {
          power += j;
          if (power >= radix) power -= radix;
          sum = sum + block[q * stride + i] * roots[power];
        }
        target[i] = j == 0 ? sum : sum * twiddles[(j - 1) * stride + i];
      }
    }
  }
}

}  // namespace

FourierTransform::FourierTransform(int64_t length) : length_(length) {
  if (length <= 1) return;
  const std::vector<int64_t> radices = Radices(length);
  if (radices.empty()) {
    int64_t padded = 1;
    while (padded < 2 * length - 1) padded *= 2;
    convolution_ = std::make_unique<FourierTransform>(padded);
    chirp_.resize(length);
    chirp_spectrum_.resize(padded);
    int64_t square = 0;  // k^2 modulo 2 * length
    for (int64_t k = 0; k < length; ++k) {
      chirp_[k] = RootOfUnity(square, 2 * length);
      chirp_spectrum_[k] = Conjugate(chirp_[k]);
      if (k > 0) chirp_spectrum_[padded - k] = Conjugate(chirp_[k]);
      square = (square + 2 * k + 1) % (2 * length);
    }
    std::vector<Complex> scratch(convolution_->scratch_size());
    convolution_->Forward(chirp_spectrum_.data(), scratch.data());
    return;
  }
  int64_t done = 1;
  for (const int64_t radix : radices) {
    const int64_t stride = length / (done * radix);
    passes_.push_back({radix, stride, twiddles_.size()});
    for (int64_t j = 1; j < radix; ++j) {
      for (int64_t i = 0; i < stride; ++i) {
        twiddles_.push_back(RootOfUnity(j * i, radix * stride));
      }
    }
    for (int64_t q = 0; q < radix; ++q) twiddles_.push_back(RootOfUnity(q, radix));
    done *= radix;
  }
}

int64_t FourierTransform::scratch_size() const {
  return convolution_ != nullptr ? convolution_->length() + convolution_->scratch_size() : length_;
}

// Decimation in frequency. With n = radix * stride, index n1 * stride + i of the input and
// j + radix * t of the output:
//   X[j + radix t] = sum over i of w_stride^(i t) * (w_n^(i j) * sum over n1 of w_radix^(n1 j) x)
// so a pass takes every radix-th value, turns the results by w_n^(i j), and leaves `radix`
// transforms of length stride, whose results interleave. Writing transform j behind the `done`
// ones that earlier passes made puts every result in its place at the end.
void FourierTransform::MixedRadix(Complex* data, Complex* scratch) const {
  Complex* in = data;
  Complex* out = scratch;
  int64_t done = 1;
  for (const Pass& pass : passes_) {
    const Complex* twiddles = twiddles_.data() + pass.twiddles;
    switch (pass.radix) {
      case 2:
        RunPass<2>(in, out, pass.stride, done, twiddles);
        break;
      case 3:
        RunPass<3>(in, out, pass.stride, done, twiddles);
        break;
      case 4:
        RunPass<4>(in, out, pass.stride, done, twiddles);
        break;
      case 5:
        RunPass<5>(in, out, pass.stride, done, twiddles);
        break;
      default:
        RunGenericPass(pass.radix, in, out, pass.stride, done, twiddles);
    }
    done *= pass.radix;
    std::swap(in, out);
  }
  if (in != data) std::copy_n(in, length_, data);
}

// k n = (k^2 + n^2 - (k - n)^2) / 2 makes the transform a convolution with a chirp.
void FourierTransform::Bluestein(Complex* data, Complex* scratch) const {
  const int64_t padded = convolution_->length();
  Complex* inner = scratch + padded;
  for (int64_t k = 0; k < length_; ++k) scratch[k] = data[k] * chirp_[k];
  std::fill(scratch + length_, scratch + padded, Complex{});
  convolution_->Forward(scratch, inner);
  for (int64_t k = 0; k < padded; ++k) scratch[k] = scratch[k] * chirp_spectrum_[k];
  convolution_->Inverse(scratch, inner);
  for (int64_t k = 0; k < length_; ++k) data[k] = scratch[k] * chirp_[k];
}

void FourierTransform::Forward(Complex* data, Complex* scratch) const {
  if (length_ <= 1) return;
  if (convolution_ != nullptr) {
    Bluestein(data, scratch);
  } else {
    MixedRadix(data, scratch);
  }
}

void FourierTransform::Inverse(Complex* data, Complex* scratch) const {
  for (int64_t i = 0; i < length_; ++i) data[i] = Conjugate(data[i]);
  Forward(data, scratch);
  const double scale = length_ > 0 ? 1.0 / static_cast<double>(length_) : 0;
  for (int64_t i = 0; i < length_; ++i) data[i] = {data[i].re * scale, -data[i].im * scale};
}

}  // namespace inferd::engine
