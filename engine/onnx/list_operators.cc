// The operators a model uses, without building it.
#include "engine/onnx/list_operators.h"

#include <tuple>

#include "absl/container/btree_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "engine/onnx/function_library.h"
#include "engine/onnx/import.h"
#include "engine/onnx/model_file.h"
#include "engine/onnx/opset/rules.h"
#include "engine/onnx/proto_access.h"
#include "engine/status_macros.h"
#include "onnx/onnx_pb.h"

namespace inferd::engine {
namespace {

class OperatorLister {
 public:
  OperatorLister(const FunctionLibrary& functions, const OpRegistry& registry)
      : functions_(functions), registry_(registry) {}

  // Bodies of functions are visited once each, however often they are called.
  template <typename Nodes>
  void Visit(const Nodes& nodes, const OpsetImports& opsets) {
    Count(nodes, opsets);
    // A queue, not recursion: calls may nest as deep as the file likes.
    while (!pending_.empty()) {
      const Function* next = pending_.back();
      pending_.pop_back();
      Count(next->proto->node(), next->opsets);
    }
  }

  std::vector<OperatorUse> Uses() const {
    std::vector<OperatorUse> uses;
    for (const auto& [key, count] : counts_) {
      OperatorUse use;
      std::tie(use.domain, use.op, use.opset) = key;
      use.count = count;
      use.gap = GapOf(use);
      use.supported = use.gap.empty();
      uses.push_back(std::move(use));
    }
    return uses;
  }

 private:
  // Calls of functions are queued.
  template <typename Nodes>
  void Count(const Nodes& nodes, const OpsetImports& opsets) {
    for (const onnx::NodeProto& node : nodes) {
      for (const auto& attribute : node.attribute()) {
        if (attribute.has_g()) Count(attribute.g().node(), opsets);
        for (const auto& graph : attribute.graphs()) Count(graph.node(), opsets);
      }
      if (const Function* function = functions_.Find(node)) {
        if (visited_.insert(function).second) pending_.push_back(function);
        continue;
      }
      const std::string domain(CanonicalDomain(node.domain()));
      auto version = opsets.find(domain);
      const int64_t opset = version == opsets.end() ? 1 : version->second;
      ++counts_[{domain, node.op_type(), opset}];
    }
  }

  std::string GapOf(const OperatorUse& use) const {
    if (use.domain.empty() && use.op == "Constant") return {};
    // An operator that rules rewrite to others is judged when the model is built.
    if (FindRule(use.domain, use.op, use.opset) != nullptr &&
        registry_.Find(use.domain, use.op) == nullptr) {
      return RewrittenGap(use);
    }
    return registry_.Find(use.domain, use.op) == nullptr ? "not implemented" : "";
  }

  std::string RewrittenGap(const OperatorUse& use) const {
    const absl::string_view target = ReplacementOf(use.op);
    if (target.empty() || registry_.Find("", target) != nullptr) return {};
    return absl::StrCat("it is imported as ", target, ", which is not implemented");
  }

  const FunctionLibrary& functions_;
  const OpRegistry& registry_;
  absl::btree_map<std::tuple<std::string, std::string, int64_t>, int> counts_;
  absl::flat_hash_set<const Function*> visited_;
  std::vector<const Function*> pending_;
};

}  // namespace

std::vector<OperatorUse> ListOperatorsOf(const onnx::ModelProto& model, const OpsetImports& opsets,
                                         const FunctionLibrary& functions,
                                         const OpRegistry& registry) {
  OperatorLister lister(functions, registry);
  lister.Visit(model.graph().node(), opsets);
  return lister.Uses();
}

absl::StatusOr<std::vector<OperatorUse>> ListOperators(const std::string& path,
                                                       const OpRegistry& registry) {
  ASSIGN_OR_RETURN(const std::unique_ptr<onnx::ModelProto> model, ReadModelFile(path));
  auto named = [&](const absl::Status& status) {
    return absl::Status(status.code(), absl::StrCat(path, ": ", status.message()));
  };
  OpsetImports opsets;
  if (absl::Status status = ReadOpsetImports(model->opset_import(), &opsets); !status.ok()) {
    return named(status);
  }
  FunctionLibrary functions;
  if (absl::Status status = functions.Load(*model, opsets); !status.ok()) return named(status);
  return ListOperatorsOf(*model, opsets, functions, registry);
}

}  // namespace inferd::engine
