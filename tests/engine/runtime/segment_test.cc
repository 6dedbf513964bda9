// Shapes that depend on data: plans cut into segments.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/runtime/model_impl.h"
#include "tests/engine/runtime/test_graphs.h"

namespace inferd::engine {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

ModelImpl& Impl(Model& model) { return static_cast<ModelImpl&>(model); }

// Both ways to run must agree wherever these tests look.
class SegmentTest : public ::testing::TestWithParam<bool> {
 protected:
  std::shared_ptr<Model> Load(const std::string& text) {
    ModelOptions options;
    options.eager = GetParam();
    options.max_cached_plans = 4;
    auto model = ModelFromText(text, options);
    EXPECT_TRUE(model.ok()) << model.status();
    return *model;
  }
};

TEST_P(SegmentTest, AShapeFedAtRunTimeKeysThePlan) {
  auto model = Load(R"(
graph g (x: float[n], shape: int64[r]) -> (y) {
  a = Neg(x)
  y = Reshape(a, shape)
})");
  auto context = ContextFor(*model);
  for (int round = 0; round < 2; ++round) {
    auto flat = RunOnce(*context, {Ramp({6}), Tensor::Vector({2, -1})});
    ASSERT_TRUE(flat.ok()) << flat.status();
    EXPECT_EQ((*flat)[0].shape(), (Shape{2, 3}));
    auto deep = RunOnce(*context, {Ramp({6}), Tensor::Vector({1, 2, 3, 1})});
    EXPECT_EQ((*deep)[0].shape(), (Shape{1, 2, 3, 1}));
    EXPECT_THAT(ValuesOf((*deep)[0]), ElementsAre(0, -1, -2, -3, -4, -5));
  }
  EXPECT_EQ(Impl(*model).first_plans().statistics().misses, 2);
  EXPECT_EQ(Impl(*model).later_plans().statistics().misses, 0) << "no segment is needed";
  const auto bad = RunOnce(*context, {Ramp({6}), Tensor::Vector({4, -1})});
  EXPECT_EQ(bad.status().code(), absl::StatusCode::kInvalidArgument);
}

TEST_P(SegmentTest, AComputedShapeCutsThePlan) {
  auto model = Load(R"(
graph g (x: float[n], count: float[1]) -> (y, z) {
  one = constant float[1] {1}
  more = Add(count, one)
  times = Cast{to=7}(more)
  a = Neg(x)
  b = Relu(x)
  y = Tile(a, times)
  z = Add(b, a)
})");
  auto context = ContextFor(*model);
  for (int round = 0; round < 2; ++round) {
    for (int count : {0, 1, 2}) {
      auto outputs =
          RunOnce(*context, {Floats({2}, {1, -2}), Floats({1}, {static_cast<float>(count)})});
      ASSERT_TRUE(outputs.ok()) << outputs.status();
      EXPECT_EQ((*outputs)[0].shape(), (Shape{2 * (count + 1)}));
      for (int i = 0; i < 2 * (count + 1); ++i) {
        EXPECT_EQ(ValuesOf((*outputs)[0])[i], i % 2 == 0 ? -1 : 2);
      }
      EXPECT_THAT(ValuesOf((*outputs)[1]), ElementsAre(0, 2));
    }
  }
  EXPECT_EQ(Impl(*model).first_plans().statistics().misses, 1);
  EXPECT_EQ(Impl(*model).later_plans().statistics().misses, 3);
}

TEST_P(SegmentTest, NonZeroAllocatesItsOutput) {
  auto model = Load(R"(
graph g (x: float[n,m]) -> (where, picked) {
  where = NonZero(x)
  indices = Transpose{perm=[1,0]}(where)
  y = Neg(x)
  picked = GatherND(y, indices)
})");
  auto context = ContextFor(*model);
  for (int round = 0; round < 2; ++round) {
    auto outputs = RunOnce(*context, {Floats({2, 3}, {0, 5, 0, 7, 0, 9})});
    ASSERT_TRUE(outputs.ok()) << outputs.status();
    EXPECT_EQ((*outputs)[0].shape(), (Shape{2, 3}));
    EXPECT_THAT((*outputs)[0].values<int64_t>(), ElementsAre(0, 1, 1, 1, 0, 2));
    EXPECT_THAT(ValuesOf((*outputs)[1]), ElementsAre(-5, -7, -9));
    // Nothing found.
    auto none = RunOnce(*context, {Floats({2, 3}, {0, 0, 0, 0, 0, 0})});
    ASSERT_TRUE(none.ok()) << none.status();
    EXPECT_EQ((*none)[0].shape(), (Shape{2, 0}));
    EXPECT_EQ((*none)[1].shape(), (Shape{0}));
  }
}

TEST_P(SegmentTest, ChainsOfDynamicNodes) {
  auto model = Load(R"(
graph g (x: int64[n]) -> (y, unused) {
  a = NonZero(x)
  b = NonZero(a)
  c = NonZero(b)
  y = Shape(c)
  unused = NonZero(x)
})");
  auto context = ContextFor(*model);
  auto outputs = RunOnce(*context, {Tensor::Vector({1, 2, 0, 3})});
  // a = [[0,1,3]]; b = coordinates of {1,3} = [[0,0],[1,2]]; c = coordinates of {1,2}.
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  EXPECT_THAT((*outputs)[0].values<int64_t>(), ElementsAre(2, 2));
  EXPECT_THAT((*outputs)[1].values<int64_t>(), ElementsAre(0, 1, 3));
}

TEST_P(SegmentTest, OutputsOfEarlierSegmentsAndViewsCross) {
  auto model = Load(R"(
graph g (x: float[2,2]) -> (early, late, same) {
  flat = constant int64[1] {-1}
  v = Reshape(x, flat)
  early = Neg(v)
  hits = NonZero(early)
  row = Squeeze(hits)
  late = Gather(early, row)
  same = Gather(v, row)
})");
  auto context = ContextFor(*model);
  auto outputs = RunOnce(*context, {Floats({2, 2}, {0, 1, 2, 0})});
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  EXPECT_THAT(ValuesOf((*outputs)[0]), ElementsAre(0, -1, -2, 0));
  EXPECT_THAT(ValuesOf((*outputs)[1]), ElementsAre(-1, -2));
  EXPECT_THAT(ValuesOf((*outputs)[2]), ElementsAre(1, 2));
}

TEST_P(SegmentTest, LaterPlansAreBounded) {
  auto model = Load(R"(
graph g (x: float[n]) -> (y) {
  a = NonZero(x)
  b = Squeeze{}(a, _)
  y = Gather(x, a)
})");
  auto context = ContextFor(*model);
  for (int hits = 1; hits <= 100; ++hits) {
    std::vector<float> values(100, 0);
    std::fill_n(values.begin(), hits, 1.0f);
    auto outputs = RunOnce(*context, {Floats({100}, values)});
    ASSERT_TRUE(outputs.ok()) << outputs.status();
    ASSERT_EQ((*outputs)[0].num_elements(), hits);
  }
  EXPECT_EQ(Impl(*model).first_plans().statistics().misses, 1);
  EXPECT_LE(Impl(*model).later_plans().statistics().size, 16);
}

TEST_P(SegmentTest, AnErrorInALaterSegmentLeavesTheContextUsable) {
  auto model = Load(R"(
graph g (x: float[n], count: float[1]) -> (y) {
  two = constant float[1] {1}
  c = Mul(count, two)
  times = Cast{to=7}(c)
  y = Reshape(x, times)
})");
  auto context = ContextFor(*model);
  for (int round = 0; round < 3; ++round) {
    auto bad = RunOnce(*context, {Ramp({4}), Floats({1}, {3})});
    EXPECT_EQ(bad.status().code(), absl::StatusCode::kInvalidArgument) << bad.status();
    EXPECT_THAT(std::string(bad.status().message()), HasSubstr("Reshape"));
    EXPECT_TRUE(RunOnce(*context, {Ramp({4}), Floats({1}, {4})}).ok());
  }
}

TEST(SegmentReportTest, LaterNodesAreListed) {
  auto model = *ModelFromText(R"(
graph g (x: float[n]) -> (y) {
  a = NonZero(x)
  y = Gather(x, a)
})");
  auto report = model->Report({Shape{5}}, 1);
  ASSERT_TRUE(report.ok()) << report.status();
  ASSERT_EQ(report->size(), 2u);
  EXPECT_EQ((*report)[0].op, "NonZero");
  EXPECT_EQ((*report)[1].op, "Gather");
  EXPECT_THAT((*report)[1].kernel, HasSubstr("once its shapes are known"));
}

INSTANTIATE_TEST_SUITE_P(Eager, SegmentTest, ::testing::Bool(),
                         [](const auto& p) { return p.param ? "Eager" : "Planned"; });

}  // namespace
}  // namespace inferd::engine
