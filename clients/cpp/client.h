// A client of an inferd daemon, or of any server of the Open Inference Protocol v2, over gRPC.
//
//   ASSIGN_OR_RETURN(auto client, Client::Connect({.target = "127.0.0.1:8001"}));
//   InferRequest request{.model = "digits"};
//   request.inputs.push_back(InferTensor::FromValues<float>("image", {1, 1, 8, 8}, pixels));
//   ASSIGN_OR_RETURN(InferResult result, client->Infer(request));
//   absl::Span<const int64_t> labels = result.Find("label")->values<int64_t>();
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "engine/tensor/element_type.h"
#include "server/wire/datatype.h"

namespace inferd::client {

// A named tensor in the protocol's raw form: little-endian, row-major, dense; BYTES elements are a
// uint32 length followed by that many bytes.
struct InferTensor {
  std::string name;
  std::string datatype;
  std::vector<int64_t> shape;
  std::string data;

  template <typename T>
  static InferTensor FromValues(std::string name, std::vector<int64_t> shape,
                                absl::Span<const T> values) {
    InferTensor t{std::move(name), std::string(server::DatatypeName(engine::TypeOf<T>())),
                  std::move(shape), std::string(values.size() * sizeof(T), '\0')};
    if (!values.empty()) std::memcpy(t.data.data(), values.data(), t.data.size());
    return t;
  }
  static InferTensor FromStrings(std::string name, std::vector<int64_t> shape,
                                 absl::Span<const std::string> values);

  // The elements, for T the C++ type of `datatype`; valid while the tensor lives.
  template <typename T>
  absl::Span<const T> values() const {
    return absl::Span<const T>(reinterpret_cast<const T*>(data.data()), data.size() / sizeof(T));
  }
  // Elements of a BYTES tensor; INVALID_ARGUMENT when the lengths do not add up.
  absl::StatusOr<std::vector<std::string>> strings() const;
};

struct InferRequest {
  std::string model;
  std::string version = {};  // empty: the server's choice
  std::string id = {};
  std::vector<InferTensor> inputs = {};
  std::vector<std::string> outputs = {};  // empty: all
  // Bounds the whole call, and is told to the server.
  absl::Duration timeout = absl::InfiniteDuration();
  int64_t priority = 0;
};

struct InferResult {
  std::string model;
  std::string version;
  std::string id;
  std::vector<InferTensor> outputs;

  const InferTensor* Find(absl::string_view name) const;  // null where there is none
};

struct TensorMetadata {
  std::string name;
  std::string datatype;
  std::vector<int64_t> shape;  // -1: any size
};
struct ModelMetadata {
  std::string name;
  std::vector<std::string> versions;
  std::string platform;
  std::vector<TensorMetadata> inputs;
  std::vector<TensorMetadata> outputs;
};
struct ServerMetadata {
  std::string name;
  std::string version;
  std::vector<std::string> extensions;
};
struct ModelIndexEntry {
  std::string name;
  std::string version;
  std::string state;
  std::string reason;
};
// Counts and total times since the model was loaded.
struct ModelStatistics {
  std::string name;
  std::string version;
  uint64_t inference_count = 0;  // rows
  uint64_t execution_count = 0;  // batches
  uint64_t success_count = 0, fail_count = 0;
  absl::Duration success, queue, compute_input, compute_infer, compute_output;
  std::vector<std::pair<uint64_t, uint64_t>> batches;  // batch size, executions
};

struct ClientOptions {
  // host:port or unix:path.
  std::string target = "127.0.0.1:8001";
  // Connections to spread calls over; more than one helps only at high rates.
  int connections = 1;
};

// Thread-safe. Errors are the server's own status; UNAVAILABLE when it cannot be reached.
class Client {
 public:
  // Does not wait for the server: the first call finds out whether it is there.
  static absl::StatusOr<std::unique_ptr<Client>> Connect(const ClientOptions& options);
  virtual ~Client() = default;

  virtual absl::StatusOr<bool> ServerLive() = 0;
  virtual absl::StatusOr<bool> ServerReady() = 0;
  virtual absl::StatusOr<bool> ModelReady(const std::string& model, const std::string& version) = 0;
  virtual absl::StatusOr<ServerMetadata> GetServerMetadata() = 0;
  virtual absl::StatusOr<ModelMetadata> GetModelMetadata(const std::string& model,
                                                         const std::string& version) = 0;
  // An empty name: every model.
  virtual absl::StatusOr<std::vector<ModelStatistics>> GetStatistics(
      const std::string& model, const std::string& version) = 0;
  virtual absl::StatusOr<std::vector<ModelIndexEntry>> GetRepositoryIndex() = 0;
  virtual absl::Status LoadModel(const std::string& model) = 0;
  virtual absl::Status UnloadModel(const std::string& model) = 0;

  virtual absl::StatusOr<InferResult> Infer(const InferRequest& request) = 0;

  // A request encoded once and sent many times, as load generators do.
  class Prepared;
  virtual std::shared_ptr<const Prepared> Prepare(const InferRequest& request) = 0;
  // `done` runs on a thread of gRPC and must not block. With `want_result` false the answer's
  // tensors are dropped. The client must outlive the call.
  virtual void InferAsync(std::shared_ptr<const Prepared> request, bool want_result,
                          absl::AnyInvocable<void(absl::StatusOr<InferResult>)> done) = 0;
};

}  // namespace inferd::client
