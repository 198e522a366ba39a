"""Linear algebra built on sums and products: norms, powers, chains of products.

Matrices are in the last two axes. Factorisations and what is built on them are in `factors.py`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from xfront_ir import ops

from ..base.on_demand import shown as _shown
from ..binding.annotations import Array, ArrayLike, AxisLike, DTypeLike, ShardingLike
from ..eager.dispatch import eager
from ..eager.operands import (
    convert,
    index_of,
    kept_shape,
    listed,
    normalize_axes,
    operand,
    promote_inexact,
)
from ..lax.precision import PrecisionLike
from ..tracing.trace import emit
from ..tracing.tracer import Tracer, as_tracer
from . import contractions, diagonals, manipulation, reductions
from .arithmetic import absolute, divide, multiply, power, root, square
from .contractions import exact_matmul, matmul
from .einstein import einsum
from .factors import (
    cholesky,
    det,
    eig,
    eigh,
    eigvals,
    eigvalsh,
    inv,
    lstsq,
    matrices,
    matrix_rank,
    pinv,
    qr,
    slogdet,
    solve,
    svd,
    svdvals,
    tensorinv,
    tensorsolve,
)
from .manipulation import matrix_transpose, ravel
from .reductions import sum
from .ufuncs import shaped, where

# --- norms --------------------------------------------------------------------------------


def _squares(x: Tracer) -> Array:
    if not x.value.type.dtype.is_complex:
        return square(x)
    return square(emit(ops.real, x)) + square(emit(ops.imag, x))


def _plain(order: Any) -> Any:
    """An order as Python's own number: static floats compare by their bits."""
    return float(order) if isinstance(order, float) else order


def _vector(x: Tracer, order: Any, axes: tuple[int, ...], keepdims: bool) -> Tracer:
    order = _plain(order)

    def total(v: Any) -> Tracer:
        return as_tracer(sum(v, axes, None, None, keepdims))

    if order is None or order == 2:
        return root(total(_squares(x)))
    size = absolute(x)
    if isinstance(order, str):
        raise ValueError(f"Invalid order '{order}' for vector norm: ord must be None or a number.")
    if order == math.inf:
        return as_tracer(reductions.max(size, axes, None, keepdims, 0))
    if order == -math.inf:
        return as_tracer(reductions.min(size, axes, None, keepdims, math.inf))
    if order == 0:
        return total(convert(x != 0, as_tracer(size).value.type.dtype))
    if order == 1:
        return total(as_tracer(size))
    exponent = float(order)
    powers = as_tracer(total(as_tracer(power(size, exponent))))
    nothing = powers == 0     # the derivative there is taken to be 0
    made = power(where(nothing, 1, powers), 1.0 / exponent)
    made = as_tracer(made)
    return where(nothing, math.inf if exponent < 0 else 0, made)


def _matrix(x: Tracer, order: Any, axes: tuple[int, int], keepdims: bool) -> Tracer:
    order = _plain(order)
    row, column = axes
    initial = None if x.size else 0              # the greatest of nothing is 0
    if order in (None, "f", "fro"):
        return root(as_tracer(sum(_squares(x), axes, None, None, keepdims)))
    if order in (2, -2, "nuc"):
        s = svdvals(manipulation.moveaxis(x, axes, (-2, -1)))
        made = as_tracer(sum(s, -1) if order == "nuc" else reductions.min(s, -1) if order == -2 else
                         reductions.max(s, -1, None, False, initial))
        return shaped(made, kept_shape(x.shape, axes)) if keepdims else made
    if order in (1, -1, math.inf, -math.inf):
        summed, other = (row, column) if order in (1, -1) else (column, row)
        sums = sum(absolute(x), summed, None, None, True)
        made = (reductions.min(sums, other, None, True) if order < 0 else
                reductions.max(sums, other, None, True, initial))
        if keepdims:
            return as_tracer(made)
        return shaped(as_tracer(made), tuple([n for i, n in enumerate(x.shape) if i not in axes]))
    raise ValueError(f"Invalid order '{order}' for matrix norm: ord must be None, 1, -1, 2, -2, "
                     "inf, -inf, 'fro' or 'nuc'.")


@eager(static=("ord", "axis", "keepdims"))
def norm(x: ArrayLike, ord: int | str | float | None = None, axis: AxisLike = None,
         keepdims: bool = False) -> Array:
    """Norm of vectors or matrices.

    Args:
      ord: None for the root of the sum of squares; of vectors any number, of matrices "fro", "nuc",
        1, -1, 2, -2, inf, -inf.
      axis: one axis for vectors, two for matrices; None for all, of which `ord` allows one or two.
      keepdims: leave the axes in the result with size 1.
    Returns: real, in x's precision; integers become floats.
    Raises: ValueError for other orders and numbers of axes.
    Source: `numpy.linalg.norm`.

    >>> jnp.linalg.norm(jnp.array([3., 4.]))
    Array(5., dtype=float32)
    """
    (x,) = promote_inexact("norm", x)
    ndim = x.ndim
    if axis is None:
        if ord is None:
            made = root(as_tracer(sum(_squares(as_tracer(ravel(x))))))
            return shaped(made, (1,) * ndim) if keepdims else made
        axes = tuple(range(ndim))
    else:
        axes = tuple([normalize_axes("norm", a, ndim)[0] for a in listed(axis)])
        if len(set(axes)) != len(axes):
            raise ValueError(f"norm: the same axis is given twice in axis={axis}")
    if len(axes) == 1:
        return _vector(x, ord, axes, keepdims)
    if len(axes) == 2:
        return _matrix(x, ord, axes, keepdims)
    raise ValueError(f"Improper number of axes for norm: axis={axes}. Pass one axis to compute a "
                     "vector-norm, or two axes to compute a matrix-norm.")


@eager(static=("axis", "keepdims", "ord"))
def vector_norm(x: ArrayLike, /, *, axis: AxisLike = None, keepdims: bool = False,
                ord: int | str | float = 2) -> Array:
    """Norm of the elements over `axis` (None: all) as one vector; orders as in `norm`.

    Source: `numpy.linalg.vector_norm`.

    >>> jnp.linalg.vector_norm(jnp.array([3., 4.]))
    Array(5., dtype=float32)
    """
    (x,) = promote_inexact("vector_norm", x)
    return _vector(x, ord, normalize_axes("vector_norm", axis, x.ndim), keepdims)


@eager(static=("keepdims", "ord"))
def matrix_norm(x: ArrayLike, /, *, keepdims: bool = False, ord: int | str | float = "fro"
                ) -> Array:
    """Norm of matrices; orders as in `norm`. Source: `numpy.linalg.matrix_norm`.

    >>> jnp.linalg.matrix_norm(jnp.array([[3., 0.], [0., 4.]]))
    Array(5., dtype=float32)
    """
    (x,) = promote_inexact("matrix_norm", x)
    if x.ndim < 2:
        raise ValueError(f"matrix_norm: x must have at least two axes, got shape {x.shape}")
    return _matrix(x, ord, (x.ndim - 2, x.ndim - 1), keepdims)


# --- products -----------------------------------------------------------------------------

def multi_dot(arrays: Sequence[Any], *, precision: PrecisionLike = None) -> Array:
    """The product of two or more matrices, in the cheapest order.

    Args:
      arrays: a sequence of 2-d arrays; the first and the last may be 1-d.
    Raises: ValueError for fewer than two arrays.
    Source: `numpy.linalg.multi_dot`.

    >>> jnp.linalg.multi_dot([jnp.ones((2, 3)), jnp.ones((3, 2)), jnp.ones(2)])
    Array([6., 6.], dtype=float32)
    """
    given = list(arrays)
    if len(given) < 2:
        raise ValueError(f"multi_dot requires at least two arrays; got {len(given)}")
    ndims = [np.ndim(x) for x in given]
    if any(n != 2 for n in ndims[1:-1]) or ndims[0] not in (1, 2) or ndims[-1] not in (1, 2):
        raise ValueError("multi_dot: input arrays must all be two-dimensional, except for the "
                         f"first and last array which may be 1- or 2-dimensional; got {ndims}")
    args: list[Any] = []
    for i, (x, n) in enumerate(zip(given, ndims, strict=True)):
        args += [x, [i, i + 1] if n == 2 else [i + 1] if i == 0 else [i]]
    result = [*([0] if ndims[0] == 2 else []), *([len(given)] if ndims[-1] == 2 else [])]
    return einsum(*args, result, optimize="optimal", precision=precision)


@eager(static=("n",))
def matrix_power(a: ArrayLike, n: int) -> Array:
    """The n-th power of square matrices, by squaring; a negative n takes powers of inverses.

    Integers and bools keep their dtype where n is not negative.

    Raises: TypeError where the matrices are not square.
    Source: `numpy.linalg.matrix_power`.

    >>> jnp.linalg.matrix_power(jnp.array([[1., 1.], [0., 1.]]), 3)
    Array([[1., 3.],
           [0., 1.]], dtype=float32)
    """
    x = operand("matrix_power", a)
    if x.ndim < 2:
        raise TypeError(f"matrix_power: {x.ndim}-dimensional array given. Array must be at least "
                        "two-dimensional")
    if x.shape[-1] != x.shape[-2]:
        raise TypeError("matrix_power: Last 2 dimensions of the array must be square, got "
                        f"{x.shape}")
    n = index_of(n, "n")
    if n < 0:
        x, n = inv(x), -n
    if n == 1:
        return x
    if n == 0:
        return manipulation.broadcast_to(_identity(as_tracer(x)), x.shape)
    made: Any = None
    while True:
        if n & 1:
            made = x if made is None else exact_matmul(made, x)
        n >>= 1
        if not n:
            return made
        x = exact_matmul(x, x)


def _identity(x: Tracer) -> Tracer:
    ones = x.home.literal(np.ones((), x.dtype), (x.shape[-1],))
    return as_tracer(diagonals.diag(ones))


@eager(static=("offset", "dtype"))
def trace(x: ArrayLike, /, *, offset: int = 0, dtype: DTypeLike | None = None) -> Array:
    """The sums of the diagonals of matrices. Source: `numpy.linalg.trace`.

    >>> jnp.linalg.trace(jnp.array([[1., 2.], [3., 4.]]))
    Array(5., dtype=float32)
    """
    return diagonals.trace(x, offset, -2, -1, dtype)


@eager(static=("offset",))
def diagonal(x: ArrayLike, /, *, offset: int = 0) -> Array:
    """The diagonals of matrices. Source: `numpy.linalg.diagonal`.

    >>> jnp.linalg.diagonal(jnp.array([[1., 2.], [3., 4.]]))
    Array([1., 4.], dtype=float32)
    """
    return diagonals.diagonal(x, offset, -2, -1)


@eager
def outer(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """The matrix of products of two vectors' elements. Raises: ValueError where they are not 1-d.

    Source: `numpy.linalg.outer`.

    >>> jnp.linalg.outer(jnp.array([1, 2]), jnp.array([1, 10]))
    Array([[ 1, 10],
           [ 2, 20]], dtype=int32)
    """
    x1, x2 = operand("outer", x1), operand("outer", x2)
    if x1.ndim != 1 or x2.ndim != 1:
        raise ValueError(f"Input arrays must be one-dimensional, but they are {x1.ndim} and "
                         f"{x2.ndim}")
    return contractions.outer(x1, x2)


@eager(static=("axis",))
def cross(x1: ArrayLike, x2: ArrayLike, /, *, axis: int = -1) -> Array:
    """Cross product of vectors of 3 elements along an axis.

    Raises: ValueError for vectors of other sizes.
    Source: `numpy.linalg.cross`.

    >>> jnp.linalg.cross(jnp.array([1., 0., 0.]), jnp.array([0., 1., 0.]))
    Array([0., 0., 1.], dtype=float32)
    """
    x1, x2 = operand("cross", x1), operand("cross", x2)
    if x1.shape[axis] != 3 or x2.shape[axis] != 3:
        raise ValueError("Both input arrays must be (arrays of) 3-dimensional vectors, but they "
                         f"are {x1.shape[axis]} and {x2.shape[axis]} dimensional instead.")
    return contractions.cross(x1, x2, axis=axis)


def tensordot(x1: ArrayLike, x2: ArrayLike, /, *,
              axes: int | Sequence[int] | Sequence[Sequence[int]] = 2,
              precision: PrecisionLike = None, preferred_element_type: DTypeLike | None = None,
              out_sharding: ShardingLike = None) -> Array:
    """As `xfront.numpy.tensordot`. Source: `numpy.linalg.tensordot`.

    >>> jnp.linalg.tensordot(jnp.ones((2, 3)), jnp.ones((3, 2)), axes=1)
    Array([[3., 3.],
           [3., 3.]], dtype=float32)
    """
    return contractions.tensordot(x1, x2, axes, precision=precision,
                                  preferred_element_type=preferred_element_type,
                                  out_sharding=out_sharding)


vecdot = contractions.vecdot


@eager(static=("p",))
def cond(x: ArrayLike, p: float | str | None = None) -> Array:
    """Condition numbers: the norm of order p (None: 2) times that of the inverse.

    Raises: ValueError for matrices without elements.
    Source: `numpy.linalg.cond`.

    >>> jnp.linalg.cond(jnp.array([[2., 0.], [0., 1.]]))
    Array(2., dtype=float32)
    """
    x = matrices("cond", x)
    if not all(x.shape[-2:]):
        raise ValueError(f"cond: the matrices must not be empty, got shape {x.shape}")
    if p in (None, 2, -2):
        s = svdvals(x)
        k = s.shape[-1]
        ends = [emit(ops.slice, s, starts=(*[0] * (s.ndim - 1), i),
                     limits=(*s.shape[:-1], i + 1), strides=(1,) * s.ndim) for i in (0, k - 1)]
        made = divide(*(ends[::-1] if p == -2 else ends))
        return shaped(as_tracer(made), made.shape[:-1])
    return multiply(norm(x, p, (-2, -1)), norm(inv(x), p, (-2, -1)))


__all__ = ["cholesky", "cond", "cross", "det", "diagonal", "eig", "eigh", "eigvals", "eigvalsh",
           "inv", "lstsq", "matmul", "matrix_norm", "matrix_power", "matrix_rank",
           "matrix_transpose", "multi_dot", "norm", "outer", "pinv", "qr", "slogdet", "solve",
           "svd", "svdvals", "tensordot", "tensorinv", "tensorsolve", "trace", "vecdot",
           "vector_norm"]
__dir__ = _shown(globals())
