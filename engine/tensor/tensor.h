// Tensors: TensorView is the one non-owning view every kernel and codec uses, Tensor shares
// ownership of a Buffer.
#pragma once

#include <atomic>
#include <cassert>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "engine/tensor/element_type.h"
#include "engine/tensor/layout.h"
#include "engine/tensor/shape.h"

namespace inferd::engine {

// A type, a shape, a layout and an address. Does not own the data; copies are cheap and allocate
// nothing (rank <= 6). Constness is shallow, as with absl::Span: a kernel writes only through
// the views it was given as outputs.
struct TensorView {
  ElementType type = ElementType::kUndefined;
  Shape shape;
  Layout layout;
  void* data = nullptr;

  // The typed address. T must be the C++ type of `type`.
  template <typename T>
  T* as() const {
    assert(type == TypeOf<T>());
    return static_cast<T*>(data);
  }
  // All elements, padding lanes of a blocked layout included.
  template <typename T>
  absl::Span<T> span() const {
    return absl::Span<T>(as<T>(), layout.PhysicalElements(shape));
  }
  int64_t num_elements() const { return shape.NumElements(); }
  int64_t num_bytes() const { return ElementBytes(type, layout.PhysicalElements(shape)); }
};

// A reference-counted block of memory with a way back to where it came from. The count lives in
// the buffer, so that sharing one allocates nothing.
class Buffer {
 public:
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  void* data() const { return data_; }
  size_t size() const { return size_; }

  void Ref() { refs_.fetch_add(1, std::memory_order_relaxed); }
  void Unref() {
    if (refs_.fetch_sub(1, std::memory_order_acq_rel) == 1) OnLastUnref();
  }
  // True when the caller holds the only reference.
  bool unique() const { return refs_.load(std::memory_order_acquire) == 1; }

 protected:
  Buffer(void* data, size_t size) : data_(data), size_(size) {}
  virtual ~Buffer() = default;
  // Frees the block, or gives it back to its pool (which resets the count with Reuse()).
  virtual void OnLastUnref() = 0;
  void Reuse() { refs_.store(1, std::memory_order_release); }

  void* data_;
  size_t size_;

 private:
  std::atomic<int> refs_{1};
};

// Intrusive pointer to a Buffer.
class BufferRef {
 public:
  BufferRef() = default;
  // Takes over the reference the caller holds.
  static BufferRef Adopt(Buffer* buffer) {
    BufferRef r;
    r.buffer_ = buffer;
    return r;
  }
  BufferRef(const BufferRef& o) : buffer_(o.buffer_) {
    if (buffer_ != nullptr) buffer_->Ref();
  }
  BufferRef(BufferRef&& o) noexcept : buffer_(std::exchange(o.buffer_, nullptr)) {}
  BufferRef& operator=(BufferRef o) noexcept {
    std::swap(buffer_, o.buffer_);
    return *this;
  }
  ~BufferRef() {
    if (buffer_ != nullptr) buffer_->Unref();
  }
  Buffer* get() const { return buffer_; }
  Buffer* operator->() const { return buffer_; }
  explicit operator bool() const { return buffer_ != nullptr; }

 private:
  Buffer* buffer_ = nullptr;
};

// Alignment of every buffer the engine allocates, in bytes: a cache line, and enough for AVX-512.
inline constexpr size_t kBufferAlignment = 64;

// Host memory, kBufferAlignment-aligned, not initialized. RESOURCE_EXHAUSTED when there is none.
absl::StatusOr<BufferRef> AllocateHostBuffer(size_t bytes);
// Wraps memory that `owner` keeps alive (a memory-mapped file, a received message).
BufferRef WrapExternalMemory(void* data, size_t bytes, std::shared_ptr<const void> owner);

// A tensor that shares ownership of its buffer. Copies share the data. Always plain layout and
// host memory: it is what crosses the engine's border.
class Tensor {
 public:
  Tensor() = default;
  Tensor(ElementType type, Shape shape, BufferRef buffer, size_t byte_offset = 0);

  // Allocates; elements are uninitialized except strings and composites, which are empty.
  // INVALID_ARGUMENT for a bad shape, RESOURCE_EXHAUSTED when memory is short.
  static absl::StatusOr<Tensor> Allocate(ElementType type, const Shape& shape);
  // A dense copy of a plain view that owns its memory; errors as Allocate.
  static absl::StatusOr<Tensor> CopyOf(const TensorView& view);
  // Copies `values`; their count must equal the shape's. T may be std::string. For tests and
  // small constants: dies on allocation failure.
  template <typename T>
  static Tensor FromValues(Shape shape, absl::Span<const T> values);
  template <typename T>
  static Tensor Scalar(T value) {
    return FromValues<T>(Shape{}, absl::Span<const T>(&value, 1));
  }
  // A vector<int64> tensor of rank 1, the usual form of axes, shapes and pads.
  static Tensor Vector(absl::Span<const int64_t> values);

  bool defined() const { return view_.type != ElementType::kUndefined; }
  ElementType type() const { return view_.type; }
  const Shape& shape() const { return view_.shape; }
  int64_t num_elements() const { return view_.num_elements(); }
  int64_t num_bytes() const { return view_.num_bytes(); }
  const TensorView& view() const { return view_; }
  template <typename T>
  const T* data() const {
    return view_.as<T>();
  }
  template <typename T>
  T* mutable_data() {
    return view_.as<T>();
  }
  template <typename T>
  absl::Span<const T> values() const {
    return view_.span<T>();
  }
  const BufferRef& buffer() const { return buffer_; }
  // The same data under another shape of equal element count.
  Tensor Reshaped(Shape shape) const;

 private:
  TensorView view_;
  BufferRef buffer_;
};

// Elements as int64, converting from any integer type: axes, shapes, steps. INVALID_ARGUMENT for
// other types.
absl::StatusOr<std::vector<int64_t>> ToInt64Vector(const TensorView& tensor);

}  // namespace inferd::engine
