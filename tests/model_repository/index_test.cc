#include "model_repository/index.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace inferd::repository {
namespace {

std::shared_ptr<const ModelVersion> Version(const char* number) {
  auto version = std::make_shared<ModelVersion>();
  version->version = number;
  return version;
}

class IndexTest : public ::testing::Test {
 protected:
  IndexTest() {
    auto snapshot = std::make_shared<IndexSnapshot>();
    ModelView model;
    model.versions = {{1, ModelState::kReady, "", Version("1")},
                      {2, ModelState::kReady, "", Version("2")},
                      {10, ModelState::kUnavailable, "bad file", nullptr}};
    (*snapshot)["m"] = std::make_shared<ModelView>(model);
    ModelView loading;
    loading.versions = {{3, ModelState::kLoading, "", nullptr}};
    (*snapshot)["loading"] = std::make_shared<ModelView>(loading);
    ModelView empty;
    empty.state = ModelState::kUnavailable;
    empty.reason = "no version directory";
    (*snapshot)["empty"] = std::make_shared<ModelView>(empty);
    index_.Swap(snapshot);
  }
  std::string ErrorOf(const char* name, const char* version) {
    return index_.Find(name, version).status().ToString();
  }
  PublishedIndex index_;
};

TEST_F(IndexTest, NewestReadyVersionIsTheDefault) {
  EXPECT_EQ((*index_.Find("m", ""))->version, "2");
  EXPECT_EQ((*index_.Find("m", "1"))->version, "1");
  EXPECT_EQ((*index_.Find("m", "001"))->version, "1");
}

TEST_F(IndexTest, ErrorsAreThoseClientsKnow) {
  EXPECT_EQ(ErrorOf("x", ""), "NOT_FOUND: Request for unknown model: 'x' is not found");
  EXPECT_EQ(ErrorOf("m", "7"), "NOT_FOUND: Request for unknown model: 'm' version 7 is not found");
  EXPECT_EQ(
      ErrorOf("m", "10"),
      "UNAVAILABLE: Request for unknown model: 'm' version 10 is not at ready state: bad file");
  EXPECT_EQ(ErrorOf("loading", ""),
            "UNAVAILABLE: Request for unknown model: 'loading' version 3 is not at ready state: "
            "LOADING");
  EXPECT_EQ(ErrorOf("empty", ""),
            "UNAVAILABLE: Request for unknown model: 'empty' is not at ready state: no version "
            "directory");
}

TEST_F(IndexTest, VersionsFromTheWireAreNumbers) {
  for (const char* version : {"latest", "1.0", "-1", "../1", "1 ", "99999999999999999999"}) {
    EXPECT_EQ(index_.Find("m", version).status().code(), absl::StatusCode::kInvalidArgument)
        << version;
  }
}

TEST_F(IndexTest, NamesFromTheWireAreOnlyLookedUp) {
  for (const char* name : {"", "..", "../m", "m/", "/etc/passwd", "m\n"}) {
    EXPECT_EQ(index_.Find(name, "").status().code(), absl::StatusCode::kNotFound) << name;
  }
}

TEST_F(IndexTest, SwapReleasesTheOldSnapshot) {
  std::weak_ptr<const ModelVersion> old = *index_.Find("m", "1");
  index_.Swap(std::make_shared<IndexSnapshot>());
  EXPECT_TRUE(old.expired());
  EXPECT_EQ(index_.Find("m", "1").status().code(), absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace inferd::repository
