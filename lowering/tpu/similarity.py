"""Products with the Q of Householder vectors on TPU."""

from __future__ import annotations

from typing import Any

from lowering.forms.matrices import adjoint, block, filled, matmul, padded
from lowering.tpu import form
from xfront_ir import ops
from xfront_ir.builder import Builder
from xfront_ir.core import Op, Value


@form(ops.ormqr, when=filled)
def ormqr(b: Builder, op: Op, a: Value, taus: Value, c: Value) -> Any:
    """The whole Q, and then a product of matrices."""
    m, n = a.type.shape[-2:]
    square = block(b, a, m, m) if n > m else padded(b, a, (0, 0), (0, m - n))
    q = b.emit(ops.householder_product, square, taus)
    q = adjoint(b, q) if op.attrs["transpose"] else q
    return matmul(b, q, c) if op.attrs["left"] else matmul(b, c, q)
