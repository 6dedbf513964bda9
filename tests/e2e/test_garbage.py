"""Garbage of every kind at both ports: a clear error or a closed connection, and a live daemon."""

import json
import random
import socket
import unittest

import grpc

from daemon import EXAMPLES, Daemon

DIGIT = json.loads((EXAMPLES / "data" / "digits" / "7.json").read_text())
INFER = "/v2/models/digits/infer"


class Garbage(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.daemon = Daemon()

    @classmethod
    def tearDownClass(cls):
        assert cls.daemon.stop() == 0, cls.daemon.output()

    def tearDown(self):
        self.assertTrue(self.daemon.alive(), self.daemon.output())
        status, _, body = self.daemon.get(INFER, method="POST", body=json.dumps(DIGIT))
        self.assertEqual(status, 200, body)

    def raw(self, data, port=None):
        """What the daemon answers to bytes, until it closes or is done."""
        with socket.create_connection(("127.0.0.1", port or self.daemon.http_port)) as s:
            s.settimeout(30)
            try:
                s.sendall(data)
                s.shutdown(socket.SHUT_WR)
                received = b""
                while chunk := s.recv(65536):
                    received += chunk
                return received
            except (ConnectionResetError, BrokenPipeError):
                return b""

    def post(self, body, headers=None, path=INFER):
        status, _, answer = self.daemon.get(path, method="POST", body=body, headers=headers)
        return status, answer

    def assert_refused(self, body, expected=400, headers=None, path=INFER):
        status, answer = self.post(body, headers, path)
        self.assertEqual(status, expected, answer)
        self.assertTrue(json.loads(answer)["error"])
        return json.loads(answer)["error"]

    def changed(self, **changes):
        request = json.loads(json.dumps(DIGIT))
        request["inputs"][0].update(changes)
        return json.dumps({**request})

    def test_bodies_that_are_not_json(self):
        for body in (b"", b"{", b"[]", b"null", b"{\"inputs\": 3}", b"\xff\xfe\x00", b"{" * 5000,
                     b"[" * 100000, b"{\"inputs\": [" + b"[" * 1000):
            self.assert_refused(body)

    def test_tensors_that_do_not_fit(self):
        for change in ({"name": "wrong"}, {"datatype": "FP99"}, {"datatype": "INT64"},
                       {"shape": [1, 1, 8, 9]}, {"shape": [1, 1, 8]}, {"shape": []},
                       {"shape": [-1, 1, 8, 8]}, {"shape": [2**40, 2**40, 8, 8]},
                       {"shape": [1.5, 1, 8, 8]}, {"shape": "x"}, {"data": []},
                       {"data": ["a"] * 64}, {"data": [1] * 65}, {"data": {"x": 1}},
                       {"data": [[1] * 63]}):
            with self.subTest(change):
                self.assert_refused(self.changed(**change))

    def test_missing_and_extra_tensors(self):
        self.assert_refused(json.dumps({"inputs": []}))
        self.assert_refused(json.dumps({"inputs": DIGIT["inputs"] * 2}))
        self.assert_refused(json.dumps({**DIGIT, "outputs": [{"name": "nope"}]}))

    def test_binary_lengths(self):
        tensor = {"name": "image", "shape": [1, 1, 8, 8], "datatype": "FP32",
                  "parameters": {"binary_data_size": 256}}
        header = json.dumps({"inputs": [tensor]}).encode()
        length = "Inference-Header-Content-Length"
        for value, body in ((str(len(header)), header + b"\0" * 255),
                            (str(len(header)), header + b"\0" * 257),
                            (str(len(header) + 1000), header), ("-1", header), ("x", header),
                            ("99999999999999999999", header), ("0", header)):
            with self.subTest(value):
                self.assert_refused(body, headers={length: value})
        tensor["parameters"]["binary_data_size"] = -5
        header = json.dumps({"inputs": [tensor]}).encode()
        self.assert_refused(header, headers={length: str(len(header))})

    def test_paths_and_methods(self):
        for path, method, expected in (("/", "GET", (200, 404)), ("/v2/nope", "GET", (404,)),
                                       ("/v2/models/../../etc/passwd/infer", "POST", (400, 404)),
                                       ("/v2/models/%2e%2e/infer", "POST", (400, 404)),
                                       (INFER, "GET", (405,)), (INFER, "DELETE", (405,)),
                                       ("/v2/models/digits/versions/x/infer", "POST", (400, 404)),
                                       ("/v2/models/digits/versions/99/infer", "POST", (404,)),
                                       ("/v2/models/" + "a" * 3000 + "/infer", "POST",
                                        (400, 404, 414, 431))):
            with self.subTest(path=path, method=method):
                status, _, _ = self.daemon.get(path, method=method, body=json.dumps(DIGIT))
                self.assertIn(status, expected)

    def test_requests_that_are_not_http(self):
        rng = random.Random(4)
        for data in (b"\0" * 100, b"GET\r\n\r\n", b"POST / HTTP/9.9\r\n\r\n", b"\r\n" * 1000,
                     b"GET /v2 HTTP/1.1\r\nHost", b"GET " + b"a" * 100000 + b" HTTP/1.1\r\n\r\n",
                     b"GET /v2 HTTP/1.1\r\n" + b"x: y\r\n" * 50000 + b"\r\n",
                     b"POST /v2 HTTP/1.1\r\nContent-Length: -5\r\n\r\n",
                     b"POST /v2 HTTP/1.1\r\nContent-Length: 99999999999999999999\r\n\r\n",
                     b"POST " + INFER.encode() + b" HTTP/1.1\r\nHost: x\r\nContent-Length: 50\r\n\r\nshort",
                     b"POST " + INFER.encode() + b" HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nZZ\r\n",
                     *(rng.randbytes(rng.randint(1, 2000)) for _ in range(50))):
            answer = self.raw(data)
            if answer:
                self.assertTrue(answer.startswith(b"HTTP/1."), answer[:80])
                self.assertNotIn(b" 200 ", answer.split(b"\r\n")[0])

    def test_overlong_body_is_refused_unread(self):
        head = (f"POST {INFER} HTTP/1.1\r\nHost: x\r\nContent-Length: {1 << 50}\r\n\r\n").encode()
        answer = self.raw(head)
        self.assertIn(b" 413 ", answer.split(b"\r\n")[0] + b" ")

    def test_grpc_port_gets_anything(self):
        rng = random.Random(5)
        for data in (b"\0" * 100, b"GET / HTTP/1.1\r\n\r\n", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
                     *(rng.randbytes(rng.randint(1, 2000)) for _ in range(20))):
            self.raw(data, port=self.daemon.grpc_port)

    def test_grpc_messages_that_are_not_requests(self):
        rng = random.Random(6)
        with grpc.insecure_channel(self.daemon.grpc) as channel:
            call = channel.unary_unary("/inference.GRPCInferenceService/ModelInfer",
                                       request_serializer=lambda b: b,
                                       response_deserializer=lambda b: b)
            for data in (b"", b"\xff" * 10, b"\x0a\xff\xff\xff\xff\x0f", b"\x2a" * 999,
                         *(rng.randbytes(rng.randint(1, 500)) for _ in range(50))):
                with self.assertRaises(grpc.RpcError) as caught:
                    call(data, timeout=30)
                self.assertIn(caught.exception.code(),
                              (grpc.StatusCode.INVALID_ARGUMENT, grpc.StatusCode.NOT_FOUND))
                self.assertTrue(caught.exception.details())
            unknown = channel.unary_unary("/inference.GRPCInferenceService/Nope",
                                          request_serializer=lambda b: b,
                                          response_deserializer=lambda b: b)
            with self.assertRaises(grpc.RpcError) as caught:
                unknown(b"", timeout=30)
            self.assertEqual(caught.exception.code(), grpc.StatusCode.UNIMPLEMENTED)


if __name__ == "__main__":
    unittest.main()
