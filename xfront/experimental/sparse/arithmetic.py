"""Sums, products, quotients and powers of sparse arrays."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from ... import numpy as jnp
from ...eager.operands import index_of, normalize_axes
from ...transforms.jit import jit
from .coordinates import (
    BCOO,
    bcoo_sum_duplicates,
    bcoo_todense,
    bcoo_update_layout,
    broadcast_batch,
    chosen,
    expect_kind,
    gathered,
    grouped,
    inside,
    over_batches,
    padded,
)


def added(mat: BCOO, other: Any) -> Any:
    """mat + other; sparse where both operands are sparse, else dense.

    Raises: NotImplementedError where a dense operand has not the shape of the result; ValueError
      where the shapes of sparse operands differ.
    """
    if isinstance(other, BCOO):
        return _added(mat, other)
    other = jnp.asarray(other)
    if jnp.broadcast_shapes(mat.shape, other.shape) != other.shape:
        raise NotImplementedError(
            f"a sparse array of shape {mat.shape} plus a dense one of shape {other.shape} would be "
            "dense, and larger than the dense one; call todense() if that is intended")
    return bcoo_todense(mat) + other


def _added(one: BCOO, two: BCOO) -> BCOO:
    if one.shape != two.shape:
        raise ValueError(f"sparse arrays of different shapes cannot be added: {one.shape} and "
                         f"{two.shape}")
    n_batch, n_dense = min(one.n_batch, two.n_batch), min(one.n_dense, two.n_dense)
    parts = [broadcast_batch(bcoo_update_layout(x, n_batch=n_batch, n_dense=n_dense))
             for x in (one, two)]
    data = jnp.concatenate([data for data, _ in parts], axis=n_batch)
    indices = jnp.concatenate([indices for _, indices in parts], axis=n_batch)
    return BCOO((data, indices), shape=one.shape)


def multiplied(mat: BCOO, other: Any) -> BCOO:
    """mat times a scalar, a dense array that broadcasts to it, or a sparse array of its shape."""
    if isinstance(other, BCOO):
        return bcoo_multiply_sparse(mat, other)
    return mat.with_data(bcoo_multiply_dense(mat, other))


def divided(mat: BCOO, other: Any) -> BCOO:
    """mat divided by a scalar or dense array. Raises: NotImplementedError for a sparse divisor."""
    if isinstance(other, BCOO):
        raise NotImplementedError("the quotient of two sparse arrays is NaN where both are zero, "
                                  "so it is dense; divide the results of todense()")
    return mat.with_data(_with_dense(mat, other, jnp.divide))


def powered(mat: BCOO, exponent: Any) -> BCOO:
    """mat to the power of a positive number, element by element. Raises: NotImplementedError for
    other exponents."""
    if not isinstance(exponent, (int, float)) or exponent <= 0:
        raise NotImplementedError("a sparse array can only be raised to a positive number (other "
                                  f"powers are dense), got {exponent!r}; call todense()")
    if not mat.unique_indices:
        mat = bcoo_sum_duplicates(mat, nse=mat.nse)
    return mat.with_data(mat.data ** exponent)


def bcoo_multiply_dense(sp_mat: BCOO, v: Any) -> Any:
    """The elements of the product with a dense array, at the coordinates of the sparse array.

    Args:
      sp_mat: a BCOO.
      v: a dense array that broadcasts to the shape of `sp_mat`.
    Returns: data of a BCOO, [*batch, nse, *dense].
    Raises: NotImplementedError where the product would have a larger shape; ValueError where the
      shapes do not broadcast.

    >>> mat = sparse.BCOO.fromdense(jnp.array([0., 2., 3.]))
    >>> sparse.bcoo_multiply_dense(mat, jnp.array([4., 5., 6.]))
    Array([10., 18.], dtype=float32)
    """
    expect_kind("bcoo_multiply_dense", BCOO, sp_mat)
    return _with_dense(sp_mat, v, jnp.multiply)


def _with_dense(mat: BCOO, v: Any, function: Any) -> Any:
    if jnp.ndim(v) == 0:
        return function(mat.data, v)
    v = jnp.asarray(v)
    if jnp.broadcast_shapes(mat.shape, v.shape) != mat.shape:
        raise NotImplementedError(f"cannot combine a sparse array of shape {mat.shape} with a "
                                  f"dense one of shape {v.shape}: broadcasting of the sparse one "
                                  "is not implemented; use bcoo_broadcast_in_dim")
    return _elements_with_dense(mat, v, function)


@functools.partial(jit, static_argnums=2)
def _elements_with_dense(mat: BCOO, v: Any, function: Any) -> Any:
    own = mat._layout()
    v = v.reshape((1,) * (mat.ndim - v.ndim) + v.shape)
    batch, sizes, dense = own.parts(mat.shape)
    of_v = own.parts(v.shape)
    columns = [i for i, d in enumerate(of_v[1]) if d == sizes[i]]    # v repeats along the others
    v = v.reshape(*of_v[0], *[sizes[i] for i in columns], *of_v[2])
    v = jnp.broadcast_to(v, (*batch, *v.shape[own.n_batch:]))

    def one(data: Any, indices: Any, v: Any) -> Any:
        keep = inside(indices, sizes)
        other = gathered(padded(keep, indices, sizes)[:, np.asarray(columns, int)], v,
                         len(columns))
        keep_wide = keep.reshape(-1, *[1] * len(dense))
        made = function(data, jnp.where(keep_wide, other, jnp.ones((), other.dtype)))
        return chosen(keep, made)

    return over_batches(own.n_batch, one)(*broadcast_batch(mat), v)


def bcoo_multiply_sparse(lhs: BCOO, rhs: BCOO) -> BCOO:
    """The product of two sparse arrays of one shape, element by element, at the coordinates of lhs.

    Raises: ValueError where shapes differ; NotImplementedError where numbers of dense axes differ.

    >>> lhs = sparse.BCOO.fromdense(jnp.array([0., 2., 3.]))
    >>> rhs = sparse.BCOO.fromdense(jnp.array([4., 5., 0.]))
    >>> sparse.bcoo_multiply_sparse(lhs, rhs).todense()
    Array([ 0., 10.,  0.], dtype=float32)
    """
    expect_kind("bcoo_multiply_sparse", BCOO, lhs, rhs)
    if lhs.shape != rhs.shape:
        raise ValueError(f"bcoo_multiply_sparse: shapes must agree, got {lhs.shape} and "
                         f"{rhs.shape}")
    if lhs.n_dense != rhs.n_dense:
        raise NotImplementedError("bcoo_multiply_sparse: arrays with different n_dense are not "
                                  f"supported, got {lhs.n_dense} and {rhs.n_dense}; call "
                                  "bcoo_update_layout first")
    n_batch = min(lhs.n_batch, rhs.n_batch)
    lhs, rhs = [bcoo_update_layout(x, n_batch=n_batch) for x in (lhs, rhs)]
    return lhs.with_data(_pairs(lhs, rhs))


@jit
def _pairs(lhs: BCOO, rhs: BCOO) -> Any:
    sizes = lhs._layout().parts(lhs.shape)[1]

    def one(a: Any, at_a: Any, b: Any, at_b: Any) -> Any:
        n, m = len(at_a), len(at_b)
        dtype = jnp.promote_types(at_a.dtype, at_b.dtype)
        order, group = grouped(jnp.concatenate([at_a.astype(dtype), at_b.astype(dtype)]))
        group = jnp.zeros(n + m, group.dtype).at[order].set(group)
        there = jnp.zeros((n + m, *b.shape[1:]), b.dtype).at[group[n:]].add(
            chosen(inside(at_b, sizes), b))
        return chosen(inside(at_a, sizes), a * there[group[:n]])

    return over_batches(lhs.n_batch, one)(*broadcast_batch(lhs), *broadcast_batch(rhs))


def bcoo_reduce_sum(mat: BCOO, *, axes: Sequence[int]) -> BCOO:
    """The sum over axes of any kind; duplicate coordinates stay.

    Args:
      mat: a BCOO.
      axes: axes of the dense array, in [-ndim, ndim).
    Raises: ValueError where an axis is out of range or occurs twice.

    >>> mat = sparse.BCOO.fromdense(jnp.array([[0., 2.], [3., 4.]]))
    >>> sparse.bcoo_reduce_sum(mat, axes=(0,)).todense()
    Array([3., 6.], dtype=float32)
    """
    expect_kind("bcoo_reduce_sum", BCOO, mat)
    return _reduced(mat, normalize_axes("bcoo_reduce_sum", tuple(axes), mat.ndim))


@functools.partial(jit, static_argnums=1)
def _reduced(mat: BCOO, axes: tuple[int, ...]) -> BCOO:
    n_batch, n_sparse, _ = mat._layout()
    data, indices = broadcast_batch(mat)
    sizes = mat.shape[n_batch:n_batch + n_sparse]
    data = chosen(inside(indices, sizes), data)
    data = jnp.sum(data, axis=tuple([a + 1 - n_sparse for a in axes if a >= n_batch + n_sparse]),
                   dtype=data.dtype)
    columns = [i for i in range(n_sparse) if i + n_batch not in axes]
    indices = indices[..., np.asarray(columns, int)]
    summed_over = [a for a in axes if a < n_batch]           # their elements join one list
    kept = [a for a in range(n_batch) if a not in summed_over]
    order = (*kept, *summed_over)
    batch = tuple([mat.shape[a] for a in kept])
    data = data.transpose(*order, *range(n_batch, data.ndim))
    indices = indices.transpose(*order, n_batch, n_batch + 1)
    nse = mat.nse * int(np.prod([mat.shape[a] for a in summed_over], dtype=int))
    shape = tuple([d for a, d in enumerate(mat.shape) if a not in axes])
    made = data.reshape(*batch, nse, *data.shape[n_batch + 1:])
    at = indices.reshape(*batch, nse, len(columns))
    left = tuple([sizes[i] for i in columns])
    return BCOO((made, padded(inside(at, left), at, left)), shape=shape)


def summed(mat: BCOO, axis: Any) -> Any:
    """The sum over axes in the form of `BCOO.sum`: sparse, or dense where it is over all axes."""
    axes = tuple(range(mat.ndim)) if axis is None else (
        tuple(axis) if isinstance(axis, (tuple, list)) else (index_of(axis, "axis"),))
    made = bcoo_reduce_sum(mat, axes=axes)
    return bcoo_todense(made) if made.ndim == 0 else made


__all__ = ["bcoo_multiply_dense", "bcoo_multiply_sparse", "bcoo_reduce_sum"]
