"""The special functions that are no op of their own, by a table: against SciPy over dtypes, at
special points, and their derivatives against differences."""

import math

import numpy as np
import pytest
import scipy.special as sp

import xfront as jax
import xfront.numpy as jnp
from xfront.base.config import enable_x64
from xfront.scipy import special

INF, NAN = math.inf, math.nan
LINE = np.concatenate([np.linspace(-12, 12, 97) + 0.01, 10.0 ** np.arange(-9, 5)])
HALF = np.abs(LINE)
SPECIAL = np.array([0.0, -0.0, 1.0, -1.0, INF, -INF, NAN])


def first(f):
    return lambda *given: f(*given)[0]


def second(f):
    return lambda *given: f(*given)[1]


def of_order(n):
    return lambda f: lambda x: f(n, x)


TABLE = {
    "dawsn": ("dawsn", None, (LINE,), [0, -0.0, 0.5380795069, -0.5380795069, 0, -0.0, NAN]),
    "erfcx": ("erfcx", None, (LINE[LINE > -9],), [1, 1, 0.42758357616, 5.00898008, 0, INF, NAN]),
    "exp1": ("exp1", None, (HALF[HALF < 80],), [INF, INF, 0.21938393440, NAN, 0, NAN, NAN]),
    "expi": ("expi", None, (LINE[LINE < 80],),
             [-INF, -INF, 1.8951178164, -0.21938393440, INF, -0.0, NAN]),
    "expn 0": ("expn", of_order(0), (HALF[HALF < 80],), [INF, INF, 0.3678794412, NAN, 0, NAN, NAN]),
    "expn 1": ("expn", of_order(1), (HALF[HALF < 80],), [INF, INF, 0.2193839344, NAN, 0, NAN, NAN]),
    "expn 4": ("expn", of_order(4), (HALF[HALF < 80],), [1 / 3, 1 / 3, 0.0860624913, NAN, 0, NAN,
                                                        NAN]),
    "fresnel S": ("fresnel", first, (LINE[LINE < 1e3],),
                  [0, -0.0, 0.4382591474, -0.4382591474, 0.5, -0.5, NAN]),
    "fresnel C": ("fresnel", second, (LINE[LINE < 1e3],),
                  [0, -0.0, 0.7798934004, -0.7798934004, 0.5, -0.5, NAN]),
    "sici Si": ("sici", first, (LINE,), [0, 0, 0.9460830704, -0.9460830704, math.pi / 2,
                                         -math.pi / 2, NAN]),
    "sici Ci": ("sici", second, (HALF,), [-INF, -INF, 0.3374039229, 0.3374039229, 0, 0, NAN]),
    "spence": ("spence", None, (HALF,), [math.pi ** 2 / 6, math.pi ** 2 / 6, 0, NAN, -INF, NAN,
                                         NAN]),
    "owens_t": ("owens_t", None, (LINE, np.resize([0.3, -1.0, 2.5, 40.0, 1e-4], LINE.shape)), None),
    "hyp1f1": ("hyp1f1", None, (np.resize([0.5, 2.2, -3.0, -1.4], 40),
                                np.resize([1.3, 2.5, 0.4, 5.0, -2.6], 40),
                                np.linspace(-70, 60.01, 40)), None),
    "hyp2f1": ("hyp2f1", None, (np.resize([0.5, 1.2, -3.0], 40), np.resize([1.3, 0.3, 2.0], 40),
                                np.resize([1.1, 2.4, 3.05, 0.7], 40),
                                np.concatenate([np.linspace(-30, 0.7, 30),
                                                np.linspace(0.72, 0.99, 10)])), None),
}  # fmt: skip
"""Name, what of its results is looked at, points, and the values at SPECIAL."""
ULPS = {"hyp1f1": 4000, "hyp2f1": 4000, "owens_t": 30000}
"""Of float64. SciPy's own error is the larger one in Owen's function and most others."""
OPS = {name: row for name, row in TABLE.items() if not name.startswith("hyp")}


def pair(name):
    public, part, points, at_special = TABLE[name]
    ours, theirs = getattr(special, public), getattr(sp, public)
    return (part(ours), part(theirs), points, at_special) if part else (
        ours, theirs, points, at_special)


def check(name, dtype, got, points, theirs, ulps):
    """Within so many units in the last place, of the size of the value or of what it is made of."""
    wide = [np.asarray(p, dtype).astype(np.float64) for p in points]
    want = theirs(*wide)
    size = np.maximum(np.abs(want), 0.02 if name in ("sici Ci", "expi", "spence") else 0)
    off = np.abs(np.asarray(got, np.float64) - want)
    room = ulps * float(jnp.finfo(dtype).eps) * size + float(jnp.finfo(dtype).tiny)
    assert (off <= room).all(), (name, [p[off > room] for p in points], off[off > room] / size[
        off > room], want[off > room])


@pytest.mark.parametrize("name", TABLE)
def test_values(name):
    ours, theirs, points, at_special = pair(name)
    with enable_x64(True):
        got = jax.jit(ours)(*points)
        assert got.dtype == np.float64
        check(name, "float64", got, points, theirs, ULPS.get(name, 130))
        if at_special is not None:
            at = np.asarray(jax.jit(ours)(np.resize(SPECIAL, points[0].shape)))[:7]
            np.testing.assert_allclose(at, at_special, rtol=1e-9)


@pytest.mark.parametrize("name", OPS)
def test_values_of_narrower_dtypes(name):
    ours, theirs, points, _ = pair(name)
    points = [p[::3] for p in points]

    def every(*points):
        return [ours(*[p.astype(dtype) for p in points]) for dtype in ("float32", "bfloat16")]

    for got, ulps in zip(jax.jit(every)(*[p.astype(np.float32) for p in points]), (40, 1),
                         strict=True):
        check(name, str(got.dtype), got, [p.astype(got.dtype) for p in points], theirs, ulps)


@pytest.mark.parametrize("name", [
    pytest.param(name, marks=pytest.mark.slow) if name not in OPS else name for name in TABLE])
def test_slopes(name):
    """In double precision, of every argument; reverse mode of a batch."""
    ours, _, points, _ = pair(name)
    points = [p[5:-8:4] for p in points]
    step = 1e-6
    with enable_x64(True):
        slopes = jax.jit(jax.vmap(jax.grad(ours, tuple(range(len(points))))))(*points)
        f = jax.jit(ours)
        for i, slope in enumerate(slopes):
            steps = step * np.abs(points[i])
            high, low = [np.asarray(f(*[p + side * steps * (i == j) for j, p in enumerate(points)]))
                         for side in (1, -1)]
            want = (high - low) / (2 * steps)
            room = 1e-5 * np.abs(want) + 1e-14 * np.maximum(np.abs(high), 1) / steps
            assert (np.abs(slope - want) <= room).all(), (name, i, slope, want)


# --- complex numbers ------------------------------------------------------------------------

RNG = np.random.default_rng(3)
PLANE = (RNG.normal(size=400) + 1j * RNG.normal(size=400)) * 10 ** RNG.uniform(-2, 1, 400)


@pytest.mark.parametrize("name", ["wofz", "erfcx", "loggamma", "gamma"])
@pytest.mark.parametrize("double", [True, False])
def test_complex_numbers(name, double):
    z = PLANE.astype(np.complex128 if double else np.complex64)
    want = getattr(sp, name)(z.astype(np.complex128))
    shown = np.isfinite(want) & (np.abs(want) < 1e30) & (np.abs(want) > 1e-30)
    with enable_x64(double):
        got = np.asarray(getattr(special, name)(z))
        assert got.dtype == z.dtype
    np.testing.assert_allclose(got[shown], want[shown], rtol=(1e-12 if double else 1e-4))


def test_complex_gamma_on_its_branch():
    z = np.array([-1.5 + 0j, -3.5 + 1e-3j, -3.5 - 1e-3j, 0.25 - 30j])
    np.testing.assert_allclose(special.loggamma(z), sp.loggamma(z), rtol=2e-6)
    assert np.isnan(special.gamma(np.complex64(-1)))
    assert np.isnan(special.loggamma(-1.5)) and special.gammaln(-1.5) == pytest.approx(0.86004702)
    slope = jax.grad(lambda z: special.gamma(z).real, holomorphic=False)(np.float32(1.5))
    np.testing.assert_allclose(slope, sp.gamma(1.5) * sp.digamma(1.5), rtol=1e-5)


def test_wofz_of_real_numbers_is_complex():
    for x, dtype in ((1.5, np.complex64), (np.float16(1.5), np.complex64), (2, np.complex64)):
        got = special.wofz(x)
        assert got.dtype == dtype
        np.testing.assert_allclose(got, sp.wofz(float(x)), rtol=2e-6)


@pytest.mark.parametrize("f", [special.dawsn, special.expi, special.exp1, special.fresnel,
                               special.sici, special.spence])
def test_complex_numbers_are_refused(f):
    with pytest.raises(ValueError, match="real numbers, got"):
        f(1j)
    with pytest.raises(TypeError):
        f([1.0])


# --- counting, harmonics, Bessel ------------------------------------------------------------

def test_comb():
    n, k = np.arange(-2, 13)[:, None], np.arange(-2, 13)
    got = special.comb(n, k)
    assert got.dtype == np.float32
    np.testing.assert_array_equal(got, sp.comb(n, k))
    n = np.arange(1, 8)[:, None]
    np.testing.assert_array_equal(special.comb(n, k[2:], repetition=True), [
        [sp.comb(int(a), int(b), repetition=True) for b in k[2:]] for a in n[:, 0]])
    np.testing.assert_allclose(special.comb(60.5, 7.25), sp.comb(60.5, 7.25), rtol=2e-5)
    want = (sp.comb(7.5 + 1e-5, 3) - sp.comb(7.5 - 1e-5, 3)) / 2e-5
    np.testing.assert_allclose(jax.grad(special.comb)(7.5, 3.0), want, rtol=1e-4)


def test_bernoulli():
    for n in (0, 1, 2, 9, 40):
        want = [1, -0.5, *sp.bernoulli(max(n, 2))[2:]][:n + 1]
        np.testing.assert_allclose(special.bernoulli(n), want, rtol=1e-6)
    with pytest.raises(ValueError, match="non-negative"):
        special.bernoulli(-1)
    with pytest.raises(TypeError):
        special.bernoulli(2.0)


@pytest.mark.slow
def test_bessel_jn():
    z = np.array([[0.0, 1e-6, -0.5, 2.4048256], [5.0, -11.0, 19.5, 25.0]], np.float32)
    got = special.bessel_jn(z, v=3)
    want = sp.jv(np.arange(4)[:, None, None], z.astype(float))
    np.testing.assert_allclose(got, want, atol=3e-7)
    assert special.bessel_jn(1, v=0).shape == (1,)
    slope = jax.vmap(jax.grad(lambda z: special.bessel_jn(z, v=2)[1]))(z.ravel())
    np.testing.assert_allclose(slope, sp.jvp(1, z.ravel().astype(float)), atol=2e-6)
    with pytest.raises(ValueError, match="negative"):
        special.bessel_jn(1.0, v=-1)
    with pytest.raises(ValueError, match="real numbers"):
        special.bessel_jn(1j, v=1)


@pytest.mark.parametrize("highest", [0, 1, 2, 7, 40])
def test_lpmn(highest):
    """Against SciPy, at the poles too; the slope of order 1 is infinite there."""
    z = np.array([-1, -0.7, 0, 0.3, 0.999, 1], np.float32)
    with np.errstate(all="ignore"):
        want = sp.assoc_legendre_p_all(highest, highest, z.astype(float), branch_cut=2, diff_n=1)
        unit = sp.sph_legendre_p_all(highest, highest, np.arccos(z.astype(float)))[0]
    value, slope = (w[:, :highest + 1].swapaxes(0, 1) for w in want)
    with jax.enable_x64(True):
        got, moved = special.lpmn(highest, highest, z.astype(float))
        np.testing.assert_allclose(got, value, rtol=1e-10, atol=1e-10)
        inside = slice(1, -1)
        np.testing.assert_allclose(moved[..., inside], slope[..., inside], rtol=1e-9, atol=1e-9)
    if highest > 1:
        assert list(special.lpmn(2, 2, z)[1][:, 2, -1]) == [3, np.inf, -6]
    got = special.lpmn_values(highest, highest, z, True)
    assert got.dtype == np.float32 and got.shape == (highest + 1, highest + 1, 6)
    np.testing.assert_allclose(got, unit[:, :highest + 1].swapaxes(0, 1), atol=2e-5)


def test_lpmn_under_transformations_and_refusals():
    z = np.array([0.3, -0.7], np.float32)
    f = lambda z: special.lpmn_values(3, 3, z, False)
    np.testing.assert_allclose(jax.jvp(f, (z,), (np.ones_like(z),))[1],
                               special.lpmn(3, 3, z)[1], rtol=1e-5)
    slopes = jax.jit(jax.jacrev(lambda z: special.lpmn_values(3, 3, z, True)))(z)
    np.testing.assert_allclose(slopes, jax.jacfwd(lambda z: special.lpmn_values(3, 3, z, True))(z),
                               rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(jax.vmap(f)(z[:, None])[:, :, :, 0], np.moveaxis(f(z), 2, 0))
    assert special.lpmn_values(2, 2, z[:0], True).shape == (3, 3, 0)
    for error, args in ((NotImplementedError, (2, 3, z)), (TypeError, (2, 2, z.astype(int))),
                        (TypeError, (2, 2, z.astype(np.float16))), (ValueError, (2, 2, z[0])),
                        (ValueError, (-1, -1, z))):
        with pytest.raises(error, match="lpmn"):
            special.lpmn(*args)


def test_sph_harm_y():
    n, m = (v.ravel() for v in np.meshgrid(np.arange(6), np.arange(-6, 7)))
    theta, phi = np.float32(1.1), np.linspace(0, 6, n.size).astype(np.float32)
    got = special.sph_harm_y(n, m, theta, phi)
    assert got.dtype == np.complex64
    want = np.where(np.abs(m) > n, 0, sp.sph_harm_y(n, m, 1.1, phi.astype(float)))
    np.testing.assert_allclose(got, want, atol=3e-6)
    few = jax.jit(lambda n: special.sph_harm_y(n, 1, theta, 0.5, n_max=3))(np.array([2, 3, 4]))
    np.testing.assert_allclose(few[:2], sp.sph_harm_y([2, 3], 1, 1.1, 0.5), rtol=1e-5)
    assert np.isnan(few[2])
    slope = jax.grad(lambda t: special.sph_harm_y(3, -2, t, 0.3).real)(0.7)
    ends = [sp.sph_harm_y(3, -2, 0.7 + d, 0.3).real for d in (1e-5, -1e-5)]
    np.testing.assert_allclose(slope, (ends[0] - ends[1]) / 2e-5, rtol=1e-4)
    with pytest.raises(NotImplementedError, match="diff_n"):
        special.sph_harm_y(1, 0, 0.3, 0.4, diff_n=1)
    with pytest.raises(TypeError, match="highest degree"):
        jax.jit(special.sph_harm_y)(1, 0, 0.3, 0.4)
    with pytest.raises(TypeError, match="integers"):
        special.sph_harm_y(1, 0.5, 0.3, 0.4)


@pytest.mark.parametrize(("f", "given", "want"), [
    (special.hyp1f1, (1.0, 2.0, 0.0), 1.0), (special.hyp1f1, (0.5, -1.0, 1.0), INF),
    (special.hyp1f1, (-3.0, 2.0, 90.0), -26459.0), (special.hyp1f1, (NAN, 1.0, 1.0), NAN),
    (special.hyp2f1, (1.0, 2.0, 3.0, 1.0), INF), (special.hyp2f1, (1.0, 2.0, 3.5, 1.0), 5.0),
    (special.hyp2f1, (1.0, 2.0, 3.0, 1.5), INF), (special.hyp2f1, (-2.0, 2.0, 3.0, 2.0), 1 / 3),
    (special.hyp2f1, (1.0, 1.0, 2.0, -100.0), 0.046151205),
    (special.hyp2f1, (0.5, 2.0, -1.0, 0.5), INF),
    (special.hyp2f1, (1.0, 1.0, 2.0, 0.99999), NAN), (special.owens_t, (1.0, INF), 0.079327626),
    (special.owens_t, (1.0, -INF), -0.079327626), (special.owens_t, (INF, 1.0), 0.0),
    (special.owens_t, (0.0, INF), 0.25), (special.owens_t, (NAN, 1.0), NAN),
    (special.expn, (-1, 1.0), NAN), (special.expn, (1.5, 1.0), NAN),
])
def test_special_points(f, given, want):
    np.testing.assert_allclose(f(*given), want, rtol=1e-5)


def test_hyp1f1_where_the_asymptotic_expansion_is_not_enough():
    """Parameters as large as the point, and where its second part counts. Values of mpmath."""
    given = [(8.0, 28.0, 70.0), (17.5, 26.0, 82.5), (11.0, 19.5, -57.0), (-6.0625, 16.75, 56.125),
             (19.0, 3.0, -68.0), (2.5, 4.0, 120.0)]
    want = [75188096261849075.0, 1.2393401665247189e+30, 2.1492220742843994e-8, 6.5570512833463721,
            3.8284231926177126e-19, 4.3944458030141246e+49]
    with enable_x64(True):
        made = jax.jit(special.hyp1f1)(*np.array(given).T)
    np.testing.assert_allclose(made, want, rtol=1e-9)
