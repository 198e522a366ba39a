"""Extrema of floats beside reductions: XLA's library for the CPU would lose NaN in them."""

from __future__ import annotations

import numpy as np
import pytest

import xfront
import xfront.numpy as jnp


def _means_of_pairs(x):
    return xfront.lax.reduce_window(x, 0.0, xfront.lax.add, (1, 2), (1, 2), "VALID") / 2


NEAR = {
    "before a product": lambda x: jnp.einsum("ij,ij->i", jnp.maximum(x, 0.0), jnp.ones((5000, 8))),
    "after products of one term": lambda x: jnp.maximum(x.sum(1)[:, None] @ jnp.ones((1, 2)), 0.0),
    "before windows": lambda x: _means_of_pairs(jnp.maximum(x, 0.0)),
    "after windows": lambda x: jnp.maximum(_means_of_pairs(x), 0.0),
    "before": lambda x: jnp.maximum(x, 0.0).sum(1),
    "in a call": lambda x: xfront.nn.relu(2 * x).sum(1),
    "after": lambda x: jnp.minimum(x.sum(1), 1.0),
    "after a broadcast": lambda x: jnp.maximum(jnp.square(x.sum(1)[:, None]) + jnp.ones(3), 0.0),
    "in a loop": lambda x: xfront.lax.fori_loop(
        0, 1, lambda i, c: c + jnp.maximum(x, 0.0).sum(1), jnp.zeros(len(x))),
    "before a loop of one turn": lambda x: xfront.lax.scan(
        lambda c, _: (c, c.sum(1)), jnp.maximum(x, 0.0), None, length=1)[1][0],
    "after a loop of one turn": lambda x: jnp.maximum(xfront.lax.fori_loop(
        0, 1, lambda i, c: x.sum(1), jnp.zeros(len(x))), 0.0),
}


@pytest.mark.parametrize("name", NEAR)
def test_extrema_beside_reductions_keep_nan(name, monkeypatch) -> None:
    x = np.ones((5000, 8), np.float32)
    x[3, 5] = np.nan
    for flag in "01":
        monkeypatch.setenv("XFRONT_CPU_FORMS", flag)
        made = np.asarray(xfront.jit(lambda x: NEAR[name](x))(x))
        assert np.isnan(made[3]).any() and not np.isnan(np.delete(made, 3, 0)).any()


@pytest.mark.parametrize("extremum", [jnp.maximum, jnp.minimum])
@pytest.mark.parametrize("dtype", [jnp.float16, jnp.bfloat16, np.float64])
def test_of_other_widths(dtype, extremum) -> None:
    with xfront.enable_x64():
        x = jnp.ones((5000, 8), dtype).at[3, 5].set(np.nan)
        made = xfront.jit(lambda x: extremum(x, 1).sum(1))(x)
        assert jnp.isnan(made[3]) and not jnp.isnan(jnp.delete(made, 3)).any()


@pytest.mark.parametrize("reduced", [True, False])
def test_signed_zeros_and_infinities(reduced) -> None:
    ends = np.array([0.0, -0.0, np.inf, -np.inf, 1.0, np.nan], np.float32)
    x, y = np.repeat(ends, 6), np.tile(ends, 6)

    def both(x, y):
        made = [jnp.maximum(x, y), jnp.minimum(x, y)]
        return [*made, made[0].sum()] if reduced else made

    greater, lesser = xfront.jit(both)(x, y)[:2]
    np.testing.assert_array_equal(greater, np.maximum(x, y))
    np.testing.assert_array_equal(lesser, np.minimum(x, y))
    zeros = (x == 0) & (y == 0)
    assert (np.signbit(greater) == (np.signbit(x) & np.signbit(y)))[zeros].all()
    assert (np.signbit(lesser) == (np.signbit(x) | np.signbit(y)))[zeros].all()


def test_what_is_written() -> None:
    """Clamps on CPU alone, and of floats alone; an extremum by itself stays one."""
    def text(f, dtype="float32", platform="cpu"):
        traced = xfront.jit(f).trace(xfront.ShapeDtypeStruct((5000, 8), dtype))
        return traced.lower(lowering_platforms=(platform,)).as_text()

    def summed(x):
        return jnp.maximum(x, 0).sum(1)

    assert "stablehlo.clamp" in text(summed) and "stablehlo.clamp" not in text(summed, "int32")
    assert "stablehlo.clamp" not in text(summed, platform="tpu")
    assert "stablehlo.maximum" in text(lambda x: jnp.maximum(x, 0))
