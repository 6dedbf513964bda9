// TIFF by libtiff: the first image of the file.
#include <tiffio.h>

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <memory>
#include <new>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/image/image_formats.h"
#include "engine/status_macros.h"

namespace inferd::engine {
namespace {

// A strip or tile may be as large as the largest image.
constexpr tmsize_t kMaxAllocation = tmsize_t{4} * kMaxImagePixels;

struct Source {
  const uint8_t* data;
  uint64_t size;
  uint64_t at = 0;
  char message[256] = {};
};

tmsize_t Read(thandle_t handle, void* to, tmsize_t count) {
  auto* source = static_cast<Source*>(handle);
  if (count < 0 || source->at >= source->size) return 0;
  const uint64_t given =
      std::min<uint64_t>(static_cast<uint64_t>(count), source->size - source->at);
  std::memcpy(to, source->data + source->at, given);
  source->at += given;
  return static_cast<tmsize_t>(given);
}
tmsize_t Write(thandle_t, void*, tmsize_t) { return -1; }
toff_t Seek(thandle_t handle, toff_t offset, int whence) {
  auto* source = static_cast<Source*>(handle);
  // Offsets are unsigned and wrap around, which makes negative ones work.
  if (whence == SEEK_CUR) offset += source->at;
  if (whence == SEEK_END) offset += source->size;
  source->at = offset;  // Read answers for what lies past the end
  return offset;
}
int Close(thandle_t) { return 0; }
toff_t Size(thandle_t handle) { return static_cast<Source*>(handle)->size; }
int Map(thandle_t, void**, toff_t*) { return 0; }
void Unmap(thandle_t, void*, toff_t) {}

// Keeps the first message: the later ones follow from it.
int OnError(TIFF*, void* user, const char*, const char* format, va_list arguments) {
  auto* source = static_cast<Source*>(user);
  if (source->message[0] == '\0') {
    std::vsnprintf(source->message, sizeof(source->message), format, arguments);
  }
  return 1;  // handled
}
int OnWarning(TIFF*, void*, const char*, const char*, va_list) { return 1; }

absl::Status Damaged(const Source& source) {
  return absl::InvalidArgumentError(
      absl::StrCat("TIFF: ", source.message[0] == '\0' ? "the file is damaged" : source.message));
}

}  // namespace

absl::Status DecodeTiff(absl::Span<const uint8_t> file, AllocatePixels allocate) {
  Source source{file.data(), file.size()};
  const std::unique_ptr<TIFFOpenOptions, decltype(&TIFFOpenOptionsFree)> options(
      TIFFOpenOptionsAlloc(), TIFFOpenOptionsFree);
  if (options == nullptr) return absl::ResourceExhaustedError("no memory for the TIFF decoder");
  TIFFOpenOptionsSetMaxSingleMemAlloc(options.get(), kMaxAllocation);
  TIFFOpenOptionsSetErrorHandlerExtR(options.get(), OnError, &source);
  TIFFOpenOptionsSetWarningHandlerExtR(options.get(), OnWarning, nullptr);
  const std::unique_ptr<TIFF, decltype(&TIFFClose)> tiff(
      TIFFClientOpenExt("image", "rm", &source, Read, Write, Seek, Close, Size, Map, Unmap,
                        options.get()),
      TIFFClose);
  if (tiff == nullptr) return Damaged(source);

  uint32_t width = 0, height = 0;
  uint16_t compression = COMPRESSION_NONE, extra_samples = 0;
  uint16_t* extra_kinds = nullptr;
  TIFFGetField(tiff.get(), TIFFTAG_IMAGEWIDTH, &width);
  TIFFGetField(tiff.get(), TIFFTAG_IMAGELENGTH, &height);
  TIFFGetFieldDefaulted(tiff.get(), TIFFTAG_COMPRESSION, &compression);
  if (compression == COMPRESSION_OJPEG) {
    return absl::UnimplementedError(
        "TIFF: the JPEG compression of TIFF 6.0, withdrawn since, is not supported");
  }
  // libtiff multiplies colours with an alpha that is marked as not applied yet. It is to be
  // dropped, so it is marked as applied.
  TIFFGetFieldDefaulted(tiff.get(), TIFFTAG_EXTRASAMPLES, &extra_samples, &extra_kinds);
  if (extra_samples > 0 && extra_kinds[0] == EXTRASAMPLE_UNASSALPHA) {
    std::vector<uint16_t> kinds(extra_kinds, extra_kinds + extra_samples);
    kinds[0] = EXTRASAMPLE_ASSOCALPHA;
    TIFFSetField(tiff.get(), TIFFTAG_EXTRASAMPLES, extra_samples, kinds.data());
  }
  char reason[1024] = {};
  if (!TIFFRGBAImageOK(tiff.get(), reason)) {
    return absl::UnimplementedError(absl::StrCat("TIFF: ", reason));
  }
  ASSIGN_OR_RETURN(uint8_t * pixels, allocate(width, height));
  const size_t count = static_cast<size_t>(width) * height;
  const std::unique_ptr<uint32_t[]> raster(new (std::nothrow) uint32_t[count]);
  if (raster == nullptr) return absl::ResourceExhaustedError("no memory for the pixels of a TIFF");
  constexpr int kStopOnError = 1;
  if (!TIFFReadRGBAImageOriented(tiff.get(), width, height, raster.get(), ORIENTATION_TOPLEFT,
                                 kStopOnError)) {
    return Damaged(source);
  }
  for (size_t i = 0; i < count; ++i, pixels += 3) {
    pixels[0] = static_cast<uint8_t>(TIFFGetR(raster[i]));
    pixels[1] = static_cast<uint8_t>(TIFFGetG(raster[i]));
    pixels[2] = static_cast<uint8_t>(TIFFGetB(raster[i]));
  }
  return absl::OkStatus();
}

}  // namespace inferd::engine
