// Identity: the value itself, of any type.
#include "absl/strings/str_cat.h"
#include "engine/ops/all_ops.h"
#include "engine/ops/copy_kernel.h"
#include "engine/ops/op_def.h"
#include "engine/ops/schema.h"
#include "engine/ops/shape_functions.h"

namespace inferd::engine {
namespace {

absl::StatusOr<std::unique_ptr<Kernel>> Reference(const NodeSpec& spec) {
  if (spec.input(0).value_type != nullptr && !spec.input(0).value_type->is_tensor()) {
    return absl::UnimplementedError(absl::StrCat(
        "Identity of ", spec.input(0).value_type->ToString(), ": only tensors have a kernel"));
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
