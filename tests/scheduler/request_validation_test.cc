#include "scheduler/request_validation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"

namespace inferd::scheduler {
namespace {

using engine::ElementType;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class RequestValidationTest : public ::testing::Test {
 protected:
  RequestValidationTest() {
    options_.model = "M";
    options_.batching.max_batch_size = 4;
    options_.inputs.push_back({"X", ElementType::kFloat32, {-1, 16}});
    options_.inputs.push_back({"Y", ElementType::kInt32, {-1, -1}});
    options_.inputs.push_back({"Z", ElementType::kInt8, {-1}, /*optional=*/true});
    Set(0, ElementType::kFloat32, {2, 16});
    Set(1, ElementType::kInt32, {2, 5});
    request_.inputs.resize(3);
  }
  void Set(size_t input, ElementType type, engine::Shape shape) {
    if (request_.inputs.size() <= input) request_.inputs.resize(input + 1);
    request_.inputs[input].type = type;
    request_.inputs[input].shape = shape;
    request_.inputs[input].data = data_;
  }
  std::string Error() {
    const absl::Status status = CheckRequest(options_, request_).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
    return std::string(status.message());
  }

  ServableOptions options_;
  Request request_;
  alignas(16) char data_[4096] = {};
};

TEST_F(RequestValidationTest, MeasuresAGoodRequest) {
  const auto extent = CheckRequest(options_, request_);
  ASSERT_TRUE(extent.ok()) << extent.status();
  EXPECT_EQ(extent->rows, 2);
  EXPECT_EQ(extent->bytes, 2 * 16 * 4 + 2 * 5 * 4);
  EXPECT_THAT(extent->signature, ElementsAre(2, 16, 2, 5, -1));
}

TEST_F(RequestValidationTest, SignaturesTellShapesAndPresentInputsApart) {
  const auto base = CheckRequest(options_, request_);
  Set(1, ElementType::kInt32, {2, 6});
  const auto wider = CheckRequest(options_, request_);
  Set(1, ElementType::kInt32, {2, 5});
  Set(2, ElementType::kInt8, {2});
  const auto with_optional = CheckRequest(options_, request_);
  Set(0, ElementType::kFloat32, {1, 16});
  Set(1, ElementType::kInt32, {1, 5});
  Set(2, ElementType::kInt8, {1});
  const auto fewer_rows = CheckRequest(options_, request_);
  EXPECT_NE(base->signature, wider->signature);
  EXPECT_NE(base->signature, with_optional->signature);
  EXPECT_EQ(with_optional->signature, fewer_rows->signature);
}

TEST_F(RequestValidationTest, WrongShape) {
  Set(0, ElementType::kFloat32, {2, 15});
  EXPECT_EQ(Error(), "unexpected shape for input 'X' for model 'M'. Expected [-1,16], got [2,15].");
}

TEST_F(RequestValidationTest, MissingBatchDimensionIsNamed) {
  Set(0, ElementType::kFloat32, {16});
  EXPECT_THAT(Error(), HasSubstr("Expected [-1,16], got [16]. The batch dimension"));
}

TEST_F(RequestValidationTest, WrongType) {
  Set(0, ElementType::kFloat64, {2, 16});
  EXPECT_EQ(Error(), "inference input 'X' data-type is 'double', but model 'M' expects 'float'");
}

TEST_F(RequestValidationTest, WrongNumberOfInputs) {
  request_.inputs.resize(2);
  EXPECT_EQ(Error(), "expected 3 inputs but got 2 inputs for model 'M'");
}

TEST_F(RequestValidationTest, MissingInput) {
  request_.inputs[1] = TensorView();
  EXPECT_EQ(Error(), "input 'Y' for model 'M' is missing");
}

TEST_F(RequestValidationTest, ShapeWithoutData) {
  request_.inputs[1].data = nullptr;
  EXPECT_EQ(Error(), "input 'Y' for model 'M' has a shape but no data");
}

class ScatteredValidationTest : public RequestValidationTest {
 protected:
  // Input X in two pieces of `bytes` together.
  void Scatter(size_t bytes) {
    const auto* data = reinterpret_cast<const uint8_t*>(data_);
    pieces_ = {{data, 3}, {data + 10, bytes - 3}};
    request_.inputs[0].data = nullptr;
    request_.pieces.assign(3, {});
    request_.pieces[0] = pieces_;
  }
  std::vector<absl::Span<const uint8_t>> pieces_;
};

TEST_F(ScatteredValidationTest, PiecesCountLikeAWholeTensor) {
  const auto whole = CheckRequest(options_, request_);
  Scatter(2 * 16 * 4);
  const auto scattered = CheckRequest(options_, request_);
  ASSERT_TRUE(scattered.ok()) << scattered.status();
  EXPECT_EQ(scattered->rows, whole->rows);
  EXPECT_EQ(scattered->bytes, whole->bytes);
  EXPECT_EQ(scattered->signature, whole->signature);
}

TEST_F(ScatteredValidationTest, PiecesMustBeAsLongAsTheTensor) {
  for (size_t bytes : {127, 129}) {
    Scatter(bytes);
    EXPECT_EQ(Error(), absl::StrCat("input 'X' for model 'M' is given in pieces of ", bytes,
                                    " bytes together where its shape [2,16] takes 128"));
  }
}

TEST_F(ScatteredValidationTest, AnInputIsEitherWholeOrInPieces) {
  Scatter(128);
  request_.inputs[0].data = data_;
  EXPECT_THAT(Error(), HasSubstr("'X' for model 'M' is given both as a whole and in pieces"));
}

TEST_F(ScatteredValidationTest, EveryInputHasAnEntry) {
  Scatter(128);
  request_.pieces.resize(2);
  EXPECT_EQ(Error(), "pieces are given for 2 of 3 inputs for model 'M'");
}

TEST_F(ScatteredValidationTest, OptionalInputsMayBeScattered) {
  Scatter(128);
  const auto without = CheckRequest(options_, request_);
  const absl::Span<const uint8_t> piece(reinterpret_cast<const uint8_t*>(data_), 2);
  request_.inputs[2].type = ElementType::kInt8;
  request_.inputs[2].shape = {2};
  request_.pieces[2] = InputPieces(&piece, 1);
  const auto with = CheckRequest(options_, request_);
  ASSERT_TRUE(with.ok()) << with.status();
  EXPECT_NE(with->signature, without->signature);
}

TEST_F(ScatteredValidationTest, StringsAreObjects) {
  options_.inputs[0].type = ElementType::kString;
  Scatter(2 * 16 * sizeof(std::string));
  request_.inputs[0].type = ElementType::kString;
  EXPECT_THAT(Error(), HasSubstr("holds strings, which cannot be given in pieces"));
}

TEST_F(RequestValidationTest, UnequalBatchDimensions) {
  Set(1, ElementType::kInt32, {3, 5});
  EXPECT_THAT(Error(), HasSubstr("input 'Y' batch size does not match other inputs for 'M'"));
}

TEST_F(RequestValidationTest, TooManyRows) {
  Set(0, ElementType::kFloat32, {5, 16});
  Set(1, ElementType::kInt32, {5, 5});
  EXPECT_THAT(Error(), HasSubstr("inference request batch-size must be <= 4 for 'M'"));
}

TEST_F(RequestValidationTest, NoRows) {
  Set(0, ElementType::kFloat32, {0, 16});
  Set(1, ElementType::kInt32, {0, 5});
  EXPECT_THAT(Error(), HasSubstr("batch-size must be >= 1 for 'M'"));
}

TEST_F(RequestValidationTest, ShapesThatOverflowAreRefused) {
  Set(1, ElementType::kInt32, {2, int64_t{1} << 62});
  EXPECT_FALSE(Error().empty());
  Set(1, ElementType::kInt32, {2, -1});
  EXPECT_FALSE(Error().empty());
}

TEST_F(RequestValidationTest, UnbatchedModelsTakeTheirShapesAsTheyAre) {
  options_.batching.max_batch_size = 1;
  Set(1, ElementType::kInt32, {7, 0});
  const auto extent = CheckRequest(options_, request_);
  ASSERT_TRUE(extent.ok()) << extent.status();
  EXPECT_EQ(extent->rows, 1);
}

TEST_F(RequestValidationTest, AnyRankIsTakenAsItComes) {
  options_.inputs[1].any_rank = true;
  options_.inputs[1].dims.clear();
  for (const engine::Shape& shape : {engine::Shape{2}, engine::Shape{2, 3, 4}}) {
    Set(1, ElementType::kInt32, shape);
    EXPECT_TRUE(CheckRequest(options_, request_).ok());
  }
  Set(1, ElementType::kInt32, {});
  EXPECT_THAT(Error(), HasSubstr("Expected a batch dimension first, got []"));
  options_.batching.max_batch_size = 1;
  EXPECT_TRUE(CheckRequest(options_, request_).ok());
}

TEST_F(RequestValidationTest, TheTextOfStringsCounts) {
  options_.inputs.assign(1, {"S", ElementType::kString, {-1, 1}});
  std::vector<std::string> strings = {std::string(1000, 'a'), "b"};
  request_.inputs.resize(1);
  Set(0, ElementType::kString, {2, 1});
  request_.inputs[0].data = strings.data();
  EXPECT_EQ(CheckRequest(options_, request_)->bytes,
            static_cast<int64_t>(2 * sizeof(std::string) + 1001));
}

}  // namespace
}  // namespace inferd::scheduler
