"""The basis of rows: their registry, clocks, the processes they run in, ratios of two sides.

A row is a function of (jax, jnp): a library with the public API of JAX, and its `numpy`. It returns
seconds (or numbers in its unit), one number or a dict of several. A generator yields them turn by
turn, and the sides alternate after each turn. A row does not know which library it measures.
"""

from __future__ import annotations

import contextlib
import gc
import itertools
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
KERNELS = tuple(
    f"kernels.{family}"
    for family in ("elementwise", "movement", "order", "randomness", "reduction", "convolution",
                   "linear")
)
WORKLOADS = tuple(
    f"workloads.{field}"
    for field in ("sequences", "vision", "graphs", "learning", "agents", "particles", "grids",
                  "inference", "statistics", "optimisation", "discrete", "equations", "signals",
                  "quantum", "finance")
)
GROUPS = (
    *("startup", "eager", "call", "trace", "lower", "transforms", "control", "compiled", "numeric"),
    *("sharding", "unrolled", "fences", *KERNELS, *WORKLOADS),
)

Numbers = float | dict[str, float]
Found = dict[str, Any]
"""A process's answer for one turn: {numbers}, {error}, or {end} if the row has no further turn."""

# Set in the process that runs rows: under --quick, sizes are smaller.
QUICK = False


def scaled(full: int, quick: int) -> int:
    """The size of something: `full`, or `quick` under --quick."""
    return quick if QUICK else full


# --------------------------------------------------------------------------------------------- rows


@dataclass(frozen=True)
class Row:
    """One line of the table, or several lines of one run."""

    group: str
    name: str
    run: Callable[..., Numbers | Iterator[Numbers]]
    unit: str = "s"
    repeats: int | None = None  # the most processes, for rows that take long


ROWS: dict[str, Row] = {}


def row(name: str, unit: str = "s", repeats: int | None = None) -> Callable[[Any], Any]:
    """Registers a function as the row of that name; its module is its group."""

    def register(run: Callable[..., Numbers]) -> Callable[..., Numbers]:
        enter(Row(group_of(run), name, run, unit, repeats))
        return run

    return register


def enter(row: Row) -> None:
    """Registers a row. Raises: ValueError where another row has its name."""
    if row.name in ROWS:
        raise ValueError(f"two rows are called {row.name!r}")
    ROWS[row.name] = row


def group_of(run: Callable[..., Any]) -> str:
    """The module that defines a row, relative to `benchmarks`."""
    return run.__module__.removeprefix("benchmarks.")


def selected(pattern: str) -> list[Row]:
    """The rows whose `group: name` matches the regular expression."""
    return [r for r in ROWS.values() if re.search(pattern, f"{r.group}: {r.name}")]


# ------------------------------------------------------------------------------------------- clocks


def block(x: Any) -> None:
    """Waits for every array in nested tuples, lists and dicts."""
    if isinstance(x, dict):
        x = list(x.values())
    if isinstance(x, tuple | list):
        for y in x:
            block(y)
    elif hasattr(x, "block_until_ready"):
        x.block_until_ready()


def per_call(f: Callable[[], Any], budget: float = 0.3, batches: int = 8) -> float:
    """Seconds of a warm call: the best of several batches; each is timed until its last result."""
    block(f())
    calls, spent = 1, 0.0
    while True:
        start = time.perf_counter()
        out = None
        for _ in range(calls):
            out = f()
        block(out)
        spent = time.perf_counter() - start
        if spent >= budget / batches or calls >= 1_000_000:
            break
        calls = max(calls * 2, int(calls * budget / batches / max(spent, 1e-9)))
    best = spent / calls
    for _ in range(batches - 1):
        start = time.perf_counter()
        for _ in range(calls):
            out = f()
        block(out)
        best = min(best, (time.perf_counter() - start) / calls)
    return best


def once(f: Callable[[], Any], clock: Callable[[], float] = time.perf_counter) -> float:
    """Seconds of one call by a clock, after garbage of earlier calls is collected."""
    gc.collect()
    start = clock()
    block(f())
    return clock() - start


def best_of(make: Callable[[int], Callable[[], Any]], times: int = 3) -> float:
    """The least seconds of first calls: each `make(seed)` gives a call that is new to the library.
    """
    return min(once(make(seed)) for seed in range(times))


def least_in_a_row(f: Callable[[], Any], times: int) -> float:
    """The least seconds of calls one after another, with no garbage collected between them."""
    gc.collect()
    least = float("inf")
    for _ in range(times):
        start = time.perf_counter()
        f()
        least = min(least, time.perf_counter() - start)
    return least


def stages(jax: Any, f: Callable[..., Any], args: tuple[Any, ...]) -> dict[str, float]:
    """Seconds to trace, lower and compile a function, and to run it once it is warm."""
    done: dict[str, Any] = {}
    seconds = {"trace": once(lambda: done.update(at=jax.jit(f).trace(*args)))}
    seconds["lower"] = once(lambda: done.update(at=done["at"].lower()))
    seconds["trace + lower"] = seconds["trace"] + seconds["lower"]
    seconds["compile"] = once(lambda: done.update(at=done["at"].compile()))
    compiled = done["at"]
    seconds["run"] = per_call(lambda: compiled(*args))
    return seconds


def lowering_what_runs(jax: Any, traced: Any) -> Callable[[], Any]:
    """A call that lowers a traced function to the module that is compiled. JAX's `lower` gives that
    module. xfront's gives plain StableHLO; forms and fences for the CPU are added before compiling,
    with the garbage collector paused."""
    if jax.__name__ != "xfront":
        return traced.lower
    import lowering
    from lowering.clients import default_client
    from lowering.forms.extras import extras
    from xfront.base.collector import uncollected
    from xfront_ir.passes.pipeline import simplify

    platform = default_client().platform
    chosen = extras("jit", platform, 1)
    return uncollected(
        lambda: lowering.lower(simplify(traced.ir), platform=platform, extras=chosen)
    )


def compiling(
    jax: Any, f: Callable[..., Any], args: tuple[Any, ...]
) -> tuple[float, Callable[..., Any]]:
    """CPU seconds of compiling on all cores, and the compiled function. Other processes disturb CPU
    seconds less than wall-clock time."""
    lowered = jax.jit(f).lower(*args)
    start = time.process_time()
    compiled = lowered.compile()
    return time.process_time() - start, compiled


def warm_stages(jax: Any, jnp: Any) -> None:
    """Compiles a program, so that no row includes the imports of the first compilation."""
    jax.jit(lambda x: jnp.sum(x * 2.0)).lower(jnp.ones(3)).compile()


# ---------------------------------------------------------------------------------------- processes


@dataclass(frozen=True)
class Side:
    """An interpreter, the name under which it imports a library with the API of JAX, variables of
    its environment, and its own limit on the seconds of a turn (0 for the common one)."""

    python: str
    module: str
    variables: tuple[tuple[str, str], ...] = ()
    limit: float = 0.0

    @classmethod
    def parse(cls, text: str) -> Side:
        """The side that `PYTHON:MODULE` describes. Raises: ValueError for other text."""
        python, colon, module = text.rpartition(":")
        if not colon or not python or not module:
            raise ValueError(f"expected PYTHON:MODULE, got {text!r}")
        return cls(python, module)

    @property
    def name(self) -> str:
        """The name of the side in the table."""
        return " ".join([self.module, *(f"{name}={value}" for name, value in self.variables)])

    def version(self) -> str:
        """The module with its version, and jaxlib's and Python's, for the head of the table."""
        script = (
            f"import sys, {self.module} as m, importlib.metadata as d;"
            "print(m.__name__, getattr(m, '__version__', ''), 'on jaxlib', d.version('jaxlib'),"
            "'and Python %d.%d' % sys.version_info[:2])"
        )
        done = subprocess.run(
            [self.python, "-c", script], capture_output=True, text=True, env=environment(None)
        )
        if done.returncode:
            raise RuntimeError(f"{self.python} cannot import {self.module}:\n{done.stderr}")
        return done.stdout.strip()


def environment(cache: str | None) -> dict[str, str]:
    """The environment of a measured process: it can import the project, and has its own cache."""
    out = ("XFRONT_CACHE", "JAX_COMPIL", "PYTHONDONTWRITEBYTECODE")  # installs have bytecode
    env = {name: value for name, value in os.environ.items() if not name.startswith(out)}
    env["PYTHONPATH"] = os.pathsep.join(filter(None, [str(ROOT), env.get("PYTHONPATH")]))
    if cache is not None:
        env["XFRONT_CACHE_DIR"] = cache
    return env


class Worker:
    """A process of one side that measures rows of one group, one turn for each request."""

    def __init__(self, side: Side, group: str, quick: bool, limit: float) -> None:
        self.side, self.limit = side, side.limit or limit
        self.group, self.quick, self.row = group, quick, ""
        self.cache = tempfile.TemporaryDirectory(prefix="xfront-bench-")
        self.errors = tempfile.TemporaryFile()
        self.process = self.started()

    def started(self) -> subprocess.Popen[str]:
        """A fresh process."""
        script = str(ROOT / "benchmarks" / "run.py")
        command = [self.side.python, script, "--worker", self.side.module]
        return subprocess.Popen(
            [*command, "--group", self.group, *["--quick"] * self.quick],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.errors,
            text=True,
            env=environment(self.cache.name) | dict(self.side.variables),
        )

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *why: object) -> None:
        self.process.kill()
        self.process.communicate()
        self.errors.close()
        self.cache.cleanup()

    def turn(self, row: Row) -> Found:
        """The answer for the next turn of a row. It is an error if the row fails, or if the process
        ends or exceeds its time; then the next row gets a fresh process."""
        if row.name != self.row and self.process.poll() is not None:
            self.process.communicate()
            self.process = self.started()
        self.row = row.name
        late = threading.Timer(self.limit, self.process.kill)
        late.start()
        started = time.monotonic()
        try:
            assert self.process.stdin is not None and self.process.stdout is not None
            self.process.stdin.write(row.name + "\n")
            self.process.stdin.flush()
            for line in self.process.stdout:
                if line.startswith(ANSWER):
                    return json.loads(line.removeprefix(ANSWER))
        except BrokenPipeError:
            pass
        finally:
            late.cancel()
        if time.monotonic() - started >= self.limit:
            return {"error": f"not done in {self.limit:.0f} s"}
        code = self.process.wait()
        self.errors.seek(0)
        return {"error": f"exit {code}: {self.errors.read().decode().strip()[-300:]}"}


ANSWER = "turn: "
"""The beginning of a worker's answers, for a library may print other lines."""


def in_turns(
    sides: list[Side], rows: Iterable[Row], quick: bool, limit: float, reverse: bool = False
) -> Iterator[tuple[Row, list[Found]]]:
    """Runs rows of one group in a fresh process for each side, and yields each row with the answers
    of a turn. The sides run one after the other; in every other turn the second side goes first,
    with `reverse` in the first turn."""
    rows = list(rows)
    with contextlib.ExitStack() as stack:
        workers = [stack.enter_context(Worker(s, rows[0].group, quick, limit)) for s in sides]
        for row in rows:
            for turn in itertools.count(int(reverse)):
                order = list(enumerate(workers))[:: -1 if turn % 2 else 1]
                found = dict((index, worker.turn(row)) for index, worker in order)
                if all("end" in x for x in found.values()):
                    break
                yield row, [found[index] for index in range(len(sides))]
                if not any("numbers" in x for x in found.values()):
                    break


def work(module: str, group: str, quick: bool) -> None:
    """The body of a measuring process: it reads names of rows and answers each with a turn."""
    global QUICK
    QUICK = quick
    args: tuple[Any, ...]
    if group == "startup":
        args = (Side(sys.executable, module),)
    else:
        jax = __import__(module)
        args = (jax, __import__(f"{module}.numpy", fromlist=["numpy"]))
    name, turns = "", iter(())
    for asked in map(str.strip, sys.stdin):
        if asked != name:
            name, turns = asked, turns_of(ROWS[asked], args)
        try:
            found = {"numbers": next(turns)}
        except StopIteration:
            found = {"end": True}
        except Exception as error:
            found = {"error": f"{type(error).__name__}: {str(error)[:200]}"}
        print(ANSWER + json.dumps(found), flush=True)


def turns_of(row: Row, args: tuple[Any, ...]) -> Iterator[dict[str, float]]:
    """Yields the numbers of a row by name, turn by turn."""
    found = row.run(*args)
    for numbers in found if isinstance(found, Iterator) else [found]:
        yield numbers if isinstance(numbers, dict) else {"": numbers}


# -------------------------------------------------------------------------------------------- table


@dataclass
class Line:
    """One line of the result: the numbers of each side by pair of turns, or an error.

    Pairs are numbered. A pair in which one side failed gives no ratio.
    """

    group: str
    name: str
    unit: str
    ours: dict[int, float] = field(default_factory=dict)
    theirs: dict[int, float] = field(default_factory=dict)
    error: str = ""

    def ratios(self) -> list[float]:
        """Theirs over ours, pair by pair: above 1 where ours is faster or smaller."""
        pairs = [i for i in self.ours if i in self.theirs]
        return [self.theirs[i] / self.ours[i] for i in pairs if self.ours[i] > 0]

    def ratios_by_process(self) -> list[float]:
        """The median ratio of each pair of processes, whose turns have consecutive numbers."""
        found: list[list[float]] = []
        last = -2
        for i in sorted(i for i in self.ours if i in self.theirs and self.ours[i] > 0):
            if i > last + 1:
                found.append([])
            found[-1].append(self.theirs[i] / self.ours[i])
            last = i
        return [statistics.median(ratios) for ratios in found]

    def as_json(self) -> dict[str, Any]:
        """The line as a dict, with the least, median and greatest of its ratios."""
        ratios = self.ratios()
        spread = (min(ratios), statistics.median(ratios), max(ratios)) if ratios else None
        return {**self.__dict__, "ratio": spread}


def quantity(values: dict[int, float], unit: str) -> str:
    """The median in the unit that suits its size."""
    if not values:
        return ""
    x = statistics.median(values.values())
    if unit != "s":
        return f"{x:,.0f} {unit}" if abs(x) >= 100 else f"{x:.2f} {unit}"
    for scale, name in ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")):
        if x >= scale:
            return f"{x / scale:.3g} {name}"
    return f"{x / 1e-9:.3g} ns"


def markdown(lines: Iterable[Line], ours: str, theirs: str | None) -> str:
    """The result as a table, without ratios if there is only one side."""
    head = ["row", ours] + ([theirs, "ratio", "min – max"] if theirs else [])
    rows, group = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)], ""
    for line in lines:
        if line.group != group:
            group = line.group
            rows.append(f"| **{group}** |" + " |" * (len(head) - 1))
        cells = [line.name, quantity(line.ours, line.unit)]
        if theirs:
            ratios = line.ratios()
            cells.append(quantity(line.theirs, line.unit))
            cells.append(f"**{statistics.median(ratios):.2f}**" if ratios else "")
            cells.append(f"{min(ratios):.2f} – {max(ratios):.2f}" if ratios else "")
        if line.error:
            cells[1] = (cells[1] + " " + line.error.replace("|", "\\|").replace("\n", " ")).strip()
        rows.append("| " + " | ".join(cells) + " |")
    return "\n".join(rows) + "\n"


def summary(lines: Iterable[Line]) -> str:
    """The geometric mean ratios of running and compiling kernels, and the runs below 0.9."""
    medians = {
        x.name: statistics.median(x.ratios()) for x in lines if x.group in KERNELS and x.ratios()
    }
    if not medians:
        return ""
    compiles = {name: ratio for name, ratio in medians.items() if name.endswith(", compile")}
    runs = {name: ratio for name, ratio in medians.items() if name not in compiles}
    losses = sorted((ratio, name) for name, ratio in runs.items() if ratio < 0.9)
    named = ", ".join(f"{name} {ratio:.2f}" for ratio, name in losses)
    return (
        f"\nKernels: {len(runs)} operations and sizes; geometric mean "
        f"**{statistics.geometric_mean(runs.values()):.2f}**, of compiling "
        f"**{statistics.geometric_mean(compiles.values()):.2f}**. "
        f"Runs below 0.9: {named or 'none'}.\n"
    )


LOST = 1.3
"""A program is lost if it takes more than this many times as long with fences as without."""


def lost_by_fences(lines: Iterable[Line]) -> str:
    """A text with the number of programs of the group `fences` that are lost: they run or compile
    slower with fences in most of the processes that measured them. A program that exceeds its time
    without fences is not lost."""
    measured = [x for x in lines if x.group == "fences" and x.name.endswith((": run", ": compile"))]
    programs = {x.name.rpartition(":")[0] for x in measured if x.ours}
    if not any(x.theirs for x in measured):
        return ""
    losses: list[str] = []
    for line in measured:
        ratios = line.ratios_by_process()
        if sum([ratio < 1 / LOST for ratio in ratios]) * 2 > len(ratios):
            losses.append(f"{line.name} {1 / statistics.median(ratios):.2f}")
    lost = {name.rpartition(":")[0] for name in losses}
    return (
        f"\nFences: {len(programs)} programs, **{len(lost)} lost** "
        f"({100 * len(lost) / len(programs):.1f} %), above {LOST} times the time without: "
        f"{', '.join(losses) or 'none'}.\n"
    )


MARKS = "<!-- results{} -->", "<!-- end of results{} -->"


def put(path: Path, table: str, name: str = "") -> None:
    """Writes the table between the two marks of that name, or as a whole file without marks.

    Raises: ValueError where the file has marks, but none of that name.
    """
    text = path.read_text() if path.exists() else ""
    begin, end = (mark.format(f": {name}" if name else "") for mark in MARKS)
    before, found, rest = text.partition(begin)
    if found:
        _, ended, after = rest.partition(end)
        if not ended:
            raise ValueError(f"{path}: {begin} has no {end} after it")
        table = f"{before}{begin}\n\n{table}\n{end}{after}"
    elif MARKS[0].partition("{")[0] in text:
        raise ValueError(f"{path} has tables, but no mark {begin}")
    path.write_text(table)
