// Does the optimized model compute what the reference kernels compute?
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "engine/runtime/model.h"

namespace inferd::repository {

// Runs the model in the file at `path` on made-up inputs, once by `optimized`, a context of it, and
// once unoptimized by reference kernels. Floating-point results may differ by 1e-3 of themselves
// plus 1e-4 of the largest in their tensor, those of a quantized network by a quarter of themselves
// on the whole; everything else is exact. The sentence returned says what was checked, or why the
// model cannot be: it refuses made-up inputs either way, or draws random numbers.
// FAILED_PRECONDITION naming output, element and values where they differ; the plan is wrong then.
absl::StatusOr<std::string> VerifyPlan(const std::string& path, engine::Context& optimized);

}  // namespace inferd::repository
