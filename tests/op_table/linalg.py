"""Rows of `ops/linalg.py`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from xfront_ir import dtypes, ops
from xfront_ir.builder import Builder
from xfront_ir.core import Function
from xfront_ir.dtypes import DType, from_numpy
from xfront_ir.ops import linalg
from xfront_ir.ops.formulas import Term, formula
from xfront_ir.types import tensor

from .row import Bad, Draw, Fixed, Row, Sample

DTYPES = (dtypes.f64, dtypes.f32, dtypes.c128, dtypes.c64)
TOLERANCE = {"f64": 1e-12, "f32": 3e-5, "c128": 1e-12, "c64": 3e-5}
"""Backward stable algorithms: errors are units in the last place times the condition number, which
for these random matrices is between 1 and 100."""
F32_BAD = [Bad([("bf16", (3, 3))], "takes f32, f64, c64 or c128", {}),
           Bad([("f32", (3,))], "two axes", {})]


def after(prepare: Callable[..., Any], *draws: Any, finish: Callable[..., Any] | None = None,
          **options: Any) -> Sample:
    """A sample whose operands go through `prepare` first, a formula that is a part of the program;
    what it gives goes through `finish`."""
    @formula
    def written(*terms: Term) -> Any:
        made = prepare(*terms)
        return finish(*made) if finish else made

    def build(dtype: DType, rng: np.random.Generator) -> tuple[Function, list[np.ndarray]]:
        arrays = [draw.array(dtype, rng) for draw in draws]
        b = Builder("f")
        made = written(b, *[b.param(tensor(a.shape, from_numpy(a.dtype))) for a in arrays])
        return b.close(made if isinstance(made, tuple) else (made,)), arrays

    return Sample(build=build, **options)


def hermitian(x: Term, plus: float = 0.0) -> Term:
    """x + x^H and a multiple of the identity."""
    return x + linalg.adjoint(x) + linalg.eye(x.b, x.type) * plus


def _cholesky(x: Term) -> Term:
    return ops.cholesky(hermitian(x, 6.0))


CHOLESKY = Row("cholesky", [
    *[after(_cholesky, Draw(shape, -1, 1)) for shape in ((3, 3), (2, 2, 2), (1, 1), (0, 0))],
    Sample([Fixed([[1.0, 9.0], [2.0, 1.0]])], smooth=False),         # not positive definite
    Sample([Fixed([[4.0, 9.0], [2.0, 3.0]])], smooth=False),         # the upper triangle is unread
], DTYPES, [*F32_BAD, Bad([("f32", (2, 3))], "square")], tolerance=TOLERANCE)


def _solve(**given: bool) -> dict[str, bool]:
    return {"left_side": True, "lower": True, "transpose_a": False, "conjugate_a": False,
            "unit_diagonal": False, **given}


def _diagonal_away_from_zero(a: Term, rhs: Term, **attrs: bool) -> Term:
    return ops.triangular_solve(a + linalg.eye(a.b, a.type) * 4.0, rhs, **attrs)


def _triangular(a: tuple, rhs: tuple, **given: bool) -> Sample:
    attrs = _solve(**given)
    return after(lambda x, y: _diagonal_away_from_zero(x, y, **attrs), Draw(a, -1, 1),
                 Draw(rhs, -2, 2))


TRIANGULAR_SOLVE = Row("triangular_solve", [
    *[_triangular((3, 3), (3, 2), lower=lower, transpose_a=flip, conjugate_a=conj)
      for lower in (True, False) for flip in (True, False) for conj in (True, False)],
    *[_triangular((3, 3), (2, 3), left_side=False, lower=lower, transpose_a=flip)
      for lower in (True, False) for flip in (True, False)],
    _triangular((2, 3, 3), (2, 3, 2), unit_diagonal=True),
    _triangular((2, 2, 2), (2, 3, 2), left_side=False, conjugate_a=True, unit_diagonal=True),
    _triangular((0, 0), (0, 2)), _triangular((2, 2), (2, 0)),
], DTYPES, [
    Bad([("f32", (2, 3)), ("f32", (3, 2))], "square", _solve()),
    Bad([("f32", (3, 3)), ("f32", (2, 3))], "do not match", _solve()),
    Bad([("f32", (2, 3, 3)), ("f32", (3, 3))], "leading axes", _solve()),
    Bad([("f32", (3, 3)), ("f64", (3, 3))], "dtype", _solve())], tolerance=TOLERANCE)

def _lu(x: Term) -> tuple[Term, ...]:
    """Of matrices with large elements on the other diagonal: pivots are far from ties."""
    return ops.lu(x + ops.reverse(linalg.eye(x.b, x.type), axes=(x.type.ndim - 2,)) * 4.0)


LU = Row("lu", [
    *[after(_lu, Draw(shape, -1, 1))
      for shape in ((3, 3), (2, 3, 3), (4, 2), (2, 4), (2, 2, 3))],
    Sample([Fixed([[0.0, 1.0], [0.0, 2.0]])], smooth=False),
    Sample([Draw((0, 3))]), Sample([Draw((3, 0))]),
], DTYPES, F32_BAD, tolerance=TOLERANCE)

PERMUTATION = Row("lu_pivots_to_permutation", [
    Sample([Fixed([1, 1, 3], dtypes.i32)], {"size": 4}),
    Sample([Fixed([[0, 2, 2], [2, 2, 2]], dtypes.i32)], {"size": 3}),
    Sample([Fixed(np.zeros((2, 0)), dtypes.i32)], {"size": 2}),
], (dtypes.i32,), [Bad([("f32", (2,))], "i32", {"size": 3}),
                   Bad([("i32", (4,))], "at most 3", {"size": 3})], lanes_alone=False)
# moved around, pivots are no pivots: an exchange only ever goes forward

QR = Row("qr", [
    *[Sample([Draw(shape, -1, 1)], {"full_matrices": False})
      for shape in ((3, 3), (4, 2), (2, 3, 2))],
    *[Sample([Draw(shape, -1, 1)], {"full_matrices": full}, smooth=False)
      for shape in ((2, 4), (4, 2), (2, 3, 1)) for full in (True, False)],
    *[Sample([Draw(shape)], {"full_matrices": full}, smooth=False)
      for shape in ((0, 3), (3, 0)) for full in (True, False)],
], DTYPES, [Bad([("f32", (3,))], "two axes", {"full_matrices": True})], tolerance=TOLERANCE)

GEQRF = Row("geqrf", [
    Sample([Draw(shape, -1, 1)]) for shape in ((3, 3), (4, 2), (2, 2, 3), (0, 2))
], DTYPES, F32_BAD, differentiable=False, tolerance=TOLERANCE)

HOUSEHOLDER = Row("householder_product", [
    Sample([Draw(a, -1, 1), Draw(taus, 0, 1)])
    for a, taus in (((3, 3), (3,)), ((4, 2), (2,)), ((4, 3), (2,)), ((2, 3, 2), (2, 2)),
                    ((3, 2), (0,)))
], DTYPES, [Bad([("f32", (2, 3)), ("f32", (2,))], "as many rows"),
            Bad([("f32", (3, 3)), ("f64", (3,))], "dtype")], differentiable=False,
    tolerance=TOLERANCE)

TRIDIAGONAL = Row("tridiagonal_solve", [
    Sample([Draw(d, -1, 1), Draw(d, 3, 5), Draw(d, -1, 1), Draw(rhs)], {"perturb_singular": moved})
    for d, rhs in (((4,), (4, 2)), ((2, 3), (2, 3, 1)), ((2,), (2, 2)), ((1,), (1, 2)),
                   ((0,), (0, 2))) for moved in (False, True)
], DTYPES, [Bad(types, text, {"perturb_singular": False}) for types, text in (
    ([("f32", (3,))] * 3 + [("f32", (4, 1))], "as f32[4,1] has rows, got f32[3], f32[3], f32[3]"),
    ([("f32", (3,))] * 3 + [("f32", (2, 1))], "as many elements"),
    ([("f32", (3,))] * 3 + [("f32", (3,))], "two axes"),
    ([("f32", (3,))] * 3 + [("f32", (2, 3, 1))], "leading axes"))], tolerance=TOLERANCE)

ROWS = [CHOLESKY, TRIANGULAR_SOLVE, LU, PERMUTATION, QR, GEQRF, HOUSEHOLDER, TRIDIAGONAL]
