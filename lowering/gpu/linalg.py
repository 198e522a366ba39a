"""Factorisations on CUDA: kernels of cuSOLVER and cuSPARSE."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lowering.forms import matrices
from lowering.forms.matrices import (
    filled,
    kernel,
    lower_part,
    nan_unless,
)
from lowering.gpu import form
from xfront_ir import dtypes, ops
from xfront_ir.builder import Builder
from xfront_ir.core import Op, Value
from xfront_ir.types import TensorType, tensor


def library(b: Builder, target: str, operands: Sequence[Value], results: Sequence[TensorType],
            config: str = "{}", in_place: Sequence[tuple[int, int]] = ()) -> Any:
    """The results of a kernel of NVIDIA's libraries; the first operand is a matrix."""
    return kernel(b, target, operands, results, operands[0].type.ndim - 2, api=4, config=config,
                  in_place=in_place)


def info_type(x: Value) -> TensorType:
    """The type of `info`: one integer per matrix, 0 where the kernel succeeded."""
    return tensor(x.type.shape[:-2], dtypes.i32)


def checked(b: Builder, info: Value, values: Sequence[Value]) -> list[Value]:
    """The values, replaced by NaN for each matrix whose `info` is not 0."""
    return nan_unless(b, b.emit(ops.eq, info, b.zeros(info.type)), values)


def flag(value: bool) -> str:
    """A bool as MLIR writes it."""
    return "true" if value else "false"


@form(ops.cholesky, when=filled)
def cholesky(b: Builder, op: Op, x: Value) -> Any:
    """cuSOLVER's potrf."""
    made, info = library(b, "cusolver_potrf_ffi", [x], [x.type, info_type(x)], "{lower = true}",
                         [(0, 0)])
    return lower_part(b, checked(b, info, [made])[0])


@form(ops.lu, when=filled)
def lu(b: Builder, op: Op, x: Value) -> Any:
    """cuSOLVER's getrf, which counts from 1."""
    type, of_pivots, of_order = ops.lu.infer((x.type,), {})
    made, pivots, info = library(b, "cusolver_getrf_ffi", [x], [type, of_pivots, info_type(x)],
                                 in_place=[(0, 0)])
    del info                                     # it reports a pivot of zero, which is no failure
    pivots = b.emit(ops.sub, pivots, b.ones(of_pivots))
    return [made, pivots, b.emit(ops.lu_pivots_to_permutation, pivots, size=of_order.shape[-1])]


@form(ops.lu_pivots_to_permutation, when=filled)
def lu_pivots_to_permutation(b: Builder, op: Op, pivots: Value) -> Any:
    """A kernel for the exchanges, in place of a loop."""
    type = pivots.type.with_shape((*pivots.type.shape[:-1], op.attrs["size"]))
    return kernel(b, "cu_lu_pivots_to_permutation", [pivots], [type], type.ndim - 1, api=4,
                  config="{}")[0]


@form(ops.geqrf, when=filled)
def geqrf(b: Builder, op: Op, x: Value) -> Any:
    """cuSOLVER's geqrf."""
    return library(b, "cusolver_geqrf_ffi", [x], ops.geqrf.infer((x.type,), {}), in_place=[(0, 0)])


@form(ops.householder_product, when=filled)
def householder_product(b: Builder, op: Op, x: Value, taus: Value) -> Any:
    """cuSOLVER's orgqr."""
    return library(b, "cusolver_orgqr_ffi", [x, taus], [x.type], in_place=[(0, 0)])[0]


@form(ops.qr, when=filled)
def qr(b: Builder, op: Op, x: Value) -> Any:
    """Reflections and their product."""
    return matrices.orthogonal(b, x, op.attrs["full_matrices"])


@form(ops.tridiagonal_solve, when=filled)
def tridiagonal_solve(b: Builder, op: Op, below: Value, diagonal: Value, above: Value, rhs: Value
                      ) -> Any:
    """cuSPARSE's gtsv2, which needs three rows; for `perturb_singular`, a kernel that moves pivots
    away from zero."""
    operands, n = [below, diagonal, above, rhs], rhs.type.shape[-2]
    perturbed = op.attrs["perturb_singular"]
    if n < 3 or rhs.type.dtype.is_complex:
        return matrices.tridiagonal_solve(b, below, diagonal, above, rhs, perturbed)
    target = "cu_tridiagonal_solve_perturbed" if perturbed else "cusparse_gtsv2_ffi"
    in_place = [] if perturbed else [(0, 3)]
    return kernel(b, target, operands, [rhs.type], rhs.type.ndim - 2, api=4, config="{}",
                  in_place=in_place)[0]
