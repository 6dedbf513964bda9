// JPEG 2000, as a JP2 file or a bare codestream, by OpenJPEG.
#include <openjpeg.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "engine/image/image_formats.h"
#include "engine/status_macros.h"

namespace inferd::engine {
namespace {

// Components are decoded to 32 bits each, whether they are shown or not: gray or colour, alpha,
// and one more.
constexpr uint32_t kMaxComponents = 5;
constexpr uint32_t kMaxPrecision = 30;
constexpr uint64_t kMaxTiles = 8192;

struct Source {
  const uint8_t* data;
  size_t size;
  size_t at = 0;
};

OPJ_SIZE_T Read(void* to, OPJ_SIZE_T count, void* user) {
  auto* source = static_cast<Source*>(user);
  count = std::min<OPJ_SIZE_T>(count, source->size - source->at);
  if (count == 0) return static_cast<OPJ_SIZE_T>(-1);  // the end
  std::memcpy(to, source->data + source->at, count);
  source->at += count;
  return count;
}
OPJ_BOOL Seek(OPJ_OFF_T to, void* user) {
  auto* source = static_cast<Source*>(user);
  if (to < 0 || static_cast<size_t>(to) > source->size) return OPJ_FALSE;
  source->at = static_cast<size_t>(to);
  return OPJ_TRUE;
}
OPJ_OFF_T Skip(OPJ_OFF_T count, void* user) {
  auto* source = static_cast<Source*>(user);
  if (count < 0 || static_cast<size_t>(count) > source->size - source->at) return -1;
  source->at += static_cast<size_t>(count);
  return count;
}

void OnError(const char* message, void* user) {
  auto* first = static_cast<std::string*>(user);
  if (first->empty()) *first = std::string(absl::StripAsciiWhitespace(message));
}
void Ignore(const char*, void*) {}

absl::Status Damaged(const std::string& message) {
  return absl::InvalidArgumentError(
      absl::StrCat("JPEG 2000: ", message.empty() ? "the data is damaged" : message));
}

uint32_t BigEndian(absl::Span<const uint8_t> file, size_t at) {
  return uint32_t{file[at]} << 24 | uint32_t{file[at + 1]} << 16 | uint32_t{file[at + 2]} << 8 |
         file[at + 3];
}

// Where the codestream of a JP2 file begins: in the first box of type jp2c.
absl::StatusOr<size_t> FindCodestream(absl::Span<const uint8_t> file) {
  if (file[0] == 0xff) return 0;
  for (uint64_t at = 0; at + 8 <= file.size();) {
    const uint64_t left = file.size() - at;
    uint64_t size = BigEndian(file, at), header = 8;
    if (size == 1 && left >= 16) {
      header = 16;
      size = uint64_t{BigEndian(file, at + 8)} << 32 | BigEndian(file, at + 12);
    } else if (size == 0) {
      size = left;  // the last box
    }
    if (std::memcmp(file.data() + at + 4, "jp2c", 4) == 0) return at + header;
    if (size < header || size > left) break;
    at += size;
  }
  return Damaged("there is no codestream");
}

// OpenJPEG allocates for every tile and component that the header announces before it looks
// further, which a file of some kilobytes can raise to terabytes.
absl::Status CheckTiles(absl::Span<const uint8_t> file) {
  ASSIGN_OR_RETURN(const size_t at, FindCodestream(file));
  // SOC, then SIZ: its length, capabilities, size and offset of the image, of a tile, components.
  constexpr size_t kSizBytes = 42;
  if (at + kSizBytes > file.size() || BigEndian(file, at) != 0xff4fff51) {
    return Damaged("the codestream has no header");
  }
  const auto tiles = [&](size_t axis) -> uint64_t {
    const uint64_t end = BigEndian(file, at + 8 + axis);
    const uint64_t tile = BigEndian(file, at + 24 + axis);
    const uint64_t tile_offset = BigEndian(file, at + 32 + axis);
    if (tile == 0 || end <= tile_offset) return 0;
    return (end - tile_offset + tile - 1) / tile;
  };
  const uint64_t columns = tiles(0), rows = tiles(4);
  if (columns == 0 || rows == 0) return Damaged("the tiles do not cover the image");
  const uint32_t components = uint32_t{file[at + 40]} << 8 | file[at + 41];
  if (rows > kMaxTiles / columns) {
    return absl::ResourceExhaustedError(absl::StrCat("JPEG 2000: an image of ", columns, "x", rows,
                                                     " tiles, more than the limit of ", kMaxTiles));
  }
  if (components < 1 || components > kMaxComponents) {
    return absl::UnimplementedError(absl::StrCat("JPEG 2000: an image of ", components,
                                                 " components, at most ", kMaxComponents,
                                                 " are supported"));
  }
  return absl::OkStatus();
}

// One component as 8-bit samples at the resolution of the image.
class Channel {
 public:
  Channel(const opj_image_comp_t& component, int64_t width, int64_t height)
      : component_(component), width_(width), height_(height) {}

  // In [0, 255].
  int At(int64_t x, int64_t y) const {
    // A component may be sampled more coarsely than the image.
    const int64_t column = component_.w == width_ ? x : x * component_.w / width_;
    const int64_t row = component_.h == height_ ? y : y * component_.h / height_;
    const int64_t max = (int64_t{1} << component_.prec) - 1;
    const int64_t offset = component_.sgnd ? int64_t{1} << (component_.prec - 1) : 0;
    const int64_t value = component_.data[row * component_.w + column] + offset;
    return ScaleSample(static_cast<uint64_t>(std::clamp<int64_t>(value, 0, max)),
                       static_cast<uint64_t>(max));
  }

 private:
  const opj_image_comp_t& component_;
  int64_t width_, height_;
};

// ITU-T T.871 with full range, as JPEG.
void YccToRgb(int y, int cb, int cr, uint8_t* rgb) {
  const double b = cb - 128, r = cr - 128;
  const auto round = [](double v) { return static_cast<uint8_t>(std::clamp(v + 0.5, 0.0, 255.0)); };
  rgb[0] = round(y + 1.402 * r);
  rgb[1] = round(y - 0.344136 * b - 0.714136 * r);
  rgb[2] = round(y + 1.772 * b);
}

absl::Status CheckComponents(const opj_image_t& image) {
  if (image.numcomps < 1 || image.numcomps > kMaxComponents) {
    return absl::UnimplementedError(absl::StrCat("JPEG 2000: an image of ", image.numcomps,
                                                 " components, at most ", kMaxComponents,
                                                 " are supported"));
  }
  for (uint32_t c = 0; c < image.numcomps; ++c) {
    const opj_image_comp_t& component = image.comps[c];
    if (component.prec < 1 || component.prec > kMaxPrecision) {
      return absl::UnimplementedError(
          absl::StrCat("JPEG 2000: samples of ", component.prec, " bits are not supported"));
    }
  }
  return absl::OkStatus();
}

absl::Status Show(const opj_image_t& image, int64_t width, int64_t height, uint8_t* pixels) {
  RETURN_IF_ERROR(CheckComponents(image));  // a palette may have changed them
  for (uint32_t c = 0; c < image.numcomps; ++c) {
    const opj_image_comp_t& component = image.comps[c];
    if (component.data == nullptr || component.w < 1 || component.h < 1 || component.w > width ||
        component.h > height) {
      return Damaged("");
    }
  }
  const bool gray = image.numcomps < 3 || image.color_space == OPJ_CLRSPC_GRAY;
  const bool cmyk = image.color_space == OPJ_CLRSPC_CMYK && image.numcomps >= 4;
  const bool ycc = image.color_space == OPJ_CLRSPC_SYCC || image.color_space == OPJ_CLRSPC_EYCC;
  const auto channel = [&](uint32_t c) {
    return Channel(image.comps[std::min(c, image.numcomps - 1)], width, height);
  };
  const std::array<Channel, 4> channels = {channel(0), channel(1), channel(2), channel(3)};
  for (int64_t y = 0; y < height; ++y) {
    for (int64_t x = 0; x < width; ++x, pixels += 3) {
      const int first = channels[0].At(x, y);
      if (gray) {
        std::fill_n(pixels, 3, static_cast<uint8_t>(first));
      } else if (cmyk) {
        CmykToRgb(first, channels[1].At(x, y), channels[2].At(x, y), channels[3].At(x, y), pixels);
      } else if (ycc) {
        YccToRgb(first, channels[1].At(x, y), channels[2].At(x, y), pixels);
      } else {
        pixels[0] = static_cast<uint8_t>(first);
        pixels[1] = static_cast<uint8_t>(channels[1].At(x, y));
        pixels[2] = static_cast<uint8_t>(channels[2].At(x, y));
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status DecodeJpeg2000(absl::Span<const uint8_t> file, AllocatePixels allocate) {
  RETURN_IF_ERROR(CheckTiles(file));
  std::string error;
  Source source{file.data(), file.size()};
  const std::unique_ptr<opj_stream_t, decltype(&opj_stream_destroy)> stream(
      opj_stream_create(1 << 16, OPJ_TRUE), opj_stream_destroy);
  const std::unique_ptr<opj_codec_t, decltype(&opj_destroy_codec)> codec(
      opj_create_decompress(file[0] == 0xff ? OPJ_CODEC_J2K : OPJ_CODEC_JP2), opj_destroy_codec);
  if (stream == nullptr || codec == nullptr) {
    return absl::ResourceExhaustedError("no memory for the JPEG 2000 decoder");
  }
  opj_stream_set_user_data(stream.get(), &source, nullptr);
  opj_stream_set_user_data_length(stream.get(), file.size());
  opj_stream_set_read_function(stream.get(), Read);
  opj_stream_set_seek_function(stream.get(), Seek);
  opj_stream_set_skip_function(stream.get(), Skip);
  opj_set_error_handler(codec.get(), OnError, &error);
  opj_set_warning_handler(codec.get(), Ignore, nullptr);
  opj_set_info_handler(codec.get(), Ignore, nullptr);
  opj_dparameters_t parameters;
  opj_set_default_decoder_parameters(&parameters);
  if (!opj_setup_decoder(codec.get(), &parameters) ||
      !opj_decoder_set_strict_mode(codec.get(), OPJ_TRUE)) {
    return Damaged(error);
  }
  opj_image_t* header = nullptr;
  const bool read = opj_read_header(stream.get(), codec.get(), &header);
  const std::unique_ptr<opj_image_t, decltype(&opj_image_destroy)> image(header, opj_image_destroy);
  if (!read || image == nullptr) return Damaged(error);
  RETURN_IF_ERROR(CheckComponents(*image));
  const int64_t width = int64_t{image->x1} - image->x0;
  const int64_t height = int64_t{image->y1} - image->y0;
  ASSIGN_OR_RETURN(uint8_t * pixels, allocate(width, height));
  if (!opj_decode(codec.get(), stream.get(), image.get()) ||
      !opj_end_decompress(codec.get(), stream.get())) {
    return Damaged(error);
  }
  return Show(*image, width, height, pixels);
}

}  // namespace inferd::engine
