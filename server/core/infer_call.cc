#include "server/core/infer_call.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "engine/status_macros.h"

namespace inferd::server {

InferCall::InferCall(ServerContext& context, Protocol protocol, std::string peer)
    : context_(context),
      protocol_(protocol),
      peer_(std::move(peer)),
      received_(context.clock().Now()) {}

InferCall::~InferCall() {
  if (admitted_) context_.ReleaseSlot();
}

absl::Status InferCall::Admit() {
  if (admitted_ || context_.TryAcquireSlot()) {
    admitted_ = true;
    return absl::OkStatus();
  }
  return absl::ResourceExhaustedError(
      absl::StrCat("the server already has ", context_.options().max_in_flight,
                   " requests in progress, its limit (max_in_flight); try again later"));
}

void InferCall::Describe(absl::string_view model, absl::string_view version, absl::string_view id) {
  model_ = std::string(model);
  version_ = std::string(version);
  id_ = id.empty() ? fallback_id_ : std::string(id);
}

namespace {

// What must live until the answer is on its way.
struct Pending {
  std::unique_ptr<InferRequest> request;
  std::shared_ptr<const repository::ModelVersion> model;
  std::vector<int> outputs;
  InferCall::Done done;
};

InferResponse MakeResponse(Pending& pending, scheduler::Response response) {
  const auto& specs = pending.model->servable->options().outputs;
  InferResponse result;
  result.model_name = pending.model->name;
  result.model_version =
      response.model_version.empty() ? pending.model->version : std::move(response.model_version);
  result.id = std::move(pending.request->id);
  for (int i : pending.outputs) {
    scheduler::OutputSlice& slice = response.outputs[i];
    result.outputs.push_back({specs[i].name, std::move(slice.view), std::move(slice.buffer)});
  }
  result.owner = std::move(pending.model);
  return result;
}

}  // namespace

void InferCall::Start(std::unique_ptr<InferRequest> request, absl::Time deadline, Done done) {
  Describe(request->model_name, request->model_version, request->id);
  auto pending = std::make_shared<Pending>();
  pending->request = std::move(request);
  pending->done = std::move(done);
  const InferRequest& message = *pending->request;

  auto submission = std::make_unique<scheduler::Request>();
  auto prepare = [&]() -> absl::Status {
    ASSIGN_OR_RETURN(pending->model,
                     context_.repository().Find(message.model_name, message.model_version));
    model_known_ = true;
    version_ = pending->model->version;
    ASSIGN_OR_RETURN(const CallParameters parameters, CheckParameters(message));
    RETURN_IF_ERROR(MatchInputs(message, *pending->model, submission.get()));
    ASSIGN_OR_RETURN(pending->outputs, MatchOutputs(message, *pending->model));

    submission->deadline = std::min(deadline, received_ + parameters.timeout);
    const uint64_t levels = pending->model->servable->options().queue.priorities;
    // A model without levels takes any priority; the default is the least urgent level.
    if (levels > 1 && parameters.priority > levels) {
      return absl::InvalidArgumentError(
          absl::StrCat("priority ", parameters.priority, " is out of range: model '",
                       message.model_name, "' has ", levels, " levels, 1 being the most urgent"));
    }
    submission->priority = levels <= 1                ? 0
                           : parameters.priority == 0 ? static_cast<int>(levels - 1)
                                                      : static_cast<int>(parameters.priority - 1);
    return absl::OkStatus();
  };
  if (absl::Status status = prepare(); !status.ok()) {
    pending->done(WithRequestId(status, id_), {});
    return;
  }
  submission->id = message.id;
  submission->payload = std::shared_ptr<const void>(pending, pending->request.get());
  submission->done = [pending](scheduler::Response response) mutable {
    const scheduler::RequestTiming timing = response.timing;
    // The callback may be kept by whoever called it; what it holds must not be.
    const std::shared_ptr<Pending> held = std::move(pending);
    if (!response.status.ok()) {
      held->done(WithRequestId(response.status, held->request->id), timing);
    } else if (response.outputs.size() != held->model->servable->options().outputs.size()) {
      held->done(
          absl::InternalError(absl::StrCat(
              "model '", held->model->name, "' answered ", response.outputs.size(),
              " outputs where ", held->model->servable->options().outputs.size(), " are declared")),
          timing);
    } else {
      held->done(MakeResponse(*held, std::move(response)), timing);
    }
  };
  const auto servable = pending->model->servable;
  handle_ = servable->Submit(std::move(submission));
}

void InferCall::Cancel() {
  if (handle_ != nullptr) handle_->Cancel();
}

void InferCall::Finish(const absl::Status& status, const scheduler::RequestTiming& timing,
                       int64_t request_bytes, int64_t response_bytes) {
  if (std::exchange(finished_, true)) return;
  if (std::exchange(admitted_, false)) context_.ReleaseSlot();
  if (!context_.options().on_request) return;
  RequestRecord record;
  record.protocol = protocol_;
  record.peer = peer_;
  record.model = model_;
  record.version = version_;
  record.request_id = id_;
  record.model_known = model_known_;
  record.status = &status;
  record.timing = timing;
  record.total = context_.clock().Now() - received_;
  record.request_bytes = request_bytes;
  record.response_bytes = response_bytes;
  context_.options().on_request(record);
}

absl::Status WithRequestId(const absl::Status& status, absl::string_view id) {
  if (id.empty() || status.ok()) return status;
  absl::Status result(status.code(), absl::StrCat("[request id: ", id, "] ", status.message()));
  status.ForEachPayload(
      [&](absl::string_view url, const absl::Cord& payload) { result.SetPayload(url, payload); });
  return result;
}

}  // namespace inferd::server
