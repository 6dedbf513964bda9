#include "engine/onnx/import_session.h"

#include <algorithm>
#include <utility>

#include "onnx/onnx_pb.h"

namespace inferd::engine {

ImportSession::ImportSession(const OpRegistry& op_registry, std::string directory)
    : registry(op_registry), external(std::move(directory)) {}
ImportSession::~ImportSession() = default;

void ImportSession::AddNote(std::string note) {
  if (std::find(notes.begin(), notes.end(), note) == notes.end()) notes.push_back(std::move(note));
}

}  // namespace inferd::engine
