#include "engine/providers/cpu/openmp_shim.h"

#include <dlfcn.h>

#include <atomic>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "tests/engine/cpu/candidate_tester.h"
#include "tests/engine/ops/op_tester.h"

// What libdnnl imports.
extern "C" {
void GOMP_parallel(void (*fn)(void*), void* data, unsigned num_threads, unsigned flags);
void GOMP_barrier();
int omp_get_max_threads();
int omp_get_num_threads();
int omp_get_thread_num();
int omp_in_parallel();
}

namespace inferd::engine::cpu {
namespace {

TEST(OpenMpShim, OneThreadWithoutAPool) {
  EXPECT_EQ(omp_get_max_threads(), 1);
  EXPECT_EQ(omp_get_num_threads(), 1);
  EXPECT_EQ(omp_in_parallel(), 0);
  int calls = 0;
  GOMP_parallel([](void* data) { ++*static_cast<int*>(data); }, &calls, 4, 0);
  EXPECT_EQ(calls, 1);
}

struct Team {
  std::atomic<int> members{0};
  std::atomic<int> size_seen{0};
  std::atomic<uint32_t> numbers{0};
  std::atomic<int> inside{0};
  std::atomic<int> nested_threads{0};
};

void Member(void* data) {
  Team& team = *static_cast<Team*>(data);
  ++team.members;
  team.size_seen = omp_get_num_threads();
  team.numbers |= 1u << omp_get_thread_num();
  team.inside += omp_in_parallel();
  GOMP_parallel([](void* d) { static_cast<Team*>(d)->nested_threads += omp_get_num_threads(); },
                data, 3, 0);
}

TEST(OpenMpShim, RegionRunsOnThePool) {
  ThreadPool pool(3);
  Team team;
  {
    ScopedOpenMpPool scope(pool);
    EXPECT_EQ(omp_get_max_threads(), 3);
    GOMP_parallel(Member, &team, 0, 0);
  }
  EXPECT_EQ(omp_get_max_threads(), 1);
  EXPECT_EQ(team.members, 3);
  EXPECT_EQ(team.size_seen, 3);
  EXPECT_EQ(team.numbers, 0b111u);
  EXPECT_EQ(team.inside, 3);
  EXPECT_EQ(team.nested_threads, 3);  // three nested regions of one thread each
}

TEST(OpenMpShim, RegionTakesNoMoreThanThePool) {
  ThreadPool pool(2);
  ScopedOpenMpPool scope(pool);
  Team team;
  GOMP_parallel(Member, &team, 16, 0);
  EXPECT_EQ(team.members, 2);
  EXPECT_EQ(team.size_seen, 2);
}

struct Phases {
  static constexpr int kPhases = 50;
  std::atomic<int> arrived[kPhases] = {};
  std::atomic<int> early{0};
};

TEST(OpenMpShim, BarrierHoldsUntilAllArrive) {
  ThreadPool pool(4);
  ScopedOpenMpPool scope(pool);
  Phases phases;
  GOMP_parallel(
      [](void* data) {
        Phases& p = *static_cast<Phases*>(data);
        for (auto& arrived : p.arrived) {
          ++arrived;
          GOMP_barrier();
          if (arrived != 4) ++p.early;
        }
      },
      &phases, 4, 0);
  EXPECT_EQ(phases.early, 0);
}

TEST(OpenMpShim, PlannedThreadsWithoutAPool) {
  ScopedOpenMpPool planned(5);
  EXPECT_EQ(omp_get_max_threads(), 5);
  int calls = 0;
  GOMP_parallel([](void* data) { ++*static_cast<int*>(data); }, &calls, 5, 0);
  EXPECT_EQ(calls, 1);
}

TEST(OpenMpShim, PoolsOfTwoCallersAreIndependent) {
  std::vector<std::thread> callers;
  std::atomic<int> wrong{0};
  for (int threads : {2, 3}) {
    callers.emplace_back([threads, &wrong] {
      ThreadPool pool(threads);
      ScopedOpenMpPool scope(pool);
      for (int i = 0; i < 100; ++i) {
        Team team;
        GOMP_parallel(Member, &team, 0, 0);
        if (team.members != threads) ++wrong;
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(wrong, 0);
}

// libgomp is loaded as libdnnl's dependency; the dynamic linker must bind to ours all the same.
TEST(OpenMpShim, SymbolsBindToThisExecutable) {
  for (const char* symbol : {"GOMP_parallel", "GOMP_barrier", "omp_get_max_threads",
                             "omp_get_num_threads", "omp_get_thread_num", "omp_in_parallel"}) {
    void* address = dlsym(RTLD_DEFAULT, symbol);
    Dl_info info;
    ASSERT_NE(address, nullptr) << symbol;
    ASSERT_NE(dladdr(address, &info), 0) << symbol;
    EXPECT_EQ(std::string(info.dli_fname).find("libgomp"), std::string::npos)
        << symbol << " is taken from " << info.dli_fname;
  }
}

// A region opened by oneDNN itself is counted: its calls arrive here.
TEST(OpenMpShim, OneDnnCallsIt) {
  const int64_t before = OpenMpRegionsOfThisThread();
  CandidateTester tester("Conv");
  tester.Input(RandomFloats({2, 32, 16, 16}, 1)).Constant(RandomFloats({64, 32, 3, 3}, 2));
  ASSERT_EQ(tester.Check("onednn_conv_blocked"), absl::OkStatus());
  EXPECT_GT(OpenMpRegionsOfThisThread(), before);
}

}  // namespace
}  // namespace inferd::engine::cpu
