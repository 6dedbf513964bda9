#include "model_repository/batch_axis.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace inferd::repository {
namespace {

using engine::Dim;
using engine::ElementType;
using engine::SymbolicShape;
using engine::TensorInfo;
using engine::ValueType;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TensorInfo Info(const char* name, std::vector<Dim> dims) {
  return {name, ValueType::TensorOf(ElementType::kFloat32, SymbolicShape(std::move(dims))), false};
}
TensorInfo Rankless(const char* name) {
  return {name, ValueType::TensorOf(ElementType::kFloat32), false};
}

TEST(BatchAxisTest, FreeFirstDimensions) {
  const Dim n = Dim::Symbol("n");
  EXPECT_EQ(FindBatchAxis({Info("x", {n, 3})}, {Info("y", {n})}).kind, BatchAxis::Kind::kFree);
  EXPECT_EQ(FindBatchAxis({Info("x", {Dim(), 3})}, {Info("y", {n})}).kind, BatchAxis::Kind::kFree);
}

TEST(BatchAxisTest, ReasonsNameTheTensor) {
  const Dim n = Dim::Symbol("n");
  EXPECT_EQ(FindBatchAxis({Info("x", {1, 3})}, {Info("y", {n})}).reason,
            "input 'x' has a fixed first dimension 1");
  EXPECT_EQ(FindBatchAxis({Info("x", {n, 3})}, {Info("y", {10})}).reason,
            "output 'y' has a fixed first dimension 10");
  EXPECT_EQ(FindBatchAxis({Info("x", {n}), Info("s", {})}, {}).reason, "input 's' is a scalar");
  EXPECT_EQ(FindBatchAxis({Rankless("x")}, {}).reason, "input 'x' has no declared rank");
  EXPECT_EQ(FindBatchAxis({}, {Info("y", {n})}).reason, "the model has no inputs");
}

TEST(BatchAxisTest, DifferentNamesAreAmbiguous) {
  const BatchAxis axis =
      FindBatchAxis({Info("x", {Dim::Symbol("batch"), 3})}, {Info("y", {Dim::Symbol("tokens")})});
  EXPECT_EQ(axis.kind, BatchAxis::Kind::kAmbiguous);
  EXPECT_THAT(axis.reason, HasSubstr("'batch'"));
  EXPECT_THAT(axis.reason, HasSubstr("'tokens'"));
  // A fixed dimension further on settles it.
  EXPECT_EQ(FindBatchAxis({Info("x", {Dim::Symbol("a")}), Info("w", {Dim::Symbol("b")})},
                          {Info("y", {4})})
                .kind,
            BatchAxis::Kind::kNone);
}

TEST(BatchAxisTest, OptionalInputsDoNotCount) {
  TensorInfo weight = Info("w", {64, 3});
  weight.optional = true;
  EXPECT_EQ(FindBatchAxis({Info("x", {Dim(), 3}), weight}, {Info("y", {Dim()})}).kind,
            BatchAxis::Kind::kFree);
}

TEST(TensorSpecTest, FreeDimensionsAreMinusOne) {
  const auto spec = MakeTensorSpec(Info("x", {Dim::Symbol("n"), 3, Dim()}), "input");
  ASSERT_TRUE(spec.ok());
  EXPECT_THAT(spec->dims, ElementsAre(-1, 3, -1));
  EXPECT_FALSE(spec->any_rank);
  EXPECT_TRUE(MakeTensorSpec(Rankless("x"), "input")->any_rank);
  TensorInfo sequence;
  sequence.name = "s";
  sequence.type.kind = ValueType::Kind::kSequence;
  sequence.type.inner = std::make_shared<ValueType>(ValueType::TensorOf(ElementType::kInt64));
  EXPECT_EQ(MakeTensorSpec(sequence, "output").status().code(), absl::StatusCode::kUnimplemented);
}

}  // namespace
}  // namespace inferd::repository
