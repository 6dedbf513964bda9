#include "engine/inferplan/support_report.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "engine/inferplan/text_table.h"

namespace inferd::engine {
namespace {

// "Conv" and "com.microsoft::FusedConv" are the registry's spellings.
const OpDef* FindQualified(const OpRegistry& registry, const std::string& name) {
  const size_t colons = name.rfind("::");
  if (colons == std::string::npos) return registry.Find("", name);
  return registry.Find(name.substr(0, colons), name.substr(colons + 2));
}

void AddProviders(const std::vector<ProviderKernels>& more, std::vector<ProviderKernels>& all) {
  for (const ProviderKernels& entry : more) {
    auto known = std::find_if(all.begin(), all.end(), [&](const ProviderKernels& p) {
      return p.provider == entry.provider;
    });
    if (known == all.end()) {
      all.push_back(entry);
      continue;
    }
    for (const std::string& kernel : entry.kernels) {
      if (std::find(known->kernels.begin(), known->kernels.end(), kernel) == known->kernels.end()) {
        known->kernels.push_back(kernel);
      }
    }
  }
}

std::string OperatorName(const OperatorUse& use) {
  return use.domain.empty() ? use.op : absl::StrCat(use.domain, "::", use.op);
}

// What a reader cannot tell from the operator's own name.
std::string ImportedAs(const OperatorUse& use) {
  const std::string own = OperatorName(use);
  if (use.imported_as.empty() || (use.imported_as.size() == 1 && use.imported_as[0] == own)) {
    return "";
  }
  return absl::StrCat("as ", absl::StrJoin(use.imported_as, " + "));
}

}  // namespace

std::vector<SupportRow> SupportOf(const ModelSurvey& survey, const OpRegistry& registry) {
  std::vector<SupportRow> rows;
  for (const OperatorUse& use : survey.operators) {
    SupportRow row{.use = use, .providers = {}, .runs = use.supported, .missing = use.gap};
    // Where import did not get as far as such a node, the operator speaks for itself.
    std::vector<std::string> names = use.imported_as;
    if (names.empty() && use.supported) names.push_back(OperatorName(use));
    for (const std::string& name : names) {
      const OpDef* op = FindQualified(registry, name);
      if (op == nullptr) continue;
      const std::vector<ProviderKernels> providers = KernelsFor(*op);
      AddProviders(providers, row.providers);
      if (!providers.empty()) continue;
      row.runs = false;
      absl::StrAppend(&row.missing, row.missing.empty() ? "" : "; ",
                      "no provider has a kernel for ", name);
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

std::string SupportTable(const std::vector<SupportRow>& rows) {
  std::vector<std::vector<std::string>> cells;
  for (const SupportRow& row : rows) {
    std::string how = DescribeKernels(row.providers);
    if (const std::string as = ImportedAs(row.use); !as.empty()) {
      how = how.empty() ? as : absl::StrCat(as, "; ", how);
    }
    if (how.empty() && row.runs) how = "evaluated on import";
    if (!row.runs) how = absl::StrCat("missing: ", absl::StrReplaceAll(row.missing, {{"\n", " "}}));
    const std::vector<std::string>& types = row.use.types;
    cells.push_back({OperatorName(row.use), absl::StrCat(row.use.opset),
                     absl::StrCat(row.use.count), types.empty() ? "-" : absl::StrJoin(types, " | "),
                     row.runs ? "yes" : "NO", how});
  }
  return TextTable({"operator", "opset", "nodes", "element types", "runs", "kernels"}, cells);
}

void WriteSupport(JsonWriter& json, const std::vector<SupportRow>& rows) {
  json.BeginArray();
  for (const SupportRow& row : rows) {
    json.BeginObject().Key("domain").String(row.use.domain).Key("operator").String(row.use.op);
    json.Key("opset").Int(row.use.opset).Key("nodes").Int(row.use.count);
    json.Key("element_types");
    json.Strings(row.use.types);
    json.Key("imported_as");
    json.Strings(row.use.imported_as);
    json.Key("supported").Bool(row.runs).Key("gap").String(row.missing);
    json.Key("providers").BeginArray();
    for (const ProviderKernels& entry : row.providers) {
      json.BeginObject().Key("provider").String(entry.provider).Key("kernels");
      json.Strings(entry.kernels);
      json.EndObject();
    }
    json.EndArray().EndObject();
  }
  json.EndArray();
}

}  // namespace inferd::engine
