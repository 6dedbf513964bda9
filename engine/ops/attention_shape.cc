#include "engine/ops/attention_shape.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/ops/shape_functions.h"

namespace inferd::engine {

absl::StatusOr<Dim> AddDims(const Dim& a, const Dim& b) {
  if (a == Dim(0)) return b;
  if (b == Dim(0)) return a;
  if (!a.known() || !b.known()) return Dim();
  int64_t sum;
  if (__builtin_add_overflow(a.value(), b.value(), &sum)) {
    return absl::InvalidArgumentError(
        absl::StrCat("dimensions ", a.value(), " and ", b.value(), " are too long together"));
  }
  return Dim(sum);
}

absl::StatusOr<Dim> MultiplyDims(const Dim& a, const Dim& b) {
  if (a == Dim(1)) return b;
  if (b == Dim(1)) return a;
  if (!a.known() || !b.known()) return Dim();
  int64_t product;
  if (__builtin_mul_overflow(a.value(), b.value(), &product)) {
    return absl::InvalidArgumentError(
        absl::StrCat("a dimension of ", a.value(), " times ", b.value(), " is too long"));
  }
  return Dim(product);
}

absl::StatusOr<Dim> DivideDim(const Dim& dim, int64_t parts, absl::string_view what) {
  if (parts == 1) return dim;
  if (!dim.known()) return Dim();
  if (dim.value() % parts != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(what, " is ", dim.value(), ", expected a multiple of ", parts));
  }
  return Dim(dim.value() / parts);
}

Dim InputDim(const InferenceContext& context, int i, int d) {
  if (!context.has_input(i) || !context.shape(i).has_rank()) return Dim();
  return d < context.shape(i).rank() ? context.shape(i)[d] : Dim();
}

absl::Status MergeInputDim(const InferenceContext& context, int i, int d, absl::string_view what,
                           Dim& dim) {
  const Dim other = InputDim(context, i, d);
  absl::StatusOr<Dim> merged = MergeDims(dim, other);
  if (!merged.ok()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "input ", i, " of shape ", context.shape(i).ToString(), " has ", other.ToString(),
        " in dimension ", d, ", expected ", what, " ", dim.ToString()));
  }
  dim = *std::move(merged);
  return absl::OkStatus();
}

absl::StatusOr<int64_t> HeadCountAttribute(const Attributes& attributes, absl::string_view name) {
  const int64_t count = attributes.GetInt(name, 0);
  if (count >= 1 && count < (int64_t{1} << 31)) return count;
  return absl::InvalidArgumentError(
      attributes.has(name)
          ? absl::StrCat("attribute ", name, " is ", count, ", expected a count of heads")
          : absl::StrCat("attribute ", name, " is missing, expected a count of heads"));
}

absl::Status ExpectBroadcastable(const InferenceContext& context, int i,
                                 const std::vector<Dim>& target) {
  if (!context.has_input(i) || !context.shape(i).has_rank()) return absl::OkStatus();
  const SymbolicShape& shape = context.shape(i);
  const int rank = static_cast<int>(target.size());
  bool fits = shape.rank() <= rank;
  for (int d = 1; fits && d <= shape.rank(); ++d) {
    const Dim& own = shape[shape.rank() - d];
    const Dim& wanted = target[rank - d];
    fits = !own.known() || own.value() == 1 || !wanted.known() || own.value() == wanted.value();
  }
  if (fits) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("input ", i, " of shape ", shape.ToString(),
                                                 " does not broadcast to ",
                                                 SymbolicShape(target).ToString()));
}

}  // namespace inferd::engine
