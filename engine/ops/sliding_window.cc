#include "engine/ops/sliding_window.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "engine/status_macros.h"

namespace inferd::engine {
namespace {

// Sizes, strides and pads up to here multiply pairwise without overflow.
constexpr int64_t kMaxExtent = int64_t{1} << 30;

int64_t CeilDiv(int64_t a, int64_t b) { return a >= 0 ? (a + b - 1) / b : -(-a / b); }

absl::StatusOr<std::vector<int64_t>> ReadInts(const Attributes& attributes, absl::string_view name,
                                              size_t count, int64_t default_value,
                                              int64_t smallest) {
  std::vector<int64_t> values = attributes.GetInts(name);
  if (values.empty()) values.assign(count, default_value);
  if (values.size() != count) {
    return absl::InvalidArgumentError(absl::StrCat("attribute ", std::string(name), " has ",
                                                   values.size(), " values, expected ", count));
  }
  for (const int64_t v : values) {
    if (v < smallest || v > kMaxExtent) {
      return absl::InvalidArgumentError(
          absl::StrCat("attribute ", std::string(name), " is [", absl::StrJoin(values, ","),
                       "], expected values in [", smallest, ", 2^30]"));
    }
  }
  return values;
}

}  // namespace

absl::StatusOr<AutoPad> ReadAutoPad(const Attributes& attributes) {
  const std::string value = attributes.GetString("auto_pad", "NOTSET");
  if (value == "NOTSET" || value.empty()) return AutoPad::kNotSet;
  if (value == "SAME_UPPER") return AutoPad::kSameUpper;
  if (value == "SAME_LOWER") return AutoPad::kSameLower;
  if (value == "VALID") return AutoPad::kValid;
  return absl::InvalidArgumentError(absl::StrCat(
      "attribute auto_pad is \"", value, "\", expected NOTSET, SAME_UPPER, SAME_LOWER or VALID"));
}

IndexRange TapsInside(const WindowAxis& axis, int64_t o) {
  const int64_t start = axis.start(o);
  return {std::max<int64_t>(0, CeilDiv(-start, axis.dilation)),
          std::min(axis.kernel, CeilDiv(axis.input - start, axis.dilation))};
}

IndexRange OutputsReading(const WindowAxis& axis, int64_t k, IndexRange inputs) {
  const int64_t shift = k * axis.dilation - axis.pad_begin;
  return {std::max<int64_t>(0, CeilDiv(inputs.begin - shift, axis.stride)),
          std::min(axis.output, CeilDiv(inputs.end - shift, axis.stride))};
}

absl::StatusOr<std::array<WindowAxis, 3>> AsThreeAxes(absl::Span<const WindowAxis> axes) {
  if (axes.size() > 3) {
    return absl::UnimplementedError(
        absl::StrCat("windows over ", axes.size(), " spatial axes; supported are 1, 2 and 3"));
  }
  WindowAxis unit;
  unit.input = 1;
  unit.output = 1;
  std::array<WindowAxis, 3> three = {unit, unit, unit};
  std::copy(axes.begin(), axes.end(), three.end() - axes.size());
  return three;
}

absl::StatusOr<WindowAttributes> ReadWindowAttributes(const Attributes& attributes,
                                                      int spatial_rank) {
  if (spatial_rank < 0) {
    return absl::InvalidArgumentError(
        "the input has no batch and channel axis before its spatial ones");
  }
  WindowAttributes result;
  ASSIGN_OR_RETURN(result.auto_pad, ReadAutoPad(attributes));
  result.ceil_mode = attributes.GetInt("ceil_mode", 0) != 0;
  ASSIGN_OR_RETURN(result.strides, ReadInts(attributes, "strides", spatial_rank, 1, 1));
  ASSIGN_OR_RETURN(result.dilations, ReadInts(attributes, "dilations", spatial_rank, 1, 1));
  ASSIGN_OR_RETURN(result.pads, ReadInts(attributes, "pads", 2 * spatial_rank, 0, 0));
  return result;
}

absl::Status CheckKernelShape(absl::Span<const int64_t> kernel, int spatial_rank) {
  if (static_cast<int>(kernel.size()) != spatial_rank) {
    return absl::InvalidArgumentError(absl::StrCat("attribute kernel_shape has ", kernel.size(),
                                                   " values, expected ", spatial_rank,
                                                   ", one per spatial axis of the input"));
  }
  for (const int64_t k : kernel) {
    if (k < 1 || k > kMaxExtent) {
      return absl::InvalidArgumentError(absl::StrCat(
          "kernel shape is [", absl::StrJoin(kernel, ","), "], expected values in [1, 2^30]"));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<WindowAxis> ResolveWindowAxis(const WindowAttributes& attributes, int axis,
                                             int64_t input, int64_t kernel) {
  const int rank = static_cast<int>(attributes.strides.size());
  WindowAxis w;
  w.input = input;
  w.kernel = kernel;
  w.stride = attributes.strides[axis];
  w.dilation = attributes.dilations[axis];
  if (input < 0 || input > kMaxExtent || kernel < 1 || kernel > kMaxExtent) {
    return absl::InvalidArgumentError(absl::StrCat("spatial axis ", axis, ": input size ", input,
                                                   " and kernel size ", kernel,
                                                   " must be at most 2^30, the kernel at least 1"));
  }
  switch (attributes.auto_pad) {
    case AutoPad::kSameUpper:
    case AutoPad::kSameLower: {
      w.output = CeilDiv(input, w.stride);
      const int64_t total = std::max<int64_t>(0, (w.output - 1) * w.stride + w.extent() - input);
      const int64_t half = total / 2;
      const bool upper = attributes.auto_pad == AutoPad::kSameUpper;
      w.pad_begin = upper ? half : total - half;
      w.pad_end = total - w.pad_begin;
      return w;
    }
    case AutoPad::kValid:
      break;
    case AutoPad::kNotSet:
      w.pad_begin = attributes.pads[axis];
      w.pad_end = attributes.pads[rank + axis];
      break;
  }
  const int64_t room = input + w.pad_begin + w.pad_end - w.extent();
  if (room < 0 && attributes.partial_window && -room < w.stride && input > 0) {
    w.output = 1;
    return w;
  }
  if (room < 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "spatial axis ", axis, ": a window of ", w.extent(), " (kernel ", kernel, ", dilation ",
        w.dilation, ") does not fit into ", input, " with pads ", w.pad_begin, " and ", w.pad_end));
  }
  // The standard's formula for VALID with ceil_mode equals the one without.
  const bool ceil = attributes.ceil_mode && attributes.auto_pad == AutoPad::kNotSet;
  w.output = (ceil ? CeilDiv(room, w.stride) : room / w.stride) + 1;
  if (ceil && (w.output - 1) * w.stride >= input + w.pad_begin) --w.output;
  return w;
}

absl::StatusOr<Dim> WindowOutputDim(const WindowAttributes& attributes, int axis, const Dim& input,
                                    const Dim& kernel) {
  if (input.known() && kernel.known()) {
    ASSIGN_OR_RETURN(const WindowAxis w,
                     ResolveWindowAxis(attributes, axis, input.value(), kernel.value()));
    return Dim(w.output);
  }
  if (attributes.strides[axis] != 1) return Dim::Unknown();
  switch (attributes.auto_pad) {
    case AutoPad::kSameUpper:
    case AutoPad::kSameLower:
      return input;
    case AutoPad::kValid:
      return kernel.known() && kernel.value() == 1 ? input : Dim::Unknown();
    case AutoPad::kNotSet:
      break;
  }
  if (!kernel.known()) return Dim::Unknown();
  const int rank = static_cast<int>(attributes.strides.size());
  const int64_t pads = attributes.pads[axis] + attributes.pads[rank + axis];
  const int64_t grown = (kernel.value() - 1) * attributes.dilations[axis];
  return grown == pads ? input : Dim::Unknown();
}

}  // namespace inferd::engine
