#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/engine/cpu/candidate_tester.h"
#include "tests/engine/ops/op_tester.h"

namespace inferd::engine {
namespace {

constexpr char kMatMul[] = "onednn_matmul";

TEST(OneDnnMatMul, RanksAndBroadcast) {
  const std::pair<Shape, Shape> cases[] = {
      {{5, 7}, {7, 9}},
      {{1, 64}, {64, 33}},
      {{7}, {7, 9}},
      {{5, 7}, {7}},
      {{2, 3, 5, 7}, {7, 9}},
      {{2, 3, 5, 7}, {2, 3, 7, 9}},
      {{2, 1, 5, 7}, {1, 3, 7, 9}},
      {{3, 5, 7}, {2, 3, 7, 9}},
      {{5, 7}, {4, 7, 9}},
      {{7}, {4, 7, 9}},
      {{4, 5, 7}, {7}},
      {{128, 96}, {96, 80}},
  };
  for (const auto& [a, b] : cases) {
    SCOPED_TRACE(a.ToString() + " x " + b.ToString());
    CandidateTester constant("MatMul");
    constant.Input(RandomFloats(a, 1)).Constant(RandomFloats(b, 2));
    EXPECT_EQ(constant.Check(kMatMul, CandidateTester::Layouts::kPlain), absl::OkStatus());
    CandidateTester runtime("MatMul");
    runtime.Input(RandomFloats(a, 1)).Input(RandomFloats(b, 2));
    EXPECT_EQ(runtime.Check(kMatMul, CandidateTester::Layouts::kPlain), absl::OkStatus());
  }
}

TEST(OneDnnMatMul, BiasAndActivation) {
  for (const Shape& a : {Shape{6, 20}, Shape{2, 3, 20}}) {
    CandidateTester tester("inferd::FusedMatMul");
    tester.Input(RandomFloats(a, 1))
        .Constant(RandomFloats({20, 24}, 2))
        .Constant(RandomFloats({24}, 3))
        .Attr("activations", std::vector<std::string>{"gelu"})
        .Attr("activation_params", std::vector<float>{0, 0});
    EXPECT_EQ(tester.Check(kMatMul, CandidateTester::Layouts::kPlain), absl::OkStatus());
  }
}

TEST(OneDnnGemm, TransposesAndAddends) {
  const Shape addends[] = {{9}, {1, 9}, {5, 9}, {1}, {}};
  for (int64_t trans_a : {0, 1}) {
    for (int64_t trans_b : {0, 1}) {
      for (const Shape& c : addends) {
        SCOPED_TRACE(testing::Message()
                     << "transA " << trans_a << " transB " << trans_b << " C " << c.ToString());
        CandidateTester tester("Gemm");
        tester.Input(RandomFloats(trans_a ? Shape{7, 5} : Shape{5, 7}, 1))
            .Constant(RandomFloats(trans_b ? Shape{9, 7} : Shape{7, 9}, 2))
            .Constant(RandomFloats(c, 3))
            .Attr("transA", trans_a)
            .Attr("transB", trans_b);
        EXPECT_EQ(tester.Check(kMatMul), absl::OkStatus());
      }
    }
  }
}

// oneDNN 2.6 has reference loops only for an addend per row.
TEST(OneDnnGemm, DeclinesColumnAddend) {
  CandidateTester tester("Gemm");
  tester.Input(RandomFloats({5, 7}, 1))
      .Constant(RandomFloats({7, 9}, 2))
      .Constant(RandomFloats({5, 1}, 3));
  EXPECT_THAT(tester.Offer(kMatMul), StatusIs(absl::StatusCode::kUnimplemented,
                                              testing::HasSubstr("no fast implementation")));
}

TEST(OneDnnGemm, AlphaAndActivation) {
  CandidateTester tester("inferd::FusedGemm");
  tester.Input(RandomFloats({5, 7}, 1))
      .Constant(RandomFloats({7, 9}, 2))
      .Constant(RandomFloats({9}, 3))
      .Attr("alpha", 0.5f)
      .Attr("activations", std::vector<std::string>{"relu"})
      .Attr("activation_params", std::vector<float>{0, 0});
  EXPECT_EQ(tester.Check(kMatMul), absl::OkStatus());
}

TEST(OneDnnGemm, DeclinesBeta) {
  CandidateTester tester("Gemm");
  tester.Input(RandomFloats({5, 7}, 1))
      .Constant(RandomFloats({7, 9}, 2))
      .Constant(RandomFloats({9}, 3))
      .Attr("beta", 0.5f);
  EXPECT_THAT(tester.Offer(kMatMul),
              StatusIs(absl::StatusCode::kUnimplemented, testing::HasSubstr("beta")));
}

TEST(VectorMatVec, ShapesTransposesAndAddends) {
  for (const int64_t k : {1, 7, 64, 131}) {
    for (const int64_t n : {1, 9, 16, 1030}) {
      for (const int64_t trans_b : {0, 1}) {
        for (const Shape& c : {Shape{n}, Shape{1, n}, Shape{1}, Shape{}}) {
          SCOPED_TRACE(testing::Message() << k << " " << n << " " << trans_b << c.ToString());
          CandidateTester tester("inferd::FusedGemm");
          tester.Input(RandomFloats({1, k}, 1))
              .Input(RandomFloats(trans_b ? Shape{n, k} : Shape{k, n}, 2))
              .Constant(RandomFloats(c, 3))
              .Attr("transB", trans_b)
              .Attr("alpha", 0.5f)
              .Attr("beta", 2.0f)
              .Attr("activations", std::vector<std::string>{"leaky_relu"})
              .Attr("activation_params", std::vector<float>{0.1f, 0});
          EXPECT_EQ(tester.Check("vector_matvec"), absl::OkStatus());
        }
      }
    }
  }
}

TEST(VectorMatVec, MatMulRanks) {
  for (const Shape& a : {Shape{20}, Shape{1, 20}, Shape{1, 1, 20}}) {
    CandidateTester tester("MatMul");
    tester.Input(RandomFloats(a, 1)).Constant(RandomFloats({20, 24}, 2));
    EXPECT_EQ(tester.Check("vector_matvec", CandidateTester::Layouts::kPlain), absl::OkStatus());
  }
  CandidateTester rows("MatMul");
  rows.Input(RandomFloats({2, 20}, 1)).Constant(RandomFloats({20, 24}, 2));
  EXPECT_THAT(rows.Offer("vector_matvec"),
              StatusIs(absl::StatusCode::kUnimplemented, testing::HasSubstr("one row")));
}

}  // namespace
}  // namespace inferd::engine
