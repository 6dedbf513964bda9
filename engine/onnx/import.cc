#include "engine/onnx/import.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "engine/onnx/graph_importer.h"
#include "engine/onnx/import_session.h"
#include "engine/onnx/list_operators.h"
#include "engine/onnx/model_file.h"
#include "engine/onnx/opset/rules.h"
#include "engine/onnx/proto_access.h"
#include "engine/status_macros.h"
#include "onnx/onnx_pb.h"

namespace inferd::engine {
namespace {

// Newest version of the file format this importer was written for.
constexpr int64_t kNewestIrVersion = 14;
// Inputs with a default that a note names.
constexpr size_t kNamedInputs = 8;

absl::Status ReadModelOpsets(const onnx::ModelProto& model, OpsetImports* opsets) {
  RETURN_IF_ERROR(ReadOpsetImports(model.opset_import(), opsets));
  if (!opsets->empty()) return absl::OkStatus();
  if (model.ir_version() >= 3) {
    return absl::InvalidArgumentError(
        "the model imports no opset; the file may be cut short (opset_import follows the graph)");
  }
  // Before IR version 3 there were no imports and one opset.
  (*opsets)[""] = 1;
  return absl::OkStatus();
}

void AddVersionNotes(const onnx::ModelProto& model, ImportSession& session) {
  if (model.ir_version() > kNewestIrVersion) {
    session.AddNote(absl::StrCat("The file has IR version ", model.ir_version(),
                                 ", newer than the newest known, ", kNewestIrVersion,
                                 "; what it adds is ignored."));
  }
  for (const auto& [domain, version] : session.used_opsets) {
    const int64_t newest = NewestKnownOpset(domain);
    if (newest == 0 || version <= newest) continue;
    session.AddNote(absl::StrCat("The model imports opset ", version, " of ",
                                 DomainForMessages(domain), ", newer than the newest known, ",
                                 newest, "; the operators it uses run as of opset ", newest,
                                 ", on the assumption that they have not changed since."));
  }
  if (session.repeated_constants > 0) {
    session.AddNote(absl::StrCat(session.repeated_constants,
                                 " Constant nodes define a name again; the last one counts."));
  }
  if (const size_t count = session.optional_inputs.size(); count > 0) {
    std::vector<absl::string_view> named;
    for (const OptionalInput& input : session.optional_inputs) {
      if (named.size() < kNamedInputs) named.push_back(input.name);
    }
    session.AddNote(absl::StrCat(count, count == 1 ? " input has" : " inputs have",
                                 " a default and may be left out: ", absl::StrJoin(named, ", "),
                                 count > named.size() ? ", ..." : "",
                                 ". Until fed they are constants."));
  }
  if (session.listed_initializers > 0) {
    session.AddNote(absl::StrCat(session.listed_initializers,
                                 " initializers are also graph inputs, as files of IR version ",
                                 model.ir_version(), " write them; they are constants."));
  }
}

absl::StatusOr<std::unique_ptr<Graph>> BuildGraph(onnx::ModelProto& model, ImportSession& session) {
  Frame frame;
  frame.opsets = &session.opsets;
  GraphImporter importer(session);
  ASSIGN_OR_RETURN(std::unique_ptr<Graph> graph,
                   importer.ImportMainGraph(*model.mutable_graph(), frame));
  if (!session.gaps.empty()) return session.gaps.ToStatus();
  RETURN_IF_ERROR(session.inference_error);
  RETURN_IF_ERROR(InferShapes(*graph));
  RETURN_IF_ERROR(Verify(*graph));
  return graph;
}

// Adds what import found to the list of operators.
void AddFindings(const ImportSession& session, std::vector<OperatorUse>& operators) {
  for (OperatorUse& use : operators) {
    const auto it = session.operators.find({use.domain, use.op, use.opset});
    if (it == session.operators.end()) continue;
    const OperatorFindings& found = it->second;
    use.types.assign(found.types.begin(), found.types.end());
    use.imported_as.assign(found.imported_as.begin(), found.imported_as.end());
    if (found.gaps.empty()) continue;
    use.supported = false;
    use.gap = absl::StrJoin(found.gaps, "; ");
  }
}

void FillSurvey(const onnx::ModelProto& model, const ImportSession& session, ModelSurvey& survey) {
  AddFindings(session, survey.operators);
  for (const auto& [name, found] : session.inlined) {
    survey.functions.push_back({name, found.calls, found.nodes});
  }
  for (const OptionalInput& input : session.optional_inputs) {
    survey.optional_inputs.push_back(input.name);
  }
  survey.notes = session.notes;
  survey.producer = ProducerOf(model);
  survey.ir_version = model.ir_version();
  survey.opsets.assign(session.used_opsets.begin(), session.used_opsets.end());
}

absl::StatusOr<ImportedModel> Import(onnx::ModelProto& model, std::string directory,
                                     const OpRegistry& registry, const ImportOptions& options) {
  ImportSession session(registry, std::move(directory));
  ModelSurvey* const survey = options.survey;
  session.fed.insert(options.fed.begin(), options.fed.end());
  session.initializers_are_listed = model.ir_version() < 4;
  RETURN_IF_ERROR(ReadModelOpsets(model, &session.opsets));
  RETURN_IF_ERROR(session.functions.Load(model, session.opsets));
  if (survey != nullptr) {
    survey->operators = ListOperatorsOf(model, session.opsets, session.functions, registry);
  }
  absl::StatusOr<std::unique_ptr<Graph>> graph = BuildGraph(model, session);
  AddVersionNotes(model, session);
  if (survey != nullptr) FillSurvey(model, session, *survey);
  RETURN_IF_ERROR(graph.status());

  ImportedModel imported;
  imported.graph = *std::move(graph);
  imported.optional_inputs = std::move(session.optional_inputs);
  imported.notes = std::move(session.notes);
  imported.producer = ProducerOf(model);
  imported.ir_version = model.ir_version();
  imported.opsets.assign(session.used_opsets.begin(), session.used_opsets.end());
  return imported;
}

absl::StatusOr<ImportedModel> ImportFrom(onnx::ModelProto& model, std::string directory,
                                         absl::string_view source, const OpRegistry& registry,
                                         const ImportOptions& options) {
  absl::StatusOr<ImportedModel> imported = Import(model, std::move(directory), registry, options);
  if (imported.ok()) return imported;
  return absl::Status(imported.status().code(),
                      absl::StrCat(source, ": ", imported.status().message()));
}

}  // namespace

absl::StatusOr<ImportedModel> ImportOnnxFile(const std::string& path, const OpRegistry& registry,
                                             const ImportOptions& options) {
  ASSIGN_OR_RETURN(std::unique_ptr<onnx::ModelProto> model, ReadModelFile(path));
  return ImportFrom(*model, DirectoryOf(path), path, registry, options);
}

absl::StatusOr<ImportedModel> ImportOnnxBytes(absl::string_view bytes, const std::string& base_dir,
                                              const OpRegistry& registry,
                                              const ImportOptions& options) {
  constexpr absl::string_view kSource = "model bytes";
  ASSIGN_OR_RETURN(std::unique_ptr<onnx::ModelProto> model, ParseModelBytes(bytes, kSource));
  return ImportFrom(*model, base_dir, kSource, registry, options);
}

}  // namespace inferd::engine
