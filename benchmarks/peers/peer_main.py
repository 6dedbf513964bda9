"""ONNX Runtime or OpenVINO as a worker: peer_main.py ENGINE MODEL INPUTS.npz THREADS."""

import pathlib
import sys

import numpy as np

from worker import serve

engine, model, inputs_file, threads = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
inputs = dict(np.load(inputs_file, allow_pickle=True))
state = {}


def load_onnxruntime():
    import onnxruntime as ort
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_ALL
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    session = ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    state["names"] = [o.name for o in session.get_outputs()]
    state["run"] = lambda: session.run(None, inputs)


def load_openvino():
    import openvino as ov
    core = ov.Core()
    network = core.read_model(model)
    network.reshape({name: list(array.shape) for name, array in inputs.items()})
    compiled = core.compile_model(network, "CPU", {
        "INFERENCE_NUM_THREADS": threads, "NUM_STREAMS": 1, "PERFORMANCE_HINT": "LATENCY",
        # The other engines compute in full precision.
        "INFERENCE_PRECISION_HINT": "f32"})
    request = compiled.create_infer_request()
    state["names"] = [next(iter(o.names)) if o.names else str(i)
                      for i, o in enumerate(compiled.outputs)]

    def run():
        request.infer(inputs, share_inputs=True)
        return [request.get_output_tensor(i).data for i in range(len(compiled.outputs))]

    state["run"] = run


def run_once():
    state["outputs"] = state["run"]()


def save_outputs(directory):
    files = []
    for i, value in enumerate(state["outputs"]):
        path = pathlib.Path(directory) / f"output_{i}.npy"
        np.save(path, np.asarray(value))
        files.append(str(path))
    return files


serve({"onnxruntime": load_onnxruntime, "openvino": load_openvino}[engine], run_once, save_outputs)
