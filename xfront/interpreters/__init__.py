"""Rules of users' own primitives, and names of JAX's interpreters that libraries use."""

from typing import TYPE_CHECKING

from ..base.on_demand import on_demand as _on_demand

if TYPE_CHECKING:
    from . import ad, batching, mlir, partial_eval, pxla, xla

_NAMES, __getattr__, __dir__ = _on_demand(
    __name__, {}, ("ad", "batching", "mlir", "partial_eval", "pxla", "xla"))
__all__ = ["ad", "batching", "mlir", "partial_eval", "pxla", "xla"]
