// com.microsoft.BifurcationDetector, a step of aggressive decoding: takes over predicted tokens
// up to the first that departs from the source, then finds where the last tokens stand in the
// source.
#include <algorithm>
#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "engine/kernel/kernel.h"
#include "engine/ops/microsoft/microsoft_ops.h"
#include "engine/ops/op_def.h"
#include "engine/ops/schema.h"
#include "engine/ops/shape_functions.h"
#include "engine/status_macros.h"

namespace inferd::engine {
namespace {

using Tokens = absl::Span<const int64_t>;

enum Input { kSource, kCurrent, kPreviousMatch, kPredicted };

absl::Status Infer(InferenceContext& context) {
  const int64_t low = context.attributes().GetInt("min_ngram_size", 1);
  const int64_t high = context.attributes().GetInt("max_ngram_size", 3);
  if (low < 1 || high < low) {
    return absl::InvalidArgumentError(absl::StrCat("attributes min_ngram_size and max_ngram_size ",
                                                   "are ", low, " and ", high,
                                                   ", expected a range of positive numbers"));
  }
  for (const int i : {kSource, kCurrent}) RETURN_IF_ERROR(ExpectRank(context, i, 1, 1));
  RETURN_IF_ERROR(ExpectScalar(context, kPreviousMatch));
  if (context.has_input(kPredicted)) RETURN_IF_ERROR(ExpectRank(context, kPredicted, 1, 1));
  context.SetOutput(0, ElementType::kInt64, SymbolicShape({Dim::Unknown()}));
  context.SetOutput(1, context.input_type(kPreviousMatch));
  return absl::OkStatus();
}

// How many predicted tokens are taken over: those that equal the source from `first` on, and the
// one after them.
absl::StatusOr<size_t> Accepted(Tokens source, Tokens predicted, int64_t first) {
  if (first < 0 || first > static_cast<int64_t>(source.size())) {
    return absl::InvalidArgumentError(absl::StrCat("prev_suffix_match_idx is ", first,
                                                   ", expected a position in ", source.size(),
                                                   " source tokens"));
  }
  const Tokens rest = source.subspan(first);
  if (predicted.size() != rest.size() + 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("pred_tokens has ", predicted.size(), " tokens, expected ", rest.size() + 1));
  }
  return std::mismatch(rest.begin(), rest.end(), predicted.begin()).first - rest.begin() + 1;
}

// Behind the last tokens' only occurrence in the source, from n-grams of the smallest size up;
// -1 where there is none or more than one.
int64_t SuffixMatch(Tokens source, Tokens tokens, int64_t smallest, int64_t largest) {
  int64_t match = -1;
  const auto size = static_cast<int64_t>(source.size());
  for (int64_t n = smallest; n <= std::min<int64_t>(largest, tokens.size()); ++n) {
    const Tokens suffix = tokens.last(n);
    const auto found = std::search(source.begin(), source.end(), suffix.begin(), suffix.end());
    if (found == source.end()) break;
    match = found - source.begin() + n;
    if (match >= size) break;
    if (std::search(found + 1, source.end(), suffix.begin(), suffix.end()) != source.end()) {
      match = -1;
    }
  }
  return match;
}

absl::StatusOr<std::unique_ptr<Kernel>> Reference(const NodeSpec& spec) {
  const int64_t smallest = spec.attributes().GetInt("min_ngram_size", 1);
  const int64_t largest = spec.attributes().GetInt("max_ngram_size", 3);
  return MakeKernel([=](KernelContext& context) -> absl::Status {
    const Tokens source = context.input(kSource).span<int64_t>();
    const Tokens current = context.input(kCurrent).span<int64_t>();
    const TensorView& previous = context.input(kPreviousMatch);
    Tokens taken;
    if (context.has_input(kPredicted)) {
      const Tokens predicted = context.input(kPredicted).span<int64_t>();
      ASSIGN_OR_RETURN(const size_t count, Accepted(source, predicted, previous.as<int64_t>()[0]));
      taken = predicted.first(count);
    }
    const auto length = static_cast<int64_t>(current.size() + taken.size());
    ASSIGN_OR_RETURN(const TensorView output, context.AllocateOutput(0, Shape{length}));
    int64_t* y = output.as<int64_t>();
    std::copy(taken.begin(), taken.end(), std::copy(current.begin(), current.end(), y));
    ASSIGN_OR_RETURN(const TensorView match, context.AllocateOutput(1, previous.shape));
    match.as<int64_t>()[0] = SuffixMatch(source, Tokens(y, length), smallest, largest);
    return absl::OkStatus();
  });
}

}  // namespace

void RegisterBifurcationDetectorOps(OpRegistry& registry) {
  using Kind = AttributeSpec::Kind;
  constexpr ElementTypeSet kTokens = {ElementType::kInt64};
  registry.Register({.domain = "com.microsoft",
                     .name = "BifurcationDetector",
                     .inputs = {RequiredParameter("src_tokens", "T", kTokens),
                                RequiredParameter("cur_tokens", "T", kTokens),
                                RequiredParameter("prev_suffix_match_idx", "T", kTokens),
                                OptionalParameter("pred_tokens", "T", kTokens)},
                     .outputs = {RequiredParameter("tokens", "T", kTokens),
                                 RequiredParameter("suffix_match_idx", "T", kTokens)},
                     .attributes = {{"max_ngram_size", Kind::kInt}, {"min_ngram_size", Kind::kInt}},
                     .infer = Infer,
                     .reference = Reference,
                     .dynamic_outputs = true});
}

}  // namespace inferd::engine
