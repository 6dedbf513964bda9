#include <rapidjson/prettywriter.h>
#include <rapidjson/stringbuffer.h>

#include <algorithm>
#include <cstdio>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "clients/cpp/client.h"
#include "clients/inferctl/command.h"
#include "clients/inferctl/input_flags.h"
#include "clients/inferctl/load_generator.h"
#include "clients/inferctl/tensor_source.h"
#include "engine/status_macros.h"
#include "engine/whole_file.h"

namespace inferd::client {
namespace {

struct Row {
  bool open = false;
  double load = 0;  // concurrency, or requests/s
  LoadResult result = {};
  double mean_batch = 0;  // rows per executed batch on the server meanwhile; 0: unknown
};

absl::StatusOr<std::vector<double>> LoadLevels(const Arguments& args, absl::string_view flag) {
  ASSIGN_OR_RETURN(std::vector<double> levels, args.GetDoubles(flag, 0));
  if (std::find(levels.begin(), levels.end(), 0.0) != levels.end()) {
    return absl::InvalidArgumentError(
        absl::StrCat(flag, ": expected numbers above 0, found \"", args.Get(flag), "\""));
  }
  return levels;
}

double Milliseconds(absl::Duration d) { return absl::ToDoubleMilliseconds(d); }

std::string ErrorsText(const LoadResult& result) {
  std::string text = absl::StrJoin(result.errors, ", ", [](std::string* out, const auto& e) {
    absl::StrAppend(out, e.second, " ", e.first);
  });
  if (result.dropped > 0) absl::StrAppend(&text, " ", result.dropped, " dropped by the client");
  return text;
}

void PrintRow(const Row& row) {
  const LoadResult& r = row.result;
  std::printf("%-6s %9.6g %11.1f %9.3f %9.3f %9.3f %9.3f %9.3f %6.2f  %s\n",
              row.open ? "open" : "closed", row.load, r.Throughput(), Milliseconds(r.Mean()),
              Milliseconds(r.Quantile(0.50)), Milliseconds(r.Quantile(0.90)),
              Milliseconds(r.Quantile(0.99)), Milliseconds(r.Quantile(0.999)), row.mean_batch,
              ErrorsText(r).c_str());
  std::fflush(stdout);
}

std::string ToJson(const std::string& model, int64_t rows_per_request,
                   const std::vector<Row>& rows) {
  rapidjson::StringBuffer buffer;
  rapidjson::PrettyWriter<rapidjson::StringBuffer> json(buffer);
  json.StartObject();
  json.Key("model");
  json.String(model.c_str());
  json.Key("rows_per_request");
  json.Int64(rows_per_request);
  json.Key("results");
  json.StartArray();
  for (const Row& row : rows) {
    const LoadResult& r = row.result;
    json.StartObject();
    json.Key("mode");
    json.String(row.open ? "open" : "closed");
    json.Key(row.open ? "rate" : "concurrency");
    json.Double(row.load);
    json.Key("seconds");
    json.Double(r.seconds);
    json.Key("ok");
    json.Int64(r.ok);
    json.Key("throughput");
    json.Double(r.Throughput());
    json.Key("mean_batch");
    json.Double(row.mean_batch);
    json.Key("latency_ms");
    json.StartObject();
    json.Key("mean");
    json.Double(Milliseconds(r.Mean()));
    constexpr std::pair<const char*, double> kQuantiles[] = {
        {"p50", 0.5}, {"p90", 0.9}, {"p99", 0.99}, {"p99.9", 0.999}, {"max", 1.0}};
    for (const auto& [name, q] : kQuantiles) {
      json.Key(name);
      json.Double(Milliseconds(r.Quantile(q)));
    }
    json.EndObject();
    json.Key("errors");
    json.StartObject();
    for (const auto& [code, count] : r.errors) {
      json.Key(code.c_str());
      json.Int64(count);
    }
    json.EndObject();
    json.Key("dropped_by_client");
    json.Int64(r.dropped);
    json.EndObject();
  }
  json.EndArray();
  json.EndObject();
  return absl::StrCat(buffer.GetString(), "\n");
}

// Rows and batches executed so far; zeros where the server keeps no statistics.
std::pair<uint64_t, uint64_t> RowsAndBatches(Client& client, const std::string& model,
                                             const std::string& version) {
  const auto statistics = client.GetStatistics(model, version);
  if (!statistics.ok() || statistics->empty()) return {0, 0};
  return {statistics->back().inference_count, statistics->back().execution_count};
}

absl::Status Bench(const Arguments& args) {
  ASSIGN_OR_RETURN(const int64_t connections, args.GetInt("--connections", 1, 64));
  ASSIGN_OR_RETURN(
      const auto client,
      Client::Connect({.target = args.Get("--url"), .connections = static_cast<int>(connections)}));
  InferRequest request{.model = args.positional()[0], .version = args.Get("--version")};
  ASSIGN_OR_RETURN(request.timeout, args.GetDuration("--timeout"));
  if (const std::optional<std::string> body = JsonBody(args); body.has_value()) {
    // Says all there is to say: works with servers that do not describe their models.
    ASSIGN_OR_RETURN(request.inputs, ReadInputsJson(*body));
  } else {
    ASSIGN_OR_RETURN(const ModelMetadata metadata,
                     client->GetModelMetadata(request.model, request.version));
    ASSIGN_OR_RETURN(request.inputs, BuildInputs(metadata, args, /*make_up_missing=*/true));
  }
  const bool has_rows = !request.inputs.empty() && !request.inputs[0].shape.empty();
  const int64_t rows_per_request = has_rows ? request.inputs[0].shape[0] : 1;

  LoadOptions load;
  ASSIGN_OR_RETURN(load.duration, args.GetDuration("--duration"));
  ASSIGN_OR_RETURN(load.warmup, args.GetDuration("--warmup"));
  ASSIGN_OR_RETURN(const int64_t seed, args.GetInt("--seed", 0, int64_t{1} << 62));
  load.seed = static_cast<uint64_t>(seed);
  ASSIGN_OR_RETURN(const std::vector<double> rates, LoadLevels(args, "--rate"));
  ASSIGN_OR_RETURN(const std::vector<double> concurrencies, LoadLevels(args, "--concurrency"));

  const std::shared_ptr<const Client::Prepared> prepared = client->Prepare(request);
  std::vector<Row> rows;
  if (rates.empty()) {
    for (double c : concurrencies) rows.push_back({.open = false, .load = c});
  } else {
    for (double r : rates) rows.push_back({.open = true, .load = r});
  }
  std::printf("%-6s %9s %11s %9s %9s %9s %9s %9s %6s  %s\n", "loop", "load", "requests/s",
              "mean ms", "p50", "p90", "p99", "p99.9", "batch", "errors");
  std::string first_error;
  for (Row& row : rows) {
    load.rate = row.open ? row.load : 0;
    load.concurrency = static_cast<int>(row.load);
    const auto before = RowsAndBatches(*client, request.model, request.version);
    row.result = GenerateLoad(*client, prepared, load);
    const auto after = RowsAndBatches(*client, request.model, request.version);
    if (after.second > before.second) {
      row.mean_batch = static_cast<double>(after.first - before.first) /
                       static_cast<double>(after.second - before.second);
    }
    PrintRow(row);
    if (first_error.empty()) first_error = row.result.first_error;
  }
  if (!first_error.empty()) std::printf("first error: %s\n", first_error.c_str());
  if (args.has("--json")) {
    RETURN_IF_ERROR(
        engine::WriteFile(args.Get("--json"), ToJson(request.model, rows_per_request, rows)));
  }
  for (const Row& row : rows) {
    if (row.result.ok > 0) return absl::OkStatus();
  }
  return absl::UnavailableError("no request was answered");
}

}  // namespace

int BenchCommand(absl::Span<const char* const> args) {
  CommandSpec spec{
      .program = "inferctl",
      .name = "bench",
      .positional = "MODEL",
      .summary = "Measures throughput and latency of MODEL under load, level by level.",
      .flags = {
          {"--concurrency", "N,N,...", "1", "closed loop: requests in flight"},
          {"--rate", "QPS,QPS,...", "", "open loop: Poisson arrivals at these rates"},
          {"--duration", "DURATION", "5s", "counted time per level"},
          {"--warmup", "DURATION", "1s", "load before that, not counted"},
          {"--timeout", "DURATION", "10s", "bound on each call"},
          {"--connections", "N", "1", "connections to spread calls over"},
          {"--seed", "N", "1", "of the arrival times"},
          {"--version", "V", "", "model version; the newest by default"},
          {"--json", "FILE", "", "also write the results there"},
      }};
  spec.flags.insert(spec.flags.end(), std::begin(kInputFlags), std::end(kInputFlags));
  spec.flags.push_back(kUrlFlag);
  return RunCommand(spec, args, Bench);
}

}  // namespace inferd::client
