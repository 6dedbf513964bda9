#include <cstdio>
#include <limits>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "clients/cpp/client.h"
#include "clients/inferctl/command.h"
#include "engine/status_macros.h"

namespace inferd::client {
namespace {

std::string Tensors(const std::vector<TensorMetadata>& tensors) {
  return absl::StrJoin(tensors, ", ", [](std::string* out, const TensorMetadata& t) {
    absl::StrAppend(out, t.name, ": ", t.datatype, "[", absl::StrJoin(t.shape, ","), "]");
  });
}

// A mean of nothing is shown as a dash.
std::string Mean(absl::Duration total, uint64_t count) {
  if (count == 0) return "-";
  return absl::StrFormat("%.3f ms", absl::ToDoubleMilliseconds(total) / count);
}

absl::Status PrintModel(Client& client, const std::string& model) {
  ASSIGN_OR_RETURN(const ModelMetadata metadata, client.GetModelMetadata(model, ""));
  std::printf("%s (%s), versions %s\n  inputs   %s\n  outputs  %s\n", metadata.name.c_str(),
              metadata.platform.c_str(), absl::StrJoin(metadata.versions, ", ").c_str(),
              Tensors(metadata.inputs).c_str(), Tensors(metadata.outputs).c_str());
  ASSIGN_OR_RETURN(const std::vector<ModelStatistics> statistics, client.GetStatistics(model, ""));
  for (const ModelStatistics& s : statistics) {
    std::printf("  version %s: %llu requests ok, %llu failed, %llu rows in %llu batches\n",
                s.version.c_str(), static_cast<unsigned long long>(s.success_count),
                static_cast<unsigned long long>(s.fail_count),
                static_cast<unsigned long long>(s.inference_count),
                static_cast<unsigned long long>(s.execution_count));
    std::printf("    mean     total %s, queue %s, compute %s\n",
                Mean(s.success, s.success_count).c_str(), Mean(s.queue, s.success_count).c_str(),
                Mean(s.compute_infer, s.success_count).c_str());
    std::printf("    batches  %s\n",
                absl::StrJoin(s.batches, ", ", [](std::string* out, const auto& b) {
                  absl::StrAppend(out, b.second, " of ", b.first);
                }).c_str());
  }
  return absl::OkStatus();
}

absl::Status PrintStatus(const Arguments& args) {
  ASSIGN_OR_RETURN(const auto client, Client::Connect({.target = args.Get("--url")}));
  if (!args.positional().empty()) {
    for (const std::string& model : args.positional()) {
      RETURN_IF_ERROR(PrintModel(*client, model));
    }
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(const ServerMetadata server, client->GetServerMetadata());
  ASSIGN_OR_RETURN(const bool ready, client->ServerReady());
  std::printf("%s %s: %s\n", server.name.c_str(), server.version.c_str(),
              ready ? "ready" : "not ready");
  ASSIGN_OR_RETURN(const std::vector<ModelIndexEntry> index, client->GetRepositoryIndex());
  for (const ModelIndexEntry& m : index) {
    std::printf("  %-24s %-8s %-12s %s\n", m.name.c_str(), m.version.c_str(), m.state.c_str(),
                m.reason.c_str());
  }
  return absl::OkStatus();
}

}  // namespace

int StatusCommand(absl::Span<const char* const> args) {
  const CommandSpec spec{.program = "inferctl",
                         .name = "status",
                         .positional = "[MODEL...]",
                         .min_positional = 0,
                         .max_positional = std::numeric_limits<int>::max(),
                         .summary = "Prints the state of the server, or the statistics of models.",
                         .flags = {kUrlFlag}};
  return RunCommand(spec, args, PrintStatus);
}

}  // namespace inferd::client
