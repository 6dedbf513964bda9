// AffineGrid: the flow field of an affine map, in the coordinates GridSample reads.
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/kernel/kernel.h"
#include "engine/ops/all_ops.h"
#include "engine/ops/op_def.h"
#include "engine/ops/shape_functions.h"
#include "engine/ops/shape_input.h"
#include "engine/status_macros.h"

namespace inferd::engine {
namespace {

// The grid's shape [N, (D,) H, W, 2 or 3] for `size` [N, C, (D,) H, W].
absl::StatusOr<Shape> GridShape(const std::vector<int64_t>& size) {
  if (size.size() != 4 && size.size() != 5) {
    return absl::InvalidArgumentError(absl::StrCat("input size has ", size.size(),
                                                   " elements, expected 4 for [N,C,H,W] or 5 for "
                                                   "[N,C,D,H,W]"));
  }
  Shape grid{size[0]};
  for (size_t i = 2; i < size.size(); ++i) grid.push_back(size[i]);
  grid.push_back(static_cast<int64_t>(size.size()) - 2);
  RETURN_IF_ERROR(grid.CheckedNumElements().status());
  return grid;
}

// theta is [N, 2, 3] or [N, 3, 4].
absl::Status CheckTheta(const SymbolicShape& theta, const SymbolicShape& grid) {
  if (!theta.has_rank()) return absl::OkStatus();
  const Dim axes = grid.has_rank() ? Dim(grid.rank() - 2) : theta[1];
  const bool fits = !axes.known() || ((axes.value() == 2 || axes.value() == 3) &&
                                      MergeDims(theta[1], axes).ok() &&
                                      MergeDims(theta[2], Dim(axes.value() + 1)).ok());
  if (!fits || (grid.has_rank() && !MergeDims(theta[0], grid[0]).ok())) {
    return absl::InvalidArgumentError(
        absl::StrCat("input theta has shape ", theta.ToString(),
                     ", expected [N,2,3] or [N,3,4], as many rows as input size has spatial axes "
                     "and the same N"));
  }
  return absl::OkStatus();
}

absl::Status Infer(InferenceContext& context) {
  RETURN_IF_ERROR(ExpectRank(context, 0, 3, 3));
  const SymbolicShape& theta = context.shape(0);
  ASSIGN_OR_RETURN(const auto size, ConstantInts(context, 1));
  SymbolicShape grid;
  if (size.has_value()) {
    ASSIGN_OR_RETURN(const Shape shape, GridShape(*size));
    grid = ValueType::TensorOf(context.element_type(0), shape).shape;
    RETURN_IF_ERROR(CheckTheta(theta, grid));
  } else {
    RETURN_IF_ERROR(CheckTheta(theta, grid));
    if (theta.has_rank() && theta[1].known()) {
      grid = SymbolicShape::OfRank(static_cast<int>(theta[1].value()) + 2);
      grid[0] = theta[0];
      grid[grid.rank() - 1] = theta[1];
    }
  }
  context.SetOutput(0, context.element_type(0), std::move(grid));
  return absl::OkStatus();
}

// Where position i of an axis of `size` lies between -1 and 1.
double Normalized(int64_t i, int64_t size, bool align_corners) {
  if (!align_corners) return (2.0 * static_cast<double>(i) + 1) / static_cast<double>(size) - 1;
  // One position starts at the first corner, as the standard's sequence of one step does.
  if (size == 1) return -1;
  return 2.0 * static_cast<double>(i) / static_cast<double>(size - 1) - 1;
}

template <typename T>
std::unique_ptr<Kernel> MakeAffineGrid(const Shape& grid, bool align_corners) {
  return MakeKernel([grid, align_corners](KernelContext& context) {
    using C = ComputeType<T>;
    const int axes = grid.rank() - 2;
    const int64_t plane = grid.Product(1, grid.rank() - 1);
    const T* theta = context.input(0).as<T>();
    T* y = context.output(0).as<T>();
    context.threads().ParallelFor(grid[0] * plane, 1024, [&](int64_t begin, int64_t end) {
      for (int64_t p = begin; p < end; ++p) {
        const T* matrix = theta + p / plane * axes * (axes + 1);
        // Innermost axis first, and the 1 of homogeneous coordinates.
        double position[4];
        int64_t rest = p % plane;
        for (int a = 0; a < axes; ++a) {
          const int64_t size = grid[axes - a];
          position[a] = Normalized(rest % size, size, align_corners);
          rest /= size;
        }
        position[axes] = 1;
        for (int row = 0; row < axes; ++row) {
          double sum = 0;
          for (int a = 0; a <= axes; ++a) {
            sum += static_cast<double>(static_cast<C>(matrix[row * (axes + 1) + a])) * position[a];
          }
          y[p * axes + row] = static_cast<T>(static_cast<C>(sum));
        }
      }
    });
    return absl::OkStatus();
  });
}

absl::StatusOr<std::unique_ptr<Kernel>> Reference(const NodeSpec& spec) {
  ASSIGN_OR_RETURN(const std::vector<int64_t> size, PlannedInts(spec, 1));
  ASSIGN_OR_RETURN(const Shape grid, GridShape(size));
  RETURN_IF_ERROR(CheckOutputShape(spec, 0, grid));
  const bool align_corners = spec.attributes().GetInt("align_corners", 0) != 0;
  std::unique_ptr<Kernel> kernel;
  DispatchType<float, double, Float16, BFloat16>(
      spec.input(0).type, [&]<typename T>() { kernel = MakeAffineGrid<T>(grid, align_corners); });
  return kernel;
}

}  // namespace

void RegisterAffineGridOps(OpRegistry& registry) {
  registry.Register(
      {.name = "AffineGrid",
       .version = 20,
       .oldest_version = 20,
       .inputs = {{"theta", "T1", type_sets::kFloats}, {"size", "", {ElementType::kInt64}}},
       .outputs = {{"grid", "T1", type_sets::kFloats}},
       .attributes = {{"align_corners", AttributeSpec::Kind::kInt}},
       .infer = Infer,
       .reference = Reference,
       .shape_inputs = {1}});
}

}  // namespace inferd::engine
