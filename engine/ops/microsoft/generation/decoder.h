// The model inside a generation operator: from tokens to logits, with its caches.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "engine/kernel/kernel.h"
#include "engine/ops/microsoft/generation/token_scores.h"

namespace inferd::engine {

enum class DecoderKind : uint8_t { kDecoderOnly, kEncoderDecoder };

// What a decoder is made from; all of it outlives the decoder.
struct DecoderInputs {
  KernelContext* context = nullptr;
  const Node* node = nullptr;
  DecoderKind kind = DecoderKind::kDecoderOnly;
  TensorView input_ids;       // [batch, length], int32
  TensorView attention_mask;  // [batch, length], int32; undefined: from pad_token
  int beams = 1;
  int pad_token = 0;
  int start_token = 0;  // encoder-decoder: the first token of every sequence
};

// One generation. Rows are batch * beams, those of one item adjacent. Not thread-safe.
class Decoder {
 public:
  // INVALID_ARGUMENT or UNIMPLEMENTED where the bodies have no form known here.
  static absl::StatusOr<std::unique_ptr<Decoder>> Make(const DecoderInputs& inputs);
  virtual ~Decoder() = default;

  // What each row starts with.
  virtual Sequences InitialSequences() const = 0;
  // Logits after the initial sequences.
  virtual absl::StatusOr<Tensor> First() = 0;
  // Row r goes on from what row parents[r] was, with tokens[r] behind it.
  virtual absl::StatusOr<Tensor> Next(absl::Span<const int32_t> tokens,
                                      absl::Span<const int> parents) = 0;
};

}  // namespace inferd::engine
