#include "engine/compile/kernel_selection.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "engine/ops/op_def.h"

namespace inferd::engine {
namespace {

std::string DescribeOperand(const OperandSpec& operand) {
  if (!operand.present) return "_";
  return absl::StrCat(ElementTypeName(operand.type), operand.shape.ToString(),
                      operand.layout.is_plain() ? "" : operand.layout.ToString());
}

}  // namespace

std::string DescribeSpec(const NodeSpec& spec) {
  const auto append = [](std::string* out, const OperandSpec& operand) {
    out->append(DescribeOperand(operand));
  };
  return absl::StrCat(spec.op().qualified_name(), "(", absl::StrJoin(spec.inputs, ", ", append),
                      ") -> ", absl::StrJoin(spec.outputs, ", ", append));
}

absl::StatusOr<SelectedKernel> SelectKernel(absl::Span<const ExecutionProvider* const> providers,
                                            NodeSpec& spec) {
  SelectedKernel selected;
  absl::Status failure;
  std::vector<Layout> input_layouts, output_layouts;
  for (const OperandSpec& o : spec.inputs) input_layouts.push_back(o.layout);
  for (const OperandSpec& o : spec.outputs) output_layouts.push_back(o.layout);

  for (const ExecutionProvider* provider : providers) {
    const std::vector<const KernelImplementation*> candidates = provider->Candidates(spec.op());
    if (candidates.empty()) {
      selected.declined.push_back(
          absl::StrCat(provider->name(), ": no kernel for ", spec.op().qualified_name()));
    }
    for (const KernelImplementation* candidate : candidates) {
      for (size_t i = 0; i < spec.inputs.size(); ++i) spec.inputs[i].layout = input_layouts[i];
      for (size_t i = 0; i < spec.outputs.size(); ++i) spec.outputs[i].layout = output_layouts[i];
      const auto decline = [&](const absl::Status& status) {
        selected.declined.push_back(absl::StrCat(candidate->name(), ": ", status.message()));
      };
      absl::StatusOr<KernelLayouts> layouts = candidate->Accept(spec);
      if (!layouts.ok()) {
        decline(layouts.status());
        continue;
      }
      if (layouts->inputs.size() != spec.inputs.size() ||
          layouts->outputs.size() != spec.outputs.size()) {
        decline(absl::InternalError("accepted with layouts for another number of operands"));
        continue;
      }
      for (size_t i = 0; i < spec.inputs.size(); ++i) spec.inputs[i].layout = layouts->inputs[i];
      for (size_t i = 0; i < spec.outputs.size(); ++i) {
        spec.outputs[i].layout = layouts->outputs[i];
      }
      absl::StatusOr<std::unique_ptr<Kernel>> kernel = candidate->Create(spec);
      if (!kernel.ok()) {
        decline(kernel.status());
        if (!absl::IsUnimplemented(kernel.status())) failure = kernel.status();
        continue;
      }
      selected.kernel = *std::move(kernel);
      selected.provider = provider;
      selected.name = std::string(candidate->name());
      selected.layouts = *std::move(layouts);
      return selected;
    }
  }
  if (!failure.ok()) {
    return absl::Status(failure.code(),
                        absl::StrCat(spec.node->display_name(), ": ", failure.message()));
  }
  return absl::UnimplementedError(absl::StrCat(spec.node->display_name(), ": no kernel runs ",
                                               DescribeSpec(spec), ": ",
                                               absl::StrJoin(selected.declined, "; ")));
}

NodeReport Report(const Node& node, const SelectedKernel& selected) {
  NodeReport report;
  report.node = node.display_name();
  report.op = node.op().qualified_name();
  report.provider = std::string(selected.provider->name());
  report.kernel = selected.name;
  report.layout =
      selected.layouts.outputs.empty() ? "plain" : selected.layouts.outputs[0].ToString();
  if (node.origins().size() > 1) report.fused_from = node.origins();
  report.declined = selected.declined;
  return report;
}

NodeReport ReportWithoutKernel(const Node& node, absl::string_view how) {
  NodeReport report;
  report.node = node.display_name();
  report.op = node.op().qualified_name();
  report.provider = "planner";
  report.kernel = std::string(how);
  report.layout = "plain";
  if (node.origins().size() > 1) report.fused_from = node.origins();
  return report;
}

}  // namespace inferd::engine
