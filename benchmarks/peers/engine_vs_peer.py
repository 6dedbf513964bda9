"""See benchmarks/engine_vs_peer."""

import argparse
import json
import math
import pathlib
import statistics
import sys
import tempfile

import numpy as np
import onnx

from cases import find_models, inputs_for, randomize
from worker import Worker

PEERS = ("onnxruntime", "openvino")


def parse():
    p = argparse.ArgumentParser(prog="engine_vs_peer", description=__doc__)
    p.add_argument("models", nargs="*", metavar="MODEL_DIR")
    p.add_argument("--threads", default="1", help="intra-op threads, e.g. 1,2")
    p.add_argument("--batch", default="1", help="batch sizes, e.g. 1,8")
    p.add_argument("--seconds", type=float, default=3.0, help="time per engine and case")
    p.add_argument("--rounds", type=int, default=9, help="how often the engines take turns")
    p.add_argument("--peers", default=",".join(PEERS))
    p.add_argument("--json", metavar="FILE")
    p.add_argument("--worker", required=True, help=argparse.SUPPRESS)
    return p.parse_args()


def compare_outputs(a_files, b_files):
    """Largest difference relative to the largest magnitude of each output; inf on a mismatch."""
    worst = 0.0
    for a_file, b_file in zip(a_files, b_files):
        a, b = np.load(a_file, allow_pickle=True), np.load(b_file, allow_pickle=True)
        if a.shape != b.shape:
            return math.inf
        if a.dtype.kind != "f" or a.size == 0:
            continue
        scale = float(np.abs(b).max()) or 1.0
        difference = float(np.abs(a.astype(np.float64) - b).max()) / scale
        worst = max(worst, difference if math.isfinite(difference) else math.inf)
    return worst


def measure(workers, seconds, rounds):
    """Median latency per engine in ms, engines taking turns."""
    counts, samples = {}, {w.name: [] for w in workers}
    for w in workers:
        # Past the first runs, so that pools and caches are warm.
        estimate = statistics.median(w.run(3)) / 1e9
        counts[w.name] = max(1, min(2000, int(seconds / rounds / max(estimate, 1e-7))))
    for _ in range(rounds):
        for w in workers:
            samples[w.name] += w.run(counts[w.name])
    return {name: statistics.median(ns) / 1e6 for name, ns in samples.items()}


def run_case(args, name, path, threads, batch, scratch):
    model = randomize(onnx.load(path))
    inputs = inputs_for(path, model, batch)
    case = {"model": name, "threads": threads, "batch": batch}
    if inputs is None:
        return {**case, "skipped": "the model's first dimension is not a batch"}
    model_file = scratch / "model.onnx"
    onnx.save(model, model_file, save_as_external_data=model.ByteSize() > 1 << 30)
    inputs_file = scratch / "inputs.npz"
    np.savez(inputs_file, **inputs)
    command = [args.worker, str(model_file), "--threads", str(threads)]
    for i, (input_name, array) in enumerate(inputs.items()):
        tensor = onnx.numpy_helper.from_array(array, input_name)
        file = scratch / f"input_{i}.pb"
        file.write_bytes(tensor.SerializeToString())
        command += ["--input", f"{input_name}={file}"]

    workers = []
    try:
        workers.append(Worker("inferd", command))
        for peer in args.peers.split(","):
            script = pathlib.Path(__file__).with_name("peer_main.py")
            try:
                workers.append(Worker(peer, [sys.executable, "-B", str(script), peer,
                                             str(model_file), str(inputs_file), str(threads)]))
            except RuntimeError as error:
                case.setdefault("peer_errors", {})[peer] = str(error)
        outputs = {}
        for w in workers:
            directory = scratch / w.name
            directory.mkdir(exist_ok=True)
            outputs[w.name] = w.outputs(directory)
        case["difference"] = {w.name: compare_outputs(outputs["inferd"], outputs[w.name])
                              for w in workers[1:]}
        case["median_ms"] = measure(workers, args.seconds, args.rounds)
        case["load_ms"] = {w.name: w.load_ms for w in workers}
        case["first_run_ms"] = {w.name: w.first_run_ms for w in workers}
        case["peak_rss"] = {w.name: w.peak_rss() for w in workers}
    except RuntimeError as error:
        case["error"] = str(error)
    finally:
        for w in workers:
            w.close()
    return case


def geomean(values):
    return math.exp(statistics.fmean(map(math.log, values))) if values else math.nan


def print_case(case):
    label = f"{case['model']:24} threads {case['threads']} batch {case['batch']:<3}"
    if "skipped" in case or "error" in case:
        print(f"{label} {case.get('skipped') or 'FAILED: ' + case['error']}", flush=True)
        return
    ours = case["median_ms"]["inferd"]
    print(f"{label} inferd       {ours:9.3f} ms  load {case['load_ms']['inferd']:8.1f} ms  "
          f"first {case['first_run_ms']['inferd']:8.1f} ms  "
          f"rss {case['peak_rss']['inferd'] / 2**20:7.0f} MiB")
    for peer, ms in case["median_ms"].items():
        if peer == "inferd":
            continue
        print(f"{'':{len(label)}} {peer:12} {ms:9.3f} ms  load {case['load_ms'][peer]:8.1f} ms  "
              f"first {case['first_run_ms'][peer]:8.1f} ms  "
              f"rss {case['peak_rss'][peer] / 2**20:7.0f} MiB  ratio {ours / ms:5.3f}  "
              f"difference {case['difference'][peer]:.1e}")
    for peer, error in case.get("peer_errors", {}).items():
        print(f"{'':{len(label)}} {peer:12} {error.splitlines()[0][:120]}")
    sys.stdout.flush()


def main():
    args = parse()
    default = pathlib.Path(__file__).resolve().parents[3] / "shared" / "onnx_light"
    models = args.models or [default / m for m in ("resnet50", "squeezenet", "shufflenet",
                                                   "densenet121")]
    cases = []
    for name, path in find_models(models):
        for threads in map(int, args.threads.split(",")):
            for batch in map(int, args.batch.split(",")):
                with tempfile.TemporaryDirectory() as scratch:
                    cases.append(run_case(args, name, path, threads, batch,
                                          pathlib.Path(scratch)))
                print_case(cases[-1])
    ort_ratios, best_ratios, failed = [], [], 0
    for case in cases:
        failed += "error" in case
        ms = case.get("median_ms", {})
        peers = {p: t for p, t in ms.items() if p != "inferd"}
        if "onnxruntime" in peers:
            ort_ratios.append(ms["inferd"] / peers["onnxruntime"])
        if peers:
            best_ratios.append(ms["inferd"] / min(peers.values()))
    if args.json:
        pathlib.Path(args.json).write_text(json.dumps({"cases": cases}, indent=1) + "\n")
    worst = max(ort_ratios) if ort_ratios else math.nan
    print(f"geomean {geomean(ort_ratios):.3f} worst {worst:.3f} over {len(ort_ratios)} cases, "
          f"best-of-peers geomean {geomean(best_ratios):.3f}")
    return 1 if failed else 0


sys.exit(main())
