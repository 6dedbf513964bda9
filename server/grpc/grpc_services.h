// The services as the calls see them, and what all calls share.
#pragma once

#include <grpcpp/grpcpp.h>

#include <atomic>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "proto/health.grpc.pb.h"
#include "proto/inference.grpc.pb.h"
#include "server/core/control_worker.h"
#include "server/core/server_context.h"
#include "server/grpc/grpc_server.h"

namespace inferd::server {

// Every method takes and gives bytes: ModelInfer because its codec is ours, the others so that one
// call class serves them all.
template <typename S>
using RawControl = inference::GRPCInferenceService::WithRawMethod_ServerLive<
    inference::GRPCInferenceService::WithRawMethod_ServerReady<
        inference::GRPCInferenceService::WithRawMethod_ModelReady<
            inference::GRPCInferenceService::WithRawMethod_ServerMetadata<
                inference::GRPCInferenceService::WithRawMethod_ModelMetadata<
                    inference::GRPCInferenceService::WithRawMethod_ModelConfig<
                        inference::GRPCInferenceService::WithRawMethod_ModelStatistics<
                            inference::GRPCInferenceService::WithRawMethod_RepositoryIndex<
                                inference::GRPCInferenceService::WithRawMethod_RepositoryModelLoad<
                                    inference::GRPCInferenceService::
                                        WithRawMethod_RepositoryModelUnload<S>>>>>>>>>>;
template <typename S>
using RawSharedMemory = inference::GRPCInferenceService::WithRawMethod_SystemSharedMemoryStatus<
    inference::GRPCInferenceService::WithRawMethod_SystemSharedMemoryRegister<
        inference::GRPCInferenceService::WithRawMethod_SystemSharedMemoryUnregister<
            inference::GRPCInferenceService::WithRawMethod_CudaSharedMemoryStatus<
                inference::GRPCInferenceService::WithRawMethod_CudaSharedMemoryRegister<
                    inference::GRPCInferenceService::WithRawMethod_CudaSharedMemoryUnregister<
                        S>>>>>>;
template <typename S>
using RawSettings = inference::GRPCInferenceService::WithRawMethod_TraceSetting<
    inference::GRPCInferenceService::WithRawMethod_LogSettings<S>>;
template <typename S>
using RawInfer = inference::GRPCInferenceService::WithRawMethod_ModelInfer<
    inference::GRPCInferenceService::WithRawMethod_ModelStreamInfer<S>>;

using RawInferenceService =
    RawInfer<RawControl<RawSharedMemory<RawSettings<inference::GRPCInferenceService::Service>>>>;
using RawHealthService = grpc::health::v1::Health::WithRawMethod_Check<
    grpc::health::v1::Health::WithRawMethod_Watch<grpc::health::v1::Health::Service>>;

using RawUnaryWriter = grpc::ServerAsyncResponseWriter<grpc::ByteBuffer>;

struct GrpcServices {
  explicit GrpcServices(const GrpcServerOptions& o, ServerContext& c) : options(o), context(c) {}

  const GrpcServerOptions options;
  ServerContext& context;
  RawInferenceService inference;
  RawHealthService health;
  ControlWorker control_worker;
  // Set at the start of Shutdown: streams that would never end by themselves do so now.
  std::atomic<bool> shutting_down{false};

  // Calls that may still use their completion queue.
  void AddCall() {
    absl::MutexLock lock(&mutex);
    ++calls;
  }
  void RemoveCall() {
    absl::MutexLock lock(&mutex);
    --calls;
  }
  void AwaitNoCalls() {
    absl::MutexLock lock(&mutex);
    auto idle = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) { return calls == 0; };
    mutex.Await(absl::Condition(&idle));
  }
  absl::Mutex mutex;
  int64_t calls ABSL_GUARDED_BY(mutex) = 0;
};

// Status codes of absl and gRPC are the same numbers. The hint of scheduler::RetryAfter becomes the
// server pushback of gRPC's retry design (grpc-retry-pushback-ms).
grpc::Status ToGrpcStatus(const absl::Status& status, grpc::ServerContext* call);

// The refusal of a message over options.max_message_bytes.
absl::Status MessageTooLarge(int64_t bytes, const GrpcServerOptions& options);

// Start serving one kind of call on `queue`; each accepted call makes room for the next one.
void ServeControlCalls(GrpcServices& services, grpc::ServerCompletionQueue* queue);
void ServeInferCalls(GrpcServices& services, grpc::ServerCompletionQueue* queue);
void ServeStreamCalls(GrpcServices& services, grpc::ServerCompletionQueue* queue);
void ServeHealthWatch(GrpcServices& services, grpc::ServerCompletionQueue* queue);

}  // namespace inferd::server
