#include "engine/runtime/buffer_pool.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "engine/runtime/arena.h"

namespace inferd::engine {
namespace {

class BufferPoolTest : public ::testing::Test {
 protected:
  std::shared_ptr<MemoryCounters> counters_ = std::make_shared<MemoryCounters>();
  std::shared_ptr<BufferPool> pool_ = BufferPool::Create(CpuDevice(), counters_);
};

TEST_F(BufferPoolTest, ClassesAreAtMostAnEighthTooLarge) {
  for (size_t bytes = 1025; bytes < (size_t{1} << 40); bytes = bytes * 9 / 8 + 7) {
    const size_t size = BufferPool::ClassBytes(bytes);
    EXPECT_GE(size, bytes);
    EXPECT_LE(size - bytes, bytes / 8 + 1);
    EXPECT_EQ(BufferPool::ClassBytes(size), size);
  }
  EXPECT_GE(BufferPool::ClassBytes(0), 1u);
}

TEST_F(BufferPoolTest, GivesTheSameMemoryAgain) {
  absl::StatusOr<BufferRef> first = pool_->Acquire(5000);
  ASSERT_TRUE(first.ok());
  void* const address = (*first)->data();
  EXPECT_EQ(reinterpret_cast<uintptr_t>(address) % kBufferAlignment, 0u);
  *first = BufferRef();
  absl::StatusOr<BufferRef> second = pool_->Acquire(5000);
  EXPECT_EQ((*second)->data(), address);
  absl::StatusOr<BufferRef> third = pool_->Acquire(5000);
  EXPECT_NE((*third)->data(), address);
}

TEST_F(BufferPoolTest, ReturnsWhenTheLastCopyDies) {
  absl::StatusOr<BufferRef> buffer = pool_->Acquire(4096);
  BufferRef copy = *buffer;
  *buffer = BufferRef();
  EXPECT_EQ(pool_->free_bytes(), 0u);
  copy = BufferRef();
  EXPECT_EQ(pool_->free_bytes(), BufferPool::ClassBytes(4096));
}

TEST_F(BufferPoolTest, BuffersOutliveThePool) {
  absl::StatusOr<BufferRef> buffer = pool_->Acquire(4096);
  pool_.reset();
  static_cast<char*>((*buffer)->data())[4095] = 1;
  EXPECT_GT(counters_->output_bytes, 0);
  std::thread([&] { *buffer = BufferRef(); }).join();
  EXPECT_EQ(counters_->output_bytes, 0);
}

TEST_F(BufferPoolTest, KeepsABoundedAmount) {
  for (int round = 0; round < 2000; ++round) {
    ASSERT_TRUE(pool_->Acquire(1000 + 7919 * (round % 997)).ok());
  }
  EXPECT_LE(pool_->free_bytes(), BufferPool::kKeepBytes);
  EXPECT_EQ(counters_->output_bytes, static_cast<int64_t>(pool_->free_bytes()));
}

TEST_F(BufferPoolTest, KeepsWhatIsInUseAtOnceEvenWhenLarge) {
  const size_t large = 2 * BufferPool::kKeepBytes;
  ASSERT_TRUE(pool_->Acquire(large).ok());
  EXPECT_EQ(pool_->free_bytes(), BufferPool::ClassBytes(large));
  // Once nothing of that size has been used for long, it goes.
  for (int i = 0; i < 3 * BufferPool::kWindow; ++i) ASSERT_TRUE(pool_->Acquire(100).ok());
  EXPECT_LT(pool_->free_bytes(), large);
}

TEST_F(BufferPoolTest, ManyThreads) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 2000; ++i) {
        absl::StatusOr<BufferRef> buffer = pool_->Acquire(1000 * (1 + (i + t) % 5));
        *static_cast<int*>((*buffer)->data()) = t;
        ASSERT_TRUE((*buffer)->unique());
        ASSERT_EQ(*static_cast<int*>((*buffer)->data()), t);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  pool_.reset();
  EXPECT_EQ(counters_->output_bytes, 0);
}

TEST(ArenaTest, GrowsAndKeeps) {
  auto counters = std::make_shared<MemoryCounters>();
  Arena arena(CpuDevice(), counters);
  absl::StatusOr<void*> small = arena.Reserve(0);
  ASSERT_TRUE(small.ok());
  EXPECT_NE(*small, nullptr);
  ASSERT_TRUE(arena.Reserve(1 << 20).ok());
  EXPECT_EQ(counters->arena_bytes, 1 << 20);
  const absl::StatusOr<void*> again = arena.Reserve(1 << 20);
  EXPECT_EQ(*arena.Reserve(1 << 18), *again);
}

TEST(ArenaTest, ShrinksAfterManySmallRuns) {
  auto counters = std::make_shared<MemoryCounters>();
  Arena arena(CpuDevice(), counters);
  ASSERT_TRUE(arena.Reserve(1 << 20).ok());
  arena.EndRun();
  for (int i = 0; i < Arena::kPatience; ++i) {
    EXPECT_EQ(arena.bytes(), size_t{1} << 20) << i;
    ASSERT_TRUE(arena.Reserve(1000).ok());
    arena.EndRun();
  }
  ASSERT_TRUE(arena.Reserve(1000).ok());
  EXPECT_EQ(arena.bytes(), 1000u);
  EXPECT_EQ(counters->arena_bytes, 1000);
}

TEST(ArenaTest, OneLargeRunInBetweenKeepsIt) {
  auto counters = std::make_shared<MemoryCounters>();
  Arena arena(CpuDevice(), counters);
  for (int i = 0; i < 5 * Arena::kPatience; ++i) {
    ASSERT_TRUE(arena.Reserve(i % Arena::kPatience == 0 ? 1 << 20 : 1000).ok());
    arena.EndRun();
  }
  EXPECT_EQ(arena.bytes(), size_t{1} << 20);
}

}  // namespace
}  // namespace inferd::engine
