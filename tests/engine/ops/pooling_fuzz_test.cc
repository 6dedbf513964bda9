// MaxPool, AveragePool and LpPool against the standard's formulas, tap by tap: the output size in
// real arithmetic, then for each output element a walk over all taps of its window.
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "tests/engine/ops/fuzz_source.h"
#include "tests/engine/ops/op_tester.h"

namespace inferd::engine {
namespace {

struct Case {
  Shape x;
  std::vector<int64_t> kernel, strides, dilations, pads;
  std::string auto_pad;
  bool ceil = false;
  bool count_include_pad = false;
  int64_t p = 2;
  bool column_major = false;
};

struct Line {
  int64_t output, pad_begin, pad_end;
};

Line NaiveLine(const Case& c, int i) {
  const int spatial = c.x.rank() - 2;
  const double input = static_cast<double>(c.x[i + 2]);
  const double stride = static_cast<double>(c.strides[i]);
  const double reach = static_cast<double>((c.kernel[i] - 1) * c.dilations[i] + 1);
  Line line{0, c.pads[i], c.pads[spatial + i]};
  if (c.auto_pad == "VALID") {
    return {static_cast<int64_t>(std::ceil((input - reach + 1) / stride)), 0, 0};
  }
  if (c.auto_pad == "NOTSET") {
    const double room = input + static_cast<double>(line.pad_begin + line.pad_end) - reach;
    const double steps = room / stride;
    line.output = static_cast<int64_t>(c.ceil ? std::ceil(steps) : std::floor(steps)) + 1;
    // No window may start in the pads at the end, or beyond.
    while (c.ceil && static_cast<double>((line.output - 1) * c.strides[i]) >=
                         input + static_cast<double>(line.pad_begin)) {
      --line.output;
    }
    return line;
  }
  line.output = static_cast<int64_t>(std::ceil(input / stride));
  const double needed = (static_cast<double>(line.output) - 1) * stride + reach - input;
  const int64_t total = needed > 0 ? static_cast<int64_t>(needed) : 0;
  line.pad_begin = c.auto_pad == "SAME_UPPER" ? total / 2 : total - total / 2;
  line.pad_end = total - line.pad_begin;
  return line;
}

struct Pooled {
  Shape shape;
  std::vector<float> max, average, norm;
  std::vector<int64_t> indices;
};

Pooled Naive(const Case& c, const Tensor& x) {
  const int spatial = c.x.rank() - 2;
  Pooled result;
  result.shape = {c.x[0], c.x[1]};
  std::vector<Line> lines;
  for (int i = 0; i < spatial; ++i) {
    lines.push_back(NaiveLine(c, i));
    result.shape.push_back(lines[i].output);
  }
  ForEachIndex(result.shape, [&](const Index& at) {
    double best = -std::numeric_limits<double>::infinity(), sum = 0, power = 0;
    int64_t where = -1, inside_count = 0, padded_count = 0;
    ForEachIndex(Shape(c.kernel), [&](const Index& tap) {
      Index from = {at[0], at[1]};
      bool inside = true, padded = true;
      for (int i = 0; i < spatial; ++i) {
        const int64_t p = at[i + 2] * c.strides[i] - lines[i].pad_begin + tap[i] * c.dilations[i];
        from.push_back(p);
        inside = inside && p >= 0 && p < c.x[i + 2];
        padded = padded && p >= -lines[i].pad_begin && p < c.x[i + 2] + lines[i].pad_end;
      }
      inside_count += inside;
      padded_count += padded;
      if (!inside) return;
      const double v = x.data<float>()[FlatIndex(c.x, from)];
      sum += v;
      power += std::pow(std::fabs(v), static_cast<double>(c.p));
      if (v > best) {
        best = v;
        Shape image = c.x;
        if (c.column_major) {
          // The plane transposed: its first axis is the fastest.
          Index turned = {from[0], from[1]};
          image = {c.x[0], c.x[1]};
          for (int i = spatial - 1; i >= 0; --i) {
            turned.push_back(from[i + 2]);
            image.push_back(c.x[i + 2]);
          }
          where = FlatIndex(image, turned);
        } else {
          where = FlatIndex(image, from);
        }
      }
    });
    const int64_t count = c.count_include_pad ? padded_count : inside_count;
    result.max.push_back(static_cast<float>(best));
    result.indices.push_back(where);
    // A window of nothing sums to nothing.
    result.average.push_back(count == 0 ? 0 : static_cast<float>(sum / static_cast<double>(count)));
    result.norm.push_back(static_cast<float>(std::pow(power, 1.0 / static_cast<double>(c.p))));
  });
  return result;
}

Case RandomCase(FuzzSource& source) {
  Case c;
  const int spatial = static_cast<int>(source.Between(1, 3));
  c.x = {source.Between(1, 2), source.Between(1, 3)};
  c.auto_pad = source.Pick<std::string>({"NOTSET", "NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"});
  c.ceil = source.OneIn(2);
  c.count_include_pad = source.OneIn(2);
  c.p = source.Between(1, 3);
  c.column_major = source.OneIn(4);
  c.pads.assign(2 * spatial, 0);
  for (int i = 0; i < spatial; ++i) {
    c.kernel.push_back(source.Between(1, 4));
    c.strides.push_back(source.Between(1, 4));
    c.dilations.push_back(source.Between(1, 3));
    const int64_t reach = (c.kernel[i] - 1) * c.dilations[i] + 1;
    if (c.auto_pad == "NOTSET") {
      c.pads[i] = source.Between(0, reach - 1);
      c.pads[spatial + i] = source.Between(0, reach - 1);
    }
    const int64_t least = std::max<int64_t>(1, reach - c.pads[i] - c.pads[spatial + i]);
    c.x.push_back(least + source.Between(0, spatial == 3 ? 3 : 7));
  }
  return c;
}

OpTester Tester(absl::string_view op, const Case& c, const Tensor& x) {
  OpTester tester(op);
  tester.Input(x).Attr("kernel_shape", c.kernel).Attr("strides", c.strides);
  tester.Attr("dilations", c.dilations).Attr("ceil_mode", int64_t{c.ceil});
  if (c.auto_pad == "NOTSET") {
    tester.Attr("pads", c.pads);
  } else {
    tester.Attr("auto_pad", c.auto_pad);
  }
  return tester;
}

TEST(PoolingFuzz, EqualsTapByTap) {
  FuzzSource source(31);
  for (int round = 0; round < 300; ++round) {
    const Case c = RandomCase(source);
    SCOPED_TRACE(absl::StrCat("round ", round, " x ", c.x.ToString(), " kernel ",
                              Shape(c.kernel).ToString(), " auto_pad ", c.auto_pad, " ceil ",
                              c.ceil));
    // Of equal elements the first one's index counts.
    const Tensor x =
        source.OneIn(2) ? RandomFloats(c.x, source.Seed()) : source.Levels<float>(c.x, -2, 2);
    const Pooled expected = Naive(c, x);
    const auto tensor = [&](const auto& values) {
      using T = typename std::decay_t<decltype(values)>::value_type;
      return Tensor::FromValues<T>(expected.shape, absl::Span<const T>(values));
    };
    OpTester max = Tester("MaxPool", c, x);
    max.Attr("storage_order", int64_t{c.column_major}).Outputs(2);
    ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> y, max.Run());
    EXPECT_TRUE(TensorsClose(y[0], tensor(expected.max)));
    EXPECT_TRUE(TensorsClose(y[1], tensor(expected.indices)));
    OpTester average = Tester("AveragePool", c, x);
    average.Attr("count_include_pad", int64_t{c.count_include_pad});
    ASSERT_OK_AND_ASSIGN(const Tensor mean, average.Run1());
    EXPECT_TRUE(TensorsClose(mean, tensor(expected.average), 1e-6, 1e-6));
    OpTester lp = Tester("LpPool", c, x);
    lp.Attr("p", c.p);
    ASSERT_OK_AND_ASSIGN(const Tensor norm, lp.Run1());
    EXPECT_TRUE(TensorsClose(norm, tensor(expected.norm), 1e-6, 1e-6));
  }
}

}  // namespace
}  // namespace inferd::engine
