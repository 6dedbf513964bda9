#include "model_repository/verify_plan.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "engine/ops/op_def.h"
#include "engine/status_macros.h"
#include "engine/tensor/tensor_comparison.h"
#include "model_repository/trial_inputs.h"

namespace inferd::repository {
namespace {

constexpr int64_t kRows = 2;
// What a free dimension becomes: long enough for windows and kernels.
constexpr int64_t kSize = 16;
// Two ways to compute one quantized network: those of a quantized MobileNet V2 differ by 0.05.
constexpr double kQuantizedError = 0.25;

// How far from the expected tensor the other one is on the whole, relative to what is expected; 0
// for other types than floating point.
double RelativeRootMeanSquare(const engine::TensorView& got, const engine::TensorView& want) {
  if (!engine::IsFloatingPoint(want.type)) return 0;
  double error = 0, expected = 0;
  for (int64_t i = 0; i < want.num_elements(); ++i) {
    const double w = engine::ElementAsDouble(want, i);
    const double d = engine::ElementAsDouble(got, i) - w;
    error += d * d;
    expected += w * w;
  }
  return error == 0 ? 0 : std::sqrt(error / expected);
}

// A quantized value on the other side of a tie is a whole step away, and so are sums of such, while
// a wrong plan is wrong all over.
bool Quantizes(const engine::Model& model) {
  const auto& nodes = model.graph().nodes();
  return std::any_of(nodes.begin(), nodes.end(), [](const auto& node) {
    return absl::StrContains(node->op().name, "Quantize") ||
           absl::StrContains(node->op().name, "QLinear");
  });
}

// Whether a second run gives what the first one gave.
absl::StatusOr<bool> Repeats(engine::Context& context, absl::Span<const engine::TensorView> inputs,
                             const std::vector<engine::Tensor>& first) {
  std::vector<engine::Tensor> second;
  RETURN_IF_ERROR(context.Run(inputs, &second));
  for (size_t i = 0; i < first.size(); ++i) {
    if (!engine::CompareTensors(second[i].view(), first[i].view(), {.rtol = 0, .atol = 0})
             .empty()) {
      return false;
    }
  }
  return true;
}

engine::Tolerance ToleranceFor(const engine::TensorView& want) {
  double largest = 0;
  if (engine::IsFloatingPoint(want.type)) {
    for (int64_t i = 0; i < want.num_elements(); ++i) {
      const double magnitude = std::abs(engine::ElementAsDouble(want, i));
      if (std::isfinite(magnitude)) largest = std::max(largest, magnitude);
    }
  }
  return {.rtol = 1e-3, .atol = 1e-4 * largest};
}

}  // namespace

absl::StatusOr<std::string> VerifyPlan(const std::string& path, engine::Context& optimized) {
  engine::ModelOptions options;
  options.eager = true;
  // As the model is served.
  options.tensor_outputs_for_maps = true;
  ASSIGN_OR_RETURN(const std::shared_ptr<engine::Model> reference,
                   engine::Model::Load(path, options));
  ASSIGN_OR_RETURN(const std::unique_ptr<engine::Context> eager, reference->NewContext({}));
  bool has_free_dims = false;
  const auto inputs = MakeTrialInputs(reference->inputs(), kRows, kSize, &has_free_dims);
  if (!inputs.ok()) return absl::StrCat("not verified: ", inputs.status().message());
  std::vector<engine::TensorView> views;
  for (const engine::Tensor& tensor : *inputs) views.push_back(tensor.view());
  std::vector<engine::Tensor> want, got;
  const absl::Status wanted = eager->Run(views, &want);
  const absl::Status ran = optimized.Run(views, &got);
  if (!wanted.ok() && !ran.ok()) {
    return absl::StrCat("not verified: the model refuses made-up inputs: ", wanted.message());
  }
  if (wanted.ok() != ran.ok()) {
    return absl::FailedPreconditionError(absl::StrCat(
        "verify: the optimized plan ", ran.ok() ? "runs" : "fails", " where the reference ",
        ran.ok() ? "fails" : "runs", ": ", (ran.ok() ? wanted : ran).message()));
  }
  const bool quantizes = Quantizes(*reference);
  for (size_t i = 0; i < want.size(); ++i) {
    const std::string difference =
        engine::CompareTensors(got[i].view(), want[i].view(), ToleranceFor(want[i].view()));
    if (difference.empty()) continue;
    if (quantizes && got[i].type() == want[i].type() && got[i].shape() == want[i].shape() &&
        RelativeRootMeanSquare(got[i].view(), want[i].view()) < kQuantizedError) {
      continue;
    }
    ASSIGN_OR_RETURN(const bool repeats, Repeats(*eager, views, want));
    if (!repeats) {
      return "not verified: the model draws random numbers, so that no run repeats another";
    }
    return absl::FailedPreconditionError(absl::StrCat(
        "verify: the optimized plan is wrong: output \"", reference->outputs()[i].name, "\": ",
        difference, "; `inferplan compare MODEL --against eager --bisect` names the pass or node"));
  }
  return absl::StrCat("verified: the optimized plan gives what the reference kernels give on ",
                      "made-up inputs (", want.size(), " outputs)");
}

}  // namespace inferd::repository
