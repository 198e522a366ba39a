"""Rule makers, which hold the common part of the ops of a family.

A rule builds ops through `b` and computes no numbers; the type rule refuses bad operands, and the
other rules trust it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..core import Op, Value
from ..definition import LINEAR, ZERO, OpDef, lookup
from ..errors import IRTypeError
from ..opdef import define
from ..types import TensorType
from .formulas import Formula, Term, formula
from .shape import broadcast_in_dim, moved, transpose

if TYPE_CHECKING:
    from ..builder import Builder
    from ..definition import AttrKind, Marker
    from ..dtypes import DType
    from ..rules import Attrs, Axis, Batched, Infer, Jvp, NewTangents, Strong, Tangents, Transpose

Types = tuple[TensorType, ...]
Partial = Callable[["Builder", Value, Op], Value]


# --- values with a batch ------------------------------------------------------------------

def move_batch(b: Builder, value: Value, position: int | None, to: int, size: int) -> Value:
    """`value` with its batch axis at `to`; an unbatched value is broadcast along a new one."""
    if position == to:
        return value
    if position is None:
        found = b.widened.get((value, to, size))
        if found is None:
            shape = list(value.type.shape)
            shape.insert(to, size)
            dims = tuple([d + (d >= to) for d in range(value.type.ndim)])
            found = b.emit(broadcast_in_dim, value, shape=tuple(shape), dims=dims)
            b.widened[value, to, size] = found
        return found
    return b.emit(transpose, value, permutation=moved(value.type.ndim, position, to))


def batch_elementwise(b: Builder, op: Op, operands: Sequence[Value],
                      positions: Sequence[int | None], axis: Axis) -> Batched:
    """Batching of ops that treat every element alike: all batch axes are moved to one position."""
    to = positions[0]
    if len(operands) > 1:
        if to is None:
            to = [p for p in positions if p is not None][0]
        size = axis[1]
        operands = [v if p == to else move_batch(b, v, p, to, size)
                    for v, p in zip(operands, positions, strict=True)]
    results = b.emit(op.definition, *operands, **op.attrs)
    return ((results,), (to,)) if op.definition.single else (results, (to,) * len(op.results))


# --- axes -------------------------------------------------------------------------------------

def moved_axes(axes: Sequence[int], position: int) -> tuple[tuple[int, ...], int]:
    """The axes that an op removes, counted with a batch axis at `position`, and the position of the
    batch axis in the result."""
    up = tuple([a + (a >= position) for a in axes])
    return up, position - sum([a < position for a in up])


def batch_scalar_operands(b: Builder, op: Op, operands: Sequence[Value],
                          positions: Sequence[int | None], axis: Axis) -> Batched:
    """As `batch_elementwise`, for ops some of whose operands may be scalars beside arrays.

    A scalar that has a batch of its own is broadcast to the result's shape.
    """
    rank, size = op.results[0].type.ndim, axis[1]
    whole = [v.type.ndim == rank for v in op.operands]
    to = [*[p for p, w in zip(positions, whole, strict=True) if w and p is not None], 0][0]
    shape = list(op.results[0].type.shape)
    shape.insert(to, size)
    made: list[Value] = []
    for v, p, w in zip(operands, positions, whole, strict=True):
        if w:
            v = move_batch(b, v, p, to, size)
        elif p is not None:
            v = b.emit(broadcast_in_dim, v, shape=tuple(shape), dims=(to,))
        made.append(v)
    return (b.emit(op.definition, *made, **op.attrs),), (to,)


# --- type rules ---------------------------------------------------------------------------

def same(name: str, allowed: Callable[[DType], bool], wanted: str,
         result: Callable[[DType], DType] | None = None) -> Infer:
    """Type rule: all operands have one type, whose dtype is `allowed`, and the result has it too.

    `result` maps the operand's dtype to the result's, where they differ.
    """
    def infer(types: Types, attrs: Attrs) -> Types:
        first = types[0]
        for t in types:
            if t is not first:
                listed = ", ".join(map(str, types))
                raise IRTypeError(f"{name}: operand types must be equal, got {listed}")
        if not allowed(first.dtype):
            raise IRTypeError(f"{name} takes {wanted} operands, got {first}")
        return (first if result is None else first.with_dtype(result(first.dtype)),)

    return infer


def is_complex(dtype: DType) -> bool:
    """Whether a dtype holds complex numbers."""
    return dtype.is_complex


def is_numeric(dtype: DType) -> bool:
    """Whether a dtype holds integers, floats or complex numbers."""
    return dtype.is_numeric


def is_inexact(dtype: DType) -> bool:
    """Whether a dtype holds floats or complex numbers."""
    return dtype.is_inexact


def is_float(dtype: DType) -> bool:
    """Whether a dtype holds floats."""
    return dtype.is_float


def is_real(dtype: DType) -> bool:
    """Whether a dtype holds integers or floats."""
    return dtype.is_integer or dtype.is_float


def is_integer(dtype: DType) -> bool:
    """Whether a dtype holds integers."""
    return dtype.is_integer


def is_logical(dtype: DType) -> bool:
    """Whether a dtype holds integers or bools."""
    return dtype.is_integer or dtype.kind == "bool"


def is_any(dtype: DType) -> bool:
    """Whether a dtype is anything but a key type."""
    return not dtype.is_key


# --- tangents -----------------------------------------------------------------------------

def sum_tangents(b: Builder, a: Value | None, c: Value | None) -> Value | None:
    """Sum of two tangents or cotangents, where None is zero."""
    if a is None:
        return c
    if c is None:
        return a
    return b.emit(lookup("add"), a, c)


def partials_jvp(*partials: Partial | None) -> Jvp:
    """Tangent rule from one partial per operand: `partial(b, t, op) -> t times the derivative`.

    None as a partial is a zero derivative.
    """
    def jvp(b: Builder, op: Op, tangents: Sequence[Value | None]) -> tuple[Value | None]:
        total = None
        for partial, t in zip(partials, tangents, strict=True):
            if t is not None and partial is not None:
                total = sum_tangents(b, total, partial(b, t, op))
        return (total,)

    return jvp


def tangent(fn: Formula) -> Partial:
    """The partial that is `fn(t, *operands, result)`."""
    of = formula(fn)

    def partial(b: Builder, t: Value, op: Op) -> Value:
        return of(b, t, *op.operands, *op.results)

    return partial


def slope(fn: Formula) -> Partial:
    """The partial that multiplies the tangent by `fn(*operands, result)`."""
    def times(t: Term, *values: Term) -> Term:
        return t * fn(*values)

    return tangent(times)


# --- ops ----------------------------------------------------------------------------------

def elementwise(name: str, *partials: Partial | None, allowed: Callable[[DType], bool], wanted: str,
                result: Callable[[DType], DType] | None = None, operands: int | None = None,
                jvp: Jvp | Marker | None = None, transpose: Transpose | None = None,
                attrs: Mapping[str, AttrKind] | None = None, strong: Strong | None = None,
                cost: Callable[[Op], tuple[int, int]] | None = None, family: str | None = None
                ) -> OpDef[Value]:
    """Define an elementwise op from its partials, which `slope` and `tangent` make of formulas.
    Without partials and `jvp` the derivative is zero."""
    count = operands if operands is not None else max(1, len(partials))
    rule = jvp if jvp is not None else partials_jvp(*partials) if any(partials) else ZERO
    return define(name, infer=same(name, allowed, wanted, result), attrs=attrs or {},
                  operands=count, jvp=rule, transpose=transpose, batch=batch_elementwise,
                  cost=cost, strong=strong, family=family or defining_module())


def defining_module(depth: int = 2) -> str:
    """The module that called the rule maker, for errors that say where an op is defined."""
    frame = sys._getframe(depth)       # pyright: ignore[reportPrivateUsage]
    return frame.f_globals["__name__"]


def becomes(name: str) -> Strong:
    """The `strong` rule of an op of one result: with strong zeros the op `name` replaces it."""
    def rule(op: Op, linear: Sequence[bool]) -> Any:
        inexact = op.results[0].type.is_inexact
        return lookup(name) if inexact else op.definition, op.attrs, (True,)

    return rule


def transpose_bilinear(left: Formula, right: Formula) -> Transpose:
    """Transpose of an op that is linear in either of two operands where the other is known.

    `left(ct, other)` gives the cotangent of operand 0 where operand 1 is `other`.
    """
    of_left, of_right = formula(left), formula(right)

    def rule(b: Builder, op: Op, cotangents: Tangents, known: Tangents) -> NewTangents:
        (ct,) = cotangents
        if known[0] is LINEAR:
            return of_left(b, ct, known[1]), None
        return None, of_right(b, ct, known[0])

    return rule
