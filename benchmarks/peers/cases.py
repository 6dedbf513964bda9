"""Models to measure: finding them, giving them weights that are not all equal, and inputs."""

import pathlib

import numpy as np
import onnx
from onnx import numpy_helper


def find_models(directories):
    """(name, path of model.onnx) for every model in or below the directories."""
    found = []
    for directory in map(pathlib.Path, directories):
        if not directory.is_dir():
            raise SystemExit(f"engine_vs_peer: {directory} is not a directory")
        paths = sorted(directory.rglob("model.onnx"))
        if not paths:
            raise SystemExit(f"engine_vs_peer: no model.onnx in {directory}")
        found += [(p.parent.name, p) for p in paths]
    return found


def randomize(model, seed=1):
    """Replaces weights made by ConstantOfShape, which are all equal, by random initializers: the
    same work, but a layout fault would show. Scaled so that activations stay in range."""
    rng = np.random.default_rng(seed)
    shapes = {i.name: numpy_helper.to_array(i) for i in model.graph.initializer}
    users = {}
    for node in model.graph.node:
        for index, name in enumerate(node.input):
            users.setdefault(name, []).append((node.op_type, index))
    kept = []
    for node in model.graph.node:
        if node.op_type != "ConstantOfShape" or node.input[0] not in shapes:
            kept.append(node)
            continue
        shape = tuple(int(d) for d in shapes[node.input[0]])
        value = next((numpy_helper.to_array(a.t) for a in node.attribute if a.name == "value"),
                     np.zeros(1, np.float32))
        if value.dtype != np.float32:
            kept.append(node)
            continue
        op, index = users.get(node.output[0], [("", 0)])[0]
        if op == "BatchNormalization":
            low, high = {1: (0.5, 1.5), 2: (-0.1, 0.1), 3: (-0.1, 0.1), 4: (0.5, 1.5)}[index]
            array = rng.uniform(low, high, shape)
        elif op in ("Conv", "Gemm", "MatMul") and index == 1 and len(shape) > 1:
            fan_in = int(np.prod(shape[1:]))
            array = rng.standard_normal(shape) * np.sqrt(2.0 / fan_in)
        else:
            array = rng.uniform(0.5, 1.0, shape) * 0.1
        model.graph.initializer.append(
            numpy_helper.from_array(array.astype(np.float32), node.output[0]))
    del model.graph.node[:]
    model.graph.node.extend(kept)
    # Random logits make probabilities of 0 and 1, which would hide a difference: show them too.
    outputs = {o.name for o in model.graph.output}
    for node in kept:
        if node.op_type == "Softmax" and node.output[0] in outputs:
            model.graph.output.append(
                onnx.helper.make_tensor_value_info(node.input[0], onnx.TensorProto.FLOAT, None))
    return model


def reference_inputs(path, model):
    """The inputs of test_data_set_0 where there are some: real values where values matter."""
    folder = path.parent / "test_data_set_0"
    initializers = {i.name for i in model.graph.initializer}
    names = [i.name for i in model.graph.input if i.name not in initializers]
    inputs = {}
    for i, name in enumerate(names):
        file = folder / f"input_{i}.pb"
        if not file.exists():
            return None
        tensor = onnx.TensorProto()
        tensor.ParseFromString(file.read_bytes())
        inputs[name] = numpy_helper.to_array(tensor)
    return inputs


def inputs_for(path, model, batch):
    """Arrays by input name for a batch size; None where the model's shape is not open to it."""
    initializers = {i.name for i in model.graph.initializer}
    reference = reference_inputs(path, model)
    rng = np.random.default_rng(2)
    inputs = {}
    for value in model.graph.input:
        if value.name in initializers:
            continue
        dims = value.type.tensor_type.shape.dim
        fixed = [d.dim_value if d.HasField("dim_value") else 0 for d in dims]
        array = None if reference is None else reference[value.name]
        if array is None:
            shape = [d if d > 0 else 1 for d in fixed]
            dtype = onnx.helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type)
            array = (rng.standard_normal(shape).astype(dtype) if dtype.kind == "f"
                     else np.zeros(shape, dtype))
        if batch != 1:
            if array.ndim == 0 or array.shape[0] != 1:
                return None
            if fixed and fixed[0] == 1:
                # A fixed batch may be an exporter's habit: open it, and let the engines decide.
                dims[0].ClearField("dim_value")
                dims[0].dim_param = "batch"
            array = np.concatenate([array] * batch)
        inputs[value.name] = array
    return inputs
