// Scan: runs a body once per slice of its scan inputs, carrying states and stacking outputs.
#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/ops/all_ops.h"
#include "engine/ops/control_flow/bodies.h"
#include "engine/ops/control_flow/stacked_output.h"
#include "engine/ops/element_copy.h"
#include "engine/ops/op_def.h"
#include "engine/ops/schema.h"
#include "engine/status_macros.h"

namespace inferd::engine {
namespace {

struct ScanForm {
  const Graph* body = nullptr;
  int states = 0;
  int scanned = 0;
  int stacked = 0;
  int captures = 0;
  std::vector<int64_t> input_axes;
  std::vector<int64_t> input_directions;
  std::vector<int64_t> output_axes;
  std::vector<int64_t> output_directions;
};

absl::Status ReadList(const Node& node, const char* name, int count, std::vector<int64_t>* list) {
  *list = node.attributes().GetInts(name);
  if (list->empty()) list->assign(count, 0);
  if (static_cast<int>(list->size()) == count) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("attribute '", name, "' has ", list->size(), " numbers, expected ", count));
}

absl::StatusOr<ScanForm> FormOf(const Node& node) {
  ScanForm form;
  ASSIGN_OR_RETURN(form.body, BodyOf(node, "body"));
  form.captures = NumCaptures(node, node.num_inputs());
  const int given = node.num_inputs() - form.captures;
  const int64_t scanned = node.attributes().GetInt("num_scan_inputs", 0);
  if (scanned < 1 || scanned > given) {
    return absl::InvalidArgumentError(absl::StrCat("attribute 'num_scan_inputs' is ", scanned,
                                                   ", expected 1 to ", given,
                                                   ", the number of inputs"));
  }
  form.scanned = static_cast<int>(scanned);
  form.states = given - form.scanned;
  RETURN_IF_ERROR(ExpectBodyInputs(*form.body, "body", node.num_inputs()));
  form.stacked = static_cast<int>(form.body->outputs().size()) - form.states;
  if (form.stacked < 0 || node.num_outputs() != form.states + form.stacked) {
    return absl::InvalidArgumentError(absl::StrCat(
        "graph 'body' has ", form.body->outputs().size(), " outputs, expected ", form.states,
        " states and the scan outputs of a node with ", node.num_outputs(), " outputs"));
  }
  RETURN_IF_ERROR(ReadList(node, "scan_input_axes", form.scanned, &form.input_axes));
  RETURN_IF_ERROR(ReadList(node, "scan_input_directions", form.scanned, &form.input_directions));
  RETURN_IF_ERROR(ReadList(node, "scan_output_axes", form.stacked, &form.output_axes));
  RETURN_IF_ERROR(ReadList(node, "scan_output_directions", form.stacked, &form.output_directions));
  for (const std::vector<int64_t>* directions : {&form.input_directions, &form.output_directions}) {
    for (int64_t direction : *directions) {
      if (direction == 0 || direction == 1) continue;
      return absl::InvalidArgumentError(
          absl::StrCat("a scan direction is ", direction, ", expected 0 (forward) or 1 (reverse)"));
    }
  }
  return form;
}

absl::Status Infer(InferenceContext& context) {
  ASSIGN_OR_RETURN(const ScanForm form, FormOf(context.node()));
  Dim length;
  for (int s = 0; s < form.scanned; ++s) {
    const SymbolicShape& shape = context.shape(form.states + s);
    if (!shape.has_rank()) continue;
    ASSIGN_OR_RETURN(const int axis, NormalizeAxis(form.input_axes[s], shape.rank()));
    if (shape[axis].known()) length = shape[axis];
  }
  for (int i = 0; i < context.node().num_outputs(); ++i) {
    const ValueType& each = form.body->outputs()[i]->type();
    if (i < form.states) {
      context.SetOutput(i, CommonType(context.input_type(i), each));
      continue;
    }
    if (!each.is_tensor()) {
      return absl::InvalidArgumentError(
          absl::StrCat("scan output ", i, " is a ", each.ToString(), ", expected a tensor"));
    }
    SymbolicShape shape;
    if (each.shape.has_rank()) {
      std::vector<Dim> dims = each.shape.dims();
      ASSIGN_OR_RETURN(const int axis, NormalizeAxis(form.output_axes[i - form.states],
                                                     static_cast<int>(dims.size()) + 1));
      dims.insert(dims.begin() + axis, length);
      shape = SymbolicShape(std::move(dims));
    }
    context.SetOutput(i, each.element, std::move(shape));
  }
  return absl::OkStatus();
}

// One scan input: its slices, in place where the axis is the first, else copied out.
class SlicedInput {
 public:
  static absl::StatusOr<SlicedInput> Make(const TensorView& input, int64_t axis, bool reverse) {
    SlicedInput sliced;
    if (input.type == ElementType::kComposite || ElementBits(input.type) % 8 != 0) {
      return absl::UnimplementedError(absl::StrCat("scan inputs of type ",
                                                   ElementTypeName(input.type),
                                                   " are not supported; use whole-byte tensors"));
    }
    ASSIGN_OR_RETURN(const int at, NormalizeAxis(axis, input.shape.rank()));
    sliced.input_ = input;
    sliced.reverse_ = reverse;
    sliced.length_ = input.shape[at];
    sliced.outer_ = input.shape.Product(0, at);
    sliced.inner_ = input.shape.Product(at + 1, input.shape.rank());
    for (int d = 0; d < input.shape.rank(); ++d) {
      if (d != at) sliced.shape_.push_back(input.shape[d]);
    }
    if (sliced.outer_ != 1) {
      ASSIGN_OR_RETURN(sliced.copy_, Tensor::Allocate(input.type, sliced.shape_));
    }
    return sliced;
  }

  int64_t length() const { return length_; }

  // Valid until the next call.
  TensorView Slice(int64_t i) {
    const int64_t at = reverse_ ? length_ - 1 - i : i;
    if (!copy_.defined()) {
      auto* data = static_cast<char*>(input_.data) + at * inner_ * (ElementBits(input_.type) / 8);
      return {input_.type, shape_, Layout::Plain(), data};
    }
    const ElementCopier copier(input_.type);
    for (int64_t o = 0; o < outer_; ++o) {
      copier.Copy(input_.data, (o * length_ + at) * inner_, copy_.view().data, o * inner_, inner_);
    }
    return copy_.view();
  }

 private:
  TensorView input_;
  Shape shape_;
  Tensor copy_;
  int64_t length_ = 0;
  int64_t outer_ = 1;
  int64_t inner_ = 1;
  bool reverse_ = false;
};

absl::Status RunScan(const ScanForm& form, const std::vector<ValueType>& slices,
                     KernelContext& context) {
  std::vector<TensorView> inputs(context.num_inputs());
  for (int i = 0; i < context.num_inputs(); ++i) inputs[i] = context.input(i);
  std::vector<SlicedInput> scanned;
  for (int s = 0; s < form.scanned; ++s) {
    ASSIGN_OR_RETURN(SlicedInput sliced,
                     SlicedInput::Make(inputs[form.states + s], form.input_axes[s],
                                       form.input_directions[s] != 0));
    if (s > 0 && sliced.length() != scanned[0].length()) {
      return absl::InvalidArgumentError(absl::StrCat("scan input ", s, " has ", sliced.length(),
                                                     " slices, scan input 0 has ",
                                                     scanned[0].length()));
    }
    scanned.push_back(std::move(sliced));
  }
  const int64_t length = scanned[0].length();
  std::vector<StackedOutput> stacks(form.stacked, StackedOutput(length));
  std::vector<Tensor> results;
  for (int64_t i = 0; i < length; ++i) {
    for (int s = 0; s < form.scanned; ++s) inputs[form.states + s] = scanned[s].Slice(i);
    absl::Status status = context.RunBody("body", inputs, &results);
    for (int s = 0; status.ok() && s < form.stacked; ++s) {
      if (context.has_output(form.states + s)) {
        status = stacks[s].Append(results[form.states + s].view());
      }
    }
    if (!status.ok()) {
      return absl::Status(status.code(), absl::StrCat("iteration ", i, ": ", status.message()));
    }
    for (int s = 0; s < form.states; ++s) inputs[s] = results[s].view();
  }
  for (int i = 0; i < context.num_outputs(); ++i) {
    if (!context.has_output(i)) continue;
    Tensor value;
    if (i < form.states) {
      ASSIGN_OR_RETURN(
          value, length == 0 ? Tensor::CopyOf(inputs[i]) : absl::StatusOr<Tensor>(results[i]));
    } else {
      const int s = i - form.states;
      std::vector<int64_t> dims;
      if (slices[s].shape.has_rank()) {
        for (const Dim& d : slices[s].shape.dims()) dims.push_back(d.value());
      }
      ASSIGN_OR_RETURN(value, length == 0 ? EmptyStack(slices[s].element, dims, form.output_axes[s])
                                          : stacks[s].Finish(form.output_axes[s],
                                                             form.output_directions[s] != 0));
    }
    RETURN_IF_ERROR(context.SetOutput(i, std::move(value)));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Kernel>> Reference(const NodeSpec& spec) {
  ASSIGN_OR_RETURN(const ScanForm form, FormOf(*spec.node));
  std::vector<ValueType> slices;
  for (int i = 0; i < form.stacked; ++i) {
    slices.push_back(form.body->outputs()[form.states + i]->type());
  }
  return MakeKernel(
      [form, slices](KernelContext& context) { return RunScan(form, slices, context); });
}

}  // namespace

void RegisterScanOps(OpRegistry& registry) {
  registry.Register({.name = "Scan",
                     .version = 25,
                     .oldest_version = 9,
                     .inputs = {VariadicParameter("initial_state_and_scan_inputs", "", {})},
                     .outputs = {RepeatedParameter("final_state_and_scan_outputs", "", {})},
                     .attributes = {{"body", AttributeSpec::Kind::kGraph, true},
                                    {"num_scan_inputs", AttributeSpec::Kind::kInt, true},
                                    {"scan_input_axes", AttributeSpec::Kind::kInts},
                                    {"scan_input_directions", AttributeSpec::Kind::kInts},
                                    {"scan_output_axes", AttributeSpec::Kind::kInts},
                                    {"scan_output_directions", AttributeSpec::Kind::kInts},
                                    kCapturesSpec},
                     .infer = Infer,
                     .reference = Reference,
                     .dynamic_outputs = true});
}

}  // namespace inferd::engine
