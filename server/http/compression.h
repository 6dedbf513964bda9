// gzip and deflate (zlib format, RFC 1950 and 1952) of HTTP bodies.
#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "server/http/http_message.h"

namespace inferd::server {

enum class ContentCoding : uint8_t { kIdentity, kGzip, kDeflate };

// INVALID_ARGUMENT for a coding that is not supported, or more than one.
absl::StatusOr<ContentCoding> ParseContentEncoding(absl::string_view header);
// The coding of an answer to a client with this Accept-Encoding: gzip or deflate where it prefers
// them, else identity.
ContentCoding ChooseContentCoding(absl::string_view accept_encoding);

// `aligned_offset` as in BodyBuffer. OUT_OF_RANGE when the result would exceed `max_bytes`,
// found out without producing it; INVALID_ARGUMENT for data that cannot be decompressed.
absl::StatusOr<BodyBuffer> Decompress(ContentCoding coding, const BodyBuffer& body,
                                      int64_t max_bytes, size_t aligned_offset);
// Replaces the body of `response` by its compressed form and sets Content-Encoding.
absl::Status Compress(ContentCoding coding, HttpResponse* response);

}  // namespace inferd::server
