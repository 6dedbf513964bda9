#include "engine/ops/microsoft/multi_head_operands.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "engine/ops/attention_shape.h"
#include "engine/ops/shape_functions.h"
#include "engine/status_macros.h"

namespace inferd::engine {
namespace {

absl::Status MergeInto(const Dim& other, absl::string_view what, Dim& dim) {
  absl::StatusOr<Dim> merged = MergeDims(dim, other);
  if (!merged.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat(what, " is ", other.ToString(), ", expected ", dim.ToString()));
  }
  dim = *std::move(merged);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::optional<MultiHeadPacking>> ResolvePacking(bool has_key, bool has_value,
                                                               std::optional<int> query_rank,
                                                               std::optional<int> key_rank,
                                                               bool decoder) {
  if (!has_key) {
    if (has_value) return absl::InvalidArgumentError("input value is given without key");
    if (!query_rank.has_value()) return std::nullopt;
    if (*query_rank == 5) return MultiHeadPacking::kQueryKeyValue;
    if (*query_rank == 3 && decoder) return MultiHeadPacking::kRows;
    return absl::InvalidArgumentError(absl::StrCat("query has rank ", *query_rank,
                                                   " and there is no key: expected packed query, "
                                                   "key and value of rank ",
                                                   decoder ? "3 or 5" : "5"));
  }
  if (!key_rank.has_value()) return std::nullopt;
  switch (*key_rank) {
    case 3:
      if (has_value) return MultiHeadPacking::kApart;
      break;
    case 4:
      if (has_value) return MultiHeadPacking::kCross;
      break;
    case 5:
      if (!has_value) return MultiHeadPacking::kKeyValue;
      break;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("key has rank ", *key_rank, has_value ? " with" : " without",
                   " a value: expected 3 or 4 with one, 5 (packed) without"));
}

absl::StatusOr<MultiHeadDims> ResolveMultiHeadDims(const InferenceContext& context,
                                                   const MultiHeadInputs& in,
                                                   MultiHeadPacking packing, int64_t heads) {
  MultiHeadDims dims;
  Dim head_dim(heads);
  const bool packed_query = packing == MultiHeadPacking::kQueryKeyValue;
  RETURN_IF_ERROR(ExpectRank(context, in.query, packed_query ? 5 : 3, packed_query ? 5 : 3));
  dims.batch = InputDim(context, in.query, 0);
  dims.rows = InputDim(context, in.query, 1);
  if (packed_query || packing == MultiHeadPacking::kRows) {
    dims.current = dims.rows;
    if (packed_query) {
      Dim three(3);
      RETURN_IF_ERROR(MergeInputDim(context, in.query, 2, "num_heads", head_dim));
      RETURN_IF_ERROR(MergeInputDim(context, in.query, 3, "query, key and value", three));
      dims.head_size = InputDim(context, in.query, 4);
    } else {
      ASSIGN_OR_RETURN(dims.head_size, DivideDim(InputDim(context, in.query, 2), 3 * heads,
                                                 "the last dimension of query"));
    }
    dims.value_size = dims.head_size;
  } else {
    ASSIGN_OR_RETURN(dims.head_size, DivideDim(InputDim(context, in.query, 2), heads,
                                               "the last dimension of query"));
    RETURN_IF_ERROR(MergeInputDim(context, in.key, 0, "batch size", dims.batch));
    if (packing == MultiHeadPacking::kKeyValue) {
      Dim two(2);
      dims.current = InputDim(context, in.key, 1);
      RETURN_IF_ERROR(MergeInputDim(context, in.key, 2, "num_heads", head_dim));
      RETURN_IF_ERROR(MergeInputDim(context, in.key, 3, "key and value", two));
      RETURN_IF_ERROR(MergeInputDim(context, in.key, 4, "head size", dims.head_size));
      dims.value_size = dims.head_size;
    } else {
      RETURN_IF_ERROR(MergeInputDim(context, in.value, 0, "batch size", dims.batch));
      const bool cross = packing == MultiHeadPacking::kCross;
      RETURN_IF_ERROR(ExpectRank(context, in.value, cross ? 4 : 3, cross ? 4 : 3));
      for (int i : {in.key, in.value}) {
        if (cross) RETURN_IF_ERROR(MergeInputDim(context, i, 1, "num_heads", head_dim));
        RETURN_IF_ERROR(
            MergeInputDim(context, i, cross ? 2 : 1, "kv sequence length", dims.current));
      }
      if (cross) {
        RETURN_IF_ERROR(MergeInputDim(context, in.key, 3, "head size", dims.head_size));
        dims.value_size = InputDim(context, in.value, 3);
      } else {
        ASSIGN_OR_RETURN(const Dim key_size, DivideDim(InputDim(context, in.key, 2), heads,
                                                       "the last dimension of key"));
        RETURN_IF_ERROR(MergeInto(key_size, "the head size of key", dims.head_size));
        ASSIGN_OR_RETURN(dims.value_size, DivideDim(InputDim(context, in.value, 2), heads,
                                                    "the last dimension of value"));
      }
    }
  }
  if (context.has_input(in.bias)) {
    RETURN_IF_ERROR(ExpectRank(context, in.bias, 1, 1));
    if (packing == MultiHeadPacking::kKeyValue) {
      return absl::UnimplementedError("input bias together with packed key and value");
    }
    ASSIGN_OR_RETURN(const Dim key_part, MultiplyDims(Dim(2 * heads), dims.head_size));
    ASSIGN_OR_RETURN(const Dim value_part, MultiplyDims(Dim(heads), dims.value_size));
    ASSIGN_OR_RETURN(Dim length, AddDims(key_part, value_part));
    RETURN_IF_ERROR(MergeInputDim(context, in.bias, 0, "the hidden sizes together", length));
  }
  dims.past = context.has_input(in.past_key) ? Dim() : Dim(0);
  for (int i : {in.past_key, in.past_value}) {
    if (!context.has_input(i)) continue;
    RETURN_IF_ERROR(ExpectRank(context, i, 4, 4));
    RETURN_IF_ERROR(MergeInputDim(context, i, 0, "batch size", dims.batch));
    RETURN_IF_ERROR(MergeInputDim(context, i, 1, "num_heads", head_dim));
    RETURN_IF_ERROR(MergeInputDim(context, i, 2, "past sequence length", dims.past));
    RETURN_IF_ERROR(MergeInputDim(context, i, 3, "head size",
                                  i == in.past_key ? dims.head_size : dims.value_size));
  }
  if (context.has_input(in.past_length)) {
    dims.total = dims.past;
  } else {
    ASSIGN_OR_RETURN(dims.total, AddDims(dims.past, dims.current));
  }
  return dims;
}

}  // namespace inferd::engine
