#include "engine/providers/cpu/cpu_provider.h"

#include <string>
#include <vector>

#include "engine/ops/op_def.h"
#include "engine/providers/cpu/candidate_table.h"
#include "engine/providers/cpu/vector/matmul_nbits.h"

namespace inferd::engine {
namespace {

// The operator's own reference kernel as a candidate. It takes plain layouts only.
class ReferenceImplementation final : public KernelImplementation {
 public:
  absl::string_view name() const override { return "reference"; }

  absl::StatusOr<KernelLayouts> Accept(const NodeSpec& spec) const override {
    if (spec.op().reference == nullptr) {
      return absl::UnimplementedError(spec.op().qualified_name() + " has no reference kernel");
    }
    return KernelLayouts{std::vector<Layout>(spec.inputs.size()),
                         std::vector<Layout>(spec.outputs.size())};
  }

  absl::StatusOr<std::unique_ptr<Kernel>> Create(const NodeSpec& spec) const override {
    if (spec.op().reference == nullptr) {
      return absl::UnimplementedError(spec.op().qualified_name() + " has no reference kernel");
    }
    return spec.op().reference(spec);
  }
};

class HostProvider final : public ExecutionProvider {
 public:
  HostProvider(absl::string_view name, bool fast) : name_(name) {
    if (!fast) return;
    cpu::RegisterReorder(table_);
    cpu::RegisterConvolution(table_);
    cpu::RegisterGroupedPointwise(table_);
    cpu::RegisterPlainConvolution(table_);
    cpu::RegisterMatVec(table_);
    cpu::RegisterMatMulNBits(table_);
    cpu::RegisterMatMul(table_);
    cpu::RegisterPooling(table_);
    cpu::RegisterLrn(table_);
    cpu::RegisterElementwise(table_);
    cpu::RegisterSoftmax(table_);
    cpu::RegisterLayerNorm(table_);
    cpu::RegisterBiasGelu(table_);
    cpu::RegisterTranspose(table_);
    cpu::RegisterBlockedConcat(table_);
    cpu::RegisterGlobalAveragePool(table_);
    cpu::RegisterChannelShuffleKernel(table_);
  }

  absl::string_view name() const override { return name_; }
  Device& device() const override { return CpuDevice(); }

  std::vector<const KernelImplementation*> Candidates(const OpDef& op) const override {
    const auto fast = table_.Find(op.qualified_name());
    std::vector<const KernelImplementation*> candidates(fast.begin(), fast.end());
    if (op.reference != nullptr) candidates.push_back(&reference_);
    return candidates;
  }

 private:
  absl::string_view name_;
  cpu::CandidateTable table_;
  ReferenceImplementation reference_;
};

}  // namespace

const ExecutionProvider& CpuProvider() {
  static const HostProvider* const provider = new HostProvider("cpu", /*fast=*/true);
  return *provider;
}

const ExecutionProvider& ReferenceProvider() {
  static const HostProvider* const provider = new HostProvider("reference", /*fast=*/false);
  return *provider;
}

}  // namespace inferd::engine
