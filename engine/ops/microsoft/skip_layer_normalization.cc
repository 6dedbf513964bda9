// com.microsoft::SkipLayerNormalization and SkipSimplifiedLayerNormalization: a residual sum,
// normalized along its last dimension.
#include <memory>

#include "absl/strings/str_cat.h"
#include "engine/kernel/kernel.h"
#include "engine/ops/all_ops.h"
#include "engine/ops/attention_shape.h"
#include "engine/ops/elementwise.h"
#include "engine/ops/microsoft/normalized_sum.h"
#include "engine/ops/op_def.h"
#include "engine/ops/schema.h"
#include "engine/ops/shape_functions.h"
#include "engine/status_macros.h"

namespace inferd::engine {
namespace {

enum Output { kY, kMean, kInverse, kSum };

// Where the two operators keep what only one of them has. -1: nowhere.
struct Form {
  int input = 0, skip = 1, scale = 2;
  int shift;
  int bias;
};
constexpr Form kCentred = {.shift = 3, .bias = 4};
constexpr Form kRootMeanSquare = {.shift = -1, .bias = 3};

absl::Status InferWith(InferenceContext& context, const Form& form) {
  RETURN_IF_ERROR(ExpectRank(context, form.input, 2, 3));
  const SymbolicShape& x = context.shape(form.input);
  Dim hidden = x.has_rank() ? x[x.rank() - 1] : Dim();
  for (int i : {form.scale, form.shift, form.bias}) {
    if (i < 0 || !context.has_input(i)) continue;
    RETURN_IF_ERROR(ExpectRank(context, i, 1, 1));
    RETURN_IF_ERROR(MergeInputDim(context, i, 0, "hidden size", hidden));
  }
  RETURN_IF_ERROR(ExpectRank(context, form.skip, 2, 3));
  if (x.has_rank()) RETURN_IF_ERROR(ExpectBroadcastable(context, form.skip, x.dims()));
  const SymbolicShape& skip = context.shape(form.skip);
  // The skip may lack samples; rows and columns it must have.
  for (int d = 1; x.has_rank() && skip.has_rank() && d <= 2; ++d) {
    const Dim &own = skip[skip.rank() - d], &wanted = x[x.rank() - d];
    if (own.known() && wanted.known() && own != wanted) {
      return absl::InvalidArgumentError(absl::StrCat(
          "skip of shape ", skip.ToString(), " does not match input of shape ", x.ToString()));
    }
  }
  context.SetOutput(kY, context.input_type(form.input));
  SymbolicShape statistics = x;
  if (x.has_rank()) statistics[x.rank() - 1] = Dim(1);
  const Node& node = context.node();
  for (int i : {kMean, kInverse}) {
    if (node.output(i) != nullptr) context.SetOutput(i, ElementType::kFloat32, statistics);
  }
  if (node.output(kSum) != nullptr) context.SetOutput(kSum, context.input_type(form.input));
  return absl::OkStatus();
}

absl::Status InferCentred(InferenceContext& context) { return InferWith(context, kCentred); }
absl::Status InferRootMeanSquare(InferenceContext& context) {
  return InferWith(context, kRootMeanSquare);
}

template <typename T>
std::unique_ptr<Kernel> MakeSkipNormalization(const NodeSpec& spec, const Form& form) {
  const Shape& x = spec.input(form.input).shape;
  const int64_t length = x[x.rank() - 1];
  const int64_t rows = x.Product(0, x.rank() - 1);
  const Shape& skip = spec.input(form.skip).shape;
  const int64_t skip_rows = std::max<int64_t>(1, skip.Product(0, skip.rank() - 1));
  const double epsilon = spec.attributes().GetFloat("epsilon", 1e-12f);
  return MakeKernel([=, &form](KernelContext& context) {
    const auto optional = [&](int i) -> const T* {
      return i >= 0 && context.has_input(i) ? context.input(i).as<T>() : nullptr;
    };
    const T* input = context.input(form.input).as<T>();
    const T* skipped = context.input(form.skip).as<T>();
    const T* scale = context.input(form.scale).as<T>();
    const T* shift = optional(form.shift);
    const T* bias = optional(form.bias);
    T* y = context.output(kY).as<T>();
    T* sum = context.has_output(kSum) ? context.output(kSum).as<T>() : nullptr;
    float* mean = context.has_output(kMean) ? context.output(kMean).as<float>() : nullptr;
    float* inverse = context.has_output(kInverse) ? context.output(kInverse).as<float>() : nullptr;
    const int64_t grain = std::max<int64_t>(1, 8192 / std::max<int64_t>(1, length));
    context.threads().ParallelFor(rows, grain, [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) {
        const T* a = input + r * length;
        const T* b = skipped + r % skip_rows * length;
        const auto value = [&](int64_t i) {
          float v = static_cast<float>(a[i]) + static_cast<float>(b[i]);
          if (bias != nullptr) v += static_cast<float>(bias[i]);
          return static_cast<double>(v);
        };
        const RowStatistics statistics =
            NormalizeRow(length, epsilon, form.shift >= 0, value, scale, shift, y + r * length);
        for (int64_t i = 0; sum != nullptr && i < length; ++i) {
          sum[r * length + i] = static_cast<T>(static_cast<float>(value(i)));
        }
        if (mean != nullptr) mean[r] = static_cast<float>(statistics.mean);
        if (inverse != nullptr) inverse[r] = static_cast<float>(statistics.inverse);
      }
    });
    return absl::OkStatus();
  });
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeReference(const NodeSpec& spec, const Form& form) {
  std::unique_ptr<Kernel> kernel;
  if (!DispatchType<float, Float16, BFloat16>(spec.input(form.input).type, [&]<typename T>() {
        kernel = MakeSkipNormalization<T>(spec, form);
      })) {
    return UnsupportedType(spec, spec.input(form.input).type);
  }
  return kernel;
}

absl::StatusOr<std::unique_ptr<Kernel>> CentredReference(const NodeSpec& spec) {
  return MakeReference(spec, kCentred);
}
absl::StatusOr<std::unique_ptr<Kernel>> RootMeanSquareReference(const NodeSpec& spec) {
  return MakeReference(spec, kRootMeanSquare);
}

}  // namespace

void RegisterMicrosoftSkipLayerNormalizationOps(OpRegistry& registry) {
  using Kind = AttributeSpec::Kind;
  constexpr ElementTypeSet kTypes = {ElementType::kFloat32, ElementType::kFloat16,
                                     ElementType::kBfloat16};
  constexpr ElementTypeSet kStatistic = {ElementType::kFloat32};
  const std::vector<FormalParameter> outputs = {
      RequiredParameter("output", "T", kTypes), OptionalParameter("mean", "", kStatistic),
      OptionalParameter("inv_std_var", "", kStatistic),
      OptionalParameter("input_skip_bias_sum", "T", kTypes)};
  registry.Register(
      {.domain = "com.microsoft",
       .name = "SkipLayerNormalization",
       .inputs = {RequiredParameter("input", "T", kTypes), RequiredParameter("skip", "T", kTypes),
                  RequiredParameter("gamma", "T", kTypes), OptionalParameter("beta", "T", kTypes),
                  OptionalParameter("bias", "T", kTypes)},
       .outputs = outputs,
       .attributes = {{"epsilon", Kind::kFloat}},
       .infer = InferCentred,
       .reference = CentredReference});
  registry.Register(
      {.domain = "com.microsoft",
       .name = "SkipSimplifiedLayerNormalization",
       .inputs = {RequiredParameter("input", "T", kTypes), RequiredParameter("skip", "T", kTypes),
                  RequiredParameter("gamma", "T", kTypes), OptionalParameter("bias", "T", kTypes)},
       .outputs = outputs,
       .attributes = {{"epsilon", Kind::kFloat}},
       .infer = InferRootMeanSquare,
       .reference = RootMeanSquareReference});
}

}  // namespace inferd::engine
