"""Elementwise functions against NumPy: many of them in one program, to compile seldom."""

import numpy as np
import pytest

import xfront
import xfront.numpy as jnp

REALS = np.array([-2.5, -1.0, -0.5, -0.0, 0.0, 0.3, 0.5, 1.0, 1.5, 2.5, 7.0], np.float32)
UNIT = np.array([-1.0, -0.7, -0.2, 0.0, 0.1, 0.5, 1.0], np.float32)
POSITIVE = np.array([1e-3, 0.5, 1.0, 2.0, 10.0, 1e4], np.float32)
ABOVE_ONE = np.array([1.0, 1.5, 3.0, 100.0], np.float32)
INTEGERS = np.array([-7, -3, -1, 0, 1, 2, 5, 100], np.int32)
SPECIAL = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.5], np.float32)

UNARY = {
    "reals": (REALS, ["negative", "positive", "absolute", "fabs", "sign", "square", "cbrt", "exp",
                      "exp2", "expm1", "sin", "cos", "tan", "arctan", "sinh", "cosh", "tanh",
                      "arcsinh", "degrees", "radians", "sinc", "i0", "floor", "ceil", "rint",
                      "trunc", "fix", "round", "modf", "frexp", "signbit", "spacing", "real",
                      "imag", "conj", "angle", "isreal", "logical_not"]),
    "unit": (UNIT, ["arcsin", "arccos"]),
    "positive": (POSITIVE, ["sqrt", "log", "log2", "log10", "log1p", "reciprocal"]),
    "above one": (ABOVE_ONE, ["arccosh"]),
    "inside": (UNIT[1:-1], ["arctanh"]),
    "integers": (INTEGERS, ["negative", "absolute", "sign", "square", "invert", "bitwise_count",
                            "signbit", "floor", "isnan", "isfinite", "isinf", "logical_not"]),
    "special": (SPECIAL, ["isnan", "isinf", "isfinite", "isposinf", "isneginf", "signbit",
                          "nan_to_num", "sign", "floor", "sqrt", "absolute", "modf", "frexp"]),
}
BINARY = {
    "reals": (REALS, REALS[::-1].copy(), [
        "add", "subtract", "multiply", "divide", "floor_divide", "remainder", "fmod", "divmod",
        "hypot", "arctan2", "maximum", "minimum", "fmax", "fmin", "equal", "not_equal", "less",
        "less_equal", "greater", "greater_equal", "logical_and", "logical_or", "logical_xor",
        "copysign", "nextafter", "heaviside", "logaddexp", "logaddexp2", "isclose"]),
    "special": (SPECIAL, SPECIAL[::-1].copy(), ["fmax", "fmin", "maximum", "minimum", "logaddexp",
                                                "copysign", "isclose", "less", "equal"]),
    "powers": (POSITIVE, REALS[:6], ["power", "float_power"]),
    "integers": (INTEGERS, np.array([3, -2, 5, 4, -1, 7, 2, 3], np.int32), [
        "add", "subtract", "multiply", "divide", "floor_divide", "remainder", "fmod", "divmod",
        "maximum", "gcd", "lcm", "bitwise_and", "bitwise_or", "bitwise_xor", "less", "equal"]),
    "shifts": (INTEGERS, np.array([0, 1, 2, 3, 4, 5, 6, 7], np.int32),
               ["left_shift", "right_shift", "power"]),
    "bools": (np.array([True, False, True]), np.array([True, True, False]), [
        "add", "multiply", "logical_xor", "bitwise_and", "equal", "maximum"]),
}


def numpy_result(name, *args):
    renamed = {"absolute": np.abs, "fix": np.trunc}           # fix is deprecated in NumPy itself
    function = renamed.get(name) or getattr(np, name)
    with np.errstate(all="ignore"):
        return function(*args)


def assert_matches(name, got, want):
    if isinstance(want, tuple):
        for g, w in zip(got, want, strict=True):
            assert_matches(name, g, w)
        return
    want = np.asarray(want)
    assert got.shape == want.shape, name
    assert np.dtype(got.dtype).kind == want.dtype.kind, (name, got.dtype, want.dtype)
    if want.dtype.kind in "fc":
        np.testing.assert_allclose(np.asarray(got), want, rtol=3e-6, atol=1e-6, err_msg=name)
    else:
        np.testing.assert_array_equal(np.asarray(got), want, err_msg=name)


@pytest.mark.parametrize("group", UNARY)
def test_unary_functions_match_numpy(group):
    values, names = UNARY[group]
    results = xfront.jit(lambda x: [getattr(jnp, n)(x) for n in names])(values)
    for name, got in zip(names, results, strict=True):
        assert_matches(name, got, numpy_result(name, values))


@pytest.mark.parametrize("group", BINARY)
def test_binary_functions_match_numpy(group):
    x, y, names = BINARY[group]
    if group == "powers":
        y = y.copy()
    results = xfront.jit(lambda a, b: [getattr(jnp, n)(a, b) for n in names])(x, y)
    for name, got in zip(names, results, strict=True):
        assert_matches(name, got, numpy_result(name, x, y))


def test_ldexp_reaches_both_ends():
    n = np.array([-126, -100, 0, 10, 127, 300, -300], np.int32)
    x = np.full(n.shape, 1.5, np.float32)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(np.asarray(jnp.ldexp(x, n)), np.ldexp(x, n))


def test_frexp_of_subnormal_numbers():
    x = np.array([1e-40, 1.4e-45, -3e-39], np.float32)
    for got, want in zip(jnp.frexp(x), np.frexp(x), strict=True):
        np.testing.assert_array_equal(np.asarray(got), want)


@pytest.mark.parametrize("dtype, is_true", [
    (jnp.bfloat16, True), (jnp.float16, True), (jnp.float32, False)])
def test_the_truth_of_subnormal_numbers_is_the_same_in_all_programs(dtype, is_true):
    """Those of 32 bits are zeros to programs on a CPU; narrower ones are numbers."""
    info = jnp.finfo(dtype)
    x = np.array([0, info.smallest_subnormal, -float(info.tiny) / 2, 1], dtype)
    want = [False, is_true, is_true, True]
    ways = [lambda x: x.astype(bool), lambda x: ~jnp.logical_not(x),
            lambda x: jnp.logical_and(x, x)]
    for got in (*(f(jnp.asarray(x)) for f in ways),
                *xfront.jit(lambda x: [f(x) for f in ways])(x)):
        assert got.tolist() == want
    for run in (lambda f: f, xfront.jit):
        choices = run(lambda x: [xfront.lax.cond(v, lambda: 1, lambda: 0) for v in x])(x)
        assert [bool(v) for v in choices] == want


def test_complex_functions():
    z = np.array([1 + 2j, -0.5 - 1j, 3j, 0.25], np.complex64)
    names = ["exp", "log", "sqrt", "sin", "cos", "tanh", "square", "absolute", "real", "imag",
             "conj", "angle", "isreal", "iscomplex", "isfinite", "negative", "reciprocal"]
    results = xfront.jit(lambda x: [getattr(jnp, n)(x) for n in names])(z)
    for name, got in zip(names, results, strict=True):
        want = numpy_result(name, z)
        np.testing.assert_allclose(np.asarray(got), want, rtol=2e-5, atol=1e-6, err_msg=name)


@pytest.mark.parametrize("call, dtype, weak", [
    (lambda: jnp.add(1, 2), "int32", True),
    (lambda: jnp.add(1, 2.0), "float32", True),
    (lambda: jnp.sin(1), "float32", True),
    (lambda: jnp.remainder(-7, 3), "int32", True),
    (lambda: jnp.add(np.int8(1), 300), "int8", False),
    (lambda: jnp.divide(np.int8(1), np.int8(2)), "float32", False),
    (lambda: jnp.where(np.bool_(True), 1, 2), "int32", True),
    (lambda: jnp.where(np.bool_(True), 1, np.float16(2)), "float16", False),
    (lambda: jnp.power(np.bool_(True), 2), "int32", False),
    (lambda: 0.5 ** jnp.asarray([1, 2]), "float32", False),
    (lambda: jnp.power(1j, np.int8(2)), "complex64", True),
    (lambda: jnp.power(np.int32(2), 0.5), "float32", True),
    (lambda: jnp.power(0.5, True), "float32", True),
    (lambda: jnp.bitwise_count(np.int32(7)), "uint8", False),
    (lambda: jnp.clip(np.arange(3), 1.5), "float32", True),
    (lambda: jnp.add(np.float32(1), np.float64(2)), "float32", False),
])
def test_dtypes_and_weakness(call, dtype, weak):
    made = call()
    assert (made.dtype.name, made.weak_type) == (dtype, weak)


@pytest.mark.parametrize("call, error", [
    (lambda: jnp.add([1], 1), TypeError),
    (lambda: jnp.sin([1.0]), TypeError),
    (lambda: jnp.sin(None), TypeError),
    (lambda: jnp.sin(x=1.0), TypeError),
    (lambda: jnp.subtract(np.True_, np.True_), TypeError),
    (lambda: jnp.negative(np.True_), TypeError),
    (lambda: jnp.sign(np.True_), TypeError),
    (lambda: jnp.bitwise_and(np.float32(1), 1), TypeError),
    (lambda: jnp.invert(np.float32(1)), TypeError),
    (lambda: jnp.floor(np.complex64(1)), TypeError),
    (lambda: jnp.power(np.int32(2), -1), TypeError),
    (lambda: jnp.gcd(np.float32(1), 2), ValueError),
    (lambda: jnp.isposinf(np.complex64(1)), ValueError),
    (lambda: jnp.clip(np.complex64(1), 0), ValueError),
    (lambda: jnp.round(np.int32(12), -1), NotImplementedError),
    (lambda: jnp.add(np.ones(2), np.ones(3)), TypeError),
    (lambda: jnp.where([True], 1, 2), TypeError),
])
def test_errors(call, error):
    with pytest.raises(error):
        call()


def test_integer_powers_and_their_derivatives():
    x = jnp.asarray(np.array([0.0, 1.0, -2.0], np.float32))
    np.testing.assert_allclose(np.asarray(jnp.power(x, 3)), [0, 1, -8])
    derivative = xfront.grad(lambda v: jnp.power(v, 2) + v ** 3 + v ** -1)
    np.testing.assert_allclose(float(derivative(2.0)), 4 + 12 - 0.25, rtol=1e-6)
    base = np.array([2, -1, 1, 0, 3, -3], np.int32)
    exponent = np.array([31, 33, 1000, 0, 5, 3], np.int32)
    np.testing.assert_array_equal(np.asarray(jnp.power(base, exponent)), np.power(base, exponent))


def test_derivatives_where_formulas_meet():
    derivative = xfront.jit(xfront.vmap(xfront.grad(lambda v: jnp.sinc(v))))
    h = 1e-4
    points = np.array([0.0, 0.01, 0.0318, 0.5], np.float64)
    want = (np.sinc(points + h) - np.sinc(points - h)) / (2 * h)
    np.testing.assert_allclose(derivative(points.astype(np.float32)), want, atol=2e-6)
    assert float(xfront.grad(lambda v: jnp.logaddexp(v, 1.0))(1.0)) == pytest.approx(0.5)
    curvature = xfront.hessian(lambda v: jnp.logaddexp(v[0], v[1]))(jnp.ones(2))
    np.testing.assert_array_equal(curvature, [[0.25, -0.25], [-0.25, 0.25]])
    assert float(xfront.grad(lambda v: jnp.where(v > 1, v * v, -v))(2.0)) == 4.0


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "complex64"])
def test_sinc_is_zero_at_integers_and_near_them_as_close_as_the_dtype_allows(dtype):
    x = jnp.array([1, -2, 3, 7, 100], dtype)
    np.testing.assert_array_equal(np.asarray(jnp.sinc(x)).astype(np.complex64), np.zeros(5))
    near = jnp.array([2.0078125, -3.015625, 5.25], dtype)
    with np.errstate(all="ignore"):
        want = np.sinc(np.asarray(near).astype(np.complex128)).real
    np.testing.assert_allclose(np.asarray(jnp.sinc(near)).astype(np.complex128).real, want,
                               rtol=4 * float(jnp.finfo(dtype).eps), atol=1e-15)


@pytest.mark.parametrize(("dtype", "end"), [("float32", 85), ("float64", 700), ("float16", 10.5),
                                            ("bfloat16", 80)])
def test_exponentials_are_right_to_a_few_units_far_from_zero(dtype, end):
    with xfront.enable_x64(dtype == "float64"):
        x = jnp.asarray(np.linspace(-end, end, 2001), dtype)
        made = xfront.jit(lambda x: {"cosh": jnp.cosh(x), "sinh": jnp.sinh(x),
                                     "exp2": jnp.exp2(x)})(x)
        eps = float(jnp.finfo(dtype).eps)
    for name, got in made.items():
        want = getattr(np, name)(np.asarray(x).astype(np.longdouble))
        off = np.abs(np.asarray(got).astype(np.longdouble) - want) / np.maximum(np.abs(want), 2e-4)
        assert off.max() < 4 * eps, (name, float(off.max() / eps))
    powers = np.arange(-12, 13).astype(np.float32)
    np.testing.assert_array_equal(np.asarray(jnp.exp2(powers)), 2.0 ** powers)


def test_logarithms_of_doubles_are_right_to_a_few_units_everywhere():
    x = np.linspace(-0.97, 0.97, 3001)
    z = np.linspace(0.3, 1.1, 41)[:, None] * np.exp(1j * np.linspace(-3, 3, 61))
    with xfront.enable_x64(True):
        made = xfront.jit(lambda x, z: {
            "log1p": jnp.log1p(x), "arctanh": jnp.arctanh(x), "log": jnp.log(z),
            "log10": jnp.log10(z), "log1p of complex": jnp.log1p(z - 1)})(x, z)
    wide, of = x.astype(np.longdouble), z.astype(np.clongdouble)
    for name, want in {"log1p": np.log1p(wide), "arctanh": np.arctanh(wide), "log": np.log(of),
                       "log10": np.log10(of),
                       "log1p of complex": np.log1p((z - 1).astype(np.clongdouble))}.items():
        off = np.abs(np.asarray(made[name]) - want) / np.maximum(np.abs(want), 0.01)
        assert off.max() < 6 * 2.0 ** -53, (name, float(off.max() * 2.0 ** 53))


def test_text_is_no_complex_number():
    for text in ("a", "complex64", ""):
        assert jnp.iscomplexobj(text) == np.iscomplexobj(text) and jnp.isrealobj(text)


def test_whole_array_comparisons():
    x = np.array([1.0, np.nan], np.float32)
    assert not jnp.array_equal(x, x)
    assert jnp.array_equal(x, x, equal_nan=True)
    assert jnp.array_equal(np.arange(3), [0, 1, 2])
    assert not jnp.array_equal(np.arange(3), np.arange(4))
    assert jnp.array_equiv(np.ones((2, 3)), np.ones(3))
    assert jnp.allclose(np.ones(3), np.ones(3) + 1e-7)
    assert jnp.isclose(x, x, equal_nan=True).tolist() == [True, True]


def test_nan_to_num_takes_replacements():
    got = jnp.nan_to_num(SPECIAL, nan=1.0, posinf=2.0, neginf=-2.0)
    np.testing.assert_array_equal(np.asarray(got), np.nan_to_num(SPECIAL, nan=1.0, posinf=2.0,
                                                                 neginf=-2.0))


def test_round_to_decimals():
    x = np.array([1.25, -0.126, 2.5], np.float32)
    np.testing.assert_allclose(np.asarray(jnp.round(x, 1)), np.round(x, 1), rtol=1e-6)
    assert jnp.around(np.arange(3), 2).tolist() == [0, 1, 2]


def test_spacing_and_ldexp_and_hypot_at_their_ends():
    x = np.array([1e-45, 0.0, 1e-40, 1.17549435e-38, 2e-38, 1e-35, 1e-31, 1, 1.5, 3e38], np.float32)
    np.testing.assert_array_equal(jnp.spacing(x), np.spacing(x))
    np.testing.assert_array_equal(jnp.spacing(-x), -np.spacing(x))
    assert np.isnan(np.asarray(jnp.spacing(np.array([np.inf, np.nan], np.float32)))).all()
    for dtype in (np.float16, np.float32, jnp.bfloat16):
        most = jnp.finfo(dtype).max
        assert jnp.spacing(np.array([most, -most], dtype)).tolist() == [np.inf, -np.inf]
        assert jnp.isfinite(jnp.spacing(np.nextafter(most, dtype(0))))
    with xfront.enable_x64(True):
        wide = x.astype(np.float64) * 1e-280
        np.testing.assert_array_equal(jnp.spacing(wide), np.spacing(wide))
    for dtype in (np.int8, np.int16, np.int32, np.uint8, np.uint32):
        for n in (np.iinfo(dtype).min, np.iinfo(dtype).max, 3):
            with np.errstate(over="ignore"):
                want = np.ldexp(np.float32(1), min(int(n), 2 ** 31 - 1))
            flushed = np.float32(0) if want < np.finfo(np.float32).tiny else want
            assert jnp.ldexp(np.float32(1), dtype(n)) == flushed
    x, y = np.meshgrid(*[np.array([0, 1, np.inf, -np.inf, np.nan], np.float32)] * 2)
    np.testing.assert_array_equal(jnp.hypot(x, y), np.hypot(x, y))


@pytest.mark.parametrize("dtype, number", [(np.uint8, -1), (np.uint8, 300), (np.int8, -200),
                                           (np.uint16, 70_000)])
def test_numbers_wrap_into_narrow_integers_traced_as_untraced(dtype, number):
    x, wrapped = np.arange(3, dtype=dtype), np.array(number).astype(dtype)

    def every(x):
        return (x + number, number - x, x * number, jnp.maximum(x, number), x < number,
                jnp.where(x > 0, x, number), jnp.searchsorted(x, number), jnp.append(x, number))

    want = (x + wrapped, wrapped - x, x * wrapped, np.maximum(x, wrapped), x < wrapped,
            np.where(x > 0, x, wrapped), np.searchsorted(x, wrapped), np.append(x, wrapped))
    for traced, untraced, expected in zip(xfront.jit(every)(x), every(jnp.asarray(x)), want,
                                          strict=True):
        np.testing.assert_array_equal(traced, expected)
        np.testing.assert_array_equal(untraced, expected)
    with pytest.raises(OverflowError):
        xfront.jit(lambda x: x + 2 ** 40)(x)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_cube_roots_of_subnormal_numbers_are_nearly_zero(dtype) -> None:
    """The C library's function gave numbers of the other sign."""
    x = jnp.array([1e-39, -1e-39, 0.0, -0.0], dtype)
    for made in (jnp.cbrt(x), xfront.jit(jnp.cbrt)(x), jnp.cbrt(jnp.tile(x, 2048))[:4]):
        np.testing.assert_array_equal(np.signbit(made), [False, True, False, True])
        assert np.all(np.abs(np.asarray(made, np.float64)) < 1e-38)
