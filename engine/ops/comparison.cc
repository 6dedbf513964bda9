// Comparisons with broadcast: Equal Greater GreaterOrEqual Less LessOrEqual.
#include "engine/ops/all_ops.h"
#include "engine/ops/elementwise.h"
#include "engine/ops/op_def.h"
#include "engine/ops/scalar_functions.h"
#include "engine/ops/schema.h"
#include "engine/ops/shape_functions.h"
#include "engine/ops/since.h"

namespace inferd::engine {
namespace {

template <typename Fn, typename... Extra>
absl::StatusOr<std::unique_ptr<Kernel>> Reference(const NodeSpec& spec) {
  return BinaryKernelFor<bool, Fn, float, double, Float16, BFloat16, int8_t, int16_t, int32_t,
                         int64_t, uint8_t, uint16_t, uint32_t, uint64_t, Extra...>(spec, Fn{});
}

OpDef Comparison(const char* name, int version, ElementTypeSet types, ReferenceFn reference) {
  OpDef def;
  def.name = name;
  def.version = version;
  def.inputs = {RequiredParameter("A", "T", types), RequiredParameter("B", "T", types)};
  def.outputs = {RequiredParameter("C", "T1", {ElementType::kBool})};
  def.infer = InferBroadcastToBool;
  def.reference = reference;
  def.is_elementwise = true;
  return def;
}

}  // namespace

void RegisterComparisonOps(OpRegistry& registry) {
  using type_sets::kNumeric;
  registry.Register(Comparison("Equal", 19,
                               kNumeric | ElementTypeSet{ElementType::kBool, ElementType::kString},
                               Reference<scalar::Equal, bool, std::string>));
  registry.Register(Comparison("Greater", 13, kNumeric, Reference<scalar::Greater>));
  registry.Register(
      Since(12, Comparison("GreaterOrEqual", 16, kNumeric, Reference<scalar::GreaterOrEqual>)));
  registry.Register(Comparison("Less", 13, kNumeric, Reference<scalar::Less>));
  registry.Register(
      Since(12, Comparison("LessOrEqual", 16, kNumeric, Reference<scalar::LessOrEqual>)));
}

}  // namespace inferd::engine
