// com.microsoft::EmbedLayerNormalization: word, position and segment embeddings, summed and
// normalized; counts the tokens that a mask keeps.
#include <memory>

#include "absl/strings/str_cat.h"
#include "engine/kernel/kernel.h"
#include "engine/ops/all_ops.h"
#include "engine/ops/attention_shape.h"
#include "engine/ops/elementwise.h"
#include "engine/ops/microsoft/normalized_sum.h"
#include "engine/ops/op_def.h"
#include "engine/ops/schema.h"
#include "engine/ops/shape_functions.h"
#include "engine/status_macros.h"

namespace inferd::engine {
namespace {

enum Input { kIds, kSegments, kWords, kPlaces, kSegmentTable, kScale, kShift, kMask, kPositions };
enum Output { kY, kMaskIndex, kSum };

absl::Status Infer(InferenceContext& context) {
  if (context.has_input(kSegments) != context.has_input(kSegmentTable)) {
    return absl::InvalidArgumentError(
        "segment_ids and segment_embedding are given one without the other");
  }
  Dim batch, rows, hidden;
  for (int i : {kIds, kSegments, kMask}) {
    if (!context.has_input(i)) continue;
    RETURN_IF_ERROR(ExpectRank(context, i, 2, 2));
    RETURN_IF_ERROR(MergeInputDim(context, i, 0, "batch size", batch));
    RETURN_IF_ERROR(MergeInputDim(context, i, 1, "sequence length", rows));
  }
  if (context.has_input(kPositions)) {
    RETURN_IF_ERROR(ExpectRank(context, kPositions, 2, 2));
    RETURN_IF_ERROR(ExpectBroadcastable(context, kPositions, {batch, rows}));
    RETURN_IF_ERROR(MergeInputDim(context, kPositions, 1, "sequence length", rows));
  }
  for (int i : {kWords, kPlaces, kSegmentTable}) {
    if (!context.has_input(i)) continue;
    RETURN_IF_ERROR(ExpectRank(context, i, 2, 2));
    RETURN_IF_ERROR(MergeInputDim(context, i, 1, "hidden size", hidden));
  }
  for (int i : {kScale, kShift}) {
    RETURN_IF_ERROR(ExpectRank(context, i, 1, 1));
    RETURN_IF_ERROR(MergeInputDim(context, i, 0, "hidden size", hidden));
  }
  const ElementType type = context.element_type(kWords);
  const Node& node = context.node();
  const SymbolicShape y({batch, rows, hidden});
  context.SetOutput(kY, type, y);
  if (node.output(kMaskIndex) != nullptr) {
    context.SetOutput(kMaskIndex, ElementType::kInt32, SymbolicShape({batch}));
  }
  if (node.output(kSum) != nullptr) context.SetOutput(kSum, type, y);
  return absl::OkStatus();
}

// Rows of a table that ids name.
struct Lookup {
  int ids, table;
  const char* name;
};
constexpr Lookup kLookups[] = {{kIds, kWords, "input_ids"},
                               {kSegments, kSegmentTable, "segment_ids"},
                               {kPositions, kPlaces, "position_ids"}};

absl::Status CheckIds(KernelContext& context) {
  for (const Lookup& lookup : kLookups) {
    if (!context.has_input(lookup.ids)) continue;
    const int64_t count = context.input(lookup.table).shape[0];
    for (const int32_t id : context.input(lookup.ids).span<int32_t>()) {
      if (id < 0 || id >= count) {
        return absl::InvalidArgumentError(absl::StrCat("EmbedLayerNormalization: ", lookup.name,
                                                       " holds ", id, ", expected a number in [0, ",
                                                       count, ")"));
      }
    }
  }
  return absl::OkStatus();
}

template <typename T>
std::unique_ptr<Kernel> MakeEmbedding(const NodeSpec& spec) {
  const int64_t batch = spec.input(kIds).shape[0], rows = spec.input(kIds).shape[1];
  const int64_t hidden = spec.input(kWords).shape[1];
  const int64_t places = spec.input(kPlaces).shape[0];
  const double epsilon = spec.attributes().GetFloat("epsilon", 1e-12f);
  const bool shared_positions = spec.has_input(kPositions) && spec.input(kPositions).shape[0] == 1;
  return MakeKernel([=](KernelContext& context) -> absl::Status {
    RETURN_IF_ERROR(CheckIds(context));
    if (!context.has_input(kPositions) && batch > 0 && rows > places) {
      return absl::InvalidArgumentError(absl::StrCat(
          "EmbedLayerNormalization: ", rows, " positions, but position_embedding has ", places));
    }
    const auto ids = [&](int i) -> const int32_t* {
      return context.has_input(i) ? context.input(i).as<int32_t>() : nullptr;
    };
    const int32_t* words = ids(kIds);
    const int32_t* segments = ids(kSegments);
    const int32_t* positions = ids(kPositions);
    const T* segment_table = segments != nullptr ? context.input(kSegmentTable).as<T>() : nullptr;
    T* sum = context.has_output(kSum) ? context.output(kSum).as<T>() : nullptr;
    const int64_t grain = std::max<int64_t>(1, 8192 / std::max<int64_t>(1, hidden));
    context.threads().ParallelFor(batch * rows, grain, [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) {
        const int64_t position =
            positions != nullptr ? positions[shared_positions ? r % rows : r] : r % rows;
        const T* word = context.input(kWords).as<T>() + words[r] * hidden;
        const T* place = context.input(kPlaces).as<T>() + position * hidden;
        const T* segment = segments != nullptr ? segment_table + segments[r] * hidden : nullptr;
        const auto value = [&](int64_t i) {
          float v = static_cast<float>(word[i]) + static_cast<float>(place[i]);
          if (segment != nullptr) v += static_cast<float>(segment[i]);
          return static_cast<double>(v);
        };
        NormalizeRow(hidden, epsilon, true, value, context.input(kScale).as<T>(),
                     context.input(kShift).as<T>(), context.output(kY).as<T>() + r * hidden);
        for (int64_t i = 0; sum != nullptr && i < hidden; ++i) {
          sum[r * hidden + i] = static_cast<T>(static_cast<float>(value(i)));
        }
      }
    });
    if (!context.has_output(kMaskIndex)) return absl::OkStatus();
    const int32_t* mask = ids(kMask);
    int32_t* counts = context.output(kMaskIndex).as<int32_t>();
    for (int64_t b = 0; b < batch; ++b) {
      counts[b] = 0;
      for (int64_t r = 0; mask != nullptr && r < rows; ++r) counts[b] += mask[b * rows + r] == 1;
    }
    return absl::OkStatus();
  });
}

absl::StatusOr<std::unique_ptr<Kernel>> Reference(const NodeSpec& spec) {
  std::unique_ptr<Kernel> kernel;
  if (!DispatchType<float, Float16, BFloat16>(
          spec.input(kWords).type, [&]<typename T>() { kernel = MakeEmbedding<T>(spec); })) {
    return UnsupportedType(spec, spec.input(kWords).type);
  }
  return kernel;
}

}  // namespace

void RegisterMicrosoftEmbedLayerNormalizationOps(OpRegistry& registry) {
  using Kind = AttributeSpec::Kind;
  constexpr ElementTypeSet kTypes = {ElementType::kFloat32, ElementType::kFloat16,
                                     ElementType::kBfloat16};
  constexpr ElementTypeSet kIndex = {ElementType::kInt32};
  registry.Register(
      {.domain = "com.microsoft",
       .name = "EmbedLayerNormalization",
       .inputs = {RequiredParameter("input_ids", "", kIndex),
                  OptionalParameter("segment_ids", "", kIndex),
                  RequiredParameter("word_embedding", "T", kTypes),
                  RequiredParameter("position_embedding", "T", kTypes),
                  OptionalParameter("segment_embedding", "T", kTypes),
                  RequiredParameter("gamma", "T", kTypes), RequiredParameter("beta", "T", kTypes),
                  OptionalParameter("mask", "", kIndex),
                  OptionalParameter("position_ids", "", kIndex)},
       .outputs = {RequiredParameter("output", "T", kTypes),
                   OptionalParameter("mask_index", "", kIndex),
                   OptionalParameter("embedding_sum", "T", kTypes)},
       .attributes = {{"epsilon", Kind::kFloat}, {"mask_index_type", Kind::kInt}},
       .infer = Infer,
       .reference = Reference});
}

}  // namespace inferd::engine
