#include "engine/tensor/tensor.h"

#include <cstdlib>
#include <cstring>
#include <limits>
#include <new>

#include "absl/strings/str_cat.h"
#include "engine/status_macros.h"
#include "engine/tensor/composite.h"

namespace inferd::engine {
namespace {

class HostBuffer final : public Buffer {
 public:
  HostBuffer(void* data, size_t size) : Buffer(data, size) {}

 private:
  ~HostBuffer() override { std::free(data_); }
  void OnLastUnref() override { delete this; }
};

class ExternalBuffer final : public Buffer {
 public:
  ExternalBuffer(void* data, size_t size, std::shared_ptr<const void> owner)
      : Buffer(data, size), owner_(std::move(owner)) {}

 private:
  void OnLastUnref() override { delete this; }
  std::shared_ptr<const void> owner_;
};

// std::string objects, constructed and destroyed with the buffer.
class StringBuffer final : public Buffer {
 public:
  explicit StringBuffer(std::unique_ptr<std::string[]> strings, size_t count)
      : Buffer(strings.get(), count * sizeof(std::string)), strings_(std::move(strings)) {}

 private:
  void OnLastUnref() override { delete this; }
  std::unique_ptr<std::string[]> strings_;
};

}  // namespace

absl::StatusOr<BufferRef> AllocateHostBuffer(size_t bytes) {
  if (bytes > std::numeric_limits<size_t>::max() - kBufferAlignment) {
    return absl::ResourceExhaustedError(absl::StrCat("cannot allocate ", bytes, " bytes"));
  }
  const size_t rounded = (bytes + kBufferAlignment - 1) / kBufferAlignment * kBufferAlignment;
  void* data = std::aligned_alloc(kBufferAlignment, rounded == 0 ? kBufferAlignment : rounded);
  if (data == nullptr) {
    return absl::ResourceExhaustedError(absl::StrCat("cannot allocate ", bytes, " bytes"));
  }
  return BufferRef::Adopt(new HostBuffer(data, bytes));
}

BufferRef WrapExternalMemory(void* data, size_t bytes, std::shared_ptr<const void> owner) {
  return BufferRef::Adopt(new ExternalBuffer(data, bytes, std::move(owner)));
}

Tensor::Tensor(ElementType type, Shape shape, BufferRef buffer, size_t byte_offset)
    : view_{type, std::move(shape), Layout::Plain(),
            static_cast<std::byte*>(buffer->data()) + byte_offset},
      buffer_(std::move(buffer)) {
  assert(byte_offset + static_cast<size_t>(view_.num_bytes()) <= buffer_->size());
}

absl::StatusOr<Tensor> Tensor::Allocate(ElementType type, const Shape& shape) {
  if (type == ElementType::kUndefined) {
    return absl::InvalidArgumentError("a tensor needs an element type");
  }
  ASSIGN_OR_RETURN(const int64_t count, shape.CheckedNumElements());
  if (count > std::numeric_limits<int64_t>::max() / (ElementBits(type) / 8 + 1)) {
    return absl::InvalidArgumentError(
        absl::StrCat("a tensor of shape ", shape.ToString(), " is too large"));
  }
  if (type == ElementType::kString) {
    // A count no memory can hold must fail as an error, not as std::bad_alloc.
    std::unique_ptr<std::string[]> strings(new (std::nothrow) std::string[count]);
    if (strings == nullptr) {
      return absl::ResourceExhaustedError(absl::StrCat("cannot allocate ", count, " strings"));
    }
    return Tensor(type, shape, BufferRef::Adopt(new StringBuffer(std::move(strings), count)));
  }
  if (type == ElementType::kComposite) {
    if (count != 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("a composite value has no shape, found ", shape.ToString()));
    }
    return MakeComposite({});
  }
  ASSIGN_OR_RETURN(BufferRef buffer, AllocateHostBuffer(ElementBytes(type, count)));
  return Tensor(type, shape, std::move(buffer));
}

absl::StatusOr<Tensor> Tensor::CopyOf(const TensorView& view) {
  if (view.type == ElementType::kComposite) return MakeComposite(CompositeOf(view));
  ASSIGN_OR_RETURN(Tensor copy, Allocate(view.type, view.shape));
  if (view.type == ElementType::kString) {
    const absl::Span<const std::string> from = view.span<std::string>();
    std::copy(from.begin(), from.end(), copy.mutable_data<std::string>());
  } else if (view.num_bytes() > 0) {
    std::memcpy(copy.view().data, view.data, view.num_bytes());
  }
  return copy;
}

// The shape comes by value: tests and constants write it in braces.
template <typename T>
// NOLINTNEXTLINE(performance-unnecessary-value-param)
Tensor Tensor::FromValues(Shape shape, absl::Span<const T> values) {
  absl::StatusOr<Tensor> tensor = Allocate(TypeOf<T>(), shape);
  if (!tensor.ok() || tensor->num_elements() != static_cast<int64_t>(values.size())) std::abort();
  std::copy(values.begin(), values.end(), tensor->mutable_data<T>());
  return *std::move(tensor);
}

template Tensor Tensor::FromValues(Shape, absl::Span<const float>);
template Tensor Tensor::FromValues(Shape, absl::Span<const double>);
template Tensor Tensor::FromValues(Shape, absl::Span<const Float16>);
template Tensor Tensor::FromValues(Shape, absl::Span<const BFloat16>);
template Tensor Tensor::FromValues(Shape, absl::Span<const uint8_t>);
template Tensor Tensor::FromValues(Shape, absl::Span<const int8_t>);
template Tensor Tensor::FromValues(Shape, absl::Span<const uint16_t>);
template Tensor Tensor::FromValues(Shape, absl::Span<const int16_t>);
template Tensor Tensor::FromValues(Shape, absl::Span<const uint32_t>);
template Tensor Tensor::FromValues(Shape, absl::Span<const int32_t>);
template Tensor Tensor::FromValues(Shape, absl::Span<const uint64_t>);
template Tensor Tensor::FromValues(Shape, absl::Span<const int64_t>);
template Tensor Tensor::FromValues(Shape, absl::Span<const bool>);
template Tensor Tensor::FromValues(Shape, absl::Span<const std::string>);
template Tensor Tensor::FromValues(Shape, absl::Span<const std::complex<float>>);
template Tensor Tensor::FromValues(Shape, absl::Span<const std::complex<double>>);

Tensor Tensor::Vector(absl::Span<const int64_t> values) {
  return FromValues<int64_t>(Shape{static_cast<int64_t>(values.size())}, values);
}

Tensor Tensor::Reshaped(Shape shape) const {
  assert(shape.NumElements() == num_elements());
  Tensor result = *this;
  result.view_.shape = std::move(shape);
  return result;
}

absl::StatusOr<std::vector<int64_t>> ToInt64Vector(const TensorView& tensor) {
  std::vector<int64_t> values;
  const bool known =
      DispatchType<int64_t, int32_t, int16_t, int8_t, uint64_t, uint32_t, uint16_t, uint8_t>(
          tensor.type, [&]<typename T>() {
            const absl::Span<const T> span = tensor.span<T>();
            values.assign(span.begin(), span.end());
          });
  if (!known) {
    return absl::InvalidArgumentError(
        absl::StrCat("expected an integer tensor, found ", ElementTypeName(tensor.type)));
  }
  return values;
}

}  // namespace inferd::engine
