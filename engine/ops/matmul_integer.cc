// MatMulInteger: matrix product of 8-bit integers, without scales.
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

absl::Status Infer(InferenceContext& context) {
  ASSIGN_OR_RETURN(SymbolicShape y, InferMatMulShape(context.shape(0), context.shape(1)));
  context.SetOutput(0, ElementType::kInt32, std::move(y));
  return absl::OkStatus();
}

class MatMulIntegerKernel final : public Kernel {
 public:
  explicit MatMulIntegerKernel(IntegerMatMul product) : product_(std::move(product)) {}

  absl::Status Run(KernelContext& context) const override {
    int32_t* y = context.output(0).as<int32_t>();
    const MatMulShape& m = product_.shape();
    product_.Run(
        context,
        {.a = context.input(0).data,
         .a_zero_points = context.has_input(2) ? context.input(2).data : nullptr,
         .b = context.input(1).data,
         .b_zero_points = context.has_input(3) ? context.input(3).data : nullptr},
        context.workspace(),
        [&](int64_t product, int64_t row, int64_t column, int64_t count, const int32_t* sums) {
          std::copy_n(sums, count, y + (product * m.rows + row) * m.columns + column);
        });
    return absl::OkStatus();
  }
  size_t workspace_bytes() const override { return product_.workspace_bytes(); }
  size_t held_bytes() const override { return product_.held_bytes(); }

 private:
  IntegerMatMul product_;
};

absl::StatusOr<std::unique_ptr<Kernel>> Reference(const NodeSpec& spec) {
  ASSIGN_OR_RETURN(
      IntegerMatMul product,
      IntegerMatMul::Make(
          {.values = &spec.input(0), .zero_points = spec.has_input(2) ? &spec.input(2) : nullptr},
          {.values = &spec.input(1), .zero_points = spec.has_input(3) ? &spec.input(3) : nullptr},
          spec.threads, spec.packed_weights));
  RETURN_IF_ERROR(CheckOutputShape(spec, 0, product.shape().output));
  return std::make_unique<MatMulIntegerKernel>(std::move(product));
}

}  // namespace

void RegisterMatMulIntegerOps(OpRegistry& registry) {
  constexpr ElementTypeSet kBytes = {ElementType::kInt8, ElementType::kUint8};
  constexpr auto kOptional = FormalParameter::Option::kOptional;
  registry.Register({.name = "MatMulInteger",
                     .version = 10,
                     .oldest_version = 10,
                     .inputs = {{"A", "T1", kBytes},
                                {"B", "T2", kBytes},
                                {"a_zero_point", "T1", kBytes, kOptional},
                                {"b_zero_point", "T2", kBytes, kOptional}},
                     .outputs = {{"Y", "T3", {ElementType::kInt32}}},
                     .infer = Infer,
                     .reference = Reference});
}

}  // namespace inferd::engine
