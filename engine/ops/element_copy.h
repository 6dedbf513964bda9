// Copies of elements whatever their type: strings as objects, everything else as bytes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>

#include "engine/tensor/element_type.h"

namespace inferd::engine {

// Indices and counts are in elements. Two threads may write at once only where the type is
// byte-addressable.
class ElementCopier {
 public:
  explicit ElementCopier(ElementType type)
      : is_string_(type == ElementType::kString),
        bits_(ElementBits(type)),
        bytes_(ElementBits(type) / 8) {}

  void Copy(const void* from, int64_t from_index, void* to, int64_t to_index, int64_t count) const {
    if (is_string_) {
      std::copy_n(static_cast<const std::string*>(from) + from_index, count,
                  static_cast<std::string*>(to) + to_index);
    } else if (bytes_ == 0) {
      for (int64_t i = 0; i < count; ++i) CopyPacked(from, from_index + i, to, to_index + i);
    } else if (count > 0) {
      std::memcpy(static_cast<char*>(to) + to_index * bytes_,
                  static_cast<const char*>(from) + from_index * bytes_, count * bytes_);
    }
  }

  // `count` copies of the element at from_index.
  void Fill(const void* from, int64_t from_index, void* to, int64_t to_index, int64_t count) const {
    for (int64_t i = 0; i < count; ++i) Copy(from, from_index, to, to_index + i, 1);
  }

 private:
  // Leaves the other elements of the byte as they are.
  void CopyPacked(const void* from, int64_t from_index, void* to, int64_t to_index) const {
    const int per_byte = 8 / bits_;
    const int mask = (1 << bits_) - 1;
    const int value = static_cast<const uint8_t*>(from)[from_index / per_byte] >>
                          (static_cast<int>(from_index % per_byte) * bits_) &
                      mask;
    const int shift = static_cast<int>(to_index % per_byte) * bits_;
    uint8_t& byte = static_cast<uint8_t*>(to)[to_index / per_byte];
    byte = static_cast<uint8_t>((byte & ~(mask << shift)) | (value << shift));
  }

  bool is_string_;
  int bits_;
  int64_t bytes_;  // 0 for sub-byte types
};

// Types a tensor can be moved in whole, sub-byte ones included.
inline constexpr ElementTypeSet kAllElementTypes =
    type_sets::kMovable | ElementTypeSet{ElementType::kUint4, ElementType::kInt4,
                                         ElementType::kFloat4E2M1, ElementType::kUint2,
                                         ElementType::kInt2};

}  // namespace inferd::engine
