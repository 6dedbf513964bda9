#include "model_repository/directory_scan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace inferd::repository {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class DirectoryScanTest : public ::testing::Test {
 protected:
  DirectoryScanTest() {
    root_ =
        fs::path(::testing::TempDir()) /
        ("scan_" + std::string(::testing::UnitTest::GetInstance()->current_test_info()->name()));
    fs::remove_all(root_);
    fs::create_directories(root_);
  }
  ~DirectoryScanTest() override { fs::remove_all(root_); }

  void Touch(const std::string& path, const std::string& text = "x") {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text;
  }
  std::string At(const std::string& path) { return (root_ / path).string(); }
  static std::vector<int64_t> Numbers(const std::vector<VersionDirectory>& versions) {
    std::vector<int64_t> numbers;
    for (const auto& v : versions) numbers.push_back(v.number);
    return numbers;
  }

  fs::path root_;
};

TEST_F(DirectoryScanTest, ModelsAreSubdirectories) {
  Touch("r/b/1/model.onnx");
  Touch("r/a/1/model.onnx");
  Touch("r/README.md");
  Touch("r/.git/1/model.onnx");
  Touch("r/lost+found/x");
  Touch("r/with space/1/model.onnx");
  const auto scan = ScanRepositories({At("r")});
  ASSERT_TRUE(scan.ok()) << scan.status();
  ASSERT_EQ(scan->models.size(), 2u);
  EXPECT_EQ(scan->models[0].name, "a");
  EXPECT_EQ(scan->models[1].name, "b");
  EXPECT_EQ(scan->ignored.size(), 2u);
}

TEST_F(DirectoryScanTest, SameNameInTwoRepositoriesNamesBoth) {
  Touch("r/m/1/model.onnx");
  Touch("s/m/1/model.onnx");
  Touch("s/n/1/model.onnx");
  const auto scan = ScanRepositories({At("r"), At("s")});
  ASSERT_TRUE(scan.ok()) << scan.status();
  ASSERT_EQ(scan->models.size(), 2u);
  EXPECT_EQ(scan->models[0].problem.code(), absl::StatusCode::kAlreadyExists);
  EXPECT_THAT(std::string(scan->models[0].problem.message()), HasSubstr(At("r/m")));
  EXPECT_THAT(std::string(scan->models[0].problem.message()), HasSubstr(At("s/m")));
  EXPECT_TRUE(scan->models[1].problem.ok());
}

TEST_F(DirectoryScanTest, BadRepositoriesAreNamed) {
  Touch("file");
  fs::create_directories(At("r"));
  EXPECT_EQ(ScanRepositories({At("gone")}).status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(ScanRepositories({At("gone")}).status().message()), HasSubstr("gone"));
  EXPECT_EQ(ScanRepositories({At("file")}).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(ScanRepositories({At("r"), At("r/")}).status().message()),
              HasSubstr("given twice"));
}

TEST_F(DirectoryScanTest, VersionsAreWholePositiveNumbersInNumericOrder) {
  for (const char* name : {"10", "9", "1", "0", "01", "v2", "3x", "99999999999999999999"}) {
    Touch(std::string("m/") + name + "/model.onnx");
  }
  const auto versions = ScanVersions(At("m"));
  ASSERT_TRUE(versions.ok()) << versions.status();
  EXPECT_THAT(Numbers(*versions), ElementsAre(1, 9, 10));
}

TEST_F(DirectoryScanTest, MissingVersionsSayWhatWasFound) {
  fs::create_directories(At("empty"));
  EXPECT_THAT(std::string(ScanVersions(At("empty")).status().message()),
              HasSubstr("found nothing; expected"));
  Touch("m/v1/model.onnx");
  EXPECT_THAT(std::string(ScanVersions(At("m")).status().message()), HasSubstr("found v1"));
  Touch("direct/model.onnx");
  EXPECT_THAT(std::string(ScanVersions(At("direct")).status().message()),
              HasSubstr("give its parent"));
}

TEST_F(DirectoryScanTest, PoliciesSelectVersions) {
  const std::vector<VersionDirectory> found = {{1, "", ""}, {2, "", ""}, {7, "", ""}};
  VersionPolicy policy;
  EXPECT_THAT(Numbers(SelectVersions(policy, found).versions), ElementsAre(7));
  policy.latest = 2;
  EXPECT_THAT(Numbers(SelectVersions(policy, found).versions), ElementsAre(2, 7));
  policy.latest = 9;
  EXPECT_THAT(Numbers(SelectVersions(policy, found).versions), ElementsAre(1, 2, 7));
  policy.kind = VersionPolicy::Kind::kAll;
  EXPECT_THAT(Numbers(SelectVersions(policy, found).versions), ElementsAre(1, 2, 7));
  policy.kind = VersionPolicy::Kind::kSpecific;
  policy.specific = {2, 3};
  EXPECT_THAT(Numbers(SelectVersions(policy, found).versions), ElementsAre(2));
  EXPECT_THAT(SelectVersions(policy, found).missing, ElementsAre(3));
}

TEST_F(DirectoryScanTest, FingerprintFollowsFiles) {
  Touch("m/1/model.onnx", "a");
  Touch("m/1/weights/w.bin", "a");
  const auto before = ScanVersions(At("m"));
  const auto same = ScanVersions(At("m"));
  EXPECT_EQ((*before)[0].fingerprint, (*same)[0].fingerprint);
  Touch("m/1/weights/w.bin", "ab");
  const auto after = ScanVersions(At("m"));
  EXPECT_NE((*before)[0].fingerprint, (*after)[0].fingerprint);
}

TEST_F(DirectoryScanTest, ModelFile) {
  Touch("m/1/model.onnx");
  Touch("m/2/resnet50.onnx");
  EXPECT_EQ(*FindModelFile({1, At("m/1"), ""}), At("m/1/model.onnx"));
  EXPECT_THAT(std::string(FindModelFile({2, At("m/2"), ""}).status().message()),
              HasSubstr("found resnet50.onnx"));
}

TEST_F(DirectoryScanTest, ConfigFile) {
  Touch("m/config.yaml", "max_batch_size: 2\n");
  EXPECT_EQ(ReadConfigFile(At("m"))->text, "max_batch_size: 2\n");
  fs::create_directories(At("none"));
  EXPECT_EQ(ReadConfigFile(At("none"))->text, "");
  Touch("near/config.yml");
  EXPECT_THAT(std::string(ReadConfigFile(At("near")).status().message()),
              HasSubstr("the configuration is named config.yaml"));
  fs::create_directories(At("dir/config.yaml"));
  EXPECT_FALSE(ReadConfigFile(At("dir")).ok());
}

}  // namespace
}  // namespace inferd::repository
