// The activation functions of LSTM, GRU and RNN, chosen by name in a node's attributes.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "engine/ir/attribute.h"

namespace inferd::engine {

struct RecurrentActivation {
  enum class Kind : uint8_t {
    kRelu,
    kTanh,
    kSigmoid,
    kAffine,
    kLeakyRelu,
    kThresholdedRelu,
    kScaledTanh,
    kHardSigmoid,
    kElu,
    kSoftsign,
    kSoftplus
  };
  Kind kind = Kind::kTanh;
  float alpha = 0;
  float beta = 0;

  // In place, element by element.
  void Apply(float* values, int64_t count) const;
  void Apply(double* values, int64_t count) const;
};

// The functions of every direction, in order: `defaults` once per direction unless attribute
// activations lists others, in any case. Attributes activation_alpha and activation_beta hold a
// value for each function that takes one, in the same order; where they end early, the defaults of
// the operators of the same name hold.
absl::StatusOr<std::vector<RecurrentActivation>> RecurrentActivations(
    const Attributes& attributes, absl::Span<const absl::string_view> defaults, int directions);

}  // namespace inferd::engine
