// What the fuzz tests against naive formulations share: seeded choices, and a walk over a shape.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <random>
#include <vector>

#include "engine/tensor/shape.h"
#include "engine/tensor/tensor.h"

namespace inferd::engine {

class FuzzSource {
 public:
  explicit FuzzSource(uint64_t seed) : random_(seed) {}

  // In [low, high].
  int64_t Between(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(random_() % static_cast<uint64_t>(high - low + 1));
  }
  bool OneIn(int n) { return random_() % static_cast<uint64_t>(n) == 0; }
  template <typename T>
  T Pick(std::initializer_list<T> choices) {
    return choices.begin()[random_() % choices.size()];
  }
  std::vector<int64_t> Ints(int64_t count, int64_t low, int64_t high) {
    std::vector<int64_t> values(count);
    for (int64_t& v : values) v = Between(low, high);
    return values;
  }
  // Few distinct values, so that ties are common; every type holds them.
  template <typename T>
  Tensor Levels(const Shape& shape, int64_t low, int64_t high) {
    std::vector<T> values(shape.NumElements());
    for (T& v : values) v = static_cast<T>(static_cast<float>(Between(low, high)));
    return Tensor::FromValues<T>(shape, absl::Span<const T>(values));
  }
  uint64_t Seed() { return random_(); }

 private:
  std::mt19937_64 random_;
};

using Index = std::vector<int64_t>;

// fn(index) for every index of `shape`, in row-major order.
template <typename Fn>
void ForEachIndex(const Shape& shape, Fn fn) {
  if (shape.NumElements() == 0) return;
  Index index(shape.rank(), 0);
  for (;;) {
    fn(static_cast<const Index&>(index));
    int d = shape.rank() - 1;
    while (d >= 0 && ++index[d] == shape[d]) index[d--] = 0;
    if (d < 0) return;
  }
}

inline int64_t FlatIndex(const Shape& shape, const Index& index) {
  int64_t flat = 0;
  for (int d = 0; d < shape.rank(); ++d) flat = flat * shape[d] + index[d];
  return flat;
}

}  // namespace inferd::engine
