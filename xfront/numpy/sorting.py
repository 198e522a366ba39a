"""Order: sort and its kin, binary search.

NaN is greater than everything, -0 and 0 are equal, complex numbers go by real part, then imaginary.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from xfront_ir import dtypes, ops
from xfront_ir.dtypes import from_numpy

from ..base.dtypes import requested_dtype
from ..binding.annotations import Array, ArrayLike, DTypeLike
from ..eager.dispatch import eager
from ..eager.operands import (
    broadcast_to,
    convert,
    default_int,
    index_of,
    inexact_dtype,
    normalize_axis,
    operand,
    promote,
)
from ..tracing.trace import emit
from ..tracing.tracer import Tracer, as_tracer
from .complexes import imag, real
from .manipulation import cut as cut_axis
from .manipulation import flip, joined, unstack
from .positions import take, take_along_axis
from .ufuncs import like, shaped, where

# --- sort ---------------------------------------------------------------------------------


def _refuse_options(name: str, kind: Any, order: Any) -> None:
    if kind is not None:
        raise TypeError(f"'kind' argument to {name} is not supported. Use stable=True or "
                        "stable=False to specify sort stability.")
    if order is not None:
        raise TypeError(f"'order' argument to {name} is not supported.")


def _along(name: str, a: Any, axis: Any) -> tuple[Tracer, int]:
    """The array and the axis in it; flattened for None."""
    x = operand(name, a)
    if axis is None:
        return shaped(x, (x.size,)), 0
    return x, normalize_axis(name, axis, x.ndim)


@eager(static=("axis", "kind", "order", "stable", "descending"))
def sort(a: ArrayLike, axis: int | None = -1, *, kind: None = None, order: None = None,
         stable: bool = True, descending: bool = False) -> Array:
    """The elements in order along an axis.

    Args:
      axis: the axis; None sorts the flattened array.
      kind, order: not supported.
      stable: whether equal elements keep their order.
      descending: whether the greatest element comes first.
    Raises: ValueError for scalars and axes out of range; TypeError for `kind` and `order`.
    Source: `numpy.sort`.

    >>> jnp.sort(jnp.array([3, 1, 2]))
    Array([1, 2, 3], dtype=int32)
    """
    _refuse_options("sort", kind, order)
    x, at = _along("sort", a, axis)
    (made,) = emit(ops.sort, x, dimension=at, n_keys=1, stable=stable)
    if descending:
        made = emit(ops.reverse, made, axes=(at,))
    return Tracer(made.home, made.value, x.weak)


def places(x: Tracer, axis: int) -> Tracer:
    """The position of each element along an axis."""
    dtype = dtypes.i32 if x.shape[axis] < 2 ** 31 else dtypes.i64
    return emit(ops.iota, dtype=dtype, shape=x.shape, dimension=axis)


@eager(static=("axis", "kind", "order", "stable", "descending", "dtype"))
def argsort(a: ArrayLike, axis: int | None = -1, *, kind: None = None, order: None = None,
            stable: bool = True, descending: bool = False, dtype: DTypeLike | None = None) -> Array:
    """The positions that put the elements in order along an axis; arguments as in `sort`.

    Args:
      dtype: dtype of the positions; None for the default integer.
    Source: `numpy.argsort`.

    >>> jnp.argsort(jnp.array([3, 1, 2]))
    Array([1, 2, 0], dtype=int32)
    """
    _refuse_options("argsort", kind, order)
    x, at = _along("argsort", a, axis)
    index = places(x, at)
    turned = descending and stable         # reversing twice keeps equal elements in their order
    if turned:
        x, index = emit(ops.reverse, x, axes=(at,)), emit(ops.reverse, index, axes=(at,))
    _, made = emit(ops.sort, x, index, dimension=at, n_keys=1, stable=stable)
    if descending:
        made = emit(ops.reverse, made, axes=(at,))
    wanted = default_int() if dtype is None else from_numpy(requested_dtype("argsort", dtype))
    return convert(made, wanted)


@eager(static=("axis", "batch_size"))
def lexsort(keys: Array | Sequence[ArrayLike], axis: int = -1, *, batch_size: int = 16) -> Array:
    """The positions that sort by several keys, of which the last is the primary one.

    Args:
      keys: a sequence of arrays of the same shape, or an array whose rows are keys.
      batch_size: how many keys of one dtype are compared in one sort; the least significant ones
        are sorted by first. Programs with more keys in a sort take longer to compile.
    Raises: TypeError for no keys; ValueError for different shapes and for a `batch_size` below 1.
    Source: `numpy.lexsort`.

    >>> jnp.lexsort((jnp.array([3, 1, 2]), jnp.array([0, 1, 0])))
    Array([2, 0, 1], dtype=int32)
    """
    given = list(keys) if isinstance(keys, (tuple, list)) else list(unstack(as_tracer(keys)))
    xs = [operand("lexsort", k) for k in given]
    if not xs:
        raise TypeError("need sequence of keys with len > 0 in lexsort")
    if any(x.shape != xs[0].shape for x in xs):
        raise ValueError("lexsort: all keys need to be the same shape, got "
                         f"{', '.join(str(x.shape) for x in xs)}")
    if not xs[0].ndim:
        return xs[0].home.literal(np.zeros((), default_int().numpy), ())
    at = normalize_axis("lexsort", axis, xs[0].ndim)
    most = index_of(batch_size, "lexsort: batch_size")
    if most < 1:
        raise ValueError(f"lexsort: batch_size must be positive, got {most}")
    if any(x.value.type.dtype is not xs[0].value.type.dtype for x in xs):
        most = len(xs)
    order = places(xs[0], at)
    for first in range(0, len(xs), most):
        batch = xs[first:first + most][::-1]
        if first:
            batch = [take_along_axis(x, order, at) for x in batch]
        *_, order = emit(ops.sort, *batch, order, dimension=at, n_keys=len(batch), stable=True)
    return convert(order, default_int())


@eager(static=("k", "axis", "mode", "sorted"))
def top_k(a: ArrayLike, k: int, /, *, axis: int = -1, mode: str = "largest", sorted: bool = True
          ) -> tuple[Array, Array]:
    """The k greatest or least elements along an axis, and their positions.

    Args:
      a: array of an ordered dtype. NaN counts as greatest, -0 as less than 0.
      k: a number from 0 to the size of the axis.
      mode: "largest" or "smallest".
      sorted: whether the first in order come first. They do anyway: False is a permission that is
        not used.
    Returns: a pair of arrays of a's shape, with k elements along the axis: values of a's dtype, and
      positions (i32), of equal elements the first ones first.
    Raises: ValueError for another mode, for k and axes out of range and for complex arrays;
      TypeError where `k` is not known while tracing or `sorted` is no bool.
    Source: `numpy.top_k`.

    >>> jnp.top_k(jnp.array([3, 1, 2]), 2, mode="smallest")
    (Array([1, 2], dtype=int32), Array([1, 2], dtype=int32))
    """
    from ..lax.reductions import top_k as greatest  # late: loaded on first use

    if mode not in ("largest", "smallest"):
        raise ValueError(f"top_k: mode must be 'largest' or 'smallest', got {mode!r}")
    if not isinstance(sorted, bool):
        raise TypeError(f"top_k: sorted must be a bool, got {sorted!r}")
    x = operand("top_k", a)
    if mode == "largest":
        values, at = greatest(x, k, axis=axis)
        return values, at
    dtype = x.value.type.dtype
    turned = ops.neg if dtype.is_float else ops.not_
    values, at = greatest(x if dtype.is_complex else emit(turned, x), k, axis=axis)
    return emit(turned, values), at


@eager
def sort_complex(a: ArrayLike) -> Array:
    """The elements in order along the last axis, as complex numbers.

    Source: `numpy.sort_complex`.

    >>> jnp.sort_complex(jnp.array([2 + 1j, 1.]))
    Array([1.+0.j, 2.+1.j], dtype=complex64)
    """
    x = operand("sort_complex", a)
    dtype = dtypes.complex_of(inexact_dtype(x.value.type.dtype))
    (made,) = emit(ops.sort, x, dimension=normalize_axis("sort_complex", -1, x.ndim), n_keys=1,
                   stable=True)
    return convert(made, dtype)


def _parted(x: Tracer, at: int, kth: int) -> Tracer:
    """A sorted axis with the elements after the kth reversed, as a selection leaves them."""
    upper = emit(ops.reverse, cut_axis(x, at, kth + 1, x.shape[at]), axes=(at,))
    return joined([cut_axis(x, at, 0, kth + 1), upper], at)


@eager(static=("kth", "axis"))
def partition(a: ArrayLike, kth: int, axis: int = -1) -> Array:
    """The elements with the kth at its sorted place, none greater before it and none less after it.

    Raises: ValueError for positions and axes out of range; NotImplementedError for complex numbers.
    Source: `numpy.partition`.

    >>> jnp.partition(jnp.array([3, 1, 2]), 0)[0]
    Array(1, dtype=int32)
    """
    x, at = _partition_operand("partition", a, axis)
    kth = normalize_axis("partition", kth, x.shape[at])
    (made,) = emit(ops.sort, x, dimension=at, n_keys=1, stable=True)
    made = _parted(made, at, kth)
    return Tracer(made.home, made.value, x.weak)


@eager(static=("kth", "axis"))
def argpartition(a: ArrayLike, kth: int, axis: int = -1) -> Array:
    """The positions of the elements with the kth at its sorted place, none of a greater element
    before it and none of a lesser one after it; those after it ascend.

    Raises: as `partition`. Source: `numpy.argpartition`.

    >>> jnp.argpartition(jnp.array([3, 1, 2]), 0)[0]
    Array(1, dtype=int32)
    """
    x, at = _partition_operand("argpartition", a, axis)
    kth = normalize_axis("argpartition", kth, x.shape[at])
    _, made = emit(ops.sort, x, places(x, at), dimension=at, n_keys=1, stable=True)
    (upper,) = emit(ops.sort, cut_axis(made, at, kth + 1, made.shape[at]), dimension=at, n_keys=1,
                    stable=True)
    return joined([cut_axis(made, at, 0, kth + 1), upper], at)


def _partition_operand(name: str, a: Any, axis: int) -> tuple[Tracer, int]:
    x, at = _along(name, a, axis)
    if x.value.type.dtype.is_complex:
        raise NotImplementedError(f"{name} for complex dtype is not implemented, got "
                                  f"{x.value.type}.")
    return x, at


# --- search -------------------------------------------------------------------------------

METHODS = ("compare_all", "scan", "scan_unrolled", "sort")
FEW = 32
"""Up to this many sorted elements, comparing all of them is cheaper than a search."""


def _before(x: Tracer, y: Tracer) -> Tracer:
    """Whether x stands before y in order."""
    if x.value.type.dtype.is_complex:
        a, b = as_tracer(real(x)), as_tracer(real(y))
        first, second = _before(a, b), _before(b, a)
        inner = _before(as_tracer(imag(x)), as_tracer(imag(y)))
        return first | ~second & inner
    made = x < y
    if not x.value.type.dtype.is_inexact:
        return made
    return made | (x == x) & (y != y)


@eager(static=("side", "method"))
def searchsorted(a: ArrayLike, v: ArrayLike, side: str = "left", sorter: ArrayLike | None = None, *,
                 method: str = "scan") -> Array:
    """Where values would be put into a sorted array to keep it in order.

    Args:
      a: 1-d array in order, or put in order by the positions `sorter`.
      v: values of any shape.
      side: whether to insert before ("left") or after ("right") equal elements.
      method: how to search: "compare_all", "scan", "scan_unrolled" or "sort".
    Returns: i32 (i64 for long arrays, which need x64) in v's shape, in [0, len(a)].
    Raises: ValueError for other numbers of axes, sides and methods; OverflowError for a of more
      elements than the default integer counts.
    Source: `numpy.searchsorted`.

    >>> jnp.searchsorted(jnp.array([1, 3, 5]), 3, side='right')
    Array(2, dtype=int32)
    """
    if side not in ("left", "right"):
        raise ValueError(f"searchsorted: invalid argument side={side!r}, expected 'left' or "
                         "'right'")
    if method not in METHODS:
        raise ValueError(f"searchsorted: invalid argument method={method!r}, expected one of "
                         f"{list(METHODS)}")
    xs, v = promote("searchsorted", a, v)
    if xs.ndim != 1:
        raise ValueError(f"searchsorted: a should be 1-dimensional, got shape {xs.shape}")
    if sorter is not None:
        xs = as_tracer(take(xs, operand("searchsorted", sorter), 0))
    size, shape = xs.size, v.shape
    values = shaped(v, (v.size,))
    places_dtype = dtypes.i32 if size < 2 ** 31 else dtypes.i64
    if size > np.iinfo(default_int().numpy).max:
        raise OverflowError(f"searchsorted: positions among {size} elements do not fit into "
                            f"{default_int().name}; enable x64")
    if not size or not v.size:
        return xs.home.literal(np.zeros((), places_dtype.numpy), shape)
    if method == "compare_all" or (size <= FEW and method != "sort"):
        made = _compared(as_tracer(xs), values, side)
    elif method == "sort":
        made = _merged(as_tracer(xs), values, side)
    else:
        made = _searched(as_tracer(xs), values, side, method == "scan_unrolled")
    return convert(shaped(made, shape), places_dtype)


def _precedes(x: Tracer, value: Tracer, side: str) -> Tracer:
    """Whether an element stands before the place of the value."""
    return _before(x, value) if side == "left" else ~_before(value, x)


def _compared(xs: Tracer, values: Tracer, side: str) -> Tracer:
    shape = (values.size, xs.size)
    rows = emit(ops.broadcast_in_dim, values, shape=shape, dims=(0,))
    before = _precedes(broadcast_to(xs, shape), rows, side)
    return emit(ops.reduce_sum, convert(before, dtypes.i32), axes=(1,))


def _merged(xs: Tracer, values: Tracer, side: str) -> Tracer:
    """Places by sorting both together: a value's rank among all, less its rank among the values."""
    n, m = xs.size, values.size
    first, second = (values, xs) if side == "left" else (xs, values)
    both = joined([first, second], 0)
    _, order = emit(ops.sort, both, places(both, 0), dimension=0, n_keys=1, stable=True)
    rank = _inverse(order)
    mine = cut_axis(rank, 0, 0, m) if side == "left" else cut_axis(rank, 0, n, n + m)
    _, inner = emit(ops.sort, values, places(values, 0), dimension=0, n_keys=1, stable=True)
    return mine - _inverse(inner)


def _inverse(order: Tracer) -> Tracer:
    """The permutation that undoes another."""
    return emit(ops.sort, order, places(order, 0), dimension=0, n_keys=1, stable=False)[1]


def _searched(xs: Tracer, values: Tracer, side: str, unrolled: bool) -> Tracer:
    """Binary search of all values at once: each step halves the range that is left."""
    from ..lax.control_flow import scan  # late: loaded on first use

    halves, rest = [], xs.size
    while rest > 1:
        halves.append(rest // 2)
        rest -= rest // 2

    def step(found: Any, half: Any) -> Any:
        after = found + broadcast_to(half, found.shape)
        last = take(xs, after - 1, 0, mode="promise_in_bounds")
        return where(_precedes(as_tracer(last), values, side), after, found), None

    found = xs.home.literal(np.int32(0), values.shape)
    if unrolled:
        for half in halves:
            found, _ = step(found, like(found, half))
    else:
        steps = xs.home.literal(np.array(halves, np.int32), (len(halves),))
        found, _ = scan(step, found, steps)
    return step(found, like(found, 1))[0]


@eager(static=("right", "method"))
def digitize(x: ArrayLike, bins: ArrayLike | Sequence[ArrayLike], right: bool = False, *,
             method: str | None = None) -> Array:
    """The number of the bin that each value lies in: 0 before the first edge, len(bins) after all.

    Args:
      bins: 1-d array of edges, ascending or descending.
      right: whether a bin includes its right edge instead of its left one.
      method: as in `searchsorted`.
    Raises: ValueError for edges of more axes.
    Source: `numpy.digitize`.

    >>> jnp.digitize(jnp.array([0.5, 2.5]), jnp.array([0., 1., 2.]))
    Array([1, 3], dtype=int32)
    """
    edges = operand("digitize", bins)
    if edges.ndim != 1:
        raise ValueError(f"digitize: bins must be a 1-dimensional array; got shape {edges.shape}")
    x = operand("digitize", x)
    if x.value.type.dtype.is_complex or edges.value.type.dtype.is_complex:
        raise TypeError("digitize: x and bins may not be complex")
    n = edges.size
    if not n:
        return x.home.literal(np.zeros((), np.int32), x.shape)
    side, method = "left" if right else "right", method or "scan"
    up = searchsorted(edges, x, side, method=method)
    down = searchsorted(flip(edges), x, side, method=method)
    down = n - down
    first, last = (shaped(cut_axis(edges, 0, i, i + 1), ()) for i in (0, n - 1))
    ascending = broadcast_to(first <= last, up.shape)
    return where(ascending, as_tracer(up), down)


__all__ = ["argpartition", "argsort", "digitize", "lexsort", "partition", "searchsorted", "sort",
           "sort_complex", "top_k"]
