"""Ops that say how values lie on a mesh of devices; none changes a value.

    sharding_constraint(x) {sharding}

The compiler places x as the sharding says, and everything else so that this holds. Source: the
Shardy dialect, `sdy.sharding_constraint`.
"""

from __future__ import annotations

from typing import Any

from ..core import Op
from ..errors import IRTypeError, IRValueError
from ..opdef import LINEAR_OP, SHARDING, define
from ..sharding import Sharding


def _infer_sharding_constraint(types: Any, attrs: Any) -> Any:
    (x,), sharding = types, attrs["sharding"]
    try:
        sharding.spec.check(sharding.mesh, x.shape)
    except IRValueError as e:
        raise IRTypeError(f"sharding_constraint: {e}") from None
    return (x,)


def _transpose_sharding_constraint(b: Any, op: Op, cotangents: Any, known: Any) -> Any:
    return (b.emit(sharding_constraint, cotangents[0], sharding=op.attrs["sharding"]),)


def _batch_sharding_constraint(b: Any, op: Op, operands: Any, positions: Any, axis: Any) -> Any:
    (x,), (p,), old = operands, positions, op.attrs["sharding"]
    spec = old.spec.insert(p, open=True)        # closed, it would gather the batch on every device
    sharding = Sharding(old.mesh, spec, old.memory_kind)
    return (b.emit(sharding_constraint, x, sharding=sharding),), (p,)


sharding_constraint = define(
    "sharding_constraint", attrs={"sharding": SHARDING}, operands=1,
    infer=_infer_sharding_constraint, jvp=LINEAR_OP, transpose=_transpose_sharding_constraint,
    batch=_batch_sharding_constraint)

__all__ = ["sharding_constraint"]
