// Softmax, normalization, biased GELU and transposition: the candidates against the reference
// kernels, and their loops on every instruction set of this machine against double precision.
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/providers/cpu/vector/normalize_rows.h"
#include "engine/providers/cpu/vector/softmax_rows.h"
#include "engine/providers/cpu/vector/transpose_tiles.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/engine/cpu/candidate_tester.h"
#include "tests/engine/ops/op_tester.h"

namespace inferd::engine {
namespace {

constexpr auto kPlain = CandidateTester::Layouts::kPlain;
using Ints = std::vector<int64_t>;

TEST(VectorSoftmax, EqualsReference) {
  for (const char* op : {"Softmax", "LogSoftmax"}) {
    for (const Shape& shape : {Shape{3, 1}, Shape{5, 7, 49}, Shape{2, 70, 131}, Shape{1, 4099}}) {
      for (int64_t axis = 0; axis < shape.rank(); ++axis) {
        SCOPED_TRACE(absl::StrCat(op, shape.ToString(), " axis ", axis));
        CandidateTester tester(op);
        tester.Attr("axis", axis).Input(RandomFloats(shape, 1, -30, 30));
        // Results of LogSoftmax near 0 are differences of larger numbers.
        tester.Tolerance(op[0] == 'L' ? 0x1p-20 : 0x1p-126, op[0] == 'L' ? 0x1p-20 : 1e-6);
        EXPECT_EQ(tester.Check("vector_softmax", kPlain), absl::OkStatus());
      }
    }
  }
}

TEST(VectorSoftmax, MaskedAndUndefinedRows) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Tensor x = MakeTensor<float>(
      {5, 3}, {-kInf, 1, 2, -kInf, -kInf, -kInf, 1, nan, 2, kInf, 0, 0, -3e38f, 0, 3e38f});
  for (const char* op : {"Softmax", "LogSoftmax"}) {
    for (const int64_t axis : {0, 1}) {
      CandidateTester tester(op);
      tester.Attr("axis", axis).Input(x).Tolerance(1e-7, 1e-6);
      EXPECT_EQ(tester.Check("vector_softmax", kPlain), absl::OkStatus()) << op << axis;
    }
  }
}

TEST(VectorSoftmax, WithinSixUlpOnEveryInstructionSet) {
  for (const auto* const* kernels = cpu::AllSoftmax(); *kernels != nullptr; ++kernels) {
    for (const int64_t n : {1, 2, 15, 16, 17, 33, 128, 1000, 5000}) {
      const Tensor x = RandomFloats({n}, static_cast<uint32_t>(n), -40, 40);
      const float* v = x.data<float>();
      std::vector<float> y(n);
      (*kernels)->softmax(v, y.data(), 1, n);
      float max = v[0];
      for (int64_t i = 0; i < n; ++i) max = std::max(max, v[i]);
      double sum = 0;
      for (int64_t i = 0; i < n; ++i) sum += std::exp(static_cast<double>(v[i] - max));
      for (int64_t i = 0; i < n; ++i) {
        const double exact = std::exp(static_cast<double>(v[i] - max)) / sum;
        EXPECT_NEAR(y[i], exact, 6 * 0x1p-23 * exact) << (*kernels)->isa << " " << i << "/" << n;
      }
    }
  }
}

TEST(VectorLayerNorm, EqualsReference) {
  for (const char* op : {"LayerNormalization", "RMSNormalization"}) {
    for (const Shape& shape : {Shape{3, 1}, Shape{2, 5, 7}, Shape{4, 768}, Shape{2, 5003}}) {
      for (const int64_t axis : {-1, 1}) {
        SCOPED_TRACE(absl::StrCat(op, shape.ToString(), " axis ", axis));
        const int first = axis < 0 ? shape.rank() - 1 : 1;
        Shape row;
        for (int d = first; d < shape.rank(); ++d) row.push_back(shape[d]);
        CandidateTester tester(op);
        tester.Attr("axis", axis).Tolerance(2e-6, 2e-6);
        tester.Input(RandomFloats(shape, 1, -1, 3)).Constant(RandomFloats(row, 2));
        if (op[0] == 'L') tester.Constant(RandomFloats(row, 3));
        EXPECT_EQ(tester.Check("vector_layer_norm", kPlain), absl::OkStatus());
      }
    }
  }
}

TEST(VectorLayerNorm, ResidualsEqualReference) {
  for (const char* op : {"SkipLayerNormalization", "SkipSimplifiedLayerNormalization"}) {
    const bool centred = op[4] == 'L';
    for (const bool biased : {false, true}) {
      for (const Shape& skip : {Shape{2, 3, 100}, Shape{1, 3, 100}, Shape{3, 100}}) {
        CandidateTester tester(absl::StrCat("com.microsoft::", op));
        tester.Tolerance(2e-6, 2e-6).Input(RandomFloats({2, 3, 100}, 1));
        tester.Input(RandomFloats(skip, 2)).Constant(RandomFloats({100}, 3));
        if (centred) tester.Constant(RandomFloats({100}, 4));
        if (biased) tester.Constant(RandomFloats({100}, 5));
        EXPECT_EQ(tester.Check("vector_layer_norm", kPlain), absl::OkStatus())
            << op << skip.ToString();
      }
    }
  }
}

TEST(VectorLayerNorm, ErrorDoesNotGrowWithTheMean) {
  for (const auto* const* kernels = cpu::AllNormalize(); *kernels != nullptr; ++kernels) {
    for (const int64_t n : {3, 64, 1000, 10007}) {
      for (const float mean : {0.0f, 1000.0f, -1e5f}) {
        Tensor x = RandomFloats({n}, 7, mean - 1, mean + 1);
        const float* v = x.data<float>();
        const std::vector<float> scale(n, 2.0f), shift(n, 0.5f);
        std::vector<float> y(n);
        const cpu::RowMoments moments =
            (*kernels)->normalize({n, 1e-5, true, scale.data(), shift.data()}, v, y.data());
        double sum = 0, square = 0;
        for (int64_t i = 0; i < n; ++i) sum += v[i];
        sum /= static_cast<double>(n);
        for (int64_t i = 0; i < n; ++i) square += (v[i] - sum) * (v[i] - sum);
        const double inverse = 1 / std::sqrt(square / static_cast<double>(n) + 1e-5);
        EXPECT_NEAR(moments.mean, sum, 0x1p-23 * std::abs(sum) + 1e-7);
        EXPECT_NEAR(moments.inverse, inverse, 0x1p-20 * inverse);
        for (int64_t i = 0; i < n; ++i) {
          const double normal = (v[i] - sum) * inverse * 2;
          EXPECT_NEAR(y[i], normal + 0.5, 0x1p-20 * (std::abs(normal) + 0.5))
              << (*kernels)->isa << " " << i << "/" << n << " around " << mean;
        }
      }
    }
  }
}

TEST(VectorLayerNorm, Declines) {
  CandidateTester tester("LayerNormalization");
  tester.Input(RandomFloats({2, 3}, 1)).Constant(RandomFloats({1}, 2));
  EXPECT_THAT(std::string(tester.Offer("vector_layer_norm").message()),
              ::testing::HasSubstr("one number for each element of a row"));
}

TEST(VectorGelu, EqualsReference) {
  for (const char* op : {"Gelu", "FastGelu", "QuickGelu"}) {
    CandidateTester tester(absl::StrCat("com.microsoft::", op));
    tester.Input(RandomFloats({3, 1001}, 1, -9, 9)).Tolerance(1e-6, 1e-6);
    EXPECT_EQ(tester.Check("vector_unary", kPlain), absl::OkStatus()) << op;
  }
  for (const char* op : {"BiasGelu", "FastGelu"}) {
    CandidateTester tester(absl::StrCat("com.microsoft::", op));
    tester.Input(RandomFloats({3, 2, 2501}, 1, -6, 6)).Constant(RandomFloats({2501}, 2));
    tester.Tolerance(1e-6, 1e-6);
    EXPECT_EQ(tester.Check("vector_bias_gelu", kPlain), absl::OkStatus()) << op;
  }
}

TEST(VectorTranspose, EqualsReference) {
  const std::vector<std::pair<Shape, Ints>> cases = {
      {{7}, {0}},
      {{1, 1}, {1, 0}},
      {{37, 21}, {1, 0}},
      {{3, 64, 100}, {0, 2, 1}},
      {{2, 12, 9, 64}, {0, 2, 1, 3}},
      {{2, 9, 11, 35}, {0, 3, 1, 2}},
      {{2, 35, 9, 11}, {0, 2, 3, 1}},
      {{2, 5, 3, 8}, {3, 2, 1, 0}},
      {{2, 3, 4, 5, 6}, {4, 0, 2, 1, 3}},
      {{6, 1, 5, 1}, {3, 2, 1, 0}},
      {{2, 3, 129, 4}, {0, 1, 3, 2}},
  };
  for (const auto& [shape, perm] : cases) {
    CandidateTester tester("Transpose");
    tester.Attr("perm", perm).Input(RandomFloats(shape, 1)).Tolerance(0, 0);
    EXPECT_EQ(tester.Check("vector_transpose", kPlain), absl::OkStatus()) << shape.ToString();
  }
}

TEST(VectorTranspose, EveryInstructionSet) {
  for (const auto* const* kernels = cpu::AllTranspose(); *kernels != nullptr; ++kernels) {
    for (const int64_t rows : {1, 4, 7, 8, 30}) {
      for (const int64_t columns : {1, 3, 8, 15, 16, 41}) {
        std::vector<float> x(rows * columns), y(rows * columns, -1.0f);
        for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i);
        (*kernels)->transpose(x.data(), columns, y.data(), rows, rows, columns);
        for (int64_t i = 0; i < rows * columns; ++i) {
          EXPECT_EQ(y[i % columns * rows + i / columns], x[i]) << (*kernels)->isa;
        }
      }
    }
  }
}

}  // namespace
}  // namespace inferd::engine
