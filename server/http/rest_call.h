// One request of the REST API, from parsed header and body to the answer.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "server/core/control_worker.h"
#include "server/core/infer_call.h"
#include "server/core/server_context.h"
#include "server/http/http_message.h"
#include "server/http/http_server.h"
#include "server/http/infer_body.h"
#include "server/http/json/json_parser.h"
#include "server/http/router.h"

namespace inferd::server {

// Used by one transport thread, to which `post` brings work from other threads.
class RestCall : public std::enable_shared_from_this<RestCall> {
 public:
  using Task = absl::AnyInvocable<void()>;

  struct Environment {
    ServerContext& context;
    const HttpServerOptions& options;
    ControlWorker& control_worker;
  };

  // `respond` is called exactly once, on the transport thread, possibly before Run returns. Both
  // functions may be called until then.
  RestCall(const Environment& environment, HttpRequest request, absl::AnyInvocable<void(Task)> post,
           absl::AnyInvocable<void(HttpResponse)> respond);

  void Run(JsonParser& parser);
  // The client is gone: queued work is dropped. `respond` is still called.
  void Cancel();

 private:
  absl::Status DecompressBody();
  void RunInfer(JsonParser& parser);
  void FinishInfer(absl::StatusOr<InferResponse> response, const scheduler::RequestTiming& timing);
  void RunControl(JsonParser& parser);
  absl::StatusOr<HttpResponse> Control(JsonParser& parser);
  void RunRepositoryChange(JsonParser& parser);
  void Respond(HttpResponse response);

  const Environment environment_;
  HttpRequest request_;
  absl::AnyInvocable<void(Task)> post_;
  absl::AnyInvocable<void(HttpResponse)> respond_;
  RouteMatch route_;
  int64_t received_bytes_ = 0;
  OutputForms forms_;
  std::optional<InferCall> infer_;
};

}  // namespace inferd::server
