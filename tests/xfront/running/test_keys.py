"""What makes two calls the same: static values, texts of Python, and the tables for one function.
"""

from __future__ import annotations

import ast
import gc
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import xfront
import xfront.numpy as jnp
from xfront import lax
from xfront.running import keys
from xfront.transforms import checkpoint, jit


class Held:
    """An object without a hash of its own."""


APART: list[Any] = [
    1, True, 1.0, "1", b"1", None, 0.0, -0.0, float("nan"), 1j, complex(1, -0.0), (1,), [1],
    (True,), (1, 2), {"a": 1}, {"a": True}, int, float, np.float32(1), np.int32(1),
    np.arange(2), np.arange(2.0), np.zeros((2, 1)), Held(), Held(), jnp.ones(2), len,
    np.dtype("f4"), range(3)]


def test_texts_of_different_values_differ() -> None:
    texts = [keys.identity_text(x) for x in APART]
    assert len(set(texts)) == len(texts)
    assert texts == [keys.identity_text(x) for x in APART]
    assert keys.identity_text(np.arange(3.0)) == keys.identity_text(np.arange(3.0))
    assert keys.identity_text(frozenset((1, 2))) == keys.identity_text(frozenset((2, 1)))


@pytest.mark.parametrize(("same", "others"), [
    (([1, 2], (1, 2), np.array([1, 2]), jnp.array([1, 2])), ((1, 3), (True, 2), (1, 2, 3))),
    ((0.0, np.float32(0)), (-0.0, float("nan"))),
    ((float("nan"), np.float64("nan")), (0.0,)),
    (((True, 2), [True, 2]), ((1, 2),)),
    ((((True,),), [[True]]), (((1,),),)),
    ((range(3), (0, 1, 2)), (range(4),)),
    (({"b": 1, "a": [2]}, {"a": (2,), "b": 1}), ({"a": (2,), "b": 2},)),
])
def test_static_values_are_compared_by_content(same: tuple, others: tuple) -> None:
    first, *rest = map(keys.canonical, same)
    assert all([x == first and hash(x) == hash(first) for x in rest])
    assert not any([keys.canonical(x) == first for x in others])


@pytest.mark.parametrize("transform", [
    lambda f: xfront.jit(f, static_argnums=1), lambda f: xfront.checkpoint(f, static_argnums=1)])
def test_the_traces_of_one_function_are_bounded(transform: Any, monkeypatch: Any) -> None:
    """The latest are kept."""
    monkeypatch.setattr(keys, "MOST", 16)
    monkeypatch.setattr(keys.Latest.__init__, "__defaults__", (16,))
    traced: list[int] = []

    def f(x: Any, n: int) -> Any:
        traced.append(n)
        return x + n

    g = transform(f)
    for n in range(100):
        assert g(1, n) == 1 + n
    table = {**jit._TRACES, **checkpoint._TRACES}[f]
    assert len(table) <= 16 and traced == [*range(100)]
    g(2.0, 99)
    assert len(traced) == 101
    for n in (98, 99):
        g(jnp.int32(7), n)
        g(jnp.int32(8), n)
    assert len(traced) == 103
    xfront.clear_caches()
    assert not table


def test_the_programs_of_one_public_function_are_bounded() -> None:
    for front in [one for one in keys.tables() if one.most == keys.MOST]:
        assert len(front) <= keys.MOST
    table: keys.Latest[int, int] = keys.Latest(8)
    for i in range(100):
        table[i] = i
        assert len(table) <= 8 and i in table


def test_tables_die_with_their_function() -> None:
    def made() -> Any:
        def f(x: Any) -> Any:
            return x * 2

        assert xfront.jit(f)(1.0) == xfront.checkpoint(f)(1.0)
        return weakref.ref(jit._TRACES[f]), weakref.ref(f)

    held = made()
    gc.collect()
    assert [r() for r in held] == [None, None]


def test_every_table_that_clear_empties_is_listed() -> None:
    """The page names each table that a file of these floors registers."""
    page, root = keys.__doc__ or "", Path(xfront.__file__).parent
    registered = set()
    for path in root.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "emptied":
                registered |= {ast.unparse(x).rpartition(".")[0] for x in node.args
                               if isinstance(x, ast.Attribute)}
    assert registered
    assert not [name for name in registered if name not in page]


def test_a_call_that_captures_a_tracer_is_traced_anew() -> None:
    held: list[Any] = [None]
    inner = xfront.jit(lambda x: x * held[0])

    def outer(y: Any) -> Any:
        held[0] = y
        return inner(2.0)

    assert [float(xfront.grad(outer)(y)) for y in (1.0, 3.0)] == [2.0, 2.0]
    assert [float(lax.map(outer, jnp.array([y]))[0]) for y in (1.0, 3.0)] == [2.0, 6.0]
