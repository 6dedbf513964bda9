// inferplan sweep: what batching costs and brings.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <latch>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "engine/command_line/command.h"
#include "engine/inferplan/batch_sweep.h"
#include "engine/inferplan/batched_model.h"
#include "engine/inferplan/commands.h"
#include "engine/inferplan/model_inputs.h"
#include "engine/status_macros.h"
#include "engine/whole_file.h"

namespace inferd::engine {
namespace {

using Clock = std::chrono::steady_clock;

const CommandSpec& Spec() {
  static const CommandSpec spec = {
      "inferplan",
      "sweep",
      "MODEL",
      1,
      1,
      "Times MODEL at growing batch sizes, with several instances at a time if asked, and finds "
      "the\n"
      "largest batch that keeps a latency budget.",
      {{"--batch", "1,2,4", "1,2,4,8,16,32", "sizes of the free first dimension of the inputs"},
       {"--shape", "NAME=1x3x224x224", "", "shape of an input; unknown dimensions are 1 otherwise"},
       {"--input", "NAME=SOURCE", "", "random (default), zeros, FILE.pb or FILE.npy; repeatable"},
       {"--threads", "N", "1", "intra-op threads of each instance"},
       {"--instances", "N", "1", "contexts that run at the same time, sharing the weights"},
       {"--duration", "S", "1", "seconds to measure each size for"},
       {"--warm-up", "S", "0.2", "seconds to run each size before measuring; one run at least"},
       {"--budget", "15ms", "", "latency that P99 must keep"},
       {"--json", "FILE", "", "write the figures there"},
       {"--html", "FILE", "", "write them there as a page with charts"}}};
  return spec;
}

double Since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

struct Instance {
  std::unique_ptr<Context> context;
  std::vector<Tensor> outputs;
  std::vector<double> times;  // seconds
  absl::Status status;
};

absl::Status RunFor(Instance& instance, const std::vector<TensorView>& views, double seconds,
                    bool keep_times) {
  constexpr size_t kMaxRuns = 1'000'000;
  const Clock::time_point start = Clock::now();
  do {
    const Clock::time_point begin = Clock::now();
    RETURN_IF_ERROR(instance.context->Run(views, &instance.outputs));
    if (keep_times) instance.times.push_back(Since(begin));
  } while (Since(start) < seconds && instance.times.size() < kMaxRuns);
  return absl::OkStatus();
}

struct Timing {
  int threads = 1, instances = 1;
  double warm_up = 0, duration = 0;  // seconds
};

absl::StatusOr<BatchPoint> Measure(Model& model, const std::vector<Tensor>& inputs,
                                   const Timing& timing, int64_t batch) {
  std::vector<TensorView> views;
  for (const Tensor& input : inputs) views.push_back(input.view());
  std::vector<Instance> instances(static_cast<size_t>(timing.instances));
  for (Instance& instance : instances) {
    ASSIGN_OR_RETURN(instance.context, model.NewContext({timing.threads, /*profile=*/false}));
  }
  // All start to measure at once, when the slowest is warm.
  std::latch warm(timing.instances);
  Clock::time_point start = Clock::now();
  const auto work = [&](Instance& instance) {
    instance.status = RunFor(instance, views, timing.warm_up, /*keep_times=*/false);
    warm.arrive_and_wait();
    if (&instance == &instances[0]) start = Clock::now();
    if (instance.status.ok()) {
      instance.status = RunFor(instance, views, timing.duration, /*keep_times=*/true);
    }
  };
  std::vector<std::thread> threads;
  for (size_t i = 1; i < instances.size(); ++i) threads.emplace_back(work, std::ref(instances[i]));
  work(instances[0]);
  for (std::thread& thread : threads) thread.join();
  const double elapsed = Since(start);

  std::vector<double> times;
  double sum = 0;
  for (const Instance& instance : instances) {
    RETURN_IF_ERROR(instance.status);
    times.insert(times.end(), instance.times.begin(), instance.times.end());
  }
  for (double t : times) sum += t;
  std::sort(times.begin(), times.end());
  BatchPoint point;
  point.batch = batch;
  point.runs = static_cast<int64_t>(times.size());
  point.p50_ms = 1e3 * Percentile(times, 0.5);
  point.p99_ms = 1e3 * Percentile(times, 0.99);
  point.mean_ms = 1e3 * sum / static_cast<double>(times.size());
  point.rows_per_second = static_cast<double>(point.runs * batch) / elapsed;
  return point;
}

absl::Status Execute(const Arguments& arguments) {
  BatchSweep sweep;
  sweep.model = arguments.positional()[0];
  ASSIGN_OR_RETURN(const auto sources, arguments.GetMap("--input"));
  ASSIGN_OR_RETURN(const auto shape_texts, arguments.GetMap("--shape"));
  ASSIGN_OR_RETURN(const auto given, ParseShapes(shape_texts));
  ASSIGN_OR_RETURN(std::vector<int64_t> batches, arguments.GetInts("--batch", 1));
  constexpr int kMaxThreads = 1024;
  ASSIGN_OR_RETURN(const int64_t threads, arguments.GetInt("--threads", 1, kMaxThreads));
  ASSIGN_OR_RETURN(const int64_t instances, arguments.GetInt("--instances", 1, kMaxThreads));
  Timing timing;
  timing.threads = sweep.threads = static_cast<int>(threads);
  timing.instances = sweep.instances = static_cast<int>(instances);
  ASSIGN_OR_RETURN(timing.duration, arguments.GetDouble("--duration", 0));
  ASSIGN_OR_RETURN(timing.warm_up, arguments.GetDouble("--warm-up", 0));
  if (arguments.has("--budget")) {
    ASSIGN_OR_RETURN(const absl::Duration budget, arguments.GetDuration("--budget"));
    sweep.budget_ms = absl::ToDoubleMilliseconds(budget);
  }
  std::sort(batches.begin(), batches.end());
  batches.erase(std::unique(batches.begin(), batches.end()), batches.end());

  LoadOptions load;
  ASSIGN_OR_RETURN(std::shared_ptr<Model> model, LoadModel(sweep.model, load));
  absl::Status failure;
  for (int64_t batch : batches) {
    if (batch > 1 && !load.free_batch && FixesBatch(*model)) {
      load.free_batch = true;
      ASSIGN_OR_RETURN(model, LoadModel(sweep.model, load));
      std::printf("the model fixes its batch at 1; batches above run with that dimension freed\n");
    }
    const auto measure = [&]() -> absl::StatusOr<BatchPoint> {
      ASSIGN_OR_RETURN(const auto shapes, ShapesForBatch(model->inputs(), given, batch));
      ASSIGN_OR_RETURN(const std::vector<Tensor> inputs,
                       MakeInputs(model->inputs(), sources, shapes));
      return Measure(*model, inputs, timing, batch);
    };
    absl::StatusOr<BatchPoint> point = measure();
    // What one size cannot do does not keep the others from being measured.
    if (!point.ok()) {
      failure = absl::Status(point.status().code(),
                             absl::StrCat("batch ", batch, ": ", point.status().message()));
      point.emplace();
      point->batch = batch;
      point->error = std::string(failure.message());
    }
    sweep.points.push_back(*std::move(point));
  }

  std::printf("%d instances of %d threads each\n%s", sweep.instances, sweep.threads,
              SweepTable(sweep).c_str());
  if (sweep.budget_ms.has_value()) {
    const BatchPoint* largest = LargestWithin(sweep);
    if (largest == nullptr) {
      std::printf("no batch keeps P99 within %g ms\n", *sweep.budget_ms);
    } else {
      std::printf("the largest batch that keeps P99 within %g ms: %lld, %.1f rows/s\n",
                  *sweep.budget_ms, static_cast<long long>(largest->batch),
                  largest->rows_per_second);
    }
  }
  if (arguments.has("--json")) {
    RETURN_IF_ERROR(WriteFile(arguments.Get("--json"), SweepJson(sweep)));
  }
  if (arguments.has("--html")) {
    RETURN_IF_ERROR(WriteFile(arguments.Get("--html"), SweepHtml(sweep)));
  }
  return failure;
}

}  // namespace

int RunSweep(absl::Span<const char* const> args) {
  const ParsedCommand parsed = ParseCommand(Spec(), args);
  if (!parsed.arguments.has_value()) return parsed.exit_status;
  if (absl::Status status = Execute(*parsed.arguments); !status.ok())
    return Fail(Spec(), status.message());
  return 0;
}

}  // namespace inferd::engine
