// Models from text and runs of them, for the runtime's tests.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "engine/ir/text_format.h"
#include "engine/ops/op_def.h"
#include "engine/runtime/model.h"

namespace inferd::engine {

inline absl::StatusOr<std::shared_ptr<Model>> ModelFromText(const std::string& text,
                                                            ModelOptions options = {}) {
  const OpRegistry& registry =
      options.registry != nullptr ? *options.registry : OpRegistry::Global();
  absl::StatusOr<std::unique_ptr<Graph>> graph = ParseGraph(text, registry);
  if (!graph.ok()) return graph.status();
  return Model::FromGraph(*std::move(graph), options);
}

inline std::unique_ptr<Context> ContextFor(Model& model, int threads = 1) {
  absl::StatusOr<std::unique_ptr<Context>> context = model.NewContext({threads, false});
  EXPECT_TRUE(context.ok()) << context.status();
  return context.ok() ? *std::move(context) : nullptr;
}

inline absl::StatusOr<std::vector<Tensor>> RunOnce(Context& context,
                                                   const std::vector<Tensor>& inputs) {
  std::vector<TensorView> views;
  for (const Tensor& t : inputs) views.push_back(t.view());
  std::vector<Tensor> outputs;
  absl::Status status = context.Run(views, &outputs);
  if (!status.ok()) return status;
  return outputs;
}

inline Tensor Floats(Shape shape, std::vector<float> values) {
  return Tensor::FromValues<float>(std::move(shape), values);
}

// 0, 1, 2, ... scaled.
inline Tensor Ramp(Shape shape, float scale = 1) {
  std::vector<float> values(shape.NumElements());
  for (size_t i = 0; i < values.size(); ++i) values[i] = scale * static_cast<float>(i);
  return Floats(std::move(shape), values);
}

inline std::vector<float> ValuesOf(const Tensor& tensor) {
  const auto span = tensor.values<float>();
  return {span.begin(), span.end()};
}

}  // namespace inferd::engine
