// WebP by libwebp.
#include <webp/decode.h>

#include "engine/image/image_formats.h"
#include "engine/status_macros.h"

namespace inferd::engine {

absl::Status DecodeWebp(absl::Span<const uint8_t> file, AllocatePixels allocate) {
  WebPBitstreamFeatures features;
  if (WebPGetFeatures(file.data(), file.size(), &features) != VP8_STATUS_OK) {
    return absl::InvalidArgumentError("WebP: the header is damaged");
  }
  if (features.has_animation) {
    return absl::UnimplementedError("WebP: animations are not supported");
  }
  ASSIGN_OR_RETURN(uint8_t * pixels, allocate(features.width, features.height));
  const int stride = 3 * features.width;  // a side is 16383 pixels at most
  const size_t size = static_cast<size_t>(stride) * features.height;
  if (WebPDecodeRGBInto(file.data(), file.size(), pixels, size, stride) == nullptr) {
    return absl::InvalidArgumentError("WebP: the data is damaged or ends early");
  }
  return absl::OkStatus();
}

}  // namespace inferd::engine
