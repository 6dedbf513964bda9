// ConvTranspose as the standard tells it: every input position adds its filter to a canvas, and
// the pads are cut off the canvas.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "tests/engine/ops/fuzz_source.h"
#include "tests/engine/ops/op_tester.h"

namespace inferd::engine {
namespace {

struct Case {
  Shape x, w;
  std::vector<int64_t> strides, dilations, pads, output_padding, output_shape;
  std::string auto_pad = "NOTSET";
  int64_t group = 1;
};

Tensor Naive(const Case& c, const Tensor& x, const Tensor& w, const Tensor& bias) {
  const int spatial = c.x.rank() - 2;
  const int64_t outputs = c.w[1] * c.group, channels = c.x[1] / c.group;
  Shape canvas{c.x[0], outputs}, y = canvas;
  std::vector<int64_t> cut(spatial);
  for (int i = 0; i < spatial; ++i) {
    const int64_t size = c.strides[i] * (c.x[i + 2] - 1) + c.output_padding[i] +
                         (c.w[i + 2] - 1) * c.dilations[i] + 1;
    canvas.push_back(size);
    int64_t wanted = size - c.pads[i] - c.pads[spatial + i];
    if (!c.output_shape.empty()) {
      wanted = c.output_shape[i];
    } else if (c.auto_pad == "VALID") {
      wanted = size;
    } else if (c.auto_pad != "NOTSET") {
      wanted = c.x[i + 2] * c.strides[i];
    }
    const bool chosen = c.output_shape.empty() && c.auto_pad == "NOTSET";
    const int64_t total = size - wanted;
    cut[i] = chosen ? c.pads[i] : c.auto_pad == "SAME_UPPER" ? total / 2 : total - total / 2;
    // More than there is comes at the end.
    if (total < 0) cut[i] = 0;
    y.push_back(wanted);
  }
  std::vector<double> sums(canvas.NumElements(), 0.0);
  ForEachIndex(c.x, [&](const Index& from) {
    const double v = x.data<float>()[FlatIndex(c.x, from)];
    const int64_t group = from[1] / channels;
    ForEachIndex(c.w, [&](const Index& tap) {
      if (tap[0] != from[1]) return;
      Index to = {from[0], group * c.w[1] + tap[1]};
      for (int i = 0; i < spatial; ++i) {
        to.push_back(from[i + 2] * c.strides[i] + tap[i + 2] * c.dilations[i]);
      }
      sums[FlatIndex(canvas, to)] += v * w.data<float>()[FlatIndex(c.w, tap)];
    });
  });
  std::vector<float> values;
  ForEachIndex(y, [&](Index at) {
    double v = bias.defined() ? bias.data<float>()[at[1]] : 0.0;
    bool inside = true;
    for (int i = 0; i < spatial; ++i) {
      at[i + 2] += cut[i];
      inside = inside && at[i + 2] < canvas[i + 2];
    }
    if (inside) v += sums[FlatIndex(canvas, at)];
    values.push_back(static_cast<float>(v));
  });
  return Tensor::FromValues<float>(y, absl::Span<const float>(values));
}

Case RandomCase(FuzzSource& source) {
  Case c;
  const int spatial = static_cast<int>(source.Between(1, 3));
  c.group = source.Between(1, 3);
  c.x = {source.Between(1, 2), c.group * source.Between(1, 2)};
  c.w = {c.x[1], source.Between(1, 3)};
  c.auto_pad = source.Pick<std::string>({"NOTSET", "NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"});
  c.pads.assign(2 * spatial, 0);
  const bool sized = c.auto_pad == "NOTSET" && source.OneIn(3);
  for (int i = 0; i < spatial; ++i) {
    c.x.push_back(source.Between(1, spatial == 3 ? 3 : 6));
    c.w.push_back(source.Between(1, spatial == 3 ? 2 : 4));
    c.strides.push_back(source.Between(1, 3));
    c.dilations.push_back(source.Between(1, 3));
    const int64_t most = std::max(c.strides[i], c.dilations[i]) - 1;
    c.output_padding.push_back(source.OneIn(2) ? 0 : source.Between(0, most));
    const int64_t size = c.strides[i] * (c.x[i + 2] - 1) + c.output_padding[i] +
                         (c.w[i + 2] - 1) * c.dilations[i] + 1;
    if (sized) {
      c.output_shape.push_back(source.Between(1, size + 1));
    } else if (c.auto_pad == "NOTSET") {
      c.pads[i] = source.Between(0, (size - 1) / 2);
      c.pads[spatial + i] = source.Between(0, (size - 1) / 2);
    }
  }
  return c;
}

TEST(ConvTransposeFuzz, EqualsScatterAndCut) {
  FuzzSource source(21);
  for (int round = 0; round < 250; ++round) {
    const Case c = RandomCase(source);
    SCOPED_TRACE(absl::StrCat("round ", round, " x ", c.x.ToString(), " w ", c.w.ToString(),
                              " group ", c.group, " auto_pad ", c.auto_pad));
    const Tensor x = RandomFloats(c.x, source.Seed());
    const Tensor w = RandomFloats(c.w, source.Seed());
    const Tensor bias =
        source.OneIn(2) ? RandomFloats({c.w[1] * c.group}, source.Seed()) : Tensor();
    OpTester tester("ConvTranspose");
    tester.Input(x).Input(w);
    if (bias.defined()) tester.Input(bias);
    tester.Attr("strides", c.strides).Attr("dilations", c.dilations).Attr("group", c.group);
    if (c.auto_pad != "NOTSET") tester.Attr("auto_pad", c.auto_pad);
    if (!c.output_shape.empty()) {
      tester.Attr("output_shape", c.output_shape);
    } else if (c.auto_pad == "NOTSET") {
      tester.Attr("pads", c.pads);
    }
    tester.Attr("output_padding", c.output_padding);
    ASSERT_OK_AND_ASSIGN(const Tensor y, tester.Run1());
    EXPECT_TRUE(TensorsClose(y, Naive(c, x, w, bias), 1e-6, 1e-6));
  }
}

}  // namespace
}  // namespace inferd::engine
