// One step of a long short-term memory layer (https://doi.org/10.1162/neco.1997.9.8.1735), with
// gates in the order input, output, forget, cell:
//   i = f(x Wi + h Ri + pi c + b)      f' = f(x Wf + h Rf + pf c + b), or 1 - i with input_forget
//   c' = f' c + i g(x Wc + h Rc + b)   o = f(x Wo + h Ro + po c' + b)
//   h' = o h(c')
// Attribute clip bounds what f and g see, not the cell state.
#pragma once

#include <algorithm>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "engine/ops/recurrent_activation.h"
#include "engine/ops/recurrent_layer.h"
#include "engine/status_macros.h"

namespace inferd::engine {

inline constexpr absl::string_view kLstmActivations[] = {"Sigmoid", "Tanh", "Tanh"};
inline constexpr int64_t kLstmGates = 4;

// The attributes of a layer, per direction.
struct LstmOptions {
  std::vector<RecurrentActivation> activations;  // f, g, h of each direction
  float clip = 0;
  bool input_forget = false;

  static absl::StatusOr<LstmOptions> Of(const Attributes& attributes) {
    LstmOptions options;
    ASSIGN_OR_RETURN(const int directions, RecurrentDirections(attributes));
    ASSIGN_OR_RETURN(options.activations,
                     RecurrentActivations(attributes, kLstmActivations, directions));
    ASSIGN_OR_RETURN(options.clip, RecurrentClip(attributes));
    options.input_forget = attributes.GetInt("input_forget", 0) != 0;
    return options;
  }
};

template <typename C>
class LstmCell final : public RecurrentCell<C> {
 public:
  LstmCell(const LstmOptions& options, int direction, int64_t hidden)
      : f_(options.activations[3 * direction]),
        g_(options.activations[3 * direction + 1]),
        h_(options.activations[3 * direction + 2]),
        clip_(options.clip),
        input_forget_(options.input_forget),
        hidden_(hidden) {}

  void Step(const RecurrentStep<C>& step) const override {
    step.AddState(step.hidden, step.gates, 0, kLstmGates * hidden_);
    step.ForEachRow(kLstmGates * hidden_, [&](int64_t row) {
      Update(step.gates[row], step.hidden[row], step.cell[row], step.peepholes);
    });
  }

 private:
  void Update(C* gates, C* hidden, C* cell, const C* peepholes) const {
    const int64_t n = hidden_;
    C* i = gates;
    C* o = gates + n;
    C* f = gates + 2 * n;
    C* g = gates + 3 * n;
    if (peepholes != nullptr) {
      for (int64_t j = 0; j < n; ++j) i[j] += peepholes[j] * cell[j];
      for (int64_t j = 0; j < n; ++j) f[j] += peepholes[2 * n + j] * cell[j];
    }
    Activate(f_, i, n);
    if (!input_forget_) Activate(f_, f, n);
    Activate(g_, g, n);
    for (int64_t j = 0; j < n; ++j) {
      const C forget = input_forget_ ? C{1} - i[j] : f[j];
      cell[j] = forget * cell[j] + i[j] * g[j];
    }
    if (peepholes != nullptr) {
      for (int64_t j = 0; j < n; ++j) o[j] += peepholes[n + j] * cell[j];
    }
    Activate(f_, o, n);
    std::copy_n(cell, n, hidden);
    h_.Apply(hidden, n);
    for (int64_t j = 0; j < n; ++j) hidden[j] *= o[j];
  }

  void Activate(const RecurrentActivation& activation, C* values, int64_t count) const {
    const C bound = clip_;
    for (int64_t j = 0; j < count; ++j) values[j] = std::clamp(values[j], -bound, bound);
    activation.Apply(values, count);
  }

  RecurrentActivation f_, g_, h_;
  C clip_;
  bool input_forget_;
  int64_t hidden_;
};

}  // namespace inferd::engine
