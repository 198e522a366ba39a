"""Lowering of custom rules and checkpoint as their bodies, and of the tangent of a custom_vjp as
the transpose of its backward rule."""

from __future__ import annotations

from typing import Any

from lowering.context import RuleContext, expanded, inlined, rule
from xfront_ir import ops
from xfront_ir.core import Function, Op
from xfront_ir.errors import IRTypeError, MissingRule
from xfront_ir.ops.custom import tangent_function
from xfront_ir.passes.pipeline import simplify

inlined(ops.custom_jvp, "body")
inlined(ops.custom_vjp, "body")
inlined(ops.checkpoint, "body")        # ops in the IR keep its recomputation apart


@rule(ops.checkpoint_name)
def _checkpoint_name(ctx: RuleContext, op: Op, x: Any) -> Any:
    return x


@expanded(ops.custom_vjp_tangent)
def _custom_vjp_tangent(op: Op) -> Function:
    """The transpose of the backward rule. Raises: IRTypeError where it cannot be transposed."""
    try:
        map_ = tangent_function(tuple([v.type for v in op.operands]), op.attrs)
    except MissingRule as e:
        name = getattr(op.attrs["rule"], "name", "") or "a function"
        where = f" at {op.loc}" if op.loc is not None else ""
        raise IRTypeError(
            f"can't apply forward-mode differentiation (jvp) to a custom_vjp function: the "
            f"backward rule of {name} cannot be transposed{where}: {e}. Use grad or vjp, or give "
            "it a custom_jvp") from e
    return simplify(map_)
