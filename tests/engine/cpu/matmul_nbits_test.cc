// MatMulNBits over packed weights against its reference kernel.
#include <random>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/engine/cpu/candidate_tester.h"
#include "tests/engine/ops/op_tester.h"

namespace inferd::engine {
namespace {

Tensor RandomBytes(int64_t count, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<uint8_t> bytes(count);
  for (uint8_t& b : bytes) b = static_cast<uint8_t>(random());
  return Tensor::FromValues<uint8_t>({count}, absl::Span<const uint8_t>(bytes));
}

CandidateTester Product(int64_t rows, int64_t k, int64_t n, int64_t block) {
  const int64_t blocks = (k + block - 1) / block;
  CandidateTester tester("com.microsoft::MatMulNBits");
  tester.Attr("K", k).Attr("N", n).Attr("block_size", block).Tolerance(1e-3, 1e-4);
  tester.Input(RandomFloats({rows, k}, 1));
  tester.Constant(RandomBytes(n * blocks * block / 2, 2));
  tester.Constant(RandomFloats({n * blocks}, 3, 0.01f, 0.1f));
  return tester;
}

constexpr auto kPlain = CandidateTester::Layouts::kPlain;

TEST(VectorMatMulNBits, EqualsReference) {
  // Few rows and many; K with whole chunks of 64, without, and with an unfinished block; block
  // sizes below, at and above a chunk.
  for (const int64_t rows : {1, 3, 259}) {
    for (const int64_t k : {64, 100, 1040}) {
      for (const int64_t block : {16, 32, 64, 256}) {
        const int64_t n = 11, blocks = (k + block - 1) / block;
        SCOPED_TRACE(absl::StrCat(rows, "x", k, ", blocks of ", block));
        CandidateTester plain = Product(rows, k, n, block);
        EXPECT_EQ(plain.Check("vector_matmul_nbits", kPlain), absl::OkStatus());
        CandidateTester packed = Product(rows, k, n, block);
        packed.Constant(RandomBytes(n * ((blocks + 1) / 2), 4));
        packed.NoInput();
        packed.Input(RandomFloats({n}, 5));
        EXPECT_EQ(packed.Check("vector_matmul_nbits", kPlain), absl::OkStatus());
      }
    }
  }
  CandidateTester floats = Product(2, 96, 3, 32);
  floats.Constant(RandomFloats({3, 3}, 6, 0, 15));
  EXPECT_EQ(floats.Check("vector_matmul_nbits", kPlain), absl::OkStatus());
}

TEST(VectorMatMulNBits, Declines) {
  CandidateTester eight("com.microsoft::MatMulNBits");
  for (const char* name : {"K", "block_size"}) eight.Attr(name, int64_t{32});
  eight.Attr("N", int64_t{1}).Attr("bits", int64_t{8}).Input(RandomFloats({1, 32}, 1));
  eight.Constant(RandomBytes(32, 2)).Constant(RandomFloats({1}, 3));
  EXPECT_THAT(std::string(eight.Offer("vector_matmul_nbits").message()),
              ::testing::HasSubstr("4 bits only"));
}

}  // namespace
}  // namespace inferd::engine
