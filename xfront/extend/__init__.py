"""For libraries that build on xfront: its primitives by name."""

from . import core

__all__ = ["core"]
