// Letter case of UTF-8 text, by the whole of Unicode and the rules of a language.
//
// ICU does it, not the C library: towlower maps one code point to one code point, which is wrong
// wherever a mapping changes the length (ß to SS, ŉ, ligatures) or looks at its surroundings
// (final sigma, the dotted i of Turkish), and it knows only the locales installed on the machine.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace inferd::engine {

// A language whose rules apply. Cheap to copy; may be used from several threads.
class CaseLocale {
 public:
  // From a name such as "en_US", "tr", "tr-TR" or "tr_TR.UTF-8"; "" and "C" are the rules that
  // hold for no language in particular, as does a language without rules of its own.
  // INVALID_ARGUMENT for what is no name of a locale.
  static absl::StatusOr<CaseLocale> FromName(const std::string& name);

  // INVALID_ARGUMENT where `text` is not UTF-8.
  absl::StatusOr<std::string> ToLower(absl::string_view text) const;
  absl::StatusOr<std::string> ToUpper(absl::string_view text) const;
  // Texts that differ in case alone have the same folded form.
  absl::StatusOr<std::string> Fold(absl::string_view text) const;

 private:
  explicit CaseLocale(std::string name) : name_(std::move(name)) {}
  std::string name_;  // in ICU's canonical form
};

}  // namespace inferd::engine
