// BatchNormalization (https://arxiv.org/abs/1502.03167). Inference uses the given mean and
// variance; training_mode uses the batch's own (population variance) and also returns the running
// ones: running = input * momentum + batch * (1 - momentum).
#include <cmath>

#include "absl/strings/str_cat.h"
#include "engine/ops/all_ops.h"
#include "engine/ops/element_conversion.h"
#include "engine/ops/elementwise.h"
#include "engine/ops/op_def.h"
#include "engine/ops/schema.h"
#include "engine/ops/shape_functions.h"
#include "engine/status_macros.h"

namespace inferd::engine {
namespace {

using KernelOr = absl::StatusOr<std::unique_ptr<Kernel>>;

// X of rank 1 is a batch of single channels.
Dim ChannelDim(const SymbolicShape& x) {
  if (!x.has_rank()) return Dim::Unknown();
  return x.rank() == 1 ? Dim(1) : x[1];
}

absl::Status InferBatchNormalization(InferenceContext& context) {
  const SymbolicShape& x = context.shape(0);
  RETURN_IF_ERROR(ExpectRank(context, 0, 1));
  Dim channels = ChannelDim(x);
  for (int i = 1; i <= 4; ++i) {
    RETURN_IF_ERROR(ExpectRank(context, i, 1, 1));
    if (!context.shape(i).has_rank()) continue;
    absl::StatusOr<Dim> merged = MergeDims(channels, context.shape(i)[0]);
    if (!merged.ok()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "input ", i, " has shape ", context.shape(i).ToString(),
          ", expected one element for each of the ", channels.ToString(), " channels"));
    }
    channels = *std::move(merged);
  }
  const bool training = context.attributes().GetInt("training_mode", 0) != 0;
  context.SetOutput(0, context.input_type(0));
  for (int i : {1, 2}) {
    if (context.node().output(i) == nullptr) continue;
    if (!training) {
      return absl::InvalidArgumentError(
          absl::StrCat("output ", i, " exists only where attribute training_mode is 1"));
    }
    context.SetOutput(i, context.element_type(3), SymbolicShape({channels}));
  }
  return absl::OkStatus();
}

void StoreDouble(const TensorView& output, int64_t index, double value) {
  DispatchType<float, double, Float16, BFloat16>(output.type, [&]<typename T>() {
    output.as<T>()[index] = static_cast<T>(static_cast<ComputeType<T>>(value));
  });
}

template <typename T>
class BatchNormalizationKernel final : public Kernel {
 public:
  explicit BatchNormalizationKernel(const NodeSpec& spec)
      : epsilon_(spec.attributes().GetFloat("epsilon", 1e-5f)),
        momentum_(spec.attributes().GetFloat("momentum", 0.9f)),
        training_(spec.attributes().GetInt("training_mode", 0) != 0) {
    const Shape& shape = spec.input(0).shape;
    batch_ = shape[0];
    channels_ = shape.rank() == 1 ? 1 : shape[1];
    spatial_ = shape.Product(2, shape.rank());
  }

  absl::Status Run(KernelContext& context) const override {
    context.threads().ParallelFor(channels_, 1, [&](int64_t begin, int64_t end) {
      for (int64_t c = begin; c < end; ++c) Channel(context, c);
    });
    return absl::OkStatus();
  }

 private:
  using Compute = ComputeType<T>;

  double Parameter(KernelContext& context, int input, int64_t c) const {
    return LoadAsDouble(context.input(input).type, context.input(input).data, c);
  }

  void Channel(KernelContext& context, int64_t c) const {
    double mean = Parameter(context, 3, c);
    double variance = Parameter(context, 4, c);
    const T* x = context.input(0).as<T>();
    if (training_) {
      const double old_mean = mean, old_variance = variance;
      const double count = static_cast<double>(batch_ * spatial_);
      double sum = 0, square = 0;
      ForEach(c, [&](int64_t i) { sum += static_cast<Compute>(x[i]); });
      mean = sum / count;
      ForEach(c, [&](int64_t i) {
        const double d = static_cast<Compute>(x[i]) - mean;
        square += d * d;
      });
      variance = square / count;
      if (context.has_output(1)) {
        StoreDouble(context.output(1), c, old_mean * momentum_ + mean * (1 - momentum_));
      }
      if (context.has_output(2)) {
        StoreDouble(context.output(2), c, old_variance * momentum_ + variance * (1 - momentum_));
      }
    }
    const double factor = Parameter(context, 1, c) / std::sqrt(variance + epsilon_);
    const double shift = Parameter(context, 2, c);
    T* y = context.output(0).as<T>();
    ForEach(c, [&](int64_t i) {
      const double v = static_cast<Compute>(x[i]);
      y[i] = static_cast<T>(static_cast<Compute>((v - mean) * factor + shift));
    });
  }

  template <typename Fn>
  void ForEach(int64_t c, Fn fn) const {
    for (int64_t n = 0; n < batch_; ++n) {
      const int64_t first = (n * channels_ + c) * spatial_;
      for (int64_t i = first; i < first + spatial_; ++i) fn(i);
    }
  }

  double epsilon_;
  double momentum_;
  bool training_;
  int64_t batch_;
  int64_t channels_;
  int64_t spatial_;
};

KernelOr Reference(const NodeSpec& spec) {
  std::unique_ptr<Kernel> kernel;
  const ElementType type = spec.input(0).type;
  if (!DispatchType<float, double, Float16, BFloat16>(type, [&]<typename T>() {
        kernel = std::make_unique<BatchNormalizationKernel<T>>(spec);
      })) {
    return UnsupportedType(spec, type);
  }
  return kernel;
}

}  // namespace

void RegisterBatchNormalizationOps(OpRegistry& registry) {
  using Kind = AttributeSpec::Kind;
  using type_sets::kFloats;
  OpDef def;
  def.name = "BatchNormalization";
  def.version = 15;
  def.inputs = {RequiredParameter("X", "T", kFloats), RequiredParameter("scale", "T1", kFloats),
                RequiredParameter("B", "T1", kFloats),
                RequiredParameter("input_mean", "T2", kFloats),
                RequiredParameter("input_var", "T2", kFloats)};
  def.outputs = {RequiredParameter("Y", "T", kFloats),
                 OptionalParameter("running_mean", "T2", kFloats),
                 OptionalParameter("running_var", "T2", kFloats)};
  def.attributes = {
      {"epsilon", Kind::kFloat}, {"momentum", Kind::kFloat}, {"training_mode", Kind::kInt}};
  def.infer = InferBatchNormalization;
  def.reference = Reference;
  def.in_place_inputs = {0};
  registry.Register(std::move(def));
}

}  // namespace inferd::engine
