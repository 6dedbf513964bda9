// The HTTP front end over a real socket.
#include "server/http/http_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <fstream>
#include <thread>

#include "absl/time/clock.h"
#include "scheduler/admission.h"
#include "server/http/compression.h"
#include "tests/server/testing/fake_models.h"
#include "tests/server/testing/raw_http_client.h"

namespace inferd::server {
namespace {

using ::testing::HasSubstr;
using testing::RawHttpClient;
using testing::RawResponse;

class HttpServerTest : public ::testing::Test {
 protected:
  void Start(HttpServerOptions options = {}) {
    ServerContextOptions context;
    context.repository = &repository_;
    context.clock = &scheduler::MonotonicClock();
    context.name = "test-server";
    context.version = "9.9";
    context.max_in_flight = max_in_flight_;
    context.on_request = [this](const RequestRecord& record) {
      absl::MutexLock lock(&mutex_);
      records_.push_back(absl::StrCat(ProtocolName(record.protocol), " ", record.model, " ",
                                      record.version, " ", record.request_id, " ",
                                      absl::StatusCodeToString(record.status->code()), " ",
                                      record.model_known));
    };
    context_.emplace(std::move(context));
    options.address = "127.0.0.1";
    options.port = 0;
    auto server = HttpServer::Start(options, *context_);
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
  }
  RawResponse Get(const std::string& path, const std::string& headers = "") {
    RawHttpClient client(server_->port());
    client.Get(path, headers);
    return client.Read();
  }
  RawResponse Post(const std::string& path, const std::string& body,
                   const std::string& headers = "") {
    RawHttpClient client(server_->port());
    client.Post(path, body, headers);
    return client.Read();
  }
  RawResponse Infer(const std::string& model, const std::string& body,
                    const std::string& headers = "") {
    return Post("/v2/models/" + model + "/infer", body, headers);
  }
  std::vector<std::string> records() {
    absl::MutexLock lock(&mutex_);
    return records_;
  }

  testing::FakeRepository repository_;
  testing::StandardModels models_{repository_};
  int64_t max_in_flight_ = 1000;
  absl::Mutex mutex_;
  std::vector<std::string> records_ ABSL_GUARDED_BY(mutex_);
  std::optional<ServerContext> context_;
  std::unique_ptr<HttpServer> server_;
};

// "INPUT0": 0..15, "INPUT1": all ones.
constexpr char kSimple[] =
    R"({"id":"q1","inputs":[{"name":"INPUT0","shape":[1,16],"datatype":"INT32",)"
    R"("data":[0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15]},{"name":"INPUT1","shape":[1,16],)"
    R"("datatype":"INT32","data":[[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]]}]})";

std::string VectorRequest(const std::string& data, const std::string& more = "") {
  return R"({"inputs":[{"name":"X","shape":[4],"datatype":"FP32","data":)" + data + "}]" + more +
         "}";
}

template <typename T>
std::string Bytes(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

TEST_F(HttpServerTest, AnswersTheControlCalls) {
  Start();
  EXPECT_EQ(Get("/v2/health/live").status, 200);
  EXPECT_EQ(Get("/v2/health/ready").status, 200);
  EXPECT_EQ(Get("/v2/models/simple/ready").status, 200);
  EXPECT_EQ(Get("/v2/models/simple/versions/1/ready").status, 200);
  EXPECT_EQ(Get("/v2/models/broken/ready").status, 400);
  EXPECT_EQ(Get("/v2/models/nobody/ready").status, 404);
  const RawResponse server = Get("/v2");
  EXPECT_EQ(server.status, 200);
  EXPECT_EQ(server.headers.at("content-type"), "application/json");
  EXPECT_THAT(server.body, HasSubstr(R"("name":"test-server","version":"9.9","extensions":[)"));
  EXPECT_THAT(server.body, HasSubstr("\"statistics\""));
  EXPECT_EQ(Get("/v2/models/simple").body,
            R"({"name":"simple","versions":["1"],"platform":"onnx_inferd","inputs":[)"
            R"({"name":"INPUT0","datatype":"INT32","shape":[-1,16]},)"
            R"({"name":"INPUT1","datatype":"INT32","shape":[-1,16]}],"outputs":[)"
            R"({"name":"OUTPUT0","datatype":"INT32","shape":[-1,16]},)"
            R"({"name":"OUTPUT1","datatype":"INT32","shape":[-1,16]}]})");
  const RawResponse config = Get("/v2/models/simple/config");
  EXPECT_THAT(config.body, HasSubstr(R"("max_batch_size":8)"));
  EXPECT_THAT(config.body,
              HasSubstr(R"("data_type":"TYPE_INT32","format":"FORMAT_NONE","dims":[16])"));
  const RawResponse yaml = Get("/v2/models/simple/config", "Accept: application/yaml\r\n");
  EXPECT_EQ(yaml.headers.at("content-type"), "application/yaml");
  EXPECT_TRUE(repository::ParseModelConfig(yaml.body, "answer").ok()) << yaml.body;
  const RawResponse stats = Get("/v2/models/simple/stats");
  EXPECT_THAT(stats.body, HasSubstr(R"({"model_stats":[{"name":"simple","version":"1",)"
                                    R"("last_inference":1234567,"inference_count":7,)"));
  EXPECT_THAT(Get("/v2/models/stats").body, HasSubstr(R"("name":"vector")"));
  EXPECT_THAT(Post("/v2/repository/index", "").body,
              HasSubstr(R"({"name":"broken","version":"1","state":"UNAVAILABLE",)"
                        R"("reason":"the file is damaged"})"));
  EXPECT_THAT(Post("/v2/repository/index", R"({"ready":true})").body,
              ::testing::Not(HasSubstr("broken")));
  EXPECT_EQ(Post("/v2/repository/models/simple/load", "").status, 200);
  EXPECT_EQ(Post("/v2/repository/models/simple/unload", "{}").status, 200);
  EXPECT_EQ(Post("/v2/repository/models/missing/load", "").status, 404);
  EXPECT_EQ(Post("/v2/repository/models/simple/load", R"({"parameters":{"config":"{}"}})").status,
            501);
  EXPECT_THAT(repository_.loaded(), ::testing::ElementsAre("simple", "missing"));
  EXPECT_THAT(repository_.unloaded(), ::testing::ElementsAre("simple"));
}

TEST_F(HttpServerTest, RefusesUnknownPathsAndMethods) {
  Start();
  const RawResponse unknown = Get("/v2/nothing");
  EXPECT_EQ(unknown.status, 404);
  EXPECT_EQ(unknown.body, R"({"error":"Not Found"})");
  EXPECT_EQ(Get("/").status, 404);
  EXPECT_EQ(Get("/v2/models/%zz").status, 404);
  const RawResponse method = Get("/v2/models/simple/infer");
  EXPECT_EQ(method.status, 405);
  EXPECT_EQ(method.headers.at("allow"), "POST");
  EXPECT_EQ(method.body, R"({"error":"Method Not Allowed"})");
  EXPECT_EQ(Post("/v2", "").status, 405);
  EXPECT_EQ(Get("/v2/systemsharedmemory/status").status, 501);
  RawHttpClient client(server_->port());
  client.Send("DELETE /v2 HTTP/1.1\r\nHost: t\r\n\r\n");
  EXPECT_EQ(client.Read().status, 405);
  client.Send(
      "HEAD /v2 HTTP/1.1\r\nHost: t\r\n\r\nGET /v2/health/live HTTP/1.1\r\nHost: t\r\n\r\n");
  const RawResponse head = client.Read(/*head=*/true);
  EXPECT_EQ(head.status, 200);
  EXPECT_NE(head.headers.at("content-length"), "0");
  EXPECT_EQ(client.Read().status, 200);
}

TEST_F(HttpServerTest, InfersWithJson) {
  Start();
  const RawResponse response = Infer("simple", kSimple);
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(response.headers.at("content-type"), "application/json");
  EXPECT_EQ(response.headers.count("inference-header-content-length"), 0u);
  EXPECT_EQ(response.body, R"({"id":"q1","model_name":"simple","model_version":"1","outputs":[)"
                           R"({"name":"OUTPUT0","datatype":"INT32","shape":[1,16],)"
                           R"("data":[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16]},)"
                           R"({"name":"OUTPUT1","datatype":"INT32","shape":[1,16],)"
                           R"("data":[-1,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14]}]})");
  EXPECT_THAT(records(), ::testing::ElementsAre("http simple 1 q1 OK 1"));
}

TEST_F(HttpServerTest, ReturnsTheRequestedOutputsInTheirOrder) {
  Start();
  std::string body = kSimple;
  body.pop_back();
  const RawResponse one = Infer("simple", body + R"(,"outputs":[{"name":"OUTPUT1"}]})");
  EXPECT_THAT(one.body, ::testing::Not(HasSubstr("OUTPUT0")));
  const RawResponse swapped =
      Infer("simple", body + R"(,"outputs":[{"name":"OUTPUT1"},{"name":"OUTPUT0"}]})");
  EXPECT_LT(swapped.body.find("OUTPUT1"), swapped.body.find("OUTPUT0"));
}

TEST_F(HttpServerTest, BinaryTensorsBothWays) {
  Start();
  const std::string json =
      R"({"inputs":[{"name":"INPUT0","shape":[1,16],"datatype":"INT32",)"
      R"("parameters":{"binary_data_size":64}},{"name":"INPUT1","shape":[1,16],)"
      R"("datatype":"INT32","parameters":{"binary_data_size":64}}],)"
      R"("outputs":[{"name":"OUTPUT0","parameters":{"binary_data":true}},)"
      R"({"name":"OUTPUT1","parameters":{"binary_data":false}}]})";
  const std::string body =
      json + Bytes(std::vector<int32_t>(16, 40)) + Bytes(std::vector<int32_t>(16, 2));
  const RawResponse response =
      Infer("simple", body, absl::StrCat("Inference-Header-Content-Length: ", json.size(), "\r\n"));
  ASSERT_EQ(response.status, 200) << response.body;
  EXPECT_EQ(response.headers.at("content-type"), "application/octet-stream");
  size_t json_length = 0;
  ASSERT_TRUE(
      absl::SimpleAtoi(response.headers.at("inference-header-content-length"), &json_length));
  EXPECT_THAT(response.body.substr(0, json_length),
              HasSubstr(R"("parameters":{"binary_data_size":64})"));
  EXPECT_THAT(response.body.substr(0, json_length), HasSubstr(R"("data":[38,38,)"));
  EXPECT_EQ(response.body.substr(json_length), Bytes(std::vector<int32_t>(16, 42)));
}

TEST_F(HttpServerTest, MisalignedBinaryTensorsStayInTheBody) {
  Start();
  const std::vector<scheduler::TensorSpec> specs = {{"A", engine::ElementType::kUint8, {3}},
                                                    {"B", engine::ElementType::kFloat32, {4}}};
  std::atomic<size_t> first{99}, second{99};
  repository_.Add(
      "odd", "1", specs, specs, 1,
      [&](const scheduler::Request& request) -> absl::StatusOr<std::vector<engine::Tensor>> {
        first = request.pieces_of(0).size();
        second = request.pieces_of(1).size();
        return std::vector<engine::Tensor>{testing::CopyOf(request, 0),
                                           testing::CopyOf(request, 1)};
      });
  const std::string json =
      R"({"inputs":[{"name":"A","shape":[3],"datatype":"UINT8",)"
      R"("parameters":{"binary_data_size":3}},{"name":"B","shape":[4],"datatype":"FP32",)"
      R"("parameters":{"binary_data_size":16}}]})";
  const RawResponse response =
      Infer("odd", json + "abc" + Bytes(std::vector<float>{1, 2, 3, 4.5}),
            absl::StrCat("Inference-Header-Content-Length: ", json.size(), "\r\n"));
  ASSERT_EQ(response.status, 200) << response.body;
  EXPECT_THAT(response.body, HasSubstr("\"data\":[97,98,99]"));
  EXPECT_THAT(response.body, HasSubstr("\"data\":[1,2,3,4.5]"));
  EXPECT_EQ(first, 0u);
  EXPECT_EQ(second, 1u);
}

TEST_F(HttpServerTest, RawRequestIsTheOnlyInput) {
  Start();
  const std::string data = Bytes(std::vector<float>{1, 2, 3, 4});
  const RawResponse response = Infer("vector", data, "Inference-Header-Content-Length: 0\r\n");
  ASSERT_EQ(response.status, 200) << response.body;
  EXPECT_EQ(response.body.substr(response.body.size() - 16), data);
  const RawResponse text = Infer("text", "hello", "Inference-Header-Content-Length: 0\r\n");
  EXPECT_EQ(text.body.substr(text.body.size() - 9), std::string("\5\0\0\0hello", 9));
  EXPECT_THAT(Infer("simple", data, "Inference-Header-Content-Length: 0\r\n").body,
              HasSubstr("the model has 2 inputs"));
}

TEST_F(HttpServerTest, TextTensorsAndSpecialNumbers) {
  Start();
  EXPECT_THAT(Infer("text", R"({"inputs":[{"data":["a\"\u00e4\ud83d\ude00\n",""],"name":"X",)"
                            R"("shape":[2],"datatype":"BYTES"}]})")
                  .body,
              HasSubstr("\"data\":[\"a\\\"\xc3\xa4\xf0\x9f\x98\x80\\n\",\"\"]"));
  EXPECT_THAT(Infer("vector", VectorRequest("[NaN,-Infinity,Infinity,1.5]")).body,
              HasSubstr("\"data\":[NaN,-Infinity,Infinity,1.5]"));
}

TEST_F(HttpServerTest, AModelOfAnyRankTakesAnyShape) {
  Start();
  for (const char* shape : {"[]", "[1]", "[1,1,1]"}) {
    const RawResponse response =
        Infer("any_rank", absl::StrCat(R"({"inputs":[{"name":"X","shape":)", shape,
                                       R"(,"datatype":"FP32","data":[5]}]})"));
    EXPECT_THAT(response.body, HasSubstr(absl::StrCat("\"shape\":", shape, ",\"data\":[5]")));
  }
  EXPECT_THAT(Get("/v2/models/any_rank").body, HasSubstr(R"("shape":[-1])"));
}

TEST_F(HttpServerTest, ErrorsNameWhatIsWrong) {
  Start();
  struct Case {
    std::string model, body, headers;
    int status;
    std::string error;
  };
  const std::string length = "Inference-Header-Content-Length: ";
  for (
      const Case& c : std::vector<Case>{
          {"nobody", "{}", "", 400, "an object with 'inputs'"},
          {"nobody", VectorRequest("[1,2,3,4]"), "", 404,
           "Request for unknown model: 'nobody' is not found"},
          {"broken", VectorRequest("[1,2,3,4]"), "", 503, "the file is damaged"},
          {"vector", "", "", 400, "failed to parse the request JSON"},
          {"vector", "[]", "", 400, "the body must be an object"},
          {"vector", "{\"inputs\":[", "", 400, "failed to parse the request JSON"},
          {"vector", VectorRequest("[1,2,3,4]") + "x", "", 400, "failed to parse"},
          {"vector", VectorRequest("[1,2,3]"), "", 400, "has 3 elements where shape [4] has 4"},
          {"vector", VectorRequest("[1,2,3,4,5]"), "", 400, "has more than the 4 elements"},
          {"vector", VectorRequest("[1,2,\\\"x\\\",4]"), "", 400, "element 2"},
          {"vector", VectorRequest("[1,2,null,4]"), "", 400, "element 2 is not a number"},
          {"vector", VectorRequest("[1,2,1e39,4]"), "", 400, "element 2 is out of the range"},
          {"vector", VectorRequest("[[1,2],[3,4]]"), "", 400, "nested 2 deep where 1"},
          {"vector", VectorRequest(std::string(200, '[') + std::string(200, ']')), "", 400,
           "nested deeper than 100"},
          {"vector", R"({"x":)" + std::string(200, '[') + std::string(200, ']') + "}", "", 400,
           "nested deeper than 100"},
          {"vector", R"({"inputs":[{"name":"X","shape":[4],"datatype":"FP32"}]})", "", 400,
           "unable to find data for input tensor 'X' for model 'vector' in request."},
          {"vector", R"({"inputs":[{"name":"X","shape":[4],"datatype":"FP99","data":[]}]})", "",
           400, "unknown datatype 'FP99'"},
          {"vector", R"({"inputs":[{"name":"X","shape":[-4],"datatype":"FP32","data":[]}]})", "",
           400, "impossible shape"},
          {"vector", R"({"inputs":[{"name":"X","shape":["4"],"datatype":"FP32","data":[]}]})", "",
           400, "an array of integers"},
          {"vector", R"({"inputs":[{"name":"X","shape":[4],"datatype":"INT32","data":[1,2,3,4]}]})",
           "", 400, "inference input 'X' data-type is 'INT32', but model 'vector' expects 'FP32'"},
          {"vector", R"({"inputs":[{"name":"Z","shape":[4],"datatype":"FP32","data":[1,2,3,4]}]})",
           "", 400, "unexpected inference input 'Z' for model 'vector'; its inputs are 'X'"},
          {"vector", R"({"inputs":[]})", "", 400,
           "expected 1 inputs but got 0 inputs for model "
           "'vector'; missing: 'X'"},
          {"vector", VectorRequest("[1,2,3,4]", R"(,"outputs":[{"name":"Q"}])"), "", 400,
           "unexpected inference output 'Q' for model 'vector'; its outputs are 'Y'"},
          {"vector", VectorRequest("[1,2,3,4]", R"(,"parameters":{"timeout":-1})"), "", 400,
           "parameter 'timeout' must be an integer of at least 0"},
          {"vector", VectorRequest("[1,2,3,4]", R"(,"parameters":{"triton_x":1})"), "", 400,
           "'triton_x' is unknown"},
          {"vector", VectorRequest("[1,2,3,4]", R"(,"parameters":{"sequence_id":5})"), "", 501,
           "sequences"},
          {"vector",
           VectorRequest("[1,2,3,4]",
                         R"(,"outputs":[{"name":"Y","parameters":{"classification":2}}])"),
           "", 501, "classification"},
          {"vector", "{}", length + "x\r\n", 400,
           "Unable to parse Inference-Header-Content-Length, got: x"},
          {"vector", "{}", length + "3\r\n", 400,
           "inference header size should be in range (0, 2), got: 3"},
          {"vector", "{}", length + "-1\r\n", 400, "got: -1"},
          {"vector",
           R"({"inputs":[{"name":"X","shape":[4],"datatype":"FP32","parameters":{"binary_data_size":16}}]})"
           "1234",
           length + "99\r\n", 400, ""},
          {"vector", VectorRequest("[1,2,3,4]"), "Content-Encoding: br\r\n", 400,
           "Content-Encoding 'br' is not supported"},
          {"vector", VectorRequest("[1,2,3,4]"), "Content-Encoding: gzip\r\n", 400,
           "cannot be decompressed"},
      }) {
    const RawResponse response = Infer(c.model, c.body, c.headers);
    EXPECT_EQ(response.status, c.status) << c.body << "\n" << response.body;
    EXPECT_THAT(response.body, ::testing::StartsWith("{\"error\":\"")) << c.body;
    EXPECT_THAT(response.body, HasSubstr(c.error)) << c.body;
  }
}

TEST_F(HttpServerTest, TellsWhichDimensionIsMissing) {
  Start();
  const RawResponse response =
      Infer("simple", R"({"inputs":[{"name":"INPUT0","shape":[16],"datatype":"INT32",)"
                      R"("data":[0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15]}]})");
  EXPECT_EQ(response.status, 400);
  EXPECT_THAT(response.body,
              HasSubstr("unexpected shape for input 'INPUT0' for model 'simple'. Expected [-1,16], "
                        "got [16]. Dimension 0, the batch, is missing: send [1,16]"));
}

TEST_F(HttpServerTest, BinarySizesMustAddUp) {
  Start();
  const std::string json =
      R"({"inputs":[{"name":"X","shape":[4],"datatype":"FP32","parameters":{"binary_data_size":16}}]})";
  const std::string length = absl::StrCat("Inference-Header-Content-Length: ", json.size(), "\r\n");
  EXPECT_THAT(Infer("vector", json + "1234", length).body,
              HasSubstr("unexpected size for input 'X', expecting 12 additional bytes for model "
                        "'vector'"));
  EXPECT_THAT(Infer("vector", json + std::string(20, 'x'), length).body,
              HasSubstr("unexpected additional input data for model 'vector'"));
}

TEST_F(HttpServerTest, PipelinedRequestsAreAnsweredInOrder) {
  Start();
  RawHttpClient client(server_->port());
  std::string all;
  for (int i = 0; i < 20; ++i) {
    const std::string body = VectorRequest(absl::StrCat("[", i, ",0,0,0]"));
    absl::StrAppend(&all, "POST /v2/models/vector/infer HTTP/1.1\r\nHost: t\r\nContent-Length: ",
                    body.size(), "\r\n\r\n", body);
  }
  client.Send(all);
  for (int i = 0; i < 20; ++i) {
    const RawResponse response = client.Read();
    EXPECT_EQ(response.status, 200);
    EXPECT_THAT(response.body, HasSubstr(absl::StrCat("\"data\":[", i, ",0,0,0]")));
  }
}

TEST_F(HttpServerTest, TakesChunkedBodiesOfAnySize) {
  Start();
  for (const size_t elements : {size_t{4}, size_t{100'000}}) {
    std::string data = "[";
    for (size_t i = 0; i < elements; ++i) absl::StrAppend(&data, i == 0 ? "" : ",", i);
    const std::string body = absl::StrCat(R"({"inputs":[{"name":"X","shape":[1,)", elements,
                                          R"(],"datatype":"FP32","data":)", data, "]}]}");
    RawHttpClient client(server_->port());
    std::string message =
        "POST /v2/models/identity/infer HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: chunked\r\n\r\n";
    const size_t step = elements < 10 ? 7 : 33'333;
    for (size_t at = 0; at < body.size(); at += step) {
      const std::string piece = body.substr(at, step);
      absl::StrAppend(&message, absl::Hex(piece.size()), "\r\n", piece, "\r\n");
    }
    client.Send(message + "0\r\n\r\n");
    const RawResponse response = client.Read();
    EXPECT_EQ(response.status, 200) << response.body.substr(0, 500);
    EXPECT_THAT(response.body, HasSubstr(data));
    client.Get("/v2/health/live");  // The connection goes on.
    EXPECT_EQ(client.Read().status, 200);
  }
}

TEST_F(HttpServerTest, AnswersExpectContinue) {
  Start();
  RawHttpClient client(server_->port());
  const std::string body = VectorRequest("[1,2,3,4]");
  client.Send(absl::StrCat("POST /v2/models/vector/infer HTTP/1.1\r\nHost: t\r\nContent-Length: ",
                           body.size(), "\r\nExpect: 100-continue\r\n\r\n"));
  EXPECT_EQ(client.Read(/*head=*/true).status, 100);
  client.Send(body);
  EXPECT_EQ(client.Read().status, 200);
}

TEST_F(HttpServerTest, CompressionBothWays) {
  Start();
  HttpResponse packed;
  packed.text = VectorRequest("[1,2,3,4]");
  ASSERT_TRUE(Compress(ContentCoding::kGzip, &packed).ok());
  EXPECT_THAT(Infer("vector", packed.text, "Content-Encoding: gzip\r\n").body,
              HasSubstr("\"data\":[1,2,3,4]"));

  std::string data = "[0";
  for (int i = 1; i < 5000; ++i) data += ",0";
  const std::string body =
      R"({"inputs":[{"name":"X","shape":[1,5000],"datatype":"FP32","data":)" + data + "]}]}";
  for (const auto& [name, coding] :
       {std::pair{"gzip", ContentCoding::kGzip}, std::pair{"deflate", ContentCoding::kDeflate}}) {
    const RawResponse response =
        Infer("identity", body, absl::StrCat("Accept-Encoding: ", name, "\r\n"));
    EXPECT_EQ(response.headers.at("content-encoding"), name);
    EXPECT_LT(response.body.size(), 1000u);
    BodyBuffer compressed = BodyBuffer::Allocate(response.body.size(), 0).value();
    std::memcpy(compressed.data(), response.body.data(), response.body.size());
    const auto plain = Decompress(coding, compressed, 1 << 20, 0);
    ASSERT_TRUE(plain.ok()) << plain.status();
    EXPECT_THAT(std::string(plain->text()), HasSubstr(data));
  }
}

TEST_F(HttpServerTest, LimitsAreAnsweredWithTheNameOfTheOption) {
  HttpServerOptions options;
  options.max_header_bytes = 2000;
  options.max_body_bytes = 10'000;
  Start(options);
  const RawResponse header = Get("/v2", "X-Long: " + std::string(3000, 'x') + "\r\n");
  EXPECT_EQ(header.status, 431);
  EXPECT_THAT(header.body, HasSubstr("max_header_bytes"));
  const RawResponse body = Infer("vector", std::string(20'000, ' '));
  EXPECT_EQ(body.status, 413);
  EXPECT_THAT(body.body, HasSubstr("max_message_bytes"));

  RawHttpClient client(server_->port());
  client.Send(
      "POST /v2/models/vector/infer HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: chunked\r\n\r\n"
      "4000\r\n" +
      std::string(0x4000, ' ') + "\r\n0\r\n\r\n");
  EXPECT_EQ(client.Read().status, 413);

  HttpResponse bomb;
  bomb.text = std::string(1 << 20, ' ');
  ASSERT_TRUE(Compress(ContentCoding::kGzip, &bomb).ok());
  const RawResponse unpacked = Infer("vector", bomb.text, "Content-Encoding: gzip\r\n");
  EXPECT_EQ(unpacked.status, 413);
  EXPECT_THAT(unpacked.body, HasSubstr("when decompressed"));
}

TEST_F(HttpServerTest, GarbageIsRefusedAndTheServerGoesOn) {
  Start();
  for (const std::string& garbage :
       {std::string("\0\1\2\3\r\n\r\n", 8), std::string("GET\r\n\r\n"),
        std::string("GET / HTTP/9.9\r\n\r\n"),
        std::string("GET /v2 HTTP/1.1\r\nBad Header\r\n\r\n"),
        std::string(
            "POST /v2/models/x/infer HTTP/1.1\r\nContent-Length: 99999999999999999999\r\n\r\n"),
        std::string("POST /v2/models/x/infer HTTP/1.1\r\nContent-Length: -1\r\n\r\n"),
        std::string(
            "POST /v2/models/x/infer HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n")}) {
    RawHttpClient client(server_->port());
    client.Send(garbage);
    EXPECT_EQ(client.Read().status, 400) << garbage;
    client.AwaitClosed();
  }
  std::string random(5000, '\0');
  for (size_t i = 0; i < random.size(); ++i) random[i] = static_cast<char>(i * 2654435761u >> 13);
  EXPECT_EQ(Infer("vector", random).status, 400);
  {
    RawHttpClient gone(server_->port());
    gone.Send(
        "POST /v2/models/vector/infer HTTP/1.1\r\nHost: t\r\nContent-Length: 100\r\n\r\nhalf");
  }
  EXPECT_EQ(Get("/v2/health/live").status, 200);
}

TEST_F(HttpServerTest, SlowClientsAreCut) {
  HttpServerOptions options;
  options.header_timeout = absl::Milliseconds(50);
  options.stall_timeout = absl::Milliseconds(50);
  options.idle_timeout = absl::Milliseconds(50);
  Start(options);
  RawHttpClient header(server_->port()), body(server_->port()), idle(server_->port());
  header.Send("GET /v2 HTTP/1.1\r\nHo");
  body.Send("POST /v2/models/vector/infer HTTP/1.1\r\nHost: t\r\nContent-Length: 100\r\n\r\nhalf");
  EXPECT_EQ(header.Read().status, 408);
  const RawResponse late = body.Read();
  EXPECT_EQ(late.status, 408);
  EXPECT_THAT(late.body, HasSubstr("only 4 of 100 bytes"));
  idle.AwaitClosed();
}

TEST_F(HttpServerTest, ADisconnectCancelsTheQueuedRequest) {
  Start();
  models_.vector->Hold();
  {
    RawHttpClient client(server_->port());
    client.Post("/v2/models/vector/infer", VectorRequest("[1,2,3,4]"));
    models_.vector->AwaitHeld(1);
  }
  models_.vector->AwaitCancelled(1);
  models_.vector->ReleaseAll();
  server_->Shutdown(absl::Now() + absl::Minutes(1));
  EXPECT_THAT(records(), ::testing::ElementsAre("http vector 1  CANCELLED 1"));
  EXPECT_EQ(context_->in_flight(), 0);
}

TEST_F(HttpServerTest, RefusesRequestsOverTheInFlightLimit) {
  max_in_flight_ = 1;
  Start();
  models_.vector->Hold();
  RawHttpClient first(server_->port());
  first.Post("/v2/models/vector/infer", VectorRequest("[1,2,3,4]"));
  models_.vector->AwaitHeld(1);
  const RawResponse refused = Infer("vector", VectorRequest("[1,2,3,4]"));
  EXPECT_EQ(refused.status, 429);
  EXPECT_EQ(refused.headers.at("retry-after"), "1");
  EXPECT_THAT(refused.body, HasSubstr("max_in_flight"));
  models_.vector->ReleaseAll();
  EXPECT_EQ(first.Read().status, 200);
  EXPECT_EQ(Infer("vector", VectorRequest("[1,2,3,4]")).status, 200);
}

TEST_F(HttpServerTest, ARefusalSaysWhenToTryAgainInWholeSeconds) {
  Start();
  const std::vector<scheduler::TensorSpec> specs = {{"X", engine::ElementType::kFloat32, {4}}};
  const std::pair<int, const char*> cases[] = {{1, "1"}, {1000, "1"}, {1001, "2"}, {7500, "8"}};
  for (const auto& [milliseconds, seconds] : cases) {
    repository_.Add("busy", "1", specs, specs, 1, [delay = milliseconds](const auto&) {
      return scheduler::Refusal("the queue is full", absl::Milliseconds(delay));
    });
    const RawResponse refused = Infer("busy", VectorRequest("[1,2,3,4]", R"(,"id":"r1")"));
    EXPECT_EQ(refused.status, 429);
    EXPECT_EQ(refused.headers.at("retry-after"), seconds);
    EXPECT_THAT(refused.body, HasSubstr("[request id: r1] the queue is full, retry after"));
  }
}

TEST_F(HttpServerTest, ParametersReachTheScheduler) {
  Start();
  std::string body = kSimple;
  body.pop_back();
  const absl::Time before = scheduler::MonotonicClock().Now();
  EXPECT_EQ(Infer("simple", body + R"(,"parameters":{"timeout":3000000,"priority":1}})").status,
            200);
  EXPECT_EQ(Infer("simple", kSimple).status, 200);
  EXPECT_EQ(Infer("simple", body + R"(,"parameters":{"priority":3}})").status, 400);
  const auto deadlines = models_.simple->deadlines();
  EXPECT_GE(deadlines[0], before + absl::Seconds(3));
  EXPECT_LE(deadlines[0], scheduler::MonotonicClock().Now() + absl::Seconds(3));
  EXPECT_EQ(deadlines[1], absl::InfiniteFuture());
  EXPECT_THAT(models_.simple->priorities(), ::testing::ElementsAre(0, 1));
}

TEST_F(HttpServerTest, DrainsWithoutWaitingForIdleConnections) {
  Start();
  RawHttpClient idle(server_->port()), busy(server_->port());
  idle.Get("/v2/health/ready");
  EXPECT_EQ(idle.Read().status, 200);
  models_.vector->Hold();
  busy.Post("/v2/models/vector/infer", VectorRequest("[1,2,3,4]"));
  models_.vector->AwaitHeld(1);

  context_->BeginDrain();
  idle.Get("/v2/health/ready");
  const RawResponse not_ready = idle.Read();
  EXPECT_EQ(not_ready.status, 503);
  EXPECT_EQ(not_ready.headers.at("connection"), "close");
  RawHttpClient second_idle(server_->port());

  std::thread shutdown([&] { server_->Shutdown(absl::InfiniteFuture()); });
  second_idle.AwaitClosed();
  models_.vector->ReleaseAll();
  const RawResponse answer = busy.Read();
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.headers.at("connection"), "close");
  shutdown.join();
  EXPECT_FALSE(RawHttpClient(server_->port()).connected());
}

TEST_F(HttpServerTest, ShutdownPastItsDeadlineCancelsWhatIsLeft) {
  Start();
  models_.vector->Hold();
  RawHttpClient busy(server_->port());
  busy.Post("/v2/models/vector/infer", VectorRequest("[1,2,3,4]"));
  models_.vector->AwaitHeld(1);
  server_->Shutdown(absl::Now());
  models_.vector->AwaitCancelled(1);
  EXPECT_EQ(busy.Read().status, 0);
}

TEST_F(HttpServerTest, AnOccupiedPortIsAnErrorThatNamesIt) {
  Start();
  HttpServerOptions options;
  options.address = "127.0.0.1";
  options.port = server_->port();
  const auto second = HttpServer::Start(options, *context_);
  EXPECT_EQ(second.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(second.status().message()),
              HasSubstr(absl::StrCat("127.0.0.1 port ", server_->port())));
}

}  // namespace
}  // namespace inferd::server
