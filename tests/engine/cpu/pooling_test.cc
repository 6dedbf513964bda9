#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/engine/cpu/candidate_tester.h"
#include "tests/engine/ops/op_tester.h"

namespace inferd::engine {
namespace {

using Ints = std::vector<int64_t>;

struct Case {
  std::string name;
  Shape x;
  Ints kernel;
  Ints strides = {}, pads = {};
  int64_t ceil_mode = 0;
};

CandidateTester Tester(const std::string& op, const Case& c) {
  CandidateTester tester(op);
  tester.Input(RandomFloats(c.x, 1)).Attr("kernel_shape", c.kernel);
  if (!c.strides.empty()) tester.Attr("strides", c.strides);
  if (!c.pads.empty()) tester.Attr("pads", c.pads);
  if (c.ceil_mode != 0) tester.Attr("ceil_mode", c.ceil_mode);
  return tester;
}

const Case kCases[] = {
    {"plain_window", {2, 16, 8, 8}, {2, 2}, {2, 2}},
    {"odd_channels", {1, 20, 9, 7}, {3, 3}, {2, 2}, {1, 1, 1, 1}},
    {"few_channels", {1, 3, 9, 7}, {3, 3}, {1, 1}, {1, 1, 1, 1}},
    {"asymmetric_pads", {1, 16, 9, 9}, {3, 3}, {2, 2}, {0, 0, 1, 1}},
    {"ceil", {1, 16, 8, 8}, {3, 3}, {2, 2}, {}, 1},
    {"ceil_within_pads", {1, 16, 10, 10}, {3, 3}, {2, 2}, {0, 0, 1, 1}, 1},
    {"rectangle", {1, 24, 6, 12}, {2, 5}, {1, 3}, {0, 2, 0, 2}},
    {"one_axis", {2, 16, 21}, {3}, {2}, {1, 1}},
    {"three_axes", {1, 16, 5, 6, 7}, {2, 2, 2}, {2, 2, 2}},
    {"whole_plane", {2, 40, 7, 7}, {7, 7}},
};

TEST(OneDnnPooling, MaxEqualsReference) {
  for (const Case& c : kCases) {
    SCOPED_TRACE(c.name);
    EXPECT_EQ(Tester("MaxPool", c).Check("onednn_pool"), absl::OkStatus());
  }
}

TEST(OneDnnPooling, AverageEqualsReference) {
  for (const Case& c : kCases) {
    SCOPED_TRACE(c.name);
    EXPECT_EQ(Tester("AveragePool", c).Check("onednn_pool"), absl::OkStatus());
  }
}

TEST(OneDnnPooling, AverageCountingPadsEqualsReference) {
  for (const Case& c : kCases) {
    SCOPED_TRACE(c.name);
    CandidateTester tester = Tester("AveragePool", c);
    tester.Attr("count_include_pad", int64_t{1});
    const absl::Status offered = tester.Offer("onednn_pool");
    if (c.name == "ceil") {  // its last window reads beyond the pads
      EXPECT_THAT(offered,
                  StatusIs(absl::StatusCode::kUnimplemented, testing::HasSubstr("ceil_mode")));
    } else {
      EXPECT_EQ(tester.Check("onednn_pool"), absl::OkStatus());
    }
  }
}

TEST(OneDnnPooling, Declines) {
  CandidateTester dilated("MaxPool");
  dilated.Input(RandomFloats({1, 16, 9, 9}, 1))
      .Attr("kernel_shape", Ints{2, 2})
      .Attr("dilations", Ints{2, 2});
  EXPECT_THAT(dilated.Offer("onednn_pool"),
              StatusIs(absl::StatusCode::kUnimplemented, testing::HasSubstr("dilations")));
}

TEST(GlobalAveragePool, EqualsReference) {
  for (const Shape& shape : {Shape{2, 64, 7, 7}, Shape{1, 20, 3, 5}, Shape{1, 1000, 13, 13},
                             Shape{3, 5, 33}, Shape{1, 16, 2, 3, 4}, Shape{2, 16, 1, 1}}) {
    SCOPED_TRACE(shape.ToString());
    CandidateTester tester("GlobalAveragePool");
    tester.Input(RandomFloats(shape, 1)).Tolerance(1e-6, 1e-5);
    EXPECT_EQ(tester.Check("vector_global_average_pool"), absl::OkStatus());
  }
}

TEST(OneDnnLrn, EqualsReference) {
  for (const Shape& shape : {Shape{2, 32, 7, 7}, Shape{1, 64, 3, 5}, Shape{1, 96, 13, 13}}) {
    SCOPED_TRACE(shape.ToString());
    CandidateTester tester("LRN");
    tester.Input(RandomFloats(shape, 1, -20, 20))
        .Attr("size", int64_t{5})
        .Attr("alpha", 2e-3f)
        .Attr("beta", 0.75f)
        .Attr("bias", 1.5f);
    EXPECT_EQ(tester.Check("onednn_lrn"), absl::OkStatus());
  }
}

}  // namespace
}  // namespace inferd::engine
