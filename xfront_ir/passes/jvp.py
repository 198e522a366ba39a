"""Forward mode: a Function that also gives the tangents of its results.

    // jvp(active = [true])
    func @f(%x: f32[3]) -> (f32[3]) {          func @f(%x: f32[3], %x_dot: f32[3])
      %0: f32[3] = sin(%x)                         -> (f32[3], f32[3]) {
      return %0                                  %0: f32[3] = sin(%x)
    }                                            %1: f32[3] = cos(%x)
                                                 %2: f32[3] = mul(%x_dot, %1)
                                                 return %0, %2
                                               }

A tangent that is zero is absent: an op without tangents is kept, the same object. Values that are
not float or complex never have a tangent.
"""

# hot: benchmarks/transforms.py

from __future__ import annotations

from collections.abc import Sequence

from ..builder import Builder
from ..core import Function, Value, remembered, renamed
from ..definition import LINEAR_OP, NONE, ZERO
from ..errors import IRTypeError
from ..placed_builder import PlacedBuilder
from ..split_builder import SplitBuilder
from .inline import settle
from .scopes import Scoped

Flags = tuple[bool, ...]


def jvp(fn: Function, active: Flags) -> tuple[Function, Flags]:
    """Forward mode.

    Args:
      fn: any Function.
      active: for each parameter, whether it has a tangent (float and complex ones may).
    Returns: `(function, active_out)`. The function's parameters are those of `fn`, then the
      tangents of the active ones; its returns are those of `fn`, then the tangents of the results
      with `active_out`. The others have derivative zero.
    Raises: IRTypeError where an active parameter is no float or complex number; MissingRule.
    """
    active = tuple(active)
    return remembered(fn, ("jvp", active), _jvp, fn, active)


def _jvp(fn: Function, active: Flags) -> tuple[Function, Flags]:
    fn = settle(fn)
    check_active(fn, active)
    b = PlacedBuilder(fn.name)
    b.params = list(fn.params)
    tangents = {v: Value(v.type) for v, a in zip(fn.params, active, strict=True) if a}
    given = tuple(tangents.values())
    returns, moved = push_forward(b, fn, tangents)
    active_out = tuple([t is not None for t in moved])
    made = Function(
        fn.name, (*fn.params, *given),
        b.ops, (*returns, *[t for t in moved if t is not None]),
        param_names=fn.param_names and (*fn.param_names, *[
            f"{n}_dot" if n else "" for n, a in zip(fn.param_names, active, strict=True) if a]),
        weak_params=extend(fn.weak_params, active),
        weak_returns=extend(fn.weak_returns, active_out))
    return made, active_out


def check_active(fn: Function, active: Flags) -> None:
    """Refuse tangents of values that cannot have one. Raises: IRTypeError."""
    if len(active) != len(fn.params):
        raise IRTypeError(f"@{fn.name} has {len(fn.params)} parameters, but got {len(active)} "
                          "flags")
    for i, (v, a) in enumerate(zip(fn.params, active, strict=True)):
        if a and not v.type.is_inexact:
            raise IRTypeError(f"@{fn.name}: parameter {i} has type {v.type}, which has no tangent; "
                              "only float and complex values have one")


def extend(weak: Flags, active: Flags) -> Flags:
    """The weakness flags of values, then those of the active values again, for their tangents."""
    return weak and (*weak, *[w for w, a in zip(weak, active, strict=True) if a])


def push_forward(b: Builder, fn: Function, tangents: dict[Value, Value]
                 ) -> tuple[tuple[Value, ...], list[Value | None]]:
    """Append the ops of `fn` and of its tangents to `b`, which has the parameters of `fn`.

    `tangents` maps parameters to their tangents and is extended. Values keep their identity, save
    the results of ops that emit their own primal. Returns fn's results and their tangents.
    """
    env: dict[Value, Value] = {}                  # results of ops that emit their own primal
    append, tangent, locs = b.ops.append, tangents.get, Scoped("jvp")
    for op in fn.ops:
        definition, operands = op.definition, op.operands
        here = renamed(op, env) if env else op
        rule = definition.jvp
        if rule is ZERO or tangents.keys().isdisjoint(operands):
            append(here)
            continue
        b.loc = locs[op.loc]
        given = [tangent(v) for v in operands]
        if definition.own_primal:
            results, made = definition.rule("jvp")(b, op.attrs, here.operands, given)
            env.update(zip(op.results, results, strict=True))
        else:
            append(here)
            if rule is LINEAR_OP:
                if not op.results[0].type.dtype.is_inexact:     # a cast to integer
                    continue
                made = b.emit(definition, *[b.zeros(v.type) if t is None else t
                                            for v, t in zip(operands, given, strict=True)],
                              **op.attrs)
                if definition.single:
                    made = (made,)
            else:
                made = (definition.rule("jvp") if rule is None or rule is NONE else rule)(
                    b, here, given)
        for v, t in zip(op.results, made, strict=True):
            if t is not None:
                same = t.type.sharding is v.type.sharding or t.type.sums == v.type.sums
                tangents[v] = t if same else _held_as(b, v, t)
    returns: Sequence[Value] = fn.returns
    return tuple([env.get(v, v) for v in returns]), [tangent(v) for v in returns]


def _held_as(b: Builder, v: Value, t: Value) -> Value:
    """The tangent `t` of `v`, made unreduced and reduced over the same axes as `v`."""
    from ..ops.sharding import summed_as  # ops stand beside passes, not under them

    if not (isinstance(b, SplitBuilder) and t in b.tangents):
        return summed_as(b, t, v.type)
    made = summed_as(b.linear, t, v.type)
    b.tangents.add(made)
    return made
