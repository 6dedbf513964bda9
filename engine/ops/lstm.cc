// LSTM: lstm_cell.h over time.
#include "engine/ops/all_ops.h"
#include "engine/ops/lstm_cell.h"
#include "engine/ops/op_def.h"
#include "engine/ops/recurrent_layer.h"
#include "engine/ops/schema.h"
#include "engine/status_macros.h"

namespace inferd::engine {
namespace {

constexpr RecurrentInputs kInputs = {.initial_c = 6, .peepholes = 7};

absl::Status InferLstm(InferenceContext& context) {
  RETURN_IF_ERROR(LstmOptions::Of(context.attributes()).status());
  return InferRecurrent(context, kLstmGates, kInputs);
}

absl::StatusOr<std::unique_ptr<Kernel>> LstmReference(const NodeSpec& spec) {
  ASSIGN_OR_RETURN(const RecurrentSizes sizes, ResolveRecurrent(spec, kLstmGates));
  ASSIGN_OR_RETURN(const LstmOptions options, LstmOptions::Of(spec.attributes()));
  return RecurrentReference(spec, sizes, kInputs, [&]<typename C>(int direction) {
    return std::make_unique<LstmCell<C>>(options, direction, sizes.hidden);
  });
}

}  // namespace

void RegisterLstmOps(OpRegistry& registry) {
  using Kind = AttributeSpec::Kind;
  using type_sets::kFloats;
  OpDef def;
  def.name = "LSTM";
  def.version = 22;
  def.inputs = {RequiredParameter("X", "T", kFloats),
                RequiredParameter("W", "T", kFloats),
                RequiredParameter("R", "T", kFloats),
                OptionalParameter("B", "T", kFloats),
                OptionalParameter("sequence_lens", "T1", {ElementType::kInt32}),
                OptionalParameter("initial_h", "T", kFloats),
                OptionalParameter("initial_c", "T", kFloats),
                OptionalParameter("P", "T", kFloats)};
  def.outputs = {OptionalParameter("Y", "T", kFloats), OptionalParameter("Y_h", "T", kFloats),
                 OptionalParameter("Y_c", "T", kFloats)};
  def.attributes = {{"activation_alpha", Kind::kFloats}, {"activation_beta", Kind::kFloats},
                    {"activations", Kind::kStrings},     {"clip", Kind::kFloat},
                    {"direction", Kind::kString},        {"hidden_size", Kind::kInt},
                    {"input_forget", Kind::kInt},        {"layout", Kind::kInt}};
  def.infer = InferLstm;
  def.reference = LstmReference;
  registry.Register(std::move(def));
}

}  // namespace inferd::engine
