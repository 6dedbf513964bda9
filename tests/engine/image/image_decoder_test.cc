// Each format against pixels known beforehand; damage and absurd sizes end in errors.
#include "engine/image/image_decoder.h"

#include <algorithm>
#include <cmath>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/engine/image/sample_images.h"

namespace inferd::engine {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;

absl::StatusOr<Pixels> Decode(const std::string& file) {
  // A copy without anything behind it, so that a read past the end is seen.
  const std::vector<uint8_t> bytes(file.begin(), file.end());
  Pixels pixels{};
  const absl::Status status = DecodeImage(bytes, [&](int64_t width, int64_t height) {
    pixels = {static_cast<int>(width), static_cast<int>(height),
              std::vector<uint8_t>(3 * width * height)};
    return absl::StatusOr<uint8_t*>(pixels.rgb.data());
  });
  if (!status.ok()) return status;
  return pixels;
}

// Of a file that must decode.
Pixels Decoded(const std::string& file) {
  absl::StatusOr<Pixels> pixels = Decode(file);
  EXPECT_TRUE(pixels.ok()) << pixels.status();
  return pixels.ok() ? *pixels : Pixels{};
}

TEST(ImageDecoderTest, LosslessFormatsGiveBackEveryPixel) {
  const Pixels pixels = Gradient(37, 21);
  for (const std::string& file :
       {EncodePng(pixels), EncodeLosslessWebp(pixels), EncodeLosslessJpeg2000(pixels),
        EncodeLzwTiff(pixels), EncodeBmp(pixels), EncodePpm(pixels)}) {
    SCOPED_TRACE(file.substr(0, 4));
    const Pixels decoded = Decoded(file);
    EXPECT_EQ(decoded.width, 37);
    EXPECT_EQ(decoded.height, 21);
    EXPECT_THAT(decoded.rgb, ElementsAreArray(pixels.rgb));
  }
}

TEST(ImageDecoderTest, JpegComesCloseAndItsProgressiveFormIsEqual) {
  const Pixels pixels = Gradient(64, 48);
  const Pixels decoded = Decoded(EncodeJpeg(pixels, false));
  ASSERT_EQ(decoded.rgb.size(), pixels.rgb.size());
  for (size_t i = 0; i < pixels.rgb.size(); ++i) {
    ASSERT_LE(std::abs(decoded.rgb[i] - pixels.rgb[i]), 12) << i;
  }
  EXPECT_THAT(Decoded(EncodeJpeg(pixels, true)).rgb, ElementsAreArray(decoded.rgb));
}

TEST(ImageDecoderTest, EveryKindOfPnm) {
  EXPECT_THAT(Decoded("P1 3 1\n0 1#c\n0").rgb, ElementsAre(255, 255, 255, 0, 0, 0, 255, 255, 255));
  EXPECT_THAT(Decoded("P2 2 1 15 0 15 ").rgb, ElementsAre(0, 0, 0, 255, 255, 255));
  EXPECT_THAT(Decoded("P3 1 1 255 1 2 3").rgb, ElementsAre(1, 2, 3));
  EXPECT_THAT(Decoded("P4 2 2\n\x40\x80").rgb,
              ElementsAre(255, 255, 255, 0, 0, 0, 0, 0, 0, 255, 255, 255));
  EXPECT_THAT(Decoded("P5 1 1 65535\n\x80\x81").rgb, ElementsAre(128, 128, 128));
  EXPECT_THAT(Decoded("P6 1 1 255\nabc").rgb, ElementsAre('a', 'b', 'c'));
}

// A BMP of 4 bits a pixel, 4 x 2, with the colours black, red, green and blue.
std::string PaletteBmp(uint32_t compression, const std::string& data) {
  std::string file("BM\0\0\0\0\0\0\0\0\x46\0\0\0", 14);
  file += std::string("\x28\0\0\0\4\0\0\0\2\0\0\0\1\0\4\0", 16);
  file += std::string(1, static_cast<char>(compression)) + std::string(15, '\0');
  file += std::string("\4\0\0\0\0\0\0\0", 8);
  file += std::string("\0\0\0\0\0\0\xff\0\0\xff\0\0\xff\0\0\0", 16);
  return file + data;
}

TEST(ImageDecoderTest, RunLengthEncodedBmpIsThePlainOne) {
  const Pixels plain = Decoded(PaletteBmp(0, std::string("\x12\x30\0\0\x11\x11\0\0", 8)));
  EXPECT_THAT(plain.rgb, ElementsAre(255, 0, 0, 255, 0, 0, 255, 0, 0, 255, 0, 0,  // top: red
                                     255, 0, 0, 0, 255, 0, 0, 0, 255, 0, 0, 0));
  const Pixels runs = Decoded(PaletteBmp(2, std::string("\0\4\x12\x30\0\0\4\x11\0\1", 10)));
  EXPECT_THAT(runs.rgb, ElementsAreArray(plain.rgb));
}

TEST(ImageDecoderTest, WhatIsCutShortIsAnError) {
  for (const std::string& file : EncodeAll(Gradient(40, 40))) {
    SCOPED_TRACE(file.substr(0, 4));
    for (const double share : {0.0, 0.02, 0.1, 0.5, 0.8}) {
      const absl::Status status =
          Decode(file.substr(0, static_cast<size_t>(share * file.size()))).status();
      EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << share << status;
    }
  }
}

TEST(ImageDecoderTest, AnAbsurdSizeIsRefusedBeforeItIsAllocated) {
  std::string png = EncodePng(Gradient(8, 8));
  // A header that says 60000 x 60000, and its checksum.
  png.replace(16, 8, std::string("\x00\x00\xea\x60\x00\x00\xea\x60", 8));
  png.replace(29, 4, std::string("\x0f\xb0\xe2\x15", 4));
  EXPECT_EQ(Decode(png).status().code(), absl::StatusCode::kResourceExhausted);
  // 8 x 8 pixels in 2^30 tiles each way.
  std::string jpeg2000 = EncodeLosslessJpeg2000(Gradient(8, 8));
  const size_t header = jpeg2000.find("\xff\x4f\xff\x51");
  jpeg2000.replace(header + 8, 8, std::string("\x40\0\0\0\x40\0\0\0", 8));
  jpeg2000.replace(header + 24, 8, std::string("\0\0\0\1\0\0\0\1", 8));
  EXPECT_THAT(Decode(jpeg2000).status().message(), HasSubstr("tiles"));
  std::string bmp = EncodeBmp(Gradient(8, 8));
  bmp.replace(18, 8, std::string("\xff\xff\xff\x7f\xff\xff\xff\x7f", 8));
  EXPECT_THAT(Decode(bmp).status().message(), HasSubstr("ends in the pixels"));
  EXPECT_EQ(Decode("P1 100000 100000\n" + std::string(100, '0')).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(ImageDecoderTest, OtherBytesAreNamedAsNoImage) {
  EXPECT_THAT(Decode("GIF89a").status().message(), HasSubstr("not an image file"));
  EXPECT_THAT(Decode("").status().message(), HasSubstr("not an image file"));
}

}  // namespace
}  // namespace inferd::engine
