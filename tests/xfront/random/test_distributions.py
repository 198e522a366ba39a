"""Distributions: streams against recorded ones, laws, derivatives, arguments, transformations."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import scipy.stats

import xfront
import xfront.numpy as jnp
from tests.recorded.record_distributions import CASES, OF_ALL, described, scope_of
from xfront import random

RECORDED = json.loads((Path(__file__).parents[2] / "recorded/distributions.json").read_text())
FAR = {"gumbel high": 4.0, "cauchy float32": 8.0}
"""Cases with an error of their own, in units in the last place of max(1, |x|): XLA's versions
differ in `tan`, and two draws are added up in another order."""


def numbers(dtype: str, data: str) -> np.ndarray:
    read = np.frombuffer(bytes.fromhex(data), getattr(ml_dtypes, dtype, dtype))
    return read.astype(np.complex128 if read.dtype.kind == "c" else np.float64)


@pytest.mark.parametrize("case", CASES)
def test_stream(case: str) -> None:
    dtype, shape, data = RECORDED[case]
    scope = {**scope_of(xfront), "k": random.key(42)}
    found = described(eval(CASES[case], scope))
    assert found[:2] == [dtype, shape]
    ours, theirs = numbers(dtype, found[2]), numbers(dtype, data)
    if np.dtype(getattr(ml_dtypes, dtype, dtype)).kind in "biu" or dtype.startswith("float8"):
        np.testing.assert_array_equal(ours, theirs)
    else:
        unit = 6 * float(ml_dtypes.finfo(dtype).eps)
        np.testing.assert_allclose(ours, theirs, rtol=unit, atol=unit * FAR.get(case, 0.25))


# --- laws -----------------------------------------------------------------------------------------

class _DoubleMaxwell:
    """1 + 2 sign maxwell."""

    def cdf(self, x: np.ndarray) -> np.ndarray:
        z = (x - 1) / 2
        return 0.5 + 0.5 * np.sign(z) * scipy.stats.maxwell.cdf(np.abs(z))


CONTINUOUS: dict[str, Any] = {
    "uniform": (lambda k, n: random.uniform(k, n, minval=-1.0, maxval=3.0),
                scipy.stats.uniform(-1, 4)),
    "normal": (lambda k, n: random.normal(k, n), scipy.stats.norm()),
    "truncated_normal": (lambda k, n: random.truncated_normal(k, -0.5, 2.0, n),
                         scipy.stats.truncnorm(-0.5, 2)),
    "exponential": (lambda k, n: random.exponential(k, n), scipy.stats.expon()),
    "lognormal": (lambda k, n: random.lognormal(k, 0.7, n), scipy.stats.lognorm(0.7)),
    "double_sided_maxwell": (lambda k, n: random.double_sided_maxwell(k, 1.0, 2.0, n),
                             _DoubleMaxwell()),
    "gamma(0.3)": (lambda k, n: random.gamma(k, 0.3, n), scipy.stats.gamma(0.3)),
    "gamma(1)": (lambda k, n: random.gamma(k, 1.0, n), scipy.stats.gamma(1)),
    "gamma(7)": (lambda k, n: random.gamma(k, 7.0, n), scipy.stats.gamma(7)),
    "loggamma(0.05)": (lambda k, n: random.loggamma(k, 0.05, n), scipy.stats.loggamma(0.05)),
    "beta": (lambda k, n: random.beta(k, 0.7, 2.5, n), scipy.stats.beta(0.7, 2.5)),
    "dirichlet": (lambda k, n: random.dirichlet(k, np.array([0.5, 1.0, 2.0], "f"), n)[..., 0],
                  scipy.stats.beta(0.5, 3.0)),
    "t": (lambda k, n: random.t(k, 3.0, n), scipy.stats.t(3)),
    "f": (lambda k, n: random.f(k, 3.0, 5.0, n), scipy.stats.f(3, 5)),
    "chisquare": (lambda k, n: random.chisquare(k, 3.0, n), scipy.stats.chi2(3)),
    "generalized_normal": (lambda k, n: random.generalized_normal(k, 1.5, n),
                           scipy.stats.gennorm(1.5)),
    "wald": (lambda k, n: random.wald(k, 1.7, n), scipy.stats.invgauss(1.7)),
    "gumbel high": (lambda k, n: random.gumbel(k, n, mode="high"), scipy.stats.gumbel_r()),
    "laplace": (lambda k, n: random.laplace(k, n), scipy.stats.laplace()),
    "logistic": (lambda k, n: random.logistic(k, n), scipy.stats.logistic()),
    "cauchy": (lambda k, n: random.cauchy(k, n), scipy.stats.cauchy()),
    "maxwell": (lambda k, n: random.maxwell(k, n), scipy.stats.maxwell()),
    "pareto": (lambda k, n: random.pareto(k, 2.5, n), scipy.stats.pareto(2.5)),
    "rayleigh": (lambda k, n: random.rayleigh(k, 2.0, n), scipy.stats.rayleigh(scale=2)),
    "weibull_min": (lambda k, n: random.weibull_min(k, 2.0, 1.5, n),
                    scipy.stats.weibull_min(1.5, scale=2)),
    "triangular": (lambda k, n: random.triangular(k, 1.0, 2.0, 5.0, n),
                   scipy.stats.triang(0.25, 1, 4)),
    "ball": (lambda k, n: jnp.sqrt((random.ball(k, 3, shape=n) ** 2).sum(-1)) ** 3,
             scipy.stats.uniform()),
}
DISCRETE: dict[str, Any] = {
    "randint": (lambda k, n: random.randint(k, n, -3, 4), scipy.stats.randint(-3, 4)),
    "bernoulli": (lambda k, n: random.bernoulli(k, 0.3, n), scipy.stats.bernoulli(0.3)),
    "rademacher": (lambda k, n: (random.rademacher(k, n) + 1) // 2, scipy.stats.bernoulli(0.5)),
    "poisson(3)": (lambda k, n: random.poisson(k, 3.0, n), scipy.stats.poisson(3)),
    "poisson(40)": (lambda k, n: random.poisson(k, 40.0, n), scipy.stats.poisson(40)),
    "poisson(10)": (lambda k, n: random.poisson(k, 10.0, n), scipy.stats.poisson(10)),
    "binomial(20, 0.3)": (lambda k, n: random.binomial(k, 20, 0.3, n), scipy.stats.binom(20, 0.3)),
    "binomial(100, 0.6)": (lambda k, n: random.binomial(k, 100, 0.6, n),
                           scipy.stats.binom(100, 0.6)),
    "geometric": (lambda k, n: random.geometric(k, 0.3, n), scipy.stats.geom(0.3)),
    "multinomial": (lambda k, n: random.multinomial(k, 30, np.array([0.2, 0.3, 0.5], "f"),
                                                    shape=(*n, *OF_ALL))[..., 1],
                    scipy.stats.binom(30, 0.3)),
    "choice": (lambda k, n: random.choice(k, 5, n, p=np.array([1, 2, 3, 4, 0], "f") / 10),
               scipy.stats.rv_discrete(values=(range(5), (0.1, 0.2, 0.3, 0.4, 0)))),
    "categorical": (lambda k, n: random.categorical(k, np.log(np.array([1, 2, 3, 4], "f")),
                                                    shape=n),
                    scipy.stats.rv_discrete(values=(range(4), (0.1, 0.2, 0.3, 0.4)))),
}


def check_law(name: str, size: int) -> None:
    """Kolmogorov and Smirnov's test of what is continuous, chi-squared of what is not."""
    draw, law = CONTINUOUS.get(name) or DISCRETE[name]
    drawn = np.asarray(draw(random.key(11), (size,)))
    if name in CONTINUOUS:
        assert scipy.stats.kstest(drawn.astype(np.float64), law.cdf).pvalue > 1e-3
        return
    values, counts = np.unique(drawn.astype(np.int64), return_counts=True)
    expected = law.pmf(values) * size
    kept = expected > 5
    seen = np.array([*counts[kept], counts[~kept].sum()], float)
    wanted = np.array([*expected[kept], size - expected[kept].sum()])
    if wanted[-1] < 5:
        seen, wanted = seen[:-1], wanted[:-1] * (seen[:-1].sum() / wanted[:-1].sum())
    assert scipy.stats.chisquare(seen, wanted * (seen.sum() / wanted.sum())).pvalue > 1e-3


@pytest.mark.parametrize("name", ["gamma(0.3)", "gamma(7)", "poisson(40)", "binomial(100, 0.6)"])
def test_laws_of_few(name: str) -> None:
    check_law(name, 3000)


@pytest.mark.slow
@pytest.mark.parametrize("name", [*CONTINUOUS, *DISCRETE])
def test_laws_of_many(name: str) -> None:
    check_law(name, 1_000_000 if "XFRONT_GENERATED" in os.environ else 100_000)   # `make numeric`


def test_vectors_have_their_covariance() -> None:
    cov = np.array([[2, 0.5, 0], [0.5, 1, -0.3], [0, -0.3, 0.5]], "f")
    for method in ("cholesky", "eigh", "svd"):
        drawn = np.asarray(random.multivariate_normal(random.key(1), np.array([1, 2, 3], "f"), cov,
                                                      (20000,), method=method))
        np.testing.assert_allclose(drawn.mean(0), [1, 2, 3], atol=0.05)
        np.testing.assert_allclose(np.cov(drawn.T), cov, atol=0.06)


# --- derivatives ----------------------------------------------------------------------------------

def test_gamma_moves_with_its_quantile() -> None:
    """The derivative of a sample in `a` is that of the quantile of its probability."""
    a = np.array([0.02, 0.3, 1.0, 2.5, 30.0, 500.0], np.float64)
    key = random.key(5)
    with xfront.enable_x64(True):
        values, slopes = xfront.jvp(lambda a: random.gamma(key, a, dtype="float64"), (a,),
                                    (np.ones_like(a),))
        logs, log_slopes = xfront.jvp(lambda a: random.loggamma(key, a, dtype="float64"), (a,),
                                      (np.ones_like(a),))
    values, slopes, log_slopes = (np.asarray(v) for v in (values, slopes, log_slopes))
    # of logarithms: for a small `a` the quantile is about chance ** (1 / a), far from a line
    chance, h = scipy.stats.gamma.cdf(values, a), 1e-5 * a
    up, down = (np.log(scipy.stats.gamma.ppf(chance, x)) for x in (a + h, a - h))
    differences = (up - down) / (2 * h)
    known = (chance > 1e-12) & (chance < 1 - 1e-9)
    assert known.sum() >= 5
    np.testing.assert_allclose(slopes[known], (differences * values)[known], rtol=1e-5)
    np.testing.assert_allclose(log_slopes[known], differences[known], rtol=1e-5)
    np.testing.assert_allclose(np.exp(np.asarray(logs)), values, rtol=1e-12)


def test_small_shapes_have_finite_slopes() -> None:
    """Where the sample is 0 its logarithm moves as log(u a gamma(a)) / a does."""
    a = np.array([1e-5, 1e-3], "f")
    value, slope = xfront.jvp(lambda a: random.loggamma(random.key(3), a), (a,), (np.ones(2, "f"),))
    assert np.all(np.asarray(value) < -50)
    digamma = scipy.special.digamma(a.astype(np.float64) + 1)
    np.testing.assert_allclose(slope, (digamma - np.asarray(value)) / a, rtol=1e-5)


def test_kin_of_gamma_have_derivatives() -> None:
    """Means of derivatives are derivatives of means."""
    def mean(draw):
        return lambda p: draw(random.key(2), p, (4000,)).mean()

    slopes = xfront.jit(lambda: [
        xfront.grad(mean(lambda k, p, n: random.beta(k, p, 2.0, n)))(3.0),
        xfront.grad(mean(lambda k, p, n: random.chisquare(k, p, n)))(3.0),
        xfront.grad(lambda p: random.dirichlet(random.key(4), jnp.stack([p, 1.0, 2.0]),
                                               (4000,))[:, 0].mean())(1.0)])()
    np.testing.assert_allclose(slopes, [2 / 25, 1.0, 3 / 16], rtol=0.1)


def test_counts_do_not_move() -> None:
    draw = lambda p: random.binomial(random.key(0), 40, p, (3,)).sum() + jnp.float32(
        random.poisson(random.key(1), 20 * p, (3,)).sum())
    assert xfront.grad(draw)(0.4) == 0


def test_counts_of_no_distribution_come_to_an_end() -> None:
    n = np.array([np.inf, np.inf, np.inf, np.nan, -1, 5, 5, -np.inf], "f")
    p = np.array([0.5, 0, np.nan, 0.5, 0.5, 1, np.nan, 0.5], "f")
    drawn = np.asarray(random.binomial(random.key(0), n, p))
    np.testing.assert_array_equal(drawn, [np.inf, *[np.nan] * 4, 5, np.nan, np.nan])


# --- arguments ------------------------------------------------------------------------------------

A32, A16 = np.ones(3, "float32"), np.ones(3, "float16")
M23, EMPTY = np.ones((2, 3), "float32"), np.zeros((0,), "float32")
SHAPES = {
    "gamma(k, 1)": "float32[]", "gamma(k, A16)": "float32[3]",
    "gamma(k, A32, dtype='float16')": "float16[3]", "gamma(k, EMPTY)": "float32[0]",
    "gamma(k, A32, (2, 3))": "float32[2,3]", "chisquare(k, A16, dtype='float16')": "float16[3]",
    "ball(k, 3, 2, 4)": "float32[4,3]", "ball(k, 0)": "float32[0]",
    "ball(k, 3, A32)": "float32[3,3]", "dirichlet(k, M23, (4, 2))": "float32[4,2,3]",
    "binomial(k, 10, 0.5, (3,), 'bfloat16')": "bfloat16[3]", "poisson(k, M23)": "int32[2,3]",
    "poisson(k, 1., (2,), 'uint8')": "uint8[2]", "geometric(k, A16)": "int32[3]",
    "multinomial(k, 10, M23, shape=(4, 2, *OF_ALL))": "float32[4,2,3]",
    "multinomial(k, 10, EMPTY)": "float32[0]", "multinomial(k, 9, A32, dtype=int)": "int32[3]",
    "multivariate_normal(k, A16, np.eye(3, dtype='f2'))": "float16[3]",
    "multivariate_normal(k, A32, np.ones((2, 3, 3), 'f'))": "float32[2,3]",
    "orthogonal(k, 3, 2, 'float16')": "float16[2,3,3]", "orthogonal(k, 0)": "float32[0,0]",
    "lognormal(k, 1., (2,), 'complex64')": "complex64[2]",
    "choice(k, EMPTY, (0,))": "float32[0]", "choice(k, M23, (4, 5), axis=-1)": "float32[2,4,5]",
    "choice(k, M23, (), False, axis=1)": "float32[2]", "permutation(k, -3)": "int32[0]",
    "permutation(k, np.zeros((0, 3), 'f'))": "float32[0,3]",
    "categorical(k, A32, shape=(2, 1), replace=False)": "int32[2,1]",
    "double_sided_maxwell(k, A32, M23, (2, 3))": "float32[2,3,2,3]",
    "weibull_min(k, A32, M23)": "float32[2,3]", "key_dtype('rbg')": "key<rbg>",
    "key(0, dtype=key_dtype('rbg'))": "key<rbg>[]", "key(True)": "key<fry>[]",
    "choice(k, split(k, 3), (2,), False)": "key<fry>[2]", "key_impl(k)": "threefry2x32",
}
REFUSED = {
    "gamma(k, A32, (2,))": ValueError, "gamma(k, A32, ())": ValueError,
    "gamma(k, 1., dtype='int32')": ValueError, "gamma(split(k), 1.)": ValueError,
    "gamma(k, 1j)": ValueError, "gamma(3, 1.)": TypeError, "beta(k, A32, A16, (2,))": ValueError,
    "chisquare(k, A32, dtype='float16')": ValueError, "dirichlet(k, 1.)": ValueError,
    "generalized_normal(k, A32)": ValueError, "ball(k, 3.)": TypeError, "ball(k, -1)": TypeError,
    "poisson(k, 1., (2,), 'float32')": ValueError, "binomial(k, 1, .5, (), 'int32')": ValueError,
    "geometric(k, .5, (2,), 'float32')": ValueError, "multinomial(k, 10, .3)": ValueError,
    "multinomial(k, 10, M23, shape=(4,))": ValueError, "orthogonal(k, -1)": ValueError,
    "orthogonal(k, 3.)": TypeError, "orthogonal(k, 3, (), int)": ValueError,
    "multivariate_normal(k, 1., np.ones((2, 2)))": ValueError,
    "multivariate_normal(k, A32, A32)": ValueError,
    "multivariate_normal(k, A32, np.ones((2, 2)))": ValueError,
    "multivariate_normal(k, A32, np.eye(3), method='qr')": ValueError,
    "choice(k, 5, 3)": TypeError, "choice(k, 2, (3,), False)": ValueError,
    "choice(k, 0, (3,))": ValueError, "choice(k, M23, (2,), p=A32)": ValueError,
    "choice(k, M23, (2,), axis=2)": ValueError, "choice(k, [1, 2], (2,))": TypeError,
    "choice(k, 3, (2,), False, A32, mode='x')": ValueError,
    "categorical(k, np.ones(3, 'i4'))": ValueError, "categorical(k, M23, axis=2)": IndexError,
    "categorical(k, M23, shape=(4,))": ValueError, "categorical(k, EMPTY)": ValueError,
    "categorical(k, A32, shape=(4,), replace=False)": ValueError,
    "bernoulli(k, mode='x')": ValueError, "bernoulli(k, 1)": TypeError,
    "bernoulli(k, A32, ())": ValueError, "gumbel(k, mode='x')": ValueError,
    "uniform(k, (2,), minval=A32)": ValueError, "randint(k, (2,), 0, np.arange(3))": ValueError,
    "permutation(k, 3.5)": TypeError, "permutation(k, M23, 5)": ValueError,
    "permutation(k, 3, 1)": ValueError, "key(2**63)": OverflowError,
    "key(0, impl='nope')": ValueError, "key_dtype('nope')": ValueError,
    "key(0, impl='rbg', dtype=key_dtype('rbg'))": ValueError, "key_impl(3)": TypeError,
    "wrap_key_data(np.zeros(3, 'uint32'))": TypeError, "bits(k, (), 'uint4')": ValueError,
    "wrap_key_data(np.zeros(2, 'int32'))": TypeError, "wrap_key_data(np.uint32(3))": TypeError,
}


def called(code: str) -> str:
    """What a call gives, as text, without computing it."""
    made: list[object] = []
    scope = {**vars(random), "np": np, "A32": A32, "A16": A16, "M23": M23, "EMPTY": EMPTY,
             "OF_ALL": OF_ALL}

    def run(k):
        made.append(eval(code, {**scope, "k": k}))
        return made[0] if hasattr(made[0], "shape") else 0

    given = xfront.eval_shape(run, random.key(0))
    if not hasattr(made[0], "shape"):
        return str(made[0])
    return f"{given.dtype}[{','.join(map(str, given.shape))}]"


@pytest.mark.parametrize("code", SHAPES)
def test_shapes_and_dtypes(code: str) -> None:
    assert called(code) == SHAPES[code]


@pytest.mark.parametrize("code", REFUSED)
def test_refuses(code: str) -> None:
    with pytest.raises(REFUSED[code]):
        called(code)


def test_all_public_names_are_there() -> None:
    assert len(random.__all__) == 49
    assert all(getattr(random, name) is not None for name in random.__all__)
    assert random.random_gamma_p.name == "random_gamma"
