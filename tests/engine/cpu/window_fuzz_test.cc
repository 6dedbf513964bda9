// oneDNN's pooling and convolution on random geometry: what a candidate accepts, it computes as
// the reference does.
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/engine/cpu/candidate_tester.h"
#include "tests/engine/ops/fuzz_source.h"
#include "tests/engine/ops/op_tester.h"

namespace inferd::engine {
namespace {

struct Window {
  std::vector<int64_t> kernel, strides, dilations, pads, spatial;
  std::string auto_pad = "NOTSET";
};

Window RandomWindow(FuzzSource& source) {
  Window w;
  const int spatial = static_cast<int>(source.Between(1, 3));
  w.auto_pad = source.Pick<std::string>({"NOTSET", "NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"});
  w.pads.assign(2 * spatial, 0);
  for (int i = 0; i < spatial; ++i) {
    w.kernel.push_back(source.Between(1, 4));
    w.strides.push_back(source.Between(1, 3));
    w.dilations.push_back(source.OneIn(3) ? 2 : 1);
    const int64_t reach = (w.kernel[i] - 1) * w.dilations[i] + 1;
    if (w.auto_pad == "NOTSET") {
      w.pads[i] = source.Between(0, reach - 1);
      w.pads[spatial + i] = source.Between(0, reach - 1);
    }
    w.spatial.push_back(reach + source.Between(0, spatial == 3 ? 3 : 8));
  }
  return w;
}

void SetWindow(const Window& w, CandidateTester& tester) {
  tester.Attr("kernel_shape", w.kernel).Attr("strides", w.strides);
  tester.Attr("dilations", w.dilations);
  if (w.auto_pad == "NOTSET") {
    tester.Attr("pads", w.pads);
  } else {
    tester.Attr("auto_pad", w.auto_pad);
  }
}

Shape Image(const Window& w, int64_t batch, int64_t channels) {
  Shape x{batch, channels};
  for (const int64_t d : w.spatial) x.push_back(d);
  return x;
}

TEST(OneDnnPoolingFuzz, AcceptedEqualsReference) {
  FuzzSource source(51);
  int accepted = 0;
  for (int round = 0; round < 150; ++round) {
    const Window w = RandomWindow(source);
    const bool average = source.OneIn(2);
    CandidateTester tester(average ? "AveragePool" : "MaxPool");
    const Shape x = Image(w, source.Between(1, 2), source.Pick<int64_t>({3, 8, 16, 20}));
    tester.Input(RandomFloats(x, source.Seed()));
    SetWindow(w, tester);
    tester.Attr("ceil_mode", int64_t{source.OneIn(2)});
    if (average) tester.Attr("count_include_pad", int64_t{source.OneIn(2)});
    if (!tester.Offer("onednn_pool").ok()) continue;
    ++accepted;
    EXPECT_EQ(tester.Check("onednn_pool"), absl::OkStatus())
        << "round " << round << (average ? " average " : " max ") << x.ToString();
  }
  EXPECT_GT(accepted, 20);
}

TEST(OneDnnConvolutionFuzz, AcceptedEqualsReference) {
  FuzzSource source(52);
  int accepted = 0;
  for (int round = 0; round < 100; ++round) {
    const Window w = RandomWindow(source);
    const int64_t group = source.Pick<int64_t>({1, 1, 2, 16});
    const int64_t channels = group * source.Pick<int64_t>({1, 3, 8});
    const int64_t outputs = group * source.Pick<int64_t>({1, 4, 8});
    CandidateTester tester("Conv");
    tester.Input(RandomFloats(Image(w, source.Between(1, 2), channels), source.Seed()));
    Shape filter{outputs, channels / group};
    for (const int64_t k : w.kernel) filter.push_back(k);
    tester.Constant(RandomFloats(filter, source.Seed()));
    if (source.OneIn(2)) tester.Constant(RandomFloats({outputs}, source.Seed()));
    SetWindow(w, tester);
    tester.Attr("group", group);
    for (const char* candidate : {"onednn_conv_blocked", "onednn_conv_plain"}) {
      if (!tester.Offer(candidate).ok()) continue;
      ++accepted;
      EXPECT_EQ(tester.Check(candidate), absl::OkStatus())
          << "round " << round << " " << candidate << " " << filter.ToString();
    }
  }
  EXPECT_GT(accepted, 20);
}

}  // namespace
}  // namespace inferd::engine
