// Loops, branches and sequences that cannot be.
#include "absl/strings/str_cat.h"
#include "tests/engine/onnx/malformed_requests.h"
#include "tests/engine/onnx/model_text.h"

namespace inferd::engine {
namespace {

void AddLoops(Cases& cases) {
  // A body of Loop: `nodes` make the condition "on", the carried "w" and the collected "c".
  auto loop = [&](std::string name, const std::string& trips, const std::string& nodes,
                  std::string named, bool may_run) {
    const std::string body = InputText("i", 7, "") + InputText("go", 9, "") + FloatInput("v", "1") +
                             nodes + OutputText("on") + OutputText("w") + OutputText("c");
    cases.push_back(Text(
        std::move(name),
        ModelText(18, FloatInput("x", "1") + "initializer { name: \"m\" data_type: 7 " + trips +
                          " } " +
                          NodeText("Loop", "m,_,x", "z,all",
                                   "name: \"culprit\" attribute { name: \"body\" type: GRAPH g { " +
                                       body + " } }") +
                          OutputText("z") + OutputText("all")),
        std::move(named), may_run));
  };
  const std::string largest = absl::StrCat("int64_data: ", kLargest);
  const std::string same = NodeText("Identity", "v", "w") + NodeText("Identity", "v", "c");
  const std::string on = NodeText("Identity", "go", "on");
  loop("LoopEndsItself", largest,
       "initializer { name: \"five\" data_type: 7 int64_data: 5 } " +
           NodeText("Less", "i,five", "on") + same,
       "", true);
  loop("LoopBackwards", absl::StrCat("int64_data: ", kSmallest), on + same, "", true);
  loop("LoopTripsAreAList", "dims: 2 int64_data: [1, 2]", on + same, "culprit", false);
  // 64 MiB an iteration.
  loop("LoopCollectsWithoutEnd", largest,
       IntsText("n", {16 << 20}) + on + NodeText("Identity", "v", "w") +
           NodeText("Expand", "v,n", "c"),
       "culprit", false);
  loop("LoopGrowsWithoutEnd", largest,
       on + NodeText("Concat", "v,v", "w", IntAttribute("axis", 0)) +
           NodeText("Identity", "go", "c"),
       "", false);
  loop("LoopConditionIsANumber", "int64_data: 3", NodeText("Identity", "v", "on") + same, "culprit",
       false);
  loop(
      "LoopSlicesDiffer", "int64_data: 3",
      on + NodeText("Concat", "v,v", "w", IntAttribute("axis", 0)) + NodeText("Identity", "v", "c"),
      "culprit", false);

  auto branch = [](absl::string_view name, const std::string& nodes) {
    return absl::StrCat(" attribute { name: \"", name, "\" type: GRAPH g { ", nodes,
                        OutputText("r"), " } }");
  };
  const std::string same_branch = NodeText("Identity", "x", "r");
  cases.push_back(One("IfOfAList", "If", "c", InputText("c", 9, "2") + FloatInput("x", "2"),
                      branch("then_branch", same_branch) + branch("else_branch", same_branch)));
  cases.push_back(One("IfOfANumber", "If", "x", FloatInput("x", "1"),
                      branch("then_branch", same_branch) + branch("else_branch", same_branch)));
  cases.push_back(One("IfWithoutElse", "If", "c", InputText("c", 9, "") + FloatInput("x", "2"),
                      branch("then_branch", same_branch)));
  // The importer's own attribute.
  cases.push_back(One("IfCountsItsCaptures", "If", "c",
                      InputText("c", 9, "") + FloatInput("x", "2"),
                      branch("then_branch", same_branch) + branch("else_branch", same_branch) +
                          IntAttribute("captures", -2147483648)));
  const std::string scan = "attribute { name: \"body\" type: GRAPH g { " + FloatInput("a", "2") +
                           FloatInput("b", "2") + NodeText("Add", "a,b", "r") + OutputText("r") +
                           " } }";
  cases.push_back(One("ScanLengthsDiffer", "Scan", "x,z",
                      FloatInput("x", "3,2") + FloatInput("z", "4,2"),
                      scan + IntAttribute("num_scan_inputs", 2)));
  cases.push_back(One("ScanOfTooMany", "Scan", "x,x", FloatInput("x", "3,2"),
                      scan + IntAttribute("num_scan_inputs", 7)));
  cases.push_back(
      One("ScanAxisOutside", "Scan", "x,x", FloatInput("x", "3,2"),
          scan + IntAttribute("num_scan_inputs", 2) + IntsAttribute("scan_input_axes", {9, 0})));
  cases.push_back(One(
      "ScanDirectionUnknown", "Scan", "x,x", FloatInput("x", "3,2"),
      scan + IntAttribute("num_scan_inputs", 2) + IntsAttribute("scan_input_directions", {5, 0})));
}

void AddSequences(Cases& cases) {
  auto sequence = [&](std::string name, absl::string_view op, absl::string_view more,
                      const std::string& declared, const std::string& attributes = "") {
    cases.push_back(Text(
        std::move(name),
        ModelText(18,
                  FloatInput("x", "2,3") + declared + NodeText("SequenceConstruct", "x,x", "s") +
                      NodeText(op, absl::StrCat("s", more), "y", "name: \"culprit\"" + attributes) +
                      OutputText("y")),
        "culprit"));
  };
  auto scalar = [](int64_t value) {
    return absl::StrCat("initializer { name: \"p\" data_type: 7 int64_data: ", value, " } ");
  };
  sequence("SequenceAtOutside", "SequenceAt", ",p", scalar(2));
  sequence("SequenceAtSmallest", "SequenceAt", ",p", scalar(kSmallest));
  sequence("SequenceEraseOutside", "SequenceErase", ",p", scalar(-3));
  sequence("SequenceInsertOutside", "SequenceInsert", ",x,p", scalar(kLargest));
  sequence("SequenceInsertOfAnotherType", "SequenceInsert", ",q",
           "initializer { name: \"q\" data_type: 7 dims: 1 int64_data: 1 } ");
  sequence("SequenceIsNoTensor", "Relu", "", "");
  sequence("SequenceAxisOutside", "ConcatFromSequence", "", "", IntAttribute("axis", 9));
  sequence("SequenceIsNoOptional", "OptionalGetElement", ",x", "");
  cases.push_back(One("TensorIsNoSequence", "SequenceAt", "x,p", FloatInput("x", "2") + scalar(0)));
  cases.push_back(
      One("SplitToSequenceOfZero", "SplitToSequence", "x,p", FloatInput("x", "2") + scalar(0)));
  cases.push_back(
      One("SplitToSequenceNegative", "SplitToSequence", "x,p", FloatInput("x", "2") + scalar(-1)));
}

}  // namespace

void AddControlFlow(Cases& cases) {
  AddLoops(cases);
  AddSequences(cases);
}

}  // namespace inferd::engine
