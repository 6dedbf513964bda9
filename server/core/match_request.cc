// The checks of a request against its model, before the scheduler sees it.
#include <algorithm>
#include <limits>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "engine/status_macros.h"
#include "server/core/infer_call.h"
#include "server/wire/datatype.h"

namespace inferd::server {
namespace {

using engine::Shape;
using scheduler::TensorSpec;

std::string Names(const std::vector<TensorSpec>& specs) {
  return absl::StrJoin(specs, ", ", [](std::string* out, const TensorSpec& spec) {
    absl::StrAppend(out, "'", spec.name, "'");
  });
}

std::string TypeName(engine::ElementType type) {
  const absl::string_view name = DatatypeName(type);
  return std::string(name.empty() ? engine::ElementTypeName(type) : name);
}

int IndexOf(const std::vector<TensorSpec>& specs, absl::string_view name) {
  for (size_t i = 0; i < specs.size(); ++i) {
    if (specs[i].name == name) return static_cast<int>(i);
  }
  return -1;
}

bool Fits(absl::Span<const int64_t> expected, absl::Span<const int64_t> got) {
  return std::equal(expected.begin(), expected.end(), got.begin(), got.end(),
                    [](int64_t e, int64_t g) { return e < 0 || e == g; });
}

absl::Status CheckShape(const TensorSpec& spec, const Shape& shape,
                        const repository::ModelVersion& model) {
  const absl::Span<const int64_t> expected = spec.dims;
  if (spec.any_rank || Fits(expected, shape.dims())) return absl::OkStatus();
  std::string text =
      absl::StrCat("unexpected shape for input '", spec.name, "' for model '", model.name,
                   "'. Expected [", absl::StrJoin(expected, ","), "], got ", shape.ToString(), ".");
  const bool batches = model.servable->options().batching.max_batch_size > 1;
  if (batches && !expected.empty() && Fits(expected.subspan(1), shape.dims())) {
    Shape fixed{1};
    for (int64_t d : shape) fixed.push_back(d);
    absl::StrAppend(&text, " Dimension 0, the batch, is missing: send ", fixed.ToString(),
                    " for a single item.");
  } else if (static_cast<size_t>(shape.rank()) != expected.size()) {
    absl::StrAppend(&text, " ", expected.size(), " dimensions are expected, ", shape.rank(),
                    " were sent.");
  } else {
    for (size_t i = 0; i < expected.size(); ++i) {
      if (expected[i] >= 0 && expected[i] != shape[i]) {
        absl::StrAppend(&text, " Dimension ", i, " is ", shape[i], " where ", expected[i],
                        " is expected.");
        break;
      }
    }
  }
  return absl::InvalidArgumentError(text);
}

absl::Status Unsupported(absl::string_view what) {
  return absl::UnimplementedError(absl::StrCat(what, " not supported by this server"));
}

// A count given as int64 or uint64.
absl::StatusOr<uint64_t> Unsigned(absl::string_view name, const ParameterValue& value) {
  if (const auto* u = std::get_if<uint64_t>(&value)) return *u;
  if (const auto* i = std::get_if<int64_t>(&value); i != nullptr && *i >= 0) {
    return static_cast<uint64_t>(*i);
  }
  return absl::InvalidArgumentError(
      absl::StrCat("parameter '", name, "' must be an integer of at least 0"));
}

bool IsZeroOrEmpty(const ParameterValue& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return text->empty();
  if (const auto* i = std::get_if<int64_t>(&value)) return *i == 0;
  if (const auto* u = std::get_if<uint64_t>(&value)) return *u == 0;
  if (const auto* b = std::get_if<bool>(&value)) return !*b;
  return false;
}

}  // namespace

absl::StatusOr<CallParameters> CheckParameters(const InferRequest& request) {
  CallParameters result;
  for (const auto& [name, value] : request.parameters) {
    if (name == "timeout") {
      ASSIGN_OR_RETURN(const uint64_t microseconds, Unsigned(name, value));
      // 0 asks for no limit of its own.
      if (microseconds != 0) {
        result.timeout = absl::Microseconds(static_cast<int64_t>(
            std::min<uint64_t>(microseconds, std::numeric_limits<int64_t>::max())));
      }
    } else if (name == "priority") {
      ASSIGN_OR_RETURN(result.priority, Unsigned(name, value));
    } else if (name == "sequence_id" || name == "sequence_start" || name == "sequence_end") {
      if (!IsZeroOrEmpty(value)) return Unsupported("sequences (parameter 'sequence_id') are");
    } else if (name == "triton_enable_empty_final_response") {
      if (!std::holds_alternative<bool>(value)) {
        return absl::InvalidArgumentError(
            absl::StrCat("parameter '", name, "' must be true or false"));
      }
    } else if (absl::StartsWith(name, "triton_")) {
      return absl::InvalidArgumentError(absl::StrCat(
          "parameter '", name, "' is unknown; names that begin with 'triton_' are reserved"));
    }
  }
  for (const InferInput& input : request.inputs) {
    if (input.parameters.Find("shared_memory_region") != nullptr) {
      return Unsupported(absl::StrCat("input '", input.name, "': shared memory regions are"));
    }
  }
  for (const RequestedOutput& output : request.outputs) {
    if (output.parameters.Find("shared_memory_region") != nullptr) {
      return Unsupported(absl::StrCat("output '", output.name, "': shared memory regions are"));
    }
    const ParameterValue* classes = output.parameters.Find("classification");
    if (classes != nullptr && !IsZeroOrEmpty(*classes)) {
      return Unsupported(absl::StrCat("output '", output.name, "': classification is"));
    }
  }
  return result;
}

absl::Status MatchInputs(const InferRequest& request, const repository::ModelVersion& model,
                         scheduler::Request* submission) {
  const std::vector<TensorSpec>& specs = model.servable->options().inputs;
  submission->inputs.assign(specs.size(), {});
  submission->pieces.clear();
  absl::InlinedVector<bool, 8> given(specs.size(), false);
  for (const InferInput& input : request.inputs) {
    const int i = IndexOf(specs, input.name);
    if (i < 0) {
      return absl::InvalidArgumentError(absl::StrCat("unexpected inference input '", input.name,
                                                     "' for model '", model.name,
                                                     "'; its inputs are ", Names(specs)));
    }
    if (given[i]) {
      return absl::InvalidArgumentError(
          absl::StrCat("input '", input.name, "' for model '", model.name, "' is given twice"));
    }
    given[i] = true;
    if (input.tensor.type != specs[i].type) {
      return absl::InvalidArgumentError(absl::StrCat(
          "inference input '", input.name, "' data-type is '", TypeName(input.tensor.type),
          "', but model '", model.name, "' expects '", TypeName(specs[i].type), "'"));
    }
    RETURN_IF_ERROR(CheckShape(specs[i], input.tensor.shape, model));
    submission->inputs[i] = input.tensor;
    if (!input.pieces.empty()) {
      submission->pieces.resize(specs.size());
      submission->pieces[i] = input.pieces;
    }
  }
  std::vector<absl::string_view> missing;
  for (size_t i = 0; i < specs.size(); ++i) {
    if (given[i] || specs[i].optional) continue;
    missing.push_back(specs[i].name);
  }
  if (!missing.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "expected ", specs.size(), " inputs but got ", request.inputs.size(), " inputs for model '",
        model.name, "'; missing: '", absl::StrJoin(missing, "', '"), "'"));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<int>> MatchOutputs(const InferRequest& request,
                                              const repository::ModelVersion& model) {
  const std::vector<TensorSpec>& specs = model.servable->options().outputs;
  std::vector<int> result;
  if (request.outputs.empty()) {
    for (size_t i = 0; i < specs.size(); ++i) result.push_back(static_cast<int>(i));
    return result;
  }
  for (const RequestedOutput& output : request.outputs) {
    const int i = IndexOf(specs, output.name);
    if (i < 0) {
      return absl::InvalidArgumentError(absl::StrCat("unexpected inference output '", output.name,
                                                     "' for model '", model.name,
                                                     "'; its outputs are ", Names(specs)));
    }
    if (std::find(result.begin(), result.end(), i) != result.end()) {
      return absl::InvalidArgumentError(absl::StrCat("output '", output.name, "' for model '",
                                                     model.name, "' is requested twice"));
    }
    result.push_back(i);
  }
  return result;
}

}  // namespace inferd::server
