#include "tests/model_repository/onnx_models.h"

#include <onnx/onnx_pb.h>

namespace inferd::repository {
namespace {

onnx::ModelProto NewModel() {
  onnx::ModelProto model;
  model.set_ir_version(8);
  onnx::OperatorSetIdProto* opset = model.add_opset_import();
  opset->set_domain("");
  opset->set_version(13);
  model.mutable_graph()->set_name("test");
  return model;
}

void SetType(onnx::ValueInfoProto* value, const std::string& name, const Dims& dims) {
  value->set_name(name);
  onnx::TypeProto_Tensor* type = value->mutable_type()->mutable_tensor_type();
  type->set_elem_type(onnx::TensorProto::FLOAT);
  onnx::TensorShapeProto* shape = type->mutable_shape();
  for (size_t i = 0; i < dims.size(); ++i) {
    onnx::TensorShapeProto_Dimension* dim = shape->add_dim();
    if (dims[i] >= 0) {
      dim->set_dim_value(dims[i]);
    } else {
      dim->set_dim_param(i == 0 ? "n" : "d" + std::to_string(i));
    }
  }
}

std::string Unary(const std::string& op, const Dims& dims, const onnx::TensorProto* second) {
  onnx::ModelProto model = NewModel();
  onnx::GraphProto* graph = model.mutable_graph();
  SetType(graph->add_input(), "x", dims);
  SetType(graph->add_output(), "y", dims);
  onnx::NodeProto* node = graph->add_node();
  node->set_op_type(op);
  node->add_input("x");
  if (second != nullptr) {
    *graph->add_initializer() = *second;
    node->add_input(second->name());
  }
  node->add_output("y");
  return model.SerializeAsString();
}

}  // namespace

std::string AddModel(const Dims& dims, float constant) {
  onnx::TensorProto c;
  c.set_name("c");
  c.set_data_type(onnx::TensorProto::FLOAT);
  c.add_dims(1);
  c.add_float_data(constant);
  return Unary("Add", dims, &c);
}

std::string QuantizingModel(const Dims& dims) {
  onnx::ModelProto model = NewModel();
  onnx::GraphProto* graph = model.mutable_graph();
  SetType(graph->add_input(), "x", dims);
  SetType(graph->add_output(), "y", dims);
  onnx::TensorProto* scale = graph->add_initializer();
  scale->set_name("scale");
  scale->set_data_type(onnx::TensorProto::FLOAT);
  scale->add_float_data(0.125f);
  onnx::NodeProto* quantize = graph->add_node();
  quantize->set_op_type("QuantizeLinear");
  for (const char* name : {"x", "scale"}) quantize->add_input(name);
  quantize->add_output("q");
  onnx::NodeProto* dequantize = graph->add_node();
  dequantize->set_op_type("DequantizeLinear");
  for (const char* name : {"q", "scale"}) dequantize->add_input(name);
  dequantize->add_output("y");
  return model.SerializeAsString();
}

std::string RandomModel(const Dims& dims) { return Unary("RandomUniformLike", dims, nullptr); }

std::string MapsModel(int64_t classes) {
  onnx::ModelProto model = NewModel();
  onnx::OperatorSetIdProto* opset = model.add_opset_import();
  opset->set_domain("ai.onnx.ml");
  opset->set_version(1);
  onnx::GraphProto* graph = model.mutable_graph();
  SetType(graph->add_input(), "x", {-1, classes});
  onnx::ValueInfoProto* y = graph->add_output();
  y->set_name("y");
  onnx::TypeProto_Map* map =
      y->mutable_type()->mutable_sequence_type()->mutable_elem_type()->mutable_map_type();
  map->set_key_type(onnx::TensorProto::INT64);
  map->mutable_value_type()->mutable_tensor_type()->set_elem_type(onnx::TensorProto::FLOAT);
  onnx::NodeProto* zip = graph->add_node();
  zip->set_op_type("ZipMap");
  zip->set_domain("ai.onnx.ml");
  zip->add_input("x");
  zip->add_output("y");
  onnx::AttributeProto* labels = zip->add_attribute();
  labels->set_name("classlabels_int64s");
  labels->set_type(onnx::AttributeProto::INTS);
  for (int64_t c = 1; c <= classes; ++c) labels->add_ints(c);
  return model.SerializeAsString();
}

std::string CumSumModel(const Dims& dims) {
  onnx::TensorProto axis;
  axis.set_name("axis");
  axis.set_data_type(onnx::TensorProto::INT64);
  axis.add_int64_data(0);
  return Unary("CumSum", dims, &axis);
}

std::string UnsupportedModel() { return Unary("Frobnicate", {-1, 2}, nullptr); }

}  // namespace inferd::repository
