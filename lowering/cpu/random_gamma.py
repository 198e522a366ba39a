"""Samples of the gamma distribution: one attempt for all elements, then more for the rejected ones.

At most about one in twenty is rejected, but the plain rule draws for all elements until the last
one has its sample, some six times. Here the rejected elements are gathered, drawn again from their
first keys on, which gives the same samples, and scattered back.
"""

from __future__ import annotations

from lowering.forms.conditions import below, size
from lowering.forms.registry import form
from lowering.rules.random import words_of
from lowering.rules.random_gamma import (
    Key,
    boosted,
    candidate,
    checked,
    cubes_of,
    next_keys,
    shapes_of,
    unboosted,
)
from xfront_ir import dtypes, ops
from xfront_ir.builder import Builder
from xfront_ir.core import Op, Value
from xfront_ir.ops.formulas import Term, where
from xfront_ir.ops.while_loop import WHILE
from xfront_ir.placed_builder import PlacedBuilder
from xfront_ir.types import tensor

LEAST = 2 ** 14
"""For fewer elements the plain rule takes only milliseconds."""
SHARE = 16
"""One in this many elements is drawn again in a turn. In a large array fewer are rejected: at most
5.5 %, for a = 1."""


# Large arrays: the plain rule draws for all elements until the last one is accepted, which takes
# longer than compiling this form.
@form(ops.random_gamma, when=size(LEAST) & below(2 ** 31), row="kernels.randomness: random.gamma")
def random_gamma(b: Builder, op: Op, keys: Value, a: Value) -> Value:
    """Draw once for all elements; gather the rejected ones, draw until all are done, scatter."""
    log_space, shape, n = op.attrs["log_space"], a.type.shape, a.type.size
    k1, k2, a = (b.emit(ops.reshape, v, shape=(n,)) for v in (*words_of(b, keys), a))
    shapes = shapes_of(b, a)
    (key,) = next_keys(b, ((k1, k2), 0))
    of_x, of_u = next_keys(b, (key, 1), (key, 2))
    now, of_u = next_keys(b, (of_x, 1), (of_u, 0))
    (of_x,) = next_keys(b, (now, 0))
    first = candidate(b, shapes.d.value, shapes.c.value, of_x, of_u)
    cube = _drawn_again(b, key, a, b.emit(ops.fence, first.cube.value),
                        b.emit(ops.fence, (~first.accepted).value))
    made = unboosted(b, cube, shapes, log_space)
    made = _boosted_where_small(b, (k1, k2), a, made, log_space)
    return b.emit(ops.reshape, checked(b, made, shapes, log_space), shape=shape)


def _drawn_again(b: Builder, key: Key, a: Value, cube: Value, left: Value) -> Value:
    """`cube`, where the elements in the mask `left` are drawn again from their keys."""
    constants, carry = (*key, a), (cube, left)
    test, body = PlacedBuilder("left"), PlacedBuilder("again")
    _, still = [test.param(v.type) for v in carry]
    some = test.close([test.emit(ops.reduce_or, still, axes=(0,))])
    k1, k2, a, cube, left = [body.param(v.type) for v in (*constants, *carry)]
    at = _first_places(body, left, -(-a.type.size // SHARE))
    k1, k2, a = (_gathered(body, v, at) for v in (k1, k2, a))
    drawn = cubes_of(body, (k1, k2), shapes_of(body, a))
    none = body.zeros(drawn.type.with_dtype(dtypes.bool_))
    turn = body.close([_scattered(body, cube, at, drawn), _scattered(body, left, at, none)])
    return WHILE.emit(b.emit, ops.while_, ((), constants, carry), cond=some, body=turn)[0]


def _first_places(b: Builder, wanted: Value, count: int) -> Value:
    """The places of the first `count` true elements, as i32[count, 1]. If there are fewer, the rest
    are places behind the end."""
    n = wanted.type.size
    mask = Term(b, wanted)
    number = ops.cumsum(mask.to(dtypes.i32), axis=0, reverse=False)
    row = where(mask, number - 1, count)
    place = b.emit(ops.iota, dtype=dtypes.i32, shape=(n,), dimension=0)
    behind = b.full(tensor((count,), dtypes.i32), n)
    at = _scattered(b, behind, ops.reshape(row, shape=(n, 1)).value, place)
    return b.emit(ops.reshape, at, shape=(count, 1))


def _gathered(b: Builder, x: Value, at: Value) -> Value:
    return b.emit(ops.gather, x, at, offset_dims=(), collapsed_slice_dims=(0,),
                  operand_batching_dims=(), start_indices_batching_dims=(), start_index_map=(0,),
                  slice_sizes=(1,), mode="clip", indices_are_sorted=True, unique_indices=False,
                  fill_value=None)


def _scattered(b: Builder, x: Value, at: Value, new: Value) -> Value:
    """`x` with the elements `new` at the places `at`; those behind its end are dropped."""
    return b.emit(ops.scatter, x, at, new, update_window_dims=(), inserted_window_dims=(0,),
                  operand_batching_dims=(), scatter_indices_batching_dims=(),
                  scatter_dims_to_operand_dims=(0,), mode="fill", indices_are_sorted=False,
                  unique_indices=False)


def _boosted_where_small(b: Builder, key: Key, a: Value, made: Value, log_space: bool) -> Value:
    """The samples, boosted where their shapes are small; if no shape is small, nothing is computed.
    """
    operands = (*key, a, made)
    is_any = b.emit(ops.reduce_or, shapes_of(b, a).small.value, axes=(0,))
    plain, boost = PlacedBuilder("plain"), PlacedBuilder("boosted")
    kept = plain.close([[plain.param(v.type) for v in operands][-1]])
    k1, k2, a, made = [boost.param(v.type) for v in operands]
    of_boost = next_keys(boost, (next_keys(boost, ((k1, k2), 1))[0], 0))[0]
    raised = boost.close([boosted(boost, made, of_boost, shapes_of(boost, a), log_space)])
    return b.emit(ops.cond, is_any, *operands, branches=(kept, raised))[0]
