// CausalConvWithState of ai.onnx and com.microsoft: a depthwise convolution over time that sees
// only the present and the past, and hands the last positions on as its state.
#include <cmath>
#include <memory>

#include "absl/strings/str_cat.h"
#include "engine/kernel/kernel.h"
#include "engine/ops/all_ops.h"
#include "engine/ops/attention_shape.h"
#include "engine/ops/elementwise.h"
#include "engine/ops/op_def.h"
#include "engine/ops/schema.h"
#include "engine/ops/shape_functions.h"
#include "engine/status_macros.h"

namespace inferd::engine {
namespace {

enum Input { kInput, kWeight, kBias, kPast };

// The attributes com.microsoft has beyond the standard's, and what they are when nothing asks for
// more than it.
constexpr struct {
  const char* name;
  int64_t plain;
} kExtensions[] = {{"ndim", 1},
                   {"channels_last", 0},
                   {"state_window", 0},
                   {"state_update_capacity", 0},
                   {"state_channels_last", -1},
                   {"state_length", 0},
                   {"input_channel_offset", 0},
                   {"input_channels", 0}};

absl::Status Infer(InferenceContext& context) {
  for (const auto& extension : kExtensions) {
    const int64_t value = context.attributes().GetInt(extension.name, extension.plain);
    if (value != extension.plain) {
      return absl::UnimplementedError(absl::StrCat("attribute ", extension.name, " is ", value,
                                                   ": only ", extension.plain, " is supported"));
    }
  }
  const int64_t dilation = context.attributes().GetInt("dilation", 1);
  if (dilation < 1 || dilation > (int64_t{1} << 31)) {
    return absl::InvalidArgumentError(
        absl::StrCat("attribute dilation is ", dilation, ", expected at least 1"));
  }
  const std::string activation = context.attributes().GetString("activation", "none");
  if (activation != "none" && activation != "silu" && activation != "swish") {
    return absl::InvalidArgumentError(absl::StrCat("attribute activation is \"", activation,
                                                   "\", expected \"none\", \"silu\" or \"swish\""));
  }
  RETURN_IF_ERROR(ExpectRank(context, kInput, 3, 3));
  RETURN_IF_ERROR(ExpectRank(context, kWeight, 3, 3));
  Dim batch = InputDim(context, kInput, 0), channels = InputDim(context, kInput, 1);
  Dim one(1);
  RETURN_IF_ERROR(MergeInputDim(context, kWeight, 0, "channels", channels));
  RETURN_IF_ERROR(MergeInputDim(context, kWeight, 1, "input channels per group", one));
  if (context.has_input(kBias)) {
    RETURN_IF_ERROR(ExpectRank(context, kBias, 1, 1));
    RETURN_IF_ERROR(MergeInputDim(context, kBias, 0, "channels", channels));
  }
  const Dim taps = InputDim(context, kWeight, 2);
  if (taps == Dim(0)) {
    return absl::InvalidArgumentError("weight has no taps: its last dimension is 0");
  }
  ASSIGN_OR_RETURN(Dim state,
                   MultiplyDims(taps.known() ? Dim(taps.value() - 1) : Dim(), Dim(dilation)));
  if (context.has_input(kPast)) {
    RETURN_IF_ERROR(ExpectRank(context, kPast, 3, 3));
    RETURN_IF_ERROR(MergeInputDim(context, kPast, 0, "batch size", batch));
    RETURN_IF_ERROR(MergeInputDim(context, kPast, 1, "channels", channels));
    RETURN_IF_ERROR(MergeInputDim(context, kPast, 2, "(kernel size - 1) * dilation", state));
  }
  const ElementType type = context.element_type(kInput);
  context.SetOutput(0, type, SymbolicShape({batch, channels, InputDim(context, kInput, 2)}));
  if (context.node().output(1) != nullptr) {
    context.SetOutput(1, type, SymbolicShape({batch, channels, state}));
  }
  return absl::OkStatus();
}

template <typename T>
std::unique_ptr<Kernel> MakeCausalConv(int64_t batch, int64_t channels, int64_t length,
                                       int64_t taps, int64_t dilation, bool silu) {
  return MakeKernel([=](KernelContext& context) {
    const T* input = context.input(kInput).as<T>();
    const T* weight = context.input(kWeight).as<T>();
    const T* bias = context.has_input(kBias) ? context.input(kBias).as<T>() : nullptr;
    const T* past = context.has_input(kPast) ? context.input(kPast).as<T>() : nullptr;
    T* output = context.output(0).as<T>();
    T* present = context.has_output(1) ? context.output(1).as<T>() : nullptr;
    const int64_t state = (taps - 1) * dilation;
    const int64_t grain = std::max<int64_t>(1, 16384 / std::max<int64_t>(1, length * taps));
    context.threads().ParallelFor(batch * channels, grain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const T* x = input + i * length;
        const T* w = weight + i % channels * taps;
        // Position `p` of the state followed by the input.
        const auto at = [&](int64_t p) -> T {
          if (p >= state) return x[p - state];
          return past != nullptr ? past[i * state + p] : T{};
        };
        for (int64_t t = 0; t < length; ++t) {
          float sum = bias != nullptr ? static_cast<float>(bias[i % channels]) : 0.0f;
          for (int64_t k = 0; k < taps; ++k) {
            sum += static_cast<float>(at(t + k * dilation)) * static_cast<float>(w[k]);
          }
          output[i * length + t] = static_cast<T>(silu ? sum / (1 + std::exp(-sum)) : sum);
        }
        for (int64_t p = 0; present != nullptr && p < state; ++p) {
          present[i * state + p] = at(length + p);
        }
      }
    });
    return absl::OkStatus();
  });
}

absl::StatusOr<std::unique_ptr<Kernel>> Reference(const NodeSpec& spec) {
  const Shape& x = spec.input(kInput).shape;
  const int64_t taps = spec.input(kWeight).shape[2];
  const int64_t dilation = spec.attributes().GetInt("dilation", 1);
  const bool silu = spec.attributes().GetString("activation", "none") != "none";
  std::unique_ptr<Kernel> kernel;
  if (!DispatchType<float, Float16, BFloat16>(spec.input(kInput).type, [&]<typename T>() {
        kernel = MakeCausalConv<T>(x[0], x[1], x[2], taps, dilation, silu);
      })) {
    return UnsupportedType(spec, spec.input(kInput).type);
  }
  return kernel;
}

}  // namespace

void RegisterCausalConvWithStateOps(OpRegistry& registry) {
  constexpr ElementTypeSet kTypes = {ElementType::kFloat32, ElementType::kFloat16,
                                     ElementType::kBfloat16};
  OpDef def = {
      .name = "CausalConvWithState",
      .version = 27,
      .oldest_version = 27,
      .inputs = {RequiredParameter("input", "T", kTypes), RequiredParameter("weight", "T", kTypes),
                 OptionalParameter("bias", "T", kTypes),
                 OptionalParameter("past_state", "T", kTypes)},
      .outputs = {RequiredParameter("output", "T", kTypes),
                  OptionalParameter("present_state", "T", kTypes)},
      .attributes = {{"activation", AttributeSpec::Kind::kString}},
      .infer = Infer,
      .reference = Reference};
  registry.Register(def);
  def.domain = "com.microsoft";
  def.version = 1;
  def.oldest_version = 1;
  def.attributes.push_back({"dilation", AttributeSpec::Kind::kInt});
  for (const auto& extension : kExtensions) {
    def.attributes.push_back({extension.name, AttributeSpec::Kind::kInt});
  }
  registry.Register(std::move(def));
}

}  // namespace inferd::engine
