// Scaled dot-product attention over strided heads: the one engine of every attention operator.
//   https://arxiv.org/abs/1706.03762
//
//   out(b, h, i) = sum_j p(b, h, i, j) v(b, g, j)
//   p(b, h, i, .) = softmax(softcap(scale * q(b, h, i) . k(b, g, .)) + bias(b, h, i, .))
//
// where g = h / (heads / kv_heads). Query rows go in blocks, and only a block's scores exist at
// any time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "engine/device/thread_pool.h"
#include "engine/tensor/element_type.h"
#include "engine/tensor/shape.h"

namespace inferd::engine {

// Rows of heads in memory: row `row` of head `head` of batch `batch` starts `row * row_stride +
// head * head_stride + batch * batch_stride` elements after `data` and is dense.
struct HeadRows {
  const void* data = nullptr;
  ElementType type = ElementType::kUndefined;
  int64_t batch_stride = 0;
  int64_t head_stride = 0;
  int64_t row_stride = 0;

  // A dense [batch, heads, rows, size].
  static HeadRows HeadMajor(const void* data, ElementType type, int64_t heads, int64_t rows,
                            int64_t size) {
    return {data, type, heads * rows * size, rows * size, size};
  }
  // A dense [batch, rows, heads * size].
  static HeadRows RowMajor(const void* data, ElementType type, int64_t heads, int64_t rows,
                           int64_t size) {
    return {data, type, rows * heads * size, size, heads * size};
  }
  int64_t offset(int64_t batch, int64_t head, int64_t row) const {
    return batch * batch_stride + head * head_stride + row * row_stride;
  }
};

// Keys or values: the first `past_rows` of a sequence lie in `past`, the others in `current`,
// whose row 0 follows the last of `past`.
struct CachedRows {
  HeadRows past = {};
  HeadRows current = {};
  // Beam search: row j of the past of `batch` is that of beam past_beams[batch * past_beams_stride
  // + j] among the `beams` of its group. Null: its own.
  const int32_t* past_beams = nullptr;
  int64_t past_beams_stride = 0;
  int64_t beams = 1;
};

struct AttentionShape {
  int64_t batch = 0;
  int64_t heads = 0;
  int64_t kv_heads = 0;    // divides heads
  int64_t rows = 0;        // of the query
  int64_t keys = 0;        // past ones included
  int64_t keys_limit = 0;  // the most keys of any run, where that is more than `keys`
  int64_t past_rows = 0;
  int64_t head_size = 0;
  int64_t value_size = 0;

  int64_t group() const { return kv_heads == 0 ? 1 : heads / kv_heads; }
};

// Keys a row may attend to: [begin, end).
struct KeyRange {
  int64_t begin = 0;
  int64_t end = 0;
};

// What the optional score output [batch, heads, rows, keys] holds.
enum class ScoreStage : uint8_t { kProduct, kAfterSoftcap, kAfterBias, kProbabilities };

template <typename C>
struct AttentionProblem {
  AttentionShape shape;
  C scale = 1;
  C softcap = 0;  // 0: none
  HeadRows query = {};
  CachedRows keys = {};
  CachedRows values = {};
  // Written, although HeadRows says const.
  HeadRows output = {};

  // Keys outside count as masked.
  absl::FunctionRef<KeyRange(int64_t batch, int64_t row)> key_range;
  // Writes the bias of keys [begin, end) to bias[0 ...]; minus infinity masks a key whatever its
  // score. A row with every key masked gives zeros. Null: no bias.
  std::optional<absl::FunctionRef<void(int64_t batch, int64_t head, int64_t row, int64_t begin,
                                       int64_t end, C* bias)>>
      bias = std::nullopt;
  // One more logit per head in the denominator of the softmax, attached to no value.
  const C* sinks = nullptr;

  void* score_output = nullptr;
  ElementType score_type = ElementType::kUndefined;
  ScoreStage score_stage = ScoreStage::kProduct;
  // What kAfterBias shows for keys outside the key range.
  C hidden_score = -std::numeric_limits<C>::infinity();
};

// RESOURCE_EXHAUSTED where the sizes are beyond what any memory holds, although tensors of zero
// elements may have such dimensions.
absl::Status CheckAttentionShape(const AttentionShape& shape);

// Bytes of workspace for `threads` threads.
template <typename C>
size_t AttentionWorkspaceBytes(const AttentionShape& shape, int threads);

// `threads` and `workspace` as in AttentionWorkspaceBytes; fewer are used where the pool is
// smaller. The element types must be float, double, float16 or bfloat16.
template <typename C>
void RunAttention(const AttentionProblem<C>& problem, ThreadPool& pool, int threads,
                  void* workspace);

extern template size_t AttentionWorkspaceBytes<float>(const AttentionShape&, int);
extern template size_t AttentionWorkspaceBytes<double>(const AttentionShape&, int);
extern template void RunAttention<float>(const AttentionProblem<float>&, ThreadPool&, int, void*);
extern template void RunAttention<double>(const AttentionProblem<double>&, ThreadPool&, int, void*);

// Copies past and current rows into a dense [batch, heads, past_rows + current_rows, size] of
// `type`, converting where theirs is another floating-point type.
void ConcatenateRows(const CachedRows& rows, int64_t batch, int64_t heads, int64_t past_rows,
                     int64_t current_rows, int64_t size, ElementType type, void* target,
                     ThreadPool& pool);

}  // namespace inferd::engine
