#include "engine/onnx/gap_report.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "engine/onnx/proto_access.h"

namespace inferd::engine {
namespace {

// Nodes a line names beside the first one; the rest are counted.
constexpr size_t kNamedNodes = 4;

}  // namespace

void GapReport::Add(Gap gap) {
  auto same = std::find_if(groups_.begin(), groups_.end(), [&](const Group& g) {
    return g.first.op == gap.op && g.first.domain == gap.domain && g.first.opset == gap.opset &&
           g.first.why == gap.why;
  });
  if (same == groups_.end()) {
    groups_.push_back({.first = std::move(gap), .other_nodes = {}});
    return;
  }
  ++same->count;
  if (same->other_nodes.size() < kNamedNodes) same->other_nodes.push_back(std::move(gap.node));
}

absl::Status GapReport::ToStatus() const {
  std::string message = absl::StrCat("this model cannot run: ", groups_.size(),
                                     groups_.size() == 1 ? " gap" : " gaps");
  for (const Group& g : groups_) {
    absl::StrAppend(&message, "\n  ", g.first.op, " (", DomainForMessages(g.first.domain),
                    " opset ", g.first.opset, ") at ", g.first.node);
    if (!g.other_nodes.empty()) {
      absl::StrAppend(&message, ", ", absl::StrJoin(g.other_nodes, ", "));
    }
    const size_t unnamed = static_cast<size_t>(g.count) - 1 - g.other_nodes.size();
    if (unnamed > 0) absl::StrAppend(&message, " and ", unnamed, " more");
    absl::StrAppend(&message, ", inputs (", g.first.types, "): ", g.first.why);
  }
  return absl::UnimplementedError(message);
}

}  // namespace inferd::engine
