"""Slopes of special functions in f64 at points of each region that their rules tell apart, against
formulas in many digits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest

from xfront_ir import dtypes, ops
from xfront_ir.builder import Builder
from xfront_ir.core import Function
from xfront_ir.passes.dead_code import dead_code
from xfront_ir.passes.jvp import jvp
from xfront_ir.reference import evaluate
from xfront_ir.types import tensor


def slope(name: str, by: int, *operands: np.ndarray) -> np.ndarray:
    """The derivative of an op by one of its operands, without its value."""
    b = Builder("f")
    made = b.emit(ops.REGISTRY[name], *[b.param(tensor(x.shape, dtypes.f64)) for x in operands])
    moved, _ = jvp(b.close([made]), tuple([i == by for i in range(len(operands))]))
    alone = dead_code(moved.replace(returns=moved.returns[1:], weak_returns=()))
    return evaluate(alone, *operands, np.ones_like(operands[by]))[0]


def gamma_density(a: Any, x: Any) -> Any:
    return mpmath.exp((a - 1) * mpmath.log(x) - x - mpmath.loggamma(a))


def beta_density(p: Any, q: Any, x: Any) -> Any:
    whole = mpmath.loggamma(p) + mpmath.loggamma(q) - mpmath.loggamma(p + q)
    return mpmath.exp((p - 1) * mpmath.log(x) + (q - 1) * mpmath.log(1 - x) - whole)


def bessel(order: int, x: Any) -> Any:
    return mpmath.besseli(order, x) * mpmath.exp(-abs(x))


def gelu(x: Any) -> Any:
    inside = mpmath.sqrt(2 / mpmath.pi) * (x + mpmath.mpf("0.044715") * x ** 3)
    return x * (1 + mpmath.tanh(inside)) / 2


ROWS: list[tuple[str, int, Callable[..., Any], list[tuple[float, ...]]]] = [
    ("digamma", 0, lambda x: mpmath.psi(1, x),
     [(-20.3,), (-3.3,), (-0.7,), (-0.5,), (-0.2,), (0.2,), (1.0,), (7.5,), (60.0,), (1e7,),
      (1e20,)]),
    ("erf", 0, lambda x: 2 / mpmath.sqrt(mpmath.pi) * mpmath.exp(-x * x),
     [(-2.0,), (0.0,), (0.7,)]),
    ("erf_inv", 0, lambda x: mpmath.sqrt(mpmath.pi) / 2 * mpmath.exp(mpmath.erfinv(x) ** 2),
     [(-0.7,), (0.0,), (0.99,)]),
    ("polygamma", 1, lambda n, x: mpmath.psi(n + 1, x), [(0.0, 0.7), (1.0, 3.0), (2.0, 20.0)]),
    ("zeta", 1, lambda s, q: -s * mpmath.zeta(s + 1, q), [(1.5, 0.5), (4.0, 3.0)]),
    ("bessel_i0e", 0, lambda x: mpmath.diff(lambda t: bessel(0, t), x),
     [(-9.0,), (-0.3,), (0.2,), (1.5,), (30.0,)]),
    ("bessel_i1e", 0, lambda x: mpmath.diff(lambda t: bessel(1, t), x),
     [(-9.0,), (-0.6,), (-0.45,), (0.1,), (0.49,), (0.51,), (1.5,), (30.0,)]),
    ("igamma", 1, gamma_density,
     [(0.3, 0.1), (1.0, 2.0), (30.0, 25.0), (2e5, 1.99e5), (2e5, 2.01e5), (900.0, 880.0),
      (2e5, 1.5e5), (1e8, 1.0001e8), (1e8, 0.9999e8)]),
    ("igammac", 1, lambda a, x: -gamma_density(a, x), [(0.3, 0.1), (30.0, 25.0), (2e5, 2.01e5)]),
    ("betainc", 2, beta_density,
     [(0.5, 3.0, 0.2), (3.0, 0.5, 0.9), (1.0, 1.0, 0.3), (7.0, 9.0, 0.4), (9.0, 9.5, 0.45),
      (200.0, 300.0, 0.41), (300.0, 200.0, 0.58), (1e4, 3e4, 0.252), (20.0, 9.0, 0.05),
      (500.0, 2.0, 0.99), (2.0, 500.0, 0.003), (3.0, 4e5, 5e-6)]),
    ("gelu", 0, lambda x: mpmath.diff(gelu, x),
     [(-19.0,), (-4.0,), (-1.0,), (0.0,), (0.6,), (3.0,), (25.0,)]),
]


@pytest.mark.parametrize("name,by,exact,points", ROWS, ids=[f"{row[0]}-{row[1]}" for row in ROWS])
def test_slopes(name: str, by: int, exact: Callable[..., Any], points: list[tuple[float, ...]]
                ) -> None:
    """To some units in the last place; more for the densities of large parameters."""
    columns = [np.array(column) for column in zip(*points)]
    got = slope(name, by, *columns)
    with mpmath.workdps(40):
        wanted = [float(exact(*map(mpmath.mpf, point))) for point in points]
    np.testing.assert_allclose(got, wanted, rtol=3e-11, atol=1e-300)


def test_slopes_at_the_ends() -> None:
    """Densities at the ends of their domains, and outside of them."""
    points = [[1.0, 2.0, 0.0], [2.0, 1.0, 1.0], [20.0, 30.0, 0.0], [20.0, 30.0, 1.0],
              [2.0, 3.0, 1.5], [20.0, 30.0, 1.5]]
    ends = slope("betainc", 2, *np.array(points).T)
    np.testing.assert_allclose(ends, [2.0, 2.0, 0.0, 0.0, np.nan, np.nan], rtol=1e-14)
    at_zero = slope("igamma", 1, np.array([1.0, 2.0]), np.zeros(2))
    np.testing.assert_array_equal(at_zero, [1.0, 0.0])


@pytest.mark.parametrize("name,operands", [
    ("polygamma", (1.0, 2.0)), ("zeta", (2.0, 1.0)), ("betainc", (1.0, 2.0, 0.5))])
def test_parameters_without_a_slope_are_refused(name: str, operands: tuple[float, ...]) -> None:
    """By the name of the op."""
    with pytest.raises(NotImplementedError, match=name):
        slope(name, 0, *[np.array([x]) for x in operands])


def test_a_tiny_sample_of_the_gamma_distribution_moves_with_its_shape() -> None:
    """Its probability is x^a / gamma(a + 1); where the logarithm is asked for, x has no digits."""
    def sampled(log_space: bool) -> Function:
        b = Builder("f")
        keys, a = b.param(tensor((4,), dtypes.key_fry)), b.param(tensor((4,), dtypes.f64))
        return b.close([b.emit(ops.random_gamma, keys, a, log_space=log_space)])

    keys = np.random.default_rng(0).integers(0, 2 ** 32, (4, 2), np.uint32)
    a = np.array([1e-3, 3e-3, 0.4, 9.0])
    x, moved = evaluate(jvp(sampled(True), (False, True))[0], keys, a, np.ones(4))
    assert (x[:2] < -100).all() and (x[2:] > -5).all()
    exact = [float((mpmath.psi(0, s + 1) - t) / s) for s, t in zip(a[:2], x[:2])]
    np.testing.assert_allclose(moved[:2], exact, rtol=1e-12)
    plain, of_plain = evaluate(jvp(sampled(False), (False, True))[0], keys, a, np.ones(4))
    np.testing.assert_allclose(moved[2:], of_plain[2:] / plain[2:], rtol=1e-9)
    with mpmath.workdps(30):
        for s, t, slope_ in zip(a[2:], plain[2:], of_plain[2:]):
            by_a = mpmath.diff(lambda s, t=t: mpmath.gammainc(s, 0, t, regularized=True), float(s))
            np.testing.assert_allclose(slope_, -float(by_a / gamma_density(float(s), float(t))),
                                       rtol=1e-8)
