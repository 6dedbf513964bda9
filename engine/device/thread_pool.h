// Intra-op parallelism: a fixed team of threads that splits one loop at a time.
#pragma once

#include <cstdint>
#include <memory>

#include "absl/functional/function_ref.h"

namespace inferd::engine {

// The caller is one of the team: a pool of n threads owns n - 1, so a pool of one owns none and
// runs everything inline. One thread at a time may submit to a pool; different pools are
// independent. Idle workers sleep: nothing spins for longer than a few microseconds.
class ThreadPool {
 public:
  explicit ThreadPool(int threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int size() const { return threads_; }

  // Calls fn(begin, end) on disjoint ranges that cover [0, n), each at least `grain` long save
  // the last. Chunks are handed out dynamically, so that one stolen core does not stall the
  // rest. Returns when all are done; what they wrote is visible to the caller. Allocates
  // nothing. fn must not throw and must not submit to the same pool.
  void ParallelFor(int64_t n, int64_t grain, absl::FunctionRef<void(int64_t, int64_t)> fn);

  // Runs fn(thread) once on each of `team` <= size() members at the same time, thread 0 being the
  // caller: for libraries that split the work themselves (OpenMP regions of oneDNN).
  void RunTeam(int team, absl::FunctionRef<void(int)> fn);

 private:
  struct Team;
  int threads_;
  std::unique_ptr<Team> team_;  // null when threads_ == 1
};

// Threads this process may use: the smallest of affinity mask and cgroup CPU quota (rounded up),
// at least 1.
int AvailableThreads();

}  // namespace inferd::engine
