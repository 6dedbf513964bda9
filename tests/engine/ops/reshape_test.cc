#include <complex>

#include "tests/engine/ops/op_tester.h"

namespace inferd::engine {
namespace {

using ::testing::HasSubstr;
using Ints = std::vector<int64_t>;

std::string Reshaped(std::vector<Dim> dims, Ints target, bool allow_zero = false) {
  OpTester op("Reshape");
  op.Attr("allowzero", int64_t{allow_zero})
      .Input(MakeTensor<float>({1}, {0}))
      .Constant(Tensor::Vector(target));
  auto types = op.Infer(
      {ValueType::TensorOf(ElementType::kFloat32, SymbolicShape(std::move(dims))),
       ValueType::TensorOf(ElementType::kInt64, Shape{static_cast<int64_t>(target.size())})});
  return types.ok() ? (*types)[0].shape.ToString() : std::string(types.status().message());
}

TEST(Reshape, Shapes) {
  const Dim n = Dim::Symbol("n");
  EXPECT_EQ(Reshaped({2, 3, 4}, {4, -1}), "[4,6]");
  EXPECT_EQ(Reshaped({2, 3, 4}, {0, -1}), "[2,12]");
  EXPECT_EQ(Reshaped({n, 3, 4}, {0, -1}), "[n,12]");
  EXPECT_EQ(Reshaped({n, 3, 4}, {-1, 12}), "[n,12]");
  EXPECT_EQ(Reshaped({n, 3, 4}, {-1, 6}), "[?,6]");
  EXPECT_EQ(Reshaped({0, 3}, {0, 3}, true), "[0,3]");
  EXPECT_EQ(Reshaped({0, 3}, {0, -1}), "[0,3]");
  EXPECT_EQ(Reshaped({1}, {}), "[]");
  EXPECT_THAT(Reshaped({2, 3}, {4, -1}), HasSubstr("do not divide"));
  EXPECT_THAT(Reshaped({2, 3}, {5}), HasSubstr("number of elements"));
  EXPECT_THAT(Reshaped({2, 3}, {-1, -1}), HasSubstr("more than one -1"));
  EXPECT_THAT(Reshaped({2, 3}, {-2, 3}), HasSubstr("negative"));
  EXPECT_THAT(Reshaped({2}, {2, 0}), HasSubstr("copies no dimension"));
  EXPECT_THAT(Reshaped({2, 3}, {int64_t{1} << 40, int64_t{1} << 40}), HasSubstr("overflow"));
}

TEST(Reshape, MovesEveryKindOfElement) {
  ASSERT_OK_AND_ASSIGN(Tensor y, OpTester("Reshape")
                                     .Input(MakeTensor<std::string>({2, 1}, {"a", "bc"}))
                                     .Input(Tensor::Vector({2}))
                                     .Run1());
  EXPECT_THAT(y, TensorIs<std::string>({2}, {"a", "bc"}));
  ASSERT_OK_AND_ASSIGN(y, OpTester("Reshape")
                              .Input(MakeRaw(ElementType::kInt4, {3}, {0x21, 0x03}))
                              .Input(Tensor::Vector({3, 1}))
                              .Run1());
  EXPECT_TRUE(TensorsClose(y, MakeRaw(ElementType::kInt4, {3, 1}, {0x21, 0x03})));
}

TEST(Flatten, Axes) {
  const Tensor x = RandomFloats({2, 3, 4}, 1);
  const auto shape = [&](int64_t axis) {
    return OpTester("Flatten").Attr("axis", axis).Input(x).Run1().value().shape();
  };
  EXPECT_EQ(shape(0), (Shape{1, 24}));
  EXPECT_EQ(shape(2), (Shape{6, 4}));
  EXPECT_EQ(shape(3), (Shape{24, 1}));
  EXPECT_EQ(shape(-1), (Shape{6, 4}));
  EXPECT_THAT(OpTester("Flatten").Attr("axis", int64_t{4}).Input(x).Run1().status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("axis is 4")));
}

TEST(Squeeze, AxesOrAllOnes) {
  const Tensor x = RandomFloats({1, 3, 1}, 1);
  ASSERT_OK_AND_ASSIGN(Tensor y, OpTester("Squeeze").Input(x).Run1());
  EXPECT_EQ(y.shape(), (Shape{3}));
  ASSERT_OK_AND_ASSIGN(y, OpTester("Squeeze").Input(x).Input(Tensor::Vector({-1})).Run1());
  EXPECT_EQ(y.shape(), (Shape{1, 3}));
  EXPECT_THAT(OpTester("Squeeze").Input(x).Input(Tensor::Vector({1})).Run1().status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("cannot be squeezed")));
}

TEST(Unsqueeze, Axes) {
  const Tensor x = RandomFloats({3}, 1);
  ASSERT_OK_AND_ASSIGN(Tensor y,
                       OpTester("Unsqueeze").Input(x).Input(Tensor::Vector({-1, 0})).Run1());
  EXPECT_EQ(y.shape(), (Shape{1, 3, 1}));
  EXPECT_THAT(OpTester("Unsqueeze").Input(x).Input(Tensor::Vector({0, 0})).Run1().status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("given twice")));
}

TEST(Transpose, EveryElementSize) {
  ASSERT_OK_AND_ASSIGN(
      Tensor y, OpTester("Transpose").Input(MakeTensor<float>({2, 3}, {1, 2, 3, 4, 5, 6})).Run1());
  EXPECT_THAT(y, TensorIs<float>({3, 2}, {1, 4, 2, 5, 3, 6}));
  ASSERT_OK_AND_ASSIGN(
      y, OpTester("Transpose")
             .Attr("perm", Ints{1, 0})
             .Input(MakeTensor<std::string>({1, 2}, {"long enough to live on the heap", "b"}))
             .Run1());
  EXPECT_THAT(y, TensorIs<std::string>({2, 1}, {"long enough to live on the heap", "b"}));
  ASSERT_OK_AND_ASSIGN(
      y, OpTester("Transpose").Input(MakeTensor<bool>({2, 2}, {true, false, true, true})).Run1());
  EXPECT_THAT(y, TensorIs<bool>({2, 2}, {true, true, false, true}));
  ASSERT_OK_AND_ASSIGN(y,
                       OpTester("Transpose").Input(MakeFrom<Float16>({2, 2}, {1, 2, 3, 4})).Run1());
  EXPECT_THAT(y, TensorIsFrom<Float16>({2, 2}, {1, 3, 2, 4}));
  using C = std::complex<double>;
  ASSERT_OK_AND_ASSIGN(
      y, OpTester("Transpose").Input(MakeTensor<C>({1, 2}, {C(1, 2), C(3, 4)})).Run1());
  EXPECT_THAT(y, TensorIs<C>({2, 1}, {C(1, 2), C(3, 4)}));
  // int4 [[1,2,3],[4,5,6]] -> [[1,4],[2,5],[3,6]].
  ASSERT_OK_AND_ASSIGN(
      y,
      OpTester("Transpose").Input(MakeRaw(ElementType::kUint4, {2, 3}, {0x21, 0x43, 0x65})).Run1());
  EXPECT_TRUE(TensorsClose(y, MakeRaw(ElementType::kUint4, {3, 2}, {0x41, 0x52, 0x63})));
}

TEST(Transpose, Faults) {
  const Tensor x = RandomFloats({2, 3}, 1);
  EXPECT_THAT(OpTester("Transpose").Attr("perm", Ints{0, 0}).Input(x).Run1().status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("twice")));
  EXPECT_THAT(OpTester("Transpose").Attr("perm", Ints{0}).Input(x).Run1().status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("perm")));
}

TEST(Concat, AxisAndEmptyParts) {
  ASSERT_OK_AND_ASSIGN(Tensor y, OpTester("Concat")
                                     .Attr("axis", int64_t{-1})
                                     .Input(MakeTensor<float>({2, 1}, {1, 2}))
                                     .Input(MakeTensor<float>({2, 0}, {}))
                                     .Input(MakeTensor<float>({2, 2}, {3, 4, 5, 6}))
                                     .Run1());
  EXPECT_THAT(y, TensorIs<float>({2, 3}, {1, 3, 4, 2, 5, 6}));
  EXPECT_THAT(OpTester("Concat")
                  .Attr("axis", int64_t{0})
                  .Input(RandomFloats({2, 1}, 1))
                  .Input(RandomFloats({2, 2}, 1))
                  .Run1()
                  .status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("input 1 has shape")));
}

TEST(Split, SizesAndUnevenParts) {
  const Tensor x = MakeTensor<int64_t>({5}, {1, 2, 3, 4, 5});
  ASSERT_OK_AND_ASSIGN(auto parts,
                       OpTester("Split").Attr("num_outputs", int64_t{2}).Outputs(2).Input(x).Run());
  EXPECT_THAT(parts[0], TensorIs<int64_t>({3}, {1, 2, 3}));
  EXPECT_THAT(parts[1], TensorIs<int64_t>({2}, {4, 5}));
  ASSERT_OK_AND_ASSIGN(
      parts, OpTester("Split").Outputs(3, {1}).Input(x).Input(Tensor::Vector({1, 4, 0})).Run());
  EXPECT_THAT(parts[0], TensorIs<int64_t>({1}, {1}));
  EXPECT_FALSE(parts[1].defined());
  EXPECT_THAT(parts[2], TensorIs<int64_t>({0}, {}));
  EXPECT_THAT(OpTester("Split").Outputs(2).Input(x).Input(Tensor::Vector({1, 3})).Run().status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("does not add up")));
}

}  // namespace
}  // namespace inferd::engine
