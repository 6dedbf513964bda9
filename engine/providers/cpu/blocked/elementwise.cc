// Elementwise operators of one and two inputs in plain and blocked layouts, float32. The second
// operand may be of the output's shape, a single element, or one number per channel.
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/kernel/kernel.h"
#include "engine/ops/fused_activation.h"
#include "engine/ops/op_def.h"
#include "engine/providers/cpu/blocked/channel_rows.h"
#include "engine/providers/cpu/blocked_layout.h"
#include "engine/providers/cpu/candidate_table.h"
#include "engine/providers/cpu/vector/function_of.h"
#include "engine/status_macros.h"

namespace inferd::engine::cpu {
namespace {

absl::Status Decline(absl::string_view reason) {
  return absl::UnimplementedError(std::string(reason));
}

absl::Status CheckFloat(const NodeSpec& spec) {
  for (const OperandSpec& input : spec.inputs) {
    if (input.present && input.type != ElementType::kFloat32) return Decline("float only");
  }
  if (spec.output(0).shape.NumElements() == 0) return Decline("empty tensor");
  return absl::OkStatus();
}

void ApplyChain(const UnaryChain& chain, const float* x, float* y, int64_t n) {
  for (const UnaryStep& step : chain) {
    Vectors().unary[static_cast<int>(step.function)](x, y, n, step.alpha, step.beta);
    x = y;
  }
}

// ---- One input ----

class UnaryKernel final : public Kernel {
 public:
  UnaryKernel(ChannelRows rows, UnaryStep step) : rows_(rows), step_(step) {}

  absl::Status Run(KernelContext& context) const override {
    const float* x = context.input(0).as<float>();
    float* y = context.output(0).as<float>();
    const UnaryLoop loop = Vectors().unary[static_cast<int>(step_.function)];
    rows_.ForEachPiece(context.threads(), [&](int64_t row, int64_t at, int64_t n) {
      loop(x + at, y + at, n, step_.alpha, step_.beta);
      rows_.ZeroPadding(row, y + at, n);
    });
    return absl::OkStatus();
  }

 private:
  ChannelRows rows_;
  UnaryStep step_;
};

ChannelRows RowsOf(const Shape& shape, Layout layout) {
  return layout.is_plain() ? ChannelRows::Flat(shape) : ChannelRows::Of(shape, layout);
}

class UnaryImplementation final : public KernelImplementation {
 public:
  absl::string_view name() const override { return "vector_unary"; }

  absl::StatusOr<KernelLayouts> Accept(const NodeSpec& spec) const override {
    RETURN_IF_ERROR(CheckFloat(spec));
    if (!UnaryFunctionOf(spec).has_value()) {
      return Decline("vector_unary: parameters are not constant or have no fast form");
    }
    KernelLayouts layouts{std::vector<Layout>(spec.inputs.size()), {spec.input(0).layout}};
    layouts.inputs[0] = spec.input(0).layout;
    return layouts;
  }

  absl::StatusOr<std::unique_ptr<Kernel>> Create(const NodeSpec& spec) const override {
    return std::make_unique<UnaryKernel>(RowsOf(spec.output(0).shape, spec.output(0).layout),
                                         *UnaryFunctionOf(spec));
  }
};

// ---- Two inputs ----

// What an operand is to the output.
enum class Relation : uint8_t { kSame, kOne, kChannel, kChannelOfImage };

std::optional<Relation> RelationOf(const Shape& operand, const Shape& output) {
  if (operand == output) return Relation::kSame;
  if (operand.rank() > output.rank()) return std::nullopt;
  if (operand.NumElements() == 1) return Relation::kOne;
  if (output.rank() < 2) return std::nullopt;
  const int missing = output.rank() - operand.rank();
  bool of_image = false;
  for (int i = 0; i < operand.rank(); ++i) {
    const int axis = i + missing;
    if (operand[i] == 1) continue;
    if (operand[i] != output[axis] || axis > 1) return std::nullopt;
    if (axis == 0) of_image = true;
  }
  // One number per image alone is rare and left to the reference.
  const int channel_axis = 1 - missing;
  if (channel_axis < 0 || operand[channel_axis] != output[1]) return std::nullopt;
  return of_image ? Relation::kChannelOfImage : Relation::kChannel;
}

bool IsByChannel(Relation relation) {
  return relation == Relation::kChannel || relation == Relation::kChannelOfImage;
}

// A constant per channel, padded with zeros to whole blocks.
std::vector<float> PadToBlocks(const Tensor& constant, int64_t channels, int lanes) {
  std::vector<float> padded((channels + lanes - 1) / lanes * lanes, 0.0f);
  std::copy_n(constant.data<float>(), channels, padded.begin());
  return padded;
}

// activations(f(x, v)) or, exchanged, activations(f(v, x)), where x has the output's shape.
class BinaryKernel final : public Kernel {
 public:
  BinaryKernel(ChannelRows rows, BinaryFunction function, Relation relation, bool exchanged,
               std::vector<float> constant, UnaryChain chain)
      : rows_(rows),
        function_(static_cast<int>(function)),
        relation_(relation),
        exchanged_(exchanged),
        constant_(std::move(constant)),
        chain_(std::move(chain)) {}

  size_t held_bytes() const override { return constant_.size() * sizeof(float); }

  absl::Status Run(KernelContext& context) const override {
    const float* x = context.input(exchanged_ ? 1 : 0).as<float>();
    const float* v =
        constant_.empty() ? context.input(exchanged_ ? 0 : 1).as<float>() : constant_.data();
    float* y = context.output(0).as<float>();
    const VectorKernels& vectors = Vectors();
    const BinaryLoop same = vectors.binary[function_];
    // A single element is a lane of its own whatever the layout.
    const int lanes = relation_ == Relation::kOne ? kOneLane : LaneCountOf(rows_.lanes);
    const LaneLoop by_lane = (exchanged_ ? vectors.lane_exchanged : vectors.lane)[lanes][function_];
    rows_.ForEachPiece(context.threads(), [&](int64_t row, int64_t at, int64_t n) {
      switch (relation_) {
        case Relation::kSame:
          same(x + at, v + at, y + at, n);
          break;
        case Relation::kOne:
          by_lane(x + at, v, y + at, n);
          break;
        case Relation::kChannel:
          by_lane(x + at, v + row % rows_.rows_per_image * rows_.lanes, y + at, n);
          break;
        case Relation::kChannelOfImage:
          by_lane(x + at, v + row * rows_.lanes, y + at, n);
          break;
      }
      ApplyChain(chain_, y + at, y + at, n);
      rows_.ZeroPadding(row, y + at, n);
    });
    return absl::OkStatus();
  }

 private:
  ChannelRows rows_;
  int function_;
  Relation relation_;
  bool exchanged_;
  std::vector<float> constant_;  // empty: the operand comes with the run
  UnaryChain chain_;
};

// Rows of a plain layout shorter than this are not worth a call each.
constexpr int64_t kShortestPlainRow = 16;

class BinaryImplementation final : public KernelImplementation {
 public:
  absl::string_view name() const override { return "vector_binary"; }

  absl::StatusOr<KernelLayouts> Accept(const NodeSpec& spec) const override {
    RETURN_IF_ERROR(CheckFloat(spec));
    if (!BinaryFunctionOf(spec).has_value()) return Decline("vector_binary: two inputs only");
    ASSIGN_OR_RETURN(const Plan plan, PlanFor(spec));
    const Shape& output = spec.output(0).shape;
    // Blocked where a full operand already is: the network around it is.
    Layout layout = Layout::Plain();
    for (int i : {0, 1}) {
      if (plan.relation[i] == Relation::kSame && !spec.input(i).layout.is_plain()) {
        layout = spec.input(i).layout;
      }
    }
    const int other = 1 - plan.full;
    KernelLayouts layouts{{layout, layout}, {layout}};
    if (plan.relation[other] == Relation::kOne) layouts.inputs[other] = Layout::Plain();
    if (IsByChannel(plan.relation[other])) {
      if (layout.is_plain() && output.Product(2, output.rank()) < kShortestPlainRow) {
        return Decline("vector_binary: rows too short in plain layout");
      }
      if (spec.input(other).constant != nullptr) {
        layouts.inputs[other] = Layout::Plain();
      } else if (!layout.is_plain() && spec.input(other).shape.rank() != output.rank()) {
        return Decline("vector_binary: channel operand of lower rank is not constant");
      }
    }
    return layouts;
  }

  absl::StatusOr<std::unique_ptr<Kernel>> Create(const NodeSpec& spec) const override {
    ASSIGN_OR_RETURN(const Plan plan, PlanFor(spec));
    ASSIGN_OR_RETURN(const ActivationChain activations, ReadActivations(spec.attributes()));
    const OperandSpec& output = spec.output(0);
    const OperandSpec& other = spec.input(1 - plan.full);
    const Relation relation = plan.relation[1 - plan.full];
    const bool by_channel = IsByChannel(relation);
    const ChannelRows rows = by_channel ? ChannelRows::Of(output.shape, output.layout)
                                        : RowsOf(output.shape, output.layout);
    std::vector<float> constant;
    if (by_channel && other.constant != nullptr && other.layout.is_plain() && rows.lanes > 1) {
      // Per image and channel: every image's channels are padded on their own.
      const int64_t channels = output.shape[1];
      const int64_t images = other.constant->num_elements() / channels;
      for (int64_t n = 0; n < images; ++n) {
        const Tensor image = Tensor::FromValues<float>(
            {channels}, other.constant->values<float>().subspan(n * channels, channels));
        const std::vector<float> padded = PadToBlocks(image, channels, rows.lanes);
        constant.insert(constant.end(), padded.begin(), padded.end());
      }
    }
    return std::make_unique<BinaryKernel>(rows, *BinaryFunctionOf(spec), relation,
                                          /*exchanged=*/plan.full == 1, std::move(constant),
                                          StepsOf(activations));
  }

 private:
  struct Plan {
    Relation relation[2] = {Relation::kSame, Relation::kSame};
    int full = 0;  // the operand of the output's shape
  };

  static absl::StatusOr<Plan> PlanFor(const NodeSpec& spec) {
    Plan plan;
    for (int i : {0, 1}) {
      const auto relation = RelationOf(spec.input(i).shape, spec.output(0).shape);
      if (!relation.has_value()) {
        return Decline("vector_binary: broadcast other than by element or channel");
      }
      plan.relation[i] = *relation;
    }
    if (plan.relation[0] != Relation::kSame && plan.relation[1] != Relation::kSame) {
      return Decline("vector_binary: both operands broadcast");
    }
    plan.full = plan.relation[0] == Relation::kSame ? 0 : 1;
    return plan;
  }
};

// ---- Scale and shift by channel ----

class ScaleShiftKernel final : public Kernel {
 public:
  ScaleShiftKernel(ChannelRows rows, std::vector<float> scale, std::vector<float> shift,
                   UnaryChain chain)
      : rows_(rows), scale_(std::move(scale)), shift_(std::move(shift)), chain_(std::move(chain)) {}

  size_t held_bytes() const override { return 2 * scale_.size() * sizeof(float); }

  absl::Status Run(KernelContext& context) const override {
    const float* x = context.input(0).as<float>();
    float* y = context.output(0).as<float>();
    const ScaleShiftLoop loop = Vectors().scale_shift[LaneCountOf(rows_.lanes)];
    rows_.ForEachPiece(context.threads(), [&](int64_t row, int64_t at, int64_t n) {
      const int64_t c = row % rows_.rows_per_image * rows_.lanes;
      loop(x + at, scale_.data() + c, shift_.data() + c, y + at, n);
      ApplyChain(chain_, y + at, y + at, n);
      rows_.ZeroPadding(row, y + at, n);
    });
    return absl::OkStatus();
  }

 private:
  ChannelRows rows_;
  std::vector<float> scale_, shift_;
  UnaryChain chain_;
};

class ScaleShiftImplementation final : public KernelImplementation {
 public:
  absl::string_view name() const override { return "vector_scale_shift"; }

  absl::StatusOr<KernelLayouts> Accept(const NodeSpec& spec) const override {
    RETURN_IF_ERROR(CheckFloat(spec));
    const OperandSpec& x = spec.input(0);
    if (spec.input(1).constant == nullptr || spec.input(2).constant == nullptr) {
      return Decline("vector_scale_shift: scale and shift are not constant");
    }
    if (x.shape.rank() < 2) return Decline("vector_scale_shift: rank below 2");
    return KernelLayouts{{x.layout, Layout::Plain(), Layout::Plain()}, {x.layout}};
  }

  absl::StatusOr<std::unique_ptr<Kernel>> Create(const NodeSpec& spec) const override {
    ASSIGN_OR_RETURN(const ActivationChain activations, ReadActivations(spec.attributes()));
    const OperandSpec& x = spec.input(0);
    const ChannelRows rows = ChannelRows::Of(x.shape, x.layout);
    return std::make_unique<ScaleShiftKernel>(
        rows, PadToBlocks(*spec.input(1).constant, x.shape[1], rows.lanes),
        PadToBlocks(*spec.input(2).constant, x.shape[1], rows.lanes), StepsOf(activations));
  }
};

}  // namespace

void RegisterElementwise(CandidateTable& table) {
  const auto* unary = table.Own(std::make_unique<UnaryImplementation>());
  for (const char* op : {"Relu",
                         "LeakyRelu",
                         "Clip",
                         "Sigmoid",
                         "Tanh",
                         "Elu",
                         "HardSigmoid",
                         "HardSwish",
                         "Swish",
                         "Gelu",
                         "Softplus",
                         "Mish",
                         "Abs",
                         "Neg",
                         "Sqrt",
                         "Exp",
                         "Reciprocal",
                         "Floor",
                         "Ceil",
                         "Erf",
                         "com.microsoft::Gelu",
                         "com.microsoft::FastGelu",
                         "com.microsoft::QuickGelu"}) {
    table.Add(op, unary);
  }
  const auto* binary = table.Own(std::make_unique<BinaryImplementation>());
  for (const char* op :
       {"Add", "Sum", "Sub", "Mul", "Div", "Max", "Min", "PRelu", "inferd::FusedAdd"}) {
    table.Add(op, binary);
  }
  table.Add("inferd::ScaleShift", table.Own(std::make_unique<ScaleShiftImplementation>()));
}

}  // namespace inferd::engine::cpu
