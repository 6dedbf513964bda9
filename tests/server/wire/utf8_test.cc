#include "server/wire/utf8.h"

#include <gtest/gtest.h>

#include <string>

namespace inferd::server {
namespace {

TEST(Utf8, AcceptsEveryLengthAndTheEdgesOfEachRange) {
  for (const char* text :
       {"", "plain", "\x7f", "\xc2\x80", "\xdf\xbf", "\xe0\xa0\x80", "\xed\x9f\xbf", "\xee\x80\x80",
        "\xef\xbf\xbf", "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf", "eight ch\xc3\xa4racters"}) {
    EXPECT_TRUE(IsValidUtf8(text)) << text;
  }
}

TEST(Utf8, RefusesOverlongFormsSurrogatesAndWhatIsCutOff) {
  for (const char* text : {"\x80", "\xc0\x80", "\xc1\xbf", "\xc2", "\xe0\x9f\xbf", "\xed\xa0\x80",
                           "\xe1\x80", "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80",
                           "\xff", "abcdefgh\xc3", "\xc3\x28"}) {
    EXPECT_FALSE(IsValidUtf8(text)) << text;
  }
}

}  // namespace
}  // namespace inferd::server
