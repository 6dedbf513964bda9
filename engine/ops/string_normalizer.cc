// StringNormalizer: drops stop words and changes the case of what is left.
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "engine/kernel/kernel.h"
#include "engine/ops/all_ops.h"
#include "engine/ops/op_def.h"
#include "engine/ops/unicode_case.h"
#include "engine/status_macros.h"

namespace inferd::engine {
namespace {

enum class CaseChange { kNone, kLower, kUpper };

absl::StatusOr<CaseChange> ReadCaseChange(const Attributes& attributes) {
  const std::string action = attributes.GetString("case_change_action", "NONE");
  if (action == "NONE") return CaseChange::kNone;
  if (action == "LOWER") return CaseChange::kLower;
  if (action == "UPPER") return CaseChange::kUpper;
  return absl::InvalidArgumentError(absl::StrCat("attribute case_change_action is \"", action,
                                                 "\", expected NONE, LOWER or UPPER"));
}

absl::StatusOr<CaseLocale> ReadLocale(const Attributes& attributes) {
  absl::StatusOr<CaseLocale> locale = CaseLocale::FromName(attributes.GetString("locale", "en_US"));
  if (!locale.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("attribute locale: ", locale.status().message()));
  }
  return locale;
}

absl::Status CheckShape(const SymbolicShape& shape) {
  if (!shape.has_rank()) return absl::OkStatus();
  const bool fits =
      shape.rank() == 1 || (shape.rank() == 2 && (!shape[0].known() || shape[0] == 1));
  if (fits) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("input X has shape ", shape.ToString(), ", expected [C] or [1,C]"));
}

absl::Status Infer(InferenceContext& context) {
  RETURN_IF_ERROR(ReadCaseChange(context.attributes()).status());
  RETURN_IF_ERROR(ReadLocale(context.attributes()).status());
  const SymbolicShape& x = context.shape(0);
  RETURN_IF_ERROR(CheckShape(x));
  SymbolicShape y;
  if (x.has_rank()) {
    y = x.rank() == 1 ? SymbolicShape({Dim::Unknown()}) : SymbolicShape({Dim(1), Dim::Unknown()});
  }
  context.SetOutput(0, ElementType::kString, std::move(y));
  return absl::OkStatus();
}

class StringNormalizer final : public Kernel {
 public:
  static absl::StatusOr<std::unique_ptr<Kernel>> Create(const NodeSpec& spec) {
    const Attributes& attributes = spec.attributes();
    RETURN_IF_ERROR(CheckShape(spec.input(0).shape));
    ASSIGN_OR_RETURN(const CaseChange change, ReadCaseChange(attributes));
    ASSIGN_OR_RETURN(CaseLocale locale, ReadLocale(attributes));
    const bool case_sensitive = attributes.GetInt("is_case_sensitive", 0) != 0;
    absl::flat_hash_set<std::string> stop_words;
    for (const std::string& word : attributes.GetStrings("stopwords")) {
      if (case_sensitive) {
        stop_words.insert(word);
        continue;
      }
      absl::StatusOr<std::string> folded = locale.Fold(word);
      if (!folded.ok()) {
        return absl::InvalidArgumentError(
            absl::StrCat("attribute stopwords: ", folded.status().message()));
      }
      stop_words.insert(*std::move(folded));
    }
    return std::unique_ptr<Kernel>(
        new StringNormalizer(change, std::move(locale), case_sensitive, std::move(stop_words)));
  }

  absl::Status Run(KernelContext& context) const override {
    const TensorView& x = context.input(0);
    const std::string* words = x.as<std::string>();
    const int64_t count = x.num_elements();
    std::vector<std::string> kept;
    for (int64_t i = 0; i < count; ++i) {
      const absl::Status status = Normalize(words[i], kept);
      if (!status.ok()) {
        return absl::InvalidArgumentError(
            absl::StrCat("input X, element ", i, ": ", status.message()));
      }
    }
    // Where nothing is left the standard wants one empty text.
    if (kept.empty()) kept.emplace_back();
    Shape shape = x.shape;
    shape[shape.rank() - 1] = static_cast<int64_t>(kept.size());
    ASSIGN_OR_RETURN(const TensorView y, context.AllocateOutput(0, shape));
    std::move(kept.begin(), kept.end(), y.as<std::string>());
    return absl::OkStatus();
  }

 private:
  StringNormalizer(CaseChange change, CaseLocale locale, bool case_sensitive,
                   absl::flat_hash_set<std::string> stop_words)
      : change_(change),
        locale_(std::move(locale)),
        case_sensitive_(case_sensitive),
        stop_words_(std::move(stop_words)) {}

  absl::Status Normalize(const std::string& word, std::vector<std::string>& kept) const {
    if (!stop_words_.empty()) {
      if (case_sensitive_) {
        if (stop_words_.contains(word)) return absl::OkStatus();
      } else {
        ASSIGN_OR_RETURN(const std::string folded, locale_.Fold(word));
        if (stop_words_.contains(folded)) return absl::OkStatus();
      }
    }
    switch (change_) {
      case CaseChange::kNone:
        kept.push_back(word);
        break;
      case CaseChange::kLower: {
        ASSIGN_OR_RETURN(std::string lower, locale_.ToLower(word));
        kept.push_back(std::move(lower));
        break;
      }
      case CaseChange::kUpper: {
        ASSIGN_OR_RETURN(std::string upper, locale_.ToUpper(word));
        kept.push_back(std::move(upper));
        break;
      }
    }
    return absl::OkStatus();
  }

  CaseChange change_;
  CaseLocale locale_;
  bool case_sensitive_;
  absl::flat_hash_set<std::string> stop_words_;  // folded unless case_sensitive_
};

}  // namespace

void RegisterStringNormalizerOps(OpRegistry& registry) {
  using Kind = AttributeSpec::Kind;
  registry.Register({.name = "StringNormalizer",
                     .version = 10,
                     .oldest_version = 10,
                     .inputs = {{"X", "", {ElementType::kString}}},
                     .outputs = {{"Y", "", {ElementType::kString}}},
                     .attributes = {{"case_change_action", Kind::kString},
                                    {"is_case_sensitive", Kind::kInt},
                                    {"locale", Kind::kString},
                                    {"stopwords", Kind::kStrings}},
                     .infer = Infer,
                     .reference = StringNormalizer::Create,
                     .dynamic_outputs = true});
}

}  // namespace inferd::engine
