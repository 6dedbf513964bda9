#include "engine/tensor/tensor_comparison.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstring>
#include <limits>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "engine/tensor/composite.h"

namespace inferd::engine {
namespace {

std::string IndexOf(const Shape& shape, int64_t flat) {
  Shape index = shape;
  for (int d = shape.rank() - 1; d >= 0; --d) {
    index[d] = flat % shape[d];
    flat /= shape[d];
  }
  return index.ToString();
}

// How far |got - want| exceeds what is allowed; 0 where it does not.
double Excess(double got, double want, double rtol, double atol) {
  if (std::isnan(got) && std::isnan(want)) return 0;
  if (got == want) return 0;
  const double difference = std::abs(got - want);
  const double allowed = atol + rtol * std::abs(want);
  if (std::isfinite(difference) && difference <= allowed) return 0;
  if (!std::isfinite(difference)) return std::numeric_limits<double>::infinity();
  return std::max(difference - allowed, std::numeric_limits<double>::min());
}

std::string Describe(const TensorView& got, const TensorView& want, int64_t worst, int64_t wrong) {
  return absl::StrCat(wrong, " of ", want.num_elements(), " elements differ; worst at ",
                      IndexOf(want.shape, worst), ": got ", ElementToString(got, worst), ", want ",
                      ElementToString(want, worst));
}

template <typename T>
std::string CompareExact(const TensorView& got, const TensorView& want) {
  const auto g = got.span<T>();
  const auto w = want.span<T>();
  int64_t first = -1, wrong = 0;
  for (size_t i = 0; i < w.size(); ++i) {
    if (g[i] == w[i]) continue;
    if (first < 0) first = static_cast<int64_t>(i);
    ++wrong;
  }
  return wrong == 0 ? "" : Describe(got, want, first, wrong);
}

template <typename T>
std::string CompareClose(const TensorView& got, const TensorView& want, Tolerance tolerance) {
  const auto g = got.span<T>();
  const auto w = want.span<T>();
  int64_t worst = -1, wrong = 0;
  double worst_excess = 0;
  for (size_t i = 0; i < w.size(); ++i) {
    double excess;
    if constexpr (std::is_same_v<T, std::complex<float>> ||
                  std::is_same_v<T, std::complex<double>>) {
      excess = std::max(Excess(g[i].real(), w[i].real(), tolerance.rtol, tolerance.atol),
                        Excess(g[i].imag(), w[i].imag(), tolerance.rtol, tolerance.atol));
    } else {
      excess = Excess(static_cast<double>(g[i]), static_cast<double>(w[i]), tolerance.rtol,
                      tolerance.atol);
    }
    if (excess == 0) continue;
    ++wrong;
    if (excess > worst_excess || worst < 0) {
      worst_excess = excess;
      worst = static_cast<int64_t>(i);
    }
  }
  return wrong == 0 ? "" : Describe(got, want, worst, wrong);
}

// The stored form of an element of at most eight bits.
int PackedBits(const TensorView& tensor, int64_t i) {
  const int bits = ElementBits(tensor.type);
  const auto* bytes = static_cast<const uint8_t*>(tensor.data);
  const int64_t bit = i * bits;
  return (bytes[bit / 8] >> (bit % 8)) & ((1 << bits) - 1);
}

// Per the table of special values in ONNX's float8 documentation
// (https://onnx.ai/onnx/technical/float8.html).
bool IsFloat8Nan(ElementType type, int bits) {
  switch (type) {
    case ElementType::kFloat8E4M3FN:
      return (bits & 0x7f) == 0x7f;
    case ElementType::kFloat8E5M2:
      return (bits & 0x7f) > 0x7c;
    case ElementType::kFloat8E4M3FNUZ:
    case ElementType::kFloat8E5M2FNUZ:
      return bits == 0x80;
    case ElementType::kFloat8E8M0:
      return bits == 0xff;
    default:
      return false;
  }
}

// The first difference between two composites.
std::string CompareComposites(const Composite& got, const Composite& want,
                              const Tolerance& tolerance) {
  if (got.kind != want.kind || got.items.size() != want.items.size()) {
    return absl::StrCat("got a ", CompositeKindName(got.kind), " of ", got.items.size(),
                        ", want a ", CompositeKindName(want.kind), " of ", want.items.size());
  }
  for (size_t i = 0; i < want.items.size(); ++i) {
    const std::string difference =
        CompareTensors(got.items[i].view(), want.items[i].view(), tolerance);
    if (!difference.empty()) return absl::StrCat("element ", i, ": ", difference);
  }
  return "";
}

}  // namespace

std::string ElementToString(const TensorView& tensor, int64_t i) {
  std::string text;
  const bool known =
      DispatchType<float, double, Float16, BFloat16>(
          tensor.type,
          [&]<typename T>() { text = absl::StrFormat("%.8g", double(tensor.as<T>()[i])); }) ||
      DispatchType<int8_t, uint8_t, int16_t, uint16_t, int32_t, uint32_t, int64_t, uint64_t>(
          tensor.type, [&]<typename T>() { text = std::to_string(tensor.as<T>()[i]); }) ||
      DispatchType<std::complex<float>, std::complex<double>>(tensor.type, [&]<typename T>() {
        const T c = tensor.as<T>()[i];
        text = absl::StrFormat("%.8g%+.8gi", double(c.real()), double(c.imag()));
      });
  if (known) return text;
  if (tensor.type == ElementType::kBool) return tensor.as<bool>()[i] ? "true" : "false";
  if (tensor.type == ElementType::kComposite) {
    return absl::StrCat(CompositeKindName(CompositeOf(tensor).kind), " of ",
                        CompositeOf(tensor).items.size());
  }
  if (tensor.type == ElementType::kString) {
    return absl::StrCat("\"", tensor.as<std::string>()[i], "\"");
  }
  return absl::StrFormat("0x%x", PackedBits(tensor, i));
}

double ElementAsDouble(const TensorView& tensor, int64_t i) {
  double value = std::numeric_limits<double>::quiet_NaN();
  DispatchType<float, double, Float16, BFloat16, int8_t, uint8_t, int16_t, uint16_t, int32_t,
               uint32_t, int64_t, uint64_t, bool>(
      tensor.type, [&]<typename T>() { value = static_cast<double>(tensor.as<T>()[i]); });
  DispatchType<std::complex<float>, std::complex<double>>(
      tensor.type, [&]<typename T>() { value = tensor.as<T>()[i].real(); });
  return value;
}

std::string CompareTensors(const TensorView& got, const TensorView& want,
                           const Tolerance& tolerance) {
  if (got.type != want.type || !(got.shape == want.shape)) {
    return absl::StrCat("got ", ElementTypeName(got.type), got.shape.ToString(), ", want ",
                        ElementTypeName(want.type), want.shape.ToString());
  }
  if (want.num_elements() == 0) return "";
  if (want.type == ElementType::kComposite) {
    return CompareComposites(CompositeOf(got), CompositeOf(want), tolerance);
  }
  std::string result;
  // Two units in the last place (2^-10 and 2^-7 relative): the reference itself rounds once, and
  // results that fall on either side of a tie differ by one.
  Tolerance half = tolerance;
  half.rtol = std::max(half.rtol, 0x1p-9);
  half.atol = std::max(half.atol, 1e-5);
  Tolerance brain = tolerance;
  brain.rtol = std::max(brain.rtol, 0x1p-6);
  brain.atol = std::max(brain.atol, 1e-4);
  const bool compared =
      DispatchType<float, double, std::complex<float>, std::complex<double>>(
          want.type, [&]<typename T>() { result = CompareClose<T>(got, want, tolerance); }) ||
      DispatchType<Float16>(want.type,
                            [&]<typename T>() { result = CompareClose<T>(got, want, half); }) ||
      DispatchType<BFloat16>(want.type,
                             [&]<typename T>() { result = CompareClose<T>(got, want, brain); }) ||
      DispatchType<int8_t, uint8_t, int16_t, uint16_t, int32_t, uint32_t, int64_t, uint64_t, bool,
                   std::string>(want.type,
                                [&]<typename T>() { result = CompareExact<T>(got, want); });
  if (compared) return result;
  // Types narrower than a byte and the 8-bit floats: their stored form is exact, save that NaN
  // has several.
  const int64_t n = want.num_elements();
  int64_t first = -1, wrong = 0;
  for (int64_t i = 0; i < n; ++i) {
    const int g = PackedBits(got, i);
    const int w = PackedBits(want, i);
    if (g == w || (IsFloat8Nan(want.type, g) && IsFloat8Nan(want.type, w))) continue;
    if (first < 0) first = i;
    ++wrong;
  }
  return wrong == 0 ? "" : Describe(got, want, first, wrong);
}

}  // namespace inferd::engine
