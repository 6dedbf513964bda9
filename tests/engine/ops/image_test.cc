// GridSample, RoiAlign, MaxRoiPool, NonMaxSuppression, AffineGrid, CenterCropPad, Col2Im,
// DeformConv and MaxUnpool: values worked out by hand, edges, and bad data.
#include <cmath>
#include <limits>

#include "tests/engine/ops/op_tester.h"

namespace inferd::engine {
namespace {

using ::testing::HasSubstr;
constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

OpTester Sample(const Tensor& x, const Tensor& grid, std::string mode, std::string padding,
                int64_t align) {
  OpTester tester("GridSample");
  tester.Input(x).Input(grid).Attr("mode", std::move(mode));
  tester.Attr("padding_mode", std::move(padding)).Attr("align_corners", align);
  return tester;
}

TEST(GridSample, OneAxis) {
  const Tensor x = MakeTensor<float>({1, 1, 3}, {1, 2, 4});
  // With aligned corners -1, 0, 1 are pixels 0, 1, 2; 1.5 is pixel 2.5.
  const Tensor grid = MakeTensor<float>({1, 4, 1}, {-1, 0.5f, 1, 1.5f});
  EXPECT_THAT(*Sample(x, grid, "linear", "zeros", 1).Run1(),
              TensorIs<float>({1, 1, 4}, {1, 3, 4, 2}, 1e-6));
  EXPECT_THAT(*Sample(x, grid, "linear", "border", 1).Run1(),
              TensorIs<float>({1, 1, 4}, {1, 3, 4, 4}, 1e-6));
  EXPECT_THAT(*Sample(x, grid, "linear", "reflection", 1).Run1(),
              TensorIs<float>({1, 1, 4}, {1, 3, 4, 3}, 1e-6));
  // Half-way goes to the even pixel: 1.5 and 2.5 to 2.
  EXPECT_THAT(*Sample(x, grid, "nearest", "zeros", 1).Run1(),
              TensorIs<float>({1, 1, 4}, {1, 4, 4, 4}));
}

TEST(GridSample, FourSpatialAxesAndNoPositions) {
  // Each axis has pixels 0 and 1, so the middle of everything is their mean.
  std::vector<float> values(16);
  for (int i = 0; i < 16; ++i) values[i] = static_cast<float>(i);
  const Tensor x = Tensor::FromValues<float>({1, 1, 2, 2, 2, 2}, values);
  const Tensor middle = MakeTensor<float>({1, 1, 1, 1, 1, 4}, {0, 0, 0, 0});
  EXPECT_THAT(*Sample(x, middle, "linear", "zeros", 0).Run1(),
              TensorIs<float>({1, 1, 1, 1, 1, 1}, {7.5f}, 1e-6));
  EXPECT_THAT(*Sample(x, middle, "cubic", "border", 0).Run1(),
              TensorIs<float>({1, 1, 1, 1, 1, 1}, {7.5f}, 1e-5));
  const Tensor none = MakeTensor<float>({1, 0, 1, 1, 1, 4}, {});
  EXPECT_THAT(*Sample(x, none, "linear", "zeros", 0).Run1(),
              TensorIs<float>({1, 1, 0, 1, 1, 1}, {}));
}

TEST(GridSample, CubicAtTheBorder) {
  // Pixel -1 has the border's value. Of the four taps around -0.5 three are at the border.
  const Tensor x = MakeTensor<float>({1, 1, 2}, {8, 16});
  const Tensor grid = MakeTensor<float>({1, 3, 1}, {-3, -2, 1e30f});
  const double a = -0.75 / 8;  // the weight of a tap 1.5 away
  const float half = static_cast<float>(8 * (1 - a) + 16 * a);
  EXPECT_THAT(*Sample(x, grid, "cubic", "border", 1).Run1(),
              TensorIs<float>({1, 1, 3}, {8, half, 16}, 1e-5));
}

TEST(GridSample, AnyTypeAndAnyCoordinate) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Tensor grid = MakeTensor<float>({1, 4, 1}, {-0.9f, nan, 1e30f, 0.9f});
  const Tensor words = MakeTensor<std::string>({1, 1, 2}, {"a", "b"});
  EXPECT_THAT(*Sample(words, grid, "nearest", "zeros", 0).Run1(),
              TensorIs<std::string>({1, 1, 4}, {"a", "", "", "b"}));
  EXPECT_THAT(*Sample(words, grid, "nearest", "reflection", 0).Run1(),
              testing::Truly([](const Tensor& t) {
                return t.shape() == Shape{1, 1, 4};
              }));
  EXPECT_THAT(Sample(words, grid, "linear", "zeros", 0).Run1().status(),
              StatusIs(kInvalid, HasSubstr("need numbers")));
  // 0.25 * 10 + 0.75 * 13 is cut off.
  const Tensor x = MakeTensor<uint8_t>({1, 1, 2}, {10, 13});
  EXPECT_THAT(*Sample(x, MakeTensor<float>({1, 1, 1}, {0.5f}), "linear", "zeros", 1).Run1(),
              TensorIs<uint8_t>({1, 1, 1}, {12}));
}

TEST(RoiAlign, SamplesAndRefusals) {
  // Pixel (h, w) holds 4h + w.
  std::vector<float> values(16);
  for (int i = 0; i < 16; ++i) values[i] = static_cast<float>(i);
  const Tensor x = Tensor::FromValues<float>({1, 1, 4, 4}, values);
  const Tensor roi = MakeTensor<float>({1, 4}, {1, 1, 3, 3});
  const auto align = [&](const Tensor& rois, std::string mode, int64_t image) {
    OpTester tester("RoiAlign");
    tester.Input(x).Input(rois).Input(Tensor::Vector({image}));
    tester.Attr("coordinate_transformation_mode", std::string("output_half_pixel"));
    tester.Attr("output_height", int64_t{2}).Attr("output_width", int64_t{1});
    return std::move(tester.Attr("mode", std::move(mode))).Run1();
  };
  // Two bins of height 1 and width 2: one row of two samples each, at columns 1.5 and 2.5.
  EXPECT_THAT(*align(roi, "avg", 0), TensorIs<float>({1, 1, 2, 1}, {8, 12}, 1e-6));
  // Rows 1.5 and 2.5: a quarter of the largest pixel around.
  EXPECT_THAT(*align(roi, "max", 0), TensorIs<float>({1, 1, 2, 1}, {11 / 4.0f, 15 / 4.0f}, 1e-6));
  EXPECT_THAT(align(roi, "avg", 1).status(), StatusIs(kInvalid, HasSubstr("batch_indices is 1")));
  // As large as regions get, in bounded time: nearly all samples are outside.
  const Tensor vast = MakeTensor<float>({1, 4}, {-1e9f, -1e9f, 1e9f, 1e9f});
  EXPECT_TRUE(align(vast, "avg", 0).ok());
  EXPECT_TRUE(align(MakeTensor<float>({1, 4}, {-1e38f, -1e38f, 1e38f, 1e38f}), "max", 0).ok());
  EXPECT_TRUE(align(MakeTensor<float>({1, 4}, {NAN, 0, INFINITY, 1}), "avg", 0).ok());
}

TEST(MaxRoiPool, BinsAndRefusals) {
  std::vector<float> values(16);
  for (int i = 0; i < 16; ++i) values[i] = static_cast<float>(i);
  const Tensor x = Tensor::FromValues<float>({1, 1, 4, 4}, values);
  const auto pool = [&](std::initializer_list<float> roi) {
    OpTester tester("MaxRoiPool");
    tester.Input(x).Input(MakeTensor<float>({1, 5}, roi));
    tester.Attr("pooled_shape", std::vector<int64_t>{2, 1}).Attr("spatial_scale", 0.5f);
    return tester.Run1();
  };
  // Corners 0 to 2 of both axes: rows 0-1 and 1-2 of three columns.
  EXPECT_THAT(*pool({0, 0, 0, 4, 4}), TensorIs<float>({1, 1, 2, 1}, {6, 10}));
  // Outside altogether.
  EXPECT_THAT(*pool({0, 40, 40, 44, 44}), TensorIs<float>({1, 1, 2, 1}, {0, 0}));
  EXPECT_THAT(*pool({0, NAN, 0, INFINITY, 4}), TensorIs<float>({1, 1, 2, 1}, {0, 0}));
  EXPECT_THAT(pool({2, 0, 0, 4, 4}).status(), StatusIs(kInvalid, HasSubstr("image 2")));
  EXPECT_THAT(pool({NAN, 0, 0, 4, 4}).status(), StatusIs(kInvalid, HasSubstr("rois")));
}

OpTester Suppression(const Tensor& boxes, const Tensor& scores, int64_t most) {
  OpTester tester("NonMaxSuppression");
  tester.Input(boxes).Input(scores).Input(Tensor::Scalar<int64_t>(most));
  return tester;
}

TEST(NonMaxSuppression, OrderTiesAndThresholds) {
  // Boxes 0 and 1 share two thirds; 2 is apart; 3 repeats 2.
  const Tensor boxes =
      MakeTensor<float>({1, 4, 4}, {0, 0, 1, 5, 0, 1, 1, 6, 5, 5, 6, 6, 6, 6, 5, 5});
  const Tensor scores = MakeTensor<float>({1, 1, 4}, {0.5f, 0.75f, 0.75f, 0.75f});
  // Equal scores: the lower index first.
  EXPECT_THAT(*Suppression(boxes, scores, 9).Input(Tensor::Scalar(0.5f)).Run1(),
              TensorIs<int64_t>({2, 3}, {0, 0, 1, 0, 0, 2}));
  // Above the overlap, and no more than asked for.
  EXPECT_THAT(*Suppression(boxes, scores, 3).Input(Tensor::Scalar(0.75f)).Run1(),
              TensorIs<int64_t>({3, 3}, {0, 0, 1, 0, 0, 2, 0, 0, 0}));
  EXPECT_THAT(
      *Suppression(boxes, scores, 9).Input(Tensor::Scalar(1.0f)).Input(Tensor::Scalar(0.5f)).Run1(),
      TensorIs<int64_t>({3, 3}, {0, 0, 1, 0, 0, 2, 0, 0, 3}));
  EXPECT_THAT(*Suppression(boxes, scores, 0).Run1(), TensorIs<int64_t>({0, 3}, {}));
  EXPECT_THAT(*Suppression(boxes, scores, -1).Run1(), TensorIs<int64_t>({0, 3}, {}));
  EXPECT_THAT(Suppression(boxes, scores, 9).Input(Tensor::Scalar(1.5f)).Run1().status(),
              StatusIs(kInvalid, HasSubstr("iou_threshold is 1.5")));
  EXPECT_THAT(Suppression(boxes, MakeTensor<float>({1, 1, 3}, {1, 1, 1}), 9).Run1().status(),
              StatusIs(kInvalid, HasSubstr("a score for each box")));
}

TEST(NonMaxSuppression, CentersNanAndNothing) {
  const Tensor boxes = MakeTensor<float>({1, 3, 4}, {1, 1, 2, 2, 1.5f, 1, 2, 2, 9, 9, NAN, 1});
  const Tensor scores = MakeTensor<float>({1, 1, 3}, {NAN, 0.5f, 0.25f});
  OpTester tester = Suppression(boxes, scores, 9);
  tester.Input(Tensor::Scalar(0.5f)).Attr("center_point_box", int64_t{1});
  EXPECT_THAT(*tester.Run1(), TensorIs<int64_t>({2, 3}, {0, 0, 1, 0, 0, 2}));
  EXPECT_THAT(
      *Suppression(MakeTensor<float>({2, 0, 4}, {}), MakeTensor<float>({2, 3, 0}, {}), 9).Run1(),
      TensorIs<int64_t>({0, 3}, {}));
}

TEST(AffineGrid, ThreeAxesAndRefusals) {
  // Swaps the first two coordinates and moves the third.
  const Tensor theta = MakeTensor<float>({1, 3, 4}, {0, 1, 0, 0, 1, 0, 0, 0, 0, 0, 1, 0.5f});
  OpTester tester("AffineGrid");
  tester.Input(theta).Input(Tensor::Vector({1, 7, 1, 2, 2}));
  EXPECT_THAT(*tester.Run1(), TensorIs<float>({1, 1, 2, 2, 3},
                                              {-0.5f, -0.5f, 0.5f, -0.5f, 0.5f, 0.5f, 0.5f, -0.5f,
                                               0.5f, 0.5f, 0.5f, 0.5f},
                                              1e-6));
  OpTester flat("AffineGrid");
  EXPECT_THAT(flat.Input(theta).Input(Tensor::Vector({1, 7, 2, 2})).Run1().status(),
              StatusIs(kInvalid, HasSubstr("theta has shape [1,3,4]")));
}

TEST(CenterCropPad, OddDifferencesAndStrings) {
  const Tensor x = MakeTensor<std::string>({1, 4}, {"a", "b", "c", "d"});
  const auto crop = [&](int64_t size) {
    OpTester tester("CenterCropPad");
    tester.Input(x).Input(Tensor::Vector({size})).Attr("axes", std::vector<int64_t>{-1});
    return tester.Run1();
  };
  EXPECT_THAT(*crop(1), TensorIs<std::string>({1, 1}, {"b"}));
  EXPECT_THAT(*crop(7), TensorIs<std::string>({1, 7}, {"", "a", "b", "c", "d", "", ""}));
  EXPECT_THAT(*crop(0), TensorIs<std::string>({1, 0}, {}));
  EXPECT_THAT(crop(-1).status(), StatusIs(kInvalid, HasSubstr("input shape holds -1")));
}

TEST(Col2Im, OverlapsAddUp) {
  // Blocks of two at positions 0, 1, 2 of four pixels; integers wrap around.
  const Tensor x = MakeTensor<uint8_t>({1, 2, 3}, {1, 2, 3, 200, 100, 7});
  OpTester tester("Col2Im");
  tester.Input(x).Input(Tensor::Vector({4})).Input(Tensor::Vector({2}));
  EXPECT_THAT(*tester.Run1(), TensorIs<uint8_t>({1, 1, 4}, {1, 202, 103, 7}));
  OpTester wrong("Col2Im");
  wrong.Input(x).Input(Tensor::Vector({5})).Input(Tensor::Vector({2}));
  EXPECT_THAT(wrong.Run1().status(), StatusIs(kInvalid, HasSubstr("expected 4")));
}

TEST(DeformConv, OneAxisMovedAndMasked) {
  const Tensor x = MakeTensor<float>({1, 1, 3}, {1, 2, 4});
  const Tensor w = MakeTensor<float>({1, 1, 2}, {1, 10});
  // Offsets of tap 0 and of tap 1 for two output positions; the last leaves the image half.
  const Tensor offset = MakeTensor<float>({1, 2, 2}, {0.5f, 0, 0, 0.5f});
  OpTester tester("DeformConv");
  tester.Input(x).Input(w).Input(offset);
  EXPECT_THAT(*tester.Run1(), TensorIs<float>({1, 1, 2}, {21.5f, 22}, 1e-5));
  OpTester masked("DeformConv");
  masked.Input(x).Input(w).Input(offset).Input(MakeTensor<float>({1}, {100}));
  masked.Input(MakeTensor<float>({1, 2, 2}, {2, 1, 0, 1}));
  EXPECT_THAT(*masked.Run1(), TensorIs<float>({1, 1, 2}, {103, 122}, 1e-5));
  OpTester wrong("DeformConv");
  wrong.Input(x).Input(w).Input(offset).Attr("offset_group", int64_t{3});
  EXPECT_THAT(wrong.Run1().status(), StatusIs(kInvalid, HasSubstr("offset_group is 3")));
}

TEST(MaxUnpool, PlacesAndRefusals) {
  const Tensor x = MakeTensor<float>({1, 1, 2}, {5, 6});
  const auto unpool = [&](std::initializer_list<int64_t> where, const Tensor& shape) {
    OpTester tester("MaxUnpool");
    tester.Input(x).Input(MakeTensor<int64_t>({1, 1, 2}, where));
    if (shape.defined()) tester.Input(shape);
    tester.Attr("kernel_shape", std::vector<int64_t>{2}).Attr("strides", std::vector<int64_t>{2});
    return tester.Run1();
  };
  EXPECT_THAT(*unpool({1, 2}, Tensor()), TensorIs<float>({1, 1, 4}, {0, 5, 6, 0}));
  EXPECT_THAT(*unpool({1, 2}, Tensor::Vector({1, 1, 5})),
              TensorIs<float>({1, 1, 5}, {0, 5, 6, 0, 0}));
  EXPECT_THAT(unpool({1, 4}, Tensor()).status(),
              StatusIs(kInvalid, HasSubstr("element 1 of input I is 4")));
  EXPECT_THAT(unpool({-1, 0}, Tensor()).status(), StatusIs(kInvalid, HasSubstr("input I is -1")));
}

}  // namespace
}  // namespace inferd::engine
