"""NumPy rows of control flow, custom rules and checkpoints: their bodies, evaluated."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core import Function
from ..reference import physical_shape, reference, run


def _body(held: Any) -> Function:
    return held if isinstance(held, Function) else held.force()


@reference("call", "custom_jvp", "custom_vjp", "checkpoint")
def _call(attrs: Any, types: Any, *operands: Any) -> Any:
    return tuple(run(_body(attrs["body"]), operands))


@reference("cond")
def _cond(attrs: Any, types: Any, index: Any, *operands: Any) -> Any:
    branches = attrs["branches"]
    return tuple(run(branches[int(np.clip(int(index), 0, len(branches) - 1))], operands))


@reference("while")
def _while(attrs: Any, types: Any, *operands: Any) -> Any:
    n, m = attrs["n_cond_consts"], attrs["n_cond_consts"] + attrs["n_body_consts"]
    carry = list(operands[m:])
    while run(attrs["cond"], (*operands[:n], *carry))[0]:
        carry = run(attrs["body"], (*operands[n:m], *carry))
    return tuple(carry)


@reference("scan")
def _scan(attrs: Any, types: Any, *operands: Any) -> Any:
    n, m, body = attrs["n_consts"], attrs["n_consts"] + attrs["n_carry"], attrs["body"]
    carry, k = list(operands[n:m]), attrs["n_carry"]
    stacked = [np.empty(physical_shape(t), t.dtype.numpy) for t in types[k:]]
    turns = range(attrs["length"])
    for i in reversed(turns) if attrs["reverse"] else turns:
        made = run(body, (*operands[:n], *carry, *[x[i] for x in operands[m:]]))
        carry = made[:k]
        for ys, y in zip(stacked, made[k:], strict=True):
            ys[i] = y
    return (*carry, *stacked)


@reference("checkpoint_name")
def _checkpoint_name(attrs: Any, types: Any, x: Any) -> Any:
    return x
