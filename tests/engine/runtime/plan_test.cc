// What plans look like: folding, aliases, memory in place, layouts, the cache.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "engine/passes/pass.h"
#include "engine/runtime/model_impl.h"
#include "tests/engine/runtime/test_graphs.h"

namespace inferd::engine {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Plans of the graph as it is written, no pass applied.
ModelOptions NoPasses() {
  ModelOptions options;
  for (absl::string_view name : PassNames()) options.disabled_passes.emplace_back(name);
  return options;
}

ModelImpl& Impl(Model& model) { return static_cast<ModelImpl&>(model); }

std::shared_ptr<const Plan> PlanFor(Model& model, const std::vector<Tensor>& inputs,
                                    int threads = 1) {
  std::vector<TensorView> views;
  for (const Tensor& t : inputs) views.push_back(t.view());
  std::vector<int64_t> key;
  auto plan = Impl(model).FirstPlan(views, threads, key);
  EXPECT_TRUE(plan.ok()) << plan.status();
  return plan.ok() ? *plan : nullptr;
}

std::vector<std::string> KernelsOf(const Plan& plan) {
  std::vector<std::string> ops;
  for (const NodeReport& r : plan.reports) ops.push_back(r.op + ":" + r.kernel);
  return ops;
}

TEST(PlanTest, ShapeArithmeticVanishes) {
  auto model = *ModelFromText(R"(
graph g (x: float[n,3,h,w]) -> (y) {
  s = Shape(x)
  zero = constant int64[1] {0}
  n = Gather{axis=0}(s, zero)
  rest = constant int64[1] {-1}
  target = Concat{axis=0}(n, rest)
  y = Reshape(x, target)
})",
                              NoPasses());
  const Tensor x = Ramp({2, 3, 4, 5});
  const auto plan = PlanFor(*model, {x});
  // Only the copy of the aliased input into the output's own memory is left.
  EXPECT_EQ(plan->steps.size(), 1u);
  EXPECT_EQ(plan->steps[0].kernel, nullptr);
  EXPECT_THAT(KernelsOf(*plan),
              ElementsAre("Shape:folded", "Gather:folded", "Concat:folded", "Reshape:alias"));
  auto outputs = RunOnce(*ContextFor(*model), {x});
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  EXPECT_EQ((*outputs)[0].shape(), (Shape{2, 60}));
  EXPECT_EQ(ValuesOf((*outputs)[0]), ValuesOf(x));
}

TEST(PlanTest, NodesThatOnlyFeedFoldedOnesAreNotRun) {
  auto model = *ModelFromText(R"(
graph g (x: float[n,4]) -> (s) {
  a = Exp(x)
  b = MatMul(a, a)
  t = Transpose{perm=[1,0]}(a)
  s = Shape(t)
})",
                              NoPasses());
  // MatMul(a, a) fits only square inputs: it is dead all the same.
  auto outputs = RunOnce(*ContextFor(*model), {Ramp({4, 4})});
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  EXPECT_THAT((*outputs)[0].values<int64_t>(), ElementsAre(4, 4));
  const auto plan = PlanFor(*model, {Ramp({4, 4})});
  EXPECT_EQ(plan->steps.size(), 1u) << "one copy of the folded shape to the output";
}

TEST(PlanTest, ElementwiseChainsRunInPlace) {
  auto model = *ModelFromText(R"(
graph g (x: float[n]) -> (y) {
  a = Exp(x)
  b = Neg(a)
  c = Relu(b)
  y = Sqrt(c)
})",
                              NoPasses());
  const auto plan = PlanFor(*model, {Ramp({1000})});
  EXPECT_EQ(plan->steps.size(), 4u);
  // Everything happens in the output's buffer.
  EXPECT_EQ(plan->arena_bytes, 0u);
  EXPECT_EQ(plan->buffers.size(), 1u);
}

TEST(PlanTest, NothingInPlaceWhereTheValueIsNeededAgain) {
  auto model = *ModelFromText(R"(
graph g (x: float[n]) -> (y, a) {
  a = Neg(x)
  b = Relu(a)
  y = Sub(b, a)
})",
                              NoPasses());
  auto outputs = RunOnce(*ContextFor(*model), {Floats({3}, {1, -2, 3})});
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  EXPECT_THAT(ValuesOf((*outputs)[0]), ElementsAre(1, 0, 3));
  EXPECT_THAT(ValuesOf((*outputs)[1]), ElementsAre(-1, 2, -3));
}

TEST(PlanTest, ViewsOfAValueKeepItAlive) {
  auto model = *ModelFromText(R"(
graph g (x: float[2,3]) -> (y) {
  flat = constant int64[1] {-1}
  a = Neg(x)
  v = Reshape(a, flat)
  b = Relu(a)
  c = Reshape(b, flat)
  y = Sub(v, c)
})",
                              NoPasses());
  auto outputs = RunOnce(*ContextFor(*model), {Floats({2, 3}, {1, -1, 2, -2, 3, -3})});
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  EXPECT_THAT(ValuesOf((*outputs)[0]), ElementsAre(-1, 0, -2, 0, -3, 0));
}

TEST(PlanTest, ArenaHoldsWhatIsAliveAndNoMore) {
  // Softmax runs in memory of its own or in place; at most two tensors are ever alive.
  std::string text = "graph g (x: float[n,256]) -> (y) {\n  v0 = Transpose{perm=[1,0]}(x)\n";
  for (int i = 1; i < 20; ++i) {
    text +=
        "  v" + std::to_string(i) + " = Transpose{perm=[1,0]}(v" + std::to_string(i - 1) + ")\n";
  }
  text += "  y = Neg(v19)\n}";
  auto model = *ModelFromText(text, NoPasses());
  const auto plan = PlanFor(*model, {Ramp({64, 256})});
  EXPECT_LE(plan->arena_bytes, 2u * 64 * 256 * 4);
}

TEST(PlanTest, GraphOutputsThatAreViewsOfOneAnother) {
  auto model = *ModelFromText(R"(
graph g (x: float[2,3]) -> (a, v) {
  flat = constant int64[1] {-1}
  a = Neg(x)
  v = Reshape(a, flat)
})",
                              NoPasses());
  auto outputs = RunOnce(*ContextFor(*model), {Ramp({2, 3})});
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  EXPECT_EQ((*outputs)[0].shape(), (Shape{2, 3}));
  EXPECT_EQ((*outputs)[1].shape(), (Shape{6}));
  EXPECT_EQ(ValuesOf((*outputs)[0]), ValuesOf((*outputs)[1]));
}

TEST(PlanTest, PlansAreSharedByContextsAndBounded) {
  ModelOptions options;
  options.max_cached_plans = 3;
  auto model = *ModelFromText("graph g (x: float[n]) -> (y) {\n  y = Neg(x)\n}", options);
  EXPECT_EQ(PlanFor(*model, {Ramp({5})}), PlanFor(*model, {Ramp({5})}));
  EXPECT_NE(PlanFor(*model, {Ramp({5})}), PlanFor(*model, {Ramp({6})}));
  EXPECT_NE(PlanFor(*model, {Ramp({5})}), PlanFor(*model, {Ramp({5})}, /*threads=*/2));
  auto context = ContextFor(*model);
  for (int n = 1; n < 100; ++n) ASSERT_TRUE(RunOnce(*context, {Ramp({n})}).ok());
  EXPECT_EQ(Impl(*model).first_plans().statistics().size, 3);
}

// A convolution network in a channel-blocked layout: reorders stay at the borders.
TEST(PlanTest, ReordersStayAtTheBorders) {
  std::string filter, image_filter;
  for (int i = 0; i < 16 * 16 * 9; ++i) filter += (i > 0 ? "," : "") + std::to_string((i % 7) - 3);
  for (int i = 0; i < 16 * 3 * 9; ++i) {
    image_filter += (i > 0 ? "," : "") + std::to_string((i % 5) - 2);
  }
  const std::string text =
      "graph g (x: float[n,3,12,12]) -> (y) {\n  w0 = constant float[16,3,3,3] {" + image_filter +
      "}\n  w1 = constant float[16,16,3,3] {" + filter + R"(}
  a = Conv{pads=[1,1,1,1]}(x, w0)
  b = Relu(a)
  c = Conv{pads=[1,1,1,1]}(b, w1)
  d = Add(c, b)
  e = Relu(d)
  y = Conv{pads=[1,1,1,1]}(e, w1)
})";
  auto model = *ModelFromText(text);
  const Tensor x = Ramp({2, 3, 12, 12}, 1e-3f);
  const auto plan = PlanFor(*model, {x});
  const auto reorders =
      std::count_if(plan->reports.begin(), plan->reports.end(),
                    [](const NodeReport& r) { return r.op == "inferd::Reorder"; });
  EXPECT_LE(reorders, 2);

  ModelOptions eager;
  eager.eager = true;
  auto oracle = *ModelFromText(text, eager);
  const std::vector<float> want = ValuesOf((*RunOnce(*ContextFor(*oracle), {x}))[0]);
  const std::vector<float> got = ValuesOf((*RunOnce(*ContextFor(*model), {x}))[0]);
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < got.size(); ++i) {
    ASSERT_NEAR(got[i], want[i], 1e-4 * (1 + std::abs(want[i]))) << i;
  }
}

// A provider that knows nothing: the planner must say which node stays without a kernel.
class EmptyProvider final : public ExecutionProvider {
 public:
  absl::string_view name() const override { return "empty"; }
  Device& device() const override { return CpuDevice(); }
  std::vector<const KernelImplementation*> Candidates(const OpDef&) const override { return {}; }
};

// Takes any node and declines it, with a reason.
class DecliningProvider final : public ExecutionProvider {
 public:
  class Implementation final : public KernelImplementation {
   public:
    absl::string_view name() const override { return "picky"; }
    absl::StatusOr<KernelLayouts> Accept(const NodeSpec&) const override {
      return absl::UnimplementedError("the moon is not full");
    }
    absl::StatusOr<std::unique_ptr<Kernel>> Create(const NodeSpec&) const override {
      return absl::InternalError("must not be called");
    }
  };
  absl::string_view name() const override { return "declining"; }
  Device& device() const override { return CpuDevice(); }
  std::vector<const KernelImplementation*> Candidates(const OpDef&) const override {
    return {&implementation_};
  }

 private:
  Implementation implementation_;
};

constexpr char kTwoNodes[] = R"(
graph g (x: float[n]) -> (y) {
  a = Exp(x)
  y = Sin(a)
})";

TEST(PlanTest, OperatorsWithoutAProviderAreListedAtLoad) {
  const EmptyProvider empty;
  ModelOptions options = NoPasses();
  options.providers = {&empty};
  const absl::Status status = ModelFromText(kTwoNodes, options).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented);
  EXPECT_THAT(std::string(status.message()), HasSubstr("Exp"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("Sin"));
}

TEST(PlanTest, EveryRefusalIsNamed) {
  const DecliningProvider declining;
  ModelOptions options = NoPasses();
  options.providers = {&declining};
  auto model = *ModelFromText(kTwoNodes, options);
  const absl::Status status = model->Report({Shape{3}}, 1).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented);
  EXPECT_THAT(std::string(status.message()), HasSubstr("Exp(float[3])"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("Sin(float[3])"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("picky: the moon is not full"));
}

TEST(PlanTest, TheNextProviderTakesOverAndTheReasonIsKept) {
  const DecliningProvider declining;
  class Reference final : public ExecutionProvider {
   public:
    class Implementation final : public KernelImplementation {
     public:
      absl::string_view name() const override { return "reference"; }
      absl::StatusOr<KernelLayouts> Accept(const NodeSpec& spec) const override {
        return KernelLayouts{std::vector<Layout>(spec.inputs.size()),
                             std::vector<Layout>(spec.outputs.size())};
      }
      absl::StatusOr<std::unique_ptr<Kernel>> Create(const NodeSpec& spec) const override {
        return spec.op().reference(spec);
      }
    };
    absl::string_view name() const override { return "second"; }
    Device& device() const override { return CpuDevice(); }
    std::vector<const KernelImplementation*> Candidates(const OpDef&) const override {
      return {&implementation_};
    }

   private:
    Implementation implementation_;
  };
  const Reference second;
  ModelOptions options = NoPasses();
  options.providers = {&declining, &second};
  auto model = *ModelFromText(kTwoNodes, options);
  const auto report = model->Report({Shape{3}}, 1);
  ASSERT_TRUE(report.ok()) << report.status();
  for (const NodeReport& node : *report) {
    EXPECT_EQ(node.provider, "second");
    EXPECT_THAT(node.declined, ElementsAre("picky: the moon is not full"));
  }
}

}  // namespace
}  // namespace inferd::engine
