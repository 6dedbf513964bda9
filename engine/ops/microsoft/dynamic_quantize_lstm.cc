// com.microsoft DynamicQuantizeLSTM: an LSTM whose weights are 8-bit integers, one scale and zero
// point per matrix or per column. Inputs and states are quantized to uint8 on the way, with the
// range of their values and zero: the inputs all together, the state of each sequence by itself, so
// that a result depends neither on the rest of its batch nor on the number of threads.
//
// https://github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/ops/all_ops.h"
#include "engine/ops/dynamic_quantization.h"
#include "engine/ops/elementwise.h"
#include "engine/ops/lstm_cell.h"
#include "engine/ops/op_def.h"
#include "engine/ops/quantized_range.h"
#include "engine/ops/recurrent_layer.h"
#include "engine/ops/schema.h"
#include "engine/ops/shape_functions.h"
#include "engine/status_macros.h"

namespace inferd::engine {
namespace {

constexpr RecurrentInputs kInputs = {.initial_c = 6, .peepholes = 7};
constexpr int kWScale = 8;
constexpr int kRScale = 10;

// T: int8_t or uint8_t.
template <typename T>
class QuantizedWeights final : public RecurrentWeights<float> {
 public:
  explicit QuantizedWeights(const NodeSpec& spec, const RecurrentSizes& sizes)
      : width_(sizes.width()),
        x_elements_(spec.input(0).shape.NumElements()),
        w_{1, kWScale, sizes.input, PerColumn(spec, kWScale)},
        r_{2, kRScale, sizes.hidden, PerColumn(spec, kRScale)} {}

  size_t workspace_bytes(int64_t max_rows) const override { return Parts(max_rows).all.bytes(); }

  void Prepare(KernelContext& context, int /*direction*/, void* workspace) const override {
    *static_cast<UnsignedQuantization*>(workspace) =
        FitUnsigned(context.input(0).as<float>(), x_elements_);
  }

  void AddInput(KernelContext& context, int direction, void* workspace, const float* const* x,
                float* const* out, int64_t rows) const override {
    const auto& quantization = *static_cast<const UnsignedQuantization*>(workspace);
    Add(context, direction, w_, workspace, x, out, rows, 0, width_,
        [&](const float*) { return quantization; });
  }

  void AddState(KernelContext& context, int direction, void* workspace, const float* const* h,
                float* const* out, int64_t rows, int64_t first, int64_t count) const override {
    Add(context, direction, r_, workspace, h, out, rows, first, count,
        [&](const float* row) { return FitUnsigned(row, r_.depth); });
  }

 private:
  // depth * width integers per direction in `input`, their scales in `scale_input` and their zero
  // points in the one after it.
  struct Matrix {
    int input;
    int scale_input;
    int64_t depth;
    bool per_column;
  };
  struct Row {
    float scale;
    int32_t sum;  // of the quantized values
  };
  // Parts of the workspace, after the quantization of the inputs.
  struct WorkspaceLayout {
    WorkspaceParts all;
    size_t rows, values;
  };

  static bool PerColumn(const NodeSpec& spec, int scale_input) {
    return spec.input(scale_input).shape.rank() == 2;
  }

  WorkspaceLayout Parts(int64_t rows) const {
    WorkspaceLayout parts = {};
    parts.all.Add(sizeof(UnsignedQuantization));
    parts.rows = parts.all.Add(sizeof(Row) * rows);
    parts.values = parts.all.Add(sizeof(int16_t) * rows * std::max(w_.depth, r_.depth));
    return parts;
  }

  template <typename QuantizationOf>
  void Add(KernelContext& context, int direction, const Matrix& matrix, void* workspace,
           const float* const* a, float* const* out, int64_t rows, int64_t first, int64_t count,
           QuantizationOf quantization_of) const {
    const int64_t depth = matrix.depth;
    const WorkspaceLayout parts = Parts(rows);
    Row* quantized = reinterpret_cast<Row*>(static_cast<char*>(workspace) + parts.rows);
    auto* values = reinterpret_cast<int16_t*>(static_cast<char*>(workspace) + parts.values);
    for (int64_t i = 0; i < rows; ++i) {
      const UnsignedQuantization q = quantization_of(a[i]);
      const float zero_point = q.zero_point;
      quantized[i] = {q.scale, 0};
      for (int64_t k = 0; k < depth; ++k) {
        // Less the zero point.
        values[i * depth + k] = static_cast<int16_t>(
            RoundAndSaturate(a[i][k] / q.scale, zero_point, {0, 255}) - zero_point);
        quantized[i].sum += values[i * depth + k];
      }
    }

    const TensorView& weights_view = context.input(matrix.input);
    const TensorView& scale_view = context.input(matrix.scale_input);
    const TensorView& zero_point_view = context.input(matrix.scale_input + 1);
    const int64_t scale_at = matrix.per_column ? direction * width_ + first : direction;
    const T* weights = weights_view.as<T>() + direction * depth * width_ + first;
    const float* scales = scale_view.as<float>() + scale_at;
    const T* zero_points = zero_point_view.as<T>() + scale_at;
    const int64_t step = matrix.per_column ? 1 : 0;
    constexpr int64_t kBlock = 64;
    const int64_t grain = std::max<int64_t>(1, 65536 / std::max<int64_t>(1, rows * depth * kBlock));
    context.threads().ParallelFor(
        (count + kBlock - 1) / kBlock, grain, [&](int64_t begin, int64_t end) {
          for (int64_t j = begin * kBlock; j < std::min(count, end * kBlock); j += kBlock) {
            const int64_t columns = std::min(kBlock, count - j);
            for (int64_t i = 0; i < rows; ++i) {
              int32_t sums[kBlock] = {};
              for (int64_t k = 0; k < depth; ++k) {
                const int32_t value = values[i * depth + k];
                const T* row = weights + k * width_ + j;
                for (int64_t c = 0; c < columns; ++c) sums[c] += value * int32_t{row[c]};
              }
              for (int64_t c = 0; c < columns; ++c) {
                const int64_t s = (j + c) * step;
                const int32_t centred = sums[c] - quantized[i].sum * int32_t{zero_points[s]};
                out[i][j + c] += static_cast<float>(centred) * (quantized[i].scale * scales[s]);
              }
            }
          }
        });
  }

  int64_t width_;
  int64_t x_elements_;
  Matrix w_;
  Matrix r_;
};

// One value per direction, or one per direction and column.
absl::Status ExpectScales(const InferenceContext& context, int input, const char* name,
                          const Dim& directions, const Dim& columns) {
  const SymbolicShape& shape = context.shape(input);
  if (!shape.has_rank()) return absl::OkStatus();
  const bool fits = (shape.rank() == 1 || shape.rank() == 2) &&
                    MergeDims(shape[0], directions).ok() &&
                    (shape.rank() == 1 || MergeDims(shape[1], columns).ok());
  if (fits) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "input ", input, " (", name, ") has shape ", shape.ToString(), ", expected [",
      directions.ToString(), "] or [", directions.ToString(), ",", columns.ToString(), "]"));
}

absl::Status InferDynamicQuantizeLstm(InferenceContext& context) {
  RETURN_IF_ERROR(LstmOptions::Of(context.attributes()).status());
  RETURN_IF_ERROR(InferRecurrent(context, kLstmGates, kInputs, /*weights_transposed=*/true));
  ASSIGN_OR_RETURN(const int directions, RecurrentDirections(context.attributes()));
  const Dim columns = context.shape(1).has_rank() ? context.shape(1)[2] : Dim::Unknown();
  constexpr const char* kNames[] = {"W_scale", "W_zero_point", "R_scale", "R_zero_point"};
  for (int i = 0; i < 4; ++i) {
    RETURN_IF_ERROR(ExpectScales(context, kWScale + i, kNames[i], Dim(directions), columns));
  }
  for (int scale : {kWScale, kRScale}) {
    const SymbolicShape& zero_point = context.shape(scale + 1);
    if (context.shape(scale).has_rank() && zero_point.has_rank() &&
        context.shape(scale).rank() != zero_point.rank()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "input ", scale, " has shape ", context.shape(scale).ToString(), " but input ", scale + 1,
          " has shape ", zero_point.ToString(), ", expected equal ones"));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Kernel>> Reference(const NodeSpec& spec) {
  ASSIGN_OR_RETURN(const RecurrentSizes sizes, ResolveRecurrent(spec, kLstmGates));
  ASSIGN_OR_RETURN(const LstmOptions options, LstmOptions::Of(spec.attributes()));
  std::vector<std::unique_ptr<RecurrentCell<float>>> cells;
  for (int d = 0; d < sizes.directions; ++d) {
    cells.push_back(std::make_unique<LstmCell<float>>(options, d, sizes.hidden));
  }
  std::unique_ptr<Kernel> kernel;
  const ElementType type = spec.input(1).type;
  if (!DispatchType<int8_t, uint8_t>(type, [&]<typename T>() {
        kernel = MakeRecurrentKernel<float>(
            sizes, kInputs, std::make_unique<QuantizedWeights<T>>(spec, sizes), std::move(cells));
      })) {
    return UnsupportedType(spec, type);
  }
  return kernel;
}

}  // namespace

void RegisterDynamicQuantizeLstmOps(OpRegistry& registry) {
  using Kind = AttributeSpec::Kind;
  constexpr ElementTypeSet kFloat = {ElementType::kFloat32};
  constexpr ElementTypeSet kBytes = {ElementType::kInt8, ElementType::kUint8};
  OpDef def;
  def.domain = "com.microsoft";
  def.name = "DynamicQuantizeLSTM";
  def.inputs = {RequiredParameter("X", "T", kFloat),
                RequiredParameter("W", "T2", kBytes),
                RequiredParameter("R", "T2", kBytes),
                OptionalParameter("B", "T", kFloat),
                OptionalParameter("sequence_lens", "T1", {ElementType::kInt32}),
                OptionalParameter("initial_h", "T", kFloat),
                OptionalParameter("initial_c", "T", kFloat),
                OptionalParameter("P", "T", kFloat),
                RequiredParameter("W_scale", "T", kFloat),
                RequiredParameter("W_zero_point", "T2", kBytes),
                RequiredParameter("R_scale", "T", kFloat),
                RequiredParameter("R_zero_point", "T2", kBytes)};
  def.outputs = {OptionalParameter("Y", "T", kFloat), OptionalParameter("Y_h", "T", kFloat),
                 OptionalParameter("Y_c", "T", kFloat)};
  def.attributes = {{"activation_alpha", Kind::kFloats}, {"activation_beta", Kind::kFloats},
                    {"activations", Kind::kStrings},     {"clip", Kind::kFloat},
                    {"direction", Kind::kString},        {"hidden_size", Kind::kInt},
                    {"input_forget", Kind::kInt}};
  def.infer = InferDynamicQuantizeLstm;
  def.reference = Reference;
  registry.Register(std::move(def));
}

}  // namespace inferd::engine
