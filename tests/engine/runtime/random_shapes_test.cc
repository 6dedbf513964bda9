// Memory under ever new shapes: flat once the bounded caches are full.
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <random>

#include "engine/ir/text_format.h"
#include "engine/ops/op_def.h"
#include "engine/runtime/model.h"

namespace inferd::engine {
namespace {

int64_t ResidentBytes() {
  std::ifstream statm("/proc/self/statm");
  int64_t total = 0, resident = 0;
  statm >> total >> resident;
  return resident * sysconf(_SC_PAGESIZE);
}

// A model with a free batch, height and width: convolutions, pooling, elementwise, a reduction and
// shape arithmetic.
constexpr absl::string_view kModel = R"(
graph dynamic (x: float[batch,3,height,width]) -> (y) {
  w = constant float[8,3,1,1] {1,2,3,1,2,3,1,2,3,1,2,3,1,2,3,1,2,3,1,2,3,1,2,3}
  b = constant float[8] {0,0,0,0,0,0,0,0}
  half = constant float[] {0.5}
  axes = constant int64[2] {2,3}
  c = Conv(x, w, b)
  r = Relu(c)
  p = MaxPool{kernel_shape=[2,2], strides=[1,1]}(r)
  m = Mul(p, half)
  s = Sigmoid(m)
  a = Add(m, s)
  y = ReduceMean{keepdims=0}(a, axes)
})";

TEST(RandomShapes, TenThousandLeaveMemoryFlat) {
  auto graph = ParseGraph(kModel, OpRegistry::Global());
  ASSERT_TRUE(graph.ok()) << graph.status();
  auto model = Model::FromGraph(*std::move(graph), {});
  ASSERT_TRUE(model.ok()) << model.status();
  auto context = (*model)->NewContext({.threads = 1});
  ASSERT_TRUE(context.ok()) << context.status();

  constexpr int kRuns = 10000, kWarmUp = 3000;
  constexpr int64_t kMostBatch = 4, kMostSide = 80;
  const std::vector<float> pixels(kMostBatch * 3 * kMostSide * kMostSide, 0.25f);
  std::mt19937 random(11);
  std::vector<Tensor> outputs;
  int64_t settled = 0;
  for (int run = 0; run < kRuns; ++run) {
    const int64_t batch = 1 + random() % kMostBatch;
    const Shape shape{batch, 3, static_cast<int64_t>(2 + random() % (kMostSide - 1)),
                      static_cast<int64_t>(2 + random() % (kMostSide - 1))};
    TensorView x{ElementType::kFloat32, shape, Layout::Plain(), const_cast<float*>(pixels.data())};
    const absl::Status status = (*context)->Run({x}, &outputs);
    ASSERT_TRUE(status.ok()) << status;
    ASSERT_EQ(outputs[0].shape(), Shape({batch, 8}));
    if (run == kWarmUp) settled = ResidentBytes();
  }
  // Some megabytes of slack for the allocator; a plan kept per shape would take hundreds.
  EXPECT_LT(ResidentBytes() - settled, int64_t{16} << 20);
}

}  // namespace
}  // namespace inferd::engine
