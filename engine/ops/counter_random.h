// Random numbers that are a function of a seed and a counter, so that any part of a tensor can be
// drawn by any thread: Philox 4x32 with ten rounds (Salmon et al., "Parallel random numbers: as
// easy as 1, 2, 3", SC 2011).
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstdint>
#include <random>

#include "engine/ir/attribute.h"

namespace inferd::engine {

class CounterRandom {
 public:
  // `stream` separates sequences of the same key.
  CounterRandom(uint64_t key, uint64_t stream) : key_(key), stream_(stream) {}

  // Two independent numbers, uniform in [0, 1) with 53 random bits.
  std::array<double, 2> Uniform2(uint64_t counter) const {
    const std::array<uint32_t, 4> bits = Block(counter);
    return {Fraction(bits[0], bits[1]), Fraction(bits[2], bits[3])};
  }
  double Uniform(uint64_t counter) const { return Uniform2(counter)[0]; }

  // Two independent numbers of mean 0 and variance 1: Box and Muller's transform.
  std::array<double, 2> Normal2(uint64_t counter) const {
    const auto [u, v] = Uniform2(counter);
    const double radius = std::sqrt(-2 * std::log1p(-u));
    const double angle = 6.28318530717958647692 * v;
    return {radius * std::cos(angle), radius * std::sin(angle)};
  }

  std::array<uint32_t, 4> Block(uint64_t counter) const {
    std::array<uint32_t, 4> x = {
        static_cast<uint32_t>(counter), static_cast<uint32_t>(counter >> 32),
        static_cast<uint32_t>(stream_), static_cast<uint32_t>(stream_ >> 32)};
    uint32_t low_key = static_cast<uint32_t>(key_);
    uint32_t high_key = static_cast<uint32_t>(key_ >> 32);
    for (int round = 0; round < 10; ++round) {
      const uint64_t a = uint64_t{0xD2511F53} * x[0];
      const uint64_t b = uint64_t{0xCD9E8D57} * x[2];
      x = {static_cast<uint32_t>(b >> 32) ^ x[1] ^ low_key, static_cast<uint32_t>(b),
           static_cast<uint32_t>(a >> 32) ^ x[3] ^ high_key, static_cast<uint32_t>(a)};
      low_key += 0x9E3779B9;
      high_key += 0xBB67AE85;
    }
    return x;
  }

 private:
  static double Fraction(uint32_t high, uint32_t low) {
    return static_cast<double>((uint64_t{high} << 32 | low) >> 11) * 0x1p-53;
  }

  uint64_t key_;
  uint64_t stream_;
};

// Where a node takes its numbers from. With attribute seed every run draws the same ones; without
// it the seed is random and every run continues with numbers of its own.
class NodeRandom {
 public:
  explicit NodeRandom(const Attributes& attributes)
      : seeded_(attributes.has("seed")),
        key_(seeded_ ? std::bit_cast<uint32_t>(attributes.GetFloat("seed", 0)) : RandomKey()) {}

  CounterRandom NextRun() const {
    return CounterRandom(key_, seeded_ ? 0 : runs_.fetch_add(1, std::memory_order_relaxed));
  }

 private:
  static uint64_t RandomKey() {
    std::random_device device;
    return uint64_t{device()} << 32 | device();
  }

  bool seeded_;
  uint64_t key_;
  mutable std::atomic<uint64_t> runs_{0};
};

}  // namespace inferd::engine
