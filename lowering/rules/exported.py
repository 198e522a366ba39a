"""Lowering of `call_exported`: its functions become private functions of the module."""

from __future__ import annotations

from typing import Any

from lowering.context import RuleContext, rule
from xfront_ir import ops
from xfront_ir.core import Op


@rule(ops.call_exported)
def _call_exported(ctx: RuleContext, op: Op, *operands: Any) -> Any:
    a = op.attrs
    platforms = a["platforms"]
    if ctx.platform not in platforms and not a["anywhere"]:
        raise ValueError(
            f"Function '{a['name']}' was exported for platforms '{platforms}' but it is used on "
            f"'({ctx.platform!r},)': export it for this platform too, or name "
            "DisabledSafetyCheck.platform() in disabled_checks")
    index = platforms.index(ctx.platform) if ctx.platform in platforms else 0
    symbol, type_ = ctx.module.exported(a["module"], index, len(platforms) > 1)
    wanted = ctx.ir.FunctionType.get([ctx.type(t) for t in a["params"]],
                                     [ctx.type(t) for t in a["results"]])
    if type_ != wanted:
        raise ValueError(f"the exported program {a['name']} is malformed: it says that it is "
                         f"{wanted}, but holds {type_}")
    callee = ctx._memo(("symbol", symbol), lambda: ctx.ir.FlatSymbolRefAttr.get(symbol))
    made = ctx.create("func.call", operands, op.results, callee=callee)
    return made if isinstance(made, list) else [made]
