// W and R as the standard stores them: float and double are read where they lie, the 16-bit types
// are widened to float, once where the weights are constant and at every run otherwise.
#include <type_traits>
#include <vector>

#include "engine/ops/recurrent_layer.h"
#include "engine/ops/recurrent_math.h"

namespace inferd::engine {
namespace {

// Multiply-adds below which splitting a product over threads does not pay.
constexpr int64_t kProductGrain = 65536;

template <typename T>
class PlainWeights final : public RecurrentWeights<ComputeType<T>> {
  using C = ComputeType<T>;
  static constexpr bool kWidened = !std::is_same_v<T, C>;

 public:
  PlainWeights(const NodeSpec& spec, const RecurrentSizes& sizes)
      : w_{sizes.width(), sizes.input, {}}, r_{sizes.width(), sizes.hidden, {}} {
    if constexpr (kWidened) {
      w_.Keep(spec.input(1).constant);
      r_.Keep(spec.input(2).constant);
    }
  }

  size_t workspace_bytes(int64_t /*max_rows*/) const override {
    if (!kWidened) return 0;
    WorkspaceParts parts;
    parts.Add(w_.bytes());
    parts.Add(r_.bytes());
    return parts.bytes();
  }

  void Prepare(KernelContext& context, int direction, void* workspace) const override {
    if constexpr (kWidened) {
      if (w_.kept.empty()) w_.Widen(context.input(1), direction, WidenedW(workspace));
      if (r_.kept.empty()) r_.Widen(context.input(2), direction, WidenedR(workspace));
    }
  }

  void AddInput(KernelContext& context, int direction, void* workspace, const C* const* x,
                C* const* out, int64_t rows) const override {
    const C* w = w_.Find(context, 1, direction, WidenedW(workspace));
    Multiply(context.threads(), x, out, rows, w, w_.columns, w_.rows);
  }

  void AddState(KernelContext& context, int direction, void* workspace, const C* const* h,
                C* const* out, int64_t rows, int64_t first, int64_t count) const override {
    const C* r = r_.Find(context, 2, direction, WidenedR(workspace));
    Multiply(context.threads(), h, out, rows, r + first * r_.columns, r_.columns, count);
  }

  size_t held_bytes() const override { return (w_.kept.size() + r_.kept.size()) * sizeof(C); }
  bool consumed_constant(int input) const override {
    return input == 1 ? !w_.kept.empty() : input == 2 && !r_.kept.empty();
  }

 private:
  // Per direction a matrix of rows * columns elements.
  struct Matrix {
    int64_t rows;
    int64_t columns;
    std::vector<C> kept;  // all directions, widened

    size_t bytes() const { return sizeof(C) * rows * columns; }
    void Keep(const Tensor* constant) {
      if (constant == nullptr) return;
      const T* values = constant->data<T>();
      kept.assign(values, values + constant->num_elements());
    }
    void Widen(const TensorView& view, int direction, C* to) const {
      const T* from = view.as<T>() + direction * rows * columns;
      for (int64_t i = 0; i < rows * columns; ++i) to[i] = static_cast<C>(from[i]);
    }
    const C* Find(KernelContext& context, int input, int direction, const C* widened) const {
      const int64_t offset = direction * rows * columns;
      if constexpr (kWidened) {
        return kept.empty() ? widened : kept.data() + offset;
      } else {
        return context.input(input).as<T>() + offset;
      }
    }
  };

  C* WidenedW(void* workspace) const { return static_cast<C*>(workspace); }
  C* WidenedR(void* workspace) const {
    WorkspaceParts parts;
    parts.Add(w_.bytes());
    return reinterpret_cast<C*>(static_cast<char*>(workspace) + parts.bytes());
  }

  static void Multiply(ThreadPool& threads, const C* const* a, C* const* out, int64_t rows,
                       const C* w, int64_t depth, int64_t columns) {
    constexpr int64_t kBlock = 8;
    const int64_t work = std::max<int64_t>(1, rows * depth * kBlock);
    threads.ParallelFor((columns + kBlock - 1) / kBlock, (kProductGrain + work - 1) / work,
                        [&](int64_t begin, int64_t end) {
                          AddProducts(a, out, rows, w, depth, begin * kBlock,
                                      std::min(columns, end * kBlock));
                        });
  }

  Matrix w_;
  Matrix r_;
};

}  // namespace

template <typename T>
std::unique_ptr<RecurrentWeights<ComputeType<T>>> PlainRecurrentWeights(
    const NodeSpec& spec, const RecurrentSizes& sizes) {
  return std::make_unique<PlainWeights<T>>(spec, sizes);
}
template std::unique_ptr<RecurrentWeights<float>> PlainRecurrentWeights<float>(
    const NodeSpec&, const RecurrentSizes&);
template std::unique_ptr<RecurrentWeights<double>> PlainRecurrentWeights<double>(
    const NodeSpec&, const RecurrentSizes&);
template std::unique_ptr<RecurrentWeights<float>> PlainRecurrentWeights<Float16>(
    const NodeSpec&, const RecurrentSizes&);
template std::unique_ptr<RecurrentWeights<float>> PlainRecurrentWeights<BFloat16>(
    const NodeSpec&, const RecurrentSizes&);

}  // namespace inferd::engine
