// PNG and JPEG files as 8-bit pixels.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace inferd::client {

// Row-major, channels interleaved.
struct Image {
  int width = 0;
  int height = 0;
  int channels = 0;  // 1 (gray) or 3 (RGB)
  std::vector<uint8_t> pixels;
};

// Decodes by the file's contents, to gray or RGB as asked. INVALID_ARGUMENT naming the file for
// what is neither PNG nor JPEG, is damaged, or is larger than 16384 pixels on a side.
absl::StatusOr<Image> ReadImage(const std::string& path, int channels);

// Bilinear, pixel centres at half coordinates, edges clamped.
std::vector<float> ResizeToFloat(const Image& image, int width, int height);

}  // namespace inferd::client
