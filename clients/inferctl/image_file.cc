#include "clients/inferctl/image_file.h"

#include <png.h>
#include <turbojpeg.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "engine/status_macros.h"
#include "engine/whole_file.h"

namespace inferd::client {
namespace {

constexpr int kMaxSide = 16384;

absl::Status Bad(const std::string& path, absl::string_view why) {
  return absl::InvalidArgumentError(absl::StrCat(path, ": ", why));
}

absl::Status CheckSize(const std::string& path, int64_t width, int64_t height) {
  if (width < 1 || height < 1 || width > kMaxSide || height > kMaxSide) {
    return Bad(path, absl::StrCat("an image of ", width, "x", height, " pixels; at most ", kMaxSide,
                                  " on a side are read"));
  }
  return absl::OkStatus();
}

absl::StatusOr<Image> ReadPng(const std::string& path, const std::string& bytes, int channels) {
  png_image png{};
  png.version = PNG_IMAGE_VERSION;
  std::unique_ptr<png_image, decltype(&png_image_free)> freed(&png, png_image_free);
  if (!png_image_begin_read_from_memory(&png, bytes.data(), bytes.size())) {
    return Bad(path, png.message);
  }
  RETURN_IF_ERROR(CheckSize(path, png.width, png.height));
  png.format = channels == 1 ? PNG_FORMAT_GRAY : PNG_FORMAT_RGB;
  Image image{static_cast<int>(png.width), static_cast<int>(png.height), channels, {}};
  image.pixels.resize(PNG_IMAGE_SIZE(png));
  // Transparent pixels are laid over white paper.
  const png_color white{255, 255, 255};
  if (!png_image_finish_read(&png, &white, image.pixels.data(), 0, nullptr)) {
    return Bad(path, png.message);
  }
  return image;
}

absl::StatusOr<Image> ReadJpeg(const std::string& path, const std::string& bytes, int channels) {
  std::unique_ptr<void, decltype(&tjDestroy)> jpeg(tjInitDecompress(), tjDestroy);
  if (jpeg == nullptr) return absl::ResourceExhaustedError("cannot start the JPEG decoder");
  const auto* data = reinterpret_cast<const unsigned char*>(bytes.data());
  int width = 0, height = 0, subsampling = 0, colorspace = 0;
  if (tjDecompressHeader3(jpeg.get(), data, bytes.size(), &width, &height, &subsampling,
                          &colorspace) != 0) {
    return Bad(path, tjGetErrorStr2(jpeg.get()));
  }
  RETURN_IF_ERROR(CheckSize(path, width, height));
  Image image{width, height, channels, {}};
  image.pixels.resize(static_cast<size_t>(width) * height * channels);
  if (tjDecompress2(jpeg.get(), data, bytes.size(), image.pixels.data(), width, 0, height,
                    channels == 1 ? TJPF_GRAY : TJPF_RGB, 0) != 0) {
    return Bad(path, tjGetErrorStr2(jpeg.get()));
  }
  return image;
}

}  // namespace

absl::StatusOr<Image> ReadImage(const std::string& path, int channels) {
  if (channels != 1 && channels != 3) {
    return absl::InvalidArgumentError(absl::StrCat(
        path, ": an image fills an input of 1 or 3 channels, this one has ", channels));
  }
  ASSIGN_OR_RETURN(const std::string bytes, engine::ReadFile(path));
  if (absl::StartsWith(bytes, "\x89PNG")) return ReadPng(path, bytes, channels);
  if (absl::StartsWith(bytes, "\xff\xd8")) return ReadJpeg(path, bytes, channels);
  return Bad(path, "neither PNG nor JPEG");
}

std::vector<float> ResizeToFloat(const Image& image, int width, int height) {
  std::vector<float> out(static_cast<size_t>(width) * height * image.channels);
  auto sample = [&](int y, int x, int c) {
    y = std::clamp(y, 0, image.height - 1);
    x = std::clamp(x, 0, image.width - 1);
    return static_cast<float>(
        image.pixels[(static_cast<size_t>(y) * image.width + x) * image.channels + c]);
  };
  for (int y = 0; y < height; ++y) {
    const float sy = (y + 0.5f) * image.height / height - 0.5f;
    const int y0 = static_cast<int>(std::floor(sy));
    for (int x = 0; x < width; ++x) {
      const float sx = (x + 0.5f) * image.width / width - 0.5f;
      const int x0 = static_cast<int>(std::floor(sx));
      for (int c = 0; c < image.channels; ++c) {
        const float top = std::lerp(sample(y0, x0, c), sample(y0, x0 + 1, c), sx - x0);
        const float bottom = std::lerp(sample(y0 + 1, x0, c), sample(y0 + 1, x0 + 1, c), sx - x0);
        out[(static_cast<size_t>(y) * width + x) * image.channels + c] =
            std::lerp(top, bottom, sy - y0);
      }
    }
  }
  return out;
}

}  // namespace inferd::client
