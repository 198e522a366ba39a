"""Rows of the loop whose number of turns depends on values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..reference import Steps, reference
from ..types import TensorType

Attrs = Mapping[str, Any]
Types = tuple[TensorType, ...]


@reference("while")
def _while(attrs: Attrs, types: Types, *operands: np.ndarray) -> Steps:
    n_cond, n_body = attrs["n_cond_consts"], attrs["n_body_consts"]
    cond_consts, body_consts = operands[:n_cond], operands[n_cond:n_cond + n_body]
    carry = list(operands[n_cond + n_body:])
    while bool((yield attrs["cond"], [*cond_consts, *carry])[0]):
        carry = yield attrs["body"], [*body_consts, *carry]
    return tuple(carry)


@reference("while_tangent")
def _while_tangent(attrs: Attrs, types: Types, *operands: np.ndarray) -> Steps:
    n, k = attrs["n_consts"] + attrs["n_linear_consts"], attrs["n_carry"]
    consts, carry = operands[:n], list(operands[n:-1])
    for _ in range(int(operands[-1])):
        carry = yield attrs["body"], [*consts, *carry]
    return tuple(carry[k:])
