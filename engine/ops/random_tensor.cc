// RandomNormal, RandomUniform and their Like forms, which take the shape from an input.
#include <algorithm>
#include <optional>

#include "absl/strings/str_cat.h"
#include "engine/ops/all_ops.h"
#include "engine/ops/counter_random.h"
#include "engine/ops/element_conversion.h"
#include "engine/ops/element_copy.h"
#include "engine/ops/elementwise.h"
#include "engine/ops/op_def.h"
#include "engine/ops/schema.h"
#include "engine/ops/shape_functions.h"
#include "engine/status_macros.h"

namespace inferd::engine {
namespace {

enum class Distribution : uint8_t { kNormal, kUniform };

// From attribute dtype, or `otherwise` without it.
absl::StatusOr<ElementType> OutputType(const Attributes& attributes, ElementType otherwise) {
  ElementType type = otherwise;
  if (attributes.has("dtype")) {
    const int64_t code = attributes.GetInt("dtype", 0);
    const std::optional<ElementType> named = code >= 0 && code <= INT32_MAX
                                                 ? ElementTypeFromOnnx(static_cast<int32_t>(code))
                                                 : std::nullopt;
    if (!named.has_value() || !type_sets::kFloats.contains(*named)) {
      return absl::InvalidArgumentError(absl::StrCat("attribute dtype is ", code,
                                                     ", expected the number of one of ",
                                                     type_sets::kFloats.ToString()));
    }
    type = *named;
  }
  if (type == ElementType::kUndefined || type_sets::kFloats.contains(type)) return type;
  return absl::InvalidArgumentError(
      absl::StrCat("input 0 holds ", ElementTypeName(type),
                   ", which the output cannot: attribute dtype must name one of ",
                   type_sets::kFloats.ToString()));
}

absl::Status InferRandom(InferenceContext& context) {
  ASSIGN_OR_RETURN(const ElementType type, OutputType(context.attributes(), ElementType::kFloat32));
  ASSIGN_OR_RETURN(const SymbolicShape shape,
                   ShapeFromValues(context.attributes().GetInts("shape")));
  context.SetOutput(0, type, shape);
  return absl::OkStatus();
}

absl::Status InferRandomLike(InferenceContext& context) {
  ASSIGN_OR_RETURN(const ElementType type,
                   OutputType(context.attributes(), context.element_type(0)));
  context.SetOutput(0, type, context.shape(0));
  return absl::OkStatus();
}

// Random bits of a uniform number that its type holds exactly, so that it never rounds up to 1.
int FractionBits(ElementType type) {
  switch (type) {
    case ElementType::kFloat64:
      return 53;
    case ElementType::kFloat16:
      return 11;
    case ElementType::kBfloat16:
      return 8;
    default:
      return 24;
  }
}

// scale * number + offset, where number has mean 0 and variance 1 or is uniform in [0, 1).
class RandomKernel final : public Kernel {
 public:
  RandomKernel(const NodeSpec& spec, Distribution distribution)
      : distribution_(distribution),
        random_(spec.attributes()),
        store_(ElementStorer(WideType::kDouble, spec.output(0).type)),
        fraction_(std::ldexp(1.0, FractionBits(spec.output(0).type))) {
    if (distribution == Distribution::kNormal) {
      offset_ = spec.attributes().GetFloat("mean", 0);
      scale_ = spec.attributes().GetFloat("scale", 1);
    } else {
      offset_ = spec.attributes().GetFloat("low", 0);
      scale_ = double{spec.attributes().GetFloat("high", 1)} - offset_;
    }
  }

  absl::Status Run(KernelContext& context) const override {
    const CounterRandom random = random_.NextRun();
    const TensorView& y = context.output(0);
    const int64_t elements = y.num_elements();
    const int64_t blocks = (elements + kConversionBlock - 1) / kConversionBlock;
    context.threads().ParallelFor(blocks, 8, [&](int64_t begin, int64_t end) {
      WideBlock block;
      for (int64_t b = begin; b < end; ++b) {
        const int64_t first = b * kConversionBlock;
        Draw(random, first, block);
        store_(block, CastOptions{}, y.data, first, std::min(kConversionBlock, elements - first));
      }
    });
    return absl::OkStatus();
  }

 private:
  void Draw(const CounterRandom& random, int64_t first, WideBlock& block) const {
    for (int64_t i = 0; i < kConversionBlock; i += 2) {
      const uint64_t counter = static_cast<uint64_t>(first + i) / 2;
      const bool normal = distribution_ == Distribution::kNormal;
      const std::array<double, 2> pair =
          normal ? random.Normal2(counter) : random.Uniform2(counter);
      for (int k = 0; k < 2; ++k) {
        const double number = normal ? pair[k] : std::floor(pair[k] * fraction_) / fraction_;
        block.d[i + k] = number * scale_ + offset_;
      }
    }
  }

  Distribution distribution_;
  NodeRandom random_;
  StoreFn store_;
  double fraction_;
  double offset_;
  double scale_;
};

template <Distribution distribution>
absl::StatusOr<std::unique_ptr<Kernel>> Reference(const NodeSpec& spec) {
  return std::make_unique<RandomKernel>(spec, distribution);
}

OpDef RandomOp(const char* name, bool like, ReferenceFn reference,
               std::initializer_list<const char*> parameters) {
  using Kind = AttributeSpec::Kind;
  OpDef def;
  def.name = name;
  def.version = 22;
  if (like) {
    def.inputs = {RequiredParameter("input", "T1", kAllElementTypes)};
  } else {
    def.attributes.push_back({"shape", Kind::kInts, true});
  }
  def.outputs = {RequiredParameter("output", like ? "T2" : "T", type_sets::kFloats)};
  def.attributes.push_back({"dtype", Kind::kInt});
  def.attributes.push_back({"seed", Kind::kFloat});
  for (const char* parameter : parameters) def.attributes.push_back({parameter, Kind::kFloat});
  def.infer = like ? InferRandomLike : InferRandom;
  def.reference = reference;
  def.is_deterministic = false;
  return def;
}

}  // namespace

void RegisterRandomTensorOps(OpRegistry& registry) {
  constexpr ReferenceFn kNormal = Reference<Distribution::kNormal>;
  constexpr ReferenceFn kUniform = Reference<Distribution::kUniform>;
  registry.Register(RandomOp("RandomNormal", false, kNormal, {"mean", "scale"}));
  registry.Register(RandomOp("RandomNormalLike", true, kNormal, {"mean", "scale"}));
  registry.Register(RandomOp("RandomUniform", false, kUniform, {"low", "high"}));
  registry.Register(RandomOp("RandomUniformLike", true, kUniform, {"low", "high"}));
}

}  // namespace inferd::engine
