// Received bytes as they lie: a range over one or more slices, and a cursor that reads protobuf
// primitives from it without joining the slices.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "absl/types/span.h"

namespace inferd::server {

using ByteSpan = absl::Span<const uint8_t>;

// A range of the concatenation of slices. Neither owns the slices nor their table; both outlive
// the view. Cheap to copy.
class BytesView {
 public:
  BytesView() = default;
  explicit BytesView(absl::Span<const ByteSpan> slices) : slices_(slices) {
    for (ByteSpan s : slices) size_ += s.size();
    Normalize();
  }

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }

  // The address where all bytes lie in one slice (any non-null one when empty), else null.
  const uint8_t* contiguous() const {
    alignas(64) static constexpr uint8_t kNothing = 0;
    if (size_ == 0) return &kNothing;
    return head().size() >= size_ ? head().data() : nullptr;
  }
  void CopyTo(void* out) const {
    auto* to = static_cast<uint8_t*>(out);
    for (BytesView rest = *this; !rest.empty();) {
      const ByteSpan piece = rest.head();
      std::memcpy(to, piece.data(), piece.size());
      to += piece.size();
      rest.RemovePrefix(piece.size());
    }
  }
  std::string ToString() const {
    std::string s(size_, '\0');
    CopyTo(s.data());
    return s;
  }

  // The first bytes that lie together; empty only when the view is.
  ByteSpan head() const {
    if (size_ == 0) return {};
    return slices_[0].subspan(offset_, std::min(slices_[0].size() - offset_, size_));
  }
  // n <= size().
  void RemovePrefix(size_t n) {
    size_ -= n;
    offset_ += n;
    Normalize();
  }
  BytesView Prefix(size_t n) const {
    BytesView v = *this;
    v.size_ = n;
    return v;
  }

 private:
  // Moves past exhausted slices, so that head() is never empty by accident.
  void Normalize() {
    if (size_ == 0) {
      slices_ = {};
      offset_ = 0;
      return;
    }
    while (offset_ >= slices_[0].size()) {
      offset_ -= slices_[0].size();
      slices_.remove_prefix(1);
    }
  }

  absl::Span<const ByteSpan> slices_;
  size_t offset_ = 0;  // into slices_[0]
  size_t size_ = 0;
};

// Protobuf wire types that may occur; groups (3, 4) are refused.
enum class WireType : uint8_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };
constexpr uint32_t FieldTag(uint32_t field, WireType type) {
  return field << 3 | static_cast<uint32_t>(type);
}

// Reads forward. Every method returns false, and leaves the position unspecified, when the bytes
// run out or are malformed.
class ByteReader {
 public:
  explicit ByteReader(BytesView bytes) : rest_(bytes) { Load(); }

  bool done() const { return at_ == head_end_; }
  size_t remaining() const { return rest_.size() - (at_ - head_begin_); }

  bool ReadVarint(uint64_t* value) {
    // The common short case, entirely inside a slice.
    if (at_ != head_end_ && *at_ < 0x80) {
      *value = *at_;
      Advance(1);
      return true;
    }
    uint64_t result = 0;
    for (int shift = 0; shift < 70; shift += 7) {
      if (done()) return false;
      const uint8_t byte = *at_;
      Advance(1);
      if (shift == 63 && byte > 1) return false;
      result |= static_cast<uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) {
        *value = result;
        return true;
      }
    }
    return false;
  }
  // Field number 0 and numbers beyond 2^29 - 1 are malformed.
  bool ReadTag(uint32_t* tag) {
    uint64_t v;
    if (!ReadVarint(&v) || v > UINT32_MAX || v >> 3 == 0) return false;
    *tag = static_cast<uint32_t>(v);
    return true;
  }
  template <typename T>  // a 4 or 8 byte type, little-endian on the wire as on this machine
  bool ReadFixed(T* value) {
    if (static_cast<size_t>(head_end_ - at_) >= sizeof(T)) {
      std::memcpy(value, at_, sizeof(T));
      Advance(sizeof(T));
      return true;
    }
    BytesView bytes;
    if (!ReadBytes(sizeof(T), &bytes)) return false;
    bytes.CopyTo(value);
    return true;
  }
  // `n` bytes, not copied.
  bool ReadBytes(size_t n, BytesView* out) {
    if (n > remaining()) return false;
    rest_.RemovePrefix(at_ - head_begin_);
    *out = rest_.Prefix(n);
    rest_.RemovePrefix(n);
    Load();
    return true;
  }
  // A length followed by that many bytes.
  bool ReadDelimited(BytesView* out) {
    uint64_t n;
    return ReadVarint(&n) && n <= remaining() && ReadBytes(n, out);
  }
  bool SkipField(uint32_t tag) {
    uint64_t ignored;
    BytesView bytes;
    switch (static_cast<WireType>(tag & 7)) {
      case WireType::kVarint:
        return ReadVarint(&ignored);
      case WireType::kFixed64:
        return ReadBytes(8, &bytes);
      case WireType::kBytes:
        return ReadDelimited(&bytes);
      case WireType::kFixed32:
        return ReadBytes(4, &bytes);
    }
    return false;
  }

 private:
  void Load() {
    const ByteSpan head = rest_.head();
    head_begin_ = at_ = head.data();
    head_end_ = head_begin_ + head.size();
  }
  void Advance(size_t n) {
    at_ += n;
    if (at_ == head_end_) {
      rest_.RemovePrefix(at_ - head_begin_);
      Load();
    }
  }

  BytesView rest_;  // from the start of the slice being read
  const uint8_t* head_begin_ = nullptr;
  const uint8_t* at_ = nullptr;
  const uint8_t* head_end_ = nullptr;
};

}  // namespace inferd::server
