// The masks of the com.microsoft attention operators: padding in several encodings, causality and
// an additive bias. Masked scores get a finite number added instead of vanishing, as the models
// expect of rows that are padding through and through.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "engine/ops/attention_core.h"
#include "engine/ops/element_rows.h"
#include "engine/ops/op_def.h"
#include "engine/tensor/tensor.h"

namespace inferd::engine {

enum class PaddingForm : uint8_t {
  kNone,
  kEnds,        // [batch]: keys from here on are padding
  kEndsStarts,  // [2 * batch]: exclusive ends, then inclusive starts
  kKeys,        // [batch, keys]: 0 is padding
  kPairs        // [batch, rows, keys]: 0 is masked
};

// The form of a mask of `mask` elements; kNone for the shapes [batch, 1] and [1, 1], which stand
// for no mask. INVALID_ARGUMENT naming `name` where the shape fits none.
absl::StatusOr<PaddingForm> ResolvePaddingForm(const Shape& mask, const AttentionShape& shape,
                                               absl::string_view name);

// What a kernel knows of its masks when it is made.
struct MaskRules {
  PaddingForm form = PaddingForm::kNone;
  bool causal = false;
  float filter = -10000.0f;  // added to masked scores
  // Of the additive bias [batch or 1, heads or 1, rows, keys].
  int64_t bias_batch_stride = 0;
  int64_t bias_head_stride = 0;
  LoadRowFn<float> load_bias = nullptr;

  void SetBias(const Shape& bias, ElementType type);
};

// What is added to future keys: the lowest float.
inline constexpr float kFutureScore = std::numeric_limits<float>::lowest();

// The masks of one run.
class AttentionMask {
 public:
  // `mask` and `bias` may be null.
  AttentionMask(const MaskRules& rules, const AttentionShape& shape, const int32_t* mask,
                const void* bias)
      : rules_(rules), shape_(shape), mask_(mask), bias_data_(bias) {}

  bool trivial() const { return mask_ == nullptr && bias_data_ == nullptr; }
  KeyRange Range(int64_t batch, int64_t row) const;
  void Bias(int64_t batch, int64_t head, int64_t row, int64_t begin, int64_t end, float* out) const;

 private:
  bool Masked(int64_t batch, int64_t row, int64_t key) const;

  const MaskRules& rules_;
  const AttentionShape& shape_;
  const int32_t* mask_;
  const void* bias_data_;
};

// INVALID_ARGUMENT unless input `i`, where present (-1: never), is a bias for [batch, heads, rows,
// keys]: either of the first two dimensions may be 1.
absl::Status CheckAttentionBias(const InferenceContext& context, int i,
                                const std::vector<Dim>& target);

}  // namespace inferd::engine
