#include "model_repository/schema/yaml_tree.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>

namespace inferd::repository {
namespace {

using ::testing::HasSubstr;

std::string ErrorOf(const std::string& text, const YamlLimits& limits = {}) {
  const auto tree = ParseYaml(text, "f", limits);
  return tree.ok() ? "(accepted)" : std::string(tree.status().message());
}

TEST(YamlTreeTest, KeepsPositions) {
  const auto tree = ParseYaml("a: 1\nb:\n  - x\n  - {c: d}\n", "f");
  ASSERT_TRUE(tree.ok()) << tree.status();
  ASSERT_EQ(tree->entries.size(), 2u);
  EXPECT_EQ(tree->entries[1].key.scalar, "b");
  const YamlNode& list = tree->entries[1].value;
  ASSERT_EQ(list.items.size(), 2u);
  EXPECT_EQ(list.items[0].position.line, 3);
  EXPECT_EQ(list.items[0].position.column, 5);
  EXPECT_EQ(list.items[1].entries[0].value.position.line, 4);
  EXPECT_EQ(list.items[1].entries[0].value.position.column, 9);
}

TEST(YamlTreeTest, LimitsAreEnforced) {
  EXPECT_THAT(ErrorOf(std::string(50, '['), {.max_depth = 8}), HasSubstr("nested more than 8"));
  EXPECT_THAT(ErrorOf(std::string(100'000, '[')), HasSubstr("nested more than"));
  EXPECT_THAT(ErrorOf(std::string(100, 'x'), {.max_bytes = 99}), HasSubstr("allowed: at most 99"));
  EXPECT_THAT(ErrorOf("[1, 2, 3, 4]", {.max_nodes = 3}), HasSubstr("more than 3 values"));
}

TEST(YamlTreeTest, AliasBombIsRefused) {
  std::string bomb = "a0: &a0 [x, x]\n";
  for (int i = 1; i < 30; ++i) {
    const std::string n = std::to_string(i), p = std::to_string(i - 1);
    bomb += "a" + n + ": &a" + n + " [*a" + p + ", *a" + p + "]\n";
  }
  EXPECT_THAT(ErrorOf(bomb), HasSubstr("anchors (&name) are not supported"));
}

TEST(YamlTreeTest, ZeroBytesDoNotHideTheRest) {
  EXPECT_THAT(ErrorOf(std::string("a: 1\n\0b: 2\n", 11)), HasSubstr("zero byte at offset 5"));
}

TEST(YamlTreeTest, RandomTextNeverThrows) {
  std::mt19937 random(7);
  const std::string alphabet = "ab:-[]{},\n  \"'#&*!|>%@`?~0\t\\\x80\xff";
  for (int i = 0; i < 20'000; ++i) {
    std::string text(random() % 40, ' ');
    for (char& c : text) c = alphabet[random() % alphabet.size()];
    (void)ParseYaml(text, "f").ok();
  }
}

}  // namespace
}  // namespace inferd::repository
