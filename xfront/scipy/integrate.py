"""Integrals of samples."""

from ..numpy.differences import trapezoid

__all__ = ["trapezoid"]
