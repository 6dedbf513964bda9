// Slice, Expand, Tile, Gather and Pad.
#include <numeric>
#include <random>

#include "tests/engine/ops/op_tester.h"

namespace inferd::engine {
namespace {

using ::testing::HasSubstr;
using Ints = std::vector<int64_t>;

Tensor Iota(Shape shape) {
  std::vector<int32_t> v(shape.NumElements());
  std::iota(v.begin(), v.end(), 0);
  return Tensor::FromValues<int32_t>(shape, absl::Span<const int32_t>(v));
}

Tensor FromInts(Shape shape, const std::vector<int32_t>& v) {
  return Tensor::FromValues<int32_t>(shape, absl::Span<const int32_t>(v));
}

absl::StatusOr<Tensor> Slice(const Tensor& x, Ints starts, Ints ends, Ints axes, Ints steps) {
  return OpTester("Slice")
      .Input(x)
      .Input(Tensor::Vector(starts))
      .Input(Tensor::Vector(ends))
      .Input(Tensor::Vector(axes))
      .Input(Tensor::Vector(steps))
      .Run1();
}

TEST(Slice, NegativeStepsAndClamping) {
  constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  const Tensor x = Iota({5});
  ASSERT_OK_AND_ASSIGN(Tensor y, Slice(x, {kMax}, {kMin}, {0}, {-1}));
  EXPECT_THAT(y, TensorIs<int32_t>({5}, {4, 3, 2, 1, 0}));
  ASSERT_OK_AND_ASSIGN(y, Slice(x, {-2}, {-6}, {0}, {-2}));
  EXPECT_THAT(y, TensorIs<int32_t>({2}, {3, 1}));
  ASSERT_OK_AND_ASSIGN(y, Slice(x, {1}, {kMax}, {-1}, {kMax}));
  EXPECT_THAT(y, TensorIs<int32_t>({1}, {1}));
  ASSERT_OK_AND_ASSIGN(y, Slice(x, {4}, {0}, {0}, {kMin}));
  EXPECT_THAT(y, TensorIs<int32_t>({1}, {4}));
  ASSERT_OK_AND_ASSIGN(y, Slice(x, {3}, {1}, {0}, {1}));
  EXPECT_THAT(y, TensorIs<int32_t>({0}, {}));
  EXPECT_THAT(Slice(x, {0}, {1}, {0}, {0}).status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("holds 0")));
  EXPECT_THAT(Slice(x, {0}, {1}, {1}, {1}).status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("axis")));
  EXPECT_THAT(Slice(x, {0}, {1, 2}, {0}, {1}).status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("equal counts")));
}

TEST(Slice, MatchesWalkingTheRange) {
  std::mt19937 rng(5);
  const auto pick = [&](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(rng);
  };
  for (int round = 0; round < 300; ++round) {
    const Shape shape{pick(0, 4), pick(1, 5), pick(1, 4)};
    Ints axes = {0, 1, 2}, starts, ends, steps;
    std::shuffle(axes.begin(), axes.end(), rng);
    axes.resize(pick(0, 3));
    std::vector<Ints> kept(3);
    for (int i = 0; i < 3; ++i) {
      kept[i].resize(shape[i]);
      std::iota(kept[i].begin(), kept[i].end(), 0);
    }
    for (int64_t a : axes) {
      const int64_t d = shape[a];
      int64_t s = pick(-d - 2, d + 2), e = pick(-d - 2, d + 2), step = pick(1, 3);
      if (pick(0, 1)) step = -step;
      starts.push_back(s);
      ends.push_back(e);
      steps.push_back(step);
      if (s < 0) s += d;
      if (e < 0) e += d;
      // Start inside what a step of this sign can visit, then walk.
      s = step > 0 ? std::max<int64_t>(s, 0) : std::min(std::max<int64_t>(s, 0), d - 1);
      kept[a].clear();
      for (int64_t p = s; p >= 0 && p < d && (step > 0 ? p < e : p > e); p += step) {
        kept[a].push_back(p);
      }
    }
    std::vector<int32_t> expected;
    for (int64_t i : kept[0]) {
      for (int64_t j : kept[1]) {
        for (int64_t k : kept[2]) {
          expected.push_back(static_cast<int32_t>((i * shape[1] + j) * shape[2] + k));
        }
      }
    }
    ASSERT_OK_AND_ASSIGN(Tensor y, Slice(Iota(shape), starts, ends, axes, steps));
    EXPECT_TRUE(TensorsClose(
        y, FromInts({static_cast<int64_t>(kept[0].size()), static_cast<int64_t>(kept[1].size()),
                     static_cast<int64_t>(kept[2].size())},
                    expected)))
        << "round " << round;
  }
}

TEST(Expand, BothWays) {
  ASSERT_OK_AND_ASSIGN(
      Tensor y, OpTester("Expand").Input(Iota({2, 1})).Input(Tensor::Vector({2, 1, 3})).Run1());
  EXPECT_THAT(y, TensorIs<int32_t>({2, 2, 3}, {0, 0, 0, 1, 1, 1, 0, 0, 0, 1, 1, 1}));
  ASSERT_OK_AND_ASSIGN(y, OpTester("Expand")
                              .Input(MakeTensor<std::string>({}, {"x"}))
                              .Input(Tensor::Vector({2}))
                              .Run1());
  EXPECT_THAT(y, TensorIs<std::string>({2}, {"x", "x"}));
  EXPECT_FALSE(OpTester("Expand").Input(Iota({2})).Input(Tensor::Vector({3})).Run1().status().ok());
  EXPECT_FALSE(
      OpTester("Expand").Input(Iota({1})).Input(Tensor::Vector({-1})).Run1().status().ok());
}

TEST(Tile, Repeats) {
  ASSERT_OK_AND_ASSIGN(Tensor y,
                       OpTester("Tile").Input(Iota({2, 2})).Input(Tensor::Vector({2, 2})).Run1());
  EXPECT_THAT(y, TensorIs<int32_t>({4, 4}, {0, 1, 0, 1, 2, 3, 2, 3, 0, 1, 0, 1, 2, 3, 2, 3}));
  ASSERT_OK_AND_ASSIGN(y,
                       OpTester("Tile").Input(Iota({2, 2})).Input(Tensor::Vector({1, 0})).Run1());
  EXPECT_EQ(y.shape(), (Shape{2, 0}));
  EXPECT_THAT(OpTester("Tile").Input(Iota({2, 2})).Input(Tensor::Vector({1})).Run1().status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("one per axis")));
  EXPECT_THAT(OpTester("Tile")
                  .Input(Iota({2}))
                  .Input(Tensor::Vector({std::numeric_limits<int64_t>::max()}))
                  .Run1()
                  .status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("overflow")));
}

TEST(Gather, IndicesOfAnyShape) {
  ASSERT_OK_AND_ASSIGN(Tensor y, OpTester("Gather")
                                     .Attr("axis", int64_t{1})
                                     .Input(Iota({2, 3}))
                                     .Input(MakeTensor<int32_t>({2, 1}, {-1, 0}))
                                     .Run1());
  EXPECT_THAT(y, TensorIs<int32_t>({2, 2, 1}, {2, 0, 5, 3}));
  ASSERT_OK_AND_ASSIGN(
      y, OpTester("Gather").Input(Iota({2, 3})).Input(MakeTensor<int64_t>({}, {1})).Run1());
  EXPECT_THAT(y, TensorIs<int32_t>({3}, {3, 4, 5}));
  EXPECT_THAT(
      OpTester("Gather")
          .Input(Iota({2, 3}))
          .Input(MakeTensor<int64_t>({2}, {0, 2}))
          .Run1()
          .status(),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("element 1 of input indices is 2")));
}

TEST(Pad, ConstantsOfEveryKind) {
  ASSERT_OK_AND_ASSIGN(Tensor y, OpTester("Pad")
                                     .Input(MakeTensor<std::string>({2}, {"a", "b"}))
                                     .Input(Tensor::Vector({1, 1}))
                                     .Run1());
  EXPECT_THAT(y, TensorIs<std::string>({4}, {"", "a", "b", ""}));
  ASSERT_OK_AND_ASSIGN(y, OpTester("Pad")
                              .Input(MakeFrom<Float16>({1}, {1}))
                              .Input(Tensor::Vector({0, 1}))
                              .Input(MakeFrom<Float16>({}, {7}))
                              .Run1());
  EXPECT_THAT(y, TensorIsFrom<Float16>({2}, {1, 7}));
  ASSERT_OK_AND_ASSIGN(y, OpTester("Pad")
                              .Input(Iota({2, 2}))
                              .Input(Tensor::Vector({-1, 1}))
                              .NoInput()
                              .Input(Tensor::Vector({-2}))
                              .Run1());
  EXPECT_THAT(y, TensorIs<int32_t>({2, 2}, {2, 3, 0, 0}));
  EXPECT_THAT(OpTester("Pad").Input(Iota({2})).Input(Tensor::Vector({-2, -1})).Run1().status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("no valid size")));
  EXPECT_THAT(OpTester("Pad").Input(Iota({2})).Input(Tensor::Vector({1})).Run1().status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("input pads")));
}

// Element p of an axis of n elements continued in both directions, built by walking from 0.
int64_t Walk(const std::string& mode, int64_t n, int64_t p) {
  int64_t at = 0, direction = 1;
  const int64_t step = p < 0 ? -1 : 1;
  if (mode == "reflect") direction = step;
  for (int64_t i = 0; i != p; i += step) {
    if (mode == "wrap") {
      at = (at + step + n) % n;
    } else if (mode == "edge") {
      at = std::clamp<int64_t>(at + (i + step < 0 || i + step >= n ? 0 : step), 0, n - 1);
      if (step < 0) at = 0;
    } else if (n > 1) {
      if (at + direction < 0 || at + direction >= n) direction = -direction;
      at += direction;
    }
  }
  return at;
}

TEST(Pad, ModesMatchWalking) {
  std::mt19937 rng(9);
  const auto pick = [&](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(rng);
  };
  for (const char* mode : {"constant", "reflect", "edge", "wrap"}) {
    for (int round = 0; round < 80; ++round) {
      const Shape shape{pick(1, 4), pick(1, 4)};
      Ints pads(4);
      Shape padded = shape;
      std::vector<Ints> sources(2);
      for (int a = 0; a < 2; ++a) {
        // Negative pads leave at least one element.
        int64_t left = shape[a] - 1;
        for (int side = 0; side < 2; ++side) {
          pads[side * 2 + a] = pick(-left, 7);
          if (pads[side * 2 + a] < 0) left += pads[side * 2 + a];
        }
        padded[a] += pads[a] + pads[2 + a];
        const int64_t first = std::max<int64_t>(0, -pads[a]);
        const int64_t kept = shape[a] - first - std::max<int64_t>(0, -pads[2 + a]);
        for (int64_t i = 0; i < padded[a]; ++i) {
          const int64_t p = i - std::max<int64_t>(0, pads[a]);
          const bool inside = p >= 0 && p < kept;
          sources[a].push_back(
              !inside && std::string(mode) == "constant" ? -1 : first + Walk(mode, kept, p));
        }
      }
      std::vector<int32_t> expected;
      for (int64_t i : sources[0]) {
        for (int64_t j : sources[1]) {
          expected.push_back(i < 0 || j < 0 ? -9 : static_cast<int32_t>(i * shape[1] + j));
        }
      }
      ASSERT_OK_AND_ASSIGN(Tensor y, OpTester("Pad")
                                         .Attr("mode", std::string(mode))
                                         .Input(Iota(shape))
                                         .Input(Tensor::Vector(pads))
                                         .Input(MakeTensor<int32_t>({}, {-9}))
                                         .Run1());
      EXPECT_TRUE(TensorsClose(y, FromInts(padded, expected))) << mode << " round " << round;
    }
  }
}

}  // namespace
}  // namespace inferd::engine
