"""Generated programs: all laws hold for each.

    pytest tests/generated                                    the 140 programs of every run
    XFRONT_GENERATED=2000 pytest tests/generated              more, others every day
    pytest tests/generated --hypothesis-seed=17 -k first      the batch that seed 17 gives

A batch of 25 programs has a seed of its own, which it prints; the programs print as Python to
paste. Hypothesis also draws the numbers that it reads in the modules of the project that are
imported, so a seed stands for the same programs where the same tests are collected.
"""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable
from typing import Any

import hypothesis
import pytest

from xfront import enable_x64

from . import amount, checks
from .program import Assign, Define, Plain, Program, Type, Var
from .writer import F64, programs

BATCH = 25
UNHURRIED = (hypothesis.HealthCheck.too_slow, hypothesis.HealthCheck.data_too_large,
             hypothesis.HealthCheck.large_base_example)
Body = Callable[[Program], None]


def drawn(seed: int, count: int, body: Body) -> None:
    """Run `body` on programs of this seed; a failing one is made smaller and printed."""
    @hypothesis.seed(seed)
    @hypothesis.settings(max_examples=count, deadline=None, database=None, derandomize=False,
                         suppress_health_check=UNHURRIED)
    @hypothesis.given(programs())
    def holds(program: Program) -> None:
        body(program)

    holds()


@pytest.mark.slow
@pytest.mark.parametrize("number", range(-(-amount.count() // BATCH)),
                         ids=lambda n: f"batch{n}" if n else "first")
def test_laws_hold_for_generated_programs(number: int, request: pytest.FixtureRequest) -> None:
    seed = amount.seed(request.config) + number
    print(f"these programs again: pytest tests/generated -k first --hypothesis-seed={seed}")
    seen: set[str] = set()
    wide, smooth = 0, 0

    def body(program: Program) -> None:
        nonlocal wide, smooth
        if program.source in seen or len(seen) == BATCH:
            return                               # two draws may give the same program
        with enable_x64(True):
            examined = checks.Examined(program)
            compared = checks.check_laws(examined)
            checks.check_compiled(examined)
        wide += not program.narrow
        smooth += compared
        seen.add(program.source)

    drawn(seed, 2 * BATCH, body)
    assert len(seen) == BATCH
    assert smooth >= 0.8 * wide, f"differences were compared for {smooth} of {wide} programs"


@pytest.mark.slow
def test_programs_are_as_long_and_as_nested_as_promised() -> None:
    seen: list[Program] = []
    for seed in range(4):                                # those of one are much like each other
        drawn(seed, 50, seen.append)
    assert all(5 <= p.count <= 45 for p in seen)
    assert sum(p.count for p in seen) >= 15 * len(seen)
    assert any(p.narrow for p in seen)
    text = "\n".join(p.source for p in seen)
    for word in ("cond", "switch", "scan", "while_loop", "fori_loop", "map", "associative_scan",
                 "custom_jvp", "custom_vjp", "checkpoint", "vmap", "grad", "jvp", "vjp", "linalg",
                 "einsum", "sort", "at[", "complex", "int32"):
        assert word in text, word
    assert "\n" + 12 * " " in text                       # bodies in bodies in bodies


def test_a_program_prints_as_python_that_runs() -> None:
    seen: list[Program] = []
    drawn(1, 3, seen.append)
    for program in seen:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(repr(program), {})
        assert "Array(" in printed.getvalue()


def by_hand(*statements: Any) -> Program:
    """A program of one input that returns `v`."""
    x = Var("x0", Type(F64, (3,)))
    main = Define("program", "x0", (x,), statements, "v,")
    return Program(main, (True,), (0,), 0, len(statements), False)


V = (Var("v", Type(F64, (3,))),)


@pytest.mark.parametrize(("rule", "what"), [
    ("lambda t, out, a: 1.1 * jnp.cos(a) * t", "differences give"),
    ("lambda t, out, a: jnp.abs(jnp.cos(a)) * t", "differences give"),
])
def test_a_wrong_derivative_is_found(rule: str, what: str) -> None:
    program = by_hand(Plain("f = jax.custom_jvp(jnp.sin)"), Plain(f"f.defjvps({rule})"),
                      Assign(V, "f(x0 * 2.0 + 1.0)"))
    with enable_x64(True), pytest.raises(AssertionError, match=what):
        checks.check_laws(checks.Examined(program))


def test_a_rule_that_is_no_derivative_is_found_by_second_order() -> None:
    program = by_hand(Plain("f = jax.custom_jvp(lambda a: jnp.sum(a * a[::-1]) * a)"),
                      Plain("f.defjvp(lambda p, t: (f(*p), t[0] * p[0][::-1]))"),
                      Assign(V, "f(x0)"))
    with enable_x64(True), pytest.raises(AssertionError, match="both ways"):
        checks.check_laws(checks.Examined(program))


def test_a_kink_is_no_failure() -> None:
    (at,) = by_hand().inputs(0)
    program = by_hand(Assign(V, f"jnp.abs(x0 - jnp.array({at.tolist()}))"))
    with enable_x64(True):
        assert not checks.check_laws(checks.Examined(program))
