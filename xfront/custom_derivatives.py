"""Functions with their own derivative rules, and what such rules are written with."""

from .transforms.custom import closure_convert, custom_gradient, custom_jvp, custom_vjp
from .transforms.linear_call import linear_call

__all__ = ["closure_convert", "custom_gradient", "custom_jvp", "custom_vjp", "linear_call"]
