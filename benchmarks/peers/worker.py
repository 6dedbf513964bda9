"""A process that holds one engine and one model, driven over pipes.

Three of them, one per engine, take turns: while one computes the others wait. Each answers
`run N` with N latencies in nanoseconds, `outputs` with the path of an .npz, `rss` with its peak
resident set in bytes.
"""

import json
import subprocess
import sys


class Worker:
    def __init__(self, name, command):
        self.name = name
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                         text=True)
        answer = self._read()
        if "error" in answer:
            raise RuntimeError(answer["error"])
        self.load_ms = answer["load_ms"]
        self.first_run_ms = answer["first_run_ms"]

    def run(self, count):
        return self._ask(f"run {count}")["ns"]

    def outputs(self, directory):
        return self._ask(f"outputs {directory}")["files"]

    def peak_rss(self):
        return self._ask("rss")["bytes"]

    def close(self):
        self._process.stdin.close()
        self._process.wait(timeout=60)

    def _ask(self, line):
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()
        answer = self._read()
        if "error" in answer:
            raise RuntimeError(answer["error"])
        return answer

    def _read(self):
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"{self.name}: the process ended ({self._process.wait()})")
        return json.loads(line)


def peak_rss():
    """VmHWM, not getrusage: the latter remembers the parent's size from before exec."""
    with open("/proc/self/status") as status:
        for line in status:
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    raise RuntimeError("no VmHWM in /proc/self/status")


def serve(load, run_once, save_outputs):
    """The other end of the pipe, for engines with a Python interface. `load` returns nothing,
    `run_once` runs the model, `save_outputs(directory)` returns the files it wrote."""
    import time

    def answer(**fields):
        print(json.dumps(fields), flush=True)

    try:
        start = time.perf_counter_ns()
        load()
        loaded = time.perf_counter_ns()
        run_once()
        answer(load_ms=(loaded - start) / 1e6,
               first_run_ms=(time.perf_counter_ns() - loaded) / 1e6)
        for line in sys.stdin:
            word, _, rest = line.strip().partition(" ")
            if word == "run":
                ns = []
                for _ in range(int(rest)):
                    start = time.perf_counter_ns()
                    run_once()
                    ns.append(time.perf_counter_ns() - start)
                answer(ns=ns)
            elif word == "outputs":
                answer(files=save_outputs(rest))
            elif word == "rss":
                answer(bytes=peak_rss())
    except Exception as error:  # whatever the engine throws is the answer
        answer(error=f"{type(error).__name__}: {error}")
