#include "tests/engine/onnx/model_text.h"

#include <google/protobuf/text_format.h>

#include <cstdlib>
#include <iostream>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "onnx/onnx_pb.h"

namespace inferd::engine {
namespace {

std::string DimText(absl::string_view dim) {
  if (dim == "?") return "dim { }";
  if (absl::ascii_isdigit(dim[0]) || dim[0] == '-')
    return absl::StrCat("dim { dim_value: ", dim, " }");
  return absl::StrCat("dim { dim_param: \"", dim, "\" }");
}

std::string Names(absl::string_view field, absl::string_view names) {
  std::string text;
  for (absl::string_view name : absl::StrSplit(names, ',', absl::SkipEmpty())) {
    absl::StrAppend(&text, field, ": \"", name == "_" ? "" : name, "\" ");
  }
  return text;
}

}  // namespace

std::string InputText(absl::string_view name, int code, absl::string_view dims) {
  std::string shape = "shape { ";
  for (absl::string_view dim : absl::StrSplit(dims, ',', absl::SkipEmpty())) {
    absl::StrAppend(&shape, DimText(dim), " ");
  }
  absl::StrAppend(&shape, "}");
  return absl::StrCat("input { name: \"", name, "\" type { tensor_type { elem_type: ", code, " ",
                      dims == "..." ? "" : shape, " } } }\n");
}

std::string FloatInput(absl::string_view name, absl::string_view dims) {
  return InputText(name, onnx::TensorProto::FLOAT, dims);
}

std::string OutputText(absl::string_view name) {
  return absl::StrCat("output { name: \"", name, "\" }\n");
}

std::string NodeText(absl::string_view op, absl::string_view inputs, absl::string_view outputs,
                     absl::string_view more) {
  return absl::StrCat("node { op_type: \"", op, "\" ", Names("input", inputs),
                      Names("output", outputs), more, " }\n");
}

std::string IntsText(absl::string_view name, const std::vector<int64_t>& values) {
  return absl::StrCat("initializer { name: \"", name, "\" data_type: 7 dims: ", values.size(),
                      " int64_data: [", absl::StrJoin(values, ","), "] }\n");
}

std::string FloatsText(absl::string_view name, absl::string_view dims,
                       const std::vector<float>& values) {
  return absl::StrCat("initializer { name: \"", name, "\" data_type: 1 dims: [", dims,
                      "] float_data: [", absl::StrJoin(values, ","), "] }\n");
}

std::string IntAttribute(absl::string_view name, int64_t value) {
  return absl::StrCat(" attribute { name: \"", name, "\" type: INT i: ", value, " }");
}
std::string IntsAttribute(absl::string_view name, const std::vector<int64_t>& values) {
  return absl::StrCat(" attribute { name: \"", name, "\" type: INTS ints: [",
                      absl::StrJoin(values, ","), "] }");
}
std::string FloatAttribute(absl::string_view name, float value) {
  return absl::StrCat(" attribute { name: \"", name, "\" type: FLOAT f: ", value, " }");
}
std::string StringAttribute(absl::string_view name, absl::string_view value) {
  return absl::StrCat(" attribute { name: \"", name, "\" type: STRING s: \"", value, "\" }");
}

std::string ModelText(int opset, absl::string_view graph, absl::string_view more) {
  return absl::StrCat("ir_version: 8 opset_import { version: ", opset, " } ", more,
                      " graph { name: \"g\"\n", graph, "}");
}

std::string ModelBytes(absl::string_view text) {
  onnx::ModelProto model;
  if (!google::protobuf::TextFormat::ParseFromString(std::string(text), &model)) {
    std::cerr << "the test's model is no valid protobuf text:\n" << text << std::endl;
    std::abort();
  }
  return model.SerializeAsString();
}

absl::StatusOr<ImportedModel> ImportText(absl::string_view text, const OpRegistry& registry) {
  return ImportOnnxBytes(ModelBytes(text), "", registry);
}

absl::StatusOr<ImportedModel> ImportText(absl::string_view text) {
  return ImportText(text, OpRegistry::Global());
}

std::string OpsOf(const Graph& graph) {
  return absl::StrJoin(graph.nodes(), " ", [](std::string* out, const std::unique_ptr<Node>& node) {
    absl::StrAppend(out, node->op().qualified_name());
  });
}

}  // namespace inferd::engine
