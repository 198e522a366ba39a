"""Products and convolutions of sparse arrays with dense and sparse arrays, and products of dense
ones at chosen places."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ... import numpy as jnp
from ...base.on_demand import above
from ...lax.contractions import (
    conv_dimension_numbers,
    conv_general_dilated,
    dot_general,
    padtype_to_pads,
)
from ...transforms.inspection import eval_shape
from ...transforms.jit import jit
from ...transforms.structs import ShapeDtypeStruct
from ...values.arguments import at_home
from .coordinates import (
    BCOO,
    bcoo_fromdense,
    bcoo_sum_duplicates,
    bcoo_update_layout,
    broadcast_batch,
    chosen,
    gathered,
    inside,
    over_batches,
    padded,
    scattered,
)

Numbers = tuple[tuple[tuple[int, ...], tuple[int, ...]], tuple[tuple[int, ...], tuple[int, ...]]]


def matmul(lhs: Any, rhs: Any) -> Any:
    """lhs @ rhs with the axes of `numpy.matmul`, where at least one operand is sparse.

    Raises: ValueError for scalars; TypeError where contracted sizes differ.
    """
    lhs, rhs = [x if isinstance(x, BCOO) else jnp.asarray(x) for x in (lhs, rhs)]
    if lhs.ndim == 0 or rhs.ndim == 0:
        raise ValueError(f"matmul: operands must have at least one axis, got shapes {lhs.shape} "
                         f"and {rhs.shape}")
    dtype = jnp.promote_types(lhs.dtype, rhs.dtype)
    lhs, rhs = lhs.astype(dtype), rhs.astype(dtype)
    row = rhs.ndim - 2 if rhs.ndim > 1 else 0
    if lhs.shape[-1] != rhs.shape[row]:
        raise TypeError(f"matmul: contracted sizes differ: {lhs.shape} and {rhs.shape}")
    if lhs.ndim <= 2 and rhs.ndim <= 2:
        return bcoo_dot_general(lhs, rhs, dimension_numbers=(((lhs.ndim - 1,), (row,)), ((), ())))
    if lhs.ndim < 3 and isinstance(lhs, BCOO):               # one lhs for all matrices of rhs
        made = bcoo_dot_general(lhs, rhs, dimension_numbers=(((lhs.ndim - 1,), (row,)), ((), ())))
        return jnp.moveaxis(made, 0, -2) if lhs.ndim == 2 else made
    if rhs.ndim < 3:
        return bcoo_dot_general(lhs, rhs, dimension_numbers=(((lhs.ndim - 1,), (row,)), ((), ())))
    shared = min(lhs.ndim, rhs.ndim) - 2
    a, b = lhs.shape[-2 - shared:-2], rhs.shape[-2 - shared:-2]
    if lhs.ndim != rhs.ndim or a != b:
        raise NotImplementedError(f"matmul: batch axes of {lhs.shape} and {rhs.shape} differ; use "
                                  "bcoo_broadcast_in_dim or jnp.broadcast_to first")
    batch = tuple(range(shared))
    return bcoo_dot_general(lhs, rhs, dimension_numbers=(((lhs.ndim - 1,), (row,)),
                                                         (batch, batch)))


def bcoo_dot_general(lhs: Any, rhs: Any, *, dimension_numbers: Any, precision: Any = None,
                     preferred_element_type: Any = None, out_sharding: Any = None) -> Any:
    """`lax.dot_general` of arrays of which one or both are BCOO.

    Args:
      lhs, rhs: BCOOs or dense arrays.
      dimension_numbers: `((lhs_contract, rhs_contract), (lhs_batch, rhs_batch))`.
      precision, preferred_element_type: as for `lax.dot_general`.
      out_sharding: None only.
    Returns: a dense array where one operand is dense; else a BCOO with at most as many elements as
      there are pairs of elements, or places in the result.
    Raises: TypeError where sizes or dtypes do not fit; NotImplementedError where batch axes of two
      sparse operands are not leading batch axes of both.

    >>> mat = sparse.BCOO.fromdense(jnp.array([[0., 2.], [3., 0.]]))
    >>> numbers = (((1,), (0,)), ((), ()))
    >>> sparse.bcoo_dot_general(mat, jnp.array([1., 10.]), dimension_numbers=numbers)
    Array([20.,  3.], dtype=float32)
    """
    at_home("bcoo_dot_general", out_sharding)
    (lc, rc), (lb, rb) = dimension_numbers
    numbers = ((tuple(lc), tuple(rc)), (tuple(lb), tuple(rb)))
    lhs, rhs = [x if isinstance(x, BCOO) else jnp.asarray(x) for x in (lhs, rhs)]
    _check(lhs, rhs, numbers)
    kind = None if preferred_element_type is None else np.dtype(preferred_element_type).name
    if isinstance(lhs, BCOO) and isinstance(rhs, BCOO):
        made = _both_sparse(lhs, rhs, numbers, kind)
        own = made._layout()
        most = math.prod(own.parts(made.shape)[1])
        return bcoo_sum_duplicates(made, nse=most) if most < made.nse else made
    if isinstance(lhs, BCOO):
        return _sparse_dense(lhs, rhs, numbers, precision, kind)
    if isinstance(rhs, BCOO):
        return _dense_sparse(lhs, rhs, numbers, precision, kind)
    return dot_general(lhs, rhs, numbers, precision, preferred_element_type)


def _check(lhs: Any, rhs: Any, numbers: Numbers) -> None:
    for left, right in numbers:
        for axes, x in ((left, lhs), (right, rhs)):
            if not all(0 <= a < x.ndim for a in axes):
                raise TypeError(f"bcoo_dot_general: axes {axes} are out of bounds for shape "
                                f"{x.shape}")
        if [lhs.shape[a] for a in left] != [rhs.shape[a] for a in right]:
            raise TypeError(f"bcoo_dot_general: sizes of axes {left} of {lhs.shape} and {right} of "
                            f"{rhs.shape} differ")
    for axes, other in zip(*numbers, strict=True):
        if len({*axes, *other}) != len(axes) + len(other):
            raise TypeError("bcoo_dot_general: the same axis is named twice among batch axes "
                            f"{other} and contracted axes {axes}")
    if lhs.dtype != rhs.dtype:
        raise TypeError(f"bcoo_dot_general: dtypes differ: {lhs.dtype} and {rhs.dtype}")


def _free(ndim: int, *taken: Sequence[int]) -> list[int]:
    return [a for a in range(ndim) if not any(a in axes for axes in taken)]


@functools.partial(jit, static_argnums=(2, 3, 4))
def _sparse_dense(lhs: BCOO, rhs: Any, numbers: Numbers, precision: Any, kind: str | None) -> Any:
    (lc, rc), (lb, rb) = numbers
    n = 0                                        # leading batch axes of both are mapped over
    while n < min(len(lb), lhs.n_batch) and lb[n] == n:
        n += 1
    rhs = jnp.moveaxis(rhs, rb[:n], tuple(range(n)))
    places = [*rb[:n], *_free(rhs.ndim, rb[:n])]
    moved = {a: i - n for i, a in enumerate(places)}
    lhs = bcoo_update_layout(lhs, n_batch=n)
    _, n_sparse, _ = lhs._layout()
    shape = lhs.shape[n:]
    left_c, left_b = [a - n for a in lc], [a - n for a in lb[n:]]
    right_c, right_b = [moved[a] for a in rc], [moved[a] for a in rb[n:]]

    def one(data: Any, indices: Any, rhs: Any) -> Any:
        return _one_sparse_dense(data, indices, shape, rhs, (left_c, right_c), (left_b, right_b),
                                 n_sparse, precision, kind)

    return over_batches(n, one)(*broadcast_batch(lhs), rhs)


def _one_sparse_dense(data: Any, indices: Any, shape: tuple[int, ...], rhs: Any,
                      contract: tuple, batch: tuple, n_sparse: int, precision: Any,
                      kind: str | None) -> Any:
    """The products of the elements and the rows of rhs at their coordinates, summed by place."""
    if any(a >= n_sparse for a in batch[0]):
        raise NotImplementedError("bcoo_dot_general: a batch axis that is a dense axis of the "
                                  "sparse operand is not supported; call bcoo_update_layout first")
    sparse_c = [(a, b) for a, b in zip(*contract, strict=True) if a < n_sparse]
    dense_c = [(a, b) for a, b in zip(*contract, strict=True) if a >= n_sparse]
    columns = [*batch[0], *[a for a, _ in sparse_c]]
    rows_first = [*batch[1], *[b for _, b in sparse_c]]
    free = _free(rhs.ndim, batch[1], contract[1])
    rows = rhs.transpose(*rows_first, *[b for _, b in dense_c], *free)
    keep = inside(indices, shape[:n_sparse])
    rows = gathered(padded(keep, indices, shape[:n_sparse])[:, np.asarray(columns, int)], rows,
                    len(columns))
    axes = tuple([a - n_sparse + 1 for a, _ in dense_c])
    products = dot_general(chosen(keep, data), rows,
                           ((axes, tuple(range(1, 1 + len(axes)))), ((0,), (0,))), precision, kind)
    left = [a for a in range(n_sparse) if a not in columns]
    places = np.asarray([*batch[0], *left], int)
    at = padded(keep, indices, shape[:n_sparse])[:, places]
    return scattered(at, products, tuple([shape[a] for a in places]))


def _dense_sparse(lhs: Any, rhs: BCOO, numbers: Numbers, precision: Any, kind: str | None) -> Any:
    (lc, rc), (lb, rb) = numbers
    swapped = _sparse_dense(rhs, lhs, ((rc, lc), (rb, lb)), precision, kind)
    n, right = len(lb), rhs.ndim - len(rb) - len(rc)         # [batch, free of rhs, free of lhs]
    order = (*range(n), *range(n + right, swapped.ndim), *range(n, n + right))
    return swapped.transpose(order)


@functools.partial(jit, static_argnums=(2, 3))
def _both_sparse(lhs: BCOO, rhs: BCOO, numbers: Numbers, kind: str | None) -> BCOO:
    (lc, rc), (lb, rb) = numbers
    n = len(lb)
    if lb != tuple(range(n)) or rb != tuple(range(n)) or n > min(lhs.n_batch, rhs.n_batch):
        raise NotImplementedError("bcoo_dot_general: batch axes of two sparse arrays must be the "
                                  "leading batch axes of both; call bcoo_update_layout and "
                                  "bcoo_transpose first")
    lhs, rhs = [bcoo_update_layout(x, n_batch=n, n_dense=0) for x in (lhs, rhs)]
    left, right = _free(lhs.ndim - n, [a - n for a in lc]), _free(rhs.ndim - n, [a - n for a in rc])
    sizes = [x.shape[n:] for x in (lhs, rhs)]
    out = tuple([sizes[0][a] for a in left] + [sizes[1][a] for a in right])

    def one(a: Any, at_a: Any, b: Any, at_b: Any) -> tuple[Any, Any]:
        keys = [at[:, np.asarray([i - n for i in axes], int)] for at, axes in ((at_a, lc),
                                                                            (at_b, rc))]
        pairs = jnp.all(keys[0][:, None] == keys[1][None], axis=-1)
        pairs &= inside(at_a, sizes[0])[:, None] & inside(at_b, sizes[1])[None]
        wide = [x if kind is None else x.astype(kind) for x in (a, b)]
        data = chosen(pairs, wide[0][:, None] * wide[1][None])
        at = jnp.concatenate([
            jnp.broadcast_to(at_a[:, None, np.asarray(left, int)], (*pairs.shape, len(left))),
            jnp.broadcast_to(at_b[None, :, np.asarray(right, int)], (*pairs.shape, len(right)))],
            axis=-1)
        return data.reshape(-1), padded(pairs, at, out).reshape(-1, len(out))

    data, indices = over_batches(n, one)(*broadcast_batch(lhs), *broadcast_batch(rhs))
    return BCOO((data, indices), shape=(*lhs.shape[:n], *out))


def bcoo_dot_general_sampled(A: Any, B: Any, indices: Any, *, dimension_numbers: Any) -> Any:
    """Elements of `lax.dot_general(A, B, dimension_numbers)` at coordinates, and no others.

    Args:
      A, B: dense arrays.
      indices: coordinates along the first axes of the result after the batch axes, integers
        [*batch, nse, n_sparse].
      dimension_numbers: `((A_contract, B_contract), (A_batch, B_batch))`.
    Returns: array [*batch, nse, *dense].

    >>> A, B = jnp.array([[1., 2.], [3., 4.]]), jnp.array([[5., 6.], [7., 8.]])
    >>> places = jnp.array([[0, 0], [1, 1]])
    >>> numbers = (((1,), (0,)), ((), ()))
    >>> sparse.bcoo_dot_general_sampled(A, B, places, dimension_numbers=numbers)
    Array([19., 50.], dtype=float32)
    """
    (lc, rc), (lb, rb) = dimension_numbers
    numbers = ((tuple(lc), tuple(rc)), (tuple(lb), tuple(rb)))
    A, B, indices = jnp.asarray(A), jnp.asarray(B), jnp.asarray(indices)
    _check(A, B, numbers)
    return _sampled(A, B, indices, numbers)


@functools.partial(jit, static_argnums=3)
def _sampled(A: Any, B: Any, indices: Any, numbers: Numbers) -> Any:
    (lc, rc), (lb, rb) = numbers
    n_batch, n_sparse = indices.ndim - 2, indices.shape[-1]
    left, right = _free(A.ndim, lc, lb), _free(B.ndim, rc, rb)
    if n_batch == 0 and n_sparse == len(lb) + len(left) + len(right):
        n, m = len(lb), len(left)
        columns = [indices[:, i] for i in range(n_sparse)]
        of_a = gathered(jnp.stack(columns[:n + m], -1), A.transpose(*lb, *left, *lc), n + m)
        of_b = gathered(jnp.stack([*columns[:n], *columns[n + m:]], -1),
                        B.transpose(*rb, *right, *rc), n + len(right))
        axes = tuple(range(1, of_a.ndim))
        return dot_general(of_a, of_b, ((axes, axes), ((0,), (0,))))
    dense = dot_general(A, B, numbers)
    one = functools.partial(gathered, n_sparse=n_sparse)
    batch = dense.shape[:n_batch]
    return over_batches(n_batch, one)(
        jnp.broadcast_to(indices, batch + indices.shape[n_batch:]), dense)


# --- convolutions ---------------------------------------------------------------------------------

def bcoo_conv_general_dilated(lhs: Any, rhs: Any, *, window_strides: Sequence[int], padding: Any,
                              lhs_dilation: Sequence[int] | None = None,
                              rhs_dilation: Sequence[int] | None = None,
                              dimension_numbers: Any = None, feature_group_count: int = 1,
                              batch_group_count: int = 1, precision: Any = None,
                              preferred_element_type: Any = None, out_sharding: Any = None) -> BCOO:
    """`lax.conv_general_dilated` of sparse arrays: the products of all pairs of elements.

    Args:
      lhs, rhs: input and filter, BCOOs or dense arrays of the same dtype; of a dense array every
        element is an element.
      window_strides, padding, lhs_dilation, rhs_dilation, dimension_numbers, feature_group_count,
        batch_group_count, preferred_element_type: as in `lax.conv_general_dilated`.
      precision: as there; products of single elements are exact to their dtype with any.
      out_sharding: None only.
    Returns: a BCOO with as many elements as there are pairs, or places in the result. All of its
      axes are sparse, but a batch and features of size 1 that come first are batch axes.
    Raises: TypeError where dtypes or shapes do not fit.

    >>> mat = sparse.BCOO.fromdense(jnp.array([[[0., 2., 3.]]]))
    >>> filters = sparse.BCOO.fromdense(jnp.array([[[1., 10.]]]))
    >>> made = sparse.bcoo_conv_general_dilated(mat, filters, window_strides=(1,), padding="VALID")
    >>> made.todense()
    Array([[[20., 32.]]], dtype=float32)
    """
    at_home("bcoo_conv_general_dilated", out_sharding)
    lhs, rhs = [x if isinstance(x, BCOO) else jnp.asarray(x) for x in (lhs, rhs)]
    made = eval_shape(                                       # refuses what does not fit
        lambda x, k: conv_general_dilated(
            x, k, window_strides, padding, lhs_dilation, rhs_dilation, dimension_numbers,
            feature_group_count, batch_group_count, precision, preferred_element_type),
        *[ShapeDtypeStruct(x.shape, x.dtype) for x in (lhs, rhs)])
    numbers = conv_dimension_numbers(lhs.shape, rhs.shape, dimension_numbers)
    n = len(made.shape) - 2
    spread = [(1,) * n if by is None else (by,) * n if isinstance(by, int) else tuple(by)
              for by in (lhs_dilation, rhs_dilation)]
    held, window = [[max((x.shape[a] - 1) * by + 1, 0) for a, by in zip(spec[2:], of, strict=True)]
                    for x, spec, of in zip((lhs, rhs), numbers[:2], spread, strict=True)]
    if isinstance(padding, str):
        padding = padtype_to_pads(held, window, window_strides, padding)
    lhs, rhs = [_all_sparse(x, spec).astype(made.dtype)
                for x, spec in zip((lhs, rhs), numbers, strict=False)]
    shape = tuple([made.shape[a] for a in numbers.out_spec])
    data, indices = _convolved(lhs, rhs, shape, tuple(window_strides),
                               tuple([int(low) for low, _ in padding]), spread[0], spread[1],
                               int(feature_group_count), int(batch_group_count))
    result = BCOO((data, indices), shape=shape)
    most = math.prod(shape)
    if most < result.nse:
        result = bcoo_sum_duplicates(result, nse=most)
    if numbers.out_spec[:2] == (0, 1) and shape[:2] == (1, 1):
        result = bcoo_update_layout(result, n_batch=2)
    order = [numbers.out_spec.index(a) for a in range(n + 2)]
    return above("sparse_moving").bcoo_transpose(result, permutation=order)


def _all_sparse(x: Any, spec: Sequence[int]) -> BCOO:
    """An operand of a convolution without batch and dense axes, its axes in the order of `spec`."""
    if not isinstance(x, BCOO):
        x = bcoo_fromdense(x, nse=x.size)
    x = bcoo_update_layout(x, n_batch=0, n_dense=0)
    return above("sparse_moving").bcoo_transpose(x, permutation=spec)


@functools.partial(jit, static_argnums=(2, 3, 4, 5, 6, 7, 8))
def _convolved(lhs: BCOO, rhs: BCOO, shape: tuple[int, ...], strides: tuple[int, ...],
               low: tuple[int, ...], of_lhs: tuple[int, ...], of_rhs: tuple[int, ...],
               feature_groups: int, batch_groups: int) -> tuple[Any, Any]:
    """The products of all pairs, and where they belong in the result [batch, features, *places].

    Element x of the input meets element k of the filter at the place y for which
    y * stride + k * of_rhs - low = x * of_lhs.
    """
    x, k = [i.astype(jnp.promote_types(i.dtype, np.int32)) for i in (lhs.indices, rhs.indices)]
    x, k = x[:, None], k[None]                               # [elements of lhs, of rhs, axes]
    batch, features = max(lhs.shape[0] // batch_groups, 1), rhs.shape[0]
    of_filter = k[..., 0] // max(features // (feature_groups * batch_groups), 1)
    keep = inside(lhs.indices, lhs.shape)[:, None] & inside(rhs.indices, rhs.shape)[None]
    if batch_groups > 1:
        keep &= of_filter == x[..., 0] // batch
    keep &= x[..., 1] == (k[..., 1] if feature_groups == 1 else
                          of_filter * rhs.shape[1] + k[..., 1])
    places = [jnp.broadcast_to(x[..., 0] % batch, keep.shape),
              jnp.broadcast_to(k[..., 0], keep.shape)]
    for i, (stride, before) in enumerate(zip(strides, low, strict=True)):
        at = x[..., 2 + i] * of_lhs[i] + before - k[..., 2 + i] * of_rhs[i]
        keep &= at % stride == 0
        places.append(at // stride)
    at = jnp.stack(places, axis=-1)
    keep &= inside(at, shape)
    data = chosen(keep, lhs.data[:, None] * rhs.data[None])
    return data.reshape(-1), padded(keep, at, shape).reshape(-1, len(shape))


__all__ = ["bcoo_conv_general_dilated", "bcoo_dot_general", "bcoo_dot_general_sampled"]
