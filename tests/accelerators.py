"""Compiles the op table and the examples for accelerators that are not here, and writes what came
of it into docs/accelerators.md: `make accelerators`.

    python -m tests.accelerators                     both topologies, all ops, all examples; a table
    python -m tests.accelerators tpu lu svd          two ops for a TPU, with what the compiler says
    python -m tests.accelerators --write             and writes the table
"""

from __future__ import annotations

import json
import os
import runpy
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any, NamedTuple

import lowering
from lowering import compat, plugins
from lowering.topologies import described
from tests.op_table import all_rows
from tests.op_table.checks import joined
from tests.op_table.row import Row
from xfront_ir import dtypes
from xfront_ir.core import Function
from xfront_ir.definition import lookup
from xfront_ir.dtypes import DType
from xfront_ir.errors import MissingRule

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "accelerators.md"
TOPOLOGIES = {"tpu": "v5e:2x2", "cuda": "h100"}
OF_EIGHT = {"tpu": "v5e:2x4", "cuda": "h100:1x1x8"}
"""For programs of several devices."""
DTYPES = (dtypes.f32, dtypes.bf16, dtypes.i32)
REFUSED = {"tpu": {"eig", "hessenberg", "schur", "tridiagonal"}, "cuda": {"hessenberg", "schur"}}
"""Ops that a platform cannot do."""
BEGIN, END = "<!-- compiled: begin -->\n", "<!-- compiled: end -->\n"


class Outcome(NamedTuple):
    """What came of a program: `ok`, `refused` by a typed error before it was compiled, `failed` in
    the compiler, or `in part` where that is so of some samples alone."""

    what: str
    message: str = ""


def outcome(fn: Function, platform: str, partition: Any = None) -> Outcome:
    """Compile one program for the platform's topology."""
    count = 1 if partition is None else partition.num_partitions
    devices = described((TOPOLOGIES if count == 1 else OF_EIGHT)[platform]).devices[:count]
    try:
        lowering.compile_function(fn, devices=devices, partition=partition)
    except (MissingRule, NotImplementedError) as e:
        assert platform in str(e), f"the error does not name the platform: {e}"
        return Outcome("refused", str(e))
    except compat.RuntimeFailure as e:
        return Outcome("failed", str(e))
    return Outcome("ok")


def apart(tasks: Sequence[Sequence[str]]) -> Iterator[list[list[str]]]:
    """What `answer` gives for each task, in another process: some compilers end theirs where they
    do not know what to do."""
    left = list(tasks)
    while left:
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.accelerators", "--answer"], cwd=ROOT, text=True,
            env={**os.environ, "XFRONT_CACHE": "0"},   # programs on disk are not compiled
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        assert process.stdin is not None and process.stdout is not None
        for task in left.copy():
            process.stdin.write(f"{json.dumps(task)}\n")
            process.stdin.flush()
            line = process.stdout.readline()
            left.pop(0)
            yield json.loads(line) if line else [["", "failed", "the compiler ends the process"]]
            if not line:
                break
        else:
            process.stdin.close()
        process.wait()


def answer(kind: str, platform: str, *which: str) -> list[list[str]]:
    """Name, outcome and message of each program of a task: `op`, with its name and dtype, or
    `example`, with its file, or `versions`."""
    if kind == "versions":
        return [[versions(platform), "ok", ""]]
    if kind == "op":
        return [[which[0], *compiled_op(which[0], dtypes.named(which[1]), platform)]]
    programs = programs_of(ROOT / "examples" / which[0])
    return [[name, *outcome(fn, platform, partition)] for name, fn, partition in programs]


def serve() -> None:
    """Answer tasks, one a line, until there are no more; what else is printed goes elsewhere."""
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    for line in sys.stdin:
        print(json.dumps(answer(*json.loads(line))), file=out, flush=True)


# --- the op table -------------------------------------------------------------------------

def ops_to_compile() -> list[str]:
    """Those with samples; what a pass takes away before programs are lowered has no rule."""
    return [name for name, row in all_rows().items()
            if row.samples and row.lowered and lookup(name).discharge is None]


def dtypes_of(row: Row) -> list[DType]:
    """Of f32, bf16 and i32 those that the samples take; where none, the first that they take."""
    taken = [dtype for _, dtype in row.cases()]
    return [d for d in DTYPES if d in taken] or [
        next((d for d in taken if d.bits < 64 or d is dtypes.c64), taken[0])]


def compiled_op(name: str, dtype: DType, platform: str) -> Outcome:
    """All samples of an op in one program; where that is not compiled, each alone."""
    row = all_rows()[name]
    programs = [sample.made(name, dtype) for sample, d in row.cases() if d is dtype]
    found = outcome(joined(programs)[0], platform)
    if found.what == "ok" or len(programs) == 1:
        return found
    alone = [outcome(fn, platform) for fn, _ in programs]
    bad = [one for one in alone if one.what != "ok"]
    if len(bad) in (0, len(alone)):
        return bad[0] if bad else found
    return Outcome("in part", f"{len(bad)} of {len(alone)} samples {bad[0].what}: {bad[0].message}")


# --- the examples -------------------------------------------------------------------------

def programs_of(path: Path) -> list[tuple[str, Function, Any]]:
    """The jitted programs that an example compiles, each once, and how each is divided."""
    found: dict[tuple[str, Any], tuple[str, Function, Any]] = {}
    plain = lowering.compile_function

    def noted(function: Function, **how: Any) -> Any:
        if how.get("effort") == "jit":
            name, partition = how.get("name") or function.name, how.get("partition")
            found.setdefault((str(function), partition), (name, function, partition))
        return plain(function, **how)

    lowering.compile_function = noted
    try:
        with redirect_stdout(StringIO()):
            sys.argv, sys.path[0] = [str(path)], str(path.parent)
            runpy.run_path(str(path), run_name="__main__")
    finally:
        lowering.compile_function = plain
    return list(found.values())


# --- the page -----------------------------------------------------------------------------

def versions(platform: str) -> str:
    """Of what compiles for a platform."""
    version = described(TOPOLOGIES[platform]).devices[0].client.platform_version
    return f"jaxlib {compat.JAXLIB_VERSION}, {' '.join(version.split())}"


def first_line(message: str) -> str:
    """What an error says, as a cell of a table."""
    return message.splitlines()[0][:200].replace("|", "/") if message else ""


def run(platform: str, names: Sequence[str], examples: Sequence[Path]) -> Iterator[str]:
    """The lines of a platform, as they come."""
    pairs = [(name, str(d)) for name in names for d in dtypes_of(all_rows()[name])]
    found = apart([["versions", platform], *[["op", platform, *pair] for pair in pairs]])
    yield f"### {TOPOLOGIES[platform]}"
    yield f"\nCompiled with {next(found)[0][0]}.\n"
    count = {"ok": 0, "in part": 0, "refused": 0, "failed": 0}
    rows = []
    for (name, dtype), [(_, what, message)] in zip(pairs, found):
        print(f"{platform} {name} {dtype} {what} {message[:2000]}", file=sys.stderr, flush=True)
        count[what] += 1
        if what != "ok":
            rows.append(f"| `{name}` | {dtype} | {what} | {first_line(message)} |")
    yield (f"Of {len(pairs)} pairs of an operation and a dtype {count['ok']} compile, "
           f"{count['in part']} in part, {count['refused']} are refused, {count['failed']} fail in "
           "the compiler.")
    if rows:
        yield "\n| op | dtype | what | why |\n|---|---|---|---|"
        yield from rows
    if examples:
        yield "\n| example | programs that compile |\n|---|---|"
    for path in examples:
        (made,) = apart([["example", platform, path.name]])
        print(f"{platform} {path.name} {made}"[:2000], file=sys.stderr, flush=True)
        said = "".join(f"; `{name}`: {what}, {first_line(message)}"
                       for name, what, message in made if what != "ok")
        good = sum(what == "ok" for _, what, _ in made)
        yield f"| `{path.name}` | {good} of {len(made)}{said} |"


FOR_CPUS = ("own_kernel.py",)
"""Examples whose programs call C++ that they compile for the CPU."""


def main(words: Sequence[str]) -> None:
    """See the top of the file."""
    if "--answer" in words:
        return serve()
    write = "--write" in words
    known = [w for w in words if not w.startswith("--")]
    platforms = [w for w in known if w in TOPOLOGIES] or [
        p for p in TOPOLOGIES if plugins.library_of(p)]
    names = [w for w in known if w not in TOPOLOGIES]
    examples = [] if names else [path for path in sorted((ROOT / "examples").glob("*.py"))
                                 if path.name not in FOR_CPUS]
    lines = []
    for platform in platforms:
        for line in (*run(platform, names or ops_to_compile(), examples), ""):
            print(line, flush=True)
            lines.append(line)
    if write:
        head, _, rest = PAGE.read_text().partition(BEGIN)
        table = "".join(f"{line}\n" for line in lines)
        PAGE.write_text(f"{head}{BEGIN}{table}{END}{rest.partition(END)[2]}")


if __name__ == "__main__":
    main(sys.argv[1:])
