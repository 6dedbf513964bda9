#include "engine/ops/microsoft/generation/token_scores.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "absl/strings/str_cat.h"
#include "engine/status_macros.h"

namespace inferd::engine {
namespace {

constexpr float kForbidden = std::numeric_limits<float>::lowest();

void LogSoftmaxRow(int64_t count, float* scores) {
  const float max = *std::max_element(scores, scores + count);
  double sum = 0;
  for (int64_t i = 0; i < count; ++i) sum += std::exp(double(scores[i]) - max);
  const double shift = max + std::log(sum);
  for (int64_t i = 0; i < count; ++i) scores[i] = static_cast<float>(scores[i] - shift);
}

void PenalizeRepetition(float penalty, const std::vector<int32_t>& tokens, int64_t vocabulary,
                        float* scores) {
  const std::set<int32_t> seen(tokens.begin(), tokens.end());
  for (int32_t token : seen) {
    if (token < 0 || token >= vocabulary) continue;
    scores[token] = scores[token] < 0 ? scores[token] * penalty : scores[token] / penalty;
  }
}

// Forbids every token that would complete an n-gram which has occurred.
void ForbidRepeatedNgrams(int n, const std::vector<int32_t>& tokens, int64_t vocabulary,
                          float* scores) {
  const int length = static_cast<int>(tokens.size());
  if (n < 1 || n > length) return;
  const auto tail = tokens.end() - (n - 1);
  for (int start = 0; start + n <= length; ++start) {
    const int32_t last = tokens[start + n - 1];
    if (std::equal(tail, tokens.end(), tokens.begin() + start) && last >= 0 && last < vocabulary) {
      scores[last] = kForbidden;
    }
  }
}

}  // namespace

absl::Status LogitsOfLast(const TensorView& logits, int64_t rows, int64_t vocabulary,
                          std::vector<float>* scores) {
  const Shape& shape = logits.shape;
  if (shape.rank() != 3 || shape[0] != rows || shape[1] < 1 || shape[2] < vocabulary) {
    return absl::InvalidArgumentError(absl::StrCat("the decoder gives logits ", shape.ToString(),
                                                   ", expected [", rows, ", positions, ",
                                                   vocabulary, "]"));
  }
  scores->resize(rows * vocabulary);
  const bool known = DispatchType<float, Float16, BFloat16>(logits.type, [&]<typename T>() {
    for (int64_t r = 0; r < rows; ++r) {
      const T* last = logits.as<T>() + ((r + 1) * shape[1] - 1) * shape[2];
      for (int64_t t = 0; t < vocabulary; ++t) {
        (*scores)[r * vocabulary + t] = static_cast<float>(last[t]);
      }
    }
  });
  if (known) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("the decoder gives logits of type ",
                                                 ElementTypeName(logits.type),
                                                 ", expected float, float16 or bfloat16"));
}

absl::Status LogProbabilitiesOfLast(const TensorView& logits, int64_t rows, int64_t vocabulary,
                                    std::vector<float>* scores) {
  RETURN_IF_ERROR(LogitsOfLast(logits, rows, vocabulary, scores));
  if (vocabulary == 0) return absl::OkStatus();
  for (int64_t r = 0; r < rows; ++r) LogSoftmaxRow(vocabulary, scores->data() + r * vocabulary);
  return absl::OkStatus();
}

void ApplyScoreRules(const ScoreRules& rules, const Sequences& sequences, int batch, int step,
                     std::vector<float>* scores) {
  const auto rows = static_cast<int64_t>(sequences.size());
  const int64_t vocabulary = static_cast<int64_t>(scores->size()) / rows;
  const int64_t rows_per_item = rows / batch;
  for (int64_t r = 0; r < rows; ++r) {
    float* row = scores->data() + r * vocabulary;
    if (rules.repetition_penalty != 1) {
      PenalizeRepetition(rules.repetition_penalty, sequences[r], vocabulary, row);
    }
    ForbidRepeatedNgrams(rules.no_repeat_ngram, sequences[r], vocabulary, row);
    for (size_t t = 0; t < rules.vocab_mask.size(); ++t) {
      if (rules.vocab_mask[t] == 0) row[t] = kForbidden;
    }
    if (step == 0 && !rules.prefix_vocab_mask.empty()) {
      const int32_t* mask = rules.prefix_vocab_mask.data() + r / rows_per_item * vocabulary;
      for (int64_t t = 0; t < vocabulary; ++t) {
        if (mask[t] == 0) row[t] = kForbidden;
      }
    }
    if (rules.eos_token >= 0 && rules.eos_token < vocabulary &&
        static_cast<int>(sequences[r].size()) < rules.min_length) {
      row[rules.eos_token] = kForbidden;
    }
  }
}

}  // namespace inferd::engine
