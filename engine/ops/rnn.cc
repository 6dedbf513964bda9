// RNN, the simple recurrent layer: h' = f(x W + h R + b).
#include <algorithm>

#include "engine/ops/all_ops.h"
#include "engine/ops/op_def.h"
#include "engine/ops/recurrent_activation.h"
#include "engine/ops/recurrent_layer.h"
#include "engine/ops/schema.h"
#include "engine/status_macros.h"

namespace inferd::engine {
namespace {

constexpr RecurrentInputs kInputs = {};
constexpr absl::string_view kActivations[] = {"Tanh"};

template <typename C>
class RnnCell final : public RecurrentCell<C> {
 public:
  RnnCell(RecurrentActivation f, float clip, int64_t hidden)
      : f_(f), clip_(clip), hidden_(hidden) {}

  void Step(const RecurrentStep<C>& step) const override {
    step.AddState(step.hidden, step.gates, 0, hidden_);
    step.ForEachRow(hidden_, [&](int64_t i) {
      for (int64_t j = 0; j < hidden_; ++j) {
        step.hidden[i][j] = std::clamp(step.gates[i][j], -clip_, clip_);
      }
      f_.Apply(step.hidden[i], hidden_);
    });
  }

 private:
  RecurrentActivation f_;
  C clip_;
  int64_t hidden_;
};

absl::StatusOr<std::vector<RecurrentActivation>> Activations(const Attributes& attributes) {
  ASSIGN_OR_RETURN(const int directions, RecurrentDirections(attributes));
  return RecurrentActivations(attributes, kActivations, directions);
}

absl::Status InferRnn(InferenceContext& context) {
  RETURN_IF_ERROR(Activations(context.attributes()).status());
  return InferRecurrent(context, 1, kInputs);
}

absl::StatusOr<std::unique_ptr<Kernel>> RnnReference(const NodeSpec& spec) {
  ASSIGN_OR_RETURN(const RecurrentSizes sizes, ResolveRecurrent(spec, 1));
  ASSIGN_OR_RETURN(const auto activations, Activations(spec.attributes()));
  ASSIGN_OR_RETURN(const float clip, RecurrentClip(spec.attributes()));
  return RecurrentReference(spec, sizes, kInputs, [&]<typename C>(int direction) {
    return std::make_unique<RnnCell<C>>(activations[direction], clip, sizes.hidden);
  });
}

}  // namespace

void RegisterRnnOps(OpRegistry& registry) {
  using Kind = AttributeSpec::Kind;
  using type_sets::kFloats;
  OpDef def;
  def.name = "RNN";
  def.version = 22;
  def.inputs = {RequiredParameter("X", "T", kFloats),
                RequiredParameter("W", "T", kFloats),
                RequiredParameter("R", "T", kFloats),
                OptionalParameter("B", "T", kFloats),
                OptionalParameter("sequence_lens", "T1", {ElementType::kInt32}),
                OptionalParameter("initial_h", "T", kFloats)};
  def.outputs = {OptionalParameter("Y", "T", kFloats), OptionalParameter("Y_h", "T", kFloats)};
  def.attributes = {{"activation_alpha", Kind::kFloats},
                    {"activation_beta", Kind::kFloats},
                    {"activations", Kind::kStrings},
                    {"clip", Kind::kFloat},
                    {"direction", Kind::kString},
                    {"hidden_size", Kind::kInt},
                    {"layout", Kind::kInt}};
  def.infer = InferRnn;
  def.reference = RnnReference;
  registry.Register(std::move(def));
}

}  // namespace inferd::engine
