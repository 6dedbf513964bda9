// Data movement as a strided read: transposes, slices, broadcasts, tiles and block shuffles are
// the same loop with other strides.
#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "engine/tensor/element_type.h"

namespace inferd::engine {

class Kernel;

// Element (i0, i1, ...) of a dense row-major output of shape `dims` is input element
// offset + sum(i_k * strides[k]). Strides may be zero or negative.
struct StridedRead {
  absl::Span<const int64_t> dims;
  absl::Span<const int64_t> strides;
  int64_t offset = 0;
};

class StridedCopy {
 public:
  // UNIMPLEMENTED for more dimensions than kMaxDims that do not merge.
  static absl::StatusOr<StridedCopy> Make(ElementType type, const StridedRead& read);
  void Run(const void* from, void* to) const;

  static constexpr int kMaxDims = 24;

 private:
  template <typename CopyRow>
  void ForEachRow(CopyRow copy_row) const;
  template <typename T>
  void RunAs(const T* from, T* to) const;
  void RunPacked(const uint8_t* from, uint8_t* to) const;

  ElementType type_ = ElementType::kUndefined;
  // Adjacent dimensions that form one stride are merged; rank_ >= 1.
  int rank_ = 0;
  std::array<int64_t, kMaxDims> dims_{};
  std::array<int64_t, kMaxDims> strides_{};
  int64_t offset_ = 0;
  bool empty_ = false;
};

// A kernel that copies input 0 to output 0.
absl::StatusOr<std::unique_ptr<Kernel>> MakeStridedCopyKernel(ElementType type,
                                                              const StridedRead& read);
// The plain copy: output 0 has the elements of input 0 in the same order.
std::unique_ptr<Kernel> MakeCopyKernel();

}  // namespace inferd::engine
