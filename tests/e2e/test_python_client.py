"""inferd's own Python client against the daemon."""

import json
import sys
import unittest

import numpy as np

from daemon import EXAMPLES, ROOT, Daemon

sys.path.insert(0, str(ROOT / "clients" / "python"))
from inferd import Client, InferdError  # noqa: E402


class PythonClient(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.daemon = Daemon()
        cls.client = Client(f"http://{cls.daemon.http}")

    @classmethod
    def tearDownClass(cls):
        cls.client.close()
        cls.daemon.stop()

    def test_health(self):
        self.assertTrue(self.client.live())
        self.assertTrue(self.client.ready())
        self.assertTrue(self.client.ready("digits"))
        self.assertFalse(self.client.ready("nope"))

    def test_infer(self):
        images = np.load(EXAMPLES / "data" / "digits" / "test_images.npy")[:20]
        labels = np.load(EXAMPLES / "data" / "digits" / "test_labels.npy")[:20]
        outputs = self.client.infer("digits", {"image": images.astype(np.float32)})
        self.assertGreaterEqual((outputs["label"] == labels).sum(), 18)
        only = self.client.infer("digits", {"image": images.astype(np.float32)},
                                 outputs=["label"], timeout=30.0)
        self.assertEqual(list(only), ["label"])

    def test_strings(self):
        a = np.array([["%d" % i for i in range(16)]], dtype=object)
        outputs = self.client.infer("simple_string", {"INPUT0": a, "INPUT1": a})
        self.assertEqual([int(v) for v in outputs["OUTPUT0"].ravel()],
                         [2 * i for i in range(16)])

    def test_models_and_metadata(self):
        states = {m["name"]: m["state"] for m in self.client.models()}
        self.assertEqual(states["simple"], "READY")
        self.assertEqual(self.client.metadata("simple")["inputs"][0]["datatype"], "INT32")
        self.assertEqual(self.client.statistics("simple")[0]["name"], "simple")
        json.dumps(self.client.config("simple"))

    def test_errors(self):
        with self.assertRaises(InferdError) as caught:
            self.client.infer("nope", {"x": np.zeros(1, np.float32)})
        self.assertEqual(caught.exception.status, 404)
        with self.assertRaises(TypeError):
            self.client.infer("identity", {"INPUT0": np.zeros(1, np.complex64)})
        # The connection is still good.
        self.assertTrue(self.client.live())


if __name__ == "__main__":
    unittest.main()
