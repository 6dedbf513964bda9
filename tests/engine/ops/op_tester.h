// Runs one operator through schema check, shape function and reference kernel.
//
//   ASSERT_OK_AND_ASSIGN(auto y, OpTester("Softmax").Attr("axis", int64_t{1}).Input(x).Run1());
//   EXPECT_THAT(y, TensorIs<float>({2, 2}, {...}, 1e-6));
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "engine/ir/attribute.h"
#include "engine/ir/value_type.h"
#include "engine/tensor/tensor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace inferd::engine {

// Builds a graph of one node, checks it against its schema, infers its output types and runs its
// reference kernel. Not thread-safe.
//
// Every Run also checks what must hold for any operator, and answers INTERNAL where it does not:
// - inference from unknown ranks, from unknown dimensions and with no value known succeeds and
//   agrees with the real shapes;
// - a deterministic operator gives the same bytes on one thread and on several;
// - where in_place_inputs allow it, the output may overwrite that input.
class OpTester {
 public:
  explicit OpTester(absl::string_view op, absl::string_view domain = "");
  OpTester(OpTester&&) noexcept;
  OpTester(const OpTester&) = delete;
  ~OpTester();

  OpTester& Attr(std::string name, AttributeValue value);
  // Known when the kernel runs, and to the shape function only if the operator lists it in
  // shape_inputs.
  OpTester& Input(Tensor tensor);
  // A weight: known to the shape function and to the kernel's factory as well.
  OpTester& Constant(Tensor tensor);
  // An absent optional input.
  OpTester& NoInput();
  // Number of outputs asked for; one by default. Those listed in `absent` stay unused.
  OpTester& Outputs(int count, std::initializer_list<int> absent = {});
  OpTester& Threads(int threads);  // of the second run; 3 by default

  // All outputs in order; an absent one is an undefined Tensor.
  absl::StatusOr<std::vector<Tensor>> Run() const;
  // The first output alone.
  absl::StatusOr<Tensor> Run1() const;

  // Types of the outputs when only `types` are known of the inputs added so far (values of
  // Constant() inputs stay known). One per input; ignored for absent ones.
  absl::StatusOr<std::vector<ValueType>> Infer(absl::Span<const ValueType> types) const;
  // From the types of the inputs themselves.
  absl::StatusOr<std::vector<ValueType>> Infer() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Tensors from literals.
template <typename T>
Tensor MakeTensor(Shape shape, std::initializer_list<T> values) {
  if constexpr (std::is_same_v<T, bool>) {
    std::unique_ptr<bool[]> copy(new bool[values.size()]);
    std::copy(values.begin(), values.end(), copy.get());
    return Tensor::FromValues<bool>(std::move(shape),
                                    absl::Span<const bool>(copy.get(), values.size()));
  } else {
    return Tensor::FromValues<T>(std::move(shape),
                                 absl::Span<const T>(values.begin(), values.size()));
  }
}
// The same numbers as float16 or bfloat16 (or any other type a float converts to).
template <typename T>
Tensor MakeFrom(Shape shape, std::initializer_list<float> values) {
  std::vector<T> converted;
  for (float v : values) converted.push_back(static_cast<T>(v));
  return Tensor::FromValues<T>(std::move(shape), absl::Span<const T>(converted));
}
// Deterministic numbers in [low, high).
Tensor RandomFloats(const Shape& shape, uint64_t seed, float low = -1, float high = 1);
// A tensor over raw bytes: sub-byte types and the 8-bit floats.
Tensor MakeRaw(ElementType type, Shape shape, std::initializer_list<uint8_t> bytes);

// Elementwise |actual - expected| <= atol + rtol * |expected|; NaN equals NaN, infinities are
// exact, types and shapes must match. Any arithmetic type, bool and string (exact).
// The first differing element is named.
::testing::AssertionResult TensorsClose(const Tensor& actual, const Tensor& expected,
                                        double atol = 0, double rtol = 0);

// gMock matcher on a Tensor.
MATCHER_P3(IsCloseTo, expected, atol, rtol, "is close to the expected tensor") {
  const auto result = TensorsClose(arg, expected, atol, rtol);
  *result_listener << result.message();
  return static_cast<bool>(result);
}
template <typename T>
auto TensorIs(Shape shape, std::initializer_list<T> values, double atol = 0, double rtol = 0) {
  return IsCloseTo(MakeTensor<T>(std::move(shape), values), atol, rtol);
}
template <typename T>
auto TensorIsFrom(Shape shape, std::initializer_list<float> values, double atol = 0,
                  double rtol = 0) {
  return IsCloseTo(MakeFrom<T>(std::move(shape), values), atol, rtol);
}
MATCHER_P2(StatusIs, code, message, "has the code and a matching message") {
  *result_listener << arg.ToString();
  return arg.code() == code &&
         ::testing::SafeMatcherCast<std::string>(message).Matches(std::string(arg.message()));
}

#define INFERD_TEST_CONCAT_INNER(a, b) a##b
#define INFERD_TEST_CONCAT(a, b) INFERD_TEST_CONCAT_INNER(a, b)
#define ASSERT_OK_AND_ASSIGN(lhs, expr) \
  ASSERT_OK_AND_ASSIGN_IMPL(INFERD_TEST_CONCAT(_test_status_or_, __LINE__), lhs, expr)
#define ASSERT_OK_AND_ASSIGN_IMPL(tmp, lhs, expr)   \
  auto tmp = (expr);                                \
  ASSERT_TRUE(tmp.ok()) << tmp.status().ToString(); \
  lhs = *std::move(tmp)

}  // namespace inferd::engine
