// Loop: runs a body a number of times or while a condition holds, carrying values from one
// iteration to the next and stacking others.
#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/ops/all_ops.h"
#include "engine/ops/control_flow/bodies.h"
#include "engine/ops/control_flow/stacked_output.h"
#include "engine/ops/op_def.h"
#include "engine/ops/schema.h"
#include "engine/ops/shape_functions.h"
#include "engine/status_macros.h"

namespace inferd::engine {
namespace {

// A loop that runs longer holds its instance for ever; no exporter writes one on purpose.
constexpr int64_t kMaxIterations = 10'000'000;
constexpr int kFixedInputs = 2;  // trip count and condition, of the node and of the body

struct LoopForm {
  const Graph* body = nullptr;
  int carried = 0;
  int stacked = 0;
  int captures = 0;
};

absl::StatusOr<LoopForm> FormOf(const Node& node) {
  LoopForm form;
  ASSIGN_OR_RETURN(form.body, BodyOf(node, "body"));
  const int inputs = std::max(node.num_inputs(), kFixedInputs);
  form.captures = NumCaptures(node, inputs - kFixedInputs);
  form.carried = inputs - kFixedInputs - form.captures;
  RETURN_IF_ERROR(ExpectBodyInputs(*form.body, "body", inputs));
  const int outputs = static_cast<int>(form.body->outputs().size());
  form.stacked = outputs - 1 - form.carried;
  if (form.stacked < 0 || node.num_outputs() != form.carried + form.stacked) {
    return absl::InvalidArgumentError(absl::StrCat(
        "graph 'body' has ", outputs, " outputs, expected the condition, ", form.carried,
        " carried values and the scan outputs of a node with ", node.num_outputs(), " outputs"));
  }
  return form;
}

absl::Status Infer(InferenceContext& context) {
  ASSIGN_OR_RETURN(const LoopForm form, FormOf(context.node()));
  for (int i = 0; i < kFixedInputs; ++i) {
    if (context.has_input(i)) RETURN_IF_ERROR(ExpectScalar(context, i));
  }
  for (int i = 0; i < context.node().num_outputs(); ++i) {
    const ValueType& each = form.body->outputs()[1 + i]->type();
    if (i < form.carried) {
      // With no iteration the result is the initial value. An optional that the body opens is
      // what the body makes of it.
      const ValueType& initial = context.input_type(kFixedInputs + i);
      context.SetOutput(i, initial.kind == each.kind ? CommonType(initial, each) : each);
      continue;
    }
    if (!each.is_tensor()) {
      return absl::InvalidArgumentError(
          absl::StrCat("scan output ", i, " is a ", each.ToString(), ", expected a tensor"));
    }
    SymbolicShape shape;
    if (each.shape.has_rank()) {
      std::vector<Dim> dims = {Dim::Unknown()};
      dims.insert(dims.end(), each.shape.dims().begin(), each.shape.dims().end());
      shape = SymbolicShape(std::move(dims));
    }
    context.SetOutput(i, each.element, std::move(shape));
  }
  return absl::OkStatus();
}

// One run of a loop.
class LoopRun {
 public:
  LoopRun(KernelContext& context, int carried, int captures, int stacked)
      : context_(context), carried_(carried), inputs_(kFixedInputs + carried + captures) {
    for (int i = kFixedInputs; i < static_cast<int>(inputs_.size()); ++i) {
      inputs_[i] = context.input(i);
    }
    stacks_.reserve(stacked);
  }

  // `counter_shape` and `condition_shape`: of the body's first two inputs.
  absl::Status Run(const Shape& counter_shape, const Shape& condition_shape, int stacked) {
    int64_t trips = std::numeric_limits<int64_t>::max();
    if (context_.has_input(0)) {
      ASSIGN_OR_RETURN(const std::vector<int64_t> values, ToInt64Vector(context_.input(0)));
      if (values.size() != 1) return absl::InvalidArgumentError("the trip count is no scalar");
      trips = values[0];
    }
    bool condition = true;
    if (context_.has_input(1)) {
      ASSIGN_OR_RETURN(condition, ReadCondition(context_.input(1), "the condition"));
    }
    for (int i = 0; i < stacked; ++i) {
      stacks_.emplace_back(std::min(trips, kMaxIterations));
    }
    int64_t counter = 0;
    inputs_[0] = {ElementType::kInt64, counter_shape, Layout::Plain(), &counter};
    inputs_[1] = {ElementType::kBool, condition_shape, Layout::Plain(), &condition};
    for (; condition && counter < trips; ++counter) {
      if (counter == kMaxIterations) {
        return absl::ResourceExhaustedError(
            absl::StrCat("it has run ", kMaxIterations,
                         " iterations and its condition still "
                         "holds; check the model's trip count and condition"));
      }
      if (absl::Status status = Iterate(&condition); !status.ok()) {
        return absl::Status(status.code(),
                            absl::StrCat("iteration ", counter, ": ", status.message()));
      }
    }
    return absl::OkStatus();
  }

  // `slices`: dimensions of each scan output as far as known, for a loop that never ran.
  absl::Status Deliver(const std::vector<ValueType>& slices) {
    for (int i = 0; i < context_.num_outputs(); ++i) {
      if (!context_.has_output(i)) continue;
      if (i < carried_) {
        Tensor value;
        if (results_.empty()) {
          ASSIGN_OR_RETURN(value, Tensor::CopyOf(inputs_[kFixedInputs + i]));
        } else {
          value = results_[1 + i];
        }
        RETURN_IF_ERROR(context_.SetOutput(i, std::move(value)));
        continue;
      }
      StackedOutput& stack = stacks_[i - carried_];
      const ValueType& slice = slices[i - carried_];
      std::vector<int64_t> dims;
      if (slice.shape.has_rank()) {
        for (const Dim& d : slice.shape.dims()) dims.push_back(d.value());
      }
      ASSIGN_OR_RETURN(Tensor value, stack.count() == 0 ? EmptyStack(slice.element, dims, 0)
                                                        : stack.Finish(0, /*reverse=*/false));
      RETURN_IF_ERROR(context_.SetOutput(i, std::move(value)));
    }
    return absl::OkStatus();
  }

 private:
  absl::Status Iterate(bool* condition) {
    // Carried values lie in the results of the iteration before, which RunBody keeps while it runs.
    RETURN_IF_ERROR(context_.RunBody("body", inputs_, &results_));
    ASSIGN_OR_RETURN(*condition, ReadCondition(results_[0].view(), "the body's condition"));
    for (int i = 0; i < carried_; ++i) inputs_[kFixedInputs + i] = results_[1 + i].view();
    for (size_t s = 0; s < stacks_.size(); ++s) {
      if (!context_.has_output(carried_ + static_cast<int>(s))) continue;
      RETURN_IF_ERROR(stacks_[s].Append(results_[1 + carried_ + s].view()));
    }
    return absl::OkStatus();
  }

  KernelContext& context_;
  const int carried_;
  std::vector<TensorView> inputs_;
  std::vector<Tensor> results_;
  std::vector<StackedOutput> stacks_;
};

// Some exporters give the body's counter and condition a dimension of one.
Shape ScalarLike(const Value& formal) {
  const SymbolicShape& shape = formal.type().shape;
  return shape.has_rank() && shape.rank() == 1 ? Shape{1} : Shape{};
}

absl::StatusOr<std::unique_ptr<Kernel>> Reference(const NodeSpec& spec) {
  ASSIGN_OR_RETURN(const LoopForm form, FormOf(*spec.node));
  std::vector<ValueType> slices;
  for (int i = 0; i < form.stacked; ++i) {
    slices.push_back(form.body->outputs()[1 + form.carried + i]->type());
  }
  const Shape counter_shape = ScalarLike(*form.body->inputs()[0]);
  const Shape condition_shape = ScalarLike(*form.body->inputs()[1]);
  return MakeKernel([form, slices, counter_shape, condition_shape](KernelContext& context) {
    LoopRun run(context, form.carried, form.captures, form.stacked);
    RETURN_IF_ERROR(run.Run(counter_shape, condition_shape, form.stacked));
    return run.Deliver(slices);
  });
}

}  // namespace

void RegisterLoopOps(OpRegistry& registry) {
  registry.Register({.name = "Loop",
                     .version = 25,
                     .inputs = {OptionalParameter("M", "", {ElementType::kInt64}),
                                OptionalParameter("cond", "", {ElementType::kBool}),
                                RepeatedParameter("v_initial", "", {})},
                     .outputs = {RepeatedParameter("v_final_and_scan_outputs", "", {})},
                     .attributes = {{"body", AttributeSpec::Kind::kGraph, true}, kCapturesSpec},
                     .infer = Infer,
                     .reference = Reference,
                     .dynamic_outputs = true});
}

}  // namespace inferd::engine
