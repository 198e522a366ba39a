"""Ops that take or place blocks of an array: slice, pad, concatenate and the dynamic slices.

Starts of dynamic slices are clamped so that the block fits, as in the StableHLO spec. A dynamic
slice whose starts differ along a batch becomes a gather (gathering.py), without a loop.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .. import dtypes
from ..core import Op, Value
from ..definition import LINEAR, LINEAR_OP, lookup
from ..errors import IRTypeError
from ..opdef import AXES, BOOL, INT, INTS, SHAPE, define, optional
from ..spreading import RESHARD, Dims, listed, met, refuse, resized, spreads
from ..traits import BRANCHES, CHEAP, MERGED, MOVES, REARRANGES, TERMWISE, mark
from ..types import TensorType
from .families import move_batch
from .shape import broadcast_in_dim, position_of

if TYPE_CHECKING:
    from ..builder import Builder
    from ..definition import OpDef
    from ..rules import Attrs, Axis, Batched, NewTangents, Positions, Tangents, Types, Values

Ints = tuple[int, ...]


def _inserted(values: Ints, at: int, value: int) -> Ints:
    return (*values[:at], value, *values[at:])


def or_zeros(b: Builder, tangent: Value | None, type: TensorType) -> Value:
    """The tangent, or zeros of `type` where it is None."""
    return b.zeros(type) if tangent is None else tangent


# --- slice --------------------------------------------------------------------------------

def _infer_slice(types: Types, attrs: Attrs) -> Types:
    (x,), starts, limits, strides = types, attrs["starts"], attrs["limits"], attrs["strides"]
    fits = (len(starts) == len(limits) == len(strides) == x.ndim
            and all(0 <= s <= l <= n for s, l, n in zip(starts, limits, x.shape))
            and all(stride >= 1 for stride in strides))
    if not fits:
        raise IRTypeError(f"slice: starts {starts}, limits {limits}, strides {strides} cannot "
                          f"slice {x}: each axis needs 0 <= start <= limit <= size and stride >= 1")
    return (x.with_shape(tuple((l - s + stride - 1) // stride
                               for s, l, stride in zip(starts, limits, strides))),)


def _transpose_slice(b: Builder, op: Op, cotangents: Tangents, known: Tangents) -> NewTangents:
    x, (ct,) = op.operands[0].type, cotangents
    starts, strides = op.attrs["starts"], op.attrs["strides"]
    high = tuple(size - start - _dilated(n, stride)
                 for size, start, n, stride in zip(x.shape, starts, ct.type.shape, strides))
    zero = b.literal(0, x.dtype)
    return (b.emit(pad, ct, zero, low=starts, high=high, interior=tuple(s - 1 for s in strides)),)


def _dilated(size: int, stride: int) -> int:
    """How many places `size` elements span at distance `stride`."""
    return (size - 1) * stride + 1 if size else 0


def _batch_slice(b: Builder, op: Op, operands: Values, positions: Positions, axis: Axis) -> Batched:
    (x,), p = operands, position_of(positions)
    size = x.type.shape[p]
    sliced = b.emit(slice, x, starts=_inserted(op.attrs["starts"], p, 0),
                    limits=_inserted(op.attrs["limits"], p, size),
                    strides=_inserted(op.attrs["strides"], p, 1))
    return (sliced,), (p,)


slice = define("slice", attrs={"starts": AXES, "limits": AXES, "strides": AXES}, operands=1,
               infer=_infer_slice, jvp=LINEAR_OP, transpose=_transpose_slice, batch=_batch_slice)


# --- pad ----------------------------------------------------------------------------------

def _infer_pad(types: Types, attrs: Attrs) -> Types:
    (x, value), low, high = types, attrs["low"], attrs["high"]
    interior = attrs["interior"]
    if value.dtype is not x.dtype or value.ndim or x.dtype.is_key:
        raise IRTypeError(f"pad: the padding value must be {x.dtype}[], and keys cannot be padded, "
                          f"got {value}")
    if not len(low) == len(high) == len(interior) == x.ndim or min(interior, default=0) < 0:
        raise IRTypeError(f"pad: low {low}, high {high}, interior {interior} cannot pad {x}: each "
                          "must have one number for each axis, and interior >= 0")
    shape = tuple(l + h + _dilated(n, i + 1)
                  for n, l, h, i in zip(x.shape, low, high, interior))
    if min(shape, default=0) < 0:
        raise IRTypeError(f"pad: low {low} and high {high} remove more elements than {x} has")
    return (x.with_shape(shape),)


def _jvp_pad(b: Builder, op: Op, tangents: Tangents) -> NewTangents:
    x, value = op.operands
    return (b.emit(pad, or_zeros(b, tangents[0], x.type), or_zeros(b, tangents[1], value.type),
                   **op.attrs),)


def _transpose_pad(b: Builder, op: Op, cotangents: Tangents, known: Tangents) -> NewTangents:
    (ct,), attrs = cotangents, op.attrs
    x = op.operands[0].type
    return (_unpad(b, ct, x, **attrs) if known[0] is LINEAR else None,
            _sum_of_padding(b, ct, x, attrs) if known[1] is LINEAR else None)


def _unpad(b: Builder, ct: Value, x: TensorType, low: Ints, high: Ints, interior: Ints) -> Value:
    """The cotangent of the padded operand: zero where it was cropped, without the padding."""
    if min(low, default=0) < 0 or min(high, default=0) < 0:
        none = (0,) * x.ndim
        ct = b.emit(pad, ct, b.literal(0, x.dtype), low=tuple(max(-l, 0) for l in low),
                    high=tuple(max(-h, 0) for h in high), interior=none)
    starts = tuple(max(l, 0) for l in low)
    limits = tuple(s + _dilated(n, i + 1) for s, n, i in zip(starts, x.shape, interior))
    if starts == (0,) * x.ndim and limits == ct.type.shape and not any(interior):
        return ct
    return b.emit(slice, ct, starts=starts, limits=limits, strides=tuple(i + 1 for i in interior))


def _padding(b: Builder, x: TensorType, attrs: Any) -> Value:
    """A mask of where the result of a pad holds the padding value."""
    inside = b.zeros(x.with_dtype(dtypes.bool_))
    return b.emit(pad, inside, b.literal(True, dtypes.bool_), **attrs)


def _sum_of_padding(b: Builder, ct: Value, x: TensorType, attrs: Any) -> Value:
    kept = b.emit(lookup("select"), _padding(b, x, attrs), ct, b.zeros(ct.type))
    return b.emit(lookup("reduce_sum"), kept, axes=tuple(range(x.ndim)))


def _batch_pad(b: Builder, op: Op, operands: Values, positions: Positions, axis: Axis) -> Batched:
    (x, value), (p, of_value), attrs = operands, positions, op.attrs
    if of_value is None:
        assert p is not None
        attrs = {name: _inserted(amounts, p, 0) for name, amounts in attrs.items()}
        return (b.emit(pad, x, value, **attrs),), (p,)
    unbatched = op.operands[0].type        # each lane has its own value: pad with zero, select
    x = move_batch(b, x, p, 0, axis[1])
    attrs = {name: (0, *amounts) for name, amounts in attrs.items()}
    padded = b.emit(pad, x, b.literal(0, x.type.dtype), **attrs)
    shape = padded.type.shape
    mask = b.emit(broadcast_in_dim, _padding(b, unbatched, op.attrs), shape=shape,
                  dims=tuple(range(1, len(shape))))
    values = b.emit(broadcast_in_dim, value, shape=shape, dims=(0,))
    return (b.emit(lookup("select"), mask, values, padded),), (0,)


pad = define("pad", attrs={"low": INTS, "high": INTS, "interior": AXES}, operands=2,
             infer=_infer_pad, jvp=_jvp_pad, transpose=_transpose_pad, batch=_batch_pad)


# --- concatenate --------------------------------------------------------------------------

def _infer_concatenate(types: Types, attrs: Attrs) -> Types:
    dimension: int = attrs["dimension"]
    if not types:
        raise IRTypeError("concatenate takes at least one operand")
    first = types[0]
    if not 0 <= dimension < first.ndim:
        raise IRTypeError(f"concatenate: dimension must be in [0, {first.ndim}), got {dimension}")
    for t in types:
        if (t.dtype is not first.dtype or t.ndim != first.ndim
                or any(n != m for d, (n, m) in enumerate(zip(t.shape, first.shape))
                       if d != dimension)):
            raise IRTypeError(f"concatenate: operands may only differ in axis {dimension}, got "
                              f"{', '.join(map(str, types))}")
    total = sum(t.shape[dimension] for t in types)
    return (first.with_shape((*first.shape[:dimension], total, *first.shape[dimension + 1:])),)


def _jvp_concatenate(b: Builder, op: Op, tangents: Tangents) -> NewTangents:
    filled = [or_zeros(b, t, v.type) for t, v in zip(tangents, op.operands)]
    return (b.emit(concatenate, *filled, **op.attrs),)


def _transpose_concatenate(b: Builder, op: Op, cotangents: Tangents, known: Tangents
                          ) -> NewTangents:
    (ct,) = cotangents
    dimension: int = op.attrs["dimension"]
    made: list[Value | None] = []
    start, ones = 0, (1,) * ct.type.ndim
    for operand, of in zip(op.operands, known):
        stop = start + operand.type.shape[dimension]
        if of is LINEAR:
            starts = _inserted((0,) * (ct.type.ndim - 1), dimension, start)
            limits = (*ct.type.shape[:dimension], stop, *ct.type.shape[dimension + 1:])
            made.append(b.emit(slice, ct, starts=starts, limits=limits, strides=ones))
        else:
            made.append(None)
        start = stop
    return tuple(made)


def _batch_concatenate(b: Builder, op: Op, operands: Values, positions: Positions, axis: Axis
                       ) -> Batched:
    to = next(p for p in positions if p is not None)
    moved = [move_batch(b, v, p, to, axis[1]) for v, p in zip(operands, positions)]
    dimension = op.attrs["dimension"]
    return (b.emit(concatenate, *moved, dimension=dimension + (dimension >= to)),), (to,)


concatenate = define("concatenate", attrs={"dimension": INT}, infer=_infer_concatenate,
                     jvp=_jvp_concatenate, transpose=_transpose_concatenate,
                     batch=_batch_concatenate)


# --- dynamic_slice ------------------------------------------------------------------------

def _check_starts(name: str, x: TensorType, starts: Sequence[TensorType]) -> None:
    if len(starts) != x.ndim:
        raise IRTypeError(f"{name}: an operand of type {x} takes {x.ndim} starts, got "
                          f"{len(starts)}")
    for t in starts:
        if t is not starts[0] or t.ndim or not t.dtype.is_integer:
            raise IRTypeError(f"{name}: starts must be integer scalars of the same type, got "
                              f"{', '.join(map(str, starts))}")


def _infer_dynamic_slice(types: Types, attrs: Attrs) -> Types:
    (x, *starts), sizes = types, attrs["sizes"]
    _check_starts("dynamic_slice", x, starts)
    if len(sizes) != x.ndim or any(s > n for s, n in zip(sizes, x.shape)):
        raise IRTypeError(f"dynamic_slice: sizes {sizes} do not fit in {x}")
    return (x.with_shape(sizes),)


def _jvp_dynamic_slice(b: Builder, op: Op, tangents: Tangents) -> NewTangents:
    return (b.emit(dynamic_slice, tangents[0], *op.operands[1:], **op.attrs),)


def _transpose_dynamic_slice(b: Builder, op: Op, cotangents: Tangents, known: Tangents
                            ) -> NewTangents:
    zeros = b.zeros(op.operands[0].type)
    ct = b.emit(dynamic_update_slice, zeros, cotangents[0], *known[1:])
    return (ct, *(None for _ in known[1:]))


def _batched_starts(b: Builder, starts: Sequence[Value], positions: Sequence[int | None],
                    dims: Sequence[int], size: int) -> Value:
    """The starts of `dims` as one array of index vectors, [size, len(dims)]."""
    columns: list[Value] = []
    for d in dims:
        kept = () if positions[d] is None else (0,)
        columns.append(b.emit(broadcast_in_dim, starts[d], shape=(size, 1), dims=kept))
    return columns[0] if len(columns) == 1 else b.emit(concatenate, *columns, dimension=1)


def _with_zero_start(b: Builder, starts: Sequence[Value], at: int) -> list[Value]:
    dtype = starts[0].type.dtype if starts else dtypes.i32
    return [*starts[:at], b.literal(0, dtype), *starts[at:]]


def _batch_dynamic_slice(b: Builder, op: Op, operands: Values, positions: Positions, axis: Axis
                         ) -> Batched:
    (x, *starts), (p, *of_starts), sizes = operands, positions, op.attrs["sizes"]
    if not any(q is not None for q in of_starts):
        assert p is not None
        size = x.type.shape[p]
        return (b.emit(dynamic_slice, x, *_with_zero_start(b, starts, p),
                       sizes=_inserted(sizes, p, size)),), (p,)
    shape = op.operands[0].type.shape
    moving = [d for d, (s, n) in enumerate(zip(sizes, shape)) if s != n]
    if not moving:                               # whole axes: the starts are clamped to zero
        return (x,), (p,)
    up = [d if p is None else d + (d >= p) for d in range(len(shape))]    # axes of x with its batch
    sliced = b.emit(
        lookup("gather"), x, _batched_starts(b, starts, of_starts, moving, axis[1]),
        offset_dims=tuple(range(1, len(shape) + 1)), collapsed_slice_dims=(),
        operand_batching_dims=() if p is None else (p,),
        start_indices_batching_dims=() if p is None else (0,),
        start_index_map=tuple(up[d] for d in moving),
        slice_sizes=sizes if p is None else _inserted(sizes, p, min(1, axis[1])),
        mode="clip", fill_value=None, indices_are_sorted=False, unique_indices=p is not None)
    return (sliced,), (0,)


IN_RANGE = optional(BOOL)
"""Of slices at starts: that whoever wrote the op knows these to be in range. Then they are not
clamped, which takes time in a loop of short turns. Derivatives and batches do without it."""

dynamic_slice = define("dynamic_slice", attrs={"sizes": SHAPE, "in_range": IN_RANGE},
                       infer=_infer_dynamic_slice, jvp=_jvp_dynamic_slice,
                       transpose=_transpose_dynamic_slice,
                       batch=_batch_dynamic_slice)


# --- dynamic_update_slice -----------------------------------------------------------------

def _infer_dynamic_update_slice(types: Types, attrs: Attrs) -> Types:
    if len(types) < 2:
        raise IRTypeError("dynamic_update_slice takes an operand, an update and starts")
    x, update, *starts = types
    _check_starts("dynamic_update_slice", x, starts)
    if (update.dtype is not x.dtype or update.ndim != x.ndim
            or any(s > n for s, n in zip(update.shape, x.shape))):
        raise IRTypeError(f"dynamic_update_slice: update {update} does not fit in {x}")
    return (x,)


def _jvp_dynamic_update_slice(b: Builder, op: Op, tangents: Tangents) -> NewTangents:
    x, update, *starts = op.operands
    return (b.emit(dynamic_update_slice, or_zeros(b, tangents[0], x.type),
                   or_zeros(b, tangents[1], update.type), *starts),)


def _transpose_dynamic_update_slice(b: Builder, op: Op, cotangents: Tangents, known: Tangents
                                    ) -> NewTangents:
    (ct,), starts, update = cotangents, known[2:], op.operands[1].type
    of_x = of_update = None
    if known[0] is LINEAR:
        of_x = b.emit(dynamic_update_slice, ct, b.zeros(update), *starts)
    if known[1] is LINEAR:
        of_update = b.emit(dynamic_slice, ct, *starts, sizes=update.shape)
    return (of_x, of_update, *(None for _ in starts))


def _batch_dynamic_update_slice(b: Builder, op: Op, operands: Values, positions: Positions,
                                axis: Axis
                                ) -> Batched:
    (x, update, *starts), (p, of_update, *of_starts), size = operands, positions, axis[1]
    if not any(q is not None for q in of_starts):
        to = p if p is not None else of_update
        assert to is not None
        x, update = move_batch(b, x, p, to, size), move_batch(b, update, of_update, to, size)
        return (b.emit(dynamic_update_slice, x, update, *_with_zero_start(b, starts, to)),), (to,)
    shape, sizes = op.operands[0].type.shape, op.operands[1].type.shape
    moving = [d for d, (s, n) in enumerate(zip(sizes, shape)) if s != n]
    if not moving:
        return (update,), (of_update,)
    placed = b.emit(
        lookup("scatter"), move_batch(b, x, p, 0, size),
        _batched_starts(b, starts, of_starts, moving, size),
        move_batch(b, update, of_update, 0, size),
        update_window_dims=tuple(range(1, len(shape) + 1)), inserted_window_dims=(),
        operand_batching_dims=(0,), scatter_indices_batching_dims=(0,),
        scatter_dims_to_operand_dims=tuple(d + 1 for d in moving),
        mode="clip", indices_are_sorted=False, unique_indices=True)
    return (placed,), (0,)


dynamic_update_slice = define("dynamic_update_slice", attrs={"in_range": IN_RANGE},
                              infer=_infer_dynamic_update_slice,
                              jvp=_jvp_dynamic_update_slice,
                              transpose=_transpose_dynamic_update_slice,
                              batch=_batch_dynamic_update_slice)


# --- axes that divide ---------------------------------------------------------------------

def _spread_concatenate(op: OpDef, types: Types, attrs: Attrs, results: Types
                       ) -> Sequence[Dims]:
    if len({t.dims for t in types}) > 1:
        refuse(f"All operands should have the same sharding. Got shardings {listed(types)}. "
               "Reshard them alike with `xfront.sharding.reshard(x, P(...))`")
    return (types[0].dims,)


def _spread_update(op: OpDef, types: Types, attrs: Attrs, results: Types) -> Sequence[Dims]:
    """A dimension of which only a part is written must not be divided."""
    x, update = types[:2]
    for a, (n, m) in enumerate(zip(x.shape, update.shape, strict=True)):
        if n != m and (x.dims[a] or update.dims[a]):
            refuse(f"{op.name}: dimension {a} of {x} is divided, but {update} covers only a part "
                   f"of it: {RESHARD}")
    return (met(op.name, [x.dims, update.dims], x.ndim),)


spreads(resized, slice, pad, dynamic_slice)
spreads(_spread_concatenate, concatenate)
spreads(_spread_update, dynamic_update_slice)


# --- what passes ask ----------------------------------------------------------------------

mark({MOVES}, slice, pad, concatenate, dynamic_slice, dynamic_update_slice)
mark({MERGED}, slice, pad, concatenate, dynamic_slice)
mark({CHEAP}, slice, pad)
mark({REARRANGES}, slice)
mark({TERMWISE}, concatenate)
mark({BRANCHES}, pad, concatenate, dynamic_update_slice)
