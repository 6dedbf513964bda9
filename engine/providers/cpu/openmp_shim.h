// oneDNN's OpenMP calls, served by the context's own threads.
//
// Debian's libdnnl is built for libgomp, whose threads belong to the process: two contexts that run
// side by side would share, resize and oversubscribe one team, its workers spin while they
// wait, and the thread sanitizer cannot see its locks. oneDNN imports six OpenMP symbols only; the
// definitions in openmp_shim.cc stand before libgomp's in the lookup order of every executable
// that links this library, and run each parallel region on the ThreadPool made current here.
#pragma once

#include <cstdint>

#include "engine/device/thread_pool.h"

namespace inferd::engine::cpu {

// Makes a pool current for the calling thread until the scope ends. Around execution of a
// primitive: its parallel regions run on `pool`. The pool must be free (one submitter at a time).
class ScopedOpenMpPool {
 public:
  explicit ScopedOpenMpPool(ThreadPool& pool);
  // Around creation of a primitive, which fixes how its work will be split: `threads` is what
  // omp_get_max_threads() answers; a region that runs anyway runs in this thread alone.
  explicit ScopedOpenMpPool(int threads);
  ~ScopedOpenMpPool();
  ScopedOpenMpPool(const ScopedOpenMpPool&) = delete;
  ScopedOpenMpPool& operator=(const ScopedOpenMpPool&) = delete;

 private:
  ThreadPool* saved_pool_;
  int saved_max_threads_;
};

// True in a thread that is executing a oneDNN primitive, its team included. oneDNN's execute call
// makes a handful of small allocations of its own (argument tables; some 300 bytes whatever the
// tensors' size), which a test that counts allocations can tell from ours by this.
bool InsideOneDnn();

// Parallel regions the calling thread has run through the shim: lets a test prove that oneDNN
// calls it and not libgomp.
int64_t OpenMpRegionsOfThisThread();

}  // namespace inferd::engine::cpu
