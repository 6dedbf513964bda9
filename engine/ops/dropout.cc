// Dropout. Without training_mode it passes its input on and the mask is all true. With it every
// element is kept with probability 1 - ratio and scaled by 1 / (1 - ratio).
//
// Run r draws from a Mersenne Twister seeded with attribute seed + r, in the order of the elements:
// the first run of a seeded node drops the elements that the standard's own test data drop. Without
// the attribute the seed is random.
#include <atomic>
#include <random>

#include "absl/strings/str_cat.h"
#include "engine/ops/all_ops.h"
#include "engine/ops/copy_kernel.h"
#include "engine/ops/element_conversion.h"
#include "engine/ops/elementwise.h"
#include "engine/ops/op_def.h"
#include "engine/ops/schema.h"
#include "engine/ops/shape_functions.h"
#include "engine/status_macros.h"

namespace inferd::engine {
namespace {

absl::Status InferDropout(InferenceContext& context) {
  for (int i : {1, 2}) {
    if (context.has_input(i)) RETURN_IF_ERROR(ExpectScalar(context, i));
  }
  context.SetOutput(0, context.input_type(0));
  if (context.node().output(1) != nullptr) {
    context.SetOutput(1, ElementType::kBool, context.shape(0));
  }
  return absl::OkStatus();
}

// Uniform in [0, 1) with 53 random bits, from two draws.
double Uniform(std::mt19937& generator) {
  const uint64_t high = generator() >> 5;
  const uint64_t low = generator() >> 6;
  return static_cast<double>((high << 26) | low) * 0x1p-53;
}

class DropoutKernel final : public Kernel {
 public:
  DropoutKernel(ElementType type, uint32_t seed)
      : load_(ElementLoader(type)), store_(ElementStorer(WideType::kDouble, type)), seed_(seed) {}

  absl::Status Run(KernelContext& context) const override {
    const TensorView& x = context.input(0);
    const bool training = context.has_input(2) && *context.input(2).as<bool>();
    const double ratio =
        context.has_input(1) ? LoadAsDouble(context.input(1).type, context.input(1).data, 0) : 0.5;
    if (training && !(ratio >= 0 && ratio < 1)) {
      return absl::InvalidArgumentError(
          absl::StrCat("Dropout: ratio is ", ratio, ", expected a number in [0, 1)"));
    }
    bool* mask = context.has_output(1) ? context.output(1).as<bool>() : nullptr;
    if (!training || ratio == 0) {
      CopyElements(x, context.output(0));
      if (mask != nullptr) std::fill_n(mask, x.num_elements(), true);
      return absl::OkStatus();
    }
    Train(x, context.output(0), ratio, seed_ + runs_.fetch_add(1, std::memory_order_relaxed), mask);
    return absl::OkStatus();
  }

 private:
  void Train(const TensorView& x, const TensorView& y, double ratio, uint32_t seed,
             bool* mask) const {
    std::mt19937 generator(seed);
    const double scale = 1 / (1 - ratio);
    const WideType wide = WideTypeOf(x.type);
    const int64_t elements = x.num_elements();
    WideBlock block, result;
    for (int64_t first = 0; first < elements; first += kConversionBlock) {
      const int64_t count = std::min(kConversionBlock, elements - first);
      load_(x.data, first, count, block);
      for (int64_t i = 0; i < count; ++i) {
        const bool keep = Uniform(generator) >= ratio;
        const double value = wide == WideType::kDouble ? block.d[i] : block.f[i];
        result.d[i] = keep ? value * scale : 0;
        if (mask != nullptr) mask[first + i] = keep;
      }
      store_(result, CastOptions{}, y.data, first, count);
    }
  }

  LoadFn load_;
  StoreFn store_;
  uint32_t seed_;
  mutable std::atomic<uint32_t> runs_{0};
};

absl::StatusOr<std::unique_ptr<Kernel>> DropoutReference(const NodeSpec& spec) {
  const uint32_t seed = spec.attributes().has("seed")
                            ? static_cast<uint32_t>(spec.attributes().GetInt("seed", 0))
                            : std::random_device{}();
  return std::make_unique<DropoutKernel>(spec.input(0).type, seed);
}

}  // namespace

void RegisterDropoutOps(OpRegistry& registry) {
  const ElementTypeSet types = type_sets::kFloats | type_sets::kFloat8s;
  OpDef def;
  def.name = "Dropout";
  def.version = 22;
  def.inputs = {RequiredParameter("data", "T", types), OptionalParameter("ratio", "T1", types),
                OptionalParameter("training_mode", "T2", {ElementType::kBool})};
  def.outputs = {RequiredParameter("output", "T", types),
                 OptionalParameter("mask", "T2", {ElementType::kBool})};
  def.attributes = {{"seed", AttributeSpec::Kind::kInt}};
  def.infer = InferDropout;
  def.reference = DropoutReference;
  def.in_place_inputs = {0};
  def.is_deterministic = false;
  registry.Register(std::move(def));
}

}  // namespace inferd::engine
