// Operators that exist only inside inferd (domain "inferd"): the planner and the passes make them,
// no model file carries them. Layout changes; the fused forms are in fused_ops.cc.
#include <cstring>
#include <memory>
#include <string>

#include "engine/kernel/kernel.h"
#include "engine/ops/all_ops.h"
#include "engine/ops/fused_ops.h"
#include "engine/ops/op_def.h"
#include "engine/status_macros.h"

namespace inferd::engine {
namespace {

// Walks logical elements [n, c, s] and copies each between its physical places. Padding lanes of
// a blocked output become zero.
class ReorderKernel final : public Kernel {
 public:
  explicit ReorderKernel(int64_t element_bytes) : element_bytes_(element_bytes) {}

  absl::Status Run(KernelContext& context) const override {
    const TensorView& x = context.input(0);
    const TensorView& y = context.output(0);
    const Shape& shape = x.shape;
    if (x.layout == y.layout) {
      std::memcpy(y.data, x.data, x.num_bytes());
      return absl::OkStatus();
    }
    const char* from = static_cast<const char*>(x.data);
    char* to = static_cast<char*>(y.data);
    std::memset(to, 0, y.num_bytes());
    const int64_t spatial = shape.Product(2, shape.rank());
    for (int64_t n = 0; n < shape[0]; ++n) {
      for (int64_t c = 0; c < shape[1]; ++c) {
        for (int64_t s = 0; s < spatial; ++s) {
          std::memcpy(to + Place(y.layout, shape[1], spatial, n, c, s) * element_bytes_,
                      from + Place(x.layout, shape[1], spatial, n, c, s) * element_bytes_,
                      element_bytes_);
        }
      }
    }
    return absl::OkStatus();
  }

 private:
  static int64_t Place(Layout layout, int64_t channels, int64_t spatial, int64_t n, int64_t c,
                       int64_t s) {
    const int64_t block = layout.channel_block;
    const int64_t blocks = (channels + block - 1) / block;
    return ((n * blocks + c / block) * spatial + s) * block + c % block;
  }

  int64_t element_bytes_;
};

absl::Status InferReorder(InferenceContext& context) {
  context.SetOutput(0, context.input_type(0));
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Kernel>> ReferenceReorder(const NodeSpec& spec) {
  const OperandSpec& x = spec.input(0);
  if (!(x.layout == spec.output(0).layout) && x.shape.rank() < 2) {
    return absl::InvalidArgumentError(
        "Reorder: a blocked layout needs rank 2 or more, found shape " + x.shape.ToString());
  }
  return std::make_unique<ReorderKernel>(ElementBits(x.type) / 8);
}

}  // namespace

void RegisterInternalOps(OpRegistry& registry) {
  // Byte-addressed plain data only: strings and sub-byte elements are never blocked.
  constexpr ElementTypeSet kReorderable =
      type_sets::kNumeric | ElementTypeSet{ElementType::kBool, ElementType::kComplex64};
  OpDef reorder;
  reorder.domain = kInferdDomain;
  reorder.name = "Reorder";
  reorder.inputs = {{"X", "T", kReorderable}};
  reorder.outputs = {{"Y", "T", kReorderable}};
  reorder.infer = InferReorder;
  reorder.reference = ReferenceReorder;
  registry.Register(std::move(reorder));
  RegisterFusedOps(registry);
  RegisterChannelShuffle(registry);
}

}  // namespace inferd::engine
