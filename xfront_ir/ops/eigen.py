"""Singular values and eigenvalues: svd, eigh, eig.

Matrices stand in the last two axes; all axes before them are batches. Where LAPACK does not
converge the results are NaN. Derivatives of vectors are infinite where two singular values or
eigenvalues are equal. Sources: LAPACK Users' Guide; derivatives: Giles, An extended collection of
matrix derivative results, 2008.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .. import dtypes
from ..core import Op
from ..errors import MissingRule
from ..opdef import BOOL, define
from ..spreading import leading, spreads
from .elementwise import complex_, conj, imag, real
from .formulas import Term, formula, where
from .linalg import adjoint, batch_leading, diagonal_part, eye, matmul, matrix
from .reduce import argmax, reduce_sum
from .shape import broadcast_in_dim, iota

if TYPE_CHECKING:
    from ..builder import Builder
    from ..rules import Attrs, NewTangents, Tangents, Types


def _real(x: Term) -> Term:
    return real(x) if x.dtype.is_complex else x


def _diagonal(x: Term) -> Term:
    return reduce_sum(diagonal_part(x), axes=(x.type.ndim - 1,))


def _along(vector: Term, rows: int, columns: int, axis: int) -> Term:
    """Vectors repeated to matrices: element i in row i (axis -2) or in column i (axis -1)."""
    n = vector.type.ndim
    return broadcast_in_dim(vector, shape=(*vector.type.shape[:-1], rows, columns),
                            dims=(*range(n - 1), n + 1 + axis))


def _gaps(values: Term) -> Term:
    """1 / (values[j] - values[i]) in row i, column j; 0 on the diagonal."""
    n = values.type.shape[-1]
    difference = _along(values, n, n, -1) - _along(values, n, n, -2)
    one = eye(difference.b, difference.type)
    return difference.like(1) / (difference + one) - one


# --- svd ----------------------------------------------------------------------------------

def _infer_svd(types: Types, attrs: Attrs) -> Types:
    (x,) = types
    m, n = matrix("svd", x)
    lead, k = x.shape[:-2], min(m, n)
    values = x.with_shape((*lead, k)).with_dtype(dtypes.real_of(x.dtype))
    if not attrs["compute_uv"]:
        return (values,)
    rows, columns = (m, n) if attrs["full_matrices"] else (k, k)
    return values, x.with_shape((*lead, m, rows)), x.with_shape((*lead, columns, n))


def _jvp_svd(b: Builder, op: Op, tangents: Tangents) -> NewTangents:
    (x,), (t,) = op.operands, tangents
    m, n = x.type.shape[-2:]
    if not op.attrs["compute_uv"]:
        return (_tangent_values(b, t, x),)
    if op.attrs["full_matrices"] and m != n:
        raise MissingRule("the singular vectors of a matrix that is not square have no derivative "
                          f"with full_matrices=True; got {x.type}")
    return _tangents_svd(b, t, *op.results)


@formula
def _tangent_values(t: Term, x: Term) -> Term:
    _, u, vt = svd(x, full_matrices=False, compute_uv=True)
    return _real(_diagonal(matmul(matmul(adjoint(u), t), adjoint(vt))))


@formula
def _tangents_svd(t: Term, s: Term, u: Term, vt: Term) -> tuple[Term, Term, Term]:
    """With M = U^H A' V and G the inverse gaps of the squares: S' is M's diagonal, and U' is
    U (G (M S + S M^H)) plus the part outside U's span; V' likewise."""
    (m, n), k = t.type.shape[-2:], s.type.shape[-1]
    v, uh = adjoint(vt), adjoint(u)
    middle = matmul(matmul(uh, t), v)
    gaps = _gaps(s * s).to(t.dtype)
    columns, rows = (_along(s, k, k, axis).to(t.dtype) for axis in (-1, -2))
    right, left = middle * columns, rows * middle
    of_u = gaps * (right + adjoint(right))
    of_v = gaps * (left + adjoint(left))
    inverse = _inverse(s)
    if t.dtype.is_complex:                       # imaginary parts on the diagonal turn U
        turning = diagonal_part(middle - adjoint(middle))
        of_u = of_u + turning * 0.5 * _along(inverse, k, k, -1).to(t.dtype)
    u_moving, v_moving = matmul(u, of_u), matmul(v, of_v)
    if m > k:
        u_moving = u_moving + _outside(matmul(t, v), u, uh, inverse)
    if n > k:
        v_moving = v_moving + _outside(matmul(adjoint(t), u), v, vt, inverse)
    return _real(_diagonal(middle)), u_moving, adjoint(v_moving)


def _inverse(s: Term) -> Term:
    """1 / s, and 0 where s is 0."""
    zero = s == 0
    safe = where(zero, 1, s)
    return where(zero, s.like(0), 1 / safe)


def _outside(moving: Term, u: Term, uh: Term, inverse: Term) -> Term:
    """The part of `moving` outside the span of `u`, over the singular values."""
    apart = moving - matmul(u, matmul(uh, moving))
    rows, columns = moving.type.shape[-2:]
    return apart * _along(inverse, rows, columns, -1).to(apart.dtype)


svd = define("svd", attrs={"full_matrices": BOOL, "compute_uv": BOOL}, operands=1,
             infer=_infer_svd, single=False, jvp=_jvp_svd, batch=batch_leading)
"""Singular values, descending, and with `compute_uv` U and V^H, such that A = U diag(s) V^H. U's
columns and V^H's rows are as many as singular values, or all with `full_matrices`."""


# --- eigh ---------------------------------------------------------------------------------

def _infer_eigh(types: Types, attrs: Attrs) -> Types:
    (x,) = types
    n, _ = matrix("eigh", x, square=True)
    return x, x.with_shape((*x.shape[:-2], n)).with_dtype(dtypes.real_of(x.dtype))


@formula
def _tangents_eigh(t: Term, vectors: Term, values: Term) -> tuple[Term, Term]:
    """With M = V^H A' V and G the inverse gaps of w: w' is M's diagonal, V' = V (G M)."""
    middle = matmul(matmul(adjoint(vectors), t), vectors)
    turned = _gaps(values).to(t.dtype) * middle
    return matmul(vectors, turned), _real(_diagonal(middle))


eigh = define("eigh", attrs={"lower": BOOL}, operands=1, infer=_infer_eigh, single=False,
              batch=batch_leading,
              jvp=lambda b, op, tangents: _tangents_eigh(b, tangents[0], *op.results))
"""Eigenvectors (as columns) and ascending eigenvalues of Hermitian matrices, of which one triangle
is read. Derivatives assume that the tangent is Hermitian too."""


# --- eig ----------------------------------------------------------------------------------

def _infer_eig(types: Types, attrs: Attrs) -> Types:
    (x,) = types
    n, _ = matrix("eig", x, square=True)
    dtype = x.dtype if x.dtype.is_complex else dtypes.complex_of(x.dtype)
    vectors = x.with_dtype(dtype)
    return (vectors.with_shape((*x.shape[:-2], n)),
            *[vectors for side in ("left", "right") if attrs[side]])


def _jvp_eig(b: Builder, op: Op, tangents: Tangents) -> NewTangents:
    a = op.attrs
    if (a["left"] or a["right"]) and not a["vector_derivatives"]:
        raise MissingRule(
            "eigenvectors of eig have derivatives only where no two eigenvalues are equal, so they "
            "must be enabled: write lax.linalg.eig(x, enable_eigvec_derivs=True); eigvals and eigh "
            "always have derivatives")
    if not op.results[0].type.shape[-1]:
        return tuple([b.zeros(v.type) for v in op.results])
    return _tangents_eig(b, tangents[0], op.operands[0], left=a["left"], right=a["right"])


@formula
def _tangents_eig(t: Term, x: Term, left: bool, right: bool) -> tuple[Term, ...]:
    """With M = L^H A' R, D = diag(L^H R) and G the inverse gaps of w: w' = diag(M) / D and
    R' = R (G D^-1 M), corrected for R's norm; L' likewise from A^H, whose values are conj(w)."""
    values, of_left, of_right = eig(x, left=True, right=True, vector_derivatives=True)
    t = t.to(of_right.dtype)
    across = adjoint(of_left)
    middle = matmul(matmul(across, t), of_right)
    overlap = _diagonal(matmul(across, of_right))
    made = [_diagonal(middle) / overlap]
    if left:
        made.append(_turning(of_left, conj(values), adjoint(middle), conj(overlap)))
    if right:
        made.append(_turning(of_right, values, middle, overlap))
    return tuple(made)


def _turning(vectors: Term, values: Term, middle: Term, overlap: Term) -> Term:
    """The tangent of eigenvectors of norm 1 whose greatest element is real."""
    n, axis = values.type.shape[-1], vectors.type.ndim - 2
    mixed = middle * _gaps(values) / _along(overlap, n, n, -2)
    free = matmul(vectors, mixed)
    grown = reduce_sum(real(conj(vectors) * free), axes=(axis,))
    # the greatest of the elements that are real; of equal ones the first
    sizes = abs(real(vectors))
    nothing = sizes.like(0)
    sizes = where(imag(vectors) == nothing, sizes, -sizes.like(1))
    place = argmax(sizes, axis=axis, index_dtype=dtypes.i32)
    rows = Term(sizes.b, sizes.b.emit(iota, dtype=dtypes.i32, shape=sizes.type.shape,
                                      dimension=axis))
    chosen = rows == _along(place, n, n, -1)
    level = where(chosen, real(vectors), sizes.like(1))
    turned = where(chosen, imag(free) / level, nothing)
    turned = reduce_sum(turned, axes=(axis,))
    return free - vectors * _along(complex_(grown, turned), n, n, -1)


eig = define("eig", attrs={"left": BOOL, "right": BOOL, "vector_derivatives": BOOL}, operands=1,
             infer=_infer_eig, single=False, jvp=_jvp_eig, batch=batch_leading)
"""Complex eigenvalues and, where asked for, left and right eigenvectors: columns of norm 1 whose
greatest element is real. Eigenvectors have derivatives where `vector_derivatives` promises that no
two eigenvalues are equal and no two elements of a vector tie for the greatest."""


spreads(leading(2), svd, eigh, eig)
