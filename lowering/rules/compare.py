"""Lowering of comparisons."""

from __future__ import annotations

from typing import Any

from lowering.context import Form, RuleContext, one_op
from xfront_ir import ops
from xfront_ir.core import Op
from xfront_ir.definition import OpDef
from xfront_ir.dtypes import DType
from xfront_ir.types import TensorType


def compare(ctx: RuleContext, direction: str, x: Any, y: Any, mask: TensorType, kind: str) -> Any:
    """`stablehlo.compare` with a direction (EQ, NE, LT, LE, GT or GE) and a kind of comparison
    (FLOAT, TOTALORDER, SIGNED or UNSIGNED)."""
    return ctx.create("stablehlo.compare", [x, y], [mask], **_how(ctx, direction, kind))


def _how(ctx: RuleContext, direction: str, kind: str) -> dict[str, Any]:
    return {"compare_type": ctx.attr(f"#stablehlo<comparison_type {kind}>"),
            "comparison_direction": ctx.attr(f"#stablehlo<comparison_direction {direction}>")}


def comparison_kind(dtype: DType) -> str:
    """The kind of comparison for elements of `dtype`."""
    if dtype.is_inexact:
        return "FLOAT"
    return "SIGNED" if dtype.kind == "int" else "UNSIGNED"


def _register(definition: OpDef, direction: str, total_order: bool) -> None:
    @one_op(definition)
    def _write(ctx: RuleContext, op: Op) -> Form:
        dtype = op.operands[0].type.dtype
        kind = "TOTALORDER" if total_order and dtype.is_float else comparison_kind(dtype)
        return "stablehlo.compare", _how(ctx, direction, kind)


for _definition, _direction in {ops.eq: "EQ", ops.ne: "NE", ops.lt: "LT", ops.le: "LE",
                                ops.gt: "GT", ops.ge: "GE"}.items():
    _register(_definition, _direction, False)
for _definition, _direction in {ops.eq_to: "EQ", ops.le_to: "LE", ops.lt_to: "LT"}.items():
    _register(_definition, _direction, True)
