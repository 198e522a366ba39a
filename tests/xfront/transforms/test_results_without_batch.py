"""Results that no batch reaches: `out_axes=None` through custom rules and loops, and derivatives by
rules that follow from the function, or do not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import xfront as jax
import xfront.numpy as jnp
from xfront import lax

A, C = jnp.array([0.5, 1.5, -2.0]), jnp.float32(3.0)
TA, TC = jnp.array([1.0, 2.0, 4.0]), jnp.float32(0.5)


def plain(a: Any, c: Any) -> Any:
    return 2 * a * c, c * c + 1


def with_jvp(kind: str) -> Any:
    f = jax.custom_jvp(plain)

    @f.defjvp
    def rule(primals: Any, tangents: Any) -> Any:
        (a, c), (ta, tc) = primals, tangents
        first, second = 2 * (a * tc + c * ta), 2 * c * tc
        if kind == "raises":
            raise RuntimeError("no derivative")
        if kind == "surrogate":
            second = second + 3 * ta
        elif kind == "coefficient":
            second = a * tc
        elif kind == "formal":
            second = second + 0 * ta
        elif kind == "primal":
            return (2 * a * c, c * c + 1 + 0 * a), (first, second)
        return f(a, c) if kind == "own" else plain(a, c), (first, second)

    return f


def with_vjp(kind: str) -> Any:
    f = jax.custom_vjp(plain)

    def forward(a: Any, c: Any) -> Any:
        if kind == "symbolic":
            a, c = a.value, c.value
        if kind == "raises":
            raise RuntimeError("no derivative")
        made = f(a, c) if kind == "own" else plain(a, c)
        return (made[0], made[1] + 0 * a) if kind == "primal" else made, (a, c)

    def backward(saved: Any, cts: Any) -> Any:
        (a, c), (g, h) = saved, cts
        if kind == "symbolic":
            g, h = (jnp.zeros(()) if type(x).__name__ == "SymbolicZero" else x for x in (g, h))
        if kind == "clipped":                    # not linear, so it has no transpose
            h = jnp.clip(h, -1e3, 1e3)
        ct_a, ct_c = 2 * c * g, 2 * a * g + 2 * c * h
        if kind == "surrogate":
            ct_a = ct_a + 3 * h
        elif kind == "coefficient":
            ct_c = ct_c + a * h
        elif kind == "formal":
            ct_a = ct_a + 0 * h
        return ct_a, ct_c

    f.defvjp(forward, backward, symbolic_zeros=kind == "symbolic")
    return f


KINDS = ["right", "own", "surrogate", "coefficient", "formal", "primal", "raises"]
ALL = [(with_jvp, k) for k in KINDS] + [(with_vjp, k) for k in [*KINDS, "symbolic", "clipped"]]
FITS = ("right", "own", "symbolic", "clipped")


@pytest.mark.parametrize(("make", "kind"), ALL)
def test_derivatives_are_those_of_each_example_alone(make: Any, kind: str) -> None:
    """Whatever the rule says: where it does not follow from the function, too."""
    if kind == "raises":
        with pytest.raises(RuntimeError, match="no derivative"):
            jax.grad(lambda c: jax.vmap(make(kind), (0, None))(A, c)[1].sum())(C)
        return
    f = make(kind)
    many: Any = jax.vmap(f, (0, None))
    u, v = TA, jnp.array([3.0, -1.0, 0.5])
    each: list[Any] = [jax.vjp(f, a, C)[1]((x, y)) for a, x, y in zip(A, u, v, strict=True)]
    want = [np.stack([e[0] for e in each]), sum([e[1] for e in each])]
    for run in (many, jax.jit(many)):
        for got, expected in zip(jax.vjp(run, A, C)[1]((u, v)), want, strict=True):
            np.testing.assert_allclose(got, expected, rtol=1e-6)
    if make is with_jvp:
        each = [jax.jvp(f, (a, C), (t, TC))[1] for a, t in zip(A, TA, strict=True)]
        for got, expected in zip(jax.jvp(many, (A, C), (TA, TC))[1], zip(*each, strict=True),
                                 strict=True):
            np.testing.assert_allclose(got, expected, rtol=1e-6)
    twice = jax.vmap(many, (0, None))
    rows = jnp.stack([A, 2 * A])
    got = jax.grad(lambda c: twice(rows, c)[1].sum())(C)
    one = jax.grad(lambda c: sum(f(a, c)[1] for row in rows for a in row))(C)
    np.testing.assert_allclose(got, one, rtol=1e-6)


@pytest.mark.parametrize(("make", "kind"), ALL)
def test_a_result_without_batch_needs_no_axis(make: Any, kind: str) -> None:
    """Where its rule lets the first example stand for all."""
    f = make(kind)
    def check(run: Any) -> None:
        mapped: Any = jax.vmap(run, (0, None), (0, None))
        if kind not in FITS:
            with pytest.raises(ValueError, match="got axis spec None but output was batched"):
                mapped(A, C)
            return
        want = [run(a, C) for a in A]
        first, second = mapped(A, C)
        np.testing.assert_allclose(first, [w[0] for w in want], rtol=1e-6)
        np.testing.assert_allclose(second, want[0][1], rtol=1e-6)
        expected = jax.grad(lambda c: run(A[0], c)[1])(C)
        np.testing.assert_allclose(jax.grad(lambda c: mapped(A, c)[1])(C), expected, rtol=1e-6)
        np.testing.assert_array_equal(jax.grad(lambda a: mapped(a, C)[1])(A), [0, 0, 0])
        if make is with_jvp:
            slope = jax.jacfwd(lambda c: mapped(A, c)[1])(C)
            np.testing.assert_allclose(slope, expected, rtol=1e-6)

    for run in (f, jax.jit(f), lambda a, c: f(f(a, c)[0], f(a, c)[1])):
        check(run)
    with pytest.raises(ValueError, match="got axis spec None but output was batched"):
        jax.vmap(f, (0, None), (None, 0))(A, C)


def test_a_rule_that_reads_the_axis() -> None:
    @jax.custom_jvp
    def f(a: Any, c: Any) -> Any:
        return a + c, c + 1

    f.defjvp(lambda p, t: (f(*p), (t[0], t[1] * lax.axis_index("i"))))
    run = jax.vmap(f, (0, None), axis_name="i")
    np.testing.assert_array_equal(jax.jvp(run, (A, C), (TA, TC))[1][1], 0.5 * np.arange(3))


def test_an_empty_batch() -> None:
    f = with_vjp("right")
    assert jax.vmap(f, (0, None))(jnp.zeros(0), C)[1].shape == (0,)


def test_a_carry_that_no_turn_changes_has_no_batch() -> None:
    """Under a test that ends the examples at different turns."""
    def run(a: Any, c: Any) -> Any:
        return lax.while_loop(lambda s: s[0] < 9, lambda s: (s[0] + s[1], s[1]), (a, c))

    first, second = jax.vmap(run, (0, None), (0, None))(A, C)
    np.testing.assert_array_equal(first, [9.5, 10.5, 10])
    assert float(second) == 3
    wide = jax.vmap(run, (0, None))(A, C)
    np.testing.assert_array_equal(wide[1], [3, 3, 3])
    slope = jax.jacfwd(lambda c: jnp.stack(jax.vmap(run, (0, None))(A, c)))(C)
    np.testing.assert_array_equal(slope, [[3, 3, 4], [1, 1, 1]])
    with pytest.raises(ValueError, match="got axis spec None but output was batched"):
        jax.vmap(lambda a, c: lax.while_loop(lambda s: s[0] < 9, lambda s: (s[0] + 1, s[1] + 1),
                                             (a, c)), (0, None), (0, None))(A, C)


def test_results_that_no_cotangent_leaves_are_told_from_others():
    @jax.custom_vjp
    def f(x):
        return jnp.float32(3.0), x * 2.0, jnp.float32(5.0)

    f.defvjp(lambda x: (f(x), None), lambda _, cts: (2.0 * cts[1],))
    three, doubled, five = jax.vmap(f, out_axes=(None, 0, None))(jnp.arange(3.0))
    assert (three, five) == (3.0, 5.0) and (doubled == 2.0 * jnp.arange(3.0)).all()
    with pytest.raises(ValueError, match="out_axes"):
        jax.vmap(f, out_axes=(None, None, None))(jnp.arange(3.0))
