"""The benchmark measures what it says: fresh processes, paired ratios, errors that show."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import xfront as jax
import xfront.numpy as jnp
from benchmarks import harness
from benchmarks.workloads import compare, measured

ROOT = Path(__file__).resolve().parent.parent


def test_ratios_are_paired() -> None:
    """Each ratio comes from one pair: theirs over ours, so above 1 where ours takes less."""
    line = harness.Line("eager", "x", "s", ours={0: 1.0, 1: 2.0, 2: 4.0, 3: 9.0})
    line.theirs = {4: 9.0, 0: 3.0, 1: 4.0, 2: 4.0}  # the last of each has no partner
    assert line.ratios() == [3.0, 2.0, 1.0]
    assert line.as_json()["ratio"] == (1.0, 2.0, 3.0)
    table = harness.markdown([line], "ours", "theirs").splitlines()
    assert table[-1] == "| x | 3 s | 4 s | **2.00** | 1.00 – 3.00 |"


def test_quantities_read_well() -> None:
    """Seconds in the unit that suits them, other units as they are."""
    assert harness.quantity({0: 3.2e-6}, "s") == "3.2 µs"
    assert harness.quantity({0: 0.0125}, "s") == "12.5 ms"
    assert harness.quantity({0: 123456.0}, "bytes") == "123,456 bytes"
    assert harness.quantity({}, "s") == ""


def test_per_call_finds_the_time_of_a_call(monkeypatch: pytest.MonkeyPatch) -> None:
    """The time of one call, by a clock that calls advance: the first by 3 ms, some by 300 and most
    by 200 microseconds."""
    now, calls = 0.0, 0

    def work() -> None:
        nonlocal now, calls
        now += 3e-3 if calls == 0 else 3e-4 if calls < 100 else 2e-4
        calls += 1

    monkeypatch.setattr(harness.time, "perf_counter", lambda: now)
    assert harness.per_call(work, budget=0.05) == pytest.approx(2e-4)
    assert calls > 200


def test_a_side_is_an_interpreter_and_a_module() -> None:
    """PYTHON:MODULE, the last colon dividing."""
    side = harness.Side.parse("/opt/a:b/python:lib")
    assert (side.python, side.module) == ("/opt/a:b/python", "lib")
    for text in ("python", "python:", ":module"):
        with pytest.raises(ValueError, match="PYTHON:MODULE"):
            harness.Side.parse(text)


def test_a_table_goes_between_the_marks_of_a_file(tmp_path: Path) -> None:
    """What stands around the marks stays; a file without them is written whole."""
    page = tmp_path / "page.md"
    begin, end = (mark.format("") for mark in harness.MARKS)
    first, last = (mark.format(": other") for mark in harness.MARKS)
    page.write_text(f"before\n{begin}\nold\n{end}\nbetween\n{first}\n{last}\nafter\n")
    harness.put(page, "new\n")
    harness.put(page, "newer\n")
    harness.put(page, "second\n", "other")
    assert page.read_text() == (
        f"before\n{begin}\n\nnewer\n\n{end}\nbetween\n{first}\n\nsecond\n\n{last}\nafter\n"
    )
    harness.put(tmp_path / "other.md", "new\n")
    assert (tmp_path / "other.md").read_text() == "new\n"


def test_a_file_keeps_tables_of_other_names(tmp_path: Path) -> None:
    """A file with marks is written between them or not at all."""
    page = tmp_path / "page.md"
    begin, end = (mark.format(": other") for mark in harness.MARKS)
    page.write_text(text := f"before\n{begin}\nold\n{end}\n")
    for name in ("", "others"):
        with pytest.raises(ValueError, match="no mark"):
            harness.put(page, "new\n", name)
    page.write_text(unfinished := f"before\n{begin}\nold\n")
    with pytest.raises(ValueError, match="has no <!-- end of results: other -->"):
        harness.put(page, "new\n", "other")
    assert page.read_text() == unfinished != text


def test_kernels_are_summed_up() -> None:
    """Geometric means of the medians of runs and of compiling; losses by name."""
    of = lambda name, theirs: harness.Line("kernels.order", name, "s", {0: 1.0}, {0: theirs})
    lines = [of("sort: 10", 8.0), of("sort: 20", 0.5), of("sort: 10, compile", 3.0)]
    lines.append(harness.Line("eager", "x", "s", {0: 1.0}, {0: 0.1}))
    text = harness.summary(lines)
    assert "2 operations and sizes; geometric mean **2.00**, of compiling **3.00**" in text
    assert "Runs below 0.9: sort: 20 0.50." in text
    assert harness.summary(lines[3:]) == ""


def test_what_fences_lose_is_counted() -> None:
    """A program is lost where it takes 1.3 times as long with fences in most pairs of processes;
    one that is given up without fences has won."""
    of = lambda name, ours, theirs: harness.Line(
        "fences", name, "s", dict(enumerate(ours)), dict(enumerate(theirs)))
    slow = of("a: compile", [], [])
    slow.ours = {0: 2.0, 5: 2.0, 9: 1.0}             # three processes, the last without a loss
    slow.theirs = {0: 1.0, 5: 1.0, 9: 1.0}
    once = of("b: compile", [], [])
    once.ours, once.theirs = {0: 2.0, 5: 1.0, 9: 1.0}, {0: 1.0, 5: 1.0, 9: 1.0}
    turns = of("c: run", [9.0, 1.0, 1.0], [1.0, 1.0, 1.0])
    alone = of("d: run", [1.0], [])
    text = harness.lost_by_fences([slow, once, turns, alone])
    assert "4 programs, **1 lost** (25.0 %)" in text and text.endswith(": a: compile 2.00.\n")
    assert harness.lost_by_fences([alone]) == ""


def test_workloads_that_lose_come_first() -> None:
    """A line for each workload: its step by the least seconds, its first steps by the pairs."""
    of = lambda name, ours, theirs: harness.Line(
        "workloads.grids", name, "s", dict(enumerate(ours)), dict(enumerate(theirs)))
    failed = of("life: of cells", [], [])
    failed.error = "xfront: no"
    lines = [of("a: step", [2.0, 1.0], [4.0, 3.0]), of("a: first step", [1.0], [2.0]),
             of("b, step: step", [2.0], [1.0]), of("b, step: second process", [1.0], [8.0]), failed]
    text = measured.markdown(lines, "xfront", "jax").splitlines()
    assert [line.split(" | ")[0] for line in text[2:5]] == [
        "| life: of cells (grids)", "| b, step (grids)", "| a (grids)"]
    assert text[2].startswith("| life: of cells (grids) | xfront: no |")
    assert text[4] == "| a (grids) | 1 s | 3 s | **3.00** | 1 s | 2 s | **2.00** |  |  |  |"
    assert text[6] == ("Workloads: 3, of which 1 have a step below 0.95. Geometric means: "
                       "step **1.22**, first step **2.00**, second process **8.00**.")


def test_results_of_workloads_are_compared() -> None:
    """Apart by more than rounding, by dtype, by a number that only one has."""
    x = np.linspace(1.0, 2.0, 5, dtype=np.float32)
    assert compare.apart([x], [x * np.float32(1 + 1e-5)]) == ""
    assert "result 0, float32[5]: 0.01" in compare.apart([x * np.float32(1.01)], [x])
    assert "is not" in compare.apart([x], [x.astype(np.float64)])
    whole = np.arange(5)
    assert compare.apart([whole], [whole]) == "" != compare.apart([whole], [whole + 1])
    gone = np.where(x < 1.2, np.nan, x)
    assert compare.apart([gone], [gone]) == "" != compare.apart([gone], [x])
    assert compare.apart("broken", [x]) == "ours: broken"


def test_workloads_can_be_traced() -> None:
    """Each step of each field, with its arguments; nothing is compiled for it."""
    for make, x64 in compare.chosen("").values():
        with measured.bits(jax, x64):
            step, args = make(jax, jnp)
            assert jax.tree.leaves(jax.eval_shape(step, *args))


def bench(*args: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Runs the benchmark."""
    return subprocess.run(
        [sys.executable, str(ROOT / "benchmarks" / "run.py"), *args],
        capture_output=True,
        text=True,
        timeout=300,
        env=os.environ | variables,
    )


def test_every_group_has_rows() -> None:
    """`--list` names rows of each group, and no name twice."""
    names = bench("--list").stdout.splitlines()
    assert {name.partition(":")[0] for name in names} == set(harness.GROUPS)
    assert len(set(names)) == len(names)


def test_a_row_is_compared_with_another_side(tmp_path: Path) -> None:
    """Two sides, one pair of processes: numbers of both, their ratio, the table and the JSON."""
    out = tmp_path / "out.json"
    done = bench(
        *("--quick", "--rows", "^call: .*Python scalar", "--json", str(out)),
        *("--against", f"{sys.executable}:xfront"),
    )
    assert done.returncode == 0, done.stdout + done.stderr
    (line,) = json.loads(out.read_text())["lines"]
    assert 0 < line["ours"]["0"] < 1e-3 and 0 < line["theirs"]["0"] < 1e-3
    low, middle, high = line["ratio"]
    assert low == middle == high == line["theirs"]["0"] / line["ours"]["0"]
    assert "warm jit call, Python scalar" in done.stdout


def test_a_workload_is_measured_in_two_processes(tmp_path: Path) -> None:
    """Its first step, that of a second process, which finds what the first left, and a warm one."""
    out = tmp_path / "out.json"
    done = bench("--quick", "--rows", "rule 110 on packed bits", "--json", str(out))
    assert done.returncode == 0, done.stdout + done.stderr
    lines = json.loads(out.read_text())["lines"]
    first, second, step = (line["ours"][pair] for line, pair in zip(lines, "001", strict=True))
    assert [line["name"].rpartition(": ")[2] for line in lines] == [
        "first step", "second process", "step"]
    assert first > second > step > 0


@pytest.fixture
def recorder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A library `recorder` that keeps a list of what is called, and a row that calls it."""
    monkeypatch.setenv("RECORD", str(tmp_path / "record"))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    (tmp_path / "recorder").mkdir()
    (tmp_path / "recorder" / "numpy.py").write_text("")
    (tmp_path / "recorder" / "__init__.py").write_text(
        "import os, sys\nfrom benchmarks import harness\n\n"
        "def turns(jax, jnp):\n"
        "    for turn in range(int(os.environ['TURNS'])):\n"
        "        with open(os.environ['RECORD'], 'a') as record:\n"
        "            print(os.environ['NAME'], turn, file=record)\n"
        "        if turn == int(os.environ.get('DIES', -1)):\n"
        "            sys.exit('it was its time')\n"
        "        yield {'run': 1.0}\n\n"
        "harness.ROWS['import'] = harness.Row('call', 'import', turns)\n"
    )
    return tmp_path / "record"


def sides(**others: str) -> list[harness.Side]:
    """Two sides that call the recorder, with variables of the second."""
    of = lambda **variables: harness.Side(sys.executable, "recorder", tuple(variables.items()))
    return [of(NAME="a", TURNS="3"), of(**{"NAME": "b", "TURNS": "3"} | others)]


def taken(sides: list[harness.Side], reverse: bool = False) -> list[list[harness.Found]]:
    """What two sides found in the turns of the recorder's row."""
    row = harness.Row("call", "import", lambda: 0.0)
    return [found for _, found in harness.in_turns(sides, [row], False, 60, reverse)]


def test_sides_take_turns(recorder: Path) -> None:
    """At each turn of a row one after the other, in both orders."""
    numbers = {"numbers": {"run": 1.0}}
    assert taken(sides()) == [[numbers, numbers]] * 3
    assert recorder.read_text().split("\n")[:-1] == ["a 0", "b 0", "b 1", "a 1", "a 2", "b 2"]
    recorder.unlink()
    assert taken(sides(), reverse=True) == [[numbers, numbers]] * 3
    assert recorder.read_text().startswith("b 0\na 0\na 1\nb 1\n")


def test_turns_end_where_a_side_does(recorder: Path) -> None:
    """A side with fewer turns says so; one whose process ends gives its last words; the other goes
    on."""
    numbers, end = {"numbers": {"run": 1.0}}, {"end": True}
    assert taken(sides(TURNS="1")) == [[numbers, numbers], [numbers, end], [numbers, end]]
    died = {"error": "exit 1: it was its time"}
    assert taken(sides(DIES="1")) == [
        [numbers, numbers], [numbers, died], [numbers, died], [end, died]]


def test_the_next_row_gets_a_fresh_process(recorder: Path) -> None:
    """Where a process has ended, that row has no more turns; the next row starts another."""
    first, second = (harness.Row("call", name, lambda: 0.0) for name in ("import", "import"))
    dying = harness.Side(sys.executable, "recorder", (("NAME", "a"), ("TURNS", "3"), ("DIES", "0")))
    with harness.Worker(dying, "call", False, 60) as worker:
        assert worker.turn(first) == worker.turn(second) == {"error": "exit 1: it was its time"}
        worker.row = "another"
        worker.turn(first)
    assert recorder.read_text().split("\n")[:-1] == ["a 0", "a 0"]


def test_a_row_that_fails_says_why(tmp_path: Path) -> None:
    """A library that lacks what a row calls: the error stands in the table, the exit code is 1."""
    (tmp_path / "hollow").mkdir()
    (tmp_path / "hollow" / "__init__.py").write_text("")
    (tmp_path / "hollow" / "numpy.py").write_text("")
    done = bench(
        *("--quick", "--rows", "Python scalar", "--ours", f"{sys.executable}:hollow"),
        PYTHONPATH=str(tmp_path),
    )
    assert done.returncode == 1
    assert "hollow: AttributeError" in done.stdout
