"""Eigenvalues and singular values on TPU: XLA's Jacobi rotations, and the polar decomposition."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from lowering.forms.matrices import (
    adjoint,
    along,
    block,
    filled,
    hermitian,
    kernel,
    matmul,
    orthogonal,
    padded,
)
from lowering.forms.places import Place
from lowering.tpu import form
from xfront_ir import dtypes, ops
from xfront_ir.builder import Builder
from xfront_ir.core import Op, Value
from xfront_ir.ops.formulas import Term, where
from xfront_ir.ops.linalg import eye, where_places

SWEEPS = 100
"""The most sweeps of Jacobi's method, which in practice ends after 6 to 15."""


def rotations(b: Builder, x: Value) -> Any:
    """The eigenvectors and the ascending eigenvalues of Hermitian matrices."""
    type = x.type
    values = type.with_shape(type.shape[:-1]).with_dtype(dtypes.real_of(type.dtype))
    wanted = 1e-6 if values.dtype.bits == 32 else 1e-14
    return kernel(b, "Eigh", [x], [type, values], type.ndim - 2,
                  config=f"1,1,{SWEEPS},{wanted:g}")       # 1,1: lower triangle, sorted values


def _symmetrized(place: Place, op: Op) -> bool:
    """The operand is (x + x^T) times a number."""
    product = place.operation(op.operands[0], ops.mul)
    total = product and place.operation(product.operands[0], ops.add)
    turned = total and place.operation(total.operands[1], ops.transpose)
    if not product or not total or not turned or place.constant(product.operands[1]) is None:
        return False
    n = turned.results[0].type.ndim
    return turned.operands[0] is total.operands[0] and turned.attrs["permutation"] == (
        *range(n - 2), n - 1, n - 2)


@form(ops.eigh, when=filled, only=_symmetrized)
def eigh_of_symmetric(b: Builder, op: Op, x: Value) -> Any:
    """XLA's kernel, by Jacobi rotations, of a matrix that is symmetric already."""
    return rotations(b, x)


@form(ops.eigh, when=filled)
def eigh(b: Builder, op: Op, x: Value) -> Any:
    """XLA's kernel, by Jacobi rotations."""
    return rotations(b, hermitian(b, x, op.attrs["lower"]))


# --- the polar decomposition --------------------------------------------------------------

def weights(smallest: float, enough: float) -> list[tuple[float, float, float]]:
    """The weights (a, b, c) of steps x (a + b x^2) / (1 + c x^2) that bring every x in
    [`smallest`, 1] to within `enough` of 1.

    Source: Nakatsukasa, Bai and Gygi, Optimizing Halley's iteration for computing the matrix polar
    decomposition, 2010.
    """
    made, low = [], smallest
    while 1 - low > enough:
        square = low * low
        d = (4 * (1 - square) / (square * square)) ** (1 / 3)
        root = math.sqrt(1 + d)
        a = root + math.sqrt(8 - 4 * d + 8 * (2 - square) / (square * root)) / 2
        b = (a - 1) ** 2 / 4
        c = a + b - 1
        made.append((a, b, c))
        low = min(1.0, low * (a + b * square) / (1 + c * square))
    return made


BY_CHOLESKY = 100.0
"""Up to this c a step uses Cholesky, which is cheaper but loses as many digits as c has."""


def unitary_factor(b: Builder, x: Value) -> Value:
    """The unitary U of x = U H for square x, where H is Hermitian and positive semidefinite."""
    eps = float(np.finfo(dtypes.real_of(x.type.dtype).numpy).eps)
    for a, w, c in weights(eps, 10 * eps):
        step = _step_by_qr if c > BY_CHOLESKY else _step_by_cholesky
        x = step(b, Term(b, x), a, w, c)
    return x


def _step_by_qr(b: Builder, x: Term, a: float, w: float, c: float) -> Value:
    n = x.value.type.shape[-1]
    scaled = x * math.sqrt(c)
    stacked = b.emit(ops.concatenate, scaled.value, eye(b, x.type).value,
                     dimension=x.value.type.ndim - 2)
    q, _ = orthogonal(b, stacked, False)
    upper = block(b, q, n, n)
    lower = padded(b, q, (-n, 0), (0, 0))
    part = Term(b, matmul(b, upper, adjoint(b, lower)))
    return (x * (w / c) + part * ((a - w / c) / math.sqrt(c))).value


def _step_by_cholesky(b: Builder, x: Term, a: float, w: float, c: float) -> Value:
    """The step x w/c + (a - w/c) x (I + c x^H x)^-1, where L L^H = I + c x^H x is factored."""
    gram = Term(b, matmul(b, adjoint(b, x.value), x.value)) * c
    factor = b.emit(ops.cholesky, (gram + eye(b, gram.type)).value)
    solve: Any = functools.partial(b.emit, ops.triangular_solve, left_side=False, lower=True,
                                   unit_diagonal=False)
    part = solve(factor, x.value, transpose_a=True, conjugate_a=True)
    part = solve(factor, part, transpose_a=False, conjugate_a=False)
    return (x * (w / c) + Term(b, part) * (a - w / c)).value


# --- svd ----------------------------------------------------------------------------------

@form(ops.svd, when=filled)
def svd(b: Builder, op: Op, x: Value) -> Any:
    """The SVD by the polar decomposition x = U H and Jacobi rotations of H."""
    full, vectors = op.attrs["full_matrices"], op.attrs["compute_uv"]
    wide = x.type.shape[-2] < x.type.shape[-1]
    tall = adjoint(b, x) if wide else x
    s, u, v = _tall_svd(b, tall, full and vectors)
    if not vectors:
        return [s]
    left, right = (v, u) if wide else (u, v)
    return [s, left, adjoint(b, right)]


def _tall_svd(b: Builder, x: Value, full: bool) -> tuple[Value, Value, Value]:
    """s, U and V of matrices with at least as many rows as columns."""
    (m, n), outer = x.type.shape[-2:], None
    if m > n:
        outer, x = orthogonal(b, x, full)
        x = block(b, x, n, n)
    lead = x.type.ndim - 2
    most = ops.reduce_max(abs(Term(b, x)), axes=(lead, lead + 1))
    scale = most * float(n)                      # no singular value is greater
    scale = where(scale == 0, 1, scale)
    wide = along(b, scale.value, x.type, range(lead))
    wide = b.emit(ops.convert, wide, dtype=x.type.dtype) if x.type.dtype.is_complex else wide
    unit = b.emit(ops.div, x, wide)
    turned = unitary_factor(b, unit)
    positive = Term(b, matmul(b, adjoint(b, turned), unit))
    positive = (positive + Term(b, adjoint(b, positive.value))) * 0.5
    v, values = rotations(b, positive.value)
    v, values = (b.emit(ops.reverse, t, axes=(t.type.ndim - 1,)) for t in (v, values))
    u = _unitary(b, matmul(b, turned, v))
    s = (ops.max(Term(b, values), 0.0)
         * Term(b, along(b, scale.value, values.type, range(lead)))).value
    if outer is not None:
        k = outer.type.shape[-1]
        if k > n:                                # columns beyond n stay as they are
            beyond = padded(b, eye(b, u.type.with_shape((*u.type.shape[:-2], k - n, k - n))).value,
                            (n, n), (0, 0))
            u = b.emit(ops.add, padded(b, u, (0, 0), (k - n, k - n)), beyond)
        u = matmul(b, outer, u)
    return s, u, v


def _unitary(b: Builder, x: Value) -> Value:
    """A unitary matrix with the columns of `x`, except those that are zero or not orthogonal
    because their singular value is zero. The other columns come first and stay as they are."""
    q, r = orthogonal(b, x, False)
    on_diagonal = where_places(b, ops.eq, r.type)
    diagonal = ops.reduce_sum(where(on_diagonal, Term(b, r), 0), axes=(r.type.ndim - 2,))
    size = abs(diagonal).to(r.type.dtype)
    nothing = size == 0
    phase = where(nothing, 1, diagonal / where(nothing, 1, size))
    columns = along(b, phase.value, q.type, (*range(q.type.ndim - 2), q.type.ndim - 1))
    return b.emit(ops.mul, q, columns)
