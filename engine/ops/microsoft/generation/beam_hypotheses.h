// The finished sequences a beam search keeps for one item of the batch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace inferd::engine {

struct Hypothesis {
  std::vector<int32_t> tokens;
  float score = 0;  // sum of log probabilities / length ^ length_penalty
};

class BeamHypotheses {
 public:
  // At most `capacity` are kept, those with the highest scores.
  BeamHypotheses(int capacity, float length_penalty, bool early_stopping)
      : capacity_(capacity), length_penalty_(length_penalty), early_stopping_(early_stopping) {}

  void Add(std::vector<int32_t> tokens, float sum_of_log_probabilities);
  // True when no open sequence of `length` tokens, the best of which has this sum, can still win.
  bool IsDone(float best_sum_of_log_probabilities, int length) const;
  // Best first.
  const std::vector<Hypothesis>& sorted() const { return kept_; }

 private:
  float Score(float sum, size_t length) const;

  const int capacity_;
  const float length_penalty_;
  const bool early_stopping_;
  std::vector<Hypothesis> kept_;  // best first
};

}  // namespace inferd::engine
