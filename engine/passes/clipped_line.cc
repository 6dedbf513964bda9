#include "engine/passes/clipped_line.h"

#include <cmath>

namespace inferd::engine {
namespace {

// Zero is matched exactly by Is(): its tolerance is relative.
Pattern AtLeast(const Pattern& x, double low) {
  const Pattern plain = OneOf(
      {Op("Max", {x, Is(low)}), Op("Clip", {x, Is(low)}), Op("Clip", {x, Is(low), Absent()})});
  return low == 0 ? OneOf({Op("Relu", {x}), plain}) : plain;
}

Pattern AtMost(const Pattern& x, double high) {
  return OneOf({Op("Min", {x, Is(high)}), Op("Clip", {x, Absent(), Is(high)})});
}

}  // namespace

Pattern Between(const Pattern& x, double low, double high) {
  return OneOf({Op("Clip", {x, Is(low), Is(high)}), AtMost(AtLeast(x, low), high),
                Op("Clip", {AtLeast(x, low), Is(low), Is(high)}), AtLeast(AtMost(x, high), low)});
}

Pattern ClippedLine(const Pattern& x) { return Between(Op("Add", {x, Is(3)}), 0, 6); }

Pattern SixthHardSigmoid(const Pattern& x) {
  const Pattern op = Op("HardSigmoid", {x}).Where([](const Node& node) {
    return std::abs(node.attributes().GetFloat("alpha", 0.2f) - 1.0f / 6.0f) < 1e-5f &&
           node.attributes().GetFloat("beta", 0.5f) == 0.5f;
  });
  const Pattern line = Op("Add", {Product({x, Is(1.0 / 6)}), Is(0.5)});
  return OneOf({op, Product({ClippedLine(x), Is(1.0 / 6)}), Between(line, 0, 1)});
}

}  // namespace inferd::engine
