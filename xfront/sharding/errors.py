"""Errors that shardings raise."""

from __future__ import annotations

from xfront_ir.errors import ShardingTypeError


class IndivisibleError(ValueError):
    """A dimension of an array does not divide into as many parts as its sharding asks for."""


class DuplicateSpecError(Exception):
    """A spec has an axis of the mesh twice."""


__all__ = ["DuplicateSpecError", "IndivisibleError", "ShardingTypeError"]
