// InstanceNormalization and GroupNormalization: each instance's channels are normalized group by
// group, then scaled and shifted per channel. Instance normalization has one channel a group.
//   https://arxiv.org/abs/1607.08022, https://arxiv.org/abs/1803.08494
#include <cmath>

#include "absl/strings/str_cat.h"
#include "engine/ops/all_ops.h"
#include "engine/ops/elementwise.h"
#include "engine/ops/op_def.h"
#include "engine/ops/schema.h"
#include "engine/ops/shape_functions.h"
#include "engine/status_macros.h"

namespace inferd::engine {
namespace {

using KernelOr = absl::StatusOr<std::unique_ptr<Kernel>>;

absl::Status InferChannelNormalization(InferenceContext& context) {
  RETURN_IF_ERROR(ExpectRank(context, 0, 2));
  const SymbolicShape& x = context.shape(0);
  for (int i : {1, 2}) {
    RETURN_IF_ERROR(ExpectRank(context, i, 1, 1));
    if (!x.has_rank() || !context.shape(i).has_rank()) continue;
    if (!MergeDims(x[1], context.shape(i)[0]).ok()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "input ", i, " has shape ", context.shape(i).ToString(),
          ", expected one element for each channel of input 0 of shape ", x.ToString()));
    }
  }
  return InferSameAsInput(context);
}

absl::Status InferGroupNormalization(InferenceContext& context) {
  const int64_t groups = context.attributes().GetInt("num_groups", 0);
  const SymbolicShape& x = context.shape(0);
  if (groups <= 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("attribute num_groups is ", groups, ", expected a positive number"));
  }
  if (x.has_rank() && x.rank() >= 2 && x[1].known() && x[1].value() % groups != 0) {
    return absl::InvalidArgumentError(absl::StrCat("attribute num_groups is ", groups,
                                                   ", which does not divide the ", x[1].value(),
                                                   " channels of input 0"));
  }
  return InferChannelNormalization(context);
}

KernelOr GroupKernel(const NodeSpec& spec, int64_t groups) {
  const Shape& shape = spec.input(0).shape;
  const int64_t batch = shape[0], channels = shape[1];
  const int64_t spatial = shape.Product(2, shape.rank());
  const int64_t per_group = groups == 0 ? 0 : channels / groups;
  const double epsilon = spec.attributes().GetFloat("epsilon", 1e-5f);
  std::unique_ptr<Kernel> kernel;
  const ElementType type = spec.input(0).type;
  if (!DispatchType<float, double, Float16, BFloat16>(type, [&]<typename T>() {
        kernel = MakeKernel([=](KernelContext& context) {
          using Compute = ComputeType<T>;
          const T* scale = context.input(1).as<T>();
          const T* bias = context.input(2).as<T>();
          const int64_t length = per_group * spatial;
          context.threads().ParallelFor(batch * groups, 1, [&](int64_t begin, int64_t end) {
            for (int64_t g = begin; g < end; ++g) {
              const T* x = context.input(0).as<T>() + g * length;
              T* y = context.output(0).as<T>() + g * length;
              double mean = 0, square = 0;
              for (int64_t i = 0; i < length; ++i) mean += static_cast<Compute>(x[i]);
              mean /= static_cast<double>(length);
              for (int64_t i = 0; i < length; ++i) {
                const double d = static_cast<Compute>(x[i]) - mean;
                square += d * d;
              }
              const double inverse = 1 / std::sqrt(square / static_cast<double>(length) + epsilon);
              for (int64_t c = 0; c < per_group; ++c) {
                const int64_t channel = g % groups * per_group + c;
                const double factor = static_cast<Compute>(scale[channel]) * inverse;
                const double shift = static_cast<Compute>(bias[channel]);
                for (int64_t i = c * spatial; i < (c + 1) * spatial; ++i) {
                  const double v = static_cast<Compute>(x[i]);
                  y[i] = static_cast<T>(static_cast<Compute>((v - mean) * factor + shift));
                }
              }
            }
          });
          return absl::OkStatus();
        });
      })) {
    return UnsupportedType(spec, type);
  }
  return kernel;
}

KernelOr InstanceReference(const NodeSpec& spec) {
  return GroupKernel(spec, spec.input(0).shape[1]);
}
KernelOr GroupReference(const NodeSpec& spec) {
  return GroupKernel(spec, spec.attributes().GetInt("num_groups", 1));
}

OpDef ChannelNormalization(const char* name, int version, ReferenceFn reference) {
  OpDef def;
  def.name = name;
  def.version = version;
  def.inputs = {RequiredParameter("X", "T", type_sets::kFloats),
                RequiredParameter("scale", "T", type_sets::kFloats),
                RequiredParameter("B", "T", type_sets::kFloats)};
  def.outputs = {RequiredParameter("Y", "T", type_sets::kFloats)};
  def.attributes = {{"epsilon", AttributeSpec::Kind::kFloat}};
  def.infer = InferChannelNormalization;
  def.reference = reference;
  def.in_place_inputs = {0};
  return def;
}

}  // namespace

void RegisterGroupNormalizationOps(OpRegistry& registry) {
  registry.Register(ChannelNormalization("InstanceNormalization", 22, InstanceReference));
  OpDef group = ChannelNormalization("GroupNormalization", 21, GroupReference);
  group.attributes.push_back({"num_groups", AttributeSpec::Kind::kInt, true});
  group.attributes.push_back({"stash_type", AttributeSpec::Kind::kInt});
  group.infer = InferGroupNormalization;
  group.oldest_version = 18;
  registry.Register(std::move(group));
}

}  // namespace inferd::engine
