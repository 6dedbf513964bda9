// com.microsoft::RotaryEmbedding: as the standard's operator, with positions that may be one
// offset for all.
#include <memory>

#include "absl/strings/str_cat.h"
#include "engine/kernel/kernel.h"
#include "engine/ops/all_ops.h"
#include "engine/ops/attention_shape.h"
#include "engine/ops/elementwise.h"
#include "engine/ops/op_def.h"
#include "engine/ops/rotary.h"
#include "engine/ops/schema.h"
#include "engine/ops/shape_functions.h"
#include "engine/status_macros.h"

namespace inferd::engine {
namespace {

enum Input { kX, kPositions, kCosines, kSines };

// Size of one head of [batch, rows, hidden]: num_heads may be left to the width of the caches.
absl::StatusOr<Dim> HeadSize(const Attributes& attributes, const Dim& hidden, const Dim& half) {
  const int64_t heads = attributes.GetInt("num_heads", 0);
  if (heads != 0) {
    RETURN_IF_ERROR(HeadCountAttribute(attributes, "num_heads").status());
    return DivideDim(hidden, heads, "the last dimension of input");
  }
  if (attributes.GetInt("rotary_embedding_dim", 0) != 0) {
    return absl::InvalidArgumentError(
        "attribute num_heads is absent, expected one beside rotary_embedding_dim");
  }
  ASSIGN_OR_RETURN(const Dim size, MultiplyDims(half, Dim(2)));
  if (size.known() && size.value() != 0) {
    RETURN_IF_ERROR(DivideDim(hidden, size.value(), "the last dimension of input").status());
  }
  return size;
}

absl::Status Infer(InferenceContext& context) {
  const Attributes& attributes = context.attributes();
  RETURN_IF_ERROR(ExpectRank(context, kX, 3, 4));
  context.SetOutput(0, context.input_type(kX));
  Dim positions, half;
  for (int i : {kCosines, kSines}) {
    RETURN_IF_ERROR(ExpectRank(context, i, 2, 2));
    RETURN_IF_ERROR(MergeInputDim(context, i, 0, "positions", positions));
    RETURN_IF_ERROR(MergeInputDim(context, i, 1, "half the rotary dimension", half));
  }
  const int64_t rotary = attributes.GetInt("rotary_embedding_dim", 0);
  if (rotary < 0 || rotary % 2 != 0 || (rotary != 0 && half.known() && half != Dim(rotary / 2))) {
    return absl::InvalidArgumentError(absl::StrCat("attribute rotary_embedding_dim is ", rotary,
                                                   ", expected twice the ", half.ToString(),
                                                   " columns of cos_cache"));
  }
  const SymbolicShape& x = context.shape(kX);
  Dim batch = InputDim(context, kX, 0), rows;
  if (x.has_rank()) {
    rows = x[x.rank() == 3 ? 1 : 2];
    Dim size = x[x.rank() - 1];
    if (x.rank() == 3) {
      ASSIGN_OR_RETURN(size, HeadSize(attributes, x[2], half));
    }
    if (size.known() && half.known() && half.value() > size.value() / 2) {
      return absl::InvalidArgumentError(
          absl::StrCat("cos_cache has ", half.value(),
                       " columns, expected at most half the head size ", size.value()));
    }
  }
  RETURN_IF_ERROR(ExpectRank(context, kPositions, 1, 2));
  if (!context.shape(kPositions).has_rank()) return absl::OkStatus();
  if (context.shape(kPositions).rank() == 1) return ExpectScalar(context, kPositions);
  RETURN_IF_ERROR(MergeInputDim(context, kPositions, 0, "batch size", batch));
  return MergeInputDim(context, kPositions, 1, "sequence length", rows);
}

template <typename T>
std::unique_ptr<Kernel> MakeRotary(const RotaryHeads& heads, int64_t cached_rows, bool offset) {
  return MakeKernel([=](KernelContext& context) -> absl::Status {
    const int64_t* positions = context.input(kPositions).as<int64_t>();
    const auto position = [&](int64_t b, int64_t r) {
      return offset ? positions[0] + r : positions[b * heads.rows + r];
    };
    if (offset && heads.rows > 0 && (positions[0] < 0 || positions[0] > cached_rows - heads.rows)) {
      return absl::InvalidArgumentError(
          absl::StrCat("RotaryEmbedding: positions from ", positions[0], " on for ", heads.rows,
                       " rows, expected them within the ", cached_rows, " of cos_cache"));
    }
    for (int64_t i = 0; !offset && i < heads.batch * heads.rows; ++i) {
      if (positions[i] < 0 || positions[i] >= cached_rows) {
        return absl::InvalidArgumentError(absl::StrCat("RotaryEmbedding: position_ids holds ",
                                                       positions[i], ", expected a number in [0, ",
                                                       cached_rows, ")"));
      }
    }
    RotateHeads(heads, context.input(kX).as<T>(), context.input(kCosines).as<T>(),
                context.input(kSines).as<T>(), context.output(0).as<T>(), position,
                context.threads());
    return absl::OkStatus();
  });
}

absl::StatusOr<std::unique_ptr<Kernel>> Reference(const NodeSpec& spec) {
  const Shape& x = spec.input(kX).shape;
  const Shape& cosines = spec.input(kCosines).shape;
  RotaryHeads heads{.batch = x[0], .half = cosines[1]};
  heads.interleaved = spec.attributes().GetInt("interleaved", 0) != 0;
  if (x.rank() == 3) {
    ASSIGN_OR_RETURN(const Dim size, HeadSize(spec.attributes(), Dim(x[2]), Dim(cosines[1])));
    heads.rows = x[1];
    heads.size = size.value();
    heads.heads = heads.size == 0 ? 0 : x[2] / heads.size;
    heads.head_stride = heads.size;
    heads.row_stride = x[2];
  } else {
    heads.heads = x[1];
    heads.rows = x[2];
    heads.size = x[3];
    heads.head_stride = x[2] * x[3];
    heads.row_stride = x[3];
  }
  heads.batch_stride = heads.y_batch_stride = heads.heads * heads.rows * heads.size;
  heads.y_row_stride = heads.row_stride;
  heads.y_head_stride = heads.head_stride;
  const bool offset = spec.input(kPositions).shape.rank() == 1;
  std::unique_ptr<Kernel> kernel;
  if (!DispatchType<float, Float16, BFloat16>(spec.input(kX).type, [&]<typename T>() {
        kernel = MakeRotary<T>(heads, cosines[0], offset);
      })) {
    return UnsupportedType(spec, spec.input(kX).type);
  }
  return kernel;
}

}  // namespace

void RegisterMicrosoftRotaryEmbeddingOps(OpRegistry& registry) {
  using Kind = AttributeSpec::Kind;
  constexpr ElementTypeSet kTypes = {ElementType::kFloat32, ElementType::kFloat16,
                                     ElementType::kBfloat16};
  registry.Register({.domain = "com.microsoft",
                     .name = "RotaryEmbedding",
                     .inputs = {RequiredParameter("input", "T", kTypes),
                                RequiredParameter("position_ids", "", {ElementType::kInt64}),
                                RequiredParameter("cos_cache", "T", kTypes),
                                RequiredParameter("sin_cache", "T", kTypes)},
                     .outputs = {RequiredParameter("output", "T", kTypes)},
                     .attributes = {{"interleaved", Kind::kInt},
                                    {"is_packed_batching", Kind::kInt},
                                    {"num_heads", Kind::kInt},
                                    {"rotary_embedding_dim", Kind::kInt},
                                    {"scale", Kind::kFloat}},
                     .infer = Infer,
                     .reference = Reference});
}

}  // namespace inferd::engine
