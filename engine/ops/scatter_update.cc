#include "engine/ops/scatter_update.h"

#include <complex>
#include <string>
#include <type_traits>

#include "absl/strings/str_cat.h"

namespace inferd::engine {
namespace {

template <typename T>
void Replace(const void* updates, int64_t u, void* data, int64_t d, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    static_cast<T*>(data)[d + i] = static_cast<const T*>(updates)[u + i];
  }
}

// Arithmetic on T: 16-bit floats in float, integers in uint64, where wrapping is defined.
template <typename T>
using Arithmetic = std::conditional_t<std::is_integral_v<T>, uint64_t, ComputeType<T>>;

struct Add {
  template <typename T>
  static T Combine(T a, T b) {
    using A = Arithmetic<T>;
    return static_cast<T>(static_cast<A>(a) + static_cast<A>(b));
  }
};
struct Multiply {
  template <typename T>
  static T Combine(T a, T b) {
    using A = Arithmetic<T>;
    return static_cast<T>(static_cast<A>(a) * static_cast<A>(b));
  }
};
struct Max {
  template <typename T>
  static T Combine(T a, T b) {
    const ComputeType<T> x = a, y = b;
    return x != x || x >= y ? a : b;
  }
};
struct Min {
  template <typename T>
  static T Combine(T a, T b) {
    const ComputeType<T> x = a, y = b;
    return x != x || x <= y ? a : b;
  }
};

template <typename Op, typename T>
void Reduce(const void* updates, int64_t u, void* data, int64_t d, int64_t count) {
  const T* from = static_cast<const T*>(updates) + u;
  T* to = static_cast<T*>(data) + d;
  for (int64_t i = 0; i < count; ++i) to[i] = Op::template Combine<T>(to[i], from[i]);
}

template <typename Op>
ScatterUpdate SelectReduction(ElementType type) {
  ScatterUpdate update = nullptr;
  DispatchType<float, double, Float16, BFloat16, uint8_t, int8_t, uint16_t, int16_t, uint32_t,
               int32_t, uint64_t, int64_t>(type, [&]<typename T>() { update = Reduce<Op, T>; });
  return update;
}

ScatterUpdate SelectReplace(ElementType type) {
  if (type == ElementType::kString) return Replace<std::string>;
  switch (ElementBits(type)) {
    case 8:
      return Replace<uint8_t>;
    case 16:
      return Replace<uint16_t>;
    case 32:
      return Replace<uint32_t>;
    case 64:
      return Replace<uint64_t>;
    case 128:
      return Replace<std::complex<double>>;
    default:
      return nullptr;
  }
}

}  // namespace

absl::StatusOr<ScatterUpdate> SelectScatterUpdate(const Attributes& attributes, ElementType type) {
  const std::string name = attributes.GetString("reduction", "none");
  ScatterUpdate update = nullptr;
  if (name == "none") {
    update = SelectReplace(type);
  } else if (name == "add") {
    update = SelectReduction<Add>(type);
  } else if (name == "mul") {
    update = SelectReduction<Multiply>(type);
  } else if (name == "max") {
    update = SelectReduction<Max>(type);
  } else if (name == "min") {
    update = SelectReduction<Min>(type);
  } else {
    return absl::InvalidArgumentError(
        absl::StrCat("attribute reduction is \"", name, "\", expected none, add, mul, max or min"));
  }
  if (update == nullptr) {
    return absl::InvalidArgumentError(absl::StrCat("reduction ", name, " is not defined for ",
                                                   std::string(ElementTypeName(type))));
  }
  return update;
}

}  // namespace inferd::engine
