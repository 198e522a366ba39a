"""Calls of public functions on arrays: what C++ runs by itself after the first call of a kind.

Such a program has the other arguments fixed, so each test mixes calls whose arguments are equal and
mean something else (1 and True, (0, 1) and (False, True)), and compares with a body run in a trace.
"""

from __future__ import annotations

import random
import zlib
from typing import Any

import numpy as np
import pytest

import xfront
import xfront.numpy as jnp
from xfront.eager.dispatch import MOST_OF_ONE, eager
from xfront.eager.operands import operand


def _told(x: Any) -> str:
    """The types and values of a static argument."""
    return f"({' '.join(map(_told, x))})" if isinstance(x, (tuple, list)) else f"{type(x)} {x!r}"


def _number(*statics: Any) -> float:
    """A number that tells static arguments apart."""
    return float(zlib.crc32(" ".join(map(_told, statics)).encode()) % 2 ** 16)


@eager(static=("how", "flag"))
def _one(x: Any, how: Any = None, flag: Any = False, *, y: Any = 2.0) -> Any:
    return operand("one", x) * 1.0 + operand("one", y) + _number(how, flag)


@eager(static=("how",))
def _two(x: Any, y: Any, z: Any = 3, how: Any = None, w: Any = None) -> Any:
    made = operand("two", x) + operand("two", y) * z + _number(how)
    return made if w is None else made * w


@eager
def _all(x: Any, y: Any = 0.5, z: Any = None) -> Any:
    made = operand("all", x) + y
    return made if z is None else made * z


STATICS: tuple[Any, ...] = (0, 1, True, False, None, "a", (0, 1), (False, True), (1, 0), (True, 0),
                            (), ((0, 1), 1), ((False, True), 1), [0, 1], 1.0, 0.0, -0.0, int, bool)


def _untyped(function: Any) -> Any:
    return function


def _array(pick: random.Random) -> Any:
    return pick.choice((jnp.arange(3.0), jnp.arange(3), np.arange(3, dtype=np.float32), 2, 2.0,
                        True, jnp.float32(2), jnp.asarray(2.0), np.float32(2)))


def _call(pick: random.Random) -> tuple[Any, tuple, dict[str, Any]]:
    function = pick.choice((_one, _two, _all))
    statics = {"how": pick.choice(STATICS), "flag": pick.choice(STATICS)}
    if function is _all:
        given = tuple([_array(pick) for _ in range(pick.randint(1, 3))])
        return function, given, {}
    given = tuple([_array(pick) for _ in range(1 if function is _one else pick.randint(2, 3))])
    names = [n for n in (("how", "flag") if function is _one else ("how",)) if pick.random() < 0.6]
    kwargs: dict[str, Any] = {n: statics[n] for n in names}
    if len(given) != 2 and "how" in kwargs and pick.random() < 0.5:
        given = (*given, kwargs.pop("how"))      # by position
    if pick.random() < 0.2:
        kwargs["y" if function is _one else "w"] = _array(pick)
    return function, given, kwargs


def _first(function: Any, given: tuple, kwargs: dict[str, Any]) -> Any:
    """The result of a function that was never called before."""
    body = function.__wrapped__
    names = body.__code__.co_varnames
    fresh = eager(static=tuple([n for n in ("how", "flag") if n in names]))(body)
    return fresh(*given, **kwargs)


@pytest.mark.parametrize("seed", range(8))
def test_a_call_gives_what_it_gives_when_it_is_the_first(seed: int) -> None:
    pick = random.Random(seed)
    for _ in range(60):
        function, given, kwargs = _call(pick)
        text = f"{function.__name__}{tuple(map(repr, given))}{kwargs}"
        wanted = _first(function, given, kwargs)
        for _ in range(2):
            made = function(*given, **kwargs)
            assert made.dtype == wanted.dtype and made.weak_type == wanted.weak_type, text
            np.testing.assert_array_equal(made, wanted, err_msg=text)


def test_each_kind_of_static_argument_has_a_program() -> None:
    programs: list[Any] = []

    @eager(static=("how",))
    def shown(x: Any, how: Any = None) -> Any:
        programs.append(how)
        return operand("shown", x) + _number(how)

    x = jnp.ones(2)
    for _ in range(3):
        for how in STATICS:
            assert float(shown(x, how)[0]) == 1 + _number(how) == float(shown(x, how=how)[0])
    kinds = {_told(how) for how in STATICS}
    assert len(kinds) <= len(programs) <= 2 * len(kinds)


def test_the_number_of_programs_is_bounded() -> None:
    @eager(static=("how",))
    def plus(x: Any, how: int = 0) -> Any:
        return operand("plus", x) + how

    x = jnp.zeros(())
    for how in range(MOST_OF_ONE + 3):
        assert float(plus(x, how)) == how
    assert float(plus(x)) == 0 and float(plus(x, 5)) == 5


def test_arrays_beside_tracers_are_recorded() -> None:
    x = jnp.arange(3.0)
    _all(1.0, x)
    expected = np.asarray(_two(x, x))            # from here on C++ knows calls of two arrays
    np.testing.assert_array_equal(xfront.jit(lambda t: _two(x, t))(x), expected)
    np.testing.assert_array_equal(xfront.jit(lambda t: _two(x, x))(x), expected)
    gradient = xfront.grad(lambda t: _two(x, t).sum())(x)
    np.testing.assert_array_equal(gradient, [3.0, 3.0, 3.0])
    np.testing.assert_array_equal(xfront.vmap(lambda t: _all(1.0, t))(x), 1 + np.arange(3))


def test_wrong_calls_are_refused_before_and_after_right_ones() -> None:
    x, one, two = jnp.ones(2), _untyped(_one), _untyped(_two)
    wrong = (one, lambda: two(x), lambda: one(x, 1, 2, 3), lambda: one(x, x=x),
             lambda: one(x, other=1))
    for _ in range(2):
        for call in wrong:
            with pytest.raises(TypeError):
                call()
        right = one(x), two(x, x), one(x, 1)
        assert len(right) == 3


def test_defaults_of_arrays_are_literals_of_the_program() -> None:
    x = jnp.asarray([1.0, 1.0 + 1e-6, jnp.nan])
    close = jnp.isclose(x, x[0]), jnp.isclose(x, x[0], 1e-5), xfront.jit(jnp.isclose)(x, x[0])
    assert [c.tolist() for c in close] == [[True, True, False]] * 3
    assert jnp.isclose(x, x, equal_nan=True).tolist() == [True] * 3
    assert jnp.isclose(x, x, equal_nan=False).tolist() == [True, True, False]
