#include <limits>

#include "absl/strings/str_cat.h"
#include "onnx/onnx_pb.h"
#include "tests/engine/onnx/malformed_mutations.h"

namespace inferd::engine {
namespace {

using onnx::ModelProto;
using onnx::TensorProto;

TensorProto* Initializer(ModelProto& model) {
  return model.graph().initializer_size() == 0 ? nullptr
                                               : model.mutable_graph()->mutable_initializer(0);
}
template <typename Fn>
Result ChangeInitializer(ModelProto& model, Change change, Fn fn) {
  TensorProto* tensor = Initializer(model);
  if (tensor == nullptr) return std::nullopt;
  if (change.named == "it") change.named = tensor->name();
  fn(*tensor);
  return change;
}
void Locate(TensorProto& tensor, const char* location, const char* offset) {
  tensor.clear_float_data();
  tensor.clear_int64_data();
  tensor.clear_int32_data();
  tensor.set_data_location(TensorProto::EXTERNAL);
  auto* entry = tensor.add_external_data();
  entry->set_key("location");
  entry->set_value(location);
  entry = tensor.add_external_data();
  entry->set_key("offset");
  entry->set_value(offset);
}
Result ChangeInputDims(ModelProto& model, bool may_run, int64_t value) {
  auto* type = model.mutable_graph()->mutable_input(0)->mutable_type()->mutable_tensor_type();
  type->mutable_shape()->add_dim()->set_dim_value(value);
  return Change{may_run, may_run ? "" : "input \""};
}

}  // namespace

std::vector<Mutation> DataMutations() {
  return {
      // Initializers.
      {"RawDataShort",
       [](ModelProto& m) -> Result {
         return ChangeInitializer(m, {kMustFail, "it"}, [](TensorProto& t) {
           t.clear_float_data();
           t.clear_int64_data();
           t.clear_int32_data();
           t.set_raw_data("123");
         });
       }},
      {"DataGone",
       [](ModelProto& m) -> Result {
         return ChangeInitializer(m, {kMustFail, "it"}, [](TensorProto& t) {
           t.clear_float_data();
           t.clear_int64_data();
           t.clear_int32_data();
         });
       }},
      {"DataLong",
       [](ModelProto& m) -> Result {
         return ChangeInitializer(m, {kMustFail, "it"}, [](TensorProto& t) {
           for (int i = 0; i < 1000; ++i)
             t.data_type() == 1 ? t.add_float_data(1) : t.add_int64_data(1);
         });
       }},
      {"DimNegative",
       [](ModelProto& m) -> Result {
         return ChangeInitializer(m, {kMustFail, "it"}, [](TensorProto& t) { t.add_dims(-7); });
       }},
      {"DimsOverflow",
       [](ModelProto& m) -> Result {
         return ChangeInitializer(m, {kMustFail, "it"}, [](TensorProto& t) {
           t.add_dims(int64_t{1} << 40);
           t.add_dims(int64_t{1} << 40);
         });
       }},
      {"HugeWithoutData",
       [](ModelProto& m) -> Result {
         return ChangeInitializer(m, {kMustFail, "it"},
                                  [](TensorProto& t) { t.add_dims(int64_t{1} << 38); });
       }},
      {"RankThousand",
       [](ModelProto& m) -> Result {
         return ChangeInitializer(m, {kMayRun, ""}, [](TensorProto& t) {
           for (int i = 0; i < 1000; ++i) t.add_dims(1);
         });
       }},
      {"TypeUnknown",
       [](ModelProto& m) -> Result {
         return ChangeInitializer(m, {kMustFail, "code 99"},
                                  [](TensorProto& t) { t.set_data_type(99); });
       }},
      {"TypeUndefined",
       [](ModelProto& m) -> Result {
         return ChangeInitializer(m, {kMustFail, "code 0"},
                                  [](TensorProto& t) { t.set_data_type(0); });
       }},
      {"TypeString",
       [](ModelProto& m) -> Result {
         return ChangeInitializer(m, {kMustFail, ""},
                                  [](TensorProto& t) { t.set_data_type(TensorProto::STRING); });
       }},
      {"NameEmpty",
       [](ModelProto& m) -> Result {
         return ChangeInitializer(m, {kMustFail, "has no name"},
                                  [](TensorProto& t) { t.clear_name(); });
       }},
      {"ExternalEscapes",
       [](ModelProto& m) -> Result {
         return ChangeInitializer(m, {kMustFail, "it"},
                                  [](TensorProto& t) { Locate(t, "a/../../secret", "0"); });
       }},
      {"ExternalAbsolute",
       [](ModelProto& m) -> Result {
         return ChangeInitializer(m, {kMustFail, "it"},
                                  [](TensorProto& t) { Locate(t, "/etc/hostname", "0"); });
       }},
      {"ExternalAbsent",
       [](ModelProto& m) -> Result {
         return ChangeInitializer(m, {kMustFail, "it"},
                                  [](TensorProto& t) { Locate(t, "no_such_file.bin", "0"); });
       }},
      {"ExternalOffsetNegative",
       [](ModelProto& m) -> Result {
         return ChangeInitializer(m, {kMustFail, "it"},
                                  [](TensorProto& t) { Locate(t, "weights.bin", "-4"); });
       }},
      {"ExternalOffsetAbsurd",
       [](ModelProto& m) -> Result {
         return ChangeInitializer(m, {kMustFail, "it"}, [](TensorProto& t) {
           Locate(t, "weights.bin", "9223372036854775807");
         });
       }},
      // Graph inputs and outputs.
      {"InputIsString",
       [](ModelProto& m) -> Result {
         m.mutable_graph()->mutable_input(0)->mutable_type()->mutable_tensor_type()->set_elem_type(
             TensorProto::STRING);
         return Change{kMustFail, "string"};
       }},
      {"InputIsFloat8",
       [](ModelProto& m) -> Result {
         m.mutable_graph()->mutable_input(0)->mutable_type()->mutable_tensor_type()->set_elem_type(
             19);  // float8e5m2, newer than some libraries of the format
         return Change{kMayRun, ""};
       }},
      {"InputRankGrows", [](ModelProto& m) { return ChangeInputDims(m, kMayRun, 3); }},
      {"InputDimZero", [](ModelProto& m) { return ChangeInputDims(m, kMayRun, 0); }},
      {"InputDimNegative", [](ModelProto& m) { return ChangeInputDims(m, kMustFail, -5); }},
      {"InputDimLargest",
       [](ModelProto& m) {
         return ChangeInputDims(m, kMustFail, std::numeric_limits<int64_t>::max());
       }},
      {"InputDimHuge", [](ModelProto& m) { return ChangeInputDims(m, kMayRun, int64_t{1} << 40); }},
      {"InputRankUnknown",
       [](ModelProto& m) -> Result {
         m.mutable_graph()->mutable_input(0)->mutable_type()->mutable_tensor_type()->clear_shape();
         return Change{kMayRun, ""};
       }},
      {"InputScalar",
       [](ModelProto& m) -> Result {
         m.mutable_graph()
             ->mutable_input(0)
             ->mutable_type()
             ->mutable_tensor_type()
             ->mutable_shape()
             ->clear_dim();
         return Change{kMayRun, ""};
       }},
      {"InputTypeGone",
       [](ModelProto& m) -> Result {
         m.mutable_graph()->mutable_input(0)->clear_type();
         return Change{kMustFail, "no element type"};
       }},
      {"InputIsASequence",
       [](ModelProto& m) -> Result {
         auto* type = m.mutable_graph()->mutable_input(0)->mutable_type();
         *type->mutable_sequence_type()->mutable_elem_type() = onnx::TypeProto(*type);
         type->mutable_sequence_type()->mutable_elem_type()->mutable_tensor_type()->set_elem_type(
             1);
         return Change{kMayRun, ""};
       }},
      {"InputsGone",
       [](ModelProto& m) -> Result {
         m.mutable_graph()->clear_input();
         return Change{kMustFail, "produced by no node"};
       }},
      {"OutputUnknown",
       [](ModelProto& m) -> Result {
         m.mutable_graph()->mutable_output(0)->set_name("nothing");
         return Change{kMustFail, "\"nothing\""};
       }},
      {"OutputsGone",
       [](ModelProto& m) -> Result {
         m.mutable_graph()->clear_output();
         return Change{kMustFail, "no outputs"};
       }},
      {"OutputAThousandTimes",
       [](ModelProto& m) -> Result {
         for (int i = 0; i < 1000; ++i) {
           m.mutable_graph()->add_output()->set_name(m.graph().output(0).name());
         }
         return Change{kMayRun, ""};
       }},
      {"ValueInfoLies",
       [](ModelProto& m) -> Result {
         auto* info = m.mutable_graph()->add_value_info();
         info->set_name(m.graph().node(0).output(0));
         auto* type = info->mutable_type()->mutable_tensor_type();
         type->set_elem_type(TensorProto::STRING);
         type->mutable_shape()->add_dim()->set_dim_value(77);
         return Change{kMayRun, ""};
       }},
      // The model around the graph.
      {"OpsetZero",
       [](ModelProto& m) -> Result {
         m.mutable_opset_import(0)->set_version(0);
         return Change{kMustFail, "version 0"};
       }},
      {"OpsetGone",
       [](ModelProto& m) -> Result {
         m.clear_opset_import();
         return Change{kMustFail, "opset"};
       }},
      {"OpsetOne",
       [](ModelProto& m) -> Result {
         m.mutable_opset_import(0)->set_version(1);
         return Change{kMayRun, ""};
       }},
      {"OpsetLargest",
       [](ModelProto& m) -> Result {
         m.mutable_opset_import(0)->set_version(std::numeric_limits<int64_t>::max());
         return Change{kMayRun, ""};
       }},
      {"IrVersionNegative",
       [](ModelProto& m) -> Result {
         m.set_ir_version(-1);
         return Change{kMustFail, "ir_version is -1"};
       }},
      {"IrVersionLargest",
       [](ModelProto& m) -> Result {
         m.set_ir_version(std::numeric_limits<int64_t>::max());
         return Change{kMayRun, ""};
       }},
  };
}

}  // namespace inferd::engine
