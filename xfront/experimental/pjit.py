"""The older name of `jit`."""

from ..transforms.jit import jit as pjit

__all__ = ["pjit"]
