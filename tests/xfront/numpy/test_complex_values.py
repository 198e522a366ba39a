"""Functions of complex numbers: accurate in both parts, and right where numbers end."""

import itertools

import numpy as np
import pytest

import xfront
import xfront.numpy as jnp

SIZES = [0.0, 1e-30, 1e-8, 1e-3, 0.3, 1, 2.5, 10, 30, 88, 89, 1e3, 1e10]
OF_PARTS = ("sin", "cos", "sinh", "cosh")
ENDS = [0.0, -0.0, 1, -1, 2.5, np.inf, -np.inf, np.nan, 100, -100]


def grid(parts) -> np.ndarray:
    made = np.empty((len(parts), len(parts)), np.complex64)
    made.real, made.imag = np.meshgrid(np.array(parts), np.array(parts))
    return made.ravel()


def units_off(got: np.ndarray, want: np.ndarray) -> float:
    """The greatest error of a real array in units of its last place; overflow must agree."""
    with np.errstate(over="ignore", invalid="ignore"):
        rounded = want.astype(got.dtype)
        unit = np.spacing(np.abs(rounded)).astype(np.float64)
        error = np.abs(got.astype(np.float64) - want) / unit
    error[np.isinf(rounded) & (got == rounded)] = 0
    error[np.abs(want) < np.finfo(got.dtype).tiny] = 0
    return float(error.max())


# function -> units in the last place of either part
ACCURATE = {"sin": 4, "cos": 4, "sinh": 4, "cosh": 4, "log10": 4, "log2": 4, "exp": 4, "log": 4}


def test_both_parts_are_accurate_alone():
    z = grid([*SIZES, *[-v for v in SIZES[1:]]])
    made = xfront.jit(lambda z: [getattr(jnp, name)(z) for name in ACCURATE])(z)
    for (name, most), got in zip(ACCURATE.items(), made, strict=True):
        some = z if "log" not in name else z[z != 0]
        with np.errstate(over="ignore", invalid="ignore"):
            want = getattr(np, name)(some.astype(np.complex128))
        got = np.asarray(got)[z != 0] if "log" in name else np.asarray(got)
        assert units_off(got.real, want.real) < most, name
        assert units_off(got.imag, want.imag) < most, name


def test_expm1_is_accurate_in_both_parts():
    z = grid([-30, -2, -1e-3, -1e-8, 0, 1e-8, 1e-3, 0.5, 2, 30])
    got, x, y = np.asarray(jnp.expm1(z)), z.real.astype(np.float64), z.imag.astype(np.float64)
    want = np.expm1(x) * np.cos(y) - 2 * np.sin(y / 2) ** 2
    np.testing.assert_allclose(got.real, want, rtol=1e-5)
    assert units_off(got.imag, np.exp(x) * np.sin(y)) < 4
    assert np.asarray(jnp.expm1(np.complex64(complex(-np.inf, np.inf)))).tolist() == -1


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_tangents_are_accurate_near_their_poles(dtype):
    steps = np.array([0.0, *(10.0 ** np.arange(-9, 1)), *(-10.0 ** np.arange(-9, 1))])
    y, x = np.meshgrid(np.pi / 2 * np.array([1, 3, -1, 7])[:, None] + steps, steps)
    with xfront.enable_x64(dtype == np.complex128):
        z = (x + 1j * y).astype(dtype).ravel()
        tanh, tan = map(np.asarray, xfront.jit(lambda z: (jnp.tanh(z), jnp.tan(z * -1j)))(z))
    wide = z.astype(np.clongdouble)
    sine, cosine, sinh = np.sin(wide.imag), np.cos(wide.imag), np.sinh(wide.real)
    want = (sinh * np.cosh(wide.real) + 1j * sine * cosine) / (sinh ** 2 + cosine ** 2)
    unit = np.spacing(np.abs(want).astype(tanh.real.dtype))
    assert (np.abs(tanh - want) / unit).max() < 5
    assert (np.abs(tan - want * -1j) / unit).max() < 5


def test_ends_are_those_of_c99():
    z = grid(ENDS)
    made = xfront.jit(lambda z: [getattr(jnp, n)(z) for n in OF_PARTS])(z)
    for name, got in zip(OF_PARTS, made, strict=True):
        with np.errstate(all="ignore"):
            want = getattr(np, name)(z.astype(np.complex128)).astype(np.complex64)
        for part in ("real", "imag"):
            a, b = getattr(np.asarray(got), part), getattr(want, part)
            # C99 leaves open the sign of an infinity or a zero beside NaN
            beside = np.isnan(want.real) | np.isnan(want.imag)
            np.testing.assert_allclose(np.where(beside, np.abs(a), a),
                                       np.where(beside, np.abs(b), b), rtol=1e-5, err_msg=name)
            same = (np.signbit(a) == np.signbit(b)) | beside
            assert same.all(), (name, part, z[~same])


def test_logarithms_to_a_base_at_their_ends():
    z = np.array([0, complex(np.inf, 0), complex(0, np.inf), complex(-np.inf, 0)], np.complex64)
    for f, base in ((jnp.log10, 10), (jnp.log2, 2)):
        got, log = np.asarray(f(z)), np.asarray(jnp.log(z)).astype(np.complex128)
        np.testing.assert_allclose(got.real, log.real)
        np.testing.assert_allclose(got.imag, log.imag / np.log(base), rtol=1e-6)
    assert jnp.log10(np.float32(0)) == -np.inf and jnp.log2(np.float32(np.inf)) == np.inf
    assert jnp.log10(np.complex64(100j)).real == 2


@pytest.mark.parametrize("name, base", [("logaddexp", np.e), ("logaddexp2", 2.0)])
def test_sums_of_complex_exponentials_have_principal_angles(name, base):
    rng = np.random.default_rng(0)
    x, y = (3 * (rng.normal(size=200) + 1j * rng.normal(size=200)) for _ in range(2))
    rate = np.log(base)
    want = np.log(np.exp(x * rate) + np.exp(y * rate)) / rate
    f = getattr(jnp, name)
    got = np.asarray(f(x.astype(np.complex64), y.astype(np.complex64)))
    np.testing.assert_allclose(got, want, rtol=2e-6, atol=2e-6)
    slope = xfront.grad(lambda x: f(x, y.astype(np.complex64)).sum(), holomorphic=True)(
        x.astype(np.complex64))
    with np.errstate(over="ignore"):
        np.testing.assert_allclose(slope, 1 / (1 + np.exp((y - x) * rate)), rtol=2e-4, atol=1e-5)
    np.testing.assert_allclose(f(np.complex64(-np.inf), np.complex64(1j)), 1j, atol=1e-7)


def test_greater_and_lesser_complex_numbers_that_are_there():
    values = np.array([1 + 2j, 1 - 2j, 3, complex(np.nan, 0)], np.complex64)
    for x, y in itertools.product(values, values):
        for name in ("fmax", "fmin"):
            np.testing.assert_array_equal(getattr(jnp, name)(x, y), getattr(np, name)(x, y))


def test_parts_of_python_numbers_are_weak():
    for f in (jnp.real, jnp.imag, jnp.abs, jnp.angle):
        assert f(1j).weak_type and (f(1j) + np.float16(1)).dtype == np.float16
        assert xfront.jit(f)(1j).weak_type and not f(np.complex64(1j)).weak_type
    assert not jnp.angle(1.0).weak_type
    assert jnp.round(1j).weak_type and jnp.rint(1j).weak_type
    assert not jnp.round(np.complex64(1j)).weak_type
