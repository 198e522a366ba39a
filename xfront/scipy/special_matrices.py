"""Matrices of known forms: made of vectors, or from a size alone.

Those made of vectors take batches in the axes before the last.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .. import numpy as jnp
from ..binding.annotations import Array, ArrayLike, DTypeLike
from ..eager.dispatch import eager
from ..eager.operands import broadcast_shapes, broadcast_to, index_of, promote, promote_inexact
from ..tracing.tracer import Tracer, as_tracer


def _size(name: str, n: Any, least: int = 0) -> int:
    n = index_of(n, f"{name}: n")
    if n < least:
        raise ValueError(f"{name}: n must be {'positive' if least else 'nonnegative'}, got {n}")
    return n


def _kind(name: str, kind: str | None) -> str:
    if kind not in (None, "symmetric", "lower", "upper"):
        raise ValueError(f"{name}: kind must be 'symmetric', 'lower' or 'upper', got {kind!r}")
    return kind or "symmetric"


def _placed(values: Tracer, places: np.ndarray) -> Any:
    """A matrix of elements of each vector, at the given places; -1 stands for 0 and -2 for 1."""
    ends = jnp.broadcast_to(jnp.asarray(np.array([1, 0]), values.dtype), (*values.shape[:-1], 2))
    extended = jnp.concatenate([values, ends], -1)
    return jnp.take(extended, places % (values.shape[-1] + 2), axis=-1)


# --- of vectors ---------------------------------------------------------------------------

@eager
def circulant(c: ArrayLike) -> Array:
    """The matrix with first column `c`, in which each next column is moved down by one, cyclically.

    Source: `scipy.linalg.circulant`.

    >>> linalg.circulant(jnp.array([1, 2, 3]))
    Array([[1, 3, 2],
           [2, 1, 3],
           [3, 2, 1]], dtype=int32)
    """
    (x,) = promote("circulant", c)
    x = jnp.atleast_1d(x)
    n = x.shape[-1]
    return jnp.take(x, np.subtract.outer(np.arange(n), np.arange(n)) % max(n, 1), axis=-1)


@eager
def companion(a: ArrayLike) -> Array:
    """The companion matrix of a polynomial with coefficients `a`, the highest first.

    Raises: ValueError for fewer than 2 coefficients.
    Source: `scipy.linalg.companion`.

    >>> linalg.companion(jnp.array([1., -3., 2.]))
    Array([[ 3., -2.],
           [ 1.,  0.]], dtype=float32)
    """
    (x,) = promote_inexact("companion", a)
    if not x.ndim or x.shape[-1] < 2:
        raise ValueError("companion: the length of `a` along the last axis must be at least 2; got "
                         f"shape {x.shape}")
    n = x.shape[-1] - 1
    places = np.where(np.eye(n, k=-1) == 1, -2, -1)
    places[0] = np.arange(n)
    return _placed(as_tracer(jnp.negative(x[..., 1:]) / x[..., :1]), places)


@eager(static=("n", "mode"))
def convolution_matrix(a: ArrayLike, n: int, mode: str = "full") -> Array:
    """The matrix whose product with a vector of size `n` is its convolution with `a`.

    Args:
      mode: "full", "valid" or "same", as in `numpy.convolve`.
    Raises: ValueError for other modes, an empty `a` and an n below 1.
    Source: `scipy.linalg.convolution_matrix`.

    >>> linalg.convolution_matrix(jnp.array([1, 2]), 2)
    Array([[1, 0],
           [2, 1],
           [0, 2]], dtype=int32)
    """
    (x,) = promote("convolution_matrix", a)
    n = _size("convolution_matrix", n, 1)
    if not x.ndim or not x.shape[-1]:
        raise ValueError(f"convolution_matrix: len(a) must be at least 1; got shape {x.shape}")
    m = x.shape[-1]
    if mode not in ("full", "valid", "same"):
        raise ValueError("convolution_matrix: mode must be one of 'full', 'valid', 'same'; got "
                         f"{mode!r}")
    first, rows = {"full": (0, m + n - 1), "valid": (min(m, n) - 1, abs(m - n) + 1),
                   "same": ((min(m, n) - 1) // 2, max(m, n))}[mode]
    places = np.subtract.outer(np.arange(first, first + rows), np.arange(n))
    return _placed(x, np.where((places >= 0) & (places < m), places, -1))


@eager
def fiedler(a: ArrayLike) -> Array:
    """The matrix of |a[i] - a[j]|. Source: `scipy.linalg.fiedler`.

    >>> linalg.fiedler(jnp.array([1., 2., 4.]))
    Array([[0., 1., 3.],
           [1., 0., 2.],
           [3., 2., 0.]], dtype=float32)
    """
    (x,) = promote("fiedler", a)
    x = jnp.atleast_1d(x)
    return jnp.abs(jnp.expand_dims(x, -1) - jnp.expand_dims(x, -2))


@eager
def fiedler_companion(a: ArrayLike) -> Array:
    """The matrix with five diagonals whose eigenvalues are the roots of the polynomial with
    coefficients `a`, the highest first.

    Raises: ValueError where there is no coefficient.
    Source: Fiedler, A note on companion matrices, 2003; `scipy.linalg.fiedler_companion`.

    >>> linalg.fiedler_companion(jnp.array([1., 2., 3.]))
    Array([[-2., -3.],
           [ 1.,  0.]], dtype=float32)
    """
    (x,) = promote_inexact("fiedler_companion", a)
    x = jnp.atleast_1d(x)
    n = x.shape[-1] - 1
    if n < 0:
        raise ValueError("fiedler_companion: `a` must have at least one coefficient, got shape "
                         f"{x.shape}")
    places = np.full((n, n), -1)
    for i in range(n):
        if i % 2 == 0:
            beside = [(i + 1, i + 1), (i + 2, -2)] + ([(i - 1, i)] if i else [(0, 0)])
        else:
            beside = [(i - 2, -2)] if i > 1 else [(0, -2)]
        for j, place in beside:
            if 0 <= j < n:
                places[i, j] = place
    return _placed(as_tracer(jnp.negative(x[..., 1:]) / x[..., :1]), places)


@eager
def hankel(c: ArrayLike, r: ArrayLike | None = None) -> Array:
    """The matrix with first column `c` and last row `r` (None: zeros), constant along the diagonals
    from right to left; the first element of `r` is not read.

    Raises: ValueError for scalars.
    Source: `scipy.linalg.hankel`.

    >>> linalg.hankel(jnp.array([1, 2, 3]))
    Array([[1, 2, 3],
           [2, 3, 0],
           [3, 0, 0]], dtype=int32)
    """
    x, y = promote("hankel", c, c if r is None else r)
    y = jnp.zeros_like(x) if r is None else y
    for name, v in (("c", x), ("r", y)):
        if not v.ndim:
            raise ValueError(f"hankel: {name} must be at least 1-dimensional, got a scalar")
    n, m = x.shape[-1], y.shape[-1]
    outer = broadcast_shapes("hankel", [x.shape[:-1], y.shape[:-1]])
    y = broadcast_to(as_tracer(y), (*outer, m))
    both = jnp.concatenate([broadcast_to(x, (*outer, n)), y[..., 1:]],
                           -1)
    return jnp.take(both, np.add.outer(np.arange(n), np.arange(m)), axis=-1)


@eager
def leslie(f: ArrayLike, s: ArrayLike) -> Array:
    """The matrix with first row `f` and `s` below its diagonal.

    Raises: ValueError for fewer than 2 elements of `f`, and where `s` does not have one element
      less.
    Source: Leslie 1945; `scipy.linalg.leslie`.

    >>> linalg.leslie(jnp.array([1., 2.]), jnp.array([0.5]))
    Array([[1. , 2. ],
           [0.5, 0. ]], dtype=float32)
    """
    x, y = promote("leslie", f, s)
    if not x.ndim or x.shape[-1] < 2:
        raise ValueError("leslie: the length of f along the last axis must be at least 2; got shape"
                         f" {x.shape}")
    n = x.shape[-1]
    if not y.ndim or y.shape[-1] != n - 1:
        raise ValueError("leslie: the length of s along the last axis must be one less than that of"
                         f" f; got f shape {x.shape} and s shape {y.shape}")
    outer = broadcast_shapes("leslie", [x.shape[:-1], y.shape[:-1]])
    both = jnp.concatenate([broadcast_to(x, (*outer, n)), broadcast_to(y, (*outer, n - 1))], -1)
    places = np.full((n, n), -1)
    places[0] = np.arange(n)
    places[np.arange(1, n), np.arange(n - 1)] = np.arange(n, 2 * n - 1)
    return _placed(as_tracer(both), places)


# --- of a size ----------------------------------------------------------------------------

def dft(n: int, scale: str | None = None, *, dtype: DTypeLike | None = None) -> Array:
    """The matrix of the discrete Fourier transform: elements exp(-2 pi i j k / n).

    Args:
      scale: None for 1, "sqrtn" for a unitary matrix, "n" for a division by n.
      dtype: a complex dtype; None for the default one.
    Raises: ValueError for other scales and dtypes, and a negative n.
    Source: `scipy.linalg.dft`.

    >>> linalg.dft(2).real
    Array([[ 1.,  1.],
           [ 1., -1.]], dtype=float32)
    """
    n = _size("dft", n)
    if scale not in (None, "sqrtn", "n"):
        raise ValueError(f"dft: scale must be None, 'sqrtn', or 'n'; got {scale!r}")
    if dtype is not None and not jnp.issubdtype(jnp.dtype(dtype), jnp.complexfloating):
        raise ValueError(f"dft: dtype must be a complex floating-point type; got {dtype}")
    turns = np.exp(-2j * np.pi / max(n, 1) * np.arange(n))
    factor = {None: 1.0, "sqrtn": max(n, 1) ** -0.5, "n": 1 / max(n, 1)}[scale]
    powers = np.multiply.outer(np.arange(n), np.arange(n)) % max(n, 1)
    return jnp.asarray(factor * turns[powers], complex if dtype is None else dtype)


def hadamard(n: int, dtype: DTypeLike = int) -> Array:
    """Sylvester's matrix of 1 and -1 with orthogonal columns.

    Raises: ValueError where n is not a power of 2.
    Source: `scipy.linalg.hadamard`.

    >>> linalg.hadamard(2)
    Array([[ 1,  1],
           [ 1, -1]], dtype=int32)
    """
    n = index_of(n, "hadamard: n")
    if n < 1 or n & (n - 1):
        raise ValueError(f"hadamard: n must be a positive power of 2; got {n}")
    made = np.ones((1, 1), np.int8)
    while len(made) < n:
        made = np.block([[made, made], [made, -made]])
    return jnp.asarray(made, dtype)


def helmert(n: int, full: bool = False) -> Array:
    """The orthogonal matrix whose row k compares element k + 1 with the mean of those before it;
    with `full` the row of means comes first.

    Raises: ValueError for an n below 1.
    Source: `scipy.linalg.helmert`.

    >>> linalg.helmert(2)
    Array([[ 0.707, -0.707]], dtype=float32)
    """
    n = _size("helmert", n, 1)
    k = np.arange(1, n)[:, None]
    made = (np.tri(n - 1, n) - k * np.eye(n - 1, n, 1)) / np.sqrt(k * (k + 1))
    return jnp.asarray(np.concatenate([np.full((1, n), n ** -0.5), made]) if full else made, float)


def hilbert(n: int) -> Array:
    """The matrix of 1 / (i + j + 1). Source: `scipy.linalg.hilbert`.

    >>> linalg.hilbert(2)
    Array([[1.   , 0.5  ],
           [0.5  , 0.333]], dtype=float32)
    """
    i = np.arange(_size("hilbert", n))
    return jnp.asarray(1 / (np.add.outer(i, i) + 1.0), float)


def _integers(n: int, element: Any) -> np.ndarray:
    """A matrix of Python integers, which are exact."""
    return np.array([[element(i, j) for j in range(n)] for i in range(n)], object).reshape(n, n)


def invhilbert(n: int) -> Array:
    """The inverse of `hilbert(n)`: integers, as floats, each rounded once.

    Source: Choi, Tricks or treats with the Hilbert matrix, 1983; `scipy.linalg.invhilbert`.

    >>> linalg.invhilbert(2)
    Array([[ 4., -6.],
           [-6., 12.]], dtype=float32)
    """
    n, comb = _size("invhilbert", n), math.comb
    made = _integers(n, lambda i, j: (-1) ** (i + j) * (i + j + 1) * comb(n + i, n - j - 1)
                     * comb(n + j, n - i - 1) * comb(i + j, i) ** 2)
    return jnp.asarray(made.astype(float), float)


def pascal(n: int, kind: str | None = None) -> Array:
    """The matrix of Pascal's triangle, as floats: "symmetric" (None) has (i + j over i), "lower"
    (i over j), "upper" its transpose.

    Raises: ValueError for other kinds.
    Source: `scipy.linalg.pascal`.

    >>> linalg.pascal(3)
    Array([[1., 1., 1.],
           [1., 2., 3.],
           [1., 3., 6.]], dtype=float32)
    """
    n, kind = _size("pascal", n), _kind("pascal", kind)
    made = _integers(n, (lambda i, j: math.comb(i + j, i)) if kind == "symmetric" else math.comb)
    return jnp.asarray((made.T if kind == "upper" else made).astype(float), float)


def invpascal(n: int, kind: str | None = None) -> Array:
    """The inverse of `pascal(n, kind)`: integers, as floats, each rounded once.

    Raises: ValueError for other kinds.
    Source: `scipy.linalg.invpascal`.

    >>> linalg.invpascal(3)
    Array([[ 3., -3.,  1.],
           [-3.,  5., -2.],
           [ 1., -2.,  1.]], dtype=float32)
    """
    n, kind = _size("invpascal", n), _kind("invpascal", kind)
    lower = _integers(n, lambda i, j: (-1) ** (i + j) * math.comb(i, j))
    made = {"lower": lower, "upper": lower.T, "symmetric": lower.T @ lower}[kind]
    return jnp.asarray(made.astype(float), float)


__all__ = ["circulant", "companion", "convolution_matrix", "dft", "fiedler", "fiedler_companion",
           "hadamard", "hankel", "helmert", "hilbert", "invhilbert", "invpascal", "leslie",
           "pascal"]
