"""Clusters of points."""

from . import vq

__all__ = ["vq"]
