// The discrete Fourier transform of any length in O(n log n), in double.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace inferd::engine {

// std::complex has a multiplication that checks for infinities, several times slower.
struct Complex {
  double re = 0;
  double im = 0;
};
inline Complex operator+(Complex a, Complex b) { return {a.re + b.re, a.im + b.im}; }
inline Complex operator-(Complex a, Complex b) { return {a.re - b.re, a.im - b.im}; }
inline Complex operator*(Complex a, Complex b) {
  return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}
inline Complex Conjugate(Complex a) { return {a.re, -a.im}; }

// The tables for one length; constant after construction and usable from several threads.
//
// Lengths whose prime factors are small are decomposed into passes of those radices (Stockham's
// self-sorting form). Others become a convolution of a length that is a power of two (Bluestein).
class FourierTransform {
 public:
  explicit FourierTransform(int64_t length);  // >= 0

  int64_t length() const { return length_; }
  // Elements of scratch memory a transform needs.
  int64_t scratch_size() const;

  // data[k] = sum over n of data[n] * exp(-2 pi i k n / length), in place.
  void Forward(Complex* data, Complex* scratch) const;
  // data[n] = sum over k of data[k] * exp(+2 pi i k n / length) / length, in place.
  void Inverse(Complex* data, Complex* scratch) const;

 private:
  struct Pass {
    int64_t radix;
    int64_t stride;   // length of the transforms that are left after the pass
    size_t twiddles;  // offset of its (radix - 1) * stride factors, then radix roots of unity
  };
  void MixedRadix(Complex* data, Complex* scratch) const;
  void Bluestein(Complex* data, Complex* scratch) const;

  int64_t length_;
  std::vector<Pass> passes_;
  std::vector<Complex> twiddles_;

  // Bluestein's, where convolution_ is not null.
  std::unique_ptr<FourierTransform> convolution_;
  std::vector<Complex> chirp_;           // exp(-pi i k^2 / length)
  std::vector<Complex> chirp_spectrum_;  // of the conjugate chirp, wrapped around
};

// Whether building and running a transform of this length is within reach of the memory of any
// machine; longer ones are refused before tables are made.
inline constexpr int64_t kMaxFourierLength = int64_t{1} << 30;

}  // namespace inferd::engine
