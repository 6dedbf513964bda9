// Operands of int8 or uint8 with one scale and zero point each, as com.microsoft's QLinear
// operators take them.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "engine/kernel/kernel.h"
#include "engine/tensor/element_type.h"

namespace inferd::engine {

inline constexpr ElementTypeSet kByteTypes = {ElementType::kInt8, ElementType::kUint8};

struct ByteQuantization {
  ElementType type = ElementType::kUint8;
  float scale = 1;
  int zero_point = 0;

  float Dequantize(int value) const { return scale * static_cast<float>(value - zero_point); }
  // The byte that holds saturate(round(value / scale) + zero_point).
  uint8_t Quantize(float value) const;
  // The number a byte holds.
  int Value(uint8_t byte) const {
    return type == ElementType::kInt8 ? static_cast<int8_t>(byte) : byte;
  }
};

// The quantization of an operand of `type` from its scale and zero point inputs; an absent zero
// point is 0. Both hold one element (ExpectOneElement).
ByteQuantization ReadQuantization(const KernelContext& context, ElementType type, int scale_input,
                                  int zero_point_input);

// INVALID_ARGUMENT naming the first of `inputs` that is present and does not have one element.
absl::Status ExpectOneElement(const NodeSpec& spec, std::initializer_list<int> inputs);

// Bytes of one quantization as bytes of another, by the byte's value as unsigned.
using ByteTable = std::array<uint8_t, 256>;
// Each byte through fn on the number it stands for.
ByteTable MakeByteTable(const ByteQuantization& from, const ByteQuantization& to,
                        absl::FunctionRef<float(float)> fn);
// Each byte as the nearest one of the other quantization; itself where both are the same.
ByteTable MakeRequantizingTable(const ByteQuantization& from, const ByteQuantization& to);

}  // namespace inferd::engine
