// grpc.health.v1.Health/Watch: the status now and at every change, until the client goes.
#include <grpcpp/alarm.h>

#include "proto/health.pb.h"
#include "server/grpc/control_rpcs.h"
#include "server/grpc/event.h"
#include "server/grpc/grpc_services.h"
#include "server/grpc/messages.h"

namespace inferd::server {
namespace {

using grpc::health::v1::HealthCheckRequest;
using grpc::health::v1::HealthCheckResponse;

// How late a change may be reported. Costs nothing while nobody watches.
constexpr std::chrono::milliseconds kInterval{200};

// One operation (write, alarm or finish) is under way at a time, beside on_done_.
class HealthWatchCall {
 public:
  HealthWatchCall(GrpcServices& services, grpc::ServerCompletionQueue* queue)
      : services_(services), queue_(queue) {
    context_.AsyncNotifyWhenDone(&on_done_);
    services_.health.RequestWatch(&context_, &request_bytes_, &writer_, queue_, queue_,
                                  &on_request_);
  }

 private:
  void OnRequest(bool ok) {
    if (!ok) {
      delete this;
      return;
    }
    services_.AddCall();
    new HealthWatchCall(services_, queue_);
    if (!ParseMessage(&request_bytes_, &request_)) {
      ending_ = true;
      writer_.Finish({grpc::StatusCode::INVALID_ARGUMENT,
                      "the bytes received are not a grpc.health.v1.HealthCheckRequest"},
                     &on_step_);
      return;
    }
    Step();
  }

  // Reports a change, or looks again later.
  void Step() {
    const bool stopping = services_.shutting_down.load(std::memory_order_acquire);
    const HealthCheckResponse::ServingStatus status = Status();
    if (status != reported_) {
      reported_ = status;
      HealthCheckResponse response;
      response.set_status(status);
      writer_.Write(SerializeMessage(response), &on_step_);
    } else if (stopping) {
      ending_ = true;
      writer_.Finish({grpc::StatusCode::UNAVAILABLE, "the server is stopping"}, &on_step_);
    } else {
      alarm_.Set(queue_, std::chrono::system_clock::now() + kInterval, &on_alarm_);
    }
  }

  HealthCheckResponse::ServingStatus Status() {
    HealthCheckResponse response;
    if (!rpc::HealthCheck(services_.context, request_, &response).ok()) {
      return HealthCheckResponse::SERVICE_UNKNOWN;
    }
    return response.status();
  }

  void OnStep(bool ok) {
    if (!ending_ && ok && !done_) return Step();
    idle_ = true;
    MaybeDelete();
  }
  void OnAlarm(bool) {
    if (!done_) return Step();
    idle_ = true;
    MaybeDelete();
  }
  void OnDone(bool) {
    done_ = true;
    alarm_.Cancel();
    MaybeDelete();
  }
  void MaybeDelete() {
    if (!done_ || !idle_) return;
    services_.RemoveCall();
    delete this;
  }

  GrpcServices& services_;
  grpc::ServerCompletionQueue* const queue_;
  grpc::ServerContext context_;
  grpc::ServerAsyncWriter<grpc::ByteBuffer> writer_{&context_};
  grpc::ByteBuffer request_bytes_;
  HealthCheckRequest request_;
  grpc::Alarm alarm_;
  int reported_ = -1;
  bool ending_ = false;
  bool done_ = false;  // gRPC has reported the end of the call
  bool idle_ = false;  // no operation is under way, and none will be
  MemberEvent<HealthWatchCall, &HealthWatchCall::OnRequest> on_request_{this};
  MemberEvent<HealthWatchCall, &HealthWatchCall::OnStep> on_step_{this};
  MemberEvent<HealthWatchCall, &HealthWatchCall::OnAlarm> on_alarm_{this};
  MemberEvent<HealthWatchCall, &HealthWatchCall::OnDone> on_done_{this};
};

}  // namespace

void ServeHealthWatch(GrpcServices& services, grpc::ServerCompletionQueue* queue) {
  new HealthWatchCall(services, queue);
}

}  // namespace inferd::server
