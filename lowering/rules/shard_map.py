"""Lowering of shard_map to `sdy.manual_computation`, in whose region values have the shape of one
device's part.

Constants that the body reads are written again inside it. Collectives in it find the mesh in the
context (see `collective.py`). Where some axes are not manual, XLA does not tell a device its
number, so for each manual axis the device's index is passed in: it is the device's part of an iota
operand.
"""

from __future__ import annotations

import json
from typing import Any

from lowering.context import RuleContext, rule
from lowering.partitioning import sharding_text
from xfront_ir import dtypes, ops
from xfront_ir.analysis import functions
from xfront_ir.core import Function, Op, forced
from xfront_ir.sharding import Spec
from xfront_ir.types import I32, tensor


@rule(ops.shard_map)
def _shard_map(ctx: RuleContext, op: Op, *operands: Any) -> Any:
    attrs = op.attrs
    mesh, body = attrs["mesh"], forced(attrs["body"])
    if ctx.is_ordered(body):
        raise NotImplementedError("shard_map: an ordered effect (a callback or debug.print with "
                                  "ordered=True) has no order between devices; use ordered=False")
    if mesh.size == 1 == ctx.num_partitions:                # nothing to divide
        outer, ctx.mesh = ctx.mesh, mesh
        try:
            return ctx.body(body, operands)
        finally:
            ctx.mesh = outer
    again = [ctx.constant_of(x) if s.is_replicated else None
             for x, s in zip(operands, attrs["in_specs"], strict=True)]
    passed = [i for i, c in enumerate(again) if c is None]
    asked = _asked(body) if {*attrs["axes"]} != {*mesh.names} else ()
    along = [a for a in mesh.names if a in asked and a in attrs["axes"]]
    handed = [a for a in ctx.indices if a in asked and a not in along]
    numbers = [tensor((mesh.size_of((a,)),), dtypes.i32) for a in along]

    def fill(ctx: RuleContext, *parts: Any) -> Any:
        given = iter(parts)
        outer = ctx.mesh, ctx.indices
        ctx.mesh = mesh
        try:
            values = [next(given) if c is None else ctx.constant_again(c) for c in again]
            own = {a: ctx.create("stablehlo.reshape", [next(given)], [I32]) for a in along}
            ctx.indices = {**own, **dict(zip(handed, given, strict=True))}
            return ctx.body(body, values)
        finally:
            ctx.mesh, ctx.indices = outer

    symbol = ctx.module.mesh(mesh)

    def shardings(specs: Any, types: Any) -> Any:
        return ctx.shardings([sharding_text(symbol, opened(s), t)
                              for s, t in zip(specs, types, strict=True)])

    axes = [a for a in mesh.names if a in attrs["axes"]]
    if len(axes) < len(mesh.names):
        ctx.module.parted.append((mesh, axes))

    def opened(spec: Spec) -> Spec:               # the compiler divides further by the other axes
        if len(axes) == len(mesh.names):
            return spec
        return Spec(spec.dims, range(spec.ndim), spec.unreduced, spec.reduced)

    made = ctx.create(
        "sdy.manual_computation",
        [*[operands[i] for i in passed],
         *[ctx.create("stablehlo.iota", [], [t], iota_dimension=ctx.i64(0)) for t in numbers],
         *[ctx.indices[a] for a in handed]],
        op.results, (fill,),
        [*[body.params[i].type for i in passed], *[tensor((1,), dtypes.i32)] * len(along),
         *[I32] * len(handed)],
        "sdy.return",
        in_shardings=shardings([*[attrs["in_specs"][i] for i in passed],
                                *[Spec([(a,)]) for a in along], *[Spec([])] * len(handed)],
                               [*[op.operands[i].type for i in passed], *numbers,
                                *[I32] * len(handed)]),
        out_shardings=shardings(attrs["out_specs"], [v.type for v in op.results]),
        manual_axes=ctx.attr(f"#sdy<manual_axes{{{', '.join(map(json.dumps, axes))}}}>"))
    return made if isinstance(made, list) else [made]


def _asked(body: Function) -> set[str]:
    """The axes whose index some `axis_index` in a body reads."""
    return {a for f in functions(body) for op in f.ops if op.definition is ops.axis_index
            for a in op.attrs["axes"]}
