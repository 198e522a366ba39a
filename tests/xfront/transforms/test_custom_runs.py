"""How often the Python of functions with rules runs: as often as recorded of JAX, or as declared.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import xfront
import xfront.numpy as jnp
from tests.samples.custom_runs import FUNCTIONS, observed
from xfront import lax

RECORDED = json.loads((Path(__file__).parents[2] / "recorded/custom_runs.json").read_text())

ANEW = {"cond", "checkpoint", "eval_shape", "make_jaxpr", "grad of cond", "grad of checkpoint"}
"""A function that reads what may change is traced at each call; JAX keeps its first trace."""

LATER = {"make_jaxpr of grad"}
"""The program shows the call: rules for cotangents run where it is looked into."""

READ = {"reading what it gives"}
"""The rule of a call that was only read counts in the name of the program, with its bwd too."""

INNER = "the rules of what a rule calls count in the name of the program, so they run for it"
OTHER = {
    "jvp_symbolic": ({"grad of jit", "grad of scan"},
                     "under a staged function the rule runs for its name and for what is asked"),
    "vjp_symbolic": ({"grad of jit", "grad of scan"}, "as for jvp_symbolic"),
    "vjp_numbers": ({"vjp", "linearize"}, "numbers of both halves become operands of the call"),
    "numbers_calls_itself": (None, "a rule with numbers that calls its function holds itself"),
    "jvp_captures": (None, "a rule that captures tracers runs while they are alive"),
    "vjp_of_jvp": (None, INNER),
    "jvp_of_jvp": ({"grad of jit", "grad of scan"}, INNER),
}
"""By function the uses that differ, None for all, and why."""


@pytest.mark.parametrize("function", FUNCTIONS)
def test_python_runs_as_often_as_recorded(function: str) -> None:
    found = observed(xfront, function)
    other = OTHER.get(function, (set(), ""))[0]
    for use, recorded in RECORDED[function].items():
        if recorded.endswith("Error"):           # derivatives that JAX refuses
            assert not found[use].endswith("Error"), use
        elif use not in ANEW | LATER | READ and (other is not None and use not in other):
            assert found[use] == recorded, use


@pytest.mark.parametrize("function", [f for f, (uses, _) in OTHER.items() if uses])
def test_what_is_declared_differs(function: str) -> None:
    found = observed(xfront, function)
    for use in OTHER[function][0] or ():
        assert found[use] != RECORDED[function][use], use


def disagreeing() -> tuple:
    """Functions whose rules give another value than the function."""
    f, g = xfront.custom_jvp(lambda x: x * 2.0), xfront.custom_vjp(lambda x: x * 2.0)
    f.defjvp(lambda p, t: (p[0] * 5.0, t[0] * 7.0))
    g.defvjp(lambda x: (x * 5.0, None), lambda _, ct: (ct * 7.0,))
    return f, g


def test_the_value_is_that_of_what_ran() -> None:
    """That of the rule where the argument is differentiated, as in JAX, else the function's; Python
    sees it too."""
    for f in disagreeing():
        assert xfront.value_and_grad(f)(1.0) == (5.0, 7.0)
        assert xfront.value_and_grad(lambda x, f=f: f(lax.stop_gradient(x)) * x)(1.0) == (2.0, 2.0)
        assert xfront.value_and_grad(lambda x, f=f: f(jnp.floor(x)) * x)(1.0) == (2.0, 2.0)
        assert xfront.value_and_grad(lambda x, f=f: f(x) if f(x) > 4 else x)(1.0) == (5.0, 7.0)
        assert xfront.grad(lambda x, f=f: (x * x, f(x)), has_aux=True)(1.0) == (2.0, 5.0)
        assert xfront.grad(lambda y, f=f: f(jnp.float32(1.0)) * y)(1.0) == 2.0
        assert xfront.value_and_grad(xfront.jit(f))(1.0) == (5.0, 7.0) and xfront.jit(f)(1.0) == 2.0
        x = jnp.arange(3.0)
        value, slope = xfront.value_and_grad(lambda x, f=f: xfront.vmap(f)(x).sum())(x)
        assert value == 15.0 and list(slope) == [7.0] * 3
        assert list(xfront.vmap(xfront.value_and_grad(f))(x)[0]) == [0.0, 5.0, 10.0]
        assert xfront.grad(xfront.grad(lambda x, f=f: f(x) * x))(1.0) == 12.0


class Holder:
    """Holds a value where no look at a function finds it."""

    value: Any = None


def test_a_rule_may_capture_what_no_look_at_it_finds() -> None:
    """Tracers in attributes of objects, of the trace of the call and of traces around it."""
    held = Holder()

    @xfront.custom_jvp
    def f(x: Any) -> Any:
        return x * held.value

    f.defjvp(lambda p, t: (p[0] * held.value, t[0] * held.value * 3.0))

    def around(y: Any, x: Any) -> Any:
        held.value = y
        return xfront.value_and_grad(f)(x)

    assert around(2.0, 4.0) == (8.0, 6.0)
    value, slope = xfront.vmap(around, (0, None))(jnp.arange(3.0), 4.0)
    assert list(value) == [0.0, 4.0, 8.0] and list(slope) == [0.0, 3.0, 6.0]
    assert xfront.jit(around)(2.0, 4.0) == (8.0, 6.0)
    assert xfront.grad(lambda y: around(y, 4.0)[1])(2.0) == 3.0
