// LSTM, GRU and RNN against the standard's equations written out in double.
#include <cmath>
#include <functional>
#include <numeric>
#include <string>
#include <vector>

#include "tests/engine/ops/op_tester.h"

namespace inferd::engine {
namespace {

using ::testing::HasSubstr;
using Vector = std::vector<double>;
using Function = std::function<double(double)>;

double Sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double Tanh(double x) { return std::tanh(x); }

// A layer of one direction in layout 0, and what it is to be computed with.
struct Layer {
  int64_t steps = 3, batch = 2, input = 3, hidden = 2;
  Tensor x, w, r, b, h, c, p;
  std::vector<int32_t> lengths;
  bool reverse = false;

  explicit Layer(int64_t gates, int64_t input_size = 3, int64_t hidden_size = 2)
      : input(input_size), hidden(hidden_size), lengths(batch, static_cast<int32_t>(steps)) {
    x = RandomFloats({steps, batch, input}, 1);
    w = RandomFloats({1, gates * hidden, input}, 2);
    r = RandomFloats({1, gates * hidden, hidden}, 3);
    b = RandomFloats({1, 2 * gates * hidden}, 4);
    h = RandomFloats({1, batch, hidden}, 5);
    c = RandomFloats({1, batch, hidden}, 6);
    p = RandomFloats({1, 3 * hidden}, 7);
  }

  // x_t W^T for one row of W, and the same of R.
  double InputProduct(int64_t t, int64_t n, int64_t row) const {
    double sum = 0;
    for (int64_t i = 0; i < input; ++i) {
      sum +=
          double{x.data<float>()[(t * batch + n) * input + i]} * w.data<float>()[row * input + i];
    }
    return sum;
  }
  double StateProduct(const Vector& state, int64_t row) const {
    double sum = 0;
    for (int64_t i = 0; i < hidden; ++i) sum += state[i] * r.data<float>()[row * hidden + i];
    return sum;
  }
  Vector Initial(const Tensor& state, int64_t n) const {
    const float* row = state.data<float>() + n * hidden;
    return Vector(row, row + hidden);
  }

  // Calls step(t, n, h, c) for every moment of every sequence in its order, and returns Y, Y_h and
  // Y_c. `step` replaces h and c.
  std::vector<Tensor> Run(
      const std::function<void(int64_t, int64_t, Vector&, Vector&)>& step) const {
    std::vector<float> y(steps * batch * hidden), y_h(batch * hidden), y_c(batch * hidden);
    for (int64_t n = 0; n < batch; ++n) {
      Vector state = Initial(h, n), cell = Initial(c, n);
      for (int64_t s = 0; s < lengths[n]; ++s) {
        const int64_t t = reverse ? lengths[n] - 1 - s : s;
        step(t, n, state, cell);
        std::copy(state.begin(), state.end(), y.begin() + (t * batch + n) * hidden);
      }
      if (lengths[n] == 0) continue;
      std::copy(state.begin(), state.end(), y_h.begin() + n * hidden);
      std::copy(cell.begin(), cell.end(), y_c.begin() + n * hidden);
    }
    return {Tensor::FromValues<float>({steps, 1, batch, hidden}, y),
            Tensor::FromValues<float>({1, batch, hidden}, y_h),
            Tensor::FromValues<float>({1, batch, hidden}, y_c)};
  }

  Tensor Lengths() const {
    return Tensor::FromValues<int32_t>({batch}, absl::Span<const int32_t>(lengths));
  }
};

struct LstmOptions {
  Function f = Sigmoid, g = Tanh, h = Tanh;
  double clip = 1e30;
  bool input_forget = false;
};

std::vector<Tensor> ExpectedLstm(const Layer& layer, const LstmOptions& options = {}) {
  const int64_t size = layer.hidden;
  const float* bias = layer.b.data<float>();
  const float* peephole = layer.p.data<float>();
  return layer.Run([&](int64_t t, int64_t n, Vector& h, Vector& c) {
    const Vector before = h;
    const auto gate = [&](int64_t k, int64_t j, double extra) {
      const int64_t row = k * size + j;
      const double sum = layer.InputProduct(t, n, row) + layer.StateProduct(before, row) +
                         bias[row] + bias[4 * size + row] + extra;
      return std::fmin(std::fmax(sum, -options.clip), options.clip);
    };
    for (int64_t j = 0; j < size; ++j) {
      const double i = options.f(gate(0, j, peephole[j] * c[j]));
      const double f =
          options.input_forget ? 1 - i : options.f(gate(2, j, peephole[2 * size + j] * c[j]));
      c[j] = f * c[j] + i * options.g(gate(3, j, 0));
      const double o = options.f(gate(1, j, peephole[size + j] * c[j]));
      h[j] = o * options.h(c[j]);
    }
  });
}

OpTester LstmTester(const Layer& layer) {
  OpTester tester("LSTM");
  tester.Input(layer.x)
      .Constant(layer.w)
      .Constant(layer.r)
      .Constant(layer.b)
      .Input(layer.Lengths())
      .Input(layer.h)
      .Input(layer.c)
      .Constant(layer.p)
      .Outputs(3)
      .Attr("direction", std::string(layer.reverse ? "reverse" : "forward"));
  return tester;
}

void ExpectOutputs(const std::vector<Tensor>& actual, const std::vector<Tensor>& expected) {
  for (size_t i = 0; i < actual.size(); ++i) {
    EXPECT_TRUE(TensorsClose(actual[i], expected[i], 1e-6, 1e-5)) << "output " << i;
  }
}

TEST(LstmTest, EquationsWithPeepholesStatesAndLengths) {
  // 19 hidden units and 21 inputs leave a remainder at every vector width.
  Layer layer(4, 21, 19);
  for (bool reverse : {false, true}) {
    layer.reverse = reverse;
    layer.lengths = {3, 1};
    ASSERT_OK_AND_ASSIGN(const auto y, LstmTester(layer).Run());
    ExpectOutputs(y, ExpectedLstm(layer));
  }
}

TEST(LstmTest, ClipAndInputForget) {
  const Layer layer(4);
  ASSERT_OK_AND_ASSIGN(
      const auto y, LstmTester(layer).Attr("clip", 0.25f).Attr("input_forget", int64_t{1}).Run());
  ExpectOutputs(y, ExpectedLstm(layer, {.clip = 0.25, .input_forget = true}));
}

TEST(LstmTest, SequenceOfNoStepsHasZeroStates) {
  Layer layer(4);
  layer.lengths = {0, 3};
  ASSERT_OK_AND_ASSIGN(const auto y, LstmTester(layer).Run());
  ExpectOutputs(y, ExpectedLstm(layer));
}

TEST(LstmTest, ActivationsByNameWithTheirParameters) {
  struct Case {
    std::vector<std::string> names;
    std::vector<float> alpha, beta;
    LstmOptions options;
  };
  const auto scaled = [](double a, double b) {
    return [=](double x) { return a * std::tanh(b * x); };
  };
  const Case cases[] = {
      // Values go, in order, to the functions that take one; names are read in any case.
      {{"affine", "SOFTSIGN", "ScaledTanh"},
       {0.5f, 0.75f},
       {0.25f, 1.5f},
       {[](double x) { return 0.5 * x + 0.25; }, [](double x) { return x / (1 + std::abs(x)); },
        scaled(0.75, 1.5)}},
      {{"HardSigmoid", "LeakyRelu", "Elu"},
       {},
       {},
       {[](double x) { return std::fmin(std::fmax(0.2 * x + 0.5, 0), 1); },
        [](double x) { return x < 0 ? 0.01 * x : x; },
        [](double x) { return x < 0 ? std::expm1(x) : x; }}},
      {{"Softplus", "Relu", "ThresholdedRelu"},
       {0.125f},
       {},
       {[](double x) { return std::log1p(std::exp(x)); }, [](double x) { return std::fmax(x, 0); },
        [](double x) { return x >= 0.125 ? x : 0; }}},
  };
  const Layer layer(4);
  for (const Case& c : cases) {
    OpTester tester = LstmTester(layer);
    tester.Attr("activations", c.names);
    if (!c.alpha.empty()) tester.Attr("activation_alpha", c.alpha);
    if (!c.beta.empty()) tester.Attr("activation_beta", c.beta);
    ASSERT_OK_AND_ASSIGN(const auto y, tester.Run());
    ExpectOutputs(y, ExpectedLstm(layer, c.options));
  }
}

std::vector<Tensor> ExpectedGru(const Layer& layer, bool linear_before_reset) {
  const int64_t size = layer.hidden;
  const float* bias = layer.b.data<float>();
  return layer.Run([&](int64_t t, int64_t n, Vector& h, Vector&) {
    Vector z(size), reset(size), scaled(size);
    for (int64_t j = 0; j < size; ++j) {
      const auto gate = [&](int64_t row) {
        return Sigmoid(layer.InputProduct(t, n, row) + layer.StateProduct(h, row) + bias[row] +
                       bias[3 * size + row]);
      };
      z[j] = gate(j);
      reset[j] = gate(size + j);
      scaled[j] = reset[j] * h[j];
    }
    const Vector before = h;
    for (int64_t j = 0; j < size; ++j) {
      const int64_t row = 2 * size + j;
      const double recurrent =
          linear_before_reset ? reset[j] * (layer.StateProduct(before, row) + bias[3 * size + row])
                              : layer.StateProduct(scaled, row) + bias[3 * size + row];
      const double next = std::tanh(layer.InputProduct(t, n, row) + bias[row] + recurrent);
      h[j] = (1 - z[j]) * next + z[j] * before[j];
    }
  });
}

TEST(GruTest, EquationsWithResetBeforeAndAfterTheProduct) {
  for (int64_t linear_before_reset : {0, 1}) {
    for (bool reverse : {false, true}) {
      Layer layer(3, 5, 9);
      layer.lengths = {2, 3};
      layer.reverse = reverse;
      OpTester tester("GRU");
      tester.Attr("linear_before_reset", linear_before_reset)
          .Attr("direction", std::string(reverse ? "reverse" : "forward"))
          .Input(layer.x)
          .Input(layer.w)
          .Input(layer.r)
          .Input(layer.b)
          .Input(layer.Lengths())
          .Input(layer.h)
          .Outputs(2);
      ASSERT_OK_AND_ASSIGN(const auto y, tester.Run());
      ExpectOutputs(y, ExpectedGru(layer, linear_before_reset != 0));
    }
  }
}

// Rows of b follow those of a along axis 0.
Tensor Stack(const Tensor& a, const Tensor& b) {
  std::vector<float> values(a.values<float>().begin(), a.values<float>().end());
  values.insert(values.end(), b.values<float>().begin(), b.values<float>().end());
  Shape shape = a.shape();
  shape[0] += b.shape()[0];
  return Tensor::FromValues<float>(shape, absl::Span<const float>(values));
}
Tensor SwapFirstAxes(const Tensor& x) {
  const int64_t a = x.shape()[0], b = x.shape()[1];
  const int64_t inner = x.shape().Product(2, x.shape().rank());
  std::vector<float> values(x.num_elements());
  for (int64_t i = 0; i < a * b * inner; ++i) {
    values[(i / inner % b * a + i / inner / b) * inner + i % inner] = x.data<float>()[i];
  }
  Shape shape = x.shape();
  std::swap(shape[0], shape[1]);
  return Tensor::FromValues<float>(shape, absl::Span<const float>(values));
}

TEST(GruTest, BidirectionalIsTwoLayersAndLayout1SwapsTimeAndBatch) {
  const Layer forward(3);
  Layer backward(3);
  backward.reverse = true;
  backward.w = RandomFloats(forward.w.shape(), 11);
  backward.r = RandomFloats(forward.r.shape(), 12);
  backward.b = RandomFloats(forward.b.shape(), 13);
  backward.h = RandomFloats(forward.h.shape(), 14);
  const auto one = ExpectedGru(forward, false), two = ExpectedGru(backward, false);
  const Tensor h = Stack(forward.h, backward.h);

  OpTester tester("GRU");
  tester.Attr("direction", std::string("bidirectional"))
      .Attr("layout", int64_t{1})
      .Input(SwapFirstAxes(forward.x))
      .Constant(Stack(forward.w, backward.w))
      .Constant(Stack(forward.r, backward.r))
      .Constant(Stack(forward.b, backward.b))
      .NoInput()
      .Input(SwapFirstAxes(h))
      .Outputs(2);
  ASSERT_OK_AND_ASSIGN(const auto y, tester.Run());
  ASSERT_EQ(y[0].shape(), (Shape{2, 3, 2, 2}));
  for (int64_t t = 0; t < 3; ++t) {
    for (int64_t n = 0; n < 2; ++n) {
      for (int64_t j = 0; j < 2; ++j) {
        const int64_t from = (t * 2 + n) * 2 + j, to = (n * 3 + t) * 4 + j;
        EXPECT_NEAR(y[0].data<float>()[to], one[0].data<float>()[from], 1e-6);
        EXPECT_NEAR(y[0].data<float>()[to + 2], two[0].data<float>()[from], 1e-6);
      }
    }
  }
  EXPECT_THAT(y[1], IsCloseTo(SwapFirstAxes(Stack(one[1], two[1])), 1e-6, 1e-5));
}

TEST(RnnTest, AnyElementTypeAndAnySubsetOfOutputs) {
  const auto run = [&]<typename T>(double tolerance) {
    OpTester tester("RNN");
    tester.Input(MakeFrom<T>({2, 1, 1}, {1, 2}))
        .Constant(MakeFrom<T>({1, 1, 1}, {0.5f}))
        .Input(MakeFrom<T>({1, 1, 1}, {0.25f}))
        .Outputs(2, {0});
    ASSERT_OK_AND_ASSIGN(const auto y, tester.Run());
    const double expected = std::tanh(0.5 * 2 + 0.25 * std::tanh(0.5));
    EXPECT_THAT(y[1], TensorIsFrom<T>({1, 1, 1}, {static_cast<float>(expected)}, tolerance));
  };
  run.operator()<float>(1e-6);
  run.operator()<double>(1e-7);
  run.operator()<Float16>(1e-3);
  run.operator()<BFloat16>(1e-2);
}

TEST(RnnTest, ManyStepsOfAWideLayer) {
  // More gates than are computed at once, and enough work to split over threads.
  constexpr int64_t kSteps = 300, kHidden = 512;
  const Tensor x = RandomFloats({kSteps, 1, 4}, 1);
  const Tensor w = RandomFloats({1, kHidden, 4}, 2);
  const Tensor zero =
      Tensor::FromValues<float>({1, kHidden, kHidden}, std::vector<float>(kHidden * kHidden));
  ASSERT_OK_AND_ASSIGN(const Tensor y, OpTester("RNN").Input(x).Constant(w).Constant(zero).Run1());
  for (int64_t t : {int64_t{0}, int64_t{255}, int64_t{256}, kSteps - 1}) {
    for (int64_t j = 0; j < kHidden; ++j) {
      const double sum = std::inner_product(x.data<float>() + t * 4, x.data<float>() + t * 4 + 4,
                                            w.data<float>() + j * 4, 0.0);
      ASSERT_NEAR(y.data<float>()[t * kHidden + j], std::tanh(sum), 1e-6);
    }
  }
}

TEST(RecurrentTest, EmptyBatchAndNoSteps) {
  const Tensor w = RandomFloats({1, 8, 3}, 1), r = RandomFloats({1, 8, 2}, 2);
  for (const Shape& shape : {Shape{3, 0, 3}, Shape{0, 2, 3}}) {
    ASSERT_OK_AND_ASSIGN(
        const auto y,
        OpTester("LSTM").Input(RandomFloats(shape, 3)).Constant(w).Constant(r).Outputs(3).Run());
    EXPECT_EQ(y[0].shape(), (Shape{shape[0], 1, shape[1], 2}));
    for (float v : y[1].values<float>()) EXPECT_EQ(v, 0);
  }
}

TEST(RecurrentTest, BadArgumentsAreNamed) {
  const Layer layer(4);
  const auto error = [&](OpTester tester) { return tester.Run().status(); };
  const auto plain = [&] { return LstmTester(layer); };
  const auto invalid = [](const char* text) {
    return StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(text));
  };
  EXPECT_THAT(error(std::move(plain().Attr("direction", std::string("up")))),
              invalid("attribute direction is \"up\""));
  EXPECT_THAT(error(std::move(plain().Attr("layout", int64_t{2}))), invalid("attribute layout"));
  EXPECT_THAT(error(std::move(plain().Attr("clip", -1.0f))), invalid("attribute clip"));
  EXPECT_THAT(error(std::move(plain().Attr("hidden_size", int64_t{5}))),
              invalid("attribute hidden_size is 5"));
  EXPECT_THAT(error(std::move(plain().Attr("activations",
                                           std::vector<std::string>{"Sigmoid", "Tanh", "Cosine"}))),
              invalid("\"Cosine\""));
  EXPECT_THAT(
      error(std::move(plain().Attr("activations", std::vector<std::string>{"Sigmoid", "Tanh"}))),
      invalid("names 2 functions, expected 3"));
  Layer wrong = layer;
  wrong.p = RandomFloats({1, 5}, 1);
  EXPECT_THAT(error(LstmTester(wrong)), invalid("input 7 (P) has shape [1,5], expected [1,6]"));
  wrong = layer;
  wrong.lengths = {4, 1};
  EXPECT_THAT(error(LstmTester(wrong)), invalid("(sequence_lens) holds 4"));
}

}  // namespace
}  // namespace inferd::engine
