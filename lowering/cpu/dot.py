"""Products of matrices: by one-hot rows, tiny ones in large batches, small ones in loops, with a
transposed left matrix, of complex numbers and of bf16."""

from __future__ import annotations

import math

from lowering.forms.conditions import condition
from lowering.forms.places import Place
from lowering.forms.registry import form, in_loops, in_programs
from xfront_ir import dtypes, ops
from xfront_ir.builder import Builder
from xfront_ir.core import Op, Value
from xfront_ir.definition import OpDef
from xfront_ir.literal import Literal
from xfront_ir.ops.formulas import Term, where

from .pieces import at


@condition
def _many_rows(op: Op) -> bool:
    """A product of f32 or f64 with a matrix: 256 or more rows in the result, at least 2**20
    products."""
    (lhs, rhs), a = (v.type for v in op.operands), op.attrs
    left, _ = a["contract"]
    if not (lhs.dtype is rhs.dtype and lhs.dtype in (dtypes.f32, dtypes.f64) and rhs.ndim == 2
            and len(left) == 1 and not a["batch"][0] and a.get("preferred") in (None, lhs.dtype)):
        return False
    terms = lhs.shape[left[0]]
    return lhs.size >= 256 * terms > 0 and lhs.size * (rhs.size // terms) >= 2 ** 20


def one_hot(place: Place, op: Op) -> list[Value] | None:
    """The left operand is `one_hot(i)`, and its integers i are known at the place of the op."""
    converted = _defining_op(place, op.operands[0], ops.convert)
    compared = converted and _defining_op(converted[0], converted[1].operands[0], ops.eq)
    if not compared:
        return None
    x, (summed,) = op.operands[0].type, op.attrs["contract"][0]
    others = {d: n for d, n in enumerate(x.shape) if d != summed}
    there, (left, right) = compared[0], compared[1].operands
    for wide, numbers in ((left, right), (right, left)):
        repeated = _defining_op(there, wide, ops.broadcast_in_dim)
        if repeated and repeated[0] is place and _counts(there, numbers, summed):
            (i,), dims = repeated[1].operands, repeated[1].attrs["dims"]
            given = dict(zip(dims, i.type.shape, strict=True))
            if i.type.dtype.is_integer and list(dims) == sorted(dims) \
                    and given.pop(summed, 1) == 1 and given == others:
                return [i]
    return None


def _counts(place: Place, numbers: Value, axis: int) -> bool:
    """Whether a value counts from 0 along an axis."""
    repeated = _defining_op(place, numbers, ops.broadcast_in_dim)
    if repeated and repeated[1].attrs["dims"] == (axis,):
        place, numbers, axis = repeated[0], repeated[1].operands[0], 0
    counted = _defining_op(place, numbers, ops.iota)
    return counted is not None and counted[1].attrs["dimension"] == axis


def _defining_op(place: Place, value: Value, definition: OpDef) -> tuple[Place, Op] | None:
    """The op that computes a value, with its place, if it is of that definition; else None."""
    made = place.defining_op(value)
    return None if isinstance(made, int) or made[1].definition is not definition else made


# one_hot(i) @ matrix: nearly all products are with zero.
@form(ops.dot_general, when=_many_rows, reads=one_hot,
      row="kernels.order: rows by one_hot(i) @ table")
def rows(b: Builder, op: Op, x: Value, y: Value, i: Value) -> Value:
    """The rows i of the matrix, and zeros where i is out of range. NaN where zero would be
    multiplied by NaN or infinity: in columns that hold one in another row than i."""
    kept = 1 - op.attrs["contract"][1][0]
    n, width = x.type.ndim - 1, y.type.shape[kept]
    shape = [m for d, m in enumerate(x.type.shape) if d != op.attrs["contract"][0][0]]

    def not_finite(x: Term) -> Term:
        return (~ops.is_finite(x)).to(dtypes.i32)

    matrix, places = Term(b, y), Term(b, i)
    of_column = ops.reduce_sum(not_finite(matrix), axes=(1 - kept,))
    made = ops.gather(
        matrix, ops.reshape(places, shape=(*shape, 1)), offset_dims=(n,),
        collapsed_slice_dims=(1 - kept,), operand_batching_dims=(), start_indices_batching_dims=(),
        start_index_map=(1 - kept,), slice_sizes=(1, width) if kept else (width, 1), mode="fill",
        fill_value=Literal(0, y.type.dtype), indices_are_sorted=False, unique_indices=False)
    zero = made.like(0)
    made = where(made == zero, zero, made)
    of_column = ops.broadcast_in_dim(of_column, shape=made.type.shape, dims=(n,))
    return where(not_finite(made) == of_column, made, math.nan).value


@condition
def _tiny_in_batch(op: Op) -> bool:
    """Batches of two matrices of f32 or f64, the batch axes first, with 2 to 4 elements along each
    axis of a matrix and at least 2**13 products."""
    (lhs, rhs), a = (v.type for v in op.operands), op.attrs
    (left, right), (of_lhs, of_rhs) = a["contract"], a["batch"]
    n = len(of_lhs)
    return (lhs.dtype is rhs.dtype and lhs.dtype in (dtypes.f32, dtypes.f64)
            and a.get("preferred") in (None, lhs.dtype) and type(a.get("precision")) is not str
            and n > 0 and of_lhs == of_rhs == tuple(range(n)) and len(left) == len(right) == 1
            and lhs.ndim == rhs.ndim == n + 2
            and all(2 <= m <= 4 for m in (*lhs.shape[n:], *rhs.shape[n:]))
            and lhs.size * rhs.shape[-1 if right[0] == n else n] >= 2 ** 13)


# Matrices of 2 to 4 rows and columns: the plain rule starts a library's product for each.
@form(ops.dot_general, when=_tiny_in_batch, row="kernels.linear: batched product, 3×3")
def dot_general(b: Builder, op: Op, x: Value, y: Value) -> Value:
    """The sum of the products of each column of x with a row of y."""
    (left,), (right,) = op.attrs["contract"]
    n = x.type.ndim - 2
    x, y = b.emit(ops.fence, x), b.emit(ops.fence, y)
    free = (x.type.shape[2 * n + 1 - left], y.type.shape[2 * n + 1 - right])
    shape = (*x.type.shape[:n], *free)
    batch = tuple(range(n))

    def wide(v: Value, axis: int, i: int, place: int) -> Term:
        return ops.broadcast_in_dim(Term(b, at(b, v, axis, i)), shape=shape, dims=(*batch, place))

    total = wide(x, left, 0, n) * wide(y, right, 0, n + 1)
    for i in range(1, x.type.shape[left]):
        total = total + wide(x, left, i, n) * wide(y, right, i, n + 1)
    return ops.fence(total).value


@condition
def _by_rows(op: Op) -> bool:
    """`x.T @ y` of two f32 matrices with 256 rows and 512 columns or more."""
    (lhs, rhs), a = (v.type for v in op.operands), op.attrs
    return (a["contract"] == ((0,), (0,)) and lhs.ndim == rhs.ndim == 2
            and lhs.dtype is rhs.dtype is dtypes.f32 and a.get("preferred") in (None, dtypes.f32)
            and lhs.shape[0] >= 256 and min(lhs.shape[1], rhs.shape[1]) >= 512)


# Gradients of weights: the library is slower at reading the left matrix by columns than a copy of
# the matrix takes. For smaller matrices in a network the copy takes longer than it saves.
@form(ops.dot_general, when=_by_rows, row="kernels.linear: product of a transposed matrix")
def product_by_rows(b: Builder, op: Op, x: Value, y: Value) -> Value:
    """The product with the transposed matrix, which is written to memory first."""
    turned = ops.fence(ops.transpose(Term(b, x), permutation=(1, 0)))
    return ops.dot_general(turned, Term(b, y), **{**op.attrs, "contract": ((1,), (0,))}).value


def _is_small(op: Op, most: int, terms: int) -> bool:
    """Whether there are at most `most` products, with 2 to `terms` in each sum, of f32 or f64."""
    (lhs, rhs), a = (v.type for v in op.operands), op.attrs
    left = a["contract"][0]
    return (lhs.dtype is rhs.dtype and lhs.dtype in (dtypes.f32, dtypes.f64)
            and a.get("preferred") in (None, lhs.dtype) and type(a.get("precision")) is not str
            and len(left) == 1 and 2 <= lhs.shape[left[0]] <= terms
            and 0 < op.results[0].type.size * lhs.shape[left[0]] <= most)


@condition
def _small(op: Op) -> bool:
    """f32 or f64, up to 2,048 products, with 2 to 8 in each sum."""
    return _is_small(op, most=2048, terms=8)


# Small matrices in loops: with the plain rule the loop cannot be one kernel, for each product
# leaves it.
@form(ops.dot_general, when=_small, only=in_loops,
      row="kernels.linear: products in a loop, 4×4")
def small_product(b: Builder, op: Op, x: Value, y: Value) -> Value:
    """The products of elements, by batch, rows, columns and terms, summed over the terms."""
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

    def wide(v: Value, places: dict[int, int]) -> Term:
        return ops.broadcast_in_dim(Term(b, v), shape=shape,
                                    dims=tuple([places[d] for d in range(v.type.ndim)]))

    return ops.reduce_sum(wide(x, to_x) * wide(y, to_y), axes=(n,)).value


@condition
def _tiny_product(op: Op) -> bool:
    """Two f32 or f64 matrices, up to 64 products, with 2 to 4 in each sum."""
    return _is_small(op, most=64, terms=4) and all(v.type.ndim == 2 for v in op.operands)


# Up to 4x4 matrices outside of loops: starting a product costs more than computing it.
@form(ops.dot_general, when=_tiny_product, only=in_programs,
      row="kernels.linear: products one after the other, 4×4")
def tiny_product(b: Builder, op: Op, x: Value, y: Value) -> Value:
    """The same sum as in loops, computed once however many ops read it."""
    return b.emit(ops.fence, small_product(b, op, x, y))


@condition
def _complex(op: Op) -> bool:
    """Complex numbers without a batch: at least 2**23 products, and 32 or more rows, columns and
    terms in a sum."""
    (lhs, rhs), a = (v.type for v in op.operands), op.attrs
    if not (lhs.dtype is rhs.dtype and lhs.dtype.is_complex and not a["batch"][0]
            and a.get("preferred") in (None, lhs.dtype) and type(a.get("precision")) is not str):
        return False
    terms = math.prod([lhs.shape[d] for d in a["contract"][0]])
    rows, columns = (v.size // max(terms, 1) for v in (lhs, rhs))
    return min(rows, columns, terms) >= 32 and rows * columns * terms >= 2 ** 23


# Complex matrices: the library for real ones is faster at four times the work.
@form(ops.dot_general, when=_complex, row="kernels.linear: product, complex64")
def complex_product(b: Builder, op: Op, x: Value, y: Value) -> Value:
    """One real product, of matrices with the real parts next to the imaginary parts, which contains
    all four products that are needed. An infinite part makes the other NaN, as in the plain rule,
    which also multiplies by 1 + 0i."""
    rows, columns = ([d for d in range(v.type.ndim) if d not in summed][0]
                     for v, summed in zip((x, y), op.attrs["contract"], strict=True))
    beside = [ops.concatenate(ops.real(v), ops.imag(v), dimension=d)
              for v, d in ((Term(b, x), rows), (Term(b, y), columns))]
    made = ops.dot_general(*beside, **{**op.attrs, "preferred": None})
    shape, after = made.type.shape, x.type.ndim - len(op.attrs["contract"][0])

    def part(i: int, j: int) -> Term:
        half = {0: i, after: j}
        return ops.slice(made, strides=(1,) * len(shape),
                         starts=tuple(half.get(d, 0) * n // 2 for d, n in enumerate(shape)),
                         limits=tuple((half.get(d, 1) + 1) * n // 2 for d, n in enumerate(shape)))

    real = part(0, 0) - part(1, 1)
    imag = part(0, 1) + part(1, 0)
    of_imag, of_real = imag * 0, real * 0
    return ops.complex(real - of_imag, imag + of_real).value


@condition
def _bf16_matrices(op: Op) -> bool:
    """Matrices of bf16 with at least 8 rows, 32 terms, 64 columns and 2**20 products."""
    (lhs, rhs), a = (v.type for v in op.operands), op.attrs
    (left, _), (batch, _) = a["contract"], a["batch"]
    if not (lhs.dtype is rhs.dtype is dtypes.bf16 and len(left) == 1
            and a.get("preferred") in (None, dtypes.bf16)
            and type(a.get("precision")) is not str):
        return False
    terms, together = lhs.shape[left[0]], math.prod([lhs.shape[d] for d in batch])
    rows, columns = (v.size // max(together * terms, 1) for v in (lhs, rhs))
    return (rows >= 8 and terms >= 32 and columns >= 64
            and together * rows * columns * terms >= 2 ** 20)


# bf16 before jaxlib 0.11: the plain rule converts the matrices to f32 and multiplies those.
@form(ops.dot_general, when=_bf16_matrices, before=(0, 11), row="kernels.linear: product, bfloat16")
def short_product(b: Builder, op: Op, x: Value, y: Value) -> Value:
    """Products of bf16 summed in f32 and rounded once. The matrices are first written to memory as
    rows and columns."""
    (left,), (right,) = op.attrs["contract"]
    of_x, of_y = op.attrs["batch"]
    n = len(of_x)
    x = _ordered(b, x, (*of_x, *[d for d in range(x.type.ndim) if d not in (*of_x, left)], left))
    y = _ordered(b, y, (*of_y, right, *[d for d in range(y.type.ndim) if d not in (*of_y, right)]))
    made = b.emit(ops.dot_general, x, y, contract=((x.type.ndim - 1,), (n,)),
                  batch=(tuple(range(n)),) * 2, precision=op.attrs.get("precision"),
                  preferred=dtypes.f32)
    return b.emit(ops.convert, made, dtype=dtypes.bf16)


def _ordered(b: Builder, x: Value, axes: tuple[int, ...]) -> Value:
    if axes != tuple(range(x.type.ndim)):
        x = b.emit(ops.transpose, x, permutation=axes)
    return b.emit(ops.fence, x)


@condition
def _sums_of_bf16(op: Op) -> bool:
    """Matrices of bf16 whose products are summed in f32, which is also the result's dtype."""
    (lhs, rhs), result = (v.type for v in op.operands), op.attrs.get("preferred")
    return lhs.dtype is rhs.dtype is dtypes.bf16 and result is dtypes.f32


# XLA has no kernel for these if it wants the result by columns, as before a transpose. While it
# chooses the layout, the barrier hides the readers of the result.
@form(ops.dot_general, when=_sums_of_bf16, needed=True,
      row="kernels.linear: product, bfloat16 in float32")
def sums_by_rows(b: Builder, op: Op, x: Value, y: Value) -> Value:
    """The result by rows, whichever layout its readers want."""
    made = b.emit(ops.dot_general, x, y, **op.attrs)
    return b.emit(ops.optimization_barrier, made)[0]
