// A servable that counts what is asked of it and runs nothing.
#pragma once

#include <atomic>
#include <memory>
#include <utility>

#include "scheduler/servable.h"

namespace inferd::repository {

class FakeServable final : public scheduler::Servable {
 public:
  explicit FakeServable(scheduler::ServableOptions options = {}) : options_(std::move(options)) {}

  const scheduler::ServableOptions& options() const override { return options_; }
  std::shared_ptr<scheduler::RequestHandle> Submit(std::unique_ptr<scheduler::Request>) override {
    return nullptr;
  }
  absl::Status WarmUp() override { return absl::OkStatus(); }
  void Drain(absl::Time) override { ++drains_; }
  scheduler::ServableStatistics statistics() const override { return statistics_; }

  int drains() const { return drains_; }
  scheduler::ServableStatistics& mutable_statistics() { return statistics_; }

 private:
  scheduler::ServableOptions options_;
  scheduler::ServableStatistics statistics_;
  std::atomic<int> drains_{0};
};

}  // namespace inferd::repository
