// One inference call: from a decoded request to the scheduler and back, the same for every
// protocol.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "scheduler/request.h"
#include "server/core/server_context.h"
#include "server/wire/infer_message.h"

namespace inferd::server {

// What the `timeout` and `priority` parameters and the like ask for.
struct CallParameters {
  absl::Duration timeout = absl::InfiniteDuration();
  // 0: the model's default. 1 is the most urgent level.
  uint64_t priority = 0;
};
// INVALID_ARGUMENT for a value of the wrong type or range; UNIMPLEMENTED for what this server does
// not do (sequences, shared memory, classification) rather than ignoring it.
absl::StatusOr<CallParameters> CheckParameters(const InferRequest& request);

// Matches the inputs of `request` with those of `model` by name and checks datatypes and shapes;
// inputs and pieces of `submission` are then in the model's order, with null data for optional ones
// left out; they view `request`. All errors name the model and the input.
absl::Status MatchInputs(const InferRequest& request, const repository::ModelVersion& model,
                         scheduler::Request* submission);

// Indices into the model's outputs, in the order of the answer.
absl::StatusOr<std::vector<int>> MatchOutputs(const InferRequest& request,
                                              const repository::ModelVersion& model);

// Made by a front end when a request has arrived; destroyed after Finish. Start, Cancel and Finish
// are called by one thread at a time.
class InferCall {
 public:
  using Done =
      absl::AnyInvocable<void(absl::StatusOr<InferResponse>, const scheduler::RequestTiming&)>;

  InferCall(ServerContext& context, Protocol protocol, std::string peer);
  ~InferCall();
  InferCall(const InferCall&) = delete;
  InferCall& operator=(const InferCall&) = delete;

  // Takes a place among the requests in progress; RESOURCE_EXHAUSTED when there is none. Called
  // before the body is decoded, so that a refusal costs nothing.
  absl::Status Admit();
  // Submits; `deadline` is on the context's clock. `done` is called exactly once, from any thread,
  // possibly before Start returns; it may outlive the call only as long as it holds what it uses.
  void Start(std::unique_ptr<InferRequest> request, absl::Time deadline, Done done);
  // The client is gone: queued work is dropped. `done` is still called. Harmless at any time.
  void Cancel();
  // Reports the outcome to metrics and the access log, once. Every call ends here.
  void Finish(const absl::Status& status, const scheduler::RequestTiming& timing,
              int64_t request_bytes, int64_t response_bytes);

  // For logs, where decoding failed before Start.
  void Describe(absl::string_view model, absl::string_view version, absl::string_view id);
  // What logs call the request if it has no id of its own.
  void SetFallbackId(std::string id) { fallback_id_ = std::move(id); }
  absl::Time received() const { return received_; }

 private:
  ServerContext& context_;
  const Protocol protocol_;
  const std::string peer_;
  const absl::Time received_;
  std::string model_;
  std::string version_;
  std::string id_;
  std::string fallback_id_;
  bool admitted_ = false;
  bool model_known_ = false;
  bool finished_ = false;
  std::shared_ptr<scheduler::RequestHandle> handle_;
};

// "[request id: X] text", so that a client and the log can be brought together; unchanged without
// an id.
absl::Status WithRequestId(const absl::Status& status, absl::string_view id);

}  // namespace inferd::server
