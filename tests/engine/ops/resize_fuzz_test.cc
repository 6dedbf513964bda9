// Resize against a dense formulation: for each axis a matrix whose row o holds the weight of every
// input position in output position o, by the standard's formulas; the output is the product of
// the input with all of them.
#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "tests/engine/ops/fuzz_source.h"
#include "tests/engine/ops/op_tester.h"

namespace inferd::engine {
namespace {

struct Case {
  Shape x;
  std::vector<int64_t> axes;  // empty: all
  std::vector<float> scales;
  std::vector<int64_t> sizes;
  std::vector<float> roi;
  std::string mode, coordinates, nearest, policy;
  bool antialias = false, exclude_outside = false;
  float cubic_a = -0.75f, extrapolation = 0;
};

// One axis: its row of weights for each output position; `outside` rows take the extrapolation
// value instead.
struct Axis {
  int64_t output = 0;
  std::vector<std::vector<double>> rows;
  std::vector<bool> outside;
};

long double Source(const Case& c, int64_t o, int64_t input, int64_t output, long double scale,
                   long double length, double start, double end) {
  const long double x = o, in = input, out = output;
  if (c.coordinates == "half_pixel") return (x + 0.5L) / scale - 0.5L;
  if (c.coordinates == "half_pixel_symmetric") {
    return in / 2 * (1 - out / length) + (x + 0.5L) / scale - 0.5L;
  }
  if (c.coordinates == "pytorch_half_pixel") return output > 1 ? (x + 0.5L) / scale - 0.5L : 0;
  if (c.coordinates == "align_corners") return length == 1 ? 0 : x * (in - 1) / (length - 1);
  if (c.coordinates == "asymmetric") return x / scale;
  return length == 1 ? 0.5L * (start + end) * (in - 1)
                     : start * (in - 1) + x * (end - start) * (in - 1) / (length - 1);
}

int64_t Nearest(const Case& c, long double x) {
  // Positions computed in another order miss a half by a little.
  const long double snapped = std::round(x * 4) / 4;
  if (std::fabs(static_cast<double>(x - snapped)) < 1e-9) x = snapped;
  const long double below = std::floor(x), rest = x - below;
  if (c.nearest == "floor") return static_cast<int64_t>(below);
  if (c.nearest == "ceil") return static_cast<int64_t>(std::ceil(x));
  const bool up = c.nearest == "round_prefer_ceil" ? rest >= 0.5L : rest > 0.5L;
  return static_cast<int64_t>(below) + up;
}

double Weight(const Case& c, double distance) {
  const double z = std::fabs(distance), a = c.cubic_a;
  if (c.mode == "linear") return z < 1 ? 1 - z : 0;
  if (z <= 1) return (a + 2) * z * z * z - (a + 3) * z * z + 1;
  return z < 2 ? a * z * z * z - 5 * a * z * z + 8 * a * z - 4 * a : 0;
}

std::vector<double> Row(const Case& c, long double x, int64_t input, long double scale) {
  std::vector<double> row(input, 0.0);
  if (c.mode == "nearest") {
    row[std::clamp<int64_t>(Nearest(c, x), 0, input - 1)] = 1;
    return row;
  }
  const double stretch = c.antialias ? std::min(1.0, static_cast<double>(scale)) : 1.0;
  const int64_t reach = static_cast<int64_t>(3 / stretch) + 2;
  double sum = 0;
  const int64_t middle = static_cast<int64_t>(std::floor(x));
  for (int64_t p = middle - reach; p <= middle + reach; ++p) {
    const double w = Weight(c, static_cast<double>(p - x) * stretch);
    const int64_t inside = std::clamp<int64_t>(p, 0, input - 1);
    if (c.exclude_outside && inside != p) continue;
    row[inside] += w;
    sum += w;
  }
  if (c.antialias || c.exclude_outside) {
    for (double& w : row) w /= sum;
  }
  return row;
}

std::vector<Axis> NaiveAxes(const Case& c) {
  const int rank = c.x.rank();
  std::vector<int64_t> resized = c.axes;
  if (resized.empty()) {
    for (int i = 0; i < rank; ++i) resized.push_back(i);
  }
  std::vector<Axis> axes(rank);
  for (int i = 0; i < rank; ++i) {
    const int64_t input = c.x[i];
    const auto at = std::find(resized.begin(), resized.end(), i) - resized.begin();
    const bool moves = at < static_cast<int64_t>(resized.size());
    long double scale = 1, length = input;
    double start = 0, end = 1;
    Axis& axis = axes[i];
    axis.output = input;
    if (moves && !c.scales.empty()) {
      scale = c.scales[at];
      length = scale * input;
      axis.output = static_cast<int64_t>(std::floor(static_cast<float>(input) * c.scales[at]));
    } else if (moves && c.policy == "stretch") {
      axis.output = c.sizes[at];
      length = axis.output;
      scale = length / input;
    } else if (moves) {
      long double common = -1;
      for (size_t k = 0; k < resized.size(); ++k) {
        const long double s = static_cast<long double>(c.sizes[k]) / c.x[resized[k]];
        if (common < 0 || (c.policy == "not_larger" ? s < common : s > common)) common = s;
      }
      scale = common;
      length = scale * input;
      axis.output = static_cast<int64_t>(std::floor(length + 0.5L));
    }
    if (moves && !c.roi.empty()) {
      start = c.roi[at];
      end = c.roi[resized.size() + at];
    }
    for (int64_t o = 0; o < axis.output; ++o) {
      const long double x = Source(c, o, input, axis.output, scale, length, start, end);
      axis.outside.push_back(c.coordinates == "tf_crop_and_resize" && (x < 0 || x > input - 1));
      axis.rows.push_back(axis.outside.back() ? std::vector<double>() : Row(c, x, input, scale));
    }
  }
  return axes;
}

Tensor Naive(const Case& c, const Tensor& x) {
  const std::vector<Axis> axes = NaiveAxes(c);
  Shape y;
  for (const Axis& axis : axes) y.push_back(axis.output);
  std::vector<float> values;
  ForEachIndex(y, [&](const Index& at) {
    double sum = 0;
    bool outside = false;
    for (int i = 0; i < y.rank(); ++i) outside = outside || axes[i].outside[at[i]];
    if (outside) {
      values.push_back(c.extrapolation);
      return;
    }
    ForEachIndex(c.x, [&](const Index& from) {
      double w = 1;
      for (int i = 0; i < y.rank(); ++i) w *= axes[i].rows[at[i]][from[i]];
      sum += w * x.data<float>()[FlatIndex(c.x, from)];
    });
    values.push_back(static_cast<float>(sum));
  });
  return Tensor::FromValues<float>(y, absl::Span<const float>(values));
}

Case RandomCase(FuzzSource& source) {
  Case c;
  const int rank = static_cast<int>(source.Between(1, 3));
  for (int i = 0; i < rank; ++i) c.x.push_back(source.Between(1, 7));
  c.mode = source.Pick<std::string>({"nearest", "linear", "cubic"});
  c.coordinates =
      source.Pick<std::string>({"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel",
                                "align_corners", "asymmetric", "tf_crop_and_resize"});
  c.nearest =
      source.Pick<std::string>({"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"});
  c.policy = "stretch";
  c.antialias = c.mode != "nearest" && source.OneIn(3);
  c.exclude_outside = c.mode != "nearest" && source.OneIn(3);
  c.cubic_a = source.Pick<float>({-0.75f, -0.5f});
  size_t count = rank;
  if (source.OneIn(2)) {
    for (int i = rank - 1; i >= 0; --i) {
      if (!source.OneIn(3)) c.axes.push_back(i);
    }
    if (c.axes.empty()) c.axes.push_back(0);
    count = c.axes.size();
  }
  const bool sized = source.OneIn(2);
  if (sized) {
    c.sizes = source.Ints(static_cast<int64_t>(count), 1, 12);
    c.policy = source.Pick<std::string>({"stretch", "stretch", "not_larger", "not_smaller"});
  }
  for (size_t i = 0; !sized && i < count; ++i) {
    // Powers of two and their sums: exact in every order of computing.
    c.scales.push_back(source.Pick<float>({0.5f, 0.25f, 0.75f, 1.0f, 1.25f, 1.5f, 2.0f, 3.5f}));
    const int64_t axis = c.axes.empty() ? static_cast<int64_t>(i) : c.axes[i];
    if (static_cast<float>(c.x[static_cast<int>(axis)]) * c.scales.back() < 1) c.scales.back() = 1;
  }
  if (c.coordinates == "tf_crop_and_resize") {
    for (size_t i = 0; i < count; ++i) c.roi.push_back(source.Pick<float>({0.0f, 0.25f, -0.5f}));
    for (size_t i = 0; i < count; ++i) c.roi.push_back(source.Pick<float>({1.0f, 0.75f, 1.5f}));
    c.extrapolation = 9.0f;
  }
  return c;
}

TEST(ResizeFuzz, EqualsDenseWeights) {
  FuzzSource source(41);
  for (int round = 0; round < 500; ++round) {
    const Case c = RandomCase(source);
    SCOPED_TRACE(absl::StrCat("round ", round, " x ", c.x.ToString(), " ", c.mode, " ",
                              c.coordinates, " ", c.nearest, " ", c.policy, " antialias ",
                              c.antialias, " exclude_outside ", c.exclude_outside, " sizes ",
                              c.sizes.empty() ? "none" : Shape(c.sizes).ToString()));
    const Tensor x = RandomFloats(c.x, source.Seed());
    OpTester tester("Resize");
    tester.Input(x);
    const auto floats = [&](const std::vector<float>& v) {
      return Tensor::FromValues<float>({static_cast<int64_t>(v.size())},
                                       absl::Span<const float>(v));
    };
    c.roi.empty() ? tester.NoInput() : tester.Input(floats(c.roi));
    c.scales.empty() ? tester.NoInput() : tester.Input(floats(c.scales));
    if (!c.sizes.empty()) tester.Input(Tensor::Vector(c.sizes));
    tester.Attr("mode", c.mode).Attr("coordinate_transformation_mode", c.coordinates);
    tester.Attr("nearest_mode", c.nearest).Attr("keep_aspect_ratio_policy", c.policy);
    tester.Attr("antialias", int64_t{c.antialias}).Attr("cubic_coeff_a", c.cubic_a);
    tester.Attr("exclude_outside", int64_t{c.exclude_outside});
    tester.Attr("extrapolation_value", c.extrapolation);
    if (!c.axes.empty()) tester.Attr("axes", c.axes);
    ASSERT_OK_AND_ASSIGN(const Tensor y, tester.Run1());
    EXPECT_TRUE(TensorsClose(y, Naive(c, x), 2e-6, 1e-5));
  }
}

}  // namespace
}  // namespace inferd::engine
