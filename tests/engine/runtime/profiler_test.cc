// Context::Profile, LastRun and PlannedNodes: what ran, inside what, how much work it was.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/engine/runtime/test_graphs.h"

namespace inferd::engine {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

constexpr char kLoopInIf[] = R"(
graph g (c: bool[], n: int64[], x: float[2]) -> (y) {
  h = Neg(x)
  y = If{then_branch={graph then () -> (t) {
           m = constant bool[] {true}
           t = Loop{body={graph body (i: int64[], k: bool[], v: float[2]) -> (k2, w) {
                 k2 = Identity(k)
                 w = Add(v, v) }}}(n, m, h) }},
         else_branch={graph else () -> (e) { e = Abs(h) }}}(c)
})";

std::vector<Tensor> LoopInputs(bool condition, int64_t rounds) {
  return {Tensor::Scalar<bool>(condition), Tensor::Scalar<int64_t>(rounds), Floats({2}, {1, 2})};
}

const NodeProfile* Find(const std::vector<NodeProfile>& nodes, const std::string& op) {
  const auto it = std::find_if(nodes.begin(), nodes.end(),
                               [&](const NodeProfile& n) { return n.report.op == op; });
  return it == nodes.end() ? nullptr : &*it;
}

TEST(ProfilerTest, NodesOfBodiesFollowTheirNode) {
  auto model = ModelFromText(kLoopInIf);
  ASSERT_TRUE(model.ok()) << model.status();
  auto context = *(*model)->NewContext({.threads = 1, .profile = true});
  ASSERT_TRUE(RunOnce(*context, LoopInputs(true, 5)).ok());
  ASSERT_TRUE(RunOnce(*context, LoopInputs(true, 3)).ok());
  ASSERT_TRUE(RunOnce(*context, LoopInputs(false, 9)).ok());

  const std::vector<NodeProfile> nodes = context->Profile();
  const NodeProfile* const branch = Find(nodes, "If");
  const NodeProfile* const loop = Find(nodes, "Loop");
  const NodeProfile* const add = Find(nodes, "Add");
  const NodeProfile* const abs = Find(nodes, "Abs");
  ASSERT_TRUE(branch != nullptr && loop != nullptr && add != nullptr && abs != nullptr);
  EXPECT_EQ(branch->runs, 3);
  EXPECT_EQ(loop->runs, 2);
  EXPECT_EQ(add->runs, 8);
  EXPECT_EQ(add->model_runs, 2);
  EXPECT_EQ(add->work.flops, 2 * 8);
  EXPECT_EQ(add->work.bytes, 3 * 8 * 8);
  EXPECT_EQ(abs->model_runs, 1);
  EXPECT_EQ(branch->report.inside, "");
  EXPECT_EQ(loop->report.inside, branch->report.node + ", then_branch");
  EXPECT_EQ(add->report.inside, loop->report.inside + " > " + loop->report.node + ", body");
  EXPECT_EQ(abs->report.inside, branch->report.node + ", else_branch");
  ASSERT_GE(loop->parent, 0);
  EXPECT_EQ(&nodes[loop->parent], branch);
  EXPECT_EQ(&nodes[add->parent], loop);
  EXPECT_LT(branch, loop);
  EXPECT_LT(loop, add);
  EXPECT_LT(add, abs);

  // What is counted inside is not counted again outside.
  int64_t self = 0, outermost = 0;
  for (const NodeProfile& node : nodes) {
    self += node.self_nanoseconds;
    if (node.parent < 0) outermost += node.nanoseconds;
    EXPECT_LE(node.self_nanoseconds, node.nanoseconds);
  }
  EXPECT_EQ(self, outermost);
}

TEST(ProfilerTest, TheLastRunIsTraced) {
  auto model = *ModelFromText(kLoopInIf);
  auto context = *model->NewContext({.threads = 1, .profile = true});
  ASSERT_TRUE(RunOnce(*context, LoopInputs(true, 5)).ok());
  ASSERT_TRUE(RunOnce(*context, LoopInputs(true, 3)).ok());
  const RunTrace trace = context->LastRun();
  const std::vector<NodeProfile> nodes = context->Profile();
  EXPECT_EQ(trace.dropped, 0);
  EXPECT_EQ(std::count_if(trace.events.begin(), trace.events.end(),
                          [&](const NodeEvent& e) { return nodes[e.node].report.op == "Add"; }),
            3);
  for (const NodeEvent& event : trace.events) {
    EXPECT_GE(event.start, 0);
    const int parent = nodes[event.node].parent;
    if (parent < 0) continue;
    const auto outer = std::find_if(trace.events.begin(), trace.events.end(),
                                    [&](const NodeEvent& e) { return e.node == parent; });
    ASSERT_NE(outer, trace.events.end());
    EXPECT_LE(outer->start, event.start);
    EXPECT_GE(outer->start + outer->duration, event.start + event.duration);
  }
  auto unprofiled = ContextFor(*model);
  ASSERT_TRUE(RunOnce(*unprofiled, LoopInputs(true, 2)).ok());
  EXPECT_THAT(unprofiled->LastRun().events, IsEmpty());
  EXPECT_THAT(unprofiled->Profile(), IsEmpty());
}

TEST(ProfilerTest, PlansMadeInTheCourseOfARunAreReported) {
  auto model = *ModelFromText(R"(
graph g (x: float[n]) -> (y) {
  i = NonZero(x)
  y = Neg(i)
})");
  const std::vector<NodeReport> before = *model->Report({Shape{4}}, 1);
  EXPECT_TRUE(std::any_of(before.begin(), before.end(),
                          [](const NodeReport& n) { return n.kernel == kPlannedLater; }));
  auto context = ContextFor(*model);
  EXPECT_THAT(context->PlannedNodes(), IsEmpty());
  ASSERT_TRUE(RunOnce(*context, {Floats({4}, {1, 0, 0, 2})}).ok());
  const std::vector<NodeReport> after = context->PlannedNodes();
  ASSERT_EQ(after.size(), 2);
  for (const NodeReport& node : after) EXPECT_EQ(node.provider, "cpu") << node.node;
}

TEST(ProfilerTest, PlannedNodesNameTheBodiesTheyAreIn) {
  auto model = *ModelFromText(kLoopInIf);
  auto context = ContextFor(*model);
  ASSERT_TRUE(RunOnce(*context, LoopInputs(true, 1)).ok());
  std::vector<std::string> inside;
  for (const NodeReport& node : context->PlannedNodes()) {
    if (node.op == "Add") inside.push_back(node.inside);
  }
  ASSERT_EQ(inside.size(), 1);
  EXPECT_THAT(inside[0], HasSubstr(", then_branch > "));
  EXPECT_THAT(inside[0], ::testing::EndsWith(", body"));
}

// Operations and bytes of the first node of a graph, by hand.
NodeWork WorkOfFirst(const std::string& text, const std::vector<Shape>& shapes) {
  auto model = ModelFromText(text);
  EXPECT_TRUE(model.ok()) << model.status();
  if (!model.ok()) return {};
  auto reports = (*model)->Report(shapes, 1);
  EXPECT_TRUE(reports.ok()) << reports.status();
  for (const NodeReport& report : *reports) {
    if (report.provider == "cpu" && report.op != "inferd::Reorder") return report.work;
  }
  return {};
}

TEST(NodeWorkTest, FormulasCountWhatTheOperatorDoes) {
  // 2 x 3 x 5 multiply-adds; 2x5, 5x3 and 2x3 floats.
  NodeWork work = WorkOfFirst("graph g (a: float[2,5], b: float[5,3]) -> (y) { y = MatMul(a, b) }",
                              {{2, 5}, {5, 3}});
  EXPECT_EQ(work.flops, 2 * 30);
  EXPECT_EQ(work.bytes, 4 * (10 + 15 + 6));
  work = WorkOfFirst(
      "graph g (a: float[5,2], b: float[3,5]) -> (y) { y = Gemm{transA=1, transB=1}(a, b) }",
      {{5, 2}, {3, 5}});
  EXPECT_EQ(work.flops, 2 * 30);
  // Two groups: each of the 4 x 6 x 6 outputs is a sum over 2 x 3 x 3 products.
  work = WorkOfFirst(
      "graph g (x: float[1,4,8,8], w: float[4,2,3,3]) -> (y) { y = Conv{group=2}(x, w) }",
      {{1, 4, 8, 8}, {4, 2, 3, 3}});
  EXPECT_EQ(work.flops, 2.0 * 144 * 18);
  EXPECT_EQ(work.bytes, 4 * (256 + 72 + 144));
  // Every input element meets each of the 3 x 2 x 2 weights of its channel.
  work = WorkOfFirst(
      "graph g (x: float[1,2,4,4], w: float[2,3,2,2]) -> (y) { y = ConvTranspose(x, w) }",
      {{1, 2, 4, 4}, {2, 3, 2, 2}});
  EXPECT_EQ(work.flops, 2.0 * 32 * 12);
  // A lookup reads the rows it takes, not the table.
  work = WorkOfFirst("graph g (t: float[1000,4], i: int64[3]) -> (y) { y = Gather(t, i) }",
                     {{1000, 4}, {3}});
  EXPECT_EQ(work.flops, 0);
  EXPECT_EQ(work.bytes, 2 * 3 * 4 * 4 + 3 * 8);
}

TEST(NodeWorkTest, NothingIsClaimedWhereShapesDependOnData) {
  const NodeWork work = WorkOfFirst("graph g (x: float[n]) -> (y) { y = NonZero(x) }", {{4}});
  EXPECT_LT(work.flops, 0);
  EXPECT_LT(work.bytes, 0);
}

}  // namespace
}  // namespace inferd::engine
