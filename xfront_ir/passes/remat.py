"""Checkpoints: which values are saved for the linear side, and which it computes again.

    // divide_checkpoint of sin(sin(x)) at tangent t; nothing is saved but x
    linear side:  func @f(%t: f32[3], %x: f32[3]) -> (f32[3]) {
                    %0: f32[3] = cos(%x)
                    %1: f32[3] = mul(%t, %0)
                    %2: f32[3] = sin(%x)
                    %3: f32[3] = cos(%2)
                    %4: f32[3] = mul(%1, %3)
                    return %4
                  }
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ..builder import Builder
from ..core import Function, Op, Value
from ..opdef import lookup
from ..sharding import HOST, in_memory
from .dead_code import dead_code
from .inline import inline_calls
from .linearize import Flags, divide


class Checkpointed(NamedTuple):
    """The two parts of a divided checkpointed body.

    `forward`: takes the known parameters; returns known results, then what the policy saves.
    `linear`: takes the linear parameters, the known ones in `read`, then what was saved.
    `active_out`: which results the linear side returns.
    """

    forward: Function
    linear: Function
    read: tuple[int, ...]
    active_out: Flags
    n_out: int


def divide_checkpoint(body: Function, linear: Flags, policy: Any) -> Checkpointed:
    """Divide a body so that the linear side computes again what the policy does not save.

    Args:
      body: a Function that is linear in the flagged parameters.
      linear: for each parameter, whether it is.
      policy: None (nothing is saved but parameters), or has `saveable(op) -> bool`, and
        `offloads(op) -> bool` for what is saved in the host's memory.
    """
    if policy is not None:
        body = inline_calls(body)                # so that the policy sees the ops inside
    parts = divide(body, linear)
    forward = parts.forward
    stop: set[Value] = set(forward.params)
    parked: set[Value] = set()
    if policy is not None:
        for op in forward.ops:
            if policy.saveable(op):
                stop.update(op.results)
                if policy.offloads(op):
                    parked.update([v for v in op.results if v.type.memory is None])
    wanted = parts.pick(forward.params, forward.returns)
    live = set(wanted)
    used: set[Value] = set()
    again: list[Op] = []
    for op in reversed(forward.ops):
        if live.isdisjoint(op.results):
            continue
        if stop.issuperset(op.results):
            used.update(live.intersection(op.results))
        else:
            again.append(op)
            live.update(op.operands)
    read = tuple([i for i, v in enumerate(forward.params) if v in live])
    saved = [v for op in forward.ops for v in op.results if v in used]
    given = [*[forward.params[i] for i in read], *saved]
    n = len(linear) - len(forward.params)        # of the tangents, which come first
    b = Builder(body.name)
    b.params = [Value(v.type.in_memory(HOST) if v in parked else v.type)
                for v in (*parts.linear.params[:n], *given)]
    recomputed = Function(body.name, given, tuple(reversed(again)), wanted)
    back = [_moved(b, p, None) if v in parked else p
            for v, p in zip(given, b.params[n:], strict=True)]
    residuals = b.inline(recomputed, back)
    side = b.close(b.inline(parts.linear, (*b.params[:n], *residuals)))
    f = Builder(forward.name)
    f.ops = list(forward.ops)
    left = [_moved(f, v, HOST) if v in parked else v for v in saved]
    ahead = dead_code(forward.replace(ops=tuple(f.ops),
                                      returns=(*forward.returns[:parts.n_out], *left)))
    return Checkpointed(ahead, dead_code(side), read, parts.active_out, parts.n_out)


def _moved(b: Builder, value: Value, memory: str | None) -> Value:
    wanted = value.type.in_memory(memory)
    return b.emit(lookup("reshard"), value,
                  sharding=wanted.sharding or in_memory(wanted.ndim, None))
