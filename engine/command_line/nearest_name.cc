#include "engine/command_line/nearest_name.h"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace inferd::engine {
namespace {

// Damerau-Levenshtein distance with adjacent transpositions (the "optimal string alignment" form).
int EditDistance(absl::string_view a, absl::string_view b) {
  std::vector<int> before(b.size() + 1), previous(b.size() + 1), current(b.size() + 1);
  std::iota(previous.begin(), previous.end(), 0);
  for (size_t i = 1; i <= a.size(); ++i) {
    current[0] = static_cast<int>(i);
    for (size_t j = 1; j <= b.size(); ++j) {
      const int substitution = previous[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      current[j] = std::min({previous[j] + 1, current[j - 1] + 1, substitution});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        current[j] = std::min(current[j], before[j - 2] + 1);
      }
    }
    std::swap(before, previous);
    std::swap(previous, current);
  }
  return previous[b.size()];
}

std::string Normalized(absl::string_view word) {
  std::string result = absl::AsciiStrToLower(word);
  std::replace(result.begin(), result.end(), '-', '_');
  return result;
}

}  // namespace

std::string NearestName(absl::string_view word, absl::Span<const std::string> names) {
  constexpr size_t kLongest = 64;
  if (word.empty() || word.size() > kLongest) return "";
  const std::string wanted = Normalized(word);
  std::string best;
  // A third of the letters may be wrong, but not all of a short word.
  int best_distance = std::max<int>(1, static_cast<int>(word.size()) / 3) + 1;
  for (const std::string& name : names) {
    const std::string candidate = Normalized(name);
    int distance = EditDistance(wanted, candidate);
    // A word that is a part of the name ("timeout" of "queue.timeout") is as good as a near miss.
    if (wanted.size() >= 4 && candidate.size() > wanted.size() &&
        (absl::EndsWith(candidate, wanted) || absl::StartsWith(candidate, wanted))) {
      distance = std::min(distance, 1);
    }
    if (distance < best_distance) {
      best_distance = distance;
      best = name;
    }
  }
  return best;
}

std::string DidYouMean(absl::string_view word, absl::Span<const std::string> names) {
  const std::string nearest = NearestName(word, names);
  return nearest.empty() ? "" : absl::StrCat("; did you mean ", nearest, "?");
}

}  // namespace inferd::engine
