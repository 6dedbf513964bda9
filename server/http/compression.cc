#include "server/http/compression.h"

#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <memory>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "engine/status_macros.h"

namespace inferd::server {
namespace {

constexpr int kWindowBits = 15;
constexpr int kGzipWindowBits = kWindowBits + 16;
// Answers are compressed while a client waits.
constexpr int kLevel = 1;
constexpr uInt kMaxChunk = 1 << 30;  // zlib counts in 32 bits

int WindowBits(ContentCoding coding) {
  return coding == ContentCoding::kGzip ? kGzipWindowBits : kWindowBits;
}

absl::Status NoMemory() { return absl::ResourceExhaustedError("zlib has no memory"); }

}  // namespace

absl::StatusOr<ContentCoding> ParseContentEncoding(absl::string_view header) {
  header = absl::StripAsciiWhitespace(header);
  if (header.empty() || absl::EqualsIgnoreCase(header, "identity")) {
    return ContentCoding::kIdentity;
  }
  if (absl::EqualsIgnoreCase(header, "gzip") || absl::EqualsIgnoreCase(header, "x-gzip")) {
    return ContentCoding::kGzip;
  }
  if (absl::EqualsIgnoreCase(header, "deflate")) return ContentCoding::kDeflate;
  return absl::InvalidArgumentError(absl::StrCat(
      "Content-Encoding '", header, "' is not supported; gzip, deflate and identity are"));
}

ContentCoding ChooseContentCoding(absl::string_view accept_encoding) {
  double gzip = 0, deflate = 0;
  for (absl::string_view item : absl::StrSplit(accept_encoding, ',')) {
    const std::pair<absl::string_view, absl::string_view> parts =
        absl::StrSplit(item, absl::MaxSplits(';', 1));
    double weight = 1;
    absl::string_view parameter = absl::StripAsciiWhitespace(parts.second);
    if (absl::StartsWithIgnoreCase(parameter, "q=")) {
      if (!absl::SimpleAtod(parameter.substr(2), &weight)) weight = 0;
    }
    const absl::string_view name = absl::StripAsciiWhitespace(parts.first);
    if (absl::EqualsIgnoreCase(name, "gzip")) gzip = weight;
    if (absl::EqualsIgnoreCase(name, "deflate")) deflate = weight;
  }
  if (gzip > 0 && gzip >= deflate) return ContentCoding::kGzip;
  return deflate > 0 ? ContentCoding::kDeflate : ContentCoding::kIdentity;
}

absl::StatusOr<BodyBuffer> Decompress(ContentCoding coding, const BodyBuffer& body,
                                      int64_t max_bytes, size_t aligned_offset) {
  z_stream stream{};
  if (inflateInit2(&stream, WindowBits(coding)) != Z_OK) return NoMemory();
  const auto cleanup = absl::MakeCleanup([&] { inflateEnd(&stream); });

  // Grows as the data turns out to need it, so that a small body cannot claim a large buffer.
  size_t capacity = std::min<size_t>(max_bytes, std::max<size_t>(4096, body.size() * 4));
  ASSIGN_OR_RETURN(BodyBuffer out, BodyBuffer::Allocate(capacity, aligned_offset));
  size_t written = 0, consumed = 0;
  int code = Z_OK;
  while (code != Z_STREAM_END) {
    if (written == capacity) {
      if (capacity == static_cast<size_t>(max_bytes)) {
        // The end of the stream may still come without a further byte.
        uint8_t probe;
        stream.next_out = &probe;
        stream.avail_out = 1;
        code = inflate(&stream, Z_NO_FLUSH);
        if (code == Z_STREAM_END && stream.avail_out == 1) break;
        return absl::OutOfRangeError(
            absl::StrCat("the body is longer than ", max_bytes,
                         " bytes when decompressed, the limit of this server (max_message_bytes)"));
      }
      capacity = std::min<size_t>(max_bytes, capacity * 2);
      ASSIGN_OR_RETURN(BodyBuffer larger, BodyBuffer::Allocate(capacity, aligned_offset));
      std::memcpy(larger.data(), out.data(), written);
      out = std::move(larger);
    }
    const uInt in = static_cast<uInt>(std::min<size_t>(body.size() - consumed, kMaxChunk));
    const uInt room = static_cast<uInt>(std::min<size_t>(capacity - written, kMaxChunk));
    stream.next_in = body.data() + consumed;
    stream.avail_in = in;
    stream.next_out = out.data() + written;
    stream.avail_out = room;
    code = inflate(&stream, Z_NO_FLUSH);
    consumed += in - stream.avail_in;
    written += room - stream.avail_out;
    if (code == Z_MEM_ERROR) return NoMemory();
    const bool stuck = in == stream.avail_in && room == stream.avail_out;
    if ((code != Z_OK && code != Z_STREAM_END && code != Z_BUF_ERROR) ||
        (stuck && code != Z_STREAM_END)) {
      return absl::InvalidArgumentError(
          absl::StrCat("the body cannot be decompressed: ",
                       stream.msg != nullptr ? stream.msg : "it ends before its data does"));
    }
  }
  if (consumed != body.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat(body.size() - consumed, " bytes follow the end of the compressed body"));
  }
  out.Truncate(written);
  return out;
}

absl::Status Compress(ContentCoding coding, HttpResponse* response) {
  z_stream stream{};
  if (deflateInit2(&stream, kLevel, Z_DEFLATED, WindowBits(coding), 8, Z_DEFAULT_STRATEGY) !=
      Z_OK) {
    return NoMemory();
  }
  const auto cleanup = absl::MakeCleanup([&] { deflateEnd(&stream); });
  std::string out;
  auto feed = [&](ByteSpan in, bool last) {
    do {
      const ByteSpan chunk = in.first(std::min<size_t>(in.size(), kMaxChunk));
      in.remove_prefix(chunk.size());
      stream.next_in = const_cast<uint8_t*>(chunk.data());
      stream.avail_in = static_cast<uInt>(chunk.size());
      const int flush = last && in.empty() ? Z_FINISH : Z_NO_FLUSH;
      do {
        const size_t size = out.size();
        constexpr size_t kStep = 64 << 10;
        out.resize(size + kStep);
        stream.next_out = reinterpret_cast<Bytef*>(out.data() + size);
        stream.avail_out = kStep;
        deflate(&stream, flush);
        out.resize(size + kStep - stream.avail_out);
      } while (stream.avail_out == 0);
    } while (!in.empty());
  };
  size_t text_begin = 0;
  const auto* text = reinterpret_cast<const uint8_t*>(response->text.data());
  for (const HttpResponse::Piece& piece : response->pieces) {
    feed(ByteSpan(text + text_begin, piece.text_end - text_begin), false);
    feed(piece.tensor_bytes, false);
    text_begin = piece.text_end;
  }
  feed(ByteSpan(text + text_begin, response->text.size() - text_begin), true);
  response->text = std::move(out);
  response->pieces.clear();
  response->headers.emplace_back("Content-Encoding",
                                 coding == ContentCoding::kGzip ? "gzip" : "deflate");
  return absl::OkStatus();
}

}  // namespace inferd::server
