"""Functions of shape: reshape, broadcast, transpose, concatenate, pad, slices, and new arrays.

Shapes and axes are known while tracing; axes are not negative unless the docstring says so. Source:
StableHLO spec, ops of the same names.
"""

from __future__ import annotations

import math
from builtins import slice as slice_
from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np
from xfront_ir import dtypes as ir_dtypes
from xfront_ir import ops

from .. import binding
from ..base.dtypes import KeyDType, as_dtype, dtype_and_weakness, float0, is_extended
from ..base.trees import tree_flatten, tree_map, tree_unflatten
from ..binding.annotations import (
    Array,
    ArrayLike,
    DTypeLike,
    ShapeLike,
    ShardingLike,
    SupportsShape,
)
from ..binding.tracebacks import front_door
from ..eager.dispatch import eager, takes_out_sharding
from ..eager.operands import (
    array_like,
    broadcast_to,
    cast,
    convert,
    ir_dtype,
    is_array_like,
    number_in,
)
from ..eager.operands import operand as tracer
from ..tracing.trace import emit, state
from ..tracing.tracer import Tracer
from ..values.arguments import at_home
from ..values.commitment import beside
from .strict import axis_in, dtype_of, ints, listed, same_dtype, sizes, static_int, weakly

T = TypeVar("T")

# --- reshape and broadcast ------------------------------------------------------------------


@eager(static=("new_sizes", "dimensions", "out_sharding"))
def reshape(operand: ArrayLike, new_sizes: ShapeLike, dimensions: Sequence[int] | None = None, *,
            out_sharding: ShardingLike = None) -> Array:
    """The same elements, in row-major order, in another shape.

    Args:
      new_sizes: the new shape, without -1.
      dimensions: the order in which to take the axes of the operand; None for their own order.
    Raises: TypeError where the number of elements differs, or a size is negative.

    >>> lax.reshape(jnp.array([1, 2, 3, 4]), (2, 2))
    Array([[1, 2],
           [3, 4]], dtype=int32)
    """
    at_home("reshape", out_sharding)
    x = tracer("reshape", operand)
    shape = sizes("reshape new_sizes", new_sizes)
    if dimensions is not None:
        order = ints("reshape dimensions", dimensions)
        if sorted(order) != list(range(x.ndim)):
            raise TypeError("reshape: dimensions must be a permutation of the axes of "
                            f"{x.value.type}, got {order}")
        x = emit(ops.transpose, x, permutation=order)
    if math.prod(shape) != x.size:
        raise TypeError(f"reshape: {x.value.type} has {x.size} elements, but the new shape {shape} "
                        f"has {math.prod(shape)}")
    return x if shape == x.shape else emit(ops.reshape, x, shape=shape)


@eager(static=("sizes", "out_sharding"))
def broadcast(operand: ArrayLike, sizes: Sequence[int], *, out_sharding: ShardingLike = None
             ) -> Array:
    """The operand repeated along new leading axes of these sizes.

    >>> lax.broadcast(jnp.array([1, 2]), (2,))
    Array([[1, 2],
           [1, 2]], dtype=int32)
    """
    at_home("broadcast", out_sharding)
    x = tracer("broadcast", operand)
    lead = ints("broadcast sizes", sizes)
    if not lead:
        return x
    dims = tuple(range(len(lead), len(lead) + x.ndim))
    return emit(ops.broadcast_in_dim, x, shape=(*lead, *x.shape), dims=dims)


@eager(static=("shape", "broadcast_dimensions", "out_sharding"))
def broadcast_in_dim(operand: ArrayLike, shape: Sequence[int], broadcast_dimensions: Sequence[int],
                     *, out_sharding: ShardingLike = None) -> Array:
    """The operand repeated to `shape`, with its axis i at `broadcast_dimensions[i]`.

    Raises: TypeError where a size is neither 1 nor that of its position in `shape`.

    >>> lax.broadcast_in_dim(jnp.array([1, 2]), (2, 2), (0,))
    Array([[1, 1],
           [2, 2]], dtype=int32)
    """
    at_home("broadcast_in_dim", out_sharding)
    x = tracer("broadcast_in_dim", operand)
    dims = ints("broadcast_in_dim broadcast_dimensions", broadcast_dimensions)
    shape = sizes("broadcast_in_dim shape", shape)
    if list(dims) != sorted(dims) and len(dims) == x.ndim:
        order = tuple(sorted(range(x.ndim), key=dims.__getitem__))
        x, dims = emit(ops.transpose, x, permutation=order), tuple(sorted(dims))
    if dims == tuple(range(x.ndim)) and shape == x.shape:
        return x
    return emit(ops.broadcast_in_dim, x, shape=shape, dims=dims)


def broadcast_shapes(*shapes: Sequence[int]) -> tuple[int, ...]:
    """The shape that arrays of these shapes broadcast to, by NumPy's rules. Raises: ValueError.

    >>> lax.broadcast_shapes((2, 1), (1, 3))
    (2, 3)
    """
    if not shapes:
        return ()
    made = [ints("broadcast_shapes", s) for s in shapes]
    try:
        return tuple(map(int, np.broadcast_shapes(*made)))
    except ValueError:
        raise ValueError("broadcast_shapes: Incompatible shapes for broadcasting: "
                         f"{', '.join(map(str, made))}") from None


@eager(static=("rank",))
def broadcast_to_rank(x: ArrayLike, rank: int) -> Array:
    """`x` with leading axes of size 1, so that it has `rank` axes.

    >>> lax.broadcast_to_rank(jnp.array([1, 2]), 2)
    Array([[1, 2]], dtype=int32)
    """
    x = tracer("broadcast_to_rank", x)
    if x.ndim > rank:
        raise ValueError(f"broadcast_to_rank: an array of {x.ndim} axes cannot be broadcast to "
                         f"rank {rank}")
    return emit(ops.reshape, x, shape=((1,) * (rank - x.ndim) + x.shape)) if x.ndim < rank else x


@eager
def broadcast_like(arr: ArrayLike, like_arr: ArrayLike) -> Array:
    """`arr` broadcast to the shape of `like_arr`.

    >>> lax.broadcast_like(jnp.array([1, 2]), jnp.zeros((2, 2)))
    Array([[1, 2],
           [1, 2]], dtype=int32)
    """
    x, like = tracer("broadcast_like", arr), tracer("broadcast_like", like_arr)
    if broadcast_shapes(x.shape, like.shape) != like.shape:
        raise ValueError(f"broadcast_like: {x.shape} does not broadcast to {like.shape}")
    return broadcast_to(x, like.shape)


@eager(static=("start_dimension", "stop_dimension"))
def collapse(operand: ArrayLike, start_dimension: int, stop_dimension: int | None = None) -> Array:
    """Axes from `start_dimension` up to `stop_dimension` (exclusive) as one; may be negative.

    >>> lax.collapse(jnp.zeros((2, 3, 4)), 0, 2).shape
    (6, 4)
    """
    x = tracer("collapse", operand)
    low, high, _ = slice_(start_dimension, stop_dimension).indices(x.ndim)
    if low >= high:
        raise ValueError(f"collapse: no axes of {x.value.type} are in "
                         f"[{start_dimension}, {stop_dimension})")
    return emit(ops.reshape, x, shape=(*x.shape[:low], math.prod(x.shape[low:high]),
                                       *x.shape[high:]))


@eager(static=("dimensions",))
def squeeze(array: ArrayLike, dimensions: Sequence[int]) -> Array:
    """The array without some axes of size 1, which may be counted from the end.

    Raises: ValueError where an axis has another size, or is out of bounds.

    >>> lax.squeeze(jnp.array([[1, 2]]), (0,))
    Array([1, 2], dtype=int32)
    """
    x = tracer("squeeze", array)
    taken = [axis_in("squeeze", d, x.ndim) for d in listed("squeeze dimensions", dimensions)]
    if len(set(taken)) != len(taken):
        raise ValueError(f"squeeze: dimensions {tuple(taken)} name the same axis twice")
    if any(x.shape[d] != 1 for d in taken):
        raise ValueError(f"squeeze: axes {tuple(taken)} of {x.value.type} do not all have size 1")
    if not taken:
        return x
    return emit(ops.reshape, x, shape=tuple(n for d, n in enumerate(x.shape) if d not in taken))


@eager(static=("dimensions",))
def expand_dims(array: ArrayLike, dimensions: Sequence[int]) -> Array:
    """The array with new axes of size 1 at these places of the result, negative ones from its end.

    Raises: ValueError where a place is out of bounds or named twice.

    >>> lax.expand_dims(jnp.array([1, 2]), (0,))
    Array([[1, 2]], dtype=int32)
    """
    x = tracer("expand_dims", array)
    given = listed("expand_dims dimensions", dimensions)
    ndim = x.ndim + len(given)
    places = [axis_in("expand_dims", d, ndim) for d in given]
    if len(set(places)) != len(places):
        raise ValueError(f"expand_dims: dimensions {given} name the same place twice")
    if not places:
        return x
    own = iter(x.shape)
    return emit(ops.reshape, x, shape=tuple(1 if d in places else next(own) for d in range(ndim)))


@eager(static=("permutation",))
def transpose(operand: ArrayLike, permutation: Sequence[int] | np.ndarray) -> Array:
    """The axes in another order: axis i of the result is `permutation[i]` of the operand.

    >>> lax.transpose(jnp.array([[1, 2], [3, 4]]), (1, 0))
    Array([[1, 3],
           [2, 4]], dtype=int32)
    """
    x = tracer("transpose", operand)
    order = ints("transpose permutation", permutation)
    if sorted(order) != list(range(x.ndim)):
        raise TypeError("transpose: permutation must be a permutation of the axes of "
                        f"{x.value.type}, got {order}")
    return x if order == tuple(range(x.ndim)) else emit(ops.transpose, x, permutation=order)


@eager(static=("dimensions",))
def rev(operand: ArrayLike, dimensions: Sequence[int]) -> Array:
    """The elements in reverse order along these axes.

    >>> lax.rev(jnp.array([1, 2, 3]), (0,))
    Array([3, 2, 1], dtype=int32)
    """
    x = tracer("rev", operand)
    axes = sizes("rev dimensions", listed("rev dimensions", dimensions))
    return emit(ops.reverse, x, axes=axes) if axes else x


# --- putting together, taking apart ---------------------------------------------------------

def _parts(name: str, operands: Any) -> list[Any]:
    """The elements of a sequence, or the rows of an array."""
    if isinstance(operands, (list, tuple)):
        return list(operands)
    x = tracer(name, operands)
    return _rows(x, 0)


def _rows(x: Any, axis: int) -> list[Any]:
    """Slices of one element along an axis, without it."""
    kept = (*x.shape[:axis], *x.shape[axis + 1:])
    return [emit(ops.reshape, along(x, axis, i, i + 1), shape=kept) for i in range(x.shape[axis])]


def along(x: Any, axis: int, start: int, limit: int, stride: int = 1) -> Any:
    """Elements start, start + stride, ... below limit along one axis of a tracer."""
    shape = x.shape
    if start == 0 and limit == shape[axis] and stride == 1:
        return x
    ndim = len(shape)
    starts, limits, strides = [0] * ndim, list(shape), [1] * ndim
    starts[axis], limits[axis], strides[axis] = start, limit, stride
    return emit(ops.slice, x, starts=tuple(starts), limits=tuple(limits), strides=tuple(strides))


@eager(static=("dimension",))
def concatenate(operands: Array | Sequence[ArrayLike], dimension: int) -> Array:
    """Arrays of the same dtype, one after another along an existing axis.

    >>> lax.concatenate([jnp.array([1, 2]), jnp.array([3])], 0)
    Array([1, 2, 3], dtype=int32)
    """
    parts = _parts("concatenate", operands)
    if not parts:
        raise ValueError("concatenate: at least one array is required")
    parts = same_dtype("concatenate", *parts)
    shapes = [x.shape for x in parts]
    axis = static_int("concatenate dimension", dimension)
    listed_shapes = ", ".join(map(str, shapes))
    if len({len(s) for s in shapes}) > 1:
        raise TypeError("concatenate: arrays must have the same number of axes, got shapes "
                        f"{listed_shapes}")
    if not 0 <= axis < len(shapes[0]):
        raise TypeError(f"concatenate: axis {axis} is out of bounds for shapes {listed_shapes}")
    return parts[0] if len(parts) == 1 else emit(ops.concatenate, *parts, dimension=axis)


@eager(static=("axis",))
def stack(operands: Array | Sequence[ArrayLike], axis: int = 0) -> Array:
    """Arrays of the same dtype and shape, side by side along a new axis.

    >>> lax.stack([jnp.array([1, 2]), jnp.array([3, 4])])
    Array([[1, 2],
           [3, 4]], dtype=int32)
    """
    parts = _parts("stack", operands)
    if not parts:
        raise ValueError("stack: at least one array is required")
    parts = same_dtype("stack", *parts)
    if any(x.shape != parts[0].shape for x in parts):
        raise TypeError(f"stack: arrays must have the same shape, got {[x.shape for x in parts]}")
    shape = parts[0].shape
    at = axis_in("stack", axis, len(shape) + 1)
    wide = (*shape[:at], 1, *shape[at:])
    parts = [emit(ops.reshape, x, shape=wide) for x in parts]
    return parts[0] if len(parts) == 1 else emit(ops.concatenate, *parts, dimension=at)


@eager(static=("axis",))
def unstack(x: ArrayLike, axis: int = 0) -> tuple[Array, ...]:
    """The slices of an array along an axis, without it.

    >>> lax.unstack(jnp.array([[1, 2], [3, 4]]))
    (Array([1, 2], dtype=int32), Array([3, 4], dtype=int32))
    """
    x = tracer("unstack", x)
    return tuple(_rows(x, axis_in("unstack", axis, x.ndim)))


@eager(static=("sizes", "axis"))
def split(operand: ArrayLike, sizes: Sequence[int], axis: int = 0) -> list[Array]:
    """The operand cut along an axis into parts of these sizes. Raises: ValueError.

    >>> lax.split(jnp.array([1, 2, 3]), (1, 2))
    [Array([1], dtype=int32), Array([2, 3], dtype=int32)]
    """
    x, at = tracer("split", operand), 0
    counts = ints("split sizes", sizes)
    if not 0 <= axis < x.ndim:
        raise ValueError(f"split: axis {axis} is out of bounds for shape {x.shape}")
    if sum(counts) != x.shape[axis]:
        raise ValueError(f"split: sizes {counts} do not add up to the size of axis {axis} of "
                         f"{x.value.type}")
    parts = []
    for n in counts:
        parts.append(along(x, axis, at, at + n))
        at += n
    return parts


@eager(static=("reps",))
def tile(operand: ArrayLike, reps: Sequence[int]) -> Array:
    """The operand repeated `reps[i]` times along axis i.

    >>> lax.tile(jnp.array([1, 2]), (2,))
    Array([1, 2, 1, 2], dtype=int32)
    """
    x, reps = tracer("tile", operand), ints("tile reps", reps)
    if len(reps) != x.ndim:
        raise TypeError(f"tile: reps must have one entry for each axis of {x.value.type}, got "
                        f"{reps}")
    shape = tuple(i for pair in zip(reps, x.shape, strict=True) for i in pair)
    wide = emit(ops.broadcast_in_dim, x, shape=shape, dims=tuple(range(1, 2 * x.ndim, 2)))
    return emit(ops.reshape, wide, shape=tuple(r * n for r, n in zip(reps, x.shape, strict=True)))


@eager(static=("padding_config",))
def pad(operand: ArrayLike, padding_value: ArrayLike, padding_config: Sequence[tuple[int, int, int]]
        ) -> Array:
    """The operand with `padding_value` before, after and between its elements.

    Args:
      padding_value: a scalar of the operand's dtype.
      padding_config: for each axis a triple (low, high, interior), the number of elements to add
        before, after, and between two neighbours. Negative low and high remove elements.
    Raises: TypeError where dtypes differ, ValueError for other configurations.

    >>> lax.pad(jnp.array([1, 2]), 0, [(1, 1, 1)])
    Array([0, 1, 0, 2, 0], dtype=int32)
    """
    x, value = tracer("pad", operand), tracer("pad", padding_value)
    config = [ints("pad padding_config", c) for c in listed("pad padding_config", padding_config)]
    if any(len(c) != 3 for c in config) or len(config) != x.ndim:
        raise ValueError("padding_config must have one triple (low, high, interior) for each axis "
                         f"of shape {x.shape}, got {config}")
    if x.value.type.dtype is not value.value.type.dtype:
        raise TypeError("pad: operand and padding_value must have the same dtype, got "
                        f"{x.value.type} and {value.value.type}")
    if value.shape:
        raise ValueError(f"pad: padding_value must be a scalar, got {value.value.type}")
    if any(i < 0 for _, _, i in config):
        raise ValueError(f"pad: interior padding must not be negative, got padding_config {config}")
    shape = [low + high + n + max(n - 1, 0) * i
             for n, (low, high, i) in zip(x.shape, config, strict=True)]
    if min(shape, default=0) < 0:
        raise ValueError(f"pad: padding_config {config} removes more elements than {x.value.type} "
                         "has")
    low, high, interior = tuple(zip(*config, strict=True)) if config else ((), (), ())
    return weakly(emit(ops.pad, x, value, low=low, high=high, interior=interior), x.weak)


# --- slices known while tracing -------------------------------------------------------------

@eager(static=("start_indices", "limit_indices", "strides"))
def slice(operand: ArrayLike, start_indices: Sequence[int], limit_indices: Sequence[int],
          strides: Sequence[int] | None = None) -> Array:
    """Elements from `start_indices` to `limit_indices` (exclusive), each stride-th.

    Raises: TypeError where there is not one of each for each axis, or they lie outside the operand.

    >>> lax.slice(jnp.array([1, 2, 3, 4]), (1,), (3,))
    Array([2, 3], dtype=int32)
    """
    x = tracer("slice", operand)
    starts, limits = ints("slice start_indices", start_indices), ints("slice limit_indices",
                                                                      limit_indices)
    steps = (1,) * x.ndim if strides is None else ints("slice strides", strides)
    if starts == (0,) * x.ndim and limits == x.shape and steps == (1,) * x.ndim:
        return x
    return emit(ops.slice, x, starts=starts, limits=limits, strides=steps)


@eager(static=("start_index", "limit_index", "stride", "axis"))
def slice_in_dim(operand: ArrayLike, start_index: int | None, limit_index: int | None,
                 stride: int = 1, axis: int = 0) -> Array:
    """A slice along one axis; indices may be negative, or None for the ends.

    >>> lax.slice_in_dim(jnp.array([1, 2, 3, 4]), 0, 4, 2)
    Array([1, 3], dtype=int32)
    """
    x = tracer("slice_in_dim", operand)
    a, n = axis_in("slice_in_dim", axis, x.ndim), x.shape[axis]
    start = 0 if start_index is None else static_int("start_index", start_index)
    limit = n if limit_index is None else static_int("limit_index", limit_index)
    start, limit = (i + n if i < 0 else i for i in (start, limit))
    return along(x, a, start, limit, static_int("stride", stride))


@eager(static=("index", "axis", "keepdims"))
def index_in_dim(operand: ArrayLike, index: int, axis: int = 0, keepdims: bool = True) -> Array:
    """One element along an axis; both may be negative.

    Raises: IndexError where the index is out of bounds.

    >>> lax.index_in_dim(jnp.array([[1, 2], [3, 4]]), 1)
    Array([[3, 4]], dtype=int32)
    """
    x = tracer("index_in_dim", operand)
    a, i = axis_in("index_in_dim", axis, x.ndim), static_int("index", index)
    n = x.shape[a]
    if not -n <= i < n:
        raise IndexError(f"index_in_dim: {i} is out of bounds for axis {a}, which has size {n}")
    one = along(x, a, i % n, i % n + 1)
    return one if keepdims else emit(ops.reshape, one, shape=(*x.shape[:a], *x.shape[a + 1:]))


# --- new arrays -----------------------------------------------------------------------------

@front_door
def full(shape: ShapeLike, fill_value: ArrayLike, dtype: DTypeLike | None = None, *,
         sharding: ShardingLike = None) -> Array:
    """An array filled with a scalar, in its dtype (weak for a Python number) or the one given.

    It lies as `sharding` says, on the default device if that is None.
    Raises: TypeError where the fill value is not a scalar or `sharding` is not a Sharding.

    >>> lax.full((2,), 7)
    Array([7, 7], dtype=int32, weak_type=True)
    """
    if dtype == float0:
        made: Any = np.zeros(sizes("full shape", shape), float0)
        return made
    if type(fill_value) is int and dtype is not None:
        fill_value = number_in(fill_value, as_dtype(dtype), wraps=True)
    return _lying("full", _full(shape, fill_value, dtype), sharding)


def _lying(name: str, made: Any, sharding: Any) -> Any:
    """`made` as a sharding says; as it is for None. Raises: TypeError for anything else."""
    if sharding is None:
        return made
    if not isinstance(sharding, binding.Sharding):
        raise TypeError(f"{name}: sharding must be a Sharding or None, got {sharding!r} of type "
                        f"{type(sharding).__name__}")
    mesh = getattr(sharding, "mesh", None)
    if mesh is not None and not mesh.axis_names:
        return made                # the sharding in the type of arrays on one device
    from ..eager.devices import device_put  # late: it builds on arrays

    return device_put(made, sharding)


@eager(static=("shape", "dtype"))
def _full(shape: Any, fill_value: Any, dtype: Any) -> Any:
    x = tracer("full", fill_value)
    if x.shape:
        raise TypeError(f"full: the fill value must be a scalar, got {x.value.type}")
    if isinstance(dtype, KeyDType) and x.value.type.dtype.is_integer:
        words = broadcast_to(convert(x, ir_dtypes.u32), (*sizes("full shape", shape), *dtype.words))
        return emit(ops.random_wrap, words, impl=dtype.tag)
    weak = x.weak and dtype is None
    if dtype is not None:
        x = convert(x, dtype_of("full", dtype))
    return weakly(broadcast_to(x, sizes("full shape", shape)), weak)


def full_like(x: ArrayLike | SupportsShape, fill_value: ArrayLike, dtype: DTypeLike | None = None,
              shape: ShapeLike | None = None, sharding: ShardingLike = None) -> Array:
    """An array filled with a scalar, in the shape and dtype of `x` where none are given.

    Args:
      x: an array, or anything with shape and dtype.
      sharding: where the array goes; None for where `x` is, if the shapes are equal.
    Raises: TypeError where `sharding` is not a Sharding.

    >>> lax.full_like(jnp.array([1, 2]), 7)
    Array([7, 7], dtype=int32)
    """
    if not hasattr(x, "shape"):
        array_like("full_like", x)
    own = getattr(x, "dtype", None)
    found, weak = ir_dtype(x) if is_array_like(x) else (dtype_of("full_like", own), False)
    shape = np.shape(x) if shape is None else shape
    wanted = dtype if dtype is not None else found.numpy if not found.is_key else own
    if isinstance(wanted, KeyDType) and type(fill_value) in (bool, int):
        made = keys_of_word("full_like", fill_value, sizes("shape", shape), wanted)
    else:
        fill_value = number_in(fill_value, wanted, wraps=True)
        made = _full_like(shape, fill_value, wanted, weak and dtype is None)
    if sharding is not None:
        return _lying("full_like", made, sharding)
    if type(x) is Tracer:
        return lying_as(made, x)
    place = beside(x, made.shape)
    if place is None:
        return made
    from ..eager.devices import device_put  # late: it builds on arrays

    return device_put(made, place)


def lying_as(made: Any, x: Any) -> Any:
    """`made`, divided along explicit axes as the traced value `x` is, where both have one shape;
    itself where `x` is an array."""
    if type(x) is not Tracer:
        return made
    t = x.value.type
    if t.sharding is None or t.is_manual or not t.sharding.mesh.names or t.shape != made.shape:
        return made
    lifted = made if type(made) is Tracer else x.home.lift(made)
    return emit(ops.reshard, lifted, sharding=t.sharding)


def keys_of_word(name: str, word: Any, shape: tuple[int, ...], dtype: KeyDType) -> Any:
    """Keys of which every word is the same number. They hold places, and start no streams.

    Raises: TypeError for what is no integer, OverflowError for one that a word does not hold.
    """
    if not isinstance(word, int):
        raise TypeError(f"{name}: keys are filled with another key, or with an integer for each of "
                        f"their words, got {word!r}")
    if not 0 <= word < 2**32:
        raise OverflowError(f"{name}: the words of keys are integers in [0, 2**32), got {word}")
    return _keys_of_word(int(word), shape, dtype)


@eager(static=("word", "shape", "dtype"))
def _keys_of_word(word: int, shape: tuple[int, ...], dtype: KeyDType) -> Any:
    assert state.current is not None
    words = state.current.literal(np.asarray(word, np.uint32), (*shape, *dtype.words), False)
    return emit(ops.random_wrap, words, impl=dtype.tag)


@eager(static=("shape", "dtype", "weak"))
def _full_like(shape: Any, fill_value: Any, dtype: Any, weak: bool) -> Any:
    x = tracer("full_like", fill_value)
    if x.shape:
        raise TypeError(f"full_like: the fill value must be a scalar, got {x.value.type}")
    made = broadcast_to(convert(x, dtype_of("full_like", dtype)), sizes("shape", shape))
    return weakly(made, weak)


def zeros_like_array(x: ArrayLike) -> Array:
    """Zeros in the shape and dtype of `x`.

    >>> lax.zeros_like_array(jnp.array([1, 2]))
    Array([0, 0], dtype=int32)
    """
    return full_like(x, 0)


@takes_out_sharding("empty")
def empty(shape: ShapeLike, dtype: DTypeLike, *, out_sharding: ShardingLike = None) -> Array:
    """An array whose elements are not to be read; they are zeros.

    >>> lax.empty((2, 3), float).shape
    (2, 3)
    """
    at_home("empty", out_sharding)
    return full(shape, 0, dtype)


def iota(dtype: DTypeLike, size: int) -> Array:
    """0, 1, ..., size - 1 as numbers of a dtype.

    >>> lax.iota(jnp.int32, 3)
    Array([0, 1, 2], dtype=int32)
    """
    return broadcasted_iota(dtype, (size,), 0)


@eager(static=("dtype", "shape", "dimension", "out_sharding"))
def broadcasted_iota(dtype: DTypeLike, shape: Sequence[int], dimension: int, *,
                     out_sharding: ShardingLike = None) -> Array:
    """The index along axis `dimension` in every element of an array of this shape.

    >>> lax.broadcasted_iota(jnp.int32, (2, 2), 1)
    Array([[0, 1],
           [0, 1]], dtype=int32)
    """
    at_home("broadcasted_iota", out_sharding)
    kind = dtype_of("iota", dtype)
    if not kind.is_numeric:
        raise TypeError(f"iota: dtype must be numeric, got {kind}")
    made = ints("iota shape", shape)
    if any(n < 0 for n in made):
        raise TypeError(f"iota: sizes must not be negative, got {made}")
    axis = static_int("iota dimension", dimension)
    if not 0 <= axis < len(made):
        raise ValueError(f"iota: axis {axis} is out of bounds for shape {made}")
    return emit(ops.iota, dtype=kind, shape=made, dimension=axis)


def shape_as_value(shape: Sequence[int]) -> np.ndarray:
    """A shape as an array of integers.

    >>> lax.shape_as_value((2, 3))
    array([2, 3], dtype=int32)
    """
    return np.array(ints("shape", shape), np.int32)


# --- dtypes ---------------------------------------------------------------------------------

def convert_element_type(operand: ArrayLike, new_dtype: DTypeLike) -> Array:
    """The elements as another dtype: floats become integers towards zero, complex numbers lose
    their imaginary part.

    Raises: ValueError where no dtype is given; TypeError where an argument is not an array or
      dtype.

    >>> lax.convert_element_type(jnp.array([1.5, -1.5]), jnp.int32)
    Array([ 1, -1], dtype=int32)
    """
    if new_dtype is None:
        raise ValueError("convert_element_type: new_dtype must be a dtype, got None")
    if type(operand) is int:
        return _convert(number_in(operand, as_dtype(new_dtype), wraps=True), new_dtype)
    return _convert(operand, new_dtype)


@eager(static=("new_dtype",))
def _convert(operand: Any, new_dtype: Any) -> Any:
    x = tracer("convert_element_type", operand)
    if is_extended(as_dtype(new_dtype)):
        if as_dtype(new_dtype) == x.dtype:
            return x
        raise ValueError(f"cannot convert {x.dtype} to {new_dtype}")
    return cast(x, dtype_of("convert_element_type", new_dtype))


@eager(static=("new_dtype",))
def bitcast_convert_type(operand: ArrayLike, new_dtype: DTypeLike) -> Array:
    """The same bits read as another dtype.

    A narrower dtype adds a last axis, a wider one takes the last axis away.
    Raises: ValueError where the size of the last axis is not the one that a wider dtype needs.

    >>> lax.bitcast_convert_type(jnp.array([1.]), jnp.int32)
    Array([1065353216], dtype=int32)
    """
    x, new = tracer("bitcast_convert_type", operand), dtype_of("bitcast_convert_type", new_dtype)
    ratio = new.bits // x.value.type.dtype.bits
    if ratio > 1 and x.shape[-1:] != (ratio,):
        raise ValueError(f"bitcast_convert_type: {ratio} elements of {x.value.type.dtype} make one "
                         f"{new}; the last dimension of {x.value.type} must be {ratio}")
    return weakly(emit(ops.bitcast, x, dtype=new), False)


def dtype(x: ArrayLike | DTypeLike) -> np.dtype:
    """The dtype that `x` has as an array, or the dtype that it stands for.

    >>> lax.dtype(jnp.array([1, 2]))
    dtype('int32')
    """
    if isinstance(x, str | type | np.dtype):
        return dtype_and_weakness(x)[0]
    own = getattr(x, "dtype", None)
    if own is not None and not isinstance(x, (np.ndarray, np.generic)):
        return own
    return ir_dtype(array_like("dtype", x))[0].numpy


# --- seen by programs, not by derivatives -------------------------------------------------

def stop_gradient(x: T) -> T:
    """A tree of arrays unchanged, but constant to derivatives; numbers become arrays.

    Raises: TypeError where a leaf is not an array.

    >>> xfront.grad(lambda x: x * lax.stop_gradient(x))(3.)
    Array(3., dtype=float32, weak_type=True)
    """
    return tree_map(_stopped, x)


def _stopped(x: Any) -> Any:
    if type(x) is Tracer:
        return emit(ops.stop_gradient, x) if x.value.type.is_inexact else x
    array_like("stop_gradient", x)
    if isinstance(x, (binding.Array, bool, np.bool_)):
        return x
    return binding.put(x, weak=type(x) in (int, float, complex))


def optimization_barrier(operand: T, /) -> T:
    """A tree of arrays unchanged; no result is used before all arrays have been computed.

    >>> lax.optimization_barrier(jnp.array([1, 2]))
    Array([1, 2], dtype=int32)
    """
    leaves, tree = tree_flatten(operand)
    for x in leaves:
        array_like("optimization_barrier", x)
    if not leaves:
        return operand
    return tree_unflatten(tree, _barrier(leaves))


@eager
def _barrier(xs: Any) -> Any:
    xs = [tracer("optimization_barrier", x) for x in xs]
    made = emit(ops.optimization_barrier, *xs)
    return [weakly(y, x.weak) for x, y in zip(xs, made, strict=True)]


def stage(x: T) -> T:
    """A tree of arrays with its leaves made tracers of the current trace, if there is one.

    >>> xfront.jit(lambda x: x + lax.stage(2.0))(1.0)
    Array(3., dtype=float32, weak_type=True)
    """
    target = state.current
    return x if target is None else tree_map(target.lift, x)


__all__ = [
    "bitcast_convert_type", "broadcast", "broadcast_in_dim", "broadcast_like", "broadcast_shapes",
    "broadcast_to_rank", "broadcasted_iota", "collapse", "concatenate", "convert_element_type",
    "dtype", "empty", "expand_dims", "full", "full_like", "index_in_dim", "iota",
    "optimization_barrier", "pad", "reshape", "rev", "shape_as_value", "slice", "slice_in_dim",
    "split", "squeeze", "stack", "stage", "stop_gradient", "tile", "transpose", "unstack",
    "zeros_like_array",
]  # fmt: skip
