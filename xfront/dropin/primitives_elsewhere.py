"""Primitives that JAX declares and never records; they only serve as keys of tables of rules."""

from ..eager.primitives import Primitive

stop_gradient_p = Primitive("stop_gradient")
