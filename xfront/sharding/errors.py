"""What shardings refuse."""

from __future__ import annotations


class IndivisibleError(ValueError):
    """A dimension of an array does not divide into as many parts as its sharding asks for."""


class DuplicateSpecError(Exception):
    """A spec has an axis of the mesh twice."""


class ShardingTypeError(Exception):
    """A program does something for which the shardings of its operands do not say a result's."""


__all__ = ["DuplicateSpecError", "IndivisibleError", "ShardingTypeError"]
