#include "engine/ops/pooling_shape.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/ops/op_def.h"
#include "engine/status_macros.h"

namespace inferd::engine {
namespace {

absl::Status CheckRank(int rank) {
  if (rank >= 3) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("input X has rank ", rank, ", expected at least 3: [N,C,spatial...]"));
}

void SetOutputs(InferenceContext& context, const SymbolicShape& shape) {
  context.SetOutput(0, context.element_type(0), shape);
  if (context.node().output(1) != nullptr) context.SetOutput(1, ElementType::kInt64, shape);
}

// The standard's formula leaves open how an input smaller than the window counts. ONNX Runtime
// rounds toward 0, which gives one window; networks run on inputs that small depend on it.
absl::StatusOr<WindowAttributes> ReadPoolAttributes(const Attributes& attributes,
                                                    int spatial_rank) {
  ASSIGN_OR_RETURN(WindowAttributes window, ReadWindowAttributes(attributes, spatial_rank));
  window.partial_window = true;
  return window;
}

}  // namespace

Shape PoolingShape::OutputShape() const {
  Shape shape{batch, channels};
  for (const WindowAxis& a : axes) shape.push_back(a.output);
  return shape;
}

absl::StatusOr<PoolingShape> ResolvePooling(const Attributes& attributes, const Shape& x) {
  RETURN_IF_ERROR(CheckRank(x.rank()));
  const int spatial_rank = x.rank() - 2;
  const std::vector<int64_t> kernel = attributes.GetInts("kernel_shape");
  RETURN_IF_ERROR(CheckKernelShape(kernel, spatial_rank));
  ASSIGN_OR_RETURN(const WindowAttributes window, ReadPoolAttributes(attributes, spatial_rank));
  PoolingShape p;
  p.batch = x[0];
  p.channels = x[1];
  for (int i = 0; i < spatial_rank; ++i) {
    ASSIGN_OR_RETURN(WindowAxis axis, ResolveWindowAxis(window, i, x[i + 2], kernel[i]));
    p.axes.push_back(axis);
  }
  RETURN_IF_ERROR(p.OutputShape().CheckedNumElements().status());
  return p;
}

absl::StatusOr<PoolingShape> ResolveGlobalPooling(const Shape& x) {
  RETURN_IF_ERROR(CheckRank(x.rank()));
  PoolingShape p;
  p.batch = x[0];
  p.channels = x[1];
  for (int i = 2; i < x.rank(); ++i) {
    WindowAxis axis;
    axis.input = x[i];
    axis.kernel = x[i];
    axis.output = 1;
    p.axes.push_back(axis);
  }
  return p;
}

absl::Status InferPooling(InferenceContext& context) {
  const std::vector<int64_t> kernel = context.attributes().GetInts("kernel_shape");
  const SymbolicShape& x = context.shape(0);
  // One kernel size per spatial axis, so that even an unknown rank is known.
  const int rank = x.has_rank() ? x.rank() : static_cast<int>(kernel.size()) + 2;
  RETURN_IF_ERROR(CheckRank(rank));
  RETURN_IF_ERROR(CheckKernelShape(kernel, rank - 2));
  ASSIGN_OR_RETURN(const WindowAttributes window,
                   ReadPoolAttributes(context.attributes(), rank - 2));
  SymbolicShape y = x.has_rank() ? x : SymbolicShape::OfRank(rank);
  for (int i = 0; i < rank - 2; ++i) {
    ASSIGN_OR_RETURN(y[i + 2], WindowOutputDim(window, i, y[i + 2], Dim(kernel[i])));
  }
  SetOutputs(context, y);
  return absl::OkStatus();
}

absl::Status InferGlobalPooling(InferenceContext& context) {
  SymbolicShape y = context.shape(0);
  if (y.has_rank()) {
    RETURN_IF_ERROR(CheckRank(y.rank()));
    for (int i = 2; i < y.rank(); ++i) y[i] = Dim(1);
  }
  SetOutputs(context, y);
  return absl::OkStatus();
}

int64_t TapsInsidePadded(const WindowAxis& axis, int64_t o) {
  // A window starts at or after -pad_begin, so taps drop out at the end alone.
  const int64_t room = axis.input + axis.pad_end - axis.start(o);
  return std::clamp<int64_t>((room + axis.dilation - 1) / axis.dilation, 0, axis.kernel);
}

}  // namespace inferd::engine
