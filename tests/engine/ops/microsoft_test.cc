// The operators of domain com.microsoft that stand alone.
#include <cmath>
#include <limits>

#include "tests/engine/ops/op_tester.h"

namespace inferd::engine {
namespace {

using ::testing::HasSubstr;

OpTester Contrib(const char* op) { return OpTester(op, "com.microsoft"); }

Tensor Strings(Shape shape, std::vector<std::string> values) {
  return Tensor::FromValues<std::string>(std::move(shape), absl::Span<const std::string>(values));
}

// Packs values of `bits` bits, low bits first, every `row` of them starting at a whole byte.
std::vector<uint8_t> Pack(const std::vector<int>& values, int bits, int64_t row) {
  std::vector<uint8_t> bytes;
  for (size_t i = 0; i < values.size(); i += row) {
    const size_t first = bytes.size();
    bytes.resize(first + (row * bits + 7) / 8);
    for (int64_t j = 0; j < row; ++j) {
      bytes[first + j * bits / 8] |= static_cast<uint8_t>(values[i + j] << (j * bits % 8));
    }
  }
  return bytes;
}

Tensor Bytes(Shape shape, const std::vector<uint8_t>& values) {
  return Tensor::FromValues<uint8_t>(std::move(shape), absl::Span<const uint8_t>(values));
}

// K is no multiple of the block size and N none of the columns multiplied at a time; more rows
// than one tile of A has.
TEST(MatMulNBits, EqualsDequantizedProduct) {
  const int64_t k = 40, n = 5, block = 16, blocks = 3, rows = 35;
  const Tensor a = RandomFloats({rows, k}, 1), scales = RandomFloats({n, blocks}, 2, 0.1f, 1);
  const Tensor bias = RandomFloats({n}, 3);
  for (const int bits : {2, 4, 8}) {
    std::vector<int> weights, zero_points;
    for (int64_t i = 0; i < n * blocks * block; ++i) weights.push_back(i * 7 % 251 % (1 << bits));
    for (int64_t i = 0; i < n * blocks; ++i) zero_points.push_back(i * 5 % 13 % (1 << bits));
    std::vector<float> expected;
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t c = 0; c < n; ++c) {
        double sum = bias.data<float>()[c];
        for (int64_t i = 0; i < k; ++i) {
          const int64_t at = c * blocks + i / block;
          sum += static_cast<double>(a.data<float>()[r * k + i]) * scales.data<float>()[at] *
                 (weights[c * blocks * block + i] - zero_points[at]);
        }
        expected.push_back(static_cast<float>(sum));
      }
    }
    const std::vector<uint8_t> packed = Pack(zero_points, bits, blocks);
    ASSERT_OK_AND_ASSIGN(
        Tensor y, Contrib("MatMulNBits")
                      .Attr("K", k)
                      .Attr("N", n)
                      .Attr("bits", int64_t{bits})
                      .Attr("block_size", block)
                      .Input(a)
                      .Constant(Bytes({n, blocks, block * bits / 8}, Pack(weights, bits, block)))
                      .Constant(scales)
                      .Input(Bytes({static_cast<int64_t>(packed.size())}, packed))
                      .NoInput()
                      .Input(bias)
                      .Run1());
    EXPECT_TRUE(TensorsClose(
        y, Tensor::FromValues<float>({rows, n}, absl::Span<const float>(expected)), 0.01, 1e-5))
        << bits;
  }
}

OpTester SmallNBits(int64_t bits, int64_t block) {
  OpTester tester = Contrib("MatMulNBits");
  tester.Attr("K", int64_t{16}).Attr("N", int64_t{1}).Attr("bits", bits).Attr("block_size", block);
  return tester;
}

TEST(MatMulNBits, GroupsMayBeShuffled) {
  // Weights are all 9, so that each is its group's scale; even ones are of group 1.
  const std::vector<uint8_t> weights(16, 0x99);
  std::vector<int32_t> groups;
  for (int i = 0; i < 32; ++i) groups.push_back(1 - i % 2);
  ASSERT_OK_AND_ASSIGN(Tensor y,
                       Contrib("MatMulNBits")
                           .Attr("K", int64_t{32})
                           .Attr("N", int64_t{1})
                           .Attr("block_size", int64_t{16})
                           .Input(Tensor::FromValues<float>({1, 32}, std::vector<float>(32, 1.0f)))
                           .Input(Bytes({1, 2, 8}, weights))
                           .Input(MakeTensor<float>({2}, {1, 10}))
                           .NoInput()
                           .Input(Tensor::FromValues<int32_t>({32}, groups))
                           .Run1());
  EXPECT_THAT(y, TensorIs<float>({1, 1}, {16 * 11}));
}

TEST(MatMulNBits, OmittedWeightsLeaveTheBias) {
  ASSERT_OK_AND_ASSIGN(Tensor y, SmallNBits(4, 16)
                                     .Input(RandomFloats({2, 16}, 1))
                                     .Input(Bytes({0, 1, 8}, {}))
                                     .Input(MakeTensor<float>({0}, {}))
                                     .NoInput()
                                     .NoInput()
                                     .Input(MakeTensor<float>({1}, {3}))
                                     .Run1());
  EXPECT_THAT(y, TensorIs<float>({2, 1}, {3, 3}));
}

TEST(MatMulNBits, Errors) {
  const auto run = [](OpTester tester, int64_t bytes) {
    return tester.Input(RandomFloats({1, 16}, 1))
        .Input(Bytes({bytes}, std::vector<uint8_t>(bytes)))
        .Input(MakeTensor<float>({1}, {1}))
        .Run1()
        .status();
  };
  EXPECT_THAT(run(SmallNBits(3, 16), 8),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("bits is 3")));
  EXPECT_THAT(run(SmallNBits(4, 24), 8),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("block_size is 24")));
  EXPECT_THAT(run(SmallNBits(4, 16), 7),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("expected 8 elements")));
  EXPECT_THAT(run(SmallNBits(4, int64_t{1} << 62), 8),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("too large")));
}

TEST(GatherBlockQuantized, DequantizesWhatItPicks) {
  std::vector<uint8_t> table(2 * 8, 0x81);  // values 1, 8, 1, 8, ...
  table[8] = 0xf0;
  ASSERT_OK_AND_ASSIGN(Tensor y, Contrib("GatherBlockQuantized")
                                     .Attr("block_size", int64_t{16})
                                     .Constant(Bytes({2, 8}, table))
                                     .Input(MakeTensor<int64_t>({2}, {-1, 5}))
                                     .Constant(MakeTensor<float>({2, 1}, {1, 0.5f}))
                                     .Run1());
  // Zero point 8; index 5 is out of range, which gives zeros.
  const float v = 0.5f * (1 - 8);
  EXPECT_THAT(y, TensorIs<float>({2, 16}, {-4, 3.5f, v, 0, v, 0, v, 0, v, 0, v, 0, v, 0, v, 0,
                                           0,  0,    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}));
}

TEST(MatMulBnb4, ReadsTheHighHalfFirst) {
  // NF4: 0xf is 1, 0x7 is 0, 0x0 is -1.
  ASSERT_OK_AND_ASSIGN(Tensor y, Contrib("MatMulBnb4")
                                     .Attr("K", int64_t{2})
                                     .Attr("N", int64_t{2})
                                     .Attr("block_size", int64_t{16})
                                     .Attr("quant_type", int64_t{1})
                                     .Input(MakeTensor<float>({1, 2}, {1, 10}))
                                     .Input(Bytes({2}, {0xf7, 0x0f}))
                                     .Input(MakeTensor<float>({1}, {2}))
                                     .Run1());
  EXPECT_THAT(y, TensorIs<float>({1, 2}, {2, 18}));
}

OpTester MakeTokenizer(bool mark = false, int64_t min_characters = 1) {
  OpTester tester = Contrib("Tokenizer");
  tester.Attr("mark", int64_t{mark})
      .Attr("mincharnum", min_characters)
      .Attr("pad_value", std::string("#"));
  return tester;
}

TEST(Tokenizer, Separators) {
  ASSERT_OK_AND_ASSIGN(Tensor y, MakeTokenizer(true)
                                     .Attr("separators", std::vector<std::string>{"X", "\\."})
                                     .Input(Strings({3}, {"aXXb.c", "X", "d"}))
                                     .Run1());
  EXPECT_TRUE(TensorsClose(y, Strings({3, 5}, {"\x02", "a", "b", "c", "\x03",  //
                                               "\x02", "\x03", "#", "#", "#",  //
                                               "\x02", "d", "\x03", "#", "#"})));
  // Tokens of fewer characters than wanted go before the next separator sees them.
  ASSERT_OK_AND_ASSIGN(y, MakeTokenizer(false, 2)
                              .Attr("separators", std::vector<std::string>{"oo", " "})
                              .Input(Strings({1, 1}, {"foo  b\xc3\xa4 r"}))
                              .Run1());
  EXPECT_TRUE(TensorsClose(y, Strings({1, 1, 1}, {"b\xc3\xa4"})));
}

TEST(Tokenizer, CharactersAndExpressions) {
  ASSERT_OK_AND_ASSIGN(Tensor y, MakeTokenizer()
                                     .Attr("separators", std::vector<std::string>{""})
                                     .Input(Strings({2}, {"a\xc3\xa9", ""}))
                                     .Run1());
  EXPECT_TRUE(TensorsClose(y, Strings({2, 2}, {"a", "\xc3\xa9", "#", "#"})));
  // The longest match, not the first alternative.
  ASSERT_OK_AND_ASSIGN(
      y,
      MakeTokenizer().Attr("tokenexp", std::string("a|aa")).Input(Strings({1}, {"aaba"})).Run1());
  EXPECT_TRUE(TensorsClose(y, Strings({1, 2}, {"aa", "a"})));
}

TEST(Tokenizer, NothingLeft) {
  ASSERT_OK_AND_ASSIGN(Tensor y, MakeTokenizer(true)
                                     .Attr("separators", std::vector<std::string>{" "})
                                     .Input(Strings({2}, {"", " "}))
                                     .Run1());
  EXPECT_EQ(y.shape(), (Shape{2, 0}));
  ASSERT_OK_AND_ASSIGN(y, MakeTokenizer()
                              .Attr("separators", std::vector<std::string>{" "})
                              .Input(Strings({0}, {}))
                              .Run1());
  EXPECT_EQ(y.shape(), (Shape{0}));
}

TEST(Tokenizer, Errors) {
  const auto run = [](OpTester tester, std::string text) {
    return tester.Input(Strings({1}, {std::move(text)})).Run1().status();
  };
  EXPECT_THAT(run(MakeTokenizer(), "a"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("is needed")));
  EXPECT_THAT(run(std::move(MakeTokenizer().Attr("tokenexp", std::string("("))), "a"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("no regular expression")));
  EXPECT_THAT(run(std::move(MakeTokenizer().Attr("tokenexp", std::string("a"))), "\xff"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("not UTF-8")));
}

TEST(MurmurHash3, KnownValues) {
  // Of the published implementation.
  ASSERT_OK_AND_ASSIGN(Tensor y, Contrib("MurmurHash3").Input(Strings({2}, {"hello", ""})).Run1());
  EXPECT_THAT(y, TensorIs<uint32_t>({2}, {0x248bfa47u, 0}));
  ASSERT_OK_AND_ASSIGN(y, Contrib("MurmurHash3")
                              .Attr("positive", int64_t{0})
                              .Attr("seed", int64_t{1})
                              .Input(Strings({1}, {""}))
                              .Run1());
  EXPECT_THAT(y, TensorIs<int32_t>({1}, {0x514e28b7}));
}

TEST(CropAndResize, CornersAreAligned) {
  const auto run = [](int32_t image) {
    return Contrib("CropAndResize")
        .Attr("extrapolation_value", -1.0f)
        .Input(MakeTensor<float>({1, 1, 2, 2}, {0, 1, 2, 3}))
        .Input(MakeTensor<float>({2, 4}, {0, 0, 1, 1, 0, 0, 2, 1}))
        .Input(MakeTensor<int32_t>({2}, {0, image}))
        .Input(MakeTensor<int32_t>({2}, {3, 2}))
        .Run1();
  };
  ASSERT_OK_AND_ASSIGN(Tensor y, run(0));
  EXPECT_THAT(y, TensorIs<float>({2, 1, 3, 2}, {0, 1, 1, 2, 2, 3, 0, 1, 2, 3, -1, -1}, 1e-6));
  EXPECT_THAT(run(1).status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("batch_indices[1]")));
}

TEST(Inverse, NeedsPivoting) {
  ASSERT_OK_AND_ASSIGN(Tensor y,
                       Contrib("Inverse").Input(MakeTensor<float>({1, 2, 2}, {0, 2, 4, 1})).Run1());
  EXPECT_THAT(y, TensorIs<float>({1, 2, 2}, {-0.125f, 0.25f, 0.5f, 0}, 1e-6));
  EXPECT_THAT(Contrib("Inverse").Input(RandomFloats({2, 3}, 1)).Run1().status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("square")));
}

TEST(CDist, EuclideanAndSquared) {
  const Tensor a = MakeTensor<double>({1, 2}, {0, 0}), b = MakeTensor<double>({2, 2}, {3, 4, 1, 0});
  ASSERT_OK_AND_ASSIGN(Tensor y, Contrib("CDist").Input(a).Input(b).Run1());
  EXPECT_THAT(y, TensorIs<double>({1, 2}, {25, 1}));
  ASSERT_OK_AND_ASSIGN(
      y, Contrib("CDist").Attr("metric", std::string("euclidean")).Input(a).Input(b).Run1());
  EXPECT_THAT(y, TensorIs<double>({1, 2}, {5, 1}));
}

TEST(NGramRepeatBlock, BlocksTheThirdOfARepeatedTrigram) {
  const float inf = std::numeric_limits<float>::infinity();
  ASSERT_OK_AND_ASSIGN(Tensor y, Contrib("NGramRepeatBlock")
                                     .Attr("ngram_size", int64_t{3})
                                     .Input(MakeTensor<int64_t>({1, 5}, {1, 2, 3, 1, 2}))
                                     .Input(MakeTensor<float>({1, 4}, {0, 1, 2, 3}))
                                     .Run1());
  EXPECT_THAT(y, TensorIs<float>({1, 4}, {0, 1, 2, -inf}));
}

TEST(FusedMatMul, TransposesBatchesAndMatrices) {
  // A of [K=2, batch=2, M=1] moves to [batch, M, K].
  ASSERT_OK_AND_ASSIGN(Tensor y, Contrib("FusedMatMul")
                                     .Attr("alpha", 0.5f)
                                     .Attr("transBatchA", int64_t{1})
                                     .Attr("transA", int64_t{1})
                                     .Input(MakeTensor<float>({2, 2, 1}, {1, 2, 3, 4}))
                                     .Input(MakeTensor<float>({2, 1}, {2, 20}))
                                     .Run1());
  EXPECT_THAT(y, TensorIs<float>({2, 1, 1}, {31, 42}));
}

TEST(MoE, AddsTheChosenExperts) {
  // Expert e multiplies by e + 1, through relu and a second layer of 10; the router prefers the
  // last two and gives the better one three times the weight of the other.
  const float log3 = 1.0986123f;
  OpTester tester = Contrib("MoE");
  tester.Attr("k", int64_t{2})
      .Attr("normalize_routing_weights", int64_t{1})
      .Input(MakeTensor<float>({1, 1}, {2}))
      .Input(MakeTensor<float>({1, 3}, {-5, 0, log3}))
      .Input(MakeTensor<float>({3, 1, 1}, {1, 2, 3}))
      .NoInput()
      .Input(MakeTensor<float>({3, 1, 1}, {10, 10, 10}))
      .Input(MakeTensor<float>({3, 1}, {100, 4, 8}));
  ASSERT_OK_AND_ASSIGN(Tensor y, tester.Run1());
  EXPECT_THAT(y, TensorIs<float>({1, 1}, {0.25f * (40 + 4) + 0.75f * (60 + 8)}, 1e-4));
}

TEST(QMoE, InterleavedGates) {
  // 4-bit values 9 and 12 are 1 and 4 before their scales.
  OpTester tester = Contrib("QMoE");
  tester.Attr("activation_type", std::string("swiglu"))
      .Attr("swiglu_fusion", int64_t{1})
      .Input(MakeTensor<float>({1, 2}, {1, 1}))
      .Input(MakeTensor<float>({1, 1}, {7}))
      .Input(Bytes({1, 4, 1}, {0x98, 0x8c, 0x88, 0x88}))
      .Input(MakeTensor<float>({1, 4}, {2, 0.5f, 1, 1}))
      .NoInput()
      .Input(Bytes({1, 2, 1}, {0x89, 0x98}))
      .Input(MakeTensor<float>({1, 2}, {1, 10}));
  ASSERT_OK_AND_ASSIGN(Tensor y, tester.Run1());
  // Gate 2, linear part 2, for the first of two inner values; the other is 0.
  const float inner = 2 / (1 + std::exp(-2.0f)) * 2;
  EXPECT_THAT(y, TensorIs<float>({1, 2}, {inner, 0}, 1e-5));
}

TEST(UnfoldTensor, WindowsAreRows) {
  ASSERT_OK_AND_ASSIGN(Tensor y, Contrib("UnfoldTensor")
                                     .Attr("size", int64_t{2})
                                     .Attr("dim", int64_t{0})
                                     .Input(MakeTensor<int32_t>({3, 2}, {0, 1, 2, 3, 4, 5}))
                                     .Run1());
  EXPECT_THAT(y, TensorIs<int32_t>({2, 2, 2}, {0, 2, 1, 3, 2, 4, 3, 5}));
  EXPECT_THAT(
      Contrib("UnfoldTensor").Attr("size", int64_t{4}).Input(RandomFloats({3}, 1)).Run1().status(),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("fewer than one window")));
}

TEST(DynamicTimeWarping, FollowsTheValley) {
  ASSERT_OK_AND_ASSIGN(Tensor y, Contrib("DynamicTimeWarping")
                                     .Input(MakeTensor<float>({3, 3}, {0, 9, 9, 0, 9, 9, 9, 0, 0}))
                                     .Run1());
  EXPECT_THAT(y, TensorIs<int32_t>({2, 4}, {0, 1, 2, 2, 0, 0, 1, 2}));
}

TEST(BifurcationDetector, TakesOverUntilTheSourceIsLeft) {
  ASSERT_OK_AND_ASSIGN(auto outputs, Contrib("BifurcationDetector")
                                         .Input(MakeTensor<int64_t>({4}, {1, 5, 3, 4}))
                                         .Input(MakeTensor<int64_t>({1}, {9}))
                                         .Input(MakeTensor<int64_t>({1}, {1}))
                                         .Input(MakeTensor<int64_t>({4}, {5, 1, 8, 8}))
                                         .Outputs(2)
                                         .Run());
  EXPECT_THAT(outputs[0], TensorIs<int64_t>({3}, {9, 5, 1}));
  EXPECT_THAT(outputs[1], TensorIs<int64_t>({1}, {1}));
}

TEST(WordConvEmbedding, MaximumOverPositions) {
  // One filter of width 1 over embeddings [0], [1], [-1]; the second word is empty.
  ASSERT_OK_AND_ASSIGN(Tensor y, Contrib("WordConvEmbedding")
                                     .Input(MakeTensor<int32_t>({2, 2}, {2, 1, 0, 0}))
                                     .Input(MakeTensor<float>({1, 1, 1, 1}, {2}))
                                     .Input(MakeTensor<float>({1}, {0.5f}))
                                     .Input(MakeTensor<float>({3, 1}, {0, 1, -1}))
                                     .Run1());
  EXPECT_THAT(y, TensorIs<float>({2, 1}, {std::tanh(2.5f), 0}, 1e-6));
}

}  // namespace
}  // namespace inferd::engine
