// Softmax and LogSoftmax of float along any axis, in plain layout.
#include <algorithm>
#include <cstdint>
#include <memory>

#include "absl/strings/str_cat.h"
#include "engine/kernel/kernel.h"
#include "engine/ops/op_def.h"
#include "engine/providers/cpu/candidate_table.h"
#include "engine/providers/cpu/vector/softmax_rows.h"

namespace inferd::engine::cpu {
namespace {

constexpr int64_t kGrain = 4096;  // elements worth waking a thread for

class SoftmaxKernel final : public Kernel {
 public:
  SoftmaxKernel(bool log, int64_t outer, int64_t n, int64_t inner)
      : log_(log), outer_(outer), n_(n), inner_(inner) {}

  absl::Status Run(KernelContext& context) const override {
    const SoftmaxKernels& best = BestSoftmax();
    const float* x = context.input(0).as<float>();
    float* y = context.output(0).as<float>();
    const int64_t grain = std::max<int64_t>(1, kGrain / n_);
    if (inner_ == 1) {
      const auto rows = log_ ? best.log_softmax : best.softmax;
      context.threads().ParallelFor(outer_, grain, [&](int64_t begin, int64_t end) {
        rows(x + begin * n_, y + begin * n_, end - begin, n_);
      });
      return absl::OkStatus();
    }
    const auto columns = log_ ? best.log_softmax_columns : best.softmax_columns;
    const int64_t tiles = (inner_ + kSoftmaxColumns - 1) / kSoftmaxColumns;
    context.threads().ParallelFor(outer_ * tiles, std::max<int64_t>(1, grain / kSoftmaxColumns),
                                  [&](int64_t begin, int64_t end) {
                                    for (int64_t i = begin; i < end; ++i) {
                                      const int64_t j = i % tiles * kSoftmaxColumns;
                                      const int64_t at = i / tiles * n_ * inner_ + j;
                                      columns(x + at, y + at, n_, inner_,
                                              std::min(kSoftmaxColumns, inner_ - j));
                                    }
                                  });
    return absl::OkStatus();
  }

 private:
  bool log_;
  int64_t outer_, n_, inner_;
};

class SoftmaxImplementation final : public KernelImplementation {
 public:
  absl::string_view name() const override { return "vector_softmax"; }

  absl::StatusOr<KernelLayouts> Accept(const NodeSpec& spec) const override {
    if (spec.input(0).type != ElementType::kFloat32) {
      return absl::UnimplementedError("vector_softmax: float only");
    }
    const Shape& shape = spec.input(0).shape;
    if (shape.NumElements() == 0 || shape.rank() == 0) {
      return absl::UnimplementedError("vector_softmax: empty tensor or scalar");
    }
    return KernelLayouts{{Layout::Plain()}, {Layout::Plain()}};
  }

  absl::StatusOr<std::unique_ptr<Kernel>> Create(const NodeSpec& spec) const override {
    const Shape& shape = spec.input(0).shape;
    int64_t axis = spec.attributes().GetInt("axis", -1);
    if (axis < -shape.rank() || axis >= shape.rank()) {
      return absl::InvalidArgumentError(
          absl::StrCat("attribute axis is ", axis, " for an input of rank ", shape.rank()));
    }
    if (axis < 0) axis += shape.rank();
    const int at = static_cast<int>(axis);
    return std::make_unique<SoftmaxKernel>(spec.op().name == "LogSoftmax", shape.Product(0, at),
                                           shape[at], shape.Product(at + 1, shape.rank()));
  }
};

}  // namespace

void RegisterSoftmax(CandidateTable& table) {
  const auto* softmax = table.Own(std::make_unique<SoftmaxImplementation>());
  for (const char* op : {"Softmax", "LogSoftmax"}) table.Add(op, softmax);
}

}  // namespace inferd::engine::cpu
