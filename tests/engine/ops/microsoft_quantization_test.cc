// com.microsoft's quantized operators. Expected values are those of ONNX Runtime 1.32 unless they
// are derived beside them.
#include <vector>

#include "tests/engine/ops/op_tester.h"

namespace inferd::engine {
namespace {

using ::testing::HasSubstr;
using enum ElementType;

OpTester Microsoft(absl::string_view op) { return OpTester(op, "com.microsoft"); }

Tensor Scale(float value) { return MakeTensor<float>({}, {value}); }
Tensor Zero(uint8_t value) { return MakeTensor<uint8_t>({}, {value}); }

}  // namespace
}  // namespace inferd::engine
