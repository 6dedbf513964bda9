#include "engine/inferplan/error_measure.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "engine/tensor/composite.h"

namespace inferd::engine {
namespace {

// Floating-point bit patterns in the order of the numbers they stand for, zero at zero.
template <typename Bits>
int64_t Ordered(Bits bits) {
  constexpr Bits kSign = Bits{1} << (sizeof(Bits) * 8 - 1);
  const auto magnitude = static_cast<int64_t>(bits & ~kSign);
  return (bits & kSign) != 0 ? -magnitude : magnitude;
}

template <typename T>
int64_t OrderedOf(T value) {
  if constexpr (sizeof(T) == 2) {
    uint16_t bits;
    std::memcpy(&bits, &value, sizeof(bits));
    return Ordered(bits);
  } else if constexpr (sizeof(T) == 4) {
    return Ordered(std::bit_cast<uint32_t>(value));
  } else {
    return Ordered(std::bit_cast<uint64_t>(value));
  }
}

template <typename T>
uint64_t Ulps(T got, T want) {
  const bool nan = std::isnan(static_cast<double>(got)) || std::isnan(static_cast<double>(want));
  if (nan) return std::numeric_limits<uint64_t>::max();
  const int64_t g = OrderedOf(got), w = OrderedOf(want);
  // The difference of two 64-bit numbers of opposite sign needs all 64 bits.
  return g > w ? static_cast<uint64_t>(g) - static_cast<uint64_t>(w)
               : static_cast<uint64_t>(w) - static_cast<uint64_t>(g);
}

void AddNumbers(double got, double want, ErrorMeasure& measure) {
  if (got == want || (std::isnan(got) && std::isnan(want))) return;
  ++measure.differing;
  double error = std::abs(got - want);
  if (!std::isfinite(error)) error = std::numeric_limits<double>::infinity();
  measure.max_absolute = std::max(measure.max_absolute, error);
  if (want == 0) return;
  const double relative = std::isfinite(error) ? error / std::abs(want) : error;
  measure.max_relative = std::max(measure.max_relative, relative);
}

template <typename T>
void AddFloats(const TensorView& got, const TensorView& want, ErrorMeasure& measure) {
  const T* g = got.as<T>();
  const T* w = want.as<T>();
  uint64_t ulps = 0;
  for (int64_t i = 0; i < measure.elements; ++i) {
    const double a = static_cast<double>(g[i]), b = static_cast<double>(w[i]);
    if (a == b || (std::isnan(a) && std::isnan(b))) continue;
    AddNumbers(a, b, measure);
    ulps = std::max(ulps, Ulps(g[i], w[i]));
  }
  measure.max_ulps = ulps;
}

// Types without an order of their own: equal or not, as printed.
void AddOthers(const TensorView& got, const TensorView& want, ErrorMeasure& measure) {
  for (int64_t i = 0; i < measure.elements; ++i) {
    if (ElementToString(got, i) != ElementToString(want, i)) ++measure.differing;
  }
}

// The worst of the items of two composites of the same kind.
void AddItems(const Composite& got, const Composite& want, ErrorMeasure& measure) {
  for (size_t i = 0; i < want.items.size(); ++i) {
    const ErrorMeasure item = MeasureError(got.items[i].view(), want.items[i].view(), {});
    measure.elements += item.elements;
    measure.differing += item.differing;
    measure.max_absolute = std::max(measure.max_absolute, item.max_absolute);
    measure.max_relative = std::max(measure.max_relative, item.max_relative);
    if (item.max_ulps.has_value()) {
      measure.max_ulps = std::max(measure.max_ulps.value_or(0), *item.max_ulps);
    }
  }
}

}  // namespace

std::string ErrorMeasure::ToString() const {
  std::string text = absl::StrFormat("max abs %.3g, max rel %.3g", max_absolute, max_relative);
  if (max_ulps.has_value()) {
    const bool nan = *max_ulps == std::numeric_limits<uint64_t>::max();
    absl::StrAppend(&text, ", max ulps ", nan ? "nan" : absl::StrCat(*max_ulps));
  }
  return text;
}

ErrorMeasure MeasureError(const TensorView& got, const TensorView& want,
                          const Tolerance& tolerance) {
  ErrorMeasure measure;
  measure.divergence = CompareTensors(got, want, tolerance);
  // Without the same type and shape there are no pairs of elements.
  if (got.type != want.type || !(got.shape == want.shape)) {
    measure.max_absolute = measure.max_relative = std::numeric_limits<double>::infinity();
    return measure;
  }
  if (want.type == ElementType::kComposite) {
    const Composite& g = CompositeOf(got);
    const Composite& w = CompositeOf(want);
    if (g.kind == w.kind && g.items.size() == w.items.size()) {
      AddItems(g, w, measure);
    } else {
      measure.max_absolute = measure.max_relative = std::numeric_limits<double>::infinity();
    }
    return measure;
  }
  measure.elements = want.num_elements();
  const bool measured =
      DispatchType<float, double, Float16, BFloat16>(
          want.type, [&]<typename T>() { AddFloats<T>(got, want, measure); }) ||
      DispatchType<int8_t, uint8_t, int16_t, uint16_t, int32_t, uint32_t, int64_t, uint64_t, bool>(
          want.type, [&]<typename T>() {
            for (int64_t i = 0; i < measure.elements; ++i) {
              if (got.as<T>()[i] == want.as<T>()[i]) continue;
              AddNumbers(static_cast<double>(got.as<T>()[i]), static_cast<double>(want.as<T>()[i]),
                         measure);
            }
          });
  if (!measured) AddOthers(got, want, measure);
  return measure;
}

}  // namespace inferd::engine
