"""Reductions over windows that move across an array, and what their derivatives need.

All ops have the attributes `window` (sizes), `strides` of the windows, `padding` (pairs; padding
never wins and adds nothing), `base_dilation` of the array and `window_dilation` of the elements in
a window.

The derivative of a maximum takes, in each window, the tangent of the element that wins: that is
`select_and_gather_add`. Its transpose, `select_and_scatter_add`, adds each window's cotangent to
the element that wins. Of equal elements the first wins.

Source: StableHLO spec, `reduce_window` and `select_and_scatter`.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

from .. import dtypes
from ..builder import Builder
from ..core import Function, Op, Value
from ..definition import LINEAR_OP, OpDef
from ..errors import IRTypeError
from ..opdef import AXES, FUNCTION, INTS, SHAPE, TREE, define, enum
from ..placed_builder import PlacedBuilder
from ..regions import cut
from ..spreading import Dims, met, spreads
from ..types import TensorType, scalar
from .compare import eq, ge, le
from .conv import dilated
from .elementwise import add, mul, select
from .families import is_float, is_numeric, is_real, move_batch
from .formulas import formula
from .indexing import or_zeros, pad, slice
from .reduce_by_body import COMBINED, combine, vectorize, with_tangents
from .shape import broadcast_in_dim

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..rules import Attrs, Axis, Batched, NewTangents, Positions, Tangents, Types, Values

Ints = tuple[int, ...]

ATTRS = {"window": SHAPE, "strides": AXES, "padding": TREE, "base_dilation": AXES,
         "window_dilation": AXES}
PLAIN = ("window", "strides", "padding")


# --- type rules ---------------------------------------------------------------------------

def windowed_shape(name: str, x: TensorType, attrs: Any) -> Ints:
    """The number of windows that fit along each axis. Raises: IRTypeError."""
    padding: Any = attrs["padding"]
    pairs: list[Any] = [*padding] if type(padding) is tuple else [None]
    lists: list[Ints] = [attrs.get(key, (1,) * x.ndim) for key in ATTRS if key != "padding"]
    fits = (all(len(values) == x.ndim and min(values, default=1) >= 1 for values in lists)
            and len(pairs) == x.ndim
            and all(INTS.accepts(pair) and len(pair) == 2 for pair in pairs))
    if not fits:
        raise IRTypeError(f"{name}: window, strides, dilations (positive ints) and padding (pairs) "
                          f"must have one entry for each axis of {x}")
    window, strides, base, inner = lists
    shape: list[int] = []
    for n, w, stride, (low, high), by, apart in zip(x.shape, window, strides, pairs, base, inner):
        whole = dilated(n, by) + low + high
        room = whole - dilated(w, apart)
        shape.append(room // stride + 1 if room >= 0 and whole > 0 else 0)
    return tuple(shape)


def _batched(attrs: Any, p: int) -> dict[str, Any]:
    """The attributes with a new axis at `p` along which every window has one element."""
    return {name: (*of[:p], (0, 0) if name == "padding" else 1, *of[p:])
            if name != "select" else of for name, of in attrs.items()}


def _batch_window(b: Builder, op: Op, operands: Values, positions: Positions, axis: Axis
                  ) -> Batched:
    to = next(p for p in positions if p is not None)
    moved = [move_batch(b, v, p, to, axis[1]) for v, p in zip(operands, positions)]
    return (b.emit(op.definition, *moved, **_batched(op.attrs, to)),), (to,)


# --- windows as values, for the rules that need each element of them ----------------------

def patches(b: Builder, x: Value, shape: Ints, attrs: Any, fill: Any) -> list[Value]:
    """For each place in the window, the elements of all windows there; `fill` in the padding."""
    padding = attrs["padding"]
    value = fill if isinstance(fill, Value) else b.literal(fill, x.type.dtype)
    wide = b.emit(pad, x, value, low=tuple(low for low, _ in padding),
                  high=tuple(high for _, high in padding),
                  interior=tuple(by - 1 for by in attrs["base_dilation"]))
    made: list[Value] = []
    for at in itertools.product(*map(range, attrs["window"])):
        starts = tuple(i * by for i, by in zip(at, attrs["window_dilation"]))
        limits = tuple(start + dilated(n, stride)
                       for start, n, stride in zip(starts, shape, attrs["strides"]))
        made.append(b.emit(slice, wide, starts=starts, limits=limits, strides=attrs["strides"]))
    return made


# --- sums, products, extrema --------------------------------------------------------------

def _reducer(name: str, jvp: Any, allowed: Any, wanted: str, transpose: Any = None) -> OpDef:
    def infer(types: Types, attrs: Attrs) -> Types:
        (x,) = types
        if not allowed(x.dtype):
            raise IRTypeError(f"{name} takes {wanted} operands, got {x}")
        return (x.with_shape(windowed_shape(name, x, attrs)),)

    return define(name, attrs=ATTRS, operands=1, infer=infer, jvp=jvp, transpose=transpose,
                  batch=_batch_window)


def _transpose_sum(b: Builder, op: Op, cotangents: Tangents, known: Tangents) -> NewTangents:
    """Each element gets the cotangents of the windows that hold it: sums over windows of these."""
    a, x, (ct,) = op.attrs, op.operands[0].type, cotangents
    if not ct.type.size or not x.size:
        return (b.zeros(x),)
    padding: list[tuple[int, int]] = []
    for n, w, out, (low, _), stride, by, apart in zip(
            x.shape, a["window"], ct.type.shape, a["padding"], a["strides"], a["base_dilation"],
            a["window_dilation"]):
        before = dilated(w, apart) - 1 - low
        padding.append((before, dilated(n, by) - 1 + dilated(w, apart) - dilated(out, stride)
                        - before))
    return (b.emit(reduce_window_sum, ct, window=a["window"], strides=a["base_dilation"],
                   padding=tuple(padding), base_dilation=a["strides"],
                   window_dilation=a["window_dilation"]),)


def _jvp_prod(b: Builder, op: Op, tangents: Tangents) -> NewTangents:
    """The product rule, place by place in the window: it divides by nothing, so zeros are allowed.
    """
    shape, a = op.results[0].type.shape, op.attrs
    factors = patches(b, op.operands[0], shape, a, 1)
    moves = patches(b, tangents[0], shape, a, 0)
    product, total = factors[0], moves[0]
    for x, t in zip(factors[1:], moves[1:]):
        total = _of_product(b, total, x, t, product)
        product = b.emit(mul, product, x)
    return (total,)


_of_product = formula(lambda total, x, t, product: total * x + t * product)


def _jvp_extremum(direction: str) -> Any:
    def jvp(b: Builder, op: Op, tangents: Tangents) -> NewTangents:
        return (b.emit(select_and_gather_add, tangents[0], op.operands[0], select=direction,
                       **op.attrs),)

    return jvp


reduce_window_sum = _reducer("reduce_window_sum", LINEAR_OP, is_numeric, "numeric", _transpose_sum)
reduce_window_prod = _reducer("reduce_window_prod", _jvp_prod, is_numeric, "numeric")
reduce_window_max = _reducer("reduce_window_max", _jvp_extremum("ge"), is_real, "real")
reduce_window_min = _reducer("reduce_window_min", _jvp_extremum("le"), is_real, "real")


# --- the element that wins ----------------------------------------------------------------

def _infer_gather(types: Types, attrs: Attrs) -> Types:
    tangents, x = types
    if tangents is not x or not is_float(x.dtype):
        raise IRTypeError("select_and_gather_add takes two float arrays of the same type, got "
                          f"{tangents} and {x}")
    return (x.with_shape(windowed_shape("select_and_gather_add", x, attrs)),)


def _jvp_first(b: Builder, op: Op, tangents: Tangents) -> NewTangents:
    """The op is linear in its first operand; the winning element has no derivative."""
    if tangents[0] is None:
        return (None,)
    return (b.emit(op.definition, tangents[0], op.operands[1], **op.attrs),)


def _transpose_gather(b: Builder, op: Op, cotangents: Tangents, known: Tangents) -> NewTangents:
    (ct,), x, a = cotangents, known[1], op.attrs
    if not ct.type.size or not x.type.size:
        return b.zeros(x.type), None
    if all(by == 1 for by in (*a["base_dilation"], *a["window_dilation"])):
        given = {name: a[name] for name in ("select", *PLAIN)}
        return b.emit(select_and_scatter_add, ct, x, **given), None
    return _scattered(b, ct, x, a), None


def _scattered(b: Builder, ct: Value, x: Value, a: Any) -> Value:
    """`select_and_scatter_add` for windows with gaps: place by place in the window."""
    loser = (dtypes.least if a["select"] == "ge" else dtypes.greatest)(x.type.dtype)
    keeps = ge if a["select"] == "ge" else le
    shape, held = ct.type.shape, patches(b, x, ct.type.shape, a, loser)
    # `winner` is the place in the window that wins; places in the padding lose to all others
    inside = patches(b, b.ones(x.type.with_dtype(dtypes.bool_)), shape, a, False)
    best, found = held[0], inside[0]
    never = b.zeros(found.type)
    places = ct.type.with_dtype(dtypes.i32)
    winner = b.emit(select, found, b.zeros(places), b.full(places, -1))
    for k, (value, there) in enumerate(zip(held[1:], inside[1:]), start=1):
        beaten = b.emit(select, found, b.emit(keeps, best, value), never)
        stays = b.emit(select, there, beaten, b.ones(never.type))
        winner = b.emit(select, stays, winner, b.full(places, k))
        best = b.emit(select, stays, best, value)
        found = b.emit(select, found, found, there)
    zeros = b.zeros(ct.type)
    whole = tuple(dilated(n, by) + low + high for n, by, (low, high)
                  in zip(x.type.shape, a["base_dilation"], a["padding"]))
    none = b.literal(0, ct.type.dtype)

    def place(k: int, at: Ints) -> Value:
        won = b.emit(eq, winner, b.full(places, k))
        low = tuple(i * by for i, by in zip(at, a["window_dilation"]))
        high = tuple(n - start - dilated(out, stride) for n, start, out, stride
                     in zip(whole, low, shape, a["strides"]))
        return b.emit(pad, b.emit(select, won, ct, zeros), none, low=low, high=high,
                      interior=tuple(stride - 1 for stride in a["strides"]))

    first, *others = enumerate(itertools.product(*map(range, a["window"])))
    total = place(*first)
    for k, at in others:
        total = b.emit(add, total, place(k, at))
    cropped = b.emit(pad, total, none, low=tuple(-low for low, _ in a["padding"]),
                     high=tuple(-high for _, high in a["padding"]), interior=(0,) * len(whole))
    return b.emit(slice, cropped, starts=(0,) * len(whole), limits=cropped.type.shape,
                  strides=a["base_dilation"])


select_and_gather_add = define(
    "select_and_gather_add", operands=2, infer=_infer_gather, jvp=_jvp_first,
    transpose=_transpose_gather, batch=_batch_window,
    attrs={"select": enum("ge", "le"), **ATTRS})
"""(tangents, x) -> for each window, the tangent of the element of x that wins."""


def _infer_scatter(types: Types, attrs: Attrs) -> Types:
    source, x = types
    shape = windowed_shape("select_and_scatter_add", x, attrs)
    if source is not x.with_shape(shape) or not is_float(x.dtype):
        raise IRTypeError(f"select_and_scatter_add: the windows of {x} need a float source of "
                          f"shape {shape}, got {source}")
    return (x,)


def _transpose_scatter(b: Builder, op: Op, cotangents: Tangents, known: Tangents) -> NewTangents:
    ones = (1,) * op.operands[1].type.ndim
    return b.emit(select_and_gather_add, cotangents[0], known[1], base_dilation=ones,
                  window_dilation=ones, **op.attrs), None


select_and_scatter_add = define(
    "select_and_scatter_add", operands=2, infer=_infer_scatter, jvp=_jvp_first,
    transpose=_transpose_scatter, batch=_batch_window,
    attrs={"select": enum("ge", "le"), **{name: ATTRS[name] for name in PLAIN}})
"""(source, x) -> an array like x, with each window's source added at the element that wins."""


# --- by a body ----------------------------------------------------------------------------

def _infer_by_body(types: Types, attrs: Attrs) -> Types:
    body, (operands, inits) = attrs["body"], COMBINED.split(attrs, types)
    if not types or len(types) % 2 or any(x.shape != operands[0].shape for x in operands):
        raise IRTypeError("reduce_window takes operands of the same shape and as many initial "
                          f"values, got {', '.join(map(str, types))}")
    elements = tuple(scalar(x.dtype) for x in operands)
    wanted = elements, elements * 2, elements
    if (tuple(inits), body.param_types, body.return_types) != wanted:
        raise IRTypeError(f"reduce_window: initial values must be {list(elements)}, got "
                          f"{list(inits)}, and the body must take them twice and return them, got "
                          f"{body.param_types} -> {body.return_types}")
    shape = windowed_shape("reduce_window", operands[0], attrs)
    return tuple(x.with_shape(shape) for x in operands)


def _by_places(b: Builder, body: Function, operands: Values, inits: Values, shape: Ints,
               attrs: Any) -> tuple[Value, ...]:
    """The reduction place by place in the window, by ops that have derivatives and batching."""
    held = zip(*[patches(b, x, shape, attrs, init) for x, init in zip(operands, inits)])
    total = tuple(b.emit(broadcast_in_dim, init, shape=shape, dims=()) for init in inits)
    for values in held:
        total = combine(b, body, total, values)
    return total


def _jvp_by_body(b: Builder, op: Op, tangents: Tangents) -> NewTangents:
    n, (pairs, places) = len(op.results), with_tangents(op.attrs["body"])
    operands, inits = ([*values, *[or_zeros(b, dots[i], values[i].type) for i in places]]
                       for values, dots in zip(COMBINED.split(op.attrs, op.operands),
                                               COMBINED.split(op.attrs, tangents)))
    made = _by_places(b, pairs, operands, inits, op.results[0].type.shape, op.attrs)
    moved = dict(zip(places, cut(made, n)[1]))
    return tuple(moved.get(i) for i in range(n))


def _batch_by_body(b: Builder, op: Op, operands: Values, positions: Positions, axis: Axis
                   ) -> Batched:
    n, (values, inits) = len(op.results), COMBINED.split(op.attrs, operands)
    of_values, of_inits = COMBINED.split(op.attrs, positions)
    if all(p is None for p in of_inits):
        to = next(p for p in of_values if p is not None)
        moved = [move_batch(b, v, p, to, axis[1]) for v, p in zip(values, of_values)]
        attrs = {**_batched({name: op.attrs[name] for name in ATTRS}, to),
                 "body": op.attrs["body"]}
        return b.emit(reduce_window, *moved, *inits, **attrs), (to,) * n
    alone = PlacedBuilder("windows")
    params = [alone.param(v.type) for v in op.operands]
    p_values, p_inits = COMBINED.split(op.attrs, params)
    fn = alone.close(_by_places(alone, op.attrs["body"], p_values, p_inits,
                                op.results[0].type.shape, op.attrs))
    many, places = vectorize(fn, positions, axis)
    return b.inline(many, operands), places


reduce_window = define("reduce_window", infer=_infer_by_body, jvp=_jvp_by_body, single=False,
                       batch=_batch_by_body, attrs={"body": FUNCTION, **ATTRS},
                       regions=COMBINED)
"""`reduce_window(*operands, *inits) {body, ...}`: body(lefts, rights) -> combined, all scalars."""


# --- axes that divide ---------------------------------------------------------------------

def _spread_window(op: OpDef, types: Types, attrs: Attrs, results: Types) -> Sequence[Dims]:
    """Results are divided as the operands: devices exchange the edges that windows reach over."""
    dims = met(op.name, [t.dims for t in types if t.ndim == results[0].ndim], results[0].ndim)
    return (dims,) * len(results)


spreads(_spread_window, reduce_window_sum, reduce_window_prod, reduce_window_max,
        reduce_window_min, select_and_gather_add, select_and_scatter_add)
