// The profile for people.
#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "engine/inferplan/node_profile.h"
#include "engine/inferplan/text_table.h"

namespace inferd::engine {
namespace {

constexpr absl::string_view kReference = "reference";
constexpr absl::string_view kPlanner = "planner";

std::string Known(double value, const char* suffix = "") {
  return value < 0 ? "-" : absl::StrFormat("%.1f%s", value, suffix);
}

std::string NameOf(const NodeReport& report) {
  return report.inside.empty() ? report.node
                               : absl::StrCat("in ", report.inside, ": ", report.node);
}

const char* BoundOf(const NodeFigures& figures) {
  if (figures.share_of_peak < 0) return "-";
  return figures.compute_bound ? "compute" : "memory";
}

std::vector<size_t> ByTime(const std::vector<NodeFigures>& figures) {
  std::vector<size_t> order(figures.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return figures[a].microseconds > figures[b].microseconds;
  });
  return order;
}

// A table whose rows have notes of their own under them.
std::string NodeTable(const ModelProfile& profile, const std::vector<NodeFigures>& figures) {
  std::vector<std::vector<std::string>> rows;
  const std::vector<size_t> order = ByTime(figures);
  for (size_t i : order) {
    const NodeReport& report = profile.nodes[i].report;
    const NodeFigures& f = figures[i];
    rows.push_back({absl::StrFormat("%.1f", f.microseconds),
                    absl::StrFormat(
                        "%.1f", static_cast<double>(profile.nodes[i].least_self_nanoseconds) / 1e3),
                    absl::StrFormat("%.1f%%", 100 * f.share), Known(f.gflops), Known(f.gigabytes),
                    Known(f.share_of_peak < 0 ? -1 : 100 * f.share_of_peak, "%"), BoundOf(f),
                    report.op, absl::StrCat(report.provider, "/", report.kernel), report.layout,
                    NameOf(report)});
  }
  const std::string table = TextTable({"us", "least", "share", "GFLOP/s", "GB/s", "of peak",
                                       "bound", "operator", "kernel", "layout", "node"},
                                      rows);
  std::vector<std::string> lines = absl::StrSplit(table, '\n');
  std::string text = absl::StrCat(lines[0], "\n");
  for (size_t row = 0; row < order.size(); ++row) {
    absl::StrAppend(&text, lines[row + 1], "\n");
    const NodeReport& report = profile.nodes[order[row]].report;
    if (!report.fused_from.empty()) {
      absl::StrAppend(&text, "    fused from ", absl::StrJoin(report.fused_from, ", "), "\n");
    }
    for (const std::string& reason : report.declined) {
      absl::StrAppend(&text, "    declined: ", reason, "\n");
    }
  }
  return text;
}

std::string OperatorTable(const ModelProfile& profile, const std::vector<NodeFigures>& figures) {
  struct Sum {
    int nodes = 0;
    double microseconds = 0, share = 0;
    double gigaflops = 0, gigabytes = 0, known_us = 0;  // of nodes whose work is known
  };
  std::map<std::string, Sum> sums;
  for (size_t i = 0; i < figures.size(); ++i) {
    Sum& sum = sums[profile.nodes[i].report.op];
    ++sum.nodes;
    sum.microseconds += figures[i].microseconds;
    sum.share += figures[i].share;
    if (figures[i].gigabytes < 0) continue;
    sum.known_us += figures[i].microseconds;
    sum.gigaflops += std::max(figures[i].gflops, 0.0) * figures[i].microseconds;
    sum.gigabytes += figures[i].gigabytes * figures[i].microseconds;
  }
  std::vector<std::pair<std::string, Sum>> order(sums.begin(), sums.end());
  std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) {
    return a.second.microseconds > b.second.microseconds;
  });
  std::vector<std::vector<std::string>> rows;
  for (const auto& [op, sum] : order) {
    const bool known = sum.known_us > 0;
    rows.push_back({absl::StrFormat("%.1f", sum.microseconds),
                    absl::StrFormat("%.1f%%", 100 * sum.share),
                    Known(known && sum.gigaflops > 0 ? sum.gigaflops / sum.known_us : -1),
                    Known(known ? sum.gigabytes / sum.known_us : -1), absl::StrCat(sum.nodes), op});
  }
  return TextTable({"us", "share", "GFLOP/s", "GB/s", "nodes", "operator"}, rows);
}

// Medians far above the least times tell of other work on the machine, not of the model.
std::string BusyNote(const ModelProfile& profile) {
  constexpr double kQuiet = 1.5;
  double median = 0, least = 0;
  for (const NodeProfile& node : profile.nodes) {
    median += static_cast<double>(node.median_self_nanoseconds);
    least += static_cast<double>(node.least_self_nanoseconds);
  }
  if (median <= kQuiet * least) return "";
  return absl::StrFormat(
      "the machine is busy: medians add up to %.1f us, the least times to %.1f us\n", median / 1e3,
      least / 1e3);
}

std::string FusionAnswer(const ModelProfile& profile) {
  int fused = 0, folded = 0, aliases = 0;
  std::string list;
  for (const NodeReport& report : profile.planned) {
    if (report.provider == kPlanner) {
      if (report.kernel == "folded") ++folded;
      if (report.kernel == "alias") ++aliases;
    }
    if (report.fused_from.empty()) continue;
    ++fused;
    absl::StrAppend(&list, "  ", NameOf(report), " [", report.op, "] from ",
                    absl::StrJoin(report.fused_from, ", "), "\n");
  }
  std::string text = "Did fusion happen? ";
  if (fused == 0) {
    absl::StrAppend(&text, "No: every node of the plan is one of the model's.");
  } else {
    absl::StrAppend(&text, "Yes: ", fused, " of ", profile.planned.size(),
                    " nodes were made from several of the model's.");
  }
  absl::StrAppend(&text, " ", folded, " more are constants and ", aliases,
                  " only another view of memory: they take no time.\n", list);
  return text;
}

// Nodes that only run others, by position.
std::vector<bool> HaveBodies(const ModelProfile& profile) {
  std::vector<bool> have(profile.nodes.size(), false);
  for (const NodeProfile& node : profile.nodes) {
    if (node.parent >= 0) have[static_cast<size_t>(node.parent)] = true;
  }
  return have;
}

// Why a node stays below what the machine could do, as far as can be told.
std::string Explanation(const NodeProfile& node, const NodeFigures& figures, bool has_bodies) {
  const NodeReport& report = node.report;
  if (has_bodies) return "what goes on around the nodes of its bodies";
  if (figures.share_of_peak > 1 && !figures.compute_bound)
    return "a cache nearer than counted with";
  if (figures.share_of_peak > 1) return "fewer operations than counted (Winograd, integers)";
  if (figures.share_of_peak > 0.8) return "near what the machine can do";
  if (report.kernel == kReference && !report.declined.empty()) {
    return "the reference kernel runs it, since faster ones declined";
  }
  if (report.kernel == kReference) return "the reference kernel runs it; there is no other";
  const double per_run = figures.microseconds *
                         static_cast<double>(std::max<int64_t>(node.model_runs, 1)) /
                         static_cast<double>(std::max<int64_t>(node.runs, 1));
  if (per_run < 10) return "it is so small that starting it counts";
  if (!report.declined.empty()) return "faster kernels declined";
  return "";
}

std::string BottleneckAnswer(const ModelProfile& profile, const std::vector<NodeFigures>& figures) {
  constexpr size_t kTop = 3;
  const std::vector<size_t> order = ByTime(figures);
  if (order.empty()) return "What is the bottleneck? Nothing: no node ran.\n";
  const std::vector<bool> have_bodies = HaveBodies(profile);
  double compute = 0, memory = 0, sum = 0;
  for (const NodeFigures& f : figures) {
    sum += f.microseconds;
    if (f.share_of_peak >= 0) (f.compute_bound ? compute : memory) += f.share;
  }
  std::string text = absl::StrFormat(
      "What is the bottleneck? %.0f%% of the time is in compute-bound nodes, %.0f%% in "
      "memory-bound "
      "ones,\n%.0f%% in nodes whose work is not known; %.1f of %.1f us are spent outside nodes. "
      "Most time goes to:\n",
      100 * compute, 100 * memory, std::max(0.0, 100 * (1 - compute - memory)),
      std::max(0.0, profile.median_run_us - sum), profile.median_run_us);
  for (size_t k = 0; k < std::min(kTop, order.size()); ++k) {
    const NodeProfile& node = profile.nodes[order[k]];
    const NodeFigures& f = figures[order[k]];
    absl::StrAppendFormat(&text, "  %.1f%% %s by %s: ", 100 * f.share, NameOf(node.report),
                          node.report.kernel);
    if (f.share_of_peak < 0) {
      absl::StrAppend(&text, "its work is not known");
    } else {
      absl::StrAppendFormat(&text, "%s-bound, %.0f%% of peak", BoundOf(f), 100 * f.share_of_peak);
    }
    const std::string why = Explanation(node, f, have_bodies[order[k]]);
    absl::StrAppend(&text, why.empty() ? "" : "; ", why, "\n");
  }
  return text;
}

std::string FallbackAnswer(const ModelProfile& profile, const std::vector<NodeFigures>& figures) {
  int reference = 0, declined = 0, reorders = 0;
  double share = 0, reorder_share = 0;
  std::map<std::string, int> operators;
  const std::vector<bool> have_bodies = HaveBodies(profile);
  std::string reasons;
  for (size_t i = 0; i < figures.size(); ++i) {
    const NodeReport& report = profile.nodes[i].report;
    if (report.op == "inferd::Reorder") {
      ++reorders;
      reorder_share += figures[i].share;
    }
    if (!report.declined.empty()) {
      ++declined;
      absl::StrAppend(&reasons, "  ", NameOf(report), ": ", absl::StrJoin(report.declined, "; "),
                      "\n");
    }
    // What runs bodies has no faster way.
    if (report.kernel != kReference || have_bodies[i]) continue;
    ++reference;
    share += figures[i].share;
    ++operators[report.op];
  }
  std::string text = "Did anything fall back? ";
  if (reference == 0) {
    absl::StrAppend(&text, "No reference kernel ran.");
  } else {
    absl::StrAppendFormat(&text, "Reference kernels ran %d nodes, %.1f%% of the time: %s.",
                          reference, 100 * share,
                          absl::StrJoin(operators, ", ", [](std::string* out, const auto& entry) {
                            absl::StrAppend(out, entry.first, " x", entry.second);
                          }));
  }
  if (reorders > 0) {
    absl::StrAppendFormat(&text, " %d changes of layout take %.1f%%.", reorders,
                          100 * reorder_share);
  }
  absl::StrAppend(&text,
                  declined == 0 ? " No faster kernel declined.\n"
                                : absl::StrCat(" Faster kernels declined ", declined, " nodes:\n"),
                  reasons);
  return text;
}

}  // namespace

std::string ProfileText(const ModelProfile& profile) {
  const std::vector<NodeFigures> figures = FiguresOf(profile);
  const MachinePeak& peak = profile.peak;
  return absl::StrCat(
      absl::StrFormat("%d runs of %s with %d threads, median %.1f us\n", profile.runs,
                      absl::StrJoin(profile.inputs, ", "), profile.threads, profile.median_run_us),
      absl::StrFormat(
          "peak, measured now: %.1f GFLOP/s (%s, float); copies, read and written: %.1f GB/s in "
          "memory,\n%.1f GB/s in a cache (for nodes of no more than %.0f KiB per thread)\n",
          peak.flops / 1e9, peak.instructions, peak.copy_bandwidth / 1e9,
          peak.cached_copy_bandwidth / 1e9, MachinePeak::kCachedBytes / 1024),
      BusyNote(profile), "\n", NodeTable(profile, figures), "\n", OperatorTable(profile, figures),
      "\n", FusionAnswer(profile), BottleneckAnswer(profile, figures),
      FallbackAnswer(profile, figures));
}

}  // namespace inferd::engine
