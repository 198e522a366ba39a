"""Arithmetic of NumPy's ufuncs: sums, products, quotients, remainders, powers, signs.

Operands promote and broadcast together; the result has the promoted dtype unless said otherwise.
Integers wrap around; nothing raises for values.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from xfront_ir import ops

from .. import binding
from ..binding.annotations import Array, ArrayLike
from ..eager.dispatch import by_name, eager
from ..eager.operands import (
    array_like,
    convert,
    default_int,
    ir_dtype,
    operand,
    promote_inexact,
    together,
)
from ..tracing.trace import emit
from ..tracing.tracer import Tracer, as_tracer
from .extremes import maximum, minimum
from .ufuncs import (
    FLOAT,
    INEXACT,
    NUMERIC,
    arithmetic,
    binary,
    inexact,
    like,
    refuse,
    unary,
    where,
)

# --- sums and products --------------------------------------------------------------------


@binary(ops.add)
def add(x: Any, y: Any) -> Any:
    """x + y; for bools, their logical or. Source: `numpy.add`.

    >>> jnp.add(jnp.array([1, 2]), 3)
    Array([4, 5], dtype=int32)
    """
    x, y = together("add", x, y)
    return emit(ops.or_ if x.value.type.dtype.kind == "bool" else ops.add, x, y)


@binary(ops.sub)
def subtract(x: Any, y: Any) -> Any:
    """x - y. Raises: TypeError for bools. Source: `numpy.subtract`.

    >>> jnp.subtract(jnp.array([1, 2]), 3)
    Array([-2, -1], dtype=int32)
    """
    x, y = together("subtract", x, y)
    if x.value.type.dtype.kind == "bool":
        raise refuse("sub", x, "numeric")
    return emit(ops.sub, x, y)


@binary(ops.mul)
def multiply(x: Any, y: Any) -> Any:
    """x times y; for bools, their logical and. Source: `numpy.multiply`.

    >>> jnp.multiply(jnp.array([1, 2]), 3)
    Array([3, 6], dtype=int32)
    """
    x, y = together("multiply", x, y)
    return emit(ops.and_ if x.value.type.dtype.kind == "bool" else ops.mul, x, y)


@unary(ops.neg)
def negative(x: Any) -> Any:
    """-x. Raises: TypeError for bools. Source: `numpy.negative`.

    >>> jnp.negative(jnp.array([1, -2]))
    Array([-1,  2], dtype=int32)
    """
    x = operand("negative", x)
    if x.value.type.dtype.kind not in NUMERIC:
        raise refuse("neg", x, "numeric")
    return emit(ops.neg, x)


@unary()
def positive(x: ArrayLike) -> Array:
    """x itself. Source: `numpy.positive`.

    >>> jnp.positive(jnp.array([1., -2., 3.]))
    Array([ 1., -2.,  3.], dtype=float32)
    """
    return operand("positive", x)


@unary(ops.square)
def square(x: ArrayLike) -> Array:
    """x times x, in x's dtype; bools become integers. Source: `numpy.square`.

    >>> jnp.square(jnp.array([1., -2., 3.]))
    Array([1., 4., 9.], dtype=float32)
    """
    return emit(ops.square, arithmetic(operand("square", x)))


@unary(ops.abs, frozenset(("int", "float")))
def absolute(x: ArrayLike) -> Array:
    """Magnitude, real where x is complex. Source: `numpy.absolute`.

    >>> jnp.abs(jnp.array([-1., 0., 2.]))
    Array([1., 0., 2.], dtype=float32)
    """
    x = operand("absolute", x)
    if x.value.type.dtype.kind in ("bool", "uint"):
        return x
    made = emit(ops.abs, x)
    return Tracer(made.home, made.value, x.weak)


@unary(ops.abs, FLOAT)
def fabs(x: ArrayLike) -> Array:
    """Magnitude as a float. Raises: TypeError for complex x. Source: `numpy.fabs`.

    >>> jnp.fabs(jnp.array([-1., 0., 2.]))
    Array([1., 0., 2.], dtype=float32)
    """
    x = inexact(operand("fabs", x))
    if x.value.type.dtype.is_complex:
        raise refuse("fabs", x, "real")
    return emit(ops.abs, x)


@unary(ops.sign, frozenset(("int", "float", "complex")))
def sign(x: ArrayLike) -> Array:
    """-1, 0 or 1; for complex x, x / |x| or 0. Raises: TypeError for bools. Source: `numpy.sign`.

    >>> jnp.sign(jnp.array([-3., 0., 2.]))
    Array([-1.,  0.,  1.], dtype=float32)
    """
    x = operand("sign", x)
    kind = x.value.type.dtype.kind
    if kind not in NUMERIC:
        raise refuse("sign", x, "numeric")
    if kind == "uint":
        return where(x != 0, like(x, 1), 0)
    return emit(ops.sign, x)


# --- quotients ----------------------------------------------------------------------------

@binary(ops.div, INEXACT)
def divide(x: ArrayLike, y: ArrayLike) -> Array:
    """x / y, always inexact. Source: `numpy.divide`.

    >>> jnp.divide(jnp.array([1., 2., 3.]), 2)
    Array([0.5, 1. , 1.5], dtype=float32)
    """
    x, y = together("divide", x, y)
    return emit(ops.div, inexact(x), inexact(y))


true_divide = divide


@unary()
def reciprocal(x: ArrayLike) -> Array:
    """1 / x; integers become floats, unlike in NumPy. Source: `numpy.reciprocal`.

    >>> jnp.reciprocal(jnp.array([1., 2., 4.]))
    Array([1.  , 0.5 , 0.25], dtype=float32)
    """
    x = inexact(operand("reciprocal", x))
    return 1 / x


def _numbers(name: str, x: Any, y: Any) -> tuple[Tracer, Tracer]:
    x, y = together(name, x, y)
    if x.value.type.dtype.is_complex:
        raise refuse(name, x, "real")
    return arithmetic(x), arithmetic(y)


@binary()
def floor_divide(x: ArrayLike, y: ArrayLike) -> Array:
    """The greatest integer not above x / y, in the promoted dtype; its derivative is 0.

    Infinities agree with `remainder` and with Python: an infinite x gives NaN, but for y = 0, and a
    finite x over an infinity of the other sign gives -1. An integer over zero gives an unspecified
    value.
    Raises: TypeError for complex operands.
    Source: `numpy.floor_divide`.

    >>> jnp.floor_divide(jnp.array([7, -7, 3]), 2)
    Array([ 3, -4,  1], dtype=int32)
    """
    return _floor_divide(*_numbers("floor_divide", x, y))


def _floor_divide(x: Tracer, y: Tracer) -> Tracer:
    dtype = x.value.type.dtype
    if dtype.is_unsigned:
        return emit(ops.div, x, y)
    if dtype.is_integer:
        quotient = emit(ops.div, x, y)
        left = emit(ops.rem, x, y) != 0
        apart = emit(ops.sign, x) != emit(ops.sign, y)
        return where(left & apart, quotient - 1, quotient)
    x, y = emit(ops.stop_gradient, x), emit(ops.stop_gradient, y)
    by_zero, whole = y == 0, x / y
    floored = _float_divmod(x, y)[0]
    nothing = floored == 0      # a zero takes the quotient's sign
    floored = where(nothing, whole * 0, floored)
    return where(by_zero, whole, floored)


def _float_divmod(x: Tracer, y: Tracer) -> tuple[Tracer, Tracer]:
    """The floored quotient, and the remainder with y's sign."""
    rest = emit(ops.rem, x, y)
    quotient = (x - rest) / y
    apart = (rest != 0) & (emit(ops.sign, y) != emit(ops.sign, rest))
    rest = where(apart, rest + y, rest)
    quotient = where(apart, quotient - 1, quotient)
    return emit(ops.round, quotient, method="away_from_zero"), rest


@binary()
def remainder(x: ArrayLike, y: ArrayLike) -> Array:
    """x - y floor(x / y), with y's sign; 0 for an integer over zero. Source: `numpy.remainder`.

    >>> jnp.remainder(jnp.array([7, -7, 3]), 4)
    Array([3, 1, 3], dtype=int32)
    """
    top, bottom = _numbers("remainder", x, y)
    dtype = top.value.type.dtype
    if dtype.is_integer:
        bottom = where(bottom == 0, 1, bottom)
    rest = emit(ops.rem, top, bottom)
    if dtype.is_unsigned:
        return rest
    apart = (rest < 0) != (bottom < 0)
    nothing = rest == 0
    if dtype.is_float:
        rest = where(nothing, _zero_of(rest, bottom), rest)
    return where(apart & ~nothing, rest + bottom, rest)


def _zero_of(rest: Tracer, y: Tracer) -> Tracer:
    """A remainder of 0 with the sign of `y` and the derivative of `rest`."""
    zero = where(y < 0, like(y, -0.0), 0)
    return zero - (emit(ops.stop_gradient, rest) - rest)


mod = remainder


@binary()
def fmod(x: ArrayLike, y: ArrayLike) -> Array:
    """The remainder of truncated division, with x's sign; 0 for an integer over zero.

    Source: `numpy.fmod`.

    >>> jnp.fmod(jnp.array([7, -7, 3]), 2)
    Array([ 1, -1,  1], dtype=int32)
    """
    x, y = _numbers("fmod", x, y)
    if x.value.type.dtype.is_integer:
        y = where(y == 0, 1, y)
    return emit(ops.rem, x, y)


@binary()
def divmod(x: ArrayLike, y: ArrayLike) -> tuple[Array, Array]:
    """(floor_divide(x, y), remainder(x, y)). Source: `numpy.divmod`.

    >>> jnp.divmod(jnp.array([7, -7, 3]), 2)
    (Array([ 3, -4,  1], dtype=int32), Array([1, 1, 1], dtype=int32))
    """
    x, y = _numbers("divmod", x, y)
    return _floor_divide(x, y), remainder(x, y)


# --- powers -------------------------------------------------------------------------------

def power(x: ArrayLike, y: ArrayLike, /) -> Array:
    """x to the power y; an int, a NumPy integer or an array of one integer y whose value is known
    becomes a fixed number of multiplications, and the result has x's dtype.

    A Python float or complex x to the power of an integer array gives the default dtype of its
    kind, which is not weak.

    Raises: TypeError for an integer x and a negative y that is a number.
    Source: `numpy.power`.

    >>> jnp.power(jnp.array([1., 2., 3.]), 2)
    Array([1., 4., 9.], dtype=float32)
    """
    if type(y) is int:
        return integer_power(x, y)
    if _is_known_integer(y):
        return integer_power(x, int(y))          # type: ignore[arg-type]
    return _power(x, y)


def _is_known_integer(y: Any) -> bool:
    return (isinstance(y, (np.integer, np.ndarray, binding.ArrayImpl)) and not y.ndim
            and y.dtype.kind in "iu")


pow = power


@eager(static=("n",))
def integer_power(x: Any, n: int) -> Any:
    """x to a known integer power, in x's dtype."""
    x = operand("power", x)
    dtype = x.value.type.dtype
    if dtype.kind == "bool":
        x = convert(x, default_int())
    if n < 0 and not dtype.is_inexact:
        raise TypeError(f"Integers cannot be raised to negative powers, got {x.value.type} to the "
                        f"power {n}; write power({dtype.numpy}_array.astype(float), {n})")
    if n == 2:
        return square(x)
    return x if n == 1 else emit(ops.integer_pow, x, exponent=n)


@binary(ops.pow, INEXACT)
def _power(x: Any, y: Any) -> Any:
    exponent, weak = ir_dtype(array_like("power", y))
    x, y = together("power", x, y)
    if x.value.type.dtype.is_inexact:
        made = emit(ops.pow, x, y)
        return made if weak or not exponent.is_integer else convert(made, made.value.type.dtype)
    return _repeated(arithmetic(x), arithmetic(y))


def _repeated(x: Tracer, y: Tracer) -> Tracer:
    """Integers to integer powers by squaring; a negative power gives 1 / x^|y|, truncated."""
    from ..lax.control_flow import while_loop  # late: loaded on first use

    def more(carry: Any) -> Any:
        left = carry[2] != 0
        return emit(ops.reduce_or, left, axes=tuple(range(left.ndim)))

    def step(carry: Any) -> Any:
        total, base, left = carry
        odd = (left & 1) != 0
        total = where(odd, total * base, total)
        return (total, base * base,
                emit(ops.shift_right_logical, left, like(left, 1)))

    zero, one = like(y, 0), like(x, 1)
    if x.value.type.dtype.is_unsigned:
        return while_loop(more, step, (one, x, y))[0]
    below = y < zero
    size = abs(y)
    total = while_loop(more, step, (one, x, size))[0]
    unit = abs(x) == one
    return where(below & ~unit, 0, total)


@binary()
def float_power(x: ArrayLike, y: ArrayLike) -> Array:
    """x to the power y, as floats or complex numbers. Source: `numpy.float_power`.

    >>> jnp.float_power(jnp.array([1, 2, 3]), 2)
    Array([1., 4., 9.], dtype=float32)
    """
    x, y = together("float_power", x, y)
    return emit(ops.pow, inexact(x), inexact(y))


@unary(ops.sqrt, INEXACT)
def sqrt(x: ArrayLike) -> Array:
    """Square root; NaN for negative reals. Source: `numpy.sqrt`.

    >>> jnp.sqrt(jnp.array([0., 1., 4.]))
    Array([0., 1., 2.], dtype=float32)
    """
    return emit(ops.sqrt, *promote_inexact("sqrt", x))


def root(x: Tracer) -> Tracer:
    """The square root of a sum of squares; its derivative at 0 is 0, a subgradient of the norm."""
    zero = x == 0
    return where(zero, 0, sqrt(where(zero, 1, x)))


@unary(ops.cbrt, FLOAT)
def cbrt(x: ArrayLike) -> Array:
    """Real cube root. Source: `numpy.cbrt`.

    >>> jnp.cbrt(jnp.array([0., 1., 27.]))
    Array([0., 1., 3.], dtype=float32)
    """
    (x,) = promote_inexact("cbrt", x)
    if x.value.type.dtype.is_complex:
        raise refuse("cbrt", x, "real")
    return emit(ops.cbrt, x)


@binary()
def hypot(x: ArrayLike, y: ArrayLike) -> Array:
    """sqrt(x^2 + y^2) without intermediate overflow; infinite where x or y is, even beside NaN.

    Source: `numpy.hypot`.

    >>> jnp.hypot(jnp.array([3., 5., 0.]), jnp.array([4., 12., 1.]))
    Array([ 5., 13.,  1.], dtype=float32)
    """
    x, y = together("hypot", x, y)
    x, y = inexact(x), inexact(y)
    if x.value.type.dtype.is_complex:
        raise ValueError("hypot does not take complex operands, got "
                         f"{x.value.type} and {y.value.type}")
    x, y = as_tracer(abs(x)), as_tracer(abs(y))
    large, small = maximum(x, y), minimum(x, y)
    nothing = large == 0
    endless = like(x, float("inf"))
    infinite = (x == endless) | (y == endless)
    ratio = small / where(nothing, 1, large)
    size = large * sqrt(square(ratio) + 1)
    return where(infinite, endless, where(nothing, large, size))


# --- integers -----------------------------------------------------------------------------

def _integers(name: str, x: Any, y: Any) -> list[Tracer]:
    x, y = together(name, x, y)
    kind = x.value.type.dtype.kind
    if kind not in ("bool", "int", "uint"):
        raise ValueError(f"Arguments to {name} must be integers, got {x.dtype}")
    return [arithmetic(x), arithmetic(y)]


@binary()
def _gcd(x: ArrayLike, y: ArrayLike) -> Array:
    """Greatest common divisor, not negative; 0 for two zeros. Raises: ValueError for non-integers.

    Source: `numpy.gcd`.

    >>> jnp.gcd(jnp.array([12, 7]), 18)
    Array([6, 1], dtype=int32)
    """
    return _divisor(*_integers("gcd", x, y))


gcd = by_name(_gcd, "x1", "x2")


def _divisor(x: Tracer, y: Tracer) -> Tracer:
    from ..lax.control_flow import while_loop  # late: loaded on first use

    def more(carry: Any) -> Any:
        left = carry[1] != 0
        return emit(ops.reduce_or, left, axes=tuple(range(left.ndim)))

    def step(carry: Any) -> Any:
        large, small = carry
        done = small == 0
        rest = emit(ops.rem, large, where(done, 1, small))
        return (where(done, large, small), where(done, small, rest))

    return while_loop(more, step, (absolute(x), absolute(y)))[0]


@binary()
def _lcm(x: ArrayLike, y: ArrayLike) -> Array:
    """Least common multiple, not negative; 0 where one is 0. Raises: ValueError for non-integers.

    Source: `numpy.lcm`.

    >>> jnp.lcm(jnp.array([4, 7]), 6)
    Array([12, 42], dtype=int32)
    """
    a, b = _integers("lcm", x, y)
    a, b = as_tracer(absolute(a)), as_tracer(absolute(b))
    divisor = _divisor(a, b)
    nothing = divisor == 0
    safe = where(nothing, 1, divisor)
    return a * emit(ops.div, b, safe)


lcm = by_name(_lcm, "x1", "x2")

__all__ = [
    "absolute", "cbrt", "divide", "divmod", "fabs", "float_power", "floor_divide", "fmod", "gcd",
    "hypot", "lcm", "mod", "positive", "pow", "power", "reciprocal", "remainder", "sign", "sqrt",
    "square", "true_divide",
]  # fmt: skip
