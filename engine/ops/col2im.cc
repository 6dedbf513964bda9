// Col2Im: adds blocks, one per column, back into the images they were cut from; the transpose of
// what a convolution reads.
#include <complex>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/kernel/kernel.h"
#include "engine/ops/all_ops.h"
#include "engine/ops/op_def.h"
#include "engine/ops/shape_functions.h"
#include "engine/ops/shape_input.h"
#include "engine/ops/sliding_window.h"
#include "engine/status_macros.h"

namespace inferd::engine {
namespace {

// Strings, which the standard lists, have no sum.
constexpr ElementTypeSet kTypes =
    type_sets::kNumeric | type_sets::kComplex | ElementTypeSet{ElementType::kBool};

// A block is the kernel of a window, the image its input and the blocks along an axis its output.
absl::StatusOr<std::vector<WindowAxis>> ResolveBlocks(const Attributes& attributes,
                                                      const std::vector<int64_t>& image,
                                                      const std::vector<int64_t>& block) {
  const int rank = static_cast<int>(image.size());
  if (rank == 0) return absl::InvalidArgumentError("input image_shape is empty");
  if (block.size() != image.size()) {
    return absl::InvalidArgumentError(absl::StrCat("input image_shape has ", rank,
                                                   " elements and block_shape ", block.size(),
                                                   ", expected as many"));
  }
  RETURN_IF_ERROR(CheckKernelShape(block, rank));
  ASSIGN_OR_RETURN(const WindowAttributes window, ReadWindowAttributes(attributes, rank));
  std::vector<WindowAxis> axes;
  for (int i = 0; i < rank; ++i) {
    ASSIGN_OR_RETURN(WindowAxis axis, ResolveWindowAxis(window, i, image[i], block[i]));
    axes.push_back(axis);
  }
  return axes;
}

// The product of one field of all axes.
absl::StatusOr<int64_t> Product(const std::vector<WindowAxis>& axes, int64_t WindowAxis::*field) {
  Shape shape;
  for (const WindowAxis& axis : axes) shape.push_back(axis.*field);
  return shape.CheckedNumElements();
}

// The channels of columns [N, rows, count].
absl::StatusOr<Dim> Channels(const Dim& rows, const Dim& count,
                             const std::vector<WindowAxis>& axes) {
  ASSIGN_OR_RETURN(const int64_t block, Product(axes, &WindowAxis::kernel));
  ASSIGN_OR_RETURN(const int64_t blocks, Product(axes, &WindowAxis::output));
  if (count.known() && count.value() != blocks) {
    return absl::InvalidArgumentError(absl::StrCat("input input has ", count.value(),
                                                   " columns, expected ", blocks,
                                                   ", one for each block of the image"));
  }
  if (!rows.known()) return Dim::Unknown();
  if (rows.value() % block != 0) {
    return absl::InvalidArgumentError(absl::StrCat("input input has ", rows.value(),
                                                   " rows, not divisible by the ", block,
                                                   " elements of a block"));
  }
  return Dim(rows.value() / block);
}

absl::Status Infer(InferenceContext& context) {
  RETURN_IF_ERROR(ExpectRank(context, 0, 3, 3));
  RETURN_IF_ERROR(ExpectRank(context, 1, 1, 1));
  RETURN_IF_ERROR(ExpectRank(context, 2, 1, 1));
  const SymbolicShape& x = context.shape(0);
  ASSIGN_OR_RETURN(const auto image, ConstantInts(context, 1));
  ASSIGN_OR_RETURN(const auto block, ConstantInts(context, 2));
  SymbolicShape y;
  if (image.has_value() && block.has_value()) {
    ASSIGN_OR_RETURN(const auto axes, ResolveBlocks(context.attributes(), *image, *block));
    y = SymbolicShape::OfRank(static_cast<int>(axes.size()) + 2);
    if (x.has_rank()) {
      y[0] = x[0];
      ASSIGN_OR_RETURN(y[1], Channels(x[1], x[2], axes));
    }
    for (size_t i = 0; i < axes.size(); ++i) y[static_cast<int>(i) + 2] = Dim(axes[i].input);
  } else if (const auto rank = KnownCount(context, 1); rank.has_value() && *rank <= 64) {
    y = SymbolicShape::OfRank(static_cast<int>(*rank) + 2);
    if (x.has_rank()) y[0] = x[0];
  }
  context.SetOutput(0, context.element_type(0), std::move(y));
  return absl::OkStatus();
}

// What sums are kept in: integers wrap around, truths are joined.
template <typename T>
auto SumType() {
  if constexpr (std::is_same_v<T, bool>) {
    return bool{};
  } else if constexpr (std::is_integral_v<T>) {
    return std::make_unsigned_t<T>{};
  } else if constexpr (std::is_same_v<T, std::complex<float>> ||
                       std::is_same_v<T, std::complex<double>>) {
    return std::complex<double>{};
  } else {
    return double{};
  }
}

template <typename T>
class Col2ImKernel final : public Kernel {
 public:
  Col2ImKernel(int64_t planes, std::vector<WindowAxis> axes)
      : planes_(planes), axes_(std::move(axes)) {
    image_strides_.assign(axes_.size(), 1);
    block_strides_.assign(axes_.size(), 1);
    for (size_t i = axes_.size(); i-- > 0;) {
      image_strides_[i] = image_;
      block_strides_[i] = blocks_;
      image_ *= axes_[i].input;
      blocks_ *= axes_[i].output;
      block_ *= axes_[i].kernel;
    }
  }

  // Sums of a whole plane at a time, in more precision than T where T has little.
  size_t workspace_bytes() const override {
    return static_cast<size_t>(planes_ * image_) * sizeof(Sum);
  }

  absl::Status Run(KernelContext& context) const override {
    if (planes_ * image_ == 0) return absl::OkStatus();
    const T* x = context.input(0).as<T>();
    T* y = context.output(0).as<T>();
    Sum* sums = static_cast<Sum*>(context.workspace());
    context.threads().ParallelFor(planes_, 1, [&](int64_t begin, int64_t end) {
      for (int64_t p = begin; p < end; ++p) {
        Sum* plane = sums + p * image_;
        std::fill_n(plane, image_, Sum{});
        for (int64_t k = 0; k < block_; ++k) {
          AddAxis(0, k, block_, x + (p * block_ + k) * blocks_, plane);
        }
        for (int64_t i = 0; i < image_; ++i) {
          y[p * image_ + i] = static_cast<T>(static_cast<ComputeType<T>>(plane[i]));
        }
      }
    });
    return absl::OkStatus();
  }

 private:
  using Sum = decltype(SumType<T>());

  // Element `k` of the `below` block elements of axes [axis, rank): where it lands for each block.
  void AddAxis(size_t axis, int64_t k, int64_t below, const T* row, Sum* plane) const {
    const WindowAxis& a = axes_[axis];
    below /= a.kernel;
    const int64_t tap = k / below;
    const IndexRange inside = OutputsInside(a, tap);
    for (int64_t o = inside.begin; o < inside.end; ++o) {
      const T* source = row + o * block_strides_[axis];
      Sum* target = plane + (a.start(o) + tap * a.dilation) * image_strides_[axis];
      if (axis + 1 < axes_.size()) {
        AddAxis(axis + 1, k % below, below, source, target);
      } else if constexpr (std::is_same_v<T, bool>) {
        *target = *target || *source;
      } else {
        *target =
            static_cast<Sum>(*target + static_cast<Sum>(static_cast<ComputeType<T>>(*source)));
      }
    }
  }

  int64_t planes_;
  std::vector<WindowAxis> axes_;
  std::vector<int64_t> image_strides_, block_strides_;
  int64_t image_ = 1, blocks_ = 1, block_ = 1;
};

absl::StatusOr<std::unique_ptr<Kernel>> Reference(const NodeSpec& spec) {
  const Shape& x = spec.input(0).shape;
  ASSIGN_OR_RETURN(const std::vector<int64_t> image, PlannedInts(spec, 1));
  ASSIGN_OR_RETURN(const std::vector<int64_t> block, PlannedInts(spec, 2));
  ASSIGN_OR_RETURN(std::vector<WindowAxis> axes, ResolveBlocks(spec.attributes(), image, block));
  ASSIGN_OR_RETURN(const Dim channels, Channels(Dim(x[1]), Dim(x[2]), axes));
  Shape y{x[0], channels.value()};
  for (const WindowAxis& axis : axes) y.push_back(axis.input);
  RETURN_IF_ERROR(CheckOutputShape(spec, 0, y));
  std::unique_ptr<Kernel> kernel;
  DispatchType<float, double, Float16, BFloat16, uint8_t, int8_t, uint16_t, int16_t, uint32_t,
               int32_t, uint64_t, int64_t, bool, std::complex<float>, std::complex<double>>(
      spec.input(0).type, [&]<typename T>() {
        kernel = std::make_unique<Col2ImKernel<T>>(x[0] * channels.value(), std::move(axes));
      });
  return kernel;
}

}  // namespace

void RegisterCol2ImOps(OpRegistry& registry) {
  using Kind = AttributeSpec::Kind;
  constexpr ElementTypeSet kInt = {ElementType::kInt64};
  registry.Register(
      {.name = "Col2Im",
       .version = 18,
       .oldest_version = 18,
       .inputs = {{"input", "T", kTypes}, {"image_shape", "", kInt}, {"block_shape", "", kInt}},
       .outputs = {{"output", "T", kTypes}},
       .attributes = {{"dilations", Kind::kInts}, {"pads", Kind::kInts}, {"strides", Kind::kInts}},
       .infer = Infer,
       .reference = Reference,
       .shape_inputs = {1, 2}});
}

}  // namespace inferd::engine
