#include "engine/inferplan/operator_catalogue.h"

#include <algorithm>
#include <limits>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "engine/inferplan/json_writer.h"
#include "engine/inferplan/text_table.h"
#include "engine/onnx/opset/rules.h"

namespace inferd::engine {
namespace {

constexpr int64_t kNoEnd = std::numeric_limits<int64_t>::max();

// Sets of element types that have a name of their own in the tables, widest first.
struct NamedSet {
  absl::string_view name;
  ElementTypeSet types;
};
constexpr NamedSet kNamedSets[] = {
    {"*movable*", type_sets::kMovable},   {"*numeric*", type_sets::kNumeric},
    {"*integers*", type_sets::kIntegers}, {"*floats*", type_sets::kFloats},
    {"*signed*", type_sets::kSigned},     {"*unsigned*", type_sets::kUnsigned},
    {"*complex*", type_sets::kComplex},   {"*float8*", type_sets::kFloat8s},
};

bool Covers(ElementTypeSet types, ElementTypeSet part) { return (types | part) == types; }

std::string ShortTypes(ElementTypeSet types) {
  if (types.empty()) return "any";
  std::vector<std::string> parts;
  ElementTypeSet named;
  for (const NamedSet& set : kNamedSets) {
    if (!Covers(types, set.types) || Covers(named, set.types)) continue;
    parts.emplace_back(set.name);
    named = named | set.types;
  }
  for (int i = 1; i < kNumElementTypes; ++i) {
    const auto type = static_cast<ElementType>(i);
    if (types.contains(type) && !named.contains(type)) {
      parts.emplace_back(ElementTypeName(type));
    }
  }
  // Not counted among the element types of the standard.
  if (types.contains(ElementType::kComposite)) parts.emplace_back("*composite*");
  return absl::StrJoin(parts, ", ");
}

std::vector<std::pair<std::string, ElementTypeSet>> TypesOf(const OpDef& op) {
  std::vector<std::pair<std::string, ElementTypeSet>> types;
  const auto add = [&](const std::vector<FormalParameter>& parameters) {
    for (const FormalParameter& p : parameters) {
      std::string name(p.type_variable.empty() ? p.name : p.type_variable);
      const auto known = std::find_if(types.begin(), types.end(),
                                      [&](const auto& entry) { return entry.first == name; });
      if (known == types.end()) types.emplace_back(std::move(name), p.types);
    }
  };
  add(op.inputs);
  add(op.outputs);
  return types;
}

std::string OpsetRange(int64_t from, int64_t to) {
  if (from == to) return absl::StrCat(from);
  return to == kNoEnd ? absl::StrCat(from, " and later") : absl::StrCat(from, "-", to);
}

// The ranges of opsets in which a rule rewrites a node.
std::vector<std::string> RewrittenRanges(const std::vector<OpsetRule>& rules, int64_t oldest) {
  std::vector<std::string> ranges;
  for (size_t i = 0; i < rules.size(); ++i) {
    if (rules[i].adapt == nullptr) continue;
    const int64_t to = i + 1 < rules.size() ? rules[i + 1].since - 1 : kNoEnd;
    // The oldest rule also serves opsets before it.
    ranges.push_back(OpsetRange(i == 0 ? std::min(rules[i].since, oldest) : rules[i].since, to));
  }
  return ranges;
}

std::string SpelledDomain(absl::string_view domain) {
  return domain.empty() ? "ai.onnx" : std::string(domain);
}

std::string FormOf(const CatalogueEntry& entry) {
  if (entry.form > 0) return absl::StrCat(entry.form);
  return entry.replacement.empty() ? "others" : absl::StrCat("as ", entry.replacement);
}

std::string TypesText(const CatalogueEntry& entry, absl::string_view separator) {
  return absl::StrJoin(entry.types, separator, [](std::string* out, const auto& type) {
    absl::StrAppend(out, type.first, ": ", ShortTypes(type.second));
  });
}

std::vector<std::string> Cells(const CatalogueEntry& entry, absl::string_view separator) {
  return {entry.op,
          OpsetRange(entry.oldest, entry.newest),
          FormOf(entry),
          absl::StrJoin(entry.rules, ", "),
          TypesText(entry, separator),
          DescribeKernels(entry.providers)};
}

// Calls fn(domain, rows) for each domain in turn.
template <typename Fn>
void ForEachDomain(const std::vector<CatalogueEntry>& entries, absl::string_view separator, Fn fn) {
  for (size_t i = 0; i < entries.size();) {
    const std::string& domain = entries[i].domain;
    std::vector<std::vector<std::string>> rows;
    for (; i < entries.size() && entries[i].domain == domain; ++i) {
      rows.push_back(Cells(entries[i], separator));
    }
    fn(domain, rows);
  }
}

const std::vector<std::string>& Header() {
  static const std::vector<std::string> header = {"operator",  "opsets",        "form",
                                                  "rewritten", "element types", "kernels"};
  return header;
}

}  // namespace

std::vector<CatalogueEntry> OperatorCatalogue(const OpRegistry& registry) {
  std::vector<CatalogueEntry> entries;
  for (const OpDef* op : registry.All()) {
    if (op->domain == kInferdDomain) continue;
    CatalogueEntry entry;
    entry.domain = SpelledDomain(op->domain);
    entry.op = std::string(op->name);
    entry.oldest = op->oldest_version;
    entry.newest = std::max<int64_t>(NewestKnownOpset(op->domain), op->version);
    entry.form = op->version;
    entry.types = TypesOf(*op);
    entry.providers = KernelsFor(*op);
    entries.push_back(std::move(entry));
  }
  for (const std::vector<OpsetRule>& rules : RulesByOperator()) {
    const std::string domain = SpelledDomain(rules[0].domain);
    auto known = std::find_if(entries.begin(), entries.end(), [&](const CatalogueEntry& e) {
      return e.domain == domain && e.op == rules[0].op;
    });
    if (known != entries.end()) {
      known->rules = RewrittenRanges(rules, known->oldest);
      continue;
    }
    CatalogueEntry entry;
    entry.domain = domain;
    entry.op = std::string(rules[0].op);
    entry.newest = NewestKnownOpset(rules[0].domain);
    entry.rules = RewrittenRanges(rules, 1);
    entry.replacement = std::string(ReplacementOf(rules[0].op));
    entries.push_back(std::move(entry));
  }
  std::sort(entries.begin(), entries.end(), [](const CatalogueEntry& a, const CatalogueEntry& b) {
    return std::pair(a.domain, a.op) < std::pair(b.domain, b.op);
  });
  return entries;
}

std::string CatalogueMarkdown(const std::vector<CatalogueEntry>& entries) {
  std::string text =
      "# Operators\n\n"
      "Generated from the operator registry by `scripts/generate-docs`; do not edit.\n\n"
      "- **opsets**: the opset versions a model may import to use the operator. A model that "
      "imports a newer opset runs on the assumption that its operators have not changed since, and "
      "says so.\n"
      "- **form**: the version of the operator whose meaning the engine implements. Nodes of older "
      "versions are brought to it on import; `as X`: by operator X, `others`: by a combination of "
      "operators.\n"
      "- **rewritten**: opsets in which a node differs from that form by more than its element "
      "types, so that a rule of the importer rewrites it.\n"
      "- **element types**: by type variable of the standard, or by parameter where there is none. "
      "*floats* are float, double, float16 and bfloat16; *integers* the eight of 8 to 64 bits; "
      "*signed* and *unsigned* half of these each; *numeric* all of the former; *float8* the four "
      "8-bit floats with a sign; *complex* complex64 and complex128; *movable* everything of whole "
      "bytes, bool and string included; *composite* sequences, optionals and maps; any: all of "
      "these.\n"
      "- **kernels**: by provider, best first; which one runs a node depends on its types, shapes "
      "and attributes (`inferplan check MODEL`).\n";
  ForEachDomain(entries, "<br>", [&](const std::string& domain, const auto& rows) {
    absl::StrAppend(&text, "\n## ", domain, "\n\n", rows.size(), " operators.\n\n",
                    MarkdownTable(Header(), rows));
  });
  return text;
}

std::string CatalogueText(const std::vector<CatalogueEntry>& entries) {
  std::string text;
  ForEachDomain(entries, "; ", [&](const std::string& domain, const auto& rows) {
    absl::StrAppend(&text, text.empty() ? "" : "\n", domain, ": ", rows.size(), " operators\n",
                    TextTable(Header(), rows));
  });
  return text;
}

std::string CatalogueJson(const std::vector<CatalogueEntry>& entries) {
  JsonWriter json;
  json.BeginArray();
  for (const CatalogueEntry& entry : entries) {
    json.BeginObject().Key("domain").String(entry.domain).Key("operator").String(entry.op);
    json.Key("oldest_opset").Int(entry.oldest).Key("newest_opset").Int(entry.newest);
    json.Key("form").Int(entry.form).Key("replacement").String(entry.replacement);
    json.Key("rewritten").BeginArray();
    for (const std::string& range : entry.rules) json.String(range);
    json.EndArray().Key("element_types").BeginObject();
    for (const auto& [name, types] : entry.types) {
      json.Key(name).BeginArray();
      for (int i = 1; i < kNumElementTypes; ++i) {
        const auto type = static_cast<ElementType>(i);
        if (types.contains(type)) json.String(ElementTypeName(type));
      }
      if (types.contains(ElementType::kComposite)) json.String("composite");
      json.EndArray();
    }
    json.EndObject().Key("providers").BeginObject();
    for (const ProviderKernels& provider : entry.providers) {
      json.Key(provider.provider).BeginArray();
      for (const std::string& kernel : provider.kernels) json.String(kernel);
      json.EndArray();
    }
    json.EndObject().EndObject();
  }
  json.EndArray();
  return json.text();
}

}  // namespace inferd::engine
