// After one run of a shape, a run of that shape allocates nothing: counted at malloc itself, so
// that the libraries below count too.
#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>

#include "tests/engine/runtime/test_graphs.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(__GLIBC__)
#define INFERD_COUNTS_ALLOCATIONS 0
#else
#define INFERD_COUNTS_ALLOCATIONS 1
#endif

namespace {

std::atomic<bool> counting{false};
std::atomic<int64_t> allocations{0};

void Count() {
  if (counting.load(std::memory_order_relaxed)) allocations.fetch_add(1);
}

}  // namespace

#if INFERD_COUNTS_ALLOCATIONS
extern "C" {
void* __libc_malloc(size_t);
void* __libc_calloc(size_t, size_t);
void* __libc_realloc(void*, size_t);
void* __libc_memalign(size_t, size_t);

// operator new calls malloc, so these cover it.
void* malloc(size_t size) {
  Count();
  return __libc_malloc(size);
}
void* calloc(size_t count, size_t size) {
  Count();
  return __libc_calloc(count, size);
}
void* realloc(void* old, size_t size) {
  Count();
  return __libc_realloc(old, size);
}
void* memalign(size_t alignment, size_t size) {
  Count();
  return __libc_memalign(alignment, size);
}
void* aligned_alloc(size_t alignment, size_t size) {
  Count();
  return __libc_memalign(alignment, size);
}
int posix_memalign(void** out, size_t alignment, size_t size) {
  Count();
  *out = __libc_memalign(alignment, size);
  return *out == nullptr ? ENOMEM : 0;
}
}
#endif

namespace inferd::engine {
namespace {

class AllocationTest : public ::testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    if (!INFERD_COUNTS_ALLOCATIONS) GTEST_SKIP() << "malloc belongs to the sanitizer";
  }

  // Allocations of one run over inputs seen before.
  int64_t CountRun(Context& context, const std::vector<TensorView>& inputs,
                   std::vector<Tensor>* outputs) {
    allocations = 0;
    counting = true;
    const absl::Status status = context.Run(inputs, outputs);
    counting = false;
    EXPECT_TRUE(status.ok()) << status;
    return allocations;
  }
};

TEST_P(AllocationTest, TheCounterCounts) {
  allocations = 0;
  counting = true;
  std::free(std::malloc(16));
  delete new std::string(100, 'x');
  counting = false;
  EXPECT_EQ(allocations, 3);
}

TEST_P(AllocationTest, ConvolutionNetwork) {
  std::string filter;
  for (int i = 0; i < 16 * 3 * 9; ++i) filter += (i > 0 ? "," : "") + std::to_string(i % 5 - 2);
  std::string dense;
  for (int i = 0; i < 16 * 10; ++i) dense += (i > 0 ? "," : "") + std::to_string(i % 3 - 1);
  auto model = ModelFromText("graph g (x: float[n,3,16,16]) -> (p, t) {\n  w = constant float[16,3,3,3] {" +
                             filter + "}\n  d = constant float[16,10] {" + dense + R"(}
  a = Conv{pads=[1,1,1,1]}(x, w)
  b = Relu(a)
  c = MaxPool{kernel_shape=[2,2], strides=[2,2]}(b)
  e = GlobalAveragePool(c)
  f = Flatten(e)
  t = MatMul(f, d)
  p = Softmax{axis=1}(t)
})");
  ASSERT_TRUE(model.ok()) << model.status();
  auto context = ContextFor(**model, GetParam());
  const Tensor one = Ramp({1, 3, 16, 16}, 1e-3f);
  const Tensor two = Ramp({2, 3, 16, 16}, 1e-3f);
  std::vector<Tensor> outputs;
  for (const Tensor* x : {&one, &two}) ASSERT_TRUE(context->Run({x->view()}, &outputs).ok());
  const std::vector<TensorView> a = {one.view()};
  const std::vector<TensorView> b = {two.view()};
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(CountRun(*context, a, &outputs), 0);
    EXPECT_EQ(CountRun(*context, b, &outputs), 0);
  }
}

TEST_P(AllocationTest, Segments) {
  auto model = ModelFromText(R"(
graph g (x: float[n], shape: int64[r]) -> (y, z) {
  a = NonZero(x)
  b = Gather(x, a)
  y = Softmax{axis=1}(b)
  z = Reshape(x, shape)
})");
  ASSERT_TRUE(model.ok()) << model.status();
  auto context = ContextFor(**model, GetParam());
  const Tensor x = Floats({6}, {1, 0, 2, 0, 3, 4});
  const Tensor shape = Tensor::Vector({2, 3});
  std::vector<Tensor> outputs;
  const std::vector<TensorView> inputs = {x.view(), shape.view()};
  ASSERT_TRUE(context->Run(inputs, &outputs).ok());
  for (int i = 0; i < 5; ++i) EXPECT_EQ(CountRun(*context, inputs, &outputs), 0);
}

INSTANTIATE_TEST_SUITE_P(Threads, AllocationTest, ::testing::Values(1, 2));

}  // namespace
}  // namespace inferd::engine
