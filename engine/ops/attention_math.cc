#include "engine/ops/attention_math.h"

#include <cstring>

namespace inferd::engine {
namespace {

// Inlined into a function per instruction set: the compiler then vectorizes it for that.
#define INFERD_INLINE inline __attribute__((always_inline))

// As many numbers as one or more vector registers hold. Arrays in their place end on the stack.
template <typename C>
struct Vector {
  static constexpr int kLanes = 64 / sizeof(C);
  typedef C Type __attribute__((vector_size(64)));
  typedef C Quarter __attribute__((vector_size(16)));
};

// `kKeys` keys share the reads of the query.
template <int kKeys, typename C>
INFERD_INLINE void DotProducts(const C* query, const C* keys, int64_t stride, int64_t size,
                               C* out) {
  using V = typename Vector<C>::Type;
  using Quarter = typename Vector<C>::Quarter;
  constexpr int kLanes = Vector<C>::kLanes;
  V lanes[kKeys] = {};
  int64_t i = 0;
  for (; i + kLanes <= size; i += kLanes) {
    V q;
    std::memcpy(&q, query + i, sizeof(V));
    for (int k = 0; k < kKeys; ++k) {
      V key;
      std::memcpy(&key, keys + k * stride + i, sizeof(V));
      lanes[k] += q * key;
    }
  }
  if (i < size) {
    // The rest among zeros: it joins the lanes' sums, whose error is less than that of one chain.
    V q = {};
    for (int64_t l = i; l < size; ++l) q[l - i] = query[l];
    for (int k = 0; k < kKeys; ++k) {
      V key = {};
      for (int64_t l = i; l < size; ++l) key[l - i] = keys[k * stride + l];
      lanes[k] += q * key;
    }
  }
  for (int k = 0; k < kKeys; ++k) {
    Quarter quarters[4];
    std::memcpy(quarters, &lanes[k], sizeof(V));
    const Quarter sums = (quarters[0] + quarters[1]) + (quarters[2] + quarters[3]);
    C sum = sums[0] + sums[1];
    for (int l = 2; l < kLanes / 4; l += 2) sum += sums[l] + sums[l + 1];
    out[k] = sum;
  }
}

template <typename C>
INFERD_INLINE void Products(const C* query, const C* keys, int64_t stride, int64_t count,
                            int64_t size, C* out) {
  int64_t j = 0;
  for (; j + 4 <= count; j += 4) DotProducts<4>(query, keys + j * stride, stride, size, out + j);
  for (; j < count; ++j) DotProducts<1>(query, keys + j * stride, stride, size, out + j);
}

template <typename C>
INFERD_INLINE void AddWeighted(const C* weights, const C* values, int64_t stride, int64_t count,
                               int64_t size, C* sums) {
  using V = typename Vector<C>::Type;
  constexpr int kLanes = 4 * Vector<C>::kLanes;
  int64_t first = 0;
  for (; first + kLanes <= size; first += kLanes) {
    V lanes[4];
    std::memcpy(lanes, sums + first, sizeof(lanes));
    for (int64_t j = 0; j < count; ++j) {
      const C weight = weights[j];
      if (weight == 0) continue;
      V value[4];
      std::memcpy(value, values + j * stride + first, sizeof(value));
      for (int l = 0; l < 4; ++l) lanes[l] += weight * value[l];
    }
    std::memcpy(sums + first, lanes, sizeof(lanes));
  }
  for (; first + Vector<C>::kLanes <= size; first += Vector<C>::kLanes) {
    V lanes;
    std::memcpy(&lanes, sums + first, sizeof(V));
    for (int64_t j = 0; j < count; ++j) {
      const C weight = weights[j];
      if (weight == 0) continue;
      V value;
      std::memcpy(&value, values + j * stride + first, sizeof(V));
      lanes += weight * value;
    }
    std::memcpy(sums + first, &lanes, sizeof(V));
  }
  if (first == size) return;
  for (int64_t j = 0; j < count; ++j) {
    const C weight = weights[j];
    if (weight == 0) continue;
    for (int64_t d = first; d < size; ++d) sums[d] += weight * values[j * stride + d];
  }
}

using FloatFn = void (*)(const float*, const float*, int64_t, int64_t, int64_t, float*);

struct FloatKernels {
  FloatFn products;
  FloatFn add_weighted;
};

#define INFERD_VARIANT(name, attribute)                                                       \
  attribute void Products##name(const float* query, const float* keys, int64_t stride,        \
                                int64_t count, int64_t size, float* out) {                    \
    Products(query, keys, stride, count, size, out);                                          \
  }                                                                                           \
  attribute void AddWeighted##name(const float* weights, const float* values, int64_t stride, \
                                   int64_t count, int64_t size, float* sums) {                \
    AddWeighted(weights, values, stride, count, size, sums);                                  \
  }                                                                                           \
  constexpr FloatKernels k##name = {Products##name, AddWeighted##name};

INFERD_VARIANT(Baseline, )
#if defined(__x86_64__)
INFERD_VARIANT(Avx2, __attribute__((target("avx2,fma"))))
INFERD_VARIANT(Avx512, __attribute__((target("avx512f,avx512vl,avx512dq,fma"))))
#endif

const FloatKernels& BestKernels() {
  static const FloatKernels best = [] {
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512dq")) {
      return kAvx512;
    }
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return kAvx2;
#endif
    return kBaseline;
  }();
  return best;
}

}  // namespace

void KeyProducts(const float* query, const float* keys, int64_t stride, int64_t count, int64_t size,
                 float* out) {
  BestKernels().products(query, keys, stride, count, size, out);
}
void KeyProducts(const double* query, const double* keys, int64_t stride, int64_t count,
                 int64_t size, double* out) {
  Products(query, keys, stride, count, size, out);
}

void AddWeightedValues(const float* weights, const float* values, int64_t stride, int64_t count,
                       int64_t size, float* sums) {
  BestKernels().add_weighted(weights, values, stride, count, size, sums);
}
void AddWeightedValues(const double* weights, const double* values, int64_t stride, int64_t count,
                       int64_t size, double* sums) {
  AddWeighted(weights, values, stride, count, size, sums);
}

}  // namespace inferd::engine
