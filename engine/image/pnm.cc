// PBM, PGM and PPM, as text (P1, P2, P3) and as bytes (P4, P5, P6).
// https://netpbm.sourceforge.net/doc/
#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "engine/image/image_formats.h"
#include "engine/status_macros.h"

namespace inferd::engine {
namespace {

class Reader {
 public:
  explicit Reader(absl::Span<const uint8_t> file) : file_(file) {}

  size_t left() const { return file_.size() - at_; }
  const uint8_t* data() const { return file_.data() + at_; }
  void Skip(size_t count) { at_ += count; }

  // A decimal number of at most nine digits, after white space and comments.
  absl::StatusOr<int64_t> Number() {
    SkipSpace();
    int64_t value = 0;
    int digits = 0;
    for (; at_ < file_.size() && absl::ascii_isdigit(file_[at_]); ++at_) {
      if (++digits > 9) return absl::InvalidArgumentError("PNM: a number is too long");
      value = value * 10 + (file_[at_] - '0');
    }
    if (digits == 0) {
      return absl::InvalidArgumentError(left() == 0 ? "PNM: the file ends early"
                                                    : "PNM: there is no number where one belongs");
    }
    return value;
  }
  // One digit, which needs no space after it.
  absl::StatusOr<int64_t> Bit() {
    SkipSpace();
    if (left() == 0) return absl::InvalidArgumentError("PNM: the file ends early");
    const uint8_t digit = file_[at_++];
    if (digit == '0' || digit == '1') return digit - '0';
    return absl::InvalidArgumentError("PNM: a bit is neither 0 nor 1");
  }

 private:
  void SkipSpace() {
    while (at_ < file_.size()) {
      if (file_[at_] == '#') {
        while (at_ < file_.size() && file_[at_] != '\n' && file_[at_] != '\r') ++at_;
      } else if (absl::ascii_isspace(file_[at_])) {
        ++at_;
      } else {
        return;
      }
    }
  }

  absl::Span<const uint8_t> file_;
  size_t at_ = 0;
};

struct Header {
  bool text;
  int samples;  // of a pixel
  bool bits;    // 1 is black
  int64_t width, height, max;
};

absl::Status ReadText(Reader& reader, const Header& header, uint8_t* pixels) {
  const int64_t count = header.width * header.height;
  for (int64_t i = 0; i < count; ++i, pixels += 3) {
    for (int s = 0; s < header.samples; ++s) {
      ASSIGN_OR_RETURN(const int64_t value, header.bits ? reader.Bit() : reader.Number());
      if (value > header.max) {
        return absl::InvalidArgumentError(
            absl::StrCat("PNM: a sample is ", value, ", more than the maximum of ", header.max));
      }
      pixels[s] = ScaleSample(static_cast<uint64_t>(header.bits ? 1 - value : value),
                              static_cast<uint64_t>(header.max));
    }
    if (header.samples == 1) std::fill_n(pixels + 1, 2, pixels[0]);
  }
  return absl::OkStatus();
}

void ReadBits(const uint8_t* data, const Header& header, uint8_t* pixels) {
  const int64_t stride = (header.width + 7) / 8;
  for (int64_t y = 0; y < header.height; ++y, data += stride) {
    for (int64_t x = 0; x < header.width; ++x, pixels += 3) {
      const bool black = (data[x / 8] >> (7 - x % 8)) & 1;
      std::fill_n(pixels, 3, static_cast<uint8_t>(black ? 0 : 255));
    }
  }
}

void ReadBytes(const uint8_t* data, const Header& header, uint8_t* pixels) {
  const bool wide = header.max > 255;
  const uint64_t max = static_cast<uint64_t>(header.max);
  const int64_t count = header.width * header.height;
  for (int64_t i = 0; i < count; ++i, pixels += 3) {
    for (int s = 0; s < header.samples; ++s) {
      uint64_t value = *data++;
      if (wide) value = value << 8 | *data++;
      pixels[s] = ScaleSample(std::min(value, max), max);
    }
    if (header.samples == 1) std::fill_n(pixels + 1, 2, pixels[0]);
  }
}

}  // namespace

absl::Status DecodePnm(absl::Span<const uint8_t> file, AllocatePixels allocate) {
  const int kind = file[1] - '0';
  Reader reader(file);
  reader.Skip(2);
  Header header{.text = kind <= 3,
                .samples = kind % 3 == 0 ? 3 : 1,
                .bits = kind % 3 == 1,
                .width = 0,
                .height = 0,
                .max = 1};
  ASSIGN_OR_RETURN(header.width, reader.Number());
  ASSIGN_OR_RETURN(header.height, reader.Number());
  if (!header.bits) {
    ASSIGN_OR_RETURN(header.max, reader.Number());
    if (header.max < 1 || header.max > 65535) {
      return absl::InvalidArgumentError(absl::StrCat("PNM: the maximum of a sample is ", header.max,
                                                     ", expected one in [1, 65535]"));
    }
  }
  if (!header.text) {
    // One byte of white space, then the data.
    if (reader.left() == 0) return absl::InvalidArgumentError("PNM: the file ends early");
    reader.Skip(1);
  }
  // Nine digits each: the product fits.
  const uint64_t rows = static_cast<uint64_t>(header.height);
  const uint64_t row_bytes =
      header.bits && !header.text
          ? static_cast<uint64_t>(header.width + 7) / 8
          : static_cast<uint64_t>(header.width) * header.samples * (header.max > 255 ? 2 : 1);
  if (rows * row_bytes > reader.left()) {
    return absl::InvalidArgumentError(absl::StrCat("PNM: ", header.width, "x", header.height,
                                                   " pixels do not fit in the ", reader.left(),
                                                   " bytes that follow"));
  }
  ASSIGN_OR_RETURN(uint8_t * pixels, allocate(header.width, header.height));
  if (header.text) return ReadText(reader, header, pixels);
  if (header.bits) {
    ReadBits(reader.data(), header, pixels);
  } else {
    ReadBytes(reader.data(), header, pixels);
  }
  return absl::OkStatus();
}

}  // namespace inferd::engine
