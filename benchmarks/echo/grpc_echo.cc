// The yardstick for gRPC: ModelInfer answered with the request's own bytes, unparsed, on a
// completion queue. What a request costs here is the library's share of what it costs in inferd.
// The bytes of a request read as an answer too: name, id and tensors stand in the same fields.
#include <grpcpp/grpcpp.h>
#include <malloc.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "proto/inference.grpc.pb.h"

namespace {

using Service = inference::GRPCInferenceService::WithRawMethod_ModelInfer<
    inference::GRPCInferenceService::Service>;

class EchoCall {
 public:
  EchoCall(Service& service, grpc::ServerCompletionQueue* queue)
      : service_(service), queue_(queue) {
    service_.RequestModelInfer(&context_, &bytes_, &writer_, queue_, queue_, this);
  }
  void Proceed(bool ok) {
    if (!ok || answered_) {
      delete this;
      return;
    }
    new EchoCall(service_, queue_);
    answered_ = true;
    writer_.Finish(bytes_, grpc::Status::OK, this);
  }

 private:
  Service& service_;
  grpc::ServerCompletionQueue* const queue_;
  grpc::ServerContext context_;
  grpc::ServerAsyncResponseWriter<grpc::ByteBuffer> writer_{&context_};
  grpc::ByteBuffer bytes_;
  bool answered_ = false;
};

}  // namespace

int main(int argc, char** argv) {
  const std::string port = argc > 1 ? argv[1] : "9001";
  const int threads = argc > 2 ? std::atoi(argv[2]) : 2;
  // The same allocator policy as the daemon.
  mallopt(M_MMAP_THRESHOLD, 32 << 20);
  mallopt(M_TRIM_THRESHOLD, 512 << 20);

  Service service;
  grpc::ServerBuilder builder;
  builder.AddListeningPort("127.0.0.1:" + port, grpc::InsecureServerCredentials());
  builder.SetMaxReceiveMessageSize(-1);
  builder.RegisterService(&service);
  std::vector<std::unique_ptr<grpc::ServerCompletionQueue>> queues;
  for (int i = 0; i < threads; ++i) queues.push_back(builder.AddCompletionQueue());
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (server == nullptr) {
    std::fprintf(stderr, "cannot listen on 127.0.0.1:%s\n", port.c_str());
    return 1;
  }
  std::printf("grpc echo on 127.0.0.1:%s, %d threads\n", port.c_str(), threads);
  std::fflush(stdout);
  std::vector<std::thread> workers;
  for (auto& queue : queues) {
    for (int i = 0; i < 16; ++i) new EchoCall(service, queue.get());
    workers.emplace_back([q = queue.get()] {
      void* tag;
      bool ok;
      while (q->Next(&tag, &ok)) static_cast<EchoCall*>(tag)->Proceed(ok);
    });
  }
  for (std::thread& worker : workers) worker.join();
}
