// GridSample: reads a tensor at the positions a flow field names.
#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <type_traits>

#include "absl/strings/str_cat.h"
#include "engine/kernel/kernel.h"
#include "engine/ops/all_ops.h"
#include "engine/ops/element_copy.h"
#include "engine/ops/op_def.h"
#include "engine/ops/shape_functions.h"
#include "engine/ops/shape_input.h"
#include "engine/status_macros.h"

namespace inferd::engine {
namespace {

enum class Mode { kLinear, kNearest, kCubic };
enum class Padding { kZeros, kBorder, kReflection };

struct Options {
  Mode mode = Mode::kLinear;
  Padding padding = Padding::kZeros;
  bool align_corners = false;
};

absl::StatusOr<Options> ReadOptions(const Attributes& attributes) {
  Options o;
  const std::string mode = attributes.GetString("mode", "linear");
  if (mode == "nearest") {
    o.mode = Mode::kNearest;
  } else if (mode == "cubic") {
    o.mode = Mode::kCubic;
  } else if (mode != "linear") {
    return absl::InvalidArgumentError(
        absl::StrCat("attribute mode is \"", mode, "\", expected linear, nearest or cubic"));
  }
  const std::string padding = attributes.GetString("padding_mode", "zeros");
  if (padding == "border") {
    o.padding = Padding::kBorder;
  } else if (padding == "reflection") {
    o.padding = Padding::kReflection;
  } else if (padding != "zeros") {
    return absl::InvalidArgumentError(absl::StrCat("attribute padding_mode is \"", padding,
                                                   "\", expected zeros, border or reflection"));
  }
  o.align_corners = attributes.GetInt("align_corners", 0) != 0;
  return o;
}

absl::Status Infer(InferenceContext& context) {
  RETURN_IF_ERROR(ReadOptions(context.attributes()).status());
  const SymbolicShape& x = context.shape(0);
  const SymbolicShape& grid = context.shape(1);
  RETURN_IF_ERROR(ExpectRank(context, 0, 3));
  RETURN_IF_ERROR(ExpectRank(context, 1, 3));
  if (!x.has_rank() && !grid.has_rank()) {
    context.SetOutput(0, context.element_type(0), {});
    return absl::OkStatus();
  }
  const int rank = x.has_rank() ? x.rank() : grid.rank();
  if (x.has_rank() && grid.has_rank()) {
    if (x.rank() != grid.rank()) {
      return absl::InvalidArgumentError(absl::StrCat("input X has rank ", x.rank(), " and grid ",
                                                     grid.rank(), ", expected equal ranks"));
    }
    if (!MergeDims(x[0], grid[0]).ok()) {
      return absl::InvalidArgumentError(absl::StrCat("input X has batch size ", x[0].ToString(),
                                                     " and grid ", grid[0].ToString()));
    }
  }
  if (grid.has_rank() && grid[rank - 1].known() && grid[rank - 1].value() != rank - 2) {
    return absl::InvalidArgumentError(absl::StrCat("input grid has shape ", grid.ToString(),
                                                   ", expected a last dimension of ", rank - 2,
                                                   ", one coordinate per spatial axis"));
  }
  SymbolicShape y = SymbolicShape::OfRank(rank);
  if (x.has_rank()) {
    y[0] = x[0];
    y[1] = x[1];
  }
  if (grid.has_rank()) {
    if (!y[0].known()) y[0] = grid[0];
    for (int i = 2; i < rank; ++i) y[i] = grid[i - 1];
  }
  context.SetOutput(0, context.element_type(0), std::move(y));
  return absl::OkStatus();
}

// Weighted positions around one coordinate of one axis; position -1 reads as zero.
struct AxisTaps {
  int count = 0;
  std::array<int64_t, 4> source{};
  std::array<double, 4> weight{};
};

// x between the borders low and high, mirrored at them as often as it takes.
double Reflect(double x, double low, double high) {
  const double range = high - low;
  if (!(range > 0)) return low;
  const double beyond = x < low ? low - x : x - high;
  if (!(beyond > 0)) return x;
  const double rest = std::fmod(beyond, range);
  const bool there = std::fmod(std::floor(beyond / range), 2.0) == 0;
  return (x < low) == there ? low + rest : high - rest;
}

// Keys' cubic convolution with the coefficient the operator fixes.
double Cubic(double distance) {
  constexpr double a = -0.75;
  const double z = std::abs(distance);
  if (z <= 1) return ((a + 2) * z - (a + 3)) * z * z + 1;
  if (z < 2) return ((a * z - 5 * a) * z + 8 * a) * z - 4 * a;
  return 0;
}

struct GridAxis {
  int64_t size = 0;
  double low = 0, high = 0;  // borders to clamp and to reflect at
};

int64_t PaddedSource(const Options& options, const GridAxis& axis, int64_t i) {
  if (i >= 0 && i < axis.size) return i;
  switch (options.padding) {
    case Padding::kZeros:
      return -1;
    case Padding::kBorder:
      return std::clamp<int64_t>(i, 0, axis.size - 1);
    case Padding::kReflection:
      return std::clamp<int64_t>(
          std::llrint(std::floor(Reflect(static_cast<double>(i), axis.low, axis.high))), 0,
          axis.size - 1);
  }
  return -1;
}

// The taps of normalized coordinate n. C is the precision the grid is given in: which pixel is
// nearest to a half-way point depends on it.
template <typename C>
AxisTaps TapsAt(const Options& options, const GridAxis& axis, C n) {
  const C size = static_cast<C>(axis.size);
  const C unnormalized =
      options.align_corners ? (n + 1) / 2 * (size - 1) : ((n + 1) * size - 1) / 2;
  double x = static_cast<double>(options.mode == Mode::kNearest ? std::nearbyint(unnormalized)
                                                                : unnormalized);
  if (options.padding == Padding::kReflection && !(x >= axis.low && x <= axis.high)) {
    x = Reflect(x, axis.low, axis.high);
  } else if (options.padding == Padding::kBorder) {
    // From two pixels outside on, all taps are at the border. Nearer a cubic is still a curve.
    x = std::clamp(x, -2.0, static_cast<double>(axis.size) + 1);
  }
  if (options.padding != Padding::kZeros && std::isnan(x)) x = 0;
  AxisTaps taps;
  // Far outside, and NaN, there is nothing but zeros.
  if (!(x > -3.0 && x < static_cast<double>(axis.size) + 3)) {
    taps.count = 1;
    taps.source[0] = -1;
    taps.weight[0] = 1;
    return taps;
  }
  const double below = std::floor(x);
  const double fraction = x - below;
  const int64_t base = static_cast<int64_t>(below);
  const int first = options.mode == Mode::kCubic ? -1 : 0;
  taps.count = options.mode == Mode::kNearest ? 1 : options.mode == Mode::kLinear ? 2 : 4;
  for (int k = 0; k < taps.count; ++k) {
    const double distance = fraction - (first + k);
    taps.source[k] = PaddedSource(options, axis, base + first + k);
    taps.weight[k] = options.mode == Mode::kNearest  ? 1
                     : options.mode == Mode::kLinear ? 1 - std::abs(distance)
                                                     : Cubic(distance);
  }
  return taps;
}

struct GridGeometry {
  int64_t batch, channels, input_plane, output_plane;
  std::vector<GridAxis> axes;  // outermost first
  std::vector<int64_t> strides;
};

// Elements one position reads; more spatial axes than make this many are refused.
constexpr int kMaxTaps = 1024;

struct PlaneTaps {
  int count = 0;
  std::array<int64_t, kMaxTaps> source;
  std::array<double, kMaxTaps> weight;
};

// The taps of the position whose coordinates, innermost axis first, are at `grid`. Those that
// read zeros are left out.
template <typename G>
void PlaneTapsAt(const Options& options, const GridGeometry& g, const G* grid, PlaneTaps& taps) {
  using C = std::conditional_t<std::is_same_v<G, double>, double, float>;
  taps.count = 1;
  taps.source[0] = 0;
  taps.weight[0] = 1;
  const int rank = static_cast<int>(g.axes.size());
  for (int i = rank - 1; i >= 0; --i) {
    const AxisTaps axis = TapsAt<C>(options, g.axes[i], static_cast<C>(grid[rank - 1 - i]));
    // In place, from the back: entry t becomes entries t * kept and on.
    std::array<int, 4> kept{};
    int count = 0;
    for (int k = 0; k < axis.count; ++k) {
      if (axis.source[k] >= 0) kept[count++] = k;
    }
    for (int t = taps.count; t-- > 0;) {
      const int64_t source = taps.source[t];
      const double weight = taps.weight[t];
      for (int k = 0; k < count; ++k) {
        taps.source[t * count + k] = source + axis.source[kept[k]] * g.strides[i];
        taps.weight[t * count + k] = weight * axis.weight[kept[k]];
      }
    }
    taps.count *= count;
  }
}

template <typename T>
struct SumOf {
  using type = double;
};
template <typename P>
struct SumOf<std::complex<P>> {
  using type = std::complex<double>;
};

// Integers are cut off, as a cast does, at the ends of their range too.
template <typename T>
T FromSum(typename SumOf<T>::type sum) {
  if constexpr (std::is_same_v<T, bool>) {
    return sum != 0;
  } else if constexpr (std::is_integral_v<T>) {
    if (!(sum > static_cast<double>(std::numeric_limits<T>::min()))) {
      return std::isnan(sum) ? T{0} : std::numeric_limits<T>::min();
    }
    if (sum >= static_cast<double>(std::numeric_limits<T>::max())) {
      return std::numeric_limits<T>::max();
    }
    return static_cast<T>(sum);
  } else {
    return static_cast<T>(static_cast<ComputeType<T>>(sum));
  }
}

// write(plane taps, index of X's first plane of the image, index of Y's) for every position.
template <typename Write>
void ForEachPosition(const Options& options, const GridGeometry& g, KernelContext& context,
                     const Write& write) {
  const TensorView& grid = context.input(1);
  context.threads().ParallelFor(g.batch * g.output_plane, 64, [&](int64_t begin, int64_t end) {
    PlaneTaps taps;
    const int64_t rank = static_cast<int64_t>(g.axes.size());
    for (int64_t p = begin; p < end; ++p) {
      DispatchType<float, double, Float16, BFloat16>(
          grid.type, [&]<typename G>() { PlaneTapsAt(options, g, grid.as<G>() + p * rank, taps); });
      const int64_t image = p / g.output_plane;
      write(taps, image * g.channels * g.input_plane,
            image * g.channels * g.output_plane + p % g.output_plane);
    }
  });
}

template <typename T>
std::unique_ptr<Kernel> MakeInterpolation(const Options& options, GridGeometry geometry) {
  return MakeKernel([options, g = std::move(geometry)](KernelContext& context) {
    const T* x = context.input(0).as<T>();
    T* y = context.output(0).as<T>();
    ForEachPosition(options, g, context, [&](const PlaneTaps& taps, int64_t from, int64_t to) {
      for (int64_t c = 0; c < g.channels; ++c) {
        const T* plane = x + from + c * g.input_plane;
        typename SumOf<T>::type sum = 0;
        for (int t = 0; t < taps.count; ++t) {
          sum += taps.weight[t] * static_cast<typename SumOf<T>::type>(
                                      static_cast<ComputeType<T>>(plane[taps.source[t]]));
        }
        y[to + c * g.output_plane] = FromSum<T>(sum);
      }
    });
    return absl::OkStatus();
  });
}

// Nearest moves elements of any type.
std::unique_ptr<Kernel> MakeNearest(const Options& options, GridGeometry geometry,
                                    ElementType type) {
  return MakeKernel([options, g = std::move(geometry),
                     copier = ElementCopier(type)](KernelContext& context) {
    const void* x = context.input(0).data;
    void* y = context.output(0).data;
    // All bits zero is zero in every type; a string is empty.
    const std::complex<double> zero;
    const std::string empty;
    const void* fill = context.input(0).type == ElementType::kString
                           ? static_cast<const void*>(&empty)
                           : static_cast<const void*>(&zero);
    ForEachPosition(options, g, context, [&](const PlaneTaps& taps, int64_t from, int64_t to) {
      for (int64_t c = 0; c < g.channels; ++c) {
        if (taps.count == 0) {
          copier.Copy(fill, 0, y, to + c * g.output_plane, 1);
        } else {
          copier.Copy(x, from + c * g.input_plane + taps.source[0], y, to + c * g.output_plane, 1);
        }
      }
    });
    return absl::OkStatus();
  });
}

absl::StatusOr<std::unique_ptr<Kernel>> Reference(const NodeSpec& spec) {
  ASSIGN_OR_RETURN(const Options options, ReadOptions(spec.attributes()));
  const Shape& x = spec.input(0).shape;
  const Shape& y = spec.output(0).shape;
  const int spatial = x.rank() - 2;
  int64_t taps = 1;
  for (int i = 0; i < spatial && taps <= kMaxTaps; ++i) {
    taps *= options.mode == Mode::kNearest ? 1 : options.mode == Mode::kLinear ? 2 : 4;
  }
  if (taps > kMaxTaps) {
    return absl::UnimplementedError(absl::StrCat(spatial, " spatial axes make more than ", kMaxTaps,
                                                 " elements to read for each position"));
  }
  GridGeometry g{x[0], x[1], x.Product(2, x.rank()), y.Product(2, y.rank()), {}, {}};
  if (g.input_plane == 0 && y.NumElements() > 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("input X has shape ", x.ToString(), ": no pixels to sample"));
  }
  for (int i = 2; i < x.rank(); ++i) {
    const double size = static_cast<double>(x[i]);
    g.axes.push_back(options.align_corners ? GridAxis{x[i], 0, size - 1}
                                           : GridAxis{x[i], -0.5, size - 0.5});
    g.strides.push_back(x.Product(i + 1, x.rank()));
  }
  const ElementType type = spec.input(0).type;
  if (options.mode == Mode::kNearest) return MakeNearest(options, std::move(g), type);
  std::unique_ptr<Kernel> kernel;
  if (!DispatchType<float, double, Float16, BFloat16, uint8_t, int8_t, uint16_t, int16_t, uint32_t,
                    int32_t, uint64_t, int64_t, bool, std::complex<float>, std::complex<double>>(
          type, [&]<typename T>() { kernel = MakeInterpolation<T>(options, std::move(g)); })) {
    return absl::InvalidArgumentError(absl::StrCat("linear and cubic modes need numbers, found ",
                                                   std::string(ElementTypeName(type)),
                                                   "; use mode nearest"));
  }
  return kernel;
}

}  // namespace

void RegisterGridSampleOps(OpRegistry& registry) {
  using Kind = AttributeSpec::Kind;
  registry.Register(
      {.name = "GridSample",
       .version = 22,
       .oldest_version = 16,
       .inputs = {{"X", "T1", type_sets::kMovable}, {"grid", "T2", type_sets::kFloats}},
       .outputs = {{"Y", "T1", type_sets::kMovable}},
       .attributes = {{"align_corners", Kind::kInt},
                      {"mode", Kind::kString},
                      {"padding_mode", Kind::kString}},
       .infer = Infer,
       .reference = Reference});
}

}  // namespace inferd::engine
