"""Ops that change the element type or nothing at all: convert, bitcast, copy, barriers.

Sources: StableHLO spec, `convert`, `bitcast_convert`, `optimization_barrier`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..core import Op, Value
from ..definition import LINEAR, LINEAR_OP, ZERO, OpDef
from ..errors import IRTypeError
from ..opdef import DTYPE, define
from ..spreading import each_as_it_is, spreads, unchanged
from ..traits import (
    CHEAP,
    ELEMENTWISE,
    EXACT,
    EXACT_COMPLEX,
    IN_ORDER,
    LIGHT,
    MERGED,
    TERMWISE,
    does,
    mark,
)
from ..types import tensor
from .families import batch_elementwise, move_batch

if TYPE_CHECKING:
    from ..builder import Builder
    from ..rules import Attrs, Axis, Batched, NewTangents, Positions, Tangents, Types, Values
    from ..split_builder import SplitBuilder

# --- convert ------------------------------------------------------------------------------


def _infer_convert(types: Types, attrs: Attrs) -> Types:
    (x,), dtype = types, attrs["dtype"]
    if x.dtype.is_key or dtype.is_key:
        raise IRTypeError(f"convert: keys cannot be converted, got {x} to {dtype}")
    return (x.with_dtype(dtype),)


def _jvp_convert(b: Builder, op: Op, tangents: Tangents) -> NewTangents:
    (t,), dtype = tangents, op.attrs["dtype"]
    return (b.emit(convert, t, dtype=dtype) if dtype.is_inexact else None,)


def _transpose_convert(b: Builder, op: Op, cotangents: Tangents, known: Tangents) -> NewTangents:
    return (b.emit(convert, cotangents[0], dtype=op.operands[0].type.dtype),)


convert = define("convert", attrs={"dtype": DTYPE}, infer=_infer_convert, operands=1,
                 jvp=_jvp_convert, transpose=_transpose_convert, batch=batch_elementwise)
"""Converts elements to another dtype. Complex to real keeps the real part; conversion to bool is
`!= 0`; float to integer truncates and saturates, and NaN gives 0."""


# --- bitcast ------------------------------------------------------------------------------

def _infer_bitcast(types: Types, attrs: Attrs) -> Types:
    (x,), dtype = types, attrs["dtype"]
    if dtype is x.dtype:
        return types
    for d in (x.dtype, dtype):
        if not (d.is_integer or d.is_float):
            raise IRTypeError(f"bitcast: both types must be integers or floats, got {x} to {dtype}")
    if x.dtype.bits == dtype.bits:
        return (x.with_dtype(dtype),)
    if x.dtype.bits > dtype.bits:
        return (tensor((*x.shape, x.dtype.bits // dtype.bits), dtype),)
    ratio = dtype.bits // x.dtype.bits
    if not x.shape or x.shape[-1] != ratio:
        raise IRTypeError(f"bitcast: {ratio} elements of {x.dtype} make one {dtype}; the last "
                          f"dimension of {x} must be {ratio}")
    return (tensor(x.shape[:-1], dtype),)


def _batch_bitcast(b: Builder, op: Op, operands: Values, positions: Positions, axis: Axis
                   ) -> Batched:
    (x,), (p,) = operands, positions
    x = move_batch(b, x, p, 0, axis[1])         # the batch must not be the last dimension
    return (b.emit(bitcast, x, **op.attrs),), (0,)


bitcast = define("bitcast", attrs={"dtype": DTYPE}, infer=_infer_bitcast, operands=1, jvp=ZERO,
                 batch=_batch_bitcast)
"""Reads the same bits as another dtype. A narrower dtype adds a last dimension, a wider one removes
the last dimension; the least significant part comes first."""


# --- copy and barriers --------------------------------------------------------------------

copy: OpDef[Value] = define("copy", infer=lambda types, attrs: types, operands=1, jvp=LINEAR_OP,
              transpose=lambda b, op, cts, known: (b.emit(copy, cts[0]),),
              batch=batch_elementwise)
stop_gradient = define("stop_gradient", infer=lambda types, attrs: types, operands=1, jvp=ZERO,
                       batch=batch_elementwise)
"""Returns its operand, as a constant to derivatives."""
idle = define("idle", infer=lambda types, attrs: types, operands=1, jvp=ZERO,
              transpose=lambda b, op, cts, known: (None,), batch=batch_elementwise)
"""Returns its operand, for lanes whose results nobody reads: a constant to derivatives. Ops that
read it may still be linear, since no cotangent comes from these lanes."""
fence: OpDef[Value] = define("fence", infer=lambda types, attrs: types, operands=1, jvp=LINEAR_OP,
               transpose=lambda b, op, cts, known: (b.emit(fence, cts[0]),),
               batch=batch_elementwise)
"""Returns its operand, which is computed once however many ops read it. Its effect on speed depends
on the platform. Its cotangent is fenced too, so that reverse mode keeps the same ops apart."""


def _infer_barrier(types: Types, attrs: Attrs) -> Types:
    if not types:
        raise IRTypeError("optimization_barrier takes at least one operand")
    return types


def _barrier(b: Builder, values: Any) -> list[Any]:
    """A barrier on the values that are not None."""
    there = [v for v in values if v is not None]
    made = iter(b.emit(optimization_barrier, *there) if there else ())
    return [None if v is None else next(made) for v in values]


def _transpose_barrier(b: Builder, op: Op, cotangents: Tangents, known: Tangents) -> NewTangents:
    wanted = [ct if k is LINEAR else None for ct, k in zip(cotangents, known, strict=True)]
    return tuple(_barrier(b, wanted))


def _split_barrier(b: SplitBuilder, attrs: Attrs, operands: Values, linear: Any) -> Values:
    """Values that are known do not wait for tangents: one barrier on each side."""
    known = [v for v, t in zip(operands, linear, strict=True) if not t]
    ahead = iter(b.emit(optimization_barrier, *known) if known else ())
    tangents = [v for v, t in zip(operands, linear, strict=True) if t]
    moved = iter(b.emit_linear(optimization_barrier, *tangents))
    return tuple([next(moved if t else ahead) for t in linear])


def _batch_barrier(b: Builder, op: Op, operands: Values, positions: Positions, axis: Axis
                   ) -> Batched:
    return b.emit(optimization_barrier, *operands), tuple(positions)


optimization_barrier = define(
    "optimization_barrier", infer=_infer_barrier, single=False,
    jvp=lambda b, op, tangents: tuple(_barrier(b, tangents)), transpose=_transpose_barrier,
    split=_split_barrier, batch=_batch_barrier)
"""Returns its operands, all of which are computed before any result is used."""


# --- axes that divide ---------------------------------------------------------------------

spreads(each_as_it_is, optimization_barrier)
spreads(unchanged, bitcast)


# --- what passes ask ----------------------------------------------------------------------

mark({ELEMENTWISE, LIGHT}, convert, bitcast, copy, stop_gradient, idle, fence, optimization_barrier)
mark({MERGED}, convert, bitcast, copy, stop_gradient, idle)
mark({CHEAP}, convert, bitcast)
mark({IN_ORDER}, convert, bitcast, copy, stop_gradient, idle)
mark({EXACT, EXACT_COMPLEX, TERMWISE}, convert)
does(0, convert, bitcast, copy, stop_gradient, idle)
