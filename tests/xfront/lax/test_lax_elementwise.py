"""Elementwise functions of lax: values, derivatives, and what they refuse."""

import ml_dtypes
import numpy as np
import pytest
import scipy.special

import xfront
from xfront import lax

X = np.array([0.3, 0.7, 0.11], np.float32)
Y = np.array([0.5, 0.2, 0.9], np.float32)

UNARY = {
    "neg": np.negative, "abs": np.abs, "sign": np.sign, "square": np.square,
    "reciprocal": np.reciprocal, "sqrt": np.sqrt, "rsqrt": lambda x: 1 / np.sqrt(x),
    "cbrt": np.cbrt, "exp": np.exp, "exp2": np.exp2, "expm1": np.expm1, "log": np.log,
    "log1p": np.log1p, "logistic": scipy.special.expit, "sin": np.sin, "cos": np.cos, "tan": np.tan,
    "tanh": np.tanh, "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan, "sinh": np.sinh,
    "cosh": np.cosh, "asinh": np.arcsinh, "atanh": np.arctanh, "erf": scipy.special.erf,
    "erfc": scipy.special.erfc, "erf_inv": scipy.special.erfinv, "lgamma": scipy.special.gammaln,
    "digamma": scipy.special.digamma, "bessel_i0e": scipy.special.i0e,
    "bessel_i1e": scipy.special.i1e,
}
BINARY = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide, "pow": np.power,
    "atan2": np.arctan2, "max": np.maximum, "min": np.minimum, "rem": np.fmod,
    "igamma": scipy.special.gammainc, "igammac": scipy.special.gammaincc,
}


def difference(f, x, h=1e-3):
    x = x.astype(np.float64)
    return (f(x + h) - f(x - h)) / (2 * h)


@pytest.mark.parametrize("name", UNARY)
def test_unary_is_numpys_and_so_is_its_derivative(name):
    f = getattr(lax, name)
    np.testing.assert_allclose(f(X), UNARY[name](X), rtol=1e-5)
    slope = xfront.vmap(xfront.grad(f))(X)
    np.testing.assert_allclose(slope, difference(UNARY[name], X), rtol=2e-3, atol=1e-4)


@pytest.mark.parametrize("name", BINARY)
def test_binary_is_numpys(name):
    f = getattr(lax, name)
    np.testing.assert_allclose(f(X, Y), BINARY[name](X, Y), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(xfront.jit(f)(X, 0.5), BINARY[name](X, np.float32(0.5)), rtol=1e-5)


def test_rounding_and_kinds():
    x = np.array([-1.5, -0.5, 0.5, 2.5], np.float32)
    np.testing.assert_array_equal(lax.round(x), [-2, -1, 1, 3])
    even = lax.round(x, lax.RoundingMethod.TO_NEAREST_EVEN)
    np.testing.assert_array_equal(even, np.round(x))
    np.testing.assert_array_equal(lax.floor(x), np.floor(x))
    np.testing.assert_array_equal(lax.ceil(x), np.ceil(x))
    np.testing.assert_array_equal(lax.is_finite(np.array([1, np.inf, np.nan], np.float32)),
                                  [True, False, False])


def test_integers_and_bits():
    a, b = np.array([7, -7, 5], np.int32), np.array([2, 2, 3], np.int32)
    np.testing.assert_array_equal(lax.div(a, b), [3, -3, 1])
    np.testing.assert_array_equal(lax.rem(a, b), [1, -1, 2])
    np.testing.assert_array_equal(lax.bitwise_xor(a, b), a ^ b)
    np.testing.assert_array_equal(lax.shift_right_arithmetic(a, 1), a >> 1)
    np.testing.assert_array_equal(lax.population_count(np.uint8(7)), 3)
    assert lax.integer_pow(a, 2).dtype == np.int32


def test_weakness_and_broadcast_of_scalars():
    assert lax.add(X, 1.0).weak_type is False
    assert lax.add(1, 2).weak_type is True
    assert lax.abs(1j).weak_type is True
    assert lax.add(X, np.ones((1,), np.float32)).shape == (3,)
    assert lax.mul(X, X, out_dtype="float16").dtype == np.float16


@pytest.mark.parametrize("call", [
    lambda: lax.add(X, 1), lambda: lax.add(np.float16(1), 1.0), lambda: lax.sin(1),
    lambda: lax.add([1.0], X), lambda: lax.add(X, None), lambda: lax.add(X, True),
    lambda: lax.add(X, np.ones((2, 3), np.float32)), lambda: lax.add(X, np.ones(2, np.float32)),
    lambda: lax.neg(True), lambda: lax.floor(1), lambda: lax.real(X), lambda: lax.bitwise_not(X),
    lambda: lax.integer_pow(np.int32(2), -1), lambda: lax.pow(X, True), lambda: lax.clamp(0, X, 1),
    lambda: lax.clamp(np.ones(2, np.float32), X, 1.0), lambda: lax.select(X, X, X),
    lambda: lax.select(X > 0, X, 0.0), lambda: lax.lt(1j, 1j),
])
def test_refuses_what_is_not_alike(call):
    with pytest.raises(TypeError):
        call()


def test_choosing():
    np.testing.assert_allclose(lax.clamp(0.2, X, 0.5), np.clip(X, 0.2, 0.5))
    np.testing.assert_array_equal(lax.select(X > 0.2, X, Y), np.where(X > 0.2, X, Y))
    which = np.array([0, 2, 1], np.int32)
    made = lax.select_n(which, X, Y, X + Y)
    np.testing.assert_allclose(made, [X[0], X[1] + Y[1], Y[2]])
    with pytest.raises(ValueError, match="at least one case"):
        lax.select_n(which)


def test_a_mapped_chooser_of_scalar_cases_has_any_shape():
    """As in JAX, where the batching rule broadcasts cases that are not mapped."""
    chooser = xfront.numpy.array([[True], [False]])
    for run in (xfront.vmap, lambda f, axes: xfront.jit(xfront.vmap(f, axes))):
        chosen = run(lambda c: lax.select(c, 1.0, 2.0), 0)(chooser)
        np.testing.assert_array_equal(chosen, [[1.0], [2.0]])
        of_two = run(lambda c, a, b: lax.select_n(c, a, b), (0, None, None))
        np.testing.assert_array_equal(of_two(chooser, 1.0, 2.0), [[2.0], [1.0]])
        for axes, cases in (((0, 0, 0), (xfront.numpy.ones(2), xfront.numpy.ones(2))),
                            ((0, None, None), (xfront.numpy.ones(3), xfront.numpy.ones(3))),
                            ((None, 0, None), (xfront.numpy.ones(2), 1.0))):
            with pytest.raises(TypeError, match="shape of the cases"):
                run(lambda c, a, b: lax.select(c, a, b), axes)(chooser, *cases)
    slope = xfront.grad(lambda a: xfront.vmap(lambda c: lax.select(c, a, 2.0))(chooser).sum())(3.0)
    assert slope == 1.0
    with pytest.raises(TypeError, match="shape of the cases"):
        lax.select(chooser[0], 1.0, 2.0)


def test_power_of_zero_has_derivative():
    assert xfront.grad(lambda x: lax.pow(x, 2))(0.0) == 0.0
    assert xfront.grad(lambda x: lax.integer_pow(x, 3))(2.0) == 12.0


def test_stop_gradient_of_trees():
    def f(x):
        held = lax.stop_gradient({"a": x})
        return held["a"] * x

    assert xfront.grad(f)(3.0) == 3.0
    assert xfront.jit(xfront.grad(f))(3.0) == 3.0
    with pytest.raises(TypeError):
        lax.stop_gradient("s")


def test_named_scope():
    from xfront.tracing.naming import named_call, named_scope

    with named_scope("outer"):
        assert float(named_call(lambda x: lax.sin(x))(0.0)) == 0.0
    assert float(xfront.jit(named_scope("layer")(lax.cos))(0.0)) == 1.0
    with pytest.raises(TypeError):
        named_scope(3)


def test_accuracy_is_checked():
    np.testing.assert_allclose(lax.sin(X, accuracy=lax.Tolerance(rtol=1e-3)), np.sin(X), rtol=1e-6)
    np.testing.assert_allclose(lax.exp(X, accuracy=lax.AccuracyMode.HIGHEST), np.exp(X), rtol=1e-6)
    with pytest.raises(ValueError, match="negative"):
        lax.sin(X, accuracy=lax.Tolerance(atol=-1.0))
    with pytest.raises(TypeError, match="accuracy"):
        lax.sin(X, accuracy=3)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
def test_the_derivative_of_digamma_of_narrow_floats(dtype):
    """Where the argument counts as large is no number of f16."""
    x = np.array([0.5, 2.5, 300.0], np.dtype(getattr(ml_dtypes, dtype, dtype)))
    got = xfront.vmap(xfront.grad(lax.digamma))(x)
    np.testing.assert_allclose(np.asarray(got).astype(float), scipy.special.polygamma(1, x.astype(
        float)), rtol=2.0 ** {"float16": -8, "bfloat16": -6, "float32": -18}[dtype])


def test_upper_halves_of_products_in_any_program():
    """At the ends of each type, against Python's integers; beside a transposition, with which they
    are fused."""
    for dtype in ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"):
        with xfront.enable_x64("64" in dtype):
            info = np.iinfo(dtype)
            ends = np.array([info.min, info.max, info.max - 1, 0, 1, 5, info.max // 3], dtype)
            x, y = np.meshgrid(ends, ends)
            want = np.array(x.astype(object) * y.astype(object) >> info.bits).astype(dtype)
            np.testing.assert_array_equal(lax.mulhi(x, y), want)
            made = xfront.jit(xfront.vmap(lax.mulhi, (-1, -1)))(x, y)
            np.testing.assert_array_equal(made, want.T)


def test_numbers_beside_tracers():
    """As beside arrays: of the dtype that they have by themselves, 0.0 and -0.0 apart."""
    x = np.float32([1.0, -2.0])

    def both(x):
        return lax.div(x, 0.0), lax.div(x, -0.0), lax.sub(0.5, x), lax.sub(x, 0.5)

    for got in (xfront.jit(both)(x), xfront.vmap(both)(x), both(x)):
        np.testing.assert_array_equal(got[0], [np.inf, -np.inf])
        np.testing.assert_array_equal(got[1], [-np.inf, np.inf])
        np.testing.assert_array_equal(got[2], 0.5 - x)
        np.testing.assert_array_equal(got[3], x - 0.5)
    for number in (1, 1j, True):
        for f in (lax.add, lax.mul, lax.max):
            with pytest.raises(TypeError):
                xfront.jit(lambda x, f=f, number=number: f(x, number))(x)
            with pytest.raises(TypeError):
                xfront.jit(lambda x, f=f, number=number: f(number, x))(x)
    with pytest.raises(OverflowError):
        xfront.jit(lambda x: lax.add(x, 2**40))(np.int32(1))
    assert xfront.jit(lambda x: lax.mul(x, 0.5))(2.0).weak_type
    assert not xfront.jit(lambda x: lax.mul(x, 0.5))(np.float32(2)).weak_type


@pytest.mark.parametrize("f", [lax.sin, lambda x: lax.add(x, x), lambda x: lax.add(x, 1.0)])
def test_tracers_of_outer_traces(f):
    """Used inside another trace they are captured, and used after theirs has ended refused."""
    inner = xfront.jit(lambda x: xfront.jit(lambda y: y * f(x))(x))
    np.testing.assert_allclose(inner(X), X * f(X), rtol=1e-6)
    slope = xfront.grad(lambda x: xfront.jit(lambda: f(x).sum())())(X)
    np.testing.assert_allclose(slope, xfront.vmap(xfront.grad(f))(X), rtol=1e-6)
    kept = []
    xfront.jit(kept.append)(X)
    with pytest.raises(xfront.errors.UnexpectedTracerError):
        f(kept[0])
    with pytest.raises(xfront.errors.UnexpectedTracerError):
        xfront.jit(lambda x: f(kept[0]))(X)
