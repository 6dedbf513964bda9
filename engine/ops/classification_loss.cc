// NegativeLogLikelihoodLoss: minus the log probability of the right class at every position,
// weighted by class and reduced. SoftmaxCrossEntropyLoss: the same after a log softmax over the
// classes, which it may also return.
#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "engine/ops/all_ops.h"
#include "engine/ops/elementwise.h"
#include "engine/ops/op_def.h"
#include "engine/ops/schema.h"
#include "engine/ops/shape_functions.h"
#include "engine/status_macros.h"

namespace inferd::engine {
namespace {

enum class Reduction : uint8_t { kNone, kMean, kSum };

absl::StatusOr<Reduction> ReductionOf(const Attributes& attributes) {
  const std::string name = attributes.GetString("reduction", "mean");
  if (name == "none") return Reduction::kNone;
  if (name == "mean") return Reduction::kMean;
  if (name == "sum") return Reduction::kSum;
  return absl::InvalidArgumentError(absl::StrCat("attribute reduction is \"", name,
                                                 "\", expected \"none\", \"mean\" or \"sum\""));
}

absl::Status InferLoss(InferenceContext& context) {
  ASSIGN_OR_RETURN(const Reduction reduction, ReductionOf(context.attributes()));
  RETURN_IF_ERROR(ExpectRank(context, 0, 2));
  RETURN_IF_ERROR(ExpectRank(context, 1, 1));
  if (context.has_input(2)) RETURN_IF_ERROR(ExpectRank(context, 2, 1, 1));
  const SymbolicShape& scores = context.shape(0);
  SymbolicShape target = context.shape(1);
  if (scores.has_rank()) {
    std::vector<Dim> expected = scores.dims();
    expected.erase(expected.begin() + 1);
    bool fits = !target.has_rank() || target.rank() == static_cast<int>(expected.size());
    for (int d = 0; fits && target.has_rank() && d < target.rank(); ++d) {
      const absl::StatusOr<Dim> merged = MergeDims(expected[d], target[d]);
      fits = merged.ok();
      if (fits) expected[d] = *merged;
    }
    if (!fits) {
      return absl::InvalidArgumentError(absl::StrCat(
          "input 1 has shape ", target.ToString(), ", expected ",
          SymbolicShape(expected).ToString(), " for input 0 of shape ", scores.ToString()));
    }
    target = SymbolicShape(std::move(expected));
    if (context.has_input(2) && context.shape(2).has_rank() &&
        !MergeDims(scores[1], context.shape(2)[0]).ok()) {
      return absl::InvalidArgumentError(absl::StrCat("input 2 has shape ",
                                                     context.shape(2).ToString(), ", expected [",
                                                     scores[1].ToString(), "], one per class"));
    }
  }
  context.SetOutput(0, context.element_type(0),
                    reduction == Reduction::kNone ? target : SymbolicShape(Shape{}));
  if (context.node().output(1) != nullptr) {
    context.SetOutput(1, context.element_type(0), scores);
  }
  return absl::OkStatus();
}

template <typename T>
class LossKernel final : public Kernel {
  using Compute = ComputeType<T>;
  static constexpr int64_t kIgnored = -1;

 public:
  LossKernel(const NodeSpec& spec, Reduction reduction, bool softmax)
      : classes_(spec.input(0).shape[1]),
        inner_(spec.input(0).shape.Product(2, spec.input(0).shape.rank())),
        positions_(spec.input(0).shape[0] * inner_),
        reduction_(reduction),
        softmax_(softmax) {
    if (spec.attributes().has("ignore_index")) {
      ignore_index_ = spec.attributes().GetInt("ignore_index", 0);
    }
  }

  size_t workspace_bytes() const override {
    return reduction_ == Reduction::kNone ? 0 : sizeof(double) * positions_;
  }

  absl::Status Run(KernelContext& context) const override {
    RETURN_IF_ERROR(CheckTargets(context));
    double* losses = static_cast<double*>(context.workspace());
    const int64_t grain =
        std::max<int64_t>(1, kElementwiseGrain / std::max<int64_t>(1, classes_) / 4);
    context.threads().ParallelFor(positions_, grain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const double loss = LossAt(context, i);
        if (reduction_ == Reduction::kNone) {
          context.output(0).as<T>()[i] = static_cast<T>(static_cast<Compute>(loss));
        } else {
          losses[i] = loss;
        }
      }
    });
    if (reduction_ == Reduction::kNone) return absl::OkStatus();
    // In order, so that the sum does not depend on the number of threads.
    double sum = 0, weights = 0;
    for (int64_t i = 0; i < positions_; ++i) {
      const int64_t target = Target(context, i);
      if (target == kIgnored) continue;
      sum += losses[i];
      weights += Weight(context, target);
    }
    if (reduction_ == Reduction::kMean) sum /= weights;
    *context.output(0).as<T>() = static_cast<T>(static_cast<Compute>(sum));
    return absl::OkStatus();
  }

 private:
  static int64_t RawTarget(KernelContext& context, int64_t i) {
    const TensorView& target = context.input(1);
    return target.type == ElementType::kInt32 ? target.as<int32_t>()[i] : target.as<int64_t>()[i];
  }
  // The class of a position, kIgnored where it does not count.
  int64_t Target(KernelContext& context, int64_t i) const {
    const int64_t target = RawTarget(context, i);
    return ignore_index_ == target ? kIgnored : target;
  }

  absl::Status CheckTargets(KernelContext& context) const {
    for (int64_t i = 0; i < positions_; ++i) {
      const int64_t target = RawTarget(context, i);
      if ((target >= 0 && target < classes_) || ignore_index_ == target) continue;
      return absl::InvalidArgumentError(
          absl::StrCat("input 1 holds class ", target, ", expected a class in [0, ", classes_, ")",
                       ignore_index_.has_value() ? absl::StrCat(" or ignore_index ", *ignore_index_)
                                                 : std::string()));
    }
    return absl::OkStatus();
  }

  static double Weight(KernelContext& context, int64_t target) {
    if (!context.has_input(2)) return 1;
    return static_cast<double>(static_cast<Compute>(context.input(2).as<T>()[target]));
  }

  double LossAt(KernelContext& context, int64_t position) const {
    const int64_t base = position / inner_ * classes_ * inner_ + position % inner_;
    const T* scores = context.input(0).as<T>() + base;
    const auto score = [&](int64_t c) {
      return static_cast<double>(static_cast<Compute>(scores[c * inner_]));
    };
    // What log softmax subtracts from every score.
    double shift = 0;
    if (softmax_) {
      double largest = -std::numeric_limits<double>::infinity();
      for (int64_t c = 0; c < classes_; ++c) largest = std::max(largest, score(c));
      double sum = 0;
      for (int64_t c = 0; c < classes_; ++c) sum += std::exp(score(c) - largest);
      shift = largest + std::log(sum);
      if (context.has_output(1)) {
        T* log_prob = context.output(1).as<T>() + base;
        for (int64_t c = 0; c < classes_; ++c) {
          log_prob[c * inner_] = static_cast<T>(static_cast<Compute>(score(c) - shift));
        }
      }
    }
    const int64_t target = Target(context, position);
    if (target == kIgnored) return 0;
    return Weight(context, target) * (shift - score(target));
  }

  int64_t classes_;
  int64_t inner_;
  int64_t positions_;
  Reduction reduction_;
  bool softmax_;
  std::optional<int64_t> ignore_index_;
};

template <bool softmax>
absl::StatusOr<std::unique_ptr<Kernel>> Reference(const NodeSpec& spec) {
  ASSIGN_OR_RETURN(const Reduction reduction, ReductionOf(spec.attributes()));
  std::unique_ptr<Kernel> kernel;
  const ElementType type = spec.input(0).type;
  if (!DispatchType<float, double, Float16, BFloat16>(type, [&]<typename T>() {
        kernel = std::make_unique<LossKernel<T>>(spec, reduction, softmax);
      })) {
    return UnsupportedType(spec, type);
  }
  return kernel;
}

OpDef Loss(const char* name, int version, ReferenceFn reference) {
  OpDef def;
  def.name = name;
  def.version = version;
  def.oldest_version = 12;
  def.inputs = {RequiredParameter("input", "T", type_sets::kFloats),
                RequiredParameter("target", "Tind", {ElementType::kInt32, ElementType::kInt64}),
                OptionalParameter("weight", "T", type_sets::kFloats)};
  def.outputs = {RequiredParameter("loss", "T", type_sets::kFloats)};
  def.attributes = {{"ignore_index", AttributeSpec::Kind::kInt},
                    {"reduction", AttributeSpec::Kind::kString}};
  def.infer = InferLoss;
  def.reference = reference;
  return def;
}

}  // namespace

void RegisterClassificationLossOps(OpRegistry& registry) {
  registry.Register(Loss("NegativeLogLikelihoodLoss", 22, Reference<false>));
  OpDef softmax = Loss("SoftmaxCrossEntropyLoss", 13, Reference<true>);
  softmax.outputs.push_back(OptionalParameter("log_prob", "T", type_sets::kFloats));
  registry.Register(std::move(softmax));
}

}  // namespace inferd::engine
