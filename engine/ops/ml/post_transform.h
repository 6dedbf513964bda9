// The transform of raw scores that classifiers and regressors of ai.onnx.ml end in.
#pragma once

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "engine/ir/attribute.h"

namespace inferd::engine {

enum class PostTransform : uint8_t { kNone, kSoftmax, kLogistic, kSoftmaxZero, kProbit };

absl::StatusOr<PostTransform> ReadPostTransform(const Attributes& attributes);

// In place; one score per class or target.
void ApplyPostTransform(PostTransform transform, absl::Span<double> scores);

// What the missing score of the negative class is where a model of two classes has one score s
// for the positive one.
enum class SecondScore : uint8_t {
  kOneMinus,  // 1 - s: scores are probabilities
  kNegated,   // -s: scores are margins
};
// Makes two scores of scores[0]. Logistic gives both probabilities whatever `second` says; the
// other transforms but probit leave the pair as it is, as they see one score.
void ExpandBinaryScore(PostTransform transform, SecondScore second, absl::Span<double> scores);

}  // namespace inferd::engine
