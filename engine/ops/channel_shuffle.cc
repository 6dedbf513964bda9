// inferd::ChannelShuffle{group}(X): channels seen as a matrix of `group` rows are transposed, so
// that channel i * (C / group) + j moves to j * group + i. What ShuffleNet writes as Reshape,
// Transpose, Reshape (https://arxiv.org/abs/1707.01083, section 3.1).
#include <cstring>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/kernel/kernel.h"
#include "engine/ops/fused_ops.h"
#include "engine/ops/op_def.h"

namespace inferd::engine {
namespace {

constexpr ElementTypeSet kTypes = {ElementType::kFloat32};

absl::Status InferChannelShuffle(InferenceContext& context) {
  const SymbolicShape& shape = context.shape(0);
  const int64_t group = context.attributes().GetInt("group", 1);
  if (shape.has_rank() && shape.rank() < 2) {
    return absl::InvalidArgumentError("X must have rank 2 or more, found " + shape.ToString());
  }
  if (group < 1 || (shape.has_rank() && shape[1].known() && shape[1].value() % group != 0)) {
    return absl::InvalidArgumentError(
        absl::StrCat("group is ", group, ", which does not divide the channels of X"));
  }
  context.SetOutput(0, context.input_type(0));
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Kernel>> ChannelShuffleReference(const NodeSpec& spec) {
  const Shape& shape = spec.input(0).shape;
  const int64_t group = spec.attributes().GetInt("group", 1);
  const int64_t images = shape[0], channels = shape[1];
  const int64_t spatial = shape.Product(2, shape.rank());
  return MakeKernel([=](KernelContext& context) {
    const float* x = context.input(0).as<float>();
    float* y = context.output(0).as<float>();
    const int64_t per_group = channels / group;
    for (int64_t n = 0; n < images; ++n) {
      for (int64_t i = 0; i < group; ++i) {
        for (int64_t j = 0; j < per_group; ++j) {
          std::memcpy(y + (n * channels + j * group + i) * spatial,
                      x + (n * channels + i * per_group + j) * spatial, spatial * sizeof(float));
        }
      }
    }
    return absl::OkStatus();
  });
}

}  // namespace

void RegisterChannelShuffle(OpRegistry& registry) {
  OpDef def;
  def.domain = kInferdDomain;
  def.name = "ChannelShuffle";
  def.inputs = {{"X", "T", kTypes}};
  def.outputs = {{"Y", "T", kTypes}};
  def.attributes = {{"group", AttributeSpec::Kind::kInt, /*required=*/true}};
  def.infer = InferChannelShuffle;
  def.reference = ChannelShuffleReference;
  registry.Register(std::move(def));
}

}  // namespace inferd::engine
