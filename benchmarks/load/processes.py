"""The programs under measurement: a daemon, an echo server, and the two benchmark commands."""

import http.client
import json
import os
import pathlib
import resource
import socket
import subprocess
import tempfile
import time


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def cpu_seconds(pid):
    """User and system time of a process so far."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Server:
    """A process that listens for gRPC; stopped when the block ends."""

    def __init__(self, command, grpc_port, ready):
        self.log = tempfile.TemporaryFile(mode="w+")
        self.target = f"127.0.0.1:{grpc_port}"
        self.process = subprocess.Popen(command, stdout=self.log, stderr=subprocess.STDOUT)
        give_up = time.monotonic() + 120
        while not ready():
            if self.process.poll() is not None or time.monotonic() > give_up:
                self.log.seek(0)
                raise SystemExit("a server did not start:\n" + self.log.read())
            time.sleep(0.05)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(timeout=60)
        self.log.close()

    def cpu_seconds(self):
        return cpu_seconds(self.process.pid)


def daemon(bin_dir, models):
    http_port, grpc_port = free_port(), free_port()

    def ready():
        connection = http.client.HTTPConnection("127.0.0.1", http_port, timeout=5)
        try:
            connection.request("GET", "/v2/health/ready")
            return connection.getresponse().status == 200
        except OSError:
            return False
        finally:
            connection.close()

    return Server([str(bin_dir / "inferd"), "serve", "--models", str(models), "--http-port",
                   str(http_port), "--grpc-port", str(grpc_port), "--metrics-port", "0"],
                  grpc_port, ready)


def echo(bin_dir, threads):
    port = free_port()

    def ready():
        with socket.socket() as s:
            return s.connect_ex(("127.0.0.1", port)) == 0

    return Server([str(bin_dir / "grpc_echo"), str(port), str(threads)], port, ready)


def inferctl_bench(bin_dir, target, model, *flags):
    """The rows of one inferctl bench run."""
    with tempfile.NamedTemporaryFile(suffix=".json") as out:
        result = subprocess.run(
            [str(bin_dir / "inferctl"), "bench", model, "--url", target, "--json", out.name,
             *flags], capture_output=True, text=True)
        if result.returncode != 0:
            raise SystemExit(f"inferctl bench {model}: {result.stderr or result.stdout}")
        return json.load(open(out.name))["results"]


def inferplan_bench(bin_dir, model, *flags):
    with tempfile.NamedTemporaryFile(suffix=".json") as out:
        result = subprocess.run([str(bin_dir / "inferplan"), "bench", str(model), "--json",
                                 out.name, *flags], capture_output=True, text=True)
        if result.returncode != 0:
            raise SystemExit(f"inferplan bench {model}: {result.stderr or result.stdout}")
        return json.load(open(out.name))


def client_cpu_seconds():
    """CPU time of all child processes that have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime
