// How com.microsoft's MultiHeadAttention and DecoderMaskedMultiHeadAttention get their operands,
// and what the dimensions of these say about each other.
#pragma once

#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"
#include "engine/ir/value_type.h"
#include "engine/ops/op_def.h"

namespace inferd::engine {

// Where an operator keeps its inputs. -1: there is none.
struct MultiHeadInputs {
  int query = 0, key = 1, value = 2;
  int bias, mask, attention_bias, past_key, past_value, past_length, indirection;
};

// How query, key and value arrive.
enum class MultiHeadPacking : uint8_t {
  kApart,          // [batch, length, heads * size] each
  kCross,          // key and value [batch, heads, length, size]
  kKeyValue,       // key [batch, length, heads, 2, size]
  kQueryKeyValue,  // query [batch, length, heads, 3, size]
  kRows            // query [batch, length, 3 * heads * size]: the decoder's packing
};

// INVALID_ARGUMENT for operands that are packed in none of these ways; no answer while a rank that
// tells is unknown. `decoder`: by the rules of DecoderMaskedMultiHeadAttention.
absl::StatusOr<std::optional<MultiHeadPacking>> ResolvePacking(bool has_key, bool has_value,
                                                               std::optional<int> query_rank,
                                                               std::optional<int> key_rank,
                                                               bool decoder);

// What is known of the sizes; `current` counts the new keys, `total` those in the present.
struct MultiHeadDims {
  Dim batch, rows, current, head_size, value_size, past, total;
};

// INVALID_ARGUMENT naming the input whose shape contradicts the others.
absl::StatusOr<MultiHeadDims> ResolveMultiHeadDims(const InferenceContext& context,
                                                   const MultiHeadInputs& in,
                                                   MultiHeadPacking packing, int64_t heads);

}  // namespace inferd::engine
