"""Rows of whole workloads: the first step, a second process, and warm steps."""

from __future__ import annotations

import contextlib
import functools
import gc
import importlib
import os
import statistics
import subprocess
import sys
import tempfile
import time
import unittest.mock
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from benchmarks import harness

Program = tuple[Callable[..., Any], tuple[Any, ...]]
"""A step to compile, with its arguments."""

MADE: dict[str, tuple[Callable[..., Program], bool]] = {}
"""For each workload by name: its `make`, and whether 64-bit dtypes are on."""

CALLED = 8
"""The number of turns in which a side runs warm steps."""

LOST = 0.95
"""A step whose ratio is below this loses."""

LABELS = STEP, FIRST, SECOND = "step", "first step", "second process"


def workload(name: str, x64: bool = False) -> Callable[[Any], Any]:
    """Decorator that registers `make(jax, jnp) -> (step, args)` as a row. It measures seconds of
    the first step (traced, lowered, compiled and run, with nothing on disk), of the first step of
    a second process, which finds what the first one left on disk, and of a warm step, the least of
    several batches in each turn.

    With `x64`, 64-bit dtypes are on while the step is made and run. --quick has one turn of steps.
    """

    def register(make: Callable[..., Program]) -> Callable[..., Program]:
        group = harness.group_of(make)

        def run(jax: Any, jnp: Any) -> Iterator[dict[str, float]]:
            harness.warm_stages(jax, jnp)
            with bits(jax, x64):
                with tempfile.TemporaryDirectory(prefix="xfront-bench-") as cache:
                    call, first = first_step(jax, jnp, make, cache)
                    yield {FIRST: first, SECOND: second_process(jax.__name__, group, name, cache)}
                for _ in range(harness.scaled(CALLED, 1)):
                    yield {STEP: harness.per_call(call, budget=0.1, batches=5)}

        MADE[name] = make, x64
        harness.enter(harness.Row(group, name, run))
        return make

    return register


def bits(jax: Any, x64: bool) -> contextlib.AbstractContextManager[Any]:
    """A context in which 64-bit dtypes are on, or nothing changes."""
    return jax.enable_x64(True) if x64 else contextlib.nullcontext()


def first_step(
    jax: Any, jnp: Any, make: Callable[..., Program], cache: str
) -> tuple[Callable[[], Any], float]:
    """The jitted step with its arguments bound, and the seconds of its first call. Programs are
    kept in the folder `cache`."""
    step, args = make(jax, jnp)
    harness.block(args)
    jax.clear_caches()
    gc.collect()
    call = functools.partial(jax.jit(step), *args)
    with unittest.mock.patch.dict(os.environ, XFRONT_CACHE_DIR=cache):
        start = time.perf_counter()
        harness.block(call())
        return call, time.perf_counter() - start


def second_process(module: str, group: str, name: str, cache: str) -> float:
    """Seconds of the first step in a fresh process that has imported the library and made the
    arguments."""
    script = ("from benchmarks.workloads import measured\n"
              f"measured.again({module!r}, {group!r}, {name!r}, {cache!r})")
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True,
                          env=harness.environment(cache), timeout=300)
    if done.returncode:
        raise RuntimeError(done.stderr.strip().splitlines()[-1])
    return float(done.stdout.split()[-1])


def again(module: str, group: str, name: str, cache: str) -> None:
    """The body of that process: it prints the seconds."""
    jax, jnp = importlib.import_module(module), importlib.import_module(f"{module}.numpy")
    importlib.import_module(f"benchmarks.{group}")
    make, x64 = MADE[name]
    with bits(jax, x64):
        print(first_step(jax, jnp, make, cache)[1])


def part(jax: Any, name: str) -> Any:
    """A module of the library that programs import by name, such as `scipy.signal`."""
    return importlib.import_module(f"{jax.__name__}.{name}")


# -------------------------------------------------------------------------------------------- table


def markdown(lines: Iterable[harness.Line], ours: str, theirs: str) -> str:
    """The workloads as a table, a line each, with the lowest ratios of a step first; then the
    geometric means. Seconds of a step are the least of all turns, others the median of pairs."""
    measures: dict[str, dict[str, harness.Line]] = {}
    for line in lines:
        label = next((x for x in LABELS if line.name.endswith(f": {x}")), "")
        name = line.name.removesuffix(f": {label}")
        measures.setdefault(f"{name} ({line.group.partition('.')[2]})", {})[label] = line
    found = {name: ratios(of) for name, of in measures.items()}
    head = [f"{label}: {ours} | {theirs} | ratio" for label in LABELS]
    rows = [f"| workload | {' | '.join(head)} |", "|" + "---|" * 10]
    for name in sorted(found, key=lambda name: found[name].get(STEP, 0.0)):
        cells = [name]
        for label in LABELS:
            line = measures[name].get(label, harness.Line("", "", "s"))
            choose = min if label == STEP else statistics.median
            cells += [harness.quantity({0: choose(side.values())}, "s") if side else ""
                      for side in (line.ours, line.theirs)]
            cells.append(f"**{found[name][label]:.2f}**" if label in found[name] else "")
        errors = [line.error for line in measures[name].values() if line.error]
        if errors:
            cells[1] = errors[0].replace("|", "\\|").replace("\n", " ")
        rows.append("| " + " | ".join(cells) + " |")
    below = sum(of.get(STEP, 1.0) < LOST for of in found.values())
    means = [f"{label} **{statistics.geometric_mean(known):.2f}**" for label in LABELS
             if (known := [of[label] for of in found.values() if label in of])]
    return "\n".join(rows) + (
        f"\n\nWorkloads: {len(found)}, of which {below} have a step below {LOST}. "
        f"Geometric means: {', '.join(means)}.\n")


def ratios(of: dict[str, harness.Line]) -> dict[str, float]:
    """The ratio of each measure of a workload, theirs over ours: of the least seconds of a step,
    and the median of the pairs otherwise."""
    found = {label: statistics.median(line.ratios()) for label, line in of.items() if line.ratios()}
    if STEP in found:
        found[STEP] = min(of[STEP].theirs.values()) / min(of[STEP].ours.values())
    return found
