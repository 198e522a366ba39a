"""Functions with their own derivative rules, and what such rules are written with."""

from typing import Any as _Any

from .transforms.custom import closure_convert, custom_gradient, custom_jvp, custom_vjp
from .transforms.linear_call import linear_call
from .transforms.symbolic import (
    CustomVJPPrimal,
    SymbolicZero,
    custom_vjp_primal_tree_values,
    zero_from_primal,
)


def __getattr__(name: str) -> _Any:
    """Primitives, found when first asked for: `custom_jvp_call_p`."""
    if name in ("custom_jvp_call_p", "custom_vjp_call_p", "remat_opt_p"):
        from .primitives import named

        return named(name, __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = ["CustomVJPPrimal", "SymbolicZero", "closure_convert", "custom_gradient", "custom_jvp",
           "custom_vjp", "custom_vjp_primal_tree_values", "linear_call", "zero_from_primal"]
