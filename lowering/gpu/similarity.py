"""Tridiagonal forms, and products with the Q of Householder vectors, on CUDA."""

from __future__ import annotations

from typing import Any

from lowering.forms.conditions import condition
from lowering.forms.matrices import filled
from lowering.gpu import form
from xfront_ir import ops
from xfront_ir.builder import Builder
from xfront_ir.core import Op, Value

from .linalg import flag, info_type, library


@condition
def _several_rows(op: Op) -> bool:
    """Two rows or more."""
    return op.operands[0].type.shape[-1] > 1


@form(ops.tridiagonal, when=filled & _several_rows)
def tridiagonal(b: Builder, op: Op, x: Value) -> Any:
    """cuSOLVER's sytrd."""
    *results, _ = library(
        b, "cusolver_sytrd_ffi", [x],
        [*ops.tridiagonal.infer((x.type,), dict(op.attrs)), info_type(x)],
        f"{{lower = {flag(op.attrs['lower'])}}}", [(0, 0)])
    return results


@form(ops.ormqr, when=filled)
def ormqr(b: Builder, op: Op, a: Value, taus: Value, c: Value) -> Any:
    """cuSOLVER's ormqr."""
    config = f"{{left = {flag(op.attrs['left'])}, transpose = {flag(op.attrs['transpose'])}}}"
    return library(b, "cusolver_ormqr_ffi", [a, taus, c], [c.type], config, [(0, 2)])[0]
