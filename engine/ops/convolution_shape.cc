#include "engine/ops/convolution_shape.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/kernel/kernel.h"
#include "engine/ops/op_def.h"
#include "engine/status_macros.h"

namespace inferd::engine {
namespace {

absl::Status CheckRanks(int x_rank, int w_rank) {
  if (x_rank < 3 || w_rank != x_rank) {
    return absl::InvalidArgumentError(
        absl::StrCat("input X has rank ", x_rank, " and W rank ", w_rank,
                     ", expected equal ranks of at least 3: [N,C,spatial...] and "
                     "[outputs,channels,kernel...]"));
  }
  return absl::OkStatus();
}

absl::StatusOr<int64_t> ReadGroups(const Attributes& attributes) {
  const int64_t groups = attributes.GetInt("group", 1);
  if (groups < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("attribute group is ", groups, ", expected at least 1"));
  }
  return groups;
}

// kernel_shape, where given, repeats what W says.
absl::Status CheckKernelAttribute(const Attributes& attributes, const SymbolicShape& w) {
  const std::vector<int64_t> kernel = attributes.GetInts("kernel_shape");
  if (kernel.empty()) return absl::OkStatus();
  RETURN_IF_ERROR(CheckKernelShape(kernel, w.rank() - 2));
  for (int i = 2; i < w.rank(); ++i) {
    if (w[i].known() && w[i].value() != kernel[i - 2]) {
      return absl::InvalidArgumentError(absl::StrCat("attribute kernel_shape says ", kernel[i - 2],
                                                     " for spatial axis ", i - 2,
                                                     ", but W has shape ", w.ToString()));
    }
  }
  return absl::OkStatus();
}

Dim KernelDim(const Attributes& attributes, const SymbolicShape& w, int axis) {
  if (w[axis + 2].known()) return w[axis + 2];
  const std::vector<int64_t> kernel = attributes.GetInts("kernel_shape");
  return kernel.empty() ? Dim::Unknown() : Dim(kernel[axis]);
}

absl::Status CheckChannels(const Dim& x_channels, const Dim& w_channels, const Dim& w_outputs,
                           int64_t groups) {
  if (x_channels.known() && w_channels.known() &&
      (x_channels.value() % groups != 0 || x_channels.value() / groups != w_channels.value())) {
    return absl::InvalidArgumentError(absl::StrCat("X has ", x_channels.value(),
                                                   " channels, but W expects ", groups,
                                                   " groups of ", w_channels.value()));
  }
  if (w_outputs.known() && w_outputs.value() % groups != 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "W has ", w_outputs.value(), " output channels, not divisible by group ", groups));
  }
  return absl::OkStatus();
}

absl::Status CheckBias(const Dim& bias, const Dim& outputs) {
  if (bias.known() && outputs.known() && bias.value() != outputs.value()) {
    return absl::InvalidArgumentError(absl::StrCat("bias has ", bias.value(),
                                                   " elements, expected ", outputs.value(),
                                                   ", one per output channel"));
  }
  return absl::OkStatus();
}

absl::Status CheckBiasInput(const InferenceContext& context, const Dim& outputs) {
  if (!context.has_input(2) || !context.shape(2).has_rank()) return absl::OkStatus();
  const SymbolicShape& bias = context.shape(2);
  if (bias.rank() != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("bias has shape ", bias.ToString(), ", expected one dimension"));
  }
  return CheckBias(bias[0], outputs);
}

// What is known of both ranks: equal by definition.
int KnownRank(const SymbolicShape& x, const SymbolicShape& w) {
  if (x.has_rank()) return x.rank();
  if (w.has_rank()) return w.rank();
  return -1;
}

SymbolicShape OrOfRank(const SymbolicShape& shape, int rank) {
  return shape.has_rank() ? shape : SymbolicShape::OfRank(rank);
}

}  // namespace

bool ConvolutionShape::pointwise() const {
  return std::all_of(axes.begin(), axes.end(), [](const WindowAxis& a) {
    return a.kernel == 1 && a.stride == 1 && a.pad_begin == 0 && a.pad_end == 0;
  });
}

Shape ConvolutionShape::OutputShape() const {
  Shape shape{batch, output_channels()};
  for (const WindowAxis& a : axes) shape.push_back(a.output);
  return shape;
}

absl::StatusOr<ConvolutionShape> ResolveConvolution(const Attributes& attributes, const Shape& x,
                                                    const Shape& w) {
  RETURN_IF_ERROR(CheckRanks(x.rank(), w.rank()));
  ConvolutionShape c;
  ASSIGN_OR_RETURN(c.groups, ReadGroups(attributes));
  RETURN_IF_ERROR(CheckChannels(x[1], w[1], w[0], c.groups));
  RETURN_IF_ERROR(CheckKernelAttribute(attributes, w));
  c.batch = x[0];
  c.channels_per_group = w[1];
  c.outputs_per_group = w[0] / c.groups;
  ASSIGN_OR_RETURN(const WindowAttributes window, ReadWindowAttributes(attributes, x.rank() - 2));
  for (int i = 0; i < x.rank() - 2; ++i) {
    ASSIGN_OR_RETURN(WindowAxis axis, ResolveWindowAxis(window, i, x[i + 2], w[i + 2]));
    c.axes.push_back(axis);
  }
  RETURN_IF_ERROR(c.OutputShape().CheckedNumElements().status());
  return c;
}

absl::StatusOr<ConvolutionShape> ResolveConvolution(const NodeSpec& spec) {
  ASSIGN_OR_RETURN(ConvolutionShape c,
                   ResolveConvolution(spec.attributes(), spec.input(0).shape, spec.input(1).shape));
  if (spec.has_input(2)) {
    const Shape& bias = spec.input(2).shape;
    if (bias.rank() != 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("bias has shape ", bias.ToString(), ", expected one dimension"));
    }
    RETURN_IF_ERROR(CheckBias(bias[0], c.output_channels()));
  }
  return c;
}

absl::StatusOr<SymbolicShape> ConvolutionOutputShape(const Attributes& attributes,
                                                     const SymbolicShape& known_x,
                                                     const SymbolicShape& known_w) {
  const int rank = KnownRank(known_x, known_w);
  if (rank < 0) return SymbolicShape();
  const SymbolicShape x = OrOfRank(known_x, rank);
  const SymbolicShape w = OrOfRank(known_w, rank);
  RETURN_IF_ERROR(CheckRanks(x.rank(), w.rank()));
  ASSIGN_OR_RETURN(const int64_t groups, ReadGroups(attributes));
  RETURN_IF_ERROR(CheckChannels(x[1], w[1], w[0], groups));
  RETURN_IF_ERROR(CheckKernelAttribute(attributes, w));
  ASSIGN_OR_RETURN(const WindowAttributes window, ReadWindowAttributes(attributes, rank - 2));
  std::vector<Dim> dims = {x[0], w[0]};
  for (int i = 0; i < rank - 2; ++i) {
    ASSIGN_OR_RETURN(Dim d, WindowOutputDim(window, i, x[i + 2], KernelDim(attributes, w, i)));
    dims.push_back(std::move(d));
  }
  return SymbolicShape(std::move(dims));
}

absl::Status InferConvolution(InferenceContext& context) {
  ASSIGN_OR_RETURN(SymbolicShape y, ConvolutionOutputShape(context.attributes(), context.shape(0),
                                                           context.shape(1)));
  if (y.has_rank()) RETURN_IF_ERROR(CheckBiasInput(context, y[1]));
  context.SetOutput(0, context.element_type(0), std::move(y));
  return absl::OkStatus();
}

namespace {

// Attributes only ConvTranspose has.
struct TransposedAttributes {
  WindowAttributes window;
  std::vector<int64_t> output_padding;
  std::vector<int64_t> output_shape;  // empty: from the pads
};

absl::StatusOr<TransposedAttributes> ReadTransposedAttributes(const Attributes& attributes,
                                                              int spatial_rank) {
  TransposedAttributes t;
  ASSIGN_OR_RETURN(t.window, ReadWindowAttributes(attributes, spatial_rank));
  t.output_padding = attributes.GetInts("output_padding");
  if (t.output_padding.empty()) t.output_padding.assign(spatial_rank, 0);
  t.output_shape = attributes.GetInts("output_shape");
  // Some exporters write batch and channels too.
  if (static_cast<int>(t.output_shape.size()) == spatial_rank + 2) {
    t.output_shape.erase(t.output_shape.begin(), t.output_shape.begin() + 2);
  }
  if (static_cast<int>(t.output_padding.size()) != spatial_rank) {
    return absl::InvalidArgumentError(absl::StrCat("attribute output_padding has ",
                                                   t.output_padding.size(), " values, expected ",
                                                   spatial_rank));
  }
  if (!t.output_shape.empty() && static_cast<int>(t.output_shape.size()) != spatial_rank) {
    return absl::InvalidArgumentError(absl::StrCat(
        "attribute output_shape has ", t.output_shape.size(), " values, expected ", spatial_rank));
  }
  for (int i = 0; i < spatial_rank; ++i) {
    const int64_t limit = std::max(t.window.strides[i], t.window.dilations[i]);
    if (t.output_padding[i] < 0 || t.output_padding[i] >= limit) {
      return absl::InvalidArgumentError(
          absl::StrCat("attribute output_padding is ", t.output_padding[i], " on spatial axis ", i,
                       ", expected less than the stride or dilation there, ", limit));
    }
  }
  for (const int64_t d : t.output_shape) {
    if (d < 0 || d > (int64_t{1} << 30)) {
      return absl::InvalidArgumentError(
          absl::StrCat("attribute output_shape holds ", d, ", expected values in [0, 2^30]"));
    }
  }
  return t;
}

// One axis of the transposed convolution; roles of input and output as in the header.
absl::StatusOr<WindowAxis> ResolveTransposedAxis(const TransposedAttributes& t, int axis,
                                                 int64_t x_size, int64_t kernel) {
  constexpr int64_t kLimit = int64_t{1} << 30;
  if (x_size < 0 || x_size > kLimit || kernel < 1 || kernel > kLimit) {
    return absl::InvalidArgumentError(absl::StrCat("spatial axis ", axis, ": input size ", x_size,
                                                   " and kernel size ", kernel,
                                                   " must be at most 2^30, the kernel at least 1"));
  }
  const int rank = static_cast<int>(t.window.strides.size());
  WindowAxis w;
  w.output = x_size;
  w.kernel = kernel;
  w.stride = t.window.strides[axis];
  w.dilation = t.window.dilations[axis];
  // The size of Y without pads; nothing is added where X is empty.
  const int64_t full =
      x_size == 0 ? 0 : (x_size - 1) * w.stride + t.output_padding[axis] + w.extent();
  const bool same =
      t.window.auto_pad == AutoPad::kSameUpper || t.window.auto_pad == AutoPad::kSameLower;
  if (same || !t.output_shape.empty()) {
    w.input = t.output_shape.empty() ? x_size * w.stride : t.output_shape[axis];
    const int64_t total = full - w.input;
    // Where more is asked for than there is, the window moves by nothing and Y ends in bias alone.
    if (total < 0) {
      w.pad_end = total;
    } else if (t.window.auto_pad == AutoPad::kSameUpper) {
      w.pad_begin = total / 2;
      w.pad_end = total - w.pad_begin;
    } else {
      w.pad_end = total / 2;
      w.pad_begin = total - w.pad_end;
    }
    return w;
  }
  if (t.window.auto_pad == AutoPad::kNotSet) {
    w.pad_begin = t.window.pads[axis];
    w.pad_end = t.window.pads[rank + axis];
  }
  w.input = full - w.pad_begin - w.pad_end;
  if (w.input < 0 && x_size > 0) {
    return absl::InvalidArgumentError(absl::StrCat("spatial axis ", axis, ": pads ", w.pad_begin,
                                                   " and ", w.pad_end, " leave nothing of ", full,
                                                   " output positions"));
  }
  w.input = std::max<int64_t>(0, w.input);
  return w;
}

}  // namespace

absl::StatusOr<ConvolutionShape> ResolveTransposedConvolution(const Attributes& attributes,
                                                              const Shape& x, const Shape& w) {
  RETURN_IF_ERROR(CheckRanks(x.rank(), w.rank()));
  ConvolutionShape c;
  ASSIGN_OR_RETURN(c.groups, ReadGroups(attributes));
  if (x[1] != w[0] || x[1] % c.groups != 0) {
    return absl::InvalidArgumentError(absl::StrCat("X has ", x[1], " channels and W ", w[0],
                                                   ", expected equal and divisible by group ",
                                                   c.groups));
  }
  RETURN_IF_ERROR(CheckKernelAttribute(attributes, w));
  c.batch = x[0];
  c.channels_per_group = x[1] / c.groups;
  c.outputs_per_group = w[1];
  ASSIGN_OR_RETURN(const TransposedAttributes t,
                   ReadTransposedAttributes(attributes, x.rank() - 2));
  for (int i = 0; i < x.rank() - 2; ++i) {
    ASSIGN_OR_RETURN(WindowAxis axis, ResolveTransposedAxis(t, i, x[i + 2], w[i + 2]));
    c.axes.push_back(axis);
  }
  if (w[1] > (int64_t{1} << 40) / c.groups) {
    return absl::InvalidArgumentError(
        absl::StrCat("W of shape ", w.ToString(), " and group ", c.groups, " are too large"));
  }
  RETURN_IF_ERROR(TransposedOutputShape(c).CheckedNumElements().status());
  return c;
}

Shape TransposedOutputShape(const ConvolutionShape& c) {
  Shape shape{c.batch, c.output_channels()};
  for (const WindowAxis& a : c.axes) shape.push_back(a.input);
  return shape;
}

absl::Status InferTransposedConvolution(InferenceContext& context) {
  const ElementType type = context.element_type(0);
  const int rank = KnownRank(context.shape(0), context.shape(1));
  if (rank < 0) {
    context.SetOutput(0, type, {});
    return absl::OkStatus();
  }
  const SymbolicShape x = OrOfRank(context.shape(0), rank);
  const SymbolicShape w = OrOfRank(context.shape(1), rank);
  RETURN_IF_ERROR(CheckRanks(x.rank(), w.rank()));
  if (x.concrete() && w.concrete()) {
    ASSIGN_OR_RETURN(
        const ConvolutionShape c,
        ResolveTransposedConvolution(context.attributes(), *x.concrete(), *w.concrete()));
    RETURN_IF_ERROR(CheckBiasInput(context, c.output_channels()));
    context.SetOutput(0, type, TransposedOutputShape(c));
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(const int64_t groups, ReadGroups(context.attributes()));
  RETURN_IF_ERROR(CheckKernelAttribute(context.attributes(), w));
  ASSIGN_OR_RETURN(const TransposedAttributes t,
                   ReadTransposedAttributes(context.attributes(), rank - 2));
  std::vector<Dim> dims = {x[0], Dim::Unknown()};
  if (w[1].known() && w[1].value() <= (int64_t{1} << 40) / groups) {
    dims[1] = Dim(w[1].value() * groups);
  }
  for (int i = 0; i < rank - 2; ++i) {
    const Dim kernel = KernelDim(context.attributes(), w, i);
    if (!t.output_shape.empty()) {
      dims.push_back(Dim(t.output_shape[i]));
    } else if (x[i + 2].known() && kernel.known()) {
      ASSIGN_OR_RETURN(const WindowAxis axis,
                       ResolveTransposedAxis(t, i, x[i + 2].value(), kernel.value()));
      dims.push_back(Dim(axis.input));
    } else {
      dims.push_back(Dim::Unknown());
    }
  }
  context.SetOutput(0, type, SymbolicShape(std::move(dims)));
  return absl::OkStatus();
}

}  // namespace inferd::engine
