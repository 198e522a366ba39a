"""`one_hot(i) @ matrix` as rows of the matrix: bit for bit what the plain rule gives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import xfront
import xfront.numpy as jnp

TABLE = np.random.default_rng(0).normal(size=(70, 60)).astype(np.float32)


def places(*shape: int, dtype: Any = np.int32, low: int = -3) -> np.ndarray:
    """Integers from inside and outside of the table."""
    return np.random.default_rng(1).integers(low, 75, shape).astype(dtype)


def rows(i, table):
    return xfront.nn.one_hot(i, 70, dtype=table.dtype) @ table


def of_columns(i, table):
    return xfront.lax.dot_general(xfront.nn.one_hot(i, 60), table, (((i.ndim,), (1,)), ((), ())))


def first_axis(i, table):
    return xfront.lax.dot_general(xfront.nn.one_hot(i, 70, axis=0), table, (((0,), (0,)), ((), ())))


def turned(i, table):
    hot = (jnp.broadcast_to(i[:, None], (i.size, i.size)) == jnp.arange(i.size)).astype(np.float32)
    return hot.T @ jnp.resize(table, (i.size, 60))


def other_relation(i, table):
    wide = jnp.broadcast_to(i[:, None], (i.size, 70))
    numbers = xfront.lax.broadcasted_iota(np.int32, wide.shape, 1)
    return (wide != numbers).astype(np.float32) @ table


def floats(i, table):
    wide = xfront.lax.broadcast_in_dim(i.astype(np.float32), (i.size, 70), (0,))
    numbers = xfront.lax.broadcasted_iota(np.float32, wide.shape, 1)
    return (wide == numbers).astype(np.float32) @ table


def other_way(i, table):
    wide = xfront.lax.broadcast_in_dim(i, (i.size, 70), (0,))
    numbers = xfront.lax.broadcasted_iota(np.int32, wide.shape, 1)
    return (numbers == wide).astype(np.float32) @ table


def by_hand(i, table):
    return (i[..., None] == jnp.arange(70)).astype(np.float32) @ table


def shifted(i, table):
    return (i[:, None] == jnp.arange(1, 71)).astype(np.float32) @ table


def both(f, monkeypatch, *args) -> tuple[bool, list[Any]]:
    """Whether the form is taken, and the results with it and without."""
    taken, made = False, []
    for flag in ("1", "0"):
        monkeypatch.setenv("XFRONT_CPU_FORMS", flag)
        lowered = xfront.jit(lambda *a: f(*a)).lower(*args)
        taken = taken or any(t.form == "dot.rows" for t in lowered.forms())
        made.append(np.asarray(lowered.compile()(*args)))
    return taken, made


CASES = (
    (rows, places(300), True), (rows, places(20, 15), True), (rows, places(300, low=0), True),
    (rows, places(300, dtype=np.uint8, low=0), True), (rows, places(300, dtype=np.int8), True),
    (rows, places(300, dtype=np.uint32, low=0) - np.uint32(2), True),
    (rows, places(256), True), (rows, places(255), False), (of_columns, places(300), True),
    (of_columns, places(20, 16), True), (first_axis, places(300), True),
    (turned, places(300), False), (other_relation, places(300), False),
    (floats, places(300), False), (other_way, places(300), True),
    (by_hand, places(300), True), (by_hand, places(20, 15), True), (shifted, places(300), False))


@pytest.mark.parametrize("f, i, taken", CASES,
                         ids=[f"{f.__name__}-{i.shape}-{i.dtype}" for f, i, _ in CASES])
def test_the_same_bits(monkeypatch, f, i, taken) -> None:
    rng = np.random.default_rng(2)
    special = TABLE.copy()
    special[rng.random(special.shape) < 0.1] = -0.0
    special[rng.random(special.shape) < 0.1] = 1e-40
    for column, (where, number) in enumerate([(5, np.inf), (6, -np.inf), (7, np.nan)]):
        special[where, column] = number
    special[[5, 6], 9], special[[5, 8], 10] = np.inf, [np.inf, np.nan]
    for table in (TABLE, special):
        found, (fast, plain) = both(f, monkeypatch, i, table)
        assert found == taken
        np.testing.assert_array_equal(fast, plain)
        seen = ~np.isnan(plain)
        np.testing.assert_array_equal(np.signbit(fast)[seen], np.signbit(plain)[seen])


def test_of_f64_and_of_few_products(monkeypatch) -> None:
    with xfront.enable_x64():
        for table, taken in ((TABLE.astype(np.float64), True), (TABLE[:, :49], False),
                             (TABLE.astype(np.float16), False)):
            for dtype in (np.int64, np.uint64):
                found, (fast, plain) = both(rows, monkeypatch, places(300, dtype=dtype, low=0),
                                            table)
                assert found == taken
                np.testing.assert_array_equal(fast, plain)


def test_under_grad_and_vmap(monkeypatch) -> None:
    i = places(2, 300)

    def loss(table, i):
        return jnp.sum(jnp.tanh(rows(i, table)) ** 2)

    for f, args in ((xfront.grad(loss), (TABLE, i[0])),
                    (xfront.vmap(rows, (0, None)), (i, TABLE)),
                    (xfront.vmap(rows, (None, 0)), (i[0], np.stack([TABLE, -TABLE])))):
        _, (fast, plain) = both(f, monkeypatch, *args)
        np.testing.assert_allclose(fast, plain, rtol=1e-6, atol=1e-6)


def test_in_a_loop_the_integers_of_which_come_from_outside(monkeypatch) -> None:
    def f(i, table):
        hot = xfront.nn.one_hot(i, 70)
        return xfront.lax.fori_loop(
            0, 3, lambda k, t: t + (hot + 0) @ (t[:70] * k) + rows(i, table), jnp.zeros((300, 60)))

    found, (fast, plain) = both(f, monkeypatch, places(300), TABLE)
    assert found
    np.testing.assert_allclose(fast, plain, rtol=1e-6, atol=1e-6)
