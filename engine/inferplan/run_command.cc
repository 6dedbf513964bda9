// inferplan run: a model once, with its outputs in numbers.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <limits>

#include "absl/strings/str_cat.h"
#include "engine/command_line/command.h"
#include "engine/inferplan/commands.h"
#include "engine/inferplan/json_writer.h"
#include "engine/inferplan/model_inputs.h"
#include "engine/tensor/tensor_comparison.h"
#include "engine/onnx/value_file.h"
#include "engine/runtime/model.h"
#include "engine/status_macros.h"
#include "engine/whole_file.h"

namespace inferd::engine {
namespace {

const CommandSpec& Spec() {
  static const CommandSpec spec = {
      "inferplan",
      "run",
      "MODEL",
      1,
      1,
      "Runs MODEL once and prints shape, type, range and first values of every output.",
      {{"--input", "NAME=SOURCE", "", "random (default), zeros, FILE.pb or FILE.npy; repeatable"},
       {"--shape", "NAME=1x3x224x224", "", "shape of an input; unknown dimensions are 1 otherwise"},
       {"--eager", "", "", "reference kernels, unoptimized"},
       {"--dump", "", "", "with --eager: print every tensor as it is computed"},
       {"--threads", "N", "1", "intra-op threads"},
       {"--output-dir", "DIR", "", "write output_N.pb there"}}};
  return spec;
}

void PrintTensor(absl::string_view name, const TensorView& tensor) {
  const int64_t n = tensor.num_elements();
  std::printf("%s %s%s", std::string(name).c_str(),
              std::string(ElementTypeName(tensor.type)).c_str(), tensor.shape.ToString().c_str());
  const bool numeric = n > 0 && tensor.type != ElementType::kString &&
                       (ElementBits(tensor.type) >= 8 && !std::isnan(ElementAsDouble(tensor, 0)));
  if (numeric) {
    double low = std::numeric_limits<double>::infinity(), high = -low, sum = 0;
    for (int64_t i = 0; i < n; ++i) {
      const double v = ElementAsDouble(tensor, i);
      low = std::min(low, v);
      high = std::max(high, v);
      sum += v;
    }
    std::printf(" min %.6g max %.6g mean %.6g", low, high, sum / static_cast<double>(n));
  }
  std::printf("\n  ");
  constexpr int64_t kShown = 8;
  for (int64_t i = 0; i < std::min(n, kShown); ++i) {
    std::printf("%s ", ElementToString(tensor, i).c_str());
  }
  std::printf("%s\n", n > kShown ? "..." : "");
}

absl::Status Execute(const Arguments& arguments) {
  ASSIGN_OR_RETURN(const auto sources, arguments.GetMap("--input"));
  ASSIGN_OR_RETURN(const auto shape_texts, arguments.GetMap("--shape"));
  ASSIGN_OR_RETURN(const auto shapes, ParseShapes(shape_texts));
  ASSIGN_OR_RETURN(const int64_t threads,
                   arguments.GetInt("--threads", 1, std::numeric_limits<int>::max()));

  ModelOptions options;
  options.eager = arguments.has("--eager");
  ASSIGN_OR_RETURN(std::shared_ptr<Model> model, Model::Load(arguments.positional()[0], options));
  for (const std::string& note : model->notes()) std::printf("note: %s\n", note.c_str());
  ASSIGN_OR_RETURN(const std::vector<Tensor> inputs, MakeInputs(model->inputs(), sources, shapes));
  ASSIGN_OR_RETURN(std::unique_ptr<Context> context,
                   model->NewContext({static_cast<int>(threads), false}));
  if (arguments.has("--dump")) {
    if (!options.eager) return absl::InvalidArgumentError("--dump needs --eager");
    context->SetObserver(PrintTensor);
  }
  std::vector<TensorView> views;
  for (const Tensor& input : inputs) views.push_back(input.view());
  std::vector<Tensor> outputs;
  RETURN_IF_ERROR(context->Run(views, &outputs));

  const std::string directory = arguments.Get("--output-dir");
  if (!directory.empty()) {
    std::error_code error;
    std::filesystem::create_directories(directory, error);
    if (error) {
      return absl::UnavailableError(absl::StrCat("cannot make ", directory, ": ", error.message()));
    }
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    const std::string& name = model->outputs()[i].name;
    PrintTensor(name, outputs[i].view());
    if (directory.empty()) continue;
    RETURN_IF_ERROR(WriteFile(absl::StrCat(directory, "/output_", i, ".pb"),
                              SerializeValue(outputs[i].view(), name)));
  }
  return absl::OkStatus();
}

}  // namespace

int RunRun(absl::Span<const char* const> args) {
  const ParsedCommand parsed = ParseCommand(Spec(), args);
  if (!parsed.arguments.has_value()) return parsed.exit_status;
  if (absl::Status status = Execute(*parsed.arguments); !status.ok())
    return Fail(Spec(), status.message());
  return 0;
}

}  // namespace inferd::engine
