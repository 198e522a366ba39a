"""Collectives left over after `vectorize`: their axis is bound by nothing in the program.

A mapped name is resolved by the pass that maps it, so a collective reaches the lowering only
where no `vmap` around it binds its name.
"""

from __future__ import annotations

from typing import Any, NoReturn

from xfront_ir import ops
from xfront_ir.core import Op

from ..context import RuleContext, rule


def _unbound(ctx: RuleContext, op: Op, *operands: Any) -> NoReturn:
    where = f" at {op.loc}" if op.loc is not None else ""
    names = ", ".join(map(repr, op.attrs["axes"]))
    raise NameError(f"unbound axis name: {names} in {op.definition.name}{where}; call it inside "
                    "vmap(..., axis_name=...)")


for _definition in (ops.psum, ops.pmax, ops.pmin, ops.all_gather, ops.psum_scatter,
                    ops.all_to_all, ops.ppermute, ops.axis_index):
    rule(_definition)(_unbound)
