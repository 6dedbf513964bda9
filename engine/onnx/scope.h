// What names mean while a graph or a function body is imported.
#pragma once

#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/string_view.h"
#include "engine/ir/graph.h"
#include "engine/onnx/function_library.h"

namespace inferd::engine {

class Scope;

// An attribute passed to a function: where it is written, and the scope its subgraphs see.
struct BoundAttribute {
  const onnx::AttributeProto* proto = nullptr;
  Scope* scope = nullptr;
};

// One call of a function; for the model itself, the outermost frame.
struct Frame {
  const Function* function = nullptr;  // null: the model
  const Frame* caller = nullptr;
  const OpsetImports* opsets = nullptr;
  std::string prefix;  // "call/" before the names of the body's nodes and values
  int depth = 0;
  absl::flat_hash_map<std::string, BoundAttribute> attributes;
  // Names of results as the caller knows them, so that inlining leaves no trace in them.
  absl::flat_hash_map<std::string, std::string> renamed;
};

// The names of one GraphProto or one function body. A function's scope shares the graph of its
// caller but none of its names; a subgraph's scope has its own graph and sees the outer names.
class Scope {
 public:
  Scope(Graph& graph, Scope* outer, const Frame& frame)
      : graph_(graph), outer_(outer), frame_(frame) {}
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

  Graph& graph() { return graph_; }
  const Frame& frame() const { return frame_; }

  // False where the name is not defined. A null value is an optional input left out by the caller
  // of a function. Values of outer graphs are captured here on first use; constants are shared.
  bool Find(absl::string_view name, Value** value);
  bool Defines(absl::string_view name) const { return names_.contains(name); }
  void Bind(absl::string_view name, Value* value) { names_[std::string(name)] = value; }

  // Names something reads: an output not in it is unused. Set before nodes are imported.
  absl::flat_hash_set<absl::string_view> used_names;

 private:
  Graph& graph_;
  Scope* outer_;
  const Frame& frame_;
  absl::flat_hash_map<std::string, Value*> names_;
};

}  // namespace inferd::engine
