#include <sched.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <string>
#include <thread>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "engine/device/thread_pool.h"

namespace inferd::engine {
namespace {

int AffinityThreads() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof(set), &set) == 0) return CPU_COUNT(&set);
  return static_cast<int>(std::thread::hardware_concurrency());
}

std::string FirstLine(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

// CPUs granted by "quota period" in microseconds; infinity when unlimited ("max" or -1).
double QuotaThreads(absl::string_view quota, absl::string_view period) {
  int64_t q = 0, p = 0;
  if (!absl::SimpleAtoi(quota, &q) || !absl::SimpleAtoi(period, &p) || q <= 0 || p <= 0) {
    return INFINITY;
  }
  return static_cast<double>(q) / static_cast<double>(p);
}

// The tightest quota on the way from this process's cgroup up to the root (cgroup v2), or the
// mounted controller's own (v1). See the kernel's Documentation/admin-guide/cgroup-v2.rst.
double CgroupThreads() {
  double threads = INFINITY;
  std::ifstream self("/proc/self/cgroup");
  for (std::string line; std::getline(self, line);) {
    const std::vector<absl::string_view> fields = absl::StrSplit(line, absl::MaxSplits(':', 2));
    if (fields.size() != 3 || fields[0] != "0") continue;
    std::string path(fields[2]);
    while (true) {
      const std::string text = FirstLine(absl::StrCat("/sys/fs/cgroup", path, "/cpu.max"));
      const std::vector<absl::string_view> parts = absl::StrSplit(text, ' ');
      if (parts.size() == 2) threads = std::min(threads, QuotaThreads(parts[0], parts[1]));
      if (path.empty() || path == "/") break;
      path.resize(path.rfind('/'));
    }
  }
  return std::min(threads, QuotaThreads(FirstLine("/sys/fs/cgroup/cpu/cpu.cfs_quota_us"),
                                        FirstLine("/sys/fs/cgroup/cpu/cpu.cfs_period_us")));
}

}  // namespace

int AvailableThreads() {
  const double quota = CgroupThreads();
  const int affinity = std::max(1, AffinityThreads());
  if (std::isinf(quota)) return affinity;
  return std::clamp(static_cast<int>(std::ceil(quota)), 1, affinity);
}

}  // namespace inferd::engine
