// The gRPC front end, driven by the generated client.
#include "server/grpc/grpc_server.h"

#include <gmock/gmock.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "absl/time/clock.h"
#include "proto/health.grpc.pb.h"
#include "proto/inference.grpc.pb.h"
#include "scheduler/admission.h"
#include "tests/scheduler/fake_executor.h"
#include "tests/server/testing/fake_models.h"

namespace inferd::server {
namespace {

using ::testing::HasSubstr;

class GrpcServerTest : public ::testing::Test {
 protected:
  void SetUp() override { Start({}); }

  void Start(GrpcServerOptions options) {
    stub_ = nullptr;
    channel_ = nullptr;
    server_ = nullptr;
    ServerContextOptions context;
    context.repository = &repository_;
    context.clock = &scheduler::MonotonicClock();
    context.name = "test-server";
    context.version = "9.9";
    context.on_request = [this](const RequestRecord& record) {
      absl::MutexLock lock(&mutex_);
      records_.push_back(absl::StrCat(ProtocolName(record.protocol), " ", record.model, " ",
                                      record.version, " ", record.request_id, " ",
                                      absl::StatusCodeToString(record.status->code())));
    };
    context_.emplace(std::move(context));
    options.address = "127.0.0.1";
    options.port = 0;
    auto server = GrpcServer::Start(options, *context_);
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
    grpc::ChannelArguments arguments;
    arguments.SetMaxReceiveMessageSize(-1);
    channel_ = grpc::CreateCustomChannel(absl::StrCat("127.0.0.1:", server_->port()),
                                         grpc::InsecureChannelCredentials(), arguments);
    stub_ = inference::GRPCInferenceService::NewStub(channel_);
  }

  static inference::ModelInferRequest VectorRequest(const std::string& id = "") {
    inference::ModelInferRequest request;
    request.set_model_name("vector");
    request.set_id(id);
    auto* input = request.add_inputs();
    input->set_name("X");
    input->set_datatype("FP32");
    input->add_shape(4);
    for (float v : {1.f, 2.f, 3.f, 4.f}) input->mutable_contents()->add_fp32_contents(v);
    return request;
  }

  grpc::Status Infer(const inference::ModelInferRequest& request,
                     inference::ModelInferResponse* response = nullptr) {
    grpc::ClientContext context;
    inference::ModelInferResponse ignored;
    return stub_->ModelInfer(&context, request, response == nullptr ? &ignored : response);
  }

  template <typename Request, typename Response>
  grpc::Status Call(grpc::Status (inference::GRPCInferenceService::Stub::*method)(
                        grpc::ClientContext*, const Request&, Response*),
                    const Request& request, Response* response) {
    grpc::ClientContext context;
    return ((*stub_).*method)(&context, request, response);
  }

  testing::FakeRepository repository_;
  testing::StandardModels models_{repository_};
  absl::Mutex mutex_;
  std::vector<std::string> records_ ABSL_GUARDED_BY(mutex_);
  std::optional<ServerContext> context_;
  std::unique_ptr<GrpcServer> server_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<inference::GRPCInferenceService::Stub> stub_;
};

using Stub = inference::GRPCInferenceService::Stub;

TEST_F(GrpcServerTest, AnswersTheControlCalls) {
  inference::ServerLiveResponse live;
  ASSERT_TRUE(Call(&Stub::ServerLive, {}, &live).ok());
  EXPECT_TRUE(live.live());
  inference::ServerReadyResponse ready;
  ASSERT_TRUE(Call(&Stub::ServerReady, {}, &ready).ok());
  EXPECT_TRUE(ready.ready());
  inference::ServerMetadataResponse server;
  ASSERT_TRUE(Call(&Stub::ServerMetadata, {}, &server).ok());
  EXPECT_EQ(server.name(), "test-server");
  EXPECT_THAT(server.extensions(), ::testing::Contains("statistics"));

  inference::ModelReadyRequest model_ready;
  model_ready.set_name("broken");
  inference::ModelReadyResponse model_ready_response;
  ASSERT_TRUE(Call(&Stub::ModelReady, model_ready, &model_ready_response).ok());
  EXPECT_FALSE(model_ready_response.ready());
  model_ready.set_name("nobody");
  EXPECT_EQ(Call(&Stub::ModelReady, model_ready, &model_ready_response).error_code(),
            grpc::StatusCode::NOT_FOUND);

  inference::ModelMetadataRequest metadata;
  metadata.set_name("simple");
  inference::ModelMetadataResponse metadata_response;
  ASSERT_TRUE(Call(&Stub::ModelMetadata, metadata, &metadata_response).ok());
  EXPECT_EQ(metadata_response.versions(0), "1");
  EXPECT_EQ(metadata_response.inputs(0).datatype(), "INT32");
  EXPECT_THAT(metadata_response.inputs(0).shape(), ::testing::ElementsAre(-1, 16));

  inference::ModelConfigRequest config;
  config.set_name("simple");
  inference::ModelConfigResponse config_response;
  ASSERT_TRUE(Call(&Stub::ModelConfig, config, &config_response).ok());
  EXPECT_EQ(config_response.config().max_batch_size(), 8);
  EXPECT_EQ(config_response.config().input(0).data_type(), inference::TYPE_INT32);
  EXPECT_THAT(config_response.config().input(0).dims(), ::testing::ElementsAre(16));

  inference::ModelStatisticsResponse statistics;
  ASSERT_TRUE(Call(&Stub::ModelStatistics, {}, &statistics).ok());
  ASSERT_EQ(statistics.model_stats_size(), 5);
  EXPECT_EQ(statistics.model_stats(0).inference_count(), 7u);
  EXPECT_EQ(statistics.model_stats(0).inference_stats().success().ns(), 6'000'000u);
  EXPECT_EQ(statistics.model_stats(0).batch_stats(0).batch_size(), 2u);

  inference::RepositoryIndexResponse index;
  ASSERT_TRUE(Call(&Stub::RepositoryIndex, {}, &index).ok());
  EXPECT_EQ(index.models_size(), 6);

  inference::RepositoryModelLoadRequest load;
  load.set_model_name("simple");
  inference::RepositoryModelLoadResponse loaded;
  EXPECT_TRUE(Call(&Stub::RepositoryModelLoad, load, &loaded).ok());
  (*load.mutable_parameters())["config"].set_string_param("{}");
  EXPECT_EQ(Call(&Stub::RepositoryModelLoad, load, &loaded).error_code(),
            grpc::StatusCode::UNIMPLEMENTED);
  inference::RepositoryModelUnloadRequest unload;
  unload.set_model_name("simple");
  inference::RepositoryModelUnloadResponse unloaded;
  EXPECT_TRUE(Call(&Stub::RepositoryModelUnload, unload, &unloaded).ok());
  EXPECT_THAT(repository_.loaded(), ::testing::ElementsAre("simple"));
  EXPECT_THAT(repository_.unloaded(), ::testing::ElementsAre("simple"));

  inference::SystemSharedMemoryStatusResponse shared_memory;
  const grpc::Status refused = Call(&Stub::SystemSharedMemoryStatus, {}, &shared_memory);
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::UNIMPLEMENTED);
  EXPECT_THAT(refused.error_message(), HasSubstr("shared memory is not supported"));
}

TEST_F(GrpcServerTest, InfersWithRawAndTypedContents) {
  inference::ModelInferRequest request;
  request.set_model_name("simple");
  request.set_id("q1");
  for (const char* name : {"INPUT0", "INPUT1"}) {
    auto* input = request.add_inputs();
    input->set_name(name);
    input->set_datatype("INT32");
    input->add_shape(2);
    input->add_shape(16);
    const std::vector<int32_t> values(32, name[5] == '0' ? 40 : 2);
    request.add_raw_input_contents(values.data(), 128);
  }
  inference::ModelInferResponse response;
  grpc::Status status = Infer(request, &response);
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(response.model_name(), "simple");
  EXPECT_EQ(response.model_version(), "1");
  EXPECT_EQ(response.id(), "q1");
  ASSERT_EQ(response.outputs_size(), 2);
  EXPECT_EQ(response.outputs(1).name(), "OUTPUT1");
  EXPECT_EQ(response.raw_output_contents(0),
            std::string(reinterpret_cast<const char*>(std::vector<int32_t>(32, 42).data()), 128));
  EXPECT_EQ(response.raw_output_contents(1),
            std::string(reinterpret_cast<const char*>(std::vector<int32_t>(32, 38).data()), 128));

  status = Infer(VectorRequest(), &response);
  ASSERT_TRUE(status.ok()) << status.error_message();
  const float expected[] = {1, 2, 3, 4};
  EXPECT_EQ(response.raw_output_contents(0),
            std::string(reinterpret_cast<const char*>(expected), 16));
  absl::MutexLock lock(&mutex_);
  EXPECT_THAT(records_, ::testing::ElementsAre("grpc simple 1 q1 OK", "grpc vector 1  OK"));
}

// FP32 [1,2000000], more than a transport reads at once.
inference::ModelInferRequest LargeRequest(const std::string& model) {
  inference::ModelInferRequest request;
  request.set_model_name(model);
  auto* input = request.add_inputs();
  input->set_name("X");
  input->set_datatype("FP32");
  input->add_shape(1);
  input->add_shape(2'000'000);
  std::string data(8'000'000, '\0');
  for (size_t i = 0; i < data.size(); ++i) data[i] = static_cast<char>(i * 31 >> 3);
  request.add_raw_input_contents(data);
  return request;
}

TEST_F(GrpcServerTest, LargeTensorsComeBackWhole) {
  const auto request = LargeRequest("identity");
  inference::ModelInferResponse response;
  const grpc::Status status = Infer(request, &response);
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_TRUE(response.raw_output_contents(0) == request.raw_input_contents(0));
}

TEST_F(GrpcServerTest, TheFrontEndHandsLargeTensorsOnInTheSlicesTheyCameIn) {
  std::atomic<size_t> pieces{0};
  std::atomic<bool> joined{false};
  const std::vector<scheduler::TensorSpec> specs = {{"X", engine::ElementType::kFloat32, {-1, -1}}};
  repository_.Add("slices", "1", specs, specs, 4, [&](const scheduler::Request& request) {
    pieces = request.pieces_of(0).size();
    joined = request.inputs[0].data != nullptr;
    return testing::Identity()(request);
  });
  const auto request = LargeRequest("slices");
  inference::ModelInferResponse response;
  ASSERT_TRUE(Infer(request, &response).ok());
  EXPECT_GT(pieces, 1u);
  EXPECT_FALSE(joined);
  EXPECT_TRUE(response.raw_output_contents(0) == request.raw_input_contents(0));
}

TEST_F(GrpcServerTest, TheSchedulerGathersLargeTensorsForTheExecutor) {
  std::atomic<bool> aligned{false};
  scheduler::ServableOptions options;
  options.model = "scheduled";
  options.version = "1";
  options.inputs = {{"X", engine::ElementType::kFloat32, {-1, -1}}};
  options.outputs = options.inputs;
  options.batching.max_batch_size = 4;
  options.instances.emplace_back(
      scheduler::InstanceOptions{},
      std::make_unique<scheduler::FunctionExecutor>([&](auto inputs, auto* outputs) {
        aligned = reinterpret_cast<uintptr_t>(inputs[0].data) % engine::kBufferAlignment == 0;
        return scheduler::CopyInputs(inputs, outputs);
      }));
  auto servable =
      scheduler::Servable::Create(std::move(options), scheduler::MonotonicClock(), nullptr);
  ASSERT_TRUE(servable.ok()) << servable.status();
  repository_.Add(*std::move(servable));
  const auto request = LargeRequest("scheduled");
  inference::ModelInferResponse response;
  const grpc::Status status = Infer(request, &response);
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_TRUE(aligned);
  EXPECT_TRUE(response.raw_output_contents(0) == request.raw_input_contents(0));
}

TEST_F(GrpcServerTest, ARefusalSaysWhenToTryAgain) {
  const std::vector<scheduler::TensorSpec> specs = {{"X", engine::ElementType::kFloat32, {4}}};
  repository_.Add("busy", "1", specs, specs, 1, [](const scheduler::Request&) {
    return scheduler::Refusal("the queue is full", absl::Milliseconds(1200));
  });
  inference::ModelInferRequest request = VectorRequest("r1");
  request.set_model_name("busy");
  grpc::ClientContext context;
  inference::ModelInferResponse response;
  const grpc::Status status = stub_->ModelInfer(&context, request, &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(status.error_message(), "[request id: r1] the queue is full, retry after 1200 ms");
  const auto& trailing = context.GetServerTrailingMetadata();
  const auto pushback = trailing.find("grpc-retry-pushback-ms");
  ASSERT_NE(pushback, trailing.end());
  EXPECT_EQ(pushback->second, "1200");
}

TEST_F(GrpcServerTest, ErrorsCarryTheRightCodeAndTheRequestId) {
  auto request = VectorRequest("r7");
  request.set_model_name("nobody");
  grpc::Status status = Infer(request);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(status.error_message(),
            "[request id: r7] Request for unknown model: 'nobody' is not found");
  request.set_model_name("broken");
  EXPECT_EQ(Infer(request).error_code(), grpc::StatusCode::UNAVAILABLE);
  request = VectorRequest();
  request.mutable_inputs(0)->set_shape(0, 5);
  EXPECT_EQ(Infer(request).error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  request = VectorRequest();
  *request.add_inputs() = request.inputs(0);
  EXPECT_THAT(Infer(request).error_message(), HasSubstr("is given twice"));
  EXPECT_EQ(Infer({}).error_code(), grpc::StatusCode::NOT_FOUND);
}

TEST_F(GrpcServerTest, GarbageIsRefusedAndTheServerGoesOn) {
  for (const char* method : {"ModelInfer", "ModelMetadata", "RepositoryModelLoad"}) {
    grpc::GenericStub generic(channel_);
    const grpc::Slice slice(std::string("\x0a\xff\xff\xff\xff garbage \xff\x07\x3a", 18));
    const grpc::ByteBuffer bytes(&slice, 1);
    grpc::ClientContext context;
    grpc::CompletionQueue queue;
    auto call = generic.PrepareUnaryCall(
        &context, absl::StrCat("/inference.GRPCInferenceService/", method), bytes, &queue);
    call->StartCall();
    grpc::ByteBuffer answer;
    grpc::Status status;
    call->Finish(&answer, &status, nullptr);
    void* tag;
    bool ok;
    ASSERT_TRUE(queue.Next(&tag, &ok));
    EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT) << method;
  }
  EXPECT_TRUE(Infer(VectorRequest()).ok());
}

TEST_F(GrpcServerTest, MessageLimitNamesTheOption) {
  GrpcServerOptions options;
  options.max_message_bytes = 1000;
  Start(options);
  auto request = VectorRequest(std::string(1500, 'x'));
  const grpc::Status status = Infer(request);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_THAT(status.error_message(), HasSubstr("max_message_bytes"));
  EXPECT_TRUE(Infer(VectorRequest()).ok());
}

TEST_F(GrpcServerTest, CancellationAndDeadlineReachTheScheduler) {
  models_.vector->Hold();
  grpc::ClientContext context;
  std::thread canceller([&] {
    models_.vector->AwaitHeld(1);
    context.TryCancel();
  });
  inference::ModelInferResponse response;
  EXPECT_EQ(stub_->ModelInfer(&context, VectorRequest(), &response).error_code(),
            grpc::StatusCode::CANCELLED);
  canceller.join();
  models_.vector->AwaitCancelled(1);

  grpc::ClientContext hurried;
  hurried.set_deadline(std::chrono::system_clock::now() + std::chrono::milliseconds(300));
  EXPECT_EQ(stub_->ModelInfer(&hurried, VectorRequest(), &response).error_code(),
            grpc::StatusCode::DEADLINE_EXCEEDED);
  models_.vector->AwaitCancelled(2);
  const auto deadlines = models_.vector->deadlines();
  EXPECT_EQ(deadlines[0], absl::InfiniteFuture());
  EXPECT_LT(deadlines[1], scheduler::MonotonicClock().Now() + absl::Milliseconds(300));
}

TEST_F(GrpcServerTest, StreamsAnswerEveryRequestAndSurviveErrors) {
  grpc::ClientContext context;
  auto stream = stub_->ModelStreamInfer(&context);
  for (int i = 0; i < 200; ++i) {
    auto request = VectorRequest(std::to_string(i));
    if (i == 100) request.set_model_name("nobody");
    ASSERT_TRUE(stream->Write(request));
  }
  stream->WritesDone();
  std::vector<bool> seen(200);
  inference::ModelStreamInferResponse response;
  while (stream->Read(&response)) {
    const int id = std::stoi(response.infer_response().id());
    seen[id] = true;
    if (id == 100) {
      EXPECT_THAT(response.error_message(), HasSubstr("'nobody' is not found"));
    } else {
      EXPECT_EQ(response.error_message(), "");
      EXPECT_EQ(response.infer_response().raw_output_contents_size(), 1);
      EXPECT_TRUE(response.infer_response().parameters().at("triton_final_response").bool_param());
    }
  }
  EXPECT_TRUE(stream->Finish().ok());
  EXPECT_THAT(seen, ::testing::Each(true));
}

TEST_F(GrpcServerTest, AStreamEndsWithAStatusWhereTheClientAsksForIt) {
  grpc::ClientContext context;
  context.AddMetadata("triton_grpc_error", "true");
  auto stream = stub_->ModelStreamInfer(&context);
  auto request = VectorRequest();
  request.set_model_name("nobody");
  stream->Write(request);
  inference::ModelStreamInferResponse response;
  EXPECT_FALSE(stream->Read(&response));
  EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::NOT_FOUND);
}

TEST_F(GrpcServerTest, ACancelledStreamCancelsItsRequests) {
  models_.vector->Hold();
  {
    grpc::ClientContext context;
    auto stream = stub_->ModelStreamInfer(&context);
    ASSERT_TRUE(stream->Write(VectorRequest("a")));
    ASSERT_TRUE(stream->Write(VectorRequest("b")));
    models_.vector->AwaitHeld(2);
    context.TryCancel();
    inference::ModelStreamInferResponse response;
    EXPECT_FALSE(stream->Read(&response));
    EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::CANCELLED);
  }
  models_.vector->AwaitCancelled(2);
}

TEST_F(GrpcServerTest, HealthFollowsReadiness) {
  auto health = grpc::health::v1::Health::NewStub(channel_);
  auto check = [&](const std::string& service, grpc::health::v1::HealthCheckResponse* response) {
    grpc::ClientContext context;
    grpc::health::v1::HealthCheckRequest request;
    request.set_service(service);
    return health->Check(&context, request, response);
  };
  grpc::health::v1::HealthCheckResponse response;
  ASSERT_TRUE(check("", &response).ok());
  EXPECT_EQ(response.status(), grpc::health::v1::HealthCheckResponse::SERVING);
  ASSERT_TRUE(check("simple", &response).ok());
  EXPECT_EQ(response.status(), grpc::health::v1::HealthCheckResponse::SERVING);
  ASSERT_TRUE(check("broken", &response).ok());
  EXPECT_EQ(response.status(), grpc::health::v1::HealthCheckResponse::NOT_SERVING);
  EXPECT_EQ(check("nobody", &response).error_code(), grpc::StatusCode::NOT_FOUND);

  grpc::ClientContext context;
  auto watch = health->Watch(&context, {});
  ASSERT_TRUE(watch->Read(&response));
  EXPECT_EQ(response.status(), grpc::health::v1::HealthCheckResponse::SERVING);
  repository_.SetReady(false);
  ASSERT_TRUE(watch->Read(&response));
  EXPECT_EQ(response.status(), grpc::health::v1::HealthCheckResponse::NOT_SERVING);
  repository_.SetReady(true);
  ASSERT_TRUE(watch->Read(&response));
  EXPECT_EQ(response.status(), grpc::health::v1::HealthCheckResponse::SERVING);
  // A watcher does not hold up a shutdown: it hears of it, and its stream ends.
  context_->BeginDrain();
  server_->Shutdown(absl::InfiniteFuture());
  EXPECT_TRUE(watch->Read(&response));
  EXPECT_EQ(response.status(), grpc::health::v1::HealthCheckResponse::NOT_SERVING);
  EXPECT_FALSE(watch->Read(&response));
  EXPECT_EQ(watch->Finish().error_code(), grpc::StatusCode::UNAVAILABLE);
}

TEST_F(GrpcServerTest, ShutdownFinishesWhatIsInFlight) {
  models_.vector->Hold();
  std::thread client([&] { EXPECT_TRUE(Infer(VectorRequest()).ok()); });
  models_.vector->AwaitHeld(1);
  std::thread shutdown([&] { server_->Shutdown(absl::InfiniteFuture()); });
  models_.vector->ReleaseAll();
  client.join();
  shutdown.join();
  EXPECT_EQ(context_->in_flight(), 0);
}

TEST_F(GrpcServerTest, ShutdownPastItsDeadlineCancelsWhatIsLeft) {
  models_.vector->Hold();
  std::thread client([&] { EXPECT_FALSE(Infer(VectorRequest()).ok()); });
  models_.vector->AwaitHeld(1);
  server_->Shutdown(absl::Now());
  client.join();
  models_.vector->AwaitCancelled(1);
}

TEST_F(GrpcServerTest, ManyClientsAtOnce) {
  std::vector<std::thread> clients;
  for (int c = 0; c < 4; ++c) {
    clients.emplace_back([&, c] {
      for (int i = 0; i < 200; ++i) {
        inference::ModelInferResponse response;
        const std::string id = absl::StrCat(c, "-", i);
        ASSERT_TRUE(Infer(VectorRequest(id), &response).ok());
        ASSERT_EQ(response.id(), id);
      }
    });
  }
  for (std::thread& client : clients) client.join();
}

TEST_F(GrpcServerTest, AnOccupiedPortIsAnErrorThatNamesIt) {
  GrpcServerOptions options;
  options.address = "127.0.0.1";
  options.port = server_->port();
  const auto second = GrpcServer::Start(options, *context_);
  EXPECT_EQ(second.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(second.status().message()),
              HasSubstr(absl::StrCat("127.0.0.1:", server_->port())));
}

}  // namespace
}  // namespace inferd::server
