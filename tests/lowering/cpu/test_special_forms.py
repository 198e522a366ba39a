"""The logarithm of the gamma function and its derivative against SciPy's and their plain rules."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.special

import xfront
import xfront.numpy as jnp
from tests.lowering.cpu.against_plain import named, program, samples, takes_a_form, variants
from xfront_ir import ops
from xfront_ir.definition import OpDef

SIZE = 2 ** 17
BOTH = pytest.mark.parametrize("definition", (ops.lgamma, ops.digamma), ids=lambda d: d.name)


def of_one(definition: OpDef, dtype: str, size: int = SIZE):
    return program(("", definition, (named(dtype, size),), {}, True))


@pytest.mark.parametrize("definition, dtype, size, taken", (
    (ops.lgamma, "f32", SIZE, True), (ops.lgamma, "f32", SIZE - 1, False),
    (ops.digamma, "f32", SIZE // 4, True), (ops.digamma, "f32", SIZE // 4 - 1, False),
    (ops.lgamma, "f64", SIZE, False), (ops.digamma, "f16", SIZE, False)))
def test_which(definition, dtype, size, taken) -> None:
    assert takes_a_form(of_one(definition, dtype, size), definition) == taken


def around(number: float, count: int) -> np.ndarray:
    """The numbers next to one."""
    steps = np.arange(-count // 2, count // 2, dtype=np.int32)
    return (np.float32(number).view(np.int32) + steps).view(np.float32)


def lgamma(x: np.ndarray) -> np.ndarray:
    """Infinite at the poles."""
    return scipy.special.gammaln(x)


def digamma(x: np.ndarray) -> np.ndarray:
    """NaN at the poles but 0."""
    at_pole = (x <= 0) & (np.floor(x) == x)
    made = np.where(at_pole, np.nan, scipy.special.digamma(np.where(at_pole, 1.0, x)))
    return np.where(x == 0, -np.inf, made)


@pytest.mark.parametrize("definition, of_f64, next_to_zeros, zeros", (
    (ops.lgamma, lgamma, 1e-9,
     (1, 2, -2.457024738, -2.747682648, -3.143580888, -3.955294285, -4.039361840)),
    (ops.digamma, digamma, 3e-10, (1.461632145, -0.504083008, -1.573498473, -4.653237762))),
    ids=lambda x: getattr(x, "name", ""))
def test_error(definition, of_f64, next_to_zeros, zeros, monkeypatch) -> None:
    """At most 1 ulp, for all exponents and next to positive zeros; absolute next to the others."""
    fast, _ = variants(of_one(definition, "f32"), monkeypatch)
    rng = np.random.default_rng(0)
    bits = rng.integers(0, 2 ** 32, 2 * SIZE, dtype=np.uint32).view(np.float32)
    given = np.concatenate([
        bits, *[rng.uniform(-x, x, SIZE).astype(np.float32) for x in (5, 20, 1e5)],
        *[around(x, SIZE // 16) for x in (*zeros, 1, 2, 3, 0.5, 1.5, -0.5, -1, -2, -3, 1e-30)]])
    given = given[~(np.abs(given) < np.finfo(np.float32).tiny)]
    for x in np.resize(given, (7, SIZE)):
        (made,) = fast(x)
        with np.errstate(invalid="ignore", over="ignore"):                 # signalling NaNs
            want = of_f64(x.astype(np.float64))
            nearest = want.astype(np.float32)
        finite = np.isfinite(nearest)
        np.testing.assert_array_equal(made[~finite], nearest[~finite])
        allowed = np.spacing(np.abs(nearest[finite])) + np.where(x[finite] < 0, next_to_zeros, 0)
        assert (np.abs(made[finite] - want[finite]) <= allowed).all()


@BOTH
def test_special_numbers_and_against_the_plain_rule(definition, monkeypatch) -> None:
    fn = of_one(definition, "f32")
    fast, plain = variants(fn, monkeypatch)
    for seed in range(3):
        x = samples(fn.params[0].type, seed)
        (got,), (want,) = fast(x), plain(x)
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("definition, least", ((ops.lgamma, -4.9), (ops.digamma, 0.1)),
                         ids=lambda x: getattr(x, "name", ""))
def test_under_grad_and_vmap(definition, least, monkeypatch) -> None:
    """Not next to the poles of digamma, of which no digits of a sine are left."""
    f = getattr(xfront.lax, definition.name)
    x = np.random.default_rng(0).uniform(least, 9, (4, SIZE // 4)).astype(np.float32)
    made = []
    for flag in ("1", "0"):
        monkeypatch.setenv("XFRONT_CPU_FORMS", flag)
        made.append([np.asarray(xfront.jit(lambda x, g=g: g(x)).lower(x).compile()(x)) for g in (
            xfront.grad(lambda x: jnp.sum(jnp.sin(f(x)))), xfront.vmap(f))])
    for got, want in zip(*made, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-3, atol=1e-3)
