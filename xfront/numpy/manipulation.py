"""Shapes and axes, joining, splitting and reversing: elements move, none is computed.

Weak types are kept. Padding and edits (append, delete, ...) are in `editing.py`, diagonals and
triangles in `diagonals.py`, `repeat` and `roll` in `repeating.py`.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from xfront_ir import ops
from xfront_ir.dtypes import from_numpy

from ..base.dtypes import requested_dtype
from ..binding.annotations import Array, ArrayLike, AxisLike, DTypeLike, ShapeLike, ShardingLike
from ..eager import operands
from ..eager.dispatch import eager
from ..eager.operands import (
    SCALARS,
    are_sizes,
    array_like,
    cast,
    convert,
    index_of,
    ir_dtype,
    listed,
    normalize_axis,
    operand,
    promoted_dtype,
)
from ..tracing.trace import emit, state
from ..tracing.tracer import Tracer, as_tracer
from ..values.arguments import at_home
from .ufuncs import shaped

# --- shape --------------------------------------------------------------------------------


def dims_of(name: str, shape: Any) -> tuple[int, ...]:
    """A shape as a tuple of ints, one of which may be -1."""
    given = shape if are_sizes(shape) else (shape,)
    return tuple([d if type(d) is int else index_of(d, f"{name}: a size") for d in given])


def _completed(shape: tuple[int, ...], wanted: tuple[int, ...]) -> tuple[int, ...]:
    """`wanted` with its -1 filled in. Raises: TypeError where the sizes do not match."""
    size = math.prod(shape)
    if -1 in wanted:
        if wanted.count(-1) > 1:
            raise TypeError(f"reshape: can only specify one unknown axis size with a -1 value, got "
                            f"{wanted}")
        known = -math.prod(wanted)
        if known > 0 and size % known == 0:
            return tuple([size // known if d == -1 else d for d in wanted])
        if known == 0 and size == 0:
            return tuple([0 if d == -1 else d for d in wanted])
    elif math.prod(wanted) == size and all(d >= 0 for d in wanted):
        return wanted
    raise TypeError(f"cannot reshape array of shape {shape} (size {size}) into shape {wanted}: the "
                    "number of elements must not change")


@eager(static=("shape", "order", "copy", "out_sharding"))
def reshape(a: ArrayLike, shape: ShapeLike, order: str = "C", *, copy: bool | None = None,
            out_sharding: ShardingLike = None) -> Array:
    """The elements of `a`, in order, in another shape.

    Args:
      shape: ints; one may be -1 and is then computed.
      order: "C" counts the last axis fastest, "F" the first.
      copy: has no effect, since arrays never change and a copy cannot be told from a view.
    Raises: TypeError where the sizes do not match; NotImplementedError for order "A".
    Source: `numpy.reshape`.

    >>> jnp.reshape(jnp.arange(4), (2, 2))
    Array([[0, 1],
           [2, 3]], dtype=int32)
    """
    at_home("reshape", out_sharding)
    x = operand("reshape", a)
    wanted = _completed(x.shape, dims_of("reshape", shape))
    if order == "C":
        return shaped(x, wanted)
    if order != "F":
        if order == "A":
            raise NotImplementedError("reshape: order 'A' depends on memory layout, which arrays "
                                      "do not have; write 'C' or 'F'")
        raise ValueError(f"reshape: order must be 'C' or 'F', got {order!r}")
    return transpose(shaped(as_tracer(transpose(x)), wanted[::-1]))


@eager(static=("order", "out_sharding"))
def ravel(a: ArrayLike, order: str = "C", *, out_sharding: ShardingLike = None) -> Array:
    """The elements as a 1-d array, in order "C" or "F". Source: `numpy.ravel`.

    >>> jnp.ravel(jnp.array([[1, 2], [3, 4]]))
    Array([1, 2, 3, 4], dtype=int32)
    """
    at_home("ravel", out_sharding)
    if order == "K":
        raise NotImplementedError("ravel: order 'K' depends on memory layout, which arrays do not "
                                  "have; write 'C' or 'F'")
    x = operand("ravel", a)
    return reshape(x, (x.size,), order)


@eager(static=("axis",))
def expand_dims(a: ArrayLike, axis: AxisLike) -> Array:
    """`a` with new axes of size 1 at the positions `axis` of the result.

    Raises: ValueError for axes out of range or named twice.
    Source: `numpy.expand_dims`.

    >>> jnp.expand_dims(jnp.array([1, 2]), 0)
    Array([[1, 2]], dtype=int32)
    """
    x = operand("expand_dims", a)
    added = listed(axis)
    ndim = x.ndim + len(added)
    axes = [normalize_axis("expand_dims", i, ndim) for i in added]
    if len(set(axes)) != len(axes):
        raise ValueError(f"expand_dims: the same axis is given twice in axis={axis}")
    sizes = iter(x.shape)
    return shaped(x, tuple([1 if i in axes else next(sizes) for i in range(ndim)]))


@eager(static=("axis",))
def squeeze(a: ArrayLike, axis: AxisLike = None) -> Array:
    """`a` without axes of size 1: all, or those of `axis`.

    Raises: ValueError where an axis has another size or is out of range.
    Source: `numpy.squeeze`.

    >>> jnp.squeeze(jnp.array([[1, 2]]))
    Array([1, 2], dtype=int32)
    """
    x = operand("squeeze", a)
    if axis is None:
        return shaped(x, tuple([n for n in x.shape if n != 1]))
    axes = operands.normalize_axes("squeeze", axis, x.ndim)
    if any(x.shape[i] != 1 for i in axes):
        raise ValueError("cannot select an axis to squeeze out which has size not equal to one, "
                         f"got shape={x.shape} and axis={axis}")
    return shaped(x, tuple([n for i, n in enumerate(x.shape) if i not in axes]))


def _at_least(name: str, arrays: tuple, rule: Any) -> Any:
    made = [_with_shape_of(array_like(name, x), rule) for x in arrays]
    return made[0] if len(made) == 1 else made


def _with_shape_of(x: Any, rule: Any) -> Any:
    return reshape(x, rule(getattr(x, "shape", ())))


def atleast_1d(*arys: ArrayLike) -> Array:
    """Each array with at least one axis; a list for several. Source: `numpy.atleast_1d`.

    >>> jnp.atleast_1d(1.)
    Array([1.], dtype=float32, weak_type=True)
    """
    return _at_least("atleast_1d", arys, lambda s: s or (1,))


def atleast_2d(*arys: ArrayLike) -> Array:
    """Each array with at least two axes, new ones in front; a list for several.

    Source: `numpy.atleast_2d`.

    >>> jnp.atleast_2d(jnp.array([1, 2]))
    Array([[1, 2]], dtype=int32)
    """
    return _at_least("atleast_2d", arys, lambda s: (1,) * (2 - len(s)) + s)


def atleast_3d(*arys: ArrayLike) -> Array:
    """Each array with at least three axes; (n,) becomes (1, n, 1), (m, n) becomes (m, n, 1).

    Source: `numpy.atleast_3d`.

    >>> jnp.atleast_3d(jnp.array([1, 2])).shape
    (1, 2, 1)
    """
    return _at_least("atleast_3d", arys, lambda s: (
        s if len(s) > 2 else (*s, 1) if len(s) == 2 else (1, *(s or (1,)), 1)))


# --- order of axes ------------------------------------------------------------------------

def permuted(x: Tracer, order: Sequence[int]) -> Tracer:
    """`x` with its axes in another order."""
    if all(i == d for i, d in enumerate(order)):
        return x
    return emit(ops.transpose, x, permutation=tuple(order))


@eager(static=("axes",))
def transpose(a: ArrayLike, axes: Sequence[int] | None = None) -> Array:
    """`a` with its axes in the order `axes`; reversed for None.

    Raises: TypeError where `axes` does not name each axis once.
    Source: `numpy.transpose`.

    >>> jnp.transpose(jnp.array([[1, 2], [3, 4]]))
    Array([[1, 3],
           [2, 4]], dtype=int32)
    """
    x = operand("transpose", a)
    if axes is None:
        return permuted(x, range(x.ndim)[::-1])
    order = [normalize_axis("transpose", i, x.ndim) for i in axes]
    if sorted(order) != list(range(x.ndim)):
        raise TypeError("transpose permutation isn't a permutation of operand dimensions, got "
                        f"permutation {tuple(axes)} for operand shape {x.shape}")
    return permuted(x, order)


@eager(static=("axes",))
def permute_dims(a: ArrayLike, /, axes: Sequence[int]) -> Array:
    """`a` with its axes in the order `axes`; see `transpose`. Source: `numpy.permute_dims`.

    >>> jnp.permute_dims(jnp.zeros((2, 3, 4)), (2, 0, 1)).shape
    (4, 2, 3)
    """
    return transpose(a, axes)


@eager
def matrix_transpose(x: ArrayLike, /) -> Array:
    """`x` with its last two axes swapped. Raises: ValueError where it has fewer.

    Source: `numpy.matrix_transpose`.

    >>> jnp.matrix_transpose(jnp.array([[1, 2], [3, 4]]))
    Array([[1, 3],
           [2, 4]], dtype=int32)
    """
    x = operand("matrix_transpose", x)
    if x.ndim < 2:
        raise ValueError("x must be at least two-dimensional for matrix_transpose; got "
                         f"ndim={x.ndim}")
    return permuted(x, (*range(x.ndim - 2), x.ndim - 1, x.ndim - 2))


@eager(static=("axis1", "axis2"))
def swapaxes(a: ArrayLike, axis1: int, axis2: int) -> Array:
    """`a` with two axes swapped. Raises: ValueError where one is out of range.

    Source: `numpy.swapaxes`.

    >>> jnp.swapaxes(jnp.zeros((2, 3, 4)), 0, 2).shape
    (4, 3, 2)
    """
    x = operand("swapaxes", a)
    i, j = (normalize_axis("swapaxes", n, x.ndim) for n in (axis1, axis2))
    order = list(range(x.ndim))
    order[i], order[j] = j, i
    return permuted(x, order)


@eager(static=("source", "destination"))
def moveaxis(a: ArrayLike, source: int | Sequence[int], destination: int | Sequence[int]) -> Array:
    """`a` with the axes `source` moved to the positions `destination`, the others in order.

    Raises: ValueError where they differ in number, or are out of range.
    Source: `numpy.moveaxis`.

    >>> jnp.moveaxis(jnp.zeros((2, 3, 4)), 0, -1).shape
    (3, 4, 2)
    """
    x = operand("moveaxis", a)
    pairs = []
    for given in (source, destination):
        pairs.append([normalize_axis("moveaxis", i, x.ndim) for i in listed(given)])
    of, to = pairs
    if len(of) != len(to):
        raise ValueError(f"moveaxis: inconsistent number of elements: source has {len(of)} and "
                         f"destination {len(to)}")
    if len(set(of)) != len(of) or len(set(to)) != len(to):
        raise ValueError(f"moveaxis: repeated axis in source={source}, destination={destination}")
    order = [i for i in range(x.ndim) if i not in of]
    for at, i in sorted(zip(to, of, strict=True)):
        order.insert(at, i)
    return permuted(x, order)


@eager(static=("axis", "start"))
def rollaxis(a: ArrayLike, axis: int, start: int = 0) -> Array:
    """`a` with one axis moved in front of the axis `start`. Source: `numpy.rollaxis`.

    >>> jnp.rollaxis(jnp.zeros((2, 3, 4)), 2).shape
    (4, 2, 3)
    """
    x = operand("rollaxis", a)
    at = normalize_axis("rollaxis", axis, x.ndim)
    if not -x.ndim <= start <= x.ndim:
        raise ValueError(f"rollaxis: start={start} must satisfy {-x.ndim}<=start<={x.ndim}")
    start += x.ndim if start < 0 else 0
    return moveaxis(x, at, start - (start > at))


# --- broadcasting -------------------------------------------------------------------------

@eager(static=("shape", "out_sharding"))
def broadcast_to(array: ArrayLike, shape: ShapeLike, *, out_sharding: ShardingLike = None) -> Array:
    """`array` repeated along new leading axes and axes of size 1.

    Raises: ValueError where `array` does not broadcast to `shape`.
    Source: `numpy.broadcast_to`.

    >>> jnp.broadcast_to(jnp.array([1, 2]), (2, 2))
    Array([[1, 2],
           [1, 2]], dtype=int32)
    """
    at_home("broadcast_to", out_sharding)
    x = operand("broadcast_to", array)
    wanted = dims_of("broadcast_to", shape)
    own = x.shape
    if len(own) > len(wanted):
        raise ValueError("broadcast_to: cannot broadcast to a shape with fewer axes: got an array "
                         f"of shape {own} and shape={wanted}")
    if any(n not in (1, m) for n, m in zip(own[::-1], wanted[::-1], strict=False)):
        raise ValueError(f"broadcast_to: incompatible shapes for broadcasting: {own} and requested "
                         f"shape {wanted}")
    return operands.broadcast_to(x, wanted)


def broadcast_shapes(*shapes: int | Sequence[int]) -> tuple[int, ...]:
    """The shape that arrays of these shapes broadcast to; an int stands for one axis.

    Raises: ValueError where the shapes do not broadcast.
    Source: `numpy.broadcast_shapes`.

    >>> jnp.broadcast_shapes((3, 1), (4,))
    (3, 4)
    """
    if not shapes:
        return ()
    given = [dims_of("broadcast_shapes", s) for s in shapes]
    try:
        return operands.broadcast_shapes("broadcast_shapes", given)
    except TypeError as error:
        raise ValueError(str(error)) from None


@eager
def _broadcast_arrays(arrays: Sequence[Any]) -> list[Tracer]:
    given = [operand("broadcast_arrays", x) for x in arrays]
    shape = broadcast_shapes(*[x.shape for x in given])
    return [operands.broadcast_to(x, shape) for x in given]


def broadcast_arrays(*args: ArrayLike) -> list[Array]:
    """The arrays, each broadcast to the shape of all. Source: `numpy.broadcast_arrays`.

    >>> jnp.broadcast_arrays(jnp.array([1, 2]), 3)
    [Array([1, 2], dtype=int32), Array([3, 3], dtype=int32, weak_type=True)]
    """
    return list(_broadcast_arrays(list(args))) if args else []


# --- joining ------------------------------------------------------------------------------

def _members(name: str, arrays: Any) -> tuple[Tracer | None, list[Any]]:
    """(array whose first axis is to be joined, None) or the members of a sequence."""
    if isinstance(arrays, (list, tuple)):
        if not arrays:
            raise ValueError(f"Need at least one array to {name}.")
        return None, [array_like(name, x) for x in arrays]
    return operand(name, arrays), []


def _together(name: str, xs: list[Any], dtype: Any) -> list[Tracer]:
    """Tracers of the same dtype: `dtype`, or the one that they promote to."""
    if dtype is not None:
        wanted = from_numpy(requested_dtype(name, dtype))
        return [cast(operand(name, x), wanted) for x in xs]
    found, weak = promoted_dtype(name, [ir_dtype(x) for x in xs])
    target = state.current
    assert target is not None
    return [target.literal(np.asarray(x, found.numpy), (), weak) if type(x) in SCALARS
            else convert(target.lift(x), found, weak) for x in xs]


def joined(xs: Sequence[Array], axis: int) -> Tracer:
    """Traced arrays of the same dtype side by side along an axis."""
    return as_tracer(xs[0]) if len(xs) == 1 else emit(ops.concatenate, *xs, dimension=axis)


@eager(static=("axis", "dtype"), members=True)
def concatenate(arrays: Array | Sequence[ArrayLike], axis: int | None = 0,
                dtype: DTypeLike | None = None) -> Array:
    """Arrays side by side along an axis that they have.

    Args:
      arrays: a sequence of arrays, or one array whose rows are joined.
      axis: None joins the flattened arrays.
      dtype: dtype of the result; None for the one that they promote to.
    Raises: ValueError for no arrays, scalars and axes out of range; TypeError for lists of numbers
      and where other axes differ in size.
    Source: `numpy.concatenate`.

    >>> jnp.concatenate([jnp.array([1, 2]), jnp.array([3])])
    Array([1, 2, 3], dtype=int32)
    """
    whole, given = _members("concatenate", arrays)
    if whole is not None:
        if whole.ndim < 2 and (axis is not None or not whole.ndim):
            raise ValueError("Zero-dimensional arrays cannot be concatenated; use stack")
        (whole,) = _together("concatenate", [whole], dtype)
        if axis is None:
            return shaped(whole, (whole.size,))
        at = normalize_axis("concatenate", axis, whole.ndim - 1)
        moved = moveaxis(whole, 0, at)
        merged = moved.shape[at] * moved.shape[at + 1]
        return shaped(as_tracer(moved), (*moved.shape[:at], merged, *moved.shape[at + 2:]))
    xs = _together("concatenate", given, dtype)
    if axis is None:
        return joined([shaped(x, (x.size,)) for x in xs], 0)
    if any(not x.ndim for x in xs):
        raise ValueError("Zero-dimensional arrays cannot be concatenated; use stack")
    at = normalize_axis("concatenate", axis, xs[0].ndim)
    first = xs[0].shape
    for x in xs:
        if x.ndim != len(first):
            raise TypeError("concatenate: cannot concatenate arrays with different numbers of "
                            f"dimensions: got shapes {', '.join(str(v.shape) for v in xs)}")
        if x.shape[:at] + x.shape[at + 1:] != first[:at] + first[at + 1:]:
            raise TypeError(f"concatenate: arrays may only differ in size along axis {at}, got "
                            f"shapes {', '.join(str(v.shape) for v in xs)}")
    return joined(xs, at)


@eager(static=("axis",), members=True)
def concat(arrays: Array | Sequence[ArrayLike], /, *, axis: int | None = 0) -> Array:
    """As `concatenate`. Source: `numpy.concat`.

    >>> jnp.concat([jnp.array([1, 2]), jnp.array([3])])
    Array([1, 2, 3], dtype=int32)
    """
    return concatenate(arrays, axis)


@eager(static=("axis", "out", "dtype"), members=True)
def stack(arrays: Array | Sequence[ArrayLike], axis: int = 0, out: None = None,
          dtype: DTypeLike | None = None) -> Array:
    """Arrays of the same shape side by side along a new axis.

    Args:
      axis: position of the new axis in the result.
      dtype: dtype of the result; None for the one that they promote to.
    Raises: ValueError for no arrays, different shapes and axes out of range; NotImplementedError
      where `out` is given.
    Source: `numpy.stack`.

    >>> jnp.stack([jnp.array([1, 2]), jnp.array([3, 4])])
    Array([[1, 2],
           [3, 4]], dtype=int32)
    """
    if out is not None:
        raise NotImplementedError("The 'out' argument to stack is not supported")
    whole, given = _members("stack", arrays)
    if whole is not None:
        if not whole.ndim:
            raise ValueError("Need at least one array to stack: got a scalar")
        return moveaxis(_together("stack", [whole], dtype)[0], 0, axis)
    xs = _together("stack", given, dtype)
    shape = xs[0].shape
    if any(x.shape != shape for x in xs):
        raise ValueError("All input arrays must have the same shape. Got "
                         f"{', '.join(str(x.shape) for x in xs)}")
    at = normalize_axis("stack", axis, len(shape) + 1)
    one = (*shape[:at], 1, *shape[at:])
    return joined([shaped(x, one) for x in xs], at)


def _rows(tup: Any, least: Any) -> Any:
    """The members of a sequence, each with at least some axes."""
    if isinstance(tup, (list, tuple)):
        return [least(x) for x in tup]
    return [least(x) for x in unstack(tup)]


@eager(static=("dtype",), members=True)
def vstack(tup: Array | Sequence[ArrayLike], dtype: DTypeLike | None = None) -> Array:
    """Arrays below one another; 1-d arrays are rows. Source: `numpy.vstack`.

    >>> jnp.vstack([jnp.array([1, 2]), jnp.array([3, 4])])
    Array([[1, 2],
           [3, 4]], dtype=int32)
    """
    return concatenate(_rows(tup, atleast_2d), 0, dtype)


@eager(static=("dtype",), members=True)
def hstack(tup: Array | Sequence[ArrayLike], dtype: DTypeLike | None = None) -> Array:
    """Arrays side by side: along axis 1, or 0 where they are 1-d. Source: `numpy.hstack`.

    >>> jnp.hstack([jnp.array([1, 2]), jnp.array([3])])
    Array([1, 2, 3], dtype=int32)
    """
    rows = _rows(tup, atleast_1d)
    return concatenate(rows, 0 if rows and rows[0].ndim == 1 else 1, dtype)


@eager(static=("dtype",), members=True)
def dstack(tup: Array | Sequence[ArrayLike], dtype: DTypeLike | None = None) -> Array:
    """Arrays behind one another, along axis 2; (n,) counts as (1, n, 1). Source: `numpy.dstack`.

    >>> jnp.dstack([jnp.array([1, 2]), jnp.array([3, 4])])
    Array([[[1, 3],
            [2, 4]]], dtype=int32)
    """
    return concatenate(_rows(tup, atleast_3d), 2, dtype)


@eager(members=True)
def column_stack(tup: Array | Sequence[ArrayLike]) -> Array:
    """Arrays side by side; 1-d arrays are columns. Source: `numpy.column_stack`.

    >>> jnp.column_stack([jnp.array([1, 2]), jnp.array([3, 4])])
    Array([[1, 3],
           [2, 4]], dtype=int32)
    """
    def column(x: Any) -> Any:
        x = atleast_1d(x)
        return expand_dims(x, 1) if x.ndim == 1 else x

    return concatenate(_rows(tup, column), 1)


def _block(x: Any) -> tuple[Any, int]:
    """The array of a nested list, and the depth of the list."""
    if isinstance(x, tuple):
        raise TypeError("block: arrays must be nested in lists, not tuples, got a tuple; write "
                        "[...]")
    if not isinstance(x, list):
        return operand("block", x), 0
    if not x:
        raise ValueError("block: lists cannot be empty")
    parts = [_block(part) for part in x]
    depth = parts[0][1]
    if any(d != depth for _, d in parts):
        raise ValueError("block: all arrays must be nested equally deep, got depths "
                         f"{sorted({d for _, d in parts})}")
    ndim = max(depth + 1, *(part.ndim for part, _ in parts))
    full = [shaped(part, (1,) * (ndim - part.ndim) + part.shape) for part, _ in parts]
    return concatenate(full, -1 - depth), depth + 1


@eager
def block(arrays: Any) -> Array:
    """An array put together of nested lists of blocks; the innermost join along the last axis.

    Raises: ValueError where lists are empty or of different depths; TypeError where sizes differ.
    Source: `numpy.block`.

    >>> jnp.block([[jnp.ones((1, 1)), jnp.zeros((1, 2))]])
    Array([[1., 0., 0.]], dtype=float32)
    """
    return _block(arrays)[0]


# --- splitting ----------------------------------------------------------------------------

def cut(x: Tracer, axis: int, start: int, stop: int, step: int = 1) -> Tracer:
    """Elements start, start + step, ... below stop along an axis."""
    shape = x.shape
    if start == 0 and stop == shape[axis] and step == 1:
        return x
    starts, limits, strides = [0] * len(shape), list(shape), [1] * len(shape)
    starts[axis], limits[axis], strides[axis] = start, stop, step
    return emit(ops.slice, x, starts=tuple(starts), limits=tuple(limits), strides=tuple(strides))


@eager(static=("axis",))
def unstack(x: ArrayLike, /, *, axis: int = 0) -> tuple[Array, ...]:
    """The slices along an axis, without it: a tuple.

    Raises: ValueError for scalars and axes out of range.
    Source: `numpy.unstack`.

    >>> jnp.unstack(jnp.array([[1, 2], [3, 4]]))
    (Array([1, 2], dtype=int32), Array([3, 4], dtype=int32))
    """
    x = operand("unstack", x)
    at = normalize_axis("unstack", axis, x.ndim)
    rest = x.shape[:at] + x.shape[at + 1:]
    return tuple([shaped(cut(x, at, i, i + 1), rest) for i in range(x.shape[at])])


@eager(static=("bounds", "axis"))
def _pieces(x: Any, bounds: tuple[int, ...], axis: int) -> list[Tracer]:
    x = operand("split", x)
    return [cut(x, axis, i, j) for i, j in itertools.pairwise(bounds)]


def _split(name: str, ary: Any, indices_or_sections: Any, axis: Any) -> list[Any]:
    ary = array_like(name, ary)
    shape = getattr(ary, "shape", ())
    at = normalize_axis(name, axis, len(shape))
    size = shape[at]
    if np.ndim(indices_or_sections):
        inner = [index_of(i, f"{name}: an index") for i in indices_or_sections]
        inner = [i + size if i < 0 else i for i in inner]
        bounds = (0, *inner, size)
        if any(i > j for i, j in itertools.pairwise(bounds)):
            raise ValueError(f"{name}: positions must ascend within the axis of size {size}, so "
                             f"that no part has a negative size; got {indices_or_sections}")
        return list(_pieces(ary, bounds, at))
    n = index_of(indices_or_sections, f"{name}: the number of sections")
    if n <= 0:
        raise ValueError(f"{name}: number of sections must be larger than 0, got {n}")
    each, rest = divmod(size, n)
    if rest and name != "array_split":
        raise ValueError(f"{name}: array split does not result in an equal division: axis {at} has "
                         f"size {size}, {n} sections leave a remainder of {rest}")
    sizes = [each + 1] * rest + [each] * (n - rest)
    return list(_pieces(ary, (0, *itertools.accumulate(sizes)), at))


def split(ary: ArrayLike, indices_or_sections: int | Sequence[int] | ArrayLike, axis: int = 0
          ) -> list[Array]:
    """Parts of an array along an axis.

    Args:
      indices_or_sections: a number of equal parts, or the positions where new parts begin.
    Returns: a list of arrays.
    Raises: ValueError where the parts would not be equal, or the axis is out of range.
    Source: `numpy.split`.

    >>> jnp.split(jnp.arange(4), 2)
    [Array([0, 1], dtype=int32), Array([2, 3], dtype=int32)]
    """
    return _split("split", ary, indices_or_sections, axis)


def array_split(ary: ArrayLike, indices_or_sections: int | Sequence[int] | ArrayLike, axis: int = 0
                ) -> list[Array]:
    """As `split`; parts may differ in size by one. Source: `numpy.array_split`.

    >>> jnp.array_split(jnp.arange(3), 2)
    [Array([0, 1], dtype=int32), Array([2], dtype=int32)]
    """
    return _split("array_split", ary, indices_or_sections, axis)


def vsplit(ary: ArrayLike, indices_or_sections: int | Sequence[int] | ArrayLike) -> list[Array]:
    """`split` along axis 0. Source: `numpy.vsplit`.

    >>> jnp.vsplit(jnp.array([[1, 2], [3, 4]]), 2)
    [Array([[1, 2]], dtype=int32), Array([[3, 4]], dtype=int32)]
    """
    return _split("vsplit", ary, indices_or_sections, 0)


def hsplit(ary: ArrayLike, indices_or_sections: int | Sequence[int] | ArrayLike) -> list[Array]:
    """`split` along axis 1, or 0 where there is one axis. Source: `numpy.hsplit`.

    >>> jnp.hsplit(jnp.arange(4), 2)
    [Array([0, 1], dtype=int32), Array([2, 3], dtype=int32)]
    """
    ndim = len(getattr(array_like("hsplit", ary), "shape", ()))
    return _split("hsplit", ary, indices_or_sections, 0 if ndim == 1 else 1)


def dsplit(ary: ArrayLike, indices_or_sections: int | Sequence[int] | ArrayLike) -> list[Array]:
    """`split` along axis 2. Source: `numpy.dsplit`.

    >>> [part.shape for part in jnp.dsplit(jnp.zeros((1, 2, 4)), 2)]
    [(1, 2, 2), (1, 2, 2)]
    """
    return _split("dsplit", ary, indices_or_sections, 2)


# --- repeating ----------------------------------------------------------------------------

@eager(static=("reps",))
def tile(A: ArrayLike, reps: ShapeLike) -> Array:
    """`A` repeated as a whole, `reps[i]` times along axis i; missing numbers in front are 1.

    Source: `numpy.tile`.

    >>> jnp.tile(jnp.array([1, 2]), 2)
    Array([1, 2, 1, 2], dtype=int32)
    """
    x = operand("tile", A)
    counts = dims_of("tile", reps)
    if any(n < 0 for n in counts):
        raise ValueError(f"tile: reps must not be negative, got {reps}")
    ndim = max(len(counts), x.ndim)
    counts = (1,) * (ndim - len(counts)) + counts
    shape = (1,) * (ndim - x.ndim) + x.shape
    wide, dims = [], []
    for i, (n, size) in enumerate(zip(counts, shape, strict=True)):
        if n != 1:
            wide.append(n)
        if i >= ndim - x.ndim:
            dims.append(len(wide))
            wide.append(size)
    if len(wide) != x.ndim:
        x = emit(ops.broadcast_in_dim, x, shape=tuple(wide), dims=tuple(dims))
    return shaped(x, tuple([n * size for n, size in zip(counts, shape, strict=True)]))


# --- reversing ----------------------------------------------------------------

@eager(static=("axis",))
def flip(m: ArrayLike, axis: AxisLike = None) -> Array:
    """`m` with the order of its elements reversed along `axis`; along all for None.

    Source: `numpy.flip`.

    >>> jnp.flip(jnp.array([1, 2, 3]))
    Array([3, 2, 1], dtype=int32)
    """
    x = operand("flip", m)
    axes = operands.normalize_axes("flip", axis, x.ndim)
    return emit(ops.reverse, x, axes=axes) if axes else x


def fliplr(m: ArrayLike) -> Array:
    """`flip` along axis 1. Source: `numpy.fliplr`.

    >>> jnp.fliplr(jnp.array([[1, 2], [3, 4]]))
    Array([[2, 1],
           [4, 3]], dtype=int32)
    """
    return flip(m, 1)


def flipud(m: ArrayLike) -> Array:
    """`flip` along axis 0. Source: `numpy.flipud`.

    >>> jnp.flipud(jnp.array([[1, 2], [3, 4]]))
    Array([[3, 4],
           [1, 2]], dtype=int32)
    """
    return flip(m, 0)


@eager(static=("k", "axes"))
def rot90(m: ArrayLike, k: int = 1, axes: tuple[int, int] = (0, 1)) -> Array:
    """`m` turned by k quarter turns in the plane of two axes, the first towards the second.

    Raises: ValueError where both axes are the same, or `m` has fewer than two.
    Source: `numpy.rot90`.

    >>> jnp.rot90(jnp.array([[1, 2], [3, 4]]))
    Array([[2, 4],
           [1, 3]], dtype=int32)
    """
    x = operand("rot90", m)
    if x.ndim < 2:
        raise ValueError("rot90 requires its first argument to have ndim at least two, but got "
                         f"shape {x.shape}, which has ndim {x.ndim}")
    i, j = (normalize_axis("rot90", axis, x.ndim) for axis in axes)
    if i == j:
        raise ValueError(f"rot90: Axes must be different, got axes={axes}")
    k %= 4
    if k == 0:
        return x
    if k == 2:
        return emit(ops.reverse, x, axes=(i, j))
    if k == 1:
        return swapaxes(flip(x, j), i, j)
    return flip(swapaxes(x, i, j), j)


__all__ = [
    "array_split", "atleast_1d", "atleast_2d", "atleast_3d", "block", "broadcast_arrays",
    "broadcast_shapes", "broadcast_to", "column_stack", "concat", "concatenate", "dsplit", "dstack",
    "expand_dims", "flip", "fliplr", "flipud", "hsplit", "hstack", "matrix_transpose", "moveaxis",
    "permute_dims", "ravel", "reshape", "rollaxis", "rot90", "split", "squeeze",
    "stack", "swapaxes", "tile", "transpose", "unstack", "vsplit", "vstack",
]  # fmt: skip
