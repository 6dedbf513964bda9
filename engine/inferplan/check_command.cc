// inferplan check: can this model run, on what, and what is missing.
#include <algorithm>
#include <cstdio>
#include <limits>
#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "engine/command_line/command.h"
#include "engine/inferplan/commands.h"
#include "engine/inferplan/json_writer.h"
#include "engine/inferplan/model_inputs.h"
#include "engine/onnx/import.h"
#include "engine/ops/op_def.h"
#include "engine/runtime/model.h"
#include "engine/status_macros.h"
#include "engine/whole_file.h"

namespace inferd::engine {
namespace {

const CommandSpec& Spec() {
  static const CommandSpec spec = {
      "inferplan",
      "check",
      "MODEL",
      1,
      1,
      "Lists the operators of MODEL, the provider and kernel of every node and what is missing.\n"
      "Exit status 0 only if the model can run.",
      {{"--shape", "NAME=1x3x224x224", "", "shape of an input; unknown dimensions are guessed"},
       {"--threads", "N", "1", "intra-op threads the plan is for"},
       {"--eager", "", "", "plan for reference kernels"},
       {"--json", "FILE", "", "write the report there"}}};
  return spec;
}

struct Outcome {
  std::vector<OperatorUse> operators;
  std::vector<TensorInfo> inputs, outputs;
  std::vector<std::string> notes;
  std::vector<Shape> shapes;
  std::vector<NodeReport> nodes;
  absl::Status status;
};

// Unknown dimensions are guessed: 1 suits most models, and networks whose windows do not fit into
// an image of one pixel get a larger one.
absl::Status Plan(Model& model, const std::map<std::string, Shape>& shapes, int threads,
                  Outcome& outcome) {
  absl::Status first_error;
  for (int64_t free_dim : {1, 32, 224}) {
    ASSIGN_OR_RETURN(outcome.shapes, ChooseShapes(model.inputs(), shapes, free_dim));
    absl::StatusOr<std::vector<NodeReport>> report = model.Report(outcome.shapes, threads);
    if (report.ok()) {
      outcome.nodes = *std::move(report);
      return absl::OkStatus();
    }
    if (first_error.ok()) first_error = report.status();
    if (!absl::IsInvalidArgument(report.status())) return report.status();
  }
  std::vector<std::string> texts;
  for (const Shape& s : outcome.shapes) texts.push_back(s.ToString());
  return absl::Status(first_error.code(),
                      absl::StrCat("no plan for the shapes tried, ", absl::StrJoin(texts, " "),
                                   " the last; give --shape if these do not suit the model: ",
                                   first_error.message()));
}

absl::Status Check(const Arguments& arguments, Outcome& outcome) {
  const std::string& path = arguments.positional()[0];
  ASSIGN_OR_RETURN(const auto shape_texts, arguments.GetMap("--shape"));
  ASSIGN_OR_RETURN(const auto shapes, ParseShapes(shape_texts));
  ASSIGN_OR_RETURN(const int64_t threads,
                   arguments.GetInt("--threads", 1, std::numeric_limits<int>::max()));
  ASSIGN_OR_RETURN(outcome.operators, ListOperators(path, OpRegistry::Global()));
  ModelOptions options;
  options.eager = arguments.has("--eager");
  ASSIGN_OR_RETURN(std::shared_ptr<Model> model, Model::Load(path, options));
  outcome.inputs = model->inputs();
  outcome.outputs = model->outputs();
  outcome.notes = model->notes();
  return Plan(*model, shapes, static_cast<int>(threads), outcome);
}

void Print(const Outcome& outcome) {
  std::printf("%-40s %6s %6s  %s\n", "operator", "opset", "nodes", "supported");
  for (const OperatorUse& use : outcome.operators) {
    const std::string name = use.domain.empty() ? use.op : absl::StrCat(use.domain, "::", use.op);
    std::printf("%-40s %6lld %6d  %s\n", name.c_str(), static_cast<long long>(use.opset), use.count,
                use.supported ? "yes" : absl::StrCat("NO: ", use.gap).c_str());
  }
  if (!outcome.nodes.empty()) {
    std::printf("\n%-44s %-24s %-9s %-28s %s\n", "node", "operator", "provider", "kernel",
                "layout");
    std::map<std::string, int> kernels;
    for (const NodeReport& node : outcome.nodes) {
      std::printf("%-44s %-24s %-9s %-28s %s\n", node.node.c_str(), node.op.c_str(),
                  node.provider.c_str(), node.kernel.c_str(), node.layout.c_str());
      if (!node.fused_from.empty()) {
        std::printf("    fused from %s\n", absl::StrJoin(node.fused_from, ", ").c_str());
      }
      for (const std::string& reason : node.declined) {
        std::printf("    declined: %s\n", reason.c_str());
      }
      ++kernels[absl::StrCat(node.provider, "/", node.kernel)];
    }
    std::printf("\nkernels:");
    for (const auto& [kernel, count] : kernels) std::printf(" %s x%d", kernel.c_str(), count);
    std::printf("\n");
  }
  for (const std::string& note : outcome.notes) std::printf("note: %s\n", note.c_str());
}

void WriteTensorInfos(JsonWriter& json, const std::vector<TensorInfo>& infos) {
  json.BeginArray();
  for (const TensorInfo& info : infos) {
    json.BeginObject().Key("name").String(info.name);
    json.Key("type").String(info.type.ToString()).EndObject();
  }
  json.EndArray();
}

void WriteStrings(JsonWriter& json, const std::vector<std::string>& strings) {
  json.BeginArray();
  for (const std::string& s : strings) json.String(s);
  json.EndArray();
}

std::string ToJson(const std::string& path, const Outcome& outcome) {
  JsonWriter json;
  json.BeginObject().Key("model").String(path);
  json.Key("runs").Bool(outcome.status.ok());
  json.Key("error").String(absl::string_view(outcome.status.message()));
  json.Key("inputs");
  WriteTensorInfos(json, outcome.inputs);
  json.Key("outputs");
  WriteTensorInfos(json, outcome.outputs);
  json.Key("operators").BeginArray();
  for (const OperatorUse& use : outcome.operators) {
    json.BeginObject().Key("domain").String(use.domain).Key("operator").String(use.op);
    json.Key("opset").Int(use.opset).Key("nodes").Int(use.count);
    json.Key("supported").Bool(use.supported).Key("gap").String(use.gap).EndObject();
  }
  json.EndArray().Key("nodes").BeginArray();
  for (const NodeReport& node : outcome.nodes) {
    json.BeginObject().Key("node").String(node.node).Key("operator").String(node.op);
    json.Key("provider").String(node.provider).Key("kernel").String(node.kernel);
    json.Key("layout").String(node.layout).Key("fused_from");
    WriteStrings(json, node.fused_from);
    json.Key("declined");
    WriteStrings(json, node.declined);
    json.EndObject();
  }
  json.EndArray().Key("notes");
  WriteStrings(json, outcome.notes);
  json.EndObject();
  return json.text();
}

}  // namespace

int RunCheck(absl::Span<const char* const> args) {
  const ParsedCommand parsed = ParseCommand(Spec(), args);
  if (!parsed.arguments.has_value()) return parsed.exit_status;
  const Arguments& arguments = *parsed.arguments;
  Outcome outcome;
  outcome.status = Check(arguments, outcome);
  Print(outcome);
  if (arguments.has("--json")) {
    const std::string text = ToJson(arguments.positional()[0], outcome);
    if (absl::Status s = WriteFile(arguments.Get("--json"), text); !s.ok()) {
      return Fail(Spec(), s.message());
    }
  }
  if (!outcome.status.ok()) return Fail(Spec(), outcome.status.message());
  std::printf("the model can run\n");
  return 0;
}

}  // namespace inferd::engine
