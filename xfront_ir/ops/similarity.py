"""Similar matrices of simpler form, Q^H A Q with unitary Q: schur, hessenberg, tridiagonal; ormqr.

Matrices stand in the last two axes; all axes before them are batches. `hessenberg` and
`tridiagonal` give Q as Householder vectors, as `geqrf` does; `ormqr` multiplies by such a Q.
Source: LAPACK Users' Guide (gees, gehrd, sytrd and hetrd, ormqr and unmqr).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .. import dtypes
from ..core import Op
from ..definition import NONE
from ..errors import IRTypeError, MissingRule
from ..opdef import BOOL, define
from ..spreading import leading, spreads
from .formulas import Term, formula
from .linalg import batch_leading, conjugate, matrix, one_batch

if TYPE_CHECKING:
    from ..builder import Builder
    from ..rules import Attrs, NewTangents, Tangents, Types

# --- schur --------------------------------------------------------------------------------

def _infer_schur(types: Types, attrs: Attrs) -> Types:
    matrix("schur", types[0], square=True)
    return types * (2 if attrs["vectors"] else 1)


schur = define("schur", attrs={"vectors": BOOL}, operands=1, infer=_infer_schur, single=False,
               jvp=NONE, batch=batch_leading)
"""T and, where `vectors`, Q with A = Q T Q^H. T is upper triangular; for real A it has blocks of
two rows on its diagonal, one for each pair of complex eigenvalues. NaN where LAPACK fails."""


# --- hessenberg, tridiagonal ----------------------------------------------------------------

def _infer_hessenberg(types: Types, attrs: Attrs) -> Types:
    (x,) = types
    n, _ = matrix("hessenberg", x, square=True)
    return x, x.with_shape((*x.shape[:-2], max(n - 1, 0)))


hessenberg = define("hessenberg", operands=1, infer=_infer_hessenberg, single=False, jvp=NONE,
                    batch=batch_leading)
"""A matrix that is zero below its subdiagonal, with the vectors of Q in the place of these zeros;
and the factors tau of the vectors."""


def _infer_tridiagonal(types: Types, attrs: Attrs) -> Types:
    (x,) = types
    n, _ = matrix("tridiagonal", x, square=True)
    lead, real = x.shape[:-2], x.with_dtype(dtypes.real_of(x.dtype))
    less = (*lead, max(n - 1, 0))
    return x, real.with_shape((*lead, n)), real.with_shape(less), x.with_shape(less)


tridiagonal = define("tridiagonal", attrs={"lower": BOOL}, operands=1, infer=_infer_tridiagonal,
                     single=False, jvp=NONE, batch=batch_leading)
"""For Hermitian matrices, of which one triangle is read: the matrix with the vectors of Q in that
triangle, its diagonal and the one beside it (both real), and the factors tau of the vectors."""


# --- ormqr --------------------------------------------------------------------------------

def _infer_ormqr(types: Types, attrs: Attrs) -> Types:
    a, taus, c = types
    m, n = matrix("ormqr", a)
    matrix("ormqr", c)
    one_batch("ormqr", types, (2, 1, 2))
    if taus.shape[-1] > min(m, n) or c.shape[-2 if attrs["left"] else -1] != m:
        side = "rows" if attrs["left"] else "columns"
        raise IRTypeError(f"ormqr takes Householder vectors whose length is the number of {side} "
                          f"of the last operand, and at most one tau for each vector, got {a}, "
                          f"{taus} and {c}")
    return (c,)


def _jvp_ormqr(b: Builder, op: Op, tangents: Tangents) -> NewTangents:
    if tangents[0] is not None or tangents[1] is not None:
        raise MissingRule("ormqr only has a derivative with respect to the matrix that it "
                          "multiplies; use qr for Q and its derivative")
    return (b.emit(ormqr, *op.operands[:2], tangents[2], **op.attrs),)


@formula
def _conjugate_of_adjoint(ct: Term, a: Term, taus: Term, left: bool, transpose: bool) -> Term:
    """The transpose of Q is the conjugate of Q^H."""
    return conjugate(ormqr(a, taus, conjugate(ct), left=left, transpose=not transpose))


def _transpose_ormqr(b: Builder, op: Op, cotangents: Tangents, known: Tangents) -> NewTangents:
    return None, None, _conjugate_of_adjoint(b, cotangents[0], *known[:2], **op.attrs)


ormqr = define("ormqr", attrs={"left": BOOL, "transpose": BOOL}, operands=3, infer=_infer_ormqr,
               jvp=_jvp_ormqr, transpose=_transpose_ormqr, batch=batch_leading)
"""Q C where `left`, else C Q, for the Q of Householder vectors and taus; Q^H where `transpose`."""


spreads(leading(2), schur, hessenberg, tridiagonal, ormqr)
