#include "engine/inferplan/declared_tolerance.h"

#include <fnmatch.h>

#include <cmath>
#include <fstream>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "engine/status_macros.h"

namespace inferd::engine {
namespace {

// Takes the first word off `text`.
absl::string_view TakeWord(absl::string_view& text) {
  const std::pair<absl::string_view, absl::string_view> parts =
      absl::StrSplit(text, absl::MaxSplits(absl::ByAnyChar(" \t"), 1));
  text = absl::StripLeadingAsciiWhitespace(parts.second);
  return parts.first;
}

bool ReadBound(absl::string_view word, double* bound) {
  return absl::SimpleAtod(word, bound) && std::isfinite(*bound) && *bound >= 0;
}

}  // namespace

bool DeclaredTolerance::Matches(const std::string& name) const {
  return fnmatch(pattern.c_str(), name.c_str(), 0) == 0;
}

absl::StatusOr<std::vector<DeclaredTolerance>> ReadTolerances(const std::string& path) {
  std::ifstream file(path);
  if (!file) return absl::NotFoundError(absl::StrCat("cannot read ", path));
  std::vector<DeclaredTolerance> declared;
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    absl::string_view text = absl::StripAsciiWhitespace(line);
    if (text.empty() || text[0] == '#') continue;
    DeclaredTolerance entry;
    entry.source = absl::StrCat(path, ":", number);
    entry.pattern = std::string(TakeWord(text));
    const bool numbers = ReadBound(TakeWord(text), &entry.tolerance.rtol) &&
                         ReadBound(TakeWord(text), &entry.tolerance.atol);
    entry.reason = std::string(text);
    if (!numbers || entry.reason.empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat(entry.source, ": expected NAME RTOL ATOL REASON, found \"",
                       std::string(absl::StripAsciiWhitespace(line)), "\""));
    }
    declared.push_back(std::move(entry));
  }
  return declared;
}

const DeclaredTolerance* FindTolerance(absl::Span<const DeclaredTolerance> declared,
                                       const std::string& name) {
  for (const DeclaredTolerance& entry : declared) {
    if (entry.Matches(name)) return &entry;
  }
  return nullptr;
}

}  // namespace inferd::engine
