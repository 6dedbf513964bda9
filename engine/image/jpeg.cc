// JPEG by libjpeg-turbo, with its default smooth upsampling and accurate transform, which is what
// the ONNX standard asks for.
#include <csetjmp>
#include <cstdio>
#include <memory>
#include <new>

#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "engine/image/image_formats.h"
#include "engine/status_macros.h"

// They rely on <cstdio> before them.
#include <jpeglib.h>
// After it: the names of its messages.
#include <jerror.h>

namespace inferd::engine {
namespace {

// A progressive file may repeat scans of the whole image as often as it likes; real ones have
// about ten.
constexpr int kMaxScans = 100;

struct Errors {
  jpeg_error_mgr manager;  // first: libjpeg hands back its address
  std::jmp_buf jump;
  char message[JMSG_LENGTH_MAX] = {};
};

[[noreturn]] void OnError(j_common_ptr jpeg) {
  auto* errors = reinterpret_cast<Errors*>(jpeg->err);
  jpeg->err->format_message(jpeg, errors->message);
  std::longjmp(errors->jump, 1);
}

// libjpeg paints over damage and only warns. What warns of lost pixels is an error here; what is
// merely against the rules is not.
void OnMessage(j_common_ptr jpeg, int level) {
  if (level >= 0) return;
  switch (jpeg->err->msg_code) {
    case JWRN_ARITH_BAD_CODE:
    case JWRN_BOGUS_PROGRESSION:
    case JWRN_HIT_MARKER:
    case JWRN_HUFF_BAD_CODE:
    case JWRN_JPEG_EOF:
    case JWRN_MUST_RESYNC:
      OnError(jpeg);
    default:
      return;
  }
}

void OnProgress(j_common_ptr jpeg) {
  if (reinterpret_cast<j_decompress_ptr>(jpeg)->input_scan_number > kMaxScans) {
    ERREXIT(jpeg, JERR_BAD_PROGRESSION);
  }
}

// Runs calls of libjpeg, which leaves them by longjmp on an error: fn must hold nothing that has
// to be destroyed. False after an error.
bool Guarded(Errors& errors, absl::FunctionRef<void()> fn) {
  if (setjmp(errors.jump) != 0) return false;
  fn();
  return true;
}

struct Decompressor {
  Decompressor() {
    jpeg.err = jpeg_std_error(&errors.manager);
    errors.manager.error_exit = OnError;
    errors.manager.emit_message = OnMessage;
    errors.manager.output_message = [](j_common_ptr) {};
    progress.progress_monitor = OnProgress;
  }
  ~Decompressor() { jpeg_destroy_decompress(&jpeg); }
  absl::Status Error() const {
    return absl::InvalidArgumentError(absl::StrCat("JPEG: ", errors.message));
  }

  Errors errors{};
  jpeg_decompress_struct jpeg{};
  jpeg_progress_mgr progress{};
};

}  // namespace

absl::Status DecodeJpeg(absl::Span<const uint8_t> file, AllocatePixels allocate) {
  Decompressor decompressor;
  jpeg_decompress_struct& jpeg = decompressor.jpeg;
  Errors& errors = decompressor.errors;
  if (!Guarded(errors, [&] {
        jpeg_create_decompress(&jpeg);
        jpeg.progress = &decompressor.progress;
        jpeg_mem_src(&jpeg, file.data(), file.size());
        jpeg_read_header(&jpeg, TRUE);
      })) {
    return decompressor.Error();
  }
  ASSIGN_OR_RETURN(uint8_t * pixels, allocate(jpeg.image_width, jpeg.image_height));
  const bool cmyk = jpeg.jpeg_color_space == JCS_CMYK || jpeg.jpeg_color_space == JCS_YCCK;
  const size_t width = jpeg.image_width;
  std::unique_ptr<uint8_t[]> inks;
  if (cmyk) {
    inks.reset(new (std::nothrow) uint8_t[4 * width]);
    if (inks == nullptr) return absl::ResourceExhaustedError("no memory for a row of an image");
  }
  if (!Guarded(errors, [&] {
        jpeg.out_color_space = cmyk ? JCS_CMYK : JCS_RGB;
        jpeg_start_decompress(&jpeg);
        while (jpeg.output_scanline < jpeg.output_height) {
          uint8_t* row = pixels + 3 * width * jpeg.output_scanline;
          JSAMPROW target = cmyk ? inks.get() : row;
          jpeg_read_scanlines(&jpeg, &target, 1);
          if (!cmyk) continue;
          for (size_t x = 0; x < width; ++x) {
            const uint8_t* ink = inks.get() + 4 * x;
            // Adobe writes light instead of ink.
            const int flip = jpeg.saw_Adobe_marker ? 255 : 0;
            CmykToRgb(ink[0] ^ flip, ink[1] ^ flip, ink[2] ^ flip, ink[3] ^ flip, row + 3 * x);
          }
        }
        jpeg_finish_decompress(&jpeg);
      })) {
    return decompressor.Error();
  }
  return absl::OkStatus();
}

}  // namespace inferd::engine
