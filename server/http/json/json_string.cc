#include "server/http/json/json_string.h"

#include <cstdint>

namespace inferd::server {
namespace {

const char* ReadHex4(const char* at, const char* end, uint32_t* value) {
  if (end - at < 4) return nullptr;
  *value = 0;
  for (int i = 0; i < 4; ++i, ++at) {
    const char c = *at;
    const int digit = c >= '0' && c <= '9'   ? c - '0'
                      : c >= 'a' && c <= 'f' ? c - 'a' + 10
                      : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                             : -1;
    if (digit < 0) return nullptr;
    *value = *value << 4 | static_cast<uint32_t>(digit);
  }
  return at;
}

void AppendUtf8(uint32_t code, std::string* out) {
  auto tail = [&](int shift) { out->push_back(static_cast<char>(0x80 | (code >> shift & 0x3f))); };
  if (code < 0x80) {
    out->push_back(static_cast<char>(code));
  } else if (code < 0x800) {
    out->push_back(static_cast<char>(0xc0 | code >> 6));
    tail(0);
  } else if (code < 0x10000) {
    out->push_back(static_cast<char>(0xe0 | code >> 12));
    tail(6);
    tail(0);
  } else {
    out->push_back(static_cast<char>(0xf0 | code >> 18));
    tail(12);
    tail(6);
    tail(0);
  }
}

// After "\u".
const char* ReadUnicodeEscape(const char* at, const char* end, std::string* out) {
  uint32_t code;
  at = ReadHex4(at, end, &code);
  if (at == nullptr || (code >= 0xdc00 && code < 0xe000)) return nullptr;
  if (code >= 0xd800 && code < 0xdc00) {
    uint32_t low;
    if (end - at < 6 || at[0] != '\\' || at[1] != 'u') return nullptr;
    at = ReadHex4(at + 2, end, &low);
    if (at == nullptr || low < 0xdc00 || low >= 0xe000) return nullptr;
    code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
  }
  AppendUtf8(code, out);
  return at;
}

}  // namespace

const char* ReadJsonString(const char* at, const char* end, std::string* value) {
  value->clear();
  if (at == end || *at != '"') return nullptr;
  const char* plain = ++at;  // start of the run not yet copied
  while (at < end) {
    const char c = *at;
    if (c == '"') {
      value->append(plain, at);
      return at + 1;
    }
    if (static_cast<unsigned char>(c) < 0x20) return nullptr;
    if (c != '\\') {
      ++at;
      continue;
    }
    value->append(plain, at);
    if (++at == end) return nullptr;
    switch (*at++) {
      case '"':
        value->push_back('"');
        break;
      case '\\':
        value->push_back('\\');
        break;
      case '/':
        value->push_back('/');
        break;
      case 'b':
        value->push_back('\b');
        break;
      case 'f':
        value->push_back('\f');
        break;
      case 'n':
        value->push_back('\n');
        break;
      case 'r':
        value->push_back('\r');
        break;
      case 't':
        value->push_back('\t');
        break;
      case 'u':
        at = ReadUnicodeEscape(at, end, value);
        if (at == nullptr) return nullptr;
        break;
      default:
        return nullptr;
    }
    plain = at;
  }
  return nullptr;
}

}  // namespace inferd::server
