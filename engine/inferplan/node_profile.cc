#include "engine/inferplan/node_profile.h"

#include <algorithm>
#include <limits>

#include "absl/strings/str_cat.h"
#include "engine/inferplan/json_writer.h"

namespace inferd::engine {

std::vector<NodeFigures> FiguresOf(const ModelProfile& profile) {
  double total = 0;
  for (const NodeProfile& node : profile.nodes) {
    total += static_cast<double>(node.median_self_nanoseconds);
  }
  std::vector<NodeFigures> all;
  for (const NodeProfile& node : profile.nodes) {
    NodeFigures figures;
    const auto nanoseconds = static_cast<double>(node.median_self_nanoseconds);
    figures.microseconds = nanoseconds / 1e3;
    figures.share = total > 0 ? nanoseconds / total : 0;
    const auto runs = static_cast<double>(std::max<int64_t>(node.model_runs, 1));
    const double flops = node.work.flops / runs, bytes = node.work.bytes / runs;
    if (nanoseconds > 0 && flops > 0) figures.gflops = flops / nanoseconds;
    if (nanoseconds > 0 && bytes > 0) figures.gigabytes = bytes / nanoseconds;
    const double compute = figures.gflops < 0 ? -1 : 1e9 * figures.gflops / profile.peak.flops;
    const double bytes_each = bytes * runs / static_cast<double>(std::max<int64_t>(node.runs, 1));
    const double bandwidth = bytes_each <= MachinePeak::kCachedBytes * profile.threads
                                 ? profile.peak.cached_copy_bandwidth
                                 : profile.peak.copy_bandwidth;
    const double memory = figures.gigabytes < 0 ? -1 : 1e9 * figures.gigabytes / bandwidth;
    // A node of unknown arithmetic may be bound by it: nothing is claimed.
    if (node.work.flops >= 0) figures.share_of_peak = std::max(compute, memory);
    figures.compute_bound = compute > memory;
    all.push_back(figures);
  }
  return all;
}

namespace {

void WriteStrings(JsonWriter& json, absl::string_view key,
                  const std::vector<std::string>& strings) {
  json.Key(key).BeginArray();
  for (const std::string& s : strings) json.String(s);
  json.EndArray();
}

void WriteReport(JsonWriter& json, const NodeReport& report) {
  json.Key("node").String(report.node).Key("inside").String(report.inside);
  json.Key("operator").String(report.op).Key("provider").String(report.provider);
  json.Key("kernel").String(report.kernel).Key("layout").String(report.layout);
  WriteStrings(json, "fused_from", report.fused_from);
  WriteStrings(json, "declined", report.declined);
}

void WriteKnown(JsonWriter& json, absl::string_view key, double value) {
  json.Key(key).Double(value < 0 ? std::numeric_limits<double>::quiet_NaN() : value);
}

}  // namespace

std::string ProfileJson(const ModelProfile& profile) {
  JsonWriter json;
  json.BeginObject().Key("model").String(profile.model);
  WriteStrings(json, "inputs", profile.inputs);
  json.Key("threads").Int(profile.threads).Key("runs").Int(profile.runs);
  json.Key("median_run_us").Double(profile.median_run_us);
  json.Key("peak").BeginObject().Key("instructions").String(profile.peak.instructions);
  json.Key("gflops").Double(profile.peak.flops / 1e9);
  json.Key("copy_gigabytes_per_second").Double(profile.peak.copy_bandwidth / 1e9);
  json.Key("cached_copy_gigabytes_per_second");
  json.Double(profile.peak.cached_copy_bandwidth / 1e9).EndObject();
  json.Key("nodes").BeginArray();
  const std::vector<NodeFigures> figures = FiguresOf(profile);
  for (size_t i = 0; i < profile.nodes.size(); ++i) {
    const NodeProfile& node = profile.nodes[i];
    json.BeginObject();
    WriteReport(json, node.report);
    json.Key("runs").Int(node.runs).Key("model_runs").Int(node.model_runs);
    json.Key("median_us").Double(figures[i].microseconds);
    json.Key("least_us").Double(static_cast<double>(node.least_self_nanoseconds) / 1e3);
    json.Key("total_us").Double(static_cast<double>(node.nanoseconds) / 1e3);
    json.Key("total_self_us").Double(static_cast<double>(node.self_nanoseconds) / 1e3);
    json.Key("share").Double(figures[i].share);
    WriteKnown(json, "gflops", figures[i].gflops);
    WriteKnown(json, "gigabytes_per_second", figures[i].gigabytes);
    WriteKnown(json, "share_of_peak", figures[i].share_of_peak);
    json.Key("bound_by")
        .String(figures[i].share_of_peak < 0 ? "unknown"
                : figures[i].compute_bound   ? "compute"
                                             : "memory");
    json.EndObject();
  }
  json.EndArray().Key("without_time").BeginArray();
  for (const NodeReport& report : profile.planned) {
    if (report.provider != "planner") continue;
    json.BeginObject();
    WriteReport(json, report);
    json.EndObject();
  }
  json.EndArray().EndObject();
  return json.text();
}

std::string ProfileTrace(const ModelProfile& profile) {
  JsonWriter json;
  json.BeginObject().Key("displayTimeUnit").String("ns").Key("traceEvents").BeginArray();
  const auto name = [&](const char* what, const std::string& text) {
    json.BeginObject().Key("name").String(what).Key("ph").String("M").Key("pid").Int(1);
    json.Key("tid").Int(1).Key("args").BeginObject().Key("name").String(text).EndObject();
    json.EndObject();
  };
  name("process_name", profile.model);
  name("thread_name", absl::StrCat("one of ", profile.threads, ": the caller"));
  // The format wants an event before those inside it.
  std::vector<NodeEvent> events = profile.last_run.events;
  std::stable_sort(events.begin(), events.end(), [](const NodeEvent& a, const NodeEvent& b) {
    return a.start != b.start ? a.start < b.start : a.duration > b.duration;
  });
  for (const NodeEvent& event : events) {
    const NodeReport& report = profile.nodes[event.node].report;
    json.BeginObject().Key("name").String(report.node).Key("cat").String(report.op);
    json.Key("ph").String("X").Key("pid").Int(1).Key("tid").Int(1);
    json.Key("ts").Double(static_cast<double>(event.start) / 1e3);
    json.Key("dur").Double(static_cast<double>(event.duration) / 1e3);
    json.Key("args").BeginObject();
    WriteReport(json, report);
    WriteKnown(json, "flops", report.work.flops);
    WriteKnown(json, "bytes", report.work.bytes);
    json.EndObject().EndObject();
  }
  json.EndArray();
  json.Key("dropped_events").Int(profile.last_run.dropped).EndObject();
  return json.text();
}

}  // namespace inferd::engine
