// Two ways to sort durations into buckets: few fixed ones for Prometheus histograms, which replicas
// can add up, and many fine ones for quantiles over the last seconds.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

namespace inferd::server {

// Upper bounds in nanoseconds of the fixed buckets, a 1-2-5 series; beyond the last is +Inf.
inline constexpr std::array<int64_t, 16> kDurationBounds = {
    100'000,       200'000,       500'000,       1'000'000,     2'000'000,   5'000'000,
    10'000'000,    20'000'000,    50'000'000,    100'000'000,   200'000'000, 500'000'000,
    1'000'000'000, 2'000'000'000, 5'000'000'000, 10'000'000'000};
// Upper bounds of the batch-size buckets, in rows.
inline constexpr std::array<int64_t, 10> kBatchBounds = {1, 2, 4, 8, 16, 32, 64, 128, 256, 512};

// Index of the first bound that is not below `value`; N for +Inf.
template <size_t N>
int BucketOf(const std::array<int64_t, N>& bounds, int64_t value) {
  return static_cast<int>(std::lower_bound(bounds.begin(), bounds.end(), value) - bounds.begin());
}

// Fine buckets: 16 per power of two of microseconds, so that a bucket is at most 6.25% wide; from
// 1 us up to 2^30 us (18 minutes).
inline constexpr int kFineSteps = 16;
inline constexpr int kFineBuckets = 27 * kFineSteps;
using FineCounts = std::array<uint64_t, kFineBuckets>;

inline int FineBucketOf(int64_t nanoseconds) {
  constexpr uint64_t kLargest = (uint64_t{1} << 30) - 1;
  const uint64_t us = std::min<uint64_t>(kLargest, std::max<int64_t>(0, nanoseconds) / 1000);
  if (us < kFineSteps) return static_cast<int>(us);
  const int octave = std::bit_width(us) - 1;  // 4..29
  return (octave - 3) * kFineSteps + static_cast<int>((us >> (octave - 4)) & (kFineSteps - 1));
}

// Lower bound of a fine bucket in microseconds; of kFineBuckets: the end of the last.
inline double FineBucketStart(int bucket) {
  if (bucket < kFineSteps) return bucket;
  const int octave = bucket / kFineSteps + 3;
  return static_cast<double>((uint64_t{1} << octave) +
                             (static_cast<uint64_t>(bucket % kFineSteps) << (octave - 4)));
}

// The value below which a share `q` of the counted durations lies, in seconds, interpolated within
// its bucket; 0 where nothing was counted.
double FineQuantile(const FineCounts& counts, double q);
// Share of the counted durations that are at most `seconds`; 1 where nothing was counted.
double FineShareWithin(const FineCounts& counts, double seconds);

}  // namespace inferd::server
