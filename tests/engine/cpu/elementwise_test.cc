#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/engine/cpu/candidate_tester.h"
#include "tests/engine/ops/op_tester.h"

namespace inferd::engine {
namespace {

using Layouts = CandidateTester::Layouts;

const Shape kShapes[] = {{1, 16, 5, 5}, {2, 20, 3, 7}, {1, 3, 70, 71}, {2, 33, 4}};

TEST(VectorUnary, EqualsReference) {
  for (const char* op :
       {"Relu", "LeakyRelu", "Sigmoid", "Tanh", "Elu", "HardSigmoid", "HardSwish", "Softplus",
        "Mish", "Abs", "Neg", "Exp", "Floor", "Ceil", "Gelu", "Swish"}) {
    for (const Shape& shape : kShapes) {
      SCOPED_TRACE(std::string(op) + shape.ToString());
      CandidateTester tester(op);
      tester.Input(RandomFloats(shape, 1, -6, 6)).Tolerance(1e-6, 1e-6);
      EXPECT_EQ(tester.Check("vector_unary"), absl::OkStatus());
    }
  }
}

TEST(VectorUnary, PositiveDomain) {
  for (const char* op : {"Sqrt", "Reciprocal"}) {
    CandidateTester tester(op);
    tester.Input(RandomFloats({2, 20, 3, 7}, 1, 0.5, 100)).Tolerance(0, 1e-6);
    EXPECT_EQ(tester.Check("vector_unary"), absl::OkStatus()) << op;
  }
}

TEST(VectorUnary, ClipWithConstantBounds) {
  for (const float low : {-1.0f, 0.5f}) {
    CandidateTester tester("Clip");
    tester.Input(RandomFloats({2, 20, 3, 7}, 1, -6, 6))
        .Constant(Tensor::Scalar(low))
        .Constant(Tensor::Scalar(2.0f));
    EXPECT_EQ(tester.Check("vector_unary"), absl::OkStatus());
  }
  CandidateTester open("Clip");
  open.Input(RandomFloats({2, 20, 3, 7}, 1, -6, 6)).NoInput().Constant(Tensor::Scalar(2.0f));
  EXPECT_EQ(open.Check("vector_unary"), absl::OkStatus());
  CandidateTester runtime("Clip");
  runtime.Input(RandomFloats({2, 20, 3, 7}, 1, -6, 6)).Input(Tensor::Scalar(-1.0f));
  EXPECT_THAT(runtime.Offer("vector_unary"),
              StatusIs(absl::StatusCode::kUnimplemented, testing::HasSubstr("not constant")));
}

TEST(VectorUnary, SmallRanks) {
  for (const Shape& shape : {Shape{}, Shape{7}, Shape{3, 5}}) {
    CandidateTester tester("Relu");
    tester.Input(RandomFloats(shape, 1));
    EXPECT_EQ(tester.Check("vector_unary", Layouts::kPlain), absl::OkStatus());
  }
}

TEST(VectorBinary, SameShape) {
  for (const char* op : {"Add", "Sub", "Mul", "Div", "Max", "Min", "Sum"}) {
    for (const Shape& shape : kShapes) {
      SCOPED_TRACE(std::string(op) + shape.ToString());
      CandidateTester tester(op);
      tester.Input(RandomFloats(shape, 1)).Input(RandomFloats(shape, 2, 1, 2)).Tolerance(0, 1e-6);
      EXPECT_EQ(tester.Check("vector_binary"), absl::OkStatus());
    }
  }
}

TEST(VectorBinary, ByElementAndByChannelFromEitherSide) {
  const Shape shape = {2, 20, 5, 7};
  for (const char* op : {"Add", "Sub", "Mul", "Div", "Max"}) {
    for (const Shape& other : {Shape{}, Shape{1}, Shape{1, 1, 1, 1}, Shape{20, 1, 1},
                               Shape{1, 20, 1, 1}, Shape{2, 20, 1, 1}}) {
      for (const bool constant : {true, false}) {
        if (!constant && other == Shape{20, 1, 1}) continue;
        for (const bool exchanged : {false, true}) {
          SCOPED_TRACE(testing::Message() << op << other.ToString() << constant << exchanged);
          CandidateTester tester(op);
          const Tensor full = RandomFloats(shape, 1, 1, 2);
          const Tensor small = RandomFloats(other, 2, 1, 2);
          if (!exchanged) tester.Input(full);
          constant ? tester.Constant(small) : tester.Input(small);
          if (exchanged) tester.Input(full);
          tester.Tolerance(0, 1e-6);
          EXPECT_EQ(tester.Check("vector_binary"), absl::OkStatus());
        }
      }
    }
  }
}

TEST(VectorBinary, PRelu) {
  for (const Shape& slope : {Shape{20, 1, 1}, Shape{1}, Shape{2, 20, 5, 7}}) {
    CandidateTester tester("PRelu");
    tester.Input(RandomFloats({2, 20, 5, 7}, 1)).Constant(RandomFloats(slope, 2));
    EXPECT_EQ(tester.Check("vector_binary"), absl::OkStatus());
  }
}

TEST(VectorBinary, FusedAddAppliesItsChain) {
  CandidateTester tester("inferd::FusedAdd");
  tester.Input(RandomFloats({2, 20, 5, 7}, 1))
      .Input(RandomFloats({2, 20, 5, 7}, 2))
      .Attr("activations", std::vector<std::string>{"leaky_relu", "sigmoid"})
      .Attr("activation_params", std::vector<float>{0.1f, 0, 0, 0});
  EXPECT_EQ(tester.Check("vector_binary"), absl::OkStatus());
}

TEST(VectorBinary, DeclinesOtherBroadcasts) {
  const std::pair<Shape, Shape> cases[] = {
      {{2, 20, 5, 7}, {2, 1, 5, 7}}, {{2, 20, 5, 7}, {7}}, {{2, 20, 1, 1}, {1, 20, 5, 7}}};
  for (const auto& [a, b] : cases) {
    CandidateTester tester("Add");
    tester.Input(RandomFloats(a, 1)).Input(RandomFloats(b, 2));
    EXPECT_THAT(tester.Offer("vector_binary"),
                StatusIs(absl::StatusCode::kUnimplemented, testing::HasSubstr("broadcast")));
  }
}

TEST(VectorScaleShift, EqualsReference) {
  for (const Shape& shape : kShapes) {
    CandidateTester tester("inferd::ScaleShift");
    tester.Input(RandomFloats(shape, 1))
        .Constant(RandomFloats({shape[1]}, 2))
        .Constant(RandomFloats({shape[1]}, 3))
        .Attr("activations", std::vector<std::string>{"relu"})
        .Attr("activation_params", std::vector<float>{0, 0});
    EXPECT_EQ(tester.Check("vector_scale_shift"), absl::OkStatus()) << shape.ToString();
  }
}

TEST(ChannelShuffle, EqualsReference) {
  for (const auto& [shape, group] : std::vector<std::pair<Shape, int64_t>>{
           {{1, 16, 5, 5}, 4}, {{2, 136, 7, 7}, 4}, {{1, 6, 3, 3}, 3}, {{2, 20, 9}, 2}}) {
    CandidateTester tester("inferd::ChannelShuffle");
    tester.Input(RandomFloats(shape, 1)).Attr("group", group).Tolerance(0, 0);
    EXPECT_EQ(tester.Check("channel_shuffle"), absl::OkStatus()) << shape.ToString();
  }
}

TEST(BlockedConcat, EveryAxisAndOffset) {
  const std::vector<int64_t> channels[] = {{16, 32}, {32, 16, 20}, {5, 7, 3}, {20, 16}, {1, 40}};
  for (const auto& parts : channels) {
    CandidateTester tester("Concat");
    for (int64_t c : parts) tester.Input(RandomFloats({2, c, 3, 5}, 10 + c));
    tester.Attr("axis", int64_t{1});
    EXPECT_EQ(tester.Check("blocked_concat", Layouts::kBlocked), absl::OkStatus());
  }
  for (int64_t axis : {0, 2, 3, -1}) {
    CandidateTester tester("Concat");
    for (int64_t size : {2, 3, 1}) {
      Shape shape = {2, 20, 3, 5};
      shape[axis < 0 ? 3 : static_cast<int>(axis)] = size;
      tester.Input(RandomFloats(shape, 20 + size));
    }
    tester.Attr("axis", axis);
    EXPECT_EQ(tester.Check("blocked_concat", Layouts::kBlocked), absl::OkStatus()) << axis;
  }
}

}  // namespace
}  // namespace inferd::engine
