#include "engine/providers/cpu/onednn/primitive.h"

#include <algorithm>
#include <optional>

#include "engine/providers/cpu/blocked_layout.h"
#include "engine/providers/cpu/openmp_shim.h"
#include "engine/status_macros.h"

namespace inferd::engine::cpu {

using dnnl::memory;

dnnl::engine& OneDnnEngine() {
  // Never destroyed: primitives of leaked providers refer to it.
  static auto* const engine = new dnnl::engine(dnnl::engine::kind::cpu, 0);
  return *engine;
}

int ChannelBlock() {
  static const int block = [] {
    const auto isa = static_cast<unsigned>(dnnl::get_effective_cpu_isa());
    constexpr auto kAvx512 = static_cast<unsigned>(dnnl::cpu_isa::avx512_core);
    return (isa & kAvx512) == kAvx512 ? 16 : 8;
  }();
  return block;
}

memory::desc PlainDesc(absl::Span<const int64_t> dims) {
  const auto strides = RowMajorStrides(Shape(dims));
  return StridedDesc(dims, strides);
}

memory::desc StridedDesc(absl::Span<const int64_t> dims, absl::Span<const int64_t> strides) {
  return memory::desc(ToDims(dims), memory::data_type::f32, ToDims(strides));
}

memory::desc AnyDesc(absl::Span<const int64_t> dims) {
  return memory::desc(ToDims(dims), memory::data_type::f32, memory::format_tag::any);
}

memory::desc DescOf(const Shape& shape, Layout layout) {
  if (layout.is_plain()) return PlainDesc(shape.dims());
  using tag = memory::format_tag;
  const bool wide = layout.channel_block == 16;
  tag format = tag::undef;
  switch (shape.rank()) {
    case 3:
      format = wide ? tag::nCw16c : tag::nCw8c;
      break;
    case 4:
      format = wide ? tag::nChw16c : tag::nChw8c;
      break;
    case 5:
      format = wide ? tag::nCdhw16c : tag::nCdhw8c;
      break;
    default:
      break;
  }
  return memory::desc(ToDims(shape.dims()), memory::data_type::f32, format);
}

void AppendActivations(const ActivationChain& chain, dnnl::post_ops* post_ops) {
  using alg = dnnl::algorithm;
  auto append = [&](alg algorithm, float alpha = 0.0f, float beta = 0.0f) {
    post_ops->append_eltwise(1.0f, algorithm, alpha, beta);
  };
  for (const Activation& a : chain) {
    switch (a.kind) {
      case ActivationKind::kRelu:
        append(alg::eltwise_relu);
        break;
      case ActivationKind::kLeakyRelu:
        append(alg::eltwise_relu, a.alpha);
        break;
      case ActivationKind::kClip:
        append(alg::eltwise_clip, a.alpha, a.beta);
        break;
      case ActivationKind::kSigmoid:
        append(alg::eltwise_logistic);
        break;
      case ActivationKind::kTanh:
        append(alg::eltwise_tanh);
        break;
      case ActivationKind::kElu:
        append(alg::eltwise_elu, a.alpha);
        break;
      case ActivationKind::kHardSigmoid:
        append(alg::eltwise_linear, a.alpha, a.beta);
        append(alg::eltwise_clip, 0.0f, 1.0f);
        break;
      case ActivationKind::kHardSwish:
        append(alg::eltwise_hardswish);
        break;
      case ActivationKind::kSilu:
        append(alg::eltwise_swish, 1.0f);
        break;
      case ActivationKind::kGelu:
        append(alg::eltwise_gelu_erf);
        break;
      case ActivationKind::kGeluTanh:
        append(alg::eltwise_gelu_tanh);
        break;
      case ActivationKind::kSoftplus:
        append(alg::eltwise_soft_relu);
        break;
      case ActivationKind::kMish:
        append(alg::eltwise_mish);
        break;
    }
  }
}

int WorthwhileThreads(double operations, int threads) {
  // Some 20 microseconds of one core, a few times what it takes to wake a thread and wait for it.
  constexpr double kOperationsPerThread = 1e6;
  const double useful = operations / kOperationsPerThread;
  return useful >= threads ? threads : std::max(1, static_cast<int>(useful));
}

bool IsReferenceImplementation(const std::string& impl_info) {
  return impl_info.rfind("ref", 0) == 0;
}

absl::StatusOr<Tensor> PackConstant(const Tensor& source, const memory::desc& from,
                                    const memory::desc& to, PackedWeights* packed) {
  auto pack = [&]() -> absl::StatusOr<Tensor> {
    ASSIGN_OR_RETURN(Tensor target,
                     Tensor::Allocate(ElementType::kUint8, {static_cast<int64_t>(to.get_size())}));
    return CatchDnnl("weight reorder", [&]() -> absl::StatusOr<Tensor> {
      memory source_memory(from, OneDnnEngine(), source.view().data);
      memory target_memory(to, OneDnnEngine(), target.view().data);
      ScopedOpenMpPool serial(1);
      dnnl::stream stream(OneDnnEngine());
      dnnl::reorder(source_memory, target_memory).execute(stream, source_memory, target_memory);
      stream.wait();
      return target;
    });
  };
  if (packed == nullptr) return pack();
  // The descriptors are plain structs without pointers: their bytes say all about the form.
  std::string form = "onednn:";
  form.append(reinterpret_cast<const char*>(&from.data), sizeof(from.data));
  form.append(reinterpret_cast<const char*>(&to.data), sizeof(to.data));
  return packed->GetOrPack(source, form, pack);
}

// The memory objects of one caller. They remember the addresses they were last bound to: an arena
// does not move, so most runs of a context find a binding that fits as it is.
struct PrimitiveRunner::Binding {
  dnnl::stream stream;
  std::vector<memory> memories;
  std::vector<void*> addresses;
  std::vector<dnnl_exec_arg_t> arguments;
};

PrimitiveRunner::PrimitiveRunner(dnnl::primitive primitive, std::vector<Operand> operands,
                                 std::vector<Constant> constants, int threads)
    : primitive_(std::move(primitive)),
      threads_(threads),
      operands_(std::move(operands)),
      constants_(std::move(constants)) {
  for (const Constant& constant : constants_) {
    constant_memories_.emplace_back(constant.desc, OneDnnEngine(), constant.tensor.view().data);
  }
}

PrimitiveRunner::~PrimitiveRunner() = default;

std::unique_ptr<PrimitiveRunner::Binding> PrimitiveRunner::Borrow(
    absl::Span<void* const> addresses) const {
  {
    absl::MutexLock lock(&mutex_);
    if (!free_.empty()) {
      auto fits = std::find_if(free_.begin(), free_.end(), [&](const auto& binding) {
        return absl::MakeConstSpan(binding->addresses) == addresses;
      });
      if (fits == free_.end()) fits = free_.end() - 1;
      std::swap(*fits, free_.back());
      std::unique_ptr<Binding> binding = std::move(free_.back());
      free_.pop_back();
      return binding;
    }
  }
  auto binding = std::make_unique<Binding>();
  binding->stream = dnnl::stream(OneDnnEngine());
  for (const Operand& operand : operands_) {
    binding->memories.emplace_back(operand.desc, OneDnnEngine(), nullptr);
    binding->arguments.push_back({operand.argument, binding->memories.back().get()});
  }
  for (size_t i = 0; i < constants_.size(); ++i) {
    binding->arguments.push_back({constants_[i].argument, constant_memories_[i].get()});
  }
  binding->addresses.resize(operands_.size());
  return binding;
}

absl::Status PrimitiveRunner::Run(ThreadPool& threads, absl::Span<void* const> addresses) const {
  return CatchDnnl("execution", [&]() -> absl::Status {
    std::unique_ptr<Binding> binding = Borrow(addresses);
    dnnl_status_t status = dnnl_success;
    {
      std::optional<ScopedOpenMpPool> pool;
      if (threads_ == 1) {
        pool.emplace(1);
      } else {
        pool.emplace(threads);
      }
      for (size_t i = 0; i < addresses.size(); ++i) {
        if (binding->addresses[i] == addresses[i]) continue;
        binding->memories[i].set_data_handle(addresses[i]);
        binding->addresses[i] = addresses[i];
      }
      status = dnnl_primitive_execute(primitive_.get(), binding->stream.get(),
                                      static_cast<int>(binding->arguments.size()),
                                      binding->arguments.data());
    }
    absl::MutexLock lock(&mutex_);
    free_.push_back(std::move(binding));
    if (status != dnnl_success) {
      return absl::InternalError(absl::StrCat("oneDNN execution failed with status ", status));
    }
    return absl::OkStatus();
  });
}

namespace {

class UnaryPrimitiveKernel final : public Kernel {
 public:
  UnaryPrimitiveKernel(std::unique_ptr<PrimitiveRunner> runner, size_t workspace_bytes)
      : runner_(std::move(runner)), workspace_bytes_(workspace_bytes) {}

  size_t workspace_bytes() const override { return workspace_bytes_; }

  absl::Status Run(KernelContext& context) const override {
    void* addresses[3] = {context.input(0).data, context.output(0).data, nullptr};
    int n = 2;
    if (workspace_bytes_ > 0) addresses[n++] = context.workspace();
    return runner_->Run(context.threads(), absl::MakeConstSpan(addresses, n));
  }

 private:
  std::unique_ptr<PrimitiveRunner> runner_;
  size_t workspace_bytes_;
};

}  // namespace

std::unique_ptr<Kernel> MakeUnaryPrimitiveKernel(dnnl::primitive primitive,
                                                 const memory::desc& source,
                                                 const memory::desc& destination,
                                                 const memory::desc& scratchpad, int threads) {
  std::vector<PrimitiveRunner::Operand> operands = {{DNNL_ARG_SRC, source},
                                                    {DNNL_ARG_DST, destination}};
  const size_t workspace = scratchpad.get_size();
  if (workspace > 0) operands.push_back({DNNL_ARG_SCRATCHPAD, scratchpad});
  return std::make_unique<UnaryPrimitiveKernel>(
      std::make_unique<PrimitiveRunner>(std::move(primitive), std::move(operands),
                                        std::vector<PrimitiveRunner::Constant>{}, threads),
      workspace);
}

}  // namespace inferd::engine::cpu
