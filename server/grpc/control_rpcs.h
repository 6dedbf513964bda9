// The control calls as functions over generated messages. No gRPC here.
#pragma once

#include "absl/status/status.h"
#include "server/core/server_context.h"

namespace inference {
class ModelConfigRequest;
class ModelConfigResponse;
class ModelMetadataRequest;
class ModelMetadataResponse;
class ModelReadyRequest;
class ModelReadyResponse;
class ModelStatisticsRequest;
class ModelStatisticsResponse;
class RepositoryIndexRequest;
class RepositoryIndexResponse;
class RepositoryModelLoadRequest;
class RepositoryModelLoadResponse;
class RepositoryModelUnloadRequest;
class RepositoryModelUnloadResponse;
class ServerLiveRequest;
class ServerLiveResponse;
class ServerMetadataRequest;
class ServerMetadataResponse;
class ServerReadyRequest;
class ServerReadyResponse;
}  // namespace inference

namespace grpc::health::v1 {
class HealthCheckRequest;
class HealthCheckResponse;
}  // namespace grpc::health::v1

namespace inferd::server::rpc {

absl::Status ServerLive(ServerContext&, const inference::ServerLiveRequest&,
                        inference::ServerLiveResponse*);
absl::Status ServerReady(ServerContext&, const inference::ServerReadyRequest&,
                         inference::ServerReadyResponse*);
absl::Status ModelReady(ServerContext&, const inference::ModelReadyRequest&,
                        inference::ModelReadyResponse*);
absl::Status ServerMetadata(ServerContext&, const inference::ServerMetadataRequest&,
                            inference::ServerMetadataResponse*);
absl::Status ModelMetadata(ServerContext&, const inference::ModelMetadataRequest&,
                           inference::ModelMetadataResponse*);
absl::Status ModelConfig(ServerContext&, const inference::ModelConfigRequest&,
                         inference::ModelConfigResponse*);
absl::Status ModelStatistics(ServerContext&, const inference::ModelStatisticsRequest&,
                             inference::ModelStatisticsResponse*);
absl::Status RepositoryIndex(ServerContext&, const inference::RepositoryIndexRequest&,
                             inference::RepositoryIndexResponse*);
// These two block until the model is loaded or unloaded.
absl::Status RepositoryModelLoad(ServerContext&, const inference::RepositoryModelLoadRequest&,
                                 inference::RepositoryModelLoadResponse*);
absl::Status RepositoryModelUnload(ServerContext&, const inference::RepositoryModelUnloadRequest&,
                                   inference::RepositoryModelUnloadResponse*);
// NOT_FOUND for a service that is neither "" nor a model.
absl::Status HealthCheck(ServerContext&, const grpc::health::v1::HealthCheckRequest&,
                         grpc::health::v1::HealthCheckResponse*);

}  // namespace inferd::server::rpc
