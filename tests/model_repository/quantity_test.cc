#include "model_repository/schema/quantity.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace inferd::repository {
namespace {

using ::testing::HasSubstr;

TEST(QuantityTest, Durations) {
  EXPECT_EQ(*ParseDuration("20ms"), absl::Milliseconds(20));
  EXPECT_EQ(*ParseDuration("1.5s"), absl::Milliseconds(1500));
  EXPECT_EQ(*ParseDuration("250us"), absl::Microseconds(250));
  EXPECT_EQ(*ParseDuration("1m30s"), absl::Seconds(90));
  EXPECT_EQ(*ParseDuration("0s"), absl::ZeroDuration());
  for (const char* bad : {"", "ms", "20 parsecs", "-1s", "inf", "-inf", "nan", "1e400", "20ms20"}) {
    EXPECT_FALSE(ParseDuration(bad).ok()) << bad;
  }
}

TEST(QuantityTest, NumberWithoutUnitIsAdvised) {
  EXPECT_THAT(std::string(ParseDuration("20").status().message()), HasSubstr("write 20ms"));
  EXPECT_FALSE(ParseDuration("0").ok());
}

TEST(QuantityTest, Bytes) {
  EXPECT_EQ(*ParseBytes("4096"), 4096);
  EXPECT_EQ(*ParseBytes("64MiB"), int64_t{64} << 20);
  EXPECT_EQ(*ParseBytes("64 MiB"), int64_t{64} << 20);
  EXPECT_EQ(*ParseBytes("1GB"), 1'000'000'000);
  EXPECT_EQ(*ParseBytes("1.5KiB"), 1536);
  EXPECT_EQ(*ParseBytes("7B"), 7);
  EXPECT_EQ(*ParseBytes("9223372036854775807"), INT64_MAX);
  for (const char* bad : {"", "B", "64M", "-1", "1e3", "0x10", "9223372036854775808", "8388608TiB",
                          "9e9TiB", "1.2.3", "nan"}) {
    EXPECT_FALSE(ParseBytes(bad).ok()) << bad;
  }
}

TEST(QuantityTest, BytesRoundTrip) {
  for (int64_t bytes : {int64_t{0}, int64_t{1}, int64_t{1000}, int64_t{1024}, int64_t{1500},
                        int64_t{256} << 20, int64_t{3} << 40, INT64_MAX}) {
    EXPECT_EQ(*ParseBytes(FormatBytes(bytes)), bytes) << FormatBytes(bytes);
  }
}

}  // namespace
}  // namespace inferd::repository
