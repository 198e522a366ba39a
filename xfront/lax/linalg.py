"""Linear algebra of matrices in the last two axes: factorisations, and what is built on them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..base.on_demand import shown as _shown
from .factorizations import (
    EighImplementation,
    EigImplementation,
    SvdAlgorithm,
    cholesky,
    eig,
    eigh,
    hessenberg,
    householder_product,
    lu,
    lu_pivots_to_permutation,
    ormqr,
    qr,
    schur,
    svd,
    triangular_solve,
    tridiagonal,
    tridiagonal_solve,
)

if TYPE_CHECKING:
    from ..composed.matrix_functions import cholesky_update, qdwh, symmetric_product


def __getattr__(name: str) -> Any:
    """Functions built on other operations, and primitives, loaded when first used."""
    if name in ("cholesky_update", "qdwh", "symmetric_product"):
        from ..composed import matrix_functions

        found = globals()[name] = getattr(matrix_functions, name)
        return found
    if name.endswith("_p"):
        from ..eager.primitives import named

        found = globals()[name] = named(name, __name__)
        return found
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

__all__ = ["EigImplementation", "EighImplementation", "SvdAlgorithm", "cholesky",
           "cholesky_update", "eig", "eigh", "hessenberg", "householder_product", "lu",
           "lu_pivots_to_permutation", "ormqr", "qdwh", "qr", "schur", "svd", "symmetric_product",
           "triangular_solve", "tridiagonal", "tridiagonal_solve"]
__dir__ = _shown(globals())
