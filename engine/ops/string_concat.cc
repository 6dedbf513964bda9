// StringConcat: text of X followed by text of Y, element by element with broadcasting.
#include <array>
#include <string>

#include "absl/strings/str_cat.h"
#include "engine/kernel/kernel.h"
#include "engine/ops/all_ops.h"
#include "engine/ops/broadcast.h"
#include "engine/ops/op_def.h"
#include "engine/ops/shape_functions.h"

namespace inferd::engine {
namespace {

// Elements per share of the work: each is an allocation or two.
constexpr int64_t kGrain = 1024;

absl::StatusOr<std::unique_ptr<Kernel>> Reference(const NodeSpec& spec) {
  const BroadcastPlan<2> plan =
      PlanBroadcast<2>(spec.output(0).shape, {&spec.input(0).shape, &spec.input(1).shape});
  return MakeKernel([plan](KernelContext& context) {
    const std::string* x = context.input(0).as<std::string>();
    const std::string* y = context.input(1).as<std::string>();
    std::string* z = context.output(0).as<std::string>();
    const int64_t x_step = plan.varies(0) ? 1 : 0;
    const int64_t y_step = plan.varies(1) ? 1 : 0;
    const auto row = [&](int64_t index, const std::array<int64_t, 2>& offsets, int64_t count) {
      for (int64_t i = 0; i < count; ++i) {
        z[index + i] = absl::StrCat(x[offsets[0] + i * x_step], y[offsets[1] + i * y_step]);
      }
    };
    context.threads().ParallelFor(plan.elements, kGrain, [&](int64_t begin, int64_t end) {
      ForEachRow(plan, begin, end, row);
    });
    return absl::OkStatus();
  });
}

}  // namespace

void RegisterStringConcatOps(OpRegistry& registry) {
  constexpr ElementTypeSet kText = {ElementType::kString};
  registry.Register({.name = "StringConcat",
                     .version = 20,
                     .oldest_version = 20,
                     .inputs = {{"X", "T", kText}, {"Y", "T", kText}},
                     .outputs = {{"Z", "T", kText}},
                     .infer = InferBroadcast,
                     .reference = Reference,
                     .is_elementwise = true});
}

}  // namespace inferd::engine
