"""Diagonals and triangles of matrices: the last two axes, unless others are named."""

from __future__ import annotations

from typing import Any

import numpy as np
from xfront_ir import dtypes, ops

from ..binding.annotations import Array, ArrayLike, DTypeLike
from ..eager.dispatch import eager
from ..eager.operands import array_like, convert, index_of, normalize_axis, operand, strong
from ..tracing.trace import emit
from ..tracing.tracer import Tracer, as_tracer
from .manipulation import broadcast_to, moveaxis
from .reductions import sum
from .ufuncs import like, shaped, where


def rows_and_columns(shape: tuple[int, ...]) -> tuple[Tracer, Tracer]:
    """The row and the column of each element of matrices."""
    ndim = len(shape)
    return tuple(emit(ops.iota, dtype=dtypes.i32, shape=shape, dimension=d)
                 for d in (ndim - 2, ndim - 1))  # type: ignore[return-value]


# --- triangles ----------------------------------------------------------------------------

def _triangle(name: str, m: Any, k: Any, lower: bool) -> Tracer:
    x = operand(name, m)
    if x.ndim < 2:
        raise ValueError(f"Argument to {name} must be at least 2D, got shape {x.shape}")
    row, column = rows_and_columns(x.shape[-2:])
    if type(k) is Tracer and k.home.inputs is None:
        by = operand(name, k)
        if by.ndim or not by.value.type.dtype.is_integer:
            raise TypeError(f"{name}: k must be an integer, got {by.value.type}")
        by = emit(ops.broadcast_in_dim, convert(by, dtypes.i32), shape=row.shape, dims=())
        shifted = row + (by if lower else by - 1)
    else:
        k = index_of(k, "k") - (not lower)
        shifted = row + k if k else row
    mask = broadcast_to(shifted >= column, x.shape)
    zero = like(x, 0)
    return where(as_tracer(mask), x, zero) if lower else where(as_tracer(mask), zero, x)


@eager(static=("k",))
def tril(m: ArrayLike, k: int = 0) -> Array:
    """`m` with zeros above the k-th diagonal; `k` may be traced. Raises: ValueError for fewer
    than two axes.

    Source: `numpy.tril`.

    >>> jnp.tril(jnp.array([[1, 2], [3, 4]]))
    Array([[1, 0],
           [3, 4]], dtype=int32)
    """
    return _triangle("tril", m, k, True)


@eager(static=("k",))
def triu(m: ArrayLike, k: int = 0) -> Array:
    """`m` with zeros below the k-th diagonal; `k` may be traced. Raises: ValueError for fewer
    than two axes.

    Source: `numpy.triu`.

    >>> jnp.triu(jnp.array([[1, 2], [3, 4]]))
    Array([[1, 2],
           [0, 4]], dtype=int32)
    """
    return _triangle("triu", m, k, False)


# --- diagonals ----------------------------------------------------------------------------

@eager(static=("offset", "axis1", "axis2"))
def diagonal(a: ArrayLike, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Array:
    """The elements x[..., i, i + offset] of the matrices in two axes.

    Returns: array without the two axes, whose last axis holds the diagonals.
    Raises: ValueError for fewer than two axes, and axes out of range.
    Source: `numpy.diagonal`.

    >>> jnp.diagonal(jnp.array([[1, 2], [3, 4]]))
    Array([1, 4], dtype=int32)
    """
    x = operand("diagonal", a)
    if x.ndim < 2:
        raise ValueError("diagonal requires an array of at least two dimensions, got shape "
                         f"{x.shape}.")
    i, j = (normalize_axis("diagonal", axis, x.ndim) for axis in (axis1, axis2))
    if i == j:
        raise ValueError(f"diagonal: axis1 and axis2 cannot be the same, got {axis1} and {axis2}")
    return _diagonal(as_tracer(moveaxis(x, (i, j), (-2, -1))), offset)


def _diagonal(x: Tracer, offset: int) -> Tracer:
    """Diagonals of matrices in the last two axes: every (columns + 1)-th of the flat elements."""
    offset = index_of(offset, "the diagonal's offset")
    *batch, rows, columns = x.shape
    first = -offset * columns if offset < 0 else offset
    size = max(0, min(rows + min(offset, 0), columns - max(offset, 0)))
    if not size:
        return x.home.literal(np.zeros((), x.dtype), (*batch, 0), x.weak)
    flat = shaped(x, (*batch, rows * columns))
    n = len(batch)
    last = first + (size - 1) * (columns + 1) + 1
    return emit(ops.slice, flat, starts=(0,) * n + (first,), limits=(*batch, last),
                strides=(1,) * n + (columns + 1,))


def matrix_of(x: Tracer, k: int) -> Tracer:
    """Matrices with the vectors in x's last axis on their k-th diagonal."""
    k = index_of(k, "the diagonal's offset k")
    *batch, size = x.shape
    n = size + abs(k)
    first = -k * n if k < 0 else k
    if not size:
        return x.home.literal(np.zeros((), x.dtype), (*batch, n, n), x.weak)
    # in the flattened matrix n zeros follow each element; the end is padded up to n * n elements
    zero = x.home.literal(np.zeros((), x.dtype), ())
    rest = n * n - first - ((size - 1) * (n + 1) + 1)
    none = (0,) * len(batch)
    made = emit(ops.pad, x, zero, low=(*none, first), high=(*none, rest), interior=(*none, n))
    return Tracer(made.home, shaped(made, (*batch, n, n)).value, x.weak)


@eager(static=("k",))
def diag(v: ArrayLike, k: int = 0) -> Array:
    """The matrix with `v` on its k-th diagonal, or the k-th diagonal of a matrix `v`.

    Raises: ValueError where `v` is neither 1-d nor 2-d.
    Source: `numpy.diag`.

    >>> jnp.diag(jnp.array([1, 2]))
    Array([[1, 0],
           [0, 2]], dtype=int32)
    """
    x = operand("diag", v)
    if x.ndim == 1:
        return matrix_of(x, k)
    if x.ndim == 2:
        return _diagonal(x, k)
    raise ValueError(f"diag input must be 1d or 2d, got shape {x.shape}")


@eager(static=("k",))
def diagflat(v: ArrayLike, k: int = 0) -> Array:
    """The matrix with the flattened `v` on its k-th diagonal. Source: `numpy.diagflat`.

    >>> jnp.diagflat(jnp.array([1, 2]), k=1)
    Array([[0, 1, 0],
           [0, 0, 2],
           [0, 0, 0]], dtype=int32)
    """
    x = operand("diagflat", v)
    return strong(matrix_of(shaped(x, (x.size,)), k))


@eager(static=("offset", "axis1", "axis2", "dtype", "out"))
def trace(a: ArrayLike, offset: int | Any = 0, axis1: int = 0, axis2: int = 1,
          dtype: DTypeLike | None = None, out: None = None) -> Array:
    """The sum of the elements x[..., i, i + offset]; dtypes as in `sum`.

    Raises: ValueError for axes out of range; NotImplementedError where `out` is given.
    Source: `numpy.trace`.

    >>> jnp.trace(jnp.array([[1, 2], [3, 4]]))
    Array(5, dtype=int32)
    """
    return sum(diagonal(a, offset, axis1, axis2), -1, dtype, out)


@eager
def _fill_diagonal(a: Any, val: Any) -> Any:
    from .positions import put  # late: loaded on first use

    x = operand("fill_diagonal", a)
    value = operand("fill_diagonal", val)
    shape = x.shape
    n = min(shape)
    if not n:
        return x
    steps = [int(np.prod(shape[i + 1:])) for i in range(len(shape))]
    places = np.arange(n, dtype=np.int32) * np.int32(np.sum(steps))
    value = shaped(value, (value.size,))
    return put(x, places, value, inplace=False)


def fill_diagonal(a: ArrayLike, val: ArrayLike, wrap: bool = False, *, inplace: bool = True
                  ) -> Array:
    """`a` with `val` in the elements a[i, i, ...].

    Args:
      a: array of at least two axes, which must have the same size if there are more than two.
      val: a number, or an array whose values are used in turn and repeated as needed.
      inplace: must be False, since arrays are immutable.
    Raises: NotImplementedError for `inplace` and `wrap`; ValueError where `a` has no diagonal.
    Source: `numpy.fill_diagonal`.

    >>> jnp.fill_diagonal(jnp.zeros((2, 2)), 5., inplace=False)
    Array([[5., 0.],
           [0., 5.]], dtype=float32)
    """
    if inplace:
        raise NotImplementedError("arrays are immutable, must use inplace=False and take the "
                                  "result: fill_diagonal(a, val, inplace=False)")
    if wrap:
        raise NotImplementedError("fill_diagonal: wrap=True is not supported, use wrap=False")
    shape = getattr(array_like("fill_diagonal", a), "shape", ())
    if len(shape) < 2:
        raise ValueError(f"fill_diagonal: array must be at least 2-d, got shape {shape}")
    if len(shape) > 2 and len(set(shape)) > 1:
        raise ValueError("fill_diagonal: All dimensions of input must be of equal length, got "
                         f"shape {shape}")
    return _fill_diagonal(a, val)


__all__ = ["diag", "diagflat", "diagonal", "fill_diagonal", "trace", "tril", "triu"]
