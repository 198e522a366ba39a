"""Search for programs that are compiled wrongly.

    python -m tests.compiled                         2,000 programs, others every day
    python -m tests.compiled --programs 500 --seed 7
    python -m tests.compiled --minutes 60 --workers 1
    python -m tests.compiled --where devices         those alone that run on several devices
    python -m tests.compiled --seed 17 --show        one program as text, without running it

Each finding is printed with its seed and a program to paste; in the end the kinds and their counts.
The exit status says whether there were any.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import math
import sys
import time

from .environments import Environment, environment
from .search import Finding, Search, blocks
from .worker import program_of


def main() -> int:
    """Read the command line and search."""
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", type=int, help="how many; 2,000 unless minutes are given")
    parser.add_argument("--minutes", type=float, default=math.inf)
    parser.add_argument("--seed", type=int, help="the first seed")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--where", type=str.upper, choices=[e.name for e in Environment])
    parser.add_argument("--show", action="store_true")
    given = parser.parse_args()
    seed = int(time.time() // 86400) * 1_000_000 if given.seed is None else given.seed
    if given.show:
        print(environment(seed).value, program_of(seed), sep="\n")
        return 0
    count = given.programs
    if count is None and math.isinf(given.minutes):
        count = 2000
    print(f"jaxlib {importlib.metadata.version('jaxlib')}, from seed {seed}", flush=True)
    chosen = blocks(seed, count, Environment[given.where] if given.where else None)
    search = Search(chosen, given.workers, time.monotonic() + 60 * given.minutes, _say)
    search.run()
    print(f"\n{search.programs} programs from seed {seed}, "
          f"{sum(map(len, search.known.values()))} findings of {len(search.known)} kinds")
    for kind, found in sorted(search.known.items(), key=lambda item: -len(item[1])):
        print(f"{len(found):5}  {kind}  (seeds {', '.join(str(f.seed) for f in found[:5])})")
    return 1 if search.known else 0


def _say(finding: Finding) -> None:
    print(f"\n--- {finding.kind}\n{finding}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
