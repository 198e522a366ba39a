"""Rows of `ops/eigen.py`.

Vectors of complex matrices are fixed up to a phase; their derivatives are compared through products
which no phase changes.
"""

from __future__ import annotations

from typing import Any

from xfront_ir import dtypes, ops
from xfront_ir.ops import linalg
from xfront_ir.ops.formulas import Term

from .linalg import DTYPES, TOLERANCE, after, hermitian
from .row import Bad, Draw, Row, Sample

REAL, COMPLEX = DTYPES[:2], DTYPES[2:]


def _apart(x: Term) -> Term:
    """x and a growing diagonal: its values stay away from each other."""
    (n,), dtype = x.type.shape[-1:], dtypes.real_of(x.dtype)
    steps = Term(x.b, x.b.emit(ops.iota, dtype=dtype, shape=(n,), dimension=0)).to(x.dtype)
    wide = ops.broadcast_in_dim(steps * 3.0, shape=x.type.shape, dims=(x.type.ndim - 1,))
    return x + linalg.diagonal_part(wide)


# --- svd ----------------------------------------------------------------------------------

def _svd(**attrs: bool) -> Any:
    return lambda x: ops.svd(_apart(x), **attrs)


def _rank_one(s: Term, u: Term, vh: Term) -> tuple[Term, Term]:
    """s, and for each singular value u v^H: the first of them, which no phase changes."""
    first = linalg.block(u, u.type.shape[-2], 1)
    row = linalg.block(vh, 1, vh.type.shape[-1])
    return s, linalg.matmul(first, row) if s.type.shape[-1] else s


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
    return lambda x: ops.eigh(hermitian(_apart(x)), lower=lower)


def _projector(vectors: Term, values: Term) -> tuple[Term, Term]:
    """v v^H of the first vector, and the values."""
    first = linalg.block(vectors, vectors.type.shape[-2], 1)
    return linalg.matmul(first, linalg.adjoint(first)), values


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
    return lambda x: ops.eig(_apart(x), left=left, right=right, vector_derivatives=right)


EIG = Row("eig", [
    *[after(_eig(left, right), Draw(shape, -1, 1))
      for shape in ((3, 3), (2, 2, 2)) for left, right in ((False, False), (False, True))],
    Sample([Draw((0, 0))], {"left": False, "right": True, "vector_derivatives": True}),
], DTYPES, [Bad([("f32", (3, 2))], "square",
                {"left": False, "right": False, "vector_derivatives": False})],
    tolerance=TOLERANCE)

ROWS = [SVD, EIGH, EIG]
