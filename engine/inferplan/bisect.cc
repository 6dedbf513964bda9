#include "engine/inferplan/bisect.h"

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "engine/inferplan/error_measure.h"
#include "engine/ops/op_def.h"
#include "engine/passes/pass.h"
#include "engine/runtime/model.h"
#include "engine/status_macros.h"

namespace inferd::engine {
namespace {

// Nodes a sentence names before it counts the rest.
constexpr size_t kNamedNodes = 8;

std::vector<TensorView> ViewsOf(absl::Span<const Tensor> tensors) {
  std::vector<TensorView> views;
  for (const Tensor& t : tensors) views.push_back(t.view());
  return views;
}

absl::StatusOr<std::shared_ptr<Model>> ModelOf(std::unique_ptr<Graph> graph, bool eager) {
  ModelOptions options;
  options.eager = eager;
  options.stop_after_pass_steps = 0;
  return Model::FromGraph(std::move(graph), options);
}

std::string NodeText(const Node& node) {
  return absl::StrCat(node.display_name(), " [", node.op().qualified_name(), "]");
}

class Search {
 public:
  Search(const Graph& graph, absl::Span<const Tensor> inputs, absl::Span<const Tensor> reference,
         const BisectOptions& options)
      : graph_(graph), inputs_(inputs), reference_(reference), options_(options) {}

  absl::StatusOr<Culprit> Run() {
    ASSIGN_OR_RETURN(int hi, CountSteps());
    ASSIGN_OR_RETURN(const bool diverges, Diverges(hi, /*eager=*/false));
    Culprit culprit;
    if (!diverges) {
      culprit.sentence = "the outputs do not diverge";
      return culprit;
    }
    ASSIGN_OR_RETURN(const bool from_the_start, Diverges(0, /*eager=*/false));
    if (from_the_start) return WrongFromTheStart();
    int lo = 0;  // does not diverge; hi does
    while (hi - lo > 1) {
      const int middle = lo + (hi - lo) / 2;
      ASSIGN_OR_RETURN(const bool bad, Diverges(middle, /*eager=*/false));
      (bad ? hi : lo) = middle;
    }
    return WrongStep(hi);
  }

 private:
  absl::StatusOr<int> CountSteps() {
    std::unique_ptr<Graph> copy = graph_.Clone();
    ASSIGN_OR_RETURN(const std::vector<PassStep> steps,
                     RunPassSteps(*copy, OpRegistry::Global(),
                                  {.disabled = options_.disabled_passes, .stop_after = -1}));
    for (const PassStep& step : steps) passes_.emplace_back(step.name);
    return static_cast<int>(steps.size());
  }

  absl::StatusOr<std::unique_ptr<Graph>> GraphAfter(int steps) {
    std::unique_ptr<Graph> copy = graph_.Clone();
    RETURN_IF_ERROR(RunPassSteps(*copy, OpRegistry::Global(),
                                 {.disabled = options_.disabled_passes, .stop_after = steps})
                        .status());
    return copy;
  }

  absl::StatusOr<bool> Diverges(int steps, bool eager) {
    ASSIGN_OR_RETURN(std::unique_ptr<Graph> graph, GraphAfter(steps));
    ASSIGN_OR_RETURN(const std::vector<Tensor> outputs,
                     RunGraph(std::move(graph), eager, inputs_, options_.threads));
    for (size_t i = 0; i < reference_.size() && i < outputs.size(); ++i) {
      const std::string difference =
          CompareTensors(outputs[i].view(), reference_[i].view(), options_.tolerance);
      if (!difference.empty()) return true;
    }
    return false;
  }

  absl::StatusOr<Culprit> WrongFromTheStart() {
    Culprit culprit;
    culprit.step = 0;
    ASSIGN_OR_RETURN(const bool reference_diverges, Diverges(0, /*eager=*/true));
    if (reference_diverges) {
      culprit.sentence =
          "the reference kernels diverge as well: the fault lies in an operator's meaning or in "
          "its "
          "import, not in a pass or in a fast kernel";
      return culprit;
    }
    ASSIGN_OR_RETURN(std::unique_ptr<Graph> graph, GraphAfter(0));
    RETURN_IF_ERROR(FindNode(*graph, culprit));
    culprit.sentence = absl::StrCat("outputs diverge without any pass; ", culprit.sentence);
    return culprit;
  }

  absl::StatusOr<Culprit> WrongStep(int step) {
    Culprit culprit;
    culprit.step = step;
    culprit.pass = passes_[step - 1];
    const std::string head = absl::StrCat("outputs diverge from step ", step, " of ",
                                          passes_.size(), ", pass ", culprit.pass, "; ");
    ASSIGN_OR_RETURN(const bool rewrite_is_wrong, Diverges(step, /*eager=*/true));
    ASSIGN_OR_RETURN(std::unique_ptr<Graph> after, GraphAfter(step));
    if (!rewrite_is_wrong) {
      RETURN_IF_ERROR(FindNode(*after, culprit));
      culprit.sentence =
          absl::StrCat(head, "its rewrite is right by the reference kernels; ", culprit.sentence);
      return culprit;
    }
    ASSIGN_OR_RETURN(std::unique_ptr<Graph> before, GraphAfter(step - 1));
    culprit.nodes = NewNodes(*before, *after);
    const size_t named = std::min(culprit.nodes.size(), kNamedNodes);
    culprit.sentence = absl::StrCat(
        head, "its rewrite is wrong by the reference kernels too; nodes it made or changed: ",
        absl::StrJoin(absl::MakeSpan(culprit.nodes).subspan(0, named), ", "),
        named < culprit.nodes.size() ? absl::StrCat(" and ", culprit.nodes.size() - named, " more")
                                     : "");
    return culprit;
  }

  // Nodes whose name, operator or inputs differ from every node before.
  static std::vector<std::string> NewNodes(const Graph& before, const Graph& after) {
    const auto key = [](const Node& node) {
      std::string text = NodeText(node);
      for (const Value* input : node.inputs()) {
        absl::StrAppend(&text, " ", input == nullptr ? "" : input->name());
      }
      return text;
    };
    absl::flat_hash_set<std::string> known;
    for (const auto& node : before.nodes()) known.insert(key(*node));
    std::vector<std::string> fresh;
    for (const auto& node : after.nodes()) {
      if (!known.contains(key(*node))) fresh.push_back(NodeText(*node));
    }
    return fresh;
  }

  // The first node, in order, whose value by the plan's kernel is not that by the reference
  // kernels of the same graph.
  absl::Status FindNode(const Graph& graph, Culprit& culprit) {
    ASSIGN_OR_RETURN(const auto expected, ReferenceValues(graph));
    std::unique_ptr<Graph> observed = graph.Clone();
    std::vector<std::pair<std::string, const Node*>> made;
    const size_t first = observed->outputs().size();
    for (const auto& node : observed->nodes()) {
      for (Value* value : node->outputs()) {
        if (value == nullptr || !expected.contains(value->name())) continue;
        made.emplace_back(value->name(), node.get());
        observed->AddOutput(value, absl::StrCat("observed ", made.size()));
      }
    }
    std::map<std::string, std::string> texts;
    for (const auto& [name, node] : made) texts[name] = NodeText(*node);
    ASSIGN_OR_RETURN(std::shared_ptr<Model> model, ModelOf(std::move(observed), /*eager=*/false));
    ASSIGN_OR_RETURN(std::unique_ptr<Context> context,
                     model->NewContext({options_.threads, false}));
    std::vector<Tensor> outputs;
    RETURN_IF_ERROR(context->Run(ViewsOf(inputs_), &outputs));
    for (size_t i = 0; i < made.size(); ++i) {
      const std::string& name = made[i].first;
      const ErrorMeasure error =
          MeasureError(outputs[first + i].view(), expected.at(name).view(), options_.tolerance);
      if (error.divergence.empty()) continue;
      culprit.nodes.push_back(texts.at(name));
      culprit.sentence = absl::StrCat("the first node that diverges is ", texts.at(name),
                                      KernelOf(*model, texts.at(name)), ", value \"", name,
                                      "\": ", error.ToString(), "; ", error.divergence);
      return absl::OkStatus();
    }
    culprit.sentence =
        "no node diverges when every value is observed, which changes layouts and memory: suspect "
        "the memory plan or a reorder between layouts";
    return absl::OkStatus();
  }

  absl::StatusOr<std::map<std::string, Tensor>> ReferenceValues(const Graph& graph) {
    ASSIGN_OR_RETURN(std::shared_ptr<Model> model, ModelOf(graph.Clone(), /*eager=*/true));
    ASSIGN_OR_RETURN(std::unique_ptr<Context> context,
                     model->NewContext({options_.threads, false}));
    std::map<std::string, Tensor> values;
    absl::Status status;
    context->SetObserver([&](absl::string_view name, const TensorView& view) {
      absl::StatusOr<Tensor> copy = Tensor::CopyOf(view);
      if (copy.ok()) {
        values[std::string(name)] = *std::move(copy);
      } else {
        status = copy.status();
      }
    });
    std::vector<Tensor> outputs;
    RETURN_IF_ERROR(context->Run(ViewsOf(inputs_), &outputs));
    RETURN_IF_ERROR(status);
    return values;
  }

  std::string KernelOf(Model& model, const std::string& text) {
    std::vector<Shape> shapes;
    for (const Tensor& input : inputs_) shapes.push_back(input.shape());
    const absl::StatusOr<std::vector<NodeReport>> report = model.Report(shapes, options_.threads);
    if (!report.ok()) return "";
    for (const NodeReport& node : *report) {
      if (absl::StrCat(node.node, " [", node.op, "]") != text) continue;
      return absl::StrCat(" by ", node.provider, "/", node.kernel);
    }
    return "";
  }

  const Graph& graph_;
  const absl::Span<const Tensor> inputs_;
  const absl::Span<const Tensor> reference_;
  const BisectOptions& options_;
  std::vector<std::string> passes_;
};

}  // namespace

absl::StatusOr<std::vector<Tensor>> RunGraph(std::unique_ptr<Graph> graph, bool eager,
                                             absl::Span<const Tensor> inputs, int threads) {
  ASSIGN_OR_RETURN(std::shared_ptr<Model> model, ModelOf(std::move(graph), eager));
  ASSIGN_OR_RETURN(std::unique_ptr<Context> context, model->NewContext({threads, false}));
  std::vector<Tensor> outputs;
  RETURN_IF_ERROR(context->Run(ViewsOf(inputs), &outputs));
  return outputs;
}

absl::StatusOr<Culprit> FindCulprit(const Graph& graph, absl::Span<const Tensor> inputs,
                                    absl::Span<const Tensor> reference,
                                    const BisectOptions& options) {
  return Search(graph, inputs, reference, options).Run();
}

}  // namespace inferd::engine
