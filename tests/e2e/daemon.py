"""Starts a daemon for a test and stops it again."""

import http.client
import os
import pathlib
import signal
import socket
import subprocess
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BIN = pathlib.Path(os.environ.get("INFERD_BIN", ROOT / "build" / "release" / "bin"))
EXAMPLES = ROOT / "examples"


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Daemon:
    """One running inferd on ports of its own. Use as a context manager."""

    def __init__(self, *flags, models=EXAMPLES / "models"):
        self.http_port, self.grpc_port, self.metrics_port = free_port(), free_port(), free_port()
        self.log = tempfile.TemporaryFile(mode="w+")
        self.process = subprocess.Popen(
            [str(BIN / "inferd"), "serve", "--models", str(models),
             "--http-port", str(self.http_port), "--grpc-port", str(self.grpc_port),
             "--metrics-port", str(self.metrics_port), *flags],
            stdout=self.log, stderr=subprocess.STDOUT)
        self._wait_until_ready()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()
        self.log.close()

    @property
    def http(self):
        return f"127.0.0.1:{self.http_port}"

    @property
    def grpc(self):
        return f"127.0.0.1:{self.grpc_port}"

    def get(self, path, port=None, method="GET", body=None, headers=None):
        """One HTTP exchange: (status, headers, body)."""
        connection = http.client.HTTPConnection("127.0.0.1", port or self.http_port, timeout=30)
        try:
            connection.request(method, path, body, headers or {})
            response = connection.getresponse()
            return response.status, response.headers, response.read()
        finally:
            connection.close()

    def output(self):
        self.log.seek(0)
        return self.log.read()

    def alive(self):
        return self.process.poll() is None

    def stop(self, sig=signal.SIGTERM):
        """Returns the exit status."""
        if self.alive():
            self.process.send_signal(sig)
        try:
            return self.process.wait(timeout=60)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise AssertionError("the daemon did not stop:\n" + self.output()) from None

    def _wait_until_ready(self):
        give_up = time.monotonic() + 120
        while time.monotonic() < give_up:
            if not self.alive():
                raise AssertionError("the daemon did not start:\n" + self.output())
            try:
                if self.get("/v2/health/ready")[0] == 200:
                    return
            except OSError:
                pass
            time.sleep(0.05)
        self.process.kill()
        raise AssertionError("the daemon did not become ready:\n" + self.output())
