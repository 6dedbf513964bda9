// com.microsoft.MurmurHash3: the 32-bit MurmurHash3 of each element's bytes.
#include <bit>
#include <cstring>
#include <memory>
#include <string>

#include "engine/kernel/kernel.h"
#include "engine/ops/elementwise.h"
#include "engine/ops/microsoft/microsoft_ops.h"
#include "engine/ops/op_def.h"
#include "engine/ops/schema.h"
#include "engine/status_macros.h"

namespace inferd::engine {
namespace {

// A. Appleby's MurmurHash3_x86_32, from its published definition.
uint32_t Hash(const void* data, size_t size, uint32_t seed) {
  constexpr uint32_t kFirst = 0xcc9e2d51u, kSecond = 0x1b873593u;
  const auto* bytes = static_cast<const unsigned char*>(data);
  uint32_t hash = seed;
  size_t i = 0;
  for (; i + 4 <= size; i += 4) {
    uint32_t block = 0;
    std::memcpy(&block, bytes + i, 4);
    hash ^= std::rotl(block * kFirst, 15) * kSecond;
    hash = std::rotl(hash, 13) * 5 + 0xe6546b64u;
  }
  uint32_t tail = 0;
  for (size_t k = size; k > i; --k) tail = tail << 8 | bytes[k - 1];
  if (size > i) hash ^= std::rotl(tail * kFirst, 15) * kSecond;
  hash ^= static_cast<uint32_t>(size);
  hash = (hash ^ hash >> 16) * 0x85ebca6bu;
  hash = (hash ^ hash >> 13) * 0xc2b2ae35u;
  return hash ^ hash >> 16;
}

ElementType OutputType(const Attributes& attributes) {
  return attributes.GetInt("positive", 1) != 0 ? ElementType::kUint32 : ElementType::kInt32;
}

absl::Status Infer(InferenceContext& context) {
  context.SetOutput(0, OutputType(context.attributes()), context.shape(0));
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Kernel>> Reference(const NodeSpec& spec) {
  const auto seed = static_cast<uint32_t>(spec.attributes().GetInt("seed", 0));
  return MakeKernel([seed](KernelContext& context) {
    const TensorView& x = context.input(0);
    // int32 and uint32 outputs have the same bits.
    auto* y = static_cast<uint32_t*>(context.output(0).data);
    const int64_t count = x.num_elements();
    if (x.type == ElementType::kString) {
      const std::string* strings = x.as<std::string>();
      for (int64_t i = 0; i < count; ++i) y[i] = Hash(strings[i].data(), strings[i].size(), seed);
      return absl::OkStatus();
    }
    const size_t bytes = ElementBits(x.type) / 8;
    for (int64_t i = 0; i < count; ++i) {
      y[i] = Hash(static_cast<const char*>(x.data) + i * bytes, bytes, seed);
    }
    return absl::OkStatus();
  });
}

}  // namespace

void RegisterMurmurHash3Ops(OpRegistry& registry) {
  constexpr ElementTypeSet kTypes = {
      ElementType::kInt32,   ElementType::kUint32,  ElementType::kInt64, ElementType::kUint64,
      ElementType::kFloat32, ElementType::kFloat64, ElementType::kString};
  registry.Register(
      {.domain = "com.microsoft",
       .name = "MurmurHash3",
       .inputs = {RequiredParameter("X", "", kTypes)},
       .outputs = {RequiredParameter("Y", "", {ElementType::kInt32, ElementType::kUint32})},
       .attributes = {{"positive", AttributeSpec::Kind::kInt}, {"seed", AttributeSpec::Kind::kInt}},
       .infer = Infer,
       .reference = Reference});
}

}  // namespace inferd::engine
