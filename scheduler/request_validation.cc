#include "scheduler/request_validation.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "engine/status_macros.h"

namespace inferd::scheduler {
namespace {

std::string DimsText(absl::Span<const int64_t> dims) {
  return absl::StrCat("[", absl::StrJoin(dims, ","), "]");
}

std::string TypeText(engine::ElementType type) {
  return std::string(engine::ElementTypeName(type));
}

absl::Status ShapeError(const ServableOptions& options, const TensorSpec& spec,
                        const engine::Shape& shape) {
  const std::string expected = spec.any_rank ? "a batch dimension first" : DimsText(spec.dims);
  std::string text =
      absl::StrCat("unexpected shape for input '", spec.name, "' for model '", options.model,
                   "'. Expected ", expected, ", got ", shape.ToString(), ".");
  if (options.batching.max_batch_size > 1 && !spec.any_rank &&
      shape.rank() + 1 == spec.dims.size()) {
    absl::StrAppend(
        &text, " The batch dimension, the first one, is missing: a single item has a 1 there.");
  }
  return absl::InvalidArgumentError(text);
}

bool ShapeFits(const TensorSpec& spec, const engine::Shape& shape, bool batches) {
  if (spec.any_rank) return !batches || shape.rank() > 0;
  if (shape.rank() != spec.dims.size()) return false;
  for (int i = 0; i < shape.rank(); ++i) {
    if (spec.dims[i] >= 0 && spec.dims[i] != shape[i]) return false;
  }
  return true;
}

// Memory of the elements; for strings also their text.
int64_t Footprint(const TensorView& view) {
  int64_t bytes = view.num_bytes();
  if (view.type == engine::ElementType::kString && view.data != nullptr) {
    for (const std::string& s : view.span<std::string>()) bytes += static_cast<int64_t>(s.size());
  }
  return bytes;
}

// Pieces take the place of one block of memory and are as long as it would be.
absl::Status CheckPieces(const ServableOptions& options, const TensorSpec& spec,
                         const TensorView& input, InputPieces pieces) {
  auto error = [&](auto&&... parts) {
    return absl::InvalidArgumentError(
        absl::StrCat("input '", spec.name, "' for model '", options.model, "' ", parts...));
  };
  if (input.type == engine::ElementType::kString) {
    return error("holds strings, which cannot be given in pieces");
  }
  if (input.data != nullptr) return error("is given both as a whole and in pieces");
  size_t bytes = 0;
  for (absl::Span<const uint8_t> piece : pieces) bytes += piece.size();
  if (bytes != static_cast<uint64_t>(input.num_bytes())) {
    return error("is given in pieces of ", bytes, " bytes together where its shape ",
                 input.shape.ToString(), " takes ", input.num_bytes());
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<RequestExtent> CheckRequest(const ServableOptions& options, const Request& request) {
  if (request.inputs.size() != options.inputs.size()) {
    return absl::InvalidArgumentError(absl::StrCat("expected ", options.inputs.size(),
                                                   " inputs but got ", request.inputs.size(),
                                                   " inputs for model '", options.model, "'"));
  }
  if (!request.pieces.empty() && request.pieces.size() != request.inputs.size()) {
    return absl::InvalidArgumentError(absl::StrCat("pieces are given for ", request.pieces.size(),
                                                   " of ", request.inputs.size(),
                                                   " inputs for model '", options.model, "'"));
  }
  const bool batches = options.batching.max_batch_size > 1;
  RequestExtent extent;
  bool have_rows = false;
  for (size_t i = 0; i < options.inputs.size(); ++i) {
    const TensorSpec& spec = options.inputs[i];
    const TensorView& input = request.inputs[i];
    const InputPieces pieces = request.pieces_of(i);
    const bool given = input.data != nullptr || !pieces.empty() ||
                       (input.type != engine::ElementType::kUndefined && !spec.optional);
    if (!given) {
      if (!spec.optional) {
        return absl::InvalidArgumentError(
            absl::StrCat("input '", spec.name, "' for model '", options.model, "' is missing"));
      }
      extent.signature.push_back(-1);
      continue;
    }
    if (input.type != spec.type) {
      return absl::InvalidArgumentError(
          absl::StrCat("inference input '", spec.name, "' data-type is '", TypeText(input.type),
                       "', but model '", options.model, "' expects '", TypeText(spec.type), "'"));
    }
    if (!ShapeFits(spec, input.shape, batches)) return ShapeError(options, spec, input.shape);
    ASSIGN_OR_RETURN(const int64_t elements, input.shape.CheckedNumElements());
    if (!pieces.empty()) {
      RETURN_IF_ERROR(CheckPieces(options, spec, input, pieces));
    } else if (input.data == nullptr && elements > 0) {
      return absl::InvalidArgumentError(absl::StrCat("input '", spec.name, "' for model '",
                                                     options.model, "' has a shape but no data"));
    }
    extent.bytes += Footprint(input);
    extent.signature.push_back(input.shape.rank());
    for (int d = batches ? 1 : 0; d < input.shape.rank(); ++d) {
      extent.signature.push_back(input.shape[d]);
    }
    if (!batches) continue;
    if (!have_rows) {
      extent.rows = input.shape[0];
      have_rows = true;
    } else if (input.shape[0] != extent.rows) {
      return absl::InvalidArgumentError(
          absl::StrCat("input '", spec.name, "' batch size does not match other inputs for '",
                       options.model, "': ", input.shape[0], " against ", extent.rows));
    }
  }
  if (batches && extent.rows < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("inference request batch-size must be >= 1 for '", options.model, "', got 0"));
  }
  if (batches && extent.rows > options.batching.max_batch_size) {
    return absl::InvalidArgumentError(
        absl::StrCat("inference request batch-size must be <= ", options.batching.max_batch_size,
                     " for '", options.model, "', got ", extent.rows));
  }
  return extent;
}

absl::Status CheckOptions(const ServableOptions& options) {
  auto error = [&](auto&&... parts) {
    return absl::InvalidArgumentError(absl::StrCat("model '", options.model, "': ", parts...));
  };
  const BatchingOptions& batching = options.batching;
  if (options.instances.empty()) return error("no instance to run on");
  for (const auto& [instance, executor] : options.instances) {
    if (executor == nullptr) return error("an instance on ", instance.device, " has no executor");
  }
  if (batching.latency_budget <= absl::ZeroDuration()) {
    return error("latency_budget must be positive, got ",
                 absl::FormatDuration(batching.latency_budget));
  }
  if (batching.max_delay < absl::ZeroDuration()) return error("max_delay must not be negative");
  for (int64_t size : batching.preferred_sizes) {
    if (size < 1 || size > batching.max_batch_size) {
      return error("preferred size ", size, " is not within 1 and max_batch_size ",
                   batching.max_batch_size);
    }
  }
  if (options.queue.max_requests < 1) {
    return error("queue.max_requests must be at least 1, got ", options.queue.max_requests);
  }
  if (options.queue.max_bytes < 1) {
    return error("queue.max_bytes must be at least 1, got ", options.queue.max_bytes);
  }
  if (options.queue.timeout <= absl::ZeroDuration()) return error("queue.timeout must be positive");
  if (options.queue.priorities < 1 || options.queue.priorities > 1000) {
    return error("queue.priorities must be within 1 and 1000, got ", options.queue.priorities);
  }
  if (batching.max_batch_size > 1) {
    if (options.inputs.empty()) return error("a model without inputs cannot batch");
    for (const auto* specs : {&options.inputs, &options.outputs}) {
      for (const TensorSpec& spec : *specs) {
        if (!spec.any_rank && (spec.dims.empty() || spec.dims[0] >= 0)) {
          return error("max_batch_size is ", batching.max_batch_size, ", but '", spec.name,
                       "' has shape ", DimsText(spec.dims),
                       " without a free first dimension; set max_batch_size: 1");
        }
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace inferd::scheduler
