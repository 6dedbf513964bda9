// Time per node, over the runs of a context.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "engine/runtime/model.h"

namespace inferd::engine {

struct Plan;  // engine/compile/plan.h

// NodeReport::inside of the nodes in a body of `node`, which is itself inside `outer`.
std::string InsideOf(absl::string_view outer, absl::string_view node, absl::string_view body);

// One thread at a time. Entries are kept per node and kernel, so that their number is bounded by
// the graph and not by how many plans ran. The contexts of bodies share the profiler of the
// context around them: what ends while another node is on was part of that one.
class Profiler {
 public:
  // Times a node from construction to destruction.
  class Timing {
   public:
    Timing(Profiler& profiler, const Plan& plan, int report) : profiler_(profiler) {
      profiler_.Begin(plan, report);
    }
    ~Timing() { profiler_.End(); }
    Timing(const Timing&) = delete;
    Timing& operator=(const Timing&) = delete;

   private:
    Profiler& profiler_;
  };

  // Around each run of the model.
  void BeginRun();
  void EndRun();
  // The node that is on runs its body in this attribute next.
  void EnterBody(absl::string_view attribute) {
    if (!running_.empty()) running_.back().body = attribute;
  }

  // As Context::Profile and Context::LastRun.
  std::vector<NodeProfile> Profiles() const;
  RunTrace LastRun() const;

 private:
  using Clock = std::chrono::steady_clock;
  // Parent row, body, node, kernel.
  using Key = std::tuple<int, std::string, std::string, std::string>;
  struct Row {
    NodeProfile profile;
    int64_t in_this_run = 0;      // nanoseconds, without bodies
    bool ran = false;             // in this run
    std::vector<int64_t> recent;  // the last of in_this_run, a ring
  };
  struct Running {
    int row = 0;
    absl::string_view body = {};
    Clock::time_point start = {};
    int64_t nested = 0;
  };

  void Begin(const Plan& plan, int report);
  void End();
  int RowOf(const Plan& plan, int report);
  // Rows in the order in which they are reported.
  std::vector<int> Order() const;

  std::vector<Row> rows_;
  absl::flat_hash_map<Key, int> row_of_node_;
  // By Plan::id and position of the report, so that most lookups compare no names.
  absl::flat_hash_map<std::pair<uint64_t, int>, int> row_of_report_;
  std::vector<Running> running_;  // innermost last
  Clock::time_point run_start_ = {};
  RunTrace trace_;  // by row
};

}  // namespace inferd::engine
