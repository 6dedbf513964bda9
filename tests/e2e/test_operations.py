"""Starting, stopping, health, metrics and logs of the daemon, as an operator meets them."""

import http.client
import json
import pathlib
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import unittest

from daemon import BIN, EXAMPLES, Daemon, free_port

DIGIT = (EXAMPLES / "data" / "digits" / "7.json").read_bytes()


class Stopping(unittest.TestCase):
    def test_sigterm_is_a_clean_exit(self):
        with Daemon() as daemon:
            self.assertEqual(daemon.stop(signal.SIGTERM), 0, daemon.output())

    def test_idle_connections_do_not_delay(self):
        with Daemon() as daemon:
            idle = [socket.create_connection(("127.0.0.1", daemon.http_port)) for _ in range(20)]
            kept = http.client.HTTPConnection("127.0.0.1", daemon.http_port)
            kept.request("GET", "/v2/health/live")
            kept.getresponse().read()
            daemon.process.send_signal(signal.SIGTERM)
            self.assertEqual(daemon.process.wait(timeout=10), 0, daemon.output())
            for s in [*idle, kept]:
                s.close()

    def test_work_in_flight_is_answered(self):
        with Daemon() as daemon:
            outcomes = []

            def work():
                connection = http.client.HTTPConnection("127.0.0.1", daemon.http_port, timeout=30)
                while True:
                    try:
                        connection.request("POST", "/v2/models/digits/infer", DIGIT)
                        response = connection.getresponse()
                        response.read()
                    except (OSError, http.client.HTTPException):
                        # Refused or closed between two requests: nothing was lost.
                        return
                    outcomes.append(response.status)
                    if response.status not in (200, 429):
                        return

            threads = [threading.Thread(target=work) for _ in range(8)]
            for t in threads:
                t.start()
            while len(outcomes) < 50:
                self.assertTrue(daemon.alive(), daemon.output())
            self.assertEqual(daemon.stop(), 0, daemon.output())
            for t in threads:
                t.join()
            self.assertLessEqual(set(outcomes), {200, 429, 503})

    def test_a_taken_port_is_one_clear_line(self):
        with socket.socket() as taken:
            taken.bind(("0.0.0.0", 0))
            taken.listen()
            port = taken.getsockname()[1]
            result = subprocess.run(
                [BIN / "inferd", "serve", "--models", EXAMPLES / "models", "--http-port",
                 str(port), "--grpc-port", "0", "--metrics-port", "0"],
                capture_output=True, text=True, timeout=60)
        self.assertNotEqual(result.returncode, 0)
        self.assertIn(str(port), result.stdout + result.stderr)

    def test_unknown_flags_are_refused_with_a_hint(self):
        result = subprocess.run([BIN / "inferd", "serve", "--modles", "x"], capture_output=True,
                                text=True, timeout=60)
        self.assertEqual(result.returncode, 2)
        self.assertIn("--models", result.stderr)


class Repository(unittest.TestCase):
    def test_a_broken_model_does_not_stop_the_others(self):
        with tempfile.TemporaryDirectory() as tmp:
            models = pathlib.Path(tmp)
            shutil.copytree(EXAMPLES / "models" / "simple", models / "simple")
            for name, content in (("garbage", b"not a model"), ("empty", b"")):
                (models / name / "1").mkdir(parents=True)
                (models / name / "1" / "model.onnx").write_bytes(content)
            shutil.copytree(EXAMPLES / "models" / "simple", models / "badconfig")
            (models / "badconfig" / "config.yaml").write_text("max_bach_size: 4\n")
            port = free_port()
            process = subprocess.Popen(
                [BIN / "inferd", "serve", "--models", str(models), "--http-port", str(port),
                 "--grpc-port", "0", "--metrics-port", "0"], stdout=subprocess.DEVNULL)
            try:
                index = {}
                while not index or {"LOADING", "UNKNOWN"} & set(index.values()):
                    self.assertIsNone(process.poll())
                    index, reasons = self.index(port)
                self.assertEqual(index["simple"], "READY")
                for name in ("garbage", "empty", "badconfig"):
                    self.assertEqual(index[name], "UNAVAILABLE")
                self.assertIn("max_batch_size", reasons["badconfig"])
                self.assertIn("config.yaml", reasons["badconfig"])
            finally:
                process.terminate()
                self.assertEqual(process.wait(timeout=30), 0)

    @staticmethod
    def index(port):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        try:
            connection.request("POST", "/v2/repository/index", b"{}")
            models = json.loads(connection.getresponse().read())
        except OSError:
            return {}, {}
        finally:
            connection.close()
        return ({m["name"]: m.get("state", "") for m in models},
                {m["name"]: m.get("reason", "") for m in models})


class Metrics(unittest.TestCase):
    def test_the_endpoint_is_clean_and_counts(self):
        with Daemon() as daemon:
            for _ in range(5):
                self.assertEqual(daemon.get("/v2/models/digits/infer", method="POST",
                                            body=DIGIT)[0], 200)
            self.assertEqual(daemon.get("/v2/models/nope/infer", method="POST", body=DIGIT)[0], 404)
            status, _, body = daemon.get("/metrics", port=daemon.metrics_port)
            self.assertEqual(status, 200)
            text = body.decode()
            for family in ("inferd_request_duration_seconds", "inferd_queue_duration_seconds",
                           "inferd_compute_duration_seconds", "inferd_batch_size",
                           "inferd_batches_total", "inferd_queue_depth"):
                self.assertTrue(f"# TYPE {family} " in text, family)
            if shutil.which("promtool") is None:
                self.skipTest("promtool is not installed: the text was not checked")
            check = subprocess.run(["promtool", "check", "metrics"], input=body,
                                   capture_output=True, timeout=60)
            self.assertEqual(check.returncode, 0, check.stderr.decode())


class Logs(unittest.TestCase):
    def test_json_lines(self):
        with Daemon("--log-format", "json") as daemon:
            daemon.get("/v2/models/digits/infer", method="POST", body=DIGIT)
            daemon.stop()
            lines = [line for line in daemon.output().splitlines() if line.strip()]
            self.assertTrue(lines)
            for line in lines:
                json.loads(line)


class Inferctl(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.daemon = Daemon()

    @classmethod
    def tearDownClass(cls):
        cls.daemon.stop()

    def run_inferctl(self, *arguments):
        return subprocess.run([BIN / "inferctl", *arguments, "--url", self.daemon.grpc],
                              capture_output=True, text=True, timeout=60)

    def test_infer_reads_an_image(self):
        result = self.run_inferctl("infer", "digits", "--input",
                                   str(EXAMPLES / "data" / "digits" / "7.png"), "--image-invert",
                                   "--image-scale", "16")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("label INT64[1]: 7", result.stdout)

    def test_infer_reads_json(self):
        result = self.run_inferctl("infer", "digits", "--input",
                                   str(EXAMPLES / "data" / "digits" / "3.json"))
        self.assertIn("label INT64[1]: 3", result.stdout, result.stderr)

    def test_status(self):
        result = self.run_inferctl("status")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("READY", result.stdout)
        self.assertIn("image: FP32[-1,1,8,8]", self.run_inferctl("status", "digits").stdout)

    def test_errors(self):
        result = self.run_inferctl("infer", "nope", "--input", "x=random")
        self.assertEqual(result.returncode, 1)
        self.assertIn("NOT_FOUND", result.stderr)

    def test_bench_writes_json(self):
        with tempfile.TemporaryDirectory() as tmp:
            path = pathlib.Path(tmp) / "bench.json"
            for mode in (["--concurrency", "1,4"], ["--rate", "100"]):
                # No latency budget: on a busy machine a budget would refuse some requests.
                result = self.run_inferctl("bench", "simple", *mode, "--duration", "300ms",
                                           "--warmup", "50ms", "--json", str(path))
                self.assertEqual(result.returncode, 0, result.stderr)
                for row in json.loads(path.read_text())["results"]:
                    self.assertGreater(row["ok"], 0)
                    self.assertEqual(row["errors"], {})


if __name__ == "__main__":
    unittest.main()
