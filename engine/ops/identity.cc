// Identity: the value itself, of any type.
#include "engine/ops/all_ops.h"
#include "engine/ops/copy_kernel.h"
#include "engine/ops/op_def.h"
#include "engine/ops/schema.h"
#include "engine/ops/shape_functions.h"
#include "engine/status_macros.h"

namespace inferd::engine {
namespace {

absl::StatusOr<std::unique_ptr<Kernel>> Reference(const NodeSpec& spec) {
  if (spec.input(0).type == ElementType::kComposite) {
    return MakeKernel([](KernelContext& context) -> absl::Status {
      ASSIGN_OR_RETURN(Tensor copy, Tensor::CopyOf(context.input(0)));
      return context.SetOutput(0, std::move(copy));
    });
  }
  return MakeCopyKernel();
}

}  // namespace

void RegisterIdentityOps(OpRegistry& registry) {
  OpDef def;
  def.name = "Identity";
  def.version = 25;
  // No type constraint: sequences and optionals pass as well.
  def.inputs = {RequiredParameter("input", "V", {})};
  def.outputs = {RequiredParameter("output", "V", {})};
  def.infer = InferSameAsInput;
  def.reference = Reference;
  def.in_place_inputs = {0};
  def.is_reshape = true;
  def.is_elementwise = true;
  registry.Register(std::move(def));
}

}  // namespace inferd::engine
