#include "scheduler/batch_runner.h"

#include <algorithm>
#include <cstring>
#include <exception>
#include <new>
#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/status_macros.h"

namespace inferd::scheduler {
namespace {

using engine::ElementBits;
using engine::ElementType;

// The address of tensors without elements. Nobody writes through it.
alignas(16) constexpr char kNoElements[16] = {};

// Elements per row; the batch dimension is the first.
int64_t RowElements(const engine::Shape& shape) { return shape.Product(1, shape.rank()); }

// Rows of packed sub-byte elements need not end at a byte.
bool RowsAreWholeBytes(ElementType type, const engine::Shape& shape) {
  return ElementBits(type) * RowElements(shape) % 8 == 0;
}

// No data means left out; an empty tensor is not.
TensorView Bound(TensorView input) {
  if (input.data == nullptr && input.type != ElementType::kUndefined && input.num_elements() == 0) {
    input.data = const_cast<char*>(kNoElements);
  }
  return input;
}

// Copies the bytes of one input of `request` to `out`; the end of what was written.
char* CopyBytes(const Request& request, size_t input, char* out) {
  auto append = [&out](const void* data, size_t bytes) {
    if (bytes > 0) std::memcpy(out, data, bytes);
    out += bytes;
  };
  const InputPieces pieces = request.pieces_of(input);
  for (absl::Span<const uint8_t> piece : pieces) append(piece.data(), piece.size());
  if (pieces.empty()) {
    const TensorView& view = request.inputs[input];
    append(view.data, static_cast<size_t>(view.num_bytes()));
  }
  return out;
}

}  // namespace

BatchRunner::BatchRunner(const ServableOptions& options, std::unique_ptr<Executor> executor,
                         Clock& clock)
    : options_(options),
      executor_(std::move(executor)),
      clock_(clock),
      staging_(options.inputs.size()),
      inputs_(options.inputs.size()) {}

void BatchRunner::Run(absl::Span<BatchItem> items, RunReport* report) {
  report->executions.clear();
  report->retried = 0;
  Execution execution;
  absl::Status status = RunTogether(items, &execution);
  report->first_try = status.ok();
  if (status.ok()) {
    report->executions.push_back(execution);
    return;
  }
  if (items.size() == 1) {
    items[0].response.status = std::move(status);
    return;
  }
  for (BatchItem& item : items) {
    if (item.abandoned != nullptr && item.abandoned->load(std::memory_order_relaxed)) {
      item.response.status = status;
      continue;
    }
    ++report->retried;
    item.response.status = RunTogether(absl::MakeSpan(&item, 1), &execution);
    if (item.response.status.ok()) report->executions.push_back(execution);
  }
}

absl::Status BatchRunner::RunTogether(absl::Span<BatchItem> items, Execution* execution) {
  const absl::Time start = clock_.Now();
  int64_t rows = 0;
  for (const BatchItem& item : items) rows += item.rows;
  for (BatchItem& item : items) item.response.timing.batch_size = rows;
  RETURN_IF_ERROR(Gather(items, rows));
  const absl::Time gathered = clock_.Now();
  absl::Status status = Execute();
  const absl::Time executed = clock_.Now();
  if (status.ok()) status = CheckOutputs(rows);
  if (status.ok()) status = Split(items);
  // The responses hold what they need; the rest must go back to its pool now.
  for (Tensor& output : outputs_) output = Tensor();
  RETURN_IF_ERROR(status);
  const absl::Time split = clock_.Now();
  *execution = {rows, gathered - start, executed - gathered, split - executed};
  for (BatchItem& item : items) {
    RequestTiming& timing = item.response.timing;
    timing.compute_input = execution->compute_input;
    timing.compute_infer = execution->compute_infer;
    timing.compute_output = execution->compute_output;
  }
  return absl::OkStatus();
}

absl::Status BatchRunner::Gather(absl::Span<const BatchItem> items, int64_t rows) {
  const Request& first = *items[0].request;
  for (size_t i = 0; i < inputs_.size(); ++i) {
    if (items.size() == 1 && first.pieces_of(i).empty()) {
      inputs_[i] = Bound(first.inputs[i]);
    } else {
      RETURN_IF_ERROR(GatherInput(items, rows, i));
    }
  }
  return absl::OkStatus();
}

absl::Status BatchRunner::GatherInput(absl::Span<const BatchItem> items, int64_t rows,
                                      size_t input) {
  const TensorView& first = items[0].request->inputs[input];
  TensorView& gathered = inputs_[input];
  gathered = first;
  if (first.type == ElementType::kUndefined ||
      (first.data == nullptr && items[0].request->pieces_of(input).empty() &&
       options_.inputs[input].optional)) {
    return absl::OkStatus();
  }
  const bool joins = items.size() > 1;
  if (joins) gathered.shape[0] = rows;
  Staging& staging = staging_[input];
  if (first.type == ElementType::kString) {
    const size_t count = static_cast<size_t>(gathered.num_elements());
    if (staging.strings.size() < count) staging.strings.resize(count);
    // Assignment reuses the capacity of the strings of earlier batches.
    auto out = staging.strings.begin();
    for (const BatchItem& item : items) {
      const TensorView& part = item.request->inputs[input];
      if (part.data == nullptr) continue;
      const auto strings = part.span<std::string>();
      out = std::copy(strings.begin(), strings.end(), out);
    }
    gathered.data = staging.strings.data();
    return absl::OkStatus();
  }
  if (joins && !RowsAreWholeBytes(first.type, first.shape)) {
    return absl::UnimplementedError(
        absl::StrCat("input '", options_.inputs[input].name, "': rows of packed ",
                     std::string(engine::ElementTypeName(first.type)),
                     " elements that do not end at a byte cannot be joined"));
  }
  const size_t needed = std::max<size_t>(1, static_cast<size_t>(gathered.num_bytes()));
  if (staging.bytes.get() == nullptr || staging.bytes.get()->size() < needed) {
    staging.bytes = engine::BufferRef();
    // Room to grow, but not beyond the largest batch of this shape.
    const size_t largest = std::max(
        needed, needed / static_cast<size_t>(rows) *
                    static_cast<size_t>(std::max<int64_t>(1, options_.batching.max_batch_size)));
    ASSIGN_OR_RETURN(staging.bytes, engine::AllocateHostBuffer(std::min(largest, 2 * needed)));
  }
  char* out = static_cast<char*>(staging.bytes.get()->data());
  gathered.data = out;
  for (const BatchItem& item : items) out = CopyBytes(*item.request, input, out);
  return absl::OkStatus();
}

absl::Status BatchRunner::Execute() {
  // Executors report errors as statuses; what a library below them throws must not end the daemon.
  try {
    return executor_->Execute(inputs_, &outputs_);
  } catch (const std::bad_alloc&) {
    return absl::ResourceExhaustedError(
        absl::StrCat("out of memory while running model '", options_.model, "'"));
  } catch (const std::exception& e) {
    return absl::InternalError(absl::StrCat("model '", options_.model, "' failed: ", e.what()));
  }
}

absl::Status BatchRunner::CheckOutputs(int64_t rows) const {
  if (outputs_.size() != options_.outputs.size()) {
    return absl::InternalError(absl::StrCat("model '", options_.model, "' produced ",
                                            outputs_.size(), " outputs instead of ",
                                            options_.outputs.size()));
  }
  for (size_t i = 0; i < outputs_.size(); ++i) {
    const Tensor& output = outputs_[i];
    const std::string& name = options_.outputs[i].name;
    if (!output.defined()) {
      return absl::InternalError(
          absl::StrCat("model '", options_.model, "' did not produce output '", name, "'"));
    }
    if (batches() && (output.shape().rank() == 0 || output.shape()[0] != rows)) {
      return absl::InternalError(
          absl::StrCat("output '", name, "' of model '", options_.model, "' has shape ",
                       output.shape().ToString(), " for a batch of ", rows,
                       "; its first dimension must be the batch for the model to be served in "
                       "batches: set max_batch_size: 1"));
    }
  }
  return absl::OkStatus();
}

absl::Status BatchRunner::Split(absl::Span<BatchItem> items) {
  for (size_t i = 0; i < outputs_.size(); ++i) {
    const Tensor& output = outputs_[i];
    if (items.size() > 1 && !RowsAreWholeBytes(output.type(), output.shape())) {
      return absl::UnimplementedError(
          absl::StrCat("output '", options_.outputs[i].name, "': rows of packed ",
                       std::string(engine::ElementTypeName(output.type())),
                       " elements that do not end at a byte cannot be split"));
    }
  }
  int64_t row = 0;
  for (BatchItem& item : items) {
    Response& response = item.response;
    response.outputs.clear();
    for (const Tensor& output : outputs_) {
      OutputSlice slice{output.view(), output.buffer()};
      if (items.size() > 1) {
        slice.view.shape[0] = item.rows;
        const int64_t elements = row * RowElements(output.shape());
        slice.view.data =
            static_cast<char*>(slice.view.data) + engine::ElementBytes(output.type(), elements);
      }
      response.outputs.push_back(std::move(slice));
    }
    row += item.rows;
  }
  return absl::OkStatus();
}

absl::StatusOr<Execution> BatchRunner::RunZeros(int64_t rows) {
  Request request;
  std::vector<Tensor> tensors;
  for (const TensorSpec& spec : options_.inputs) {
    if (spec.optional) {
      request.inputs.emplace_back();
      continue;
    }
    engine::Shape shape(spec.dims);
    if (batches()) shape[0] = rows;
    ASSIGN_OR_RETURN(Tensor tensor, Tensor::Allocate(spec.type, shape));
    if (spec.type == ElementType::kString) {
      for (std::string& s : tensor.view().span<std::string>()) s = "0";
    } else if (tensor.num_bytes() > 0) {
      std::memset(tensor.view().data, 0, static_cast<size_t>(tensor.num_bytes()));
    }
    request.inputs.push_back(tensor.view());
    tensors.push_back(std::move(tensor));
  }
  BatchItem item;
  item.request = &request;
  item.rows = rows;
  Execution execution;
  RETURN_IF_ERROR(RunTogether(absl::MakeSpan(&item, 1), &execution));
  return execution;
}

}  // namespace inferd::scheduler
