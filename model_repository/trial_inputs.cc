#include "model_repository/trial_inputs.h"

#include <cstring>
#include <random>

#include "engine/status_macros.h"

namespace inferd::repository {
namespace {

using engine::Dim;
using engine::Shape;
using engine::Tensor;
using engine::TensorInfo;

constexpr int64_t kMostElements = int64_t{1} << 24;  // over all inputs of one run

// Floats in [0, 1), integers and strings of 0 or 1: valid as an index, a mask or a count.
void Fill(Tensor& tensor, std::mt19937& random) {
  const int64_t n = tensor.num_elements();
  std::uniform_real_distribution<double> real(0, 1);
  const auto bit = [&] { return (random() >> 7) & 1; };
  const bool done = engine::DispatchType<float, double, engine::Float16, engine::BFloat16>(
                        tensor.type(),
                        [&]<typename T>() {
                          T* p = tensor.mutable_data<T>();
                          for (int64_t i = 0; i < n; ++i)
                            p[i] = static_cast<T>(static_cast<float>(real(random)));
                        }) ||
                    engine::DispatchType<int8_t, uint8_t, int16_t, uint16_t, int32_t, uint32_t,
                                         int64_t, uint64_t, bool>(tensor.type(),
                                                                  [&]<typename T>() {
                                                                    T* p = tensor.mutable_data<T>();
                                                                    for (int64_t i = 0; i < n; ++i)
                                                                      p[i] = static_cast<T>(bit());
                                                                  }) ||
                    engine::DispatchType<std::string>(tensor.type(), [&]<typename T>() {
                      T* p = tensor.mutable_data<T>();
                      for (int64_t i = 0; i < n; ++i) p[i] = bit() ? "1" : "0";
                    });
  if (!done) std::memset(tensor.view().data, 0, tensor.num_bytes());
}

}  // namespace

absl::StatusOr<std::vector<Tensor>> MakeTrialInputs(const std::vector<TensorInfo>& inputs,
                                                    int64_t rows, int64_t size,
                                                    bool* has_free_dims) {
  std::mt19937 random(20'240'229);
  std::vector<Tensor> tensors;
  int64_t total = 0;
  for (const TensorInfo& info : inputs) {
    if (info.optional) {
      tensors.emplace_back();
      continue;
    }
    Shape shape;
    // Of an unknown rank nothing can be known.
    if (!info.type.shape.has_rank()) *has_free_dims = true;
    for (int i = 0; info.type.shape.has_rank() && i < info.type.shape.rank(); ++i) {
      const Dim& dim = info.type.shape[i];
      if (i > 0 && !dim.known()) *has_free_dims = true;
      shape.push_back(dim.known() ? dim.value() : i == 0 ? rows : size);
    }
    ASSIGN_OR_RETURN(int64_t elements, shape.CheckedNumElements());
    if (elements > kMostElements || (total += elements) > kMostElements) {
      return absl::ResourceExhaustedError("the inputs are too large to try");
    }
    ASSIGN_OR_RETURN(Tensor tensor, Tensor::Allocate(info.type.element, shape));
    Fill(tensor, random);
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

}  // namespace inferd::repository
