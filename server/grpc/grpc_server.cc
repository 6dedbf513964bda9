#include "server/grpc/grpc_server.h"

#include <algorithm>
#include <limits>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "scheduler/admission.h"
#include "server/grpc/event.h"
#include "server/grpc/grpc_services.h"

namespace inferd::server {
namespace {

class GrpcServerImpl final : public GrpcServer {
 public:
  GrpcServerImpl(const GrpcServerOptions& options, ServerContext& context)
      : services_(options, context) {}

  ~GrpcServerImpl() override { Shutdown(absl::InfinitePast()); }

  absl::Status Start() {
    const GrpcServerOptions& options = services_.options;
    // A bare IPv6 literal needs brackets before a port can follow.
    const bool bare_v6 = absl::StrContains(options.address, ':') && options.address[0] != '[';
    const std::string address = bare_v6 ? absl::StrCat("[", options.address, "]:", options.port)
                                        : absl::StrCat(options.address, ":", options.port);
    grpc::ServerBuilder builder;
    builder.AddListeningPort(address, grpc::InsecureServerCredentials(), &port_);
    builder.RegisterService(&services_.inference);
    builder.RegisterService(&services_.health);
    // gRPC's own refusal does not name our option, so what is a little too long reaches the calls,
    // whose refusal does; see MessageTooLarge.
    builder.SetMaxReceiveMessageSize(static_cast<int>(
        std::min<int64_t>(2 * options.max_message_bytes, std::numeric_limits<int>::max())));
    builder.SetMaxSendMessageSize(std::numeric_limits<int>::max());
    // Two servers on one port would share its connections without a word.
    builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
    builder.AddChannelArgument(GRPC_ARG_MAX_METADATA_SIZE,
                               static_cast<int>(options.max_metadata_bytes));
    builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS,
                               static_cast<int>(options.max_concurrent_streams));
    // Finds clients that vanished without closing their connection.
    builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, 60'000);
    builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 20'000);
    builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
    builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 10'000);
    for (int i = 0; i < std::max(1, options.threads); ++i) {
      queues_.push_back(builder.AddCompletionQueue());
    }
    server_ = builder.BuildAndStart();
    if (server_ == nullptr || port_ == 0) {
      if (server_ != nullptr) server_->Shutdown();
      return absl::UnavailableError(
          absl::StrCat("gRPC cannot listen on ", address,
                       ": the address is in use, not of this machine, or needs more privileges"));
    }
    for (auto& queue : queues_) {
      ServeControlCalls(services_, queue.get());
      ServeInferCalls(services_, queue.get());
      ServeStreamCalls(services_, queue.get());
      ServeHealthWatch(services_, queue.get());
      threads_.emplace_back([q = queue.get()] { Poll(*q); });
    }
    return absl::OkStatus();
  }

  int port() const override { return port_; }

  void Shutdown(absl::Time deadline) override {
    absl::MutexLock lock(&shutdown_mutex_);
    if (stopped_) return;
    stopped_ = true;
    services_.shutting_down.store(true, std::memory_order_release);
    if (server_ != nullptr) {
      server_->Shutdown(absl::ToChronoTime(std::max(deadline, absl::UnixEpoch())));
    }
    // What was cut off still has to hear from the scheduler before its queue may go.
    services_.AwaitNoCalls();
    for (auto& queue : queues_) queue->Shutdown();
    for (std::thread& thread : threads_) thread.join();
    // Without threads (Start failed) the queues still have to be drained before they are destroyed.
    if (threads_.empty()) {
      for (auto& queue : queues_) Poll(*queue);
    }
  }

 private:
  static void Poll(grpc::ServerCompletionQueue& queue) {
    void* tag;
    bool ok;
    while (queue.Next(&tag, &ok)) static_cast<Event*>(tag)->Run(ok);
  }

  // Before the server, which holds on to the services.
  GrpcServices services_;
  std::vector<std::unique_ptr<grpc::ServerCompletionQueue>> queues_;
  std::unique_ptr<grpc::Server> server_;
  std::vector<std::thread> threads_;
  int port_ = 0;
  absl::Mutex shutdown_mutex_;
  bool stopped_ ABSL_GUARDED_BY(shutdown_mutex_) = false;
};

}  // namespace

grpc::Status ToGrpcStatus(const absl::Status& status, grpc::ServerContext* call) {
  if (const auto retry_after = scheduler::RetryAfter(status)) {
    call->AddTrailingMetadata("grpc-retry-pushback-ms",
                              absl::StrCat(absl::ToInt64Milliseconds(*retry_after)));
  }
  // Statuses travel as HTTP/2 headers, which clients bound.
  constexpr size_t kMaxText = 4096;
  std::string text(status.message());
  if (text.size() > kMaxText) text = absl::StrCat(text.substr(0, kMaxText), "...");
  return {static_cast<grpc::StatusCode>(status.code()), std::move(text)};
}

absl::Status MessageTooLarge(int64_t bytes, const GrpcServerOptions& options) {
  return absl::ResourceExhaustedError(
      absl::StrCat("the request is ", bytes, " bytes long; this server takes up to ",
                   options.max_message_bytes, " (option max_message_bytes)"));
}

absl::StatusOr<std::unique_ptr<GrpcServer>> GrpcServer::Start(const GrpcServerOptions& options,
                                                              ServerContext& context) {
  auto server = std::make_unique<GrpcServerImpl>(options, context);
  if (absl::Status status = server->Start(); !status.ok()) return status;
  return server;
}

}  // namespace inferd::server
