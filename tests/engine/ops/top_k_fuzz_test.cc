// TopK against k linear scans for the best element not yet taken.
#include "absl/strings/str_cat.h"
#include "tests/engine/ops/fuzz_source.h"
#include "tests/engine/ops/op_tester.h"

namespace inferd::engine {
namespace {

template <typename T>
void NaiveTopK(const Tensor& x, int axis, int64_t k, bool largest, std::vector<T>* values,
               std::vector<int64_t>* indices) {
  Shape y = x.shape();
  y[axis] = k;
  values->resize(y.NumElements());
  indices->resize(y.NumElements());
  Shape lanes = x.shape();
  lanes[axis] = 1;
  ForEachIndex(lanes, [&](Index at) {
    std::vector<bool> taken(x.shape()[axis], false);
    for (int64_t rank = 0; rank < k; ++rank) {
      int64_t best = -1;
      T best_value{};
      for (int64_t i = 0; i < x.shape()[axis]; ++i) {
        if (taken[i]) continue;
        at[axis] = i;
        const T v = x.data<T>()[FlatIndex(x.shape(), at)];
        // Strictly better only: of equals the first stays.
        if (best < 0 || (largest ? v > best_value : v < best_value)) {
          best = i;
          best_value = v;
        }
      }
      taken[best] = true;
      at[axis] = rank;
      (*values)[FlatIndex(y, at)] = best_value;
      (*indices)[FlatIndex(y, at)] = best;
    }
  });
}

template <typename T>
void Fuzz(uint64_t seed) {
  FuzzSource source(seed);
  for (int round = 0; round < 60; ++round) {
    const int rank = static_cast<int>(source.Between(1, 4));
    Shape shape;
    for (int i = 0; i < rank; ++i) shape.push_back(source.Between(1, 5));
    const int axis = static_cast<int>(source.Between(0, rank - 1));
    shape[axis] = source.Pick<int64_t>({1, 2, 7, 31, 64});
    const int64_t k = source.OneIn(4) ? shape[axis] : source.Between(0, shape[axis]);
    const bool largest = source.OneIn(2);
    const Tensor x = source.Levels<T>(shape, 0, source.Pick<int64_t>({1, 3, 100}));
    SCOPED_TRACE(absl::StrCat("seed ", seed, " round ", round, " shape ", shape.ToString(),
                              " axis ", axis, " k ", k, " largest ", largest));
    OpTester tester("TopK");
    tester.Input(x).Input(Tensor::Vector({k})).Outputs(2);
    tester.Attr("axis", int64_t{source.OneIn(2) ? axis : axis - rank});
    tester.Attr("largest", int64_t{largest}).Attr("sorted", int64_t{source.OneIn(2)});
    ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> y, tester.Run());
    std::vector<T> values;
    std::vector<int64_t> indices;
    NaiveTopK<T>(x, axis, k, largest, &values, &indices);
    Shape expected = shape;
    expected[axis] = k;
    EXPECT_TRUE(TensorsClose(y[0], Tensor::FromValues<T>(expected, absl::Span<const T>(values))));
    EXPECT_TRUE(TensorsClose(
        y[1], Tensor::FromValues<int64_t>(expected, absl::Span<const int64_t>(indices))));
  }
}

TEST(TopKFuzz, FloatsEqualLinearScans) { Fuzz<float>(1); }
TEST(TopKFuzz, IntegersEqualLinearScans) {
  Fuzz<int64_t>(2);
  Fuzz<uint8_t>(3);
}

}  // namespace
}  // namespace inferd::engine
