"""Maxima and minima of floats keep NaN at every size, which XLA's library for reductions loses."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import xfront
import xfront.numpy as jnp
from lowering.cpu.reduce import _merged
from tests.lowering.cpu.against_plain import form_taken, named, program
from xfront import lax
from xfront_ir import ops
from xfront_ir.builder import Builder

DTYPES = ("float32", "float64", "float16", "bfloat16")
SHAPES = {(100,): [0], (4095,): [0], (4096,): [0], (5000,): [0], (65537,): [0],
          (64, 65): [0, 1, (0, 1)], (33, 3, 49): [1, (0, 2)], (2, 2100): [0, 1], (2100, 2): [0]}


@pytest.fixture(params=["1", "0"], ids=["forms", "needed"])
def forms(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XFRONT_CPU_FORMS", request.param)


def extrema(x, axes):
    return [[f(x.astype(dtype), axis=axis).astype("float64") for f in (jnp.max, jnp.min)]
            for dtype in DTYPES for axis in axes]


def with_nan(shape: tuple[int, ...]) -> list[np.ndarray]:
    """The same numbers with NaN nowhere, in one place of several, and everywhere, with a sign too;
    and infinities."""
    x = np.random.default_rng(0).integers(-9, 9, shape).astype(np.float32)
    made = [x, *[np.full(shape, y, np.float32) for y in (np.nan, -np.nan, -np.inf)]]
    for place in (0, 1, x.size // 2, x.size - 1):
        made.append(x.copy())
        made[-1].reshape(-1)[place] = np.nan
    return made


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_reductions(shape: tuple[int, ...], forms: None) -> None:
    axes = SHAPES[shape]
    with xfront.enable_x64(True):
        run = xfront.jit(lambda x: extrema(x, axes))
        for x in with_nan(shape):
            want = [[x.max(axis=axis), x.min(axis=axis)] for axis in axes]
            for pair, expected in zip(run(x), want * len(DTYPES), strict=True):
                for got, right in zip(pair, expected, strict=True):
                    np.testing.assert_array_equal(got, right)


def test_in_loops_maps_and_derived_functions(forms: None) -> None:
    x = with_nan((50, 100))[6]

    def turns(x):
        return lax.fori_loop(0, 2, lambda i, c: c + jnp.max(x * i), 0.0)

    assert np.isnan(xfront.jit(turns)(x)) and np.isnan(jnp.max(x)) and np.isnan(jnp.ptp(x))
    assert np.isnan(jnp.linalg.norm(x.reshape(-1), ord=np.inf))
    rows = xfront.jit(xfront.vmap(jnp.min))(x)
    np.testing.assert_array_equal(rows, x.min(axis=1))


def test_derivatives_are_nan_where_the_extremum_is(forms: None) -> None:
    """Of few elements and of many, compiled or not."""
    for shape in ((2, 3), (3, 2000)):
        x = (np.arange(np.prod(shape), dtype=np.float32) % 5).reshape(shape)
        x[1, 1] = np.nan
        for f in (jnp.max, jnp.min, jnp.ptp):
            slope = xfront.grad(lambda x, f=f: f(x, axis=1).sum())
            for got in (slope(x), xfront.jit(slope)(x)):
                assert np.isnan(got[1]).all() and np.isfinite(np.delete(got, 1, axis=0)).all()
            _, turn = xfront.jvp(lambda x, f=f: f(x, axis=1), (x,), (np.ones_like(x),))
            np.testing.assert_array_equal(np.isnan(turn), np.arange(shape[0]) == 1)


WINDOWS = {                                   # shape, window, strides, padding, is mended
    "tiles": ((4, 16, 64, 2), (1, 2, 2, 1), (1, 2, 2, 1), [(0, 0)] * 4, True),
    "padded tiles": ((4, 32, 33, 2), (1, 3, 3, 1), (1, 3, 3, 1), [(0, 0), (0, 1), (1, 2), (0, 0)],
                     True),
    "strides without a window": ((4, 16, 64, 2), (1, 2, 1, 1), (1, 2, 3, 1), [(0, 0)] * 4, True),
    "each element by itself": ((70, 65), (1, 1), (1, 2), [(0, 0)] * 2, True),
    "one window": ((70, 64), (70, 1), (1, 1), [(0, 0)] * 2, True),
    "most of an axis": ((65, 64), (64, 1), (64, 1), [(0, 0)] * 2, True),
    "overlapping": ((64, 64), (3, 3), (2, 2), [(0, 0)] * 2, False),
    "few": ((63, 65), (9, 5), (9, 5), [(0, 0)] * 2, False),
}


@pytest.mark.parametrize("name", WINDOWS)
def test_windows(name: str, forms: None) -> None:
    shape, window, strides, padding, mended = WINDOWS[name]
    x = np.random.default_rng(0).integers(-9, 9, shape).astype(np.float32)
    x.reshape(-1)[::97] = np.nan
    run = xfront.jit(lambda x: [lax.reduce_window(x, start, f, window, strides, padding)
                                for start, f in ((-np.inf, lax.max), (np.inf, lax.min))])
    for got, start, f in zip(run(x), (-np.inf, np.inf), (np.maximum, np.minimum), strict=True):
        padded = np.pad(x, padding, constant_values=start)
        counts = [(n - w) // s + 1 for n, w, s in zip(padded.shape, window, strides, strict=True)]
        want = np.full(counts, start, np.float32)
        for place in itertools.product(*map(range, window)):
            want = f(want, padded[tuple([slice(i, i + (n - 1) * s + 1, s) for i, n, s in zip(
                place, counts, strides, strict=True)])])
        np.testing.assert_array_equal(got, want)
    ones = (1,) * len(shape)
    fn = program((name, ops.reduce_window_max, (named("f32", *shape),), {
        "window": window, "strides": strides, "padding": tuple(padding), "base_dilation": ones,
        "window_dilation": ones}, mended))
    taken = form_taken(fn, ops.reduce_window_max)
    assert taken == ("window.greatest_in_windows" if mended else None)


@pytest.mark.parametrize(("dtype", "n", "greatest", "least"), [
    ("f32", 4096, True, True), ("f64", 4096, True, True), ("f32", 4095, False, False),
    ("bf16", 4096, True, True), ("f16", 4096, True, True), ("f8_e4m3fn", 4096, False, False),
    ("i32", 4096, False, False)])
def test_who_takes_them(dtype: str, n: int, greatest: bool, least: bool) -> None:
    for definition, name, wanted in ((ops.reduce_max, "greatest", greatest),
                                     (ops.reduce_min, "least", least)):
        fn = program(("", definition, (named(dtype, n),), {"axes": (0,)}, wanted))
        for has_fences, form in ((True, f"{name}_or_nan"), (False, "extremum_or_flag")):
            taken = form_taken(fn, definition, has_fences=has_fences, needed_only=True)
            assert taken == (f"reduce.{form}" if wanted else None)


def test_axes_are_merged() -> None:
    for shape, axes, wanted, reduced in (
            ((2, 1, 3, 4), (2, 3), (2, 12), (1,)), ((2, 3, 4, 5), (0, 2, 3), (2, 3, 20), (0, 2)),
            ((5, 1), (0, 1), (5,), (0,)), ((4, 5, 1, 6), (0, 1), (20, 6), (0,))):
        b = Builder("f")
        made, found = _merged(b, b.param(named("f32", *shape)), axes)
        assert (made.type.shape, found) == (wanted, reduced)
