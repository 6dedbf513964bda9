// inferd's engine as a worker of benchmarks/engine_vs_peer: holds one model and answers, line by
// line, `run N` with N latencies, `outputs DIR` with the files it wrote, `rss` with its peak.
// See peers/worker.py for the other end.

#include <chrono>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "engine/onnx/tensor_file.h"
#include "engine/runtime/model.h"
#include "engine/status_macros.h"
#include "engine/tensor/npy_file.h"

namespace inferd::engine {
namespace {

using SteadyClock = std::chrono::steady_clock;

void Answer(const std::string& json) {
  std::printf("%s\n", json.c_str());
  std::fflush(stdout);
}

void AnswerError(const absl::Status& status) {
  Answer(absl::StrCat(
      "{\"error\": \"",
      absl::StrReplaceAll(status.ToString(), {{"\\", "\\\\"}, {"\"", "\\\""}, {"\n", "\\n"}}),
      "\"}"));
}

double Milliseconds(SteadyClock::duration d) {
  return std::chrono::duration<double, std::milli>(d).count();
}

// VmHWM, not getrusage: the latter remembers the parent's size from before exec.
int64_t PeakRss() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    int64_t kilobytes = 0;
    if (word == "VmHWM:" && status >> kilobytes) return kilobytes * 1024;
  }
  return 0;
}

absl::Status Serve(const std::string& path, int threads,
                   const std::vector<std::pair<std::string, std::string>>& files) {
  const auto start = SteadyClock::now();
  ASSIGN_OR_RETURN(const std::shared_ptr<Model> model, Model::Load(path, {}));
  ASSIGN_OR_RETURN(const std::unique_ptr<Context> context, model->NewContext({.threads = threads}));
  const auto loaded = SteadyClock::now();

  std::vector<Tensor> tensors(model->inputs().size());
  std::vector<TensorView> inputs(tensors.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    for (const auto& [name, file] : files) {
      if (name != model->inputs()[i].name) continue;
      ASSIGN_OR_RETURN(tensors[i], ReadTensorFile(file));
      inputs[i] = tensors[i].view();
    }
  }
  std::vector<Tensor> outputs;
  const auto first = SteadyClock::now();
  RETURN_IF_ERROR(context->Run(inputs, &outputs));
  Answer(absl::StrCat("{\"load_ms\": ", Milliseconds(loaded - start),
                      ", \"first_run_ms\": ", Milliseconds(SteadyClock::now() - first), "}"));

  for (std::string line; std::getline(std::cin, line);) {
    int count = 0;
    if (line.rfind("run ", 0) == 0 && absl::SimpleAtoi(line.substr(4), &count)) {
      std::vector<int64_t> ns;
      for (int i = 0; i < count; ++i) {
        const auto begin = SteadyClock::now();
        RETURN_IF_ERROR(context->Run(inputs, &outputs));
        ns.push_back(std::chrono::nanoseconds(SteadyClock::now() - begin).count());
      }
      Answer(absl::StrCat("{\"ns\": [", absl::StrJoin(ns, ","), "]}"));
    } else if (line.rfind("outputs ", 0) == 0) {
      std::vector<std::string> written;
      for (size_t i = 0; i < outputs.size(); ++i) {
        written.push_back(absl::StrCat(line.substr(8), "/output_", i, ".npy"));
        RETURN_IF_ERROR(WriteNpyFile(written.back(), outputs[i].view()));
      }
      Answer(absl::StrCat("{\"files\": [\"", absl::StrJoin(written, "\", \""), "\"]}"));
    } else if (line == "rss") {
      Answer(absl::StrCat("{\"bytes\": ", PeakRss(), "}"));
    } else {
      return absl::InvalidArgumentError(absl::StrCat("unknown command ", line));
    }
  }
  return absl::OkStatus();
}

int Main(int argc, char** argv) {
  int threads = 1;
  std::vector<std::pair<std::string, std::string>> files;
  for (int i = 2; i + 1 < argc; i += 2) {
    const std::string flag = argv[i], value = argv[i + 1];
    const size_t equals = value.find('=');
    if (flag == "--threads" && absl::SimpleAtoi(value, &threads)) continue;
    if (flag == "--input" && equals != std::string::npos) {
      files.emplace_back(value.substr(0, equals), value.substr(equals + 1));
      continue;
    }
    argc = 0;
  }
  if (argc < 2) {
    std::fprintf(stderr, "usage: engine_worker MODEL [--threads N] [--input NAME=FILE.pb]...\n");
    return 2;
  }
  if (absl::Status status = Serve(argv[1], threads, files); !status.ok()) {
    AnswerError(status);
    return 1;
  }
  return 0;
}

}  // namespace
}  // namespace inferd::engine

int main(int argc, char** argv) { return inferd::engine::Main(argc, argv); }
