#include "clients/cpp/client.h"

#include <grpcpp/grpcpp.h>

#include <atomic>
#include <chrono>

#include "absl/strings/str_cat.h"
#include "engine/status_macros.h"
#include "proto/inference.grpc.pb.h"

namespace inferd::client {

class Client::Prepared {
 public:
  inference::ModelInferRequest proto;
  absl::Duration timeout = absl::InfiniteDuration();
};

namespace {

absl::Status FromGrpc(const grpc::Status& status) {
  return absl::Status(static_cast<absl::StatusCode>(status.error_code()), status.error_message());
}

absl::Duration Nanoseconds(const inference::StatisticDuration& d) {
  return absl::Nanoseconds(d.ns());
}

InferResult ToResult(inference::ModelInferResponse&& response) {
  InferResult result;
  result.model = std::move(*response.mutable_model_name());
  result.version = std::move(*response.mutable_model_version());
  result.id = std::move(*response.mutable_id());
  for (int i = 0; i < response.outputs_size(); ++i) {
    inference::ModelInferResponse::InferOutputTensor* output = response.mutable_outputs(i);
    InferTensor tensor;
    tensor.name = std::move(*output->mutable_name());
    tensor.datatype = std::move(*output->mutable_datatype());
    tensor.shape.assign(output->shape().begin(), output->shape().end());
    if (i < response.raw_output_contents_size()) {
      tensor.data = std::move(*response.mutable_raw_output_contents(i));
    }
    result.outputs.push_back(std::move(tensor));
  }
  return result;
}

void SetDeadline(grpc::ClientContext& context, absl::Duration timeout) {
  if (timeout == absl::InfiniteDuration()) return;
  context.set_deadline(std::chrono::system_clock::now() + absl::ToChronoMicroseconds(timeout));
}

class GrpcClient final : public Client {
 public:
  explicit GrpcClient(const ClientOptions& options) {
    for (int i = 0; i < options.connections; ++i) {
      grpc::ChannelArguments args;
      // Tensors are as large as they are; the server has its own limit.
      args.SetMaxReceiveMessageSize(-1);
      args.SetMaxSendMessageSize(-1);
      // Without this, channels to one target share one connection.
      args.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
      stubs_.push_back(inference::GRPCInferenceService::NewStub(
          grpc::CreateCustomChannel(options.target, grpc::InsecureChannelCredentials(), args)));
    }
  }

  absl::StatusOr<bool> ServerLive() override {
    inference::ServerLiveResponse response;
    RETURN_IF_ERROR(Call(&Stub::ServerLive, inference::ServerLiveRequest(), &response));
    return response.live();
  }
  absl::StatusOr<bool> ServerReady() override {
    inference::ServerReadyResponse response;
    RETURN_IF_ERROR(Call(&Stub::ServerReady, inference::ServerReadyRequest(), &response));
    return response.ready();
  }
  absl::StatusOr<bool> ModelReady(const std::string& model, const std::string& version) override {
    inference::ModelReadyResponse response;
    RETURN_IF_ERROR(
        Call(&Stub::ModelReady, Named<inference::ModelReadyRequest>(model, version), &response));
    return response.ready();
  }

  absl::StatusOr<ServerMetadata> GetServerMetadata() override {
    inference::ServerMetadataResponse response;
    RETURN_IF_ERROR(Call(&Stub::ServerMetadata, inference::ServerMetadataRequest(), &response));
    return ServerMetadata{response.name(),
                          response.version(),
                          {response.extensions().begin(), response.extensions().end()}};
  }

  absl::StatusOr<ModelMetadata> GetModelMetadata(const std::string& model,
                                                 const std::string& version) override {
    inference::ModelMetadataResponse response;
    RETURN_IF_ERROR(Call(&Stub::ModelMetadata,
                         Named<inference::ModelMetadataRequest>(model, version), &response));
    ModelMetadata metadata{response.name(),
                           {response.versions().begin(), response.versions().end()},
                           response.platform(),
                           {},
                           {}};
    auto copy = [](const auto& from, std::vector<TensorMetadata>& to) {
      for (const auto& t : from) {
        to.push_back({t.name(), t.datatype(), {t.shape().begin(), t.shape().end()}});
      }
    };
    copy(response.inputs(), metadata.inputs);
    copy(response.outputs(), metadata.outputs);
    return metadata;
  }

  absl::StatusOr<std::vector<ModelStatistics>> GetStatistics(const std::string& model,
                                                             const std::string& version) override {
    inference::ModelStatisticsResponse response;
    RETURN_IF_ERROR(Call(&Stub::ModelStatistics,
                         Named<inference::ModelStatisticsRequest>(model, version), &response));
    std::vector<ModelStatistics> all;
    for (const inference::ModelStatistics& m : response.model_stats()) {
      ModelStatistics s;
      s.name = m.name();
      s.version = m.version();
      s.inference_count = m.inference_count();
      s.execution_count = m.execution_count();
      s.success_count = m.inference_stats().success().count();
      s.fail_count = m.inference_stats().fail().count();
      s.success = Nanoseconds(m.inference_stats().success());
      s.queue = Nanoseconds(m.inference_stats().queue());
      s.compute_input = Nanoseconds(m.inference_stats().compute_input());
      s.compute_infer = Nanoseconds(m.inference_stats().compute_infer());
      s.compute_output = Nanoseconds(m.inference_stats().compute_output());
      for (const auto& b : m.batch_stats()) {
        s.batches.emplace_back(b.batch_size(), b.compute_infer().count());
      }
      all.push_back(std::move(s));
    }
    return all;
  }

  absl::StatusOr<std::vector<ModelIndexEntry>> GetRepositoryIndex() override {
    inference::RepositoryIndexResponse response;
    RETURN_IF_ERROR(Call(&Stub::RepositoryIndex, inference::RepositoryIndexRequest(), &response));
    std::vector<ModelIndexEntry> index;
    for (const auto& m : response.models()) {
      index.push_back({m.name(), m.version(), m.state(), m.reason()});
    }
    return index;
  }

  absl::Status LoadModel(const std::string& model) override {
    inference::RepositoryModelLoadRequest request;
    request.set_model_name(model);
    inference::RepositoryModelLoadResponse response;
    return Call(&Stub::RepositoryModelLoad, request, &response);
  }
  absl::Status UnloadModel(const std::string& model) override {
    inference::RepositoryModelUnloadRequest request;
    request.set_model_name(model);
    inference::RepositoryModelUnloadResponse response;
    return Call(&Stub::RepositoryModelUnload, request, &response);
  }

  absl::StatusOr<InferResult> Infer(const InferRequest& request) override {
    const std::shared_ptr<const Prepared> prepared = Prepare(request);
    grpc::ClientContext context;
    SetDeadline(context, prepared->timeout);
    inference::ModelInferResponse response;
    RETURN_IF_ERROR(FromGrpc(NextStub().ModelInfer(&context, prepared->proto, &response)));
    return ToResult(std::move(response));
  }

  std::shared_ptr<const Prepared> Prepare(const InferRequest& request) override {
    auto prepared = std::make_shared<Prepared>();
    inference::ModelInferRequest& proto = prepared->proto;
    proto.set_model_name(request.model);
    proto.set_model_version(request.version);
    proto.set_id(request.id);
    if (request.priority != 0) {
      (*proto.mutable_parameters())["priority"].set_int64_param(request.priority);
    }
    for (const InferTensor& input : request.inputs) {
      inference::ModelInferRequest::InferInputTensor* tensor = proto.add_inputs();
      tensor->set_name(input.name);
      tensor->set_datatype(input.datatype);
      for (int64_t d : input.shape) tensor->add_shape(d);
      proto.add_raw_input_contents(input.data);
    }
    for (const std::string& output : request.outputs) proto.add_outputs()->set_name(output);
    prepared->timeout = request.timeout;
    return prepared;
  }

  void InferAsync(std::shared_ptr<const Prepared> request, bool want_result,
                  absl::AnyInvocable<void(absl::StatusOr<InferResult>)> done) override {
    struct Call {
      grpc::ClientContext context;
      std::shared_ptr<const Prepared> request;
      inference::ModelInferResponse response;
      absl::AnyInvocable<void(absl::StatusOr<InferResult>)> done;
    };
    // Owned by its own completion.
    auto* call = new Call{{}, std::move(request), {}, std::move(done)};
    SetDeadline(call->context, call->request->timeout);
    NextStub().async()->ModelInfer(&call->context, &call->request->proto, &call->response,
                                   [call, want_result](const grpc::Status& status) {
                                     std::unique_ptr<Call> owned(call);
                                     if (!status.ok()) {
                                       owned->done(FromGrpc(status));
                                     } else if (want_result) {
                                       owned->done(ToResult(std::move(owned->response)));
                                     } else {
                                       owned->done(InferResult{});
                                     }
                                   });
  }

 private:
  using Stub = inference::GRPCInferenceService::Stub;

  template <typename Request>
  static Request Named(const std::string& name, const std::string& version) {
    Request request;
    request.set_name(name);
    request.set_version(version);
    return request;
  }

  template <typename Method, typename Request, typename Response>
  absl::Status Call(Method method, const Request& request, Response* response) {
    grpc::ClientContext context;
    return FromGrpc((NextStub().*method)(&context, request, response));
  }

  Stub& NextStub() {
    return *stubs_[next_.fetch_add(1, std::memory_order_relaxed) % stubs_.size()];
  }

  std::vector<std::unique_ptr<Stub>> stubs_;
  std::atomic<size_t> next_{0};
};

}  // namespace

InferTensor InferTensor::FromStrings(std::string name, std::vector<int64_t> shape,
                                     absl::Span<const std::string> values) {
  InferTensor tensor{std::move(name), "BYTES", std::move(shape), {}};
  for (const std::string& value : values) {
    const auto length = static_cast<uint32_t>(value.size());
    tensor.data.append(reinterpret_cast<const char*>(&length), sizeof(length));
    tensor.data.append(value);
  }
  return tensor;
}

absl::StatusOr<std::vector<std::string>> InferTensor::strings() const {
  std::vector<std::string> values;
  size_t position = 0;
  while (position < data.size()) {
    uint32_t length = 0;
    if (data.size() - position < sizeof(length)) {
      return absl::InvalidArgumentError(absl::StrCat("BYTES tensor '", name, "' is cut off"));
    }
    std::memcpy(&length, data.data() + position, sizeof(length));
    position += sizeof(length);
    if (data.size() - position < length) {
      return absl::InvalidArgumentError(absl::StrCat("BYTES tensor '", name, "': element ",
                                                     values.size(), " claims ", length, " bytes, ",
                                                     data.size() - position, " are left"));
    }
    values.push_back(data.substr(position, length));
    position += length;
  }
  return values;
}

const InferTensor* InferResult::Find(absl::string_view wanted) const {
  for (const InferTensor& output : outputs) {
    if (output.name == wanted) return &output;
  }
  return nullptr;
}

absl::StatusOr<std::unique_ptr<Client>> Client::Connect(const ClientOptions& options) {
  if (options.connections < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("a client needs at least one connection, found ", options.connections));
  }
  return std::make_unique<GrpcClient>(options);
}

}  // namespace inferd::client
