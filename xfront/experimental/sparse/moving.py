"""Functions that move elements of sparse arrays: axes, shapes, slices, indexing, concatenation."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ... import numpy as jnp
from ...base.dimension_numbers import GatherDimensionNumbers
from ...eager.operands import index_of, is_array_like, normalize_axes
from ...lax.gathering import gather, mode_word
from ...lax.indexing import dynamic_slice
from ...lax.shape import broadcast_in_dim
from ...transforms.inspection import eval_shape
from ...transforms.jit import jit
from ...transforms.structs import ShapeDtypeStruct
from ...transforms.vmap import vmap
from ...values.arguments import at_home
from .coordinates import (
    BCOO,
    bcoo_sum_duplicates,
    bcoo_update_layout,
    broadcast_batch,
    chosen,
    expect_kind,
    inside,
    padded,
)


def _ints(x: Any, what: str) -> tuple[int, ...]:
    return tuple([index_of(d, what) for d in (x if isinstance(x, (tuple, list)) else tuple(x))])


# --- axes -----------------------------------------------------------------------------------------

def bcoo_transpose(mat: BCOO, *, permutation: Sequence[int]) -> BCOO:
    """The array with its axes in another order.

    Args:
      mat: a BCOO.
      permutation: the axis of `mat` that becomes each axis of the result.
    Raises: ValueError where it is not a permutation; NotImplementedError where axes of one kind
      (batch, sparse, dense) would stand among those of another: write update_layout first.

    >>> mat = sparse.BCOO.fromdense(jnp.array([[0., 2.], [3., 4.]]))
    >>> sparse.bcoo_transpose(mat, permutation=(1, 0)).todense()
    Array([[0., 3.],
           [2., 4.]], dtype=float32)
    """
    expect_kind("bcoo_transpose", BCOO, mat)
    order = tuple([a + mat.ndim if a < 0 else a for a in _ints(permutation, "permutation")])
    if sorted(order) != list(range(mat.ndim)):
        raise ValueError(f"bcoo_transpose: permutation must be a permutation of the {mat.ndim} "
                         f"axes, got {order}")
    own = mat._layout()
    for axes, part in zip(own.parts(range(mat.ndim)), own.parts(order), strict=True):
        if set(axes) != set(part):
            raise NotImplementedError(f"bcoo_transpose: permutation {order} mixes batch, sparse "
                                      f"and dense axes of {mat!r}; call bcoo_update_layout first")
    return _transposed(mat, order)


@functools.partial(jit, static_argnums=1)
def _transposed(mat: BCOO, order: tuple[int, ...]) -> BCOO:
    own = mat._layout()
    batch, sparse, dense = own.parts(order)
    n = own.n_batch
    data = mat.data.transpose(*batch, n, *[a + 1 - own.n_sparse for a in dense])
    indices = mat.indices.transpose(*batch, n, n + 1)
    indices = indices[..., np.asarray([a - n for a in sparse], int)]
    return BCOO((data, indices), shape=[mat.shape[a] for a in order],
                unique_indices=mat.unique_indices)


def bcoo_squeeze(arr: BCOO, *, dimensions: Sequence[int]) -> BCOO:
    """The array without these axes of size 1. Raises: ValueError where one has another size.

    >>> mat = sparse.BCOO.fromdense(jnp.array([[0., 2.]]))
    >>> sparse.bcoo_squeeze(mat, dimensions=(0,)).todense()
    Array([0., 2.], dtype=float32)
    """
    expect_kind("bcoo_squeeze", BCOO, arr)
    axes = normalize_axes("bcoo_squeeze", _ints(dimensions, "dimensions"), arr.ndim)
    if any(arr.shape[a] != 1 for a in axes):
        raise ValueError(f"bcoo_squeeze: axes {axes} of {arr.shape} must have size 1")
    return _squeezed(arr, tuple(axes))


@functools.partial(jit, static_argnums=1)
def _squeezed(mat: BCOO, axes: tuple[int, ...]) -> BCOO:
    own = mat._layout()
    batch, sparse, dense = own.parts([a in axes for a in range(mat.ndim)])
    sizes = own.parts(mat.shape)[1]
    data, indices = broadcast_batch(mat)
    keep = inside(indices, sizes)                            # padding stays padding
    columns = np.flatnonzero(np.logical_not(sparse))
    indices = padded(keep, indices[..., columns], tuple([sizes[i] for i in columns]))
    gone = tuple(np.flatnonzero(batch).tolist())
    gone_dense = tuple((np.flatnonzero(dense) + own.n_batch + 1).tolist())
    return BCOO((chosen(keep, data).squeeze(gone + gone_dense), indices.squeeze(gone)),
                shape=[d for a, d in enumerate(mat.shape) if a not in axes],
                indices_sorted=mat.indices_sorted, unique_indices=mat.unique_indices)


def bcoo_rev(operand: BCOO, dimensions: Sequence[int]) -> BCOO:
    """The array in reverse order along the axes `dimensions`.

    >>> mat = sparse.BCOO.fromdense(jnp.array([0., 2., 3.]))
    >>> sparse.bcoo_rev(mat, dimensions=(0,)).todense()
    Array([3., 2., 0.], dtype=float32)
    """
    expect_kind("bcoo_rev", BCOO, operand)
    axes = normalize_axes("bcoo_rev", _ints(dimensions, "dimensions"), operand.ndim)
    return _reversed(operand, tuple(axes))


@functools.partial(jit, static_argnums=1)
def _reversed(mat: BCOO, axes: tuple[int, ...]) -> BCOO:
    own = mat._layout()
    n = own.n_batch
    data, indices = broadcast_batch(mat)
    batch = [a for a in axes if a < n]
    dense = [a + 1 - own.n_sparse for a in axes if a >= n + own.n_sparse]
    data, indices = jnp.flip(data, (*batch, *dense)), jnp.flip(indices, batch)
    sizes = mat.shape[n:n + own.n_sparse]
    flipped = np.asarray([a + n in axes for a in range(own.n_sparse)], bool)
    ends = jnp.asarray(np.asarray(sizes, np.int64).astype(indices.dtype)) - 1
    turned = jnp.where(flipped, ends - indices, indices)
    return BCOO((data, padded(inside(indices, sizes), turned, sizes)), shape=mat.shape,
                unique_indices=mat.unique_indices)


def bcoo_broadcast_in_dim(mat: BCOO, *, shape: Sequence[int],
                          broadcast_dimensions: Sequence[int], sharding: Any = None) -> BCOO:
    """The array repeated along new axes and along those of size 1.

    New axes before the first sparse or dense axis are batch axes, those after the first dense axis
    are dense, and those between are sparse.

    Args:
      mat: a BCOO.
      shape: shape of the result.
      broadcast_dimensions: the axis of the result that each axis of `mat` becomes.
      sharding: None only.
    Raises: ValueError where the shapes do not fit; NotImplementedError for a sharding.

    >>> mat = sparse.BCOO.fromdense(jnp.array([1., 0.]))
    >>> sparse.bcoo_broadcast_in_dim(mat, shape=(2, 2), broadcast_dimensions=(1,)).todense()
    Array([[1., 0.],
           [1., 0.]], dtype=float32)
    """
    expect_kind("bcoo_broadcast_in_dim", BCOO, mat)
    at_home("bcoo_broadcast_in_dim", sharding, "sharding")
    shape, dims = _ints(shape, "shape"), _ints(broadcast_dimensions, "broadcast_dimensions")
    fits = len(dims) == mat.ndim and list(dims) == sorted(set(dims)) and all(
        0 <= a < len(shape) and d in (1, shape[a]) for a, d in zip(dims, mat.shape, strict=False))
    if not fits:
        raise ValueError(f"bcoo_broadcast_in_dim: {mat.shape} cannot be broadcast to {shape} by "
                         f"axes {dims}")
    return _broadcast(mat, shape, dims)


@functools.partial(jit, static_argnums=(1, 2))
def _broadcast(mat: BCOO, shape: tuple[int, ...], dims: tuple[int, ...]) -> BCOO:
    own = mat._layout()
    batch_dims, sparse_dims, dense_dims = own.parts(dims)
    n_batch = min((*sparse_dims, *dense_dims), default=len(shape))
    middle = min(dense_dims, default=len(shape))             # the first dense axis
    data, indices = broadcast_batch(mat)
    behind = [n_batch + 1 + a - middle for a in dense_dims]
    data = broadcast_in_dim(data, (*shape[:n_batch], mat.nse, *shape[middle:]),
                            (*batch_dims, n_batch, *behind))
    indices = broadcast_in_dim(indices, (*shape[:n_batch], mat.nse, own.n_sparse),
                               (*batch_dims, n_batch, n_batch + 1))
    sizes = own.parts(mat.shape)[1]
    keep = inside(indices, sizes)
    zero = jnp.zeros(indices.shape[:-1], indices.dtype)
    columns, repeats = [], []
    for a in range(n_batch, middle):
        at = sparse_dims.index(a) if a in sparse_dims else None
        columns.append(zero if at is None else indices[..., at])
        repeats.append(1 if at is not None and sizes[at] == shape[a] else shape[a])
    grid = np.indices(repeats).reshape(len(repeats), -1).T   # [copies, sparse axes]
    copies, wanted = len(grid), shape[n_batch:middle]
    made = jnp.stack(columns, axis=-1) if columns else indices[..., :0]
    made = made[..., None, :] + jnp.asarray(grid, indices.dtype)
    made = padded(jnp.broadcast_to(keep[..., None], made.shape[:-1]), made, wanted)
    made = made.reshape(*made.shape[:-3], mat.nse * copies, len(wanted))
    return BCOO((jnp.repeat(data, copies, axis=n_batch), made), shape=shape,
                indices_sorted=mat.indices_sorted and copies == 1,
                unique_indices=mat.unique_indices)


def bcoo_concatenate(operands: Sequence[BCOO], *, dimension: int) -> BCOO:
    """Sparse arrays one after the other along an axis of any kind.

    Args:
      operands: a sequence of BCOOs.
      dimension: the axis, which may be negative.
    Raises: ValueError where there is no operand, shapes or layouts do not fit, or the axis is out
      of range.

    >>> mat = sparse.BCOO.fromdense(jnp.array([1., 0.]))
    >>> sparse.bcoo_concatenate([mat, mat], dimension=0).todense()
    Array([1., 0., 1., 0.], dtype=float32)
    """
    operands = list(operands)
    if not operands or not all(isinstance(x, BCOO) for x in operands):
        raise ValueError("bcoo_concatenate: operands must be one or more BCOO arrays, got "
                         f"{operands!r}")
    first = operands[0]
    (axis,) = normalize_axes("bcoo_concatenate", (dimension,), first.ndim)
    for x in operands:
        other = x.shape[:axis] + x.shape[axis + 1:]
        if x._layout() != first._layout() or other != first.shape[:axis] + first.shape[axis + 1:]:
            raise ValueError(f"bcoo_concatenate: {operands} must have equal layouts, and equal "
                             f"shapes except along axis {axis}")
    return _concatenated(operands, axis)


@functools.partial(jit, static_argnums=1)
def _concatenated(operands: list[BCOO], axis: int) -> BCOO:
    n_batch, n_sparse, _ = operands[0]._layout()
    sizes = [x.shape[axis] for x in operands]
    shape = list(operands[0].shape)
    shape[axis] = sum(sizes)
    if axis < n_batch:
        nse = max(x.nse for x in operands)
        parts = [broadcast_batch(_with_nse(x, nse)) for x in operands]
        return BCOO((jnp.concatenate([d for d, _ in parts], axis),
                     jnp.concatenate([i for _, i in parts], axis)), shape=shape,
                    unique_indices=all(x.unique_indices for x in operands))
    parts = [broadcast_batch(x) for x in operands]
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    made = []
    for x, (data, indices), start in zip(operands, parts, starts, strict=True):
        own = x.shape[n_batch:n_batch + n_sparse]
        keep = inside(indices, own)
        data = chosen(keep, data)
        if axis < n_batch + n_sparse:
            offset = np.zeros(n_sparse, indices.dtype)
            offset[axis - n_batch] = start
            indices = indices + offset
        else:
            width = [(0, 0)] * data.ndim
            width[axis + 1 - n_sparse] = (int(start), int(shape[axis] - start - x.shape[axis]))
            data = jnp.pad(data, width)
        made.append((data, padded(keep, indices, tuple(shape[n_batch:n_batch + n_sparse]))))
    return BCOO((jnp.concatenate([d for d, _ in made], n_batch),
                 jnp.concatenate([i for _, i in made], n_batch)), shape=shape,
                unique_indices=axis < n_batch + n_sparse and all(
                    x.unique_indices for x in operands))


def _with_nse(mat: BCOO, nse: int) -> BCOO:
    """The array with padding after its elements, so that there are `nse` of them."""
    data, indices = broadcast_batch(mat)
    n, more = mat.n_batch, nse - mat.nse
    if more == 0:
        return mat
    ends = np.asarray(mat.shape[n:n + mat.n_sparse], np.int64).astype(indices.dtype)
    behind = jnp.broadcast_to(jnp.asarray(ends), (*indices.shape[:n], more, mat.n_sparse))
    width = [(0, 0)] * data.ndim
    width[n] = (0, more)
    return BCOO((jnp.pad(data, width), jnp.concatenate([indices, behind], n)), shape=mat.shape,
                unique_indices=mat.unique_indices)


# --- shapes ---------------------------------------------------------------------------------------

def resolved_sizes(mat: Any, sizes: tuple) -> tuple[int, ...]:
    """The sizes given to `reshape(*sizes)`, with -1 filled in. Raises: ValueError."""
    if len(sizes) == 1 and isinstance(sizes[0], (tuple, list)):
        sizes = tuple(sizes[0])
    sizes = _ints(sizes, "shape")
    if sizes.count(-1) == 1:
        rest = math.prod([d for d in sizes if d != -1])
        sizes = tuple([mat.size // rest if d == -1 and rest else d for d in sizes])
    return sizes


def bcoo_reshape(mat: BCOO, *, new_sizes: Sequence[int], dimensions: Sequence[int] | None = None,
                 sharding: Any = None) -> BCOO:
    """The elements in another shape, in the order of their axes.

    Batch axes stay batch axes where the new sizes begin with theirs; else they become sparse.

    Args:
      mat: a BCOO.
      new_sizes: shape of the result.
      dimensions: the order of axes to which `mat` is transposed first; None keeps its order.
      sharding: None only.
    Raises: ValueError where the numbers of elements differ; NotImplementedError for arrays with
      dense axes and for a sharding.

    >>> mat = sparse.BCOO.fromdense(jnp.array([[0., 2.], [3., 4.]]))
    >>> sparse.bcoo_reshape(mat, new_sizes=(4,)).todense()
    Array([0., 2., 3., 4.], dtype=float32)
    """
    expect_kind("bcoo_reshape", BCOO, mat)
    at_home("bcoo_reshape", sharding, "sharding")
    sizes = _ints(new_sizes, "new_sizes")
    if math.prod(sizes) != mat.size or min(sizes, default=0) < 0:
        raise ValueError(f"bcoo_reshape: {mat.shape} cannot be reshaped to {sizes}")
    if mat.n_dense:
        raise NotImplementedError("bcoo_reshape: arrays with dense axes are not supported; call "
                                  "bcoo_update_layout with n_dense=0 first")
    if dimensions is not None:
        mat = bcoo_transpose(mat, permutation=dimensions)
    kept = 0
    while kept < min(mat.n_batch, len(sizes)) and sizes[kept] == mat.shape[kept]:
        kept += 1
    if mat.n_batch > kept and math.prod(sizes[:kept]) != math.prod(mat.shape[:mat.n_batch]):
        mat = bcoo_update_layout(mat, n_batch=kept)
    return _reshaped(mat, sizes, kept)


@functools.partial(jit, static_argnums=(1, 2))
def _reshaped(mat: BCOO, sizes: tuple[int, ...], kept: int) -> BCOO:
    mat = bcoo_update_layout(mat, n_batch=kept)
    data, indices = broadcast_batch(mat)
    old, new = mat.shape[kept:], sizes[kept:]
    keep = inside(indices, old)
    indices = jnp.where(keep[..., None], indices, 0)
    made: list[Any] = []
    for group_old, group_new in _groups(old, new):           # groups keep flat indices small
        flat = jnp.zeros(indices.shape[:-1], indices.dtype)
        for i in group_old:
            flat = flat * old[i] + indices[..., i]
        parts = []
        for j in reversed(group_new):
            parts.append(flat % max(new[j], 1))
            flat = flat // max(new[j], 1)
        made += parts[::-1]
    at = jnp.stack(made, axis=-1) if made else jnp.zeros((*indices.shape[:-1], 0), indices.dtype)
    return BCOO((chosen(keep, data), padded(keep, at, new)), shape=sizes,
                indices_sorted=mat.indices_sorted, unique_indices=mat.unique_indices)


def _groups(old: tuple[int, ...], new: tuple[int, ...]) -> list[tuple[range, range]]:
    """The shortest runs of old and new axes with equal products; an empty array is one run."""
    if 0 in old:
        return [(range(len(old)), range(len(new)))]
    found, i, j = [], 0, 0
    while i < len(old) or j < len(new):
        start, other, a, b = i, j, 1, 1
        while True:
            if a <= b and i < len(old) and (a < b or i == start):
                a, i = a * old[i], i + 1
            elif j < len(new) and (b < a or j == other):
                b, j = b * new[j], j + 1
            elif a == b:
                break
            elif i < len(old):
                a, i = a * old[i], i + 1
            else:
                b, j = b * new[j], j + 1
        found.append((range(start, i), range(other, j)))
    return found


# --- slices ---------------------------------------------------------------------------------------

def bcoo_slice(mat: BCOO, *, start_indices: Sequence[int], limit_indices: Sequence[int],
               strides: Sequence[int] | None = None) -> BCOO:
    """The part of an array from `start_indices` to `limit_indices`, every `strides`-th element.

    Args:
      mat: a BCOO.
      start_indices, limit_indices, strides: an int for each axis; strides are 1 where None.
    Raises: ValueError where they are not as many as the axes, or out of range.

    >>> mat = sparse.BCOO.fromdense(jnp.array([0., 2., 3., 4.]))
    >>> sparse.bcoo_slice(mat, start_indices=[1], limit_indices=[4], strides=[2]).todense()
    Array([2., 4.], dtype=float32)
    """
    expect_kind("bcoo_slice", BCOO, mat)
    starts, limits = _ints(start_indices, "start_indices"), _ints(limit_indices, "limit_indices")
    steps = (1,) * mat.ndim if strides is None else _ints(strides, "strides")
    if not len(starts) == len(limits) == len(steps) == mat.ndim:
        raise ValueError(f"bcoo_slice: starts {starts}, limits {limits} and strides {steps} must "
                         f"each have one entry for each axis of {mat.shape}")
    if not all(0 <= a <= b <= d and s > 0
               for a, b, s, d in zip(starts, limits, steps, mat.shape, strict=True)):
        raise ValueError(f"bcoo_slice: starts {starts}, limits {limits} and strides {steps} must "
                         f"lie inside shape {mat.shape}, with positive strides")
    made = _sliced(mat, starts, limits, steps)
    most = math.prod(made.shape[made.n_batch:made.n_batch + made.n_sparse])
    return bcoo_sum_duplicates(made, nse=most) if most < made.nse else made


@functools.partial(jit, static_argnums=(1, 2, 3))
def _sliced(mat: BCOO, starts: tuple, limits: tuple, steps: tuple) -> BCOO:
    own = mat._layout()
    shape = tuple([-(-(b - a) // s) for a, b, s in zip(starts, limits, steps, strict=True)])
    data, indices = broadcast_batch(mat)
    pieces = [slice(a, b, s) for a, b, s in zip(starts, limits, steps, strict=True)]
    batch, _, dense = own.parts(pieces)
    data = data[(*batch, slice(None), *dense)]
    indices = indices[batch]
    _, first, _ = own.parts(starts)
    _, last, _ = own.parts(limits)
    _, step, _ = own.parts(steps)
    _, sizes, _ = own.parts(shape)
    low, high, stride = [np.asarray(x, np.int64).astype(indices.dtype)
                         for x in (first, last, step)]
    keep = jnp.all((indices >= low) & (indices < high) & ((indices - low) % stride == 0), axis=-1)
    return BCOO((chosen(keep, data), padded(keep, (indices - low) // stride, sizes)), shape=shape,
                indices_sorted=False, unique_indices=mat.unique_indices)


def bcoo_dynamic_slice(mat: BCOO, start_indices: Sequence[Any], slice_sizes: Sequence[int]) -> BCOO:
    """The part of `slice_sizes` from `start_indices`.

    Args:
      mat: a BCOO.
      start_indices: an integer for each axis, which may be traced; it is moved so that the part
        lies inside the array.
      slice_sizes: an int for each axis.
    Raises: ValueError where they are not as many as the axes, or a size is larger than its axis.

    >>> mat = sparse.BCOO.fromdense(jnp.array([0., 2., 3.]))
    >>> sparse.bcoo_dynamic_slice(mat, [1], [2]).todense()
    Array([2., 3.], dtype=float32)
    """
    expect_kind("bcoo_dynamic_slice", BCOO, mat)
    sizes = _ints(slice_sizes, "slice_sizes")
    starts = [jnp.asarray(x) for x in start_indices]
    if not len(starts) == len(sizes) == mat.ndim or any(x.ndim for x in starts):
        raise ValueError(f"bcoo_dynamic_slice: starts and sizes {sizes} must each have one number "
                         f"for each axis of {mat.shape}")
    if not all(0 <= s <= d for s, d in zip(sizes, mat.shape, strict=True)):
        raise ValueError(f"bcoo_dynamic_slice: sizes {sizes} are larger than shape {mat.shape}")
    return _dynamic(mat, starts, sizes)


@functools.partial(jit, static_argnums=2)
def _dynamic(mat: BCOO, starts: list[Any], shape: tuple[int, ...]) -> BCOO:
    own = mat._layout()
    data, indices = broadcast_batch(mat)
    firsts = [jnp.clip(a, 0, d - s).astype(indices.dtype)
              for a, d, s in zip(starts, mat.shape, shape, strict=True)]
    batch, sparse, dense = own.parts(firsts)
    sizes = own.parts(shape)
    zero = jnp.zeros((), indices.dtype)
    data = dynamic_slice(data, (*batch, zero, *dense), (*sizes[0], mat.nse, *sizes[2]))
    indices = dynamic_slice(indices, (*batch, zero, zero), (*sizes[0], mat.nse, own.n_sparse))
    if own.n_sparse:
        at = indices - jnp.stack(sparse)
        keep = inside(at, sizes[1]) & inside(indices, own.parts(mat.shape)[1])
        data, indices = chosen(keep, data), padded(keep, at, sizes[1])
    return BCOO((data, indices), shape=shape, unique_indices=mat.unique_indices)


def bcoo_gather(operand: BCOO, start_indices: Any, dimension_numbers: GatherDimensionNumbers,
                slice_sizes: Sequence[int], *, unique_indices: bool = False,
                indices_are_sorted: bool = False, mode: Any = None,
                fill_value: Any = None) -> BCOO:
    """`lax.gather` of a sparse array: slices at the positions that index vectors name.

    Args:
      operand: a BCOO.
      start_indices: integers; each vector along the last axis is the start of one slice.
      dimension_numbers, slice_sizes: what the axes mean and how large a slice is, as in
        `lax.gather`.
      unique_indices, indices_are_sorted: promises about the indices.
      mode: what happens to slices that lie partly outside; None means clip.
      fill_value: 0 in mode "fill", because other elements would make the result dense.
    Returns: a BCOO. The axes of the index vectors are batch axes where they come first in the
      result; otherwise all axes are sparse.
    Raises: TypeError where the dimension numbers do not match the shapes; NotImplementedError in
      mode "fill" for another fill value, and where axes of the operand are batching axes.

    >>> mat = sparse.BCOO.fromdense(jnp.array([[0., 2.], [3., 0.]]))
    >>> rows = lax.GatherDimensionNumbers((1,), (0,), (0,))
    >>> sparse.bcoo_gather(mat, jnp.array([[1], [1]]), rows, (1, 2)).todense()
    Array([[3., 0.],
           [3., 0.]], dtype=float32)
    """
    expect_kind("bcoo_gather", BCOO, operand)
    start_indices = jnp.asarray(start_indices)
    numbers, sizes = GatherDimensionNumbers(*dimension_numbers), _ints(slice_sizes, "slice_sizes")
    made = eval_shape(                                       # refuses what does not fit
        lambda x, at: gather(x, at, numbers, sizes, unique_indices=unique_indices,
                             indices_are_sorted=indices_are_sorted, mode=mode),
        ShapeDtypeStruct(operand.shape, operand.dtype), start_indices)
    if numbers.operand_batching_dims:
        raise NotImplementedError("bcoo_gather: batching axes of the operand are not supported, got"
                                  f" operand_batching_dims={numbers.operand_batching_dims}; write "
                                  "vmap over a batch axis")
    dropped = mode is not None and mode_word(mode) == "fill"
    if dropped and (fill_value is None or np.any(np.asarray(fill_value) != 0)):
        raise NotImplementedError(f"bcoo_gather: in mode 'fill' the result is sparse with "
                                  f"fill_value=0 only, got {fill_value!r}")
    slices = _slices(operand, start_indices, tuple(numbers.start_index_map), sizes,
                     tuple(numbers.collapsed_slice_dims), dropped)
    most = math.prod(slices._layout().parts(slices.shape)[1])
    if most < slices.nse:
        slices = bcoo_sum_duplicates(slices, nse=most)
    offsets = tuple(numbers.offset_dims)
    order = [a for a in range(len(made.shape)) if a not in offsets] + list(offsets)
    if order == sorted(order):
        return slices
    return bcoo_transpose(bcoo_update_layout(slices, n_batch=0, n_dense=0),
                          permutation=[order.index(a) for a in range(len(order))])


@functools.partial(jit, static_argnums=(2, 3, 4, 5))
def _slices(mat: BCOO, starts: Any, axes: tuple[int, ...], sizes: tuple[int, ...],
            collapsed: tuple[int, ...], dropped: bool) -> BCOO:
    """The slices, [*vectors, *axes of a slice that are not collapsed]."""
    last = np.asarray(mat.shape) - np.asarray(sizes)

    def one(start: Any) -> BCOO:
        at: list[Any] = [0] * mat.ndim
        keep = jnp.ones((), bool)
        for i, a in enumerate(axes):
            at[a] = start[i]
            keep &= (start[i] >= 0) & (start[i] <= int(last[a]))
        made = bcoo_squeeze(bcoo_dynamic_slice(mat, at, sizes), dimensions=collapsed)
        return made.with_data(jnp.where(keep, made.data, 0)) if dropped else made

    for _ in range(starts.ndim - 1):
        one = vmap(one)
    return one(starts)


def picked(mat: BCOO, index: Any) -> Any:
    """`mat[index]` for integers, slices, None and `...`.

    Raises: IndexError for an index out of range; NotImplementedError for arrays as indices.
    """
    given = index if isinstance(index, tuple) else (index,)
    n = sum(i is not None and i is not Ellipsis for i in given)
    if n > mat.ndim:
        raise IndexError(f"too many indices: {n} for a sparse array of shape {mat.shape}")
    if Ellipsis in [i for i in given if not is_array_like(i)]:
        at = [i is Ellipsis for i in given].index(True)
        given = (*given[:at], *[slice(None)] * (mat.ndim - n), *given[at + 1:])
        if any(i is Ellipsis for i in given):
            raise IndexError("an index can only have a single ellipsis ('...')")
    else:
        given = (*given, *[slice(None)] * (mat.ndim - n))
    return _picked(mat, given)


def _picked(mat: BCOO, given: tuple) -> BCOO:
    starts, limits, steps, flipped, gone, new = [], [], [], [], [], []
    for i in given:
        axis = len(starts)
        if i is None:
            new.append(axis)
            continue
        size = mat.shape[axis]
        if isinstance(i, slice):
            a, b, s = i.indices(size)
            count = len(range(a, b, s))
            if s < 0:
                flipped.append(axis)
                a, s = a + (count - 1) * s, -s
            starts.append(a if count else 0)
            limits.append(a + (count - 1) * s + 1 if count else 0)
            steps.append(s)
            continue
        if isinstance(i, (bool, np.bool_)) or not hasattr(i, "__index__") or np.ndim(i):
            raise NotImplementedError("sparse arrays can only be indexed by integers, slices, None "
                                      f"and '...', got {i!r}")
        at = index_of(i, "index")
        if not -size <= at < size:
            raise IndexError(f"index {at} is out of bounds for axis {axis} with size {size}")
        gone.append(axis)
        starts.append(at % size)
        limits.append(at % size + 1)
        steps.append(1)
    made = bcoo_slice(mat, start_indices=starts, limit_indices=limits, strides=steps)
    if flipped:
        made = bcoo_rev(made, flipped)
    if gone:
        made = bcoo_squeeze(made, dimensions=gone)
    for count, axis in enumerate(new):
        place = axis - sum(a < axis for a in gone) + count
        dims = [a + (a >= place) for a in range(made.ndim)]
        shape = (*made.shape[:place], 1, *made.shape[place:])
        made = bcoo_broadcast_in_dim(made, shape=shape, broadcast_dimensions=dims)
    return made


__all__ = ["bcoo_broadcast_in_dim", "bcoo_concatenate", "bcoo_dynamic_slice", "bcoo_gather",
           "bcoo_reshape", "bcoo_rev", "bcoo_slice", "bcoo_squeeze", "bcoo_transpose"]
