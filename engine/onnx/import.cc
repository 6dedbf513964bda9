#include "engine/onnx/import.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/onnx/graph_importer.h"
#include "engine/onnx/import_session.h"
#include "engine/onnx/model_file.h"
#include "engine/onnx/opset/rules.h"
#include "engine/onnx/proto_access.h"
#include "engine/status_macros.h"
#include "onnx/onnx_pb.h"

namespace inferd::engine {
namespace {

// Newest version of the file format this importer was written for.
constexpr int64_t kNewestIrVersion = 14;

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
                                 newest, "; its operators run as of opset ", newest, "."));
  }
  if (session.repeated_constants > 0) {
    session.AddNote(absl::StrCat(session.repeated_constants,
                                 " Constant nodes define a name again; the last one counts."));
  }
  if (!session.overridable_initializers.empty()) {
    const size_t count = session.overridable_initializers.size();
    session.AddNote(count == 1
                        ? std::string("1 initializer is also a graph input; it is a constant.")
                        : absl::StrCat(count,
                                       " initializers are also graph inputs; they "
                                       "are constants."));
  }
}

absl::StatusOr<ImportedModel> Import(onnx::ModelProto& model, std::string directory,
                                     const OpRegistry& registry) {
  ImportSession session(registry, std::move(directory));
  RETURN_IF_ERROR(ReadModelOpsets(model, &session.opsets));
  RETURN_IF_ERROR(session.functions.Load(model, session.opsets));
  Frame frame;
  frame.opsets = &session.opsets;
  GraphImporter importer(session);
  ASSIGN_OR_RETURN(std::unique_ptr<Graph> graph,
                   importer.ImportMainGraph(*model.mutable_graph(), frame));
  if (!session.gaps.empty()) return session.gaps.ToStatus();
  RETURN_IF_ERROR(session.inference_error);
  RETURN_IF_ERROR(InferShapes(*graph));
  RETURN_IF_ERROR(Verify(*graph));
  AddVersionNotes(model, session);

  ImportedModel imported;
  imported.graph = std::move(graph);
  imported.overridable_initializers = std::move(session.overridable_initializers);
  imported.notes = std::move(session.notes);
  imported.producer = ProducerOf(model);
  imported.ir_version = model.ir_version();
  imported.opsets.assign(session.used_opsets.begin(), session.used_opsets.end());
  return imported;
}

absl::StatusOr<ImportedModel> ImportFrom(onnx::ModelProto& model, std::string directory,
                                         absl::string_view source, const OpRegistry& registry) {
  absl::StatusOr<ImportedModel> imported = Import(model, std::move(directory), registry);
  if (imported.ok()) return imported;
  return absl::Status(imported.status().code(),
                      absl::StrCat(source, ": ", imported.status().message()));
}

}  // namespace

absl::StatusOr<ImportedModel> ImportOnnxFile(const std::string& path, const OpRegistry& registry) {
  ASSIGN_OR_RETURN(std::unique_ptr<onnx::ModelProto> model, ReadModelFile(path));
  return ImportFrom(*model, DirectoryOf(path), path, registry);
}

absl::StatusOr<ImportedModel> ImportOnnxBytes(absl::string_view bytes, const std::string& base_dir,
                                              const OpRegistry& registry) {
  constexpr absl::string_view kSource = "model bytes";
  ASSIGN_OR_RETURN(std::unique_ptr<onnx::ModelProto> model, ParseModelBytes(bytes, kSource));
  return ImportFrom(*model, base_dir, kSource, registry);
}

}  // namespace inferd::engine
