#include <cstdint>
#include <memory>
#include <vector>

#include "engine/device/device.h"
#include "engine/kernel/kernel.h"
#include "engine/ops/op_def.h"
#include "engine/providers/cpu/cpu_provider.h"
#include "gtest/gtest.h"

namespace inferd::engine {
namespace {

class Context final : public KernelContext {
 public:
  Context(TensorView x, TensorView y, Stream& stream) : x_(x), y_(y), stream_(stream) {}
  const TensorView& input(int) const override { return x_; }
  const TensorView& output(int) const override { return y_; }
  bool has_input(int i) const override { return i == 0; }
  bool has_output(int i) const override { return i == 0; }
  int num_inputs() const override { return 1; }
  int num_outputs() const override { return 1; }
  void* workspace() const override { return nullptr; }
  Stream& stream() const override { return stream_; }
  absl::StatusOr<TensorView> AllocateOutput(int, const Shape&) override {
    return absl::InternalError("not asked for");
  }

 private:
  TensorView x_, y_;
  Stream& stream_;
};

// Every candidate that accepts the pair of layouts, from plain to blocked and back.
template <typename T>
void CheckRoundTrip(const Shape& shape, int block) {
  const OpDef& op = OpRegistry::Global().Get("Reorder", kInferdDomain);
  Graph graph;
  Node* node =
      graph.AddNode(op, "r", {graph.AddInput("x", ValueType::TensorOf(TypeOf<T>(), shape))},
                    {graph.AddValue("y")});
  const Layout blocked = Layout::Blocked(block);
  std::vector<T> x(shape.NumElements());
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<T>(i % 97 + 1);
  const int64_t spatial = shape.Product(2, shape.rank());
  const int64_t blocks = (shape[1] + block - 1) / block;

  int accepted = 0;
  for (const KernelImplementation* candidate : CpuProvider().Candidates(op)) {
    if (candidate->name() == "reference") continue;
    SCOPED_TRACE(std::string(candidate->name()));
    std::vector<T> middle(blocked.PhysicalElements(shape), T{77}), back(x.size(), T{55});
    for (const bool forward : {true, false}) {
      NodeSpec spec;
      spec.node = node;
      spec.threads = 2;
      spec.inputs = {{true, TypeOf<T>(), shape, forward ? Layout::Plain() : blocked}};
      spec.outputs = {{true, TypeOf<T>(), shape, forward ? blocked : Layout::Plain()}};
      const auto layouts = candidate->Accept(spec);
      if (!layouts.ok()) continue;
      ++accepted;
      EXPECT_EQ(layouts->inputs[0], spec.inputs[0].layout);
      EXPECT_EQ(layouts->outputs[0], spec.outputs[0].layout);
      auto kernel = candidate->Create(spec);
      ASSERT_TRUE(kernel.ok()) << kernel.status();
      auto stream = CpuDevice().NewStream(2);
      ASSERT_TRUE(stream.ok());
      TensorView from{TypeOf<T>(), shape, spec.inputs[0].layout,
                      forward ? static_cast<void*>(x.data()) : middle.data()};
      TensorView to{TypeOf<T>(), shape, spec.outputs[0].layout,
                    forward ? static_cast<void*>(middle.data()) : back.data()};
      Context context(from, to, **stream);
      ASSERT_EQ((*kernel)->Run(context), absl::OkStatus());
      if (!forward) {
        EXPECT_EQ(back, x);
        continue;
      }
      for (int64_t i = 0; i < static_cast<int64_t>(middle.size()); ++i) {
        const int64_t lane = i % block, s = i / block % spatial;
        const int64_t b = i / block / spatial % blocks, n = i / block / spatial / blocks;
        const int64_t c = b * block + lane;
        const T expected = c < shape[1] ? x[(n * shape[1] + c) * spatial + s] : T{0};
        ASSERT_EQ(middle[i], expected) << "image " << n << " channel " << c << " position " << s;
      }
    }
  }
  EXPECT_GE(accepted, 2);
}

TEST(Reorder, RoundTrips) {
  for (const int block : {8, 16}) {
    for (const Shape& shape :
         {Shape{1, 16, 4, 4}, Shape{2, 20, 3, 5}, Shape{1, 3, 67, 71}, Shape{2, 33, 1, 1},
          Shape{1, 8, 130}, Shape{1, 17, 2, 3, 4}, Shape{4, 24}}) {
      SCOPED_TRACE(shape.ToString());
      CheckRoundTrip<float>(shape, block);
      CheckRoundTrip<int32_t>(shape, block);
      CheckRoundTrip<uint8_t>(shape, block);
      CheckRoundTrip<double>(shape, block);
    }
  }
}

}  // namespace
}  // namespace inferd::engine
