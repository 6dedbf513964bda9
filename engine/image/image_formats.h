// The decoders of single formats: one per file, each as DecodeImage, for bytes that begin with the
// format's signature.
#pragma once

#include <cstdint>

#include "absl/types/span.h"
#include "engine/image/image_decoder.h"

namespace inferd::engine {

// `allocate` as these decoders get it also refuses images that are too large.
absl::Status DecodeBmp(absl::Span<const uint8_t> file, AllocatePixels allocate);
absl::Status DecodeJpeg(absl::Span<const uint8_t> file, AllocatePixels allocate);
absl::Status DecodeJpeg2000(absl::Span<const uint8_t> file, AllocatePixels allocate);
absl::Status DecodePng(absl::Span<const uint8_t> file, AllocatePixels allocate);
absl::Status DecodePnm(absl::Span<const uint8_t> file, AllocatePixels allocate);
absl::Status DecodeTiff(absl::Span<const uint8_t> file, AllocatePixels allocate);
absl::Status DecodeWebp(absl::Span<const uint8_t> file, AllocatePixels allocate);

// A sample in [0, max] to [0, 255], to the nearest.
inline uint8_t ScaleSample(uint64_t value, uint64_t max) {
  return static_cast<uint8_t>((value * 255 + max / 2) / max);
}

// Ink to light: cyan, magenta, yellow and black in [0, 255], 255 being all of the ink.
inline void CmykToRgb(int c, int m, int y, int k, uint8_t* rgb) {
  rgb[0] = static_cast<uint8_t>(((255 - c) * (255 - k) + 127) / 255);
  rgb[1] = static_cast<uint8_t>(((255 - m) * (255 - k) + 127) / 255);
  rgb[2] = static_cast<uint8_t>(((255 - y) * (255 - k) + 127) / 255);
}

}  // namespace inferd::engine
