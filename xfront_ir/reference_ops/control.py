"""Rows of control flow: calls, branches, loops."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..core import Function
from ..opdef import Pending
from ..reference import Steps, physical_shape, reference
from ..types import TensorType

Attrs = Mapping[str, Any]
Types = tuple[TensorType, ...]


@reference("call")
def _call(attrs: Attrs, types: Types, *operands: np.ndarray) -> Steps:
    held = attrs["body"]
    body: Function = held.force() if isinstance(held, Pending) else held
    return tuple((yield body, operands))


@reference("cond")
def _cond(attrs: Attrs, types: Types, index: np.ndarray, *operands: np.ndarray) -> Steps:
    branches = attrs["branches"]
    taken = min(max(int(index), 0), len(branches) - 1)
    return tuple((yield branches[taken], operands))


@reference("scan")
def _scan(attrs: Attrs, types: Types, *operands: np.ndarray) -> Steps:
    n_consts, n_carry, length = attrs["n_consts"], attrs["n_carry"], attrs["length"]
    consts, carry = operands[:n_consts], list(operands[n_consts:n_consts + n_carry])
    xs = operands[n_consts + n_carry:]
    stacked = [np.zeros(physical_shape(t), t.dtype.numpy) for t in types[n_carry:]]
    steps = range(length)
    for i in reversed(steps) if attrs["reverse"] else steps:
        made = yield attrs["body"], [*consts, *carry, *[x[i] for x in xs]]
        carry = made[:n_carry]
        for ys, y in zip(stacked, made[n_carry:], strict=True):
            ys[i] = y
    return (*carry, *stacked)
