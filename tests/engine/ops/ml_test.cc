// The tabular operators of ai.onnx.ml.
#include <cmath>
#include <limits>

#include "tests/engine/ops/op_tester.h"

namespace inferd::engine {
namespace {

using ::testing::HasSubstr;
using Ints = std::vector<int64_t>;
using Floats = std::vector<float>;
using Strings = std::vector<std::string>;

constexpr char kMl[] = "ai.onnx.ml";

// Two stumps: x0 <= 1 and x1 > 2, leaves 1 and 2 each.
OpTester Stumps(const char* op) {
  OpTester t(op, kMl);
  t.Attr("nodes_treeids", Ints{0, 0, 0, 7, 7, 7})
      .Attr("nodes_nodeids", Ints{0, 1, 2, 0, 1, 2})
      .Attr("nodes_featureids", Ints{0, 0, 0, 1, 0, 0})
      .Attr("nodes_modes", Strings{"BRANCH_LEQ", "LEAF", "LEAF", "BRANCH_GT", "LEAF", "LEAF"})
      .Attr("nodes_values", Floats{1, 0, 0, 2, 0, 0})
      .Attr("nodes_truenodeids", Ints{1, 0, 0, 1, 0, 0})
      .Attr("nodes_falsenodeids", Ints{2, 0, 0, 2, 0, 0})
      .Attr("nodes_missing_value_tracks_true", Ints{1, 0, 0, 0, 0, 0});
  return t;
}

OpTester Regressor(const char* aggregate) {
  OpTester t = Stumps("TreeEnsembleRegressor");
  t.Attr("aggregate_function", std::string(aggregate))
      .Attr("n_targets", int64_t{2})
      .Attr("target_treeids", Ints{0, 0, 7, 7, 7})
      .Attr("target_nodeids", Ints{1, 2, 1, 2, 2})
      .Attr("target_ids", Ints{0, 1, 0, 0, 1})
      .Attr("target_weights", Floats{1, 2, 4, -8, 16})
      .Attr("base_values", Floats{100, 200});
  return t;
}

TEST(TreeEnsembleRegressor, Aggregates) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Tensor x = MakeTensor<float>({3, 2}, {1, 3, 2, 2, nan, nan});
  // Votes by row: {0:1, 0:4}, {1:2, 0:-8, 1:16}, {0:1, 0:-8, 1:16}.
  const auto run = [&](const char* aggregate) { return Regressor(aggregate).Input(x).Run1(); };
  ASSERT_OK_AND_ASSIGN(Tensor y, run("SUM"));
  EXPECT_THAT(y, TensorIs<float>({3, 2}, {105, 200, 92, 218, 93, 216}));
  ASSERT_OK_AND_ASSIGN(y, run("AVERAGE"));
  EXPECT_THAT(y, TensorIs<float>({3, 2}, {102.5f, 200, 96, 209, 96.5f, 208}));
  ASSERT_OK_AND_ASSIGN(y, run("MIN"));
  EXPECT_THAT(y, TensorIs<float>({3, 2}, {101, 200, 92, 202, 92, 216}));
  ASSERT_OK_AND_ASSIGN(y, run("MAX"));
  EXPECT_THAT(y, TensorIs<float>({3, 2}, {104, 200, 92, 216, 101, 216}));
  EXPECT_THAT(run("MEDIAN").status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("aggregate_function")));
}

TEST(TreeEnsembleRegressor, IntegersDoublesAndTensorAttributes) {
  OpTester t = Stumps("TreeEnsembleRegressor");
  t.Attr("nodes_values", Floats{})
      .Attr("nodes_values_as_tensor", MakeTensor<double>({6}, {1e9 + 0.25, 0, 0, 2, 0, 0}))
      .Attr("target_treeids", Ints{0, 0, 7, 7})
      .Attr("target_nodeids", Ints{1, 2, 1, 2})
      .Attr("target_ids", Ints{0, 0, 0, 0})
      .Attr("target_weights_as_tensor", MakeTensor<double>({4}, {1, 2, 10, 20}))
      .Input(MakeTensor<double>({2, 2}, {1e9, 3, 1e9 + 0.5, 3}));
  ASSERT_OK_AND_ASSIGN(Tensor y, t.Run1());
  EXPECT_THAT(y, TensorIs<float>({2, 1}, {11, 12}));
}

TEST(TreeEnsemble, RefusesBrokenTrees) {
  const Tensor x = MakeTensor<float>({1, 2}, {1, 1});
  const auto run = [&](const char* name, AttributeValue value) {
    return Regressor("SUM").Attr(name, std::move(value)).Input(x).Run1().status();
  };
  EXPECT_THAT(run("nodes_truenodeids", Ints{9, 0, 0, 1, 0, 0}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("node 9 of tree 0")));
  EXPECT_THAT(run("nodes_truenodeids", Ints{0, 0, 0, 1, 0, 0}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("circle")));
  EXPECT_THAT(run("nodes_nodeids", Ints{0, 1, 1, 0, 1, 2}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("given twice")));
  EXPECT_THAT(run("target_ids", Ints{0, 1, 0, 0, 2}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("target_ids holds 2")));
  EXPECT_THAT(run("nodes_values", Floats{1}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("nodes_values")));
  EXPECT_THAT(run("nodes_featureids", Ints{5, 0, 0, 1, 0, 0}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("feature 5")));
  EXPECT_THAT(run("nodes_featureids", Ints{-1, 0, 0, 1, 0, 0}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("feature -1")));
}

TEST(TreeEnsembleClassifier, ManyClassesWithStrings) {
  OpTester t = Stumps("TreeEnsembleClassifier");
  t.Attr("class_treeids", Ints{0, 0, 7, 7})
      .Attr("class_nodeids", Ints{1, 2, 1, 2})
      .Attr("class_ids", Ints{0, 1, 2, 1})
      .Attr("class_weights", Floats{1, 2, 3, 4})
      .Attr("classlabels_strings", Strings{"a", "b", "c"})
      .Outputs(2)
      .Input(MakeTensor<float>({2, 2}, {0, 3, 2, 0}));
  ASSERT_OK_AND_ASSIGN(auto out, t.Run());
  EXPECT_THAT(out[0], TensorIs<std::string>({2}, {"c", "b"}));
  EXPECT_THAT(out[1], TensorIs<float>({2, 3}, {1, 0, 3, 0, 6, 0}));
}

OpTester Binary(Floats weights, const char* transform) {
  OpTester t = Stumps("TreeEnsembleClassifier");
  t.Attr("class_treeids", Ints{0, 0})
      .Attr("class_nodeids", Ints{1, 2})
      .Attr("class_ids", Ints{0, 0})
      .Attr("class_weights", std::move(weights))
      .Attr("classlabels_int64s", Ints{10, 20})
      .Attr("post_transform", std::string(transform))
      .Outputs(2);
  return t;
}

TEST(TreeEnsembleClassifier, OneScoreForTwoClasses) {
  const Tensor x = MakeTensor<int64_t>({2, 2}, {0, 0, 5, 0});
  ASSERT_OK_AND_ASSIGN(auto out, Binary({0.25f, 0.75f}, "NONE").Input(x).Run());
  EXPECT_THAT(out[0], TensorIs<int64_t>({2}, {10, 20}));
  EXPECT_THAT(out[1], TensorIs<float>({2, 2}, {0.75f, 0.25f, 0.25f, 0.75f}));
  ASSERT_OK_AND_ASSIGN(out, Binary({-1, 2}, "NONE").Input(x).Run());
  EXPECT_THAT(out[0], TensorIs<int64_t>({2}, {10, 20}));
  EXPECT_THAT(out[1], TensorIs<float>({2, 2}, {1, -1, -2, 2}));
  ASSERT_OK_AND_ASSIGN(out, Binary({-1, 2}, "LOGISTIC").Input(x).Run());
  const float p = 1 / (1 + std::exp(1.0f)), q = 1 / (1 + std::exp(-2.0f));
  EXPECT_THAT(out[1], TensorIs<float>({2, 2}, {1 - p, p, 1 - q, q}, 1e-6));
}

TEST(LinearClassifier, BinaryAndMany) {
  const Tensor x = MakeTensor<float>({2, 2}, {1, 1, -1, 0});
  ASSERT_OK_AND_ASSIGN(auto out, OpTester("LinearClassifier", kMl)
                                     .Attr("coefficients", Floats{1, 2})
                                     .Attr("intercepts", Floats{0.5f})
                                     .Attr("classlabels_ints", Ints{0, 1})
                                     .Attr("post_transform", std::string("LOGISTIC"))
                                     .Outputs(2)
                                     .Input(x)
                                     .Run());
  const float p = 1 / (1 + std::exp(-3.5f)), q = 1 / (1 + std::exp(0.5f));
  EXPECT_THAT(out[0], TensorIs<int64_t>({2}, {1, 0}));
  EXPECT_THAT(out[1], TensorIs<float>({2, 2}, {1 - p, p, 1 - q, q}, 1e-6));
  ASSERT_OK_AND_ASSIGN(out, OpTester("LinearClassifier", kMl)
                                .Attr("coefficients", Floats{1, 0, 0, 1, 1, 1})
                                .Attr("intercepts", Floats{0, 0, -3})
                                .Attr("classlabels_strings", Strings{"x", "y", "z"})
                                .Attr("post_transform", std::string("SOFTMAX"))
                                .Outputs(2)
                                .Input(x)
                                .Run());
  EXPECT_THAT(out[0], TensorIs<std::string>({2}, {"x", "y"}));
  const float e1 = std::exp(-2.0f);
  EXPECT_NEAR(out[1].data<float>()[0], 1 / (2 + e1), 1e-6);
}

TEST(LinearRegressor, Targets) {
  ASSERT_OK_AND_ASSIGN(Tensor y, OpTester("LinearRegressor", kMl)
                                     .Attr("coefficients", Floats{1, 2, 3, 4})
                                     .Attr("intercepts", Floats{10, 20})
                                     .Attr("targets", int64_t{2})
                                     .Input(MakeTensor<int32_t>({1, 2}, {1, 2}))
                                     .Run1());
  EXPECT_THAT(y, TensorIs<float>({1, 2}, {15, 31}));
  EXPECT_THAT(OpTester("LinearRegressor", kMl)
                  .Attr("coefficients", Floats{1, 2, 3})
                  .Input(MakeTensor<float>({1, 2}, {1, 2}))
                  .Run1()
                  .status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("coefficients")));
}

OpTester Svm(const char* op, const char* kernel) {
  OpTester t(op, kMl);
  t.Attr("kernel_type", std::string(kernel)).Attr("kernel_params", Floats{0.5f, 0.25f, 2});
  return t;
}

TEST(SvmRegressor, KernelsAndModes) {
  const Tensor x = MakeTensor<float>({2, 2}, {1, 2, -1, 0});
  const auto run = [&](const char* kernel, int64_t one_class) {
    return Svm("SVMRegressor", kernel)
        .Attr("support_vectors", Floats{1, 0, 0, 1})
        .Attr("coefficients", Floats{2, -1})
        .Attr("rho", Floats{0.5f})
        .Attr("n_supports", int64_t{2})
        .Attr("one_class", one_class)
        .Input(x)
        .Run1();
  };
  ASSERT_OK_AND_ASSIGN(Tensor y, run("LINEAR", 0));
  EXPECT_THAT(y, TensorIs<float>({2, 1}, {0.5f, -1.5f}, 1e-6));
  ASSERT_OK_AND_ASSIGN(y, run("LINEAR", 1));
  EXPECT_THAT(y, TensorIs<float>({2, 1}, {1, -1}));
  ASSERT_OK_AND_ASSIGN(y, run("POLY", 0));  // (0.5 d + 0.25)^2
  EXPECT_THAT(y, TensorIs<float>({2, 1}, {0.0625f, 0.5625f}, 1e-6));
  ASSERT_OK_AND_ASSIGN(y, run("RBF", 0));
  const float e1 = std::exp(-1.0f), e2 = std::exp(-2.0f);
  EXPECT_THAT(y, TensorIs<float>({2, 1}, {2 * e2 - e1 + 0.5f, 2 * e2 - e1 + 0.5f}, 1e-6));
  ASSERT_OK_AND_ASSIGN(y, run("SIGMOID", 0));
  const auto t = [](double d) { return static_cast<float>(std::tanh(0.5 * d + 0.25)); };
  EXPECT_THAT(y, TensorIs<float>({2, 1}, {2 * t(1) - t(2) + 0.5f, 2 * t(-1) - t(0) + 0.5f}, 1e-6));
  EXPECT_THAT(run("COSINE", 0).status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("kernel_type")));
  ASSERT_OK_AND_ASSIGN(
      y, Svm("SVMRegressor", "RBF").Attr("coefficients", Floats{3, 4}).Input(x).Run1());
  EXPECT_THAT(y, TensorIs<float>({2, 1}, {11, -3}));
}

// Three classes, one support vector each.
OpTester Pairwise() {
  OpTester t = Svm("SVMClassifier", "LINEAR");
  t.Attr("support_vectors", Floats{1, 0, 0, 1, 1, 1})
      .Attr("vectors_per_class", Ints{1, 1, 1})
      .Attr("coefficients", Floats{1, 2, 3, 4, 5, 6})
      .Attr("rho", Floats{-4, 1, -100})
      .Attr("classlabels_strings", Strings{"a", "b", "c"})
      .Outputs(2);
  return t;
}

TEST(SvmClassifier, PairsVote) {
  // Likenesses of [1,2] are 1, 2, 3. (0,1): 1*1 + 2*2 - 4; (0,2): 4*1 + 3*3 + 1; (1,2): 5*2 +
  // 6*3 - 100.
  const Tensor x = MakeTensor<int64_t>({1, 2}, {1, 2});
  ASSERT_OK_AND_ASSIGN(auto out, Pairwise().Input(x).Run());
  EXPECT_THAT(out[0], TensorIs<std::string>({1}, {"a"}));
  EXPECT_THAT(out[1], TensorIs<float>({1, 3}, {1, 14, -72}));
  EXPECT_THAT(Pairwise().Attr("rho", Floats{1}).Input(x).Run().status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("rho has 1 values")));
  EXPECT_THAT(Pairwise().Attr("vectors_per_class", Ints{1, 2, 1}).Input(x).Run().status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("support_vectors")));
  EXPECT_THAT(Pairwise().Input(MakeTensor<float>({1, 3}, {1, 2, 3})).Run().status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("3 features")));
}

TEST(SvmClassifier, CoupledProbabilities) {
  // With all pairs undecided each class gets a third; with consistent pairs their one solution.
  const auto run = [](Floats prob_b) {
    return Pairwise()
        .Attr("prob_a", Floats{0, 0, 0})
        .Attr("prob_b", std::move(prob_b))
        .Input(MakeTensor<float>({1, 2}, {1, 2}))
        .Run();
  };
  ASSERT_OK_AND_ASSIGN(auto out, run({0, 0, 0}));
  EXPECT_THAT(out[1], TensorIs<float>({1, 3}, {1 / 3.0f, 1 / 3.0f, 1 / 3.0f}, 1e-6));
  // p = (0.5, 0.3, 0.2): the odds of a pair are exp(-b).
  const auto b = [](double p, double q) { return static_cast<float>(-std::log(p / q)); };
  ASSERT_OK_AND_ASSIGN(out, run({b(0.5, 0.3), b(0.5, 0.2), b(0.3, 0.2)}));
  EXPECT_THAT(out[1], TensorIs<float>({1, 3}, {0.5f, 0.3f, 0.2f}, 0.005));
}

TEST(SvmClassifier, TwoClassesAndFeatureWeights) {
  OpTester two = Svm("SVMClassifier", "LINEAR");
  two.Attr("support_vectors", Floats{1, 0, 0, 1})
      .Attr("vectors_per_class", Ints{1, 1})
      .Attr("coefficients", Floats{1, -1})
      .Attr("rho", Floats{0.5f})
      .Attr("classlabels_ints", Ints{4, 7})
      .Outputs(2)
      .Input(MakeTensor<float>({2, 2}, {1, 1, 0, 3}));
  ASSERT_OK_AND_ASSIGN(auto out, two.Run());
  EXPECT_THAT(out[0], TensorIs<int64_t>({2}, {4, 7}));
  EXPECT_THAT(out[1], TensorIs<float>({2, 2}, {-0.5f, 0.5f, 2.5f, -2.5f}));
  ASSERT_OK_AND_ASSIGN(out, Svm("SVMClassifier", "RBF")
                                .Attr("coefficients", Floats{1, 0, 0, 1, 1, 1})
                                .Attr("rho", Floats{0.5f})
                                .Attr("classlabels_ints", Ints{1, 2, 3})
                                .Outputs(2)
                                .Input(MakeTensor<float>({1, 2}, {-1, 3}))
                                .Run());
  EXPECT_THAT(out[0], TensorIs<int64_t>({1}, {2}));
  EXPECT_THAT(out[1], TensorIs<float>({1, 3}, {-0.5f, 3.5f, 2.5f}));
}

TEST(CategoryEncoding, OneHotAndMapper) {
  ASSERT_OK_AND_ASSIGN(Tensor y, OpTester("OneHotEncoder", kMl)
                                     .Attr("cats_int64s", Ints{3, 5})
                                     .Input(MakeTensor<float>({2, 2}, {5.7f, 3, NAN, 1e30f}))
                                     .Run1());
  EXPECT_THAT(y, TensorIs<float>({2, 2, 2}, {0, 1, 1, 0, 0, 0, 0, 0}));
  EXPECT_THAT(OpTester("OneHotEncoder", kMl)
                  .Attr("cats_strings", Strings{"a", "b"})
                  .Attr("zeros", int64_t{0})
                  .Input(MakeTensor<std::string>({2}, {"b", "z"}))
                  .Run1()
                  .status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("element 1 of input X is z")));
  EXPECT_THAT(OpTester("OneHotEncoder", kMl)
                  .Attr("cats_strings", Strings{"a"})
                  .Input(MakeTensor<int32_t>({1}, {1}))
                  .Run1()
                  .status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("categories are strings")));
  const auto mapper = [] {
    OpTester t("CategoryMapper", kMl);
    t.Attr("cats_int64s", Ints{1, 2}).Attr("cats_strings", Strings{"one", "two"});
    return t;
  };
  ASSERT_OK_AND_ASSIGN(y, mapper().Input(MakeTensor<int64_t>({1, 2}, {2, 9})).Run1());
  EXPECT_THAT(y, TensorIs<std::string>({1, 2}, {"two", "_Unused"}));
  ASSERT_OK_AND_ASSIGN(y, mapper().Input(MakeTensor<std::string>({2}, {"one", ""})).Run1());
  EXPECT_THAT(y, TensorIs<int64_t>({2}, {1, -1}));
}

TEST(FeatureScaling, ScalerNormalizerBinarizerImputer) {
  const Tensor x = MakeTensor<float>({2, 2}, {3, 4, 0, 0});
  ASSERT_OK_AND_ASSIGN(Tensor y, OpTester("Scaler", kMl)
                                     .Attr("offset", Floats{1, 2})
                                     .Attr("scale", Floats{10})
                                     .Input(x)
                                     .Run1());
  EXPECT_THAT(y, TensorIs<float>({2, 2}, {20, 20, -10, -20}));
  ASSERT_OK_AND_ASSIGN(y,
                       OpTester("Normalizer", kMl).Attr("norm", std::string("L2")).Input(x).Run1());
  EXPECT_THAT(y, TensorIs<float>({2, 2}, {0.6f, 0.8f, 0, 0}, 1e-6));
  ASSERT_OK_AND_ASSIGN(y, OpTester("Binarizer", kMl).Attr("threshold", 3.0f).Input(x).Run1());
  EXPECT_THAT(y, TensorIs<float>({2, 2}, {0, 1, 0, 0}));
  const float nan = std::numeric_limits<float>::quiet_NaN();
  ASSERT_OK_AND_ASSIGN(y, OpTester("Imputer", kMl)
                              .Attr("replaced_value_float", nan)
                              .Attr("imputed_value_floats", Floats{7, 8})
                              .Input(MakeTensor<float>({2, 2}, {nan, 1, 2, nan}))
                              .Run1());
  EXPECT_THAT(y, TensorIs<float>({2, 2}, {7, 1, 2, 8}));
}

TEST(FeatureSelection, ExtractAndVectorize) {
  ASSERT_OK_AND_ASSIGN(Tensor y, OpTester("ArrayFeatureExtractor", kMl)
                                     .Input(MakeTensor<std::string>({2, 2}, {"a", "b", "c", "d"}))
                                     .Input(MakeTensor<int64_t>({1}, {1}))
                                     .Run1());
  EXPECT_THAT(y, TensorIs<std::string>({2, 1}, {"b", "d"}));
  EXPECT_THAT(OpTester("ArrayFeatureExtractor", kMl)
                  .Input(MakeTensor<float>({1, 2}, {1, 2}))
                  .Input(MakeTensor<int64_t>({1}, {2}))
                  .Run1()
                  .status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("is 2")));
  ASSERT_OK_AND_ASSIGN(y, OpTester("FeatureVectorizer", kMl)
                              .Attr("inputdimensions", Ints{2, 1})
                              .Input(MakeTensor<float>({2, 2}, {1, 2, 3, 4}))
                              .Input(MakeTensor<float>({2, 1}, {5, 6}))
                              .Run1());
  EXPECT_THAT(y, TensorIs<float>({2, 3}, {1, 2, 5, 3, 4, 6}));
  // Whatever the input's rank: all but the first axis hold features.
  ASSERT_OK_AND_ASSIGN(y, OpTester("FeatureVectorizer", kMl)
                              .Attr("inputdimensions", Ints{2})
                              .Input(MakeTensor<float>({2, 1, 2}, {1, 2, 3, 4}))
                              .Run1());
  EXPECT_THAT(y, TensorIs<float>({2, 2}, {1, 2, 3, 4}));
  ASSERT_OK_AND_ASSIGN(y, OpTester("ArrayFeatureExtractor", kMl)
                              .Input(MakeTensor<float>({1, 3}, {5, 6, 7}))
                              .Input(MakeTensor<int64_t>({2, 2}, {2, 0, 1, 2}))
                              .Run1());
  EXPECT_THAT(y, TensorIs<float>({1, 4}, {7, 5, 6, 7}));
}

TEST(LabelEncoder, KindsAndDefaults) {
  ASSERT_OK_AND_ASSIGN(Tensor y, OpTester("LabelEncoder", kMl)
                                     .Attr("keys_strings", Strings{"a", "b", "a"})
                                     .Attr("values_int64s", Ints{1, 2, 3})
                                     .Input(MakeTensor<std::string>({3}, {"a", "b", "?"}))
                                     .Run1());
  EXPECT_THAT(y, TensorIs<int64_t>({3}, {3, 2, -1}));
  const float nan = std::numeric_limits<float>::quiet_NaN();
  ASSERT_OK_AND_ASSIGN(y, OpTester("LabelEncoder", kMl)
                              .Attr("keys_floats", Floats{nan, 1})
                              .Attr("values_strings", Strings{"missing", "one"})
                              .Input(MakeTensor<float>({3}, {1, -nan, 2}))
                              .Run1());
  EXPECT_THAT(y, TensorIs<std::string>({3}, {"one", "missing", "_Unused"}));
  EXPECT_THAT(OpTester("LabelEncoder", kMl)
                  .Attr("keys_int64s", Ints{1})
                  .Attr("values_int64s", Ints{1, 2})
                  .Input(MakeTensor<int64_t>({1}, {1}))
                  .Run1()
                  .status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("1 keys for 2 values")));
}

}  // namespace
}  // namespace inferd::engine
