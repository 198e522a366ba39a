"""The tests that libraries carry in their source archives, run here, and how many of those that
pass with the library of reference pass.

    python tests/ecosystem/suites/run.py optax chex flax numpyro      here: `import jax` is xfront
    python tests/ecosystem/suites/run.py optax --go-on --minutes 10   a part, then the next one
    python tests/ecosystem/suites/run.py optax --python OTHER/python --record

It runs in the environment of `make ecosystem`; optax's tests need scikit-learn there as well.
Files below the archive's folder, after `--`, select tests. The archive is that of the version in
requirements.txt, from PyPI. What came of each case is in `.suites/`, a JSON object a line; each has
two minutes.

With `--python`, an interpreter with the jax package and the same libraries, the tests run there: of
each parameterised test `--cases` (6), evenly apart from the first to the last. `--record` writes
what came of them to `recorded/`. Without, the cases that passed there are run here, and no others,
and those that fail or that are not found are told. `failures.toml` says why a case fails here that
passes there. The exit status is 1 where less than 95 % of them pass or one fails without a reason.
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
import tomllib
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).resolve().parent


class Suite(NamedTuple):
    """Where a library's tests are in its archive, and the files that need what is not installed."""

    folder: str
    left_out: tuple[str, ...] = ()


SUITES = {
    "chex": Suite("chex"),
    "flax": Suite("tests", ("tests/io_test.py", "tests/tensorboard_test.py")),  # TensorFlow
    "numpyro": Suite("test", ("test/test_examples.py", "test/test_pickle.py")),  # funsor
    "optax": Suite("optax"),
}
PASSED, WANTED = "passed", 0.95


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


def run(library: str, python: str | None, lines: Path, minutes: float, chosen: dict[str, str],
        targets: list[str]) -> None:
    """Run the tests that have no line yet; their lines tell what came of them."""
    folder = lines.parent
    suite, root = SUITES[library], archive(library, folder)
    start = [python] if python else [sys.executable, "-m", "xfront"]
    here = [str(HERE)] if python else [str(HERE), str(HERE.parents[2])]
    left_out = [f"--ignore={path}" for path in suite.left_out]
    own = "[tool.pytest." in (root / "pyproject.toml").read_text()   # else of a folder above it
    settings = [f"--rootdir={root}", *([] if own else ["-c", os.devnull])]
    subprocess.run(
        [*start, "-m", "pytest", "-p", "sampled", "-p", "no:cacheprovider", "-q", "--tb=no",
         "--no-summary", "-o", "addopts=", "-o", "python_files=*_test.py test_*.py",
         "--timeout=120", "--continue-on-collection-errors", *settings, *left_out,
         *(targets or [suite.folder])],
        cwd=root, check=False, env={
            **os.environ, "JAX_PLATFORMS": "cpu", "PYTHONPATH": os.pathsep.join(here),
            "SAMPLED_LINES": str(lines), "SAMPLED_MINUTES": str(minutes), **chosen})


def outcomes(lines: Path) -> dict[str, dict[str, str]]:
    """The last line of each case."""
    told = [json.loads(line) for line in lines.read_text().splitlines()] if lines.exists() else []
    return {line["case"]: line for line in told}


# --- what came of them with the library of reference ----------------------------------------------

def write_record(library: str, found: dict[str, dict[str, str]], cases: int, python: str) -> None:
    """Write the cases of each file and what came of them, with nothing before those that passed."""
    asked = "import jax, platform; print('jax', jax.__version__, 'on', platform.python_version())"
    there = subprocess.check_output([python, "-c", asked], text=True).strip()
    text = [f"# {library} {version_of(library)} with {there}: at most {cases} cases of each "
            "parameterised test,",
            f"# by `run.py {library} --cases {cases} --python OTHER/python --record`"]
    for file in sorted({case.split("::")[0] for case in found}):
        text.append(file)
        text += [f"  {line['outcome'] * (line['outcome'] != PASSED)} {case.removeprefix(file)}"
                 for case, line in sorted(found.items()) if case.split("::")[0] == file]
    (HERE / "recorded" / f"{library}.txt").write_text("\n".join(text) + "\n")


def passed_there(library: str) -> list[str]:
    """The cases that pass by what `write_record` wrote."""
    cases, file = [], ""
    for line in (HERE / "recorded" / f"{library}.txt").read_text().splitlines():
        if not line.startswith(("#", " ")):
            file = line
        elif line.startswith("   "):
            cases.append(file + line.strip())
    return cases


# --- how that compares ----------------------------------------------------------------------------

def reasons(library: str) -> dict[str, str]:
    """Why a case fails here, by its id; one that ends in `*` is the beginning of several."""
    listed = tomllib.loads((HERE / "failures.toml").read_text())
    return {case: group["why"] for group in listed.get(library, ()) for case in group["cases"]}


def reason(case: str, known: dict[str, str]) -> str | None:
    """Why that case fails, or None."""
    return next((why for name, why in known.items()
                 if case == name or name.endswith("*") and case.startswith(name[:-1])), None)


def compare(library: str, found: dict[str, dict[str, str]], wanted: list[str]) -> bool:
    """Tell how many of the cases that pass there pass here, and why others do not; whether that is
    enough, and nothing without a reason."""
    absent = {"outcome": "absent", "kind": "", "said": "not run, or not found here"}
    failed = {case: found.get(case, absent) for case in wanted
              if found.get(case, absent)["outcome"] != PASSED}
    share = (len(wanted) - len(failed)) / max(1, len(wanted))
    print(f"{library} {version_of(library)}: {len(wanted) - len(failed)} of {len(wanted)} cases "
          f"that pass with the jax package pass here ({share:.1%})")
    known, told = reasons(library), collections.defaultdict(list)
    for case, line in failed.items():
        told[reason(case, known)].append((case, line))
    for why, cases in told.items():
        print(f"  {len(cases)}: {why or 'without a reason in failures.toml'}")
        for case, line in cases:
            print(f"    {case}" + ("" if why else f"\n      {line['kind']}: {line['said'][:300]}"))
    for case in known:
        if case in wanted and case not in failed:
            print(f"  passes, and failures.toml lists it: {case}")
    return share >= WANTED and None not in told


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("libraries", nargs="+", choices=sorted(SUITES))
    parser.add_argument("--python", help="an interpreter with the jax package")
    parser.add_argument("--record", action="store_true", help="write what does not pass there")
    parser.add_argument("--cases", type=int, default=6, help="of a parameterised test, to record")
    parser.add_argument("--go-on", action="store_true", help="run what was not run yet")
    parser.add_argument("--minutes", type=float, default=0.0, help="stop then; 0: run all")
    parser.add_argument("--folder", type=Path, default=Path(".suites"))
    split = sys.argv.index("--") if "--" in sys.argv else len(sys.argv)
    given, files = parser.parse_args(sys.argv[1:split]), sys.argv[split + 1:]
    folder = given.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    enough = True
    for library in given.libraries:
        lines = folder / f"{library}-{'there' if given.python else 'here'}.jsonl"
        if not given.go_on:
            lines.unlink(missing_ok=True)
        if given.python:
            run(library, given.python, lines, given.minutes,
                {"SAMPLED_CASES": str(given.cases)}, files)
            if given.record:
                write_record(library, outcomes(lines), given.cases, given.python)
            continue
        wanted = [case for case in passed_there(library)
                  if not files or case.split("::")[0] in files]
        (asked := folder / f"{library}-asked.txt").write_text("\n".join(wanted))
        run(library, None, lines, given.minutes, {"SAMPLED_ASKED": str(asked)},
            sorted({case.split("::")[0] for case in wanted}))
        enough = compare(library, outcomes(lines), wanted) and enough
    sys.exit(not enough)
