"""Ops that only change shapes: broadcast_in_dim, reshape, transpose, reverse, all linear; and iota.

Sources: StableHLO spec, sections of the same names.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING

from ..core import Op
from ..definition import LINEAR_OP, ZERO, lookup
from ..errors import IRTypeError
from ..opdef import AXES, DTYPE, INT, SHAPE, define
from ..spreading import Dims, alike, refuse, spreads
from ..traits import CHEAP, IN_ORDER, LIGHT, MERGED, MOVES, REARRANGES, does, mark
from ..types import tensor

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ..builder import Builder
    from ..definition import OpDef
    from ..rules import Attrs, Axis, Batched, NewTangents, Positions, Tangents, Types, Values

Shape = tuple[int, ...]

# --- broadcast_in_dim ---------------------------------------------------------------------


def _infer_broadcast_in_dim(types: Types, attrs: Attrs) -> Types:
    (x,), shape, dims = types, attrs["shape"], attrs["dims"]
    fits = (len(dims) == x.ndim and len(set(dims)) == len(dims)
            and all(0 <= d < len(shape) for d in dims)
            and all(n in (1, shape[d]) for n, d in zip(x.shape, dims, strict=True)))
    if not fits:
        raise IRTypeError(f"broadcast_in_dim: dims {dims} cannot place {x} in shape {shape}")
    return (x.with_shape(shape),)


def _transpose_broadcast_in_dim(b: Builder, op: Op, cotangents: Tangents, known: Tangents
                                ) -> NewTangents:
    x, (total,) = op.operands[0].type, cotangents
    summed, order = _gathered(x.shape, op.attrs["shape"], op.attrs["dims"])
    if summed:
        total = b.emit(lookup("reduce_sum"), total, axes=summed)
    if order:
        total = b.emit(transpose, total, permutation=order)
    return (total if total.type.plain is x.plain else b.emit(reshape, total, shape=x.shape),)


@lru_cache(maxsize=4096)
def _gathered(given: tuple[int, ...], shape: tuple[int, ...], dims: tuple[int, ...]
              ) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The axes over which a cotangent is summed to the shape `given`, and the permutation of the
    others that this needs (empty where they are in order)."""
    stretched = [d for n, d in zip(given, dims, strict=True) if n == 1 and shape[d] != 1]
    summed = tuple(sorted({*range(len(shape))} - {*dims} | {*stretched}))
    left = [d for d in range(len(shape)) if d not in summed]        # axes of the sum, ascending
    order = tuple(left.index(d) for d in dims if d in left)
    return summed, () if order == tuple(range(len(order))) else order


def position_of(positions: Positions) -> int:
    """The batch axis of an op's only operand: rules are called for ops that have one."""
    (position,) = positions
    assert position is not None
    return position


def _batch_broadcast_in_dim(b: Builder, op: Op, operands: Values, positions: Positions, axis: Axis
                            ) -> Batched:
    (x,), p = operands, position_of(positions)  # the batch becomes the result's first dimension
    dims = [d + 1 for d in op.attrs["dims"]]
    dims.insert(p, 0)
    shape = (x.type.shape[p], *op.attrs["shape"])
    return (b.emit(broadcast_in_dim, x, shape=shape, dims=tuple(dims)),), (0,)


broadcast_in_dim = define("broadcast_in_dim", attrs={"shape": SHAPE, "dims": AXES}, operands=1,
                          infer=_infer_broadcast_in_dim, jvp=LINEAR_OP,
                          transpose=_transpose_broadcast_in_dim, batch=_batch_broadcast_in_dim)


# --- reshape ------------------------------------------------------------------------------

def _infer_reshape(types: Types, attrs: Attrs) -> Types:
    (x,), shape = types, attrs["shape"]
    if math.prod(shape) != x.size:
        raise IRTypeError(f"reshape: {x} has {x.size} elements, but shape {shape} has "
                          f"{math.prod(shape)}")
    return (x.with_shape(shape),)


def _transpose_reshape(b: Builder, op: Op, cotangents: Tangents, known: Tangents) -> NewTangents:
    return (b.emit(reshape, cotangents[0], shape=op.operands[0].type.shape),)


def _batch_reshape(b: Builder, op: Op, operands: Values, positions: Positions, axis: Axis
                   ) -> Batched:
    (x,), p = operands, position_of(positions)
    front = x if p == 0 else b.emit(transpose, x, permutation=moved(x.type.ndim, p, 0))
    shape = (front.type.shape[0], *op.attrs["shape"])
    return (b.emit(reshape, front, shape=shape),), (0,)


reshape = define("reshape", attrs={"shape": SHAPE}, operands=1, infer=_infer_reshape,
                 jvp=LINEAR_OP, transpose=_transpose_reshape, batch=_batch_reshape)


# --- transpose ----------------------------------------------------------------------------

def moved(ndim: int, source: int, destination: int) -> tuple[int, ...]:
    """The permutation that takes axis `source` to `destination` and keeps the order of the others.
    """
    order = [d for d in range(ndim) if d != source]
    order.insert(destination, source)
    return tuple(order)


def _infer_transpose(types: Types, attrs: Attrs) -> Types:
    (x,) = types
    permutation: Shape = attrs["permutation"]
    if sorted(permutation) != list(range(x.ndim)):
        raise IRTypeError(f"transpose: {permutation} is not a permutation of the {x.ndim} axes of "
                          f"{x}")
    return (x.with_shape(tuple(x.shape[d] for d in permutation)),)


def _transpose_transpose(b: Builder, op: Op, cotangents: Tangents, known: Tangents) -> NewTangents:
    permutation: Shape = op.attrs["permutation"]
    inverse = tuple(sorted(range(len(permutation)), key=permutation.__getitem__))
    return (b.emit(transpose, cotangents[0], permutation=inverse),)


def _batch_transpose(b: Builder, op: Op, operands: Values, positions: Positions, axis: Axis
                     ) -> Batched:
    (x,), (p,) = operands, positions
    permutation = (p, *(d + (d >= p) for d in op.attrs["permutation"]))
    return (b.emit(transpose, x, permutation=permutation),), (0,)


transpose = define("transpose", attrs={"permutation": AXES}, operands=1, infer=_infer_transpose,
                   jvp=LINEAR_OP, transpose=_transpose_transpose, batch=_batch_transpose)


# --- reverse ------------------------------------------------------------------------------

def _infer_reverse(types: Types, attrs: Attrs) -> Types:
    (x,), axes = types, attrs["axes"]
    if len(set(axes)) != len(axes) or not all(0 <= a < x.ndim for a in axes):
        raise IRTypeError(f"reverse: axes must be distinct and in [0, {x.ndim}), got {axes}")
    return (x,)


def _transpose_reverse(b: Builder, op: Op, cotangents: Tangents, known: Tangents) -> NewTangents:
    return (b.emit(reverse, cotangents[0], axes=op.attrs["axes"]),)


def _batch_reverse(b: Builder, op: Op, operands: Values, positions: Positions, axis: Axis
                   ) -> Batched:
    (x,), (p,) = operands, positions
    axes = tuple(a + (a >= p) for a in op.attrs["axes"])
    return (b.emit(reverse, x, axes=axes),), (p,)


reverse = define("reverse", attrs={"axes": AXES}, operands=1, infer=_infer_reverse, jvp=LINEAR_OP,
                 transpose=_transpose_reverse, batch=_batch_reverse)


# --- iota ---------------------------------------------------------------------------------

def _infer_iota(types: Types, attrs: Attrs) -> Types:
    dtype, shape, dimension = attrs["dtype"], attrs["shape"], attrs["dimension"]
    if not 0 <= dimension < len(shape):
        raise IRTypeError(f"iota: dimension must be in [0, {len(shape)}), got {dimension}")
    if not dtype.is_numeric:
        raise IRTypeError(f"iota: dtype must be numeric, got {dtype}")
    return (tensor(shape, dtype),)


iota = define("iota", attrs={"dtype": DTYPE, "shape": SHAPE, "dimension": INT}, operands=0,
              infer=_infer_iota, jvp=ZERO)


# --- axes that divide ---------------------------------------------------------------------

def _spread_broadcast_in_dim(op: OpDef, types: Types, attrs: Attrs, results: Types
                            ) -> Sequence[Dims]:
    (x,) = types
    dims: list[tuple[str, ...]] = [()] * results[0].ndim
    for i, (d, n) in enumerate(zip(attrs["dims"], x.shape, strict=True)):
        if n == attrs["shape"][d]:
            dims[d] = x.dims[i]
    return (tuple(dims),)


def _spread_transpose(op: OpDef, types: Types, attrs: Attrs, results: Types
                     ) -> Sequence[Dims]:
    permutation: Shape = attrs["permutation"]
    return (tuple([types[0].dims[d] for d in permutation]),)


def _spread_reshape(op: OpDef, types: Types, attrs: Attrs, results: Types) -> Sequence[Dims]:
    (x,), shape = types, attrs["shape"]
    dims: list[tuple[str, ...]] = [()] * len(shape)
    for own, made in _same_sizes(x.shape, shape):
        axes = _joined(tuple([x.dims[i] for i in own]))
        if axes is not None and not axes:
            continue
        mesh = x.sharding and x.sharding.mesh
        if mesh is None or axes is None or not made or (len(own) > 1 < len(made)) or (
                shape[made[0]] % mesh.size_of(axes)):
            refuse("This reshape is not supported. Please specify the sharding of the output via "
                   "the `out_sharding` argument of xfront.lax.reshape. Got operand type: "
                   f"{x}, new sizes: {shape}")
        dims[made[0]] = axes
    return (tuple(dims),)


def _same_sizes(old: Shape, new: Shape) -> Iterator[tuple[list[int], list[int]]]:
    """Pairs of groups of dimensions, one of each shape, that hold the same elements. Dimensions of
    size 1 are left out."""
    i = j = 0
    left = [k for k, n in enumerate(old) if n != 1]
    right = [k for k, n in enumerate(new) if n != 1]
    while i < len(left) and j < len(right):
        own, made = [left[i]], [right[j]]
        size, other = old[left[i]], new[right[j]]
        while size != other and (i + 1 < len(left) if size < other else j + 1 < len(right)):
            if size < other:
                i += 1
                own.append(left[i])
                size *= old[left[i]]
            else:
                j += 1
                made.append(right[j])
                other *= new[right[j]]
        yield own, made
        i, j = i + 1, j + 1


def _joined(dims: Dims) -> tuple[str, ...] | None:
    """The axes that divide a dimension into which these are merged; None if an inner one is divided
    and one before it is not."""
    axes: tuple[str, ...] = ()
    for k, d in enumerate(dims):
        if d and len(axes) < k and not all(dims[:k]):
            return None
        axes += d
    return axes


spreads(_spread_broadcast_in_dim, broadcast_in_dim)
spreads(_spread_transpose, transpose)
spreads(_spread_reshape, reshape)
spreads(alike, reverse)


# --- what passes ask ----------------------------------------------------------------------

mark({LIGHT, MOVES, MERGED}, broadcast_in_dim, reshape, transpose, reverse, iota)
mark({CHEAP}, broadcast_in_dim, reshape)
mark({IN_ORDER}, reshape)
mark({REARRANGES}, broadcast_in_dim, reshape, transpose, reverse)
does(0, broadcast_in_dim, reshape)
