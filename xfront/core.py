"""Classes that programs ask about: is it traced, what type has it."""

from .arrays.binding import AbstractArray as ShapedArray
from .tracing.concrete import ensure_compile_time_eval
from .tracing.tracer import Tracer

__all__ = ["ShapedArray", "Tracer", "ensure_compile_time_eval"]
