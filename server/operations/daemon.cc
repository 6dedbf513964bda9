#include "server/operations/daemon.h"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "engine/status_macros.h"
#include "model_repository/repository.h"
#include "scheduler/clock.h"
#include "server/core/server_context.h"
#include "server/grpc/grpc_server.h"
#include "server/http/http_server.h"
#include "server/operations/metrics.h"
#include "server/operations/metrics_endpoint.h"
#include "server/operations/request_log.h"

namespace inferd::server {
namespace {

absl::Status AtFlag(const char* flag, const absl::Status& status) {
  return absl::Status(status.code(), absl::StrCat(flag, ": ", status.message()));
}

class RunningDaemon final : public Daemon {
 public:
  RunningDaemon(const DaemonOptions& options, Log& log, const std::string& version)
      : options_(options),
        log_(log),
        version_(version),
        metrics_(scheduler::MonotonicClock(), version),
        request_log_(log, options.access_log) {}

  ~RunningDaemon() override {
    stop_ticking_.Notify();
    if (ticker_.joinable()) ticker_.join();
    metrics_endpoint_.reset();
    grpc_.reset();
    http_.reset();
    context_.reset();
    metrics_.SetRepository(nullptr);
    repository_.reset();
  }

  absl::Status Start() {
    RETURN_IF_ERROR(OpenRepository());
    ServerContextOptions context;
    context.repository = repository_.get();
    context.clock = &scheduler::MonotonicClock();
    context.name = options_.id;
    context.version = version_;
    context.max_in_flight = options_.max_in_flight;
    context.unload_drain = options_.drain_timeout;
    context.on_request = [this](const RequestRecord& record) {
      metrics_.OnRequest(record);
      request_log_.OnRequest(record, scheduler::MonotonicClock().Now());
    };
    context_ = std::make_unique<ServerContext>(std::move(context));
    RETURN_IF_ERROR(Listen());
    ticker_ = std::thread([this] {
      while (!stop_ticking_.WaitForNotificationWithTimeout(kMetricsTick)) metrics_.Tick();
    });
    return absl::OkStatus();
  }

  void LoadModels() override {
    repository_->LoadAll();
    int ready = 0, failed = 0;
    for (const repository::IndexEntry& entry : repository_->Index()) {
      (entry.state == repository::ModelState::kReady ? ready : failed) += 1;
    }
    if (repository_->Ready()) {
      log_.Write(LogLevel::kInfo, absl::StrCat("ready: ", ready, " model versions served"));
    } else if (ready + failed == 0) {
      log_.Write(LogLevel::kWarning, absl::StrCat("not ready: no model was found in ",
                                                  absl::StrJoin(options_.models, ", "),
                                                  "; expected DIR/MODEL/VERSION/model.onnx"));
    } else {
      log_.Write(LogLevel::kWarning, absl::StrCat("not ready: ", ready, " model versions served, ",
                                                  failed, " unavailable"));
    }
  }

  void Drain() override {
    context_->BeginDrain();
    log_.Write(LogLevel::kInfo, "draining: no longer ready");
    if (options_.drain_delay > absl::ZeroDuration()) absl::SleepFor(options_.drain_delay);
    const absl::Time deadline = absl::Now() + options_.drain_timeout;
    // Side by side: a slow client of one protocol does not keep the other open for new requests.
    std::thread http([&] {
      if (http_ != nullptr) http_->Shutdown(deadline);
    });
    if (grpc_ != nullptr) grpc_->Shutdown(deadline);
    http.join();
    repository_->Shutdown(scheduler::MonotonicClock().Now() +
                          std::max(absl::ZeroDuration(), deadline - absl::Now()));
    log_.Write(LogLevel::kInfo, "stopped");
  }

  int http_port() const override { return http_ == nullptr ? 0 : http_->port(); }
  int grpc_port() const override { return grpc_ == nullptr ? 0 : grpc_->port(); }
  int metrics_port() const override {
    return metrics_endpoint_ == nullptr ? 0 : metrics_endpoint_->port();
  }

 private:
  absl::Status OpenRepository() {
    repository::RepositoryOptions options;
    options.directories = options_.models;
    options.clock = &scheduler::MonotonicClock();
    options.readiness = options_.readiness == "any" ? repository::Readiness::kAnyModel
                                                    : repository::Readiness::kAllModels;
    options.drain_timeout = options_.drain_timeout;
    options.observer_factory = [this](const std::string& model, const std::string& version) {
      return metrics_.SeriesOf(model, version);
    };
    options.on_load = [this](const std::string& model, const std::string& version,
                             const absl::Status& status) {
      if (status.ok()) return;
      log_.Write(LogLevel::kError, absl::StrCat("model not loaded: ", status.message()),
                 {{"model", model}, {"version", version}});
    };
    options.on_ready = [this](const repository::ModelVersion& version) {
      log_.Write(
          LogLevel::kInfo,
          absl::StrCat("model loaded in ",
                       absl::FormatDuration(absl::Trunc(version.load_time, absl::Microseconds(10))),
                       version.notes.empty() ? "" : "\n", absl::StrJoin(version.notes, "\n")),
          {{"model", version.name}, {"version", version.version}});
    };
    auto opened = repository::ModelRepository::Open(std::move(options));
    if (!opened.ok()) return AtFlag("--models", opened.status());
    repository_ = *std::move(opened);
    metrics_.SetRepository(repository_.get());
    return absl::OkStatus();
  }

  absl::Status Listen() {
    if (options_.http_port == 0 && options_.grpc_port == 0) {
      return absl::InvalidArgumentError(
          "--http-port and --grpc-port are both 0; nothing would be served");
    }
    std::string listening = "listening:";
    if (options_.metrics_port != 0) {
      auto started = MetricsEndpoint::Start(options_.metrics_address, options_.metrics_port,
                                            [this] { return metrics_.Text(); });
      if (!started.ok()) return AtFlag("--metrics-port", started.status());
      metrics_endpoint_ = *std::move(started);
      absl::StrAppend(&listening, " metrics ", options_.metrics_address, ":", metrics_port());
    }
    if (options_.http_port != 0) {
      HttpServerOptions http;
      http.address = options_.http_address;
      http.port = options_.http_port;
      http.threads = options_.http_threads;
      http.max_header_bytes = options_.max_header_bytes;
      http.max_body_bytes = options_.max_message_bytes;
      http.max_connections = options_.max_connections;
      http.idle_timeout = options_.idle_timeout;
      http.header_timeout = options_.header_timeout;
      http.stall_timeout = options_.stall_timeout;
      auto started = HttpServer::Start(http, *context_);
      if (!started.ok()) return AtFlag("--http-port", started.status());
      http_ = *std::move(started);
      absl::StrAppend(&listening, " HTTP ", options_.http_address, ":", http_port());
    }
    if (options_.grpc_port != 0) {
      GrpcServerOptions grpc;
      grpc.address = options_.grpc_address;
      grpc.port = options_.grpc_port;
      grpc.threads = options_.grpc_threads;
      grpc.max_message_bytes = options_.max_message_bytes;
      grpc.max_metadata_bytes = options_.max_header_bytes;
      auto started = GrpcServer::Start(grpc, *context_);
      if (!started.ok()) return AtFlag("--grpc-port", started.status());
      grpc_ = *std::move(started);
      absl::StrAppend(&listening, " gRPC ", options_.grpc_address, ":", grpc_port());
    }
    log_.Write(LogLevel::kInfo, listening, {{"id", options_.id}, {"version", version_}});
    return absl::OkStatus();
  }

  const DaemonOptions options_;
  Log& log_;
  const std::string version_;
  Metrics metrics_;
  RequestLog request_log_;
  std::unique_ptr<repository::ModelRepository> repository_;
  std::unique_ptr<ServerContext> context_;
  std::unique_ptr<HttpServer> http_;
  std::unique_ptr<GrpcServer> grpc_;
  std::unique_ptr<MetricsEndpoint> metrics_endpoint_;
  absl::Notification stop_ticking_;
  std::thread ticker_;
};

LogLevel LevelOf(const std::string& name) {
  for (LogLevel level : {LogLevel::kDebug, LogLevel::kInfo, LogLevel::kWarning, LogLevel::kError}) {
    if (LogLevelName(level) == name) return level;
  }
  return LogLevel::kOff;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Daemon>> Daemon::Start(const DaemonOptions& options, Log& log,
                                                      const std::string& version) {
  auto daemon = std::make_unique<RunningDaemon>(options, log, version);
  RETURN_IF_ERROR(daemon->Start());
  return daemon;
}

int RunDaemon(const DaemonOptions& options, const std::string& version) {
  // Every thread inherits the mask, so that the signals come to sigwait below and nowhere else.
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  signal(SIGPIPE, SIG_IGN);  // a closed connection or log pipe is an error code, not the end

  Log log({.format = options.log_format == "json" ? LogFormat::kJson : LogFormat::kText,
           .level = LevelOf(options.log_level),
           .sink = nullptr});
  auto daemon = Daemon::Start(options, log, version);
  if (!daemon.ok()) {
    log.Write(LogLevel::kError, absl::StrCat("cannot start: ", daemon.status().message()));
    return 1;
  }
  absl::Notification loaded;
  std::thread loader([&] {
    (*daemon)->LoadModels();
    loaded.Notify();
  });

  int signal_number = 0;
  sigwait(&signals, &signal_number);
  log.Write(LogLevel::kInfo,
            absl::StrCat("received ", signal_number == SIGINT ? "SIGINT" : "SIGTERM"));
  std::thread([signals] {
    int second = 0;
    sigwait(&signals, &second);
    _exit(128 + second);
  }).detach();
  (*daemon)->Drain();
  if (!loaded.HasBeenNotified()) {
    // A load cannot be interrupted, and nothing waits for its result any more.
    _exit(0);
  }
  loader.join();
  return 0;
}

}  // namespace inferd::server
