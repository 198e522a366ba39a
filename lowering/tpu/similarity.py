"""Products with the Q of Householder vectors on TPU."""

from __future__ import annotations

import functools
from typing import Any

from lowering.cpu import registry
from lowering.matrices import adjoint, block, filled, matmul, padded
from xfront_ir import ops
from xfront_ir.builder import Builder
from xfront_ir.core import Op, Value

from .linalg import product

form = functools.partial(registry.form, platform="tpu")


@form(ops.ormqr, when=filled)
def ormqr(b: Builder, op: Op, a: Value, taus: Value, c: Value) -> Any:
    """Q as a whole, and a product of matrices."""
    m, n = a.type.shape[-2:]
    square = block(b, a, m, m) if n > m else padded(b, a, (0, 0), (0, m - n))
    q = product(b, square, taus)
    q = adjoint(b, q) if op.attrs["transpose"] else q
    return matmul(b, q, c) if op.attrs["left"] else matmul(b, c, q)
