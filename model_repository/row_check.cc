#include "model_repository/row_check.h"

#include <cmath>
#include <cstring>
#include <map>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "engine/status_macros.h"
#include "engine/tensor/tensor.h"
#include "model_repository/trial_inputs.h"

namespace inferd::repository {
namespace {

using engine::Dim;
using engine::ElementType;
using engine::Shape;
using engine::Tensor;
using engine::TensorInfo;
using engine::TensorView;

// Rows [first, first + count) of each tensor, sharing its memory.
std::vector<TensorView> Rows(const std::vector<Tensor>& tensors, int64_t first, int64_t count) {
  std::vector<TensorView> views;
  for (const Tensor& tensor : tensors) {
    TensorView view = tensor.view();
    if (tensor.defined()) {
      const int64_t row_bytes = tensor.num_bytes() / tensor.shape()[0];
      view.shape[0] = count;
      view.data = static_cast<char*>(view.data) + first * row_bytes;
    }
    views.push_back(std::move(view));
  }
  return views;
}

// Largest difference between row `row` of `together` and `alone`, relative to the largest value
// of `together`. Integers and strings count as wholly different where they are not equal, save
// for one element in fifty: rounding and ties.
double Difference(const Tensor& together, const Tensor& alone, int64_t row) {
  const int64_t n = alone.num_elements();
  double result = 0;
  const bool real = engine::DispatchType<float, double, engine::Float16, engine::BFloat16>(
      together.type(), [&]<typename T>() {
        const T* all = together.data<T>();
        const T* a = all + row * n;
        const T* b = alone.data<T>();
        const auto value = [](T x) {
          if constexpr (std::is_same_v<T, double>)
            return x;
          else
            return static_cast<double>(static_cast<float>(x));
        };
        double scale = 1e-6;
        for (int64_t i = 0; i < together.num_elements(); ++i) {
          const double v = std::fabs(value(all[i]));
          if (std::isfinite(v)) scale = std::max(scale, v);
        }
        for (int64_t i = 0; i < n; ++i) {
          const double x = value(a[i]), y = value(b[i]);
          if ((std::isnan(x) && std::isnan(y)) || x == y) continue;
          const double d = std::fabs(x - y) / scale;
          result = std::max(result, std::isfinite(d) ? d : 1.0);
        }
      });
  if (real) return result;
  int64_t unequal = 0;
  if (together.type() == ElementType::kString) {
    const std::string* a = together.data<std::string>() + row * n;
    const std::string* b = alone.data<std::string>();
    for (int64_t i = 0; i < n; ++i) unequal += a[i] != b[i];
  } else {
    const int64_t bytes = engine::ElementBits(together.type()) / 8;
    if (bytes == 0) return 0;  // packed sub-byte elements: nothing to compare row by row
    const char* a = static_cast<const char*>(together.view().data) + row * n * bytes;
    const char* b = static_cast<const char*>(alone.view().data);
    for (int64_t i = 0; i < n; ++i)
      unequal += std::memcmp(a + i * bytes, b + i * bytes, bytes) != 0;
  }
  return unequal * 50 > n ? 1.0 : 0.0;
}

RowCheck Compare(engine::Context& context, const std::vector<Tensor>& inputs,
                 const std::vector<TensorInfo>& outputs) {
  constexpr double kTolerance = 1e-3;  // kernels differ by batch size
  std::vector<Tensor> together;
  if (auto s = context.Run(Rows(inputs, 0, 2), &together); !s.ok()) {
    return {RowCheck::Outcome::kInconclusive, std::string(s.message())};
  }
  for (int64_t row = 0; row < 2; ++row) {
    std::vector<Tensor> alone;
    if (auto s = context.Run(Rows(inputs, row, 1), &alone); !s.ok()) {
      return {RowCheck::Outcome::kInconclusive, std::string(s.message())};
    }
    for (size_t i = 0; i < outputs.size(); ++i) {
      const Tensor& a = together[i];
      const Tensor& b = alone[i];
      if (a.shape().rank() == 0 || a.shape()[0] != 2 || b.shape().rank() != a.shape().rank() ||
          b.shape()[0] != 1 || a.num_elements() != 2 * b.num_elements()) {
        return {RowCheck::Outcome::kDependent,
                absl::StrCat("output '", outputs[i].name, "' has shape ", a.shape().ToString(),
                             " for two rows and ", b.shape().ToString(), " for one")};
      }
      if (const double difference = Difference(a, b, row); difference > kTolerance) {
        return {RowCheck::Outcome::kDependent,
                absl::StrCat("output '", outputs[i].name, "' of a row differs by ", difference,
                             " of its range when another row is in the batch")};
      }
    }
  }
  return {RowCheck::Outcome::kIndependent, ""};
}

// A window over time needs so many moments; a batch may be of any size.
bool TakesManyRows(engine::Context& context, const std::vector<TensorInfo>& inputs) {
  bool has_free_dims = false;
  const absl::StatusOr<std::vector<Tensor>> tensors =
      MakeTrialInputs(inputs, /*rows=*/64, /*size=*/64, &has_free_dims);
  if (!tensors.ok()) return false;
  std::vector<engine::TensorView> views;
  for (const Tensor& tensor : *tensors) views.push_back(tensor.view());
  std::vector<Tensor> outputs;
  return context.Run(views, &outputs).ok();
}

}  // namespace

RowCheck CheckRows(engine::Context& context, const std::vector<TensorInfo>& inputs,
                   const std::vector<TensorInfo>& outputs) {
  RowCheck result;
  // A convolution stack needs some width; a table of positions must not be left.
  for (int64_t size : {16, 64}) {
    bool has_free_dims = false;
    absl::StatusOr<std::vector<Tensor>> tensors =
        MakeTrialInputs(inputs, /*rows=*/2, size, &has_free_dims);
    if (!tensors.ok())
      return {RowCheck::Outcome::kInconclusive, std::string(tensors.status().message())};
    result = Compare(context, *tensors, outputs);
    if (result.outcome != RowCheck::Outcome::kInconclusive || !has_free_dims) break;
  }
  if (result.outcome == RowCheck::Outcome::kInconclusive && TakesManyRows(context, inputs)) {
    return {RowCheck::Outcome::kDependent,
            absl::StrCat("it takes many rows but not two (", result.detail,
                         "), so rows are parts of one input")};
  }
  return result;
}

}  // namespace inferd::repository
