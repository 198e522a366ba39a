"""`reduce`: reduction of several arrays together by a body, an associative function of scalars.

Reductions that have an op of their own are in `reduce.py`. Derivatives, and batches of initial
values, are carried through a tree of the body. Source: StableHLO spec, `reduce`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..core import Function, Op, Value
from ..errors import IRTypeError
from ..opdef import AXES, FUNCTION, define
from ..passes.bodies import jvp_to, vectorize
from ..regions import COMBINER, REST, Regions, cut
from ..types import scalar
from .families import move_batch, moved_axes
from .reduce import leading, tree_reduce
from .shape import broadcast_in_dim, reshape

if TYPE_CHECKING:
    from ..builder import Builder
    from ..rules import Attrs, Axis, Batched, NewTangents, Positions, Tangents, Types, Values

COMBINED = Regions({"operands": REST, "inits": REST}, {"results": REST}, {"body": COMBINER})
"""The regions of reductions by a body."""


def _infer(types: Types, attrs: Attrs) -> Types:
    axes, body = attrs["axes"], attrs["body"]
    operands, inits = COMBINED.split(attrs, types)
    if not types or len(types) % 2:
        raise IRTypeError(f"reduce takes operands and as many initial values, got {len(types)}")
    first = operands[0]
    if any(x.shape != first.shape for x in operands):
        raise IRTypeError(f"reduce: operands must have the same shape, got {list(operands)}")
    if len(set(axes)) != len(axes) or not all(0 <= a < first.ndim for a in axes):
        raise IRTypeError(f"reduce: axes must be distinct and in [0, {first.ndim}), got {axes}")
    elements = tuple(scalar(x.dtype) for x in operands)
    if tuple(inits) != elements:
        raise IRTypeError(f"reduce: initial values must be {list(elements)}, got {list(inits)}")
    if body.param_types != elements * 2 or body.return_types != elements:
        raise IRTypeError(f"reduce: the body must take {list(elements)} twice and return them, "
                          f"got {body.param_types} -> {body.return_types}")
    kept = tuple(size for d, size in enumerate(first.shape) if d not in axes)
    return tuple(x.with_shape(kept) for x in operands)


def combine(b: Builder, body: Function, left: Sequence[Value], right: Sequence[Value]
             ) -> tuple[Value, ...]:
    """The body on arrays of one shape, element by element."""
    shape, size = left[0].type.shape, left[0].type.size
    flat = [b.emit(reshape, v, shape=(size,)) for v in (*left, *right)]
    n = len(body.returns)
    many, _ = vectorize(body, (0,) * len(flat), ("", size), (0,) * n)
    return tuple(b.emit(reshape, v, shape=shape) for v in b.inline(many, flat))


def _fold(b: Builder, body: Function, operands: Sequence[Value], starts: Sequence[Value],
          axes: Sequence[int]) -> tuple[Value, ...]:
    """Reduce by a tree, starting from `starts`, which have the shape of the result."""
    rows = [leading(b, v, axes) for v in operands]
    if rows[0].type.shape[0] == 0:
        return tuple(starts)

    def pair(b: Builder, x: Sequence[Value], y: Sequence[Value]) -> tuple[Value, ...]:
        return combine(b, body, x, y)

    whole = tree_reduce(b, pair, rows)
    return combine(b, body, starts, whole)


def _jvp(b: Builder, op: Op, tangents: Tangents) -> NewTangents:
    axes, (of_operands, of_inits) = op.attrs["axes"], COMBINED.split(op.attrs, tangents)
    values, inits = COMBINED.split(op.attrs, op.operands)
    pairs, places = with_tangents(op.attrs["body"])

    def given(values: Sequence[Value], ts: Sequence[Value | None]) -> list[Value]:
        return [*values, *[ts[i] or b.zeros(values[i].type) for i in places]]

    operands = given(values, of_operands)
    starts = [b.emit(broadcast_in_dim, v, shape=op.results[0].type.shape, dims=())
              for v in given(inits, of_inits)]
    _, dots = cut(_fold(b, pairs, operands, starts, axes), len(values))
    moved = dict(zip(places, dots, strict=True))
    return tuple(moved.get(i) for i in range(len(values)))


def with_tangents(body: Function) -> tuple[Function, list[int]]:
    """A body of (values, tangents) pairs, lefts then rights, and which values have a tangent.

    All inexact ones do, as the body may mix its operands.
    """
    n = len(body.returns)
    active = tuple(v.type.is_inexact for v in body.returns)
    moved = jvp_to(body, active * 2, active)
    lefts, rights, l_dots, r_dots = cut(moved.params, n, n, sum(active))
    pairs = moved.replace(params=(*lefts, *l_dots, *rights, *r_dots), param_names=(),
                          weak_params=(), weak_returns=())
    return pairs, [i for i, a in enumerate(active) if a]


def _batch(b: Builder, op: Op, operands: Values, positions: Positions, axis: Axis) -> Batched:
    n, (_, size) = len(op.results), axis
    values, inits = COMBINED.split(op.attrs, operands)
    of_values, of_inits = COMBINED.split(op.attrs, positions)
    at = next((p for p in of_values if p is not None), 0)
    moved = [move_batch(b, v, p, at, size) for v, p in zip(values, of_values, strict=True)]
    axes, place = moved_axes(op.attrs["axes"], at)
    if all(p is None for p in of_inits):
        return b.emit(reduce, *moved, *inits, body=op.attrs["body"], axes=axes), (place,) * n
    shape = list(op.results[0].type.shape)
    shape.insert(place, size)
    starts = [b.emit(broadcast_in_dim, v, shape=tuple(shape), dims=() if p is None else (place,))
              for v, p in zip(inits, of_inits, strict=True)]
    return _fold(b, op.attrs["body"], moved, starts, axes), (place,) * n


reduce = define("reduce", attrs={"body": FUNCTION, "axes": AXES}, infer=_infer, single=False,
                jvp=_jvp, batch=_batch, regions=COMBINED)
"""`reduce(*operands, *inits) {body, axes}`: body(lefts, rights) -> combined, all scalars."""
