// Attributes and shapes of recurrent layers.
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/ops/recurrent_layer.h"
#include "engine/ops/shape_functions.h"
#include "engine/status_macros.h"

namespace inferd::engine {
namespace {

// d * factor where that is known and representable.
Dim Times(const Dim& d, int64_t factor) {
  if (!d.known() || d.value() > std::numeric_limits<int64_t>::max() / factor) return Dim::Unknown();
  return Dim(d.value() * factor);
}

// INVALID_ARGUMENT naming the input, where what is known of its shape differs from `expected`.
absl::Status ExpectShape(const InferenceContext& context, int input, absl::string_view name,
                         const std::vector<Dim>& expected) {
  if (input < 0 || !context.has_input(input)) return absl::OkStatus();
  const SymbolicShape& shape = context.shape(input);
  if (!shape.has_rank()) return absl::OkStatus();
  bool same = shape.rank() == static_cast<int>(expected.size());
  for (int i = 0; same && i < shape.rank(); ++i) {
    same = !shape[i].known() || !expected[i].known() || shape[i].value() == expected[i].value();
  }
  if (same) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("input ", input, " (", name, ") has shape ",
                                                 shape.ToString(), ", expected ",
                                                 SymbolicShape(expected).ToString()));
}

Dim DimOf(const SymbolicShape& shape, int i) {
  return shape.has_rank() ? shape[i] : Dim::Unknown();
}

absl::StatusOr<bool> BatchMajor(const Attributes& attributes) {
  const int64_t layout = attributes.GetInt("layout", 0);
  if (layout != 0 && layout != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("attribute layout is ", layout, ", expected 0 or 1"));
  }
  return layout == 1;
}

// From attribute hidden_size and the shapes of W and R.
absl::StatusOr<Dim> HiddenSize(const InferenceContext& context, int64_t gates,
                               bool weights_transposed) {
  const int rows = weights_transposed ? 2 : 1;
  Dim hidden = DimOf(context.shape(2), 3 - rows);
  if (context.attributes().has("hidden_size")) {
    const int64_t size = context.attributes().GetInt("hidden_size", 0);
    if (size < 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("attribute hidden_size is ", size, ", expected a positive number"));
    }
    if (hidden.known() && hidden.value() != size) {
      return absl::InvalidArgumentError(absl::StrCat("attribute hidden_size is ", size,
                                                     ", but input 2 (R) has shape ",
                                                     context.shape(2).ToString()));
    }
    hidden = Dim(size);
  }
  for (int input : {1, 2}) {
    const Dim total = DimOf(context.shape(input), rows);
    if (hidden.known() || !total.known()) continue;
    if (total.value() % gates != 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("input ", input, " has shape ", context.shape(input).ToString(),
                       ", whose dimension ", rows, " is no multiple of the ", gates, " gates"));
    }
    hidden = Dim(total.value() / gates);
  }
  return hidden;
}

}  // namespace

absl::StatusOr<int> RecurrentDirections(const Attributes& attributes) {
  const std::string direction = attributes.GetString("direction", "forward");
  if (direction == "forward" || direction == "reverse") return 1;
  if (direction == "bidirectional") return 2;
  return absl::InvalidArgumentError(
      absl::StrCat("attribute direction is \"", direction,
                   "\", expected \"forward\", \"reverse\" or \"bidirectional\""));
}

absl::StatusOr<float> RecurrentClip(const Attributes& attributes) {
  const float clip = attributes.GetFloat("clip", std::numeric_limits<float>::infinity());
  if (clip > 0) return clip;
  return absl::InvalidArgumentError(
      absl::StrCat("attribute clip is ", clip, ", expected a positive number"));
}

absl::Status InferRecurrent(InferenceContext& context, int64_t gates, const RecurrentInputs& inputs,
                            bool weights_transposed) {
  ASSIGN_OR_RETURN(const int direction_count, RecurrentDirections(context.attributes()));
  ASSIGN_OR_RETURN(const bool batch_major, BatchMajor(context.attributes()));
  RETURN_IF_ERROR(RecurrentClip(context.attributes()).status());
  for (int i = 0; i < 3; ++i) RETURN_IF_ERROR(ExpectRank(context, i, 3, 3));
  ASSIGN_OR_RETURN(const Dim hidden, HiddenSize(context, gates, weights_transposed));

  const Dim directions(direction_count);
  const Dim steps = DimOf(context.shape(0), batch_major ? 1 : 0);
  const Dim batch = DimOf(context.shape(0), batch_major ? 0 : 1);
  const Dim input = DimOf(context.shape(0), 2);
  const Dim width = Times(hidden, gates);
  const std::vector<Dim> w = weights_transposed ? std::vector<Dim>{directions, input, width}
                                                : std::vector<Dim>{directions, width, input};
  const std::vector<Dim> r = weights_transposed ? std::vector<Dim>{directions, hidden, width}
                                                : std::vector<Dim>{directions, width, hidden};
  const std::vector<Dim> state = batch_major ? std::vector<Dim>{batch, directions, hidden}
                                             : std::vector<Dim>{directions, batch, hidden};
  RETURN_IF_ERROR(ExpectShape(context, 1, "W", w));
  RETURN_IF_ERROR(ExpectShape(context, 2, "R", r));
  RETURN_IF_ERROR(ExpectShape(context, inputs.bias, "B", {directions, Times(hidden, 2 * gates)}));
  RETURN_IF_ERROR(ExpectShape(context, inputs.sequence_lens, "sequence_lens", {batch}));
  RETURN_IF_ERROR(ExpectShape(context, inputs.initial_h, "initial_h", state));
  RETURN_IF_ERROR(ExpectShape(context, inputs.initial_c, "initial_c", state));
  RETURN_IF_ERROR(ExpectShape(context, inputs.peepholes, "P", {directions, Times(hidden, 3)}));

  const ElementType type = context.element_type(0);
  const std::vector<Dim> y = batch_major ? std::vector<Dim>{batch, steps, directions, hidden}
                                         : std::vector<Dim>{steps, directions, batch, hidden};
  if (context.node().output(0) != nullptr) context.SetOutput(0, type, SymbolicShape(y));
  for (int i = 1; i < (inputs.initial_c >= 0 ? 3 : 2); ++i) {
    if (context.node().output(i) != nullptr) context.SetOutput(i, type, SymbolicShape(state));
  }
  return absl::OkStatus();
}

absl::StatusOr<RecurrentSizes> ResolveRecurrent(const NodeSpec& spec, int64_t gates) {
  RecurrentSizes sizes;
  ASSIGN_OR_RETURN(sizes.directions, RecurrentDirections(spec.attributes()));
  ASSIGN_OR_RETURN(sizes.batch_major, BatchMajor(spec.attributes()));
  sizes.reverse = spec.attributes().GetString("direction", "forward") == "reverse";
  const Shape& x = spec.input(0).shape;
  sizes.steps = x[sizes.batch_major ? 1 : 0];
  sizes.batch = x[sizes.batch_major ? 0 : 1];
  sizes.input = x[2];
  sizes.gates = gates;
  const Shape& r = spec.input(2).shape;
  sizes.hidden = std::min(r[1], r[2]);  // the other one is gates * hidden
  return sizes;
}

}  // namespace inferd::engine
