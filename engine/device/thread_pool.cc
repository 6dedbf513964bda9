#include "engine/device/thread_pool.h"

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "engine/device/denormals.h"

namespace inferd::engine {

// One job at a time: a generation counter announces it, workers take part and check out. A short
// spin covers the gap between two kernels of one inference; then workers sleep on the mutex.
struct ThreadPool::Team {
  absl::Mutex mutex;
  absl::CondVar wake ABSL_GUARDED_BY(mutex);
  absl::CondVar idle ABSL_GUARDED_BY(mutex);
  int sleeping ABSL_GUARDED_BY(mutex) = 0;
  std::atomic<uint64_t> generation{0};
  std::atomic<int> running{0};
  std::atomic<bool> stop{false};

  // The job. Written before `generation` is advanced, read after.
  int members = 0;
  absl::FunctionRef<void(int)>* job = nullptr;

  std::vector<std::thread> workers;

  void Work(int index) {
    // Denormals cost hundreds of cycles per operation; the context flushes them in its own thread.
    ScopedFlushDenormals flush;
    uint64_t seen = 0;
    while (true) {
      uint64_t now = generation.load(std::memory_order_acquire);
      for (int spin = 0; now == seen && spin < kSpins; ++spin) {
        __builtin_ia32_pause();
        now = generation.load(std::memory_order_acquire);
      }
      if (now == seen) {
        absl::MutexLock lock(&mutex);
        ++sleeping;
        while (generation.load(std::memory_order_acquire) == seen) wake.Wait(&mutex);
        --sleeping;
        now = generation.load(std::memory_order_acquire);
      }
      seen = now;
      if (stop.load(std::memory_order_relaxed)) return;
      if (index < members) (*job)(index);
      if (running.fetch_sub(1, std::memory_order_acq_rel) == 1) {
        absl::MutexLock lock(&mutex);
        idle.Signal();
      }
    }
  }

  // A few microseconds: longer than the gap between kernels, too short to steal a shared core.
  static constexpr int kSpins = 200;
};

ThreadPool::ThreadPool(int threads) : threads_(std::max(threads, 1)) {
  if (threads_ == 1) return;
  team_ = std::make_unique<Team>();
  for (int i = 1; i < threads_; ++i) {
    team_->workers.emplace_back([team = team_.get(), i] { team->Work(i); });
  }
}

ThreadPool::~ThreadPool() {
  if (team_ == nullptr) return;
  team_->stop.store(true, std::memory_order_relaxed);
  {
    absl::MutexLock lock(&team_->mutex);
    team_->generation.fetch_add(1, std::memory_order_release);
    team_->wake.SignalAll();
  }
  for (std::thread& worker : team_->workers) worker.join();
}

void ThreadPool::RunTeam(int team, absl::FunctionRef<void(int)> fn) {
  if (team_ == nullptr || team <= 1) {
    fn(0);
    return;
  }
  Team& t = *team_;
  t.members = std::min(team, threads_);
  t.job = &fn;
  t.running.store(threads_ - 1, std::memory_order_relaxed);
  {
    absl::MutexLock lock(&t.mutex);
    t.generation.fetch_add(1, std::memory_order_release);
    if (t.sleeping > 0) t.wake.SignalAll();
  }
  fn(0);
  for (int spin = 0; spin < Team::kSpins; ++spin) {
    if (t.running.load(std::memory_order_acquire) == 0) return;
    __builtin_ia32_pause();
  }
  absl::MutexLock lock(&t.mutex);
  while (t.running.load(std::memory_order_acquire) != 0) t.idle.Wait(&t.mutex);
}

void ThreadPool::ParallelFor(int64_t n, int64_t grain,
                             absl::FunctionRef<void(int64_t, int64_t)> fn) {
  if (n <= 0) return;
  grain = std::max<int64_t>(grain, 1);
  const int64_t most_useful = (n + grain - 1) / grain;
  const int team = static_cast<int>(std::min<int64_t>(threads_, most_useful));
  if (team <= 1) {
    fn(0, n);
    return;
  }
  // Four chunks a thread: small enough to even out a core that was taken away, large enough that
  // handing them out costs nothing.
  const int64_t chunk = std::max(grain, (n + 4 * team - 1) / (4 * team));
  std::atomic<int64_t> next{0};
  RunTeam(team, [&](int) {
    while (true) {
      const int64_t begin = next.fetch_add(chunk, std::memory_order_relaxed);
      if (begin >= n) return;
      fn(begin, std::min(n, begin + chunk));
    }
  });
}

}  // namespace inferd::engine
