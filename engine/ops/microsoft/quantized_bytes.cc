#include "engine/ops/microsoft/quantized_bytes.h"

#include "absl/strings/str_cat.h"
#include "engine/ops/integer_product.h"
#include "engine/ops/op_def.h"
#include "engine/ops/quantized_range.h"

namespace inferd::engine {

uint8_t ByteQuantization::Quantize(float value) const {
  return static_cast<uint8_t>(static_cast<int32_t>(
      RoundAndSaturate(value / scale, static_cast<float>(zero_point), RangeOf(type))));
}

ByteQuantization ReadQuantization(const KernelContext& context, ElementType type, int scale_input,
                                  int zero_point_input) {
  ByteQuantization q;
  q.type = type;
  q.scale = *context.input(scale_input).as<float>();
  if (context.has_input(zero_point_input)) {
    q.zero_point = LoadByte(type, context.input(zero_point_input).data, 0);
  }
  return q;
}

absl::Status ExpectOneElement(const NodeSpec& spec, std::initializer_list<int> inputs) {
  for (const int i : inputs) {
    if (spec.has_input(i) && spec.input(i).shape.NumElements() != 1) {
      const FormalParameter* parameter = spec.op().input_parameter(i);
      return absl::InvalidArgumentError(absl::StrCat(
          "input ", parameter == nullptr ? absl::StrCat(i) : std::string(parameter->name),
          " has shape ", spec.input(i).shape.ToString(), ", expected one element"));
    }
  }
  return absl::OkStatus();
}

ByteTable MakeByteTable(const ByteQuantization& from, const ByteQuantization& to,
                        absl::FunctionRef<float(float)> fn) {
  ByteTable table;
  for (int i = 0; i < 256; ++i) {
    table[i] = to.Quantize(fn(from.Dequantize(from.Value(static_cast<uint8_t>(i)))));
  }
  return table;
}

ByteTable MakeRequantizingTable(const ByteQuantization& from, const ByteQuantization& to) {
  if (from.scale == to.scale && from.zero_point == to.zero_point) {
    ByteTable table;
    for (int i = 0; i < 256; ++i) table[i] = static_cast<uint8_t>(i);
    return table;
  }
  return MakeByteTable(from, to, [](float v) { return v; });
}

}  // namespace inferd::engine
