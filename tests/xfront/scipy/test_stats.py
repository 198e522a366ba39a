"""scipy.stats against SciPy: one table of distributions, one program for each and dtype."""

import importlib
import inspect

import numpy as np
import pytest
import scipy.stats as ss

import xfront as jax
import xfront.numpy as jnp
from xfront.base.config import enable_x64
from xfront.scipy import stats

INF, NAN = float("inf"), float("nan")
POINTS = np.array([-40, -3, -1.2, -0.3, 0, 0.4, 0.5, 1, 1.7, 2.5, 6.1, 30, INF, -INF, NAN])
COUNTS = np.array([-1, 0, 1, 2, 3, 5, 8, 1.5, 60])
SHARES = np.array([-0.1, 0, 1e-12, 1e-3, 0.2, 0.5, 0.8, 0.999, 1, 1.1, NAN])
SHAPES = {
    "bernoulli": (0.3,), "beta": (2.0, 3.5), "betabinom": (8.0, 2.0, 1.5), "binom": (8.0, 0.3),
    "cauchy": (), "chi2": (3.5,), "expon": (), "gamma": (2.5,), "gennorm": (1.4,), "geom": (0.3,),
    "gumbel_l": (), "gumbel_r": (), "laplace": (), "logistic": (), "nbinom": (3.5, 0.4),
    "norm": (), "pareto": (2.3,), "poisson": (3.3,), "t": (3.5,), "truncnorm": (-1.0, 2.0),
    "uniform": (), "vonmises": (1.7,), "wrapcauchy": (0.4,),
}  # fmt: skip
"""Distributions of numbers, with shape parameters."""
HEAVY = ("beta", "betabinom", "chi2", "gamma", "gennorm", "truncnorm")
NAMES = [pytest.param(name, marks=pytest.mark.slow) if name in HEAVY else name for name in SHAPES]
"""What takes seconds to compile is slow."""


def functions(name):
    """The functions of a distribution that take a point: their points and placing parameters."""
    module = importlib.import_module(f"xfront.scipy.stats.{name}")
    for f in module.__all__:
        if f == "entropy":
            continue
        takes = inspect.signature(getattr(module, f)).parameters
        at = SHARES if f in ("ppf", "isf") else COUNTS if "k" in takes else POINTS
        placed = (0.3, 1.7) if "scale" in takes else (1.0,) if "loc" in takes else ()
        yield f, getattr(module, f), at, placed


def values(name, dtype):
    """What the functions give in this dtype, of one program."""
    listed = list(functions(name))

    def every(at, shapes, placed):
        return [f(x, *shapes, *where) for (_, f, _, _), x, where in zip(listed, at, placed,
                                                                        strict=True)]

    given = ([x.astype(dtype) for _, _, x, _ in listed], [np.array(s, dtype) for s in SHAPES[name]],
             [[np.array(p, dtype) for p in where] for *_, where in listed])
    return given, jax.jit(every)(*given)


def wanted(name, given):
    """What SciPy gives for the same arguments in double precision."""
    at, shapes, placed = jax.tree.map(lambda x: np.asarray(x, np.float64), given)
    for (f, _, _, _), x, where in zip(functions(name), at, placed, strict=True):
        with np.errstate(all="ignore"):
            made = getattr(getattr(ss, name), f)(x, *shapes, *where)
        if f == "ppf" and name == "bernoulli":
            made = np.where(x == 0, 0, made)     # SciPy gives what lies below the support, -1
        if f in ("pdf", "logpdf"):               # and has infinite points in no support
            made = np.where(np.isinf(x), -INF if f == "logpdf" else 0.0, made)
        yield f, made


@pytest.mark.parametrize("name", NAMES)
def test_values(name):
    with enable_x64(True):
        given, made = values(name, np.float64)
    for (f, want), got in zip(wanted(name, given), made, strict=True):
        assert got.dtype == np.float64
        np.testing.assert_allclose(got, want, rtol=2e-11, atol=1e-300, err_msg=f)


@pytest.mark.parametrize("name", ["uniform", "t", "binom"])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
def test_values_of_narrower_dtypes(name, dtype):
    dtype = jnp.dtype(dtype)
    given, made = values(name, dtype)
    eps, least = float(jnp.finfo(dtype).eps), float(jnp.finfo(dtype).tiny)
    for (f, want), got in zip(wanted(name, given), made, strict=True):
        assert got.dtype == dtype
        with np.errstate(over="ignore"):
            want = want.astype(dtype).astype(np.float64)
        got, inside = np.asarray(got, np.float64), np.isfinite(want)
        np.testing.assert_array_equal(got[~inside], want[~inside], f)
        size = np.abs(np.log(np.maximum(np.abs(want[inside]), least)))     # what exp magnifies
        room = eps * (16 + 2 * size if dtype == np.float32 else 1) * np.abs(want[inside])
        off = np.abs(got[inside] - want[inside])
        assert (off <= room + 16 * least).all(), (f, got, want)


NO_SLOPE = {"beta": ("cdf", "sf", "logcdf", "logsf"), "bernoulli": ("cdf", "ppf")}
"""The incomplete beta function has no derivative in its parameters; these are constant by parts."""


def sloped(name):
    """The densities, and what else takes little to compile."""
    heavy = name in ("chi2", "gamma", "gennorm", "poisson", "truncnorm")
    return [row for row in functions(name) if row[0] not in NO_SLOPE.get(name, ())
            and row[0] not in ("pdf", "pmf", "isf") and not (heavy and "df" not in row[0]
                                                             and "mf" not in row[0])]


@pytest.mark.parametrize("name", NAMES)
def test_slopes_are_those_of_differences(name):
    """In the point and in all parameters, at points in the support and outside of it."""
    listed = sloped(name)
    at = [x[4:-3] if x is SHARES else x[(x != 0) & (np.abs(x) < 9) & (x != 1)]
          for _, _, x, _ in listed]
    whole = [x is COUNTS for _, _, x, _ in listed]

    def finite(at, rest):
        made = [call(x, *parameters) for (_, call, _, _), x, parameters in zip(
            listed, at, rest, strict=True)]
        return [jnp.where(jnp.isfinite(y), y, 0.0) for y in made]

    def numbers(at, rest):
        return sum([y.sum() for y in finite(at, rest)])

    with enable_x64(True):
        rest = [np.array([*SHAPES[name], *where]) for *_, where in listed]
        slopes = jax.jit(jax.grad(numbers, (0, 1)))(at, rest)
        f, step = jax.jit(finite), 1e-6

        def differences(move):
            ends = [f(*[[x + side * m for x, m in zip(xs, ms, strict=True)]
                        for xs, ms in zip((at, rest), move, strict=True)]) for side in (1, -1)]
            return [(high - low) / (2 * step) for high, low in zip(*ends, strict=True)]

        still = [0.0] * len(listed)
        if not any(whole):
            of_points = differences(([step] * len(listed), still))
            for (f_name, *_), got, want in zip(listed, slopes[0], of_points, strict=True):
                np.testing.assert_allclose(got, want, rtol=5e-6, atol=2e-8, err_msg=f_name)
        for i in range(len(SHAPES[name])):
            if name in ("binom", "betabinom") and not i:
                continue                         # the number of trials
            unit = step * np.eye(len(SHAPES[name]) + 2)[i]
            of_parameter = differences((still, [unit[:len(r)] for r in rest]))
            for (f_name, *_), got, want in zip(listed, slopes[1], of_parameter, strict=True):
                np.testing.assert_allclose(got[i], want.sum(), rtol=1e-6, atol=2e-7,
                                           err_msg=f_name)


def test_far_points_keep_their_digits():
    """Where a plain formula loses them, or leaves the range."""
    made = jax.jit(lambda: (
        stats.cauchy.logpdf(1e30), stats.cauchy.cdf(-1e30), stats.cauchy.ppf(1e-20),
        stats.norm.logcdf(-50.0), stats.expon.cdf(1e-20), stats.gumbel_r.logsf(60.0),
        stats.logistic.sf(90.0), stats.t.logpdf(1.0, INF), stats.t.logpdf(1.0, 1e9),
        stats.truncnorm.logpdf(31.0, 30.0, 40.0), stats.vonmises.logpdf(0.1, 1e4),
        stats.chi2.logpdf(0.0, 2.0), stats.wrapcauchy.pdf(0.0, 0.75)))()
    want = [-139.29994, 3.1830989e-31, -3.1830989e19, -1254.8314, 1e-20, -60.0, 8.194013e-40,
            -1.4189385, -1.4189385, -27.097689, -46.272129, -0.6931472, 1.1140846]
    np.testing.assert_allclose(np.array(made, np.float64), want, rtol=2e-6, atol=2e-44)


@pytest.mark.parametrize(("f", "given"), [
    (stats.norm.logpdf, (0.0, 0.0, -1.0)), (stats.norm.cdf, (0.0, 0.0, 0.0)),
    (stats.uniform.cdf, (0.5, 0.0, -1.0)), (stats.uniform.pdf, (NAN,)), (stats.t.pdf, (0.0, -2.0)),
    (stats.binom.pmf, (1, 3, 1.5)), (stats.bernoulli.ppf, (0.5, -0.1)),
    (stats.truncnorm.pdf, (0.5, 1.0, 0.0)), (stats.poisson.entropy, (-1.0,)),
])
def test_parameters_that_are_not_valid_give_nan(f, given):
    assert np.isnan(f(*given))


def test_integers_promote_and_complex_numbers_are_refused():
    assert stats.norm.logpdf(1).dtype == np.float32
    assert stats.poisson.logpmf(np.arange(3), 2).dtype == np.float32
    assert stats.norm.pdf(np.ones(2, np.int8), np.float16(0)).dtype == np.float16
    assert stats.norm.pdf(np.zeros((0, 2))).shape == (0, 2)
    assert stats.norm.pdf(np.zeros((2, 1)), np.zeros(3)).shape == (2, 3)
    with pytest.raises(ValueError, match=r"norm\.pdf does not support complex"):
        stats.norm.pdf(1j)
    with pytest.raises(TypeError, match="requires ndarray or scalar"):
        stats.norm.pdf([1.0])


def test_entropy_of_poisson():
    mu = np.array([0, 1e-3, 0.1, 1, 5, 9.99, 10.01, 99, 101, 1e4])
    for double, room in ((False, 1e-6), (True, 1e-12)):
        with enable_x64(double):
            got = np.asarray(stats.poisson.entropy(mu), np.float64)
        k = np.arange(400)
        p = ss.poisson.pmf(k, mu[:-1, None])
        want = [*-(p * ss.poisson.logpmf(k, mu[:-1, None]).clip(-1e4)).sum(1), 6.0241003]
        want[-1] = 0.5 * np.log(2 * np.pi * np.e * 1e4) - 1 / 12e4 - 1 / 24e8 - 19 / 360e12
        np.testing.assert_allclose(got, want, rtol=room)
    assert np.isfinite(jax.grad(stats.poisson.entropy)(3.0))


# --- of vectors -----------------------------------------------------------------------------

def test_multivariate_normal():
    rng = np.random.default_rng(0)
    x, mean, root = rng.normal(size=(4, 3)), rng.normal(size=3), rng.normal(size=(3, 3))
    cov = root @ root.T + np.eye(3)
    logpdf, pdf = stats.multivariate_normal.logpdf, stats.multivariate_normal.pdf
    with enable_x64(True):
        want = ss.multivariate_normal.logpdf(x, mean, cov)
        got = jax.jit(lambda: (logpdf(x, mean, cov), logpdf(x[0], mean, cov), logpdf(
            x[:, None], mean, np.stack([cov, np.eye(3)])), pdf(x, 0.0, cov), logpdf(x, mean, 2.0),
            logpdf(x, 0.5, 2.0)))()
        np.testing.assert_allclose(got[0], want, rtol=1e-12)
        np.testing.assert_allclose(got[1], want[0], rtol=1e-12)
        np.testing.assert_allclose(got[2][:, 0], want, rtol=1e-12)
        np.testing.assert_allclose(got[2][:, 1], ss.multivariate_normal.logpdf(x, mean, np.eye(3)),
                                   rtol=1e-12)
        np.testing.assert_allclose(got[3], ss.multivariate_normal.pdf(x, np.zeros(3), cov),
                                   rtol=1e-12)
        np.testing.assert_allclose(got[4], ss.multivariate_normal.logpdf(x, mean, 2 * np.eye(3)))
        np.testing.assert_allclose(got[5], ss.norm.logpdf(x, 0.5, np.sqrt(2)))
        slope = jax.grad(lambda m: logpdf(x[0], m, cov))(mean)
        np.testing.assert_allclose(slope, np.linalg.solve(cov, x[0] - mean), rtol=1e-10)
    assert np.isnan(logpdf(np.ones(2), np.zeros(2), np.ones((2, 2)))).all()
    with pytest.raises(ValueError, match="incompatible shapes"):
        logpdf(np.ones(2), np.zeros(2), np.eye(3))
    with pytest.raises(NotImplementedError, match="allow_singular"):
        logpdf(np.ones(2), np.zeros(2), np.eye(2), allow_singular=True)


def test_dirichlet_and_multinomial():
    alpha, x = np.array([1.0, 2, 3]), np.array([[0.2, 0.1, 0.2], [0.3, 0.3, 0.3], [0.5, 0.6, 0.6]])
    want = [*[ss.dirichlet.logpdf(x[:, i], alpha) for i in range(2)], -INF]
    np.testing.assert_allclose(stats.dirichlet.logpdf(x, alpha), want, rtol=1e-6)
    np.testing.assert_allclose(stats.dirichlet.logpdf(x[:2, :2], alpha), want[:2], rtol=1e-6)
    np.testing.assert_allclose(stats.dirichlet.pdf(np.array([0.0, 0.4, 0.6]), alpha),
                               ss.dirichlet.pdf([0.0, 0.4, 0.6], alpha), rtol=1e-6)
    assert np.isfinite(jax.grad(stats.dirichlet.logpdf)(x[:, 0], alpha)).all()
    assert np.isnan(stats.dirichlet.pdf(x[:, 0], np.zeros(3)))
    with pytest.raises(ValueError, match="one fewer"):
        stats.dirichlet.logpdf(x[:1], alpha)
    with pytest.raises(ValueError, match="one-dimensional"):
        stats.dirichlet.logpdf(x, 1.0)
    counts, p = np.array([[1, 2, 1], [4, 0, 0], [1, 1, 1], [5, -1, 0]]), np.array([0.2, 0.5, 0.3])
    np.testing.assert_allclose(stats.multinomial.logpmf(counts, 4, p),
                               [*ss.multinomial.logpmf(counts[:2], 4, p), -INF, -INF], rtol=1e-6)
    np.testing.assert_allclose(stats.multinomial.pmf(counts[0], 4, p),
                               ss.multinomial.pmf(counts[0], 4, p), rtol=1e-6)
    with pytest.raises(ValueError, match="integer"):
        stats.multinomial.logpmf(counts[0], 4.0, p)


# --- statistics -----------------------------------------------------------------------------

X = np.array([[3, 1, 2, 2, 9], [5, 5, 4, 4, 1], [0, 1, 0, 1, 2]])


@pytest.mark.parametrize("axis", [0, 1, -1, None])
def test_mode(axis):
    for x in (X, X.astype(np.float16)):
        for keepdims in (False, True):
            got, want = [m.mode(x, axis=axis, keepdims=keepdims) for m in (stats, ss)]
            np.testing.assert_array_equal(got.mode, want.mode)
            np.testing.assert_array_equal(got.count, want.count)
            assert got.mode.dtype == jnp.array(x).dtype and got.count.dtype == np.int32


def test_mode_of_nothing_and_of_nan():
    assert [float(v) for v in stats.mode(np.array([2.0, NAN, 1.0, NAN]))][1] == 2
    empty = stats.mode(np.zeros((0, 3)))
    assert np.isnan(empty.mode).all() and not empty.count.any() and empty.mode.shape == (3,)
    assert stats.mode(3).mode == 3
    with pytest.raises(NotImplementedError, match="omit"):
        stats.mode(X, nan_policy="omit")
    with pytest.raises(ValueError, match="nan_policy"):
        stats.mode(X, nan_policy="zz")


@pytest.mark.parametrize("method", ["average", "min", "max", "dense", "ordinal"])
def test_rankdata(method):
    for axis in (None, 0, 1):
        got = stats.rankdata(X, method, axis=axis)
        np.testing.assert_array_equal(got, ss.rankdata(X, method, axis=axis))
        assert got.dtype == np.float32
    with_nan = np.array([[1.0, NAN, 0.0], [2, 2, 1]])
    np.testing.assert_array_equal(stats.rankdata(with_nan, method, axis=1),
                                  ss.rankdata(with_nan, method, axis=1))
    assert stats.rankdata(np.zeros(0), method).shape == (0,)


def test_what_rankdata_refuses():
    with pytest.raises(ValueError, match="method"):
        stats.rankdata(X, "zz")
    with pytest.raises(NotImplementedError, match="omit"):
        stats.rankdata(X, nan_policy="omit")


def test_sem():
    x = X / 3.0
    with_nan = np.where(X == 9, NAN, x)
    for options in ({}, {"axis": 1, "ddof": 0}, {"axis": None}, {"keepdims": True}):
        np.testing.assert_allclose(stats.sem(x, **options), ss.sem(x, **options), rtol=1e-6)
        np.testing.assert_allclose(stats.sem(with_nan, nan_policy="omit", **options),
                                   ss.sem(with_nan, nan_policy="omit", **options), rtol=1e-6)
    assert stats.sem(X).dtype == np.float32
    assert stats.sem(jnp.ones(3, "bfloat16")).dtype == "bfloat16"
    with pytest.raises(NotImplementedError, match="raise"):
        stats.sem(x, nan_policy="raise")


# --- kernels --------------------------------------------------------------------------------

RNG = np.random.default_rng(1)
DATA, WEIGHTS = RNG.normal(size=(2, 9)), RNG.uniform(0.1, 1, 9)


@pytest.mark.parametrize("options", [{}, {"bw_method": "silverman", "weights": WEIGHTS},
                                     {"bw_method": 0.4}, {"bw_method": lambda k: 0.3}])
def test_gaussian_kde(options):
    with enable_x64(True):
        got, want = stats.gaussian_kde(DATA, **options), ss.gaussian_kde(DATA, **options)
        points = DATA[:, :4] + 0.2
        for attribute in ("neff", "covariance", "inv_cov", "d", "n", "weights", "dataset"):
            np.testing.assert_allclose(getattr(got, attribute), getattr(want, attribute))
        for f in ("evaluate", "pdf", "logpdf", "__call__"):
            np.testing.assert_allclose(getattr(got, f)(points), getattr(want, f)(points))
        np.testing.assert_allclose(got(points[:, 0]), want(points[:, 0]))
        mean, cov = np.array([0.1, 0.2]), np.diag([1.0, 2])
        np.testing.assert_allclose(got.integrate_gaussian(mean, cov),
                                   want.integrate_gaussian(mean, cov))
        np.testing.assert_allclose(got.integrate_kde(got), want.integrate_kde(want))


def test_points_of_gaussian_kde_are_those_that_jax_draws():
    estimate = stats.gaussian_kde(jnp.array([[0.0, 1, 3], [2, -1, 0.5]]),
                                  weights=jnp.array([1.0, 2, 1]))
    want = [[0.7254038, 2.9442952, 0.64294165, 2.079955],
            [1.175702, 0.9130887, -2.3284516, -0.07223523]]
    np.testing.assert_allclose(estimate.resample(jax.random.key(3), (4,)), want, rtol=1e-5)


def test_the_slope_by_a_covariance_is_symmetric():
    def logpdf(cov):
        return stats.multivariate_normal.logpdf(jnp.array([0.3, -0.2]), jnp.zeros(2), cov).sum()

    cov = np.array([[2.0, 0.5], [0.5, 1.0]])
    white = np.linalg.solve(cov, [0.3, -0.2])
    want = 0.5 * (np.outer(white, white) - np.linalg.inv(cov))
    np.testing.assert_allclose(jax.grad(logpdf)(jnp.asarray(cov, "float32")), want, rtol=1e-5)
    np.testing.assert_allclose(jax.grad(logpdf)(jnp.asarray(cov, "float32")[None])[0], want,
                               rtol=1e-5)


@pytest.mark.slow
def test_gaussian_kde_of_numbers():
    got, want = stats.gaussian_kde(DATA[0]), ss.gaussian_kde(DATA[0])
    np.testing.assert_allclose(got.integrate_box_1d(-1.0, 0.5), want.integrate_box_1d(-1, 0.5),
                               rtol=1e-5)
    np.testing.assert_allclose(jax.jit(lambda k, x: k(x))(got, 0.3), want(0.3), rtol=1e-5)
    assert np.isfinite(jax.grad(lambda x: got.logpdf(x)[0])(0.3))
    key = jax.random.key(0)
    assert got.resample(key).shape == (1,) and got.resample(key, (3, 2)).shape == (1, 3, 2)
    many = np.asarray(stats.gaussian_kde(DATA).resample(key, (20000,)))
    np.testing.assert_allclose(many.mean(1), DATA.mean(1), atol=0.03)
    np.testing.assert_allclose(np.cov(many), np.cov(DATA, bias=True) + stats.gaussian_kde(
        DATA).covariance, atol=0.06)


@pytest.mark.parametrize(("error", "call"), [
    (ValueError, lambda: stats.gaussian_kde(DATA, bw_method="zz")),
    (ValueError, lambda: stats.gaussian_kde(DATA, weights=np.ones(3))),
    (ValueError, lambda: stats.gaussian_kde(DATA[None])),
    (ValueError, lambda: stats.gaussian_kde(DATA)(np.ones((3, 2)))),
    (ValueError, lambda: stats.gaussian_kde(DATA).integrate_box_1d(0, 1)),
    (TypeError, lambda: stats.gaussian_kde([1.0, 2.0])),
    (NotImplementedError, lambda: stats.gaussian_kde(DATA).integrate_box(0, 1)),
    (NotImplementedError, lambda: stats.gaussian_kde(DATA).set_bandwidth()),
])
def test_what_gaussian_kde_refuses(error, call):
    with pytest.raises(error):
        call()


def test_what_is_weak_of_numbers():
    assert stats.norm.pdf(0.5).weak_type and stats.norm.logpdf(0.5).weak_type
    for name in ("cdf", "sf", "logcdf", "logsf", "ppf", "isf"):
        assert not getattr(stats.norm, name)(0.5).weak_type, name
    assert jnp.rint(2.0).weak_type and not jnp.rint(2).weak_type


@pytest.mark.parametrize("f, args", [
    (stats.gamma.pdf, (0.0, 2.5, 0.0, 1.0)), (stats.gamma.pdf, (1e-30, 1e10, 0.0, 1e10)),
    (stats.beta.pdf, (0.0, 3.0, 2.0, 0.0, 1.0)), (stats.beta.pdf, (1.0, 3.0, 2.5, 0.0, 1.0)),
    (stats.chi2.pdf, (0.0, 5.0, 0.0, 2.0)), (stats.gamma.logsf, (0.0, 0.5, 0.0, 2.0)),
    (stats.gamma.logcdf, (1e30, 2.0, 0.0, 1e-10)), (stats.norm.pdf, (1e30, 0.0, 1e-10)),
    (stats.norm.cdf, (-1e30, 0.0, 1e-10)), (stats.cauchy.sf, (1e30, 0.0, 1e-10)),
    (stats.expon.cdf, (1e30, 0.0, 1e-10)), (stats.norm.cdf, (1e30, 0.0, 1e-5)),
    (stats.norm.logsf, (-1e30, 0.0, 1e-5)), (stats.norm.pdf, (1e30, 0.0, 1e-5)),
    (stats.expon.sf, (1e30, 0.0, 1e-5)), (stats.gamma.cdf, (1e30, 10.0, 0.0, 1e-5)),
    (stats.cauchy.cdf, (1e30, 0.0, 1e-5)), (stats.laplace.cdf, (1e30, 0.0, 1e-5)),
], ids=lambda v: v.__qualname__ if callable(v) else "")
def test_gradients_where_a_density_is_zero_or_the_standard_point_overflows(f, args):
    # the slope of logsf in x is infinite there
    places = (3,) if f is stats.gamma.logsf else tuple(range(len(args)))
    assert np.isfinite(jax.grad(f, places)(*args)).all()


def test_a_share_of_minus_zero_is_a_share_of_zero():
    assert stats.cauchy.ppf(-0.0) == -INF and stats.cauchy.isf(-0.0) == INF


def test_logarithms_of_probabilities_next_to_one():
    """As many digits as the complement has, also beyond the dtype's precision, with slopes."""
    x, low = np.array([3.0, 12.0, 40.0, 80.0]), np.array([1e-12, 1e-6, 0.1, 0.4])
    high = np.array([0.6, 0.9, 0.999, 1 - 2.0 ** -20])
    cases = ((stats.gamma, ss.gamma, (2.5,), x, np.array([1e-6, 0.01, 0.3, 0.8])),
             (stats.chi2, ss.chi2, (5.0,), 2 * x, np.array([1e-6, 0.02, 0.6, 1.6])),
             (stats.beta, ss.beta, (2.0, 3.5), high, low))

    def every(points):
        return [[jax.vmap(jax.value_and_grad(lambda v, f=f, s=s: f(v, *s)))(at)
                 for f, at in ((ours.logcdf, above), (ours.logsf, below))]
                for (ours, _, s, _, _), (above, below) in zip(cases, points, strict=True)]

    made = jax.jit(every)([[np.float32(above), np.float32(below)] for *_, above, below in cases])
    for (_, theirs, s, above, below), (top, bottom) in zip(cases, made, strict=True):
        above, below = (np.float32(v).astype(np.float64) for v in (above, below))
        np.testing.assert_allclose(top[0], np.log1p(-theirs.sf(above, *s)), rtol=1e-5)
        np.testing.assert_allclose(bottom[0], np.log1p(-theirs.cdf(below, *s)), rtol=1e-5)
        density = theirs.pdf(above, *s)
        np.testing.assert_allclose(top[1], density / theirs.cdf(above, *s), rtol=2e-5)
        density = theirs.pdf(below, *s)
        np.testing.assert_allclose(bottom[1], -density / theirs.sf(below, *s), rtol=2e-5)


@pytest.mark.parametrize("f, args", [
    (stats.gamma.logpdf, (1e-3, 1e30, 0.0, 1e20)), (stats.gamma.logpdf, (1e-30, 1e5, 0.0, 1e20)),
    (stats.gamma.logpdf, (1e-20, 3.0, 0.0, 1e20)), (stats.gamma.logpdf, (1e-10, 0.5, 0.0, 1e36)),
    (stats.gamma.logpdf, (1e-36, 1.0, 0.0, 1e30)), (stats.gamma.logpdf, (1e20, 2.5, 0.0, 1e20)),
    (stats.chi2.logpdf, (1e-20, 7.0, 0.0, 1e20)), (stats.chi2.logpdf, (1e-10, 2.0, 0.0, 1e36)),
])
def test_slopes_whose_factors_leave_the_range(f, args):
    """(a - 1) / z divided by the scale, where only the quotient is a number of f32."""
    found = jax.value_and_grad(f, (0, 1, 3))(*map(np.float32, args))
    with enable_x64(True):
        given = [np.float64(np.float32(v)) for v in args]
        wanted_there = jax.value_and_grad(f, (0, 1, 3))(*given)
    for got, want in zip(jax.tree.leaves(found), jax.tree.leaves(wanted_there), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-5)
