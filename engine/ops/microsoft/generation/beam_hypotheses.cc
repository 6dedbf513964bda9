#include "engine/ops/microsoft/generation/beam_hypotheses.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace inferd::engine {

float BeamHypotheses::Score(float sum, size_t length) const {
  return sum / std::pow(static_cast<float>(length), length_penalty_);
}

void BeamHypotheses::Add(std::vector<int32_t> tokens, float sum_of_log_probabilities) {
  const float score = Score(sum_of_log_probabilities, tokens.size());
  const bool full = static_cast<int>(kept_.size()) >= capacity_;
  if (full && score <= kept_.back().score) return;
  const auto position = std::upper_bound(kept_.begin(), kept_.end(), score,
                                         [](float s, const Hypothesis& h) { return s > h.score; });
  kept_.insert(position, {std::move(tokens), score});
  if (static_cast<int>(kept_.size()) > capacity_) kept_.pop_back();
}

bool BeamHypotheses::IsDone(float best_sum_of_log_probabilities, int length) const {
  if (static_cast<int>(kept_.size()) < capacity_) return false;
  if (early_stopping_) return true;
  return kept_.back().score >= Score(best_sum_of_log_probabilities, static_cast<size_t>(length));
}

}  // namespace inferd::engine
