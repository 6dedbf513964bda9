// TfIdfVectorizer: how often each n-gram of a pool occurs in a row of tokens, weighted.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "engine/kernel/kernel.h"
#include "engine/ops/all_ops.h"
#include "engine/ops/index_tensor.h"
#include "engine/ops/op_def.h"
#include "engine/status_macros.h"

namespace inferd::engine {
namespace {

enum class Mode { kTf, kIdf, kTfIdf };

absl::StatusOr<Mode> ReadMode(const Attributes& attributes) {
  const std::string mode = attributes.GetString("mode", "");
  if (mode == "TF") return Mode::kTf;
  if (mode == "IDF") return Mode::kIdf;
  if (mode == "TFIDF") return Mode::kTfIdf;
  return absl::InvalidArgumentError(
      absl::StrCat("attribute mode is \"", mode, "\", expected TF, IDF or TFIDF"));
}

// One more than the largest coordinate.
absl::StatusOr<int64_t> OutputSize(const Attributes& attributes) {
  const std::vector<int64_t> indexes = attributes.GetInts("ngram_indexes");
  if (indexes.empty()) return absl::InvalidArgumentError("attribute ngram_indexes is empty");
  const auto [least, greatest] = std::minmax_element(indexes.begin(), indexes.end());
  if (*least < 0 || *greatest >= INT32_MAX) {
    return absl::InvalidArgumentError(absl::StrCat("attribute ngram_indexes holds ",
                                                   *least < 0 ? *least : *greatest,
                                                   ", expected coordinates in [0, 2^31 - 1)"));
  }
  return *greatest + 1;
}

absl::Status CheckPools(const Attributes& attributes, ElementType input) {
  const bool strings = attributes.has("pool_strings"), ints = attributes.has("pool_int64s");
  if (strings == ints) {
    return absl::InvalidArgumentError(
        absl::StrCat(strings ? "both" : "neither",
                     " of attributes pool_strings and pool_int64s are given, expected one"));
  }
  if (input != ElementType::kUndefined && strings != (input == ElementType::kString)) {
    return absl::InvalidArgumentError(
        absl::StrCat("input X is of type ", std::string(ElementTypeName(input)),
                     " but the pool is attribute ", strings ? "pool_strings" : "pool_int64s"));
  }
  return absl::OkStatus();
}

absl::Status Infer(InferenceContext& context) {
  const Attributes& attributes = context.attributes();
  RETURN_IF_ERROR(ReadMode(attributes).status());
  RETURN_IF_ERROR(CheckPools(attributes, context.element_type(0)));
  ASSIGN_OR_RETURN(const int64_t size, OutputSize(attributes));
  const SymbolicShape& x = context.shape(0);
  SymbolicShape y;
  if (x.has_rank()) {
    if (x.rank() > 2) {
      return absl::InvalidArgumentError(
          absl::StrCat("input X has shape ", x.ToString(), ", expected [C] or [N,C]"));
    }
    y = x.rank() == 2 ? SymbolicShape({x[0], Dim(size)}) : SymbolicShape({Dim(size)});
  }
  context.SetOutput(0, ElementType::kFloat32, std::move(y));
  return absl::OkStatus();
}

// The n-grams of a pool as a tree of tokens: a path from the root spells an n-gram. Tokens are
// numbered, so that walking the tree never touches a text.
template <typename Token>
class NGramTree {
 public:
  using Node = uint32_t;
  static constexpr Node kRoot = 0;
  static constexpr uint32_t kUnknownToken = UINT32_MAX;
  static constexpr int32_t kNoGram = -1;

  void Add(const Token* tokens, int64_t length, int32_t gram) {
    Node node = kRoot;
    for (int64_t i = 0; i < length; ++i) {
      const uint32_t token =
          numbers_.try_emplace(tokens[i], static_cast<uint32_t>(numbers_.size())).first->second;
      const auto [child, is_new] =
          children_.try_emplace(Key(node, token), static_cast<Node>(grams_.size()));
      if (is_new) grams_.push_back(kNoGram);
      node = child->second;
    }
    grams_[node] = gram;  // an n-gram given twice is the later one
  }

  uint32_t NumberOf(const Token& token) const {
    const auto found = numbers_.find(token);
    return found == numbers_.end() ? kUnknownToken : found->second;
  }
  std::optional<Node> Child(Node node, uint32_t token) const {
    const auto found = children_.find(Key(node, token));
    return found == children_.end() ? std::nullopt : std::optional<Node>(found->second);
  }
  int32_t GramAt(Node node) const { return grams_[node]; }

 private:
  static uint64_t Key(Node node, uint32_t token) { return uint64_t{node} << 32 | token; }

  absl::flat_hash_map<Token, uint32_t> numbers_;
  absl::flat_hash_map<uint64_t, Node> children_;
  std::vector<int32_t> grams_ = {kNoGram};  // by node
};

struct GramLengths {
  int64_t min = 1;
  int64_t max = 1;
  int64_t max_skip = 0;
};

absl::StatusOr<GramLengths> ReadLengths(const Attributes& attributes, int64_t lengths_in_pool) {
  const GramLengths lengths = {.min = attributes.GetInt("min_gram_length", 0),
                               .max = attributes.GetInt("max_gram_length", 0),
                               .max_skip = attributes.GetInt("max_skip_count", 0)};
  if (lengths.min < 1 || lengths.max < lengths.min || lengths.max > lengths_in_pool) {
    return absl::InvalidArgumentError(absl::StrCat(
        "attributes min_gram_length and max_gram_length are ", lengths.min, " and ", lengths.max,
        ", expected 1 <= min <= max <= ", lengths_in_pool, ", the size of ngram_counts"));
  }
  if (lengths.max_skip < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("attribute max_skip_count is ", lengths.max_skip, ", expected >= 0"));
  }
  return lengths;
}

template <typename Token>
absl::StatusOr<NGramTree<Token>> BuildTree(const std::vector<Token>& pool,
                                           const std::vector<int64_t>& starts,
                                           const GramLengths& lengths, size_t coordinates) {
  NGramTree<Token> tree;
  if (pool.size() >= UINT32_MAX) {
    return absl::InvalidArgumentError(absl::StrCat("the pool has ", pool.size(), " tokens"));
  }
  size_t gram = 0;
  for (size_t i = 0; i < starts.size(); ++i) {
    const int64_t end = i + 1 < starts.size() ? starts[i + 1] : static_cast<int64_t>(pool.size());
    const int64_t length = static_cast<int64_t>(i) + 1;
    if (starts[i] < 0 || end < starts[i] || end > static_cast<int64_t>(pool.size()) ||
        (end - starts[i]) % length != 0) {
      return absl::InvalidArgumentError(absl::StrCat(
          "attribute ngram_counts gives ", length, "-grams the part [", starts[i], ",", end,
          ") of the pool of ", pool.size(), " tokens, expected a whole number of n-grams in it"));
    }
    for (int64_t at = starts[i]; at < end; at += length, ++gram) {
      if (gram >= coordinates) {
        return absl::InvalidArgumentError(
            absl::StrCat("attribute ngram_indexes has ", coordinates,
                         " values, fewer than the n-grams in the pool"));
      }
      if (length < lengths.min || length > lengths.max) continue;
      tree.Add(pool.data() + at, length, static_cast<int32_t>(gram));
    }
  }
  return tree;
}

template <typename Token>
class TfIdfVectorizer final : public Kernel {
 public:
  TfIdfVectorizer(NGramTree<Token> tree, GramLengths lengths, Mode mode,
                  std::vector<int64_t> coordinates, std::vector<float> weights)
      : tree_(std::move(tree)),
        lengths_(lengths),
        mode_(mode),
        coordinates_(std::move(coordinates)),
        weights_(std::move(weights)) {}

  absl::Status Run(KernelContext& context) const override {
    const TensorView& x = context.input(0);
    const TensorView& y = context.output(0);
    const int64_t rows = x.shape.rank() == 2 ? x.shape[0] : 1;
    const int64_t columns = x.shape.rank() == 0 ? 1 : x.shape[x.shape.rank() - 1];
    const int64_t size = y.shape[y.shape.rank() - 1];
    context.threads().ParallelFor(rows, 1, [&](int64_t begin, int64_t end) {
      std::vector<uint32_t> tokens(columns);
      for (int64_t r = begin; r < end; ++r) {
        for (int64_t c = 0; c < columns; ++c) {
          if constexpr (std::is_same_v<Token, std::string>) {
            tokens[c] = tree_.NumberOf(x.as<std::string>()[r * columns + c]);
          } else {
            tokens[c] = tree_.NumberOf(IndexAt(x, r * columns + c));
          }
        }
        float* out = y.as<float>() + r * size;
        std::fill_n(out, size, 0.0f);
        CountRow(tokens, out);
      }
    });
    return absl::OkStatus();
  }

 private:
  void CountRow(const std::vector<uint32_t>& tokens, float* out) const {
    const int64_t count = static_cast<int64_t>(tokens.size());
    int64_t min_length = lengths_.min;
    for (int64_t skip = 0; skip <= lengths_.max_skip; ++skip) {
      const int64_t step = skip + 1;
      // Longer steps than the row leave single tokens only, and those are counted once.
      if (min_length > 1 && step >= count) break;
      for (int64_t start = 0; start < count; ++start) {
        typename NGramTree<Token>::Node node = NGramTree<Token>::kRoot;
        int64_t at = start;
        for (int64_t length = 1; length <= lengths_.max && at < count; ++length, at += step) {
          if (tokens[at] == NGramTree<Token>::kUnknownToken) break;
          const auto child = tree_.Child(node, tokens[at]);
          if (!child.has_value()) break;
          node = *child;
          const int32_t gram = tree_.GramAt(node);
          if (length >= min_length && gram != NGramTree<Token>::kNoGram) Found(gram, out);
        }
      }
      // A skip makes no difference to a single token.
      min_length = std::max<int64_t>(min_length, 2);
      if (min_length > lengths_.max) break;
    }
  }

  void Found(int32_t gram, float* out) const {
    float& y = out[coordinates_[gram]];
    const float weight = weights_.empty() ? 1.0f : weights_[gram];
    switch (mode_) {
      case Mode::kTf:
        y += 1;
        break;
      case Mode::kIdf:
        y = weight;
        break;
      case Mode::kTfIdf:
        y += weight;
        break;
    }
  }

  NGramTree<Token> tree_;
  GramLengths lengths_;
  Mode mode_;
  std::vector<int64_t> coordinates_;  // by n-gram
  std::vector<float> weights_;        // by n-gram; empty: all one
};

template <typename Token>
absl::StatusOr<std::unique_ptr<Kernel>> Create(const std::vector<Token>& pool,
                                               const Attributes& attributes) {
  ASSIGN_OR_RETURN(const Mode mode, ReadMode(attributes));
  const std::vector<int64_t> starts = attributes.GetInts("ngram_counts");
  ASSIGN_OR_RETURN(const GramLengths lengths,
                   ReadLengths(attributes, static_cast<int64_t>(starts.size())));
  std::vector<int64_t> coordinates = attributes.GetInts("ngram_indexes");
  std::vector<float> weights = attributes.GetFloats("weights");
  if (!weights.empty() && weights.size() != coordinates.size()) {
    return absl::InvalidArgumentError(absl::StrCat("attribute weights has ", weights.size(),
                                                   " values, expected ", coordinates.size(),
                                                   ", as many as ngram_indexes"));
  }
  ASSIGN_OR_RETURN(NGramTree<Token> tree, BuildTree(pool, starts, lengths, coordinates.size()));
  return std::make_unique<TfIdfVectorizer<Token>>(std::move(tree), lengths, mode,
                                                  std::move(coordinates), std::move(weights));
}

absl::StatusOr<std::unique_ptr<Kernel>> Reference(const NodeSpec& spec) {
  const Attributes& attributes = spec.attributes();
  RETURN_IF_ERROR(CheckPools(attributes, spec.input(0).type));
  if (spec.input(0).type == ElementType::kString) {
    return Create(attributes.GetStrings("pool_strings"), attributes);
  }
  return Create(attributes.GetInts("pool_int64s"), attributes);
}

}  // namespace

void RegisterTfIdfVectorizerOps(OpRegistry& registry) {
  using Kind = AttributeSpec::Kind;
  registry.Register(
      {.name = "TfIdfVectorizer",
       .version = 9,
       .oldest_version = 9,
       .inputs = {{"X", "", {ElementType::kString, ElementType::kInt32, ElementType::kInt64}}},
       .outputs = {{"Y", "", {ElementType::kFloat32}}},
       .attributes = {{"max_gram_length", Kind::kInt, true},
                      {"max_skip_count", Kind::kInt, true},
                      {"min_gram_length", Kind::kInt, true},
                      {"mode", Kind::kString, true},
                      {"ngram_counts", Kind::kInts, true},
                      {"ngram_indexes", Kind::kInts, true},
                      {"pool_int64s", Kind::kInts},
                      {"pool_strings", Kind::kStrings},
                      {"weights", Kind::kFloats}},
       .infer = Infer,
       .reference = Reference});
}

}  // namespace inferd::engine
