// ai.onnx.ml.SVMRegressor: a weighted sum of likenesses to support vectors, or of features.
#include <memory>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/kernel/kernel.h"
#include "engine/kernel/parsed_attributes.h"
#include "engine/ops/all_ops.h"
#include "engine/ops/ml/post_transform.h"
#include "engine/ops/ml/svm_kernel.h"
#include "engine/ops/ml/table_input.h"
#include "engine/ops/op_def.h"
#include "engine/ops/shape_input.h"
#include "engine/status_macros.h"

namespace inferd::engine {
namespace {

absl::Status Infer(InferenceContext& context) {
  ASSIGN_OR_RETURN(const Dim rows, InferRows(context));
  context.SetOutput(0, ElementType::kFloat32, SymbolicShape({rows, Dim(1)}));
  return absl::OkStatus();
}

struct Machine {
  SvmKernel kernel;
  int64_t features = 0;
  int64_t supports = 0;  // none: the coefficients are weights of the features themselves
  std::vector<float> vectors;
  std::vector<float> coefficients;
  double rho = 0;
  bool one_class = false;
  PostTransform transform = PostTransform::kNone;
};

absl::StatusOr<Machine> ReadMachine(const Attributes& a) {
  Machine m;
  ASSIGN_OR_RETURN(m.kernel, ReadSvmKernel(a));
  ASSIGN_OR_RETURN(m.transform, ReadPostTransform(a));
  m.coefficients = a.GetFloats("coefficients");
  m.one_class = a.GetInt("one_class", 0) != 0;
  const std::vector<float> rho = a.GetFloats("rho");
  if (rho.size() > 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("attribute rho has ", rho.size(), " values, expected 1"));
  }
  if (!rho.empty()) m.rho = rho[0];
  const int64_t supports = m.supports = a.GetInt("n_supports", 0);
  const int64_t coefficients = static_cast<int64_t>(m.coefficients.size());
  if (supports < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("attribute n_supports is ", supports, ", expected 0 or more"));
  }
  m.features = coefficients;
  if (supports == 0) return m;
  if (coefficients != supports) {
    return absl::InvalidArgumentError(absl::StrCat("attribute coefficients has ", coefficients,
                                                   " values, expected ", supports,
                                                   ", one for each support vector"));
  }
  m.vectors = a.GetFloats("support_vectors");
  const int64_t values = static_cast<int64_t>(m.vectors.size());
  if (values % supports != 0) {
    return absl::InvalidArgumentError(absl::StrCat("attribute support_vectors has ", values,
                                                   " values, which are no ", supports,
                                                   " vectors of one length"));
  }
  m.features = values / supports;
  return m;
}

template <typename T>
double Predict(const Machine& m, const T* row) {
  double sum = m.rho;
  if (m.supports == 0) {
    sum += DotProduct(row, m.coefficients.data(), m.features);
  } else {
    const float* vector = m.vectors.data();
    for (const float c : m.coefficients) {
      sum += c * m.kernel(row, vector, m.features);
      vector += m.features;
    }
  }
  // Inlier or outlier.
  if (m.one_class) return sum > 0 ? 1 : -1;
  ApplyPostTransform(m.transform, absl::MakeSpan(&sum, 1));
  return sum;
}

absl::StatusOr<std::unique_ptr<Kernel>> Reference(const NodeSpec& spec) {
  ASSIGN_OR_RETURN(const TableShape table, AsTable(spec.input(0).shape));
  ASSIGN_OR_RETURN(const std::shared_ptr<const Machine> machine,
                   ParseAttributesOnce<Machine>(spec, ReadMachine));
  if (table.features != machine->features) {
    return absl::InvalidArgumentError(
        absl::StrCat("input X has ", table.features, " features, expected ", machine->features));
  }
  RETURN_IF_ERROR(CheckOutputShape(spec, 0, Shape{table.rows, 1}));
  std::unique_ptr<Kernel> kernel;
  DispatchType<float, double, int32_t, int64_t>(spec.input(0).type, [&]<typename T>() {
    kernel = MakeKernel([machine, rows = table.rows](KernelContext& context) {
      const T* x = context.input(0).as<T>();
      float* y = context.output(0).as<float>();
      context.threads().ParallelFor(rows, 1, [&](int64_t begin, int64_t end) {
        for (int64_t r = begin; r < end; ++r) {
          y[r] = static_cast<float>(Predict(*machine, x + r * machine->features));
        }
      });
      return absl::OkStatus();
    });
  });
  return kernel;
}

}  // namespace

void RegisterSvmRegressorOps(OpRegistry& registry) {
  using Kind = AttributeSpec::Kind;
  registry.Register({.domain = "ai.onnx.ml",
                     .name = "SVMRegressor",
                     .version = 1,
                     .inputs = {{"X", "T", kTableTypes}},
                     .outputs = {{"Y", "", {ElementType::kFloat32}}},
                     .attributes = {{"coefficients", Kind::kFloats},
                                    {"kernel_params", Kind::kFloats},
                                    {"kernel_type", Kind::kString},
                                    {"n_supports", Kind::kInt},
                                    {"one_class", Kind::kInt},
                                    {"post_transform", Kind::kString},
                                    {"rho", Kind::kFloats},
                                    {"support_vectors", Kind::kFloats}},
                     .infer = Infer,
                     .reference = Reference});
}

}  // namespace inferd::engine
