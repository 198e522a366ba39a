"""Singular values and eigenvalues: svd, eigh, eig.

Matrices stand in the last two axes, all axes before are batches. Where LAPACK does not converge
the results are NaN. Derivatives of vectors are infinite where two singular values or eigenvalues
are equal. Sources: LAPACK Users' Guide; derivatives: Giles, An extended collection of matrix
derivative results, 2008.
"""

from __future__ import annotations

from typing import Any

from .. import dtypes
from ..core import Op, Value
from ..errors import MissingRule
from ..opdef import BOOL, define
from .compare import eq
from .convert import convert
from .elementwise import abs_, add, complex_, conj, div, imag, mul, neg, real, select, sub
from .families import lit
from .linalg import (
    adjoint,
    batch_leading,
    diagonal_part,
    eye,
    matmul,
    matrix,
)
from .reduce import argmax, reduce_sum
from .shape import broadcast_in_dim, iota


def _real(b: Any, x: Value) -> Value:
    return b.emit(real, x) if x.type.dtype.is_complex else x


def _like(b: Any, x: Value, like: Value) -> Value:
    return x if x.type.dtype is like.type.dtype else b.emit(convert, x, dtype=like.type.dtype)


def _diagonal(b: Any, x: Value) -> Value:
    return b.emit(reduce_sum, diagonal_part(b, x), axes=(x.type.ndim - 1,))


def _along(b: Any, vector: Value, rows: int, columns: int, axis: int) -> Value:
    """Vectors repeated to matrices: element i in row i (axis -2) or in column i (axis -1)."""
    n = vector.type.ndim
    return b.emit(broadcast_in_dim, vector, shape=(*vector.type.shape[:-1], rows, columns),
                  dims=(*range(n - 1), n + 1 + axis))


def _gaps(b: Any, values: Value) -> Value:
    """1 / (values[j] - values[i]) in row i, column j; 0 on the diagonal."""
    n = values.type.shape[-1]
    difference = b.emit(sub, _along(b, values, n, n, -1), _along(b, values, n, n, -2))
    one = eye(b, difference.type)
    inverse = b.emit(div, b.ones(difference.type), b.emit(add, difference, one))
    return b.emit(sub, inverse, one)


# --- svd ----------------------------------------------------------------------------------

def _infer_svd(types: Any, attrs: Any) -> Any:
    (x,) = types
    m, n = matrix("svd", x)
    lead, k = x.shape[:-2], min(m, n)
    values = x.with_shape((*lead, k)).with_dtype(dtypes.real_of(x.dtype))
    if not attrs["compute_uv"]:
        return (values,)
    rows, columns = (m, n) if attrs["full_matrices"] else (k, k)
    return values, x.with_shape((*lead, m, rows)), x.with_shape((*lead, columns, n))


def _jvp_svd(b: Any, op: Op, tangents: Any) -> Any:
    """With M = U^H A' V: S' is M's diagonal; U' = U (G (M S + S M^H)) and what leaves U's span;
    V likewise; G the inverse gaps of the squares."""
    (x,), (t,) = op.operands, tangents
    m, n = x.type.shape[-2:]
    if not op.attrs["compute_uv"]:
        _, u, vt = b.emit(svd, x, full_matrices=False, compute_uv=True)
        middle = matmul(b, matmul(b, adjoint(b, u), t), adjoint(b, vt))
        return (_real(b, _diagonal(b, middle)),)
    if op.attrs["full_matrices"] and m != n:
        raise MissingRule("the vectors of svd have no derivative with full_matrices where the "
                          f"matrix is not square; got {x.type}")
    s, u, vt = op.results
    k = s.type.shape[-1]
    v, uh = adjoint(b, vt), adjoint(b, u)
    middle = matmul(b, matmul(b, uh, t), v)
    gaps = _like(b, _gaps(b, b.emit(mul, s, s)), t)
    columns, rows = (_like(b, _along(b, s, k, k, axis), t) for axis in (-1, -2))
    right, left = b.emit(mul, middle, columns), b.emit(mul, rows, middle)
    of_u = b.emit(mul, gaps, b.emit(add, right, adjoint(b, right)))
    of_v = b.emit(mul, gaps, b.emit(add, left, adjoint(b, left)))
    inverse = _inverse(b, s)
    if t.type.dtype.is_complex:                  # what turns on the diagonal turns U
        turning = diagonal_part(b, b.emit(sub, middle, adjoint(b, middle)))
        half = b.emit(mul, turning, lit(b, turning, 0.5))
        of_u = b.emit(add, of_u, b.emit(mul, half, _like(b, _along(b, inverse, k, k, -1), t)))
    u_moving, v_moving = matmul(b, u, of_u), matmul(b, v, of_v)
    if m > k:
        u_moving = b.emit(add, u_moving, _outside(b, matmul(b, t, v), u, uh, inverse))
    if n > k:
        outside = _outside(b, matmul(b, adjoint(b, t), u), v, vt, inverse)
        v_moving = b.emit(add, v_moving, outside)
    return _real(b, _diagonal(b, middle)), u_moving, adjoint(b, v_moving)


def _inverse(b: Any, s: Value) -> Value:
    """1 / s, and 0 where s is 0."""
    zero = b.emit(eq, s, b.zeros(s.type))
    safe = b.emit(select, zero, b.ones(s.type), s)
    return b.emit(select, zero, b.zeros(s.type), b.emit(div, b.ones(s.type), safe))


def _outside(b: Any, moving: Value, u: Value, uh: Value, inverse: Value) -> Value:
    """The part of `moving` outside the span of `u`, over the singular values."""
    apart = b.emit(sub, moving, matmul(b, u, matmul(b, uh, moving)))
    rows, columns = moving.type.shape[-2:]
    return b.emit(mul, apart, _like(b, _along(b, inverse, rows, columns, -1), apart))


svd = define("svd", attrs={"full_matrices": BOOL, "compute_uv": BOOL}, operands=1,
             infer=_infer_svd, single=False, jvp=_jvp_svd, batch=batch_leading)
"""Singular values, descending, and where `compute_uv` U and V^H, A = U diag(s) V^H: their first
columns and rows, or all with `full_matrices`."""


# --- eigh ---------------------------------------------------------------------------------

def _infer_eigh(types: Any, attrs: Any) -> Any:
    (x,) = types
    n, _ = matrix("eigh", x, square=True)
    return x, x.with_shape((*x.shape[:-2], n)).with_dtype(dtypes.real_of(x.dtype))


def _jvp_eigh(b: Any, op: Op, tangents: Any) -> Any:
    """With M = V^H A' V: w' is M's diagonal, V' = V (G M), G the inverse gaps of w."""
    vectors, values = op.results
    middle = matmul(b, matmul(b, adjoint(b, vectors), tangents[0]), vectors)
    turned = b.emit(mul, _like(b, _gaps(b, values), middle), middle)
    return matmul(b, vectors, turned), _real(b, _diagonal(b, middle))


eigh = define("eigh", attrs={"lower": BOOL}, operands=1, infer=_infer_eigh, single=False,
              jvp=_jvp_eigh, batch=batch_leading)
"""Vectors (as columns) and values, ascending, of Hermitian matrices, of which one triangle is
read. Derivatives take the tangent to be Hermitian too."""


# --- eig ----------------------------------------------------------------------------------

def _infer_eig(types: Any, attrs: Any) -> Any:
    (x,) = types
    n, _ = matrix("eig", x, square=True)
    dtype = x.dtype if x.dtype.is_complex else dtypes.complex_of(x.dtype)
    vectors = x.with_dtype(dtype)
    return (vectors.with_shape((*x.shape[:-2], n)),
            *[vectors for side in ("left", "right") if attrs[side]])


def _jvp_eig(b: Any, op: Op, tangents: Any) -> Any:
    """With M = L^H A' R and D = diag(L^H R): w' = diag(M) / D, R' = R (G D^-1 M) turned to their
    norm, G the gaps of w; L' likewise of A^H, whose values are conj(w)."""
    a = op.attrs
    if (a["left"] or a["right"]) and not a["vector_derivatives"]:
        raise MissingRule(
            "vectors of eig have derivatives only where no two eigenvalues are equal, so they have "
            "to be asked for: write lax.linalg.eig(x, enable_eigvec_derivs=True); eigenvalues "
            "alone (eigvals) and the vectors of eigh have theirs")
    if not op.results[0].type.shape[-1]:
        return tuple([b.zeros(v.type) for v in op.results])
    values, left, right = b.emit(eig, op.operands[0], left=True, right=True,
                                 vector_derivatives=True)
    tangent = _like(b, tangents[0], right)
    of_left = adjoint(b, left)
    middle = matmul(b, matmul(b, of_left, tangent), right)
    overlap = _diagonal(b, matmul(b, of_left, right))
    made = [b.emit(div, _diagonal(b, middle), overlap)]
    if a["left"]:
        made.append(_turning(b, left, b.emit(conj, values), adjoint(b, middle),
                             b.emit(conj, overlap)))
    if a["right"]:
        made.append(_turning(b, right, values, middle, overlap))
    return tuple(made)


def _turning(b: Any, vectors: Value, values: Value, middle: Value, overlap: Value) -> Value:
    """The tangent of eigenvectors of norm 1 whose greatest element is real."""
    n = values.type.shape[-1]
    mixed = b.emit(div, b.emit(mul, middle, _gaps(b, values)), _along(b, overlap, n, n, -2))
    free = matmul(b, vectors, mixed)
    size = vectors.type.ndim
    conjugate = b.emit(conj, vectors)
    grown = b.emit(reduce_sum, b.emit(real, b.emit(mul, conjugate, free)), axes=(size - 2,))
    # the greatest of the elements that are real, the first of equals
    sizes = b.emit(abs_, b.emit(real, vectors))
    nothing = b.zeros(sizes.type)
    sizes = b.emit(select, b.emit(eq, b.emit(imag, vectors), nothing), sizes,
                   b.emit(neg, b.ones(sizes.type)))
    place = b.emit(argmax, sizes, axis=size - 2, index_dtype=dtypes.i32)
    rows = b.emit(iota, dtype=dtypes.i32, shape=sizes.type.shape, dimension=size - 2)
    chosen = b.emit(eq, rows, _along(b, place, n, n, -1))
    level = b.emit(select, chosen, b.emit(real, vectors), b.ones(sizes.type))
    turned = b.emit(select, chosen, b.emit(div, b.emit(imag, free), level), nothing)
    turned = b.emit(reduce_sum, turned, axes=(size - 2,))
    away = b.emit(complex_, grown, turned)
    return b.emit(sub, free, b.emit(mul, vectors, _along(b, away, n, n, -1)))


eig = define("eig", attrs={"left": BOOL, "right": BOOL, "vector_derivatives": BOOL}, operands=1,
             infer=_infer_eig, single=False, jvp=_jvp_eig, batch=batch_leading)
"""Complex eigenvalues and, as asked, left and right vectors: columns of norm 1 whose greatest
element is real. Vectors have derivatives where `vector_derivatives` says that no two eigenvalues
are equal and no two elements of a vector tie for the greatest."""
