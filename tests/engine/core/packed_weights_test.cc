#include "engine/kernel/packed_weights.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace inferd::engine {
namespace {

TEST(PackedWeights, PacksOncePerFormWhoeverAsks) {
  PackedWeights weights;
  const Tensor source = Tensor::FromValues<float>({2}, {1, 2});
  std::atomic<int> packs{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      auto packed = weights.GetOrPack(source, "doubled", [&]() -> absl::StatusOr<Tensor> {
        ++packs;
        return Tensor::FromValues<float>({2}, {2, 4});
      });
      ASSERT_TRUE(packed.ok());
      EXPECT_EQ(packed->values<float>()[1], 4);
    });
  }
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(packs, 1);
  EXPECT_EQ(weights.bytes(), 8u);
}

TEST(PackedWeights, FormsAndSourcesAreDistinct) {
  PackedWeights weights;
  const Tensor a = Tensor::Scalar(1.0f), b = Tensor::Scalar(2.0f);
  int packs = 0;
  auto pack = [&]() -> absl::StatusOr<Tensor> {
    ++packs;
    return Tensor::Scalar(0.0f);
  };
  ASSERT_TRUE(weights.GetOrPack(a, "x", pack).ok());
  ASSERT_TRUE(weights.GetOrPack(a, "y", pack).ok());
  ASSERT_TRUE(weights.GetOrPack(b, "x", pack).ok());
  ASSERT_TRUE(weights.GetOrPack(a, "x", pack).ok());
  EXPECT_EQ(packs, 3);
}

TEST(PackedWeights, AFailureIsNotKept) {
  PackedWeights weights;
  const Tensor source = Tensor::Scalar(1.0f);
  EXPECT_FALSE(
      weights
          .GetOrPack(source, "x",
                     []() -> absl::StatusOr<Tensor> { return absl::ResourceExhaustedError("no"); })
          .ok());
  EXPECT_TRUE(weights.GetOrPack(source, "x", [&] { return absl::StatusOr<Tensor>(source); }).ok());
}

}  // namespace
}  // namespace inferd::engine
