"""Rows of the loop whose number of turns depends on values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..ops.while_loop import TANGENT, WHILE
from ..reference import Steps, reference
from ..types import TensorType

Attrs = Mapping[str, Any]
Types = tuple[TensorType, ...]


@reference("while")
def _while(attrs: Attrs, types: Types, *operands: np.ndarray) -> Steps:
    cond_consts, body_consts, carry = WHILE.split(attrs, operands)
    while bool((yield attrs["cond"], [*cond_consts, *carry])[0]):
        carry = yield attrs["body"], [*body_consts, *carry]
    return tuple(carry)


@reference("while_tangent")
def _while_tangent(attrs: Attrs, types: Types, *operands: np.ndarray) -> Steps:
    consts, l_consts, carry, linear, (count,) = TANGENT.split(attrs, operands)
    for _ in range(int(count)):
        made = yield attrs["body"], [*consts, *l_consts, *carry, *linear]
        carry, linear = TANGENT.split_returns("body", attrs, made)
    return tuple(linear)
