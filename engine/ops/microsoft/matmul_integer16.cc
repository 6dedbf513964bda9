// com.microsoft MatMulInteger16: matrix product of 16-bit integers with 32-bit sums that wrap.
#include <algorithm>
#include <memory>
#include <utility>

#include "engine/kernel/kernel.h"
#include "engine/ops/all_ops.h"
#include "engine/ops/integer_matmul.h"
#include "engine/ops/op_def.h"
#include "engine/ops/shape_input.h"
#include "engine/status_macros.h"

namespace inferd::engine {
namespace {

using enum ElementType;

absl::Status Infer(InferenceContext& context) {
  ASSIGN_OR_RETURN(SymbolicShape y, InferMatMulShape(context.shape(0), context.shape(1)));
  const bool is_unsigned = context.element_type(0) == kUint16 && context.element_type(1) == kUint16;
  context.SetOutput(0, is_unsigned ? kUint32 : kInt32, std::move(y));
  return absl::OkStatus();
}

template <typename A, typename B>
std::unique_ptr<Kernel> MakeProduct(MatMulShape shape) {
  return MakeKernel([m = std::move(shape)](KernelContext& context) {
    const A* a = context.input(0).as<A>();
    const B* b = context.input(1).as<B>();
    // The bits of a 32-bit sum that wraps are those of either sign.
    auto* y = static_cast<uint32_t*>(context.output(0).data);
    context.threads().ParallelFor(m.batch_size() * m.rows, 1, [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) {
        const A* row = a + m.a_offset(r / m.rows) + r % m.rows * m.inner;
        const B* matrix = b + m.b_offset(r / m.rows);
        uint32_t* out = y + r * m.columns;
        std::fill_n(out, m.columns, 0u);
        for (int64_t k = 0; k < m.inner; ++k) {
          const auto factor = static_cast<uint32_t>(static_cast<int32_t>(row[k]));
          const B* values = matrix + k * m.columns;
          for (int64_t j = 0; j < m.columns; ++j) {
            out[j] += factor * static_cast<uint32_t>(static_cast<int32_t>(values[j]));
          }
        }
      }
    });
    return absl::OkStatus();
  });
}

absl::StatusOr<std::unique_ptr<Kernel>> Reference(const NodeSpec& spec) {
  ASSIGN_OR_RETURN(MatMulShape m, ResolveMatMul(spec.input(0).shape, spec.input(1).shape));
  RETURN_IF_ERROR(CheckOutputShape(spec, 0, m.output));
  const bool a_signed = spec.input(0).type == kInt16;
  const bool b_signed = spec.input(1).type == kInt16;
  if (a_signed && b_signed) return MakeProduct<int16_t, int16_t>(std::move(m));
  if (a_signed) return MakeProduct<int16_t, uint16_t>(std::move(m));
  if (b_signed) return MakeProduct<uint16_t, int16_t>(std::move(m));
  return MakeProduct<uint16_t, uint16_t>(std::move(m));
}

}  // namespace

void RegisterMatMulInteger16Ops(OpRegistry& registry) {
  constexpr ElementTypeSet kWords = {kInt16, kUint16};
  registry.Register({.domain = "com.microsoft",
                     .name = "MatMulInteger16",
                     .inputs = {{"A", "T1", kWords}, {"B", "T2", kWords}},
                     .outputs = {{"Y", "T3", {kInt32, kUint32}}},
                     .infer = Infer,
                     .reference = Reference});
}

}  // namespace inferd::engine
