// com.microsoft.NGramRepeatBlock: the score of every token that would complete an n-gram already
// in its sequence becomes minus infinity.
#include <algorithm>
#include <limits>
#include <memory>

#include "absl/strings/str_cat.h"
#include "engine/kernel/kernel.h"
#include "engine/ops/copy_kernel.h"
#include "engine/ops/microsoft/microsoft_ops.h"
#include "engine/ops/op_def.h"
#include "engine/ops/schema.h"
#include "engine/ops/shape_functions.h"
#include "engine/status_macros.h"

namespace inferd::engine {
namespace {

enum Input { kIds, kScores };

absl::Status Infer(InferenceContext& context) {
  if (const int64_t n = context.attributes().GetInt("ngram_size", 0); n < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("attribute ngram_size is ", n, ", expected a positive number"));
  }
  RETURN_IF_ERROR(ExpectRank(context, kIds, 2, 2));
  RETURN_IF_ERROR(ExpectRank(context, kScores, 2, 2));
  context.SetOutput(0, context.input_type(kScores));
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Kernel>> Reference(const NodeSpec& spec) {
  const Shape &ids = spec.input(kIds).shape, &scores = spec.input(kScores).shape;
  if (ids[0] != scores[0]) {
    return absl::InvalidArgumentError(absl::StrCat("input_ids has shape ", ids.ToString(),
                                                   " and scores ", scores.ToString(),
                                                   ", expected as many rows"));
  }
  const int64_t n = spec.attributes().GetInt("ngram_size", 0);
  const int64_t length = ids[1], vocabulary = scores[1], batch = ids[0];
  return MakeKernel([=](KernelContext& context) -> absl::Status {
    CopyElements(context.input(kScores), context.output(0));
    if (n > length) return absl::OkStatus();
    for (int64_t b = 0; b < batch; ++b) {
      const int64_t* tokens = context.input(kIds).as<int64_t>() + b * length;
      float* y = context.output(0).as<float>() + b * vocabulary;
      const int64_t* last = tokens + length - (n - 1);
      for (int64_t i = 0; i + n <= length; ++i) {
        if (!std::equal(last, tokens + length, tokens + i)) continue;
        const int64_t next = tokens[i + n - 1];
        if (next < 0 || next >= vocabulary) {
          return absl::InvalidArgumentError(absl::StrCat("input_ids[", b, ",", i + n - 1, "] is ",
                                                         next, ", expected a token below ",
                                                         vocabulary));
        }
        y[next] = -std::numeric_limits<float>::infinity();
      }
    }
    return absl::OkStatus();
  });
}

}  // namespace

void RegisterNGramRepeatBlockOps(OpRegistry& registry) {
  registry.Register({.domain = "com.microsoft",
                     .name = "NGramRepeatBlock",
                     .inputs = {RequiredParameter("input_ids", "", {ElementType::kInt64}),
                                RequiredParameter("scores", "T", {ElementType::kFloat32})},
                     .outputs = {RequiredParameter("scores_out", "T", {ElementType::kFloat32})},
                     .attributes = {{"ngram_size", AttributeSpec::Kind::kInt, true}},
                     .infer = Infer,
                     .reference = Reference,
                     .in_place_inputs = {kScores}});
}

}  // namespace inferd::engine
