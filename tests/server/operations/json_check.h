// A strict JSON check for tests.
#pragma once

#include <rapidjson/document.h>

#include <string>

namespace inferd::server {

// The member of a JSON object of strings; fails the test where the text is no such object.
inline std::string JsonMember(const std::string& text, const char* name) {
  rapidjson::Document document;
  document.Parse<rapidjson::kParseValidateEncodingFlag>(text.data(), text.size());
  if (document.HasParseError() || !document.IsObject()) return "(not JSON: " + text + ")";
  if (!document.HasMember(name) || !document[name].IsString()) return "(no such member)";
  return {document[name].GetString(), document[name].GetStringLength()};
}

}  // namespace inferd::server
