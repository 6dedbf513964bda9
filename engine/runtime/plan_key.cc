#include "engine/runtime/plan_key.h"

#include <cstring>

namespace inferd::engine {
namespace {

void AppendBytes(const void* data, int64_t bytes, std::vector<int64_t>& key) {
  const size_t words = (bytes + 7) / 8;
  const size_t at = key.size();
  key.resize(at + words, 0);
  if (bytes > 0) std::memcpy(key.data() + at, data, bytes);
}

}  // namespace

void AppendShape(const Shape& shape, std::vector<int64_t>& key) {
  key.push_back(shape.rank());
  key.insert(key.end(), shape.begin(), shape.end());
}

void AppendContents(const TensorView& tensor, std::vector<int64_t>& key) {
  const int64_t count = tensor.num_elements();
  if (tensor.data == nullptr && count > 0) {
    key.push_back(-1);
    return;
  }
  key.push_back(count);
  if (tensor.type == ElementType::kString) {
    for (const std::string& s : tensor.span<std::string>()) {
      key.push_back(static_cast<int64_t>(s.size()));
      AppendBytes(s.data(), static_cast<int64_t>(s.size()), key);
    }
    return;
  }
  AppendBytes(tensor.data, tensor.num_bytes(), key);
}

}  // namespace inferd::engine
