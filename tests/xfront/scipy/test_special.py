"""scipy.special against SciPy."""

import numpy as np
import pytest
import scipy.special as sp
import scipy.stats

import xfront
import xfront.numpy as jnp
from xfront.scipy import special, stats

X = np.array([-12.0, -5.5, -2.3, -0.5, 0.3, 1.0, 2.5, 6.0], np.float32)
P = np.array([1e-30, 1e-6, 1e-4, 0.01, 0.2, 0.5, 0.7, 0.99], np.float32)
Q = np.array([0.5, 1.0, 2.0, 3.3, 0.2, 0.7, 4.0, 1.0], np.float32)


@pytest.mark.parametrize("name", ["erf", "erfc", "expit", "ndtr", "log_ndtr", "gammaln", "gamma",
                                  "digamma", "i0", "i0e", "i1", "i1e"])
def test_one_argument(name):
    np.testing.assert_allclose(getattr(special, name)(X), getattr(sp, name)(X.astype(float)),
                               rtol=3e-5, atol=1e-6)


@pytest.mark.parametrize("name", ["logit", "ndtri", "entr"])
def test_of_probabilities(name):
    np.testing.assert_allclose(getattr(special, name)(P), getattr(sp, name)(P.astype(float)),
                               rtol=3e-6, atol=1e-7)


@pytest.mark.parametrize("name", ["xlogy", "xlog1py", "rel_entr", "kl_div", "boxcox", "boxcox1p",
                                  "betaln", "poch", "gammainc"])
def test_two_arguments(name):
    np.testing.assert_allclose(getattr(special, name)(P, Q),
                               getattr(sp, name)(P.astype(float), Q.astype(float)), rtol=3e-5,
                               atol=1e-6)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_incomplete_gamma_of_large_numbers(dtype):
    """Values within four deviations of the mean, where SciPy's are good, on both sides of where the
    expansion begins; slopes against differences, which are so in double precision alone."""
    least = 200.0 if dtype is np.float32 else 1e5
    a = np.repeat(np.array([least * 0.999, least * 1.001, 1e6, 1e8, 1e10], dtype), 9)
    x = (a + np.tile(np.linspace(-4, 4, 9), 5) * np.sqrt(a)).astype(dtype)
    wide = a.astype(float), x.astype(float)
    with xfront.enable_x64(dtype is np.float64):
        made = xfront.jit(lambda a, x: (special.gammainc(a, x), special.gammaincc(a, x)))(a, x)
        slope = xfront.jit(xfront.vmap(xfront.grad(special.gammainc)))(a, x)
    rtol = 5e-6 if dtype is np.float32 else 1e-13
    for got, reference in zip(made, (sp.gammainc, sp.gammaincc), strict=True):
        np.testing.assert_allclose(got, reference(*wide), rtol=rtol)
    if dtype is np.float64:
        h = np.sqrt(a) / 200
        once, twice = ((sp.gammainc(a + k * h, x) - sp.gammainc(a - k * h, x)) / (2 * k * h)
                       for k in (1, 2))
        near = abs(x - a) <= 3.5 * np.sqrt(a)
        np.testing.assert_allclose(slope[near], ((4 * once - twice) / 3)[near], rtol=1e-7)


def test_edges():
    np.testing.assert_array_equal(special.ndtri(np.array([0, 1, 2], np.float32)),
                                  [-np.inf, np.inf, np.nan])
    for f in (special.xlogy, special.xlog1py, special.rel_entr, special.kl_div):
        assert np.isnan(f(0.0, np.nan)) and f(0.0, 0.0) == 0
    assert special.xlogy(0, 0) == 0 and special.entr(-1.0) == -np.inf
    assert special.rel_entr(0.0, 1.0) == 0 and special.rel_entr(1.0, 0.0) == np.inf
    np.testing.assert_allclose(special.factorial(np.arange(5)), [1, 1, 2, 6, 24], rtol=1e-5)
    np.testing.assert_allclose(special.multigammaln(Q + 2, 3),
                               [sp.multigammaln(float(q) + 2, 3) for q in Q], rtol=1e-5)


def test_entropies_of_tiny_and_huge_numbers():
    """The logarithm of the quotient, which is one of the arguments or no normal number at ends."""
    p, q = np.meshgrid(np.array([1e-37, 3e-21, 0.4, 2.0, 1e20, 3e38], np.float32), np.array(
        [1e-37, 5e-21, 0.5, 7.0, 3e20, 2e38], np.float32))
    wide = p.astype(float) * np.log(p.astype(float) / q)
    got = np.asarray(special.rel_entr(p, q))
    fits = abs(wide) < 3e38
    np.testing.assert_allclose(got[fits], wide[fits], rtol=4e-7)
    assert np.isinf(got[~fits]).all()
    slope = xfront.vmap(xfront.grad(special.rel_entr))(p.ravel(), q.ravel()).reshape(p.shape)
    np.testing.assert_allclose(slope, np.log(p.astype(float) / q) + 1, rtol=1e-6)


def test_beside_the_middle_and_where_forms_meet():
    x = np.array([1e-30, 1e-6, 0.01, 0.49, 0.4999999, 0.5, 0.51], np.float32)
    x = np.concatenate([-x, [0.0], x]).astype(np.float32)
    for ours, exact in ((special.ndtr, sp.ndtr), (special.log_ndtr, sp.log_ndtr)):
        np.testing.assert_allclose(ours(x), exact(x.astype(float)), rtol=2.5e-7)
    p = np.array([0.2499999, 0.25, 0.3, 0.4999999, 0.5000001, 0.7, 0.75, 0.7500001], np.float32)
    np.testing.assert_allclose(special.logit(p), sp.logit(p.astype(float)), rtol=3e-7)
    assert special.logit(jnp.array([0.0, 0.5, 1.0])).tolist() == [-np.inf, 0.0, np.inf]
    assert np.isnan(special.logit(jnp.array([-1.0, 2.0, np.nan]))).all()


def test_derivatives():
    density = np.exp(-X.astype(float) ** 2 / 2) / np.sqrt(2 * np.pi)
    slope = xfront.vmap(xfront.grad(special.log_ndtr))(X)
    np.testing.assert_allclose(slope, density / sp.ndtr(X.astype(float)), rtol=1e-4)
    at = sp.ndtri(P.astype(float))
    slope = xfront.vmap(xfront.grad(special.ndtri))(P)
    np.testing.assert_allclose(slope, np.sqrt(2 * np.pi) * np.exp(at ** 2 / 2), rtol=2e-4)
    assert xfront.grad(special.xlogy)(0.0, 2.0) == np.float32(np.log(2))


@pytest.mark.parametrize("dtype", [np.float16, "bfloat16", np.float32])
def test_slopes_of_scaled_bessel_functions_near_zero(dtype):
    x = np.array([0, 6e-8, 1e-7, -1e-7, 1e-4, -1e-4, 3e-3, 0.02, -0.02, 0.1, 2, -5], np.float32)
    x = x.astype(xfront.numpy.dtype(dtype))
    got = xfront.grad(lambda x: special.i1e(x).astype(np.float32).sum())(x).astype(np.float64)
    at = x.astype(np.float64)
    with np.errstate(invalid="ignore", divide="ignore"):
        want = np.where(at == 0, 0.5, sp.i0e(at) - sp.i1e(at) * (np.sign(at) + 1 / at))
    np.testing.assert_allclose(got, want, atol=4 * float(xfront.numpy.finfo(dtype).eps))


def test_softmax_is_over_all_axes():
    x = np.arange(6.0).reshape(2, 3)
    for options in ({}, {"axis": 1}, {"axis": (0, 1)}):
        np.testing.assert_allclose(special.softmax(x, **options), sp.softmax(x, **options), 1e-6)
        np.testing.assert_allclose(special.log_softmax(x, **options),
                                   sp.log_softmax(x, **options), 1e-6)


@pytest.mark.filterwarnings("ignore:divide by zero:RuntimeWarning")
def test_where_formulas_meet_zero_times_infinity():
    x = np.array([0.0, 1, 2], np.float32)
    for power in (0.0, 0.5, -0.5):
        np.testing.assert_allclose(special.boxcox(x, power), sp.boxcox(x, power), 1e-6)
        np.testing.assert_allclose(special.boxcox1p(x - 1, power), sp.boxcox1p(x - 1, power), 1e-6)
    a, b, t = np.array([[1, 0, 1, 2], [0, 0, 2, 0], [1, 1, 0.5, 0]], np.float32)
    np.testing.assert_allclose(special.betainc(a, b, t), sp.betainc(a, b, t), 1e-6)
    assert special.multigammaln(np.ones((2, 3)), 0).shape == (2, 3)


def test_which_results_of_python_numbers_are_weak():
    weak = {"erf": 1, "gammainc": 2, "gammaln": 1, "xlogy": 2}
    others = {"beta": 2, "dawsn": 1, "erfcx": 1, "exp1": 1, "expi": 1, "expn": 2, "gamma": 1,
              "hyp1f1": 3, "log_ndtr": 1, "ndtr": 1, "ndtri": 1, "owens_t": 2, "poch": 2,
              "spence": 1, "wofz": 1}
    for name, n in (weak | others).items():
        assert getattr(special, name)(*[0.5] * n).weak_type is (name in weak), name
    assert [x.weak_type for x in (*special.sici(0.5), *special.fresnel(0.5))] == [False] * 4


@pytest.mark.parametrize(("name", "point", "slopes"), [
    ("entr", (np.inf,), (-np.inf,)), ("entr", (0.0,), (np.inf,)), ("entr", (2.0,), (-1.6931472,)),
    ("rel_entr", (np.inf, 2.0), (np.inf, -np.inf)), ("rel_entr", (3e38, 3e38), (1.0, -1.0)),
    ("kl_div", (np.inf, 2.0), (np.inf, -np.inf)), ("kl_div", (3.0, 2.0), (np.log(1.5), -0.5)),
    ("poch", (1.0, np.inf), (np.inf, np.inf)), ("poch", (3e38, 1.0), (1.0, np.inf))])
def test_slopes_at_infinity(name, point, slopes) -> None:
    f = getattr(special, name)
    found = xfront.grad(f, tuple(range(len(point))))(*map(jnp.float32, point))
    np.testing.assert_allclose(found, slopes, rtol=3e-6)


def test_log_ndtr_far_out() -> None:
    x = jnp.array([-np.inf, -1e30, -1e4, -30.0, 9.0, 13.0, 100.0, np.inf, np.nan])
    wanted = [-np.inf, -np.inf, -5e7, -454.321243, -1.12858841e-19, -6.11716440e-39, 0, 0, np.nan]
    np.testing.assert_allclose(special.log_ndtr(x), wanted, rtol=1e-6, atol=1e-37)
    slopes = xfront.vmap(xfront.grad(special.log_ndtr))(x[1:-1])
    np.testing.assert_allclose(slopes[1:], [1e4, 30.033259, 1.02797736e-18, 8e-38, 0, 0],
                               rtol=1e-5, atol=1e-37)


def test_tails_of_the_normal_distribution_keep_their_digits() -> None:
    """Values of mpmath with 40 digits."""
    x = jnp.array([-37.0, -20.5, -11.816, -5.25, -1.0, -0.0, 3.5, 9.0])
    wanted = [5.7255712225245768e-300, 1.076467325879096e-93, 1.6134320332770836e-32,
              7.6049605164887143e-8, 0.15865525393145705, 0.5, 0.99976737092096447, 1.0]
    slopes = [2.1200065515246056e-298, 2.2119843802105703e-92, 1.9198969829920688e-31,
              4.1284709886299984e-7, 0.24197072451914335, 0.39894228040143268,
              8.7268269504576007e-4, 1.0279773571668915e-18]
    for dtype, rtol in ((np.float32, 4e-7), (np.float64, 4e-15)):
        with xfront.enable_x64(dtype is np.float64):
            points = np.array(x, dtype)
            made = special.ndtr(points)
            assert made.dtype == dtype
            np.testing.assert_allclose(made, wanted, rtol=rtol, atol=1e-38 * (dtype is np.float32))
            np.testing.assert_allclose(xfront.vmap(xfront.grad(special.ndtr))(points), slopes,
                                       rtol=rtol, atol=1e-38 * (dtype is np.float32))
    edges = jnp.array([-np.inf, -1e30, 1e30, np.inf, np.nan])
    np.testing.assert_array_equal(special.ndtr(edges), [0, 0, 1, 1, np.nan])
    np.testing.assert_array_equal(xfront.vmap(xfront.grad(special.ndtr))(edges),
                                  [0, 0, 0, 0, np.nan])


@pytest.mark.parametrize("name", ["beta", "betaln", "poch"])
def test_functions_of_two_take_f16(name):
    """Thresholds inside are numbers of the dtype."""
    a, b = np.array([1.5, 9.0], np.float16), np.array([2.0, 3.0], np.float16)
    want = getattr(sp, name)(a.astype(float), b.astype(float))
    np.testing.assert_allclose(np.asarray(getattr(special, name)(a, b)), want, rtol=2e-2)


def test_beta_functions_of_negative_integers_and_large_numbers():
    a = np.array([-1, -2, -2, -3, -3, -3, 1, -2, -1, 0], np.float32)
    b = np.array([1, 1, 2, 3, 2, 4, -3, 0.5, -1, 0], np.float32)
    np.testing.assert_allclose(special.betaln(a, b), sp.betaln(a, b), rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(special.beta(a, b)[:5], sp.beta(a, b)[:5], rtol=1e-6)
    a, b, x = np.broadcast_arrays(np.array([1e5, 1e4, 100, 7.9]), np.array([[1e5], [300]]), 0.0)
    x = a / (a + b) * np.array([1, 1.002, 0.99, 0.9])
    with xfront.enable_x64():
        np.testing.assert_allclose(special.betainc(a, b, x), sp.betainc(a, b, x), rtol=1e-12)
        slope = xfront.vmap(xfront.grad(special.betainc, 2))(a.ravel(), b.ravel(), x.ravel())
    np.testing.assert_allclose(slope, scipy.stats.beta.pdf(x, a, b).ravel(), rtol=1e-11)
    narrow = [v.astype(np.float32) for v in (a, b, x)]
    wide = [v.astype(np.float64) for v in narrow]
    np.testing.assert_allclose(special.betainc(*narrow), sp.betainc(*wide), rtol=3e-4)
    np.testing.assert_array_equal(special.digamma(np.float32([0, -0.0])), -np.inf)
    assert (stats.betabinom.logpmf(0, 0, jnp.array([1.0, 2.5]), 3.0) == 0).all()
