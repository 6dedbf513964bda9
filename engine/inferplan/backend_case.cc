#include "engine/inferplan/backend_case.h"

#include <algorithm>
#include <filesystem>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "engine/onnx/import.h"
#include "engine/onnx/value_file.h"
#include "engine/ops/op_def.h"
#include "engine/runtime/model.h"
#include "engine/status_macros.h"

namespace inferd::engine {
namespace {

namespace fs = std::filesystem;

absl::StatusOr<std::vector<Tensor>> ReadNumbered(const std::string& directory,
                                                 absl::string_view prefix,
                                                 const std::vector<TensorInfo>& infos,
                                                 std::vector<std::string>* names) {
  std::vector<Tensor> tensors;
  for (int i = 0;; ++i) {
    const std::string path = absl::StrCat(directory, "/", prefix, i, ".pb");
    if (!fs::exists(path)) return tensors;
    std::string name;
    // Past what the model declares come initializers, which are tensors.
    const ValueType type =
        i < static_cast<int>(infos.size()) ? infos[i].type : ValueType::TensorOf({});
    ASSIGN_OR_RETURN(Tensor tensor, ReadValueFile(path, type, &name));
    tensors.push_back(std::move(tensor));
    names->push_back(std::move(name));
  }
}

// NumPy lacks bfloat16, so older test data holds its bits as uint16.
Tensor AsDeclared(Tensor tensor, ElementType declared) {
  if (declared != ElementType::kBfloat16 || tensor.type() != ElementType::kUint16) return tensor;
  return Tensor(declared, tensor.shape(), tensor.buffer());
}

// Files are numbered in the order of the graph's inputs. Older models list initializers among
// these, so names decide where every name that is needed is known. An optional input without a file
// is left out.
absl::StatusOr<std::vector<Tensor>> MatchInputs(const std::vector<TensorInfo>& wanted,
                                                const std::vector<Tensor>& tensors,
                                                const std::vector<std::string>& names) {
  std::vector<Tensor> matched(wanted.size());
  const bool by_name = std::all_of(wanted.begin(), wanted.end(), [&](const TensorInfo& info) {
    return info.optional || std::find(names.begin(), names.end(), info.name) != names.end();
  });
  const size_t required = std::count_if(wanted.begin(), wanted.end(),
                                        [](const TensorInfo& info) { return !info.optional; });
  if (!by_name && tensors.size() != wanted.size() && tensors.size() != required) {
    return absl::InvalidArgumentError(absl::StrCat("the model has ", wanted.size(),
                                                   " inputs, the data set ", tensors.size(), " (",
                                                   absl::StrJoin(names, ", "), ")"));
  }
  size_t next = 0;
  for (size_t i = 0; i < wanted.size(); ++i) {
    size_t at = next;
    if (by_name) {
      at = std::find(names.begin(), names.end(), wanted[i].name) - names.begin();
    } else if (wanted[i].optional && tensors.size() == required) {
      continue;
    }
    ++next;
    if (at == tensors.size()) continue;
    matched[i] = AsDeclared(tensors[at], wanted[i].type.element);
  }
  return matched;
}

// Whether the model holds an operator of the standard whose results are random by definition: no
// data can say more of them than type and shape.
bool DrawsAtRandom(const std::string& model_path) {
  const absl::StatusOr<std::vector<OperatorUse>> uses =
      ListOperators(model_path, OpRegistry::Global());
  return uses.ok() && std::any_of(uses->begin(), uses->end(), [](const OperatorUse& use) {
           return use.domain.empty() && (use.op == "Bernoulli" || use.op == "Multinomial" ||
                                         absl::StartsWith(use.op, "RandomNormal") ||
                                         absl::StartsWith(use.op, "RandomUniform"));
         });
}

absl::Status RunDataSet(const std::string& directory, const std::string& model_path, Model& model,
                        Context& context, const Tolerance& tolerance) {
  ASSIGN_OR_RETURN(const DataSet data, ReadDataSet(directory, model));
  std::vector<TensorView> views;
  for (const Tensor& input : data.inputs) views.push_back(input.view());
  std::vector<Tensor> outputs;
  RETURN_IF_ERROR(context.Run(views, &outputs));
  for (size_t i = 0; i < data.expected.size(); ++i) {
    const std::string difference =
        CompareTensors(outputs[i].view(), data.expected[i].view(), tolerance);
    if (!difference.empty()) {
      const bool alike = outputs[i].type() == data.expected[i].type() &&
                         outputs[i].shape() == data.expected[i].shape();
      if (alike && DrawsAtRandom(model_path)) continue;
      return absl::DataLossError(
          absl::StrCat("output ", i, " \"", model.outputs()[i].name, "\": ", difference));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<BackendCase>> FindBackendCases(const std::string& root) {
  std::error_code error;
  if (!fs::is_directory(root, error)) {
    return absl::NotFoundError(absl::StrCat(root, " is not a directory"));
  }
  std::vector<fs::path> models;
  if (fs::exists(fs::path(root) / "model.onnx")) models.push_back(fs::path(root) / "model.onnx");
  const auto options = fs::directory_options::skip_permission_denied |
                       fs::directory_options::follow_directory_symlink;
  for (auto it = fs::recursive_directory_iterator(root, options, error);
       !error && it != fs::recursive_directory_iterator(); it.increment(error)) {
    if (it->is_directory(error) && fs::exists(it->path() / "model.onnx", error)) {
      models.push_back(it->path() / "model.onnx");
    }
  }
  if (error) return absl::UnavailableError(absl::StrCat(root, ": ", error.message()));
  std::sort(models.begin(), models.end());

  std::vector<BackendCase> cases;
  for (const fs::path& model : models) {
    BackendCase found;
    found.name = model.parent_path().filename().string();
    found.model = model.string();
    for (const auto& entry : fs::directory_iterator(model.parent_path(), error)) {
      const std::string name = entry.path().filename().string();
      if (absl::StartsWith(name, "test_data_set_"))
        found.data_sets.push_back(entry.path().string());
    }
    std::sort(found.data_sets.begin(), found.data_sets.end());
    cases.push_back(std::move(found));
  }
  return cases;
}

absl::StatusOr<DataSet> ReadDataSet(const std::string& directory, const Model& model) {
  std::vector<std::string> input_names, output_names;
  DataSet data;
  ASSIGN_OR_RETURN(const std::vector<Tensor> inputs,
                   ReadNumbered(directory, "input_", model.inputs(), &input_names));
  ASSIGN_OR_RETURN(data.expected,
                   ReadNumbered(directory, "output_", model.outputs(), &output_names));
  ASSIGN_OR_RETURN(data.inputs, MatchInputs(model.inputs(), inputs, input_names));
  // Without expected outputs the data shows that the model runs.
  if (data.expected.size() > model.outputs().size()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the model has ", model.outputs().size(), " outputs, the data set ", data.expected.size()));
  }
  for (size_t i = 0; i < data.expected.size(); ++i) {
    data.expected[i] = AsDeclared(std::move(data.expected[i]), model.outputs()[i].type.element);
  }
  return data;
}

absl::Status RunBackendCase(const BackendCase& backend_case, const BackendCaseOptions& options) {
  if (backend_case.data_sets.empty()) return absl::NotFoundError("no test_data_set_* beside it");
  ModelOptions model_options;
  model_options.eager = options.eager;
  ASSIGN_OR_RETURN(std::shared_ptr<Model> model, Model::Load(backend_case.model, model_options));
  ASSIGN_OR_RETURN(std::unique_ptr<Context> context, model->NewContext({options.threads, false}));
  for (const std::string& directory : backend_case.data_sets) {
    absl::Status status =
        RunDataSet(directory, backend_case.model, *model, *context, options.tolerance);
    if (!status.ok()) {
      return absl::Status(status.code(), absl::StrCat(fs::path(directory).filename().string(), ": ",
                                                      status.message()));
    }
  }
  return absl::OkStatus();
}

}  // namespace inferd::engine
