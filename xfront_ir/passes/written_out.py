"""Ops that programs defined themselves are written as other ops before they are lowered.

    func @f(%x: f32[3]) -> (f32[3]) {            func @f(%x: f32[3]) -> (f32[3]) {
      %0: f32[3] = own.double(%x) {call = ...}     %0: f32[3] = add(%x, %x)
      return %0                                    return %0
    }                                            }

The Function that such an op is written as may hold further ones, and pending transformations.
"""

from __future__ import annotations

from ..core import Function, Op, Value, renamed
from ..placed_builder import PlacedBuilder
from .dead_code import dead_code
from .inline import settle
from .inside import everywhere


def _write(fn: Function) -> Function:
    if not any([op.definition.written is not None for op in fn.ops]):
        return fn
    fn = dead_code(fn)                           # one that nobody reads needs no lowering
    names: dict[Value, Value] = {}
    ops: list[Op] = []
    for op in fn.ops:
        made = None if op.definition.written is None else op.definition.written(op)
        op = renamed(op, names)
        if made is None:
            ops.append(op)
            continue
        b = PlacedBuilder(fn.name)
        b.loc = op.loc
        returned = b.inline(written_out(settle(made)), op.operands)
        ops.extend(b.ops)
        names.update(zip(op.results, returned, strict=True))
    return fn.replace(ops=ops, returns=[names.get(v, v) for v in fn.returns])


written_out = everywhere(_write, "written_out")
