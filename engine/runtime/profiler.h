// Time per node, summed over runs.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "engine/runtime/model.h"

namespace inferd::engine {

// One thread at a time. Entries are kept per node and kernel, so that their number is bounded by
// the graph and not by how many plans ran.
class Profiler {
 public:
  void Add(const NodeReport& report, int64_t nanoseconds);
  // In the order in which nodes ran first.
  const std::vector<NodeProfile>& profiles() const { return profiles_; }

 private:
  absl::flat_hash_map<std::pair<std::string, std::string>, size_t> positions_;
  std::vector<NodeProfile> profiles_;
};

}  // namespace inferd::engine
