"""Real models: a repository generated from the reference data beside this project, served as it is,
each model asked over gRPC and HTTP with its reference input."""

import fnmatch
import os
import pathlib
import sys
import tempfile
import unittest

import numpy as np
import onnx
import tritonclient.grpc as grpcclient
import tritonclient.http as httpclient
from onnx import numpy_helper
from tritonclient.utils import InferenceServerException, np_to_triton_dtype

from daemon import ROOT, Daemon

SHARED = pathlib.Path(os.environ.get("INFERD_SHARED", ROOT.parent / "shared"))
MODELS = SHARED / "models"
CONFORMANCE = ROOT / "tests" / "conformance"
DEFAULT_TOLERANCE = (1e-3, 1e-7)



def read_tensor(path):
    tensor = onnx.TensorProto()
    tensor.ParseFromString(path.read_bytes())
    return tensor.name, numpy_helper.to_array(tensor)


def read_data(folder, kind):
    """Values of input_N.pb or output_N.pb: in order, as (name, array)."""
    found = []
    while (path := folder / f"{kind}_{len(found)}.pb").exists():
        found.append(read_tensor(path))
    return found


def lines_of(path):
    return [line.split() for line in path.read_text().splitlines()
            if line and not line.startswith("#")]


def tolerance_of(name):
    for pattern, rtol, atol, *_ in lines_of(CONFORMANCE / "tolerances.txt"):
        if fnmatch.fnmatchcase(name, pattern):
            return float(rtol), float(atol)
    return DEFAULT_TOLERANCE


def make_repository(root):
    names = []
    for model in sorted(MODELS.glob("*/model.onnx")):
        version = root / model.parent.name / "1"
        version.mkdir(parents=True)
        (version / "model.onnx").symlink_to(model)
        names.append(model.parent.name)
    return names


def inputs_of(module, data):
    inputs = []
    for name, array in data:
        if array.dtype.kind in "US":
            array = array.astype(object)
        tensor = module.InferInput(name, list(array.shape), np_to_triton_dtype(array.dtype))
        tensor.set_data_from_numpy(array)
        inputs.append(tensor)
    return inputs


class RealModels(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.names = make_repository(pathlib.Path(cls.folder.name))
        cls.refused = {line[0] for line in lines_of(CONFORMANCE / "expected_failures.txt")}
        cls.daemon = Daemon(models=cls.folder.name)
        cls.grpc = grpcclient.InferenceServerClient(cls.daemon.grpc)
        cls.http = httpclient.InferenceServerClient(cls.daemon.http)

    @classmethod
    def tearDownClass(cls):
        cls.grpc.close()
        cls.http.close()
        status = cls.daemon.stop()
        cls.folder.cleanup()
        assert status == 0, cls.daemon.output()

    def test_every_model_is_loaded(self):
        states = {m["name"]: m for m in self.http.get_model_repository_index()}
        refused = {n: states[n].get("reason") for n in self.names if states[n]["state"] != "READY"}
        self.assertEqual(refused, {})

    def test_every_model_answers_as_its_reference(self):
        for name in self.names:
            for module, client in ((grpcclient, self.grpc), (httpclient, self.http)):
                with self.subTest(model=name, client=module.__name__):
                    self.check(name, module, client)

    def check(self, name, module, client):
        data = MODELS / name / "test_data_set_0"
        inputs = read_data(data, "input")
        metadata = client.get_model_metadata(name)
        outputs = [o["name"] if isinstance(o, dict) else o.name
                   for o in (metadata["outputs"] if isinstance(metadata, dict)
                             else metadata.outputs)]
        if name in self.refused:
            with self.assertRaises(InferenceServerException):
                client.infer(name, inputs_of(module, inputs))
            return
        result = client.infer(name, inputs_of(module, inputs))
        rtol, atol = tolerance_of(name)
        for i, (_, expected) in enumerate(read_data(data, "output")):
            got = result.as_numpy(outputs[i])
            self.assertIsNotNone(got, outputs[i])
            self.assertEqual(got.shape, expected.shape, outputs[i])
            if expected.dtype.kind in "USO":
                self.assertEqual([v.decode() for v in got.ravel()],
                                 [v.decode() if isinstance(v, bytes) else v
                                  for v in expected.ravel()])
            elif expected.dtype.kind == "f":
                if expected.dtype.itemsize == 2:
                    rtol, atol = max(rtol, 2.0 ** -9), max(atol, 1e-5)
                np.testing.assert_allclose(got.astype(np.float64), expected.astype(np.float64),
                                           rtol=rtol, atol=atol, err_msg=outputs[i])
            else:
                np.testing.assert_array_equal(got, expected, err_msg=outputs[i])


if __name__ == "__main__":
    if not MODELS.is_dir():
        print(f"skipped: {MODELS} does not exist")
        sys.exit(77)
    unittest.main()
