#include "model_repository/schema/key_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace inferd::repository {
namespace {

TEST(WriteYamlTest, WordsThatNeedQuotesGetThem) {
  std::string text;
  std::vector<std::string> list;
  const KeyTable table = {{.name = "text", .field = &text, .doc = ""},
                          {.name = "s.list", .field = &list, .doc = ""}};
  for (const char* value :
       {"plain", "cuda:0", "a b", "\"quoted\"", "null", "~", "-x", "tab\there", "new\nline",
        "# no comment", "{flow}", "ünï", "*alias", "back\\slash"}) {
    text = value;
    list = {value, "other"};
    const std::string yaml = WriteYaml(table);
    const auto root = ParseYaml(yaml, "f");
    ASSERT_TRUE(root.ok()) << yaml << root.status();
    text.clear();
    list.clear();
    Diagnostics diagnostics("f");
    ReadYaml(*root, table, diagnostics);
    EXPECT_TRUE(diagnostics.empty()) << diagnostics.status();
    EXPECT_EQ(text, value);
    EXPECT_THAT(list, ::testing::ElementsAre(value, "other"));
  }
}

}  // namespace
}  // namespace inferd::repository
