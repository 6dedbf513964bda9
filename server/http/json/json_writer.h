// Writes JSON text (RFC 8259) into a string, plus the bare tokens NaN, Infinity and -Infinity that
// clients of the protocol read.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "engine/tensor/tensor.h"

namespace inferd::server {

// Values are written in order; commas come by themselves. Inside an object every value follows a
// Key. The caller closes what it opens.
class JsonWriter {
 public:
  explicit JsonWriter(std::string* out) : out_(out) {}

  void BeginObject() { Open('{'); }
  void EndObject() { Close('}'); }
  void BeginArray() { Open('['); }
  void EndArray() { Close(']'); }
  void Key(absl::string_view name);
  void String(absl::string_view text);  // valid UTF-8
  void Int(int64_t value);
  void Uint(uint64_t value);
  void Bool(bool value);
  void Double(double value);
  // A member of an object at once.
  void Field(absl::string_view name, absl::string_view text) { Key(name), String(text); }
  // The elements of a tensor as one flat array, floats in the shortest form that reads back
  // equal. INVALID_ARGUMENT for BYTES that are not UTF-8, which JSON cannot carry; UNIMPLEMENTED
  // for types without a JSON form.
  absl::Status Elements(const engine::TensorView& tensor);

 private:
  void Separate();
  void Open(char bracket);
  void Close(char bracket);

  std::string* out_;
  bool need_comma_ = false;
};

}  // namespace inferd::server
