#include "engine/ops/strided_copy.h"

#include <cstring>
#include <string>

#include "absl/strings/str_cat.h"
#include "engine/kernel/kernel.h"
#include "engine/status_macros.h"

namespace inferd::engine {
namespace {

struct Block16 {
  uint64_t words[2];
};

}  // namespace

absl::StatusOr<StridedCopy> StridedCopy::Make(ElementType type, const StridedRead& read) {
  StridedCopy copy;
  copy.type_ = type;
  copy.offset_ = read.offset;
  for (size_t i = 0; i < read.dims.size(); ++i) {
    const int64_t dim = read.dims[i];
    if (dim == 0) copy.empty_ = true;
    if (dim == 1) continue;
    const int last = copy.rank_ - 1;
    if (last >= 0 && copy.strides_[last] == dim * read.strides[i]) {
      copy.dims_[last] *= dim;
      copy.strides_[last] = read.strides[i];
      continue;
    }
    if (copy.rank_ == kMaxDims) {
      return absl::UnimplementedError(
          absl::StrCat("moving data over more than ", kMaxDims, " dimensions"));
    }
    copy.dims_[copy.rank_] = dim;
    copy.strides_[copy.rank_] = read.strides[i];
    ++copy.rank_;
  }
  if (copy.rank_ == 0) {
    copy.dims_[0] = 1;
    copy.strides_[0] = 1;
    copy.rank_ = 1;
  }
  return copy;
}

// copy_row(from_index, to_index) for each run of the innermost dimension.
template <typename CopyRow>
void StridedCopy::ForEachRow(CopyRow copy_row) const {
  if (empty_) return;
  std::array<int64_t, kMaxDims> position{};
  int64_t from = offset_;
  int64_t to = 0;
  const int inner = rank_ - 1;
  while (true) {
    copy_row(from, to);
    to += dims_[inner];
    int axis = inner - 1;
    for (; axis >= 0; --axis) {
      from += strides_[axis];
      if (++position[axis] < dims_[axis]) break;
      from -= position[axis] * strides_[axis];
      position[axis] = 0;
    }
    if (axis < 0) return;
  }
}

template <typename T>
void StridedCopy::RunAs(const T* from, T* to) const {
  const int64_t count = dims_[rank_ - 1];
  const int64_t stride = strides_[rank_ - 1];
  if (stride == 1) {
    ForEachRow([&](int64_t f, int64_t t) { std::copy_n(from + f, count, to + t); });
  } else {
    ForEachRow([&](int64_t f, int64_t t) {
      const T* source = from + f;
      T* target = to + t;
      for (int64_t i = 0; i < count; ++i) target[i] = source[i * stride];
    });
  }
}

void StridedCopy::RunPacked(const uint8_t* from, uint8_t* to) const {
  const int bits = ElementBits(type_);
  const int per_byte = 8 / bits;
  const uint8_t mask = static_cast<uint8_t>((1 << bits) - 1);
  const int64_t count = dims_[rank_ - 1];
  const int64_t stride = strides_[rank_ - 1];
  ForEachRow([&](int64_t f, int64_t t) {
    for (int64_t i = 0; i < count; ++i, f += stride, ++t) {
      const uint8_t value = (from[f / per_byte] >> (f % per_byte * bits)) & mask;
      const int shift = static_cast<int>(t % per_byte) * bits;
      uint8_t& byte = to[t / per_byte];
      // Elements are written in order, so the first of a byte may clear the rest.
      byte = static_cast<uint8_t>(shift == 0 ? value : byte | (value << shift));
    }
  });
}

void StridedCopy::Run(const void* from, void* to) const {
  if (type_ == ElementType::kString) {
    RunAs(static_cast<const std::string*>(from), static_cast<std::string*>(to));
    return;
  }
  switch (ElementBits(type_)) {
    case 8:
      return RunAs(static_cast<const uint8_t*>(from), static_cast<uint8_t*>(to));
    case 16:
      return RunAs(static_cast<const uint16_t*>(from), static_cast<uint16_t*>(to));
    case 32:
      return RunAs(static_cast<const uint32_t*>(from), static_cast<uint32_t*>(to));
    case 64:
      return RunAs(static_cast<const uint64_t*>(from), static_cast<uint64_t*>(to));
    case 128:
      return RunAs(static_cast<const Block16*>(from), static_cast<Block16*>(to));
    default:
      return RunPacked(static_cast<const uint8_t*>(from), static_cast<uint8_t*>(to));
  }
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeStridedCopyKernel(ElementType type,
                                                              const StridedRead& read) {
  ASSIGN_OR_RETURN(StridedCopy copy, StridedCopy::Make(type, read));
  return MakeKernel([copy](KernelContext& context) {
    copy.Run(context.input(0).data, context.output(0).data);
    return absl::OkStatus();
  });
}

std::unique_ptr<Kernel> MakeCopyKernel() {
  return MakeKernel([](KernelContext& context) {
    const TensorView& x = context.input(0);
    const TensorView& y = context.output(0);
    if (x.data == y.data) return absl::OkStatus();
    if (x.type == ElementType::kString) {
      std::copy_n(x.as<std::string>(), x.num_elements(), y.as<std::string>());
    } else if (x.num_bytes() > 0) {
      std::memcpy(y.data, x.data, x.num_bytes());
    }
    return absl::OkStatus();
  });
}

}  // namespace inferd::engine
