// Any bytes as an image file: pixels of a size within the limit, or an error of the right kind.
#include <cstdio>
#include <cstdlib>
#include <memory>

#include "engine/image/image_decoder.h"
#include "tests/engine/image/sample_images.h"
#include "tests/fuzz/mutating_driver.h"

std::vector<std::string> inferd::fuzz::SeedInputs() {
  std::vector<std::string> seeds = engine::EncodeAll(engine::Gradient(24, 17));
  for (const char* text : {"P1 3 2 0 1 0 1 0 1", "P2 2 2 15 0 5 10 15", "P3 1 2 255 1 2 3 4 5 6"}) {
    seeds.emplace_back(text);
  }
  return seeds;
}

namespace {

uint32_t BigEndian(const std::string& text, size_t at) {
  uint32_t value = 0;
  for (size_t i = at; i < at + 4; ++i) value = value << 8 | static_cast<uint8_t>(text[i]);
  return value;
}

uint32_t Crc32(const std::string& text, size_t at, size_t count) {
  uint32_t crc = 0xffffffff;
  for (size_t i = at; i < at + count; ++i) {
    crc ^= static_cast<uint8_t>(text[i]);
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ (crc & 1 ? 0xedb88320 : 0);
  }
  return ~crc;
}

}  // namespace

// A PNG is damaged inside its chunks and their checksums put right, or the decoder would see
// nothing but wrong checksums.
bool inferd::fuzz::MutateInput(std::string& input, std::mt19937_64& random) {
  if (input.compare(0, 4, "\x89PNG") != 0) return false;
  for (size_t at = 8; at + 12 <= input.size();) {
    const size_t length = BigEndian(input, at);
    if (length > input.size() - at - 12) break;
    if (random() % 3 == 0) input[at + 4 + random() % (length + 4)] ^= 1 << random() % 8;
    const uint32_t crc = Crc32(input, at + 4, length + 4);
    for (int i = 0; i < 4; ++i) {
      input[at + 8 + length + i] = static_cast<char>(crc >> (24 - 8 * i));
    }
    at += length + 12;
  }
  return true;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  // Large claims are let through to the decoder, but not paid for: what is under test is whether
  // it stays within what it asked for.
  constexpr int64_t kMaxBytes = 16 << 20;
  std::unique_ptr<uint8_t[]> pixels;
  const absl::Status status = inferd::engine::DecodeImage(
      absl::MakeConstSpan(data, size), [&](int64_t width, int64_t height) {
        const int64_t bytes = 3 * width * height;
        if (pixels != nullptr || width < 1 || height < 1) std::abort();
        if (bytes > kMaxBytes) {
          return absl::StatusOr<uint8_t*>(absl::ResourceExhaustedError("too large to fuzz"));
        }
        pixels.reset(new uint8_t[bytes]);
        return absl::StatusOr<uint8_t*>(pixels.get());
      });
  if (!status.ok() && !absl::IsInvalidArgument(status) && !absl::IsUnimplemented(status) &&
      !absl::IsResourceExhausted(status)) {
    std::fprintf(stderr, "unexpected kind of error: %s\n", std::string(status.ToString()).c_str());
    std::abort();
  }
  if (status.ok() && pixels == nullptr) std::abort();
  return 0;
}
