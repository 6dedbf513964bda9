// Unique: the different elements of a tensor, or its different slices along an axis, in ascending
// order or in that of their first occurrence. Slices compare by their elements in order; NaN equals
// NaN and follows every number, complex numbers compare by their real parts first.
#include <algorithm>
#include <complex>
#include <string>
#include <type_traits>

#include "absl/strings/str_cat.h"
#include "engine/kernel/kernel.h"
#include "engine/ops/all_ops.h"
#include "engine/ops/element_copy.h"
#include "engine/ops/elementwise.h"
#include "engine/ops/op_def.h"
#include "engine/ops/schema.h"
#include "engine/status_macros.h"

namespace inferd::engine {
namespace {

constexpr ElementTypeSet kTypes = type_sets::kNumeric | type_sets::kComplex |
                                  ElementTypeSet{ElementType::kString, ElementType::kBool};

absl::Status InferUnique(InferenceContext& context) {
  const int64_t sorted = context.attributes().GetInt("sorted", 1);
  if (sorted != 0 && sorted != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("attribute sorted is ", sorted, ", expected 0 or 1"));
  }
  SymbolicShape y = SymbolicShape::OfRank(1);
  if (context.attributes().has("axis")) {
    y = context.shape(0);
    if (y.has_rank()) {
      const int64_t axis = context.attributes().GetInt("axis", 0);
      const absl::StatusOr<int> normalized = NormalizeAxis(axis, y.rank());
      if (!normalized.ok()) {
        return absl::InvalidArgumentError(
            absl::StrCat("attribute axis is ", axis, ", but input 0 has shape ", y.ToString()));
      }
      y[*normalized] = Dim::Unknown();
    }
  }
  context.SetOutput(0, context.element_type(0), std::move(y));
  for (int i = 1; i < 4; ++i) {
    if (context.node().output(i) != nullptr) {
      context.SetOutput(i, ElementType::kInt64, SymbolicShape::OfRank(1));
    }
  }
  return absl::OkStatus();
}

// Negative, zero or positive as a is before, equal to or after b.
template <typename T>
int Compare(const T& a, const T& b) {
  if constexpr (std::is_same_v<T, Float16> || std::is_same_v<T, BFloat16>) {
    return Compare(static_cast<float>(a), static_cast<float>(b));
  } else if constexpr (std::is_floating_point_v<T>) {
    if (a < b) return -1;
    if (a > b) return 1;
    return static_cast<int>(a != a) - static_cast<int>(b != b);
  } else if constexpr (std::is_same_v<T, std::complex<float>> ||
                       std::is_same_v<T, std::complex<double>>) {
    const int real = Compare(a.real(), b.real());
    return real != 0 ? real : Compare(a.imag(), b.imag());
  } else {
    return static_cast<int>(b < a) - static_cast<int>(a < b);
  }
}

// The items that are compared: slices `x[:, i, :]` of outer * inner elements.
struct Slices {
  int64_t outer;
  int64_t extent;
  int64_t inner;
};

template <typename T>
class UniqueKernel final : public Kernel {
 public:
  // `shape`: of the input, or of the vector of all elements where there is no axis.
  UniqueKernel(const NodeSpec& spec, const Shape& shape, int axis, bool sorted)
      : shape_(shape),
        axis_(axis),
        sorted_(sorted),
        slices_{shape.Product(0, axis), shape[axis], shape.Product(axis + 1, shape.rank())} {
    for (int i = 1; i < 4; ++i) wanted_[i] = spec.has_output(i);
  }

  size_t workspace_bytes() const override { return sizeof(int64_t) * 5 * slices_.extent; }

  absl::Status Run(KernelContext& context) const override {
    const int64_t extent = slices_.extent;
    const T* x = context.input(0).as<T>();
    int64_t* order = static_cast<int64_t*>(context.workspace());  // slices in ascending order
    int64_t* group_of = order + extent;  // of each slice, groups being in ascending order
    int64_t* first = group_of + extent;  // slice of each group
    int64_t* counts = first + extent;
    int64_t* place = counts + extent;  // of each group in the output
    for (int64_t i = 0; i < extent; ++i) order[i] = i;
    std::sort(order, order + extent, [&](int64_t a, int64_t b) {
      const int c = CompareSlices(x, a, b);
      return c != 0 ? c < 0 : a < b;
    });
    int64_t groups = 0;
    for (int64_t i = 0; i < extent; ++i) {
      if (i == 0 || CompareSlices(x, order[i - 1], order[i]) != 0) {
        first[groups] = order[i];
        counts[groups] = 0;
        ++groups;
      }
      ++counts[groups - 1];
      group_of[order[i]] = groups - 1;
    }

    // From here on `order` lists the groups as the output has them.
    for (int64_t g = 0; g < groups; ++g) order[g] = g;
    if (!sorted_) {
      std::sort(order, order + groups, [&](int64_t a, int64_t b) { return first[a] < first[b]; });
    }
    for (int64_t g = 0; g < groups; ++g) place[order[g]] = g;

    Shape y_shape = shape_;
    y_shape[axis_] = groups;
    ASSIGN_OR_RETURN(const TensorView y, context.AllocateOutput(0, y_shape));
    const ElementCopier copier(y.type);
    for (int64_t o = 0; o < slices_.outer; ++o) {
      for (int64_t g = 0; g < groups; ++g) {
        copier.Copy(x, (o * extent + first[order[g]]) * slices_.inner, y.data,
                    (o * groups + g) * slices_.inner, slices_.inner);
      }
    }
    RETURN_IF_ERROR(Write(context, 1, groups, [&](int64_t g) { return first[order[g]]; }));
    RETURN_IF_ERROR(Write(context, 2, extent, [&](int64_t i) { return place[group_of[i]]; }));
    return Write(context, 3, groups, [&](int64_t g) { return counts[order[g]]; });
  }

 private:
  int CompareSlices(const T* x, int64_t a, int64_t b) const {
    for (int64_t o = 0; o < slices_.outer; ++o) {
      const T* row = x + o * slices_.extent * slices_.inner;
      for (int64_t k = 0; k < slices_.inner; ++k) {
        const int c = Compare(row[a * slices_.inner + k], row[b * slices_.inner + k]);
        if (c != 0) return c;
      }
    }
    return 0;
  }

  template <typename Fn>
  absl::Status Write(KernelContext& context, int output, int64_t count, Fn value) const {
    if (!wanted_[output]) return absl::OkStatus();
    ASSIGN_OR_RETURN(const TensorView view, context.AllocateOutput(output, Shape{count}));
    for (int64_t i = 0; i < count; ++i) view.as<int64_t>()[i] = value(i);
    return absl::OkStatus();
  }

  Shape shape_;
  int axis_;
  bool sorted_;
  Slices slices_;
  bool wanted_[4] = {};  // of the outputs
};

absl::StatusOr<std::unique_ptr<Kernel>> Reference(const NodeSpec& spec) {
  Shape shape = spec.input(0).shape;
  int axis = 0;
  if (spec.attributes().has("axis")) {
    ASSIGN_OR_RETURN(axis, NormalizeAxis(spec.attributes().GetInt("axis", 0), shape.rank()));
  } else {
    shape = Shape{shape.NumElements()};
  }
  // Slices of no elements could be more than any memory holds.
  if (shape[axis] > (int64_t{1} << 40)) {
    return absl::InvalidArgumentError(
        absl::StrCat("input 0 has ", shape[axis], " slices along the axis, expected at most 2^40"));
  }
  const bool sorted = spec.attributes().GetInt("sorted", 1) != 0;
  std::unique_ptr<Kernel> kernel;
  const ElementType type = spec.input(0).type;
  if (!DispatchType<float, double, Float16, BFloat16, int8_t, int16_t, int32_t, int64_t, uint8_t,
                    uint16_t, uint32_t, uint64_t, bool, std::string, std::complex<float>,
                    std::complex<double>>(type, [&]<typename T>() {
        kernel = std::make_unique<UniqueKernel<T>>(spec, shape, axis, sorted);
      })) {
    return UnsupportedType(spec, type);
  }
  return kernel;
}

}  // namespace

void RegisterUniqueOps(OpRegistry& registry) {
  using Kind = AttributeSpec::Kind;
  OpDef def;
  def.name = "Unique";
  def.version = 28;
  def.oldest_version = 11;
  def.inputs = {RequiredParameter("X", "T", kTypes)};
  def.outputs = {RequiredParameter("Y", "T", kTypes),
                 OptionalParameter("indices", "", {ElementType::kInt64}),
                 OptionalParameter("inverse_indices", "", {ElementType::kInt64}),
                 OptionalParameter("counts", "", {ElementType::kInt64})};
  def.attributes = {{"axis", Kind::kInt}, {"sorted", Kind::kInt}};
  def.infer = InferUnique;
  def.reference = Reference;
  def.dynamic_outputs = true;
  registry.Register(std::move(def));
}

}  // namespace inferd::engine
