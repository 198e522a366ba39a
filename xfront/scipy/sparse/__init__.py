"""Functions for large systems whose matrix is never written out."""

from . import linalg

__all__ = ["linalg"]
