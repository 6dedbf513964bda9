#include "engine/ops/attention_core.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <limits>

#include "absl/strings/str_cat.h"
#include "engine/ops/attention_math.h"
#include "engine/ops/element_rows.h"

namespace inferd::engine {
namespace {

constexpr int64_t kMaxBlockRows = 32;
// Scores a block may hold, so that they stay in the second-level cache.
constexpr int64_t kBlockScores = 32768;
// Keys or values read (and converted where they are not of the compute type) at a time.
constexpr int64_t kTile = 32;

int64_t BlockRows(const AttentionShape& shape) {
  const int64_t rows = std::max<int64_t>(1, shape.rows * shape.group());
  const int64_t fitting = kBlockScores / std::max<int64_t>({1, shape.keys, shape.keys_limit});
  return std::min(rows, std::clamp<int64_t>(fitting, 4, kMaxBlockRows));
}

int64_t RoundUp(int64_t n) { return (n + 15) / 16 * 16; }

// The parts of one thread's workspace, in elements.
struct Parts {
  int64_t block_rows, query, scores, bias, sums, tile, total;

  explicit Parts(const AttentionShape& shape) {
    block_rows = BlockRows(shape);
    query = RoundUp(block_rows * shape.head_size);
    const int64_t keys = std::max(shape.keys, shape.keys_limit);
    scores = RoundUp(block_rows * keys);
    bias = RoundUp(keys);
    sums = RoundUp(block_rows * shape.value_size);
    tile = RoundUp(kTile * std::max(shape.head_size, shape.value_size));
    total = query + scores + bias + sums + tile;
  }
};

// Reads rows of past and current as C: in place where they are of that type.
template <typename C>
class TileReader {
 public:
  TileReader(const CachedRows& rows, int64_t past_rows, int64_t size)
      : rows_(rows),
        past_rows_(past_rows),
        size_(size),
        load_past_(rows.past.data != nullptr ? RowLoader<C>(rows.past.type) : nullptr),
        load_current_(RowLoader<C>(rows.current.type)) {}

  struct Tile {
    const C* data;
    int64_t stride;
    int64_t count;
  };
  // At least one row from `first` on, none from `end` on.
  Tile Read(int64_t batch, int64_t head, int64_t first, int64_t end, C* scratch) const {
    const bool in_past = first < past_rows_;
    const HeadRows& source = in_past ? rows_.past : rows_.current;
    const int64_t start = source.offset(batch, head, in_past ? first : first - past_rows_);
    const int64_t count = std::min(kTile, (in_past ? std::min(end, past_rows_) : end) - first);
    if (in_past && rows_.past_beams != nullptr) {
      const int32_t* beams = rows_.past_beams + batch * rows_.past_beams_stride + first;
      const int64_t group = batch / rows_.beams * rows_.beams;
      for (int64_t j = 0; j < count; ++j) {
        load_past_(source.data, source.offset(group + beams[j], head, first + j), size_,
                   scratch + j * size_);
      }
      return {scratch, size_, count};
    }
    if (source.type == TypeOf<C>()) {
      return {static_cast<const C*>(source.data) + start, source.row_stride, count};
    }
    const LoadRowFn<C> load = in_past ? load_past_ : load_current_;
    for (int64_t j = 0; j < count; ++j) {
      load(source.data, start + j * source.row_stride, size_, scratch + j * size_);
    }
    return {scratch, size_, count};
  }

 private:
  const CachedRows& rows_;
  int64_t past_rows_;
  int64_t size_;
  LoadRowFn<C> load_past_;
  LoadRowFn<C> load_current_;
};

template <typename C>
class BlockRunner {
 public:
  BlockRunner(const AttentionProblem<C>& problem)
      : p_(problem),
        s_(problem.shape),
        parts_(problem.shape),
        keys_(problem.keys, s_.past_rows, s_.head_size),
        values_(problem.values, s_.past_rows, s_.value_size),
        load_query_(RowLoader<C>(problem.query.type)),
        store_output_(RowStorer<C>(problem.output.type)),
        store_scores_(problem.score_output == nullptr ? nullptr
                                                      : RowStorer<C>(problem.score_type)) {}

  int64_t blocks_per_head() const {
    return (s_.rows * s_.group() + parts_.block_rows - 1) / parts_.block_rows;
  }
  int64_t tasks() const { return s_.batch * s_.kv_heads * blocks_per_head(); }

  void Run(int64_t task, C* workspace) const {
    const int64_t block = task % blocks_per_head();
    const int64_t kv_head = task / blocks_per_head() % s_.kv_heads;
    const int64_t batch = task / blocks_per_head() / s_.kv_heads;
    // Rows of all query heads that share the key head, one head after another.
    const int64_t first = block * parts_.block_rows;
    const int64_t count = std::min(parts_.block_rows, s_.rows * s_.group() - first);
    C* query = workspace;
    C* scores = query + parts_.query;
    C* bias = scores + parts_.scores;
    C* sums = bias + parts_.bias;
    C* tile = sums + parts_.sums;

    KeyRange all{s_.keys, 0};
    KeyRange ranges[kMaxBlockRows];
    for (int64_t r = 0; r < count; ++r) {
      const int64_t row = (first + r) % s_.rows;
      C* q = query + r * s_.head_size;
      load_query_(p_.query.data, p_.query.offset(batch, Head(kv_head, first + r), row),
                  s_.head_size, q);
      for (int64_t d = 0; d < s_.head_size; ++d) q[d] *= p_.scale;
      KeyRange range = p_.key_range(batch, row);
      range.end = std::clamp<int64_t>(range.end, 0, s_.keys);
      range.begin = std::clamp<int64_t>(range.begin, 0, range.end);
      ranges[r] = range;
      if (range.begin < range.end) {
        all.begin = std::min(all.begin, range.begin);
        all.end = std::max(all.end, range.end);
      }
    }
    if (p_.score_output != nullptr) all = {0, s_.keys};
    if (all.begin >= all.end) all = {0, 0};

    for (int64_t j = all.begin; j < all.end;) {
      const auto keys = keys_.Read(batch, kv_head, j, all.end, tile);
      for (int64_t r = 0; r < count; ++r) {
        KeyProducts(query + r * s_.head_size, keys.data, keys.stride, keys.count, s_.head_size,
                    scores + r * s_.keys + j);
      }
      j += keys.count;
    }
    for (int64_t r = 0; r < count; ++r) {
      RowProbabilities(batch, Head(kv_head, first + r), (first + r) % s_.rows, ranges[r], all,
                       scores + r * s_.keys, bias);
    }
    std::fill(sums, sums + count * s_.value_size, C{0});
    for (int64_t j = all.begin; j < all.end;) {
      const auto values = values_.Read(batch, kv_head, j, all.end, tile);
      for (int64_t r = 0; r < count; ++r) {
        AddWeightedValues(scores + r * s_.keys + j, values.data, values.stride, values.count,
                          s_.value_size, sums + r * s_.value_size);
      }
      j += values.count;
    }
    for (int64_t r = 0; r < count; ++r) {
      store_output_(sums + r * s_.value_size, s_.value_size, const_cast<void*>(p_.output.data),
                    p_.output.offset(batch, Head(kv_head, first + r), (first + r) % s_.rows));
    }
  }

 private:
  int64_t Head(int64_t kv_head, int64_t flat_row) const {
    return kv_head * s_.group() + flat_row / s_.rows;
  }

  void Capture(ScoreStage stage, int64_t batch, int64_t head, int64_t row, const C* scores) const {
    if (p_.score_output == nullptr || p_.score_stage != stage) return;
    store_scores_(scores, s_.keys, p_.score_output,
                  ((batch * s_.heads + head) * s_.rows + row) * s_.keys);
  }

  // Scores of keys [all.begin, all.end) of a row to probabilities, zero outside `range`.
  void RowProbabilities(int64_t batch, int64_t head, int64_t row, KeyRange range, KeyRange all,
                        C* scores, C* bias) const {
    constexpr C kMasked = -std::numeric_limits<C>::infinity();
    if (range.begin >= range.end) range = {all.begin, all.begin};
    Capture(ScoreStage::kProduct, batch, head, row, scores);
    if (p_.softcap > 0) {
      for (int64_t j = all.begin; j < all.end; ++j) {
        scores[j] = p_.softcap * std::tanh(scores[j] / p_.softcap);
      }
    }
    Capture(ScoreStage::kAfterSoftcap, batch, head, row, scores);
    if (p_.bias.has_value() && range.begin < range.end) {
      (*p_.bias)(batch, head, row, range.begin, range.end, bias);
      for (int64_t j = range.begin; j < range.end; ++j) {
        const C b = bias[j - range.begin];
        scores[j] = b == kMasked ? kMasked : scores[j] + b;
      }
    }
    if (p_.score_output != nullptr && p_.score_stage == ScoreStage::kAfterBias) {
      std::fill(scores + all.begin, scores + range.begin, p_.hidden_score);
      std::fill(scores + range.end, scores + all.end, p_.hidden_score);
      Capture(ScoreStage::kAfterBias, batch, head, row, scores);
    }

    C peak = p_.sinks != nullptr ? p_.sinks[head] : kMasked;
    for (int64_t j = range.begin; j < range.end; ++j) peak = std::max(peak, scores[j]);
    if (peak == kMasked) {
      std::fill(scores + all.begin, scores + all.end, C{0});
    } else {
      C sum = p_.sinks != nullptr ? std::exp(p_.sinks[head] - peak) : C{0};
      for (int64_t j = range.begin; j < range.end; ++j) {
        scores[j] = std::exp(scores[j] - peak);
        sum += scores[j];
      }
      const C inverse = 1 / sum;
      for (int64_t j = range.begin; j < range.end; ++j) scores[j] *= inverse;
      std::fill(scores + all.begin, scores + range.begin, C{0});
      std::fill(scores + range.end, scores + all.end, C{0});
    }
    Capture(ScoreStage::kProbabilities, batch, head, row, scores);
  }

  const AttentionProblem<C>& p_;
  const AttentionShape& s_;
  Parts parts_;
  TileReader<C> keys_;
  TileReader<C> values_;
  LoadRowFn<C> load_query_;
  StoreRowFn<C> store_output_;
  StoreRowFn<C> store_scores_;
};

}  // namespace

absl::Status CheckAttentionShape(const AttentionShape& shape) {
  constexpr int64_t kLimit = int64_t{1} << 36;
  if (std::max({shape.keys, shape.head_size, shape.value_size}) <= kLimit) {
    return absl::OkStatus();
  }
  return absl::ResourceExhaustedError(
      absl::StrCat("attention over ", shape.keys, " keys of size ", shape.head_size,
                   " and values of size ", shape.value_size, ": at most ", kLimit, " of each"));
}

template <typename C>
size_t AttentionWorkspaceBytes(const AttentionShape& shape, int threads) {
  return static_cast<size_t>(Parts(shape).total) * sizeof(C) * std::max(1, threads);
}

template <typename C>
void RunAttention(const AttentionProblem<C>& problem, ThreadPool& pool, int threads,
                  void* workspace) {
  const BlockRunner<C> runner(problem);
  const int64_t tasks = runner.tasks();
  if (tasks == 0) return;
  const int64_t part = Parts(problem.shape).total;
  C* memory = static_cast<C*>(workspace);
  const int team = static_cast<int>(std::min<int64_t>({std::max(1, threads), pool.size(), tasks}));
  if (team == 1) {
    for (int64_t task = 0; task < tasks; ++task) runner.Run(task, memory);
    return;
  }
  std::atomic<int64_t> next{0};
  pool.RunTeam(team, [&](int thread) {
    for (int64_t task = next++; task < tasks; task = next++) {
      runner.Run(task, memory + thread * part);
    }
  });
}

template size_t AttentionWorkspaceBytes<float>(const AttentionShape&, int);
template size_t AttentionWorkspaceBytes<double>(const AttentionShape&, int);
template void RunAttention<float>(const AttentionProblem<float>&, ThreadPool&, int, void*);
template void RunAttention<double>(const AttentionProblem<double>&, ThreadPool&, int, void*);

void ConcatenateRows(const CachedRows& rows, int64_t batch, int64_t heads, int64_t past_rows,
                     int64_t current_rows, int64_t size, ElementType type, void* target,
                     ThreadPool& pool) {
  const int64_t total = past_rows + current_rows;
  if (total == 0 || size == 0) return;
  const int64_t bytes = ElementBytes(type, 1);
  // Row `i` of head `h` of batch `b` to element `to` of the target and on.
  const auto copy = [&](const HeadRows& source, int64_t b, int64_t h, int64_t count, int64_t to) {
    if (count == 0) return;
    if (source.type == type) {
      const char* from = static_cast<const char*>(source.data) + source.offset(b, h, 0) * bytes;
      char* out = static_cast<char*>(target) + to * bytes;
      const bool dense = source.row_stride == size;
      const int64_t runs = dense ? 1 : count, run = dense ? count * size : size;
      for (int64_t i = 0; i < runs; ++i) {
        std::memcpy(out + i * run * bytes, from + i * source.row_stride * bytes, run * bytes);
      }
      return;
    }
    constexpr int64_t kChunk = 256;
    const LoadRowFn<double> load = RowLoader<double>(source.type);
    const StoreRowFn<double> store = RowStorer<double>(type);
    double chunk[kChunk];
    for (int64_t i = 0; i < count; ++i) {
      for (int64_t d = 0; d < size; d += kChunk) {
        const int64_t n = std::min(kChunk, size - d);
        load(source.data, source.offset(b, h, i) + d, n, chunk);
        store(chunk, n, target, to + i * size + d);
      }
    }
  };
  const int64_t grain = std::max<int64_t>(1, 65536 / (total * size));
  pool.ParallelFor(batch * heads, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      copy(rows.past, i / heads, i % heads, past_rows, i * total * size);
      copy(rows.current, i / heads, i % heads, current_rows, (i * total + past_rows) * size);
    }
  });
}

}  // namespace inferd::engine
