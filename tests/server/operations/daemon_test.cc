// The daemon as a whole: in this process, and as a program with signals.
#include "server/operations/daemon.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <signal.h>
#include <spdlog/sinks/ostream_sink.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "tests/model_repository/onnx_models.h"

namespace inferd::server {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

// A port that was free a moment ago.
int FreePort() {
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  inet_pton(AF_INET, "127.0.0.1", &address.sin_addr);
  socklen_t size = sizeof(address);
  EXPECT_EQ(bind(fd, reinterpret_cast<sockaddr*>(&address), size), 0);
  EXPECT_EQ(getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size), 0);
  close(fd);
  return ntohs(address.sin_port);
}

std::string Get(int port, const std::string& path) {
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  inet_pton(AF_INET, "127.0.0.1", &address.sin_addr);
  std::string answer;
  if (connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0) {
    const std::string request =
        absl::StrCat("GET ", path, " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    EXPECT_EQ(send(fd, request.data(), request.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(request.size()));
    char buffer[4096];
    for (ssize_t n; (n = recv(fd, buffer, sizeof(buffer), 0)) > 0;) answer.append(buffer, n);
  }
  close(fd);
  return answer;
}

class DaemonTest : public ::testing::Test {
 protected:
  DaemonTest() {
    root_ =
        fs::path(::testing::TempDir()) /
        ("daemon_" + std::string(::testing::UnitTest::GetInstance()->current_test_info()->name()));
    fs::remove_all(root_);
    fs::create_directories(root_ / "add/1");
    std::ofstream(root_ / "add/1/model.onnx", std::ios::binary) << repository::AddModel({-1, 2}, 1);
    options_.models = {root_.string()};
    options_.http_address = options_.grpc_address = options_.metrics_address = "127.0.0.1";
    options_.http_port = FreePort();
    options_.grpc_port = FreePort();
    options_.metrics_port = FreePort();
  }
  ~DaemonTest() override { fs::remove_all(root_); }

  absl::StatusOr<std::unique_ptr<Daemon>> Start() { return Daemon::Start(options_, log_, "1.2.3"); }

  fs::path root_;
  DaemonOptions options_;
  std::ostringstream out_;
  Log log_{{.format = LogFormat::kText,
            .level = LogLevel::kInfo,
            .sink = std::make_shared<spdlog::sinks::ostream_sink_mt>(out_)}};
};

TEST_F(DaemonTest, LiveThenReadyThenDrained) {
  auto daemon = Start();
  ASSERT_TRUE(daemon.ok()) << daemon.status();
  EXPECT_THAT(Get(options_.http_port, "/v2/health/live"), HasSubstr(" 200 "));
  EXPECT_THAT(Get(options_.http_port, "/v2/health/ready"), ::testing::Not(HasSubstr(" 200 ")));
  (*daemon)->LoadModels();
  EXPECT_THAT(Get(options_.http_port, "/v2/health/ready"), HasSubstr(" 200 "));
  EXPECT_THAT(Get(options_.metrics_port, "/metrics"), HasSubstr("inferd_ready 1\n"));
  EXPECT_THAT(Get(options_.metrics_port, "/metrics"),
              HasSubstr("inferd_model_state{model=\"add\",version=\"1\",state=\"READY\"} 1\n"));
  EXPECT_THAT(out_.str(), HasSubstr("model loaded in "));
  EXPECT_THAT(out_.str(), HasSubstr("ready: 1 model versions served"));
  (*daemon)->Drain();
  EXPECT_EQ(Get(options_.http_port, "/v2/health/live"), "");
  EXPECT_THAT(out_.str(), HasSubstr("stopped"));
}

TEST_F(DaemonTest, PortInUseNamesTheFlag) {
  auto first = Start();
  ASSERT_TRUE(first.ok()) << first.status();
  const DaemonOptions taken = options_;
  for (const char* flag : {"--http-port", "--grpc-port", "--metrics-port"}) {
    options_.http_port = flag == std::string("--http-port") ? taken.http_port : FreePort();
    options_.grpc_port = flag == std::string("--grpc-port") ? taken.grpc_port : FreePort();
    options_.metrics_port = flag == std::string("--metrics-port") ? taken.metrics_port : FreePort();
    const auto second = Start();
    ASSERT_FALSE(second.ok()) << flag;
    EXPECT_THAT(std::string(second.status().message()), HasSubstr(flag));
    EXPECT_EQ(std::string(second.status().message()).find('\n'), std::string::npos);
  }
}

TEST_F(DaemonTest, PortsTurnedOff) {
  options_.grpc_port = 0;
  options_.metrics_port = 0;
  auto daemon = Start();
  ASSERT_TRUE(daemon.ok()) << daemon.status();
  EXPECT_EQ((*daemon)->grpc_port(), 0);
  EXPECT_EQ((*daemon)->metrics_port(), 0);
  options_.http_port = 0;
  EXPECT_THAT(std::string(Start().status().message()), HasSubstr("nothing would be served"));
}

TEST_F(DaemonTest, MissingRepositoryNamesTheFlag) {
  options_.models = {(root_ / "gone").string()};
  EXPECT_THAT(std::string(Start().status().message()), HasSubstr("--models: model repository"));
}

// The program, its standard error in a pipe.
class Program {
 public:
  explicit Program(const std::vector<std::string>& arguments) {
    int fds[2];
    EXPECT_EQ(pipe(fds), 0);
    std::vector<char*> argv = {const_cast<char*>(INFERD_BINARY)};
    for (const std::string& a : arguments) argv.push_back(const_cast<char*>(a.c_str()));
    argv.push_back(nullptr);
    pid_ = fork();
    if (pid_ == 0) {
      dup2(fds[1], STDERR_FILENO);
      close(fds[0]);
      close(fds[1]);
      execv(INFERD_BINARY, argv.data());
      _exit(127);
    }
    close(fds[1]);
    error_ = fds[0];
  }
  ~Program() {
    if (pid_ > 0) {
      kill(pid_, SIGKILL);
      waitpid(pid_, nullptr, 0);
    }
    close(error_);
  }
  // Reads standard error until `text` or the end has come.
  bool Await(const std::string& text) {
    char c;
    while (said_.find(text) == std::string::npos && read(error_, &c, 1) == 1) said_ += c;
    return said_.find(text) != std::string::npos;
  }
  void Signal(int number) { kill(pid_, number); }
  // Exit code; -number for an end by signal.
  int Wait() {
    int status = 0;
    waitpid(pid_, &status, 0);
    pid_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }
  const std::string& said() const { return said_; }

 private:
  pid_t pid_ = -1;
  int error_ = -1;
  std::string said_;
};

class ProgramTest : public DaemonTest {
 protected:
  std::vector<std::string> Arguments(std::vector<std::string> more = {}) {
    std::vector<std::string> arguments = {"serve",
                                          "--models",
                                          root_.string(),
                                          "--http-address=127.0.0.1",
                                          "--grpc-address=127.0.0.1",
                                          "--metrics-address=127.0.0.1",
                                          absl::StrCat("--http-port=", options_.http_port),
                                          absl::StrCat("--grpc-port=", options_.grpc_port),
                                          absl::StrCat("--metrics-port=", options_.metrics_port)};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  }
};

TEST_F(ProgramTest, TerminatesCleanlyOnSignals) {
  for (int number : {SIGTERM, SIGINT}) {
    const auto arguments = Arguments();
    Program program(arguments);
    ASSERT_TRUE(program.Await("ready: ")) << program.said();
    program.Signal(number);
    EXPECT_TRUE(program.Await("stopped")) << program.said();
    EXPECT_EQ(program.Wait(), 0);
  }
}

TEST_F(ProgramTest, SecondSignalEndsAtOnce) {
  const auto arguments = Arguments({"--drain-delay", "1h"});
  Program program(arguments);
  ASSERT_TRUE(program.Await("ready: ")) << program.said();
  program.Signal(SIGTERM);
  ASSERT_TRUE(program.Await("draining")) << program.said();
  EXPECT_THAT(Get(options_.http_port, "/v2/health/live"), HasSubstr(" 200 "));
  EXPECT_THAT(Get(options_.http_port, "/v2/health/ready"), ::testing::Not(HasSubstr(" 200 ")));
  program.Signal(SIGTERM);
  EXPECT_EQ(program.Wait(), 128 + SIGTERM);
}

TEST_F(ProgramTest, UsageErrorsExitWithTwo) {
  const std::vector<std::string> arguments = {"serve", "--modles", "x"};
  Program program(arguments);
  EXPECT_TRUE(program.Await("did you mean --models?")) << program.said();
  EXPECT_EQ(program.Wait(), 2);
}

TEST_F(ProgramTest, StartErrorsExitWithOne) {
  auto arguments = Arguments();
  arguments[2] = (root_ / "gone").string();
  Program program(arguments);
  EXPECT_TRUE(program.Await("cannot start: --models")) << program.said();
  EXPECT_EQ(program.Wait(), 1);
}

}  // namespace
}  // namespace inferd::server
