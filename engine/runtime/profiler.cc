#include "engine/runtime/profiler.h"

namespace inferd::engine {

void Profiler::Add(const NodeReport& report, int64_t nanoseconds) {
  auto [it, inserted] =
      positions_.try_emplace(std::make_pair(report.node, report.kernel), profiles_.size());
  if (inserted) profiles_.push_back({report, 0, 0});
  NodeProfile& profile = profiles_[it->second];
  ++profile.runs;
  profile.nanoseconds += nanoseconds;
}

}  // namespace inferd::engine
