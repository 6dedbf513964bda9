// Rows of any numeric element type, read and written as float or double.
#pragma once

#include <cstdint>
#include <string>

#include "engine/tensor/element_type.h"

namespace inferd::engine {

// Reads elements [first, first + count) of `source`. C is float or double.
template <typename C>
using LoadRowFn = void (*)(const void* source, int64_t first, int64_t count, C* row);
template <typename C>
using StoreRowFn = void (*)(const C* row, int64_t count, void* target, int64_t first);

// Null for types that are no byte-addressable numbers; bool reads as 0 or 1.
template <typename C>
LoadRowFn<C> RowLoader(ElementType type) {
  LoadRowFn<C> result = nullptr;
  DispatchType<float, double, Float16, BFloat16, bool, int8_t, int16_t, int32_t, int64_t, uint8_t,
               uint16_t, uint32_t, uint64_t>(type, [&]<typename T>() {
    result = [](const void* source, int64_t first, int64_t count, C* row) {
      const T* values = static_cast<const T*>(source) + first;
      for (int64_t i = 0; i < count; ++i) {
        row[i] = static_cast<C>(static_cast<ComputeType<T>>(values[i]));
      }
    };
  });
  return result;
}

// Null for types other than the floating-point ones of 16 bits and more.
template <typename C>
StoreRowFn<C> RowStorer(ElementType type) {
  StoreRowFn<C> result = nullptr;
  DispatchType<float, double, Float16, BFloat16>(type, [&]<typename T>() {
    result = [](const C* row, int64_t count, void* target, int64_t first) {
      T* values = static_cast<T*>(target) + first;
      for (int64_t i = 0; i < count; ++i) {
        values[i] = static_cast<T>(static_cast<ComputeType<T>>(row[i]));
      }
    };
  });
  return result;
}

}  // namespace inferd::engine
