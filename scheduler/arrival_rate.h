// The rate at which rows are offered, over the latest few requests.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "absl/time/time.h"

namespace inferd::scheduler {

// Not thread-safe.
class ArrivalRate {
 public:
  void Add(absl::Time now, int64_t rows) {
    total_rows_ += rows;
    ring_[count_ % kWindow] = {now, total_rows_};
    ++count_;
  }
  // Zero until the window holds enough requests to tell.
  double RowsPerNanosecond(absl::Time now) const {
    if (count_ < kWindow) return 0;
    const Arrival& oldest = ring_[count_ % kWindow];
    const double nanos = absl::ToDoubleNanoseconds(now - oldest.when);
    return static_cast<double>(total_rows_ - oldest.total_rows) / (nanos > 1 ? nanos : 1);
  }

 private:
  static constexpr size_t kWindow = 64;
  struct Arrival {
    absl::Time when;
    int64_t total_rows = 0;
  };
  std::array<Arrival, kWindow> ring_;
  size_t count_ = 0;
  int64_t total_rows_ = 0;
};

}  // namespace inferd::scheduler
