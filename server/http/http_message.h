// A request and a response as the REST API sees them: no sockets.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "engine/tensor/tensor.h"
#include "server/http/body_buffer.h"
#include "server/wire/bytes_view.h"

namespace inferd::server {

enum class HttpMethod : uint8_t { kGet, kHead, kPost, kOther };

struct HttpRequest {
  HttpMethod method = HttpMethod::kGet;
  std::string target;  // path and query, as sent
  std::string peer;    // "10.0.0.1:5000"
  // Headers that mean something here; empty where absent.
  std::string accept;
  std::string accept_encoding;
  std::string content_encoding;
  std::string request_id;  // X-Request-Id
  std::optional<std::string> inference_header_length;
  BodyBuffer body;
};

struct HttpResponse {
  // `text` up to text_end, then tensor bytes; the pieces are sent in order, `text` beyond the last
  // piece's end included.
  struct Piece {
    size_t text_end = 0;
    ByteSpan tensor_bytes;
    engine::BufferRef buffer;  // keeps tensor_bytes alive
  };

  int status = 200;
  std::string content_type;  // empty: none
  std::vector<std::pair<std::string, std::string>> headers;
  std::string text;
  std::vector<Piece> pieces;
  bool close = false;  // the connection ends with this answer

  int64_t body_bytes() const {
    auto bytes = static_cast<int64_t>(text.size());
    for (const Piece& piece : pieces) bytes += static_cast<int64_t>(piece.tensor_bytes.size());
    return bytes;
  }
};

}  // namespace inferd::server
