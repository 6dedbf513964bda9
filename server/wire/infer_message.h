// An inference request and its answer as the codecs read and write them: names and tensors, no
// transport and no wire format.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/strings/string_view.h"
#include "engine/tensor/tensor.h"
#include "server/wire/bytes_view.h"

namespace inferd::server {

// Bounds on what a message may declare, checked before anything is allocated for it.
inline constexpr int kMaxTensorsPerRequest = 4096;
inline constexpr int kMaxParameters = 256;  // per map
inline constexpr int kMaxRank = 32;

using ParameterValue = std::variant<bool, int64_t, uint64_t, double, std::string>;

// A parameter map. Small, so a vector; a later value of a key replaces an earlier one.
class Parameters {
 public:
  void Set(std::string key, ParameterValue value) {
    for (auto& [k, v] : entries_) {
      if (k == key) {
        v = std::move(value);
        return;
      }
    }
    entries_.emplace_back(std::move(key), std::move(value));
  }
  const ParameterValue* Find(absl::string_view key) const {
    for (const auto& [k, v] : entries_) {
      if (k == key) return &v;
    }
    return nullptr;
  }
  bool empty() const { return entries_.empty(); }
  size_t size() const { return entries_.size(); }
  auto begin() const { return entries_.begin(); }
  auto end() const { return entries_.end(); }

 private:
  std::vector<std::pair<std::string, ParameterValue>> entries_;
};

struct InferInput {
  std::string name;
  // Plain layout, aligned to the element size. BYTES are std::string elements.
  engine::TensorView tensor;
  // The tensor's bytes as they lie in the message, in order, where they do not lie together or not
  // aligned; tensor.data is null then. Empty otherwise.
  absl::InlinedVector<ByteSpan, 1> pieces;
  Parameters parameters;
};

struct RequestedOutput {
  std::string name;
  Parameters parameters;
};

struct InferRequest {
  std::string model_name;
  std::string model_version;  // empty: the server's choice
  std::string id;
  Parameters parameters;
  absl::InlinedVector<InferInput, 2> inputs;
  std::vector<RequestedOutput> outputs;  // empty: all

  // What keeps the memory behind `inputs` alive: the received message, and buffers for what was
  // decoded from it (BYTES, text, varints).
  std::shared_ptr<const void> payload;
  std::vector<engine::Tensor> owned;
};

struct InferOutput {
  absl::string_view name;  // kept alive by InferResponse::owner
  engine::TensorView tensor;
  engine::BufferRef buffer;  // keeps `tensor` alive
};

struct InferResponse {
  std::string model_name;
  std::string model_version;
  std::string id;
  Parameters parameters;
  absl::InlinedVector<InferOutput, 4> outputs;
  std::shared_ptr<const void> owner;
};

}  // namespace inferd::server
