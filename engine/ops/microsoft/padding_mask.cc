#include "engine/ops/microsoft/padding_mask.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/ops/attention_shape.h"
#include "engine/ops/shape_functions.h"
#include "engine/status_macros.h"

namespace inferd::engine {

absl::StatusOr<PaddingForm> ResolvePaddingForm(const Shape& mask, const AttentionShape& shape,
                                               absl::string_view name) {
  const int64_t batch = shape.batch;
  switch (mask.rank()) {
    case 1:
      // The last form packs more behind the ends, which serve alone.
      if (mask[0] == batch || mask[0] == 3 * batch + 2) return PaddingForm::kEnds;
      if (mask[0] == 2 * batch) return PaddingForm::kEndsStarts;
      break;
    case 2:
      if (mask[0] == batch && mask[1] == shape.keys) return PaddingForm::kKeys;
      if ((mask[0] == batch || mask[0] == 1) && mask[1] == 1) return PaddingForm::kNone;
      break;
    case 3:
      if (mask[0] == batch && mask[1] == shape.rows && mask[2] == shape.keys) {
        return PaddingForm::kPairs;
      }
      break;
    case 4:
      return absl::UnimplementedError(
          absl::StrCat(name, " of shape ", mask.ToString(), ": masks of rank 4 are not supported"));
  }
  return absl::InvalidArgumentError(
      absl::StrCat(name, " has shape ", mask.ToString(), ", expected [", batch, "], [", 2 * batch,
                   "], [", 3 * batch + 2, "], [", batch, ",", shape.keys, "] or [", batch, ",",
                   shape.rows, ",", shape.keys, "]"));
}

void MaskRules::SetBias(const Shape& bias, ElementType type) {
  const int64_t plane = bias[2] * bias[3];
  bias_head_stride = bias[1] == 1 ? 0 : plane;
  bias_batch_stride = bias[0] == 1 ? 0 : bias[1] * plane;
  load_bias = RowLoader<float>(type);
}

bool AttentionMask::Masked(int64_t batch, int64_t row, int64_t key) const {
  switch (rules_.form) {
    case PaddingForm::kNone:
      return false;
    case PaddingForm::kEnds:
      return key >= mask_[batch];
    case PaddingForm::kEndsStarts:
      return key >= mask_[batch] || key < mask_[batch + shape_.batch];
    case PaddingForm::kKeys:
      return mask_[batch * shape_.keys + key] <= 0;
    case PaddingForm::kPairs:
      return mask_[(batch * shape_.rows + row) * shape_.keys + key] <= 0;
  }
  return false;
}

KeyRange AttentionMask::Range(int64_t batch, int64_t row) const {
  const KeyRange all{0, shape_.keys};
  if (!rules_.causal) return all;
  const KeyRange past{0, std::min(shape_.keys, shape_.past_rows + row + 1)};
  // Future keys have no weight beside one that counts. Where every past one is masked with a
  // number as low as theirs, they weigh as much as these.
  if (mask_ == nullptr || rules_.filter > -1e30f) return past;
  for (int64_t j = past.begin; j < past.end; ++j) {
    if (!Masked(batch, row, j)) return past;
  }
  return all;
}

void AttentionMask::Bias(int64_t batch, int64_t head, int64_t row, int64_t begin, int64_t end,
                         float* out) const {
  const int64_t future = rules_.causal ? shape_.past_rows + row + 1 : shape_.keys;
  for (int64_t j = begin; j < end; ++j) {
    out[j - begin] = j >= future                                 ? kFutureScore
                     : mask_ != nullptr && Masked(batch, row, j) ? rules_.filter
                                                                 : 0.0f;
  }
  if (bias_data_ == nullptr) return;
  constexpr int64_t kChunk = 128;
  float chunk[kChunk];
  const int64_t base =
      batch * rules_.bias_batch_stride + head * rules_.bias_head_stride + row * shape_.keys;
  for (int64_t j = begin; j < end; j += kChunk) {
    const int64_t count = std::min(kChunk, end - j);
    rules_.load_bias(bias_data_, base + j, count, chunk);
    for (int64_t i = 0; i < count; ++i) out[j - begin + i] += chunk[i];
  }
}

absl::Status CheckAttentionBias(const InferenceContext& context, int i,
                                const std::vector<Dim>& target) {
  if (i < 0 || !context.has_input(i)) return absl::OkStatus();
  RETURN_IF_ERROR(ExpectRank(context, i, 4, 4));
  RETURN_IF_ERROR(ExpectBroadcastable(context, i, target));
  Dim rows = target[2], keys = target[3];
  RETURN_IF_ERROR(MergeInputDim(context, i, 2, "sequence length", rows));
  return MergeInputDim(context, i, 3, "total sequence length", keys);
}

}  // namespace inferd::engine
