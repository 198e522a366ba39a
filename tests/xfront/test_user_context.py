"""Contexts of a program's own: functions are traced again where their value differs."""

from __future__ import annotations

import threading
from typing import Any

import pytest

import xfront as jax


def test_values_are_part_of_the_key_of_traces() -> None:
    context, traced = jax.make_user_context(5), []

    @jax.jit
    def f(x: Any) -> Any:
        traced.append(context.value)
        return x * 2 + context.value

    for value, wanted in ((1, 3.0), (1, 3.0), (2, 4.0), (5, 7.0)):
        with context(value):
            assert f(1.0) == wanted
    assert f(1.0) == 7.0 and traced == [1, 2, 5]
    with context(2), context(3):
        assert jax.grad(f)(1.0) == 2.0 and jax.vmap(f)(jax.numpy.ones(1))[0] == 5.0
        assert jax.jit(lambda x: jax.lax.cond(True, lambda: f(x), lambda: x))(2.0) == 7.0
    assert context.value == 5

    @context(4)
    def inside() -> tuple[int, float]:
        return context.value, float(f(1.0))

    assert inside() == (4, 6.0) and context.value == 5


def test_values_of_threads() -> None:
    context, seen = jax.make_user_context(), []
    with context("here"):
        thread = threading.Thread(target=lambda: seen.append(context.value))
        thread.start()
        thread.join()
    context.set_global("all")
    assert seen == [None] and context.value == context.get_global() == "all"


def test_values_without_a_hash_are_refused() -> None:
    context = jax.make_user_context()
    for call in (jax.make_user_context, context, context.set_global):
        with pytest.raises(TypeError, match=r"must be hashable, got \[1\]"):
            call([1])
