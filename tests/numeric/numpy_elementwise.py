"""Element-wise functions of `numpy`."""

from __future__ import annotations

import numpy as np

from .row import DTYPES, Row, default_float

UNARY = ("f(a[()])", "f(a[0])", "f(a[2, 0, 3])", "f(a[7])", "f(a[3, 4])",
         "f(a[1, 2, 1, 3, 1, 2, 1])", "f(e[9])")
BINARY = ("f(a[()], b[()])", "f(a[5], b[5])", "f(a[3, 1], b[4])", "f(a[0], b[1])",
          "f(a[2, 1, 3], b[4, 1])", "f(a[1, 2, 1, 2, 1, 2], b[2, 1])", "f(a[5], 2)", "f(3, b[5])",
          "f(a[5], True)", "f(a[5], 1.5)", "f(2.5, b[2, 2])", "f(a[3], 1 + 2j)",
          "f(e[9, 1], e[9])")


def unary(names: str, domain: str = "any", **options: object) -> list[Row]:
    return [Row(f"numpy.{name}", UNARY, (domain,), **options) for name in names.split()]


def binary(names: str, *domains: str, **options: object) -> list[Row]:
    return [Row(f"numpy.{name}", BINARY, domains or ("any",), **options) for name in names.split()]


def _sinc(x: np.ndarray) -> np.ndarray:
    """Turns are taken off the argument before the sine, so that it is exact at integers."""
    x = np.true_divide(x, 1)
    turns = np.round(x.real)
    safe = np.where(x == 0, 1, x)
    sign = np.where(turns % 2 == 0, 1, -1)
    return np.where(x == 0, 1, sign * np.sin(np.pi * (x - turns)) / (np.pi * safe)).astype(x.dtype)


def of_reals(names: str, *domains: str, **options: object) -> list[Row]:
    calls = [call for call in BINARY if "j)" not in call]
    return [Row(f"numpy.{name}", calls, domains or ("any",), **options) for name in names.split()]


def of_integers(names: str, *domains: str, **options: object) -> list[Row]:
    calls = [call for call in BINARY if "." not in call and "e[" not in call and "j)" not in call]
    return [Row(f"numpy.{name}", calls, domains or ("any",), **options) for name in names.split()]


ROWS = [
    *unary("abs absolute angle arctan arcsinh asinh atan cbrt ceil cos deg2rad "
           "degrees fabs floor imag isfinite isinf isnan isneginf isposinf iscomplex isreal "
           "negative rad2deg radians real rint sign signbit sin square tan tanh trunc "
           "logical_not"),
    *unary("conj conjugate", result=lambda dtype: dtype, why="NumPy makes int8 of bools"),
    *unary("positive", beyond={"bool": "it is the value"}),
    Row("numpy.nan_to_num", UNARY[:-1]),
    *unary("sinc", reference=_sinc, dtypes=[d for d in DTYPES if "complex" not in d]),
    Row("numpy.sinc", UNARY[:-1], ("usual",), reference=_sinc, backward=2.0,
        dtypes=("complex64", "complex128"),
        why="pi times the imaginary part is rounded before its exponential"),
    *unary("fix", reference=lambda x: np.trunc(np.true_divide(x, 1)),
           why="integers become floats"),
    *unary("cosh sinh exp exp2 expm1 i0", "usual"),
    *unary("log log10 log2 log1p sqrt", "positive"),
    *unary("reciprocal", "nonzero", reference=lambda x: np.true_divide(1, x),
           why="NumPy's integers are truncated"),
    *unary("arcsin arccos asin acos arctanh atanh", "unit"),
    *unary("arccosh acosh", "above 1"),
    *[Row(f"numpy.{name}", UNARY[:-1]) for name in ("bitwise_not", "bitwise_invert", "invert")],
    Row("numpy.bitwise_count", UNARY[:-1], result=lambda dtype: "uint8"),
    *unary("spacing", dtypes=("float32", "float64"), exact=True, grad=False),
    *unary("frexp", result=lambda dtype: f"{default_float(dtype)} int32"),
    *unary("modf"),
    *binary("add multiply subtract maximum minimum fmax fmin equal not_equal less less_equal "
            "greater greater_equal logical_and logical_or logical_xor"),
    *of_reals("copysign hypot arctan2 atan2"),
    *binary("divide true_divide", "any", "nonzero"),
    *of_reals("floor_divide mod remainder fmod divmod", "any", "nonzero"),
    *of_reals("logaddexp logaddexp2", "usual", floor=1.0,
              beyond={"complex64": "as JAX", "complex128": "as JAX"},
              why="a sum of the larger operand and a logarithm between 0 and 1"),
    *of_reals("heaviside", "usual"),
    *binary("isclose", "usual"),
    *binary("power pow float_power", "positive", "exponents"),
    *of_integers("gcd lcm", beyond={"bool": "bools are integers"}),
    *of_integers("bitwise_and bitwise_or bitwise_xor"),
    *of_integers("left_shift right_shift bitwise_left_shift bitwise_right_shift", "any", "powers"),
    *of_reals("nextafter", dtypes=("float32", "float64"), exact=True, grad=False),
]
