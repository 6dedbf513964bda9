// Which kernel implementations the CPU provider offers for which operator, best first.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "engine/kernel/kernel.h"

namespace inferd::engine::cpu {

class CandidateTable {
 public:
  // Offers `implementation` for an operator, after those already offered for it.
  // `qualified_name` is OpDef::qualified_name(), e.g. "Conv" or "inferd::FusedConv".
  void Add(absl::string_view qualified_name, const KernelImplementation* implementation) {
    by_op_[std::string(qualified_name)].push_back(implementation);
  }
  // Keeps an implementation for as long as the table lives.
  const KernelImplementation* Own(std::unique_ptr<KernelImplementation> implementation) {
    owned_.push_back(std::move(implementation));
    return owned_.back().get();
  }
  absl::Span<const KernelImplementation* const> Find(absl::string_view qualified_name) const {
    auto it = by_op_.find(qualified_name);
    if (it == by_op_.end()) return {};
    return it->second;
  }

 private:
  std::vector<std::unique_ptr<KernelImplementation>> owned_;
  absl::flat_hash_map<std::string, std::vector<const KernelImplementation*>> by_op_;
};

// One per family; each lists its candidates in order of preference.
void RegisterReorder(CandidateTable& table);
void RegisterConvolution(CandidateTable& table);
void RegisterPlainConvolution(CandidateTable& table);
void RegisterGroupedPointwise(CandidateTable& table);
void RegisterMatVec(CandidateTable& table);
void RegisterMatMul(CandidateTable& table);
void RegisterPooling(CandidateTable& table);
void RegisterLrn(CandidateTable& table);
void RegisterElementwise(CandidateTable& table);
void RegisterSoftmax(CandidateTable& table);
void RegisterLayerNorm(CandidateTable& table);
void RegisterBiasGelu(CandidateTable& table);
void RegisterTranspose(CandidateTable& table);
void RegisterBlockedConcat(CandidateTable& table);
void RegisterGlobalAveragePool(CandidateTable& table);
void RegisterChannelShuffleKernel(CandidateTable& table);

}  // namespace inferd::engine::cpu
