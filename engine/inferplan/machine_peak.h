// What this machine can do at best, measured now.
#pragma once

#include <string>

namespace inferd::engine {

struct MachinePeak {
  int threads = 1;
  std::string instructions;  // "AVX2 FMA"
  double flops = 0;          // float multiply-adds, two operations each, per second
  // Bytes read plus bytes written per second, in memory and in a core's own cache.
  double copy_bandwidth = 0;
  double cached_copy_bandwidth = 0;
  // The latter for kernels that touch no more bytes than this.
  static constexpr double kCachedBytes = 512 << 10;
};

// All threads work at the same time, each for many short rounds of which the fast ones count: other
// programs can only slow one down. Takes about a fifth of a second.
MachinePeak MeasurePeak(int threads);

}  // namespace inferd::engine
