// com.microsoft.WordConvEmbedding: a vector per word from its characters: their embeddings go
// through a convolution along the word, tanh, and the maximum over all positions.
#include <algorithm>
#include <cmath>
#include <memory>

#include "absl/strings/str_cat.h"
#include "engine/kernel/kernel.h"
#include "engine/ops/microsoft/microsoft_ops.h"
#include "engine/ops/op_def.h"
#include "engine/ops/schema.h"
#include "engine/ops/shape_functions.h"
#include "engine/ops/shape_input.h"
#include "engine/status_macros.h"

namespace inferd::engine {
namespace {

enum Input { kSequence, kWeights, kBias, kCharacters };

absl::Status Infer(InferenceContext& context) {
  RETURN_IF_ERROR(ExpectRank(context, kSequence, 2, 2));
  RETURN_IF_ERROR(ExpectRank(context, kWeights, 4, 4));
  RETURN_IF_ERROR(ExpectRank(context, kBias, 1, 1));
  RETURN_IF_ERROR(ExpectRank(context, kCharacters, 2, 2));
  SymbolicShape y = SymbolicShape::OfRank(2);
  if (context.shape(kSequence).has_rank()) y[0] = context.shape(kSequence)[0];
  if (context.shape(kWeights).has_rank()) y[1] = context.shape(kWeights)[0];
  context.SetOutput(0, ElementType::kFloat32, std::move(y));
  return absl::OkStatus();
}

absl::Status ExpectAttribute(const NodeSpec& spec, const char* name, int64_t value) {
  const int64_t wanted = spec.attributes().GetInt(name, value);
  if (wanted == value) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("attribute ", name, " is ", wanted, ", the inputs say ", value));
}

struct Geometry {
  int64_t words, length, filters, window, embedding, characters;
};

// The character codes of a word; 0 ends it. A word shorter than the window is looked at up to it.
absl::Status EmbedWord(const Geometry& g, const int32_t* codes, const float* weights,
                       const float* bias, const float* embeddings, float* y) {
  int64_t used = 0;
  if (codes[0] > 0) used = std::count_if(codes, codes + g.length, [](int32_t c) { return c > 0; });
  if (used == 0) {
    std::fill_n(y, g.filters, 0.0f);
    return absl::OkStatus();
  }
  const int64_t looked_at = std::max(used, g.window);
  for (int64_t i = 0; i < looked_at; ++i) {
    if (codes[i] < 0 || codes[i] >= g.characters) {
      return absl::InvalidArgumentError(
          absl::StrCat("Sequence holds ", codes[i], ", expected a character below ", g.characters));
    }
  }
  for (int64_t f = 0; f < g.filters; ++f) {
    float best = -1;
    for (int64_t first = 0; first + g.window <= looked_at; ++first) {
      double sum = bias[f];
      const float* w = weights + f * g.window * g.embedding;
      for (int64_t i = 0; i < g.window; ++i, w += g.embedding) {
        const float* e = embeddings + codes[first + i] * g.embedding;
        for (int64_t k = 0; k < g.embedding; ++k) sum += static_cast<double>(w[k]) * e[k];
      }
      best = std::max(best, static_cast<float>(std::tanh(sum)));
    }
    y[f] = best;
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Kernel>> Reference(const NodeSpec& spec) {
  const Shape &sequence = spec.input(kSequence).shape, &weights = spec.input(kWeights).shape;
  const Shape& characters = spec.input(kCharacters).shape;
  const Geometry g = {sequence[0], sequence[1],   weights[0],
                      weights[2],  characters[1], characters[0]};
  if (weights[1] != 1 || weights[3] != g.embedding || g.window > g.length || g.window < 1 ||
      spec.input(kBias).shape[0] != g.filters) {
    return absl::InvalidArgumentError(
        absl::StrCat("Sequence ", sequence.ToString(), ", W ", weights.ToString(), ", B ",
                     spec.input(kBias).shape.ToString(), " and C ", characters.ToString(),
                     " do not fit: expected [words,length], [filters,1,window,embedding], "
                     "[filters] and [characters,embedding], the window within the length"));
  }
  RETURN_IF_ERROR(ExpectAttribute(spec, "embedding_size", g.filters));
  RETURN_IF_ERROR(ExpectAttribute(spec, "conv_window_size", g.window));
  RETURN_IF_ERROR(ExpectAttribute(spec, "char_embedding_size", g.embedding));
  return MakeKernel([g](KernelContext& context) -> absl::Status {
    for (int64_t i = 0; i < g.words; ++i) {
      RETURN_IF_ERROR(EmbedWord(
          g, context.input(kSequence).as<int32_t>() + i * g.length,
          context.input(kWeights).as<float>(), context.input(kBias).as<float>(),
          context.input(kCharacters).as<float>(), context.output(0).as<float>() + i * g.filters));
    }
    return absl::OkStatus();
  });
}

}  // namespace

void RegisterWordConvEmbeddingOps(OpRegistry& registry) {
  using Kind = AttributeSpec::Kind;
  constexpr ElementTypeSet kFloat = {ElementType::kFloat32};
  registry.Register(
      {.domain = "com.microsoft",
       .name = "WordConvEmbedding",
       .inputs = {RequiredParameter("Sequence", "", {ElementType::kInt32}),
                  RequiredParameter("W", "T1", kFloat), RequiredParameter("B", "T1", kFloat),
                  RequiredParameter("C", "T1", kFloat)},
       .outputs = {RequiredParameter("Y", "T1", kFloat)},
       .attributes = {{"char_embedding_size", Kind::kInt},
                      {"conv_window_size", Kind::kInt},
                      {"embedding_size", Kind::kInt}},
       .infer = Infer,
       .reference = Reference});
}

}  // namespace inferd::engine
