// inferplan compare: are the optimized plan's numbers right, and if not, what broke them.
#include <cstdio>
#include <filesystem>
#include <limits>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "engine/command_line/command.h"
#include "engine/inferplan/backend_case.h"
#include "engine/inferplan/bisect.h"
#include "engine/inferplan/commands.h"
#include "engine/inferplan/error_measure.h"
#include "engine/inferplan/json_writer.h"
#include "engine/inferplan/model_inputs.h"
#include "engine/inferplan/text_table.h"
#include "engine/onnx/import.h"
#include "engine/ops/op_def.h"
#include "engine/runtime/model.h"
#include "engine/status_macros.h"
#include "engine/whole_file.h"

namespace inferd::engine {
namespace {

namespace fs = std::filesystem;

const CommandSpec& Spec() {
  static const CommandSpec spec = {
      "inferplan",
      "compare",
      "MODEL",
      1,
      1,
      "Runs the optimized plan of MODEL and compares every output with a reference: the outputs "
      "of\n"
      "test_data_set folders, or what the reference kernels compute for the same inputs. Exit\n"
      "status 1 when an output is beyond the tolerance.",
      {{"--against", "DIR|eager", "eager",
        "a test_data_set_* folder, a folder of such, or the reference kernels"},
       {"--input", "NAME=SOURCE", "",
        "against eager: random (default), zeros, FILE.pb or FILE.npy; repeatable"},
       {"--shape", "NAME=1x3x224x224", "", "shape of an input; unknown dimensions are 1 otherwise"},
       {"--rtol", "X", "1e-3", "relative tolerance"},
       {"--atol", "X", "1e-6", "absolute tolerance"},
       {"--disable-passes", "A,B,...", "", "passes to leave out"},
       {"--stop-after", "N", "", "end the passes after N steps"},
       {"--bisect", "", "", "name the first pass or node that diverges"},
       {"--threads", "N", "1", "intra-op threads"},
       {"--json", "FILE", "", "write the report there"}}};
  return spec;
}

struct OutputReport {
  std::string name, type;
  ErrorMeasure error;
};
struct SetReport {
  std::string name;  // of the folder, or "eager"
  std::vector<OutputReport> outputs;
  Culprit culprit;  // where asked for
};

class Comparison {
 public:
  explicit Comparison(const Arguments& arguments) : arguments_(arguments) {}

  absl::Status Run() {
    RETURN_IF_ERROR(Configure());
    const std::string path = arguments_.positional()[0];
    ASSIGN_OR_RETURN(ImportedModel imported, ImportOnnxFile(path, OpRegistry::Global()));
    graph_ = std::move(imported.graph);
    ASSIGN_OR_RETURN(model_, Model::FromGraph(graph_->Clone(), options_));
    ASSIGN_OR_RETURN(context_, model_->NewContext({bisect_.threads, false}));
    const std::string against = arguments_.Get("--against");
    if (against == "eager") return CompareWithEager();
    ASSIGN_OR_RETURN(const std::vector<std::string> folders, DataSetsOf(against));
    for (const std::string& folder : folders) {
      ASSIGN_OR_RETURN(const DataSet data, ReadDataSet(folder, *model_));
      RETURN_IF_ERROR(Compare(fs::path(folder).filename().string(), data.inputs, data.expected));
    }
    return absl::OkStatus();
  }

  bool diverges() const {
    for (const SetReport& set : sets_) {
      for (const OutputReport& output : set.outputs) {
        if (!output.error.divergence.empty()) return true;
      }
    }
    return false;
  }

  std::string ToJson() const {
    JsonWriter json;
    json.BeginObject().Key("model").String(arguments_.positional()[0]);
    json.Key("diverges").Bool(diverges()).Key("sets").BeginArray();
    for (const SetReport& set : sets_) {
      json.BeginObject().Key("reference").String(set.name).Key("outputs").BeginArray();
      for (const OutputReport& output : set.outputs) {
        const ErrorMeasure& error = output.error;
        json.BeginObject().Key("name").String(output.name).Key("type").String(output.type);
        json.Key("elements").Int(error.elements).Key("differing").Int(error.differing);
        json.Key("max_absolute").Double(error.max_absolute);
        json.Key("max_relative").Double(error.max_relative);
        // Not an integer that every reader of JSON can hold: NaN counts as 2^64 - 1.
        if (error.max_ulps.has_value()) {
          json.Key("max_ulps").Double(static_cast<double>(*error.max_ulps));
        }
        json.Key("divergence").String(error.divergence).EndObject();
      }
      json.EndArray();
      if (!set.culprit.sentence.empty()) {
        json.Key("bisection").BeginObject().Key("step").Int(set.culprit.step);
        json.Key("pass").String(set.culprit.pass).Key("nodes").BeginArray();
        for (const std::string& node : set.culprit.nodes) json.String(node);
        json.EndArray().Key("sentence").String(set.culprit.sentence).EndObject();
      }
      json.EndObject();
    }
    json.EndArray().EndObject();
    return json.text();
  }

 private:
  absl::Status Configure() {
    ASSIGN_OR_RETURN(bisect_.tolerance.rtol, arguments_.GetDouble("--rtol", 0));
    ASSIGN_OR_RETURN(bisect_.tolerance.atol, arguments_.GetDouble("--atol", 0));
    ASSIGN_OR_RETURN(const int64_t threads,
                     arguments_.GetInt("--threads", 1, std::numeric_limits<int>::max()));
    bisect_.threads = static_cast<int>(threads);
    for (absl::string_view pass :
         absl::StrSplit(arguments_.Get("--disable-passes"), ',', absl::SkipEmpty())) {
      bisect_.disabled_passes.emplace_back(pass);
    }
    options_.disabled_passes = bisect_.disabled_passes;
    if (arguments_.has("--stop-after")) {
      if (arguments_.has("--bisect")) {
        return absl::InvalidArgumentError(
            "--bisect chooses where passes stop; leave --stop-after out");
      }
      ASSIGN_OR_RETURN(const int64_t steps,
                       arguments_.GetInt("--stop-after", 0, std::numeric_limits<int>::max()));
      options_.stop_after_pass_steps = static_cast<int>(steps);
    }
    return absl::OkStatus();
  }

  static absl::StatusOr<std::vector<std::string>> DataSetsOf(const std::string& directory) {
    std::error_code error;
    if (!fs::is_directory(directory, error)) {
      return absl::NotFoundError(absl::StrCat("--against: ", directory, " is not a directory"));
    }
    if (fs::exists(fs::path(directory) / "output_0.pb", error)) {
      return std::vector<std::string>{directory};
    }
    std::vector<std::string> folders;
    for (const auto& entry : fs::directory_iterator(directory, error)) {
      if (absl::StartsWith(entry.path().filename().string(), "test_data_set_")) {
        folders.push_back(entry.path().string());
      }
    }
    std::sort(folders.begin(), folders.end());
    if (!folders.empty()) return folders;
    return absl::NotFoundError(
        absl::StrCat("--against: ", directory, " holds neither output_0.pb nor test_data_set_*"));
  }

  absl::Status CompareWithEager() {
    ASSIGN_OR_RETURN(const auto sources, arguments_.GetMap("--input"));
    ASSIGN_OR_RETURN(const auto shape_texts, arguments_.GetMap("--shape"));
    ASSIGN_OR_RETURN(const auto shapes, ParseShapes(shape_texts));
    ASSIGN_OR_RETURN(const std::vector<Tensor> inputs,
                     MakeInputs(model_->inputs(), sources, shapes));
    ASSIGN_OR_RETURN(const std::vector<Tensor> expected,
                     RunGraph(graph_->Clone(), /*eager=*/true, inputs, bisect_.threads));
    return Compare("eager", inputs, expected);
  }

  absl::Status Compare(const std::string& name, const std::vector<Tensor>& inputs,
                       const std::vector<Tensor>& expected) {
    std::vector<TensorView> views;
    for (const Tensor& input : inputs) views.push_back(input.view());
    std::vector<Tensor> outputs;
    RETURN_IF_ERROR(context_->Run(views, &outputs));
    SetReport set{.name = name, .outputs = {}, .culprit = {}};
    bool set_diverges = false;
    for (size_t i = 0; i < expected.size(); ++i) {
      OutputReport report;
      report.name = model_->outputs()[i].name;
      report.type =
          absl::StrCat(ElementTypeName(expected[i].type()), expected[i].shape().ToString());
      report.error = MeasureError(outputs[i].view(), expected[i].view(), bisect_.tolerance);
      set_diverges = set_diverges || !report.error.divergence.empty();
      set.outputs.push_back(std::move(report));
    }
    Print(set);
    if (set_diverges && arguments_.has("--bisect")) {
      ASSIGN_OR_RETURN(set.culprit, FindCulprit(*graph_, inputs, expected, bisect_));
      std::printf("bisection: %s\n", set.culprit.sentence.c_str());
    }
    sets_.push_back(std::move(set));
    return absl::OkStatus();
  }

  static void Print(const SetReport& set) {
    std::vector<std::vector<std::string>> rows;
    for (const OutputReport& output : set.outputs) {
      const ErrorMeasure& error = output.error;
      const bool nan = error.max_ulps == std::numeric_limits<uint64_t>::max();
      rows.push_back(
          {output.name, output.type, absl::StrCat(error.differing, "/", error.elements),
           absl::StrFormat("%.3g", error.max_absolute), absl::StrFormat("%.3g", error.max_relative),
           !error.max_ulps.has_value() ? "-"
           : nan                       ? "nan"
                                       : absl::StrCat(*error.max_ulps),
           error.divergence.empty() ? "ok" : absl::StrCat("DIVERGES: ", error.divergence)});
    }
    std::printf(
        "against %s\n%s", set.name.c_str(),
        TextTable({"output", "type", "differing", "max abs", "max rel", "max ulps", ""}, rows)
            .c_str());
  }

  const Arguments& arguments_;
  BisectOptions bisect_;
  ModelOptions options_;
  std::unique_ptr<Graph> graph_;  // as imported
  std::shared_ptr<Model> model_;
  std::unique_ptr<Context> context_;
  std::vector<SetReport> sets_;
};

}  // namespace

int RunCompare(absl::Span<const char* const> args) {
  const ParsedCommand parsed = ParseCommand(Spec(), args);
  if (!parsed.arguments.has_value()) return parsed.exit_status;
  Comparison comparison(*parsed.arguments);
  if (absl::Status status = comparison.Run(); !status.ok()) return Fail(Spec(), status.message());
  if (parsed.arguments->has("--json")) {
    absl::Status status = WriteFile(parsed.arguments->Get("--json"), comparison.ToJson());
    if (!status.ok()) return Fail(Spec(), status.message());
  }
  return comparison.diverges() ? 1 : 0;
}

}  // namespace inferd::engine
