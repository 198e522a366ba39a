"""What is made for large systems that are never written out."""

from . import linalg

__all__ = ["linalg"]
