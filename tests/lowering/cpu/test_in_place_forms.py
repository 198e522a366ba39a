"""Loops whose turns read before they write: the same values as the plain rule's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import xfront
import xfront.numpy as jnp
from lowering import compat
from lowering.cpu.in_place import reading_first
from xfront import lax
from xfront_ir import ops
from xfront_ir.core import Function, Op

NEW = compat.VERSION >= (0, 12)


def each_other(i, both):
    a, b = both
    x, y = a[i], b[i]
    return a.at[i + 1].set(jnp.sin(y)), b.at[i + 1].add(jnp.cos(x))


def swap(i, both):
    a, b = both
    x, y = lax.dynamic_slice(a, (i, 0), (1, 4)), lax.dynamic_slice(b, (i, 0), (1, 4))
    return lax.dynamic_update_slice(a, y, (i, 0)), lax.dynamic_update_slice(b, x, (i, 0))


def swap_rows(i, both):
    a, b = both
    x, y, at = a[i], a[-i - 1], (3 * i) % 11
    return a.at[i].set(y).at[-i - 1].set(x), b + a[at, 0]


def chained(i, both):
    a, b = both
    x = a[i]
    j = i + (x[0] > 0).astype(int)
    y = b[j]
    return a.at[j].set(y), b.at[i].set(x * 2)


def what_was_before(i, both):
    a, b = both
    return a.at[i].set(b[0]), b + a[i]


def read_what_was_written(i, both):
    a, b = both
    a = a.at[i].set(b[0])
    return a, b.at[i + 1].set(a[i] + a[i + 1])


def one(i, both):
    a, b = both
    return a.at[i + 1].set(a[i] * 0.5 + a[i + 1]), b


def not_written(i, both):
    a, b = both
    return a + b[i], b


def of_other_carry(i, both):
    a, b = both
    return b.at[i].set(a[i]), a.at[i].set(b[i])


def nested(i, both):
    a, b = both

    def inner(j, both):
        a, b = both
        return a.at[j].set(b[j] + 1), b.at[j].set(a[j] * 0.5)

    x, y = a[i], b[i]
    x, y = lax.fori_loop(0, 3, inner, (x, y))
    return a.at[i + 1].set(y), b.at[i].set(x)


def conditional(i, both):
    a, b = both
    x = lax.cond(i % 2 == 0, lambda: a[i], lambda: b[i] * 2)
    y = a[i] + 1
    return a.at[i].set(x), b.at[i].set(jnp.where(x > 0, y, -y))


TURNS = {each_other: True, swap: True, swap_rows: True, chained: True, what_was_before: True,
         read_what_was_written: True, one: False, not_written: False, of_other_carry: False,
         nested: True, conditional: True}


def arrays() -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    a, b = (rng.normal(size=(12, 4)).astype(np.float32) for _ in range(2))
    a[3, 1], b[4, 2], b[5, 0] = np.nan, np.inf, -0.0
    return a, b


def by_fori(turn, a, b, n=11):
    return lax.fori_loop(0, n, turn, (a, b))


def by_while(turn, a, b, n=11):
    return lax.while_loop(lambda c: c[0] < n, lambda c: (c[0] + 1, *turn(c[0], c[1:])),
                          (0, a, b))[1:]


def by_scan(turn, a, b, n=11):
    def step(both, i):
        return turn(i, both), both[0][0]

    (a, b), rows = lax.scan(step, (a, b), jnp.arange(n), unroll=2)
    return a, b, rows


def by_vmap(turn, a, b):
    return xfront.vmap(lambda a, b: by_fori(turn, a, b))(jnp.stack([a, b]), jnp.stack([b, a]))


def by_grad(turn, a, b):
    a, b = a.at[3, 1].set(0), b.at[4, 2].set(1)
    return xfront.grad(lambda a, b: sum(jnp.sum(v * v) for v in by_fori(turn, a, b)), (0, 1))(a, b)


@pytest.mark.parametrize("loop", [by_fori, by_while, by_scan, by_vmap, by_grad],
                         ids=lambda f: f.__name__)
@pytest.mark.parametrize("turn", TURNS, ids=lambda f: f.__name__)
def test_the_same_values(monkeypatch, turn, loop) -> None:
    a, b = map(jnp.asarray, arrays())
    made = []
    for flag in ("1", "0"):
        monkeypatch.setenv("XFRONT_CPU_FORMS", flag)
        lowered = xfront.jit(lambda a, b: loop(turn, a, b)).lower(a, b)
        if loop in (by_fori, by_while) and flag == "1":
            found = {t.form for t in lowered.forms()} & {"in_place.scan", "in_place.while_"}
            assert bool(found) == (NEW and TURNS[turn])
        made.append([np.asarray(v) for v in lowered.compile()(a, b)])
    for fast, plain in zip(*made, strict=True):
        if loop is by_grad:
            np.testing.assert_allclose(fast, plain, rtol=1e-6, atol=1e-6)
        else:
            assert fast.tobytes() == plain.tobytes()


def loop_of(turn) -> Op:
    ir = xfront.jit(lambda a, b: by_fori(turn, a, b)).trace(*arrays()).ir
    return next(op for op in ir.ops if op.definition is ops.scan)


def reordered(turn) -> Function | None:
    return reading_first(loop_of(turn))


@pytest.mark.parametrize("turn", TURNS, ids=lambda f: f.__name__)
def test_reads_come_before_updates(turn) -> None:
    body = reordered(turn)
    assert (body is not None) == TURNS[turn]
    if body is None:
        return
    at = next(i for i, op in enumerate(body.ops) if op.definition is ops.optimization_barrier)
    known = set(body.params)
    for op in body.ops:                                 # nothing is read before it is made
        assert known.issuperset(op.operands)
        known.update(op.results)
    assert known.issuperset(body.returns)
    early = {op.definition.name for op in body.ops[:at]}
    assert not any(name.startswith("scatter") or "update" in name for name in early)


def test_loops_inside_take_forms_too() -> None:
    forms = xfront.jit(lambda a, b: by_fori(nested, a, b)).lower(*arrays()).forms()
    assert [t.form for t in forms if t.form.startswith("in_place")] == ["in_place.scan"] * 2 * NEW


def test_loops_with_effects_stay(capfd) -> None:
    def turn(i, both):
        xfront.debug.print("turn {}", i, ordered=True)
        return each_other(i, both)

    assert reordered(turn) is None
    a, b = map(jnp.asarray, arrays())
    made = xfront.jit(lambda a, b: by_fori(turn, a, b, 2))(a, b)
    xfront.effects_barrier()
    assert capfd.readouterr().out.split() == ["turn", "0", "turn", "1"]
    want = by_fori(each_other, a, b, 2)
    np.testing.assert_array_equal(np.asarray(made[0]), np.asarray(want[0]))
