"""Arrays as sets: unique, membership, unions, intersections and differences.

Sizes of results depend on the values: without `size` the values must be known. With `size` results
are cut or filled to it, which works while tracing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple, overload

import numpy as np
from xfront_ir import dtypes, ops

from ..binding.annotations import Array, ArrayLike
from ..eager.dispatch import eager
from ..eager.operands import (
    array_like,
    broadcast_to,
    convert,
    default_int,
    normalize_axis,
    operand,
    promote,
)
from ..running.concrete import known_at_once
from ..tracing.trace import emit
from ..tracing.tracer import Tracer, as_tracer
from .creation import asarray
from .extremes import minimum
from .indexed_updates import AtIndex
from .indexing import LEFT_OUT
from .manipulation import concatenate, cut, joined, moveaxis, ravel
from .positions import known_values, take
from .reductions import any, sum
from .running import cumsum
from .sorting import places, searchsorted
from .ufuncs import like, shaped, where

HINT = "give `size`, the size of its result, while tracing"


def index_of_marks(marks: Tracer, size: int) -> tuple[Tracer, Tracer]:
    """(positions of the first `size` true elements, 0 beyond the last; how many there are)."""
    total = as_tracer(sum(convert(marks, dtypes.i32)))
    if not size:
        return marks.home.literal(np.int32(0), (0,)), total
    rank = as_tracer(cumsum(convert(marks, dtypes.i32)))
    target = where(marks, rank - 1, size)
    zeros = marks.home.literal(np.int32(0), (size,))
    return AtIndex(zeros, target).set(places(marks, 0), mode=LEFT_OUT), total


def _filled(x: Tracer, valid: Tracer, fill: Any) -> Tracer:
    """`x` along axis 0 where valid, else `fill`."""
    fill = broadcast_to(convert(operand("fill_value", fill), x.value.type.dtype), x.shape)
    mask = emit(ops.broadcast_in_dim, valid, shape=x.shape, dims=(0,))
    made = where(mask, x, fill)
    return Tracer(made.home, made.value, x.weak)


def _valid(size: int, total: Tracer) -> Tracer:
    count = emit(ops.iota, dtype=dtypes.i32, shape=(size,), dimension=0)
    return count < broadcast_to(convert(total, dtypes.i32), (size,))


def _new(column: Tracer, equal_nan: bool) -> Tracer:
    """For each element of a sorted array but the first, whether it differs from the one before."""
    n = column.size
    left, right = cut(column, 0, 0, n - 1), cut(column, 0, 1, n)
    differs = left != right
    if equal_nan and column.value.type.dtype.is_inexact:
        both = (left != left) & (right != right)
        differs = differs & ~both
    return differs


def _one_nan(x: Tracer) -> Tracer:
    """Complex numbers with all NaN made the same, so that sorting puts them together."""
    if not x.value.type.dtype.is_complex:
        return x
    return where(x != x, complex(np.nan, np.nan), x)


def _firsts(columns: Sequence[Tracer], equal_nan: bool = True) -> Tracer:
    """Which of sorted rows, given by their columns, differ from the row before."""
    marks = columns[0].home.literal(np.True_, (columns[0].size,))
    if columns[0].size < 2:
        return marks
    differs = None
    for column in columns:
        new = _new(column, equal_nan)
        differs = new if differs is None else differs | new
    assert differs is not None
    return joined([marks.home.literal(np.True_, (1,)), differs], 0)


# --- unique -------------------------------------------------------------------------------

class _Order(NamedTuple):
    """Sorted rows: where each comes from, which differ from the one before, and how many do."""

    order: Any
    marks: Any
    total: Any


def _rows(x: Tracer, axis: int | None) -> Tracer:
    """The elements or slices that `unique` compares, as the rows of a matrix."""
    if axis is None:
        return shaped(x, (x.size, 1))
    moved = moveaxis(x, axis, 0)
    return shaped(as_tracer(moved), (moved.shape[0], moved.size // max(moved.shape[0], 1)))


@eager(static=("axis", "equal_nan"))
def _ordered(ar: Any, axis: int | None, equal_nan: bool) -> Any:
    rows = _one_nan(_rows(operand("unique", ar), axis))
    n, m = rows.shape
    columns = [shaped(cut(rows, 1, i, i + 1), (n,)) for i in range(m)]
    index = emit(ops.iota, dtype=dtypes.i32, shape=(n,), dimension=0)
    *columns, order = emit(ops.sort, *columns, index, dimension=0, n_keys=m, stable=True)
    marks = _firsts(columns, equal_nan)
    return _Order(order, marks, sum(convert(marks, dtypes.i32)))


@eager(static=("axis", "size"))
def _unique(ar: Any, fill_value: Any, order: Any, marks: Any, axis: int | None, size: int) -> Any:
    """(values, index, inverse, counts) of a fixed size."""
    x, order, marks = (operand("unique", v) for v in (ar, order, marks))
    shape, rows = x.shape, _rows(x, axis)
    starts, total = index_of_marks(marks, size)
    valid = _valid(size, total)
    first = take(order, starts, 0, mode="clip")
    values = take(rows, first, 0, mode="clip")
    if fill_value is not None:
        values = _filled(as_tracer(values), valid, fill_value)
    group = cumsum(convert(marks, dtypes.i32)) - 1
    inverse = AtIndex(like(order, 0), order).set(group)
    counts = AtIndex(like(starts, 0), group).add(1, mode=LEFT_OUT)
    kept = shape if axis is None else order.shape
    if axis is None:
        values = shaped(as_tracer(values), (size,))
    else:
        rows = shaped(as_tracer(values), (size, *shape[:axis], *shape[axis + 1:]))
        values = as_tracer(moveaxis(rows, 0, axis))
    values = Tracer(values.home, values.value, x.weak)
    wide = default_int()
    return (values, convert(as_tracer(first), wide), convert(shaped(inverse, kept), wide),
            convert(counts, wide))


@overload
def unique(ar: ArrayLike, return_index: Literal[False] = False,
           return_inverse: Literal[False] = False, return_counts: Literal[False] = False,
           axis: int | None = None, *, equal_nan: bool = True, size: int | None = None,
           fill_value: ArrayLike | None = None, sorted: bool = True) -> Array: ...
@overload
def unique(ar: ArrayLike, return_index: bool = False, return_inverse: bool = False,
           return_counts: bool = False, axis: int | None = None, *, equal_nan: bool = True,
           size: int | None = None, fill_value: ArrayLike | None = None, sorted: bool = True
          ) -> Array | tuple[Array, ...]: ...
@known_at_once
def unique(ar: ArrayLike, return_index: bool = False, return_inverse: bool = False,
           return_counts: bool = False, axis: int | None = None, *, equal_nan: bool = True,
           size: int | None = None, fill_value: ArrayLike | None = None, sorted: bool = True
           ) -> Array | tuple[Array, ...]:
    """The different elements in order, or the different slices along an axis.

    Args:
      return_index: whether to return also the first position of each value.
      return_inverse: whether to return also, in ar's shape, the position of each element in the
        values.
      return_counts: whether to return also how often each value occurs.
      axis: the axis; None for the flattened array.
      equal_nan: whether all NaNs count as one value.
      size: the number of values to return; further ones are left out, missing ones filled.
      fill_value: the value to fill with; None for the first.
      sorted: False allows any order; the values are always in order.
    Returns: the values, or a tuple of the values and the other results.
    Raises: TypeError for lists; ConcretizationTypeError for traced values without `size`.
    Source: `numpy.unique`.

    >>> jnp.unique(jnp.array([3, 1, 3]))
    Array([1, 3], dtype=int32)
    """
    ar = array_like("unique", ar)
    shape = getattr(ar, "shape", ())
    if axis is not None:
        axis = normalize_axis("unique", axis, len(shape))
    if not int(np.prod(shape)) and (axis is None or not shape[axis]):
        made = _none(ar, shape, axis, int(size or 0), fill_value)
    else:
        order, marks, total = _ordered(ar, axis, bool(equal_nan))
        size = _size("unique", size, total, ar)
        made = _unique(ar, fill_value, order, marks, axis, size)
    wanted = [made[0], *[v for v, asked in zip(made[1:], (return_index, return_inverse,
                                                          return_counts), strict=True) if asked]]
    return wanted[0] if len(wanted) == 1 else tuple(wanted)


def _size(name: str, size: int | None, total: Any, *of: Any) -> int:
    """`size` if it is given, else `total`, which must be known.

    Raises: ConcretizationTypeError where it is not given and the arrays are traced.
    """
    if size is not None:
        return int(size)
    for x in of:
        if type(x) is Tracer:
            known_values(name, x, HINT)
    return int(known_values(name, total, HINT))


def _none(ar: Any, shape: tuple[int, ...], axis: int | None, size: int, fill_value: Any) -> tuple:
    """The results of `unique` for an array without elements."""
    if size and fill_value is None:
        raise ValueError("unique: for zero-sized input with nonzero size argument, fill_value must "
                         "be specified")
    from .creation import full

    kept = (size,) if axis is None else (*shape[:axis], size, *shape[axis + 1:])
    number = default_int().numpy
    return (full(kept, 0 if fill_value is None else fill_value, asarray(ar).dtype),
            full((size,), 0, number), full(shape if axis is None else (0,), 0, number),
            full((size,), 0, number))


class UniqueAll(NamedTuple):
    """The results of `unique_all`."""

    values: Any
    indices: Any
    inverse_indices: Any
    counts: Any


class UniqueCounts(NamedTuple):
    """The results of `unique_counts`."""

    values: Any
    counts: Any


class UniqueInverse(NamedTuple):
    """The results of `unique_inverse`."""

    values: Any
    inverse_indices: Any


@known_at_once
def unique_all(x: ArrayLike, /, *, size: int | None = None, fill_value: ArrayLike | None = None
               ) -> UniqueAll:
    """Values, first positions, inverse and counts; see `unique`. NaN are all different.

    Source: `numpy.unique_all`.

    >>> jnp.unique_all(jnp.array([3, 1, 3])).counts
    Array([1, 2], dtype=int32)
    """
    return UniqueAll(*unique(x, True, True, True, equal_nan=False, size=size,
                             fill_value=fill_value))


@known_at_once
def unique_counts(x: ArrayLike, /, *, size: int | None = None, fill_value: ArrayLike | None = None
                  ) -> UniqueCounts:
    """Values and counts; see `unique`. NaN are all different. Source: `numpy.unique_counts`.

    >>> jnp.unique_counts(jnp.array([3, 1, 3])).values
    Array([1, 3], dtype=int32)
    """
    return UniqueCounts(*unique(x, return_counts=True, equal_nan=False, size=size,
                                fill_value=fill_value))


@known_at_once
def unique_inverse(x: ArrayLike, /, *, size: int | None = None, fill_value: ArrayLike | None = None
                   ) -> UniqueInverse:
    """Values and inverse; see `unique`. NaN are all different. Source: `numpy.unique_inverse`.

    >>> jnp.unique_inverse(jnp.array([3, 1, 3])).inverse_indices
    Array([1, 0, 1], dtype=int32)
    """
    return UniqueInverse(*unique(x, return_inverse=True, equal_nan=False, size=size,
                                 fill_value=fill_value))


@known_at_once
def unique_values(x: ArrayLike, /, *, size: int | None = None, fill_value: ArrayLike | None = None
                  ) -> Array:
    """The values; see `unique`. NaN are all different. Source: `numpy.unique_values`.

    >>> jnp.unique_values(jnp.array([3, 1, 3]))
    Array([1, 3], dtype=int32)
    """
    return unique(x, equal_nan=False, size=size, fill_value=fill_value)


# --- membership ---------------------------------------------------------------------------

FEW = 64
"""Up to this many test elements, each is compared with every element."""


@eager(static=("assume_unique", "invert", "method"))
def isin(element: ArrayLike, test_elements: ArrayLike, assume_unique: bool = False,
         invert: bool = False, *, method: str = "auto") -> Array:
    """Which elements occur in another array.

    Args:
      assume_unique: a promise that is not used.
      invert: whether to mark the elements that do not occur instead.
      method: how to search: "auto", "compare_all", "binary_search" or "sort".
    Returns: bools in element's shape.
    Raises: ValueError for other methods.
    Source: `numpy.isin`.

    >>> jnp.isin(jnp.array([1, 2, 3]), jnp.array([2, 4]))
    Array([False,  True, False], dtype=bool)
    """
    if method not in ("auto", "compare_all", "binary_search", "sort"):
        raise ValueError(f"isin: method must be 'auto', 'compare_all', 'binary_search' or 'sort', "
                         f"got {method!r}")
    x, tests = promote("isin", element, test_elements)
    found = _member(x, tests, method)
    return ~found if invert else found


def _member(x: Tracer, tests: Tracer, method: str = "auto") -> Array:
    tests = shaped(tests, (tests.size,))
    if not tests.size:
        return x.home.literal(np.False_, x.shape)
    if method == "compare_all" or (method == "auto" and tests.size <= FEW):
        shape = (*x.shape, tests.size)
        left = emit(ops.broadcast_in_dim, x, shape=shape, dims=tuple(range(x.ndim)))
        return as_tracer(any(left == broadcast_to(tests, shape), -1))
    (tests,) = emit(ops.sort, tests, dimension=0, n_keys=1, stable=False)
    place = searchsorted(tests, x, method="sort" if method == "sort" else "scan")
    place = minimum(place, tests.size - 1)
    return take(tests, place, mode="clip") == x


# --- two sets -----------------------------------------------------------------------------

def _pair(name: str, ar1: Any, ar2: Any) -> list[Any]:
    return [ravel(array_like(name, x)) for x in (ar1, ar2)]


@known_at_once
def union1d(ar1: ArrayLike, ar2: ArrayLike, *, size: int | None = None,
            fill_value: ArrayLike | None = None) -> Array:
    """The elements of either array, in order; `size` and `fill_value` as in `unique`.

    Source: `numpy.union1d`.

    >>> jnp.union1d(jnp.array([1, 2]), jnp.array([2, 4]))
    Array([1, 2, 4], dtype=int32)
    """
    return unique(concatenate(_pair("union1d", ar1, ar2)), size=size, fill_value=fill_value)


@eager(static=("assume_unique",))
def _different(ar1: Any, ar2: Any, assume_unique: bool) -> Any:
    """(the elements of ar1 in order, a mask of those that are not in ar2, their number)."""
    x = operand("setdiff1d", ar1)
    if assume_unique:
        marks = x.home.literal(np.True_, x.shape)
    else:
        (x,) = emit(ops.sort, _one_nan(x), dimension=0, n_keys=1, stable=True)
        marks = _firsts([x])
    first, second = promote("setdiff1d", x, ar2)
    marks = marks & ~_member(first, second)
    return x, marks, sum(convert(marks, dtypes.i32))


@eager(static=("size",))
def _marked(x: Any, marks: Any, fill_value: Any, size: int) -> Any:
    """The first `size` marked elements, then `fill_value` (None: the first of them)."""
    x, marks = operand("take", x), operand("take", marks)
    index, total = index_of_marks(marks, size)
    values = take(x, index, 0, mode="clip")
    if fill_value is None:
        fill_value = take(values, np.zeros(size, np.int32), 0, mode="clip") if size else values
    return _filled(as_tracer(values), _valid(size, total), fill_value)


@known_at_once
def setdiff1d(ar1: ArrayLike, ar2: ArrayLike, assume_unique: bool = False, *,
              size: int | None = None, fill_value: ArrayLike | None = None) -> Array:
    """The elements of `ar1` that are not in `ar2`, in order, each once, in ar1's dtype.

    Args:
      assume_unique: promises that ar1's elements are all different; they then keep their order.
      size, fill_value: as in `unique`; a fill_value of None means 0.
    Source: `numpy.setdiff1d`.

    >>> jnp.setdiff1d(jnp.array([1, 2, 3]), jnp.array([2, 4]))
    Array([1, 3], dtype=int32)
    """
    x, y = _pair("setdiff1d", ar1, ar2)
    if not x.size:
        return _none(x, (0,), None, int(size or 0), 0 if fill_value is None else fill_value)[0]
    values, marks, total = _different(x, y, bool(assume_unique))
    size = _size("setdiff1d", size, total, x, y)
    return _marked(values, marks, 0 if fill_value is None else fill_value, size)


@eager
def _shared(ar1: Any, ar2: Any) -> Any:
    """(elements of ar1 in order, where they come from, which are in ar2 too, how many are)."""
    x, y = promote("intersect1d", ar1, ar2)
    xs, order = emit(ops.sort, x, places(x, 0), dimension=0, n_keys=1, stable=True)
    marks = _firsts([xs]) & _member(xs, y)
    return xs, order, marks, sum(convert(marks, dtypes.i32))


@eager(static=("size",))
def _intersection(ar1: Any, ar2: Any, fill_value: Any, xs: Any, order: Any, marks: Any, size: int
                  ) -> Any:
    x, y = promote("intersect1d", ar1, ar2)
    xs, order, marks = (operand("intersect1d", v) for v in (xs, order, marks))
    index, total = index_of_marks(marks, size)
    valid = _valid(size, total)
    values = take(xs, index, 0, mode="clip")
    first = take(values, np.zeros(size, np.int32), 0, mode="clip") if size else values
    made = _filled(as_tracer(values), valid, first if fill_value is None else fill_value)
    of_x = _filled(as_tracer(take(order, index, 0, mode="clip")), valid, x.size)
    ys, order = emit(ops.sort, y, places(y, 0), dimension=0, n_keys=1, stable=True)
    of_y = take(order, searchsorted(ys, values), 0, mode="clip")
    of_y = _filled(as_tracer(of_y), valid, y.size)
    return made, convert(of_x, default_int()), convert(of_y, default_int())


@overload
def intersect1d(ar1: ArrayLike, ar2: ArrayLike, assume_unique: bool = False,
                return_indices: Literal[False] = False, *, size: int | None = None,
                fill_value: ArrayLike | None = None) -> Array: ...
@overload
def intersect1d(ar1: ArrayLike, ar2: ArrayLike, assume_unique: bool = False, *,
                return_indices: Literal[True], size: int | None = None,
                fill_value: ArrayLike | None = None) -> tuple[Array, Array, Array]: ...
@overload
def intersect1d(ar1: ArrayLike, ar2: ArrayLike, assume_unique: bool, return_indices: Literal[True],
                *, size: int | None = None, fill_value: ArrayLike | None = None
               ) -> tuple[Array, Array, Array]: ...
@overload
def intersect1d(ar1: ArrayLike, ar2: ArrayLike, assume_unique: bool = False,
                return_indices: bool = False, *, size: int | None = None,
                fill_value: ArrayLike | None = None) -> Array | tuple[Array, Array, Array]: ...
@known_at_once
def intersect1d(ar1: ArrayLike, ar2: ArrayLike, assume_unique: bool = False,
                return_indices: bool = False, *, size: int | None = None,
                fill_value: ArrayLike | None = None) -> Array | tuple[Array, Array, Array]:
    """The elements that are in both arrays, in order.

    Args:
      assume_unique: a promise that is not used.
      return_indices: whether to return also their first positions in `ar1` and in `ar2`, filled
        with the sizes of these.
      size, fill_value: as in `unique`.
    Source: `numpy.intersect1d`.

    >>> jnp.intersect1d(jnp.array([1, 2, 3]), jnp.array([2, 3, 4]))
    Array([2, 3], dtype=int32)
    """
    x, y = _pair("intersect1d", ar1, ar2)
    if not x.size or not y.size:
        made = _none(concatenate([x, y]), (0,), None, int(size or 0),
                     0 if fill_value is None else fill_value)
        made = made[0], made[1] + x.size, made[1] + y.size
    else:
        xs, order, marks, total = _shared(x, y)
        size = _size("intersect1d", size, total, x, y)
        made = _intersection(x, y, fill_value, xs, order, marks, size)
    return tuple(made) if return_indices else made[0]


@eager
def _exclusive(ar1: Any, ar2: Any) -> Any:
    """(elements of both in order, which are in one only, how many are)."""
    given = [_one_nan(x) for x in promote("setxor1d", ar1, ar2)]
    values, marks = [], []
    for x, other in zip(given, given[::-1], strict=True):
        (x,) = emit(ops.sort, x, dimension=0, n_keys=1, stable=True)
        values.append(x)
        marks.append(_firsts([x]) & ~_member(x, other))
    kept = joined(marks, 0)
    both, out = emit(ops.sort, joined(values, 0), convert(~kept, dtypes.i32),
                     dimension=0, n_keys=1, stable=True)
    return both, out == 0, sum(convert(kept, dtypes.i32))


@known_at_once
def setxor1d(ar1: ArrayLike, ar2: ArrayLike, assume_unique: bool = False, *,
             size: int | None = None, fill_value: ArrayLike | None = None) -> Array:
    """The elements that are in exactly one of the arrays, in order.

    Args:
      assume_unique: a promise that is not used.
      size, fill_value: as in `unique`.
    Source: `numpy.setxor1d`.

    >>> jnp.setxor1d(jnp.array([1, 2, 3]), jnp.array([2, 4]))
    Array([1, 3, 4], dtype=int32)
    """
    x, y = _pair("setxor1d", ar1, ar2)
    if not x.size or not y.size:
        return unique(concatenate([x, y]), size=size, fill_value=fill_value)
    values, marks, total = _exclusive(x, y)
    return _marked(values, marks, fill_value, _size("setxor1d", size, total, x, y))


__all__ = ["intersect1d", "isin", "setdiff1d", "setxor1d", "union1d", "unique", "unique_all",
           "unique_counts", "unique_inverse", "unique_values"]
