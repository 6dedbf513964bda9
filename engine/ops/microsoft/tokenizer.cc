// com.microsoft.Tokenizer: strings of shape [C] or [N, C] into tokens along a new last axis, by
// removing separators or by searching for tokens; both are RE2 expressions.
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/kernel/kernel.h"
#include "engine/ops/microsoft/microsoft_ops.h"
#include "engine/ops/op_def.h"
#include "engine/ops/schema.h"
#include "engine/ops/shape_functions.h"
#include "engine/status_macros.h"
#include "re2/re2.h"

namespace inferd::engine {
namespace {

using re2::RE2;
using re2::StringPiece;
using Tokens = std::vector<StringPiece>;

constexpr char kStartOfText[] = "\x02";
constexpr char kEndOfText[] = "\x03";

absl::Status Infer(InferenceContext& context) {
  RETURN_IF_ERROR(ExpectRank(context, 0, 1, 2));
  const SymbolicShape& x = context.shape(0);
  if (!x.has_rank()) {
    context.SetOutput(0, ElementType::kString, {});
    return absl::OkStatus();
  }
  std::vector<Dim> dims = x.dims();
  // Without any string there is no axis of tokens either, which only the real shape tells.
  const bool empty = std::find(dims.begin(), dims.end(), Dim(0)) != dims.end();
  const bool certain = std::all_of(dims.begin(), dims.end(),
                                   [](const Dim& d) { return d.known() && d.value() > 0; });
  if (!empty && !certain) {
    context.SetOutput(0, ElementType::kString, {});
    return absl::OkStatus();
  }
  if (!empty) dims.push_back(Dim::Unknown());
  context.SetOutput(0, ElementType::kString, SymbolicShape(std::move(dims)));
  return absl::OkStatus();
}

// Bytes of the UTF-8 sequence at the start of `text`; 0 where it is malformed.
size_t SequenceLength(StringPiece text) {
  const auto lead = static_cast<unsigned char>(text[0]);
  const size_t length = lead < 0x80 ? 1 : lead < 0xc2 ? 0 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
  if (lead > 0xf4 || length > text.size()) return 0;
  for (size_t i = 1; i < length; ++i) {
    if ((static_cast<unsigned char>(text[i]) & 0xc0) != 0x80) return 0;
  }
  return length;
}

// Characters of well-formed text.
int64_t CountCharacters(StringPiece text) {
  return std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xc0) != 0x80; });
}

bool IsUtf8(StringPiece text) {
  while (!text.empty()) {
    const size_t length = SequenceLength(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

class TokenizerKernel final : public Kernel {
 public:
  static absl::StatusOr<std::unique_ptr<Kernel>> Create(const Attributes& attributes) {
    auto kernel = std::make_unique<TokenizerKernel>();
    kernel->min_characters_ = attributes.GetInt("mincharnum", 0);
    kernel->mark_ = attributes.GetInt("mark", 0) != 0;
    kernel->pad_ = attributes.GetString("pad_value", "");
    const std::vector<std::string> separators = attributes.GetStrings("separators");
    const std::string token = attributes.GetString("tokenexp", "");
    if (kernel->min_characters_ < 1) {
      return absl::InvalidArgumentError(absl::StrCat(
          "attribute mincharnum is ", kernel->min_characters_, ", expected a positive number"));
    }
    if (separators.empty() && token.empty()) {
      return absl::InvalidArgumentError("attribute separators or tokenexp is needed");
    }
    kernel->characters_ =
        separators.empty() ? token == "." : separators.size() == 1 && separators[0].empty();
    if (kernel->characters_) {
      if (kernel->min_characters_ > 1) {
        return absl::InvalidArgumentError(absl::StrCat("attribute mincharnum is ",
                                                       kernel->min_characters_,
                                                       ", but every token is one character"));
      }
      return kernel;
    }
    RE2::Options options;
    options.set_longest_match(true);
    options.set_log_errors(false);
    kernel->search_for_tokens_ = separators.empty();
    for (const std::string& text :
         separators.empty() ? std::vector<std::string>{token} : separators) {
      kernel->expressions_.push_back(std::make_unique<RE2>(text, options));
      if (!kernel->expressions_.back()->ok()) {
        return absl::InvalidArgumentError(
            absl::StrCat("attribute ", separators.empty() ? "tokenexp" : "separators", ": \"", text,
                         "\" is no regular expression: ", kernel->expressions_.back()->error()));
      }
    }
    return kernel;
  }

  absl::Status Run(KernelContext& context) const override {
    const TensorView& x = context.input(0);
    const std::string* strings = x.as<std::string>();
    const int64_t count = x.num_elements();
    Shape shape = x.shape;
    if (count == 0) return context.AllocateOutput(0, shape).status();
    std::vector<Tokens> rows(count);
    size_t longest = 0;
    for (int64_t i = 0; i < count; ++i) {
      if (!IsUtf8(strings[i])) {
        return absl::InvalidArgumentError(
            absl::StrCat("element ", i, " of input 0 (X) is not UTF-8"));
      }
      rows[i] = Tokenize(strings[i]);
      longest = std::max(longest, rows[i].size());
    }
    const int64_t width = longest == 0 ? 0 : static_cast<int64_t>(longest) + (mark_ ? 2 : 0);
    shape.push_back(width);
    ASSIGN_OR_RETURN(const TensorView output, context.AllocateOutput(0, shape));
    std::string* y = output.as<std::string>();
    for (int64_t i = 0; width > 0 && i < count; ++i, y += width) {
      int64_t at = 0;
      if (mark_) y[at++] = kStartOfText;
      for (const StringPiece token : rows[i]) y[at++].assign(token.data(), token.size());
      if (mark_) y[at++] = kEndOfText;
      while (at < width) y[at++] = pad_;
    }
    return absl::OkStatus();
  }

 private:
  Tokens Tokenize(StringPiece text) const {
    if (characters_) return Characters(text);
    if (search_for_tokens_) return Search(text);
    Tokens tokens = {text};
    // Each separator works on what the ones before have left, as a text of its own.
    for (const auto& separator : expressions_) {
      Tokens pieces;
      for (const StringPiece token : tokens) Separate(*separator, token, &pieces);
      tokens = std::move(pieces);
    }
    return tokens;
  }

  static Tokens Characters(StringPiece text) {
    Tokens tokens;
    while (!text.empty()) {
      const size_t length = SequenceLength(text);
      tokens.push_back(text.substr(0, length));
      text.remove_prefix(length);
    }
    return tokens;
  }

  void Keep(StringPiece token, Tokens* tokens) const {
    if (CountCharacters(token) >= min_characters_) tokens->push_back(token);
  }

  // Finds the next match at or after *at, and moves *at behind it: an empty match takes the
  // character after it along.
  static bool Next(const RE2& expression, StringPiece text, size_t* at, StringPiece* match) {
    if (*at > text.size() || !expression.Match(text, *at, text.size(), RE2::UNANCHORED, match, 1)) {
      return false;
    }
    *at = match->data() - text.data() + match->size();
    if (match->empty()) *at += *at < text.size() ? SequenceLength(text.substr(*at)) : 1;
    return true;
  }

  void Separate(const RE2& separator, StringPiece text, Tokens* tokens) const {
    size_t from = 0, at = 0;
    StringPiece match;
    while (Next(separator, text, &at, &match)) {
      Keep(text.substr(from, match.data() - text.data() - from), tokens);
      from = at;
    }
    if (from < text.size()) Keep(text.substr(from), tokens);
  }

  Tokens Search(StringPiece text) const {
    Tokens tokens;
    size_t at = 0;
    StringPiece match;
    while (Next(*expressions_[0], text, &at, &match)) {
      if (!match.empty()) Keep(match, &tokens);
    }
    return tokens;
  }

  int64_t min_characters_ = 1;
  bool mark_ = false;
  bool characters_ = false;
  bool search_for_tokens_ = false;
  std::string pad_;
  std::vector<std::unique_ptr<RE2>> expressions_;
};

absl::StatusOr<std::unique_ptr<Kernel>> Reference(const NodeSpec& spec) {
  return TokenizerKernel::Create(spec.attributes());
}

}  // namespace

void RegisterTokenizerOps(OpRegistry& registry) {
  using Kind = AttributeSpec::Kind;
  registry.Register({.domain = "com.microsoft",
                     .name = "Tokenizer",
                     .inputs = {RequiredParameter("X", "", {ElementType::kString})},
                     .outputs = {RequiredParameter("Y", "", {ElementType::kString})},
                     .attributes = {{"mark", Kind::kInt, true},
                                    {"mincharnum", Kind::kInt, true},
                                    {"pad_value", Kind::kString, true},
                                    {"separators", Kind::kStrings},
                                    {"tokenexp", Kind::kString}},
                     .infer = Infer,
                     .reference = Reference,
                     .dynamic_outputs = true});
}

}  // namespace inferd::engine
