"""Windows on TPU."""

from __future__ import annotations

from typing import Any

from lowering.forms.conditions import condition
from lowering.tpu import form
from xfront_ir import ops
from xfront_ir.builder import Builder
from xfront_ir.core import Op, Value


@condition
def _few_flat_axes(op: Op) -> bool:
    """Fewer than two axes along which a window has one element."""
    window = op.attrs["window"]
    return len(window) > 0 and sum(n == 1 for n in window) < 2


# XLA's compiler needs two axes along which a window has one element.
@form(ops.select_and_scatter_add, when=_few_flat_axes)
def select_and_scatter_add(b: Builder, op: Op, source: Value, x: Value) -> Any:
    """The same op on operands with more axes of one element at the end."""
    a = op.attrs
    more = 2 - sum(n == 1 for n in a["window"])
    ones, pairs = (1,) * more, ((0, 0),) * more
    wide = [b.emit(ops.reshape, v, shape=(*v.type.shape, *ones)) for v in (source, x)]
    made = b.emit(ops.select_and_scatter_add, *wide, select=a["select"],
                  window=(*a["window"], *ones), strides=(*a["strides"], *ones),
                  padding=(*a["padding"], *pairs))
    return b.emit(ops.reshape, made, shape=x.type.shape)
