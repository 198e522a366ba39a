"""The logarithm of the gamma function against C's and against its plain rule."""

from __future__ import annotations

import math

import numpy as np
import pytest

import xfront
import xfront.numpy as jnp
from tests.lowering.cpu.against_plain import named, program, samples, takes_a_form, variants
from xfront_ir import ops

SIZE = 2 ** 17
ZEROS = (-2.457024738, -2.747682648, -3.143580888, -3.955294285, -4.039361840)


def lgamma_of(dtype: str, size: int = SIZE):
    return program(("", ops.lgamma, (named(dtype, size),), {}, True))


@pytest.mark.parametrize("dtype, size, taken", (
    ("f32", SIZE, True), ("f32", SIZE - 1, False), ("f64", SIZE, False), ("f16", SIZE, False)))
def test_which(dtype, size, taken) -> None:
    assert takes_a_form(lgamma_of(dtype, size), ops.lgamma) == taken


def around(number: float, count: int) -> np.ndarray:
    """The numbers next to one."""
    steps = np.arange(-count // 2, count // 2, dtype=np.int32)
    return (np.float32(number).view(np.int32) + steps).view(np.float32)


def test_error(monkeypatch) -> None:
    """At most 1 ulp, of all exponents and next to the zeros at 1 and 2; next to the others 1e-9."""
    fast, _ = variants(lgamma_of("f32"), monkeypatch)
    rng = np.random.default_rng(0)
    bits = rng.integers(0, 2 ** 32, 2 * SIZE, dtype=np.uint32).view(np.float32)
    given = np.concatenate([
        bits, *[rng.uniform(-x, x, SIZE).astype(np.float32) for x in (5, 20, 1e5)],
        *[around(x, SIZE // 16) for x in (1, 2, 3, 0.5, 1.5, -0.5, *ZEROS, -1, -2, -3, 1e-30)]])
    given = given[~(np.abs(given) < np.finfo(np.float32).tiny)]
    for x in np.resize(given, (7, SIZE)):
        (made,) = fast(x)
        with np.errstate(invalid="ignore"):                 # signalling NaNs
            poles = np.isinf(x) | (x <= 0) & (np.floor(x) == x)
        want = np.array([math.inf if pole else math.lgamma(v)
                         for v, pole in zip(x.tolist(), poles, strict=True)])
        np.testing.assert_array_equal(np.isnan(made), np.isnan(x))
        with np.errstate(over="ignore"):
            nearest = want.astype(np.float32)
        finite = np.isfinite(nearest)
        np.testing.assert_array_equal(made[~finite], nearest[~finite])
        allowed = np.spacing(np.abs(nearest[finite])) + np.where(x[finite] < 0, 1e-9, 0)
        assert (np.abs(made[finite] - want[finite]) <= allowed).all()


def test_special_numbers_and_against_the_plain_rule(monkeypatch) -> None:
    fn = lgamma_of("f32")
    fast, plain = variants(fn, monkeypatch)
    for seed in range(3):
        x = samples(fn.params[0].type, seed)
        (got,), (want,) = fast(x), plain(x)
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5)


def test_under_grad_and_vmap(monkeypatch) -> None:
    x = np.random.default_rng(0).uniform(-4.9, 9, (4, SIZE // 4)).astype(np.float32)
    made = []
    for flag in ("1", "0"):
        monkeypatch.setenv("XFRONT_CPU_FORMS", flag)
        made.append([np.asarray(xfront.jit(lambda x, f=f: f(x)).lower(x).compile()(x)) for f in (
            xfront.grad(lambda x: jnp.sum(jnp.sin(xfront.lax.lgamma(x)))),
            xfront.vmap(xfront.lax.lgamma))])
    for got, want in zip(*made, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-3, atol=1e-3)
