#include "server/http/rest_call.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "engine/status_macros.h"
#include "server/core/model_views.h"
#include "server/core/repository_control.h"
#include "server/http/compression.h"
#include "server/http/rest_views.h"

namespace inferd::server {
namespace {

// Smaller answers are not worth compressing.
constexpr int64_t kMinCompressedBytes = 1024;

HttpResponse EmptyResponse(int status) {
  HttpResponse response;
  response.status = status;
  return response;
}

HttpResponse MethodNotAllowed(const RouteMatch& route) {
  HttpResponse response = ErrorResponse(405, "Method Not Allowed");
  response.headers.emplace_back("Allow", route.get_and_post ? "GET, HEAD, POST"
                                         : route.post       ? "POST"
                                                            : "GET, HEAD");
  return response;
}

bool MethodFits(HttpMethod method, const RouteMatch& route) {
  switch (method) {
    case HttpMethod::kGet:
    case HttpMethod::kHead:
      return !route.post;
    case HttpMethod::kPost:
      return route.post || route.get_and_post;
    case HttpMethod::kOther:
      break;
  }
  return false;
}

}  // namespace

RestCall::RestCall(const Environment& environment, HttpRequest request,
                   absl::AnyInvocable<void(Task)> post,
                   absl::AnyInvocable<void(HttpResponse)> respond)
    : environment_(environment),
      request_(std::move(request)),
      post_(std::move(post)),
      respond_(std::move(respond)) {}

void RestCall::Run(JsonParser& parser) {
  received_bytes_ = static_cast<int64_t>(request_.body.size());
  route_ = MatchRoute(request_.target);
  if (route_.route == Route::kUnknown) return Respond(ErrorResponse(404, "Not Found"));
  if (!MethodFits(request_.method, route_)) return Respond(MethodNotAllowed(route_));
  switch (route_.route) {
    case Route::kUnsupported:
      return Respond(ErrorResponse(absl::UnimplementedError(
          absl::StrCat("'", request_.target, "' is not supported by this server"))));
    case Route::kModelInfer:
      return RunInfer(parser);
    case Route::kRepositoryLoad:
    case Route::kRepositoryUnload:
      return RunRepositoryChange(parser);
    default:
      return RunControl(parser);
  }
}

void RestCall::Cancel() {
  if (infer_) infer_->Cancel();
}

void RestCall::Respond(HttpResponse response) {
  const ContentCoding coding = ChooseContentCoding(request_.accept_encoding);
  if (coding != ContentCoding::kIdentity && response.body_bytes() >= kMinCompressedBytes) {
    if (absl::Status status = Compress(coding, &response); !status.ok()) {
      response = ErrorResponse(status);
    }
  }
  std::exchange(respond_, nullptr)(std::move(response));
}

absl::Status RestCall::DecompressBody() {
  ASSIGN_OR_RETURN(const ContentCoding coding, ParseContentEncoding(request_.content_encoding));
  if (coding == ContentCoding::kIdentity) return absl::OkStatus();
  size_t aligned_offset = 0;
  if (request_.inference_header_length) {
    ASSIGN_OR_RETURN(aligned_offset, JsonPartLength(*request_.inference_header_length, {}));
  }
  ASSIGN_OR_RETURN(request_.body, Decompress(coding, request_.body,
                                             environment_.options.max_body_bytes, aligned_offset));
  return absl::OkStatus();
}

void RestCall::RunInfer(JsonParser& parser) {
  infer_.emplace(environment_.context, Protocol::kHttp, request_.peer);
  infer_->SetFallbackId(request_.request_id);
  auto message = std::make_unique<InferRequest>();
  message->model_name = route_.model;
  message->model_version = route_.version;
  auto decode = [&]() -> absl::Status {
    RETURN_IF_ERROR(infer_->Admit());
    RETURN_IF_ERROR(DecompressBody());
    return DecodeInferBody(request_, environment_.context, parser, message.get(), &forms_);
  };
  const absl::Status status = decode();
  request_.body = BodyBuffer();  // The message holds on to what it needs.
  if (!status.ok()) {
    infer_->Describe(route_.model, route_.version, message->id);
    return FinishInfer(WithRequestId(status, message->id), {});
  }
  infer_->Start(std::move(message), absl::InfiniteFuture(),
                [self = shared_from_this()](absl::StatusOr<InferResponse> response,
                                            const scheduler::RequestTiming& timing) {
                  RestCall* call = self.get();
                  // Formatting the answer is the transport thread's work, not the instance's.
                  call->post_([self, response = std::move(response), timing]() mutable {
                    self->FinishInfer(std::move(response), timing);
                  });
                });
}

void RestCall::FinishInfer(absl::StatusOr<InferResponse> response,
                           const scheduler::RequestTiming& timing) {
  absl::StatusOr<HttpResponse> http =
      response.ok() ? EncodeInferBody(*response, forms_) : response.status();
  const absl::Status status = http.status();
  HttpResponse answer = http.ok() ? *std::move(http) : ErrorResponse(status);
  infer_->Finish(status, timing, received_bytes_, answer.body_bytes());
  Respond(std::move(answer));
}

void RestCall::RunControl(JsonParser& parser) {
  absl::StatusOr<HttpResponse> response = Control(parser);
  Respond(response.ok() ? *std::move(response) : ErrorResponse(response.status()));
}

absl::StatusOr<HttpResponse> RestCall::Control(JsonParser& parser) {
  ServerContext& context = environment_.context;
  switch (route_.route) {
    case Route::kServerMetadata:
      return JsonResponse(ServerMetadataJson(context));
    case Route::kServerLive:
      return EmptyResponse(context.live() ? 200 : 400);
    case Route::kServerReady:
      if (context.draining()) return absl::UnavailableError("the server is stopping");
      return EmptyResponse(context.ready() ? 200 : 400);
    case Route::kModelReady: {
      ASSIGN_OR_RETURN(const bool ready, IsModelReady(context, route_.model, route_.version));
      return ready ? EmptyResponse(200) : ErrorResponse(400, "Model version not ready");
    }
    case Route::kModelMetadata: {
      ASSIGN_OR_RETURN(const auto metadata,
                       GetModelMetadata(context, route_.model, route_.version));
      return JsonResponse(ToJson(metadata));
    }
    case Route::kModelConfig: {
      if (absl::StrContains(request_.accept, "yaml")) {
        // As it would stand in config.yaml.
        ASSIGN_OR_RETURN(const auto model, context.repository().Find(route_.model, route_.version));
        HttpResponse response = JsonResponse(repository::FormatModelConfig(model->config));
        response.content_type = "application/yaml";
        return response;
      }
      ASSIGN_OR_RETURN(const auto config, GetModelConfig(context, route_.model, route_.version));
      return JsonResponse(ToJson(config));
    }
    case Route::kModelStatistics: {
      ASSIGN_OR_RETURN(const auto statistics,
                       GetModelStatistics(context, route_.model, route_.version));
      return JsonResponse(ToJson(statistics));
    }
    case Route::kRepositoryIndex: {
      RETURN_IF_ERROR(DecompressBody());
      ASSIGN_OR_RETURN(const bool ready, parser.ParseReadyFlag(request_.body.text()));
      ASSIGN_OR_RETURN(const auto index, GetRepositoryIndex(context, "", ready));
      return JsonResponse(ToJson(index));
    }
    default:
      return absl::InternalError("a route without a handler");
  }
}

void RestCall::RunRepositoryChange(JsonParser& parser) {
  auto read = [&]() -> absl::StatusOr<Parameters> {
    RETURN_IF_ERROR(DecompressBody());
    return parser.ParseRepositoryParameters(request_.body.text());
  };
  absl::StatusOr<Parameters> parameters = read();
  if (!parameters.ok()) return Respond(ErrorResponse(parameters.status()));
  environment_.control_worker.Post([self = shared_from_this(), parameters = *std::move(parameters)](
                                       const absl::Status& may_run) {
    absl::Status status = may_run;
    if (status.ok()) {
      const auto change = self->route_.route == Route::kRepositoryLoad ? &LoadModel : &UnloadModel;
      status = change(self->environment_.context, "", self->route_.model, parameters);
    }
    RestCall* call = self.get();
    call->post_([self, status] {
      self->Respond(status.ok() ? EmptyResponse(200) : ErrorResponse(status));
    });
  });
}

}  // namespace inferd::server
