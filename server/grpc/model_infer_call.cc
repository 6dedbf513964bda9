// ModelInfer: bytes in, bytes out, through the wire codec.
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/core/infer_call.h"
#include "server/grpc/deadline.h"
#include "server/grpc/event.h"
#include "server/grpc/grpc_services.h"
#include "server/grpc/infer_bytes.h"
#include "server/wire/infer_codec.h"

namespace inferd::server {
namespace {

// Calls that wait for a request on each queue, so that a burst finds them ready.
constexpr int kWaitingCalls = 16;

// Lives from the wait for a request until the answer has been sent and gRPC has reported the end
// of the call. Runs on its queue's thread, except Answer.
class ModelInferCall {
 public:
  ModelInferCall(GrpcServices& services, grpc::ServerCompletionQueue* queue)
      : services_(services), queue_(queue) {
    context_.AsyncNotifyWhenDone(&on_done_);
    services_.inference.RequestModelInfer(&context_, &request_, &writer_, queue_, queue_,
                                          &on_request_);
  }

 private:
  void OnRequest(bool ok) {
    if (!ok) {  // The server shuts down; on_done_ will not come.
      delete this;
      return;
    }
    services_.AddCall();
    new ModelInferCall(services_, queue_);
    call_.emplace(services_.context, Protocol::kGrpc, context_.peer());
    Begin();
  }

  void Begin() {
    request_bytes_ = static_cast<int64_t>(request_.Length());
    if (absl::Status status = call_->Admit(); !status.ok()) return Answer(status, {});
    if (request_bytes_ > services_.options.max_message_bytes) {
      return Answer(MessageTooLarge(request_bytes_, services_.options), {});
    }
    auto message = std::make_shared<const ReceivedMessage>(request_);
    request_.Clear();
    auto request = std::make_unique<InferRequest>();
    const BytesView bytes = message->view();
    if (absl::Status status = ParseInferRequest(bytes, std::move(message), request.get());
        !status.ok()) {
      call_->Describe(request->model_name, request->model_version, request->id);
      return Answer(WithRequestId(status, request->id), {});
    }
    call_->Start(
        std::move(request), DeadlineOf(context_, services_.context.clock()),
        [this](absl::StatusOr<InferResponse> response, const scheduler::RequestTiming& timing) {
          if (!response.ok()) return Answer(response.status(), timing);
          auto encoded = EncodeInferResponse(*response);
          if (!encoded.ok()) return Answer(encoded.status(), timing);
          Answer(*encoded, timing);
        });
  }

  void Answer(const absl::Status& status, const scheduler::RequestTiming& timing) {
    call_->Finish(status, timing, request_bytes_, 0);
    writer_.FinishWithError(ToGrpcStatus(status, &context_), &on_finish_);
  }

  void Answer(const EncodedInferResponse& encoded, const scheduler::RequestTiming& timing) {
    call_->Finish(absl::OkStatus(), timing, request_bytes_, encoded.total_bytes);
    writer_.Finish(ToByteBuffer(encoded), grpc::Status::OK, &on_finish_);
  }

  // The call is over: answered, cancelled by the client, past its deadline or disconnected.
  void OnDone(bool) {
    if (context_.IsCancelled()) call_->Cancel();
    Release();
  }
  void OnFinish(bool) { Release(); }

  void Release() {
    if (--events_left_ > 0) return;
    services_.RemoveCall();
    delete this;
  }

  GrpcServices& services_;
  grpc::ServerCompletionQueue* const queue_;
  grpc::ServerContext context_;
  RawUnaryWriter writer_{&context_};
  grpc::ByteBuffer request_;
  int64_t request_bytes_ = 0;
  std::optional<InferCall> call_;
  int events_left_ = 2;
  MemberEvent<ModelInferCall, &ModelInferCall::OnRequest> on_request_{this};
  MemberEvent<ModelInferCall, &ModelInferCall::OnDone> on_done_{this};
  MemberEvent<ModelInferCall, &ModelInferCall::OnFinish> on_finish_{this};
};

}  // namespace

void ServeInferCalls(GrpcServices& services, grpc::ServerCompletionQueue* queue) {
  for (int i = 0; i < kWaitingCalls; ++i) new ModelInferCall(services, queue);
}

}  // namespace inferd::server
