// inferplan profile: where the time of a model goes, and why.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <limits>

#include "absl/strings/str_cat.h"
#include "engine/command_line/command.h"
#include "engine/inferplan/batched_model.h"
#include "engine/inferplan/commands.h"
#include "engine/inferplan/model_inputs.h"
#include "engine/inferplan/node_profile.h"
#include "engine/status_macros.h"
#include "engine/whole_file.h"

namespace inferd::engine {
namespace {

using Clock = std::chrono::steady_clock;

const CommandSpec& Spec() {
  static const CommandSpec spec = {
      "inferplan",
      "profile",
      "MODEL",
      1,
      1,
      "Runs MODEL and prints for every node its time, what it achieves of the machine's peak and "
      "what\n"
      "runs it; then in words whether fusion happened, what the bottleneck is and what fell back.",
      {{"--input", "NAME=SOURCE", "", "random (default), zeros, FILE.pb or FILE.npy; repeatable"},
       {"--shape", "NAME=1x3x224x224", "", "shape of an input; unknown dimensions are 1 otherwise"},
       {"--threads", "N", "1", "intra-op threads"},
       {"--duration", "S", "2", "seconds to measure for at least"},
       {"--iterations", "N", "10", "runs to measure at least"},
       {"--warm-up", "S", "0.2", "seconds to run before measuring; one run at least"},
       {"--eager", "", "", "reference kernels, unoptimized"},
       {"--json", "FILE", "", "write the figures there"},
       {"--trace", "FILE", "", "write one run there as trace events, for chrome://tracing"}}};
  return spec;
}

double Since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

absl::Status Execute(const Arguments& arguments) {
  ModelProfile profile;
  profile.model = arguments.positional()[0];
  ASSIGN_OR_RETURN(const auto sources, arguments.GetMap("--input"));
  ASSIGN_OR_RETURN(const auto shape_texts, arguments.GetMap("--shape"));
  ASSIGN_OR_RETURN(const auto shapes, ParseShapes(shape_texts));
  constexpr int kMaxThreads = 1024;
  ASSIGN_OR_RETURN(const int64_t threads, arguments.GetInt("--threads", 1, kMaxThreads));
  ASSIGN_OR_RETURN(const double duration, arguments.GetDouble("--duration", 0));
  ASSIGN_OR_RETURN(const double warm_up, arguments.GetDouble("--warm-up", 0));
  ASSIGN_OR_RETURN(const int64_t iterations,
                   arguments.GetInt("--iterations", 1, std::numeric_limits<int>::max()));
  profile.threads = static_cast<int>(threads);

  ModelOptions options;
  options.eager = arguments.has("--eager");
  ASSIGN_OR_RETURN(std::shared_ptr<Model> model, Model::Load(profile.model, options));
  ASSIGN_OR_RETURN(const std::vector<Tensor> inputs, MakeInputs(model->inputs(), sources, shapes));
  std::vector<TensorView> views;
  for (size_t i = 0; i < inputs.size(); ++i) {
    views.push_back(inputs[i].view());
    if (!inputs[i].defined()) continue;
    profile.inputs.push_back(absl::StrCat(model->inputs()[i].name, " ",
                                          ElementTypeName(inputs[i].type()),
                                          inputs[i].shape().ToString()));
  }
  // The first runs compile plans, allocate and fill caches: their times would tell of that.
  std::vector<Tensor> outputs;
  {
    ASSIGN_OR_RETURN(std::unique_ptr<Context> warm,
                     model->NewContext({profile.threads, /*profile=*/false}));
    const Clock::time_point start = Clock::now();
    do {
      RETURN_IF_ERROR(warm->Run(views, &outputs));
    } while (Since(start) < warm_up);
  }
  profile.peak = MeasurePeak(profile.threads);

  ASSIGN_OR_RETURN(std::unique_ptr<Context> context,
                   model->NewContext({profile.threads, /*profile=*/true}));
  std::vector<double> times;
  constexpr size_t kMaxRuns = 2'000'000;
  const Clock::time_point start = Clock::now();
  do {
    const Clock::time_point begin = Clock::now();
    RETURN_IF_ERROR(context->Run(views, &outputs));
    times.push_back(Since(begin));
  } while (times.size() < kMaxRuns &&
           (static_cast<int64_t>(times.size()) < iterations || Since(start) < duration));
  std::sort(times.begin(), times.end());
  profile.runs = static_cast<int64_t>(times.size());
  profile.median_run_us = 1e6 * Percentile(times, 0.5);
  profile.nodes = context->Profile();
  profile.planned = context->PlannedNodes();
  profile.last_run = context->LastRun();

  std::printf("%s", ProfileText(profile).c_str());
  if (arguments.has("--json")) {
    RETURN_IF_ERROR(WriteFile(arguments.Get("--json"), ProfileJson(profile)));
  }
  if (arguments.has("--trace")) {
    RETURN_IF_ERROR(WriteFile(arguments.Get("--trace"), ProfileTrace(profile)));
  }
  return absl::OkStatus();
}

}  // namespace

int RunProfile(absl::Span<const char* const> args) {
  const ParsedCommand parsed = ParseCommand(Spec(), args);
  if (!parsed.arguments.has_value()) return parsed.exit_status;
  if (absl::Status status = Execute(*parsed.arguments); !status.ok())
    return Fail(Spec(), status.message());
  return 0;
}

}  // namespace inferd::engine
