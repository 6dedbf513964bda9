// From a decoder's logits to the scores that a search ranks tokens by.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "engine/tensor/tensor.h"

namespace inferd::engine {

// How scores of tokens are changed before a search looks at them.
struct ScoreRules {
  int min_length = 0;  // no end token before this many tokens, the prompt included
  int eos_token = -1;
  float repetition_penalty = 1;               // > 1 makes tokens that have occurred less likely
  int no_repeat_ngram = 0;                    // no sequence of this many tokens twice; 0: off
  absl::Span<const int32_t> vocab_mask = {};  // [vocabulary]; 0 forbids a token
  absl::Span<const int32_t> prefix_vocab_mask = {};  // [batch, vocabulary], for the first token
};

// Tokens of each row so far. All rows are equally long.
using Sequences = std::vector<std::vector<int32_t>>;

// The last position of logits [rows, positions, vocabulary], row by row. INVALID_ARGUMENT where
// the logits have another form.
absl::Status LogitsOfLast(const TensorView& logits, int64_t rows, int64_t vocabulary,
                          std::vector<float>* scores);
// The same as log probabilities.
absl::Status LogProbabilitiesOfLast(const TensorView& logits, int64_t rows, int64_t vocabulary,
                                    std::vector<float>* scores);

// `step` counts generated tokens from 0. Forbidden tokens get the lowest finite score.
void ApplyScoreRules(const ScoreRules& rules, const Sequences& sequences, int batch, int step,
                     std::vector<float>* scores);

}  // namespace inferd::engine
