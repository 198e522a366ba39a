"""Eigenvalues and singular values on CUDA: kernels of cuSOLVER, and a host kernel for `eig`."""

from __future__ import annotations

from typing import Any

from lowering.forms.matrices import adjoint, block, filled, hermitian
from lowering.gpu import form
from xfront_ir import dtypes, ops
from xfront_ir.builder import Builder
from xfront_ir.core import Op, Value

from .linalg import checked, flag, info_type, library

MOST_BY_ROTATIONS = 1024
"""The greatest number of rows or columns for which Jacobi rotations find singular values."""


@form(ops.eigh, when=filled)
def eigh(b: Builder, op: Op, x: Value) -> Any:
    """cuSOLVER's syevd."""
    vectors, values = ops.eigh.infer((x.type,), {})
    made, found, info = library(
        b, "cusolver_syevd_ffi", [hermitian(b, x, op.attrs["lower"])],
        [vectors, values, info_type(x)], "{algorithm = 0 : ui8, lower = true}", [(0, 0)])
    return checked(b, info, [made, found])


@form(ops.svd, when=filled)
def svd(b: Builder, op: Op, x: Value) -> Any:
    """cuSOLVER's gesvdj, by Jacobi rotations; gesvd for greater matrices."""
    rotations = max(x.type.shape[-2:]) <= MOST_BY_ROTATIONS
    return (_by_rotations if rotations else _by_steps)(b, op, x)


def _by_rotations(b: Builder, op: Op, x: Value) -> list[Value]:
    vectors = op.attrs["compute_uv"]
    s, u, vh = ops.svd.infer((x.type,), {"full_matrices": True, "compute_uv": True})
    _, values, left, right, info = library(
        b, "cusolver_gesvdj_ffi", [x], [x.type, s, u, vh, info_type(x)],
        f"{{compute_uv = {flag(vectors)}, full_matrices = true}}", [(0, 0)])
    if not vectors:
        return checked(b, info, [values])
    wanted = ops.svd.infer((x.type,), dict(op.attrs))
    return checked(b, info, [values, block(b, left, *wanted[1].shape[-2:]),
                             block(b, adjoint(b, right), *wanted[2].shape[-2:])])


def _by_steps(b: Builder, op: Op, x: Value) -> list[Value]:
    """The SVD by gesvd, which takes matrices with at least as many rows as columns."""
    if wide := x.type.shape[-2] < x.type.shape[-1]:
        x = adjoint(b, x)
    full, vectors = op.attrs["full_matrices"], op.attrs["compute_uv"]
    s, *parts = ops.svd.infer((x.type,), dict(op.attrs))
    none = x.type.with_shape(x.type.shape[:-2])
    _, values, *made, info = library(
        b, "cusolver_gesvd_ffi", [x], [x.type, s, *(parts or [none, none]), info_type(x)],
        f"{{compute_uv = {flag(vectors)}, full_matrices = {flag(full and vectors)}, "
        "transposed = false}", [(0, 0)])
    if not vectors:
        return checked(b, info, [values])
    if wide:
        made = [adjoint(b, v) for v in reversed(made)]
    return checked(b, info, [values, *made])


@form(ops.eig, when=filled)
def eig(b: Builder, op: Op, x: Value) -> Any:
    """MAGMA's geev where MAGMA is installed, else LAPACK's, on the host."""
    attrs, whole = op.attrs, x.type.dtype.is_complex
    values = ops.eig.infer((x.type,), dict(attrs))[0]
    part = values.with_dtype(dtypes.real_of(values.dtype))
    vectors = x.type.with_dtype(values.dtype)
    *found, left, right, info = library(
        b, "cuhybrid_eig_comp" if whole else "cuhybrid_eig_real", [x],
        [*([values] if whole else [part, part]), vectors, vectors, info_type(x)],
        f'{{left = {flag(attrs["left"])}, magma = "auto", right = {flag(attrs["right"])}}}')
    made = found[0] if whole else b.emit(ops.complex, *found)
    kept = [v for v, side in ((left, "left"), (right, "right")) if attrs[side]]
    return checked(b, info, [made, *kept])
