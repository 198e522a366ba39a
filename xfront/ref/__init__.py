"""Mutable references to arrays, for programs that update in place; see docs/refs.md.

In a trace, reads and writes are ops (`xfront_ir/ops/refs.py`). A Ref from outside becomes a
parameter of the trace that uses it, as an array does. From then on that trace records all reads and
writes of the Ref in order, even where the values belong to other traces.
"""

from ..base.on_demand import shown as _shown
from .references import (
    AbstractRef,
    Ref,
    addupdate,
    empty_ref,
    free_ref,
    freeze,
    get,
    new_ref,
    set,
    swap,
)

__all__ = [
    "AbstractRef", "Ref", "addupdate", "empty_ref", "free_ref", "freeze", "get", "new_ref",
    "set", "swap",
]  # fmt: skip
__dir__ = _shown(globals())
