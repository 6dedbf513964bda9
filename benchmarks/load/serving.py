"""See benchmarks/serving."""

import argparse
import json
import math
import os
import pathlib
import shutil
import statistics
import tempfile

from processes import daemon, echo, inferctl_bench, inferplan_bench

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"
RESNET = ROOT.parent / "shared" / "onnx_light" / "resnet50" / "model.onnx"
# Requests in flight that saturate: enough to fill batches.
SATURATING = {"digits": 256, "resnet50": 4}
RESNET_BUDGET_MS = 1000


def parse():
    p = argparse.ArgumentParser(prog="serving", description=__doc__)
    p.add_argument("--seconds", type=float, default=5.0, help="per measurement")
    p.add_argument("--rounds", type=int, default=3, help="how often daemon and echo take turns")
    p.add_argument("--json", metavar="FILE")
    p.add_argument("--bin", type=pathlib.Path, required=True, help=argparse.SUPPRESS)
    return p.parse_args()


def make_repository(folder):
    """digits as it ships and, where it can be had, ResNet-50."""
    shutil.copytree(EXAMPLES / "models" / "digits", folder / "digits")
    if not RESNET.exists():
        return ["digits"]
    (folder / "resnet50" / "1").mkdir(parents=True)
    shutil.copy(RESNET, folder / "resnet50" / "1" / "model.onnx")
    (folder / "resnet50" / "config.yaml").write_text(f"latency_budget: {RESNET_BUDGET_MS}ms\n")
    return ["digits", "resnet50"]


def budget_ms(folder, model):
    for line in (folder / model / "config.yaml").read_text().splitlines():
        if line.startswith("latency_budget:"):
            return float(line.split(":")[1].strip().removesuffix("ms"))
    raise SystemExit(f"{model} has no latency budget")


class Run:
    def __init__(self, args, repository, threads):
        self.args, self.repository, self.threads = args, repository, threads
        self.duration = ["--duration", f"{args.seconds}s", "--warmup", "1s"]

    def closed(self, server, model, concurrency):
        flags = ["--concurrency", str(concurrency), *self.duration]
        if model == "digits":
            flags += ["--input", str(EXAMPLES / "data" / "digits" / "7.json")]
        return inferctl_bench(self.args.bin, server.target, model, *flags)[0]

    def open_loop(self, server, model, rate):
        flags = ["--rate", f"{rate:.3f}", *self.duration]
        if model == "digits":
            flags += ["--input", str(EXAMPLES / "data" / "digits" / "7.json")]
        return inferctl_bench(self.args.bin, server.target, model, *flags)[0]

    def engine(self, model, batch):
        """The engine alone: rows per second and median milliseconds at a batch size."""
        file = self.repository / model / "1" / "model.onnx"
        result = inferplan_bench(self.args.bin, file, "--batch", str(batch), "--threads",
                                 str(self.threads), "--seconds", str(self.args.seconds))
        row = result["results"][0]
        return {"batch": batch, "rows_per_second": row["inferences_per_second"],
                "median_ms": row["median_ms"]}

    def efficiency(self, server, model):
        """Served rows per second over the engine's own at the batch sizes it was served at."""
        pairs = []
        for _ in range(self.args.rounds):
            served = self.closed(server, model, SATURATING[model])
            batch = max(1, round(served["mean_batch"]))
            engine = self.engine(model, batch)
            pairs.append({"served": served, "engine": engine,
                          "efficiency": served["throughput"] / engine["rows_per_second"]})
        return {"rounds": pairs,
                "efficiency": statistics.median(p["efficiency"] for p in pairs)}

    def against_echo(self, server, yardstick):
        """digits against a server that only sends the bytes back, in turns."""
        saturated, alone = [], []
        for _ in range(self.args.rounds):
            ours = self.closed(server, "digits", SATURATING["digits"])
            theirs = self.closed(yardstick, "digits", SATURATING["digits"])
            saturated.append(ours["throughput"] / theirs["throughput"])
            ours, theirs = self.closed(server, "digits", 1), self.closed(yardstick, "digits", 1)
            alone.append((ours["latency_ms"]["p50"] - theirs["latency_ms"]["p50"]) * 1e3)
        return {"share_rounds": saturated, "share": statistics.median(saturated),
                "difference_us_rounds": alone, "difference_us": statistics.median(alone)}

    def open_loop_levels(self, server, model, capacity, budget):
        rows = []
        for level in (0.5, 0.8, 2.0):
            row = self.open_loop(server, model, capacity * level)
            row.update(level=level, budget_ms=budget,
                       goodput_share=row["throughput"] / capacity,
                       within_budget=row["latency_ms"]["p99"] <= budget)
            rows.append(row)
            print(f"{model:9} open loop {level:4.0%} of {capacity:9.1f}/s: "
                  f"{row['throughput']:9.1f}/s ok, p50 {row['latency_ms']['p50']:8.2f} ms, "
                  f"p99 {row['latency_ms']['p99']:8.2f} ms (budget {budget:g}), "
                  f"mean batch {row['mean_batch']:.2f}, errors {row['errors']}", flush=True)
        return rows


def main():
    args = parse()
    threads = os.cpu_count()
    report = {"threads": threads}
    with tempfile.TemporaryDirectory() as tmp:
        repository = pathlib.Path(tmp)
        models = make_repository(repository)
        run = Run(args, repository, threads)
        with daemon(args.bin, repository) as server, echo(args.bin, 2) as yardstick:
            for model in models:
                result = run.efficiency(server, model)
                report[model] = result
                last = result["rounds"][-1]
                print(f"{model:9} served {last['served']['throughput']:9.1f}/s at mean batch "
                      f"{last['served']['mean_batch']:.2f}, engine alone "
                      f"{last['engine']['rows_per_second']:9.1f}/s at batch "
                      f"{last['engine']['batch']}: efficiency {result['efficiency']:.3f}",
                      flush=True)
            report["echo"] = run.against_echo(server, yardstick)
            compute_us = run.engine("digits", 1)["median_ms"] * 1e3
            for model in models:
                capacity = statistics.median(
                    p["served"]["throughput"] for p in report[model]["rounds"])
                report[model]["open_loop"] = run.open_loop_levels(
                    server, model, capacity, budget_ms(repository, model))
    report["efficiency"] = math.exp(statistics.fmean(
        math.log(report[m]["efficiency"]) for m in models))
    report["echo_share"] = report["echo"]["share"]
    report["added_us"] = report["echo"]["difference_us"] - compute_us
    if args.json:
        pathlib.Path(args.json).write_text(json.dumps(report, indent=1) + "\n")
    print(f"efficiency {report['efficiency']:.3f} echo_share {report['echo_share']:.3f} "
          f"added_us {report['added_us']:.0f}")


main()
