"""Where the values of a program are to be."""

from __future__ import annotations

from ..sharding.constraint import with_sharding_constraint

__all__ = ["with_sharding_constraint"]
