// Bernoulli: 1 with the probability an element states, else 0. Multinomial: classes drawn, with
// replacement, in proportion to the exponentials of a row's elements.
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "absl/strings/str_cat.h"
#include "engine/ops/all_ops.h"
#include "engine/ops/counter_random.h"
#include "engine/ops/element_conversion.h"
#include "engine/ops/elementwise.h"
#include "engine/ops/op_def.h"
#include "engine/ops/schema.h"
#include "engine/ops/shape_functions.h"
#include "engine/status_macros.h"

namespace inferd::engine {
namespace {

constexpr ElementTypeSet kBinary = type_sets::kNumeric | ElementTypeSet{ElementType::kBool};
constexpr ElementTypeSet kClasses = {ElementType::kInt32, ElementType::kInt64};

// From attribute dtype, one of `allowed`; `otherwise` without it.
absl::StatusOr<ElementType> OutputType(const Attributes& attributes, ElementTypeSet allowed,
                                       ElementType otherwise) {
  if (!attributes.has("dtype")) return otherwise;
  const int64_t code = attributes.GetInt("dtype", 0);
  const std::optional<ElementType> named = code >= 0 && code <= INT32_MAX
                                               ? ElementTypeFromOnnx(static_cast<int32_t>(code))
                                               : std::nullopt;
  if (named.has_value() && allowed.contains(*named)) return *named;
  return absl::InvalidArgumentError(absl::StrCat(
      "attribute dtype is ", code, ", expected the number of one of ", allowed.ToString()));
}

absl::Status InferBernoulli(InferenceContext& context) {
  ASSIGN_OR_RETURN(const ElementType type,
                   OutputType(context.attributes(), kBinary, context.element_type(0)));
  context.SetOutput(0, type, context.shape(0));
  return absl::OkStatus();
}

class BernoulliKernel final : public Kernel {
 public:
  explicit BernoulliKernel(const NodeSpec& spec)
      : random_(spec.attributes()),
        wide_(WideTypeOf(spec.input(0).type)),
        load_(ElementLoader(spec.input(0).type)),
        store_(ElementStorer(WideType::kDouble, spec.output(0).type)) {}

  absl::Status Run(KernelContext& context) const override {
    const CounterRandom random = random_.NextRun();
    const TensorView& x = context.input(0);
    const int64_t elements = x.num_elements();
    WideBlock block, drawn;
    for (int64_t first = 0; first < elements; first += kConversionBlock) {
      const int64_t count = std::min(kConversionBlock, elements - first);
      load_(x.data, first, count, block);
      for (int64_t i = 0; i < count; ++i) {
        const double p = wide_ == WideType::kDouble ? block.d[i] : block.f[i];
        if (!(p >= 0 && p <= 1)) {
          return absl::InvalidArgumentError(
              absl::StrCat("input 0 holds ", p, ", expected probabilities in [0, 1]"));
        }
        drawn.d[i] = random.Uniform(static_cast<uint64_t>(first + i)) < p ? 1 : 0;
      }
      store_(drawn, CastOptions{}, context.output(0).data, first, count);
    }
    return absl::OkStatus();
  }

 private:
  NodeRandom random_;
  WideType wide_;
  LoadFn load_;
  StoreFn store_;
};

absl::StatusOr<std::unique_ptr<Kernel>> BernoulliReference(const NodeSpec& spec) {
  return std::make_unique<BernoulliKernel>(spec);
}

absl::StatusOr<int64_t> SampleSize(const Attributes& attributes) {
  const int64_t size = attributes.GetInt("sample_size", 1);
  if (size >= 1) return size;
  return absl::InvalidArgumentError(
      absl::StrCat("attribute sample_size is ", size, ", expected a positive number"));
}

absl::Status InferMultinomial(InferenceContext& context) {
  ASSIGN_OR_RETURN(const ElementType type,
                   OutputType(context.attributes(), kClasses, ElementType::kInt32));
  ASSIGN_OR_RETURN(const int64_t samples, SampleSize(context.attributes()));
  RETURN_IF_ERROR(ExpectRank(context, 0, 2, 2));
  const SymbolicShape& x = context.shape(0);
  context.SetOutput(0, type, SymbolicShape({x.has_rank() ? x[0] : Dim::Unknown(), Dim(samples)}));
  return absl::OkStatus();
}

template <typename T, typename Class>
class MultinomialKernel final : public Kernel {
 public:
  MultinomialKernel(const NodeSpec& spec, int64_t samples)
      : random_(spec.attributes()),
        rows_(spec.input(0).shape[0]),
        classes_(spec.input(0).shape[1]),
        samples_(samples) {}

  size_t workspace_bytes() const override { return sizeof(double) * classes_; }

  absl::Status Run(KernelContext& context) const override {
    const CounterRandom random = random_.NextRun();
    double* cumulative = static_cast<double*>(context.workspace());
    Class* y = context.output(0).as<Class>();
    for (int64_t r = 0; r < rows_; ++r) {
      RETURN_IF_ERROR(Accumulate(context.input(0).as<T>() + r * classes_, r, cumulative));
      const double total = cumulative[classes_ - 1];
      for (int64_t s = 0; s < samples_; ++s, ++y) {
        const double u = random.Uniform(static_cast<uint64_t>(r * samples_ + s)) * total;
        // The first class whose total lies beyond u; never one of probability 0.
        const double* found = std::upper_bound(cumulative, cumulative + classes_, u);
        if (found == cumulative + classes_)
          found = std::lower_bound(cumulative, cumulative + classes_, total);
        *y = static_cast<Class>(found - cumulative);
      }
    }
    return absl::OkStatus();
  }

 private:
  // Totals of the exponentials of x, scaled so that the largest is 1.
  absl::Status Accumulate(const T* x, int64_t row, double* cumulative) const {
    double largest = -std::numeric_limits<double>::infinity(), total = 0;
    for (int64_t c = 0; c < classes_; ++c) {
      largest = std::max(largest, static_cast<double>(static_cast<ComputeType<T>>(x[c])));
    }
    for (int64_t c = 0; c < classes_; ++c) {
      total += std::exp(static_cast<double>(static_cast<ComputeType<T>>(x[c])) - largest);
      cumulative[c] = total;
    }
    if (total >= 1 && std::isfinite(total)) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat("row ", row,
                     " of input 0 holds no finite log probability to draw from, or "
                     "one that is infinite or not a number"));
  }

  NodeRandom random_;
  int64_t rows_;
  int64_t classes_;
  int64_t samples_;
};

absl::StatusOr<std::unique_ptr<Kernel>> MultinomialReference(const NodeSpec& spec) {
  ASSIGN_OR_RETURN(const int64_t samples, SampleSize(spec.attributes()));
  std::unique_ptr<Kernel> kernel;
  DispatchType<float, double, Float16, BFloat16>(spec.input(0).type, [&]<typename T>() {
    DispatchType<int32_t, int64_t>(spec.output(0).type, [&]<typename Class>() {
      kernel = std::make_unique<MultinomialKernel<T, Class>>(spec, samples);
    });
  });
  if (kernel == nullptr) return UnsupportedType(spec, spec.input(0).type);
  return kernel;
}

}  // namespace

void RegisterRandomDrawOps(OpRegistry& registry) {
  using Kind = AttributeSpec::Kind;
  registry.Register({.name = "Bernoulli",
                     .version = 22,
                     .oldest_version = 15,
                     .inputs = {RequiredParameter("input", "T1", type_sets::kFloats)},
                     .outputs = {RequiredParameter("output", "T2", kBinary)},
                     .attributes = {{"dtype", Kind::kInt}, {"seed", Kind::kFloat}},
                     .infer = InferBernoulli,
                     .reference = BernoulliReference,
                     .is_deterministic = false});
  registry.Register(
      {.name = "Multinomial",
       .version = 22,
       .oldest_version = 7,
       .inputs = {RequiredParameter("input", "T1", type_sets::kFloats)},
       .outputs = {RequiredParameter("output", "T2", kClasses)},
       .attributes = {{"dtype", Kind::kInt}, {"sample_size", Kind::kInt}, {"seed", Kind::kFloat}},
       .infer = InferMultinomial,
       .reference = MultinomialReference,
       .is_deterministic = false});
}

}  // namespace inferd::engine
