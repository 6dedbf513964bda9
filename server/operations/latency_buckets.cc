#include "server/operations/latency_buckets.h"

#include <numeric>

namespace inferd::server {

double FineQuantile(const FineCounts& counts, double q) {
  const uint64_t total = std::accumulate(counts.begin(), counts.end(), uint64_t{0});
  if (total == 0) return 0;
  const double rank = q * static_cast<double>(total);
  double before = 0;
  for (int i = 0; i < kFineBuckets; ++i) {
    const double here = static_cast<double>(counts[i]);
    if (here > 0 && before + here >= rank) {
      const double start = FineBucketStart(i);
      const double width = FineBucketStart(i + 1) - start;
      return (start + width * std::max(0.0, rank - before) / here) * 1e-6;
    }
    before += here;
  }
  return FineBucketStart(kFineBuckets) * 1e-6;
}

double FineShareWithin(const FineCounts& counts, double seconds) {
  const double us = seconds * 1e6;
  double within = 0, total = 0;
  for (int i = 0; i < kFineBuckets; ++i) {
    const double here = static_cast<double>(counts[i]);
    total += here;
    const double start = FineBucketStart(i);
    const double end = FineBucketStart(i + 1);
    within += here * std::clamp((us - start) / (end - start), 0.0, 1.0);
  }
  return total == 0 ? 1 : within / total;
}

}  // namespace inferd::server
