// What layer norm and RMS norm share: the axes they normalize over and their parameters. Internal
// to engine/passes.
#pragma once

#include <cstdint>

#include "engine/passes/pattern.h"

namespace inferd::engine {

// A ReduceMean of `x` over its last dimensions that keeps them as ones. The result is named `name`.
Pattern TrailingMean(const Pattern& x, absl::string_view name);
// The first dimension it reduces, counted from the end: -1 where it is the last alone.
int64_t TrailingAxis(const Node& mean);

// `value`, which multiplies or is added to the normalized x, as a tensor of exactly the normalized
// dimensions. Null where it is not one.
Value* AsNormalizationParameter(Match& match, Value* value, const Value* x, int64_t axis);
// Ones of these dimensions; null where they are unknown.
Value* UnitScale(Match& match, const Value* x, ElementType type, int64_t axis);

}  // namespace inferd::engine
