// Maps of ai.onnx.ml through a whole model, and their tensor form.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/tensor/composite.h"
#include "tests/engine/runtime/test_graphs.h"

namespace inferd::engine {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr char kZip[] = R"(
graph g (x: float[n,2]) -> (y, z) {
  y = Neg(x)
  z = ai.onnx.ml::ZipMap{classlabels_strings=["b", "a"]}(y)
})";

std::vector<Tensor> RunModel(const std::string& text, const Tensor& x, const ModelOptions& options,
                             std::vector<std::string>* notes = nullptr) {
  auto model = ModelFromText(text, options);
  EXPECT_TRUE(model.ok()) << model.status();
  if (!model.ok()) return {};
  if (notes != nullptr) *notes = (*model)->notes();
  auto context = ContextFor(**model);
  auto outputs = RunOnce(*context, {x});
  EXPECT_TRUE(outputs.ok()) << outputs.status();
  return outputs.ok() ? *std::move(outputs) : std::vector<Tensor>();
}

TEST(Maps, ZipMapSortsItsKeys) {
  for (const bool eager : {false, true}) {
    ModelOptions options;
    options.eager = eager;
    const auto outputs = RunModel(kZip, Floats({2, 2}, {1, 2, 3, 4}), options);
    ASSERT_EQ(outputs.size(), 2u);
    const Composite& rows = CompositeOf(outputs[1].view());
    ASSERT_EQ(rows.kind, Composite::Kind::kSequence);
    ASSERT_EQ(rows.items.size(), 2u);
    const Composite& row = CompositeOf(rows.items[1].view());
    ASSERT_EQ(row.kind, Composite::Kind::kMap);
    EXPECT_THAT(row.keys().values<std::string>(), ElementsAre("a", "b"));
    EXPECT_THAT(ValuesOf(row.values()), ElementsAre(-4, -3));
  }
}

TEST(Maps, BackToTensors) {
  const Tensor x = Floats({2, 3}, {1, 2, 3, 4.5f, -5, 6});
  const auto outputs = RunModel(R"(
graph g (x: float[n,3]) -> (vector, dense, sparse, text) {
  z = ai.onnx.ml::ZipMap{classlabels_int64s=[7, 1, 3]}(x)
  i = constant int64[] {1}
  m = SequenceAt(z, i)
  vector = ai.onnx.ml::DictVectorizer{int64_vocabulary=[1, 2, 7]}(m)
  dense = ai.onnx.ml::CastMap{}(m)
  sparse = ai.onnx.ml::CastMap{cast_to="TO_INT64", map_form="SPARSE", max_map=5}(m)
  text = ai.onnx.ml::CastMap{cast_to="TO_STRING"}(m)
})",
                                x, {});
  ASSERT_EQ(outputs.size(), 4u);
  EXPECT_THAT(ValuesOf(outputs[0]), ElementsAre(-5, 0, 4.5f));
  EXPECT_EQ(outputs[0].shape(), (Shape{1, 3}));
  EXPECT_THAT(ValuesOf(outputs[1]), ElementsAre(-5, 6, 4.5f));
  EXPECT_THAT(outputs[2].values<int64_t>(), ElementsAre(0, -5, 0, 6, 0));
  EXPECT_THAT(outputs[3].values<std::string>(), ElementsAre("-5.000000", "6.000000", "4.500000"));
}

TEST(Maps, TensorFormForServing) {
  ModelOptions options;
  options.tensor_outputs_for_maps = true;
  std::vector<std::string> notes;
  const auto outputs = RunModel(kZip, Floats({2, 2}, {1, 2, 3, 4}), options, &notes);
  ASSERT_EQ(outputs.size(), 2u);
  EXPECT_THAT(ValuesOf(outputs[1]), ElementsAre(-1, -2, -3, -4));
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_THAT(notes[0], HasSubstr("output \"z\" is served as float[n,2]"));
  EXPECT_THAT(notes[0], HasSubstr("\"b\", \"a\""));
}

TEST(Maps, ColumnsAndLabelsMustMatch) {
  auto model = ModelFromText(R"(
graph g (x: float[n,2]) -> (z) {
  z = ai.onnx.ml::ZipMap{classlabels_int64s=[1, 2, 3]}(x)
})");
  ASSERT_TRUE(model.ok()) << model.status();
  auto outputs = RunOnce(*ContextFor(**model), {Floats({1, 2}, {1, 2})});
  EXPECT_THAT(std::string(outputs.status().message()), HasSubstr("2 columns for 3 class labels"));
}

}  // namespace
}  // namespace inferd::engine
