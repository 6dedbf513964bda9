#include "engine/image/image_decoder.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "engine/image/image_formats.h"

namespace inferd::engine {
namespace {

using DecodeFn = absl::Status (*)(absl::Span<const uint8_t>, AllocatePixels);

bool StartsWith(absl::Span<const uint8_t> file, absl::string_view signature, size_t at = 0) {
  return file.size() >= at + signature.size() &&
         std::equal(signature.begin(), signature.end(), file.begin() + at,
                    [](char a, uint8_t b) { return static_cast<uint8_t>(a) == b; });
}

DecodeFn DecoderOf(absl::Span<const uint8_t> file) {
  using absl::string_view;
  if (StartsWith(file, "\xff\xd8\xff")) return DecodeJpeg;
  if (StartsWith(file, "\x89PNG\r\n\x1a\n")) return DecodePng;
  if (StartsWith(file, "RIFF") && StartsWith(file, "WEBP", 8)) return DecodeWebp;
  if (StartsWith(file, "BM")) return DecodeBmp;
  if (StartsWith(file, string_view("II*\0", 4)) || StartsWith(file, string_view("MM\0*", 4)) ||
      StartsWith(file, string_view("II+\0", 4)) || StartsWith(file, string_view("MM\0+", 4))) {
    return DecodeTiff;
  }
  if (StartsWith(file, string_view("\0\0\0\x0cjP  \r\n\x87\n", 12)) ||
      StartsWith(file, "\xff\x4f\xff\x51")) {
    return DecodeJpeg2000;
  }
  if (file.size() > 2 && file[0] == 'P' && file[1] >= '1' && file[1] <= '6') return DecodePnm;
  return nullptr;
}

}  // namespace

absl::Status DecodeImage(absl::Span<const uint8_t> file, AllocatePixels allocate) {
  const DecodeFn decode = DecoderOf(file);
  if (decode == nullptr) {
    return absl::InvalidArgumentError(
        "not an image file of a known format: BMP, JPEG, JPEG 2000, PNG, PNM, TIFF or WebP");
  }
  return decode(file, [&](int64_t width, int64_t height) -> absl::StatusOr<uint8_t*> {
    if (width < 1 || height < 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("an image of ", width, "x", height, " pixels"));
    }
    if (width > kMaxImagePixels / height) {
      return absl::ResourceExhaustedError(absl::StrCat(
          "an image of ", width, "x", height, " pixels, more than the limit of ", kMaxImagePixels));
    }
    return allocate(width, height);
  });
}

}  // namespace inferd::engine
