"""Comparisons, logic and questions about values; all give bools.

Complex numbers are ordered by their real part, then by the imaginary one.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from xfront_ir import dtypes, ops

from ..binding.annotations import Array, ArrayLike
from ..eager.dispatch import eager
from ..eager.operands import convert, is_array_like, operand, together
from ..tracing.trace import emit
from ..tracing.tracer import Tracer
from .ufuncs import ANY, REAL, binary, inexact, like, refuse, unary, where

ORDERED = REAL | {"bool"}

# --- comparisons --------------------------------------------------------------------------


@binary(ops.eq, ANY)
def equal(x: ArrayLike, y: ArrayLike) -> Array:
    """x == y, also for keys. Source: `numpy.equal`.

    >>> jnp.equal(jnp.array([1, 2, 3]), 2)
    Array([False,  True, False], dtype=bool)
    """
    return _same(*together("equal", x, y))


def _same(x: Tracer, y: Tracer) -> Tracer:
    if not x.value.type.dtype.is_key:
        return x == y
    ndim = x.ndim
    words = emit(ops.random_unwrap, x) == emit(ops.random_unwrap, y)
    return emit(ops.reduce_and, words, axes=tuple(range(ndim, words.ndim)))


@binary(ops.ne, ANY)
def not_equal(x: ArrayLike, y: ArrayLike) -> Array:
    """x != y, also for keys. Source: `numpy.not_equal`.

    >>> jnp.not_equal(jnp.array([1, 2, 3]), 2)
    Array([ True, False,  True], dtype=bool)
    """
    x, y = together("not_equal", x, y)
    if x.value.type.dtype.is_key:
        return ~_same(x, y)
    return emit(ops.ne, x, y)


def _ordered(name: str, definition: Any, x: Any, y: Any) -> Tracer:
    x, y = together(name, x, y)
    dtype = x.value.type.dtype
    if dtype.is_key:
        raise refuse(name, x, "ordered")
    if not dtype.is_complex:
        return emit(definition, x, y)
    real_x, real_y = emit(ops.real, x), emit(ops.real, y)
    tied = real_x == real_y
    imag_x, imag_y = emit(ops.imag, x), emit(ops.imag, y)
    return where(tied, emit(definition, imag_x, imag_y), emit(definition, real_x, real_y))


@binary(ops.lt, ORDERED)
def less(x: ArrayLike, y: ArrayLike) -> Array:
    """x < y. Source: `numpy.less`.

    >>> jnp.less(jnp.array([1, 2, 3]), 2)
    Array([ True, False, False], dtype=bool)
    """
    return _ordered("less", ops.lt, x, y)


@binary(ops.le, ORDERED)
def less_equal(x: ArrayLike, y: ArrayLike) -> Array:
    """x <= y. Source: `numpy.less_equal`.

    >>> jnp.less_equal(jnp.array([1, 2, 3]), 2)
    Array([ True,  True, False], dtype=bool)
    """
    return _ordered("less_equal", ops.le, x, y)


@binary(ops.gt, ORDERED)
def greater(x: ArrayLike, y: ArrayLike) -> Array:
    """x > y. Source: `numpy.greater`.

    >>> jnp.greater(jnp.array([1, 2, 3]), 2)
    Array([False, False,  True], dtype=bool)
    """
    return _ordered("greater", ops.gt, x, y)


@binary(ops.ge, ORDERED)
def greater_equal(x: ArrayLike, y: ArrayLike) -> Array:
    """x >= y. Source: `numpy.greater_equal`.

    >>> jnp.greater_equal(jnp.array([1, 2, 3]), 2)
    Array([False,  True,  True], dtype=bool)
    """
    return _ordered("greater_equal", ops.ge, x, y)


# --- logic --------------------------------------------------------------------------------

def truth(x: Tracer) -> Tracer:
    """Where x is not zero."""
    return convert(x, dtypes.bool_)


def _logical(name: str, definition: Any, x: Any, y: Any) -> Tracer:
    x, y = together(name, x, y)
    return emit(definition, truth(x), truth(y))


@binary(ops.and_, frozenset(("bool",)))
def logical_and(x: Any, y: Any) -> Any:
    """Whether both are nonzero. Source: `numpy.logical_and`.

    >>> jnp.logical_and(jnp.array([0, 1]), True)
    Array([False,  True], dtype=bool)
    """
    return _logical("logical_and", ops.and_, x, y)


@binary(ops.or_, frozenset(("bool",)))
def logical_or(x: Any, y: Any) -> Any:
    """Whether one or both are nonzero. Source: `numpy.logical_or`.

    >>> jnp.logical_or(jnp.array([0, 1]), False)
    Array([False,  True], dtype=bool)
    """
    return _logical("logical_or", ops.or_, x, y)


@binary(ops.xor, frozenset(("bool",)))
def logical_xor(x: Any, y: Any) -> Any:
    """Whether exactly one is nonzero. Source: `numpy.logical_xor`.

    >>> jnp.logical_xor(jnp.array([0, 1]), True)
    Array([ True, False], dtype=bool)
    """
    return _logical("logical_xor", ops.xor, x, y)


@unary(ops.not_, frozenset(("bool",)))
def logical_not(x: ArrayLike) -> Array:
    """Whether x is zero. Source: `numpy.logical_not`.

    >>> jnp.logical_not(jnp.array([True, False]))
    Array([False,  True], dtype=bool)
    """
    return emit(ops.not_, truth(operand("logical_not", x)))


# --- questions about values ---------------------------------------------------------------

def _always(x: Tracer, answer: bool) -> Tracer:
    if x.value.type.dtype.is_key:
        return x.home.literal(np.asarray(answer), x.shape, False)
    return like(Tracer(x.home, (x != x).value, False), answer)


def _parts(x: Tracer, rule: Any, both: Any) -> Tracer:
    """`rule` of a real operand, or of both parts of a complex one, joined by the op `both`."""
    if not x.value.type.dtype.is_complex:
        return rule(x)
    return emit(both, rule(emit(ops.real, x)), rule(emit(ops.imag, x)))


def is_infinite(x: Tracer) -> Tracer:
    """Where a float is inf or -inf."""
    return abs(x) == float("inf")


@unary()
def isnan(x: ArrayLike) -> Array:
    """Whether an element is NaN. Source: `numpy.isnan`.

    >>> jnp.isnan(jnp.array([1., jnp.inf, jnp.nan]))
    Array([False, False,  True], dtype=bool)
    """
    x = operand("isnan", x)
    return _always(x, False) if x.value.type.dtype.is_key else x != x


@unary(ops.is_finite, frozenset(("float",)))
def isfinite(x: ArrayLike) -> Array:
    """Whether an element is neither infinite nor NaN. Source: `numpy.isfinite`.

    >>> jnp.isfinite(jnp.array([1., jnp.inf, jnp.nan]))
    Array([ True, False, False], dtype=bool)
    """
    x = operand("isfinite", x)
    if not x.value.type.dtype.is_inexact:
        return _always(x, True)
    return _parts(x, lambda v: emit(ops.is_finite, v), ops.and_)


@unary()
def isinf(x: ArrayLike) -> Array:
    """Whether an element is infinite. Source: `numpy.isinf`.

    >>> jnp.isinf(jnp.array([1., jnp.inf, jnp.nan]))
    Array([False,  True, False], dtype=bool)
    """
    x = operand("isinf", x)
    if not x.value.type.dtype.is_inexact:
        return _always(x, False)
    return _parts(x, is_infinite, ops.or_)


def _is_extreme(name: str, x: Any, value: float) -> Tracer:
    x = operand(name, x)
    dtype = x.value.type.dtype
    if dtype.is_complex:
        raise ValueError(f"{name} is not defined for complex numbers, got {x.value.type}")
    return x == value if dtype.is_float else _always(x, False)


def isposinf(x: ArrayLike, /, out: None = None) -> Array:
    """Whether an element is inf. Raises: ValueError for complex x. Source: `numpy.isposinf`.

    >>> jnp.isposinf(jnp.array([-jnp.inf, jnp.inf, 0.]))
    Array([False,  True, False], dtype=bool)
    """
    _no_out("isposinf", out)
    return _isposinf(x)


def isneginf(x: ArrayLike, /, out: None = None) -> Array:
    """Whether an element is -inf. Raises: ValueError for complex x. Source: `numpy.isneginf`.

    >>> jnp.isneginf(jnp.array([-jnp.inf, jnp.inf, 0.]))
    Array([ True, False, False], dtype=bool)
    """
    _no_out("isneginf", out)
    return _isneginf(x)


def _no_out(name: str, out: None) -> None:
    if out is not None:
        raise NotImplementedError(f"{name}: arrays are immutable, so `out` is not supported; use "
                                  "the result instead")


@unary()
def _isposinf(x: Any) -> Any:
    return _is_extreme("isposinf", x, float("inf"))


@unary()
def _isneginf(x: Any) -> Any:
    return _is_extreme("isneginf", x, -float("inf"))


@unary()
def isreal(x: ArrayLike) -> Array:
    """Whether an element's imaginary part is zero. Source: `numpy.isreal`.

    >>> jnp.isreal(jnp.array([1., 1j]))
    Array([ True, False], dtype=bool)
    """
    return ~_iscomplex(operand("isreal", x))


@unary()
def iscomplex(x: ArrayLike) -> Array:
    """Whether an element's imaginary part is not zero. Source: `numpy.iscomplex`.

    >>> jnp.iscomplex(jnp.array([1., 1j]))
    Array([False,  True], dtype=bool)
    """
    return _iscomplex(operand("iscomplex", x))


def _iscomplex(x: Tracer) -> Tracer:
    if not x.value.type.dtype.is_complex:
        return _always(x, False)
    part = emit(ops.imag, x)
    return part != 0


# --- comparisons of whole arrays ----------------------------------------------------------

@eager(static=("equal_nan",))
def isclose(a: ArrayLike, b: ArrayLike, rtol: ArrayLike = 1e-05, atol: ArrayLike = 1e-08,
            equal_nan: bool = False) -> Array:
    """Whether |a - b| <= atol + rtol |b|, elementwise; equal infinities are close. Random keys
    are close where they are the same.

    Args:
      equal_nan: whether NaNs in the same position count as close.
    Source: `numpy.isclose`.

    >>> jnp.isclose(jnp.array([1., 2.]), jnp.array([1., 2.1]))
    Array([ True, False], dtype=bool)
    """
    x, y = together("isclose", a, b)
    if x.value.type.dtype.is_key:
        return _same(x, y)
    if not x.value.type.dtype.is_inexact:
        x, y = inexact(x), inexact(y)
    gap, size = abs(x - y), abs(y)
    scale = operand("isclose", rtol), operand("isclose", atol)
    rate, floor = (_fitted(v, size) for v in scale)
    near = gap <= floor + rate * size
    finite = _parts(y, isfinite, ops.and_)
    near = (near & finite) | (x == y)
    if equal_nan:
        near = near | ((x != x) & (y != y))
    return near


def _fitted(x: Tracer, model: Tracer) -> Tracer:
    from ..eager.operands import broadcast_to

    return broadcast_to(convert(x, model.value.type.dtype, model.weak), model.shape)


@eager(static=("equal_nan",))
def allclose(a: ArrayLike, b: ArrayLike, rtol: ArrayLike = 1e-05, atol: ArrayLike = 1e-08,
             equal_nan: bool = False) -> Array:
    """Whether all elements are close; see `isclose`. Source: `numpy.allclose`.

    >>> jnp.allclose(jnp.array([1., 2.]), jnp.array([1., 2.0000001]))
    Array(True, dtype=bool)
    """
    near = isclose(a, b, rtol, atol, equal_nan)
    return emit(ops.reduce_and, near, axes=tuple(range(near.ndim)))


def _as_array(x: Any) -> Any:
    if is_array_like(x):
        return x
    value = np.asarray(x)
    if value.dtype.kind in "OUSMm":
        raise TypeError(f"{x!r} with dtype {value.dtype} is not a valid array")
    return value


def _shape(x: Any) -> tuple[int, ...]:
    return tuple(getattr(x, "shape", ()))


def array_equal(a1: ArrayLike, a2: ArrayLike, equal_nan: bool = False) -> Array:
    """Whether two arrays have the same shape and equal elements; lists count as arrays.

    Source: `numpy.array_equal`.

    >>> jnp.array_equal(jnp.array([1, 2]), jnp.array([1, 2]))
    Array(True, dtype=bool)
    """
    a1, a2 = _as_array(a1), _as_array(a2)
    if _shape(a1) != _shape(a2):
        return _constant(False)
    return _all_equal(a1, a2, equal_nan)


def array_equiv(a1: ArrayLike, a2: ArrayLike) -> Array:
    """Whether two arrays are equal once broadcast together. Source: `numpy.array_equiv`.

    >>> jnp.array_equiv(jnp.array([1, 1]), 1)
    Array(True, dtype=bool)
    """
    a1, a2 = _as_array(a1), _as_array(a2)
    try:
        np.broadcast_shapes(_shape(a1), _shape(a2))
    except ValueError:
        return _constant(False)
    return _all_equal(a1, a2, False)


def _constant(value: bool) -> Any:
    from ..binding import put

    return put(np.asarray(value))


@eager(static=("equal_nan",))
def _all_equal(a1: Any, a2: Any, equal_nan: bool) -> Any:
    x, y = together("array_equal", a1, a2)
    same = _same(x, y)
    if equal_nan and x.value.type.dtype.is_inexact:
        same = same | ((x != x) & (y != y))
    return emit(ops.reduce_and, same, axes=tuple(range(same.ndim)))


__all__ = [
    "allclose", "array_equal", "array_equiv", "equal", "greater", "greater_equal", "isclose",
    "iscomplex", "isfinite", "isinf", "isnan", "isneginf", "isposinf", "isreal", "less",
    "less_equal", "logical_not", "not_equal",
]  # fmt: skip
