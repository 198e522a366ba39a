"""Exponentials, logarithms, trigonometric and hyperbolic functions and their inverses.

Results are inexact: integers and bools become the default float. Outside of a function's domain the
result is NaN. Angles are in radians unless said otherwise.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from xfront_ir import ops
from xfront_ir.definition import OpDef

from ..base.docstrings import with_example
from ..binding.annotations import Array, ArrayLike
from ..eager.operands import (
    convert,
    inexact_dtype,
    operand,
    promote_inexact,
    strong,
    together,
)
from ..tracing.trace import emit
from ..tracing.tracer import Tracer
from .arithmetic import square
from .extremes import maximum
from .logic import isfinite
from .ufuncs import FLOAT, INEXACT, Unary, binary, inexact, like, refuse, unary, where


def _function(name: str, definition: OpDef, kinds: frozenset[str], doc: str, shows: str) -> Unary:
    """A public function that is one op on an inexact operand; `shows` as in `with_example`."""
    def body(x: ArrayLike) -> Array:
        (x,) = promote_inexact(name, x)
        if x.value.type.dtype.kind not in kinds:
            raise refuse(name, x, "real")
        return emit(definition, x)

    body.__name__ = body.__qualname__ = name
    body.__module__ = __name__
    body.__doc__ = with_example(f"{doc} Source: `numpy.{name}`.", f"jnp.{name}", shows)
    return unary(definition, kinds)(body)


# --- exponentials and logarithms ----------------------------------------------------------

exp = _function("exp", ops.exp, INEXACT, "e to the power x.", "[0., 1.] -> [1.   , 2.718]")
exp2 = _function("exp2", ops.exp2, INEXACT, "2 to the power x.", "[1., 3.] -> [2., 8.]")
expm1 = _function("expm1", ops.expm1, INEXACT, "exp(x) - 1, accurate near 0.",
                  "[0., 1.] -> [0.   , 1.718]")
log = _function("log", ops.log, INEXACT, "Natural logarithm.", "[1., 10.] -> [0.   , 2.303]")
log1p = _function("log1p", ops.log1p, INEXACT, "log(1 + x), accurate near 0.",
                  "[0., 1.] -> [0.   , 0.693]")


@unary()
def log2(x: ArrayLike) -> Array:
    """Logarithm to base 2. Source: `numpy.log2`.

    >>> jnp.log2(jnp.array([1., 8.]))
    Array([0., 3.], dtype=float32)
    """
    return strong(emit(ops.log2, *promote_inexact("log2", x)))


@unary()
def log10(x: ArrayLike) -> Array:
    """Logarithm to base 10. Source: `numpy.log10`.

    >>> jnp.log10(jnp.array([1., 100.]))
    Array([0., 2.], dtype=float32)
    """
    (x,) = promote_inexact("log10", x)
    made = emit(ops.log, x)
    if not made.value.type.dtype.is_complex:
        return strong(_over_log(made, 10))
    return strong(emit(ops.complex, *[_over_log(emit(part, made), 10)
                                      for part in (ops.real, ops.imag)]))


def _over_log(x: Tracer, base: float) -> Tracer:
    """x / log(base), with the factor in twice the precision."""
    factor = 1 / math.log(base)
    high = float(np.asarray(factor, x.dtype))
    made = x * high
    rest = x * (factor - high)
    return where(isfinite(x), made + rest, made)


def _logaddexp(name: str, x: Any, y: Any, base: float) -> Tracer:
    """log(base^x + base^y) / log(base) by max(x, y) + log1p(base^-|x - y|) / log(base)."""
    x, y = together(name, x, y)
    x, y = inexact(x), inexact(y)
    if x.value.type.dtype.is_complex:
        return _complex_logaddexp(x, y, base)
    rate = math.log(base)
    same = x == y
    # chosen by one comparison, the result is smooth at x = y, where max and |x - y| have corners
    below = x < y
    large, small = where(below, y, x), where(below, x, y)
    endless = same & ~isfinite(x)
    # the gap between equal infinities would be NaN
    gap = where(endless, 0, small) - where(endless, 0, large)
    scaled = gap if base == math.e else gap * rate
    rest = log1p(exp(scaled))
    if base != math.e:
        rest = rest / rate
    return large + rest


def _complex_logaddexp(x: Tracer, y: Tracer, base: float) -> Tracer:
    """As `_logaddexp`, shifted by the greater real part, so that the angle stays in (-pi, pi]."""
    rate = math.log(base)
    shift = maximum(emit(ops.real, x), emit(ops.real, y))
    shift = where(isfinite(shift), shift, 0)
    shift = emit(ops.stop_gradient, shift)           # the result does not depend on it

    def power(z: Tracer) -> Array:
        parts = [emit(ops.real, z) - shift, emit(ops.imag, z)]
        if base != math.e:
            parts = [part * rate for part in parts]
        return exp(emit(ops.complex, *parts))

    made = log(power(x) + power(y))
    parts = [emit(part, made) for part in (ops.real, ops.imag)]
    if base != math.e:
        parts = [_over_log(part, base) for part in parts]
    return emit(ops.complex, parts[0] + shift, parts[1])


@binary()
def logaddexp(x: Any, y: Any) -> Any:
    """log(exp(x) + exp(y)) without overflow in between. Source: `numpy.logaddexp`.

    >>> jnp.logaddexp(jnp.array([0., 1.]), 0.)
    Array([0.693, 1.313], dtype=float32)
    """
    return _logaddexp("logaddexp", x, y, math.e)


@binary()
def logaddexp2(x: Any, y: Any) -> Any:
    """log2(2^x + 2^y) without overflow in between. Source: `numpy.logaddexp2`.

    >>> jnp.logaddexp2(jnp.array([0., 1.]), 0.)
    Array([1.   , 1.585], dtype=float32)
    """
    return _logaddexp("logaddexp2", x, y, 2)


# --- trigonometric ------------------------------------------------------------------------

sin = _function("sin", ops.sin, INEXACT, "Sine.", "[0., 1.] -> [0.   , 0.841]")
cos = _function("cos", ops.cos, INEXACT, "Cosine.", "[0., 1.] -> [1.  , 0.54]")
tan = _function("tan", ops.tan, INEXACT, "Tangent.", "[0., 1.] -> [0.   , 1.557]")
arcsin = _function("arcsin", ops.asin, INEXACT, "Angle in [-pi/2, pi/2] whose sine is x.",
                   "[0., 1.] -> [0.   , 1.571]")
arccos = _function("arccos", ops.acos, INEXACT, "Angle in [0, pi] whose cosine is x.",
                   "[0., 1.] -> [1.571, 0.   ]")
arctan = _function("arctan", ops.atan, INEXACT, "Angle in [-pi/2, pi/2] whose tangent is x.",
                   "[0., 1.] -> [0.   , 0.785]")
sinh = _function("sinh", ops.sinh, INEXACT, "Hyperbolic sine.", "[0., 1.] -> [0.   , 1.175]")
cosh = _function("cosh", ops.cosh, INEXACT, "Hyperbolic cosine.", "[0., 1.] -> [1.   , 1.543]")
tanh = _function("tanh", ops.tanh, INEXACT, "Hyperbolic tangent.", "[0., 1.] -> [0.   , 0.762]")
arcsinh = _function("arcsinh", ops.asinh, INEXACT, "Inverse of sinh.", "[0., 1.] -> [0.   , 0.881]")
arccosh = _function("arccosh", ops.acosh, INEXACT, "Inverse of cosh, not negative.",
                    "[1., 2.] -> [0.   , 1.317]")
arctanh = _function("arctanh", ops.atanh, INEXACT, "Inverse of tanh.",
                    "[0., 0.5] -> [0.   , 0.549]")
asin, acos, atan = arcsin, arccos, arctan
asinh, acosh, atanh = arcsinh, arccosh, arctanh


@binary(ops.atan2, FLOAT)
def arctan2(x1: ArrayLike, x2: ArrayLike) -> Array:
    """Angle in [-pi, pi] of the point (x2, x1) seen from the origin. Source: `numpy.arctan2`.

    >>> jnp.arctan2(jnp.array([1., -1.]), jnp.array([0., -1.]))
    Array([ 1.571, -2.356], dtype=float32)
    """
    x, y = together("arctan2", x1, x2)
    x, y = inexact(x), inexact(y)
    if x.value.type.dtype.is_complex:
        raise refuse("arctan2", x, "real")
    return emit(ops.atan2, x, y)


atan2 = arctan2


def _scaled(name: str, x: Any, factor: float) -> Tracer:
    (x,) = promote_inexact(name, x)
    if x.value.type.dtype.is_complex:
        raise refuse(name, x, "real")
    return x * factor


@unary()
def degrees(x: ArrayLike) -> Array:
    """Radians as degrees. Source: `numpy.degrees`.

    >>> jnp.degrees(jnp.array([0., jnp.pi]))
    Array([  0., 180.], dtype=float32)
    """
    return _scaled("degrees", x, 180 / math.pi)


@unary()
def radians(x: ArrayLike) -> Array:
    """Degrees as radians. Source: `numpy.radians`.

    >>> jnp.radians(jnp.array([0., 180.]))
    Array([0.   , 3.142], dtype=float32)
    """
    return _scaled("radians", x, math.pi / 180)


rad2deg, deg2rad = degrees, radians


@unary()
def sinc(x: ArrayLike) -> Array:
    """sin(pi x) / (pi x), 1 at 0; all its derivatives are right there too. Source: `numpy.sinc`.

    >>> jnp.sinc(jnp.array([0., 0.5]))
    Array([1.   , 0.637], dtype=float32)
    """
    (x,) = promote_inexact("sinc", x)
    angle = x * math.pi
    near = abs(angle) < _small(angle)
    small = where(near, angle, 0)         # so that no power overflows
    safe = where(near, 1, angle)
    return where(near, _series(small), _sine_of_half_turns(x) / safe)


def _sine_of_half_turns(x: Tracer) -> Tracer:
    """sin(pi x): half turns are taken off x, where they are exact, not off the rounded angle."""
    is_complex = x.value.type.dtype.is_complex
    real = emit(ops.real, x) if is_complex else x
    turns = emit(ops.round, real, method="to_nearest_even")
    odd = emit(ops.rem, turns, like(turns, 2)) != 0
    if is_complex:
        turns = emit(ops.complex, turns, like(turns, 0))
    sine = sin((x - turns) * math.pi)
    return where(odd, -sine, sine)


_RADIUS = 0.1


def _small(x: Tracer) -> Tracer:
    size = abs(x)
    return like(size, _RADIUS)


def _series(x: Tracer) -> Tracer:
    """sin(x) / x for |x| < 0.1: terms to x^10 / 11!, below 1e-19 of the result."""
    squared = square(x)
    total = like(x, 0)
    for k in range(5, -1, -1):
        term = like(x, (-1) ** k / math.factorial(2 * k + 1))
        total = term if k == 5 else total * squared + term
    return total


@unary()
def i0(x: ArrayLike) -> Array:
    """Modified Bessel function of the first kind, order 0. Source: `numpy.i0`.

    >>> jnp.i0(jnp.array([0., 1.]))
    Array([1.   , 1.266], dtype=float32)
    """
    (x,) = promote_inexact("i0", x)
    if x.value.type.dtype.is_complex:
        raise ValueError(f"i0 takes real arrays, got {x.value.type}")
    # |x| with slope 0 at 0, as in the derivative of bessel_i0e
    size = x * emit(ops.sign, x)
    return exp(size) * emit(ops.bessel_i0e, x)


def float_operand(name: str, x: Any) -> Tracer:
    """An argument in its float dtype. Raises: TypeError where it is complex."""
    x = operand(name, x)
    dtype = x.value.type.dtype
    if dtype.is_complex:
        raise refuse(name, x, "real")
    return x if dtype.is_float else convert(x, inexact_dtype(dtype), x.weak)


__all__ = [
    "acos", "acosh", "arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctan2", "arctanh",
    "asin", "asinh", "atan", "atan2", "atanh", "cos", "cosh", "deg2rad", "degrees", "exp", "exp2",
    "expm1", "i0", "log", "log10", "log1p", "log2", "rad2deg", "radians", "sin", "sinc", "sinh",
    "tan", "tanh",
]  # fmt: skip
