// BMP: the bitmaps of Windows and OS/2, plain, with bit masks or run-length encoded.
// https://learn.microsoft.com/en-us/windows/win32/gdi/bitmap-storage
#include <algorithm>
#include <array>
#include <bit>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "engine/image/image_formats.h"
#include "engine/status_macros.h"

namespace inferd::engine {
namespace {

enum Compression : uint32_t { kRgb = 0, kRle8 = 1, kRle4 = 2, kBitFields = 3, kAlphaBitFields = 6 };

constexpr size_t kFileHeader = 14;
constexpr uint32_t kCoreHeader = 12, kInfoHeader = 40, kMasksHeader = 52, kOs2Header = 64;

absl::Status Damaged(absl::string_view why) {
  return absl::InvalidArgumentError(absl::StrCat("BMP: ", why));
}

struct Header {
  uint32_t header_size = 0;
  uint32_t data_offset = 0;
  int64_t width = 0;
  int64_t height = 0;
  bool top_down = false;
  int bits = 0;
  uint32_t compression = kRgb;
  uint32_t colors_used = 0;
  std::array<uint32_t, 3> masks = {};  // red, green, blue
};

// Little-endian numbers at checked offsets.
class Bytes {
 public:
  explicit Bytes(absl::Span<const uint8_t> file) : file_(file) {}
  bool Has(uint64_t offset, uint64_t count) const {
    return offset <= file_.size() && count <= file_.size() - offset;
  }
  uint32_t U16(size_t at) const { return file_[at] | uint32_t{file_[at + 1]} << 8; }
  uint32_t U32(size_t at) const { return U16(at) | U16(at + 2) << 16; }
  const uint8_t* At(size_t at) const { return file_.data() + at; }
  size_t size() const { return file_.size(); }

 private:
  absl::Span<const uint8_t> file_;
};

absl::StatusOr<Header> ReadHeader(const Bytes& bytes) {
  if (!bytes.Has(kFileHeader, 4)) return Damaged("the file ends in the header");
  Header header;
  header.data_offset = bytes.U32(10);
  header.header_size = bytes.U32(kFileHeader);
  if (header.header_size != kCoreHeader && header.header_size < kInfoHeader) {
    return Damaged(absl::StrCat("a header of ", header.header_size, " bytes"));
  }
  if (!bytes.Has(kFileHeader, header.header_size)) return Damaged("the file ends in the header");
  if (header.header_size == kCoreHeader) {
    header.width = bytes.U16(18);
    header.height = bytes.U16(20);
    header.bits = static_cast<int>(bytes.U16(24));
    return header;
  }
  header.width = static_cast<int32_t>(bytes.U32(18));
  header.height = static_cast<int32_t>(bytes.U32(22));
  if (header.height < 0) {
    header.top_down = true;
    header.height = -header.height;
  }
  header.bits = static_cast<int>(bytes.U16(28));
  header.compression = bytes.U32(30);
  header.colors_used = bytes.U32(46);
  // OS/2 gave the same numbers to other methods.
  if (header.header_size == kOs2Header && header.compression > kRle4) {
    return absl::UnimplementedError("BMP: this compression of OS/2 is not supported");
  }
  if (header.compression == kBitFields || header.compression == kAlphaBitFields) {
    // Part of the larger headers, behind the small one.
    if (!bytes.Has(54, 12)) return Damaged("the file ends in the colour masks");
    for (size_t c = 0; c < 3; ++c) header.masks[c] = bytes.U32(54 + 4 * c);
  } else if (header.bits == 16) {
    header.masks = {0x7c00, 0x03e0, 0x001f};
  } else if (header.bits == 32) {
    header.masks = {0xff0000, 0x00ff00, 0x0000ff};
  }
  return header;
}

absl::Status CheckHeader(const Header& header) {
  const auto one_of = [&](std::initializer_list<int> bits) {
    return std::find(bits.begin(), bits.end(), header.bits) != bits.end();
  };
  bool fits = false;
  switch (header.compression) {
    case kRgb:
      fits = one_of({1, 2, 4, 8, 16, 24, 32});
      break;
    case kRle8:
      fits = header.bits == 8 && !header.top_down;
      break;
    case kRle4:
      fits = header.bits == 4 && !header.top_down;
      break;
    case kBitFields:
    case kAlphaBitFields:
      fits = one_of({16, 32});
      break;
    default:
      return absl::UnimplementedError(
          absl::StrCat("BMP: compression ", header.compression, " is not supported"));
  }
  if (fits) return absl::OkStatus();
  return Damaged(absl::StrCat(header.bits, " bits a pixel with compression ", header.compression));
}

using Palette = std::array<std::array<uint8_t, 3>, 256>;

// Entries the file lacks are black.
absl::StatusOr<Palette> ReadPalette(const Bytes& bytes, const Header& header) {
  Palette palette = {};
  if (header.bits > 8) return palette;
  const size_t entry = header.header_size == kCoreHeader ? 3 : 4;
  size_t at = kFileHeader + header.header_size;
  if (header.header_size < kMasksHeader) {
    if (header.compression == kBitFields) at += 12;
    if (header.compression == kAlphaBitFields) at += 16;
  }
  size_t count = size_t{1} << header.bits;
  if (header.colors_used != 0) count = std::min<size_t>(count, header.colors_used);
  // Some writers declare more colours than there is room for before the pixels.
  if (header.data_offset > at) count = std::min(count, (header.data_offset - at) / entry);
  if (!bytes.Has(at, count * entry)) return Damaged("the file ends in the palette");
  for (size_t i = 0; i < count; ++i) {
    const uint8_t* bgr = bytes.At(at + i * entry);
    palette[i] = {bgr[2], bgr[1], bgr[0]};
  }
  return palette;
}

// One colour of a pixel of 16 or 32 bits.
class Mask {
 public:
  explicit Mask(uint32_t mask)
      : mask_(mask), shift_(mask == 0 ? 0 : std::countr_zero(mask)), max_(mask >> shift_) {}
  bool contiguous() const { return (max_ & (max_ + 1)) == 0; }
  uint8_t Sample(uint32_t pixel) const {
    return max_ == 0 ? 0 : ScaleSample((pixel & mask_) >> shift_, max_);
  }

 private:
  uint32_t mask_;
  int shift_;
  uint32_t max_;
};

void ReadIndexedRow(const uint8_t* row, const Header& header, const Palette& palette,
                    uint8_t* out) {
  const int per_byte = 8 / header.bits;
  const int mask = (1 << header.bits) - 1;
  for (int64_t x = 0; x < header.width; ++x, out += 3) {
    const int shift = static_cast<int>(per_byte - 1 - x % per_byte) * header.bits;
    std::copy_n(palette[row[x / per_byte] >> shift & mask].begin(), 3, out);
  }
}

absl::Status ReadPlain(const Bytes& bytes, const Header& header, const Palette& palette,
                       AllocatePixels allocate) {
  const std::array<Mask, 3> masks = {Mask(header.masks[0]), Mask(header.masks[1]),
                                     Mask(header.masks[2])};
  if (!std::all_of(masks.begin(), masks.end(), [](const Mask& m) { return m.contiguous(); })) {
    return Damaged("a colour mask has gaps");
  }
  // A side is below 2^31 and a pixel has 32 bits at most: no overflow.
  const uint64_t stride = (static_cast<uint64_t>(header.width) * header.bits + 31) / 32 * 4;
  const uint64_t rows = static_cast<uint64_t>(header.height);
  if (header.data_offset > bytes.size() ||
      rows > (bytes.size() - header.data_offset) / std::max<uint64_t>(stride, 1)) {
    return Damaged("the file ends in the pixels");
  }
  ASSIGN_OR_RETURN(uint8_t * pixels, allocate(header.width, header.height));
  for (uint64_t r = 0; r < rows; ++r) {
    const uint8_t* row = bytes.At(header.data_offset + r * stride);
    uint8_t* out = pixels + (header.top_down ? r : rows - 1 - r) * 3 * header.width;
    if (header.bits <= 8) {
      ReadIndexedRow(row, header, palette, out);
    } else if (header.bits == 24) {
      for (int64_t x = 0; x < header.width; ++x, row += 3, out += 3) {
        out[0] = row[2];
        out[1] = row[1];
        out[2] = row[0];
      }
    } else {
      const int size = header.bits / 8;
      for (int64_t x = 0; x < header.width; ++x, row += size, out += 3) {
        uint32_t pixel = row[0] | uint32_t{row[1]} << 8;
        if (size == 4) pixel |= uint32_t{row[2]} << 16 | uint32_t{row[3]} << 24;
        for (int c = 0; c < 3; ++c) out[c] = masks[c].Sample(pixel);
      }
    }
  }
  return absl::OkStatus();
}

// Pairs of a count and a value; a count of zero begins a command. Pixels that are never set have
// colour 0.
absl::Status ReadRunLength(const Bytes& bytes, const Header& header, const Palette& palette,
                           AllocatePixels allocate) {
  if (header.data_offset > bytes.size()) return Damaged("the file ends before the pixels");
  ASSIGN_OR_RETURN(uint8_t * pixels, allocate(header.width, header.height));
  for (int64_t i = 0; i < header.width * header.height; ++i) {
    std::copy_n(palette[0].begin(), 3, pixels + 3 * i);
  }
  int64_t x = 0, y = 0;  // from the bottom
  const auto put = [&](int index) {
    if (x < header.width && y < header.height) {
      const int64_t row = header.height - 1 - y;
      std::copy_n(palette[index].begin(), 3, pixels + 3 * (row * header.width + x));
    }
    ++x;
  };
  const bool nibbles = header.bits == 4;
  size_t at = header.data_offset;
  while (bytes.Has(at, 2)) {
    const int count = bytes.At(at)[0], value = bytes.At(at)[1];
    at += 2;
    if (count > 0) {
      for (int i = 0; i < count; ++i) {
        put(!nibbles ? value : i % 2 == 0 ? value >> 4 : value & 15);
      }
      continue;
    }
    switch (value) {
      case 0:  // the end of a row
        x = 0;
        ++y;
        break;
      case 1:  // the end of the image
        return absl::OkStatus();
      case 2:  // a jump to the right and up
        if (!bytes.Has(at, 2)) return Damaged("the file ends in the pixels");
        x += bytes.At(at)[0];
        y += bytes.At(at)[1];
        at += 2;
        break;
      default: {  // that many values as they are, padded to two bytes
        const size_t size = nibbles ? (value + 1) / 2 : value;
        if (!bytes.Has(at, size)) return Damaged("the file ends in the pixels");
        const uint8_t* run = bytes.At(at);
        for (int i = 0; i < value; ++i) {
          put(!nibbles ? run[i] : i % 2 == 0 ? run[i / 2] >> 4 : run[i / 2] & 15);
        }
        at += size + size % 2;
      }
    }
  }
  // Some writers leave out the last mark.
  return y >= header.height || (y == header.height - 1 && x >= header.width)
             ? absl::OkStatus()
             : Damaged("the file ends in the pixels");
}

}  // namespace

absl::Status DecodeBmp(absl::Span<const uint8_t> file, AllocatePixels allocate) {
  const Bytes bytes(file);
  ASSIGN_OR_RETURN(const Header header, ReadHeader(bytes));
  RETURN_IF_ERROR(CheckHeader(header));
  if (header.width < 1 || header.height < 1) {
    return Damaged(absl::StrCat("an image of ", header.width, "x", header.height, " pixels"));
  }
  ASSIGN_OR_RETURN(const Palette palette, ReadPalette(bytes, header));
  if (header.compression == kRle8 || header.compression == kRle4) {
    return ReadRunLength(bytes, header, palette, allocate);
  }
  return ReadPlain(bytes, header, palette, allocate);
}

}  // namespace inferd::engine
