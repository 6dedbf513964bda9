"""Writes one model into the repository layout that inferd serves."""

import pathlib

import onnx
from onnx import helper

EXAMPLES = pathlib.Path(__file__).resolve().parent.parent
OPSET = 17
ML_OPSET = 3


def save(name, nodes, inputs, outputs, initializers=(), config=None, ml=False, check=True):
    """Checks the graph and writes examples/models/<name>/1/model.onnx and its config.yaml."""
    graph = helper.make_graph(nodes, name, inputs, outputs, list(initializers))
    opsets = [helper.make_opsetid("", OPSET)]
    if ml:
        opsets.append(helper.make_opsetid("ai.onnx.ml", ML_OPSET))
    model = helper.make_model(graph, opset_imports=opsets, ir_version=8,
                              producer_name="inferd examples")
    if check:
        onnx.checker.check_model(model)
    folder = EXAMPLES / "models" / name
    (folder / "1").mkdir(parents=True, exist_ok=True)
    onnx.save(model, folder / "1" / "model.onnx")
    if config:
        (folder / "config.yaml").write_text(config)
    print(f"{name}: {(folder / '1' / 'model.onnx').stat().st_size} bytes")
