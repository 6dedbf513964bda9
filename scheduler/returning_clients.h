// Learns whether those who were answered come back at once with their next request.
#pragma once

#include <cstdint>

#include "absl/time/time.h"

namespace inferd::scheduler {

// A fixed number of clients that each wait for an answer before they ask again arrive in a burst
// after every batch. A batcher that starts on the first of the burst runs a batch of one and makes
// all others wait for it. With independent clients there is no such burst and nothing to wait for.
//
// Watches a window after each batch: the share of answered rows that came back in it, and how
// long that took, both exponentially weighted. O(1) per call. Not thread-safe.
class ReturningClients {
 public:
  // A batch of `rows` was answered; `compute` is what it took.
  void OnAnswered(absl::Time now, int64_t rows, absl::Duration compute);
  void OnArrival(absl::Time now, int64_t rows);

  // Rows that are still to be expected in the present window; 0 when it is over or clients do not
  // return.
  double Expected(absl::Time now) const;
  // How long they are likely to take from now on.
  absl::Duration Remaining(absl::Time now) const;
  // When to give up on them.
  absl::Time window_end() const { return patience_end_; }

 private:
  double share_ = 0;
  absl::Duration typical_;  // from the answer to the last return
  absl::Time answered_ = absl::InfinitePast();
  absl::Time observation_end_ = absl::InfinitePast();
  absl::Time patience_end_ = absl::InfinitePast();
  absl::Time last_return_;
  int64_t answered_rows_ = 0;
  int64_t returned_rows_ = 0;
};

}  // namespace inferd::scheduler
