// NonZero: coordinates of the elements that are not zero, one row per dimension, in row-major
// order of the elements.
#include <complex>
#include <string>

#include "engine/kernel/kernel.h"
#include "engine/ops/all_ops.h"
#include "engine/ops/elementwise.h"
#include "engine/ops/op_def.h"
#include "engine/ops/schema.h"
#include "engine/ops/shape_functions.h"
#include "engine/status_macros.h"

namespace inferd::engine {
namespace {

absl::Status InferNonZero(InferenceContext& context) {
  const SymbolicShape& x = context.shape(0);
  const Dim rank = x.has_rank() ? Dim(x.rank()) : Dim::Unknown();
  context.SetOutput(0, ElementType::kInt64, SymbolicShape({rank, Dim::Unknown()}));
  return absl::OkStatus();
}

template <typename T>
bool IsNonZero(const T& v) {
  if constexpr (std::is_same_v<T, std::string>) {
    return !v.empty();
  } else {
    return static_cast<ComputeType<T>>(v) != ComputeType<T>{0};
  }
}

template <typename T>
absl::Status Run(KernelContext& context) {
  const TensorView& x = context.input(0);
  const T* values = x.as<T>();
  const int64_t elements = x.num_elements();
  int64_t count = 0;
  for (int64_t i = 0; i < elements; ++i) count += IsNonZero(values[i]);
  const int rank = x.shape.rank();
  ASSIGN_OR_RETURN(const TensorView output, context.AllocateOutput(0, Shape{rank, count}));
  int64_t* y = output.as<int64_t>();
  int64_t column = 0;
  for (int64_t i = 0; i < elements; ++i) {
    if (!IsNonZero(values[i])) continue;
    int64_t rest = i;
    for (int d = rank - 1; d >= 0; --d) {
      y[d * count + column] = rest % x.shape[d];
      rest /= x.shape[d];
    }
    ++column;
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Kernel>> Reference(const NodeSpec& spec) {
  std::unique_ptr<Kernel> kernel;
  const ElementType type = spec.input(0).type;
  if (!DispatchType<float, double, Float16, BFloat16, int8_t, int16_t, int32_t, int64_t, uint8_t,
                    uint16_t, uint32_t, uint64_t, bool, std::string, std::complex<float>,
                    std::complex<double>>(type,
                                          [&]<typename T>() { kernel = MakeKernel(Run<T>); })) {
    return UnsupportedType(spec, type);
  }
  return kernel;
}

}  // namespace

void RegisterNonZeroOps(OpRegistry& registry) {
  const ElementTypeSet types = type_sets::kNumeric | type_sets::kComplex |
                               ElementTypeSet{ElementType::kBool, ElementType::kString};
  OpDef def;
  def.name = "NonZero";
  def.version = 13;
  def.oldest_version = 9;
  def.inputs = {RequiredParameter("X", "T", types)};
  def.outputs = {RequiredParameter("Y", "", {ElementType::kInt64})};
  def.infer = InferNonZero;
  def.reference = Reference;
  def.dynamic_outputs = true;
  registry.Register(std::move(def));
}

}  // namespace inferd::engine
