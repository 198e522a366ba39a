"""Rows of `ops/similarity.py`. A Schur form is compared through what all of them have in common."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xfront_ir import ops
from xfront_ir.builder import Builder
from xfront_ir.core import Value
from xfront_ir.ops import linalg

from .linalg import DTYPES, F32_BAD, TOLERANCE, after, hermitian
from .row import Bad, Draw, Row, Sample

SQUARE = [Bad([("f32", (2, 3))], "square"), *F32_BAD]


def _invariants(b: Builder, made: Sequence[Value]) -> Sequence[Value]:
    """Q T Q^H, Q^H Q, and T below its subdiagonal (for complex T, its diagonal)."""
    t, q = made
    n = t.type.ndim - 2
    turned = linalg.matmul(b, linalg.matmul(b, q, t), linalg.adjoint(b, q))
    below = t
    if not t.type.dtype.is_complex and t.type.shape[-1]:
        below = b.emit(ops.slice, t, starts=(*[0] * n, 1, 0), strides=(1,) * (n + 2),
                       limits=(*t.type.shape[:-1], t.type.shape[-1] - 1))
    return turned, linalg.matmul(b, linalg.adjoint(b, q), q), linalg.lower_part(b, below, True)


def _schur(vectors: bool) -> Any:
    return lambda b, x: b.emit(ops.schur, x, vectors=vectors)


def _values(b: Builder, made: Sequence[Value]) -> Sequence[Value]:
    """The trace of T T and of T: sums of the eigenvalues' squares and of themselves."""
    (t,) = made
    n, squared = t.type.ndim, linalg.matmul(b, t, t)
    return [b.emit(ops.reduce_sum, linalg.diagonal_part(b, x), axes=(n - 2, n - 1))
            for x in (t, squared)]


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
    return lambda b, x: b.emit(ops.tridiagonal, hermitian(b, x), lower=lower)


TRIDIAGONAL = Row("tridiagonal", [
    after(_tridiagonal(lower), Draw(shape, -1, 1))
    for shape in ((4, 4), (2, 3, 3), (2, 2), (1, 1), (0, 0)) for lower in (True, False)
], DTYPES, [Bad([("f32", (2, 3))], "square", {"lower": True})], differentiable=False,
    tolerance=TOLERANCE)


def _reflected(**attrs: bool) -> Any:
    """By the Q of a matrix's own factors: other vectors and taus would not be unitary."""
    return lambda b, a, c: (b.emit(ops.ormqr, *b.emit(ops.geqrf, a), c, **attrs),)


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
    Bad([("f32", (3, 3)), ("f32", (3,)), ("f32", (2, 3))], "as long as",
        {"left": True, "transpose": False}),
    Bad([("f32", (3, 3)), ("f32", (4,)), ("f32", (3, 3))], "no more taus",
        {"left": True, "transpose": False}),
    Bad([("f32", (3, 3)), ("f64", (3,)), ("f32", (3, 3))], "dtype",
        {"left": True, "transpose": False})],
    active=(False, False, True), tolerance=TOLERANCE)

ROWS = [SCHUR, HESSENBERG, TRIDIAGONAL, ORMQR]
