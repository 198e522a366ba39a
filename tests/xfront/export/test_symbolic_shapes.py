"""Symbolic dimensions: text, arithmetic and comparisons, and generated ones against numbers."""

from __future__ import annotations

import operator
import random
from typing import Any

import numpy as np
import pytest

import xfront as jax
from xfront import export
from xfront.errors import InconclusiveDimensionOperation
from xfront.export import SymbolicScope, is_symbolic_dim, symbolic_args_specs, symbolic_shape

NAMES = ("a", "b", "c")
INF = float("inf")


def decided(f: Any) -> bool | None:
    try:
        return f()
    except InconclusiveDimensionOperation:
        return None


# --- generated ----------------------------------------------------------------------------

def some_text(chance: random.Random, depth: int) -> str:
    """Text of a dimension, which Python reads too."""
    if depth == 0 or chance.random() < 0.2:
        return chance.choice([*NAMES, str(chance.randrange(5))])
    kind = chance.randrange(6)
    left, right = some_text(chance, depth - 1), some_text(chance, depth - 1)
    if kind < 3:
        return f"({left} {'+-*'[kind]} {right})"
    if kind == 3:
        return f"{chance.choice(['max', 'min'])}({left}, {right})"
    return f"{chance.choice(['floordiv', 'mod'])}({left}, {chance.choice(['1', '2', '3', 'a'])})"


def value(text: str, at: dict[str, int]) -> int:
    return eval(text.replace("^", "**"), {"max": max, "min": min, "floordiv": operator.floordiv,
                                          "mod": operator.mod}, at)


POINTS: list[dict[str, int]] = [dict(zip(NAMES, p, strict=True)) for p in
          [(1, 1, 1), (1, 2, 3), (3, 2, 1), (2, 2, 2), (7, 1, 4), (1, 9, 2), (5, 6, 30), (4, 4, 1)]]


@pytest.mark.parametrize("seed", range(12))
def test_decisions_hold_for_every_value(seed: int) -> None:
    """Text means what Python makes of it; what is decided is so at every point, also under
    constraints that the points satisfy."""
    chance = random.Random(seed)
    answers = 0
    for _ in range(40):
        texts = [some_text(chance, 3) for _ in range(2)]
        allowed = (("a >= 2", "b <= 6", "c >= b"), ("a == 2*b",), ())[chance.randrange(3)]
        points = [p for p in POINTS if all(
            value(c, p) for c in allowed)]
        x, y = symbolic_shape(", ".join(texts), constraints=allowed)
        for text, dim in zip(texts, (x, y), strict=True):
            for p in points:
                assert value(str(dim), p) == value(text, p), (text, str(dim), p)
            if is_symbolic_dim(dim):
                assert symbolic_shape(str(dim), scope=dim.scope)[0] == dim
        for name in ("ge", "gt", "le", "lt", "eq", "ne"):
            f = getattr(operator, name)
            found = decided(lambda: f(x, y))  # noqa: B023
            truths = [f(value(texts[0], p), value(texts[1], p)) for p in points]
            if found is None:
                continue
            answers += 1
            if name in ("eq", "ne") and found is (name == "ne"):
                continue                         # "not shown to be equal"
            assert all(t is found for t in truths), (texts, name, found, truths, allowed)
        for name in ("add", "sub", "mul"):
            made = getattr(operator, name)(x, y)
            for p in points:
                assert value(str(made), p) == getattr(operator, name)(
                    value(texts[0], p), value(texts[1], p))
    assert answers > 100


# --- text ---------------------------------------------------------------------------------

@pytest.mark.parametrize("text, shown", [
    ("a, b", "(a, b)"), ("2*b, (a+1)", "(2*b, a + 1)"), ("", "()"), ("(a,)", "(a,)"),
    ("(a, b)", "(a, b)"), ("3, a", "(3, a)"), ("a - b", "(- b + a,)"), ("a^2", "(a^2,)"),
    ("(a+1)*(b-1)", "(a*b + b - a - 1,)"), ("floordiv(4*a + 2, 2)", "(2*a + 1,)"),
    ("mod(2*a + 1, 2), mod(a, 2)", "(1, mod(a, 2))"), ("max(a, b)", "(max(a, b),)"),
    ("0*a, a - a, -1", "(0, 0, -1)"), ("floordiv(a*b, b)", "(a,)"),
])
def test_text_of_shapes(text: str, shown: str) -> None:
    assert str(symbolic_shape(text)) == shown


@pytest.mark.parametrize("text", [
    "a b", "a+", "1.5", "max(a)", "a/2", "a//2", "a.b", "max(a,b,3)", "2 a", "foo(a, 1)", "...",
    "_", "a,,b", "(a", "a)", "a^b", "a^999", "floordiv(a, 1", "(" * 60 + "a" + ")" * 60, "a^-1",
    "99999999999999999999"])
def test_other_text_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="syntax error in symbolic shape"):
        symbolic_shape(text)


def test_shapes_like_others() -> None:
    assert str(symbolic_shape("a, ...", like=(3, 4, 5))) == "(a, 4, 5)"
    assert str(symbolic_shape("_, b", like=(3, 4))) == "(3, b)"
    assert symbolic_shape(None, like=(3, 4)) == (3, 4)
    for text, like, match in (("a, _", (3, None), "unknown dimension"),
                              ("3, a", (4, 5), "different size 3"), ("a, _", (3,), "no such")):
        with pytest.raises(ValueError, match=match):
            symbolic_shape(text, like=like)
    with pytest.raises(TypeError, match="must be a string"):
        symbolic_shape(3)  # type: ignore[arg-type]


def test_division_by_zero() -> None:
    a, = symbolic_shape("a")
    for f in (lambda: a // 0, lambda: a % 0, lambda: symbolic_shape("mod(a, a - a)")):
        with pytest.raises(ZeroDivisionError):
            f()


# --- decisions ----------------------------------------------------------------------------

def test_what_is_decided_without_constraints() -> None:
    a, b = symbolic_shape("a, b")
    assert a >= 1 and a > 0 and not a < 0 and a + b >= 2 and a + b > b and 2 * a >= a and a * b >= 1
    assert a // 2 <= a and a % 2 < 2 and a % 2 >= 0 and a == a and a != b and a != 3 and bool(a)
    assert a - a == 0 and not is_symbolic_dim(a - a) and (a + 1) ** 2 == a * a + 2 * a + 1
    assert a + b == b + a and hash(a + b) == hash(b + a) and a in (a,) and a not in (b,)
    assert divmod(a, 2) == (a // 2, a % 2) and a + np.int32(3) == a + 3 and 3 - a == -a + 3
    for f in (lambda: a >= 2, lambda: a > b, lambda: a * b >= a + 1, lambda: int(a),
              lambda: min(a, 2)):
        with pytest.raises(InconclusiveDimensionOperation):
            f()
    for g in (lambda: a + 1.5, lambda: a / 2, lambda: float(a), lambda: range(a),
              lambda: a < "x", lambda: np.zeros(a)):
        with pytest.raises(TypeError):
            g()
    with pytest.raises(ValueError, match="ints from 0 on"):
        assert a ** -1


@pytest.mark.parametrize("constraints, true", [
    (("a >= 4",), ("a >= 2", "a >= 4", "2*a >= 8", "a + b >= 5")), (("a <= 10",), ("a <= 10",)),
    (("a == 4",), ("a == 4", "mod(a, 4) == 0")), (("a == 2*b",), ("a >= b", "a == 2*b", "a >= 2")),
    (("mod(a, 4) == 0",), ("mod(a, 4) == 0", "a == 4*floordiv(a, 4)")), (("a >= b",), ("a >= b",)),
    (("floordiv(a, 2) >= 3",), ("a >= 6", "floordiv(a, 2) >= 2")),
    (("a >= 4", "b >= a"), ("b >= 4", "a + b >= 8")), (("2*a == b",), ("b >= a", "b == 2*a")),
    (("max(a, b) <= 5",), ("a <= 5", "b <= 5")),
])
def test_constraints(constraints: tuple[str, ...], true: tuple[str, ...]) -> None:
    scope = SymbolicScope(constraints)
    for fact in true:
        if fact == "a == 4*floordiv(a, 4)":
            continue                             # true, and more than is decided here
        sign = next(s for s in ("==", ">=", "<=") if s in fact)
        x, y = symbolic_shape(fact.replace(sign, ","), scope=scope)
        compare = {"==": operator.eq, ">=": operator.ge, "<=": operator.le}[sign]
        assert compare(x, y), (constraints, fact)


def test_scopes() -> None:
    one, other = SymbolicScope(), SymbolicScope(("a >= 3",))
    (x,), (y,), (z,) = (symbolic_shape("a", scope=s) for s in (one, other, one))
    assert x == z and hash(x) == hash(z) and x != y and "a >= 3" in repr(other)
    for f in (lambda: x + y, lambda: x >= y):
        with pytest.raises(ValueError, match="Invalid mixing of symbolic scopes"):
            f()
    with pytest.raises(ValueError, match="both a `scope` and `constraints`"):
        symbolic_shape("a", scope=one, constraints=["a >= 3"])
    with pytest.raises(TypeError, match="must be a SymbolicScope"):
        symbolic_shape("a", scope=3)  # type: ignore[arg-type]
    for bad, match in ((["a > 3"], "must contain one of"), ("a >= 4", "sequence of strings"),
                       (["a >= 4", "a <= 3"], "no dimensions satisfy"), (["a >="], "syntax error")):
        with pytest.raises(ValueError, match=match):
            symbolic_shape("a", constraints=bad)
    with pytest.raises(TypeError, match="must be a string"):
        SymbolicScope([3])  # type: ignore[list-item]


# --- structs ------------------------------------------------------------------------------

def test_specs_of_arguments() -> None:
    first, named = symbolic_args_specs((np.ones((3, 4), np.float32), {"k": np.ones(3, np.int32)}),
                                       ("a, b", {"k": "a"}))
    assert str(first.shape) == "(a, b)" and named["k"].shape[0] == first.shape[0]
    assert first.dtype == np.float32 and named["k"].dtype == np.int32
    both = symbolic_args_specs((np.ones((3, 4)), np.ones(3)), "a, ...")
    assert [str(s.shape) for s in both] == ["(a, 4)", "(a,)"]
    some = symbolic_args_specs((np.ones((3, 4)), 2.0), ("a, _", None), constraints=["a >= 2"])
    assert str(some[0].shape) == "(a, 4)" and some[1].shape == () and some[0].shape[0] >= 2
    with pytest.raises(ValueError, match="shapes_specs is no prefix of args"):
        symbolic_args_specs((np.ones(3), np.ones(3)), ("a",))


def test_symbolic_shapes_are_not_traced() -> None:
    """A shape that is traced is known; the errors say what to do instead."""
    struct, = symbolic_args_specs((np.ones((3, 4)),), "a, ...")
    double = jax.jit(lambda x: 2 * x)
    with pytest.raises(NotImplementedError, match="'a' .* is symbolic.*export it once for each"):
        export.export(double)(struct)
    for f in (lambda: jax.eval_shape(double, struct), lambda: double.lower(struct)):
        with pytest.raises(InconclusiveDimensionOperation, match="export it once for each shape"):
            f()


@pytest.mark.parametrize(("text", "constraints", "wanted"), [
    ("b", (), (1, INF)), ("2*b + 1", (), (3, INF)), ("3 - b", (), (-INF, 2)),
    ("2*b", ("b <= 8", "b >= 3"), (6, 16)), ("mod(b, 3)", (), (0, 2)),
    ("floordiv(b, 3)", (), (0, INF)), ("max(b, 5)", (), (5, INF)), ("7", (), (7, 7))])
def test_bounds_of_a_dimension(text, constraints, wanted):
    """Those that JAX 0.12 shows."""
    names, = symbolic_shape("b", constraints=constraints)
    made = symbolic_shape(text, scope=names.scope)[0] if "-" not in text else 3 - names
    assert export.symbolic_dim_bounds(made) == wanted


def test_bounds_of_what_is_no_dimension():
    assert export.symbolic_dim_bounds(np.int64(3)) == (3, 3)
    with pytest.raises(TypeError):
        export.symbolic_dim_bounds(2.5)
