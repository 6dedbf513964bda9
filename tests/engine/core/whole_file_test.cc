#include "engine/whole_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "absl/strings/str_cat.h"

namespace inferd::engine {
namespace {

using ::testing::HasSubstr;

TEST(WholeFileTest, RoundTripsAnySize) {
  const std::string path = absl::StrCat(::testing::TempDir(), "/whole_file_test");
  for (const size_t size : {0, 1, 262'143, 262'144, 262'145, 1'000'000}) {
    std::string contents(size, '\0');
    for (size_t i = 0; i < size; ++i) contents[i] = static_cast<char>(i * 31);
    ASSERT_TRUE(WriteFile(path, contents).ok());
    const auto back = ReadFile(path);
    ASSERT_TRUE(back.ok()) << back.status();
    EXPECT_TRUE(*back == contents) << size;
  }
  std::filesystem::remove(path);
  const absl::Status missing = ReadFile(path).status();
  EXPECT_EQ(missing.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(missing.message()), HasSubstr(path));
}

TEST(WholeFileTest, DirectoriesAndMissingFoldersAreErrors) {
  EXPECT_FALSE(ReadFile(::testing::TempDir()).ok());
  EXPECT_FALSE(WriteFile(::testing::TempDir(), "x").ok());
  EXPECT_EQ(WriteFile(absl::StrCat(::testing::TempDir(), "/no/such/folder"), "x").code(),
            absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace inferd::engine
