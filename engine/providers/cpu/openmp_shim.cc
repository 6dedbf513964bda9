#include "engine/providers/cpu/openmp_shim.h"

#include <algorithm>
#include <atomic>

namespace inferd::engine::cpu {
namespace {

// One parallel region in flight: lives on the stack of the thread that opened it.
struct Region {
  explicit Region(int members) : size(members) {}

  // Everyone waits until all `size` members have arrived. The generation tells late sleepers of
  // one barrier from early arrivals at the next.
  void Barrier() {
    const uint32_t generation = generation_.load(std::memory_order_acquire);
    if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == size) {
      arrived_.store(0, std::memory_order_relaxed);
      generation_.fetch_add(1, std::memory_order_release);
      generation_.notify_all();
      return;
    }
    while (generation_.load(std::memory_order_acquire) == generation) {
      generation_.wait(generation, std::memory_order_acquire);
    }
  }

  const int size;

 private:
  std::atomic<int> arrived_{0};
  std::atomic<uint32_t> generation_{0};
};

// What the six entry points answer in this thread.
struct OpenMpThread {
  ThreadPool* pool = nullptr;
  int max_threads = 1;
  Region* region = nullptr;  // null outside a region of more than one thread
  int number = 0;
  int64_t regions = 0;
};
thread_local OpenMpThread this_thread;

void RunRegion(void (*fn)(void*), void* data, unsigned requested) {
  OpenMpThread& caller = this_thread;
  ++caller.regions;
  int members = 1;
  // A nested region is serial, as OpenMP's default is.
  if (caller.pool != nullptr && caller.region == nullptr) {
    members = requested == 0 ? caller.max_threads : static_cast<int>(requested);
    members = std::min(members, caller.pool->size());
  }
  if (members <= 1) {
    Region* const outer = caller.region;
    const int number = caller.number;
    Region alone(1);
    caller.region = outer == nullptr ? nullptr : &alone;
    caller.number = 0;
    fn(data);
    caller.region = outer;
    caller.number = number;
    return;
  }
  Region region(members);
  const int max_threads = caller.max_threads;
  caller.pool->RunTeam(members, [&](int member) {
    OpenMpThread& self = this_thread;
    const OpenMpThread saved = self;
    self.region = &region;
    self.number = member;
    self.max_threads = max_threads;
    fn(data);
    self.region = saved.region;
    self.number = saved.number;
    self.max_threads = saved.max_threads;
  });
}

}  // namespace

ScopedOpenMpPool::ScopedOpenMpPool(ThreadPool& pool)
    : saved_pool_(this_thread.pool), saved_max_threads_(this_thread.max_threads) {
  this_thread.pool = &pool;
  this_thread.max_threads = pool.size();
}

ScopedOpenMpPool::ScopedOpenMpPool(int threads)
    : saved_pool_(this_thread.pool), saved_max_threads_(this_thread.max_threads) {
  this_thread.pool = nullptr;
  this_thread.max_threads = std::max(1, threads);
}

ScopedOpenMpPool::~ScopedOpenMpPool() {
  this_thread.pool = saved_pool_;
  this_thread.max_threads = saved_max_threads_;
}

bool InsideOneDnn() { return this_thread.pool != nullptr || this_thread.region != nullptr; }

int64_t OpenMpRegionsOfThisThread() { return this_thread.regions; }

}  // namespace inferd::engine::cpu

// The entry points. Their names and signatures are those of libgomp's ABI
// (https://gcc.gnu.org/onlinedocs/libgomp/The-libgomp-ABI.html) and of the OpenMP API.
// An executable's own symbols come before those of the libraries it loads, and the linker exports
// a symbol that a linked library imports, so libdnnl's calls bind here. ScopedOpenMpPool is in this
// file so that nothing can use oneDNN without pulling this object out of the archive.
#define INFERD_EXPORT extern "C" __attribute__((visibility("default"), used))

INFERD_EXPORT void GOMP_parallel(void (*fn)(void*), void* data, unsigned num_threads,
                                 unsigned flags);
INFERD_EXPORT void GOMP_barrier();
INFERD_EXPORT int omp_get_max_threads();
INFERD_EXPORT int omp_get_num_threads();
INFERD_EXPORT int omp_get_thread_num();
INFERD_EXPORT int omp_in_parallel();

void GOMP_parallel(void (*fn)(void*), void* data, unsigned num_threads, unsigned /*flags*/) {
  inferd::engine::cpu::RunRegion(fn, data, num_threads);
}

void GOMP_barrier() {
  if (auto* region = inferd::engine::cpu::this_thread.region; region != nullptr) {
    region->Barrier();
  }
}

int omp_get_max_threads() { return inferd::engine::cpu::this_thread.max_threads; }

int omp_get_num_threads() {
  const auto* region = inferd::engine::cpu::this_thread.region;
  return region == nullptr ? 1 : region->size;
}

int omp_get_thread_num() { return inferd::engine::cpu::this_thread.number; }

int omp_in_parallel() { return inferd::engine::cpu::this_thread.region != nullptr ? 1 : 0; }
