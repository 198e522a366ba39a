"""The tests that libraries carry in their source archives, run here and with the library of
reference.

    python tests/ecosystem/suites/run.py optax                   here: `import jax` is xfront
    python tests/ecosystem/suites/run.py optax --python OTHER/python  with the jax package there

Further arguments are files or node ids below the archive's folder, or options of pytest. The
archive is that of the version in requirements.txt. Of each parameterised test `--cases` are run
(6), evenly apart; each has a minute. What came of each case is added to `--lines`, one JSON object
a line; the counts and the failures by what they say are printed.
"""

from __future__ import annotations

import argparse
import collections
import json
import os
import re
import subprocess
import sys
import tarfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
LIBRARIES = {"chex": "chex", "flax": "tests", "numpyro": "test", "optax": "optax"}
"""Where each library's tests are in its archive."""

LEFT_OUT = {
    "flax": ["tests/io_test.py", "tests/tensorboard_test.py"],
    "numpyro": ["test/test_examples.py", "test/test_pickle.py"],
}
"""Files that need what is not installed: TensorFlow, the examples, funsor."""


def version_of(library: str) -> str:
    """The version in requirements.txt."""
    listed = (HERE.parent / "requirements.txt").read_text()
    found = re.search(rf"^{library}==(\S+)$", listed, re.MULTILINE)
    assert found is not None, f"{library} is not in requirements.txt"
    return found[1]


def archive(library: str, folder: Path) -> Path:
    """The unpacked source archive of a library, from PyPI where it is not there yet."""
    unpacked = folder / f"{library}-{version_of(library)}"
    if not unpacked.exists():
        subprocess.run(
            [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary",
             ":all:", "--dest", str(folder), f"{library}=={version_of(library)}"], check=True)
        with tarfile.open(f"{unpacked}.tar.gz") as packed:
            packed.extractall(folder, filter="data")
    return unpacked


def run(library: str, python: str | None, cases: int, lines: Path, folder: Path,
        targets: list[str]) -> None:
    """Run the tests; the lines tell what came of them."""
    root = archive(library, folder)
    start = [python] if python else [sys.executable, "-m", "xfront"]
    here = [str(HERE)] if python else [str(HERE), str(HERE.parents[2])]
    left_out = [f"--ignore={path}" for path in LEFT_OUT.get(library, ())]
    subprocess.run(
        [*start, "-m", "pytest", "-p", "sampled", "-p", "no:cacheprovider", "-q", "--tb=no",
         "-o", "addopts=", "-o", "python_files=*_test.py test_*.py", "--timeout=60",
         "--continue-on-collection-errors", *left_out, *(targets or [LIBRARIES[library]])],
        cwd=root, check=False, env={
            **os.environ, "JAX_PLATFORMS": "cpu", "PYTHONPATH": os.pathsep.join(here),
            "SAMPLED_CASES": str(cases), "SAMPLED_LINES": str(lines)})


def summary(lines: Path) -> str:
    """How many cases passed, and the failures by the first line of what they say."""
    told = [json.loads(line) for line in lines.read_text().splitlines()]
    last = {line["case"]: line for line in told}
    counts = collections.Counter(line["outcome"] for line in last.values())
    causes: dict[str, list[str]] = collections.defaultdict(list)
    for case, line in last.items():
        if line["outcome"] in ("failed", "unreadable"):
            causes[f"{line['kind']}: {line['said'].strip().splitlines()[:1]}"].append(case)
    shown = [f"{len(found)} {cause}\n" + "\n".join(f"    {case}" for case in found)
             for cause, found in sorted(causes.items(), key=lambda entry: -len(entry[1]))]
    return "\n".join([str(dict(counts)), *shown])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("library", choices=sorted(LIBRARIES))
    parser.add_argument("--python", help="an interpreter with the jax package")
    parser.add_argument("--cases", type=int, default=6)
    parser.add_argument("--lines", type=Path, default=None)
    parser.add_argument("--archives", type=Path, default=Path(".suites"))
    given, targets = parser.parse_known_args()
    lines = (given.lines or given.archives / f"{given.library}.jsonl").resolve()
    lines.parent.mkdir(parents=True, exist_ok=True)
    run(given.library, given.python, given.cases, lines, given.archives.resolve(), targets)
    print(summary(lines))
