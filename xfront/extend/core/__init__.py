"""The parts of programs that libraries look at."""

from ...primitives import Primitive
from . import primitives

__all__ = ["Primitive", "primitives"]
