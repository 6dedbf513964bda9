// GRU, a layer of gated recurrent units (https://arxiv.org/abs/1406.1078), with gates in the order
// update, reset, hidden:
//   z = f(x Wz + h Rz + b)    r = f(x Wr + h Rr + b)
//   n = g(x Wh + (r h) Rh + rb + wb), or g(x Wh + r (h Rh + rb) + wb) with linear_before_reset
//   h' = (1 - z) n + z h
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
constexpr int64_t kGates = 3;
constexpr absl::string_view kActivations[] = {"Sigmoid", "Tanh"};

template <typename C>
class GruCell final : public RecurrentCell<C> {
 public:
  GruCell(RecurrentActivation f, RecurrentActivation g, float clip, bool linear_before_reset,
          int64_t hidden)
      : f_(f), g_(g), clip_(clip), linear_before_reset_(linear_before_reset), hidden_(hidden) {}

  // The reset gate scales the recurrent bias of the hidden gate too: it cannot be added before.
  bool adds_recurrent_bias(int64_t gate) const override {
    return gate != 2 || !linear_before_reset_;
  }

  void Step(const RecurrentStep<C>& step) const override {
    const int64_t n = hidden_;
    step.AddState(step.hidden, step.gates, 0, 2 * n);
    if (linear_before_reset_) {
      step.ForEachRow(n, [&](int64_t i) {
        if (step.recurrent_bias != nullptr) {
          std::copy_n(step.recurrent_bias + 2 * n, n, step.scratch[i]);
        } else {
          std::fill_n(step.scratch[i], n, C{0});
        }
      });
      step.AddState(step.hidden, step.scratch, 2 * n, n);
      step.ForEachRow(3 * n, [&](int64_t i) {
        C* gates = step.gates[i];
        Activate(f_, gates, 2 * n);
        for (int64_t j = 0; j < n; ++j) gates[2 * n + j] += gates[n + j] * step.scratch[i][j];
        Finish(gates, gates + 2 * n, step.hidden[i]);
      });
      return;
    }
    // r h takes the place of r, and the hidden gate is finished in `scratch`.
    step.ForEachRow(2 * n, [&](int64_t i) {
      C* gates = step.gates[i];
      Activate(f_, gates, 2 * n);
      std::copy_n(gates + 2 * n, n, step.scratch[i]);
      for (int64_t j = 0; j < n; ++j) gates[n + j] *= step.hidden[i][j];
      step.operands[i] = gates + n;
    });
    step.AddState(step.operands, step.scratch, 2 * n, n);
    step.ForEachRow(n, [&](int64_t i) { Finish(step.gates[i], step.scratch[i], step.hidden[i]); });
  }

 private:
  // From z and the input of g.
  void Finish(const C* z, C* candidate, C* hidden) const {
    Activate(g_, candidate, hidden_);
    for (int64_t j = 0; j < hidden_; ++j) {
      hidden[j] = (C{1} - z[j]) * candidate[j] + z[j] * hidden[j];
    }
  }

  void Activate(const RecurrentActivation& activation, C* values, int64_t count) const {
    const C bound = clip_;
    for (int64_t j = 0; j < count; ++j) values[j] = std::clamp(values[j], -bound, bound);
    activation.Apply(values, count);
  }

  RecurrentActivation f_, g_;
  C clip_;
  bool linear_before_reset_;
  int64_t hidden_;
};

absl::StatusOr<std::vector<RecurrentActivation>> Activations(const Attributes& attributes) {
  ASSIGN_OR_RETURN(const int directions, RecurrentDirections(attributes));
  return RecurrentActivations(attributes, kActivations, directions);
}

absl::Status InferGru(InferenceContext& context) {
  RETURN_IF_ERROR(Activations(context.attributes()).status());
  return InferRecurrent(context, kGates, kInputs);
}

absl::StatusOr<std::unique_ptr<Kernel>> GruReference(const NodeSpec& spec) {
  ASSIGN_OR_RETURN(const RecurrentSizes sizes, ResolveRecurrent(spec, kGates));
  ASSIGN_OR_RETURN(const auto activations, Activations(spec.attributes()));
  ASSIGN_OR_RETURN(const float clip, RecurrentClip(spec.attributes()));
  const bool linear_before_reset = spec.attributes().GetInt("linear_before_reset", 0) != 0;
  return RecurrentReference(spec, sizes, kInputs, [&]<typename C>(int direction) {
    return std::make_unique<GruCell<C>>(activations[2 * direction], activations[2 * direction + 1],
                                        clip, linear_before_reset, sizes.hidden);
  });
}

}  // namespace

void RegisterGruOps(OpRegistry& registry) {
  using Kind = AttributeSpec::Kind;
  using type_sets::kFloats;
  OpDef def;
  def.name = "GRU";
  def.version = 22;
  def.inputs = {RequiredParameter("X", "T", kFloats),
                RequiredParameter("W", "T", kFloats),
                RequiredParameter("R", "T", kFloats),
                OptionalParameter("B", "T", kFloats),
                OptionalParameter("sequence_lens", "T1", {ElementType::kInt32}),
                OptionalParameter("initial_h", "T", kFloats)};
  def.outputs = {OptionalParameter("Y", "T", kFloats), OptionalParameter("Y_h", "T", kFloats)};
  def.attributes = {{"activation_alpha", Kind::kFloats}, {"activation_beta", Kind::kFloats},
                    {"activations", Kind::kStrings},     {"clip", Kind::kFloat},
                    {"direction", Kind::kString},        {"hidden_size", Kind::kInt},
                    {"linear_before_reset", Kind::kInt}, {"layout", Kind::kInt}};
  def.infer = InferGru;
  def.reference = GruReference;
  registry.Register(std::move(def));
}

}  // namespace inferd::engine
