#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/engine/cpu/candidate_tester.h"
#include "tests/engine/ops/op_tester.h"

namespace inferd::engine {
namespace {

using Layouts = CandidateTester::Layouts;
using Ints = std::vector<int64_t>;

struct Case {
  std::string name;
  Shape x;
  Shape w;
  int64_t group = 1;
  Ints strides = {}, dilations = {}, pads = {};
  bool bias = true;
  const char* candidate = "onednn_conv_blocked";
};

void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

CandidateTester Tester(const std::string& op, const Case& c) {
  CandidateTester tester(op);
  tester.Input(RandomFloats(c.x, 1)).Constant(RandomFloats(c.w, 2));
  if (c.bias) tester.Constant(RandomFloats({c.w[0]}, 3));
  if (c.group != 1) tester.Attr("group", c.group);
  if (!c.strides.empty()) tester.Attr("strides", c.strides);
  if (!c.dilations.empty()) tester.Attr("dilations", c.dilations);
  if (!c.pads.empty()) tester.Attr("pads", c.pads);
  return tester;
}

class ConvolutionTest : public testing::TestWithParam<Case> {};

TEST_P(ConvolutionTest, EqualsReference) {
  EXPECT_EQ(Tester("Conv", GetParam()).Check(GetParam().candidate), absl::OkStatus());
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, ConvolutionTest,
    testing::Values(
        Case{"image", {1, 3, 17, 19}, {32, 3, 3, 3}, 1, {2, 2}, {}, {1, 1, 1, 1}},
        Case{"image_7x7", {2, 3, 30, 30}, {64, 3, 7, 7}, 1, {2, 2}, {}, {3, 3, 3, 3}},
        Case{"gray", {1, 1, 8, 8}, {20, 1, 5, 5}, 1, {}, {}, {2, 2, 2, 2}},
        Case{"pointwise", {2, 32, 7, 5}, {48, 32, 1, 1}},
        Case{"pointwise_stride", {1, 32, 9, 9}, {64, 32, 1, 1}, 1, {2, 2}},
        Case{"padded_channels", {1, 20, 9, 7}, {13, 20, 3, 3}, 1, {}, {}, {1, 1, 1, 1}},
        Case{"no_bias", {1, 16, 8, 8}, {16, 16, 3, 3}, 1, {}, {}, {}, false},
        Case{"asymmetric_pads", {1, 16, 8, 8}, {32, 16, 3, 3}, 1, {2, 1}, {}, {0, 2, 1, 0}},
        Case{"trailing_input_unread", {1, 16, 8, 8}, {16, 16, 3, 3}, 1, {3, 3}},
        Case{"dilated", {1, 16, 14, 14}, {16, 16, 3, 3}, 1, {}, {2, 3}, {2, 3, 2, 3}},
        Case{"depthwise", {2, 32, 11, 9}, {32, 1, 3, 3}, 32, {}, {}, {1, 1, 1, 1}},
        Case{"depthwise_odd", {1, 24, 11, 9}, {24, 1, 3, 3}, 24, {2, 2}, {}, {1, 1, 1, 1}},
        Case{"groups_of_blocks", {1, 64, 6, 6}, {32, 32, 3, 3}, 2, {}, {}, {1, 1, 1, 1}},
        Case{"groups_of_odd",
             {1, 15, 6, 6},
             {21, 5, 3, 3},
             3,
             {},
             {},
             {1, 1, 1, 1},
             true,
             "onednn_conv_plain"},
        Case{"grouped_pointwise",
             {2, 136, 9, 7},
             {136, 34, 1, 1},
             4,
             {},
             {},
             {},
             true,
             "blocked_grouped_pointwise"},
        Case{"grouped_pointwise_few",
             {1, 6, 5, 5},
             {9, 2, 1, 1},
             3,
             {},
             {},
             {},
             false,
             "blocked_grouped_pointwise"},
        Case{"grouped_pointwise_blocks",
             {1, 64, 6, 6},
             {32, 32, 1, 1},
             2,
             {},
             {},
             {},
             true,
             "blocked_grouped_pointwise"},
        Case{"one_axis", {2, 16, 33}, {24, 16, 5}, 1, {2}, {}, {2, 2}},
        Case{"three_axes", {1, 16, 5, 6, 7}, {16, 16, 3, 3, 3}, 1, {}, {}, {1, 1, 1, 1, 1, 1}},
        Case{"plain",
             {1, 5, 9, 9},
             {7, 5, 3, 3},
             1,
             {},
             {},
             {1, 1, 1, 1},
             true,
             "onednn_conv_plain"}),
    [](const auto& param_info) { return param_info.param.name; });

struct ActivationCase {
  std::string name;
  std::vector<float> params;  // alpha, beta
};

class FusedConvolutionTest : public testing::TestWithParam<ActivationCase> {};

// 20 output channels: the last block has padding lanes, which an activation that moves zero must
// not fill.
TEST_P(FusedConvolutionTest, EqualsReference) {
  const ActivationCase& a = GetParam();
  CandidateTester tester =
      Tester("inferd::FusedConv", {"", {1, 16, 7, 7}, {20, 16, 3, 3}, 1, {}, {}, {1, 1, 1, 1}});
  tester.Input(RandomFloats({1, 20, 7, 7}, 4))
      .Attr("activations", std::vector<std::string>{a.name})
      .Attr("activation_params", a.params);
  EXPECT_EQ(tester.Check("onednn_conv_blocked"), absl::OkStatus());
}

INSTANTIATE_TEST_SUITE_P(
    Activations, FusedConvolutionTest,
    testing::Values(ActivationCase{"relu", {0, 0}}, ActivationCase{"leaky_relu", {0.1f, 0}},
                    ActivationCase{"clip", {0, 6}}, ActivationCase{"clip", {0.5f, 0.75f}},
                    ActivationCase{"sigmoid", {0, 0}}, ActivationCase{"tanh", {0, 0}},
                    ActivationCase{"elu", {0.7f, 0}}, ActivationCase{"hard_sigmoid", {0.2f, 0.5f}},
                    ActivationCase{"hard_swish", {0, 0}}, ActivationCase{"silu", {0, 0}},
                    ActivationCase{"gelu", {0, 0}}, ActivationCase{"gelu_tanh", {0, 0}},
                    ActivationCase{"softplus", {0, 0}}, ActivationCase{"mish", {0, 0}}),
    [](const auto& param_info) {
      return param_info.param.name + "_" + std::to_string(param_info.index);
    });

TEST(FusedConvolution, ChainOfActivations) {
  CandidateTester tester = Tester("inferd::FusedConv", {"", {2, 16, 6, 6}, {16, 16, 1, 1}});
  tester.Attr("activations", std::vector<std::string>{"relu", "clip", "tanh"})
      .Attr("activation_params", std::vector<float>{0, 0, 0.25f, 1.5f, 0, 0});
  EXPECT_EQ(tester.Check("onednn_conv_blocked"), absl::OkStatus());
}

TEST(FusedConvolution, ResidualOfPointwiseAndDepthwise) {
  for (const Case& c : {Case{"", {2, 32, 5, 5}, {48, 32, 1, 1}},
                        Case{"", {2, 32, 5, 5}, {32, 1, 3, 3}, 32, {}, {}, {1, 1, 1, 1}}}) {
    CandidateTester tester = Tester("inferd::FusedConv", c);
    tester.Input(RandomFloats({2, c.w[0], 5, 5}, 5))
        .Attr("activations", std::vector<std::string>{"relu"})
        .Attr("activation_params", std::vector<float>{0, 0});
    EXPECT_EQ(tester.Check("onednn_conv_blocked"), absl::OkStatus());
  }
}

TEST(FusedConvolution, GroupedPointwiseResidual) {
  CandidateTester tester = Tester("inferd::FusedConv", {"", {2, 20, 5, 7}, {30, 10, 1, 1}, 2});
  tester.Input(RandomFloats({2, 30, 5, 7}, 5))
      .Attr("activations", std::vector<std::string>{"sigmoid"})
      .Attr("activation_params", std::vector<float>{0, 0});
  EXPECT_EQ(tester.Check("blocked_grouped_pointwise"), absl::OkStatus());
}

TEST(FusedConvolution, PlainResidual) {
  CandidateTester tester =
      Tester("inferd::FusedConv", {"", {1, 5, 9, 9}, {7, 5, 3, 3}, 1, {}, {}, {1, 1, 1, 1}});
  tester.Input(RandomFloats({1, 7, 9, 9}, 5))
      .Attr("activations", std::vector<std::string>{"relu"})
      .Attr("activation_params", std::vector<float>{0, 0});
  EXPECT_EQ(tester.Check("onednn_conv_plain"), absl::OkStatus());
}

TEST(Convolution, ContextsShareOneKernel) {
  for (const Case& c : {Case{"", {1, 20, 9, 7}, {13, 20, 3, 3}, 1, {}, {}, {1, 1, 1, 1}},
                        Case{"",
                             {1, 136, 9, 7},
                             {136, 34, 1, 1},
                             4,
                             {},
                             {},
                             {},
                             true,
                             "blocked_grouped_pointwise"}}) {
    EXPECT_EQ(Tester("Conv", c).CheckSideBySide(c.candidate, 4), absl::OkStatus());
  }
}

TEST(Convolution, DeclinesWithReason) {
  CandidateTester runtime_weights("Conv");
  runtime_weights.Input(RandomFloats({1, 3, 8, 8}, 1)).Input(RandomFloats({4, 3, 3, 3}, 2));
  EXPECT_THAT(runtime_weights.Offer("onednn_conv_blocked"),
              StatusIs(absl::StatusCode::kUnimplemented, testing::HasSubstr("not constant")));
  CandidateTester doubles("Conv");
  const std::vector<double> values(64, 0.5);
  doubles.Input(Tensor::FromValues<double>({1, 1, 8, 8}, values))
      .Constant(Tensor::FromValues<double>({1, 1, 8, 8}, values));
  EXPECT_THAT(doubles.Offer("onednn_conv_blocked"),
              StatusIs(absl::StatusCode::kUnimplemented, testing::HasSubstr("float only")));
}

}  // namespace
}  // namespace inferd::engine
