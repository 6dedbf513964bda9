// Trigonometric and hyperbolic functions and their inverses.
#include "engine/ops/all_ops.h"
#include "engine/ops/elementwise.h"
#include "engine/ops/op_def.h"
#include "engine/ops/scalar_functions.h"
#include "engine/ops/schema.h"
#include "engine/ops/shape_functions.h"

namespace inferd::engine {
namespace {

template <typename Fn>
absl::StatusOr<std::unique_ptr<Kernel>> Reference(const NodeSpec& spec) {
  return UnaryKernelFor<void, Fn, float, double, Float16, BFloat16>(spec, Fn{});
}

template <typename Fn>
void Register(OpRegistry& registry, const char* name, int version, int oldest_version) {
  OpDef def;
  def.name = name;
  def.version = version;
  def.oldest_version = oldest_version;
  def.inputs = {RequiredParameter("input", "T", type_sets::kFloats)};
  def.outputs = {RequiredParameter("output", "T", type_sets::kFloats)};
  def.infer = InferSameAsInput;
  def.reference = Reference<Fn>;
  def.in_place_inputs = {0};
  def.is_elementwise = true;
  registry.Register(std::move(def));
}

}  // namespace

void RegisterTrigonometricOps(OpRegistry& registry) {
  Register<scalar::Sin>(registry, "Sin", 22, 7);
  Register<scalar::Cos>(registry, "Cos", 22, 7);
  Register<scalar::Tan>(registry, "Tan", 22, 7);
  Register<scalar::Asin>(registry, "Asin", 22, 7);
  Register<scalar::Acos>(registry, "Acos", 22, 7);
  Register<scalar::Atan>(registry, "Atan", 22, 7);
  Register<scalar::Sinh>(registry, "Sinh", 22, 9);
  Register<scalar::Cosh>(registry, "Cosh", 22, 9);
  Register<scalar::Tanh>(registry, "Tanh", 13, 1);
  Register<scalar::Asinh>(registry, "Asinh", 22, 9);
  Register<scalar::Acosh>(registry, "Acosh", 22, 9);
  Register<scalar::Atanh>(registry, "Atanh", 22, 9);
}

}  // namespace inferd::engine
