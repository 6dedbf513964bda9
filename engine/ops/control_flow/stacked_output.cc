#include "engine/ops/control_flow/stacked_output.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/ops/element_copy.h"
#include "engine/status_macros.h"

namespace inferd::engine {
namespace {

// A trip count is the model's word only: more than this is taken as slices come.
constexpr int64_t kMaxReservedBytes = 64 << 20;

Shape WithLeading(int64_t leading, const Shape& slice) {
  Shape shape{leading};
  for (int64_t d : slice) shape.push_back(d);
  return shape;
}

}  // namespace

absl::Status StackedOutput::Append(const TensorView& slice) {
  if (slice.type == ElementType::kComposite || ElementBits(slice.type) % 8 != 0) {
    return absl::UnimplementedError(absl::StrCat("scan outputs of type ",
                                                 ElementTypeName(slice.type),
                                                 " are not supported; use whole-byte tensors"));
  }
  if (count_ == 0) {
    slice_ = slice.shape;
    const int64_t bytes = std::max<int64_t>(1, slice.num_bytes());
    capacity_ = std::clamp<int64_t>(expected_, 1, std::max<int64_t>(1, kMaxReservedBytes / bytes));
    ASSIGN_OR_RETURN(stacked_, Tensor::Allocate(slice.type, WithLeading(capacity_, slice_)));
  } else if (slice.type != stacked_.type() || !(slice.shape == slice_)) {
    return absl::InvalidArgumentError(
        absl::StrCat("iteration ", count_, " gives ", ElementTypeName(slice.type),
                     slice.shape.ToString(), ", the ones before ", ElementTypeName(stacked_.type()),
                     slice_.ToString(), "; a scan output must keep its shape"));
  }
  if (count_ == capacity_) RETURN_IF_ERROR(Grow());
  ElementCopier(slice.type)
      .Copy(slice.data, 0, stacked_.view().data, count_ * slice.num_elements(),
            slice.num_elements());
  ++count_;
  return absl::OkStatus();
}

absl::Status StackedOutput::Grow() {
  ASSIGN_OR_RETURN(Tensor larger,
                   Tensor::Allocate(stacked_.type(), WithLeading(2 * capacity_, slice_)));
  ElementCopier(stacked_.type())
      .Copy(stacked_.view().data, 0, larger.view().data, 0, count_ * slice_.NumElements());
  stacked_ = std::move(larger);
  capacity_ *= 2;
  return absl::OkStatus();
}

absl::StatusOr<Tensor> StackedOutput::Finish(int64_t axis, bool reverse) {
  ASSIGN_OR_RETURN(const int at, NormalizeAxis(axis, slice_.rank() + 1));
  if (at == 0 && !reverse) {
    return Tensor(stacked_.type(), WithLeading(count_, slice_), stacked_.buffer());
  }
  Shape shape;
  for (int d = 0; d < at; ++d) shape.push_back(slice_[d]);
  shape.push_back(count_);
  for (int d = at; d < slice_.rank(); ++d) shape.push_back(slice_[d]);
  ASSIGN_OR_RETURN(Tensor result, Tensor::Allocate(stacked_.type(), shape));
  const ElementCopier copier(stacked_.type());
  const int64_t outer = slice_.Product(0, at);
  const int64_t inner = slice_.Product(at, slice_.rank());
  for (int64_t i = 0; i < count_; ++i) {
    const int64_t to = reverse ? count_ - 1 - i : i;
    for (int64_t o = 0; o < outer; ++o) {
      copier.Copy(stacked_.view().data, (i * outer + o) * inner, result.view().data,
                  (o * count_ + to) * inner, inner);
    }
  }
  return result;
}

absl::StatusOr<Tensor> EmptyStack(ElementType type, const std::vector<int64_t>& slice_dims,
                                  int64_t axis) {
  ASSIGN_OR_RETURN(const int at, NormalizeAxis(axis, static_cast<int>(slice_dims.size()) + 1));
  Shape shape;
  for (size_t d = 0; d <= slice_dims.size(); ++d) {
    if (static_cast<int>(d) == at) shape.push_back(0);
    if (d < slice_dims.size()) shape.push_back(std::max<int64_t>(0, slice_dims[d]));
  }
  return Tensor::Allocate(type, shape);
}

}  // namespace inferd::engine
