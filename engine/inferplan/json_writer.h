// Writes JSON text; the engine depends on no JSON library.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace inferd::engine {

// Calls nest as the document does: BeginObject, Key, value, ..., EndObject. Commas and indentation
// are added. Not thread-safe.
class JsonWriter {
 public:
  JsonWriter& BeginObject();
  JsonWriter& EndObject();
  JsonWriter& BeginArray();
  JsonWriter& EndArray();
  JsonWriter& Key(absl::string_view name);
  JsonWriter& String(absl::string_view value);
  JsonWriter& Int(int64_t value);
  // NaN and infinities, which JSON lacks, become null.
  JsonWriter& Double(double value);
  JsonWriter& Bool(bool value);
  // An array of them.
  JsonWriter& Strings(const std::vector<std::string>& values);

  const std::string& text() const { return text_; }

 private:
  void BeforeValue();
  void Open(char bracket);
  void Close(char bracket);
  void NewLine();

  std::string text_;
  std::vector<bool> has_members_;  // per open bracket
  bool after_key_ = false;
};

}  // namespace inferd::engine
