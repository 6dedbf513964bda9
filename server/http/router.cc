#include "server/http/router.h"

#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_split.h"
#include "absl/types/span.h"
#include "server/wire/utf8.h"

namespace inferd::server {
namespace {

using Segments = absl::Span<const std::string>;

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// False where an escape is malformed or the result is not UTF-8.
bool PercentDecode(absl::string_view text, std::string* out) {
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out->push_back(text[i]);
      continue;
    }
    if (i + 2 >= text.size()) return false;
    const int high = HexDigit(text[i + 1]), low = HexDigit(text[i + 2]);
    if (high < 0 || low < 0) return false;
    out->push_back(static_cast<char>(high << 4 | low));
    i += 2;
  }
  return IsValidUtf8(*out);
}

bool Is(Segments path, std::initializer_list<absl::string_view> words) {
  if (path.size() != words.size()) return false;
  size_t i = 0;
  for (absl::string_view word : words) {
    if (path[i++] != word) return false;
  }
  return true;
}

RouteMatch Get(Route route) { return {route, "", "", false, false}; }
RouteMatch Post(Route route) { return {route, "", "", true, false}; }

// After /v2/models/M[/versions/V].
RouteMatch MatchModel(Segments rest) {
  if (rest.empty()) return Get(Route::kModelMetadata);
  if (Is(rest, {"ready"})) return Get(Route::kModelReady);
  if (Is(rest, {"infer"})) return Post(Route::kModelInfer);
  if (Is(rest, {"config"})) return Get(Route::kModelConfig);
  if (Is(rest, {"stats"})) return Get(Route::kModelStatistics);
  if (Is(rest, {"generate"}) || Is(rest, {"generate_stream"})) return Post(Route::kUnsupported);
  if (Is(rest, {"trace", "setting"})) return {Route::kUnsupported, "", "", false, true};
  return {};
}

RouteMatch MatchSharedMemory(Segments rest) {
  if (rest.empty()) return {};
  if (rest[0] == "region") rest.remove_prefix(std::min<size_t>(2, rest.size()));
  if (Is(rest, {"status"})) return Get(Route::kUnsupported);
  if (Is(rest, {"register"}) || Is(rest, {"unregister"})) return Post(Route::kUnsupported);
  return {};
}

}  // namespace

RouteMatch MatchRoute(absl::string_view target) {
  const absl::string_view path = target.substr(0, target.find('?'));
  std::vector<std::string> decoded;
  for (absl::string_view segment : absl::StrSplit(path, '/', absl::SkipEmpty())) {
    if (!PercentDecode(segment, &decoded.emplace_back())) return {};
  }
  Segments rest = decoded;
  if (rest.empty() || rest[0] != "v2" || path[0] != '/') return {};
  rest.remove_prefix(1);
  if (rest.empty()) return Get(Route::kServerMetadata);
  if (Is(rest, {"health", "live"})) return Get(Route::kServerLive);
  if (Is(rest, {"health", "ready"})) return Get(Route::kServerReady);
  if (Is(rest, {"models", "stats"})) return Get(Route::kModelStatistics);
  if (Is(rest, {"repository", "index"})) return Post(Route::kRepositoryIndex);
  if (Is(rest, {"logging"}) || Is(rest, {"trace", "setting"})) {
    return {Route::kUnsupported, "", "", false, true};
  }
  if (rest[0] == "systemsharedmemory" || rest[0] == "cudasharedmemory") {
    return MatchSharedMemory(rest.subspan(1));
  }
  RouteMatch match;
  if (rest.size() == 4 && rest[0] == "repository" && rest[1] == "models") {
    if (rest[3] == "load") match = Post(Route::kRepositoryLoad);
    if (rest[3] == "unload") match = Post(Route::kRepositoryUnload);
    match.model = rest[2];
    return match;
  }
  if (rest[0] != "models" || rest.size() < 2) return {};
  const std::string model = rest[1];
  std::string version;
  rest.remove_prefix(2);
  if (rest.size() >= 2 && rest[0] == "versions") {
    version = rest[1];
    rest.remove_prefix(2);
  }
  match = MatchModel(rest);
  match.model = model;
  match.version = std::move(version);
  return match;
}

}  // namespace inferd::server
