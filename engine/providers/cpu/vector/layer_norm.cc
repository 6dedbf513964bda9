// LayerNormalization, RMSNormalization and ONNX Runtime's forms of them, of float in plain layout:
// over the last dimensions, whole, with an optional sum of a residual and a bias in front.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/kernel/kernel.h"
#include "engine/ops/op_def.h"
#include "engine/providers/cpu/candidate_table.h"
#include "engine/providers/cpu/vector/normalize_rows.h"
#include "engine/status_macros.h"

namespace inferd::engine::cpu {
namespace {

constexpr int64_t kGrain = 8192;  // elements worth waking a thread for

// Which operand plays which part; -1: none does.
struct Form {
  bool centred = true;
  int skip = -1, scale = 1, shift = -1, bias = -1;
  int mean = -1, inverse = -1, sum = -1;  // outputs
  float epsilon = 1e-5f;                  // where the attribute is absent
};

Form FormOf(const NodeSpec& spec) {
  const absl::string_view op = spec.op().name;
  if (op == "LayerNormalization") return {.shift = 2, .mean = 1, .inverse = 2};
  if (op == "SkipLayerNormalization") {
    return {.skip = 1,
            .scale = 2,
            .shift = 3,
            .bias = 4,
            .mean = 1,
            .inverse = 2,
            .sum = 3,
            .epsilon = 1e-12f};
  }
  if (op == "SkipSimplifiedLayerNormalization") {
    return {.centred = false,
            .skip = 1,
            .scale = 2,
            .bias = 3,
            .mean = 1,
            .inverse = 2,
            .sum = 3,
            .epsilon = 1e-12f};
  }
  return {.centred = false, .inverse = 1};  // RMSNormalization and its older name
}

struct Rows {
  int64_t rows = 1, n = 1, skip_rows = 1;
};

absl::StatusOr<Rows> RowsOf(const NodeSpec& spec, const Form& form) {
  auto decline = [](absl::string_view reason) {
    return absl::UnimplementedError(absl::StrCat("vector_layer_norm: ", reason));
  };
  for (const OperandSpec& operand : spec.inputs) {
    if (operand.present && operand.type != ElementType::kFloat32) return decline("float only");
  }
  for (const OperandSpec& operand : spec.outputs) {
    if (operand.present && operand.type != ElementType::kFloat32) {
      return decline("statistics other than float");
    }
  }
  const Shape& x = spec.input(0).shape;
  if (x.NumElements() == 0 || x.rank() == 0) return decline("empty tensor or scalar");
  int64_t axis = form.skip >= 0 ? -1 : spec.attributes().GetInt("axis", -1);
  if (axis < -x.rank() || axis >= x.rank()) return decline("axis out of range");
  if (axis < 0) axis += x.rank();
  Rows rows;
  rows.rows = x.Product(0, static_cast<int>(axis));
  rows.n = x.Product(static_cast<int>(axis), x.rank());
  for (const int i : {form.scale, form.shift, form.bias}) {
    if (i >= 0 && spec.has_input(i) && spec.input(i).shape.NumElements() != rows.n) {
      return decline("scale or bias not one number for each element of a row");
    }
  }
  if (form.skip >= 0) rows.skip_rows = spec.input(form.skip).shape.NumElements() / rows.n;
  return rows;
}

class LayerNormKernel final : public Kernel {
 public:
  LayerNormKernel(const Form& form, const Rows& rows, double epsilon)
      : form_(form), rows_(rows), epsilon_(epsilon) {}

  absl::Status Run(KernelContext& context) const override {
    const auto input = [&](int i) {
      return i >= 0 && context.has_input(i) ? context.input(i).as<float>() : nullptr;
    };
    const auto output = [&](int i) {
      return i >= 0 && context.has_output(i) ? context.output(i).as<float>() : nullptr;
    };
    const NormalizeKernels& best = BestNormalize();
    const RowNormalization how = {rows_.n, epsilon_, form_.centred, input(form_.scale),
                                  input(form_.shift)};
    const float *x = input(0), *skip = input(form_.skip), *bias = input(form_.bias);
    float *y = output(0), *sum = output(form_.sum);
    float *mean = output(form_.mean), *inverse = output(form_.inverse);
    const int64_t grain = std::max<int64_t>(1, kGrain / rows_.n);
    context.threads().ParallelFor(rows_.rows, grain, [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) {
        const float* from = x + r * rows_.n;
        float* to = y + r * rows_.n;
        if (skip != nullptr) {
          float* total = sum != nullptr ? sum + r * rows_.n : to;
          best.add(from, skip + r % rows_.skip_rows * rows_.n, bias, total, rows_.n);
          from = total;
        }
        const RowMoments moments = best.normalize(how, from, to);
        if (mean != nullptr) mean[r] = moments.mean;
        if (inverse != nullptr) inverse[r] = moments.inverse;
      }
    });
    return absl::OkStatus();
  }

 private:
  Form form_;
  Rows rows_;
  double epsilon_;
};

class LayerNormImplementation final : public KernelImplementation {
 public:
  absl::string_view name() const override { return "vector_layer_norm"; }

  absl::StatusOr<KernelLayouts> Accept(const NodeSpec& spec) const override {
    RETURN_IF_ERROR(RowsOf(spec, FormOf(spec)).status());
    return KernelLayouts{std::vector<Layout>(spec.inputs.size()),
                         std::vector<Layout>(spec.outputs.size())};
  }

  absl::StatusOr<std::unique_ptr<Kernel>> Create(const NodeSpec& spec) const override {
    // The reference kernel's factory checks what shape inference could not know.
    RETURN_IF_ERROR(spec.op().reference(spec).status());
    const Form form = FormOf(spec);
    ASSIGN_OR_RETURN(const Rows rows, RowsOf(spec, form));
    return std::make_unique<LayerNormKernel>(form, rows,
                                             spec.attributes().GetFloat("epsilon", form.epsilon));
  }
};

}  // namespace

void RegisterLayerNorm(CandidateTable& table) {
  const auto* norm = table.Own(std::make_unique<LayerNormImplementation>());
  for (const char* op : {"LayerNormalization", "RMSNormalization", "SimplifiedLayerNormalization",
                         "com.microsoft::SkipLayerNormalization",
                         "com.microsoft::SkipSimplifiedLayerNormalization"}) {
    table.Add(op, norm);
  }
}

}  // namespace inferd::engine::cpu
