"""The results of workloads, compared between two libraries.

    python -m benchmarks.workloads.compare --against /path/to/python:jax --rows 'game of life'

Each side runs every workload once. A line says how far its results are apart, relative to the
largest number of each array; whole numbers and truths count as they are.
"""

from __future__ import annotations

import argparse
import importlib
import pickle
import re
import subprocess
import sys
import tempfile
import traceback
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import harness
from benchmarks.workloads import measured

APART = {"float32": 1e-3, "complex64": 1e-3, "float64": 1e-8, "complex128": 1e-8}
"""The most that results differ by where nothing but rounding differs; other dtypes agree."""


def results(module: str, pattern: str) -> dict[str, list[Any] | str]:
    """For each workload whose name matches, the arrays of its step, or the error."""
    jax, jnp = importlib.import_module(module), importlib.import_module(f"{module}.numpy")
    found: dict[str, list[Any] | str] = {}
    for name, (make, x64) in chosen(pattern).items():
        try:
            with measured.bits(jax, x64):
                step, args = make(jax, jnp)
                out = jax.jit(step)(*args)
            found[name] = [np.asarray(leaf) for leaf in jax.tree.leaves(out)]
        except Exception:
            found[name] = traceback.format_exc()
    return found


def chosen(pattern: str) -> dict[str, tuple[Any, bool]]:
    """The workloads whose name matches."""
    for group in harness.WORKLOADS:
        importlib.import_module(f"benchmarks.{group}")
    return {name: of for name, of in measured.MADE.items() if re.search(pattern, name)}


def apart(ours: Any, theirs: Any) -> str:
    """What is wrong with one side's result beside the other's; nothing where they agree."""
    if isinstance(ours, str) or isinstance(theirs, str):
        return f"ours: {ours}"[:2000] if isinstance(ours, str) else f"theirs: {theirs}"[:2000]
    types = [[(x.dtype, x.shape) for x in side] for side in (ours, theirs)]
    if types[0] != types[1]:
        return f"{types[0]} is not {types[1]}"
    wrong = []
    for i, (a, b) in enumerate(zip(ours, theirs, strict=True)):
        error = difference(a, b)
        if not error <= APART.get(a.dtype.name, 0.0):
            wrong.append(f"result {i}, {a.dtype.name}{list(a.shape)}: {error:.2g}")
    return "; ".join(wrong)


def difference(a: Any, b: Any) -> float:
    """The largest difference relative to the largest number; NaN where one has NaN or infinity
    that the other lacks."""
    same = (a == b) | ((a != a) & (b != b))
    if np.all(same):
        return 0.0
    wide = np.complex128 if np.iscomplexobj(a) else np.float64
    a, b = a.astype(wide)[~same], b.astype(wide)[~same]
    return float(np.max(np.abs(a - b)) / max(np.max(np.abs(b)), 1e-30))


def of_side(side: harness.Side, pattern: str) -> dict[str, list[Any] | str]:
    """The results of a side, from a process of its interpreter."""
    with tempfile.TemporaryDirectory(prefix="xfront-bench-") as folder:
        out = Path(folder) / "results"
        subprocess.run(
            [side.python, "-m", "benchmarks.workloads.compare", "--rows", pattern,
             "--worker", side.module, "--out", out],
            check=True, env=harness.environment(folder), cwd=harness.ROOT)
        return pickle.loads(out.read_bytes())


def main() -> int:
    """Runs the command line. Returns 1 where a workload's results differ, else 0."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--against", metavar="PYTHON:MODULE")
    parser.add_argument("--ours", metavar="PYTHON:MODULE", default=f"{sys.executable}:xfront")
    parser.add_argument("--rows", metavar="PATTERN", default="")
    for internal in ("--worker", "--out"):
        parser.add_argument(internal, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.worker:
        Path(args.out).write_bytes(pickle.dumps(results(args.worker, args.rows)))
        return 0
    if not args.against:
        parser.error("--against is needed")
    ours, theirs = (of_side(harness.Side.parse(text), args.rows)
                    for text in (args.ours, args.against))
    wrong = {name: text for name in ours if (text := apart(ours[name], theirs[name]))}
    for name, text in wrong.items():
        print(f"{name}: {text}")
    print(f"{len(ours) - len(wrong)} of {len(ours)} workloads agree")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
