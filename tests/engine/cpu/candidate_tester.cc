#include "tests/engine/cpu/candidate_tester.h"

#include <cmath>
#include <cstring>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/device/device.h"
#include "engine/kernel/kernel.h"
#include "engine/kernel/packed_weights.h"
#include "engine/ops/op_def.h"
#include "engine/providers/cpu/blocked_layout.h"
#include "engine/providers/cpu/cpu_provider.h"
#include "engine/status_macros.h"

namespace inferd::engine {
namespace {

// One operand in memory, in some layout.
struct Placed {
  BufferRef buffer;
  TensorView view;
};

absl::StatusOr<Placed> Place(ElementType type, const Shape& shape, Layout layout) {
  Placed placed;
  placed.view = {type, shape, layout, nullptr};
  ASSIGN_OR_RETURN(placed.buffer, AllocateHostBuffer(placed.view.num_bytes()));
  placed.view.data = placed.buffer->data();
  // NaN everywhere: what a kernel forgets to write, or reads beyond its input, shows.
  std::memset(placed.view.data, 0xFF, placed.view.num_bytes());
  return placed;
}

// Position of logical element (n, c, s), by the definition in engine/tensor/layout.h.
int64_t At(const TensorView& v, int64_t n, int64_t c, int64_t s, int64_t spatial) {
  const int64_t block = v.layout.channel_block;
  const int64_t blocks = (v.shape[1] + block - 1) / block;
  return ((n * blocks + c / block) * spatial + s) * block + c % block;
}

template <typename Fn>
void ForEachElement(const Shape& shape, const Fn& fn) {
  const int64_t spatial = shape.Product(2, shape.rank());
  int64_t i = 0;
  for (int64_t n = 0; n < shape[0]; ++n) {
    for (int64_t c = 0; c < shape[1]; ++c) {
      for (int64_t s = 0; s < spatial; ++s) fn(i++, n, c, s, spatial);
    }
  }
}

absl::StatusOr<Placed> PlaceCopy(const Tensor& tensor, Layout layout) {
  ASSIGN_OR_RETURN(Placed placed, Place(tensor.type(), tensor.shape(), layout));
  if (layout.is_plain()) {
    std::memcpy(placed.view.data, tensor.view().data, tensor.num_bytes());
    return placed;
  }
  std::memset(placed.view.data, 0, placed.view.num_bytes());
  ForEachElement(tensor.shape(), [&](int64_t i, int64_t n, int64_t c, int64_t s, int64_t spatial) {
    placed.view.as<float>()[At(placed.view, n, c, s, spatial)] = tensor.data<float>()[i];
  });
  return placed;
}

class Context final : public KernelContext {
 public:
  Context(std::vector<TensorView> inputs, TensorView output, Stream& stream)
      : inputs_(std::move(inputs)), output_(std::move(output)), stream_(stream) {}
  absl::Status AllocateWorkspace(size_t bytes) {
    if (bytes == 0) return absl::OkStatus();
    ASSIGN_OR_RETURN(workspace_, AllocateHostBuffer(bytes));
    std::memset(workspace_->data(), 0xFF, bytes);
    return absl::OkStatus();
  }
  const TensorView& input(int i) const override { return has_input(i) ? inputs_[i] : absent_; }
  const TensorView& output(int i) const override { return i == 0 ? output_ : absent_; }
  bool has_input(int i) const override { return i < num_inputs() && inputs_[i].data != nullptr; }
  bool has_output(int i) const override { return i == 0; }
  int num_inputs() const override { return static_cast<int>(inputs_.size()); }
  int num_outputs() const override { return 1; }
  void* workspace() const override { return workspace_ ? workspace_->data() : nullptr; }
  Stream& stream() const override { return stream_; }
  absl::StatusOr<TensorView> AllocateOutput(int, const Shape&) override {
    return absl::InternalError("AllocateOutput for a fixed shape");
  }

 private:
  std::vector<TensorView> inputs_;
  TensorView output_;
  Stream& stream_;
  BufferRef workspace_;
  TensorView absent_;
};

absl::Status RunKernel(const Kernel& kernel, std::vector<TensorView> inputs, TensorView output,
                       Stream& stream) {
  Context context(std::move(inputs), std::move(output), stream);
  RETURN_IF_ERROR(context.AllocateWorkspace(kernel.workspace_bytes()));
  return kernel.Run(context);
}

absl::Status Compare(const TensorView& actual, const Tensor& expected, double atol, double rtol,
                     absl::string_view how) {
  absl::Status status;
  auto close = [&](int64_t i, float a) {
    const float e = expected.data<float>()[i];
    if (a == e || (std::isnan(a) && std::isnan(e))) return;
    if (std::abs(a - e) <= atol + rtol * std::abs(e)) return;
    status.Update(
        absl::InternalError(absl::StrCat(how, ": element ", i, " of ", actual.shape.ToString(),
                                         " is ", a, ", the reference gives ", e)));
  };
  if (actual.layout.is_plain()) {
    for (int64_t i = 0; i < expected.num_elements(); ++i) close(i, actual.as<float>()[i]);
    return status;
  }
  const int64_t block = actual.layout.channel_block;
  TensorView padded = actual;
  padded.shape[1] = (actual.shape[1] + block - 1) / block * block;
  ForEachElement(padded.shape, [&](int64_t, int64_t n, int64_t c, int64_t s, int64_t spatial) {
    const float a = actual.as<float>()[At(padded, n, c, s, spatial)];
    if (c < actual.shape[1]) {
      close((n * actual.shape[1] + c) * spatial + s, a);
    } else if (a != 0.0f) {
      status.Update(
          absl::InternalError(absl::StrCat(how, ": padding lane of channel ", c, " holds ", a)));
    }
  });
  return status;
}

}  // namespace

struct CandidateTester::Built {
  std::unique_ptr<Graph> graph;
  NodeSpec spec;
  Tensor expected;
};

CandidateTester& CandidateTester::Attr(std::string name, AttributeValue value) {
  attributes_.Set(std::move(name), std::move(value));
  return *this;
}
CandidateTester& CandidateTester::Input(Tensor tensor) {
  operands_.push_back({std::move(tensor), false});
  return *this;
}
CandidateTester& CandidateTester::Constant(Tensor tensor) {
  operands_.push_back({std::move(tensor), true});
  return *this;
}
CandidateTester& CandidateTester::NoInput() {
  operands_.push_back({});
  return *this;
}
CandidateTester& CandidateTester::Tolerance(double atol, double rtol) {
  atol_ = atol;
  rtol_ = rtol;
  return *this;
}

absl::StatusOr<CandidateTester::Built> CandidateTester::Build() const {
  Built built;
  built.graph = std::make_unique<Graph>("candidate");
  const size_t separator = op_.find("::");
  const bool internal = separator != std::string::npos;
  const OpDef& def = OpRegistry::Global().Get(internal ? op_.substr(separator + 2) : op_,
                                              internal ? op_.substr(0, separator) : "");
  std::vector<Value*> inputs;
  for (size_t i = 0; i < operands_.size(); ++i) {
    const Operand& o = operands_[i];
    const std::string name = absl::StrCat("in", i);
    if (!o.tensor.defined()) {
      inputs.push_back(nullptr);
    } else if (o.constant) {
      inputs.push_back(built.graph->AddConstant(name, o.tensor));
    } else {
      inputs.push_back(
          built.graph->AddInput(name, ValueType::TensorOf(o.tensor.type(), o.tensor.shape())));
    }
  }
  Node* node = built.graph->AddNode(def, "node", std::move(inputs), {built.graph->AddValue("out")},
                                    attributes_);
  RETURN_IF_ERROR(CheckNode(*node));
  RETURN_IF_ERROR(InferNode(*built.graph, *node));
  const auto shape = node->output(0)->type().shape.concrete();
  if (!shape.has_value()) return absl::InternalError("output shape not known");

  built.spec.node = node;
  for (size_t i = 0; i < operands_.size(); ++i) {
    const Tensor& tensor = operands_[i].tensor;
    OperandSpec operand;
    if (tensor.defined()) {
      operand = {true,           tensor.type(),
                 tensor.shape(), Layout::Plain(),
                 nullptr,        &node->input(static_cast<int>(i))->type()};
      if (operands_[i].constant) operand.constant = &operands_[i].tensor;
    }
    built.spec.inputs.push_back(operand);
  }
  built.spec.outputs.push_back({true, node->output(0)->type().element, *shape, Layout::Plain(),
                                nullptr, &node->output(0)->type()});

  if (def.reference == nullptr) return absl::UnimplementedError("no reference kernel");
  ASSIGN_OR_RETURN(auto reference, def.reference(built.spec));
  ASSIGN_OR_RETURN(built.expected, Tensor::Allocate(built.spec.output(0).type, *shape));
  ASSIGN_OR_RETURN(auto stream, CpuDevice().NewStream(1));
  std::vector<TensorView> views;
  for (const Operand& o : operands_) views.push_back(o.tensor.view());
  RETURN_IF_ERROR(RunKernel(*reference, std::move(views), built.expected.view(), *stream));
  return built;
}

namespace {

absl::StatusOr<const KernelImplementation*> FindCandidate(const OpDef& op, absl::string_view name) {
  for (const KernelImplementation* candidate : CpuProvider().Candidates(op)) {
    if (candidate->name() == name) return candidate;
  }
  return absl::NotFoundError(absl::StrCat("no candidate ", name, " for ", op.qualified_name()));
}

}  // namespace

absl::Status CandidateTester::Offer(absl::string_view candidate) const {
  ASSIGN_OR_RETURN(const Built built, Build());
  ASSIGN_OR_RETURN(const KernelImplementation* const implementation,
                   FindCandidate(built.spec.op(), candidate));
  return implementation->Accept(built.spec).status();
}

absl::Status CandidateTester::Check(absl::string_view candidate, Layouts wanted) const {
  ASSIGN_OR_RETURN(const Built built, Build());
  ASSIGN_OR_RETURN(const KernelImplementation* const implementation,
                   FindCandidate(built.spec.op(), candidate));
  PackedWeights packed;
  for (const bool blocked : {false, true}) {
    if (blocked ? wanted == Layouts::kPlain : wanted == Layouts::kBlocked) continue;
    for (const int threads : {1, 2}) {
      const std::string how = absl::StrCat(blocked ? "blocked" : "plain", " inputs, ", threads,
                                           threads == 1 ? " thread" : " threads");
      NodeSpec spec = built.spec;
      spec.threads = threads;
      spec.packed_weights = &packed;
      for (size_t i = 0; i < spec.inputs.size(); ++i) {
        if (blocked && !operands_[i].constant && spec.inputs[i].shape.rank() >= 3) {
          spec.inputs[i].layout = cpu::BlockedLayout();
        }
      }
      absl::StatusOr<KernelLayouts> layouts = implementation->Accept(spec);
      if (!layouts.ok()) {
        return absl::Status(layouts.status().code(),
                            absl::StrCat(how, ": ", layouts.status().message()));
      }
      if (layouts->inputs.size() != spec.inputs.size() || layouts->outputs.size() != 1) {
        return absl::InternalError(absl::StrCat(how, ": layouts for another number of operands"));
      }
      for (size_t i = 0; i < spec.inputs.size(); ++i) spec.inputs[i].layout = layouts->inputs[i];
      spec.outputs[0].layout = layouts->outputs[0];
      ASSIGN_OR_RETURN(auto kernel, implementation->Create(spec));
      ASSIGN_OR_RETURN(auto stream, CpuDevice().NewStream(threads));

      // Twice at fresh addresses, then once more at the last ones.
      std::vector<Placed> inputs;
      Placed output;
      for (int run = 0; run < 3; ++run) {
        if (run < 2) {
          inputs.clear();
          for (size_t i = 0; i < operands_.size(); ++i) {
            inputs.emplace_back();
            if (!operands_[i].tensor.defined()) continue;
            ASSIGN_OR_RETURN(inputs.back(), PlaceCopy(operands_[i].tensor, layouts->inputs[i]));
          }
          ASSIGN_OR_RETURN(output,
                           Place(spec.output(0).type, spec.output(0).shape, layouts->outputs[0]));
        }
        std::vector<TensorView> views;
        for (const Placed& input : inputs) views.push_back(input.view);
        RETURN_IF_ERROR(RunKernel(*kernel, std::move(views), output.view, *stream));
        RETURN_IF_ERROR(
            Compare(output.view, built.expected, atol_, rtol_, absl::StrCat(how, ", run ", run)));
      }
      for (int i : spec.op().in_place_inputs) {
        if (i >= static_cast<int>(inputs.size()) || operands_[i].constant) continue;
        if (inputs[i].view.data == nullptr || !(inputs[i].view.layout == output.view.layout) ||
            !(inputs[i].view.shape == output.view.shape)) {
          continue;
        }
        ASSIGN_OR_RETURN(Placed shared, PlaceCopy(operands_[i].tensor, layouts->inputs[i]));
        std::vector<TensorView> views;
        for (const Placed& input : inputs) views.push_back(input.view);
        views[i] = shared.view;
        RETURN_IF_ERROR(RunKernel(*kernel, std::move(views), shared.view, *stream));
        RETURN_IF_ERROR(Compare(shared.view, built.expected, atol_, rtol_,
                                absl::StrCat(how, ", in place of input ", i)));
      }
    }
  }
  return absl::OkStatus();
}

absl::Status CandidateTester::CheckSideBySide(absl::string_view candidate, int contexts) const {
  ASSIGN_OR_RETURN(Built built, Build());
  ASSIGN_OR_RETURN(const KernelImplementation* const implementation,
                   FindCandidate(built.spec.op(), candidate));
  constexpr int kThreads = 2, kRuns = 20;
  NodeSpec& spec = built.spec;
  spec.threads = kThreads;
  ASSIGN_OR_RETURN(const KernelLayouts layouts, implementation->Accept(spec));
  for (size_t i = 0; i < spec.inputs.size(); ++i) spec.inputs[i].layout = layouts.inputs[i];
  spec.outputs[0].layout = layouts.outputs[0];
  ASSIGN_OR_RETURN(const auto kernel, implementation->Create(spec));

  auto run_context = [&]() -> absl::Status {
    ASSIGN_OR_RETURN(auto stream, CpuDevice().NewStream(kThreads));
    std::vector<Placed> inputs;
    std::vector<TensorView> views;
    for (size_t i = 0; i < operands_.size(); ++i) {
      inputs.emplace_back();
      if (operands_[i].tensor.defined()) {
        ASSIGN_OR_RETURN(inputs.back(), PlaceCopy(operands_[i].tensor, layouts.inputs[i]));
      }
      views.push_back(inputs.back().view);
    }
    for (int run = 0; run < kRuns; ++run) {
      ASSIGN_OR_RETURN(Placed output,
                       Place(spec.output(0).type, spec.output(0).shape, layouts.outputs[0]));
      RETURN_IF_ERROR(RunKernel(*kernel, views, output.view, *stream));
      RETURN_IF_ERROR(Compare(output.view, built.expected, atol_, rtol_, "side by side"));
    }
    return absl::OkStatus();
  };
  std::vector<absl::Status> statuses(contexts);
  std::vector<std::thread> threads;
  for (absl::Status& status : statuses) {
    threads.emplace_back([&status, &run_context] { status = run_context(); });
  }
  for (std::thread& thread : threads) thread.join();
  for (const absl::Status& status : statuses) RETURN_IF_ERROR(status);
  return absl::OkStatus();
}

}  // namespace inferd::engine
