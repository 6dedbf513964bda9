#include "tests/engine/image/sample_images.h"

#include <openjpeg.h>
#include <png.h>
#include <tiffio.h>
#include <webp/encode.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "absl/strings/str_cat.h"

// It relies on <cstdio> before it.
#include <jpeglib.h>

namespace inferd::engine {
namespace {

void Require(bool done, const char* what) {
  if (done) return;
  std::fprintf(stderr, "cannot make a sample image: %s\n", what);
  std::abort();
}

// A file in memory that can be written anywhere.
struct Memory {
  std::string bytes;
  size_t at = 0;

  size_t Write(const void* data, size_t count) {
    if (at + count > bytes.size()) bytes.resize(at + count);
    std::memcpy(bytes.data() + at, data, count);
    at += count;
    return count;
  }
  size_t Read(void* data, size_t count) {
    count = at < bytes.size() ? std::min(count, bytes.size() - at) : 0;
    std::memcpy(data, bytes.data() + at, count);
    at += count;
    return count;
  }
};

Memory& MemoryOf(void* user) { return *static_cast<Memory*>(user); }

std::string Number(uint32_t value, int bytes) {
  std::string text;
  for (int i = 0; i < bytes; ++i) text.push_back(static_cast<char>(value >> (8 * i)));
  return text;
}

}  // namespace

Pixels Gradient(int width, int height) {
  Pixels pixels{width, height, {}};
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      pixels.rgb.push_back(static_cast<uint8_t>(255 * x / width));
      pixels.rgb.push_back(static_cast<uint8_t>(255 * y / height));
      pixels.rgb.push_back(static_cast<uint8_t>(255 * (x + y) / (width + height)));
    }
  }
  return pixels;
}

std::string EncodePng(const Pixels& pixels) {
  png_image png{};
  png.version = PNG_IMAGE_VERSION;
  png.width = pixels.width;
  png.height = pixels.height;
  png.format = PNG_FORMAT_RGB;
  png_alloc_size_t size = 0;
  Require(png_image_write_to_memory(&png, nullptr, &size, 0, pixels.rgb.data(), 0, nullptr), "PNG");
  std::string file(size, '\0');
  Require(png_image_write_to_memory(&png, file.data(), &size, 0, pixels.rgb.data(), 0, nullptr),
          "PNG");
  file.resize(size);
  return file;
}

std::string EncodeJpeg(const Pixels& pixels, bool progressive) {
  jpeg_compress_struct jpeg{};
  jpeg_error_mgr errors;
  jpeg.err = jpeg_std_error(&errors);
  jpeg_create_compress(&jpeg);
  unsigned char* data = nullptr;
  unsigned long size = 0;  // NOLINT: libjpeg's
  jpeg_mem_dest(&jpeg, &data, &size);
  jpeg.image_width = pixels.width;
  jpeg.image_height = pixels.height;
  jpeg.input_components = 3;
  jpeg.in_color_space = JCS_RGB;
  jpeg_set_defaults(&jpeg);
  jpeg_set_quality(&jpeg, 95, TRUE);
  if (progressive) jpeg_simple_progression(&jpeg);
  jpeg_start_compress(&jpeg, TRUE);
  for (int y = 0; y < pixels.height; ++y) {
    JSAMPROW row = const_cast<uint8_t*>(pixels.rgb.data()) + 3 * y * pixels.width;
    jpeg_write_scanlines(&jpeg, &row, 1);
  }
  jpeg_finish_compress(&jpeg);
  std::string file(reinterpret_cast<const char*>(data), size);
  jpeg_destroy_compress(&jpeg);
  std::free(data);
  return file;
}

std::string EncodeLosslessWebp(const Pixels& pixels) {
  uint8_t* data = nullptr;
  const size_t size = WebPEncodeLosslessRGB(pixels.rgb.data(), pixels.width, pixels.height,
                                            3 * pixels.width, &data);
  Require(size > 0, "WebP");
  std::string file(reinterpret_cast<const char*>(data), size);
  WebPFree(data);
  return file;
}

std::string EncodeLosslessJpeg2000(const Pixels& pixels) {
  opj_image_cmptparm_t components[3] = {};
  for (opj_image_cmptparm_t& c : components) {
    c.dx = c.dy = 1;
    c.w = pixels.width;
    c.h = pixels.height;
    c.prec = 8;
  }
  opj_image_t* image = opj_image_create(3, components, OPJ_CLRSPC_SRGB);
  Require(image != nullptr, "JPEG 2000");
  image->x1 = pixels.width;
  image->y1 = pixels.height;
  for (int i = 0; i < pixels.width * pixels.height; ++i) {
    for (int c = 0; c < 3; ++c) image->comps[c].data[i] = pixels.rgb[3 * i + c];
  }
  opj_cparameters_t parameters;
  opj_set_default_encoder_parameters(&parameters);
  parameters.tcp_numlayers = 1;
  parameters.cp_disto_alloc = 1;
  parameters.numresolution = 3;
  parameters.tcp_mct = 1;
  opj_codec_t* codec = opj_create_compress(OPJ_CODEC_JP2);
  Require(opj_setup_encoder(codec, &parameters, image), "JPEG 2000");
  Memory memory;
  opj_stream_t* stream = opj_stream_create(1 << 16, OPJ_FALSE);
  opj_stream_set_user_data(stream, &memory, nullptr);
  opj_stream_set_write_function(stream, [](void* data, OPJ_SIZE_T count, void* user) {
    return MemoryOf(user).Write(data, count);
  });
  opj_stream_set_seek_function(stream, [](OPJ_OFF_T to, void* user) -> OPJ_BOOL {
    MemoryOf(user).at = to;
    return OPJ_TRUE;
  });
  opj_stream_set_skip_function(stream, [](OPJ_OFF_T count, void* user) {
    MemoryOf(user).at += count;
    return count;
  });
  Require(opj_start_compress(codec, image, stream) && opj_encode(codec, stream) &&
              opj_end_compress(codec, stream),
          "JPEG 2000");
  opj_stream_destroy(stream);
  opj_destroy_codec(codec);
  opj_image_destroy(image);
  return memory.bytes;
}

std::string EncodeLzwTiff(const Pixels& pixels) {
  Memory memory;
  TIFF* tiff = TIFFClientOpen(
      "sample", "w", &memory,
      [](thandle_t user, void* data, tmsize_t count) {
        return static_cast<tmsize_t>(MemoryOf(user).Read(data, count));
      },
      [](thandle_t user, void* data, tmsize_t count) {
        return static_cast<tmsize_t>(MemoryOf(user).Write(data, count));
      },
      [](thandle_t user, toff_t offset, int whence) {
        Memory& file = MemoryOf(user);
        file.at = offset + (whence == SEEK_CUR   ? file.at
                            : whence == SEEK_END ? file.bytes.size()
                                                 : 0);
        return static_cast<toff_t>(file.at);
      },
      [](thandle_t) { return 0; },
      [](thandle_t user) { return static_cast<toff_t>(MemoryOf(user).bytes.size()); },
      [](thandle_t, void**, toff_t*) { return 0; }, [](thandle_t, void*, toff_t) {});
  Require(tiff != nullptr, "TIFF");
  TIFFSetField(tiff, TIFFTAG_IMAGEWIDTH, static_cast<uint32_t>(pixels.width));
  TIFFSetField(tiff, TIFFTAG_IMAGELENGTH, static_cast<uint32_t>(pixels.height));
  TIFFSetField(tiff, TIFFTAG_BITSPERSAMPLE, 8);
  TIFFSetField(tiff, TIFFTAG_SAMPLESPERPIXEL, 3);
  TIFFSetField(tiff, TIFFTAG_PHOTOMETRIC, PHOTOMETRIC_RGB);
  TIFFSetField(tiff, TIFFTAG_PLANARCONFIG, PLANARCONFIG_CONTIG);
  TIFFSetField(tiff, TIFFTAG_COMPRESSION, COMPRESSION_LZW);
  TIFFSetField(tiff, TIFFTAG_ROWSPERSTRIP, 5);
  for (int y = 0; y < pixels.height; ++y) {
    std::vector<uint8_t> row(pixels.rgb.begin() + 3 * y * pixels.width,
                             pixels.rgb.begin() + 3 * (y + 1) * pixels.width);
    Require(TIFFWriteScanline(tiff, row.data(), y, 0) == 1, "TIFF");
  }
  TIFFClose(tiff);
  return memory.bytes;
}

std::string EncodeBmp(const Pixels& pixels) {
  const int stride = (3 * pixels.width + 3) / 4 * 4;
  const uint32_t size = static_cast<uint32_t>(stride) * pixels.height;
  std::string file = absl::StrCat("BM", Number(54 + size, 4), Number(0, 4), Number(54, 4));
  file += Number(40, 4) + Number(pixels.width, 4) + Number(pixels.height, 4) + Number(1, 2) +
          Number(24, 2) + Number(0, 4) + Number(size, 4) + std::string(16, '\0');
  for (int y = pixels.height - 1; y >= 0; --y) {
    for (int x = 0; x < pixels.width; ++x) {
      const uint8_t* rgb = pixels.rgb.data() + 3 * (y * pixels.width + x);
      for (int c = 2; c >= 0; --c) file.push_back(static_cast<char>(rgb[c]));
    }
    file.append(stride - 3 * pixels.width, '\0');
  }
  return file;
}

std::string EncodePpm(const Pixels& pixels) {
  return absl::StrCat("P6\n# a comment\n", pixels.width, " ", pixels.height, "\n255\n",
                      std::string(pixels.rgb.begin(), pixels.rgb.end()));
}

std::vector<std::string> EncodeAll(const Pixels& pixels) {
  return {EncodePng(pixels),
          EncodeJpeg(pixels, false),
          EncodeJpeg(pixels, true),
          EncodeLosslessWebp(pixels),
          EncodeLosslessJpeg2000(pixels),
          EncodeLzwTiff(pixels),
          EncodeBmp(pixels),
          EncodePpm(pixels)};
}

}  // namespace inferd::engine
