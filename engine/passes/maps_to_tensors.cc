#include "engine/passes/maps_to_tensors.h"

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace inferd::engine {
namespace {

// The labels of the columns; long lists are cut.
std::string ColumnLabels(const Attributes& attributes) {
  constexpr size_t kShown = 100;
  std::vector<std::string> labels;
  for (const std::string& label : attributes.GetStrings("classlabels_strings")) {
    labels.push_back(absl::StrCat("\"", absl::CHexEscape(label), "\""));
  }
  for (const int64_t label : attributes.GetInts("classlabels_int64s")) {
    labels.push_back(absl::StrCat(label));
  }
  const size_t count = labels.size();
  if (count > kShown) labels.resize(kShown);
  return absl::StrCat(absl::StrJoin(labels, ", "),
                      count > kShown ? absl::StrCat(", ... (", count, " in all)") : "");
}

}  // namespace

std::vector<std::string> MapOutputsToTensors(Graph& graph, const OpRegistry& registry) {
  std::vector<std::string> notes;
  for (size_t i = 0; i < graph.outputs().size(); ++i) {
    Node* zip = graph.outputs()[i]->producer();
    if (zip == nullptr || zip->op().domain != "ai.onnx.ml" || zip->op().name != "ZipMap") continue;
    Value* scores = zip->input(0);
    // An output of its own: the scores may be an input, or an output under another name.
    Value* served = graph.AddValue(scores->name(), scores->type());
    graph.InsertNode(zip, registry.Get("Identity"), "", {scores}, {served});
    graph.ReplaceOutput(static_cast<int>(i), served);
    notes.push_back(absl::StrCat("output \"", graph.output_name(static_cast<int>(i)),
                                 "\" is served as ", served->type().ToString(),
                                 " instead of a sequence of maps; its columns are the classes ",
                                 ColumnLabels(zip->attributes())));
    if (zip->output(0)->uses().empty() && !graph.IsOutput(zip->output(0))) graph.RemoveNode(zip);
  }
  return notes;
}

}  // namespace inferd::engine
