"""Rows of `ops/eigen.py`.

Vectors of complex matrices are fixed up to a phase; their derivatives are compared through products
which no phase changes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xfront_ir import dtypes, ops
from xfront_ir.builder import Builder
from xfront_ir.core import Value
from xfront_ir.ops import linalg

from .linalg import DTYPES, TOLERANCE, after, hermitian
from .row import Bad, Draw, Row, Sample

REAL, COMPLEX = DTYPES[:2], DTYPES[2:]


def _apart(b: Builder, x: Value) -> Value:
    """x and a growing diagonal: its values stay away from each other."""
    m, n = x.type.shape[-2:]
    steps = b.emit(ops.iota, dtype=dtypes.real_of(x.type.dtype), shape=(n,), dimension=0)
    if x.type.dtype.is_complex:
        steps = b.emit(ops.convert, steps, dtype=x.type.dtype)
    steps = b.emit(ops.mul, steps, b.full(steps.type, 3.0))
    wide = b.emit(ops.broadcast_in_dim, steps, shape=x.type.shape, dims=(x.type.ndim - 1,))
    return b.emit(ops.add, x, linalg.diagonal_part(b, wide))


# --- svd ----------------------------------------------------------------------------------

def _svd(**attrs: bool) -> Any:
    return lambda b, x: b.emit(ops.svd, _apart(b, x), **attrs)


def _rank_one(b: Builder, made: Sequence[Value]) -> Sequence[Value]:
    """s, and for each singular value u v^H: the first of them, which no phase changes."""
    s, u, vh = made
    k = s.type.shape[-1]
    first = linalg.block(b, u, u.type.shape[-2], 1)
    row = linalg.block(b, vh, 1, vh.type.shape[-1])
    return s, linalg.matmul(b, first, row) if k else s


THIN = {"full_matrices": False, "compute_uv": True}
FULL = {"full_matrices": True, "compute_uv": True}
VALUES = {"full_matrices": False, "compute_uv": False}

SVD = Row("svd", [
    *[after(_svd(**THIN), Draw(shape, -1, 1), dtypes=REAL)
      for shape in ((3, 3), (4, 2), (2, 3), (2, 2, 2))],
    *[after(_svd(**THIN), Draw(shape, -1, 1), finish=_rank_one, dtypes=COMPLEX)
      for shape in ((3, 3), (3, 2), (2, 3))],
    *[after(_svd(**VALUES), Draw(shape, -1, 1)) for shape in ((3, 2), (2, 2, 3))],
    *[after(_svd(**FULL), Draw(shape, -1, 1), dtypes=REAL, smooth=False)
      for shape in ((3, 2), (2, 3))],
    after(_svd(**FULL), Draw((2, 2), -1, 1), dtypes=REAL),
    *[Sample([Draw(shape)], attrs, smooth=False)
      for shape in ((0, 2), (2, 0)) for attrs in (THIN, FULL, VALUES)],
], DTYPES, [Bad([("f32", (3,))], "two axes", THIN),
            Bad([("i32", (3, 3))], "takes f32", THIN)], tolerance=TOLERANCE)


# --- eigh ---------------------------------------------------------------------------------

def _eigh(lower: bool) -> Any:
    return lambda b, x: b.emit(ops.eigh, hermitian(b, _apart(b, x)), lower=lower)


def _projector(b: Builder, made: Sequence[Value]) -> Sequence[Value]:
    """v v^H of the first vector, and the values."""
    vectors, values = made
    first = linalg.block(b, vectors, vectors.type.shape[-2], 1)
    return linalg.matmul(b, first, linalg.adjoint(b, first)), values


EIGH = Row("eigh", [
    *[after(_eigh(lower), Draw(shape, -1, 1), dtypes=REAL)
      for shape in ((3, 3), (2, 2, 2)) for lower in (True, False)],
    *[after(_eigh(lower), Draw((3, 3), -1, 1), finish=_projector, dtypes=COMPLEX)
      for lower in (True, False)],
    Sample([Draw((2, 2))], {"lower": True}, smooth=False, dtypes=REAL),
    Sample([Draw((0, 0))], {"lower": True}),
], DTYPES, [Bad([("f32", (3, 2))], "square", {"lower": True})], tolerance=TOLERANCE)


# --- eig ----------------------------------------------------------------------------------

def _eig(left: bool, right: bool) -> Any:
    return lambda b, x: b.emit(ops.eig, _apart(b, x), left=left, right=right,
                               vector_derivatives=right)


EIG = Row("eig", [
    *[after(_eig(left, right), Draw(shape, -1, 1))
      for shape in ((3, 3), (2, 2, 2)) for left, right in ((False, False), (False, True))],
    Sample([Draw((0, 0))], {"left": False, "right": True, "vector_derivatives": True}),
], DTYPES, [Bad([("f32", (3, 2))], "square",
                {"left": False, "right": False, "vector_derivatives": False})],
    tolerance=TOLERANCE)

ROWS = [SVD, EIGH, EIG]
