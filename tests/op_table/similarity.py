"""Rows of `ops/similarity.py`. A Schur form is compared through what all of them have in common."""

from __future__ import annotations

from typing import Any

from xfront_ir import ops
from xfront_ir.ops import linalg
from xfront_ir.ops.formulas import Term

from .linalg import DTYPES, F32_BAD, TOLERANCE, after, hermitian
from .row import Bad, Draw, Row, Sample

SQUARE = [Bad([("f32", (2, 3))], "square"), *F32_BAD]


def _invariants(t: Term, q: Term) -> tuple[Term, ...]:
    """Q T Q^H, Q^H Q, and T below its subdiagonal (for complex T, its diagonal)."""
    n = t.type.ndim - 2
    turned = linalg.matmul(linalg.matmul(q, t), linalg.adjoint(q))
    below = t
    if not t.dtype.is_complex and t.type.shape[-1]:
        below = ops.slice(t, starts=(*[0] * n, 1, 0), strides=(1,) * (n + 2),
                          limits=(*t.type.shape[:-1], t.type.shape[-1] - 1))
    return turned, linalg.matmul(linalg.adjoint(q), q), linalg.lower_part(below, True)


def _schur(vectors: bool) -> Any:
    return lambda x: ops.schur(x, vectors=vectors)


def _values(t: Term) -> tuple[Term, ...]:
    """The trace of T T and of T: sums of the eigenvalues' squares and of themselves."""
    n, squared = t.type.ndim, linalg.matmul(t, t)
    return tuple(ops.reduce_sum(linalg.diagonal_part(x), axes=(n - 2, n - 1))
                 for x in (t, squared))


SCHUR = Row("schur", [
    *[after(_schur(True), Draw(shape, -1, 1), finish=_invariants)
      for shape in ((4, 4), (2, 3, 3), (1, 1), (0, 0))],
    after(_schur(False), Draw((4, 4), -1, 1), finish=_values),
], DTYPES, [Bad([("f32", (2, 3))], "square", {"vectors": True})], differentiable=False,
    tolerance=TOLERANCE)

HESSENBERG = Row("hessenberg", [
    Sample([Draw(shape, -1, 1)]) for shape in ((4, 4), (2, 3, 3), (2, 2), (1, 1), (0, 0))
], DTYPES, SQUARE, differentiable=False, tolerance=TOLERANCE)


def _tridiagonal(lower: bool) -> Any:
    return lambda x: ops.tridiagonal(hermitian(x), lower=lower)


TRIDIAGONAL = Row("tridiagonal", [
    after(_tridiagonal(lower), Draw(shape, -1, 1))
    for shape in ((4, 4), (2, 3, 3), (2, 2), (1, 1), (0, 0)) for lower in (True, False)
], DTYPES, [Bad([("f32", (2, 3))], "square", {"lower": True})], differentiable=False,
    tolerance=TOLERANCE)


def _reflected(**attrs: bool) -> Any:
    """By the Q of a matrix's own factors: other vectors and taus would not be unitary."""
    return lambda a, c: ops.ormqr(*ops.geqrf(a), c, **attrs)


ORMQR = Row("ormqr", [
    *[Sample([Draw((3, 3), -1, 1), Draw((3,), 0, 1), Draw(c, -1, 1)],
             {"left": left, "transpose": flip})
      for left, c in ((True, (3, 2)), (False, (2, 3))) for flip in (True, False)],
    Sample([Draw((2, 4, 2), -1, 1), Draw((2, 2), 0, 1), Draw((2, 4, 3), -1, 1)],
           {"left": True, "transpose": True}),
    Sample([Draw((3, 0)), Draw((0,)), Draw((3, 2))], {"left": True, "transpose": False}),
    after(_reflected(left=True, transpose=False), Draw((4, 2), -1, 1), Draw((4, 2), -1, 1),
          smooth=False),
], DTYPES, [
    Bad([("f32", (3, 3)), ("f32", (3,)), ("f32", (2, 3))], "whose length is the number of rows",
        {"left": True, "transpose": False}),
    Bad([("f32", (3, 3)), ("f32", (4,)), ("f32", (3, 3))], "at most one tau",
        {"left": True, "transpose": False}),
    Bad([("f32", (3, 3)), ("f64", (3,)), ("f32", (3, 3))], "dtype",
        {"left": True, "transpose": False})],
    active=(False, False, True), tolerance=TOLERANCE)

ROWS = [SCHUR, HESSENBERG, TRIDIAGONAL, ORMQR]
