// The sweep as a page with charts.
#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "engine/inferplan/batch_sweep.h"

namespace inferd::engine {
namespace {

constexpr double kWidth = 720, kHeight = 300;
constexpr double kLeft = 70, kRight = 20, kTop = 20, kBottom = 45;

std::string Escape(const std::string& text) {
  return absl::StrReplaceAll(text,
                             {{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}, {"\"", "&quot;"}});
}

struct Curve {
  const char* name;
  const char* color;
  double (*value)(const BatchPoint& point);
};

// The least of 1, 2, 5 times a power of ten that is not below `value`.
double RoundUp(double value) {
  if (!(value > 0)) return 1;
  const double power = std::pow(10, std::floor(std::log10(value)));
  for (double step : {1.0, 2.0, 5.0}) {
    if (step * power >= value) return step * power;
  }
  return 10 * power;
}

class Chart {
 public:
  // Sizes stand at equal distances: they are powers of two as a rule.
  Chart(const BatchSweep& sweep, std::vector<Curve> curves, std::string unit)
      : sweep_(sweep), curves_(std::move(curves)), unit_(std::move(unit)) {
    double largest = 0;
    for (const Curve& curve : curves_) {
      for (const BatchPoint& point : sweep_.points) {
        if (point.error.empty()) largest = std::max(largest, curve.value(point));
      }
    }
    top_ = RoundUp(largest);
  }

  std::string Svg(const std::string& title, std::optional<double> limit) const {
    std::string svg = absl::StrFormat(
        "<h2>%s</h2>\n<svg viewBox=\"0 0 %.0f %.0f\" width=\"%.0f\" height=\"%.0f\" role=\"img\" "
        "aria-label=\"%s\">\n",
        title, kWidth, kHeight, kWidth, kHeight, title);
    AppendGrid(svg);
    AppendSizes(svg);
    if (limit.has_value() && *limit <= top_) {
      absl::StrAppendFormat(&svg,
                            "<line class=\"budget\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" "
                            "y2=\"%.1f\"/>\n<text x=\"%.1f\" y=\"%.1f\">budget %g %s</text>\n",
                            kLeft, Y(*limit), kWidth - kRight, Y(*limit), kLeft + 6, Y(*limit) - 5,
                            *limit, unit_);
    }
    double legend = kLeft + 120;
    for (const Curve& curve : curves_) {
      AppendCurve(curve, svg);
      absl::StrAppendFormat(&svg, "<text x=\"%.1f\" y=\"14\" fill=\"%s\">%s</text>\n", legend,
                            curve.color, curve.name);
      legend += 70;
    }
    return absl::StrCat(svg, "</svg>\n");
  }

 private:
  double X(size_t i) const {
    const double width = kWidth - kLeft - kRight;
    return kLeft + width * (static_cast<double>(i) + 0.5) /
                       static_cast<double>(std::max<size_t>(sweep_.points.size(), 1));
  }
  double Y(double value) const {
    return kHeight - kBottom - (kHeight - kTop - kBottom) * value / top_;
  }

  void AppendGrid(std::string& svg) const {
    constexpr int kLines = 5;
    for (int i = 0; i <= kLines; ++i) {
      const double value = top_ * i / kLines;
      absl::StrAppendFormat(&svg,
                            "<line class=\"grid\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>"
                            "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"end\">%g</text>\n",
                            kLeft, Y(value), kWidth - kRight, Y(value), kLeft - 6, Y(value) + 4,
                            value);
    }
    absl::StrAppendFormat(&svg, "<text x=\"4\" y=\"14\">%s</text>\n", unit_);
  }

  void AppendSizes(std::string& svg) const {
    for (size_t i = 0; i < sweep_.points.size(); ++i) {
      const BatchPoint& point = sweep_.points[i];
      absl::StrAppendFormat(
          &svg,
          "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\" data-batch=\"%d\">%d%s</text>\n",
          X(i), kHeight - kBottom + 18, point.batch, point.batch,
          point.error.empty() ? "" : " (failed)");
    }
    absl::StrAppendFormat(&svg, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">batch</text>\n",
                          (kLeft + kWidth - kRight) / 2, kHeight - 6);
  }

  void AppendCurve(const Curve& curve, std::string& svg) const {
    std::string path, dots;
    for (size_t i = 0; i < sweep_.points.size(); ++i) {
      const BatchPoint& point = sweep_.points[i];
      if (!point.error.empty()) continue;
      const double value = curve.value(point);
      absl::StrAppendFormat(&path, "%s%.1f %.1f", path.empty() ? "M" : " L", X(i), Y(value));
      absl::StrAppendFormat(&dots,
                            "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"4\" fill=\"%s\"><title>batch %d: "
                            "%s %.4g %s</title></circle>\n",
                            X(i), Y(value), curve.color, point.batch, curve.name, value, unit_);
    }
    absl::StrAppendFormat(&svg,
                          "<path d=\"%s\" fill=\"none\" stroke=\"%s\" stroke-width=\"2\"/>\n%s",
                          path, curve.color, dots);
  }

  const BatchSweep& sweep_;
  const std::vector<Curve> curves_;
  const std::string unit_;
  double top_ = 1;
};

}  // namespace

std::string SweepHtml(const BatchSweep& sweep) {
  const std::string title = Escape(sweep.model);
  std::string html = absl::StrCat(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>", title,
      " by batch size</title>\n<style>\nbody { font: 15px sans-serif; margin: 2em; }\n"
      "svg text { font: 12px sans-serif; }\n.grid { stroke: #ddd; }\n"
      ".budget { stroke: #b00; stroke-dasharray: 6 4; }\n"
      "td, th { padding: 2px 12px; text-align: right; }\n</style>\n</head>\n<body>\n<h1>",
      title, "</h1>\n<p>", sweep.instances, " instances of ", sweep.threads, " threads each.");
  if (sweep.budget_ms.has_value()) {
    const BatchPoint* largest = LargestWithin(sweep);
    absl::StrAppendFormat(&html, " Largest batch whose P99 is within %g ms: %s.", *sweep.budget_ms,
                          largest == nullptr ? "none" : absl::StrCat(largest->batch));
  }
  absl::StrAppend(&html, "</p>\n");
  const Chart latency(sweep,
                      {{"P50", "#1666b0", [](const BatchPoint& p) { return p.p50_ms; }},
                       {"P99", "#d9731a", [](const BatchPoint& p) { return p.p99_ms; }}},
                      "ms");
  const Chart throughput(
      sweep, {{"rows", "#2b8a3e", [](const BatchPoint& p) { return p.rows_per_second; }}},
      "rows/s");
  absl::StrAppend(&html, latency.Svg("Latency", sweep.budget_ms),
                  throughput.Svg("Throughput", std::nullopt));
  absl::StrAppend(&html,
                  "<h2>Figures</h2>\n<table>\n<tr><th>batch</th><th>P50 ms</th><th>P99 ms</th>"
                  "<th>rows/s</th><th>runs</th></tr>\n");
  for (const BatchPoint& point : sweep.points) {
    if (!point.error.empty()) {
      absl::StrAppend(&html, "<tr><td>", point.batch,
                      "</td><td colspan=\"4\">failed: ", Escape(point.error), "</td></tr>\n");
      continue;
    }
    absl::StrAppendFormat(
        &html, "<tr><td>%d</td><td>%.3f</td><td>%.3f</td><td>%.1f</td><td>%d</td></tr>\n",
        point.batch, point.p50_ms, point.p99_ms, point.rows_per_second, point.runs);
  }
  return absl::StrCat(html, "</table>\n</body>\n</html>\n");
}

}  // namespace inferd::engine
