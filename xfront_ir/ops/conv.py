"""conv_general_dilated: convolution with any layout, padding, strides, dilations and groups.

`lhs_spec` names the axes (batch, feature, *spatial) of the input, `rhs_spec` those (output feature,
input feature, *spatial) of the filter and `out_spec` those of the result. Feature groups divide the
input's features, batch groups divide its batch, and each part is convolved with its own part of the
filter's output features. Both transposes are convolutions; vmap makes groups of its batch.

Source: StableHLO spec, `convolution`.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NoReturn

from ..core import Op, Value
from ..definition import LINEAR, lookup
from ..errors import IRTypeError
from ..opdef import AXES, DTYPE, INT, INTS, TREE, define, optional
from ..spreading import RESHARD, Dims, refuse, spreads
from ..types import TensorType, tensor
from .dot import check_precision, product_dtype
from .families import move_batch
from .shape import moved, reshape, reverse, transpose

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..builder import Builder
    from ..definition import OpDef
    from ..rules import Attrs, Axis, Batched, NewTangents, Positions, Tangents, Types, Values

Ints = tuple[int, ...]


def dilated(size: int, dilation: int) -> int:
    """How many places `size` elements span at distance `dilation`."""
    return (size - 1) * dilation + 1 if size else 0


# --- type rule ----------------------------------------------------------------------------

def _check_conv(lhs: TensorType, rhs: TensorType, attrs: Any) -> None:
    def refuse(wrong: str) -> NoReturn:
        raise IRTypeError(f"conv_general_dilated: {wrong}, for input {lhs} and filter {rhs}")

    n, axes = lhs.ndim - 2, list(range(lhs.ndim))
    if n < 0 or rhs.ndim != lhs.ndim:
        refuse("input and filter must have the same number of axes, at least 2")
    for name in ("lhs_spec", "rhs_spec", "out_spec"):
        if sorted(attrs[name]) != axes:
            refuse(f"{name} {attrs[name]} must be a permutation of the axes")
    for name in ("strides", "lhs_dilation", "rhs_dilation"):
        if len(attrs[name]) != n or min(attrs[name], default=1) < 1:
            refuse(f"{name} {attrs[name]} must have one positive number for each spatial axis")
    padding = attrs["padding"]
    pairs: list[Any] = [*padding] if type(padding) is tuple else [None]
    if len(pairs) != n or not all(INTS.accepts(pair) and len(pair) == 2 for pair in pairs):
        refuse(f"padding {padding} must have one pair of ints for each spatial axis")
    features, batches = attrs["feature_groups"], attrs["batch_groups"]
    lhs_spec: Ints = attrs["lhs_spec"]
    rhs_spec: Ints = attrs["rhs_spec"]
    batch, feature = [lhs.shape[d] for d in lhs_spec[:2]]
    out_feature, in_feature = [rhs.shape[d] for d in rhs_spec[:2]]
    if features < 1 or batches < 1 or (features > 1 and batches > 1):
        refuse(f"feature_groups {features} and batch_groups {batches} must be positive, and one of "
               "them must be 1")
    if in_feature * features != feature:
        refuse(f"the input has {feature} features, but the filter has {in_feature} in each of "
               f"{features} groups")
    if out_feature % features or out_feature % batches or batch % batches:
        refuse(f"{features * batches} groups do not divide the batch of {batch} and the "
               f"{out_feature} output features")
    check_precision("conv_general_dilated", attrs.get("precision"))


def _infer_conv(types: Types, attrs: Attrs) -> Types:
    lhs, rhs = types
    _check_conv(lhs, rhs, attrs)
    dtype = product_dtype("conv_general_dilated", lhs, rhs, attrs.get("preferred"))
    sizes: list[int] = [
        lhs.shape[attrs["lhs_spec"][0]] // attrs["batch_groups"], rhs.shape[attrs["rhs_spec"][0]]]
    for x, k, stride, (low, high), of_x, of_k in zip(
            _spatial(lhs, attrs["lhs_spec"]), _spatial(rhs, attrs["rhs_spec"]), attrs["strides"],
            attrs["padding"], attrs["lhs_dilation"], attrs["rhs_dilation"]):
        room = dilated(x, of_x) + low + high - dilated(k, of_k)
        sizes.append(room // stride + 1 if room >= 0 and dilated(x, of_x) + low + high else 0)
    shape = [0] * lhs.ndim
    for d, size in zip(attrs["out_spec"], sizes):
        shape[d] = size
    return (tensor(tuple(shape), dtype),)


def _spatial(t: TensorType, spec: Ints) -> Ints:
    return tuple(t.shape[d] for d in spec[2:])


# --- derivatives --------------------------------------------------------------------------

def _jvp_conv(b: Builder, op: Op, tangents: Tangents) -> NewTangents:
    (lhs, rhs), (of_lhs, of_rhs) = op.operands, tangents
    total = None
    if of_lhs is not None:
        total = b.emit(conv_general_dilated, of_lhs, rhs, **op.attrs)
    if of_rhs is not None:
        second = b.emit(conv_general_dilated, lhs, of_rhs, **op.attrs)
        total = second if total is None else b.emit(lookup("add"), total, second)
    return (total,)


def _transpose_conv(b: Builder, op: Op, cotangents: Tangents, known: Tangents) -> NewTangents:
    (ct,) = cotangents
    of_lhs = known[0] is LINEAR
    own, other = op.operands[1 - of_lhs].type, known[of_lhs]
    if not (ct.type.size and own.size and other.type.size):
        made = b.zeros(own)
    else:
        made = (_transpose_lhs if of_lhs else _transpose_rhs)(b, op, ct, other)
        if made.type.plain is not own.plain:
            made = b.emit(lookup("convert"), made, dtype=own.dtype)
    return (made, None) if of_lhs else (None, made)


def _preferred(op: Op, ct: Value) -> Any:
    return None if op.operands[0].type.dtype is op.operands[1].type.dtype is ct.type.dtype \
        else ct.type.dtype


def _transpose_lhs(b: Builder, op: Op, ct: Value, rhs: Value) -> Value:
    """Convolve ct with the reversed filter, whose input and output features are exchanged."""
    a, lhs = op.attrs, op.operands[0].type
    rhs_spec, groups = a["rhs_spec"], a["feature_groups"] * a["batch_groups"]
    padding: list[tuple[int, int]] = []
    for x, k, out, (low, _), stride, of_x, of_k in zip(
            _spatial(lhs, a["lhs_spec"]), _spatial(rhs.type, rhs_spec),
            _spatial(ct.type, a["out_spec"]), a["padding"], a["strides"], a["lhs_dilation"],
            a["rhs_dilation"]):
        before = dilated(k, of_k) - 1 - low
        padding.append((before, dilated(x, of_x) - 1 + dilated(k, of_k) - dilated(out, stride)
                        - before))
    if groups > 1:                              # the groups go from output to input features
        split = _unfold(b, rhs, rhs_spec[0], groups, 1)
        rhs = _fold(b, split, rhs_spec[0], rhs_spec[1], 1)
    backward = b.emit(reverse, rhs, axes=rhs_spec[2:]) if rhs_spec[2:] else rhs
    made = b.emit(
        conv_general_dilated, ct, backward, lhs_spec=a["out_spec"],
        rhs_spec=(rhs_spec[1], rhs_spec[0], *rhs_spec[2:]), out_spec=a["lhs_spec"],
        strides=a["lhs_dilation"], padding=tuple(padding), lhs_dilation=a["strides"],
        rhs_dilation=a["rhs_dilation"], feature_groups=groups, batch_groups=1,
        precision=a.get("precision"), preferred=_preferred(op, ct))
    if a["batch_groups"] > 1:
        split = _unfold(b, made, a["lhs_spec"][1], groups, 1)
        made = _fold(b, split, a["lhs_spec"][1], a["lhs_spec"][0], 1)
    return made


def _transpose_rhs(b: Builder, op: Op, ct: Value, lhs: Value) -> Value:
    """Convolve the input with ct, with batches and features exchanged in both."""
    a, rhs = op.attrs, op.operands[1].type
    lhs_spec, rhs_spec, out_spec = a["lhs_spec"], a["rhs_spec"], a["out_spec"]
    padding: list[tuple[int, int]] = []
    for x, k, out, (low, _), stride, of_x, of_k in zip(
            _spatial(lhs.type, lhs_spec), _spatial(rhs, rhs_spec), _spatial(ct.type, out_spec),
            a["padding"], a["strides"], a["lhs_dilation"], a["rhs_dilation"]):
        padding.append((low, dilated(out, stride) + dilated(k, of_k) - 1 - dilated(x, of_x) - low))
    precision = a.get("precision")
    return b.emit(
        conv_general_dilated, lhs, ct, lhs_spec=(lhs_spec[1], lhs_spec[0], *lhs_spec[2:]),
        rhs_spec=(out_spec[1], out_spec[0], *out_spec[2:]),
        out_spec=(rhs_spec[1], rhs_spec[0], *rhs_spec[2:]), strides=a["rhs_dilation"],
        padding=tuple(padding), lhs_dilation=a["lhs_dilation"], rhs_dilation=a["strides"],
        feature_groups=a["batch_groups"], batch_groups=a["feature_groups"], precision=precision,
        preferred=_preferred(op, ct))


# --- batching -----------------------------------------------------------------------------

def _fold(b: Builder, x: Value, p: int, to: int, groups: int) -> Value:
    """`x` with its batch axis `p` merged into axis `to` of the rest, as (groups, batch, rest)."""
    size = x.type.shape[p]
    x = move_batch(b, x, p, to, size)
    shape = x.type.shape
    before, total, after = shape[:to], shape[to + 1], shape[to + 2:]
    if groups > 1:
        x = b.emit(reshape, x, shape=(*before, size, groups, total // groups, *after))
        x = b.emit(transpose, x, permutation=moved(x.type.ndim, to, to + 1))
    return b.emit(reshape, x, shape=(*before, size * total, *after))


def _unfold(b: Builder, x: Value, at: int, size: int, groups: int) -> Value:
    """The inverse of `_fold`: takes the batch out of axis `at`, (groups, batch, rest), to `at`."""
    shape = x.type.shape
    before, rest, after = shape[:at], shape[at] // (size * groups), shape[at + 1:]
    if groups > 1:
        x = b.emit(reshape, x, shape=(*before, groups, size, rest, *after))
        x = b.emit(transpose, x, permutation=moved(x.type.ndim, at, at + 1))
    return b.emit(reshape, x, shape=(*before, size, groups * rest, *after))


def _batch_conv(b: Builder, op: Op, operands: Values, positions: Positions, axis: Axis) -> Batched:
    (lhs, rhs), (p, q), a, size = operands, positions, dict(op.attrs), axis[1]
    lhs_spec, rhs_spec, out_spec = a["lhs_spec"], a["rhs_spec"], a["out_spec"]
    if q is None:                               # the vmapped axis joins the batch
        assert p is not None
        groups, out_groups, at = a["batch_groups"], 1, out_spec[0]
        lhs = _fold(b, lhs, p, lhs_spec[0], groups)
    elif p is None:                             # the vmapped axis joins the output features
        groups = out_groups = a["batch_groups"] * a["feature_groups"]
        at = out_spec[1]
        rhs = _fold(b, rhs, q, rhs_spec[0], groups)
    else:                                       # each lane is a group
        kind, dim = ("batch_groups", 0) if a["batch_groups"] > 1 else ("feature_groups", 1)
        lhs = _fold(b, lhs, p, lhs_spec[dim], 1)
        rhs = _fold(b, rhs, q, rhs_spec[0], 1)
        a[kind] *= size
        out_groups, at = 1, out_spec[1]
    made = b.emit(conv_general_dilated, lhs, rhs, **a)
    return (_unfold(b, made, at, size, out_groups),), (at,)


def _cost_conv(op: Op) -> tuple[int, int]:
    lhs, rhs, result = op.operands[0].type, op.operands[1].type, op.results[0].type
    spec: Ints = op.attrs["rhs_spec"]
    _, in_feature, *spatial = [rhs.shape[d] for d in spec]
    read = sum(t.size * t.dtype.bits // 8 for t in (lhs, rhs, result))
    return 2 * result.size * in_feature * math.prod(spatial), read


conv_general_dilated = define(
    "conv_general_dilated", operands=2, infer=_infer_conv, jvp=_jvp_conv,
    transpose=_transpose_conv, batch=_batch_conv, cost=_cost_conv,
    attrs={"lhs_spec": AXES, "rhs_spec": AXES, "out_spec": AXES, "strides": AXES,
           "padding": TREE, "lhs_dilation": AXES, "rhs_dilation": AXES, "feature_groups": INT,
           "batch_groups": INT, "precision": optional(TREE), "preferred": optional(DTYPE)})


# --- axes that divide ---------------------------------------------------------------------

def _spread_conv(op: OpDef, types: Types, attrs: Attrs, results: Types) -> Sequence[Dims]:
    """The batch of the input and the output features of the filter stay divided if each is one
    group. So do the input's spatial dimensions, whose edges devices exchange. All other axes must
    not be divided."""
    (lhs, rhs), out = types, attrs["out_spec"]
    dims: list[tuple[str, ...]] = [()] * results[0].ndim
    groups = attrs["batch_groups"]
    batch, _, *spatial = attrs["lhs_spec"]
    kept = [(lhs, {batch: out[0]}, groups), (lhs, dict(zip(spatial, out[2:], strict=True)), 1),
            (rhs, {attrs["rhs_spec"][0]: out[1]}, max(attrs["feature_groups"], groups))]
    for t, places, groups in kept:
        for own, place in places.items():
            if t.dims[own] and groups != 1:
                refuse(f"{op.name} divides no dimension that is several groups, got {t}: {RESHARD}")
            dims[place] = t.dims[own]
    summed = [(lhs, attrs["lhs_spec"][1]), *[(rhs, a) for a in attrs["rhs_spec"][1:]]]
    for t, own in summed:
        if t.dims[own]:
            refuse(f"{op.name} sums over dimension {own} of {t}, which is divided: {RESHARD}")
    return (tuple(dims),)


spreads(_spread_conv, conv_general_dilated)
