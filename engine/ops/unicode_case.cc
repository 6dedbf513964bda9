#include "engine/ops/unicode_case.h"

#include <unicode/bytestream.h>
#include <unicode/casemap.h>
#include <unicode/locid.h>
#include <unicode/stringoptions.h>
#include <unicode/utf8.h>

#include <limits>

#include "absl/strings/str_cat.h"
#include "engine/status_macros.h"

namespace inferd::engine {
namespace {

absl::Status CheckUtf8(absl::string_view text) {
  if (text.size() > static_cast<size_t>(std::numeric_limits<int32_t>::max())) {
    return absl::InvalidArgumentError(
        absl::StrCat("a text of ", text.size(), " bytes is too long"));
  }
  const char* bytes = text.data();
  const int32_t size = static_cast<int32_t>(text.size());
  for (int32_t i = 0; i < size;) {
    const int32_t start = i;
    UChar32 code_point;
    U8_NEXT(bytes, i, size, code_point);
    if (code_point < 0) {
      return absl::InvalidArgumentError(absl::StrCat("the text is not UTF-8 at byte ", start));
    }
  }
  return absl::OkStatus();
}

// map(text, sink, error) is one of ICU's mappings.
template <typename Map>
absl::StatusOr<std::string> MapText(absl::string_view text, Map map) {
  RETURN_IF_ERROR(CheckUtf8(text));
  std::string result;
  icu::StringByteSink<std::string> sink(&result, static_cast<int32_t>(text.size()));
  UErrorCode error = U_ZERO_ERROR;
  map(icu::StringPiece(text.data(), static_cast<int32_t>(text.size())), sink, error);
  if (U_FAILURE(error)) {
    return absl::InternalError(absl::StrCat("ICU: ", u_errorName(error)));
  }
  return result;
}

}  // namespace

absl::StatusOr<CaseLocale> CaseLocale::FromName(const std::string& name) {
  if (name.empty() || name == "C" || name == "POSIX") return CaseLocale("");
  // ICU takes any word for a language it has not heard of; what it cannot even read is a mistake.
  const icu::Locale locale = icu::Locale::createCanonical(name.c_str());
  if (locale.isBogus() || locale.getLanguage()[0] == '\0') {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", name, "\" is not the name of a locale, such as en_US"));
  }
  return CaseLocale(locale.getName());
}

absl::StatusOr<std::string> CaseLocale::ToLower(absl::string_view text) const {
  return MapText(text, [&](const icu::StringPiece& source, icu::ByteSink& sink, UErrorCode& error) {
    icu::CaseMap::utf8ToLower(name_.c_str(), 0, source, sink, nullptr, error);
  });
}

absl::StatusOr<std::string> CaseLocale::ToUpper(absl::string_view text) const {
  return MapText(text, [&](const icu::StringPiece& source, icu::ByteSink& sink, UErrorCode& error) {
    icu::CaseMap::utf8ToUpper(name_.c_str(), 0, source, sink, nullptr, error);
  });
}

absl::StatusOr<std::string> CaseLocale::Fold(absl::string_view text) const {
  const absl::string_view language = absl::string_view(name_).substr(0, 2);
  const bool turkic = (language == "tr" || language == "az") &&
                      (name_.size() == 2 || name_[2] == '_' || name_[2] == '@');
  return MapText(text, [&](const icu::StringPiece& source, icu::ByteSink& sink, UErrorCode& error) {
    icu::CaseMap::utf8Fold(turkic ? U_FOLD_CASE_EXCLUDE_SPECIAL_I : U_FOLD_CASE_DEFAULT, source,
                           sink, nullptr, error);
  });
}

}  // namespace inferd::engine
