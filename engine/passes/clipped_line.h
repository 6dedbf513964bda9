// min(max(x + 3, 0), 6), the piece hard sigmoid and hard swish are made of. Internal to
// engine/passes.
#pragma once

#include "engine/passes/pattern.h"

namespace inferd::engine {

// `x` between two numbers, low below high: Clip, or Max, Min and Relu in either order.
Pattern Between(const Pattern& x, double low, double high);

// Relu6(x + 3).
Pattern ClippedLine(const Pattern& x);

// A hard sigmoid of slope 1 / 6: min(max(x / 6 + 1 / 2, 0), 1) in every spelling.
Pattern SixthHardSigmoid(const Pattern& x);

}  // namespace inferd::engine
