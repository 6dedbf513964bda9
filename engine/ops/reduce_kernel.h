// The reference kernel of the Reduce family; instantiated in reduce_*.cc, a few operators each.
#pragma once

#include <algorithm>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "engine/kernel/kernel.h"
#include "engine/ops/elementwise.h"
#include "engine/ops/reduction.h"
#include "engine/tensor/float16.h"

namespace inferd::engine {

// Which dimensions of input 0 the node reduces, from its constant axes and its attributes.
absl::StatusOr<ReductionPlan> PlanReduceNode(const NodeSpec& spec);

// Reducer<C> of reducers.h over elements of type T, C its compute type.
template <typename T, template <typename> class Reducer>
class ReduceKernel final : public Kernel {
 public:
  explicit ReduceKernel(ReductionPlan plan) : plan_(std::move(plan)) {}

  absl::Status Run(KernelContext& context) const override {
    const T* x = context.input(0).as<T>();
    T* y = context.output(0).as<T>();
    const int64_t grain =
        std::max<int64_t>(1, kElementwiseGrain / std::max<int64_t>(1, plan_.count));
    context.threads().ParallelFor(plan_.outputs, grain, [&](int64_t begin, int64_t end) {
      if (plan_.inner_reduced || plan_.kept.empty()) {
        for (int64_t i = begin; i < end; ++i) y[i] = Rows(x + plan_.Offset(i));
      } else {
        Columns(x, begin, end, y);
      }
    });
    return absl::OkStatus();
  }

 private:
  using Compute = ComputeType<T>;
  using Fold = Reducer<Compute>;
  using State = typename Fold::State;
  static constexpr int64_t kColumns = 128;

  // One output whose elements come in contiguous runs.
  T Rows(const T* x) const {
    State state = Fold::Start();
    const int64_t run = plan_.reduced.empty() ? 1 : plan_.reduced.back();
    ForEachReducedRow(plan_, plan_.reduced.empty() ? 0 : 1, [&](int64_t offset) {
      const T* row = x + offset;
      for (int64_t i = 0; i < run; ++i) Fold::Fold(state, static_cast<Compute>(row[i]));
    });
    return static_cast<T>(Fold::Finish(state, plan_.count));
  }

  // Outputs that are neighbours along the innermost dimension, kept: folded side by side.
  void Columns(const T* x, int64_t begin, int64_t end, T* y) const {
    State states[kColumns];
    const int64_t row_length = plan_.kept.back();
    while (begin < end) {
      const int64_t columns = std::min({end - begin, kColumns, row_length - begin % row_length});
      const T* base = x + plan_.Offset(begin);
      std::fill_n(states, columns, Fold::Start());
      ForEachReducedRow(plan_, 0, [&](int64_t offset) {
        const T* row = base + offset;
        for (int64_t i = 0; i < columns; ++i) {
          Fold::Fold(states[i], static_cast<Compute>(row[i]));
        }
      });
      for (int64_t i = 0; i < columns; ++i) {
        y[begin + i] = static_cast<T>(Fold::Finish(states[i], plan_.count));
      }
      begin += columns;
    }
  }

  ReductionPlan plan_;
};

template <template <typename> class Reducer, typename... Ts>
absl::StatusOr<std::unique_ptr<Kernel>> ReduceKernelFor(const NodeSpec& spec) {
  absl::StatusOr<ReductionPlan> plan = PlanReduceNode(spec);
  if (!plan.ok()) return plan.status();
  std::unique_ptr<Kernel> kernel;
  const ElementType type = spec.input(0).type;
  if (!DispatchType<Ts...>(type, [&]<typename T>() {
        kernel = std::make_unique<ReduceKernel<T, Reducer>>(*std::move(plan));
      })) {
    return UnsupportedType(spec, type);
  }
  return kernel;
}

// The types of the reductions that compute with numbers, and the reference for all of them.
inline constexpr ElementTypeSet kReducedTypes =
    type_sets::kFloats | ElementTypeSet{ElementType::kInt32, ElementType::kInt64,
                                        ElementType::kUint32, ElementType::kUint64};
template <template <typename> class Reducer>
absl::StatusOr<std::unique_ptr<Kernel>> ReduceReference(const NodeSpec& spec) {
  return ReduceKernelFor<Reducer, float, double, Float16, BFloat16, int32_t, int64_t, uint32_t,
                         uint64_t>(spec);
}

// Schema, shape function and registration shared by the family.
void RegisterReduceOp(OpRegistry& registry, const char* name, int version, ElementTypeSet types,
                      ReferenceFn reference);

void RegisterReduceSums(OpRegistry& registry);     // reduce_sums.cc
void RegisterReduceNorms(OpRegistry& registry);    // reduce_norms.cc
void RegisterReduceExtrema(OpRegistry& registry);  // reduce_extrema.cc

}  // namespace inferd::engine
