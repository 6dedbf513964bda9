#include "engine/onnx/import_session.h"

#include <algorithm>
#include <utility>

#include "onnx/onnx_pb.h"

namespace inferd::engine {

ImportSession::ImportSession(const OpRegistry& operators, std::string directory)
    : registry(operators), external(std::move(directory)) {}
ImportSession::~ImportSession() = default;

void ImportSession::AddNote(std::string note) {
  if (std::find(notes.begin(), notes.end(), note) == notes.end()) notes.push_back(std::move(note));
}

}  // namespace inferd::engine
