"""One exported model with its inputs, and how it becomes an ONNX backend-test folder."""

import dataclasses
import os
from typing import Callable

import numpy as np
import onnx
import onnxruntime
from onnx import numpy_helper

# What build() gives: the model, and for each data set its inputs by name.
Export = tuple[onnx.ModelProto, list[dict[str, np.ndarray]]]


@dataclasses.dataclass(frozen=True)
class Case:
    name: str
    build: Callable[[], Export]
    fast: bool = False  # part of the subset that every CI run makes


def _map(entries: dict, name: str) -> onnx.MapProto:
    # onnx.numpy_helper.from_dict takes no string keys.
    proto = onnx.MapProto(name=name)
    if all(isinstance(key, str) for key in entries):
        proto.key_type = onnx.TensorProto.STRING
        proto.string_keys.extend(key.encode() for key in entries)
    else:
        proto.key_type = onnx.TensorProto.INT64
        proto.keys.extend(entries)
    proto.values.elem_type = onnx.SequenceProto.TENSOR
    proto.values.tensor_values.extend(
        numpy_helper.from_array(np.float32(value)) for value in entries.values()
    )
    return proto


def _proto(value, name: str):
    if isinstance(value, dict):
        return _map(value, name)
    if isinstance(value, list) and value and isinstance(value[0], dict):
        proto = onnx.SequenceProto(name=name, elem_type=onnx.SequenceProto.MAP)
        proto.map_values.extend(_map(entries, "") for entries in value)
        return proto
    if isinstance(value, list):
        return numpy_helper.from_list(value, name)
    return numpy_helper.from_array(np.asarray(value), name)


def _reference(model: onnx.ModelProto, feeds):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    return [session.run(None, feed) for feed in feeds]


def write(case: Case, folder: str) -> None:
    """Exports the case and writes model.onnx and test_data_set_N with ONNX Runtime's outputs."""
    model, feeds = case.build()
    results = _reference(model, feeds)
    initializers = {i.name for i in model.graph.initializer}
    inputs = [i.name for i in model.graph.input if i.name not in initializers]
    os.makedirs(folder)
    onnx.save(model, os.path.join(folder, "model.onnx"))
    for number, (feed, outputs) in enumerate(zip(feeds, results)):
        data = os.path.join(folder, f"test_data_set_{number}")
        os.mkdir(data)
        for i, name in enumerate(inputs):
            with open(os.path.join(data, f"input_{i}.pb"), "wb") as file:
                file.write(_proto(feed[name], name).SerializeToString())
        for i, value in enumerate(outputs):
            with open(os.path.join(data, f"output_{i}.pb"), "wb") as file:
                file.write(_proto(value, model.graph.output[i].name).SerializeToString())
