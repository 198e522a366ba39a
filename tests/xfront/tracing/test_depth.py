"""Functions that call themselves without end under a transformation: an error, not the end of the
process."""

from __future__ import annotations

import sys
import threading
from typing import Any

import numpy as np
import pytest

import xfront as jax
import xfront.numpy as jnp
from xfront import lax
from xfront.tracing.trace import MOST_LEVELS


def under_jit(x: Any) -> Any:
    return jax.jit(under_jit)(x)


def under_grad(x: Any) -> Any:
    return jax.grad(under_grad)(x)


def under_vmap(x: Any) -> Any:
    return jax.vmap(under_vmap)(x[None])[0]


def under_cond(x: Any) -> Any:
    return lax.cond(x > 0, under_cond, under_cond, x)


def under_scan(x: Any) -> Any:
    return lax.scan(lambda c, _: (under_scan(c), None), x, None, length=2)[0]


@jax.custom_jvp
def under_rule(x: Any) -> Any:
    return under_rule(x)


def under_rule_and_vmap(x: Any) -> Any:
    return jax.vmap(under_rule)(x[None])[0]


under_rule.defjvp(lambda primals, tangents: (primals[0], tangents[0]))


@jax.checkpoint
def under_checkpoint(x: Any) -> Any:
    return under_checkpoint(x)


@jax.jit
def under_all(x: Any) -> Any:
    inner = jax.checkpoint(lambda y: lax.cond(y > 0, under_all, under_all, y))
    return jax.vmap(jax.grad(inner))(x[None])[0]


ENDLESS = [under_jit, under_grad, under_vmap, under_cond, under_scan, under_rule_and_vmap,
           under_checkpoint, under_all]


@pytest.mark.parametrize("f", ENDLESS, ids=lambda f: getattr(f, "__name__", "f"))
def test_recursion_without_end_is_an_error(f: Any) -> None:
    limit = sys.getrecursionlimit()
    with pytest.raises(RecursionError, match="nested transformations"):
        f(jnp.float32(1.0))
    assert sys.getrecursionlimit() == limit
    assert float(jax.grad(jnp.sin)(0.0)) == 1.0


def test_a_function_whose_rule_ends_is_differentiated() -> None:
    """The rule runs in its place."""
    assert float(jax.grad(under_rule)(1.0)) == 1.0


def test_in_a_thread() -> None:
    raised = []

    def work() -> None:
        try:
            under_jit(jnp.float32(1.0))
        except RecursionError as e:
            raised.append(e)

    threads = [threading.Thread(target=work) for _ in range(2)]
    limit = sys.getrecursionlimit()
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len(raised) == 2 and sys.getrecursionlimit() == limit


def test_one_thread_ends_while_another_is_deep() -> None:
    """The recursion limit is the process's: it stands until the last deep trace has ended."""
    first_is_deep, second_is_deep, first_has_ended = (threading.Event() for _ in range(3))
    seen = []

    def nested(levels: int, at_the_bottom: Any) -> Any:
        def f(x: Any) -> Any:
            at_the_bottom()
            return x

        for _ in range(levels):
            f = jax.jit(lambda x, f=f: f(x))
        return f

    def wait_for_second() -> None:
        first_is_deep.set()
        second_is_deep.wait(60)

    def outlive_first() -> None:
        second_is_deep.set()
        first_has_ended.wait(60)
        seen.append(sys.getrecursionlimit())

    def first() -> None:
        nested(300, wait_for_second)(1.0)
        first_has_ended.set()

    def second() -> None:
        first_is_deep.wait(60)
        nested(200, outlive_first)(1.0)

    limit = sys.getrecursionlimit()
    threads = [threading.Thread(target=f) for f in (first, second)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert seen and seen[0] > limit and sys.getrecursionlimit() == limit


def test_as_many_nested_jits_as_there_may_be() -> None:
    def f(x: Any) -> Any:
        return jnp.sin(x)

    depth = MOST_LEVELS - 100
    for _ in range(depth):
        f = jax.jit(lambda x, f=f: f(x) + 1.0)
    limit = sys.getrecursionlimit()
    np.testing.assert_allclose(f(1.0), np.sin(1.0) + depth, rtol=1e-6)
    assert sys.getrecursionlimit() == limit
