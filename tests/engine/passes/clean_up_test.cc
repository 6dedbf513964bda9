// fold_constants, remove_no_ops, eliminate_common_subexpressions, remove_dead.
#include "engine/ir/text_format.h"
#include "engine/ops/op_def.h"
#include "engine/passes/pass.h"
#include "tests/engine/passes/pass_tester.h"

namespace inferd::engine {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(FoldConstants, ComputesChainsOfConstants) {
  const Rewritten r = RunOnePass("fold_constants", R"(
    graph g (x: float[2]) -> (y) {
      a = constant float[2] {1,2}
      b = constant float[2] {3,4}
      c = Add(a, b)
      d = Mul(c, c)
      y = Add(x, d)
    })");
  EXPECT_EQ(r.applied, 2);
  EXPECT_THAT(r.ops(), ElementsAre("Add"));
  const Value* d = r.after->nodes()[0]->input(1);
  ASSERT_TRUE(d->is_constant());
  EXPECT_THAT(d->constant().values<float>(), ElementsAre(16, 36));
  EXPECT_TRUE(SameOutputs(r));
}

TEST(FoldConstants, WeightsMadeByConstantOfShape) {
  const Rewritten r = RunOnePass("fold_constants", R"(
    graph g (x: float[1,3]) -> (y) {
      s = constant int64[2] {3,2}
      w = ConstantOfShape{value=float[1] {0.5}}(s)
      y = MatMul(x, w)
    })");
  EXPECT_THAT(r.ops(), ElementsAre("MatMul"));
  EXPECT_TRUE(SameOutputs(r));
}

TEST(FoldConstants, ShapeOfKnownShape) {
  const Rewritten r = RunOnePass("fold_constants", R"(
    graph g (x: float[2,3,5]) -> (y) {
      y = Shape{start=-2}(x)
    })");
  EXPECT_THAT(r.ops(), IsEmpty());
  ASSERT_TRUE(r.after->outputs()[0]->is_constant());
  EXPECT_THAT(r.after->outputs()[0]->constant().values<int64_t>(), ElementsAre(3, 5));
}

TEST(FoldConstants, KeepsUnknownShapesRandomNumbersAndGrowth) {
  const Rewritten symbolic = RunOnePass("fold_constants", R"(
    graph g (x: float[n,3]) -> (y) {
      y = Shape(x)
    })");
  EXPECT_EQ(symbolic.applied, 0);
  // 64 MB out of a few bytes.
  const Rewritten growth = RunOnePass("fold_constants", R"(
    graph g () -> (y) {
      a = constant float[1] {1}
      s = constant int64[2] {4096,4096}
      y = Expand(a, s)
    })");
  EXPECT_EQ(growth.applied, 0);
}

TEST(RemoveNoOps, ForwardsInputs) {
  const Rewritten r = RunOnePass("remove_no_ops", R"(
    graph g (x: float[2,3]) -> (y) {
      shape = constant int64[2] {2,3}
      zeros = constant int64[4] {0,0,0,0}
      r = Relu(x)
      a = Identity(r)
      b = Dropout(a)
      c = Cast{to=1}(b)
      d = Transpose{perm=[0,1]}(c)
      e = Reshape(d, shape)
      f = Pad(e, zeros)
      h = Concat{axis=0}(f)
      y = Neg(h)
    })");
  EXPECT_EQ(r.applied, 7);
  EXPECT_THAT(r.ops(), ElementsAre("Relu", "Neg"));
  EXPECT_TRUE(SameOutputs(r));
}

TEST(RemoveNoOps, KeepsWhatChangesSomething) {
  const Rewritten r = RunOnePass("remove_no_ops", R"(
    graph g (x: float[2,3]) -> (y) {
      shape = constant int64[2] {3,2}
      pads = constant int64[4] {0,0,0,1}
      a = Reshape(x, shape)
      b = Transpose{perm=[1,0]}(a)
      c = Pad(b, pads)
      y = Concat{axis=0}(c, c)
    })");
  EXPECT_EQ(r.applied, 0);
}

TEST(RemoveNoOps, OutputNeverBecomesAnInput) {
  const Rewritten r = RunOnePass("remove_no_ops", R"(
    graph g (x: float[2]) -> (y) {
      y = Identity(x)
    })");
  EXPECT_EQ(r.applied, 0);
}

TEST(RemoveNoOps, MergesTransposes) {
  const Rewritten r = RunOnePass("remove_no_ops", R"(
    graph g (x: float[2,3,4]) -> (y, z) {
      p = Relu(x)
      a = Transpose{perm=[1,2,0]}(p)
      b = Transpose{perm=[2,0,1]}(a)
      y = Neg(b)
      c = Transpose{perm=[1,0,2]}(p)
      d = Transpose{perm=[2,1,0]}(c)
      z = Neg(d)
    })");
  EXPECT_THAT(r.ops(), ElementsAre("Relu", "Neg", "Transpose", "Neg"));
  EXPECT_TRUE(SameOutputs(r));
}

TEST(EliminateCommonSubexpressions, KeepsTheFirst) {
  const Rewritten r = RunOnePass("eliminate_common_subexpressions", R"(
    graph g (x: float[2,4]) -> (y) {
      a = Softmax{axis=1}(x)
      b = Softmax{axis=1}(x)
      c = Softmax{axis=0}(x)
      d = Relu(a)
      e = Relu(b)
      f = Add(d, e)
      y = Add(f, c)
    })");
  EXPECT_EQ(r.applied, 2);
  EXPECT_THAT(r.ops(), ElementsAre("Softmax", "Softmax", "Relu", "Add", "Add"));
  EXPECT_TRUE(SameOutputs(r));
}

TEST(RemoveDead, RemovesUnusedBranches) {
  const Rewritten r = RunOnePass("remove_dead", R"(
    graph g (x: float[2]) -> (y) {
      c = constant float[2] {1,2}
      dead = Mul(x, c)
      deader = Relu(dead)
      y = Neg(x)
    })");
  EXPECT_THAT(r.ops(), ElementsAre("Neg"));
  EXPECT_THAT(r.after->constants(), IsEmpty());
}

TEST(RunPasses, NamesAnUnknownPass) {
  Graph graph;
  const auto result = RunPasses(graph, OpRegistry::Global(), {"no_such_pass"});
  EXPECT_EQ(result.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(result.status().message()), HasSubstr("no_such_pass"));
}

TEST(RunPasses, LeavesOutDisabledPasses) {
  auto graph = ParseGraph(R"(
    graph g (x: float[2]) -> (y) {
      a = Identity(x)
      y = Relu(a)
    })",
                          OpRegistry::Global());
  ASSERT_TRUE(graph.ok()) << graph.status();
  const auto result = RunPasses(**graph, OpRegistry::Global(), {"remove_no_ops"});
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ((*graph)->nodes().size(), 2u);
}

}  // namespace
}  // namespace inferd::engine
