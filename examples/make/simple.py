"""The models that public clients of the Open Inference Protocol expect by these names."""

from onnx import TensorProto, helper

from model_file import save


def tensor(name, element_type, shape):
    return helper.make_tensor_value_info(name, element_type, shape)


def add_sub(name, element_type):
    shape = ["batch", 16]
    save(name,
         [helper.make_node("Add", ["INPUT0", "INPUT1"], ["OUTPUT0"], name="sum"),
          helper.make_node("Sub", ["INPUT0", "INPUT1"], ["OUTPUT1"], name="difference")],
         [tensor("INPUT0", element_type, shape), tensor("INPUT1", element_type, shape)],
         [tensor("OUTPUT0", element_type, shape), tensor("OUTPUT1", element_type, shape)],
         config="max_batch_size: 8\n")


def add_sub_strings():
    """Strings that hold decimal numbers, added and subtracted as integers."""
    shape = ["batch", 16]
    cast = helper.make_node
    save("simple_string",
         [cast("Cast", ["INPUT0"], ["a"], to=TensorProto.INT32, name="parse0"),
          cast("Cast", ["INPUT1"], ["b"], to=TensorProto.INT32, name="parse1"),
          cast("Add", ["a", "b"], ["sum"], name="sum"),
          cast("Sub", ["a", "b"], ["difference"], name="difference"),
          cast("Cast", ["sum"], ["OUTPUT0"], to=TensorProto.STRING, name="format0"),
          cast("Cast", ["difference"], ["OUTPUT1"], to=TensorProto.STRING, name="format1")],
         [tensor("INPUT0", TensorProto.STRING, shape), tensor("INPUT1", TensorProto.STRING, shape)],
         [tensor("OUTPUT0", TensorProto.STRING, shape),
          tensor("OUTPUT1", TensorProto.STRING, shape)],
         config="max_batch_size: 8\n")


def identity(name, element_type, shape, config):
    # ONNX's checker insists on a rank, which its specification lets a model leave open.
    save(name, [helper.make_node("Identity", ["INPUT0"], ["OUTPUT0"], name="identity")],
         [tensor("INPUT0", element_type, shape)], [tensor("OUTPUT0", element_type, shape)],
         config=config, check=shape is not None)


def main():
    add_sub("simple", TensorProto.INT32)
    add_sub("simple_int8", TensorProto.INT8)
    add_sub_strings()
    identity("simple_identity", TensorProto.STRING, ["batch", "n"], "max_batch_size: 8\n")
    # No shape at all: any rank, any dimensions.
    identity("identity", TensorProto.FLOAT, None, None)


if __name__ == "__main__":
    main()
