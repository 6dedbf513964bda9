"""Makes ONNX backend-test folders from models exported here: generate.py --out DIR [--all]."""

import argparse
import importlib
import importlib.util
import logging
import contextlib
import os
import re
import sys
import time
import traceback
import warnings

import case

# Modules with a function cases(), and the package each needs.
FAMILIES = {
    "sklearn": ("sklearn_cases", "skl2onnx"),
    "boosted": ("boosted_cases", "onnxmltools"),
    "torch": ("torch_cases", "torch"),
    "tensorflow": ("tensorflow_cases", "tf2onnx"),
}


def read_not_exported(path: str) -> dict[str, str]:
    """Cases whose exporter or ONNX Runtime fails, with the reason."""
    known = {}
    with open(path, encoding="utf-8") as file:
        for line in file:
            name, _, reason = line.strip().partition(" ")
            if name and not name.startswith("#"):
                known[name] = reason
    return known


@contextlib.contextmanager
def silence():
    """Standard output and error of Python and of the libraries below it go to /dev/null."""
    sys.stdout.flush()
    sys.stderr.flush()
    saved = [os.dup(1), os.dup(2)]
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    os.dup2(null, 2)
    try:
        yield
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        for number, copy in zip((1, 2), saved):
            os.dup2(copy, number)
            os.close(copy)
        os.close(null)


def make(one: case.Case, folder: str, verbose: bool) -> str:
    """Empty, or why there is no such export."""
    try:
        with contextlib.nullcontext() if verbose else silence():
            case.write(one, folder)
        return ""
    except Exception as error:  # an exporter may raise anything
        if verbose:
            traceback.print_exc()
        first_line = (str(error).strip().splitlines() or [""])[0]
        return f"{type(error).__name__}: {first_line}"[:200]


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", required=True)
    parser.add_argument("--all", action="store_true", help="every case, not the fast ones alone")
    parser.add_argument("--family", action="append", choices=sorted(FAMILIES))
    parser.add_argument("--filter", default="", help="regular expression on the cases' names")
    parser.add_argument("--verbose", action="store_true")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    logging.disable(logging.ERROR)
    here = os.path.dirname(os.path.abspath(__file__))
    known = read_not_exported(os.path.join(here, "not_exported.txt"))
    made = absent = unexpected = 0
    for family in arguments.family or FAMILIES:
        module, package = FAMILIES[family]
        if importlib.util.find_spec(package) is None:
            print(f"family {family} left out: {package} is not installed")
            continue
        start = time.monotonic()
        for one in importlib.import_module(module).cases():
            if not (one.fast or arguments.all) or not re.search(arguments.filter, one.name):
                continue
            reason = make(one, os.path.join(arguments.out, one.name), arguments.verbose)
            if not reason:
                made += 1
                if one.name in known:
                    unexpected += 1
                    print(f"{one.name} is exported now, but listed in not_exported.txt")
            elif one.name in known:
                absent += 1
            else:
                unexpected += 1
                print(f"{one.name} is not exported: {reason}")
        print(f"family {family}: {time.monotonic() - start:.0f} s", flush=True)
    print(f"{made} exports made, {absent} cannot be (not_exported.txt), {unexpected} unexpected")
    return 1 if unexpected or not made else 0


if __name__ == "__main__":
    sys.exit(main())
