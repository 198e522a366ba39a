"""Convolutions with few products per element as sums of shifted arrays, 1x1 ones as products of
matrices, and those with few groups one group at a time.

Padding and dilation put zeros around and between the elements of the input. The plain rule
multiplies these zeros by the filter for some dtypes and skips them for others, as 0 * inf shows;
the forms do the same.
"""

from __future__ import annotations

import itertools
import math
from typing import Any, NamedTuple

from lowering.forms.conditions import condition
from lowering.forms.registry import form
from xfront_ir import dtypes, ops
from xfront_ir.builder import Builder
from xfront_ir.core import Op, Value
from xfront_ir.dtypes import DType
from xfront_ir.ops.conv import dilated
from xfront_ir.ops.formulas import Term
from xfront_ir.ops.while_loop import WHILE
from xfront_ir.placed_builder import PlacedBuilder
from xfront_ir.types import I32, TensorType

from .pieces import cut

Ints = tuple[int, ...]

NARROW = (dtypes.f16, dtypes.bf16)
FLOATS = (dtypes.f32, dtypes.f64)
WIDE = (dtypes.f64, dtypes.c64, dtypes.c128)
LEAST = 2 ** 15
"""The products of a convolution of one channel from which a thousand runs gain more time than the
form takes longer to compile. More channels, or several results of one group, mean more code and
gain less per product."""


class Sizes(NamedTuple):
    """The sizes of a convolution. A filter has `depth` channels; each group has `width` filters."""

    dtype: DType
    groups: int
    depth: int
    width: int
    kernel: Ints
    result: TensorType

    @property
    def products(self) -> int:
        """The number of products in the sum that is an element of the result."""
        return self.depth * math.prod(self.kernel)


def _sizes(op: Op) -> Sizes:
    (lhs, rhs), a = (v.type for v in op.operands), op.attrs
    groups = a["feature_groups"]
    width, depth, *kernel = (rhs.shape[d] for d in a["rhs_spec"])
    (result,) = op.definition.infer((lhs, rhs), a)
    return Sizes(lhs.dtype, groups, depth, width // groups, tuple(kernel), result)


def _is_plain(op: Op) -> bool:
    """Whether there are spatial axes, one dtype, and no algorithm, which the plain rule refuses."""
    (lhs, rhs), a = (v.type for v in op.operands), op.attrs
    return (lhs.dtype is rhs.dtype and a.get("preferred") in (None, lhs.dtype)
            and lhs.ndim > 2 and type(a.get("precision")) is not str)


def _keeps_order(op: Op) -> bool:
    """Whether input and result have the same order of axes, and there are no batch groups."""
    return op.attrs["lhs_spec"] == op.attrs["out_spec"] and op.attrs["batch_groups"] == 1


@condition
def _few_products(op: Op) -> bool:
    """Up to 72 products per element. For f32, f16 and bf16, up to 8 channels per group (in one
    group, up to 4 channels and 16 results); for f64 and complex numbers, 2 or more groups of one
    channel. At least 2**15 products times the square of the channels (four times that for one group
    with several results)."""
    if not (_is_plain(op) and _keeps_order(op)):
        return False
    s, a = _sizes(op), op.attrs
    if s.dtype in WIDE:
        few = s.groups > 1 and s.depth == 1 and s.width <= 8
    elif s.dtype not in (dtypes.f32, *NARROW):
        few = False
    elif s.groups > 1:
        few = s.width <= (32 if s.depth <= 4 else 8)
    else:
        few = (s.products <= (32 if len(s.kernel) == 1 else 48 if s.width <= 8 else 36)
               and s.depth <= 4 and s.width <= (16 if max(a["strides"]) == 1 else 8)
               and max(a["lhs_dilation"]) == 1)
    least = LEAST * s.depth ** 2 * (4 if s.groups == 1 < s.width else 1)
    return few and 0 < s.products <= 72 and s.result.size * s.products >= least


# Few products per element: the plain rule gathers them for a product of matrices, which is too
# narrow to be fast, or computes them one by one. This is worst for one channel per group
# (depthwise).
@form(ops.conv_general_dilated, when=_few_products, row="kernels.convolution: depthwise 3×3")
def shifted(b: Builder, op: Op, x: Value, k: Value) -> Value:
    """Add up, over all places and channels of the filter, the input they meet times the weights."""
    return _sum_of_shifted(b, op, b.emit(ops.fence, x), b.emit(ops.fence, k))


def _sum_of_shifted(b: Builder, op: Op, x: Value, k: Value) -> Value:
    """The sum of shifted inputs times weights, in one pass. The operands must be fenced, for they
    are read often; the result is fenced, for readers of a convolution expect it in memory."""
    if (longer := _evened(op)) is not op:
        return _shortened(b, op, _sum_of_shifted(b, longer, x, k))
    s, a, dtype = _sizes(op), op.attrs, x.type.dtype
    if dtype in NARROW:
        x, k = (b.emit(ops.convert, v, dtype=dtypes.f32) for v in (x, k))
    feature, total = a["lhs_spec"][1], None
    wide = x if dtype in WIDE else _padded(b, x, a)
    for i in range(s.depth):
        channels = _strided(b, wide, feature, i, s.depth)
        for at in itertools.product(*map(range, s.kernel)):
            weights = _weights(b, k, at, i, s, a["rhs_spec"])
            if dtype in WIDE:
                product = _window(b, _padded(b, _times(b, channels, weights, s, feature), a), at,
                                  s.result, a)
            else:
                product = _times(b, _window(b, channels, at, s.result, a), weights, s, feature)
            total = product if total is None else b.emit(ops.add, total, product)
    assert total is not None
    if total.type.dtype is not dtype:
        total = b.emit(ops.convert, total, dtype=dtype)
    return b.emit(ops.fence, total)


def _evened(op: Op) -> Op:
    """`op` with one more place in the result's last axis if that is odd: even loops are ten times
    as fast."""
    a, spec = op.attrs, op.attrs["out_spec"]
    result = _sizes(op).result
    if len(spec) > 3 or spec[-1] != result.ndim - 1 or result.shape[-1] % 2 == 0:
        return op
    ((low, high),) = a["padding"]
    return Op(op.definition, op.operands, {**a, "padding": ((low, high + a["strides"][0]),)}, ())


def _shortened(b: Builder, op: Op, x: Value) -> Value:
    """The result of `op` from that of `_evened(op)`."""
    return cut(b, x, x.type.ndim - 1, 0, _sizes(op).result.shape[-1])


def _times(b: Builder, x: Value, weights: Value, s: Sizes, feature: int) -> Value:
    """Each channel of `x`, one per group, times the weights of its group."""
    shape = x.type.shape
    full = (*shape[:feature], s.groups, s.width, *shape[feature + 1:])
    dims = tuple(d + (d > feature) for d in range(len(shape)))
    product = ops.broadcast_in_dim(Term(b, x), shape=full, dims=dims) * ops.broadcast_in_dim(
        Term(b, weights), shape=full, dims=(feature, feature + 1))
    return ops.reshape(product, shape=(*shape[:feature], s.groups * s.width, *shape[feature + 1:])
                       ).value


def _padded(b: Builder, x: Value, a: Any) -> Value:
    """`x` with zeros around and between its elements, as padding and dilation say."""
    low, high, interior = [0] * x.type.ndim, [0] * x.type.ndim, [0] * x.type.ndim
    for d, pair, by in zip(a["lhs_spec"][2:], a["padding"], a["lhs_dilation"], strict=True):
        low[d], high[d], interior[d] = *pair, by - 1
    return b.emit(ops.pad, x, b.literal(0, x.type.dtype), low=tuple(low), high=tuple(high),
                  interior=tuple(interior))


def _window(b: Builder, wide: Value, at: Ints, result: TensorType, a: Any) -> Value:
    """The elements of the input that place `at` of the filter meets."""
    starts, limits, strides = [0] * wide.type.ndim, list(wide.type.shape), [1] * wide.type.ndim
    for d, i, by, stride in zip(a["lhs_spec"][2:], at, a["rhs_dilation"], a["strides"],
                                strict=True):
        starts[d], strides[d] = i * by, stride
        limits[d] = starts[d] + dilated(result.shape[d], stride)
    return b.emit(ops.slice, wide, starts=tuple(starts), limits=tuple(limits),
                  strides=tuple(strides))


def _strided(b: Builder, x: Value, axis: int, start: int, stride: int) -> Value:
    starts, strides = [0] * x.type.ndim, [1] * x.type.ndim
    starts[axis], strides[axis] = start, stride
    return b.emit(ops.slice, x, starts=tuple(starts), limits=x.type.shape, strides=tuple(strides))


def _weights(b: Builder, k: Value, at: Ints, channel: int, s: Sizes, spec: Ints) -> Value:
    """The filter's weights at one place and channel, for each group."""
    starts, limits = [0] * k.type.ndim, list(k.type.shape)
    for d, i in zip(spec[1:], (channel, *at), strict=True):
        starts[d], limits[d] = i, i + 1
    one = b.emit(ops.slice, k, starts=tuple(starts), limits=tuple(limits),
                 strides=(1,) * k.type.ndim)
    return b.emit(ops.reshape, one, shape=(s.groups, s.width))


# --- products of matrices -----------------------------------------------------------------

@condition
def _one_place(op: Op) -> bool:
    """f32 or f64, at least 2**12 elements. The window fits only once, as in gradients of 1x1
    filters, and the summed axes are next to each other in memory."""
    (lhs, rhs), a = (v.type for v in op.operands), op.attrs
    return (_is_plain(op) and lhs.dtype in FLOATS and lhs.size >= 4096
            and a["feature_groups"] == a["batch_groups"] == 1 and not _moves(a)
            and _spatial(lhs, a["lhs_spec"]) == _spatial(rhs, a["rhs_spec"])
            and _is_outside(lhs, a["lhs_spec"][0]) and _is_outside(rhs, a["rhs_spec"][0]))


def _is_outside(t: TensorType, axis: int) -> bool:
    """Whether `axis` is the outermost or the innermost axis in memory, not counting axes of size 1.
    """
    return math.prod(t.shape[:axis]) == 1 or math.prod(t.shape[axis + 1:]) == 1


def _moves(a: Any) -> bool:
    """Whether there is padding or dilation."""
    return any(pair != (0, 0) for pair in a["padding"]) or any(
        by != 1 for by in (*a["lhs_dilation"], *a["rhs_dilation"]))


def _spatial(t: TensorType, spec: Ints) -> Ints:
    return tuple(t.shape[d] for d in spec[2:])


# The plain rule first gathers the window, which is the whole input.
@form(ops.conv_general_dilated, when=_one_place,
      row="kernels.convolution: gradient by kernel, conv 1×1")
def product(b: Builder, op: Op, x: Value, k: Value) -> Value:
    """One product of matrices, summed over features and places."""
    a, result = op.attrs, _sizes(op).result
    made = b.emit(ops.dot_general, x, k, contract=(a["lhs_spec"][1:], a["rhs_spec"][1:]),
                  batch=((), ()), precision=a.get("precision"))
    if a["out_spec"][0] > a["out_spec"][1]:
        made = b.emit(ops.transpose, made, permutation=(1, 0))
    return b.emit(ops.reshape, made, shape=result.shape)


@condition
def _pointwise(op: Op) -> bool:
    """Filters of one place, f32 or f64, at least 2**12 elements. Channels are last or the batch is
    1, there are no strides, and one side has at least 32 channels."""
    (lhs, rhs), a = (v.type for v in op.operands), op.attrs
    if not (_is_plain(op) and _keeps_order(op) and lhs.dtype in FLOATS and lhs.size >= 4096
            and a["feature_groups"] == 1 and not _moves(a) and max(a["strides"]) == 1
            and max(_spatial(rhs, a["rhs_spec"])) == 1
            and max(rhs.shape) >= 32 and rhs.size >= 64):
        return False
    last = lhs.ndim - 1
    return a["lhs_spec"] == (0, last, *range(1, last)) or (
        a["lhs_spec"] == tuple(range(lhs.ndim)) and lhs.shape[0] == 1)


# Filters of one place: the plain rule copies the input first.
@form(ops.conv_general_dilated, when=_pointwise, row="kernels.convolution: conv 1×1")
def pointwise(b: Builder, op: Op, x: Value, k: Value) -> Value:
    """The product of the input, as a matrix of features, with the filter as a matrix."""
    a, result, n = op.attrs, _sizes(op).result, x.type.ndim
    width, depth = (k.type.shape[d] for d in a["rhs_spec"][:2])
    swapped = a["rhs_spec"][0] > a["rhs_spec"][1]
    k = b.emit(ops.reshape, k, shape=(depth, width) if swapped else (width, depth))
    precision, of_filter = a.get("precision"), int(not swapped)
    if a["lhs_spec"][1] == n - 1:
        made = b.emit(ops.dot_general, x, k, contract=((n - 1,), (of_filter,)), batch=((), ()),
                      precision=precision)
    else:
        turned = precision[::-1] if precision else None
        made = b.emit(ops.dot_general, k, x, contract=((of_filter,), (1,)), batch=((), ()),
                      precision=turned)
    return b.emit(ops.reshape, made, shape=result.shape)


# --- groups -------------------------------------------------------------------------------

@condition
def _in_groups(op: Op) -> bool:
    """2 to 8 groups of 8 channels or more, f32, at least 2**23 products."""
    if not (_is_plain(op) and _keeps_order(op) and op.operands[0].type.dtype is dtypes.f32):
        return False
    s = _sizes(op)
    return (2 <= s.groups <= 8 and s.depth >= 8 and s.width >= 8 and max(s.kernel) > 1
            and s.result.size * s.products >= 2 ** 23)


# 2 to 8 groups of 8 channels or more: the plain rule is slow at several groups in one convolution.
@form(ops.conv_general_dilated, when=_in_groups, row="kernels.convolution: conv 3×3 in 4 groups")
def one_by_one(b: Builder, op: Op, x: Value, k: Value) -> Value:
    """A convolution for each group."""
    a = op.attrs
    (feature, out), groups = (a["lhs_spec"][1], a["rhs_spec"][0]), a["feature_groups"]
    depth, width = x.type.shape[feature] // groups, k.type.shape[out] // groups
    parts = [b.emit(ops.conv_general_dilated, cut(b, x, feature, i * depth, depth),
                    cut(b, k, out, i * width, width), **{**a, "feature_groups": 1})
             for i in range(groups)]
    return b.emit(ops.concatenate, *parts, dimension=a["out_spec"][1])


# --- gradients of filters of one channel a group ------------------------------------------

@condition
def _gradient(op: Op) -> bool:
    """f32, 2**15 elements; each of 8 or more features of one operand meets only the same feature of
    the other, in up to 9 places over 1,024 of the input, or in up to 25 over 256."""
    (lhs, rhs), a = (v.type for v in op.operands), op.attrs
    groups = a["batch_groups"]
    if not (_is_plain(op) and lhs.dtype is dtypes.f32 and groups >= 8
            and a["lhs_spec"] == a["rhs_spec"] and rhs.size >= LEAST
            and groups == lhs.shape[a["lhs_spec"][0]] == rhs.shape[a["rhs_spec"][0]]):
        return False
    met = math.prod(_spatial(rhs, a["rhs_spec"]))
    places = math.prod(_spatial(_sizes(op).result, a["out_spec"]))
    return met <= 1024 and places <= 9 or met <= 256 and places <= 25


# Filters of up to 9 places, whose gradients each sum over at most 1,024 places of the input, or of
# up to 25 places over 256: the plain rule goes through these one by one.
@form(ops.conv_general_dilated, when=_gradient,
      row="kernels.convolution: gradient by kernel, depthwise 3×3")
def summed(b: Builder, op: Op, x: Value, ct: Value) -> Value:
    """For each place of the filter, the sum of the products of `ct` and the input that it meets."""
    a, result = op.attrs, _sizes(op).result
    x, ct = b.emit(ops.fence, x), b.emit(ops.fence, ct)
    spec, sums = a["lhs_spec"], []
    places = _spatial(result, a["out_spec"])
    wide = _padded(b, x, a)
    for at in itertools.product(*map(range, places)):
        starts, limits, strides = [0] * x.type.ndim, list(wide.type.shape), [1] * x.type.ndim
        for d, i, by, stride in zip(spec[2:], at, a["rhs_dilation"], a["strides"], strict=True):
            starts[d], strides[d] = i * stride, by
            limits[d] = starts[d] + dilated(ct.type.shape[d], by)
        piece = b.emit(ops.slice, wide, starts=tuple(starts), limits=tuple(limits),
                       strides=tuple(strides))
        sums.append(ops.reduce_sum(Term(b, piece) * Term(b, ct), axes=tuple(
            d for d in range(x.type.ndim) if d != spec[0])))
    rows = [ops.reshape(v, shape=(1, *v.type.shape)) for v in sums]
    made = ops.reshape(ops.concatenate(*rows, dimension=0),
                       shape=(*places, x.type.shape[spec[0]], 1))
    order = [0] * x.type.ndim
    for i, d in enumerate((*a["out_spec"][2:], a["out_spec"][1], a["out_spec"][0])):
        order[d] = i
    return ops.transpose(made, permutation=tuple(order)).value


# --- long filters of one channel ----------------------------------------------------------

ROW = 32
"""The number of places of a filter of one axis that are added up in one pass, or make a row."""
CHUNKS = 8


def _is_long(op: Op) -> bool:
    """Whether a convolution has one channel and plain f32 filters without strides or dilation, with
    the axes of input and filter in order, and enough products."""
    if not (_is_plain(op) and _keeps_order(op)):
        return False
    s, a = _sizes(op), op.attrs
    places = a["lhs_spec"][2:]
    return (s.dtype is dtypes.f32 and s.groups == s.depth == s.width == 1
            and a["lhs_spec"][0] == 0 and places == tuple(sorted(places))
            and a["rhs_spec"][2:] == tuple(sorted(a["rhs_spec"][2:]))
            and max(*a["strides"], *a["lhs_dilation"], *a["rhs_dilation"]) == 1
            and s.result.size * s.products >= LEAST * (32 if len(s.kernel) == 1 else 16))


@condition
def _line(op: Op) -> bool:
    """A filter of one channel and 33 to 256 places along one axis, f32, stride 1, at least 2**20
    products."""
    n = math.prod(_spatial(op.operands[1].type, op.attrs["rhs_spec"]))
    return op.operands[1].type.ndim == 3 and ROW < n <= ROW * CHUNKS and _is_long(op)


# More places than one pass can add up fast: the plain rule gathers them for each element.
@form(ops.conv_general_dilated, when=_line, row="kernels.convolution: convolve with 101 taps")
def in_chunks(b: Builder, op: Op, x: Value, k: Value) -> Value:
    """The sum of the results of parts of the filter."""
    a, axis, n = op.attrs, op.attrs["rhs_spec"][2], math.prod(k.type.shape)
    ((low, high),), chunks, total = a["padding"], -(-n // ROW), None
    x, k = b.emit(ops.fence, x), b.emit(ops.fence, k)
    for i in range(chunks):
        start, stop = n * i // chunks, n * (i + 1) // chunks
        part = cut(b, k, axis, start, stop - start)
        attrs = {**a, "padding": ((low - start, high - n + stop),)}
        part = _sum_of_shifted(b, Op(op.definition, (x, part), attrs, ()), x, part)
        total = part if total is None else b.emit(ops.add, total, part)
    assert total is not None
    return total


@condition
def _large(op: Op) -> bool:
    """A filter of one channel, f32, stride 1. It has more than 256 places along one axis, up to
    2**18 elements and at least 2**20 products; or more than 48 places along two axes, and at least
    2**19 products."""
    kernel = _spatial(op.operands[1].type, op.attrs["rhs_spec"])
    return (len(kernel) == 1 and kernel[0] > ROW * CHUNKS and op.operands[0].type.size <= 2 ** 18
            or len(kernel) == 2 and min(kernel) > 1 and math.prod(kernel) > 48) and _is_long(op)


# Filters of one channel with even more places, or many along two axes: the plain rule gathers them
# for each element.
@form(ops.conv_general_dilated, when=_large, row="kernels.convolution: one channel, 31×31")
def in_rows(b: Builder, op: Op, x: Value, k: Value) -> Value:
    """One product of the filter with the input, shifted once per row of the filter; its parts are
    then shifted along the row and added up. A filter of one axis is cut into rows, and the rest of
    it is added separately."""
    if (longer := _evened(op)) is not op:
        return _shortened(b, op, in_rows(b, longer, x, k))
    s, a = _sizes(op), op.attrs
    wide = _padded(b, b.emit(ops.fence, x), a)
    wide = b.emit(ops.reshape, wide, shape=tuple(
        n for d, n in enumerate(wide.type.shape) if d != a["lhs_spec"][1]))
    batch, *out = (s.result.shape[d] for d in (0, *a["out_spec"][2:]))
    k = b.emit(ops.reshape, k, shape=s.kernel)
    if len(out) == 1:
        rows, row = s.kernel[0] // ROW, ROW
        stacked = _stacked(b, wide, rows, row, out[0] + row - 1)
        filters = b.emit(ops.reshape, cut(b, k, 0, 0, rows * row), shape=(rows, row))
    else:
        (rows, row), filters = s.kernel, k
        stacked = _stacked(b, wide, rows, 1, out[0])
    made = b.emit(ops.dot_general, filters, stacked, contract=((0,), (0,)), batch=((), ()))
    last = made.type.ndim - 1

    def part(j: int) -> Term:
        return Term(b, cut(b, cut(b, made, 0, j, 1), last, j, out[-1]))

    total = part(0)
    for j in range(1, row):
        total = total + part(j)
    total = ops.reshape(total, shape=(batch, *out))
    for i in range(rows * row, s.kernel[0]) if len(out) == 1 else ():
        weight = ops.broadcast_in_dim(Term(b, cut(b, k, 0, i, 1)), shape=(batch, *out), dims=(1,))
        total = total + Term(b, cut(b, wide, 1, i, out[0])) * weight
    return ops.fence(ops.reshape(total, shape=s.result.shape)).value


def _stacked(b: Builder, x: Value, rows: int, step: int, size: int) -> Value:
    """For row i, the `size` elements of axis 1 from `step * i` on. They are stacked by a loop, for
    XLA makes a kernel of each part of a concatenation."""
    sizes = (x.type.shape[0], size, *x.type.shape[2:])
    types = (I32, x.type.with_shape((rows, *sizes)))
    test, turn = PlacedBuilder("more"), PlacedBuilder("row")
    more = test.close([test.emit(ops.lt, [test.param(t) for t in types][0], test.full(I32, rows))])
    const, place, stack = [turn.param(t) for t in (x.type, *types)]
    zeros = [turn.full(I32, 0)] * (len(sizes) - 1)
    start = turn.emit(ops.mul, place, turn.full(I32, step))
    part = turn.emit(ops.dynamic_slice, const, zeros[0], start, *zeros[1:], sizes=sizes)
    stack = turn.emit(ops.dynamic_update_slice, stack, turn.emit(
        ops.reshape, part, shape=(1, *sizes)), place, *zeros, zeros[0])
    body = turn.close([turn.emit(ops.add, place, turn.full(I32, 1)), stack])
    return WHILE.emit(b.emit, ops.while_, ((), (x,), (b.full(I32, 0), b.zeros(types[1]))),
                      cond=more, body=body)[1]
