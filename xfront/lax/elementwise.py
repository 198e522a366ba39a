"""Elementwise functions: one operation each, on operands of the same dtype.

Nothing is promoted: dtypes must be equal (Python numbers count as their default dtype, 1 as an
integer and 1.0 as a float) and shapes equal up to scalars and axes of size 1. The result has the
operands' shape, and their dtype unless the docstring says otherwise. All raise TypeError for
operands that are not arrays, have a dtype that the function does not take, or are not alike.

Source of the meaning of each: StableHLO and CHLO specs, op of the same name. Special functions are
in `special.py`.
"""

# hot: benchmarks/trace.py

from __future__ import annotations

import enum
import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from xfront_ir import dtypes, ops

from .. import binding
from ..base.docstrings import with_example
from ..binding.annotations import Array, ArrayLike, DTypeLike
from ..binding.tracebacks import shorten
from ..eager.dispatch import by_name, eager
from ..eager.operands import array_like, broadcast_to, convert, operand
from ..tracing.trace import WEAK_KINDS, emit, emit_alike
from ..tracing.tracer import Tracer, as_tracer
from .strict import (
    alike,
    common_shape,
    dtype_of,
    same_dtype,
    static_int,
    weakly,
)


class RoundingMethod(enum.IntEnum):
    """Where `round` takes numbers halfway between two integers.

    >>> x = jnp.array([0.5, 1.5, 2.5])
    >>> lax.round(x, lax.RoundingMethod.AWAY_FROM_ZERO)
    Array([1., 2., 3.], dtype=float32)
    >>> lax.round(x, lax.RoundingMethod.TO_NEAREST_EVEN)
    Array([0., 2., 2.], dtype=float32)
    """

    AWAY_FROM_ZERO = 0
    TO_NEAREST_EVEN = 1


class AccuracyMode(enum.Enum):
    """How exact a function that takes `accuracy` is to be.

    >>> lax.exp(0.5, accuracy=lax.AccuracyMode.HIGHEST)
    Array(1.649, dtype=float32, weak_type=True)
    """

    HIGHEST = 1
    DEFAULT = 2


class Tolerance(NamedTuple):
    """The error that a function that takes `accuracy` may make.

    >>> lax.exp(0.5, accuracy=lax.Tolerance(rtol=1e-3))
    Array(1.649, dtype=float32, weak_type=True)
    """

    atol: float = 0.0
    rtol: float = 0.0
    ulps: int = 0


Accuracy = Tolerance | AccuracyMode | None


def _refuse(name: str, x: Any, wanted: str) -> None:
    raise TypeError(f"lax.{name} takes {wanted}, got {x.value.type}; convert it first, or use "
                    "the function of xfront.numpy, which promotes")


def floating(name: str, x: Any) -> Any:
    """The tracer of a float operand."""
    x = operand(name, x)
    if not x.value.type.dtype.is_float:
        _refuse(name, x, "floats")
    return x


def inexact(name: str, x: Any) -> Tracer:
    """The tracer of a float or complex operand."""
    x = operand(name, x)
    if not x.value.type.dtype.is_inexact:
        _refuse(name, x, "floats and complex numbers")
    return x


def check_accuracy(name: str, accuracy: Accuracy) -> None:
    """Refuse what is not an accuracy. A valid one changes nothing: each op has one accuracy.

    Raises: ValueError for a tolerance below 0, TypeError for other values.
    """
    if accuracy is None or isinstance(accuracy, AccuracyMode):
        return
    if not isinstance(accuracy, Tolerance):
        raise TypeError(f"{name}: accuracy must be None, a Tolerance or an AccuracyMode, got "
                        f"{accuracy!r}")
    if any(bound < 0 for bound in accuracy):
        raise ValueError(f"{name}: tolerances must not be negative, got {accuracy}")


def _named(body: Any, name: str, doc: str, shows: str) -> Any:
    body.__name__ = body.__qualname__ = name
    body.__doc__ = with_example(doc, f"lax.{name}", shows)
    return eager(body)


# --- makers ---------------------------------------------------------------------------------
# Called with tracers that need no conversion, these record their op at once.

def _unary(name: str, definition: Any, doc: str, shows: str) -> Callable[[ArrayLike], Array]:
    def body(x: ArrayLike) -> Array:
        return emit(definition, operand(name, x))

    general = _named(body, name, doc, shows)

    def public(x: ArrayLike) -> Array:
        try:
            return emit_alike(definition, x) if type(x) is Tracer else general(x)
        except BaseException as error:
            shorten(error)
            raise

    return functools.update_wrapper(public, general)


def _accurate(name: str, definition: Any, doc: str, shows: str) -> Callable[..., Any]:
    def body(x: ArrayLike, *, accuracy: Accuracy = None) -> Array:
        check_accuracy(name, accuracy)
        return emit(definition, inexact(name, x))

    body.__name__ = body.__qualname__ = name
    body.__doc__ = with_example(doc, f"lax.{name}", shows)
    general = eager(static=("accuracy",))(body)

    def public(x: ArrayLike, *, accuracy: Accuracy = None) -> Array:
        try:
            if accuracy is None:
                if type(x) is Tracer and x.value.type.dtype.is_inexact:
                    return emit_alike(definition, x)
                return general(x)
            return general(x, accuracy=accuracy)
        except BaseException as error:
            shorten(error)
            raise

    return functools.update_wrapper(public, general)


def binary_of(name: str, definition: Any, doc: str, shows: str
              ) -> Callable[[ArrayLike, ArrayLike], Array]:
    """A function of two operands that are alike; `shows` as in `with_example`."""
    def body(x: ArrayLike, y: ArrayLike) -> Array:
        return emit(definition, *alike(name, x, y))

    general = _named(body, name, doc, shows)

    def public(x: ArrayLike, y: ArrayLike) -> Array:
        try:
            if type(x) is Tracer:
                if type(y) is Tracer:
                    if (x.home is y.home and x.value.type is y.value.type
                            and x.weak == y.weak):
                        return emit_alike(definition, x, y)
                elif type(y) in WEAK_KINDS and (
                        x.value.type.dtype.numpy is binding.scalar_dtype(type(y))):
                    return emit_alike(definition, x, y)
            return general(x, y)
        except BaseException as error:
            shorten(error)
            raise

    return functools.update_wrapper(public, general)


# --- arithmetic -----------------------------------------------------------------------------

add = binary_of("add", ops.add, "x + y, for numbers.", "[1, 2], [3, 4] -> [4, 6] int32")
sub = binary_of("sub", ops.sub, "x - y, for numbers.", "[1, 2], [3, 5] -> [-2, -3] int32")
div = binary_of("div", ops.div, "x / y; integers are divided towards zero, and by 0 give -1.",
                "[7, -7], [2, 2] -> [ 3, -3] int32")
rem = binary_of("rem", ops.rem, "Remainder of x / y with the sign of x, for real numbers.",
                "[7, -7], [3, 3] -> [ 1, -1] int32")
max = binary_of("max", ops.max, "The greater; complex numbers are compared by real part first, a "
                                "NaN wins.", "[1, 5], [3, 4] -> [3, 5] int32")
min = binary_of("min", ops.min, "The smaller; complex numbers are compared by real part first, a "
                                "NaN wins.", "[1, 5], [3, 4] -> [1, 4] int32")
atan2 = binary_of("atan2", ops.atan2, "The angle of the point (y, x), for floats and complex "
                                      "numbers.", "[0., 1.], [1., 1.] -> [0.   , 0.785]")
nextafter = by_name(binary_of("nextafter", ops.nextafter, "The next float after x1 towards x2.",
                              "[1., 2.], [2., 2.] -> [1., 2.]"),
                    "x1", "x2")
mulhi = binary_of("mulhi", ops.mulhi, "The upper half of the product of integers.",
                  "[2 ** 30, 5], [8, 2] -> [2, 0] int32")

neg = _unary("neg", ops.neg, "-x, for numbers.", "[1., -2.] -> [-1.,  2.]")
sign = _unary("sign", ops.sign, "-1, 0 or 1; x/|x| for complex numbers; NaN for NaN.",
              "[3., 0., -2.] -> [ 1.,  0., -1.]")
square = _unary("square", ops.square, "x * x, for numbers.", "[3., -2.] -> [9., 4.]")
one_minus_square = _unary(
    "one_minus_square", ops.one_minus_square,
    "1 - x * x, for numbers: exact near 1 and -1, and with the derivative -2x, exact near 0.",
    "[3., 0.5] -> [-8.  ,  0.75]")


@eager
def abs(x: ArrayLike) -> Array:
    """|x| for signed numbers; real for complex ones.

    >>> lax.abs(jnp.array([-1., 2.]))
    Array([1., 2.], dtype=float32)
    """
    x = operand("abs", x)
    return weakly(emit(ops.abs, x), x.weak)


_mul = binary_of("mul", ops.mul, "x * y, for numbers.", "[1, 2], [3, 4] -> [3, 8] int32")


@eager(static=("out_dtype",))
def _mul_in(x: Any, y: Any, out_dtype: Any) -> Any:
    x, y = alike("mul", x, y)
    dtype = dtype_of("mul", out_dtype)
    return emit(ops.mul, convert(x, dtype), convert(y, dtype))


def mul(x: ArrayLike, y: ArrayLike, *, out_dtype: DTypeLike | None = None) -> Array:
    """x * y, for numbers.

    Args:
      out_dtype: the dtype in which to multiply; None for that of the operands.

    >>> lax.mul(jnp.array([1., 2.]), 3.)
    Array([3., 6.], dtype=float32)
    """
    try:
        return _mul(x, y) if out_dtype is None else _mul_in(x, y, out_dtype)
    except BaseException as error:
        shorten(error)
        raise


@eager
def reciprocal(x: ArrayLike) -> Array:
    """1 / x, for floats and complex numbers.

    >>> lax.reciprocal(jnp.array([1., 4.]))
    Array([1.  , 0.25], dtype=float32)
    """
    return emit(ops.integer_pow, inexact("reciprocal", x), exponent=-1)


@eager(static=("y",))
def integer_pow(x: ArrayLike, y: int) -> Array:
    """x to an integer power known while tracing, for numbers.

    Raises: TypeError where y is negative and x has an integer dtype.

    >>> lax.integer_pow(jnp.array([1., 2.]), 3)
    Array([1., 8.], dtype=float32)
    """
    x = operand("integer_pow", x)
    n = int(y) if isinstance(y, float) and y.is_integer() else static_int("integer_pow: y", y)
    if n < 0 and not x.value.type.dtype.is_inexact:
        raise TypeError(f"integer_pow: integers have no negative powers, got {x.value.type} to the "
                        f"power {n}; convert it to a float")
    return emit(ops.integer_pow, x, exponent=n)


@eager
def pow(x: ArrayLike, y: ArrayLike) -> Array:
    """x to the power y, for x of floats or complex numbers and y of x's dtype or an integer one.

    The derivative in x at x = 0 is right for y a Python int or an array.

    >>> lax.pow(jnp.array([1., 2.]), 3.)
    Array([1., 8.], dtype=float32)
    """
    base = inexact("pow", x)
    exponent = array_like("pow", y)
    if type(exponent) is int:
        return emit(ops.integer_pow, base, exponent=exponent)
    exponent = operand("pow", exponent)
    kind = exponent.value.type.dtype
    if kind is dtypes.bool_:
        _refuse("pow", exponent, "a number as exponent")
    if kind.is_integer:
        shape = common_shape("pow", [base.shape, exponent.shape])
        weak = base.weak
        base = broadcast_to(base, shape)
        exponent = broadcast_to(convert(exponent, base.value.type.dtype, weak), shape)
        return weakly(emit(ops.pow, base, exponent), weak)
    return emit(ops.pow, *alike("pow", base, exponent))


# --- roots, exponentials, angles ------------------------------------------------------------

sqrt = _accurate("sqrt", ops.sqrt, "Square root; NaN below 0.", "[4., 9.] -> [2., 3.]")
rsqrt = _accurate("rsqrt", ops.rsqrt, "1 / sqrt(x).", "[4., 16.] -> [0.5 , 0.25]")
cbrt = _accurate("cbrt", ops.cbrt, "Cube root, of negative numbers too.",
                 "[8., -27.] -> [ 2., -3.]")
exp = _accurate("exp", ops.exp, "e to the power x.", "[0., 1.] -> [1.   , 2.718]")
exp2 = _accurate("exp2", ops.exp2, "2 to the power x.", "[1., 3.] -> [2., 8.]")
expm1 = _accurate("expm1", ops.expm1, "exp(x) - 1, exact near 0.", "[0., 1.] -> [0.   , 1.718]")
log = _accurate("log", ops.log, "Natural logarithm.", "[1., 10.] -> [0.   , 2.303]")
log1p = _accurate("log1p", ops.log1p, "log(1 + x), exact near 0.", "[0., 1.] -> [0.   , 0.693]")
log2 = _accurate("log2", ops.log2, "Logarithm to base 2.", "[1., 8.] -> [0., 3.]")
logistic = _accurate("logistic", ops.logistic, "1 / (1 + exp(-x)).", "[0., 2.] -> [0.5  , 0.881]")
sin = _accurate("sin", ops.sin, "Sine.", "[0., 1.] -> [0.   , 0.841]")
cos = _accurate("cos", ops.cos, "Cosine.", "[0., 1.] -> [1.  , 0.54]")
tan = _accurate("tan", ops.tan, "Tangent.", "[0., 1.] -> [0.   , 1.557]")
tanh = _accurate("tanh", ops.tanh, "Hyperbolic tangent.", "[0., 1.] -> [0.   , 0.762]")


def _inexact(name: str, definition: Any, doc: str, shows: str) -> Callable[[ArrayLike], Array]:
    def body(x: ArrayLike) -> Array:
        return emit(definition, inexact(name, x))

    return _named(body, name, doc, shows)


asin = _inexact("asin", ops.asin, "Inverse sine, in [-pi/2, pi/2].", "[0., 1.] -> [0.   , 1.571]")
acos = _inexact("acos", ops.acos, "Inverse cosine, in [0, pi].", "[0., 1.] -> [1.571, 0.   ]")
atan = _inexact("atan", ops.atan, "Inverse tangent, in [-pi/2, pi/2].",
                "[0., 1.] -> [0.   , 0.785]")
sinh = _inexact("sinh", ops.sinh, "Hyperbolic sine.", "[0., 1.] -> [0.   , 1.175]")
cosh = _inexact("cosh", ops.cosh, "Hyperbolic cosine.", "[0., 1.] -> [1.   , 1.543]")
asinh = _inexact("asinh", ops.asinh, "Inverse hyperbolic sine.", "[0., 1.] -> [0.   , 0.881]")
acosh = _inexact("acosh", ops.acosh, "Inverse hyperbolic cosine.", "[1., 2.] -> [0.   , 1.317]")
atanh = _inexact("atanh", ops.atanh, "Inverse hyperbolic tangent.", "[0., 0.5] -> [0.   , 0.549]")


# --- rounding -------------------------------------------------------------------------------

def _floating(name: str, definition: Any, doc: str, shows: str) -> Callable[[ArrayLike], Array]:
    def body(x: ArrayLike) -> Array:
        return emit(definition, floating(name, x))

    return _named(body, name, doc, shows)


floor = _floating("floor", ops.floor, "The greatest integer not above x.",
                  "[1.5, -1.5] -> [ 1., -2.]")
ceil = _floating("ceil", ops.ceil, "The smallest integer not below x.", "[1.5, -1.5] -> [ 2., -1.]")
is_finite = _floating("is_finite", ops.is_finite, "Whether x is neither infinite nor NaN; bool.",
                      "[1., jnp.inf] -> [ True, False] bool")


@eager(static=("rounding_method",))
def round(x: ArrayLike, rounding_method: RoundingMethod = RoundingMethod.AWAY_FROM_ZERO) -> Array:
    """The nearest integer, for floats.

    >>> lax.round(jnp.array([0.5, 1.2]))
    Array([1., 1.], dtype=float32)
    """
    method = RoundingMethod(rounding_method).name.lower()
    return emit(ops.round, floating("round", x), method=method)


# --- complex numbers ------------------------------------------------------------------------

def _part(name: str, definition: Any, doc: str, shows: str
          ) -> Callable[[ArrayLike], Array]:
    def body(x: ArrayLike) -> Array:
        value = operand(name, x)
        return weakly(emit(definition, value), value.weak)

    return _named(body, name, doc, shows)


real = _part("real", ops.real, "Real part of complex numbers; real.", "[1+2j] -> [1.]")
imag = _part("imag", ops.imag, "Imaginary part of complex numbers; real.", "[1+2j] -> [2.]")


@eager
def conj(x: ArrayLike) -> Array:
    """Complex conjugate; floats become complex numbers.

    >>> lax.conj(jnp.array([1 + 2j]))
    Array([1.-2.j], dtype=complex64)
    """
    x = inexact("conj", x)
    if x.value.type.dtype.is_float:
        x = convert(x, dtypes.complex_of(x.value.type.dtype), x.weak)
    return emit(ops.conj, x)


@eager
def complex(x: ArrayLike, y: ArrayLike) -> Array:
    """x + iy, from f32 or f64 parts.

    >>> lax.complex(jnp.array([1., 2.]), jnp.array([0., -1.]))
    Array([1.+0.j, 2.-1.j], dtype=complex64)
    """
    x, y = alike("complex", x, y)
    return weakly(emit(ops.complex, x, y), x.weak)


# --- bits -----------------------------------------------------------------------------------

bitwise_not = _unary("bitwise_not", ops.not_, "Every bit flipped, for integers and bools.",
                     "[0, 5] -> [-1, -6] int32")
bitwise_and = binary_of("bitwise_and", ops.and_, "Bits of both, for integers and bools.",
                        "[6, 5], [3, 3] -> [2, 1] int32")
bitwise_or = binary_of("bitwise_or", ops.or_, "Bits of either, for integers and bools.",
                       "[6, 5], [3, 3] -> [7, 7] int32")
bitwise_xor = binary_of("bitwise_xor", ops.xor, "Bits of one alone, for integers and bools.",
                        "[6, 5], [3, 3] -> [5, 6] int32")
population_count = _unary("population_count", ops.popcnt, "How many bits are set, for integers.",
                          "[0, 7] -> [0, 3] int32")
clz = _unary("clz", ops.clz, "How many bits above the highest set one are clear, for integers.",
             "[1, 255] -> [31, 24] int32")
shift_left = binary_of("shift_left", ops.shift_left,
                       "Bits of x moved up by y places, for integers.",
                       "[1, 3], [2, 4] -> [ 4, 48] int32")
shift_right_arithmetic = binary_of(
    "shift_right_arithmetic", ops.shift_right_arithmetic,
    "Bits of x moved down by y places, the sign coming in, for integers.",
    "[8, -8], [1, 1] -> [ 4, -4] int32")
shift_right_logical = binary_of(
    "shift_right_logical", ops.shift_right_logical,
    "Bits of x moved down by y places, zeros coming in, for integers.",
    "[8, -8], [1, 28] -> [ 4, 15] int32")


# --- comparisons ----------------------------------------------------------------------------

eq = binary_of("eq", ops.eq, "x == y; bool.", "[1, 2], [1, 3] -> [ True, False] bool")
ne = binary_of("ne", ops.ne, "x != y; bool.", "[1, 2], [1, 3] -> [False,  True] bool")
lt = binary_of("lt", ops.lt, "x < y, for real numbers and bools; bool.",
               "[1, 2], [1, 3] -> [False,  True] bool")
le = binary_of("le", ops.le, "x <= y, for real numbers and bools; bool.",
               "[1, 2], [1, 3] -> [ True,  True] bool")
gt = binary_of("gt", ops.gt, "x > y, for real numbers and bools; bool.",
               "[1, 4], [1, 3] -> [False,  True] bool")
ge = binary_of("ge", ops.ge, "x >= y, for real numbers and bools; bool.",
               "[1, 2], [1, 3] -> [ True, False] bool")


# --- choosing -------------------------------------------------------------------------------

@eager
def clamp(min: ArrayLike, x: ArrayLike, max: ArrayLike) -> Array:
    """x, but not below `min` nor above `max`, which are scalars or of x's shape.

    Raises: TypeError where dtypes differ, or a bound has another shape.

    >>> lax.clamp(0., jnp.array([-1., 0.5, 2.]), 1.)
    Array([0. , 0.5, 1. ], dtype=float32)
    """
    low, value, high = same_dtype("clamp", min, x, max)
    for name, bound in (("min", low), ("max", high)):
        if bound.shape not in ((), value.shape):
            raise TypeError(f"clamp: {name} must be a scalar or of x's shape {value.shape}, got "
                            f"shape {bound.shape}")
    return weakly(emit(ops.clamp, low, value, high), value.weak)


@eager
def select(pred: ArrayLike, on_true: ArrayLike, on_false: ArrayLike) -> Array:
    """`on_true` where `pred` is true, else `on_false`.

    Args:
      pred: a bool array, a scalar or of the shape of the cases.
      on_true, on_false: arrays of the same shape and dtype.

    >>> lax.select(jnp.array([True, False]), jnp.array([1, 2]), jnp.array([3, 4]))
    Array([1, 4], dtype=int32)
    """
    return _select("select", pred, on_false, on_true)


def select_n(which: ArrayLike, *cases: ArrayLike) -> Array:
    """In each place the element of the case whose number `which` has there.

    Args:
      which: bools (for two cases) or integers in [0, len(cases)), a scalar or of the shape of the
        cases.
      cases: arrays of the same shape and dtype.

    >>> lax.select_n(jnp.array([0, 1]), jnp.array([1, 2]), jnp.array([3, 4]))
    Array([1, 4], dtype=int32)
    """
    if not cases:
        raise ValueError("select_n needs at least one case")
    return _select_n(which, list(cases))


@eager
def _select_n(which: Any, cases: Any) -> Any:
    return _select("select_n", which, *cases)


def _mapped_alone(which: Any, cases: Sequence[Any]) -> bool:
    """Whether vmap maps the chooser and none of the cases. JAX then accepts scalar cases beside a
    chooser of any shape, and existing programs pass them."""
    return type(which) is Tracer and which.home.axis is not None and not any(
        [type(x) is Tracer and x.home is which.home for x in cases])


def _select(name: str, which: Any, *cases: Any) -> Any:
    scalars = _mapped_alone(which, cases)
    which = operand(name, which)
    made = same_dtype(name, *cases)
    shapes = [x.shape for x in made]
    if scalars and set(shapes) == {()}:
        made = [as_tracer(broadcast_to(x, which.shape)) for x in made]
        shapes = [which.shape]
    if len(set(shapes)) > 1:
        raise TypeError(f"{name}: cases must have the same shape, got {shapes}")
    if which.shape not in ((), shapes[0]):
        raise TypeError(f"{name}: the chooser must be a scalar or have the shape of the cases, "
                        f"{shapes[0]}, got shape {which.shape}")
    kind = which.value.type.dtype
    if kind is dtypes.bool_ and len(made) == 2:
        return weakly(emit(ops.select, which, made[1], made[0]), made[0].weak)
    if not (kind is dtypes.bool_ or kind.is_integer):
        raise TypeError(f"{name}: the chooser must be bool or integers, got {which.value.type}")
    if kind is dtypes.bool_ and len(made) > 2:
        raise TypeError(f"{name}: a bool chooser can only choose between two cases, got "
                        f"{len(made)}")
    if kind is not dtypes.bool_ and kind is not dtypes.i32:
        which = convert(which, dtypes.i32)
    return weakly(emit(ops.select_n, which, *made), made[0].weak)


__all__ = [
    "AccuracyMode", "RoundingMethod", "Tolerance", "abs", "acos", "acosh", "add", "asin", "asinh",
    "atan", "atan2", "atanh", "bitwise_and", "bitwise_not", "bitwise_or", "bitwise_xor", "cbrt",
    "ceil", "clamp", "clz", "complex", "conj", "cos", "cosh", "div", "eq", "exp", "exp2", "expm1",
    "floor", "ge", "gt", "imag", "integer_pow", "is_finite", "le", "log", "log1p", "log2",
    "logistic", "lt", "max", "min", "mul", "mulhi", "ne", "neg", "nextafter", "one_minus_square",
    "population_count", "pow", "real", "reciprocal", "rem", "round", "rsqrt", "select", "select_n",
    "shift_left", "shift_right_arithmetic", "shift_right_logical", "sign", "sin", "sinh", "sqrt",
    "square", "sub", "tan", "tanh",
]  # fmt: skip
