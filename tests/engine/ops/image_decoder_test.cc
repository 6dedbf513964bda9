// ImageDecoder the operator: pixel formats, and what cannot be decoded. The formats of files are
// tested in tests/engine/image/.
#include "tests/engine/ops/op_tester.h"

namespace inferd::engine {
namespace {

using ::testing::HasSubstr;

Tensor File(const std::string& bytes) {
  const std::vector<uint8_t> values(bytes.begin(), bytes.end());
  return Tensor::FromValues<uint8_t>({static_cast<int64_t>(values.size())}, values);
}

absl::StatusOr<Tensor> Decode(const std::string& format, const std::string& bytes) {
  return OpTester("ImageDecoder").Attr("pixel_format", format).Input(File(bytes)).Run1();
}

const char kRedAndGray[] = "P3 2 1 255  255 0 0  7 7 7";

TEST(ImageDecoderOpTest, PixelFormats) {
  ASSERT_OK_AND_ASSIGN(const Tensor rgb, Decode("RGB", kRedAndGray));
  EXPECT_THAT(rgb, TensorIs<uint8_t>({1, 2, 3}, {255, 0, 0, 7, 7, 7}));
  ASSERT_OK_AND_ASSIGN(const Tensor bgr, Decode("BGR", kRedAndGray));
  EXPECT_THAT(bgr, TensorIs<uint8_t>({1, 2, 3}, {0, 0, 255, 7, 7, 7}));
  // 0.299 * 255 is 76.2.
  ASSERT_OK_AND_ASSIGN(const Tensor gray, Decode("Grayscale", kRedAndGray));
  EXPECT_THAT(gray, TensorIs<uint8_t>({1, 2, 1}, {76, 7}));
  EXPECT_THAT(Decode("CMYK", kRedAndGray).status().message(),
              HasSubstr("expected RGB, BGR or Grayscale"));
}

TEST(ImageDecoderOpTest, WhatCannotBeDecodedHasNoPixels) {
  for (const char* bytes : {"", "GIF89a", "P6 100 100 255\nabc"}) {
    ASSERT_OK_AND_ASSIGN(const Tensor rgb, Decode("RGB", bytes));
    EXPECT_EQ(rgb.shape(), Shape({0, 0, 3}));
    ASSERT_OK_AND_ASSIGN(const Tensor gray, Decode("Grayscale", bytes));
    EXPECT_EQ(gray.shape(), Shape({0, 0, 1}));
  }
}

}  // namespace
}  // namespace inferd::engine
