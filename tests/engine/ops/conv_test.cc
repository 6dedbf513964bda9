#include <random>

#include "tests/engine/ops/op_tester.h"

namespace inferd::engine {
namespace {

using ::testing::HasSubstr;
using Ints = std::vector<int64_t>;

Tensor Iota(Shape shape) {
  std::vector<float> v(shape.NumElements());
  for (size_t i = 0; i < v.size(); ++i) v[i] = static_cast<float>(i);
  return Tensor::FromValues<float>(shape, absl::Span<const float>(v));
}

Tensor Ones(Shape shape) {
  std::vector<float> v(shape.NumElements(), 1.0f);
  return Tensor::FromValues<float>(shape, absl::Span<const float>(v));
}

TEST(Conv, PadsStridesAndBias) {
  ASSERT_OK_AND_ASSIGN(Tensor y, OpTester("Conv")
                                     .Attr("pads", Ints{1, 1, 1, 1})
                                     .Attr("strides", Ints{2, 2})
                                     .Input(Iota({1, 1, 5, 5}))
                                     .Input(Ones({1, 1, 3, 3}))
                                     .Input(MakeTensor<float>({1}, {0.5f}))
                                     .Run1());
  EXPECT_THAT(y, TensorIs<float>({1, 1, 3, 3}, {12.5f, 27.5f, 24.5f, 63.5f, 108.5f, 81.5f, 72.5f,
                                                117.5f, 84.5f}));
}

TEST(Conv, AutoPadPutsTheOddPadWhereItSays) {
  const auto run = [](const char* pad) {
    return OpTester("Conv")
        .Attr("auto_pad", std::string(pad))
        .Input(Iota({1, 1, 4}))
        .Input(MakeTensor<float>({1, 1, 2}, {1, 10}))
        .Run1();
  };
  ASSERT_OK_AND_ASSIGN(Tensor upper, run("SAME_UPPER"));
  EXPECT_THAT(upper, TensorIs<float>({1, 1, 4}, {10, 21, 32, 3}));
  ASSERT_OK_AND_ASSIGN(Tensor lower, run("SAME_LOWER"));
  EXPECT_THAT(lower, TensorIs<float>({1, 1, 4}, {0, 10, 21, 32}));
  ASSERT_OK_AND_ASSIGN(Tensor valid, run("VALID"));
  EXPECT_THAT(valid, TensorIs<float>({1, 1, 3}, {10, 21, 32}));
}

TEST(Conv, SymbolsSurviveWindowsThatKeepTheSize) {
  OpTester op("Conv");
  op.Attr("pads", Ints{1, 1, 1, 1}).Input(Ones({1, 3, 4, 4})).Constant(Ones({8, 3, 3, 3}));
  ASSERT_OK_AND_ASSIGN(
      auto types, op.Infer({ValueType::TensorOf(ElementType::kFloat32,
                                                SymbolicShape({Dim::Symbol("n"), Dim(3),
                                                               Dim::Symbol("h"), Dim::Unknown()})),
                            ValueType::TensorOf(ElementType::kFloat32, Shape{8, 3, 3, 3})}));
  EXPECT_EQ(types[0].shape.ToString(), "[n,8,h,?]");
}

TEST(Conv, HalfPrecisionAndEmptyBatch) {
  ASSERT_OK_AND_ASSIGN(Tensor y, OpTester("Conv")
                                     .Input(MakeFrom<Float16>({1, 2, 1}, {1.5f, 2}))
                                     .Input(MakeFrom<Float16>({1, 2, 1}, {2, 4}))
                                     .Run1());
  EXPECT_THAT(y, TensorIsFrom<Float16>({1, 1, 1}, {11}));
  ASSERT_OK_AND_ASSIGN(y,
                       OpTester("Conv").Input(Ones({0, 1, 3, 3})).Input(Ones({2, 1, 3, 3})).Run1());
  EXPECT_EQ(y.shape(), (Shape{0, 2, 1, 1}));
}

TEST(Conv, RefusesWhatDoesNotFit) {
  const auto run = [](Shape x, Shape w, const char* name, AttributeValue value) {
    OpTester op("Conv");
    if (name != nullptr) op.Attr(name, std::move(value));
    return op.Input(Ones(x)).Input(Ones(w)).Run1().status();
  };
  EXPECT_THAT(run({1, 3, 4, 4}, {1, 2, 3, 3}, nullptr, {}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("3 channels")));
  EXPECT_THAT(run({1, 1, 2, 2}, {1, 1, 3, 3}, nullptr, {}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("does not fit")));
  EXPECT_THAT(run({1, 1, 4, 4}, {1, 1, 3, 3}, "strides", Ints{0, 1}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("strides")));
  EXPECT_THAT(run({1, 1, 4, 4}, {1, 1, 3, 3}, "pads", Ints{1, 1}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("pads")));
  EXPECT_THAT(run({1, 1, 4, 4}, {1, 1, 3, 3}, "group", int64_t{0}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("group")));
  EXPECT_THAT(run({1, 1, 4, 4}, {1, 1, 3, 3}, "kernel_shape", Ints{2, 3}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("kernel_shape")));
  EXPECT_THAT(run({1, 1, 4, 4}, {1, 1, 3, 3}, "dilations", Ints{int64_t{1} << 62, 1}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("dilations")));
  EXPECT_THAT(run({1, 4}, {1, 4}, nullptr, {}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("rank 2")));
}

// Random geometry, up to three spatial axes.
struct Geometry {
  int rank;
  int64_t groups, channels, outputs;  // per group
  Ints kernel, stride, dilation, begin, end, size;

  static Geometry Random(std::mt19937& rng) {
    const auto pick = [&](int64_t low, int64_t high) {
      return std::uniform_int_distribution<int64_t>(low, high)(rng);
    };
    Geometry g;
    g.rank = static_cast<int>(pick(1, 3));
    g.groups = pick(1, 3);
    g.channels = pick(1, 3);
    g.outputs = pick(1, 3);
    for (int i = 0; i < g.rank; ++i) {
      g.kernel.push_back(pick(1, 3));
      g.stride.push_back(pick(1, 3));
      g.dilation.push_back(pick(1, 3));
      g.begin.push_back(pick(0, 2));
      g.end.push_back(pick(0, 2));
      g.size.push_back(pick(1, 7));
    }
    return g;
  }
  Ints Pads() const {
    Ints pads = begin;
    pads.insert(pads.end(), end.begin(), end.end());
    return pads;
  }
};

// Steps a multi-index; false after the last.
bool Next(Ints& index, const Ints& dims) {
  for (int i = static_cast<int>(dims.size()) - 1; i >= 0; --i) {
    if (++index[i] < dims[i]) return true;
    index[i] = 0;
  }
  return false;
}

int64_t Flat(const Ints& index, const Ints& dims) {
  int64_t flat = 0;
  for (size_t i = 0; i < dims.size(); ++i) flat = flat * dims[i] + index[i];
  return flat;
}

int64_t Product(const Ints& dims) {
  int64_t p = 1;
  for (int64_t d : dims) p *= d;
  return p;
}

// Calls add(x_flat, w_flat, y_position) for every pair of input position and tap of a transposed
// convolution from x to y, or of a convolution with the roles of x and y swapped.
template <typename Add>
void ForEachPair(const Geometry& g, const Ints& strided, Add add) {
  Ints s(g.rank, 0);
  do {
    Ints k(g.rank, 0);
    do {
      Ints dense(g.rank);
      for (int i = 0; i < g.rank; ++i) {
        dense[i] = s[i] * g.stride[i] + k[i] * g.dilation[i] - g.begin[i];
      }
      add(Flat(s, strided), Flat(k, g.kernel), dense);
    } while (Next(k, g.kernel));
  } while (Next(s, strided));
}

bool Inside(const Ints& position, const Ints& dims) {
  for (size_t i = 0; i < dims.size(); ++i) {
    if (position[i] < 0 || position[i] >= dims[i]) return false;
  }
  return true;
}

Shape MakeShape(int64_t a, int64_t b, const Ints& rest) {
  Shape s{a, b};
  for (int64_t d : rest) s.push_back(d);
  return s;
}

TEST(Conv, MatchesScatterFormulation) {
  std::mt19937 rng(7);
  int ran = 0;
  for (int round = 0; round < 150; ++round) {
    const Geometry g = Geometry::Random(rng);
    Ints out(g.rank);
    bool fits = true;
    for (int i = 0; i < g.rank; ++i) {
      const int64_t room =
          g.size[i] + g.begin[i] + g.end[i] - ((g.kernel[i] - 1) * g.dilation[i] + 1);
      fits = fits && room >= 0;
      out[i] = room < 0 ? 0 : room / g.stride[i] + 1;
    }
    if (!fits) continue;
    ++ran;
    const int64_t batch = 2;
    const Tensor x = RandomFloats(MakeShape(batch, g.groups * g.channels, g.size), 2 * round + 1);
    const Tensor w =
        RandomFloats(MakeShape(g.groups * g.outputs, g.channels, g.kernel), 2 * round + 2);
    ASSERT_OK_AND_ASSIGN(Tensor y, OpTester("Conv")
                                       .Attr("group", g.groups)
                                       .Attr("pads", g.Pads())
                                       .Attr("strides", g.stride)
                                       .Attr("dilations", g.dilation)
                                       .Input(x)
                                       .Input(w)
                                       .Run1());
    const int64_t xp = Product(g.size), yp = Product(out), wp = Product(g.kernel);
    std::vector<double> sums(batch * g.groups * g.outputs * yp, 0.0);
    for (int64_t n = 0; n < batch; ++n) {
      for (int64_t oc = 0; oc < g.groups * g.outputs; ++oc) {
        for (int64_t ic = 0; ic < g.channels; ++ic) {
          const int64_t xc = n * g.groups * g.channels + oc / g.outputs * g.channels + ic;
          ForEachPair(g, out, [&](int64_t y_flat, int64_t tap, const Ints& position) {
            if (!Inside(position, g.size)) return;
            sums[(n * g.groups * g.outputs + oc) * yp + y_flat] +=
                static_cast<double>(x.data<float>()[xc * xp + Flat(position, g.size)]) *
                w.data<float>()[(oc * g.channels + ic) * wp + tap];
          });
        }
      }
    }
    std::vector<float> expected(sums.begin(), sums.end());
    EXPECT_TRUE(TensorsClose(y,
                             Tensor::FromValues<float>(MakeShape(batch, g.groups * g.outputs, out),
                                                       absl::Span<const float>(expected)),
                             1e-5))
        << "round " << round;
  }
  EXPECT_GT(ran, 50);
}

TEST(ConvTranspose, MatchesScatterFormulation) {
  std::mt19937 rng(11);
  int ran = 0;
  for (int round = 0; round < 150; ++round) {
    const Geometry g = Geometry::Random(rng);
    Ints out(g.rank), extra(g.rank);
    bool fits = true;
    for (int i = 0; i < g.rank; ++i) {
      extra[i] =
          std::uniform_int_distribution<int64_t>(0, std::max(g.stride[i], g.dilation[i]) - 1)(rng);
      out[i] = g.stride[i] * (g.size[i] - 1) + extra[i] + (g.kernel[i] - 1) * g.dilation[i] + 1 -
               g.begin[i] - g.end[i];
      fits = fits && out[i] > 0;
    }
    if (!fits) continue;
    ++ran;
    const Tensor x = RandomFloats(MakeShape(1, g.groups * g.channels, g.size), 2 * round + 1);
    const Tensor w =
        RandomFloats(MakeShape(g.groups * g.channels, g.outputs, g.kernel), 2 * round + 2);
    const Tensor b = RandomFloats({g.groups * g.outputs}, round);
    ASSERT_OK_AND_ASSIGN(Tensor y, OpTester("ConvTranspose")
                                       .Attr("group", g.groups)
                                       .Attr("pads", g.Pads())
                                       .Attr("strides", g.stride)
                                       .Attr("dilations", g.dilation)
                                       .Attr("output_padding", extra)
                                       .Input(x)
                                       .Input(w)
                                       .Input(b)
                                       .Run1());
    const int64_t xp = Product(g.size), yp = Product(out), wp = Product(g.kernel);
    std::vector<double> sums(g.groups * g.outputs * yp);
    for (size_t i = 0; i < sums.size(); ++i) sums[i] = b.data<float>()[i / yp];
    for (int64_t c = 0; c < g.groups * g.channels; ++c) {
      for (int64_t o = 0; o < g.outputs; ++o) {
        ForEachPair(g, g.size, [&](int64_t x_flat, int64_t tap, const Ints& position) {
          if (!Inside(position, out)) return;
          sums[(c / g.channels * g.outputs + o) * yp + Flat(position, out)] +=
              static_cast<double>(x.data<float>()[c * xp + x_flat]) *
              w.data<float>()[(c * g.outputs + o) * wp + tap];
        });
      }
    }
    std::vector<float> expected(sums.begin(), sums.end());
    EXPECT_TRUE(TensorsClose(y,
                             Tensor::FromValues<float>(MakeShape(1, g.groups * g.outputs, out),
                                                       absl::Span<const float>(expected)),
                             1e-5))
        << "round " << round;
  }
  EXPECT_GT(ran, 50);
}

TEST(ConvTranspose, SameAndOutputShape) {
  // The values of the standard's convtranspose_autopad_same: each of 0..8 spread over 3x3.
  ASSERT_OK_AND_ASSIGN(Tensor y, OpTester("ConvTranspose")
                                     .Attr("auto_pad", std::string("SAME_UPPER"))
                                     .Attr("strides", Ints{2})
                                     .Input(MakeTensor<float>({1, 1, 3}, {1, 2, 3}))
                                     .Input(Ones({1, 1, 3}))
                                     .Run1());
  EXPECT_THAT(y, TensorIs<float>({1, 1, 6}, {1, 1, 3, 2, 5, 3}));
  ASSERT_OK_AND_ASSIGN(y, OpTester("ConvTranspose")
                              .Attr("output_shape", Ints{8})
                              .Attr("strides", Ints{2})
                              .Input(MakeTensor<float>({1, 1, 3}, {1, 2, 3}))
                              .Input(Ones({1, 1, 3}))
                              .Run1());
  EXPECT_THAT(y, TensorIs<float>({1, 1, 8}, {1, 1, 3, 2, 5, 3, 3, 0}));
  EXPECT_THAT(OpTester("ConvTranspose")
                  .Attr("output_padding", Ints{2})
                  .Input(Ones({1, 1, 3}))
                  .Input(Ones({1, 1, 3}))
                  .Run1()
                  .status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("output_padding")));
}

}  // namespace
}  // namespace inferd::engine
