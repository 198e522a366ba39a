"""Plants faults one at a time and looks whether the tests of their room notice.

    make mutants                      400 of them; MUTANTS=60 SEED=2 select others
    python -m tests.mutants RECORD [--mutants 400] [--seed 0] [--workers 2] [--seconds 30]

RECORD says which tests run which lines (`record.py`). A mutant is tried against the tests that run
its lines, the quickest first, until one fails, then against others that run its file; each time of
more tests than take `--seconds` the quickest.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import defaultdict
from pathlib import Path

import pytest

from tests.mutants.equivalent import EQUIVALENT
from tests.mutants.mutants import Mutant, draw
from tests.mutants.trying import Trying

TABLE = "tests/xfront_ir/test_op_table.py"
TESTS = {"xfront_ir": ("tests/xfront_ir/",), "lowering": ("tests/lowering/", TABLE)}
"""The tests of a room, those that drive it by a table among them."""
OF_NAMES = {"xfront_ir": (), "lowering": (
    "tests/lowering/cpu/test_measured.py::test_numbers_are_those_that_were_measured",
    "tests/lowering/cpu/test_inspection.py::test_the_table_of_the_documentation_is_theirs")}
"""Tests that look at what a module has once it is imported, and so run none of its lines."""


def main() -> int:
    """Prints survivors and the rate."""
    parser = argparse.ArgumentParser()
    parser.add_argument("record", type=Path, nargs="+")
    parser.add_argument("--mutants", type=int, default=400)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--at", nargs="*", help="only mutants whose FILE:LINE begins so")
    options = parser.parse_args()

    seconds: dict[str, float] = {}
    lines: dict[str, dict[int, set[str]]] = defaultdict(lambda: defaultdict(set))
    for path in options.record:
        record = json.loads(path.read_text())
        tests = [test for test, _ in record["tests"]]
        seconds |= dict(record["tests"])
        for source, by_line in record["lines"].items():
            for line, numbers in by_line.items():
                lines[source][int(line)] |= {tests[n] for n in numbers}

    def chosen(mutant: Mutant) -> list[str]:
        """Tests that run the lines, then others that run any of the file: what one test computes
        and keeps, others do not run."""
        by_line = lines[mutant.path]
        own = TESTS[mutant.path.partition("/")[0]]
        taken = dict.fromkeys(OF_NAMES[mutant.path.partition("/")[0]])
        for among in (mutant.lines, list(by_line)):
            found = {t for line in among for t in by_line[line] if t.startswith(own)}
            total = 0.0
            for test in sorted(found.difference(taken), key=lambda test: (seconds[test], test)):
                total += seconds[test]
                if total > options.seconds and taken:
                    break
                taken[test] = None
        return list(taken)

    mutants = draw(options.mutants, options.seed)
    if options.at:
        mutants = [m for m in mutants if f"{m.path}:{m.lines.start}".startswith(tuple(options.at))]
    found: dict[str, list[Mutant]] = defaultdict(list)
    for mutant in mutants:
        known = (mutant.path, mutant.before, mutant.after) in EQUIVALENT
        found["equivalent" if known else "tried"].append(mutant)
    mutants = found.pop("tried", [])
    jobs = [(mutant, chosen(mutant), 60 + 10 * options.seconds) for mutant in mutants]
    start = time.time()

    def report(number: int, what: str) -> None:
        found[what].append(mutants[number])
        done = sum(map(len, found.values())) - len(found["equivalent"])
        at = f"{done}/{len(mutants)} {time.time() - start:.0f} s"
        print(at, what, mutants[number], flush=True)

    arguments = ["-q", "-p", "no:cacheprovider", "-s", "tests/xfront_ir", "tests/lowering"]
    pytest.main(arguments, plugins=[Trying(jobs, options.workers, report)])
    for mutant in found["survived"]:
        print("survived", mutant)
    tried, caught = len(mutants), len(found["caught"]) + len(found["timed out"])
    print(f"{caught} of {tried} caught ({100 * caught / max(tried, 1):.1f} %), of which "
          f"{len(found['timed out'])} ran out of time; {len(found['equivalent'])} are equivalent")
    return caught < 0.9 * tried


if __name__ == "__main__":
    sys.exit(main())
