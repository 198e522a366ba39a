"""The error function and its inverse against SciPy's and their plain rules; which programs take
their forms."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.special

import xfront
import xfront.numpy as jnp
from lowering import compat
from lowering.cpu.erf import APART_LEAST, LEAST
from tests.lowering.cpu.against_plain import (
    form_taken,
    named,
    program,
    samples,
    takes_a_form,
    ulps,
    variants,
)
from xfront import random
from xfront_ir import ops
from xfront_ir.core import Function
from xfront_ir.definition import OpDef

OLD = compat.VERSION < (0, 11)
N = 2 ** 20
BOTH = pytest.mark.parametrize("definition", (ops.erf, ops.erf_inv), ids=lambda d: d.name)


def of_one(definition: OpDef, dtype: str, *shape: int) -> Function:
    return program(("", definition, (named(dtype, *shape),), {}, True))


@pytest.mark.parametrize("dtype, shape, taken", (
    ("f32", (LEAST,), True), ("f32", (LEAST - 1,), False), ("f32", (4, LEAST // 4), True),
    ("f32", (0,), False), ("f64", (LEAST,), False), ("bf16", (LEAST,), False)))
@BOTH
def test_which(definition, dtype, shape, taken) -> None:
    wanted = taken and (OLD or definition is ops.erf_inv)
    assert takes_a_form(of_one(definition, dtype, *shape), definition) == wanted


@pytest.mark.parametrize("size, operations, name", (
    (APART_LEAST, 8, "erf.erf_inv_of_computed"), (APART_LEAST, 7, "erf.erf_inv"),
    (APART_LEAST - 1, 8, "erf.erf_inv"), (LEAST, 0, "erf.erf_inv")))
def test_which_are_computed_apart(func, size, operations, name) -> None:
    def of_computed(b, x):
        for _ in range(operations):
            x = b.emit(ops.neg, x)
        return [b.emit(ops.erf_inv, x)]

    assert form_taken(func([named("f32", size)], of_computed), ops.erf_inv) == name


def within() -> np.ndarray:
    """Numbers of all exponents whose inverse is finite, and many next to 1."""
    rng = np.random.default_rng(0)
    x = np.concatenate([10.0 ** rng.uniform(-37, 0, N // 2), rng.uniform(-1, 1, N // 4),
                        1 - 10.0 ** rng.uniform(-7.2, -1, N // 4)]).astype(np.float32)
    last = np.nextafter(np.float32(1), np.float32(0))
    return np.clip(x * rng.choice(np.array([-1, 1], np.float32), N), -last, last)


def error(got: np.ndarray, want: np.ndarray) -> np.ndarray:
    """In ulp of f32."""
    return np.abs(got - want) / np.spacing(np.abs(want).astype(np.float32)).astype(np.float64)


def test_error_of_the_inverse(monkeypatch) -> None:
    """Nowhere 2 ulp more than that of the plain rule, which squares x next to 1; beside it 5."""
    x = within()
    (got,), (usual,) = (f(x) for f in variants(of_one(ops.erf_inv, "f32", N), monkeypatch))
    want = scipy.special.erfinv(x.astype(np.float64))
    assert (error(got, want) <= error(usual, want) + 4).all()
    assert error(got, want).max() <= error(usual, want).max() + 1
    assert error(got, want)[np.abs(x) < 0.9].max() <= 5
    assert ulps(got, usual).max() <= 5


@pytest.mark.skipif(not OLD, reason="only jaxlib 0.10 gets this form")
def test_error_of_erf(monkeypatch) -> None:
    """At most 6 ulp, as the plain rule; never above 1 in size, and 1 where erf rounds to it."""
    (fast, _), rng = variants(of_one(ops.erf, "f32", N), monkeypatch), np.random.default_rng(1)
    for x in (rng.uniform(-4.5, 4.5, N), 10.0 ** rng.uniform(-37, 38, N), rng.uniform(3, 4, N)):
        x = x.astype(np.float32)
        (got,) = fast(x)
        want = scipy.special.erf(x.astype(np.float64))
        assert error(got, want).max() <= 6
        assert np.abs(got).max() <= 1
        assert (np.abs(got) == 1)[np.abs(x) >= 3.92].all()
        np.testing.assert_array_equal(np.signbit(got), np.signbit(x))


@BOTH
def test_special_numbers_and_against_the_plain_rule(definition, monkeypatch) -> None:
    fn = of_one(definition, "f32", N)
    fast, plain = variants(fn, monkeypatch)
    for seed in range(3):
        x = samples(fn.params[0].type, seed)
        ends = np.array([0.0, -0.0, 1, -1, 1.0000001, -1.0000001, np.inf, -np.inf, np.nan, 4, -4,
                         3.9199998, 3.9200001, 1e-38, -1e-38], np.float32)
        x[:ends.size] = ends
        (got,), (want,) = fast(x), plain(x)
        np.testing.assert_allclose(got, want, rtol=1e-6, atol=1e-37)
        zeros = want == 0
        np.testing.assert_array_equal(np.signbit(got[zeros]), np.signbit(want[zeros]))


@BOTH
def test_under_grad_and_vmap(definition, monkeypatch) -> None:
    """Where the cosine is zero, the slope of the inverse multiplies its error by up to 30."""
    f = getattr(xfront.lax, definition.name)
    x = np.random.default_rng(0).uniform(-0.999, 0.999, (4, N // 4)).astype(np.float32)
    made = []
    for flag in ("1", "0"):
        monkeypatch.setenv("XFRONT_CPU_FORMS", flag)
        made.append([np.asarray(xfront.jit(lambda x, g=g: g(x)).lower(x).compile()(x)) for g in (
            xfront.grad(lambda x: jnp.sum(jnp.sin(f(x)))), xfront.vmap(f))])
    for got, want in zip(*made, strict=True):
        np.testing.assert_allclose(got, want, rtol=3e-6, atol=5e-6)


@pytest.mark.parametrize("size", (LEAST - 1, LEAST, APART_LEAST))
def test_draws_are_those_of_the_plain_rule(size, monkeypatch) -> None:
    """A few ulps apart, whichever form draws of that size take."""
    drawn = []
    for flag in ("1", "0"):
        monkeypatch.setenv("XFRONT_CPU_FORMS", flag)
        key = random.key(size)
        drawn.append(np.asarray(xfront.jit(
            lambda key: random.normal(key, (size,))).lower(key).compile()(key)))
    assert ulps(*drawn).max() <= 5
    assert (drawn[0] != drawn[1]).any() == (size >= LEAST)
