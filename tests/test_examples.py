"""Each example runs, as a user would start it, and does what it says."""

from __future__ import annotations

import ast
import importlib.util
import re
import shutil
import struct
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import xfront as jax
from lowering import plugins

ROOT = Path(__file__).resolve().parent.parent
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))


def run(name: str, *args: str) -> str:
    """What the example prints when it is started from elsewhere."""
    done = subprocess.run(
        [sys.executable, str(ROOT / "examples" / name), *args],
        capture_output=True,
        text=True,
        cwd=ROOT.parent,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert not done.stderr, done.stderr
    return done.stdout


def load(name: str) -> ModuleType:
    """The example as a module."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "examples" / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_example_has_a_test() -> None:
    """The names of the examples occur in this file."""
    here = Path(__file__).read_text()
    assert EXAMPLES
    assert not [path.name for path in EXAMPLES if f"test_{path.stem}" not in here]


def test_digits_are_read() -> None:
    """At least 96 % of the held-out digits, in under a minute, with the confusion as a table."""
    text = run("digits.py")
    reached = re.search(r"reads ([\d.]+)% of the held-out scans after ([\d.]+) s", text)
    assert reached, text
    assert float(reached[1]) >= 96.0
    assert float(reached[2]) < 60.0
    rows = re.findall(r"^  \d  \|((?: +[\d.]+){10})$", text, re.MULTILINE)
    counts = np.array([[0 if n == "." else int(n) for n in row.split()] for row in rows])
    assert counts.shape == (10, 10)
    assert counts.sum() == 359
    assert f"{np.trace(counts) / counts.sum():.1%}" == f"{reached[1]}%"


def test_digits_data_is_whole() -> None:
    """1,797 scans of 64 pixels from 0 to 1, every digit among them, none in both parts."""
    digits, test = load("digits").load()
    assert (len(digits.labels), len(test.labels)) == (1438, 359)
    images = np.concatenate([digits.images, test.images])
    assert images.shape == (1797, 64) and images.min() == 0.0 and images.max() == 1.0
    counts = np.bincount(np.concatenate([digits.labels, test.labels]))
    np.testing.assert_array_equal(counts, [178, 182, 177, 183, 181, 182, 181, 179, 174, 180])


def test_digits_adam_steps_as_published() -> None:
    """One step of Adam moves each weight by the rate, against the sign of its slope."""
    digits = load("digits")
    params = [{"w": np.zeros(3, np.float32)}]
    slopes = [{"w": np.array([2.0, -0.5, 1e-3], np.float32)}]
    state = digits.Adam(0.0, params, params)
    moved, state = digits.adam(params, slopes, state, rate=0.1)
    np.testing.assert_allclose(moved[0]["w"], [-0.1, 0.1, -0.1], rtol=1e-3)
    assert float(state.count) == 1.0


@pytest.mark.parametrize("args", [(), ("--full",)])
def test_inspect_program_shows_every_stage(args: tuple[str, ...]) -> None:
    """IR, StableHLO, optimised HLO and costs; the step it runs lowers the loss."""
    text = run("inspect_program.py", *args)
    assert re.search(r"^func @", text, re.MULTILINE)
    assert "func.func public @main" in text
    assert re.search(r"^ENTRY ", text, re.MULTILINE)
    assert ("--full shows them" in text) == (not args)
    flops = re.search(r"flops: +([\d,]+)", text)
    assert flops and int(flops[1].replace(",", "")) > 2 * 32 * 16 * 4
    before, after = map(float, re.findall(r"from ([\d.]+) to ([\d.]+[\d])", text)[-1])
    assert after < before


def test_edit_ir_runs_the_changed_program() -> None:
    """The edited text computes what it says, has a derivative, and a wrong type is refused."""
    assert "tanh" in run("edit_ir.py")
    found = load("edit_ir").main()
    x = np.array([0.5, 1.0, 1.5], np.float32)
    np.testing.assert_allclose(found["wave"], np.sum(np.sin(x) * x), rtol=1e-5)
    np.testing.assert_allclose(found["changed"], np.sum(np.tanh(x) * x), rtol=1e-5)
    slope = np.tanh(x) + x * (1 - np.tanh(x) ** 2)
    np.testing.assert_allclose(found["slope"], slope, rtol=1e-5)
    assert "f32[4]" in str(found["refused"])


def test_rnn_learns_parity() -> None:
    """All parities of unseen rows, and of rows five times as long as those it learned from."""
    text = run("rnn.py")
    unseen = re.findall(r"unseen rows +([\d.]+)%", text)
    longer = re.search(r"rows of 120 bits: ([\d.]+)% right", text)
    assert float(unseen[0]) < 70.0 < 99.0 < float(unseen[-1])
    assert longer and float(longer[1]) > 99.0


def test_neural_ode_has_the_exact_gradient_and_finds_the_parameters() -> None:
    """Position and slopes as in closed form; decay and frequency found from observations."""
    text = run("neural_ode.py")
    pairs = re.findall(r": (-?[\d.]+), exact (-?[\d.]+)", text)
    assert len(pairs) == 3
    for found, exact in pairs:
        assert abs(float(found) - float(exact)) < 1e-4
    found = re.search(r"found within ([\d.e-]+) after", text)
    assert found and float(found[1]) < 1e-3


def test_fixed_point_gradients_are_those_of_the_books() -> None:
    """Kepler's equation and a linear system against closed forms; a layer reaches its target."""
    text = run("fixed_point.py")
    errors = re.search(r"largest error: orbit ([\d.e-]+), linear system ([\d.e-]+)", text)
    assert errors and float(errors[1]) < 1e-5 and float(errors[2]) < 1e-4
    distances = [float(x) for x in re.findall(r"squared distance ([\d.e+-]+)", text)]
    assert distances[0] > 0.1 and distances[-1] < 1e-3


def test_fixed_point_gradient_saves_nothing_of_the_search() -> None:
    """The gradient through a search of hundreds of steps holds no array that grows with them."""
    example = load("fixed_point")

    def eccentric(m: float) -> object:
        return example.fixed_point(example.kepler, (m, 0.9), m)

    program = str(jax.make_jaxpr(jax.grad(eccentric))(0.3))
    assert "while" in program and "f32[500" not in program


def test_hmc_samples_have_the_moments_of_the_density() -> None:
    """Three means and six covariances, each within four of its own standard errors."""
    text = run("hmc.py")
    off = [float(x) for x in re.findall(r"([+-][\d.]+) standard errors", text)]
    assert len(off) == 9 and max(map(abs, off)) < 4.0
    errors = re.search(r"those of the means are at most ([\d.]+)", text)
    assert errors and float(errors[1]) < 0.02


def test_convnet_reads_the_digits() -> None:
    """At least 98 % of the held-out digits, in under a minute, from one half at the start."""
    text = run("convnet.py")
    reached = re.search(r"reads ([\d.]+)% of the held-out scans after ([\d.]+) s", text)
    assert reached and float(reached[1]) >= 98.0 and float(reached[2]) < 60.0
    losses = [float(x) for x in re.findall(r"loss ([\d.]+)", text)]
    assert losses[-1] < 0.1 * losses[0]


def blocks(text: str, language: str) -> list[str]:
    """The fenced blocks of a language in a Markdown text."""
    found = re.findall(r"^```(\w*)\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    return [block for name, block in found if name == language]


@pytest.mark.parametrize("page", ["export", "hijax", "programs", "refs"])
def test_code_of_a_page_runs(page: str) -> None:
    """The blocks of a page, one after another, with the assertions in them."""
    text = (ROOT / "docs" / f"{page}.md").read_text()
    names: dict[str, object] = {}
    for source in blocks(text, "python"):
        exec(compile(source, page, "exec"), names)
    if page == "programs":
        assert str(names["closed"]) == blocks(text, "")[0].strip()


def test_leave_the_process_trains_on_in_another_one() -> None:
    written, read = run("leave_the_process.py").splitlines()
    losses = [float(x) for x in re.findall(r"loss ([0-9.]+)|, and ([0-9.]+)", read)[0] if x]
    first = float(written.rpartition(" ")[2])
    after = float(re.findall(r"and ([0-9.]+) after", read)[0])
    assert written.startswith("written: model for cpu, tpu, cuda")
    assert losses[0] == first and after < first < 0.02


def test_own_operations_inverts_and_fits() -> None:
    """The inverse is found to rounding, the line through the points without the outliers."""
    text = run("own_operations.py")
    error = re.search(r"largest error ([\d.e-]+)", text)
    line = re.search(r"outliers: ([\d.]+) x \+ ([\d.]+)", text)
    assert error and float(error[1]) < 1e-5
    assert line and abs(float(line[1]) - 2) < 0.05 and abs(float(line[2]) - 1) < 0.1
    assert "huber[delta=1.0]" in text


def test_readme_example_prints_what_the_readme_says() -> None:
    """The README's twenty lines give the output that stands below them."""
    readme = (ROOT / "README.md").read_text()
    example = readme[readme.index("<!-- example -->") :]
    source = blocks(example, "python")[0]
    ast.parse(source)
    printed = blocks(example[example.index("<!-- output -->") :], "")[0]
    done = subprocess.run(
        [sys.executable, "-c", source], capture_output=True, text=True, cwd=ROOT, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == printed.split()


def test_many_devices_learn_what_one_does() -> None:
    """The hidden layer is divided, two sums cross devices at each step, and the numbers agree."""
    text = run("many_devices.py")
    assert "| CPU 0,2,4,6 | CPU 1,3,5,7 |" in text
    assert "exchanges in a step: {'all-reduce': 2}" in text
    found = re.search(r"at first ([\d.]+), at last ([\d.]+) \(alone ([\d.]+)\); parameters differ "
                      r"by at most ([\de.-]+)", text)
    assert found, text
    assert float(found[2]) < 0.6 * float(found[1]) and float(found[4]) < 1e-5


def test_save_shards_restores_on_other_meshes() -> None:
    """A file for each part that differs; the same numbers on meshes of other shapes, which learn on
    alike."""
    text = run("save_shards.py")
    assert "11 files for 769 numbers, the largest with 256" in text    # 2 of `in`, 8 of `out`
    assert "restored as saved: True" in text
    assert "parts of `out` before and after: (16, 2) (8, 4)" in text
    ends = [float(end) for end in re.findall(r"0\.\d{5}", text)]
    assert len(ends) == 3
    np.testing.assert_allclose(ends, ends[0], atol=2e-5)


def test_three_ways_to_divide_give_the_losses_of_one_device() -> None:
    """By examples, by hidden units and by layers: the losses fall, and are the same."""
    rows = [line.split() for line in run("three_ways_to_divide.py").splitlines()]
    losses = np.array([row[-5:] for row in rows], float)
    assert losses.shape == (4, 5) and losses[0, -1] < 0.5 * losses[0, 0]
    np.testing.assert_allclose(losses, np.tile(losses[0], (4, 1)), rtol=1e-4)


def exchanged(text: str) -> dict[tuple[str, str], dict[str, int]]:
    """By way and writing, how many arrays of each kind cross devices."""
    rows = re.findall(r"^(data|tensor|fsdp|pipeline) +(jit|shard_map|pmap) .*(\{.*\})$", text, re.M)
    return {(way, written): ast.literal_eval(kinds) for way, written, kinds in rows}


def assert_exchanges_are_those_of_the_way(
        found: dict[tuple[str, str], dict[str, int]]) -> None:
    """Sums are all-reduces, or reduce-scatters where parts of them are wanted. The letters are
    used at both ends, and may be summed or gathered for each; a sum of parts of the loss by itself
    is one more than the compiler needs."""
    assert len(found) == 12
    for (way, written), kinds in found.items():
        sums = kinds.pop("all-reduce", 0) + kinds.pop("reduce-scatter", 0)
        gathers, permutes = kinds.pop("all-gather", 0), kinds.pop("collective-permute", 0)
        assert not kinds, (way, written, kinds)
        expected: tuple[object, object, object] = {
            "data": ((6, 7), (0,), (0,)),         # slopes of five weights and the loss
            "tensor": ((4, 5, 6), (0,), (0,)),    # twice a layer, there and back; letters, loss
            "fsdp": ((6, 7), (9, 10), (0,)),      # weights of a layer there, back, and the letters
            "pipeline": ((2, 3), (0,), (2,)),     # onwards and back; what leaves, letters, loss
        }[way]
        for count, allowed in zip((sums, gathers, permutes), expected, strict=True):
            assert count in allowed, (way, written, sums, gathers, permutes)  # type: ignore


@pytest.mark.slow
def test_divided_transformer_learns_what_one_device_does() -> None:
    """Divided in four ways and written in three: the weights after three steps are those of one
    device to rounding, and no more is exchanged than the way needs."""
    text = run("divided_transformer.py")
    losses = np.array([row.split() for row in re.findall(r"losses ([\d. ]+)", text)], float)
    assert losses.shape == (13, 3) and losses[0, -1] < 0.5 * losses[0, 0]
    np.testing.assert_allclose(losses, np.tile(losses[0], (13, 1)), atol=2e-5)
    assert all(float(apart) < 2e-6 for apart in re.findall(r"differ by ([\de.-]+)", text))
    found = exchanged(text)
    for written in ("shard_map", "pmap"):
        assert found["fsdp", written]["reduce-scatter"] == 5
    assert_exchanges_are_those_of_the_way(found)


@pytest.mark.skipif(plugins.library_of("tpu") is None, reason="the plugin libtpu is not installed")
def test_divided_transformer_on_a_tpu_exchanges_no_more() -> None:
    assert_exchanges_are_those_of_the_way(exchanged(run("divided_transformer.py", "v5e:4x4")))


def test_processes_learn_together() -> None:
    """Both say the same loss, of the data of both."""
    rows = re.findall(r"process (\d): the loss of 128 points went from ([\d.]+) to ([\d.]+)",
                      run("processes.py"))
    assert sorted(row[0] for row in rows) == ["0", "1"] and rows[0][1:] == rows[1][1:]
    assert float(rows[0][2]) < 0.1 * float(rows[0][1])


def test_gaussian_process_is_fitted_and_drawn(tmp_path: Path) -> None:
    """The fit is a better one, near the scales of the draw; the picture is an image of the band."""
    text = run("gaussian_process.py", str(tmp_path / "drawn.svg"))
    ends = "before|after|height|noise|.drawn|among|in"
    before, after, length, height, noise, among, gap = map(
        float, re.findall(rf"\d+\.\d+(?=,? (?:{ends}))", text))
    assert after < before - 0.5
    assert 0.5 < length < 1.2 and 0.8 < height < 2.5 and 0.1 < noise < 0.3
    assert gap > 1.5 * among
    drawn = (tmp_path / "drawn.svg").read_text()
    assert drawn.startswith("<svg") and drawn.count("<circle") == 40


def test_bayesian_regression_agrees_with_its_approximation() -> None:
    """The draws have the mean and spread of the Gaussian at the mode, to a fifth of the spread."""
    text = run("bayesian_regression.py")
    rows = re.findall(r"^ +\d +(-?\d.\d\d) +(-?\d.\d\d) \+- (\d.\d\d) +(-?\d.\d\d) \+- (\d.\d\d)$",
                      text, re.MULTILINE)
    assert len(rows) == 3
    for true, mode, deviation, mean, spread in (map(float, row) for row in rows):
        assert abs(mean - mode) < 0.4 * deviation
        assert abs(spread - deviation) < 0.2 * deviation
        assert abs(true - mean) < 3 * spread
    kept = re.search(r"(\d+)% of the proposals kept", text)
    assert kept and int(kept[1]) > 80


def test_resize_keeps_the_picture_and_draws_it(tmp_path: Path) -> None:
    """By descent the picture is in small the scan; five pictures stand side by side."""
    text = run("resize.py", str(tmp_path / "drawn.png"))
    off = {name: float(x) for name, x in re.findall(r"^([\w ]+?) *: in small off by ([\d.]+)", text,
                                                     re.MULTILINE)}
    assert len(off) == 5 and off["by descent"] < 0.1 * min(
        x for name, x in off.items() if name != "by descent")
    drawn = (tmp_path / "drawn.png").read_bytes()
    assert drawn.startswith(b"\x89PNG") and struct.unpack(">II", drawn[16:24]) == (504, 96)


def test_causal_attention_sees_the_past_alone() -> None:
    """It names what was said three places before, and no answer depends on a later place."""
    text = run("causal_attention.py")
    losses = re.search(r"loss ([\d.]+) at first, ([\d.]+) after", text)
    right = re.search(r"unseen rows: ([\d.]+)%", text)
    moved = re.search(r"first half move by ([\d.]+), of the second by ([\d.]+)", text)
    assert losses and float(losses[2]) < 0.05 * float(losses[1])
    assert right and float(right[1]) > 99.0
    assert moved and float(moved[1]) == 0.0 < float(moved[2])


@pytest.mark.skipif(shutil.which("g++") is None and shutil.which("clang++") is None,
                    reason="there is no C++ compiler here")
def test_own_kernel_agrees_with_the_plain_operation() -> None:
    """Values, batches and gradients of an operation in C++."""
    differences = re.findall(r"at most ([\d.e+-]+)", run("own_kernel.py"))
    assert len(differences) == 4
    assert all(float(d) < 1e-5 for d in differences)
