// Attention, RotaryEmbedding, TensorScatter, LinearAttention and CausalConvWithState.
#include <cmath>
#include <functional>
#include <limits>

#include "tests/engine/ops/op_tester.h"

namespace inferd::engine {
namespace {

using ::testing::HasSubstr;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

double At(const Tensor& t, int64_t a, int64_t b, int64_t c, int64_t d) {
  const Shape& s = t.shape();
  return t.data<float>()[((a * s[1] + b) * s[2] + c) * s[3] + d];
}

// Attention of [batch, heads, rows, size] by its definition. `score(b, h, i, j, product)` is what
// enters the softmax.
using ScoreFn = std::function<double(int64_t, int64_t, int64_t, int64_t, double)>;
Tensor Naive(const Tensor& q, const Tensor& k, const Tensor& v, double scale,
             const ScoreFn& score) {
  const int64_t batch = q.shape()[0], heads = q.shape()[1], rows = q.shape()[2];
  const int64_t group = heads / k.shape()[1], keys = k.shape()[2], size = v.shape()[3];
  std::vector<float> y;
  for (int64_t b = 0; b < batch; ++b) {
    for (int64_t h = 0; h < heads; ++h) {
      for (int64_t i = 0; i < rows; ++i) {
        std::vector<double> p(keys);
        double sum = 0;
        for (int64_t j = 0; j < keys; ++j) {
          double product = 0;
          for (int64_t d = 0; d < q.shape()[3]; ++d) {
            product += At(q, b, h, i, d) * At(k, b, h / group, j, d);
          }
          p[j] = std::exp(score(b, h, i, j, product * scale));
          sum += p[j];
        }
        for (int64_t d = 0; d < size; ++d) {
          double value = 0;
          for (int64_t j = 0; j < keys; ++j) {
            if (p[j] != 0) value += p[j] / sum * At(v, b, h / group, j, d);
          }
          y.push_back(static_cast<float>(value));
        }
      }
    }
  }
  return Tensor::FromValues<float>({batch, heads, rows, size}, absl::Span<const float>(y));
}

// Rows of `a` followed by those of `b`.
Tensor Joined(const Tensor& a, const Tensor& b) {
  const Shape& s = a.shape();
  const int64_t total = s[2] + b.shape()[2];
  std::vector<float> values;
  for (int64_t p = 0; p < s[0] * s[1]; ++p) {
    for (const Tensor* t : {&a, &b}) {
      const int64_t count = t->shape()[2] * s[3];
      values.insert(values.end(), t->data<float>() + p * count, t->data<float>() + (p + 1) * count);
    }
  }
  return Tensor::FromValues<float>({s[0], s[1], total, s[3]}, absl::Span<const float>(values));
}

TEST(AttentionTest, CacheCausalityWindowCapAndMaskTogether) {
  const Tensor q = RandomFloats({2, 4, 37, 20}, 1, -2, 2), k = RandomFloats({2, 2, 41, 20}, 2),
               v = RandomFloats({2, 2, 41, 35}, 3), past_k = RandomFloats({2, 2, 9, 20}, 4),
               past_v = RandomFloats({2, 2, 9, 35}, 5), mask = RandomFloats({4, 1, 50}, 6);
  const Tensor all_k = Joined(past_k, k), all_v = Joined(past_v, v);
  const Tensor expected =
      Naive(q, all_k, all_v, 0.5, [&](int64_t, int64_t h, int64_t i, int64_t j, double product) {
        if (j > i + 9 || j < i + 9 - 20) return -kInfinity;
        return 1.5 * std::tanh(product / 1.5) + mask.data<float>()[h * 50 + j];
      });
  ASSERT_OK_AND_ASSIGN(const auto y, OpTester("Attention")
                                         .Attr("is_causal", int64_t{1})
                                         .Attr("left_window_size", int64_t{20})
                                         .Attr("softcap", 1.5f)
                                         .Attr("scale", 0.5f)
                                         .Input(q)
                                         .Input(k)
                                         .Input(v)
                                         .Input(mask)
                                         .Input(past_k)
                                         .Input(past_v)
                                         .Outputs(3)
                                         .Run());
  EXPECT_TRUE(TensorsClose(y[0], expected, 2e-6, 1e-5));
  EXPECT_TRUE(TensorsClose(y[1], all_k));
  EXPECT_TRUE(TensorsClose(y[2], all_v));
}

TEST(AttentionTest, RankThreeSplitsHeads) {
  // Two heads of size one, two rows: each head sees its own column alone.
  const Tensor q = MakeTensor<float>({1, 2, 2}, {0, 1, 0, 2}),
               k = MakeTensor<float>({1, 2, 2}, {5, 0, 7, 1}),
               v = MakeTensor<float>({1, 2, 2}, {1, 10, 3, 20});
  ASSERT_OK_AND_ASSIGN(const auto y, OpTester("Attention")
                                         .Attr("q_num_heads", int64_t{2})
                                         .Attr("kv_num_heads", int64_t{2})
                                         .Attr("qk_matmul_output_mode", int64_t{0})
                                         .Input(q)
                                         .Input(k)
                                         .Input(v)
                                         .Outputs(4, {1, 2})
                                         .Run());
  const auto second = [](double x) { return static_cast<float>(10 + 10 / (1 + std::exp(-x))); };
  EXPECT_THAT(y[0], TensorIs<float>({1, 2, 2}, {2, second(1), 2, second(2)}, 1e-5));
  EXPECT_THAT(y[3], TensorIs<float>({1, 2, 2, 2}, {0, 0, 0, 0, 0, 1, 0, 2}, 1e-6));
}

TEST(AttentionTest, MaskedKeysLeaveNoTrace) {
  const float infinity = std::numeric_limits<float>::infinity();
  // Row 0 may attend to no key; row 1 to the first alone. The other value is infinite.
  ASSERT_OK_AND_ASSIGN(const auto y,
                       OpTester("Attention")
                           .Attr("qk_matmul_output_mode", int64_t{3})
                           .Input(MakeTensor<float>({1, 1, 2, 1}, {1, 1}))
                           .Input(MakeTensor<float>({1, 1, 2, 1}, {1, infinity}))
                           .Input(MakeTensor<float>({1, 1, 2, 1}, {3, infinity}))
                           .Input(MakeTensor<bool>({2, 2}, {false, false, true, false}))
                           .Outputs(4, {1, 2})
                           .Run());
  EXPECT_THAT(y[0], TensorIs<float>({1, 1, 2, 1}, {0, 3}));
  EXPECT_THAT(y[3], TensorIs<float>({1, 1, 2, 2}, {0, 0, 1, 0}));
}

TEST(AttentionTest, LengthsOfAnOuterCacheBoundEachSample) {
  // Causality counts from the end of what is valid: the last row sees all of it.
  const Tensor q = MakeFrom<Float16>({2, 1, 2, 1}, {0, 0, 0, 0}),
               k = MakeFrom<Float16>({2, 1, 4, 1}, {0, 0, 0, 0, 0, 0, 0, 0}),
               v = MakeFrom<Float16>({2, 1, 4, 1}, {1, 2, 3, 90, 4, 90, 90, 90});
  ASSERT_OK_AND_ASSIGN(const Tensor y, OpTester("Attention")
                                           .Attr("is_causal", int64_t{1})
                                           .Input(q)
                                           .Input(k)
                                           .Input(v)
                                           .NoInput()
                                           .NoInput()
                                           .NoInput()
                                           .Input(MakeTensor<int64_t>({2}, {3, 1}))
                                           .Run1());
  EXPECT_THAT(y, TensorIsFrom<Float16>({2, 1, 2, 1}, {1.5f, 2, 0, 4}, 1e-3));
}

TEST(AttentionTest, NoKeysGiveZerosAndNoRowsNothing) {
  ASSERT_OK_AND_ASSIGN(const Tensor zeros, OpTester("Attention")
                                               .Input(RandomFloats({1, 2, 3, 4}, 1))
                                               .Input(RandomFloats({1, 2, 0, 4}, 1))
                                               .Input(RandomFloats({1, 2, 0, 1}, 1))
                                               .Run1());
  EXPECT_THAT(zeros, TensorIs<float>({1, 2, 3, 1}, {0, 0, 0, 0, 0, 0}));
  ASSERT_OK_AND_ASSIGN(const Tensor none, OpTester("Attention")
                                              .Input(RandomFloats({1, 2, 0, 4}, 1))
                                              .Input(RandomFloats({1, 2, 3, 4}, 1))
                                              .Input(RandomFloats({1, 2, 3, 4}, 1))
                                              .Run1());
  EXPECT_EQ(none.shape(), (Shape{1, 2, 0, 4}));
}

TEST(AttentionTest, BadArgumentsAreNamed) {
  const Tensor four = RandomFloats({1, 4, 2, 8}, 1), three = RandomFloats({1, 3, 2, 8}, 1);
  const auto run = [&](const Tensor& k, const Tensor& mask) {
    return OpTester("Attention").Input(four).Input(k).Input(k).Input(mask).Run().status();
  };
  EXPECT_THAT(run(three, RandomFloats({2, 2}, 1)),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("Q has 4 heads")));
  EXPECT_THAT(run(four, RandomFloats({2, 3}, 1)),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("covers 3 keys")));
  EXPECT_THAT(run(four, RandomFloats({3, 2}, 1)),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("does not broadcast")));
  const Tensor rows = RandomFloats({1, 2, 8}, 1);
  EXPECT_THAT(OpTester("Attention").Input(rows).Input(rows).Input(rows).Run().status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("q_num_heads is missing")));
}

TEST(RotaryEmbeddingTest, TurnsPairsByTheAngleOfTheirPosition) {
  // A quarter turn at position 1, none at position 0.
  const Tensor cosines = MakeTensor<float>({2, 1}, {1, 0}),
               sines = MakeTensor<float>({2, 1}, {0, 1});
  const auto rotary = [&](int64_t interleaved, const Tensor& x, std::initializer_list<int64_t> at) {
    return OpTester("RotaryEmbedding")
        .Attr("interleaved", interleaved)
        .Attr("rotary_embedding_dim", int64_t{2})
        .Input(x)
        .Input(cosines)
        .Input(sines)
        .Input(MakeTensor<int64_t>({1, static_cast<int64_t>(at.size())}, at))
        .Run1();
  };
  const Tensor x = MakeTensor<float>({1, 1, 2, 4}, {1, 2, 3, 4, 5, 6, 7, 8});
  ASSERT_OK_AND_ASSIGN(const Tensor y, rotary(0, x, {1, 0}));
  EXPECT_THAT(y, TensorIs<float>({1, 1, 2, 4}, {-2, 1, 3, 4, 5, 6, 7, 8}));
  ASSERT_OK_AND_ASSIGN(const Tensor z, rotary(1, x, {0, 1}));
  EXPECT_THAT(z, TensorIs<float>({1, 1, 2, 4}, {1, 2, 3, 4, -6, 5, 7, 8}));
  EXPECT_THAT(rotary(0, x, {0, 2}).status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("position_ids holds 2")));
}

TEST(TensorScatterTest, WritesRowsWhereEachSampleStands) {
  const Tensor cache = MakeTensor<int32_t>({2, 3, 1}, {1, 2, 3, 4, 5, 6}),
               update = MakeTensor<int32_t>({2, 2, 1}, {10, 20, 30, 40});
  const auto scatter = [&](const char* mode, std::initializer_list<int64_t> at) {
    return OpTester("TensorScatter")
        .Attr("mode", std::string(mode))
        .Input(cache)
        .Input(update)
        .Input(MakeTensor<int64_t>({2}, at))
        .Run1();
  };
  ASSERT_OK_AND_ASSIGN(const Tensor linear, scatter("linear", {1, 0}));
  EXPECT_THAT(linear, TensorIs<int32_t>({2, 3, 1}, {1, 10, 20, 30, 40, 6}));
  ASSERT_OK_AND_ASSIGN(const Tensor circular, scatter("circular", {2, -1}));
  EXPECT_THAT(circular, TensorIs<int32_t>({2, 3, 1}, {20, 2, 10, 40, 5, 30}));
  EXPECT_THAT(scatter("linear", {2, 0}).status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("write_indices holds 2")));
}

TEST(TensorScatterTest, PackedElementsKeepTheirNeighbours) {
  ASSERT_OK_AND_ASSIGN(const Tensor y,
                       OpTester("TensorScatter")
                           .Input(MakeRaw(ElementType::kUint4, {1, 3, 1}, {0x21, 3}))
                           .Input(MakeRaw(ElementType::kUint4, {1, 1, 1}, {9}))
                           .Input(MakeTensor<int64_t>({1}, {1}))
                           .Run1());
  EXPECT_EQ(static_cast<const uint8_t*>(y.view().data)[0], 0x91);
  EXPECT_EQ(static_cast<const uint8_t*>(y.view().data)[1] & 15, 3);
}

TEST(LinearAttentionTest, GatedDeltaFollowsItsRecurrence) {
  const int64_t tokens = 5, key = 3, value = 40;
  const Tensor q = RandomFloats({1, tokens, 2 * key}, 1), k = RandomFloats({1, tokens, key}, 2),
               v = RandomFloats({1, tokens, value}, 3), past = RandomFloats({1, 1, key, value}, 4),
               decay = RandomFloats({1, tokens, key}, 5, -1, 0),
               beta = RandomFloats({1, tokens, 1}, 6, 0, 1);
  std::vector<double> state(past.data<float>(), past.data<float>() + key * value);
  std::vector<float> expected(tokens * 2 * value);
  for (int64_t t = 0; t < tokens; ++t) {
    for (int64_t c = 0; c < value; ++c) {
      double known = 0;
      for (int64_t d = 0; d < key; ++d) {
        state[d * value + c] *= std::exp(decay.data<float>()[t * key + d]);
        known += state[d * value + c] * k.data<float>()[t * key + d];
      }
      const double change = beta.data<float>()[t] * (v.data<float>()[t * value + c] - known);
      for (int64_t h = 0; h < 2; ++h) {
        double out = 0;
        for (int64_t d = 0; d < key; ++d) {
          if (h == 0) state[d * value + c] += k.data<float>()[t * key + d] * change;
          out += 0.25 * q.data<float>()[(t * 2 + h) * key + d] * state[d * value + c];
        }
        expected[(t * 2 + h) * value + c] = static_cast<float>(out);
      }
    }
  }
  OpTester tester("LinearAttention");
  tester.Attr("q_num_heads", int64_t{2}).Attr("kv_num_heads", int64_t{1}).Attr("scale", 0.25f);
  ASSERT_OK_AND_ASSIGN(
      const auto y,
      tester.Input(q).Input(k).Input(v).Input(past).Input(decay).Input(beta).Outputs(2).Run());
  EXPECT_TRUE(TensorsClose(
      y[0], Tensor::FromValues<float>({1, tokens, 2 * value}, absl::Span<const float>(expected)),
      1e-6, 1e-5));
  const std::vector<float> last(state.begin(), state.end());
  EXPECT_TRUE(TensorsClose(
      y[1], Tensor::FromValues<float>(past.shape(), absl::Span<const float>(last)), 1e-6, 1e-5));
}

TEST(CausalConvWithStateTest, SeesThePastAndHandsItOn) {
  const Tensor x = MakeTensor<float>({1, 2, 3}, {1, 2, 3, 10, 20, 30}),
               weight = MakeTensor<float>({2, 1, 3}, {1, 10, 100, 0, 0, 1}),
               bias = MakeTensor<float>({2}, {0.5f, 0}),
               past = MakeTensor<float>({1, 2, 2}, {7, 8, 9, 9});
  ASSERT_OK_AND_ASSIGN(const auto y, OpTester("CausalConvWithState")
                                         .Input(x)
                                         .Input(weight)
                                         .Input(bias)
                                         .Input(past)
                                         .Outputs(2)
                                         .Run());
  EXPECT_THAT(y[0], TensorIs<float>({1, 2, 3}, {187.5f, 218.5f, 321.5f, 10, 20, 30}));
  EXPECT_THAT(y[1], TensorIs<float>({1, 2, 2}, {2, 3, 20, 30}));
  // One position: the state keeps one of its own.
  ASSERT_OK_AND_ASSIGN(const auto one, OpTester("CausalConvWithState")
                                           .Attr("activation", std::string("silu"))
                                           .Input(MakeTensor<float>({1, 1, 1}, {2}))
                                           .Input(MakeTensor<float>({1, 1, 3}, {1, 1, 1}))
                                           .Outputs(2)
                                           .Run());
  EXPECT_THAT(one[0],
              TensorIs<float>({1, 1, 1}, {static_cast<float>(2 / (1 + std::exp(-2.0)))}, 1e-6));
  EXPECT_THAT(one[1], TensorIs<float>({1, 1, 2}, {0, 2}));
}

}  // namespace
}  // namespace inferd::engine
