// Reference kernels of elementwise operators over plain layouts, from scalar functors. Inner
// loops are contiguous and free of calls, for the compiler to vectorize.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "engine/kernel/kernel.h"
#include "engine/ops/broadcast.h"
#include "engine/ops/op_def.h"

// Promises that no iteration depends on another: outputs may be the inputs themselves, element
// for element, but never overlap them otherwise.
#if defined(__clang__)
#define INFERD_INDEPENDENT_ITERATIONS _Pragma("clang loop vectorize(assume_safety)")
#else
#define INFERD_INDEPENDENT_ITERATIONS _Pragma("GCC ivdep")
#endif

namespace inferd::engine {

// Elements below which splitting a loop over threads does not pay.
inline constexpr int64_t kElementwiseGrain = 16384;

// UNIMPLEMENTED: the operator has no kernel for this element type. A schema rules it out before.
inline absl::Status UnsupportedType(const NodeSpec& spec, ElementType type) {
  return absl::UnimplementedError(absl::StrCat(spec.op().qualified_name(),
                                               ": no reference kernel for element type ",
                                               ElementTypeName(type)));
}

// output[i] = fn(input[i]).
template <typename In, typename Out, typename Fn>
std::unique_ptr<Kernel> MakeUnaryKernel(int64_t elements, Fn fn) {
  return MakeKernel([elements, fn](KernelContext& context) {
    const In* x = context.input(0).as<In>();
    Out* y = context.output(0).as<Out>();
    context.threads().ParallelFor(elements, kElementwiseGrain, [&](int64_t begin, int64_t end) {
      INFERD_INDEPENDENT_ITERATIONS
      for (int64_t i = begin; i < end; ++i) {
        y[i] = static_cast<Out>(fn(static_cast<ComputeType<In>>(x[i])));
      }
    });
    return absl::OkStatus();
  });
}

// output = fn(input 0, input 1), broadcast.
template <typename A, typename B, typename Out, typename Fn>
std::unique_ptr<Kernel> MakeBinaryKernel(const NodeSpec& spec, Fn fn) {
  const BroadcastPlan<2> plan =
      PlanBroadcast<2>(spec.output(0).shape, {&spec.input(0).shape, &spec.input(1).shape});
  return MakeKernel([plan, fn](KernelContext& context) {
    using ComputeA = ComputeType<A>;
    using ComputeB = ComputeType<B>;
    const A* a = context.input(0).as<A>();
    const B* b = context.input(1).as<B>();
    Out* y = context.output(0).as<Out>();
    const bool a_varies = plan.varies(0), b_varies = plan.varies(1);
    const auto row = [&](int64_t index, const std::array<int64_t, 2>& offsets, int64_t count) {
      const A* pa = a + offsets[0];
      const B* pb = b + offsets[1];
      Out* py = y + index;
      if (a_varies && b_varies) {
        INFERD_INDEPENDENT_ITERATIONS
        for (int64_t i = 0; i < count; ++i) {
          py[i] = static_cast<Out>(fn(static_cast<ComputeA>(pa[i]), static_cast<ComputeB>(pb[i])));
        }
      } else if (a_varies) {
        const ComputeB value = static_cast<ComputeB>(*pb);
        INFERD_INDEPENDENT_ITERATIONS
        for (int64_t i = 0; i < count; ++i) {
          py[i] = static_cast<Out>(fn(static_cast<ComputeA>(pa[i]), value));
        }
      } else {
        // Where nothing varies the row has one element.
        const ComputeA value = static_cast<ComputeA>(*pa);
        INFERD_INDEPENDENT_ITERATIONS
        for (int64_t i = 0; i < count; ++i) {
          py[i] = static_cast<Out>(fn(value, static_cast<ComputeB>(pb[i])));
        }
      }
    };
    context.threads().ParallelFor(
        plan.elements, kElementwiseGrain,
        [&](int64_t begin, int64_t end) { ForEachRow(plan, begin, end, row); });
    return absl::OkStatus();
  });
}

// A reference factory for output[i] = Fn()(input[i]) of input type one of Ts. Out is the output's
// type, or void for the input's.
template <typename Out, typename Fn, typename... Ts>
absl::StatusOr<std::unique_ptr<Kernel>> UnaryKernelFor(const NodeSpec& spec, Fn fn) {
  std::unique_ptr<Kernel> kernel;
  const int64_t elements = spec.output(0).shape.NumElements();
  const ElementType type = spec.input(0).type;
  if (!DispatchType<Ts...>(type, [&]<typename T>() {
        using OutType = std::conditional_t<std::is_void_v<Out>, T, Out>;
        kernel = MakeUnaryKernel<T, OutType>(elements, fn);
      })) {
    return UnsupportedType(spec, type);
  }
  return kernel;
}

template <typename Out, typename Fn, typename... Ts>
absl::StatusOr<std::unique_ptr<Kernel>> BinaryKernelFor(const NodeSpec& spec, Fn fn) {
  std::unique_ptr<Kernel> kernel;
  const ElementType type = spec.input(0).type;
  if (!DispatchType<Ts...>(type, [&]<typename T>() {
        using OutType = std::conditional_t<std::is_void_v<Out>, T, Out>;
        kernel = MakeBinaryKernel<T, T, OutType>(spec, fn);
      })) {
    return UnsupportedType(spec, type);
  }
  return kernel;
}

}  // namespace inferd::engine
