"""Factorisations on TPU: kernels that XLA knows by name, and loops where it has none."""

from __future__ import annotations

from typing import Any

from lowering.forms import matrices
from lowering.forms.conditions import f32
from lowering.forms.matrices import filled, kernel
from lowering.tpu import form
from xfront_ir import ops
from xfront_ir.builder import Builder
from xfront_ir.core import Op, Value
from xfront_ir.types import TensorType


# XLA has a kernel for f32.
@form(ops.lu, when=filled & f32)
def lu(b: Builder, op: Op, x: Value) -> Any:
    """XLA's kernel."""
    type = x.type
    return kernel(b, "LuDecomposition", [x], _of_lu(type), type.ndim - 2, api=2)


@form(ops.lu, when=filled)
def lu_by_columns(b: Builder, op: Op, x: Value) -> Any:
    """One column after the other in a loop."""
    return matrices.lu(b, x, _of_lu(x.type))


def _of_lu(x: TensorType) -> tuple[TensorType, ...]:
    return ops.lu.infer((x,), {})


@form(ops.geqrf, when=filled)
def geqrf(b: Builder, op: Op, x: Value) -> Any:
    """XLA's kernel."""
    return kernel(b, "Qr", [x], ops.geqrf.infer((x.type,), {}), x.type.ndim - 2)


@form(ops.householder_product, when=filled)
def householder_product(b: Builder, op: Op, x: Value, taus: Value) -> Any:
    """XLA's kernel."""
    return kernel(b, "ProductOfElementaryHouseholderReflectors", [x, taus], [x.type],
                  x.type.ndim - 2)[0]


@form(ops.qr, when=filled)
def qr(b: Builder, op: Op, x: Value) -> Any:
    """Reflections and their product."""
    return matrices.orthogonal(b, x, op.attrs["full_matrices"])


@form(ops.tridiagonal_solve, when=filled)
def tridiagonal_solve(b: Builder, op: Op, below: Value, diagonal: Value, above: Value, rhs: Value
                      ) -> Any:
    """Elimination with partial pivoting, one row after the other in a loop."""
    return matrices.tridiagonal_solve(b, below, diagonal, above, rhs,
                                      op.attrs["perturb_singular"])
