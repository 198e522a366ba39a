"""Measures xfront, alone or against another library of the same API under another interpreter.

    python benchmarks/run.py --against /path/to/python:jax --rows 'eager|call' --markdown out.md

Both sides run in fresh processes and take turns. docs/performance.md says how to read the result.
"""

from __future__ import annotations

import argparse
import dataclasses
import importlib
import itertools
import json
import sys
from pathlib import Path

sys.path[0] = str(Path(__file__).resolve().parent.parent)  # rows import as benchmarks.<group>

from benchmarks import harness  # noqa: E402
from benchmarks.workloads import measured as workloads  # noqa: E402

UNFENCED_LIMIT = 20.0
"""The most seconds of a turn without fences; a longer turn is given up, and fences have won."""

FENCED_LIMIT = 60.0
"""The most seconds of a turn with fences, for programs that neither side compiles in time."""


def parse(argv: list[str] | None = None) -> argparse.Namespace:
    """The parsed command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument(
        "--against", metavar="PYTHON:MODULE", help="the other side; none by default"
    )
    parser.add_argument("--ours", metavar="PYTHON:MODULE", default=f"{sys.executable}:xfront")
    parser.add_argument("--rows", metavar="PATTERN", default="", help="regular expression of names")
    parser.add_argument("--repeats", type=int, default=5, help="pairs of processes (5)")
    parser.add_argument("--quick", action="store_true", help="smaller programs, one pair")
    parser.add_argument("--limit", type=float, default=600, help="seconds a turn may take (600)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every number")
    parser.add_argument(
        "--markdown",
        type=Path,
        metavar="FILE",
        help="write the table, or put it between a file's marks",
    )
    parser.add_argument("--table", metavar="NAME", default="", help="which of the file's tables")
    parser.add_argument(
        "--forms",
        action="store_true",
        help="compare with the plain rules (XFRONT_CPU_FORMS=0); rows of kernels by default",
    )
    parser.add_argument("--list", action="store_true", help="name the rows and stop")
    for internal in ("--worker", "--group"):
        parser.add_argument(internal, help=argparse.SUPPRESS)
    return parser.parse_args(argv)


def measure(
    sides: list[harness.Side], rows: list[harness.Row], repeats: int, quick: bool, limit: float
) -> list[harness.Line]:
    """The lines of all rows, measured on all sides in `repeats` pairs of processes."""
    lines: dict[tuple[str, str], harness.Line] = {}
    pairs = itertools.count()
    for group, members in itertools.groupby(rows, key=lambda r: r.group):
        members = list(members)
        for repeat in range(repeats):
            due = [r for r in members if r.repeats is None or repeat < r.repeats]
            if not due:
                break
            print(f"{group} {repeat + 1}/{repeats}", file=sys.stderr, flush=True)
            for row, found in harness.in_turns(sides, due, quick, limit, bool(repeat % 2)):
                pair = next(pairs)
                for index, of_side in enumerate(found):
                    add(lines, row, of_side, index, sides[index].name, pair)
    return list(lines.values())


def add(
    lines: dict[tuple[str, str], harness.Line],
    row: harness.Row,
    found: harness.Found,
    index: int,
    side: str,
    pair: int,
) -> None:
    """Adds one side's answer for a turn of a row to the lines, unless its turns have ended."""
    if "end" in found:
        return
    for label, number in found.get("numbers", {"": None}).items():
        name = f"{row.name}: {label}" if label else row.name
        line = lines.setdefault((row.name, label), harness.Line(row.group, name, row.unit))
        if number is None:
            line.error = f"{side}: {found['error']}"
        else:
            (line.theirs if index else line.ours)[pair] = number


def main(argv: list[str] | None = None) -> int:
    """Runs the command line. Returns 1 if a row of our side gave no number, else 0."""
    args = parse(argv)
    for group in [args.group] if args.worker else harness.GROUPS:
        importlib.import_module(f"benchmarks.{group}")
    if args.worker:
        harness.work(args.worker, args.group, args.quick)
        return 0
    rows = harness.selected(args.rows or ("^kernels" if args.forms else ""))
    if args.list:
        print(*(f"{row.group}: {row.name}" for row in rows), sep="\n")
        return 0
    sides = [harness.Side.parse(text) for text in filter(None, [args.ours, args.against])]
    if args.forms:
        sides[1:] = [dataclasses.replace(sides[0], variables=(("XFRONT_CPU_FORMS", "0"),))]
    if not args.against and {row.group for row in rows} == {"fences"}:
        sides[1:] = [dataclasses.replace(
            sides[0], variables=(("XFRONT_CPU_FENCES", "0"),), limit=UNFENCED_LIMIT)]
        args.limit = min(args.limit, FENCED_LIMIT)
    versions = [side.version() for side in sides]
    repeats = 1 if args.quick else args.repeats
    lines = measure(sides, rows, repeats, args.quick, args.limit)
    names = [side.name for side in sides]
    if len(set(names)) < len(names):
        names[1] += " (other)"
    wholes = [line for line in lines if line.group in harness.WORKLOADS] if len(names) > 1 else []
    others = [line for line in lines if line not in wholes]
    table = workloads.markdown(wholes, names[0], names[1]) if wholes else ""
    if others:
        table += harness.markdown(others, names[0], names[1] if len(names) > 1 else None)
    table = " against ".join(versions) + f"; at most {repeats} pairs of processes.\n\n" + table
    table += harness.summary(lines) + harness.lost_by_fences(lines)
    print(table)
    if args.markdown:
        harness.put(args.markdown, table, args.table)
    if args.json:
        content = {"sides": versions, "lines": [line.as_json() for line in lines]}
        args.json.write_text(json.dumps(content, indent=1) + "\n")
    of_theirs = tuple(f"{side.name}:" for side in sides[1:] if side.name != sides[0].name)
    return int(any(not line.ours and not line.error.startswith(of_theirs) for line in lines))


if __name__ == "__main__":
    sys.exit(main())
