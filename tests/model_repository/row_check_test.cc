#include "model_repository/row_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace inferd::repository {
namespace {

using ::testing::HasSubstr;

// y = x, for at least `fewest` rows.
class WindowContext final : public engine::Context {
 public:
  explicit WindowContext(int64_t fewest) : fewest_(fewest) {}
  absl::Status Run(absl::Span<const engine::TensorView> inputs,
                   std::vector<engine::Tensor>* outputs) override {
    if (inputs[0].shape[0] < fewest_) return absl::InvalidArgumentError("a window does not fit");
    outputs->assign(1, *engine::Tensor::CopyOf(inputs[0]));
    return absl::OkStatus();
  }
  void SetObserver(std::function<void(absl::string_view, const engine::TensorView&)>) override {}
  std::vector<engine::NodeProfile> Profile() const override { return {}; }

 private:
  const int64_t fewest_;
};

RowCheck Check(int64_t fewest) {
  const auto type = engine::ValueType::TensorOf(
      engine::ElementType::kFloat32,
      engine::SymbolicShape({engine::Dim::Symbol("n"), engine::Dim(3)}));
  WindowContext context(fewest);
  return CheckRows(context, {{.name = "x", .type = type}}, {{.name = "y", .type = type}});
}

TEST(RowCheckTest, EqualRowsAreIndependent) {
  EXPECT_EQ(Check(1).outcome, RowCheck::Outcome::kIndependent);
}

TEST(RowCheckTest, AModelThatNeedsManyRowsIsNoBatch) {
  const RowCheck check = Check(5);
  EXPECT_EQ(check.outcome, RowCheck::Outcome::kDependent);
  EXPECT_THAT(check.detail, HasSubstr("takes many rows but not two (a window does not fit)"));
}

TEST(RowCheckTest, AModelThatRefusesEverythingTellsNothing) {
  EXPECT_EQ(Check(1000).outcome, RowCheck::Outcome::kInconclusive);
}

}  // namespace
}  // namespace inferd::repository
