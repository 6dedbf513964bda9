#include "model_repository/verify_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/model_repository/onnx_models.h"

namespace inferd::repository {
namespace {

using ::testing::HasSubstr;

// A context whose results are off by `error`, or that fails.
class OffContext final : public engine::Context {
 public:
  OffContext(std::unique_ptr<engine::Context> right, float error)
      : right_(std::move(right)), error_(error) {}
  absl::Status Run(absl::Span<const engine::TensorView> inputs,
                   std::vector<engine::Tensor>* outputs) override {
    if (error_ < 0) return absl::InvalidArgumentError("no");
    absl::Status status = right_->Run(inputs, outputs);
    if (status.ok()) (*outputs)[0].mutable_data<float>()[0] += error_;
    return status;
  }
  void SetObserver(std::function<void(absl::string_view, const engine::TensorView&)>) override {}
  std::vector<engine::NodeProfile> Profile() const override { return {}; }

 private:
  std::unique_ptr<engine::Context> right_;
  const float error_;
};

class VerifyPlanTest : public ::testing::Test {
 protected:
  VerifyPlanTest() : path_(absl::StrCat(::testing::TempDir(), "/verify_plan_test.onnx")) {
    Use(AddModel({-1, 4}, 3));
  }
  void Use(const std::string& bytes) {
    std::ofstream(path_, std::ios::binary) << bytes;
    engine::ModelOptions served;
    served.tensor_outputs_for_maps = true;
    model_ = *engine::Model::Load(path_, served);
  }
  absl::StatusOr<std::string> VerifyWithError(float error) {
    OffContext context(*model_->NewContext({}), error);
    return VerifyPlan(path_, context);
  }

  const std::string path_;
  std::shared_ptr<engine::Model> model_;
};

TEST_F(VerifyPlanTest, ARightPlanIsVerified) {
  const auto verified = VerifyWithError(0);
  ASSERT_TRUE(verified.ok()) << verified.status();
  EXPECT_THAT(*verified, HasSubstr("verified: "));
}

TEST_F(VerifyPlanTest, RoundingIsNoFault) { EXPECT_TRUE(VerifyWithError(1e-4f).ok()); }

TEST_F(VerifyPlanTest, AWrongPlanIsNamed) {
  const auto verified = VerifyWithError(0.1f);
  EXPECT_EQ(verified.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(verified.status().message(), HasSubstr("the optimized plan is wrong: output \"y\""));
}

TEST_F(VerifyPlanTest, AStepOfAQuantizedNetworkIsNoFault) {
  Use(QuantizingModel({-1, 4}));
  EXPECT_TRUE(VerifyWithError(0.125f).ok());
  EXPECT_EQ(VerifyWithError(4.0f).status().code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(VerifyPlanTest, MapsAreComparedAsTheTensorsTheyAreServedAs) {
  Use(MapsModel(3));
  const auto verified = VerifyWithError(0);
  ASSERT_TRUE(verified.ok()) << verified.status();
  EXPECT_THAT(*verified, HasSubstr("verified: "));
  EXPECT_EQ(VerifyWithError(1).status().code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(VerifyPlanTest, RandomNumbersAreNoFault) {
  Use(RandomModel({-1, 4}));
  const auto verified = VerifyWithError(0);
  ASSERT_TRUE(verified.ok()) << verified.status();
  EXPECT_THAT(*verified, HasSubstr("draws random numbers"));
}

TEST_F(VerifyPlanTest, AFailureOfOneSideIsAFault) {
  const auto verified = VerifyWithError(-1);
  EXPECT_EQ(verified.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(verified.status().message(), HasSubstr("fails where the reference runs: no"));
}

}  // namespace
}  // namespace inferd::repository
