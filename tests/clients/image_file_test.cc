#include "clients/inferctl/image_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <turbojpeg.h>

#include "engine/whole_file.h"

namespace inferd::client {
namespace {

using ::testing::HasSubstr;

TEST(ImageFile, ReadsPng) {
  const auto image = ReadImage("examples/data/digits/7.png", 1);
  ASSERT_TRUE(image.ok()) << image.status();
  EXPECT_EQ(image->width, 8);
  EXPECT_EQ(image->height, 8);
  ASSERT_EQ(image->pixels.size(), 64u);
  EXPECT_EQ(image->pixels[0], 255) << "a corner is paper";
  const auto rgb = ReadImage("examples/data/digits/7.png", 3);
  ASSERT_TRUE(rgb.ok());
  EXPECT_EQ(rgb->pixels.size(), 192u);
}

TEST(ImageFile, ReadsJpeg) {
  const std::vector<uint8_t> gray(16 * 16, 100);
  unsigned char* bytes = nullptr;
  unsigned long size = 0;
  tjhandle encoder = tjInitCompress();
  ASSERT_EQ(
      tjCompress2(encoder, gray.data(), 16, 0, 16, TJPF_GRAY, &bytes, &size, TJSAMP_GRAY, 95, 0),
      0);
  const std::string path = testing::TempDir() + "/gray.jpg";
  ASSERT_TRUE(engine::WriteFile(path, std::string(reinterpret_cast<char*>(bytes), size)).ok());
  tjFree(bytes);
  tjDestroy(encoder);
  const auto image = ReadImage(path, 3);
  ASSERT_TRUE(image.ok()) << image.status();
  EXPECT_EQ(image->width, 16);
  EXPECT_NEAR(image->pixels[300], 100, 2);
}

TEST(ImageFile, DamagedFilesAreErrors) {
  const std::string path = testing::TempDir() + "/bad.png";
  const std::string good = *engine::ReadFile("examples/data/digits/7.png");
  for (size_t cut : {size_t{0}, size_t{4}, size_t{30}, good.size() - 20}) {
    ASSERT_TRUE(engine::WriteFile(path, good.substr(0, cut)).ok());
    EXPECT_FALSE(ReadImage(path, 1).ok()) << cut;
  }
  ASSERT_TRUE(engine::WriteFile(path, "\xff\xd8 nonsense").ok());
  EXPECT_FALSE(ReadImage(path, 3).ok());
  EXPECT_THAT(std::string(ReadImage("/nonexistent.png", 1).status().message()),
              HasSubstr("/nonexistent.png"));
  EXPECT_FALSE(ReadImage("examples/data/digits/7.png", 4).ok());
}

TEST(ImageFile, ResizeKeepsFlatAreasAndSameSizeExactly) {
  Image image{4, 2, 1, {0, 10, 20, 30, 40, 50, 60, 70}};
  EXPECT_EQ(ResizeToFloat(image, 4, 2), std::vector<float>({0, 10, 20, 30, 40, 50, 60, 70}));
  Image flat{3, 3, 1, std::vector<uint8_t>(9, 7)};
  for (float v : ResizeToFloat(flat, 7, 5)) EXPECT_FLOAT_EQ(v, 7);
  EXPECT_EQ(ResizeToFloat(image, 2, 1), std::vector<float>({25, 45})) << "means of 2x2 blocks";
}

}  // namespace
}  // namespace inferd::client
