// After one run of a shape, a run of that shape allocates nothing. Counted at malloc and operator
// new themselves, so that libraries count too. oneDNN's dnnl_primitive_execute makes a few nodes of
// hash tables at every call, of fixed size and freed at once, which no caller can prevent; they
// are counted apart and bounded.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <new>

#include "tests/engine/runtime/test_graphs.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(__GLIBC__)
#define INFERD_COUNTS_ALLOCATIONS 0
#else
#define INFERD_COUNTS_ALLOCATIONS 1
#endif

namespace {

std::atomic<bool> counting{false};
std::atomic<int64_t> allocations{0};
std::atomic<int64_t> onednn_allocations{0};
std::atomic<int64_t> onednn_bytes{0};

#if INFERD_COUNTS_ALLOCATIONS
void Count(const void* caller, size_t bytes) {
  if (!counting.load(std::memory_order_relaxed)) return;
  Dl_info info;
  if (dladdr(caller, &info) != 0 && std::strstr(info.dli_fname, "libdnnl") != nullptr) {
    onednn_allocations.fetch_add(1);
    onednn_bytes.fetch_add(static_cast<int64_t>(bytes));
  } else {
    allocations.fetch_add(1);
  }
}
#endif

}  // namespace

#if INFERD_COUNTS_ALLOCATIONS
extern "C" {
void* __libc_malloc(size_t);
void* __libc_calloc(size_t, size_t);
void* __libc_realloc(void*, size_t);
void* __libc_memalign(size_t, size_t);
void __libc_free(void*);

void* malloc(size_t size) {
  Count(__builtin_return_address(0), size);
  return __libc_malloc(size);
}
void* calloc(size_t count, size_t size) {
  Count(__builtin_return_address(0), count * size);
  return __libc_calloc(count, size);
}
void* realloc(void* old, size_t size) {
  Count(__builtin_return_address(0), size);
  return __libc_realloc(old, size);
}
void* memalign(size_t alignment, size_t size) {
  Count(__builtin_return_address(0), size);
  return __libc_memalign(alignment, size);
}
void* aligned_alloc(size_t alignment, size_t size) {
  Count(__builtin_return_address(0), size);
  return __libc_memalign(alignment, size);
}
int posix_memalign(void** out, size_t alignment, size_t size) {
  Count(__builtin_return_address(0), size);
  *out = __libc_memalign(alignment, size);
  return *out == nullptr ? ENOMEM : 0;
}
}

// operator new[] and the nothrow forms of libstdc++ call this one; the default operator delete
// frees what it gives.
void* operator new(size_t size) {
  Count(__builtin_return_address(0), size);
  void* block = __libc_malloc(size);
  if (block == nullptr) throw std::bad_alloc();
  return block;
}
void operator delete(void* block) noexcept { __libc_free(block); }
void operator delete(void* block, size_t) noexcept { __libc_free(block); }
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
    onednn_allocations = 0;
    onednn_bytes = 0;
    counting = true;
    const absl::Status status = context.Run(inputs, outputs);
    counting = false;
    EXPECT_TRUE(status.ok()) << status;
    // Nothing in proportion to the payload: a handful of nodes per primitive.
    EXPECT_LE(onednn_allocations, 8 * 16);
    EXPECT_LE(onednn_bytes, 16 << 10);
    return allocations;
  }
};

TEST_P(AllocationTest, TheCounterCounts) {
  allocations = 0;
  counting = true;
  std::free(std::malloc(16));
  delete new std::string(100, 'x');
  counting = false;
  EXPECT_GE(allocations, 3);
}

TEST_P(AllocationTest, ConvolutionNetwork) {
  std::string filter;
  for (int i = 0; i < 16 * 3 * 9; ++i) filter += (i > 0 ? "," : "") + std::to_string(i % 5 - 2);
  std::string dense;
  for (int i = 0; i < 16 * 10; ++i) dense += (i > 0 ? "," : "") + std::to_string(i % 3 - 1);
  auto model =
      ModelFromText("graph g (x: float[n,3,16,16]) -> (p, t) {\n  w = constant float[16,3,3,3] {" +
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
