"""Functions with their own derivative rules, and what such rules are written with."""

from .transforms.custom import closure_convert, custom_gradient, custom_jvp, custom_vjp
from .transforms.linear_call import linear_call
from .transforms.symbolic import (
    CustomVJPPrimal,
    SymbolicZero,
    custom_vjp_primal_tree_values,
    zero_from_primal,
)

__all__ = ["CustomVJPPrimal", "SymbolicZero", "closure_convert", "custom_gradient", "custom_jvp",
           "custom_vjp", "custom_vjp_primal_tree_values", "linear_call", "zero_from_primal"]
