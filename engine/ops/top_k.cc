// TopK: the K largest or smallest elements along an axis and where they were; equals by the
// lower index.
#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/kernel/kernel.h"
#include "engine/ops/all_ops.h"
#include "engine/ops/op_def.h"
#include "engine/ops/shape_functions.h"
#include "engine/ops/shape_input.h"
#include "engine/status_macros.h"

namespace inferd::engine {
namespace {

absl::StatusOr<int64_t> ReadK(const std::vector<int64_t>& values, const Dim& size) {
  if (values.size() != 1 || values[0] < 0) {
    return absl::InvalidArgumentError(absl::StrCat("input K holds ", values.size(), " values",
                                                   values.size() == 1 ? ", a negative one" : "",
                                                   ", expected one number >= 0"));
  }
  if (size.known() && values[0] > size.value()) {
    return absl::InvalidArgumentError(
        absl::StrCat("input K is ", values[0], ", but the axis has ", size.value(), " elements"));
  }
  return values[0];
}

absl::Status Infer(InferenceContext& context) {
  SymbolicShape y = context.shape(0);
  ASSIGN_OR_RETURN(const auto k, ConstantInts(context, 1));
  if (y.has_rank()) {
    ASSIGN_OR_RETURN(const int axis,
                     NormalizeAxis(context.attributes().GetInt("axis", -1), y.rank()));
    if (k.has_value()) {
      ASSIGN_OR_RETURN(const int64_t count, ReadK(*k, y[axis]));
      y[axis] = Dim(count);
    } else {
      y[axis] = Dim::Unknown();
    }
  }
  if (context.node().output(0) != nullptr) context.SetOutput(0, context.element_type(0), y);
  if (context.node().output(1) != nullptr) context.SetOutput(1, ElementType::kInt64, y);
  return absl::OkStatus();
}

// A strict order in which `a` at i comes before `b` at j. NaN counts as the largest number.
template <typename T, bool kLargest>
bool Before(T a, int64_t i, T b, int64_t j) {
  const bool a_nan = a != a, b_nan = b != b;
  if (a_nan || b_nan) {
    if (a_nan && b_nan) return i < j;
    return kLargest ? a_nan : b_nan;
  }
  if (a != b) return kLargest ? a > b : a < b;
  return i < j;
}

struct TopKShape {
  int64_t outer, size, inner, k;
};

template <typename T, bool kLargest>
class TopKKernel final : public Kernel {
 public:
  explicit TopKKernel(TopKShape shape) : shape_(shape) {}

  size_t workspace_bytes() const override { return shape_.size * sizeof(int64_t); }

  absl::Status Run(KernelContext& context) const override {
    const auto [outer, size, inner, k] = shape_;
    int64_t* order = static_cast<int64_t*>(context.workspace());
    T* values = context.has_output(0) ? context.output(0).as<T>() : nullptr;
    int64_t* indices = context.has_output(1) ? context.output(1).as<int64_t>() : nullptr;
    for (int64_t o = 0; o < outer; ++o) {
      for (int64_t n = 0; n < inner; ++n) {
        const T* x = context.input(0).as<T>() + o * size * inner + n;
        for (int64_t i = 0; i < size; ++i) order[i] = i;
        const auto before = [&](int64_t i, int64_t j) {
          return Before<ComputeType<T>, kLargest>(x[i * shape_.inner], i, x[j * shape_.inner], j);
        };
        if (k < size) std::nth_element(order, order + k, order + size, before);
        std::sort(order, order + k, before);
        for (int64_t i = 0; i < k; ++i) {
          const int64_t to = (o * k + i) * inner + n;
          if (values != nullptr) values[to] = x[order[i] * inner];
          if (indices != nullptr) indices[to] = order[i];
        }
      }
    }
    return absl::OkStatus();
  }

 private:
  TopKShape shape_;
};

absl::StatusOr<std::unique_ptr<Kernel>> Reference(const NodeSpec& spec) {
  const Shape& x = spec.input(0).shape;
  ASSIGN_OR_RETURN(const int axis, NormalizeAxis(spec.attributes().GetInt("axis", -1), x.rank()));
  ASSIGN_OR_RETURN(const std::vector<int64_t> values, PlannedInts(spec, 1));
  ASSIGN_OR_RETURN(const int64_t k, ReadK(values, Dim(x[axis])));
  Shape y = x;
  y[axis] = k;
  RETURN_IF_ERROR(CheckOutputShape(spec, 0, y));
  const TopKShape shape{x.Product(0, axis), x[axis], x.Product(axis + 1, x.rank()), k};
  const bool largest = spec.attributes().GetInt("largest", 1) != 0;
  std::unique_ptr<Kernel> kernel;
  DispatchType<float, double, Float16, BFloat16, uint8_t, int8_t, uint16_t, int16_t, uint32_t,
               int32_t, uint64_t, int64_t>(spec.input(0).type, [&]<typename T>() {
    if (largest) {
      kernel = std::make_unique<TopKKernel<T, true>>(shape);
    } else {
      kernel = std::make_unique<TopKKernel<T, false>>(shape);
    }
  });
  return kernel;
}

}  // namespace

void RegisterTopKOps(OpRegistry& registry) {
  using Kind = AttributeSpec::Kind;
  registry.Register(
      {.name = "TopK",
       .version = 24,
       .inputs = {{"X", "T", type_sets::kNumeric}, {"K", "", {ElementType::kInt64}}},
       .outputs = {{"Values", "T", type_sets::kNumeric}, {"Indices", "", {ElementType::kInt64}}},
       // Results are sorted whatever `sorted` says: without it the order is free.
       .attributes = {{"axis", Kind::kInt}, {"largest", Kind::kInt}, {"sorted", Kind::kInt}},
       .infer = Infer,
       .reference = Reference,
       .shape_inputs = {1}});
}

}  // namespace inferd::engine
