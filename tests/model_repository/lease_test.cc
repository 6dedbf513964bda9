#include "model_repository/lease.h"

#include <gtest/gtest.h>

#include <thread>

#include "absl/synchronization/notification.h"
#include "tests/model_repository/fake_servable.h"

namespace inferd::repository {
namespace {

std::unique_ptr<ModelVersion> NewVersion(std::shared_ptr<scheduler::Servable> servable) {
  auto version = std::make_unique<ModelVersion>();
  version->name = "m";
  version->version = "1";
  version->servable = std::move(servable);
  return version;
}

TEST(LeaseTest, RetireWaitsForTheLastHolderThenDrains) {
  auto servable = std::make_shared<FakeServable>();
  const auto lease = Lease::Make(NewVersion(servable));
  std::shared_ptr<const ModelVersion> request = lease->shared();
  absl::Notification retired;
  std::thread keeper([&] {
    lease->Retire(absl::InfiniteFuture(), scheduler::MonotonicClock());
    retired.Notify();
  });
  // Gone for new requests at once, kept for this one.
  while (lease->shared() != nullptr) std::this_thread::yield();
  EXPECT_FALSE(retired.HasBeenNotified());
  EXPECT_EQ(servable->drains(), 0);
  EXPECT_EQ(request->name, "m");
  request.reset();
  keeper.join();
  EXPECT_EQ(servable->drains(), 1);
  EXPECT_EQ(servable.use_count(), 1);  // the version is destroyed
}

TEST(LeaseTest, DeadlineDrainsUnderAHolderWhoThenDestroys) {
  auto servable = std::make_shared<FakeServable>();
  const auto lease = Lease::Make(NewVersion(servable));
  std::shared_ptr<const ModelVersion> request = lease->shared();
  lease->Retire(scheduler::MonotonicClock().Now(), scheduler::MonotonicClock());
  EXPECT_EQ(servable->drains(), 1);
  EXPECT_EQ(servable.use_count(), 2);
  request.reset();
  EXPECT_EQ(servable.use_count(), 1);
}

TEST(LeaseTest, RetiringTwiceIsHarmless) {
  const auto lease = Lease::Make(NewVersion(nullptr));
  lease->Retire(absl::InfinitePast(), scheduler::MonotonicClock());
  lease->Retire(absl::InfinitePast(), scheduler::MonotonicClock());
  EXPECT_EQ(lease->shared(), nullptr);
}

}  // namespace
}  // namespace inferd::repository
