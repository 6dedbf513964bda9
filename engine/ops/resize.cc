// Resize: samples a tensor on another grid; nearest, linear and cubic, with or without an
// antialiasing filter. The geometry is in resize_sampling.h.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/kernel/kernel.h"
#include "engine/ops/all_ops.h"
#include "engine/ops/index_map_gather.h"
#include "engine/ops/op_def.h"
#include "engine/ops/resize_sampling.h"
#include "engine/ops/shape_input.h"
#include "engine/status_macros.h"

namespace inferd::engine {
namespace {

constexpr int kRoi = 1;
constexpr int kScales = 2;
constexpr int kSizes = 3;

bool HasElements(const Shape& shape) { return shape.NumElements() > 0; }

std::vector<double> AsDoubles(const Tensor& tensor) {
  std::vector<double> values;
  DispatchType<float, double, Float16>(tensor.type(), [&]<typename T>() {
    for (const T& v : tensor.values<T>()) values.push_back(static_cast<ComputeType<T>>(v));
  });
  return values;
}

// An input that is present but empty counts as absent, as in models made for opset 11.
absl::StatusOr<ResizeTargets> ReadTargets(const Tensor* roi, const Tensor* scales,
                                          const Tensor* sizes) {
  ResizeTargets t;
  if (scales != nullptr && HasElements(scales->shape())) {
    t.scales.assign(scales->values<float>().begin(), scales->values<float>().end());
  }
  if (sizes != nullptr && HasElements(sizes->shape())) {
    ASSIGN_OR_RETURN(t.sizes, ToInt64Vector(sizes->view()));
  }
  if (roi != nullptr) t.roi = AsDoubles(*roi);
  return t;
}

absl::Status Infer(InferenceContext& context) {
  const ElementType type = context.element_type(0);
  const SymbolicShape& x = context.shape(0);
  ASSIGN_OR_RETURN(const ResizeOptions options, ReadResizeOptions(context.attributes()));
  if (!x.has_rank()) {
    context.SetOutput(0, type, {});
    return absl::OkStatus();
  }
  const Tensor* values[4] = {};
  bool known = true;
  for (const int i : {kScales, kSizes}) {
    if (!context.has_input(i)) continue;
    values[i] = context.constant(i);
    known = known && values[i] != nullptr;
  }
  if (!known) {
    context.SetOutput(0, type, SymbolicShape::OfRank(x.rank()));
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(const ResizeTargets targets,
                   ReadTargets(nullptr, values[kScales], values[kSizes]));
  ASSIGN_OR_RETURN(SymbolicShape y, ResizedShape(options, x, targets));
  context.SetOutput(0, type, std::move(y));
  return absl::OkStatus();
}

// To the nearest value T holds, as the standard's saturating cast: ties to even.
template <typename T>
T Round(double value) {
  if constexpr (std::is_integral_v<T>) {
    const double rounded = std::nearbyint(value);
    // 2^63 and 2^64 are doubles, the largest int64 and uint64 are not.
    if (!(rounded > static_cast<double>(std::numeric_limits<T>::min()))) {
      return std::numeric_limits<T>::min();
    }
    if (rounded >= static_cast<double>(std::numeric_limits<T>::max())) {
      return std::numeric_limits<T>::max();
    }
    return static_cast<T>(rounded);
  } else {
    return static_cast<T>(static_cast<ComputeType<T>>(value));
  }
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeNearest(const OperandSpec& x,
                                                    const ResizeOptions& options,
                                                    const std::vector<ResizeAxis>& axes) {
  std::vector<std::vector<int64_t>> maps;
  for (const ResizeAxis& axis : axes) {
    std::vector<int64_t>& map = maps.emplace_back(axis.output);
    for (int64_t o = 0; o < axis.output; ++o) {
      map[o] = Extrapolates(options, axis, o) ? -1 : NearestSource(options, axis, o);
    }
  }
  std::array<char, 16> fill{};
  DispatchType<float, double, Float16, BFloat16, uint8_t, int8_t, uint16_t, int16_t, uint32_t,
               int32_t, uint64_t, int64_t>(x.type, [&]<typename T>() {
    const T value = Round<T>(options.extrapolation_value);
    std::memcpy(fill.data(), &value, sizeof(T));
  });
  return MakeKernel([gather = IndexMapGather(x.type, x.shape, std::move(maps)),
                     fill](KernelContext& context) {
    const std::string empty;
    const bool strings = context.input(0).type == ElementType::kString;
    gather.Run(context.input(0).data,
               strings ? static_cast<const void*>(&empty) : static_cast<const void*>(fill.data()),
               context.output(0).data);
    return absl::OkStatus();
  });
}

// The taps of every output position of one axis: those of position o are taps[first[o]] up to
// taps[first[o + 1]]. None: the position takes the extrapolation value.
struct FilterAxis {
  std::vector<Tap> taps;
  std::vector<int64_t> first;
  int64_t output = 0;

  bool extrapolates(int64_t o) const { return first[o] == first[o + 1]; }
};

template <typename T>
class FilterKernel final : public Kernel {
 public:
  FilterKernel(const Shape& x, const ResizeOptions& options, const std::vector<ResizeAxis>& axes)
      : extrapolation_(Round<T>(options.extrapolation_value)) {
    const auto strides = RowMajorStrides(x);
    for (size_t i = 0; i < axes.size(); ++i) {
      FilterAxis& axis = axes_.emplace_back();
      axis.output = axes[i].output;
      axis.first.push_back(0);
      for (int64_t o = 0; o < axis.output; ++o) {
        if (!Extrapolates(options, axes[i], o)) {
          for (Tap tap : FilterTaps(options, axes[i], o)) {
            tap.source *= strides[i];
            axis.taps.push_back(tap);
          }
        }
        axis.first.push_back(static_cast<int64_t>(axis.taps.size()));
      }
    }
    // A scalar is a row of one.
    if (axes_.empty()) axes_.push_back({{{0, 1.0}}, {0, 1}, 1});
    for (size_t i = 0; i + 1 < axes_.size(); ++i) rows_ *= axes_[i].output;
  }

  absl::Status Run(KernelContext& context) const override {
    const int64_t width = axes_.back().output;
    if (rows_ * width == 0) return absl::OkStatus();
    const T* x = context.input(0).as<T>();
    T* y = context.output(0).as<T>();
    context.threads().ParallelFor(rows_, std::max<int64_t>(1, 1024 / width),
                                  [&](int64_t begin, int64_t end) {
                                    for (int64_t r = begin; r < end; ++r) Row(x, r, y + r * width);
                                  });
    return absl::OkStatus();
  }

 private:
  static constexpr int64_t kChunk = 256;

  // Row r of the output: the innermost axis, at one position of each of the others.
  void Row(const T* x, int64_t r, T* y) const {
    const FilterAxis& columns = axes_.back();
    bool outside = false;
    for (int64_t i = static_cast<int64_t>(axes_.size()) - 1, rest = r; i-- > 0;) {
      outside = outside || axes_[i].extrapolates(rest % axes_[i].output);
      rest /= axes_[i].output;
    }
    if (outside) {
      std::fill_n(y, columns.output, extrapolation_);
      return;
    }
    double sums[kChunk];
    for (int64_t begin = 0; begin < columns.output; begin += kChunk) {
      const int64_t end = std::min(begin + kChunk, columns.output);
      std::fill_n(sums, end - begin, 0.0);
      AddAxis(x, 0, rows_, r, 1.0, begin, end, sums);
      for (int64_t o = begin; o < end; ++o) {
        y[o] = columns.extrapolates(o) ? extrapolation_ : Round<T>(sums[o - begin]);
      }
    }
  }

  // Adds what axes [axis, rank) around x weigh to columns [begin, end). `rest` is the row within
  // those axes, which have `rows` of them.
  void AddAxis(const T* x, size_t axis, int64_t rows, int64_t rest, double weight, int64_t begin,
               int64_t end, double* sums) const {
    const FilterAxis& a = axes_[axis];
    if (axis + 1 == axes_.size()) {
      for (int64_t o = begin; o < end; ++o) {
        double sum = 0;
        for (int64_t t = a.first[o]; t < a.first[o + 1]; ++t) {
          sum += a.taps[t].weight *
                 static_cast<double>(static_cast<ComputeType<T>>(x[a.taps[t].source]));
        }
        sums[o - begin] += weight * sum;
      }
      return;
    }
    rows /= a.output;
    const int64_t o = rest / rows;
    for (int64_t t = a.first[o]; t < a.first[o + 1]; ++t) {
      AddAxis(x + a.taps[t].source, axis + 1, rows, rest % rows, weight * a.taps[t].weight, begin,
              end, sums);
    }
  }

  std::vector<FilterAxis> axes_;
  int64_t rows_ = 1;
  T extrapolation_;
};

absl::StatusOr<std::unique_ptr<Kernel>> Reference(const NodeSpec& spec) {
  const OperandSpec& x = spec.input(0);
  ASSIGN_OR_RETURN(const ResizeOptions options, ReadResizeOptions(spec.attributes()));
  const bool crops = options.coordinates == CoordinateMode::kTfCropAndResize;
  const Tensor* values[4] = {};
  for (const int i : {kRoi, kScales, kSizes}) {
    if (!spec.has_input(i) || (i == kRoi && !crops)) continue;
    values[i] = spec.input(i).constant;
    if (values[i] == nullptr) {
      return absl::InternalError(absl::StrCat("the value of input ",
                                              std::string(spec.op().inputs[i].name),
                                              " shapes the output but is not known to the plan"));
    }
  }
  if (crops && values[kRoi] == nullptr) {
    return absl::InvalidArgumentError("tf_crop_and_resize needs input roi");
  }
  ASSIGN_OR_RETURN(const ResizeTargets targets,
                   ReadTargets(values[kRoi], values[kScales], values[kSizes]));
  ASSIGN_OR_RETURN(const std::vector<ResizeAxis> axes,
                   ResolveResize(options, x.shape.dims(), targets));
  Shape y;
  for (const ResizeAxis& axis : axes) y.push_back(axis.output);
  RETURN_IF_ERROR(CheckOutputShape(spec, 0, y));
  if (options.mode == ResizeMode::kNearest) return MakeNearest(x, options, axes);
  std::unique_ptr<Kernel> kernel;
  const bool numeric = DispatchType<float, double, Float16, BFloat16, uint8_t, int8_t, uint16_t,
                                    int16_t, uint32_t, int32_t, uint64_t, int64_t>(
      x.type,
      [&]<typename T>() { kernel = std::make_unique<FilterKernel<T>>(x.shape, options, axes); });
  if (!numeric) {
    return absl::InvalidArgumentError(absl::StrCat("linear and cubic modes need numbers, found ",
                                                   std::string(ElementTypeName(x.type)),
                                                   "; use mode nearest"));
  }
  return kernel;
}

}  // namespace

void RegisterResizeOps(OpRegistry& registry) {
  using Kind = AttributeSpec::Kind;
  constexpr auto kOptional = FormalParameter::Option::kOptional;
  constexpr ElementTypeSet kRoiTypes = {ElementType::kFloat16, ElementType::kFloat32,
                                        ElementType::kFloat64};
  registry.Register({.name = "Resize",
                     .version = 19,
                     .inputs = {{"X", "T1", type_sets::kMovable},
                                {"roi", "T2", kRoiTypes, kOptional},
                                {"scales", "", {ElementType::kFloat32}, kOptional},
                                {"sizes", "", {ElementType::kInt64}, kOptional}},
                     .outputs = {{"Y", "T1", type_sets::kMovable}},
                     .attributes = {{"antialias", Kind::kInt},
                                    {"axes", Kind::kInts},
                                    {"coordinate_transformation_mode", Kind::kString},
                                    {"cubic_coeff_a", Kind::kFloat},
                                    {"exclude_outside", Kind::kInt},
                                    {"extrapolation_value", Kind::kFloat},
                                    {"keep_aspect_ratio_policy", Kind::kString},
                                    {"mode", Kind::kString},
                                    {"nearest_mode", Kind::kString}},
                     .infer = Infer,
                     .reference = Reference,
                     .shape_inputs = {1, 2, 3}});
}

}  // namespace inferd::engine
