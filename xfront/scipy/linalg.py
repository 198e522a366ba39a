"""Linear algebra of SciPy. Solutions, factors and exponentials of matrices are here; functions and
simpler forms of matrices are in `matrix_functions.py`, known matrices in `special_matrices.py`.

Matrices are in the last two axes; all axes before them are batches.

Some of SciPy's arguments are permissions, which are accepted and not used: to overwrite an
argument (`overwrite_a`, `overwrite_b`), to use a faster routine (`turbo`) or more memory
(`lwork`), and to skip the check for NaN and infinities (`check_finite`), which nothing here makes.
"""

from __future__ import annotations

import math
from typing import Any, Literal, overload

import numpy as np
from xfront_ir import ops

from .. import numpy as jnp
from ..base.on_demand import shown as _shown
from ..binding.annotations import Array, ArrayLike
from ..binding.tracebacks import front_door, warn
from ..eager.dispatch import eager
from ..eager.operands import broadcast_to, check_ranks, operand, promote
from ..lax import factorizations as lax
from ..lax.implicit import custom_linear_solve
from ..numpy.contractions import exact_matmul
from ..numpy.factors import lu_solved, one_batch
from ..tracing.trace import emit
from ..tracing.tracer import Tracer, as_tracer
from ..transforms.autodiff import jvp
from ..values.arguments import only
from .matrix_functions import (
    eigh_tridiagonal,
    funm,
    hessenberg,
    permuted,
    pivots,
    polar,
    promoted,
    qr_multiply,
    rsf2csf,
    schur,
    solve_sylvester,
    sqrtm,
)
from .special_matrices import (
    circulant,
    companion,
    convolution_matrix,
    dft,
    fiedler,
    fiedler_companion,
    hadamard,
    hankel,
    helmert,
    hilbert,
    invhilbert,
    invpascal,
    leslie,
    pascal,
)

_PERMITS = ("overwrite_a", "check_finite")


def _columns(name: str, a: Tracer, b: Tracer) -> tuple[Tracer, bool]:
    """`b` as matrices, and whether it was a vector, or a vector for each of the matrices `a`."""
    if b.ndim != 1 and (b.ndim != a.ndim - 1 or b.shape[-1:] != a.shape[-1:]):
        return b, False
    if b.ndim > 1:
        warn(f"{name}: b with shape {b.shape} is a vector for each of the matrices with shape "
             f"{a.shape}, which JAX will take for matrices in future; write "
             f"{name}(..., b[..., None])[..., 0]", FutureWarning)
    return emit(ops.reshape, b, shape=(*b.shape, 1)), True


def _rows_fit(name: str, a: Tracer, b: Tracer) -> None:
    if b.ndim < 2 or a.shape[-1] != b.shape[-2]:
        raise ValueError(f"{name}: b must have {a.shape[-1]} rows, got shapes {a.shape} and "
                         f"{b.shape}")


def _bare(x: Tracer, vector: bool) -> Tracer:
    return emit(ops.reshape, x, shape=x.shape[:-1]) if vector else x


# --- cholesky -----------------------------------------------------------------------------

@eager(static=("lower", *_PERMITS))
def cholesky(a: ArrayLike, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True
             ) -> Array:
    """The triangular factor of positive definite matrices, read from the same triangle; NaN for
    other matrices.

    Source: `scipy.linalg.cholesky`.
    Permissions, as above: `overwrite_a`, `check_finite`.

    >>> linalg.cholesky(jnp.array([[4., 2.], [2., 2.]]))
    Array([[2., 1.],
           [0., 1.]], dtype=float32)
    """
    (x,) = promoted("cholesky", a)
    x = lax.matrices("cholesky", x, square=True)
    if lower:
        return lax.cholesky(x, symmetrize_input=False)
    return lax.adjoint(as_tracer(lax.cholesky(lax.adjoint(x), symmetrize_input=False)))


def cho_factor(a: ArrayLike, lower: bool = False, overwrite_a: bool = False,
               check_finite: bool = True) -> tuple[Any, bool]:
    """(`cholesky(a, lower)`, `lower`), for `cho_solve`.

    Source: `scipy.linalg.cho_factor`.
    Permissions, as above: `overwrite_a`, `check_finite`.

    >>> linalg.cho_factor(jnp.array([[4., 0.], [0., 9.]]))[0]
    Array([[2., 0.],
           [0., 3.]], dtype=float32)
    """
    return cholesky(a, lower), lower


def cho_solve(c_and_lower: tuple[Any, bool], b: ArrayLike, overwrite_b: bool = False,
              check_finite: bool = True) -> Array:
    """X with A X = b, from A's factor as `cho_factor` gives it; b is a vector, vectors with one
    axis less than the factors, or matrices.

    Source: `scipy.linalg.cho_solve`.
    Permissions, as above: `overwrite_b`, `check_finite`.

    >>> linalg.cho_solve(linalg.cho_factor(jnp.array([[4., 0.], [0., 9.]])), jnp.array([4., 9.]))
    Array([1., 1.], dtype=float32)
    """
    c, lower = c_and_lower
    return _cho_solve(c, b, bool(lower))


@eager(static=("lower",))
def _cho_solve(c: Any, b: Any, lower: bool) -> Any:
    c, b = promoted("cho_solve", c, b)
    c = lax.matrices("cho_solve", c, square=True)
    b, vector = _columns("cho_solve", c, b)
    _rows_fit("cho_solve", c, b)
    c, b = one_batch("cho_solve", c, b)
    return _bare(_cho_solved(c, b, lower), vector)


def _cho_solved(c: Any, b: Any, lower: bool) -> Any:
    """The solution by a triangular factor `c`; b are matrices of c's batch."""
    for flip in (not lower, lower):
        b = lax.triangular_solve(c, b, left_side=True, lower=lower, transpose_a=flip,
                                 conjugate_a=flip)
    return b


# --- triangular and general solutions -----------------------------------------------------

@eager(static=("trans", "lower", "unit_diagonal", "overwrite_b", "debug", "check_finite"))
def solve_triangular(a: ArrayLike, b: ArrayLike, trans: int | str = 0, lower: bool = False,
                     unit_diagonal: bool = False, overwrite_b: bool = False, debug: None = None,
                     check_finite: bool = True) -> Array:
    """X with op(a) X = b, for triangular `a`; b is a vector, vectors with one axis less than
    `a`, or matrices.

    Args:
      trans: what op is: 0 or "N" for `a`, 1 or "T" for its transpose, 2 or "C" for its adjoint.
      lower: whether the lower triangle is read; otherwise the upper one.
      unit_diagonal: whether the diagonal is taken to be ones.
    Raises: ValueError for other values of `trans` and shapes that do not match.
    Source: `scipy.linalg.solve_triangular`.
    Permissions, as above: `overwrite_b`, `check_finite`; `debug` is None or False.

    >>> linalg.solve_triangular(jnp.array([[2., 0.], [1., 1.]]), jnp.array([2., 3.]), lower=True)
    Array([1., 2.], dtype=float32)
    """
    if debug is not None:
        only("solve_triangular", False, "debug output does not exist", debug=bool(debug))
    if trans not in (0, 1, 2, "N", "T", "C"):
        raise ValueError(f"solve_triangular: Invalid 'trans' value {trans!r}; it must be 0, 1, 2, "
                         "'N', 'T' or 'C'")
    a, b = promoted("solve_triangular", a, b)
    a = lax.matrices("solve_triangular", a, square=True)
    shape = b.shape
    b, vector = _columns("solve_triangular", a, b)
    check_ranks("solve_triangular", a.shape, shape, cores=(2, 1 if vector else 2))
    _rows_fit("solve_triangular", a, b)
    a, b = one_batch("solve_triangular", a, b)
    made = lax.triangular_solve(a, b, left_side=True, lower=lower,
                                transpose_a=trans not in (0, "N"),
                                conjugate_a=trans in (2, "C"), unit_diagonal=unit_diagonal)
    return _bare(as_tracer(made), vector)


@eager(static=("lower", "overwrite_a", "overwrite_b", "debug", "check_finite", "assume_a"))
def solve(a: ArrayLike, b: ArrayLike, lower: bool = False, overwrite_a: bool = False,
          overwrite_b: bool = False, debug: bool = False, check_finite: bool = True,
          assume_a: str = "gen") -> Array:
    """X with a X = b; b is a vector or matrices.

    Args:
      assume_a: "gen", "sym" or "her" for any matrix, "pos" for positive definite ones, solved
        from one triangle; the derivative is the same for all.
      lower: whether the lower triangle is read, for "pos"; otherwise the upper one.
    Raises: ValueError for other values of `assume_a`.
    Source: `scipy.linalg.solve`.
    Permissions, as above: `overwrite_a`, `overwrite_b`, `check_finite`.

    >>> linalg.solve(jnp.array([[2., 0.], [0., 4.]]), jnp.array([2., 4.]))
    Array([1., 1.], dtype=float32)
    """
    only("solve", False, "debug output does not exist", debug=bool(debug))
    if assume_a not in ("gen", "sym", "her", "pos"):
        raise ValueError("solve: Expected assume_a to be one of gen, her, pos, sym; got "
                         f"{assume_a!r}")
    if assume_a == "pos":
        return _solve_positive(a, b, lower)
    return jnp.linalg.solve(a, b)


def _solve_positive(a: Any, b: Any, lower: bool) -> Any:
    a, b = promoted("solve", a, b)
    a = lax.matrices("solve", a, square=True)
    b, vector = _columns("solve", a, b)
    _rows_fit("solve", a, b)
    factor = cholesky(a, lower)
    a, b = one_batch("solve", a, b)
    factor = broadcast_to(as_tracer(factor), a.shape)

    def solved(_: Any, y: Any) -> Any:
        return _cho_solved(factor, y, lower)

    # The slope by `a` is that of any other solution: it does not stand in one triangle alone.
    return _bare(custom_linear_solve(lambda x: exact_matmul(a, x), b, solved,
                                     lambda _, y: jnp.conj(solved(_, jnp.conj(y)))), vector)


@eager(static=_PERMITS)
def inv(a: ArrayLike, overwrite_a: bool = False, check_finite: bool = True) -> Array:
    """Inverses of square matrices.

    Source: `scipy.linalg.inv`.
    Permissions, as above: `overwrite_a`, `check_finite`.

    >>> linalg.inv(jnp.array([[2., 0.], [0., 4.]]))
    Array([[0.5 , 0.  ],
           [0.  , 0.25]], dtype=float32)
    """
    return jnp.linalg.inv(a)


@eager(static=_PERMITS)
def det(a: ArrayLike, overwrite_a: bool = False, check_finite: bool = True) -> Array:
    """Determinants of square matrices.

    Source: `scipy.linalg.det`.
    Permissions, as above: `overwrite_a`, `check_finite`.

    >>> linalg.det(jnp.array([[2., 1.], [1., 3.]]))
    Array(5., dtype=float32)
    """
    return jnp.linalg.det(a)


# --- lu -----------------------------------------------------------------------------------

@eager(static=_PERMITS)
def lu_factor(a: ArrayLike, overwrite_a: bool = False, check_finite: bool = True
              ) -> tuple[Array, Array]:
    """L (below the diagonal, its own is ones) and U in one array, and the pivots, for `lu_solve`.

    Source: `scipy.linalg.lu_factor`.
    Permissions, as above: `overwrite_a`, `check_finite`.

    >>> linalg.lu_factor(jnp.array([[4., 3.], [2., 1.]]))[1]
    Array([0, 1], dtype=int32)
    """
    (x,) = promoted("lu_factor", a)
    factors, pivots, _ = lax.lu(x)
    return factors, pivots


def lu_solve(lu_and_piv: tuple[Any, Any], b: ArrayLike, trans: int = 0, overwrite_b: bool = False,
             check_finite: bool = True) -> Array:
    """X with A X = b (trans 0), A^T X = b (1) or A^H X = b (2), from A's `lu_factor`; b as in
    `cho_solve`.

    Source: `scipy.linalg.lu_solve`.
    Permissions, as above: `overwrite_b`, `check_finite`.

    >>> linalg.lu_solve(linalg.lu_factor(jnp.array([[4., 0.], [0., 2.]])), jnp.array([4., 2.]))
    Array([1., 1.], dtype=float32)
    """
    return _lu_solve(*lu_and_piv, b, trans)


@eager(static=("trans",))
def _lu_solve(factors: Any, pivots: Any, b: Any, trans: int) -> Any:
    if trans not in (0, 1, 2):
        raise ValueError(f"lu_solve: 'trans' value must be 0, 1, or 2, got {trans}")
    factors, b = promoted("lu_solve", factors, b)
    factors = lax.matrices("lu_solve", factors, square=True)
    b, vector = _columns("lu_solve", factors, b)
    _rows_fit("lu_solve", factors, b)
    n = factors.shape[-1]
    order = lax.lu_pivots_to_permutation(operand("lu_solve", pivots), n)
    factors, b = one_batch("lu_solve", factors, b)
    order = broadcast_to(as_tracer(order), (*factors.shape[:-2], n))
    return _bare(lu_solved(factors, order, b, trans), vector)


@overload
def lu(a: ArrayLike, permute_l: Literal[False] = False, overwrite_a: bool = False,
       check_finite: bool = True) -> tuple[Array, Array, Array]: ...
@overload
def lu(a: ArrayLike, permute_l: Literal[True], overwrite_a: bool = False, check_finite: bool = True
      ) -> tuple[Array, Array]: ...
@overload
def lu(a: ArrayLike, permute_l: bool = False, overwrite_a: bool = False, check_finite: bool = True
      ) -> tuple[Array, ...]: ...
@eager(static=("permute_l", *_PERMITS))
def lu(a: ArrayLike, permute_l: bool = False, overwrite_a: bool = False, check_finite: bool = True
       ) -> tuple[Array, ...]:
    """P, L and U with P L U = a, where P is real; or P L and U with `permute_l`.

    Source: `scipy.linalg.lu`.
    Permissions, as above: `overwrite_a`, `check_finite`.

    >>> linalg.lu(jnp.array([[4., 3.], [2., 1.]]))[2]
    Array([[ 4. ,  3. ],
           [ 0. , -0.5]], dtype=float32)
    """
    (x,) = promoted("lu", a)
    factors, _, order = lax.lu(x)
    m, n = x.shape[-2:]
    k = min(m, n)
    ones = jnp.eye(m, k, dtype=factors.dtype)
    lower = jnp.add(jnp.tril(factors[..., :, :k], -1), ones)
    upper = jnp.triu(factors[..., :k, :])
    back = jnp.argsort(order)
    if permute_l:
        return jnp.take_along_axis(lower, jnp.expand_dims(back, -1), -2), upper
    rows = jnp.arange(m, dtype=order.dtype)
    places = jnp.equal(jnp.expand_dims(back, -1), rows)
    real = jnp.finfo(factors.dtype).dtype
    one, zero = jnp.ones((), real), jnp.zeros((), real)
    return jnp.where(places, one, zero), lower, upper


# --- decompositions -----------------------------------------------------------------------

@eager(static=("overwrite_a", "lwork", "mode", "pivoting", "check_finite"))
def qr(a: ArrayLike, overwrite_a: bool = False, lwork: int | None = None, mode: str = "full",
       pivoting: bool = False, check_finite: bool = True) -> tuple[Array, ...]:
    """Q and R with Q R = a. With `pivoting`: Q, R and an order of columns with Q R = a[:, order],
    chosen so that R's diagonal descends in magnitude.

    Args:
      mode: "full" for a square Q, "economic" for as many columns as a's smaller side, "r" without
        Q.
    Raises: ValueError for other modes.
    Source: `scipy.linalg.qr`.
    Permissions, as above: `overwrite_a`, `lwork`, `check_finite`.

    >>> jnp.abs(linalg.qr(jnp.array([[3., 1.], [4., 1.]]))[1])
    Array([[5. , 1.4],
           [0. , 0.2]], dtype=float32)
    """
    if mode not in ("full", "economic", "r"):
        raise ValueError(f"Unsupported QR decomposition mode '{mode}': it must be 'full', "
                         "'economic' or 'r'")
    (x,) = promoted("qr", a)
    x, order = lax.matrices("qr", x), ()
    if pivoting:
        order = (pivots(x),)
        x = permuted(x, order[0])
    made = lax.qr(x, full_matrices=mode != "economic")
    return (*(made[1:] if mode == "r" else made), *order)


@overload
def svd(a: ArrayLike, full_matrices: bool = True, compute_uv: Literal[True] = True,
        overwrite_a: bool = False, check_finite: bool = True, lapack_driver: str = "gesdd"
       ) -> tuple[Array, Array, Array]: ...
@overload
def svd(a: ArrayLike, full_matrices: bool = True, *, compute_uv: Literal[False],
        overwrite_a: bool = False, check_finite: bool = True, lapack_driver: str = "gesdd"
       ) -> Array: ...
@overload
def svd(a: ArrayLike, full_matrices: bool, compute_uv: Literal[False], overwrite_a: bool = False,
        check_finite: bool = True, lapack_driver: str = "gesdd") -> Array: ...
@overload
def svd(a: ArrayLike, full_matrices: bool = True, compute_uv: bool = True,
        overwrite_a: bool = False, check_finite: bool = True, lapack_driver: str = "gesdd"
       ) -> Array | tuple[Array, Array, Array]: ...
@eager(static=("full_matrices", "compute_uv", "lapack_driver", *_PERMITS))
def svd(a: ArrayLike, full_matrices: bool = True, compute_uv: bool = True,
        overwrite_a: bool = False, check_finite: bool = True, lapack_driver: str = "gesdd"
       ) -> Array | tuple[Array, Array, Array]:
    """U, singular values (descending) and V^H; the values alone without `compute_uv`.

    `lapack_driver` is "gesdd" or "gesvd", which XLA chooses between. Raises: ValueError for others.
    Source: `scipy.linalg.svd`.
    Permissions, as above: `overwrite_a`, `check_finite`.

    >>> linalg.svd(jnp.array([[3., 0.], [0., 4.]]))[1]
    Array([4., 3.], dtype=float32)
    """
    if lapack_driver not in ("gesdd", "gesvd"):
        raise ValueError(f"svd: lapack_driver must be 'gesdd' or 'gesvd', got {lapack_driver!r}")
    (x,) = promoted("svd", a)
    made = jnp.linalg.svd(x, full_matrices, compute_uv)
    return (made[0], made[1], made[2]) if isinstance(made, tuple) else made


@overload
def eigh(a: ArrayLike, b: None = None, lower: bool = True, eigvals_only: Literal[False] = False,
         overwrite_a: bool = False, overwrite_b: bool = False, turbo: bool = True,
         eigvals: None = None, type: int = 1, check_finite: bool = True) -> tuple[Array, Array]: ...
@overload
def eigh(a: ArrayLike, b: None = None, lower: bool = True, *, eigvals_only: Literal[True],
         overwrite_a: bool = False, overwrite_b: bool = False, turbo: bool = True,
         eigvals: None = None, type: int = 1, check_finite: bool = True) -> Array: ...
@overload
def eigh(a: ArrayLike, b: None, lower: bool, eigvals_only: Literal[True],
         overwrite_a: bool = False, overwrite_b: bool = False, turbo: bool = True,
         eigvals: None = None, type: int = 1, check_finite: bool = True) -> Array: ...
@overload
def eigh(a: ArrayLike, b: None = None, lower: bool = True, eigvals_only: bool = False,
         overwrite_a: bool = False, overwrite_b: bool = False, turbo: bool = True,
         eigvals: None = None, type: int = 1, check_finite: bool = True
        ) -> Array | tuple[Array, Array]: ...
@eager(static=("lower", "eigvals_only", "overwrite_a", "overwrite_b", "turbo", "eigvals", "type",
               "check_finite"))
def eigh(a: ArrayLike, b: None = None, lower: bool = True, eigvals_only: bool = False,
         overwrite_a: bool = False, overwrite_b: bool = False, turbo: bool = True,
         eigvals: None = None, type: int = 1, check_finite: bool = True
        ) -> Array | tuple[Array, Array]:
    """Eigenvalues, ascending, and vectors (columns) of (a + a^H) / 2, which is a if a is Hermitian.

    Args:
      eigvals_only: whether to return only the values.
    Raises: NotImplementedError for a second matrix, `eigvals` and other types.
    Source: `scipy.linalg.eigh`.
    Permissions, as above: `overwrite_a`, `overwrite_b`, `turbo`, `check_finite`.

    >>> linalg.eigh(jnp.array([[2., 0.], [0., 3.]]))[0]
    Array([2., 3.], dtype=float32)
    """
    if b is not None:
        raise NotImplementedError("eigh: only b=None is supported; the generalized problem is not "
                                  "available")
    if type != 1:
        raise NotImplementedError(f"eigh: only type=1 is supported, got {type!r}")
    if eigvals is not None:
        raise NotImplementedError("eigh: eigvals is not supported; leave it out and take a slice "
                                  "of the result")
    (x,) = promoted("eigh", a)
    vectors, values = lax.eigh(x, lower=lower)
    return values if eigvals_only else (values, vectors)


# --- exponential --------------------------------------------------------------------------

# By bytes of a real number: the degree of the diagonal Padé approximant of exp, and the norm up
# to which it is exact. Source: Higham, The scaling and squaring method for the matrix exponential
# revisited, 2005, section 2.
_APPROXIMANTS = {8: (13, 5.371920351148152), 4: (7, 3.925724783138660)}


def _numerator(degree: int) -> list[float]:
    """The coefficients c[j] / c[p], where c[j] = (2p - j)! p! / ((2p)! j! (p - j)!)."""
    p, f = degree, math.factorial
    return [float(f(2 * p - j) // (f(p - j) * f(j))) for j in range(p + 1)]


@eager(static=("upper_triangular", "max_squarings"))
def expm(A: ArrayLike, *, upper_triangular: bool = False, max_squarings: int = 16) -> Array:
    """The exponential of square matrices, by Padé approximants and squaring; NaN where more
    than `max_squarings` squarings are needed.

    Args:
      upper_triangular: promises that A is upper triangular.
    Source: Higham, 2005; `scipy.linalg.expm`.

    >>> linalg.expm(jnp.array([[0., 1.], [0., 0.]]))
    Array([[1., 1.],
           [0., 1.]], dtype=float32)
    """
    (x,) = promoted("expm", A)
    x = lax.matrices("expm", x, square=True)
    if not x.value.type.size:
        return x
    real = np.finfo(x.value.type.dtype.numpy).dtype
    degree, limit = _APPROXIMANTS[real.itemsize]
    norms = emit(ops.stop_gradient, jnp.max(jnp.sum(jnp.abs(x), -2), -1))
    squarings = jnp.maximum(0, jnp.ceil(jnp.log2(jnp.divide(norms, limit))))
    squarings = jnp.where(jnp.isfinite(norms), squarings, 0.0)
    scale = jnp.exp2(jnp.negative(squarings))
    x = jnp.multiply(x, jnp.expand_dims(scale, (-2, -1)))
    odd, even = _pade(as_tracer(x), degree)
    made = jnp.linalg.solve(jnp.subtract(even, odd), jnp.add(even, odd))
    for i in range(max_squarings):
        more = jnp.expand_dims(jnp.greater(squarings, i), (-2, -1))
        made = jnp.where(more, exact_matmul(made, made), made)
    too_many = jnp.expand_dims(jnp.greater(squarings, max_squarings), (-2, -1))
    made = jnp.where(too_many, jnp.full_like(made, np.nan), made)
    return jnp.triu(made) if upper_triangular else made


def _pade(x: Tracer, degree: int) -> tuple[Tracer, Tracer]:
    """The odd and the even part of the numerator."""
    c = _numerator(degree)
    square = exact_matmul(x, x)
    power = broadcast_to(x.home.lift(np.eye(x.shape[-1], dtype=x.value.type.dtype.numpy)), x.shape)
    odd, even = jnp.multiply(power, c[1]), jnp.multiply(power, c[0])
    for j in range(2, degree + 1, 2):
        power = exact_matmul(power, square) if j > 2 else square
        even = jnp.add(even, jnp.multiply(power, c[j]))
        if j + 1 <= degree:
            odd = jnp.add(odd, jnp.multiply(power, c[j + 1]))
    return exact_matmul(x, odd), as_tracer(even)


@overload
def expm_frechet(A: ArrayLike, E: ArrayLike, *, method: str | None = None,
                 compute_expm: Literal[True] = True) -> tuple[Array, Array]: ...
@overload
def expm_frechet(A: ArrayLike, E: ArrayLike, *, method: str | None = None,
                 compute_expm: Literal[False]) -> Array: ...
@overload
def expm_frechet(A: ArrayLike, E: ArrayLike, *, method: str | None = None, compute_expm: bool = True
                ) -> Array | tuple[Array, Array]: ...
@front_door
def expm_frechet(A: ArrayLike, E: ArrayLike, *, method: str | None = None, compute_expm: bool = True
                 ) -> Array | tuple[Array, Array]:
    """(expm(A), its derivative at A in the direction of E); the derivative alone without
    `compute_expm`.

    Args:
      method: "SPS" (None), the derivative of scaling, Padé approximants and squaring;
        "blockEnlarge", a corner of the exponential of [[A, E], [0, A]].
    Raises: ValueError for other methods and shapes.
    Source: Al-Mohy and Higham 2009; `scipy.linalg.expm_frechet`.

    >>> linalg.expm_frechet(jnp.zeros((2, 2)), jnp.eye(2), compute_expm=False)
    Array([[1., 0.],
           [0., 1.]], dtype=float32)
    """
    if method not in (None, "SPS", "blockEnlarge"):
        raise ValueError(f"expm_frechet: method must be 'SPS' or 'blockEnlarge', got {method!r}")
    return _expm_frechet(A, E, method == "blockEnlarge", bool(compute_expm))


@eager(static=("enlarge", "compute_expm"))
def _expm_frechet(A: Any, E: Any, enlarge: bool, compute_expm: bool) -> Any:
    a, e = promoted("expm_frechet", A, E)
    for x, name in ((a, "A"), (e, "E")):
        if x.ndim < 2 or x.shape[-1] != x.shape[-2]:
            raise ValueError(f"expm_frechet: expected {name} to be a (batched) square matrix, got "
                             f"{name}.shape={x.shape}")
    if a.shape != e.shape:
        raise ValueError(f"expm_frechet: A and E must have the same shape, got {a.shape} and "
                         f"{e.shape}")
    if not enlarge:
        made, moved = jvp(expm, (a,), (e,))
    else:
        n = a.shape[-1]
        both = expm(jnp.concatenate([jnp.concatenate([a, e], -1),
                                     jnp.concatenate([jnp.zeros_like(a), a], -1)], -2))
        made, moved = both[..., :n, :n], both[..., :n, n:]
    return (made, moved) if compute_expm else moved


# --- special matrices ---------------------------------------------------------------------

def block_diag(*arrs: ArrayLike) -> Array:
    """One matrix with the given ones along its diagonal; vectors and scalars are rows.

    Raises: ValueError for arrays of more than two axes.
    Source: `scipy.linalg.block_diag`.

    >>> linalg.block_diag(jnp.ones((1, 1)), 2 * jnp.ones((1, 1)))
    Array([[1., 0.],
           [0., 2.]], dtype=float32)
    """
    return _block_diag(list(arrs) or [np.zeros((1, 0), np.float32)])


@eager
def _block_diag(arrs: Any) -> Any:
    arrays = [jnp.atleast_2d(x) for x in promote("block_diag", *arrs)]
    for i, x in enumerate(arrays):
        if x.ndim > 2:
            raise ValueError(f"Arguments to block_diag must have at most 2 dimensions, got shape "
                             f"{x.shape} at argument {i}.")
    wide = sum(x.shape[1] for x in arrays)
    made, before = [], 0
    for x in arrays:
        after = wide - before - x.shape[1]
        made.append(jnp.pad(x, ((0, 0), (before, after))))
        before += x.shape[1]
    return jnp.concatenate(made, 0)


@eager
def toeplitz(c: ArrayLike, r: ArrayLike | None = None) -> Array:
    """The matrices with first column `c` and first row `r` (None: conj(c)), constant along their
    diagonals; leading axes are batches, which broadcast. Source: `scipy.linalg.toeplitz`.

    >>> linalg.toeplitz(jnp.array([1, 2, 3]))
    Array([[1, 2, 3],
           [2, 1, 2],
           [3, 2, 1]], dtype=int32)
    """
    column = jnp.atleast_1d(c)
    row = jnp.conj(column) if r is None else jnp.atleast_1d(r)
    n, m = column.shape[-1], row.shape[-1]
    batch = jnp.broadcast_shapes(column.shape[:-1], row.shape[:-1])
    column, row = jnp.broadcast_to(column, (*batch, n)), jnp.broadcast_to(row, (*batch, m))
    both = jnp.concatenate([jnp.flip(column, -1), row[..., 1:]], -1)
    places = np.arange(n)[::-1, None] + np.arange(m)[None, :]
    return jnp.take(both, places, axis=-1)


__all__ = ["block_diag", "cho_factor", "cho_solve", "cholesky", "circulant", "companion",
           "convolution_matrix", "det", "dft", "eigh", "eigh_tridiagonal", "expm", "expm_frechet",
           "fiedler", "fiedler_companion", "funm", "hadamard", "hankel", "helmert", "hessenberg",
           "hilbert", "inv", "invhilbert", "invpascal", "leslie", "lu", "lu_factor", "lu_solve",
           "pascal", "polar", "qr", "qr_multiply", "rsf2csf", "schur", "solve", "solve_sylvester",
           "solve_triangular", "sqrtm", "svd", "toeplitz"]
__dir__ = _shown(globals())
