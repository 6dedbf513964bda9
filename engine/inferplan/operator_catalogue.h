// Everything the engine can run, from the registry and the table of opset rules.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "engine/inferplan/provider_kernels.h"
#include "engine/ops/op_def.h"

namespace inferd::engine {

struct CatalogueEntry {
  std::string domain;  // "ai.onnx" spelled out
  std::string op;
  int64_t oldest = 1;  // opset from which a model may use it
  int64_t newest = 0;  // newest opset of the domain that is known
  // Version of the form it runs in; 0 where another operator takes its place.
  int64_t form = 0;
  std::string replacement;         // that operator, where the importer names one
  std::vector<std::string> rules;  // opsets whose nodes are rewritten on import: "1-6", "11"
  // Type variables, or names of parameters that have none: (name, element types).
  std::vector<std::pair<std::string, ElementTypeSet>> types;
  std::vector<ProviderKernels> providers;
};

// Operators of the domains models use, by domain and name; those that only exist inside inferd are
// left out.
std::vector<CatalogueEntry> OperatorCatalogue(const OpRegistry& registry);

// docs/operators.md.
std::string CatalogueMarkdown(const std::vector<CatalogueEntry>& entries);
std::string CatalogueText(const std::vector<CatalogueEntry>& entries);
std::string CatalogueJson(const std::vector<CatalogueEntry>& entries);

}  // namespace inferd::engine
