// Pad against lines that are extended element by element: each axis in turn is cropped where pads
// are negative, then grown at its end and at its begin by walking over what is there.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "tests/engine/ops/fuzz_source.h"
#include "tests/engine/ops/op_tester.h"

namespace inferd::engine {
namespace {

// Source positions of a line of `size` elements after padding; -1 is the constant.
std::vector<int64_t> PadLine(int64_t size, int64_t before, int64_t after, const std::string& mode) {
  std::vector<int64_t> kept;
  for (int64_t i = 0; i < size; ++i) {
    if (i >= -before && i < size + after) kept.push_back(i);
  }
  // Walks away from one end: `step` is the direction in `kept`.
  const auto walk = [&](int64_t count, bool from_end) {
    std::vector<int64_t> added;
    const int64_t last = static_cast<int64_t>(kept.size()) - 1;
    int64_t at = from_end ? last : 0;
    int64_t step = from_end ? -1 : 1;  // reflect turns back at once
    for (int64_t i = 0; i < count; ++i) {
      if (mode == "constant") {
        added.push_back(-1);
        continue;
      }
      if (mode == "wrap") {
        at = from_end ? (at == last ? 0 : at + 1) : (at == 0 ? last : at - 1);
      } else if (mode == "reflect" && last > 0) {
        if (at + step < 0 || at + step > last) step = -step;
        at += step;
      }
      added.push_back(kept[at]);
    }
    return added;
  };
  std::vector<int64_t> head = walk(std::max<int64_t>(0, before), false);
  const std::vector<int64_t> tail = walk(std::max<int64_t>(0, after), true);
  std::reverse(head.begin(), head.end());
  head.insert(head.end(), kept.begin(), kept.end());
  head.insert(head.end(), tail.begin(), tail.end());
  return head;
}

Tensor NaivePad(const Tensor& x, const std::vector<int64_t>& begins,
                const std::vector<int64_t>& ends, const std::string& mode, float constant) {
  Tensor now = x;
  for (int axis = 0; axis < x.shape().rank(); ++axis) {
    const std::vector<int64_t> line = PadLine(now.shape()[axis], begins[axis], ends[axis], mode);
    Shape grown = now.shape();
    grown[axis] = static_cast<int64_t>(line.size());
    std::vector<float> values;
    ForEachIndex(grown, [&](Index at) {
      const int64_t source = line[at[axis]];
      at[axis] = source;
      values.push_back(source < 0 ? constant : now.data<float>()[FlatIndex(now.shape(), at)]);
    });
    now = Tensor::FromValues<float>(grown, absl::Span<const float>(values));
  }
  return now;
}

TEST(PadFuzz, EqualsGrownLines) {
  FuzzSource source(11);
  for (int round = 0; round < 400; ++round) {
    const int rank = static_cast<int>(source.Between(1, 4));
    const std::string mode = source.Pick<std::string>({"constant", "reflect", "edge", "wrap"});
    Shape shape;
    std::vector<int64_t> begins, ends;
    for (int i = 0; i < rank; ++i) {
      shape.push_back(source.Between(1, 5));
      // Sometimes more than once around; never more away than there is.
      const int64_t most = source.OneIn(4) ? 3 * shape[i] : 2;
      begins.push_back(source.Between(-(shape[i] - 1) / 2, most));
      ends.push_back(source.Between(-(shape[i] - 1) / 2, most));
    }
    const Tensor x = RandomFloats(shape, source.Seed());
    const float constant = source.OneIn(2) ? 7.5f : 0.0f;
    SCOPED_TRACE(absl::StrCat("round ", round, " mode ", mode, " shape ", shape.ToString()));
    // Any order and any part of the axes; the others stay.
    std::vector<int64_t> axes, pads;
    for (int i = 0; i < rank; ++i) axes.push_back(i);
    const bool subset = source.OneIn(2);
    if (subset) {
      std::reverse(axes.begin(), axes.end());
      const int64_t dropped = axes.back();
      axes.pop_back();
      begins[dropped] = ends[dropped] = 0;
    }
    for (const int64_t a : axes) pads.push_back(begins[a]);
    for (const int64_t a : axes) pads.push_back(ends[a]);
    OpTester tester("Pad");
    tester.Input(x).Input(Tensor::Vector(pads)).Attr("mode", mode);
    if (constant != 0) {
      tester.Input(Tensor::Scalar(constant));
    } else {
      tester.NoInput();
    }
    if (subset) {
      for (int64_t& a : axes) a -= source.OneIn(2) ? rank : 0;
      tester.Input(Tensor::Vector(axes));
    }
    ASSERT_OK_AND_ASSIGN(const Tensor y, tester.Run1());
    EXPECT_TRUE(TensorsClose(y, NaivePad(x, begins, ends, mode, constant)));
  }
}

}  // namespace
}  // namespace inferd::engine
