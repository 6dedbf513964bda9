"""The daemon through PyPI's tritonclient, gRPC and HTTP: a client nobody here wrote."""

import json
import queue
import time
import unittest

import numpy as np
import tritonclient.grpc as grpcclient
import tritonclient.http as httpclient
from tritonclient.utils import InferenceServerException

from daemon import EXAMPLES, Daemon


def inputs_of(client, tensors, **kwargs):
    result = []
    for name, datatype, array in tensors:
        tensor = client.InferInput(name, list(array.shape), datatype)
        tensor.set_data_from_numpy(array, **kwargs)
        result.append(tensor)
    return result


def patiently(call):
    """Repeats a call the server refuses for now. On a machine busy with other things even a lone
    request may be predicted to miss a model's latency budget, and clients are told to retry."""
    while True:
        try:
            return call()
        except InferenceServerException as error:
            if "retry after" not in str(error):
                raise
            time.sleep(0.05)


class Both:
    """What holds over both protocols. Subclasses give `module` and `connect`."""

    @classmethod
    def setUpClass(cls):
        cls.daemon = Daemon("--id", "under-test")
        cls.client = cls.connect()

    @classmethod
    def tearDownClass(cls):
        cls.client.close()
        assert cls.daemon.stop() == 0, cls.daemon.output()

    def test_health_and_metadata(self):
        self.assertTrue(self.client.is_server_live())
        self.assertTrue(self.client.is_server_ready())
        self.assertTrue(self.client.is_model_ready("simple"))
        server = self.as_dict(self.client.get_server_metadata())
        self.assertEqual(server["name"], "under-test")
        self.assertIn("binary_tensor_data", server["extensions"])
        model = self.as_dict(self.client.get_model_metadata("simple"))
        self.assertEqual(model["name"], "simple")
        self.assertEqual(model["versions"], ["1"])
        self.assertEqual([(t["name"], t["datatype"], [int(d) for d in t["shape"]])
                          for t in model["inputs"]],
                         [("INPUT0", "INT32", [-1, 16]), ("INPUT1", "INT32", [-1, 16])])
        self.assertEqual([t["name"] for t in model["outputs"]], ["OUTPUT0", "OUTPUT1"])

    def test_config_and_index(self):
        config = self.as_dict(self.client.get_model_config("simple"))
        config = config.get("config", config)
        self.assertEqual(config["name"], "simple")
        self.assertEqual(int(config["max_batch_size"]), 8)
        index = self.client.get_model_repository_index()
        index = index if isinstance(index, list) else self.as_dict(index)["models"]
        states = {m["name"]: m["state"] for m in index}
        self.assertEqual(states["digits"], "READY")
        self.assertEqual(set(states), {p.name for p in (EXAMPLES / "models").iterdir()})

    def test_simple_int32(self):
        a = np.arange(32, dtype=np.int32).reshape(2, 16)
        b = np.full((2, 16), 3, dtype=np.int32)
        result = self.client.infer(
            "simple", inputs_of(self.module, [("INPUT0", "INT32", a), ("INPUT1", "INT32", b)]),
            request_id="one")
        np.testing.assert_array_equal(result.as_numpy("OUTPUT0"), a + b)
        np.testing.assert_array_equal(result.as_numpy("OUTPUT1"), a - b)

    def test_one_requested_output(self):
        a = np.ones((1, 16), dtype=np.int32)
        result = self.client.infer(
            "simple", inputs_of(self.module, [("INPUT0", "INT32", a), ("INPUT1", "INT32", a)]),
            outputs=[self.module.InferRequestedOutput("OUTPUT1")])
        np.testing.assert_array_equal(result.as_numpy("OUTPUT1"), a * 0)
        self.assertIsNone(result.as_numpy("OUTPUT0"))

    def test_simple_int8(self):
        a = np.arange(16, dtype=np.int8).reshape(1, 16)
        result = self.client.infer(
            "simple_int8", inputs_of(self.module, [("INPUT0", "INT8", a), ("INPUT1", "INT8", a)]))
        np.testing.assert_array_equal(result.as_numpy("OUTPUT0"), a + a)

    def test_strings(self):
        a = np.array([[str(i).encode() for i in range(16)]], dtype=np.object_)
        b = np.array([[b"-5"] * 16], dtype=np.object_)
        result = self.client.infer(
            "simple_string", inputs_of(self.module, [("INPUT0", "BYTES", a),
                                                     ("INPUT1", "BYTES", b)]))
        self.assertEqual([int(v) for v in result.as_numpy("OUTPUT0").ravel()],
                         [i - 5 for i in range(16)])
        self.assertEqual([int(v) for v in result.as_numpy("OUTPUT1").ravel()],
                         [i + 5 for i in range(16)])

    def test_bytes_identity(self):
        values = np.array([[b"", b"plain", "häß".encode(), b"\x00\xff" * 300]], dtype=np.object_)
        result = self.client.infer("simple_identity",
                                   inputs_of(self.module, [("INPUT0", "BYTES", values)]))
        self.assertEqual(list(result.as_numpy("OUTPUT0").ravel()), list(values.ravel()))

    def test_identity_takes_any_shape(self):
        rng = np.random.default_rng(1)
        for shape in [(1,), (1, 16), (3, 5, 7), (1, 3, 224, 224), (2, 0)]:
            x = rng.standard_normal(shape).astype(np.float32)
            result = self.client.infer("identity",
                                       inputs_of(self.module, [("INPUT0", "FP32", x)]))
            np.testing.assert_array_equal(result.as_numpy("OUTPUT0"), x)

    def test_digits_are_read(self):
        images = np.load(EXAMPLES / "data" / "digits" / "test_images.npy").astype(np.float32)
        labels = np.load(EXAMPLES / "data" / "digits" / "test_labels.npy")
        right = 0
        for start in range(0, len(images), 30):
            batch = images[start:start + 30]
            result = patiently(lambda: self.client.infer(
                "digits", inputs_of(self.module, [("image", "FP32", batch)])))
            right += int((result.as_numpy("label") == labels[start:start + 30]).sum())
            np.testing.assert_allclose(result.as_numpy("probabilities").sum(axis=1), 1, rtol=1e-4)
        self.assertGreaterEqual(right / len(images), 0.97)

    def test_wine(self):
        request = json.loads((EXAMPLES / "data" / "wine" / "request.json").read_text())["inputs"][0]
        x = np.array(request["data"], dtype=np.float32).reshape(request["shape"])
        labels = json.loads((EXAMPLES / "data" / "wine" / "labels.json").read_text())
        result = patiently(lambda: self.client.infer(
            "wine", inputs_of(self.module, [("features", "FP32", x)])))
        self.assertEqual(list(result.as_numpy("label")), labels)

    def test_errors_name_what_is_wrong(self):
        good = np.ones((1, 16), dtype=np.int32)
        cases = [
            ("nope", [("INPUT0", "INT32", good)], "nope"),
            ("simple", [("INPUT0", "INT32", good)], "expected 2 inputs but got 1"),
            ("simple", [("INPUT0", "INT32", good), ("WRONG", "INT32", good)], "WRONG"),
            ("simple", [("INPUT0", "INT32", good[:, :15]), ("INPUT1", "INT32", good)],
             r"Expected \[-1,16\], got \[1,15\]"),
            ("simple", [("INPUT0", "FP32", good.astype(np.float32)), ("INPUT1", "INT32", good)],
             "FP32"),
            ("simple", [("INPUT0", "INT32", np.ones((9, 16), np.int32)),
                        ("INPUT1", "INT32", np.ones((9, 16), np.int32))],
             "batch-size must be <= 8"),
        ]
        for model, tensors, expected in cases:
            with self.subTest(expected):
                with self.assertRaisesRegex(InferenceServerException, expected):
                    self.client.infer(model, inputs_of(self.module, tensors))

    def test_statistics_count(self):
        def count():
            stats = self.client.get_inference_statistics("simple")
            stats = stats if isinstance(stats, dict) else self.as_dict(stats)
            return int(stats["model_stats"][0]["inference_stats"]["success"].get("count", 0))
        before = count()
        a = np.ones((1, 16), dtype=np.int32)
        for _ in range(3):
            self.client.infer("simple", inputs_of(self.module, [("INPUT0", "INT32", a),
                                                                ("INPUT1", "INT32", a)]))
        self.assertEqual(count(), before + 3)


class Grpc(Both, unittest.TestCase):
    module = grpcclient

    @classmethod
    def connect(cls):
        return grpcclient.InferenceServerClient(cls.daemon.grpc)

    @staticmethod
    def as_dict(message):
        from google.protobuf.json_format import MessageToDict
        return MessageToDict(message, preserving_proto_field_name=True)

    def test_many_at_once(self):
        images = np.load(EXAMPLES / "data" / "digits" / "test_images.npy").astype(np.float32)
        labels = np.load(EXAMPLES / "data" / "digits" / "test_labels.npy")
        answers = queue.Queue()

        def send(i):
            self.client.async_infer(
                "digits", inputs_of(grpcclient, [("image", "FP32", images[i][None])]),
                callback=lambda result, error: answers.put((i, result, error)))

        for i in range(len(images)):
            send(i)
        right = answered = 0
        while answered < len(images):
            i, result, error = answers.get(timeout=60)
            if error is not None:
                # Beyond what the budget allows the excess is refused, to be sent again.
                self.assertIn("retry after", str(error))
                time.sleep(0.01)
                send(i)
                continue
            answered += 1
            right += int(result.as_numpy("label")[0] == labels[i])
        self.assertGreaterEqual(right / len(images), 0.97)
        stats = self.client.get_inference_statistics("digits").model_stats[0]
        self.assertGreater(max(b.batch_size for b in stats.batch_stats), 1,
                           "requests that arrive together share batches")


class Http(Both, unittest.TestCase):
    module = httpclient

    @classmethod
    def connect(cls):
        return httpclient.InferenceServerClient(cls.daemon.http, concurrency=4)

    @staticmethod
    def as_dict(message):
        return message

    def test_json_both_ways(self):
        a = np.arange(16, dtype=np.int32).reshape(1, 16)
        result = self.client.infer(
            "simple", inputs_of(httpclient, [("INPUT0", "INT32", a), ("INPUT1", "INT32", a)],
                                binary_data=False),
            outputs=[httpclient.InferRequestedOutput("OUTPUT0", binary_data=False),
                     httpclient.InferRequestedOutput("OUTPUT1", binary_data=True)])
        np.testing.assert_array_equal(result.as_numpy("OUTPUT0"), a + a)
        np.testing.assert_array_equal(result.as_numpy("OUTPUT1"), a - a)

    def test_compression(self):
        x = np.zeros((1, 1000), dtype=np.float32)
        for algorithm in ("gzip", "deflate"):
            result = self.client.infer("identity", inputs_of(httpclient, [("INPUT0", "FP32", x)]),
                                       request_compression_algorithm=algorithm,
                                       response_compression_algorithm=algorithm)
            np.testing.assert_array_equal(result.as_numpy("OUTPUT0"), x)

    def test_many_at_once(self):
        a = np.ones((1, 16), dtype=np.int32)
        pending = [self.client.async_infer(
            "simple", inputs_of(httpclient, [("INPUT0", "INT32", a * i), ("INPUT1", "INT32", a)]))
            for i in range(50)]
        for i, request in enumerate(pending):
            np.testing.assert_array_equal(request.get_result().as_numpy("OUTPUT0"), a * i + a)


if __name__ == "__main__":
    unittest.main()
