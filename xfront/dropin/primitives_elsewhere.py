"""Primitives that JAX declares and never records. As keys of tables of rules they are never met."""

from ..primitives import Primitive

stop_gradient_p = Primitive("stop_gradient")
