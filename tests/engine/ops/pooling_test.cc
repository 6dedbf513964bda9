#include <cmath>
#include <limits>
#include <random>

#include "tests/engine/ops/op_tester.h"

namespace inferd::engine {
namespace {

using ::testing::HasSubstr;
using Ints = std::vector<int64_t>;

TEST(MaxPool, IndicesInBothOrders) {
  const Tensor x = MakeTensor<float>({1, 1, 3, 3}, {1, 2, 3, 4, 9, 6, 7, 8, 5});
  for (int64_t order : {0, 1}) {
    ASSERT_OK_AND_ASSIGN(auto out, OpTester("MaxPool")
                                       .Attr("kernel_shape", Ints{2, 2})
                                       .Attr("strides", Ints{1, 2})
                                       .Attr("pads", Ints{0, 0, 0, 1})
                                       .Attr("storage_order", order)
                                       .Outputs(2)
                                       .Input(x)
                                       .Run());
    EXPECT_THAT(out[0], TensorIs<float>({1, 1, 2, 2}, {9, 6, 9, 6}));
    EXPECT_THAT(out[1], order == 0 ? TensorIs<int64_t>({1, 1, 2, 2}, {4, 5, 4, 5})
                                   : TensorIs<int64_t>({1, 1, 2, 2}, {4, 7, 4, 7}));
  }
}

TEST(MaxPool, NegativeIntegersBeatPadding) {
  ASSERT_OK_AND_ASSIGN(Tensor y, OpTester("MaxPool")
                                     .Attr("kernel_shape", Ints{2})
                                     .Attr("pads", Ints{1, 0})
                                     .Input(MakeTensor<int8_t>({1, 1, 3}, {-5, -7, -3}))
                                     .Run1());
  EXPECT_THAT(y, TensorIs<int8_t>({1, 1, 3}, {-5, -5, -3}));
}

TEST(MaxPool, NanWins) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  ASSERT_OK_AND_ASSIGN(Tensor y, OpTester("MaxPool")
                                     .Attr("kernel_shape", Ints{2})
                                     .Input(MakeTensor<float>({1, 1, 4}, {1, nan, 2, 3}))
                                     .Run1());
  EXPECT_THAT(y, TensorIs<float>({1, 1, 3}, {nan, nan, 3}));
}

TEST(AveragePool, LastWindowStartingInThePaddingIsDropped) {
  // Five positions, kernel 3, stride 3, pads 1: ceil gives 3 windows, of which the last would
  // start at position 6, inside the end padding.
  ASSERT_OK_AND_ASSIGN(Tensor y, OpTester("AveragePool")
                                     .Attr("kernel_shape", Ints{3})
                                     .Attr("strides", Ints{3})
                                     .Attr("pads", Ints{1, 1})
                                     .Attr("ceil_mode", int64_t{1})
                                     .Input(MakeTensor<float>({1, 1, 5}, {1, 2, 3, 4, 5}))
                                     .Run1());
  EXPECT_THAT(y, TensorIs<float>({1, 1, 2}, {1.5f, 4}));
}

TEST(AveragePool, CountIncludePadStopsAtTheDeclaredPads) {
  ASSERT_OK_AND_ASSIGN(Tensor y, OpTester("AveragePool")
                                     .Attr("kernel_shape", Ints{3})
                                     .Attr("strides", Ints{2})
                                     .Attr("pads", Ints{1, 0})
                                     .Attr("ceil_mode", int64_t{1})
                                     .Attr("count_include_pad", int64_t{1})
                                     .Input(MakeTensor<float>({1, 1, 5}, {3, 6, 9, 12, 15}))
                                     .Run1());
  // Windows at -1, 1, 3; the last one reaches one past the end, which is no pad.
  EXPECT_THAT(y, TensorIs<float>({1, 1, 3}, {3, 9, 13.5f}));
}

TEST(GlobalPools, WholePlanes) {
  const Tensor x = MakeTensor<float>({1, 2, 1, 2}, {3, 4, -6, 8});
  ASSERT_OK_AND_ASSIGN(Tensor avg, OpTester("GlobalAveragePool").Input(x).Run1());
  EXPECT_THAT(avg, TensorIs<float>({1, 2, 1, 1}, {3.5f, 1}));
  ASSERT_OK_AND_ASSIGN(Tensor max, OpTester("GlobalMaxPool").Input(x).Run1());
  EXPECT_THAT(max, TensorIs<float>({1, 2, 1, 1}, {4, 8}));
  ASSERT_OK_AND_ASSIGN(Tensor lp, OpTester("GlobalLpPool").Input(x).Run1());
  EXPECT_THAT(lp, TensorIs<float>({1, 2, 1, 1}, {5, 10}, 1e-6));
}

TEST(Pooling, CutsOffTheOnlyWindowOfASmallInput) {
  const Tensor x = MakeTensor<float>({1, 1, 1, 4}, {1, 5, 2, 8});
  for (const bool max : {true, false}) {
    ASSERT_OK_AND_ASSIGN(Tensor out, OpTester(max ? "MaxPool" : "AveragePool")
                                         .Attr("kernel_shape", Ints{2, 2})
                                         .Attr("strides", Ints{2, 2})
                                         .Input(x)
                                         .Run1());
    EXPECT_THAT(
        out, max ? TensorIs<float>({1, 1, 1, 2}, {5, 8}) : TensorIs<float>({1, 1, 1, 2}, {3, 5}));
  }
  // By a stride or more: none.
  EXPECT_THAT(OpTester("MaxPool")
                  .Attr("kernel_shape", Ints{3, 2})
                  .Attr("strides", Ints{2, 2})
                  .Input(x)
                  .Run1()
                  .status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("does not fit")));
}

TEST(Pooling, RefusesWhatDoesNotFit) {
  const Tensor x = RandomFloats({1, 1, 4, 4}, 1);
  EXPECT_THAT(OpTester("MaxPool").Attr("kernel_shape", Ints{2}).Input(x).Run1().status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("kernel_shape")));
  EXPECT_THAT(OpTester("MaxPool").Attr("kernel_shape", Ints{0, 2}).Input(x).Run1().status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("kernel shape")));
  EXPECT_THAT(OpTester("AveragePool").Attr("kernel_shape", Ints{5, 5}).Input(x).Run1().status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("does not fit")));
  EXPECT_THAT(OpTester("LpPool")
                  .Attr("kernel_shape", Ints{2, 2})
                  .Attr("p", int64_t{0})
                  .Input(x)
                  .Run1()
                  .status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("attribute p")));
}

// A second formulation: pad each axis with markers first, then cut windows out of it.
struct Naive {
  int64_t kernel, stride, dilation, begin, end, size;
  bool ceil;

  std::vector<int64_t> starts() const {
    // Windows start every stride until one would reach beyond the padded end (floor), or start
    // beyond the input and its begin pad (ceil).
    std::vector<int64_t> result;
    const int64_t extent = (kernel - 1) * dilation + 1;
    const int64_t padded = begin + size + end;
    for (int64_t s = 0;; s += stride) {
      const bool reaches = s + extent <= padded;
      const bool partly = ceil && s < begin + size && s < padded && s - stride + extent < padded;
      if (!reaches && !(partly && !result.empty())) break;
      if (ceil && s >= begin + size) break;
      result.push_back(s);
    }
    return result;
  }
};

TEST(Pooling, MatchesNaiveOverRandomGeometry) {
  std::mt19937 rng(3);
  const auto pick = [&](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(rng);
  };
  int ran = 0;
  for (int round = 0; round < 300; ++round) {
    Naive a[2];
    for (Naive& n : a) {
      n = {pick(1, 4), pick(1, 4), pick(1, 2), 0, 0, pick(1, 9), false};
      n.begin = pick(0, n.kernel - 1);
      n.end = pick(0, n.kernel - 1);
    }
    a[0].ceil = a[1].ceil = pick(0, 1) == 1;
    const bool include = pick(0, 1) == 1;
    const auto rows = a[0].starts(), columns = a[1].starts();
    if (rows.empty() || columns.empty()) continue;
    ++ran;
    const Tensor x = RandomFloats({1, 1, a[0].size, a[1].size}, round + 1);
    std::vector<float> max, mean, norm;
    for (int64_t r : rows) {
      for (int64_t c : columns) {
        double best = -std::numeric_limits<double>::infinity(), sum = 0, squares = 0;
        int64_t inside = 0, counted = 0;
        for (int64_t i = r; i < r + a[0].kernel * a[0].dilation; i += a[0].dilation) {
          for (int64_t j = c; j < c + a[1].kernel * a[1].dilation; j += a[1].dilation) {
            const int64_t y = i - a[0].begin, z = j - a[1].begin;
            const bool padded =
                i < a[0].begin + a[0].size + a[0].end && j < a[1].begin + a[1].size + a[1].end;
            counted += padded;
            if (y < 0 || z < 0 || y >= a[0].size || z >= a[1].size) continue;
            const double v = x.data<float>()[y * a[1].size + z];
            ++inside;
            best = std::max(best, v);
            sum += v;
            squares += v * v;
          }
        }
        max.push_back(static_cast<float>(best));
        const int64_t divisor = include ? counted : inside;
        mean.push_back(static_cast<float>(divisor == 0 ? 0 : sum / divisor));
        norm.push_back(static_cast<float>(std::sqrt(squares)));
      }
    }
    const Shape shape{1, 1, static_cast<int64_t>(rows.size()),
                      static_cast<int64_t>(columns.size())};
    const auto run = [&](const char* op) {
      OpTester t(op);
      t.Attr("kernel_shape", Ints{a[0].kernel, a[1].kernel})
          .Attr("strides", Ints{a[0].stride, a[1].stride})
          .Attr("dilations", Ints{a[0].dilation, a[1].dilation})
          .Attr("pads", Ints{a[0].begin, a[1].begin, a[0].end, a[1].end})
          .Attr("ceil_mode", int64_t{a[0].ceil});
      if (std::string(op) == "AveragePool") t.Attr("count_include_pad", int64_t{include});
      return t.Input(x).Run1();
    };
    const auto same = [&](const Tensor& got, const std::vector<float>& want) {
      return TensorsClose(got, Tensor::FromValues<float>(shape, absl::Span<const float>(want)),
                          1e-6);
    };
    ASSERT_OK_AND_ASSIGN(Tensor y, run("MaxPool"));
    EXPECT_TRUE(same(y, max)) << "round " << round;
    ASSERT_OK_AND_ASSIGN(y, run("AveragePool"));
    EXPECT_TRUE(same(y, mean)) << "round " << round;
    ASSERT_OK_AND_ASSIGN(y, run("LpPool"));
    EXPECT_TRUE(same(y, norm)) << "round " << round;
  }
  EXPECT_GT(ran, 150);
}

}  // namespace
}  // namespace inferd::engine
