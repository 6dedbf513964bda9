#include "engine/runtime/profiler.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "engine/compile/plan.h"

namespace inferd::engine {
namespace {

// A loop of many rounds must not fill the memory.
constexpr size_t kMaxEvents = 65536;
constexpr size_t kMaxRecent = 1024;
constexpr size_t kMaxCachedReports = 65536;

int64_t Nanoseconds(std::chrono::steady_clock::duration duration) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(duration).count();
}

int64_t Median(std::vector<int64_t> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

void Accumulate(double more, double& sum) { sum = more < 0 || sum < 0 ? -1 : sum + more; }

}  // namespace

std::string InsideOf(absl::string_view outer, absl::string_view node, absl::string_view body) {
  return absl::StrCat(outer, outer.empty() ? "" : " > ", node, ", ", body);
}

void Profiler::BeginRun() {
  running_.clear();
  trace_.events.clear();
  trace_.dropped = 0;
  for (Row& row : rows_) {
    row.in_this_run = 0;
    row.ran = false;
  }
  run_start_ = Clock::now();
}

void Profiler::EndRun() {
  for (Row& row : rows_) {
    if (!row.ran) continue;
    int64_t& least = row.profile.least_self_nanoseconds;
    least = row.profile.model_runs == 0 ? row.in_this_run : std::min(least, row.in_this_run);
    const auto at = static_cast<size_t>(row.profile.model_runs++);
    if (row.recent.size() < kMaxRecent) {
      row.recent.push_back(row.in_this_run);
    } else {
      row.recent[at % kMaxRecent] = row.in_this_run;
    }
  }
}

int Profiler::RowOf(const Plan& plan, int report) {
  const auto known = row_of_report_.find(std::make_pair(plan.id, report));
  if (known != row_of_report_.end()) return known->second;

  const NodeReport& found = plan.reports[report];
  const int parent = running_.empty() ? -1 : running_.back().row;
  const absl::string_view body = running_.empty() ? absl::string_view() : running_.back().body;
  const auto [it, fresh] = row_of_node_.try_emplace(Key(parent, body, found.node, found.kernel),
                                                    static_cast<int>(rows_.size()));
  if (fresh) {
    Row row;
    row.profile.report = found;
    row.profile.parent = parent;
    row.profile.work = {0, 0};
    if (parent >= 0) {
      const NodeReport& outer = rows_[parent].profile.report;
      row.profile.report.inside = InsideOf(outer.inside, outer.node, body);
    }
    rows_.push_back(std::move(row));
  }
  if (row_of_report_.size() >= kMaxCachedReports) row_of_report_.clear();
  row_of_report_.emplace(std::make_pair(plan.id, report), it->second);
  return it->second;
}

void Profiler::Begin(const Plan& plan, int report) {
  Running running;
  running.row = RowOf(plan, report);
  NodeProfile& profile = rows_[running.row].profile;
  const NodeWork& work = plan.reports[report].work;
  Accumulate(work.flops, profile.work.flops);
  Accumulate(work.bytes, profile.work.bytes);
  running_.push_back(running);
  running_.back().start = Clock::now();
}

void Profiler::End() {
  const Clock::time_point end = Clock::now();
  const Running running = running_.back();
  running_.pop_back();
  const int64_t total = Nanoseconds(end - running.start);
  const int64_t self = std::max<int64_t>(total - running.nested, 0);
  Row& row = rows_[running.row];
  ++row.profile.runs;
  row.profile.nanoseconds += total;
  row.profile.self_nanoseconds += self;
  row.in_this_run += self;
  row.ran = true;
  if (!running_.empty()) running_.back().nested += total;
  if (trace_.events.size() < kMaxEvents) {
    trace_.events.push_back({running.row, Nanoseconds(running.start - run_start_), total});
  } else {
    ++trace_.dropped;
  }
}

std::vector<int> Profiler::Order() const {
  std::vector<std::vector<int>> inner(rows_.size() + 1);
  for (size_t r = 0; r < rows_.size(); ++r) {
    inner[static_cast<size_t>(rows_[r].profile.parent + 1)].push_back(static_cast<int>(r));
  }
  std::vector<int> order;
  std::vector<int> open(inner[0].rbegin(), inner[0].rend());
  while (!open.empty()) {
    const int row = open.back();
    open.pop_back();
    order.push_back(row);
    const std::vector<int>& next = inner[static_cast<size_t>(row) + 1];
    open.insert(open.end(), next.rbegin(), next.rend());
  }
  return order;
}

std::vector<NodeProfile> Profiler::Profiles() const {
  const std::vector<int> order = Order();
  std::vector<int> position(rows_.size());
  for (size_t i = 0; i < order.size(); ++i) position[order[i]] = static_cast<int>(i);
  std::vector<NodeProfile> profiles;
  for (int r : order) {
    NodeProfile profile = rows_[r].profile;
    profile.median_self_nanoseconds = Median(rows_[r].recent);
    if (profile.parent >= 0) profile.parent = position[profile.parent];
    profiles.push_back(std::move(profile));
  }
  return profiles;
}

RunTrace Profiler::LastRun() const {
  const std::vector<int> order = Order();
  std::vector<int> position(rows_.size());
  for (size_t i = 0; i < order.size(); ++i) position[order[i]] = static_cast<int>(i);
  RunTrace trace = trace_;
  for (NodeEvent& event : trace.events) event.node = position[event.node];
  return trace;
}

}  // namespace inferd::engine
