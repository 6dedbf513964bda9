#include "engine/inferplan/batch_sweep.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "engine/inferplan/json_writer.h"
#include "engine/inferplan/text_table.h"

namespace inferd::engine {

const BatchPoint* LargestWithin(const BatchSweep& sweep) {
  const BatchPoint* largest = nullptr;
  for (const BatchPoint& point : sweep.points) {
    if (!point.error.empty() || !sweep.budget_ms.has_value()) continue;
    if (point.p99_ms > *sweep.budget_ms) continue;
    if (largest == nullptr || point.batch > largest->batch) largest = &point;
  }
  return largest;
}

std::string SweepTable(const BatchSweep& sweep) {
  std::vector<std::vector<std::string>> rows;
  for (const BatchPoint& point : sweep.points) {
    if (!point.error.empty()) {
      rows.push_back({absl::StrCat(point.batch), "failed", "", "", "", "", point.error});
      continue;
    }
    const bool within = !sweep.budget_ms.has_value() || point.p99_ms <= *sweep.budget_ms;
    rows.push_back({absl::StrCat(point.batch), absl::StrFormat("%.3f", point.p50_ms),
                    absl::StrFormat("%.3f", point.p99_ms), absl::StrFormat("%.3f", point.mean_ms),
                    absl::StrFormat("%.1f", point.rows_per_second), absl::StrCat(point.runs),
                    within ? "" : "over the budget"});
  }
  return TextTable({"batch", "P50 ms", "P99 ms", "mean ms", "rows/s", "runs", ""}, rows);
}

std::string SweepJson(const BatchSweep& sweep) {
  JsonWriter json;
  json.BeginObject().Key("model").String(sweep.model);
  json.Key("threads").Int(sweep.threads).Key("instances").Int(sweep.instances);
  if (sweep.budget_ms.has_value()) {
    const BatchPoint* largest = LargestWithin(sweep);
    json.Key("budget_ms").Double(*sweep.budget_ms);
    // 0: none keeps it.
    json.Key("largest_batch_within_budget").Int(largest == nullptr ? 0 : largest->batch);
  }
  json.Key("points").BeginArray();
  for (const BatchPoint& point : sweep.points) {
    json.BeginObject().Key("batch").Int(point.batch);
    if (!point.error.empty()) {
      json.Key("error").String(point.error).EndObject();
      continue;
    }
    json.Key("runs").Int(point.runs).Key("p50_ms").Double(point.p50_ms);
    json.Key("p99_ms").Double(point.p99_ms).Key("mean_ms").Double(point.mean_ms);
    json.Key("rows_per_second").Double(point.rows_per_second).EndObject();
  }
  json.EndArray().EndObject();
  return json.text();
}

}  // namespace inferd::engine
