#include "server/http/json/json_writer.h"

#include <charconv>
#include <cmath>
#include <cstring>
#include <type_traits>

#include "absl/strings/str_cat.h"
#include "engine/tensor/float16.h"
#include "server/wire/utf8.h"

namespace inferd::server {
namespace {

// Longest element: a double such as -2.2250738585072014e-308, and its comma.
constexpr size_t kMaxElementText = 32;
constexpr int64_t kBlock = 1024;

template <typename T>
char* WriteElement(T value, char* to) {
  if constexpr (std::is_same_v<T, bool>) {
    const absl::string_view text = value ? "true" : "false";
    std::memcpy(to, text.data(), text.size());
    return to + text.size();
  } else if constexpr (std::is_integral_v<T>) {
    return std::to_chars(to, to + kMaxElementText, value).ptr;
  } else if constexpr (std::is_floating_point_v<T>) {
    if (std::isfinite(value)) return std::to_chars(to, to + kMaxElementText, value).ptr;
    const absl::string_view text = std::isnan(value) ? "NaN" : value > 0 ? "Infinity" : "-Infinity";
    std::memcpy(to, text.data(), text.size());
    return to + text.size();
  } else {
    return WriteElement(static_cast<float>(value), to);
  }
}

template <typename T>
void AppendElements(absl::Span<const T> values, std::string* out) {
  for (size_t begin = 0; begin < values.size(); begin += kBlock) {
    const absl::Span<const T> block = values.subspan(begin, kBlock);
    const size_t size = out->size();
    out->resize(size + block.size() * kMaxElementText);
    char* to = out->data() + size;
    for (const T& value : block) {
      to = WriteElement(value, to);
      *to++ = ',';
    }
    out->resize(to - out->data());
  }
  if (!values.empty()) out->pop_back();
}

void AppendQuoted(absl::string_view text, std::string* out) {
  static constexpr char kHex[] = "0123456789abcdef";
  out->push_back('"');
  size_t plain = 0;  // start of the run not yet copied
  for (size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    if (c >= 0x20 && c != '"' && c != '\\') continue;
    out->append(text.data() + plain, i - plain);
    plain = i + 1;
    out->push_back('\\');
    switch (c) {
      case '"':
      case '\\':
        out->push_back(static_cast<char>(c));
        break;
      case '\n':
        out->push_back('n');
        break;
      case '\r':
        out->push_back('r');
        break;
      case '\t':
        out->push_back('t');
        break;
      default:
        out->append("u00");
        out->push_back(kHex[c >> 4]);
        out->push_back(kHex[c & 15]);
    }
  }
  out->append(text.data() + plain, text.size() - plain);
  out->push_back('"');
}

}  // namespace

void JsonWriter::Separate() {
  if (need_comma_) out_->push_back(',');
  need_comma_ = true;
}

void JsonWriter::Open(char bracket) {
  Separate();
  out_->push_back(bracket);
  need_comma_ = false;
}

void JsonWriter::Close(char bracket) {
  out_->push_back(bracket);
  need_comma_ = true;
}

void JsonWriter::Key(absl::string_view name) {
  Separate();
  AppendQuoted(name, out_);
  out_->push_back(':');
  need_comma_ = false;
}

void JsonWriter::String(absl::string_view text) {
  Separate();
  AppendQuoted(text, out_);
}

void JsonWriter::Int(int64_t value) {
  Separate();
  absl::StrAppend(out_, value);
}

void JsonWriter::Uint(uint64_t value) {
  Separate();
  absl::StrAppend(out_, value);
}

void JsonWriter::Bool(bool value) {
  Separate();
  out_->append(value ? "true" : "false");
}

void JsonWriter::Double(double value) {
  Separate();
  char buffer[kMaxElementText];
  out_->append(buffer, WriteElement(value, buffer));
}

absl::Status JsonWriter::Elements(const engine::TensorView& tensor) {
  Separate();
  out_->push_back('[');
  if (tensor.type == engine::ElementType::kString) {
    bool first = true;
    for (const std::string& text : tensor.span<std::string>()) {
      if (!IsValidUtf8(text)) {
        return absl::InvalidArgumentError(
            "a BYTES element is not valid UTF-8, which JSON cannot carry; request the output as "
            "binary data (parameter binary_data)");
      }
      if (!first) out_->push_back(',');
      first = false;
      AppendQuoted(text, out_);
    }
  } else {
    const bool known =
        engine::DispatchType<float, double, engine::Float16, engine::BFloat16, int8_t, int16_t,
                             int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t, bool>(
            tensor.type, [&]<typename T>() { AppendElements<T>(tensor.span<T>(), out_); });
    if (!known) {
      return absl::UnimplementedError(absl::StrCat(
          "element type ", engine::ElementTypeName(tensor.type), " has no form in JSON"));
    }
  }
  out_->push_back(']');
  return absl::OkStatus();
}

}  // namespace inferd::server
