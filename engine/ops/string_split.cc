// StringSplit: the pieces of each text on a new last axis, padded with empty texts, and how many
// there are.
#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "engine/kernel/kernel.h"
#include "engine/ops/all_ops.h"
#include "engine/ops/op_def.h"
#include "engine/status_macros.h"

namespace inferd::engine {
namespace {

absl::Status Infer(InferenceContext& context) {
  const SymbolicShape& x = context.shape(0);
  SymbolicShape pieces;
  if (x.has_rank()) {
    std::vector<Dim> dims = x.dims();
    dims.push_back(Dim::Unknown());
    pieces = SymbolicShape(std::move(dims));
  }
  context.SetOutput(0, ElementType::kString, std::move(pieces));
  if (context.node().num_outputs() > 1) context.SetOutput(1, ElementType::kInt64, x);
  return absl::OkStatus();
}

// Bytes of the white space that `text` begins with; 0 where it does not. Unicode's White_Space,
// and the four separators of ASCII.
size_t LeadingSpace(absl::string_view text) {
  if (text.empty()) return 0;
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  if (byte(0) == ' ' || (byte(0) >= 0x09 && byte(0) <= 0x0d) ||
      (byte(0) >= 0x1c && byte(0) <= 0x1f)) {
    return 1;
  }
  if (byte(0) == 0xc2 && text.size() >= 2 && (byte(1) == 0x85 || byte(1) == 0xa0)) return 2;
  if (text.size() < 3) return 0;
  const absl::string_view three = text.substr(0, 3);
  for (const absl::string_view space :
       {"\u1680", "\u2028", "\u2029", "\u202f", "\u205f", "\u3000"}) {
    if (three == space) return 3;
  }
  return three >= "\u2000" && three <= "\u200a" ? 3 : 0;
}

absl::string_view SkipSpace(absl::string_view text) {
  for (size_t n = LeadingSpace(text); n > 0; n = LeadingSpace(text)) text.remove_prefix(n);
  return text;
}

// `text` without its trailing white space.
absl::string_view TrimEnd(absl::string_view text) {
  size_t end = 0;
  for (size_t i = 0; i < text.size();) {
    const size_t n = LeadingSpace(text.substr(i));
    i += std::max<size_t>(n, 1);
    if (n == 0) end = i;
  }
  return text.substr(0, end);
}

// At most `limit` splits.
void SplitAtSpaces(absl::string_view text, int64_t limit, std::vector<absl::string_view>& pieces) {
  text = TrimEnd(SkipSpace(text));
  for (int64_t splits = 0; !text.empty(); ++splits) {
    size_t end = 0;
    while (end < text.size() && LeadingSpace(text.substr(end)) == 0) ++end;
    if (splits == limit) end = text.size();
    pieces.push_back(text.substr(0, end));
    text = SkipSpace(text.substr(end));
  }
}

void SplitAt(absl::string_view delimiter, absl::string_view text, int64_t limit,
             std::vector<absl::string_view>& pieces) {
  for (int64_t splits = 0; splits < limit; ++splits) {
    const size_t at = text.find(delimiter);
    if (at == absl::string_view::npos) break;
    pieces.push_back(text.substr(0, at));
    text.remove_prefix(at + delimiter.size());
  }
  pieces.push_back(text);
}

absl::StatusOr<std::unique_ptr<Kernel>> Reference(const NodeSpec& spec) {
  const std::string delimiter = spec.attributes().GetString("delimiter", "");
  int64_t limit = spec.attributes().GetInt("maxsplit", INT64_MAX);
  if (limit < 0) limit = INT64_MAX;  // as the exporters write "no limit"
  return MakeKernel([delimiter, limit](KernelContext& context) -> absl::Status {
    const TensorView& x = context.input(0);
    const std::string* texts = x.as<std::string>();
    const int64_t count = x.num_elements();
    std::vector<absl::string_view> pieces;  // of all texts, one after the other
    std::vector<size_t> ends;
    size_t most = 0;
    for (int64_t i = 0; i < count; ++i) {
      const size_t begin = pieces.size();
      if (delimiter.empty()) {
        SplitAtSpaces(texts[i], limit, pieces);
      } else {
        SplitAt(delimiter, texts[i], limit, pieces);
      }
      ends.push_back(pieces.size());
      most = std::max(most, pieces.size() - begin);
    }
    if (context.has_output(0)) {
      Shape shape = x.shape;
      shape.push_back(static_cast<int64_t>(most));
      ASSIGN_OR_RETURN(const TensorView y, context.AllocateOutput(0, shape));
      std::string* out = y.as<std::string>();
      size_t begin = 0;
      for (const size_t end : ends) {
        std::string* row = out;
        for (size_t p = begin; p < end; ++p) *row++ = std::string(pieces[p]);
        out += most;
        begin = end;
      }
    }
    if (context.has_output(1)) {
      ASSIGN_OR_RETURN(const TensorView z, context.AllocateOutput(1, x.shape));
      size_t begin = 0;
      for (int64_t i = 0; i < count; ++i) {
        z.as<int64_t>()[i] = static_cast<int64_t>(ends[i] - begin);
        begin = ends[i];
      }
    }
    return absl::OkStatus();
  });
}

}  // namespace

void RegisterStringSplitOps(OpRegistry& registry) {
  using Kind = AttributeSpec::Kind;
  registry.Register(
      {.name = "StringSplit",
       .version = 20,
       .oldest_version = 20,
       .inputs = {{"X", "", {ElementType::kString}}},
       .outputs = {{"Y", "", {ElementType::kString}},
                   {"Z", "", {ElementType::kInt64}, FormalParameter::Option::kOptional}},
       .attributes = {{"delimiter", Kind::kString}, {"maxsplit", Kind::kInt}},
       .infer = Infer,
       .reference = Reference,
       .dynamic_outputs = true});
}

}  // namespace inferd::engine
