"""`vmap_method`: how a batch is passed to a function that the IR cannot look into.

The host functions of `callback` and the compiled ones of `ffi_call` take a batch in one of these
ways:

    sequential            one call per example, in a loop
    sequential_unrolled   the same, written out
    expand_dims           one call; operands without a batch get an axis of size 1
    broadcast_all         one call; all operands have the batch
    legacy_vectorized     one call; operands without a batch stay as they are

In one call the batch axis is the first of the operands and of the results.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ..builder import Builder
from ..core import Op, Value
from ..definition import lookup
from ..placed_builder import PlacedBuilder
from ..types import tensor
from .families import move_batch

if TYPE_CHECKING:
    from ..rules import Batched, Values

METHODS = ("sequential", "sequential_unrolled", "expand_dims", "broadcast_all",
           "legacy_vectorized")
AT_ONCE = METHODS[2:]
"""The methods that call the function once, with the batch."""


def by_method(b: Builder, op: Op, operands: Values, positions: Sequence[int | None], size: int,
              method: str | None, attrs_for: Callable[[list[bool]], dict[str, Any]] = lambda _: {}
              ) -> Batched:
    """The batching of an op with an attribute `result_types`; None is one call per example.

    Args:
      attrs_for: for a call with the batch, the attributes that change with it, from the operands
        that have a new axis.
    """
    if method not in AT_ONCE:
        unroll = max(size, 1) if method == "sequential_unrolled" else 1
        return _by_example(b, op, operands, positions, size, unroll)
    given: list[Value] = []
    longer: list[bool] = []
    for v, p in zip(operands, positions, strict=True):
        longer.append(p is not None or method != "legacy_vectorized")
        if longer[-1]:
            n = 1 if p is None and method == "expand_dims" else size
            v = move_batch(b, v, p, 0, n if p is None else v.type.shape[p])
        given.append(v)
    types = tuple([tensor((size, *t.shape), t.dtype) for t in op.attrs["result_types"]])
    attrs = {**op.attrs, "result_types": types, **attrs_for(longer)}
    made = b.emit(op.definition, *given, **attrs)
    return made, (0,) * len(types)


def _by_example(b: Builder, op: Op, operands: Values, positions: Sequence[int | None], size: int,
                unroll: int) -> Batched:
    inner = PlacedBuilder("example")
    inner.loc = op.loc
    own = [inner.param(v.type) for v in op.operands]
    consts = [v for v, p in zip(own, positions, strict=True) if p is None]
    inner.params = [*consts, *[v for v, p in zip(own, positions, strict=True) if p is not None]]
    inner.param_names, inner.weak_params = [], []
    body = inner.close(inner.emit(op.definition, *own, **op.attrs))
    same = [v for v, p in zip(operands, positions, strict=True) if p is None]
    xs = [move_batch(b, v, p, 0, size) for v, p in zip(operands, positions, strict=True)
          if p is not None]
    scan = lookup("scan")
    made = scan.regions.emit(b.emit, scan, (same, (), xs), body=body, length=size, reverse=False,
                             unroll=unroll)
    return made, (0,) * len(made)


__all__ = ["AT_ONCE", "METHODS", "by_method"]
