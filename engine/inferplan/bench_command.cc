// inferplan bench: load time, latency and throughput of the engine alone.
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <limits>
#include <map>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "engine/command_line/command.h"
#include "engine/inferplan/batched_model.h"
#include "engine/inferplan/commands.h"
#include "engine/inferplan/json_writer.h"
#include "engine/inferplan/model_inputs.h"
#include "engine/runtime/model.h"
#include "engine/status_macros.h"
#include "engine/whole_file.h"

namespace inferd::engine {
namespace {

using Clock = std::chrono::steady_clock;

const CommandSpec& Spec() {
  static const CommandSpec spec = {
      "inferplan",
      "bench",
      "MODEL",
      1,
      1,
      "Times MODEL at every combination of --batch and --threads, one caller, back to back.",
      {{"--shape", "NAME=1x3x224x224", "", "shape of an input; unknown dimensions are 1 otherwise"},
       {"--input", "NAME=SOURCE", "", "random (default), zeros, FILE.pb or FILE.npy; repeatable"},
       {"--batch", "1,8", "1", "sizes of dimension 0 of every input where it is free or 1"},
       {"--threads", "1,2", "1", "intra-op threads"},
       {"--seconds", "S", "3", "time to measure each combination for"},
       {"--warmup", "S", "0.5", "time to run before measuring"},
       {"--randomize-weights", "", "", "replace float weights by seeded random numbers"},
       {"--eager", "", "", "reference kernels, unoptimized"},
       {"--profile", "", "", "print the time of every node"},
       {"--json", "FILE", "", "write the results there"}}};
  return spec;
}

double MillisecondsSince(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

// The largest resident set of this process so far, in bytes.
int64_t PeakResidentBytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return int64_t{usage.ru_maxrss} * 1024;
}

struct Measurement {
  int64_t batch = 1;
  int threads = 1;
  double first_run_ms = 0;  // plan compilation included
  double median_ms = 0, p50_ms = 0, p99_ms = 0, min_ms = 0, mean_ms = 0;
  int64_t runs = 0;
  double inferences_per_second = 0;  // rows
  int64_t peak_rss_bytes = 0;
};

absl::StatusOr<Measurement> Measure(Model& model, const std::vector<Tensor>& inputs, int64_t batch,
                                    int threads, double warmup_seconds, double seconds,
                                    bool profile) {
  Measurement m;
  m.batch = batch;
  m.threads = threads;
  ASSIGN_OR_RETURN(std::unique_ptr<Context> context, model.NewContext({threads, profile}));
  std::vector<TensorView> views;
  for (const Tensor& input : inputs) views.push_back(input.view());
  std::vector<Tensor> outputs;

  Clock::time_point start = Clock::now();
  RETURN_IF_ERROR(context->Run(views, &outputs));
  m.first_run_ms = MillisecondsSince(start);
  start = Clock::now();
  while (MillisecondsSince(start) < warmup_seconds * 1e3) {
    RETURN_IF_ERROR(context->Run(views, &outputs));
  }
  std::vector<double> times;
  start = Clock::now();
  // One run at least, and few enough that their times fit into modest memory.
  constexpr size_t kMaxRuns = 2'000'000;
  do {
    const Clock::time_point begin = Clock::now();
    RETURN_IF_ERROR(context->Run(views, &outputs));
    times.push_back(MillisecondsSince(begin));
  } while (MillisecondsSince(start) < seconds * 1e3 && times.size() < kMaxRuns);
  const double total_ms = MillisecondsSince(start);

  m.runs = static_cast<int64_t>(times.size());
  std::sort(times.begin(), times.end());
  m.min_ms = times.front();
  m.median_ms = m.p50_ms = Percentile(times, 0.5);
  m.p99_ms = Percentile(times, 0.99);
  m.mean_ms = total_ms / static_cast<double>(m.runs);
  m.inferences_per_second = 1e3 * static_cast<double>(m.runs * batch) / total_ms;
  m.peak_rss_bytes = PeakResidentBytes();

  if (profile) {
    std::vector<NodeProfile> nodes = context->Profile();
    std::sort(nodes.begin(), nodes.end(), [](const NodeProfile& a, const NodeProfile& b) {
      return a.self_nanoseconds > b.self_nanoseconds;
    });
    int64_t total = 0;
    for (const NodeProfile& n : nodes) total += n.self_nanoseconds;
    for (const NodeProfile& n : nodes) {
      std::printf("  %6.2f%% %10.1f us  %-10s %-26s %-22s %s\n",
                  100.0 * static_cast<double>(n.self_nanoseconds) /
                      static_cast<double>(std::max<int64_t>(total, 1)),
                  static_cast<double>(n.self_nanoseconds) / 1e3 / static_cast<double>(n.runs),
                  n.report.layout.c_str(), n.report.kernel.c_str(), n.report.op.c_str(),
                  n.report.node.c_str());
    }
  }
  return m;
}

std::string ToJson(const std::string& path, double load_ms,
                   const std::vector<Measurement>& measurements) {
  JsonWriter json;
  json.BeginObject().Key("model").String(path).Key("load_ms").Double(load_ms);
  json.Key("results").BeginArray();
  for (const Measurement& m : measurements) {
    json.BeginObject();
    json.Key("batch").Int(m.batch).Key("threads").Int(m.threads).Key("runs").Int(m.runs);
    json.Key("first_run_ms").Double(m.first_run_ms).Key("median_ms").Double(m.median_ms);
    json.Key("p50_ms").Double(m.p50_ms).Key("p99_ms").Double(m.p99_ms);
    json.Key("min_ms").Double(m.min_ms).Key("mean_ms").Double(m.mean_ms);
    json.Key("inferences_per_second").Double(m.inferences_per_second);
    json.Key("peak_rss_bytes").Int(m.peak_rss_bytes).EndObject();
  }
  json.EndArray().EndObject();
  return json.text();
}

void Print(const Measurement& m) {
  std::printf("%6lld %7d %9.2f %10.4f %10.4f %10.4f %12.1f %9.1f %7lld\n",
              static_cast<long long>(m.batch), m.threads, m.first_run_ms, m.median_ms, m.p99_ms,
              m.min_ms, m.inferences_per_second, static_cast<double>(m.peak_rss_bytes) / (1 << 20),
              static_cast<long long>(m.runs));
  std::fflush(stdout);
}

absl::Status Execute(const Arguments& arguments) {
  const std::string& path = arguments.positional()[0];
  ASSIGN_OR_RETURN(const auto sources, arguments.GetMap("--input"));
  ASSIGN_OR_RETURN(const auto shape_texts, arguments.GetMap("--shape"));
  ASSIGN_OR_RETURN(const auto given, ParseShapes(shape_texts));
  ASSIGN_OR_RETURN(const std::vector<int64_t> batches, arguments.GetInts("--batch", 1));
  ASSIGN_OR_RETURN(const std::vector<int64_t> threads, arguments.GetInts("--threads", 1));
  ASSIGN_OR_RETURN(const double seconds, arguments.GetDouble("--seconds", 0));
  ASSIGN_OR_RETURN(const double warmup, arguments.GetDouble("--warmup", 0));

  LoadOptions load{arguments.has("--eager"), arguments.has("--randomize-weights"), false};
  const Clock::time_point start = Clock::now();
  ASSIGN_OR_RETURN(std::shared_ptr<Model> model, LoadModel(path, load));
  const double load_ms = MillisecondsSince(start);
  std::printf("load %.1f ms\n", load_ms);
  std::printf("%6s %7s %9s %10s %10s %10s %12s %9s %7s\n", "batch", "threads", "first ms",
              "median ms", "p99 ms", "min ms", "inferences/s", "RSS MiB", "runs");

  std::vector<Measurement> measurements;
  absl::Status failure;
  for (int64_t batch : batches) {
    if (batch > 1 && !load.free_batch && FixesBatch(*model)) {
      load.free_batch = true;
      ASSIGN_OR_RETURN(model, LoadModel(path, load));
      std::printf("the model fixes its batch at 1; batches above run with that dimension freed\n");
    }
    ASSIGN_OR_RETURN(const auto shapes, ShapesForBatch(model->inputs(), given, batch));
    ASSIGN_OR_RETURN(const std::vector<Tensor> inputs,
                     MakeInputs(model->inputs(), sources, shapes));
    for (int64_t t : threads) {
      const int count = static_cast<int>(std::min<int64_t>(t, std::numeric_limits<int>::max()));
      absl::StatusOr<Measurement> m =
          Measure(*model, inputs, batch, count, warmup, seconds, arguments.has("--profile"));
      // What one batch size cannot do does not keep the others from being measured.
      if (!m.ok()) {
        failure = absl::Status(m.status().code(),
                               absl::StrCat("batch ", batch, ": ", m.status().message()));
        std::printf("%6lld %7lld failed: %s\n", static_cast<long long>(batch),
                    static_cast<long long>(t), std::string(m.status().message()).c_str());
        continue;
      }
      Print(*m);
      measurements.push_back(*m);
    }
  }
  if (arguments.has("--json")) {
    RETURN_IF_ERROR(WriteFile(arguments.Get("--json"), ToJson(path, load_ms, measurements)));
  }
  return failure;
}

}  // namespace

int RunBench(absl::Span<const char* const> args) {
  const ParsedCommand parsed = ParseCommand(Spec(), args);
  if (!parsed.arguments.has_value()) return parsed.exit_status;
  if (absl::Status status = Execute(*parsed.arguments); !status.ok())
    return Fail(Spec(), status.message());
  return 0;
}

}  // namespace inferd::engine
