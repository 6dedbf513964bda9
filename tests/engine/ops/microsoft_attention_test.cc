// Attention operators of com.microsoft, and the normalizations that go with them.
#include <cmath>
#include <functional>
#include <limits>

#include "tests/engine/ops/op_tester.h"

namespace inferd::engine {
namespace {

using ::testing::HasSubstr;

OpTester Microsoft(absl::string_view op) { return OpTester(op, "com.microsoft"); }

// Rows [batch, rows, heads * size] seen as heads.
struct Rows {
  const Tensor& tensor;
  int64_t heads;
  double at(int64_t b, int64_t h, int64_t i, int64_t d) const {
    const Shape& s = tensor.shape();
    return tensor.data<float>()[(b * s[1] + i) * s[2] + h * (s[2] / heads) + d];
  }
};

// Attention over [batch, rows, hidden] by its definition; `bias` is added to scaled products.
using BiasFn = std::function<double(int64_t, int64_t, int64_t, int64_t)>;
Tensor Naive(const Tensor& q, const Tensor& k, const Tensor& v, int64_t heads, int64_t kv_heads,
             const BiasFn& bias) {
  const Rows query{q, heads}, key{k, kv_heads}, value{v, kv_heads};
  const int64_t rows = q.shape()[1], keys = k.shape()[1];
  const int64_t size = q.shape()[2] / heads, value_size = v.shape()[2] / kv_heads;
  std::vector<float> y(q.shape()[0] * rows * heads * value_size);
  for (int64_t b = 0; b < q.shape()[0]; ++b) {
    for (int64_t h = 0; h < heads; ++h) {
      const int64_t g = h / (heads / kv_heads);
      for (int64_t i = 0; i < rows; ++i) {
        std::vector<double> p(keys);
        double sum = 0, peak = -std::numeric_limits<double>::infinity();
        for (int64_t j = 0; j < keys; ++j) {
          double product = 0;
          for (int64_t d = 0; d < size; ++d) product += query.at(b, h, i, d) * key.at(b, g, j, d);
          p[j] = product / std::sqrt(static_cast<double>(size)) + bias(b, h, i, j);
          peak = std::max(peak, p[j]);
        }
        for (double& x : p) sum += x = std::exp(x - peak);
        for (int64_t d = 0; d < value_size; ++d) {
          double out = 0;
          for (int64_t j = 0; j < keys; ++j) out += p[j] / sum * value.at(b, g, j, d);
          y[(b * rows + i) * heads * value_size + h * value_size + d] = static_cast<float>(out);
        }
      }
    }
  }
  return Tensor::FromValues<float>({q.shape()[0], rows, heads * value_size},
                                   absl::Span<const float>(y));
}

double None(int64_t, int64_t, int64_t, int64_t) { return 0; }

TEST(MultiHeadAttentionTest, PaddingMaskAndBias) {
  const Tensor q = RandomFloats({2, 3, 12}, 1), k = RandomFloats({2, 5, 12}, 2),
               v = RandomFloats({2, 5, 8}, 3), bias = RandomFloats({1, 2, 3, 5}, 4);
  const Tensor mask = MakeTensor<int32_t>({2}, {4, 2});
  const Tensor expected = Naive(q, k, v, 2, 2, [&](int64_t b, int64_t h, int64_t i, int64_t j) {
    return (j >= mask.data<int32_t>()[b] ? -10000.0 : 0.0) +
           bias.data<float>()[(h * 3 + i) * 5 + j];
  });
  ASSERT_OK_AND_ASSIGN(const Tensor y, Microsoft("MultiHeadAttention")
                                           .Attr("num_heads", int64_t{2})
                                           .Input(q)
                                           .Input(k)
                                           .Input(v)
                                           .NoInput()
                                           .Input(mask)
                                           .Input(bias)
                                           .Run1());
  EXPECT_TRUE(TensorsClose(y, expected, 1e-6, 1e-5));
}

TEST(MultiHeadAttentionTest, PackedFormsHoldTheSameNumbers) {
  // [batch 1, rows 2, heads 2, 3 of query key value, size 1].
  const Tensor packed =
      MakeTensor<float>({1, 2, 2, 3, 1}, {1, 2, 3, 4, 5, 6, -1, -2, -3, 0.5f, 0.25f, 8});
  const Tensor q = MakeTensor<float>({1, 2, 2}, {1, 4, -1, 0.5f}),
               k = MakeTensor<float>({1, 2, 2}, {2, 5, -2, 0.25f}),
               v = MakeTensor<float>({1, 2, 2}, {3, 6, -3, 8}),
               pairs = MakeTensor<float>({1, 2, 2, 2, 1}, {2, 3, 5, 6, -2, -3, 0.25f, 8});
  const Tensor expected = Naive(q, k, v, 2, 2, None);
  ASSERT_OK_AND_ASSIGN(
      const Tensor all,
      Microsoft("MultiHeadAttention").Attr("num_heads", int64_t{2}).Input(packed).Run1());
  EXPECT_TRUE(TensorsClose(all, expected, 1e-6, 1e-5));
  ASSERT_OK_AND_ASSIGN(
      const Tensor two,
      Microsoft("MultiHeadAttention").Attr("num_heads", int64_t{2}).Input(q).Input(pairs).Run1());
  EXPECT_TRUE(TensorsClose(two, expected, 1e-6, 1e-5));
}

TEST(MultiHeadAttentionTest, SharedCacheTakesRowsOfOtherBeams) {
  const Tensor one = MakeTensor<float>({2, 1, 1}, {0, 0});
  ASSERT_OK_AND_ASSIGN(const auto y,
                       Microsoft("MultiHeadAttention")
                           .Attr("num_heads", int64_t{1})
                           .Input(one)
                           .Input(one)
                           .Input(MakeTensor<float>({2, 1, 1}, {100, 200}))
                           .NoInput()
                           .NoInput()
                           .NoInput()
                           .Input(MakeTensor<float>({2, 1, 3, 1}, {0, 0, 0, 0, 0, 0}))
                           .Input(MakeTensor<float>({2, 1, 3, 1}, {1, -1, -1, 5, -1, -1}))
                           .Input(MakeTensor<int32_t>({1}, {1}))
                           .Input(MakeTensor<int32_t>({1, 2, 3}, {1, 0, 0, 1, 0, 0}))
                           .Outputs(3)
                           .Run());
  EXPECT_THAT(y[0], TensorIs<float>({2, 1, 1}, {52.5f, 102.5f}, 1e-4));
  EXPECT_THAT(y[2], TensorIs<float>({2, 1, 3, 1}, {1, 100, -1, 5, 200, -1}));
}

TEST(MicrosoftAttentionTest, ProjectsThenAttendsToThePast) {
  const Tensor x = RandomFloats({2, 3, 5}, 1), w = RandomFloats({5, 24}, 2),
               bias = RandomFloats({24}, 3), past = RandomFloats({2, 2, 2, 4, 4}, 4);
  // Query, key and value of rows, the cache in front of the latter two.
  std::vector<float> parts[3];
  for (int64_t part = 0; part < 3; ++part) {
    for (int64_t b = 0; b < 2; ++b) {
      for (int64_t t = 0; part > 0 && t < 4; ++t) {
        for (int64_t c = 0; c < 8; ++c) {
          const int64_t plane = ((part - 1) * 2 + b) * 2 + c / 4;
          parts[part].push_back(past.data<float>()[(plane * 4 + t) * 4 + c % 4]);
        }
      }
      for (int64_t r = b * 3; r < b * 3 + 3; ++r) {
        for (int64_t c = 0; c < 8; ++c) {
          double sum = bias.data<float>()[part * 8 + c];
          for (int64_t i = 0; i < 5; ++i) {
            sum += x.data<float>()[r * 5 + i] * w.data<float>()[i * 24 + part * 8 + c];
          }
          parts[part].push_back(static_cast<float>(sum));
        }
      }
    }
  }
  const auto tensor = [&](int part, int64_t rows) {
    return Tensor::FromValues<float>({2, rows, 8}, absl::Span<const float>(parts[part]));
  };
  const Tensor expected =
      Naive(tensor(0, 3), tensor(1, 7), tensor(2, 7), 2, 2,
            [](int64_t, int64_t, int64_t i, int64_t j) { return j > i + 4 ? -1e30 : 0; });
  ASSERT_OK_AND_ASSIGN(const auto y, Microsoft("Attention")
                                         .Attr("num_heads", int64_t{2})
                                         .Attr("unidirectional", int64_t{1})
                                         .Input(x)
                                         .Input(w)
                                         .Input(bias)
                                         .NoInput()
                                         .Input(past)
                                         .Outputs(2)
                                         .Run());
  EXPECT_TRUE(TensorsClose(y[0], expected, 2e-6, 1e-5));
  EXPECT_EQ(y[1].shape(), (Shape{2, 2, 2, 7, 4}));
  EXPECT_THAT(Microsoft("Attention")
                  .Attr("num_heads", int64_t{2})
                  .Attr("do_rotary", int64_t{1})
                  .Input(x)
                  .Input(w)
                  .Run()
                  .status(),
              StatusIs(absl::StatusCode::kUnimplemented, HasSubstr("do_rotary")));
}

TEST(MicrosoftAttentionTest, RowsOfPaddingAloneSpreadEvenly) {
  // The filter is as low as the mark of future keys, so that all three weigh the same.
  ASSERT_OK_AND_ASSIGN(const Tensor y,
                       Microsoft("Attention")
                           .Attr("num_heads", int64_t{1})
                           .Attr("unidirectional", int64_t{1})
                           .Attr("mask_filter_value", std::numeric_limits<float>::lowest())
                           .Input(MakeTensor<float>({1, 3, 1}, {3, 6, 9}))
                           .Input(MakeTensor<float>({1, 3}, {1, 1, 1}))
                           .NoInput()
                           .Input(MakeTensor<int32_t>({1, 3}, {0, 0, 1}))
                           .Run1());
  EXPECT_THAT(y, TensorIs<float>({1, 3, 1}, {6, 6, 9}, 1e-5));
}

TEST(QAttentionTest, EqualsAttentionOfTheRealNumbers) {
  std::vector<uint8_t> x(2 * 3 * 4);
  std::vector<int8_t> w(4 * 12);
  std::vector<float> real_x, real_w;
  for (size_t i = 0; i < x.size(); ++i) real_x.push_back(0.1f * ((x[i] = 37 * i % 251) - 100));
  for (size_t i = 0; i < w.size(); ++i) {
    w[i] = static_cast<int8_t>(53 * i % 200 - 100);
    real_w.push_back(0.02f * (w[i] - 3));
  }
  const Tensor bias = RandomFloats({12}, 1);
  ASSERT_OK_AND_ASSIGN(
      const Tensor expected,
      Microsoft("Attention")
          .Attr("num_heads", int64_t{2})
          .Input(Tensor::FromValues<float>({2, 3, 4}, absl::Span<const float>(real_x)))
          .Input(Tensor::FromValues<float>({4, 12}, absl::Span<const float>(real_w)))
          .Input(bias)
          .Run1());
  ASSERT_OK_AND_ASSIGN(const Tensor y,
                       Microsoft("QAttention")
                           .Attr("num_heads", int64_t{2})
                           .Input(Tensor::FromValues<uint8_t>({2, 3, 4}, absl::MakeConstSpan(x)))
                           .Input(Tensor::FromValues<int8_t>({4, 12}, absl::MakeConstSpan(w)))
                           .Input(bias)
                           .Input(Tensor::Scalar<float>(0.1f))
                           .Input(Tensor::Scalar<float>(0.02f))
                           .NoInput()
                           .Input(Tensor::Scalar<uint8_t>(100))
                           .Input(Tensor::Scalar<int8_t>(3))
                           .Run1());
  EXPECT_TRUE(TensorsClose(y, expected, 1e-4, 1e-4));
}

TEST(GroupQueryAttentionTest, LengthsDifferAndTheCacheKeepsItsSize) {
  // One head of keys for two of queries; sample 0 has two tokens, sample 1 three, of a cache of 4.
  const Tensor q = MakeTensor<float>({2, 1, 2}, {0, 1, 2, 3}),
               k = MakeTensor<float>({2, 1, 1}, {1, -1}),
               v = MakeTensor<float>({2, 1, 1}, {10, 20}),
               past_k = MakeTensor<float>({2, 1, 4, 1}, {2, 9, 9, 9, 0.5f, 1, 9, 9}),
               past_v = MakeTensor<float>({2, 1, 4, 1}, {1, 9, 9, 9, 3, 5, 9, 9});
  const auto run = [&](std::initializer_list<int32_t> lengths) {
    return Microsoft("GroupQueryAttention")
        .Attr("num_heads", int64_t{2})
        .Attr("kv_num_heads", int64_t{1})
        .Input(q)
        .Input(k)
        .Input(v)
        .Input(past_k)
        .Input(past_v)
        .Input(MakeTensor<int32_t>({2}, lengths))
        .Input(MakeTensor<int32_t>({1}, {3}))
        .Outputs(3)
        .Run();
  };
  ASSERT_OK_AND_ASSIGN(const auto y, run({1, 2}));
  const auto mean = [](std::initializer_list<std::pair<double, double>> scores_values) {
    double sum = 0, total = 0;
    for (const auto& [s, value] : scores_values) {
      sum += std::exp(s) * value;
      total += std::exp(s);
    }
    return static_cast<float>(sum / total);
  };
  EXPECT_THAT(
      y[0], TensorIs<float>({2, 1, 2},
                            {mean({{0, 1}, {0, 10}}), mean({{2, 1}, {1, 10}}),
                             mean({{1, 3}, {2, 5}, {-2, 20}}), mean({{1.5, 3}, {3, 5}, {-3, 20}})},
                            1e-5));
  EXPECT_THAT(y[1], TensorIs<float>({2, 1, 4, 1}, {2, 1, 0, 0, 0.5f, 1, -1, 0}));
  EXPECT_THAT(y[2], TensorIs<float>({2, 1, 4, 1}, {1, 10, 0, 0, 3, 5, 20, 0}));
  EXPECT_THAT(run({1, 3}).status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("seqlens_k holds 3")));
}

TEST(GroupQueryAttentionTest, RotatesQueriesAndKeysOfAPackedPrompt) {
  // A half turn at each odd position: products keep their sign between positions of one parity.
  // Head size 2, one head each: query, key, value per row.
  const Tensor packed = MakeTensor<float>({1, 2, 6}, {1, 0, 1, 0, 4, 40, 1, 0, 1, 0, 8, 80});
  ASSERT_OK_AND_ASSIGN(const auto y, Microsoft("GroupQueryAttention")
                                         .Attr("num_heads", int64_t{1})
                                         .Attr("kv_num_heads", int64_t{1})
                                         .Attr("do_rotary", int64_t{1})
                                         .Attr("scale", 1.0f)
                                         .Input(packed)
                                         .NoInput()
                                         .NoInput()
                                         .NoInput()
                                         .NoInput()
                                         .Input(MakeTensor<int32_t>({1}, {1}))
                                         .Input(MakeTensor<int32_t>({1}, {2}))
                                         .Input(MakeTensor<float>({2, 1}, {1, -1}))
                                         .Input(MakeTensor<float>({2, 1}, {0, 0}))
                                         .Outputs(2)
                                         .Run());
  const double weight = 1 / (1 + std::exp(-2.0));  // of the row itself: scores -1 and 1
  const float value = static_cast<float>(4 + 4 * weight);
  EXPECT_THAT(y[0], TensorIs<float>({1, 2, 2}, {4, 40, value, 10 * value}, 1e-5));
  EXPECT_THAT(y[1], TensorIs<float>({1, 1, 2, 2}, {1, 0, -1, 0}));
}

TEST(GroupQueryAttentionTest, OneRowOfBiasDoesNotServeTwo) {
  const Tensor x = MakeTensor<float>({1, 2, 1}, {1, 2});
  const auto y = Microsoft("GroupQueryAttention")
                     .Attr("num_heads", int64_t{1})
                     .Attr("kv_num_heads", int64_t{1})
                     .Input(x)
                     .Input(x)
                     .Input(x)
                     .NoInput()
                     .NoInput()
                     .Input(MakeTensor<int32_t>({1}, {1}))
                     .Input(MakeTensor<int32_t>({1}, {2}))
                     .NoInput()
                     .NoInput()
                     .NoInput()
                     .Input(MakeTensor<float>({1, 1, 1, 2}, {0, 0}))
                     .Run();
  EXPECT_THAT(y.status().message(), HasSubstr("expected sequence length 2"));
}

TEST(SkipLayerNormalizationTest, NormalizesTheSumAndReturnsIt) {
  OpTester tester = Microsoft("SkipLayerNormalization");
  ASSERT_OK_AND_ASSIGN(const auto y, tester.Attr("epsilon", 0.0f)
                                         .Input(MakeTensor<float>({2, 1, 2}, {1, 2, 3, 4}))
                                         .Input(MakeTensor<float>({1, 1, 2}, {0, 1}))
                                         .Input(MakeTensor<float>({2}, {2, 5}))
                                         .NoInput()
                                         .Input(MakeTensor<float>({2}, {0, 2}))
                                         .Outputs(4, {1, 2})
                                         .Run());
  EXPECT_THAT(y[0], TensorIs<float>({2, 1, 2}, {-2, 5, -2, 5}, 1e-5));
  EXPECT_THAT(y[3], TensorIs<float>({2, 1, 2}, {1, 5, 3, 7}));
  OpTester root = Microsoft("SkipSimplifiedLayerNormalization");
  ASSERT_OK_AND_ASSIGN(const Tensor z, root.Attr("epsilon", 0.0f)
                                           .Input(MakeTensor<float>({1, 2}, {1, 3}))
                                           .Input(MakeTensor<float>({1, 2}, {0, 4}))
                                           .Input(MakeTensor<float>({2}, {1, 10}))
                                           .Run1());
  EXPECT_THAT(z, TensorIs<float>({1, 2}, {0.2f, 14}, 1e-5));
}

TEST(EmbedLayerNormalizationTest, SumsTablesAndCountsTheMask) {
  const auto run = [](std::initializer_list<int32_t> ids) {
    return Microsoft("EmbedLayerNormalization")
        .Attr("epsilon", 0.0f)
        .Input(MakeTensor<int32_t>({1, 2}, ids))
        .NoInput()
        .Input(MakeTensor<float>({2, 2}, {0, 1, 5, 5}))
        .Input(MakeTensor<float>({2, 2}, {0, 1, 3, 1}))
        .NoInput()
        .Input(MakeTensor<float>({2}, {1, 1}))
        .Input(MakeTensor<float>({2}, {0, 10}))
        .Input(MakeTensor<int32_t>({1, 2}, {1, 0}))
        .Outputs(3)
        .Run();
  };
  ASSERT_OK_AND_ASSIGN(const auto y, run({0, 1}));
  EXPECT_THAT(y[0], TensorIs<float>({1, 2, 2}, {-1, 11, 1, 9}, 1e-5));
  EXPECT_THAT(y[1], TensorIs<int32_t>({1}, {1}));
  EXPECT_THAT(y[2], TensorIs<float>({1, 2, 2}, {0, 2, 8, 6}));
  EXPECT_THAT(run({0, 2}).status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("input_ids holds 2")));
}

TEST(MicrosoftGeluTest, BiasComesFirst) {
  const Tensor x = MakeTensor<float>({2, 1}, {0.5f, -2}), b = MakeTensor<float>({1}, {0.5f});
  const auto erf = [](double v) {
    return static_cast<float>(v / 2 * (1 + std::erf(v / std::sqrt(2))));
  };
  ASSERT_OK_AND_ASSIGN(const Tensor exact, Microsoft("BiasGelu").Input(x).Input(b).Run1());
  EXPECT_THAT(exact, TensorIs<float>({2, 1}, {erf(1), erf(-1.5)}, 1e-6));
  ASSERT_OK_AND_ASSIGN(const Tensor fast, Microsoft("FastGelu").Input(x).Input(b).Run1());
  EXPECT_THAT(fast, TensorIs<float>({2, 1}, {erf(1), erf(-1.5)}, 1e-3));
  ASSERT_OK_AND_ASSIGN(const Tensor quick,
                       Microsoft("QuickGelu").Attr("alpha", 2.0f).Input(x).Run1());
  const auto swish = [](double v) { return static_cast<float>(v / (1 + std::exp(-2 * v))); };
  EXPECT_THAT(quick, TensorIs<float>({2, 1}, {swish(0.5), swish(-2)}, 1e-6));
}

}  // namespace
}  // namespace inferd::engine
