"""Running sums and products along one axis."""

from __future__ import annotations

from typing import Any

import numpy as np
from xfront_ir import ops
from xfront_ir.definition import OpDef
from xfront_ir.dtypes import from_numpy

from ..base.dtypes import requested_dtype
from ..binding.annotations import Array, ArrayLike, DTypeLike
from ..eager.dispatch import eager
from ..eager.operands import (
    cast,
    convert,
    default_int,
    kept_shape,
    normalize_axis,
    operand,
    strong,
)
from ..tracing.trace import emit
from ..tracing.tracer import Tracer
from .reductions import refuse_out, total_dtype, without_nan
from .ufuncs import refuse, shaped

STATIC = ("axis", "dtype", "out")


def _running(name: str, definition: OpDef, a: Any, axis: Any, dtype: Any, out: Any,
             fill: int | None = None) -> Tracer:
    refuse_out(name, out)
    x = operand(name, a)
    own = x.value.type.dtype
    if own.is_key:
        raise refuse(name, x, "numeric or bool")
    if fill is not None:
        x, _ = without_nan(x, fill)
    if axis is None or not x.ndim:
        if axis is not None:
            normalize_axis(name, axis, 1)
        x, axis = shaped(x, (x.size,)), 0
    at = normalize_axis(name, axis, x.ndim)
    if dtype is not None:
        wanted = from_numpy(requested_dtype(name, dtype))
    else:
        wanted = default_int() if own.kind == "bool" else own
    is_bool = wanted.kind == "bool"
    x = cast(x, wanted)
    if is_bool:
        x = convert(x, default_int())
    made = strong(emit(definition, x, axis=at, reverse=False))
    return convert(made, wanted) if is_bool else made


@eager(static=STATIC)
def cumsum(a: ArrayLike, axis: int | None = None, dtype: DTypeLike | None = None, out: None = None
           ) -> Array:
    """Sums of the elements up to each one along `axis`.

    Args:
      axis: one axis; None for the flattened array.
      dtype: dtype of the sums and the result; None for a's, bools as default integers.
    Returns: array of a's shape, or 1-d for `axis=None`.
    Raises: ValueError for axes out of range; NotImplementedError where `out` is given.
    Source: `numpy.cumsum`.

    >>> jnp.cumsum(jnp.array([1, 2, 3]))
    Array([1, 3, 6], dtype=int32)
    """
    return _running("cumsum", ops.cumsum, a, axis, dtype, out)


@eager(static=STATIC)
def cumprod(a: ArrayLike, axis: int | None = None, dtype: DTypeLike | None = None, out: None = None
            ) -> Array:
    """Products of the elements up to each one; as `cumsum`. Source: `numpy.cumprod`.

    >>> jnp.cumprod(jnp.array([1, 2, 3]))
    Array([1, 2, 6], dtype=int32)
    """
    return _running("cumprod", ops.cumprod, a, axis, dtype, out)


@eager(static=STATIC)
def nancumsum(a: ArrayLike, axis: int | None = None, dtype: DTypeLike | None = None,
              out: None = None) -> Array:
    """As `cumsum`, with 0 for NaN. Source: `numpy.nancumsum`.

    >>> jnp.nancumsum(jnp.array([2., jnp.nan, 3.]))
    Array([2., 2., 5.], dtype=float32)
    """
    return _running("nancumsum", ops.cumsum, a, axis, dtype, out, 0)


@eager(static=STATIC)
def nancumprod(a: ArrayLike, axis: int | None = None, dtype: DTypeLike | None = None,
               out: None = None) -> Array:
    """As `cumprod`, with 1 for NaN. Source: `numpy.nancumprod`.

    >>> jnp.nancumprod(jnp.array([2., jnp.nan, 3.]))
    Array([2., 2., 6.], dtype=float32)
    """
    return _running("nancumprod", ops.cumprod, a, axis, dtype, out, 1)


def _cumulative(name: str, what: str, definition: OpDef, x: Any, axis: Any, dtype: Any,
                include_initial: bool, start: int) -> Tracer:
    x = operand(name, x)
    if not x.ndim:
        raise ValueError(f"{name}: the input must have an axis to take a cumulative {what} along, "
                         "got a scalar")
    if axis is None:
        if x.ndim > 1:
            raise ValueError(f"{name}: the input has {x.ndim} axes, so axis must be given; it may "
                             "only be left out for 1-d arrays")
        axis = 0
    if dtype is None:
        dtype = total_dtype(x.value.type.dtype).numpy
    made = _running(name, definition, x, axis, dtype, None)
    if not include_initial:
        return made
    at = normalize_axis(name, axis, x.ndim)
    first = made.home.literal(np.asarray(start, made.dtype), kept_shape(made.shape, (at,)))
    return emit(ops.concatenate, first, made, dimension=at)


@eager(static=("axis", "dtype", "include_initial"))
def cumulative_sum(x: ArrayLike, /, *, axis: int | None = None, dtype: DTypeLike | None = None,
                   include_initial: bool = False) -> Array:
    """Sums of the elements up to each one along `axis`; narrow integers are widened.

    Args:
      x: array with at least one axis.
      axis: one axis; None only for 1-d arrays.
      include_initial: whether to put the sum of no elements, 0, in front.
    Raises: ValueError for scalars, for axes out of range and where `axis` is missing.
    Source: `numpy.cumulative_sum`.

    >>> jnp.cumulative_sum(jnp.array([1, 2, 3]), include_initial=True)
    Array([0, 1, 3, 6], dtype=int32)
    """
    return _cumulative("cumulative_sum", "sum", ops.cumsum, x, axis, dtype, include_initial, 0)


@eager(static=("axis", "dtype", "include_initial"))
def cumulative_prod(x: ArrayLike, /, *, axis: int | None = None, dtype: DTypeLike | None = None,
                    include_initial: bool = False) -> Array:
    """Products of the elements up to each one; as `cumulative_sum`, which begins with 1.

    Source: `numpy.cumulative_prod`.

    >>> jnp.cumulative_prod(jnp.array([1, 2, 3]))
    Array([1, 2, 6], dtype=int32)
    """
    return _cumulative("cumulative_prod", "product", ops.cumprod, x, axis, dtype, include_initial,
                       1)


__all__ = ["cumprod", "cumsum", "cumulative_prod", "cumulative_sum", "nancumprod", "nancumsum"]
