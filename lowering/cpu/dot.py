"""Products of tiny matrices in large batches, of small ones in loops, by rows of the left one."""

from __future__ import annotations

from xfront_ir import dtypes, ops
from xfront_ir.builder import Builder
from xfront_ir.core import Op, Value

from .registry import form, in_loops, in_programs


def _is_tiny(op: Op) -> bool:
    """Two matrices a batch, the batch first, with 2 to 4 elements along each axis."""
    (lhs, rhs), a = (v.type for v in op.operands), op.attrs
    (left, right), (of_lhs, of_rhs) = a["contract"], a["batch"]
    n = len(of_lhs)
    return (lhs.dtype is rhs.dtype and lhs.dtype in (dtypes.f32, dtypes.f64)
            and a.get("preferred") in (None, lhs.dtype) and type(a.get("precision")) is not str
            and n > 0 and of_lhs == of_rhs == tuple(range(n)) and len(left) == len(right) == 1
            and lhs.ndim == rhs.ndim == n + 2
            and all(2 <= m <= 4 for m in (*lhs.shape[n:], *rhs.shape[n:]))
            and lhs.size * rhs.shape[-1 if right[0] == n else n] >= 2 ** 13)


# Matrices of 2 to 4 rows and columns: the plain rule starts a product of matrices for each.
@form(ops.dot_general, when=_is_tiny)
def dot_general(b: Builder, op: Op, x: Value, y: Value) -> Value:
    """Columns times rows, added up."""
    a, total = op.attrs, None
    (left,), (right,) = a["contract"]
    n = x.type.ndim - 2
    x, y = b.emit(ops.fence, x), b.emit(ops.fence, y)
    free = (x.type.shape[2 * n + 1 - left], y.type.shape[2 * n + 1 - right])
    shape = (*x.type.shape[:n], *free)
    batch = tuple(range(n))
    for i in range(x.type.shape[left]):
        product = b.emit(
            ops.mul,
            b.emit(ops.broadcast_in_dim, _at(b, x, left, i), shape=shape, dims=(*batch, n)),
            b.emit(ops.broadcast_in_dim, _at(b, y, right, i), shape=shape, dims=(*batch, n + 1)))
        total = product if total is None else b.emit(ops.add, total, product)
    assert total is not None
    return b.emit(ops.fence, total)


def _is_by_rows(op: Op) -> bool:
    """`x.T @ y` of two matrices with long sides."""
    (lhs, rhs), a = (v.type for v in op.operands), op.attrs
    return (a["contract"] == ((0,), (0,)) and lhs.ndim == rhs.ndim == 2
            and lhs.dtype is rhs.dtype is dtypes.f32 and a.get("preferred") in (None, dtypes.f32)
            and lhs.shape[0] >= 256 and min(lhs.shape[1], rhs.shape[1]) >= 128)


# Gradients of weights: the library that reads the left matrix by columns is slower than a copy.
@form(ops.dot_general, when=_is_by_rows)
def product_by_rows(b: Builder, op: Op, x: Value, y: Value) -> Value:
    """The product of the transposed matrix, written out before."""
    turned = b.emit(ops.fence, b.emit(ops.transpose, x, permutation=(1, 0)))
    return b.emit(ops.dot_general, turned, y, **{**op.attrs, "contract": ((1,), (0,))})


def _is_small(op: Op, most: int = 2048, terms: int = 8) -> bool:
    """Up to 2048 products, of 2 to 8 in a sum."""
    (lhs, rhs), a = (v.type for v in op.operands), op.attrs
    left = a["contract"][0]
    return (lhs.dtype is rhs.dtype and lhs.dtype in (dtypes.f32, dtypes.f64)
            and a.get("preferred") in (None, lhs.dtype) and type(a.get("precision")) is not str
            and len(left) == 1 and 2 <= lhs.shape[left[0]] <= terms
            and 0 < op.results[0].type.size * lhs.shape[left[0]] <= most)


# Small matrices in loops: the plain rule leaves the kernel that is the loop for each product.
@form(ops.dot_general, when=_is_small, only=in_loops)
def small_product(b: Builder, op: Op, x: Value, y: Value) -> Value:
    """The sum over the products of elements: batch, rows, columns, and the sum's axis last."""
    (left,), (right,) = op.attrs["contract"]
    of_x, of_y = op.attrs["batch"]
    rows = [d for d in range(x.type.ndim) if d != left and d not in of_x]
    columns = [d for d in range(y.type.ndim) if d != right and d not in of_y]
    order = [*of_x, *rows]
    n = len(order) + len(columns)
    shape = (*[x.type.shape[d] for d in order], *[y.type.shape[d] for d in columns],
             x.type.shape[left])
    to_x = {**{d: i for i, d in enumerate(order)}, left: n}
    to_y = {**{d: i for i, d in enumerate(of_y)},
            **{d: len(order) + i for i, d in enumerate(columns)}, right: n}
    products = b.emit(ops.mul, *[
        b.emit(ops.broadcast_in_dim, v, shape=shape,
               dims=tuple([places[d] for d in range(v.type.ndim)]))
        for v, places in ((x, to_x), (y, to_y))])
    return b.emit(ops.reduce_sum, products, axes=(n,))


def _is_tiny_product(op: Op) -> bool:
    return _is_small(op, most=64, terms=4) and all(v.type.ndim == 2 for v in op.operands)


# Elsewhere, up to 4x4 matrices: starting a product costs more than computing it.
@form(ops.dot_general, when=_is_tiny_product, only=in_programs)
def tiny_product(b: Builder, op: Op, x: Value, y: Value) -> Value:
    """As in loops, computed once however many read it."""
    return b.emit(ops.fence, small_product(b, op, x, y))


def _at(b: Builder, x: Value, axis: int, i: int) -> Value:
    starts, limits = [0] * x.type.ndim, list(x.type.shape)
    starts[axis], limits[axis] = i, i + 1
    one = b.emit(ops.slice, x, starts=tuple(starts), limits=tuple(limits),
                 strides=(1,) * x.type.ndim)
    return b.emit(ops.reshape, one, shape=tuple(
        m for d, m in enumerate(x.type.shape) if d != axis))
