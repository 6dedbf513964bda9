// PNG by libpng.
#include <png.h>

#include <csetjmp>
#include <cstdio>
#include <cstring>

#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "engine/image/image_formats.h"
#include "engine/status_macros.h"

namespace inferd::engine {
namespace {

// Text and profiles, which are not read, must not cost memory either.
constexpr png_alloc_size_t kMaxChunkBytes = 8 << 20;
constexpr png_uint_32 kMaxChunks = 128;

struct Errors {
  std::jmp_buf jump;
  char message[128] = {};
};

[[noreturn]] void OnError(png_structp png, png_const_charp message) {
  auto* errors = static_cast<Errors*>(png_get_error_ptr(png));
  std::snprintf(errors->message, sizeof(errors->message), "%s", message);
  std::longjmp(errors->jump, 1);
}
void OnWarning(png_structp, png_const_charp) {}

// Runs calls of libpng, which leaves them by longjmp on an error: fn must hold nothing that has to
// be destroyed. False after an error.
bool Guarded(Errors& errors, absl::FunctionRef<void()> fn) {
  if (setjmp(errors.jump) != 0) return false;
  fn();
  return true;
}

struct Source {
  const uint8_t* next;
  size_t left;
};
void Read(png_structp png, png_bytep to, size_t count) {
  auto* source = static_cast<Source*>(png_get_io_ptr(png));
  if (count > source->left) png_error(png, "the file ends early");
  std::memcpy(to, source->next, count);
  source->next += count;
  source->left -= count;
}

struct Reader {
  explicit Reader(absl::Span<const uint8_t> file)
      : source{file.data(), file.size()},
        png(png_create_read_struct(PNG_LIBPNG_VER_STRING, &errors, OnError, OnWarning)),
        info(png == nullptr ? nullptr : png_create_info_struct(png)) {}
  ~Reader() { png_destroy_read_struct(&png, &info, nullptr); }
  absl::Status Error() const {
    return absl::InvalidArgumentError(absl::StrCat("PNG: ", errors.message));
  }

  Errors errors{};
  Source source;
  png_structp png;
  png_infop info;
};

}  // namespace

absl::Status DecodePng(absl::Span<const uint8_t> file, AllocatePixels allocate) {
  Reader reader(file);
  png_structp png = reader.png;
  png_infop info = reader.info;
  if (info == nullptr) return absl::ResourceExhaustedError("no memory for the PNG decoder");
  png_uint_32 width = 0, height = 0;
  if (!Guarded(reader.errors, [&] {
        png_set_chunk_malloc_max(png, kMaxChunkBytes);
        png_set_chunk_cache_max(png, kMaxChunks);
        png_set_user_limits(png, PNG_UINT_31_MAX, PNG_UINT_31_MAX);
        png_set_read_fn(png, &reader.source, Read);
        png_read_info(png, info);
        width = png_get_image_width(png, info);
        height = png_get_image_height(png, info);
      })) {
    return reader.Error();
  }
  // Before anything else: the transformations allocate rows of whatever width the file claims.
  ASSIGN_OR_RETURN(uint8_t * pixels, allocate(width, height));
  const size_t stride = 3 * static_cast<size_t>(width);
  if (!Guarded(reader.errors, [&] {
        png_set_palette_to_rgb(png);
        png_set_expand_gray_1_2_4_to_8(png);
        png_set_scale_16(png);
        png_set_strip_alpha(png);
        png_set_gray_to_rgb(png);
        png_set_interlace_handling(png);
        png_read_update_info(png, info);
        if (png_get_rowbytes(png, info) != stride) png_error(png, "rows of an unexpected length");
        const int passes = png_get_interlace_type(png, info) == PNG_INTERLACE_ADAM7 ? 7 : 1;
        for (int pass = 0; pass < passes; ++pass) {
          for (size_t y = 0; y < height; ++y) png_read_row(png, pixels + y * stride, nullptr);
        }
      })) {
    return reader.Error();
  }
  return absl::OkStatus();
}

}  // namespace inferd::engine
