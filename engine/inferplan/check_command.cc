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
#include "engine/inferplan/support_report.h"
#include "engine/inferplan/text_table.h"
#include "engine/onnx/import.h"
#include "engine/ops/op_def.h"
#include "engine/passes/pass.h"
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
      "Lists the operators of MODEL, what runs them and what is missing, then the provider and "
      "kernel\n"
      "of every node.\n"
      "Exit status 0 only if the model can run.",
      {{"--shape", "NAME=1x3x224x224", "", "shape of an input; unknown dimensions are guessed"},
       {"--threads", "N", "1", "intra-op threads the plan is for"},
       {"--eager", "", "", "plan for reference kernels"},
       {"--json", "FILE", "", "write the report there"}}};
  return spec;
}

struct Outcome {
  ModelSurvey survey;
  std::vector<SupportRow> support;
  std::vector<TensorInfo> inputs, outputs;
  std::vector<std::string> notes;
  std::vector<Shape> shapes;
  std::vector<NodeReport> nodes;
  std::vector<PassResult> passes;
  absl::Status status;
};

// A run with random inputs plans what waits for shapes that depend on data, and the bodies of
// nodes. Random data may not suit the model; then that part stays unplanned, and a note says so.
void PlanByRunning(Model& model, int threads, Outcome& outcome) {
  const bool wanted = std::any_of(outcome.nodes.begin(), outcome.nodes.end(),
                                  [](const NodeReport& n) { return n.kernel == kPlannedLater; });
  if (!wanted) return;
  const auto run = [&]() -> absl::Status {
    std::map<std::string, Shape> shapes;
    for (size_t i = 0; i < outcome.shapes.size(); ++i) {
      if (!model.inputs()[i].optional) shapes[model.inputs()[i].name] = outcome.shapes[i];
    }
    ASSIGN_OR_RETURN(const std::vector<Tensor> inputs, MakeInputs(model.inputs(), {}, shapes));
    ASSIGN_OR_RETURN(std::unique_ptr<Context> context, model.NewContext({threads, false}));
    std::vector<TensorView> views;
    for (const Tensor& input : inputs) views.push_back(input.view());
    std::vector<Tensor> outputs;
    RETURN_IF_ERROR(context->Run(views, &outputs));
    outcome.nodes = context->PlannedNodes();
    return absl::OkStatus();
  };
  const absl::Status status = run();
  outcome.notes.push_back(
      status.ok() ? "some shapes depend on data: what is planned in the course of a run is that of "
                    "one with random inputs"
                  : absl::StrCat("some shapes depend on data, and a run with random inputs, which "
                                 "would plan the nodes behind them, failed: ",
                                 status.message()));
}

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
      PlanByRunning(model, threads, outcome);
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
  const OpRegistry& registry = OpRegistry::Global();
  absl::StatusOr<ImportedModel> imported =
      ImportOnnxFile(path, registry, {.survey = &outcome.survey, .fed = {}});
  outcome.support = SupportOf(outcome.survey, registry);
  outcome.notes = outcome.survey.notes;
  RETURN_IF_ERROR(imported.status());
  ModelOptions options;
  options.eager = arguments.has("--eager");
  if (!options.eager) {
    ASSIGN_OR_RETURN(outcome.passes, RunPasses(*imported->graph->Clone(), registry, {}));
  }
  ASSIGN_OR_RETURN(std::shared_ptr<Model> model,
                   Model::FromGraph(std::move(imported->graph), options));
  outcome.inputs = model->inputs();
  outcome.outputs = model->outputs();
  return Plan(*model, shapes, static_cast<int>(threads), outcome);
}

void PrintHead(const ModelSurvey& survey) {
  if (survey.ir_version == 0) return;
  std::printf("IR version %lld", static_cast<long long>(survey.ir_version));
  for (const auto& [domain, version] : survey.opsets) {
    std::printf(", %s opset %lld", domain.empty() ? "ai.onnx" : domain.c_str(),
                static_cast<long long>(version));
  }
  if (!survey.producer.empty()) std::printf(", made by %s", survey.producer.c_str());
  std::printf("\n\n");
}

void Print(const Outcome& outcome) {
  PrintHead(outcome.survey);
  if (!outcome.support.empty()) std::printf("%s", SupportTable(outcome.support).c_str());
  if (!outcome.survey.functions.empty()) {
    std::vector<std::vector<std::string>> rows;
    for (const FunctionUse& function : outcome.survey.functions) {
      rows.push_back({function.name, absl::StrCat(function.calls), absl::StrCat(function.nodes)});
    }
    std::printf("\n%s", TextTable({"inlined function", "calls", "nodes each"}, rows).c_str());
  }
  if (!outcome.nodes.empty()) {
    std::printf("\n%-44s %-24s %-9s %-28s %s\n", "node", "operator", "provider", "kernel",
                "layout");
    std::map<std::string, int> kernels;
    for (const NodeReport& node : outcome.nodes) {
      std::printf("%-44s %-24s %-9s %-28s %s\n", node.node.c_str(), node.op.c_str(),
                  node.provider.c_str(), node.kernel.c_str(), node.layout.c_str());
      if (!node.inside.empty()) std::printf("    in %s\n", node.inside.c_str());
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
  std::string passes;
  for (const PassResult& pass : outcome.passes) {
    if (pass.applied > 0) absl::StrAppend(&passes, " ", pass.name, " x", pass.applied);
  }
  if (!passes.empty()) std::printf("passes:%s\n", passes.c_str());
  if (const auto& names = outcome.survey.optional_inputs; !names.empty()) {
    std::printf("inputs with a default: %s\n", absl::StrJoin(names, ", ").c_str());
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

std::string ToJson(const std::string& path, const Outcome& outcome) {
  JsonWriter json;
  json.BeginObject().Key("model").String(path);
  json.Key("runs").Bool(outcome.status.ok());
  json.Key("error").String(absl::string_view(outcome.status.message()));
  json.Key("inputs");
  WriteTensorInfos(json, outcome.inputs);
  json.Key("outputs");
  WriteTensorInfos(json, outcome.outputs);
  json.Key("inputs_with_default");
  json.Strings(outcome.survey.optional_inputs);
  json.Key("producer").String(outcome.survey.producer);
  json.Key("ir_version").Int(outcome.survey.ir_version);
  json.Key("opsets").BeginObject();
  for (const auto& [domain, version] : outcome.survey.opsets) {
    json.Key(domain.empty() ? "ai.onnx" : domain).Int(version);
  }
  json.EndObject().Key("operators");
  WriteSupport(json, outcome.support);
  json.Key("functions").BeginArray();
  for (const FunctionUse& function : outcome.survey.functions) {
    json.BeginObject().Key("name").String(function.name).Key("calls").Int(function.calls);
    json.Key("nodes").Int(function.nodes).EndObject();
  }
  json.EndArray().Key("nodes").BeginArray();
  for (const NodeReport& node : outcome.nodes) {
    json.BeginObject().Key("node").String(node.node).Key("operator").String(node.op);
    json.Key("inside").String(node.inside);
    json.Key("provider").String(node.provider).Key("kernel").String(node.kernel);
    json.Key("layout").String(node.layout).Key("fused_from");
    json.Strings(node.fused_from);
    json.Key("declined");
    json.Strings(node.declined);
    json.EndObject();
  }
  json.EndArray().Key("passes").BeginObject();
  for (const PassResult& pass : outcome.passes) json.Key(pass.name).Int(pass.applied);
  json.EndObject().Key("notes");
  json.Strings(outcome.notes);
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
