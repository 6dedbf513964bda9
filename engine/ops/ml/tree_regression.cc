#include "engine/ops/ml/tree_regression.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "engine/kernel/kernel.h"
#include "engine/kernel/parsed_attributes.h"
#include "engine/ops/ml/table_input.h"
#include "engine/ops/shape_input.h"
#include "engine/status_macros.h"

namespace inferd::engine {
namespace {

// Scores of `rows` rows, one after the other. `scores` has the same number of doubles.
template <typename T>
void Predict(const TreeRegression& r, const T* x, int64_t rows, int64_t features, double* scores) {
  // NaN marks a target no tree has voted for yet: least and greatest start with the first vote.
  const bool sums = r.aggregate == TreeAggregate::kSum || r.aggregate == TreeAggregate::kAverage;
  constexpr double kNoVote = std::numeric_limits<double>::quiet_NaN();
  std::fill_n(scores, rows * r.targets, sums ? 0.0 : kNoVote);
  if (sums) {
    r.trees.ForEachLeaf(x, rows, features, [&](int64_t row, absl::Span<const TreeVote> votes) {
      for (const TreeVote& vote : votes) scores[row * r.targets + vote.target] += vote.weight;
    });
  } else {
    r.trees.ForEachLeaf(x, rows, features, [&](int64_t row, absl::Span<const TreeVote> votes) {
      for (const TreeVote& vote : votes) {
        double& score = scores[row * r.targets + vote.target];
        score = std::isnan(score)                    ? vote.weight
                : r.aggregate == TreeAggregate::kMin ? std::min(score, vote.weight)
                                                     : std::max(score, vote.weight);
      }
    });
  }
  for (int64_t row = 0; row < rows; ++row) {
    const absl::Span<double> of_row(scores + row * r.targets, r.targets);
    for (int64_t t = 0; t < r.targets; ++t) {
      if (!sums && std::isnan(of_row[t])) of_row[t] = 0;
      if (r.aggregate == TreeAggregate::kAverage) {
        of_row[t] /= static_cast<double>(r.trees.roots.size());
      }
      if (!r.base_values.empty()) of_row[t] += r.base_values[t];
    }
    ApplyPostTransform(r.transform, of_row);
  }
}

template <typename T, typename Out>
class RegressionKernel final : public Kernel {
 public:
  RegressionKernel(std::shared_ptr<const TreeRegression> regression, TableShape table)
      : regression_(std::move(regression)), table_(table) {}

  size_t workspace_bytes() const override {
    return table_.rows * regression_->targets * sizeof(double);
  }

  absl::Status Run(KernelContext& context) const override {
    const int64_t targets = regression_->targets;
    double* scores = static_cast<double*>(context.workspace());
    const T* x = context.input(0).as<T>();
    Out* y = context.output(0).as<Out>();
    context.threads().ParallelFor(table_.rows, 16, [&](int64_t begin, int64_t end) {
      Predict(*regression_, x + begin * table_.features, end - begin, table_.features,
              scores + begin * targets);
      for (int64_t i = begin * targets; i < end * targets; ++i) {
        y[i] = static_cast<Out>(static_cast<ComputeType<Out>>(scores[i]));
      }
    });
    return absl::OkStatus();
  }

 private:
  std::shared_ptr<const TreeRegression> regression_;
  TableShape table_;
};

}  // namespace

absl::StatusOr<int64_t> ReadNumTargets(const Attributes& attributes) {
  const int64_t targets = attributes.GetInt("n_targets", 1);
  if (targets < 1 || targets > std::numeric_limits<int32_t>::max()) {
    return absl::InvalidArgumentError(
        absl::StrCat("attribute n_targets is ", targets, ", expected at least 1"));
  }
  return targets;
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeTreeRegression(
    const NodeSpec& spec,
    absl::FunctionRef<absl::StatusOr<TreeRegression>(const Attributes&)> parse) {
  ASSIGN_OR_RETURN(const TableShape table, AsTable(spec.input(0).shape));
  ASSIGN_OR_RETURN(const std::shared_ptr<const TreeRegression> regression,
                   ParseAttributesOnce<TreeRegression>(spec, parse));
  if (table.features < regression->trees.features) {
    return absl::InvalidArgumentError(absl::StrCat("input X has ", table.features,
                                                   " features, but the trees read feature ",
                                                   regression->trees.features - 1));
  }
  RETURN_IF_ERROR(CheckOutputShape(spec, 0, Shape{table.rows, regression->targets}));
  std::unique_ptr<Kernel> kernel;
  const auto make = [&]<typename T, typename Out>() {
    kernel = std::make_unique<RegressionKernel<T, Out>>(regression, table);
  };
  const ElementType in = spec.input(0).type, out = spec.output(0).type;
  if (out == ElementType::kFloat32) {
    DispatchType<float, double, int32_t, int64_t>(
        in, [&]<typename T>() { make.template operator()<T, float>(); });
  } else if (in == out) {
    DispatchType<double, Float16>(in, [&]<typename T>() { make.template operator()<T, T>(); });
  }
  if (kernel == nullptr) {
    return absl::UnimplementedError(absl::StrCat("trees over ", std::string(ElementTypeName(in)),
                                                 " giving ", std::string(ElementTypeName(out))));
  }
  return kernel;
}

}  // namespace inferd::engine
