"""Captured numbers that change: a program gives for each value what it gives in a fresh process.

On IR, a Function whose literals are parameters evaluates, bit for bit, to what the Function with
these literals written in it does. Compiled, programs called with one value after the other, so that
literals become parameters on the way, equal what emptied tables give, and fresh processes.

XFRONT_GENERATED=2000 checks 5,000 programs on the evaluator, 1,000 compiled, 50 in processes.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import xfront as jax
from tests.generated import amount, checks
from tests.generated.captured import Captured, captured, changed
from tests.generated.test_generated import drawn
from xfront import enable_x64
from xfront.running import programs
from xfront_ir import skeleton
from xfront_ir.passes.literals import abstract
from xfront_ir.passes.pipeline import simplify
from xfront_ir.reference import evaluate

ROOT = Path(__file__).resolve().parents[2]
BATCH = 20

Call = tuple[str, Callable[..., Any], tuple]


def calls(x: checks.Examined) -> list[Call]:
    """The program and its transformations, with arguments for them."""
    given, batch = (*x.primals, *x.tangents), tuple(x.program.batch(checks.LANES))
    found: list[Call] = [("plain", x.f, tuple(x.args)), ("vmap", x.batched, batch)]
    if x.primals and x.weights:
        found += [("grad", x.pulled, tuple(x.primals)), ("jvp", x.pushed, given),
                  ("linearize", x.linearized, given), ("vmap of grad", x.batched_gradient, batch)]
    return found


def each_program(number: int, request: pytest.FixtureRequest, per: Callable[[list[Captured]], None]
                 ) -> None:
    """Run `per` on the programs of one batch, each with all sets of its values."""
    seed = amount.seed(request.config) + number
    print(f"these programs again: pytest {request.node.nodeid} --hypothesis-seed={seed}")
    seen: set[str] = set()

    def body(program: Any) -> None:
        if program.source in seen or len(seen) == BATCH:
            return
        sets = captured(program)
        if sets[0].numbers:
            with enable_x64(True):
                per(sets)
            seen.add(program.source)

    drawn(seed, 2 * BATCH, body)
    assert seen


# --- on IR ------------------------------------------------------------------------------------

@pytest.mark.slow
@pytest.mark.parametrize("number", range(amount.share(5, 250)))
def test_parameters_in_place_of_literals_change_nothing_else(
        number: int, request: pytest.FixtureRequest) -> None:
    met: Counter[bool] = Counter()
    own = ("custom_batching", "fill_value")      # numbers in attributes are no literals

    def per(sets: list[Captured]) -> None:
        examined = list(map(checks.Examined, sets))
        rng = np.random.default_rng(sets[0].seed)
        first, *others = (calls(x) for x in examined)
        chosen = sorted({0, *rng.integers(len(first), size=2)})
        for i in chosen:
            name, f, args = first[i]
            one = jax.make_ir(f)(*args)
            for other in others:
                same = compared(one, jax.make_ir(other[i][1])(*args), args, name, rng)
                met[same] += not any(word in sets[0].source for word in own)

    each_program(number, request, per)
    assert met[True] >= 0.8 * met.total() > 0, f"of {met.total()} programs {met[True]} met"


def compared(one: Any, other: Any, args: tuple, name: str, rng: np.random.Generator) -> bool:
    """Check the first Function with the other's literals; whether they have one skeleton, as the
    table of programs asks for what is run and not differentiated."""
    (shape, mine), (its, theirs) = skeleton(one.ir, True), skeleton(other.ir, True)
    if shape != its:
        return False
    apart = changed(mine, theirs)
    inexact = {i for i, x in enumerate(mine) if x.dtype.is_inexact}
    some = np.flatnonzero(rng.random(len(mine)) < 0.5)
    consts = list(map(np.asarray, one.consts)), list(map(np.asarray, other.consts))
    for indices in (apart, sorted({*apart, *inexact}), sorted({*apart, *some.tolist()})):
        general = abstract(one.ir, indices)
        for what, (ir, values, held) in {"old": (one.ir, mine, consts[0]),
                                         "new": (other.ir, theirs, consts[1])}.items():
            expected = evaluate(ir, *args, *held)
            given = [values[i].array for i in indices]
            got = evaluate(general, *args, *held, *given)
            assert all(map(equal_bits, got, expected)), (
                f"{name}, {what} literals as parameters {indices}: {got}, expected {expected}")
            assert len(simplify(general).params) == len(general.params)
    return True


def equal_bits(a: np.ndarray, b: np.ndarray) -> bool:
    """Whether two arrays have the same elements: 0.0 is not -0.0, any NaN is NaN."""
    if a.dtype != b.dtype or a.shape != b.shape:
        return False
    same = np.frombuffer(a.tobytes(), np.uint8) == np.frombuffer(b.tobytes(), np.uint8)
    each = same.reshape(a.size, a.itemsize).all(1) if a.size else same
    return bool((each | (np.ravel(a) != np.ravel(a)) & (np.ravel(b) != np.ravel(b))).all())


# --- compiled -----------------------------------------------------------------------------------

def ways(x: checks.Examined) -> list[Call]:
    """The calls, un-jitted and in a fresh jit."""
    return [*calls(x), *[(f"jit of {name}", jax.jit(f), args) for name, f, args in calls(x)]]


@pytest.mark.slow
@pytest.mark.parametrize("number", range(amount.share(1, 50)))
def test_compiled_programs_follow_what_they_capture(
        number: int, request: pytest.FixtureRequest) -> None:
    each_program(number, request, check_compiled)


def check_compiled(sets: list[Captured]) -> None:
    """One way of calling a program, with each set of values and the first again, against empty
    tables and the evaluator."""
    examined = list(map(checks.Examined, sets))
    each = [ways(x) for x in examined]
    at = sets[0].seed % len(each[0])
    order = [0, 1, 2, 0]
    found = [checks.leaves(each[k][at][1](*map(jax.numpy.asarray, each[k][at][2]))) for k in order]
    for k, got in zip(order, found, strict=True):
        name, f, args = each[k][at]
        what = f"{name}, values {k}"
        nearly(got, checks.Traced(f, *args)(*args), examined[k].tolerance, what)
        if name != "plain":                      # which is op by op, and clearing forgets each
            programs.clear()
            again = checks.Examined(sets[k])
            _, f, args = ways(again)[at]
            nearly(got, checks.leaves(f(*map(jax.numpy.asarray, args))), examined[k].tolerance,
                   f"{what}, tables emptied")


def nearly(got: checks.Arrays, expected: checks.Arrays, tolerance: float, what: str) -> None:
    """As `checks.close`, infinities and NaNs in the same places."""
    finite = [np.isfinite(e) for e in expected]
    for g, e, ok in zip(got, expected, finite, strict=True):
        assert np.array_equal(g[~ok], e[~ok], equal_nan=True), f"{what}: {g}, expected {e}"
    checks.close([np.where(ok, g, 0).astype(g.dtype) for g, ok in zip(got, finite, strict=True)],
                 [np.where(ok, e, 0).astype(e.dtype) for e, ok in zip(expected, finite,
                                                                      strict=True)],
                 tolerance, what)


IN_A_PROCESS = """
import json, sys
import numpy as np
import xfront as jax, xfront.numpy as jnp
jax.config.update("jax_enable_x64", True)
text, values, kinds, args = json.load(sys.stdin)
names = {"jax": jax, "jnp": jnp}
for i, (v, kind) in enumerate(zip(values, kinds)):
    names[f"k{i}"] = {"number": lambda v: v, "numpy": np.float64, "without axes": np.array,
                      "array": jnp.asarray}[kind](v)
exec(text, names)
args = [jnp.asarray(np.array(x, dtype).reshape(shape)) for x, dtype, shape in args]
f = names["program"]
def real(*xs): return sum(jnp.sum(y) for y in f(*xs) if y.dtype.kind == "f")
moving = tuple(i for i, x in enumerate(args) if x.dtype.kind == "f")
made = [*jax.jit(f)(*args), *jax.grad(real, moving)(*args)]
print(json.dumps([np.ravel(y).astype(complex).view(float).tolist() for y in made]))
"""


@pytest.mark.slow
@pytest.mark.parametrize("number", range(amount.share(1, 50)))
def test_a_process_that_has_seen_other_values_gives_what_a_fresh_one_does(
        number: int, request: pytest.FixtureRequest) -> None:
    left = 1

    def per(sets: list[Captured]) -> None:
        nonlocal left
        kinds = {x.dtype.kind for x in checks.Examined(sets[0]).values}
        if not left or "f" not in kinds:
            return
        left -= 1
        for program in sets:
            f, args = program.function(jax), list(map(jax.numpy.asarray, program.inputs(0)))
            moving = tuple(i for i, x in enumerate(args) if x.dtype.kind == "f")

            def real(*xs: Any, f: Any = f) -> Any:
                return sum(jax.numpy.sum(y) for y in f(*xs) if y.dtype.kind == "f")

            made = [*jax.jit(f)(*args), *jax.grad(real, moving)(*args)]
        told = json.dumps([program.source, [x if type(x) in (int, float) else float(x)
                                            for x in program.values()], program.kinds,
                           [(np.ravel(x).tolist(), x.dtype.name, x.shape) for x in args]])
        fresh = subprocess.run([sys.executable, "-c", IN_A_PROCESS], input=told, text=True,
                               capture_output=True, cwd=ROOT, check=False)
        assert not fresh.returncode, fresh.stderr
        expected = [np.array(y) for y in json.loads(fresh.stdout)]
        got = [np.ravel(y).astype(complex).view(float) for y in made]
        nearly(got, expected, 2e-3 if program.narrow else 1e-8, "a fresh process")

    each_program(number, request, per)
    assert not left
