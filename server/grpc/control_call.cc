// Every unary call but ModelInfer: one class, one table.
#include "absl/strings/str_cat.h"
#include "server/grpc/control_rpcs.h"
#include "server/grpc/event.h"
#include "server/grpc/grpc_services.h"
#include "server/grpc/messages.h"

namespace inferd::server {
namespace {

// Answers the bytes of one call.
using Handler = absl::Status (*)(ServerContext&, grpc::ByteBuffer* request,
                                 grpc::ByteBuffer* response);

struct Method {
  void (*request)(GrpcServices&, grpc::ServerContext*, grpc::ByteBuffer*, RawUnaryWriter*,
                  grpc::ServerCompletionQueue*, void* tag);
  Handler handler;
  bool slow = false;  // may block for long: runs on the control worker
};

template <typename Request, typename Response,
          absl::Status (*kRpc)(ServerContext&, const Request&, Response*)>
absl::Status Handle(ServerContext& context, grpc::ByteBuffer* in, grpc::ByteBuffer* out) {
  Request request;
  if (!ParseMessage(in, &request)) {
    return absl::InvalidArgumentError(
        absl::StrCat("the bytes received are not a ", request.GetTypeName()));
  }
  Response response;
  if (absl::Status status = kRpc(context, request, &response); !status.ok()) return status;
  *out = SerializeMessage(response);
  return absl::OkStatus();
}

template <char kKind>
absl::Status Refuse(ServerContext&, grpc::ByteBuffer*, grpc::ByteBuffer*) {
  switch (kKind) {
    case 's':
      return absl::UnimplementedError(
          "shared memory is not supported by this server; send tensors in the request");
    case 't':
      return absl::UnimplementedError("trace settings are not supported by this server");
    default:
      return absl::UnimplementedError(
          "log settings cannot be changed over the wire; use the server's options");
  }
}

#define INFERD_REQUEST(service, name)                                                 \
  [](GrpcServices& s, grpc::ServerContext* c, grpc::ByteBuffer* b, RawUnaryWriter* w, \
     grpc::ServerCompletionQueue* q, void* tag) { s.service.Request##name(c, b, w, q, q, tag); }
#define INFERD_RPC(name, slow)                                                         \
  Method {                                                                             \
    INFERD_REQUEST(inference, name),                                                   \
        &Handle<inference::name##Request, inference::name##Response, &rpc::name>, slow \
  }
#define INFERD_REFUSED(name, kind) \
  Method { INFERD_REQUEST(inference, name), &Refuse<kind>, false }

constexpr Method kMethods[] = {
    INFERD_RPC(ServerLive, false),
    INFERD_RPC(ServerReady, false),
    INFERD_RPC(ModelReady, false),
    INFERD_RPC(ServerMetadata, false),
    INFERD_RPC(ModelMetadata, false),
    INFERD_RPC(ModelConfig, false),
    INFERD_RPC(ModelStatistics, false),
    INFERD_RPC(RepositoryIndex, false),
    INFERD_RPC(RepositoryModelLoad, true),
    INFERD_RPC(RepositoryModelUnload, true),
    INFERD_REFUSED(SystemSharedMemoryStatus, 's'),
    INFERD_REFUSED(SystemSharedMemoryRegister, 's'),
    INFERD_REFUSED(SystemSharedMemoryUnregister, 's'),
    INFERD_REFUSED(CudaSharedMemoryStatus, 's'),
    INFERD_REFUSED(CudaSharedMemoryRegister, 's'),
    INFERD_REFUSED(CudaSharedMemoryUnregister, 's'),
    INFERD_REFUSED(TraceSetting, 't'),
    INFERD_REFUSED(LogSettings, 'l'),
    Method{INFERD_REQUEST(health, Check),
           &Handle<grpc::health::v1::HealthCheckRequest, grpc::health::v1::HealthCheckResponse,
                   &rpc::HealthCheck>,
           false},
};

#undef INFERD_REFUSED
#undef INFERD_RPC
#undef INFERD_REQUEST

class ControlCall {
 public:
  ControlCall(GrpcServices& services, const Method& method, grpc::ServerCompletionQueue* queue)
      : services_(services), method_(method), queue_(queue) {
    method_.request(services_, &context_, &request_, &writer_, queue_, &on_request_);
  }

 private:
  void OnRequest(bool ok) {
    if (!ok) {  // The server shuts down.
      delete this;
      return;
    }
    services_.AddCall();
    new ControlCall(services_, method_, queue_);
    if (!method_.slow) {
      Answer(Handle());
      return;
    }
    services_.control_worker.Post(
        [this](const absl::Status& status) { Answer(status.ok() ? Handle() : status); });
  }

  absl::Status Handle() { return method_.handler(services_.context, &request_, &response_); }

  void Answer(const absl::Status& status) {
    if (status.ok()) {
      writer_.Finish(response_, grpc::Status::OK, &on_finish_);
    } else {
      writer_.FinishWithError(ToGrpcStatus(status, &context_), &on_finish_);
    }
  }

  void OnFinish(bool) {
    services_.RemoveCall();
    delete this;
  }

  GrpcServices& services_;
  const Method& method_;
  grpc::ServerCompletionQueue* const queue_;
  grpc::ServerContext context_;
  RawUnaryWriter writer_{&context_};
  grpc::ByteBuffer request_;
  grpc::ByteBuffer response_;
  MemberEvent<ControlCall, &ControlCall::OnRequest> on_request_{this};
  MemberEvent<ControlCall, &ControlCall::OnFinish> on_finish_{this};
};

}  // namespace

void ServeControlCalls(GrpcServices& services, grpc::ServerCompletionQueue* queue) {
  for (const Method& method : kMethods) new ControlCall(services, method, queue);
}

}  // namespace inferd::server
