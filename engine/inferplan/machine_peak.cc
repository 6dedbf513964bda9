#include "engine/inferplan/machine_peak.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace inferd::engine {
namespace {

using Clock = std::chrono::steady_clock;

// More sums than latency times width of the units, so that each starts an operation every cycle.
constexpr int kSums = 12;
constexpr int64_t kRounds = 20'000;
constexpr double kMeasureSeconds = 0.05;

struct Arithmetic {
  const char* name;
  int lanes;
  // `rounds` times kSums vector multiply-adds. The result depends on all of them.
  float (*run)(int64_t rounds, float factor);
};

#if defined(__x86_64__)
__attribute__((target("avx2,fma"))) float MultiplyAddAvx2(int64_t rounds, float factor) {
  const __m256 f = _mm256_set1_ps(factor);
  __m256 a = f, b = f, c = f, d = f, e = f, g = f, h = f, i = f, j = f, k = f, l = f, m = f;
  for (int64_t r = 0; r < rounds; ++r) {
    a = _mm256_fmadd_ps(a, f, f);
    b = _mm256_fmadd_ps(b, f, f);
    c = _mm256_fmadd_ps(c, f, f);
    d = _mm256_fmadd_ps(d, f, f);
    e = _mm256_fmadd_ps(e, f, f);
    g = _mm256_fmadd_ps(g, f, f);
    h = _mm256_fmadd_ps(h, f, f);
    i = _mm256_fmadd_ps(i, f, f);
    j = _mm256_fmadd_ps(j, f, f);
    k = _mm256_fmadd_ps(k, f, f);
    l = _mm256_fmadd_ps(l, f, f);
    m = _mm256_fmadd_ps(m, f, f);
    // Keeps equal sums from becoming one.
    __asm__ volatile("" : "+x"(a), "+x"(b), "+x"(c), "+x"(d), "+x"(e), "+x"(g));
    __asm__ volatile("" : "+x"(h), "+x"(i), "+x"(j), "+x"(k), "+x"(l), "+x"(m));
  }
  a = _mm256_add_ps(_mm256_add_ps(_mm256_add_ps(a, b), _mm256_add_ps(c, d)),
                    _mm256_add_ps(_mm256_add_ps(e, g), _mm256_add_ps(h, i)));
  a = _mm256_add_ps(a, _mm256_add_ps(_mm256_add_ps(j, k), _mm256_add_ps(l, m)));
  return _mm256_cvtss_f32(a);
}

__attribute__((target("avx512f"))) float MultiplyAddAvx512(int64_t rounds, float factor) {
  const __m512 f = _mm512_set1_ps(factor);
  __m512 a = f, b = f, c = f, d = f, e = f, g = f, h = f, i = f, j = f, k = f, l = f, m = f;
  for (int64_t r = 0; r < rounds; ++r) {
    a = _mm512_fmadd_ps(a, f, f);
    b = _mm512_fmadd_ps(b, f, f);
    c = _mm512_fmadd_ps(c, f, f);
    d = _mm512_fmadd_ps(d, f, f);
    e = _mm512_fmadd_ps(e, f, f);
    g = _mm512_fmadd_ps(g, f, f);
    h = _mm512_fmadd_ps(h, f, f);
    i = _mm512_fmadd_ps(i, f, f);
    j = _mm512_fmadd_ps(j, f, f);
    k = _mm512_fmadd_ps(k, f, f);
    l = _mm512_fmadd_ps(l, f, f);
    m = _mm512_fmadd_ps(m, f, f);
    __asm__ volatile("" : "+v"(a), "+v"(b), "+v"(c), "+v"(d), "+v"(e), "+v"(g));
    __asm__ volatile("" : "+v"(h), "+v"(i), "+v"(j), "+v"(k), "+v"(l), "+v"(m));
  }
  a = _mm512_add_ps(_mm512_add_ps(_mm512_add_ps(a, b), _mm512_add_ps(c, d)),
                    _mm512_add_ps(_mm512_add_ps(e, g), _mm512_add_ps(h, i)));
  a = _mm512_add_ps(a, _mm512_add_ps(_mm512_add_ps(j, k), _mm512_add_ps(l, m)));
  return _mm512_cvtss_f32(a);
}
#endif

float MultiplyAddPortable(int64_t rounds, float factor) {
  constexpr int kLanes = 4;
  float sums[kSums][kLanes];
  for (auto& sum : sums) std::fill(std::begin(sum), std::end(sum), factor);
  for (int64_t r = 0; r < rounds; ++r) {
    for (auto& sum : sums) {
      for (float& lane : sum) lane = lane * factor + factor;
    }
  }
  float total = 0;
  for (const auto& sum : sums) total += sum[0] + sum[kLanes - 1];
  return total;
}

Arithmetic BestArithmetic() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) return {"AVX-512 FMA", 16, MultiplyAddAvx512};
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    return {"AVX2 FMA", 8, MultiplyAddAvx2};
  }
#endif
  return {"portable code", 4, MultiplyAddPortable};
}

double Seconds(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// The shortest of many rounds, in seconds.
template <typename Work>
double ShortestRound(Work work) {
  double shortest = 1e9;
  const Clock::time_point start = Clock::now();
  for (int round = 0; round < 3 || Seconds(start) < kMeasureSeconds; ++round) {
    const Clock::time_point begin = Clock::now();
    work();
    shortest = std::min(shortest, Seconds(begin));
  }
  return std::max(shortest, 1e-9);
}

double MultiplyAddRate(const Arithmetic& arithmetic) {
  volatile float sink = 0;
  const double seconds = ShortestRound([&] { sink = arithmetic.run(kRounds, 0.5f); });
  return 2.0 * kSums * arithmetic.lanes * static_cast<double>(kRounds) / seconds;
}

// Walks through buffers in pieces so short that most are not interrupted.
double CopyRate(size_t bytes) {
  constexpr size_t kPiece = size_t{128} << 10;
  const auto from = std::make_unique<char[]>(bytes);
  const auto to = std::make_unique<char[]>(bytes);
  std::memset(from.get(), 1, bytes);
  std::memset(to.get(), 2, bytes);
  std::vector<double> times;
  const Clock::time_point start = Clock::now();
  while (times.empty() || Seconds(start) < kMeasureSeconds) {
    for (size_t at = 0; at + kPiece <= bytes; at += kPiece) {
      const Clock::time_point begin = Clock::now();
      std::memcpy(to.get() + at, from.get() + at, kPiece);
      times.push_back(Seconds(begin));
    }
  }
  // Not the shortest: that piece may have been in a cache.
  const auto quarter = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 4);
  std::nth_element(times.begin(), quarter, times.end());
  return 2.0 * static_cast<double>(kPiece) / std::max(*quarter, 1e-9);
}

template <typename Rate>
double SumOverThreads(int threads, Rate rate) {
  std::vector<double> rates(static_cast<size_t>(threads));
  std::vector<std::thread> others;
  for (int t = 1; t < threads; ++t) {
    others.emplace_back([&rates, rate, t] { rates[static_cast<size_t>(t)] = rate(); });
  }
  rates[0] = rate();
  for (std::thread& other : others) other.join();
  double sum = 0;
  for (double r : rates) sum += r;
  return sum;
}

}  // namespace

MachinePeak MeasurePeak(int threads) {
  const Arithmetic arithmetic = BestArithmetic();
  MachinePeak peak;
  peak.threads = threads;
  peak.instructions = arithmetic.name;
  peak.flops = SumOverThreads(threads, [&] { return MultiplyAddRate(arithmetic); });
  // Larger than caches, yet modest in all.
  constexpr size_t kLargest = size_t{64} << 20, kSmallest = size_t{4} << 20;
  const size_t bytes =
      std::clamp((size_t{256} << 20) / static_cast<size_t>(threads), kSmallest, kLargest);
  peak.copy_bandwidth = SumOverThreads(threads, [&] { return CopyRate(bytes); });
  peak.cached_copy_bandwidth = SumOverThreads(
      threads, [&] { return CopyRate(static_cast<size_t>(MachinePeak::kCachedBytes) / 2); });
  return peak;
}

}  // namespace inferd::engine
