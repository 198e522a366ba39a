"""Rows of control flow: calls, branches, loops."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..core import Function
from ..opdef import Pending
from ..ops.control import SCAN
from ..reference import Steps, physical_shape, reference
from ..types import TensorType

Attrs = Mapping[str, Any]
Types = tuple[TensorType, ...]


@reference("call")
def _call(attrs: Attrs, types: Types, *operands: np.ndarray) -> Steps:
    held = attrs["body"]
    body: Function = held.force() if isinstance(held, Pending) else held
    return tuple((yield body, operands))


@reference("composite")
@reference("xla_metadata_call")
def _composite(attrs: Attrs, types: Types, *operands: np.ndarray) -> Steps:
    return tuple((yield attrs["body"], operands))


@reference("cond")
def _cond(attrs: Attrs, types: Types, index: np.ndarray, *operands: np.ndarray) -> Steps:
    branches = attrs["branches"]
    taken = min(max(int(index), 0), len(branches) - 1)
    return tuple((yield branches[taken], operands))


@reference("scan")
def _scan(attrs: Attrs, types: Types, *operands: np.ndarray) -> Steps:
    consts, carry, xs = SCAN.split(attrs, operands)
    _, rows = SCAN.split_results(attrs, types)
    stacked = [np.zeros(physical_shape(t), t.dtype.numpy) for t in rows]
    steps = range(attrs["length"])
    for i in reversed(steps) if attrs["reverse"] else steps:
        made = yield attrs["body"], [*consts, *carry, *[x[i] for x in xs]]
        carry, row = SCAN.split_returns("body", attrs, made)
        for ys, y in zip(stacked, row, strict=True):
            ys[i] = y
    return (*carry, *stacked)
