"""From a Function, or a transformation of one, to its compiled program; programs of one op."""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter
from typing import Any

import numpy as np
from xfront_ir import ops
from xfront_ir.core import Function, Op, forced
from xfront_ir.definition import OpDef
from xfront_ir.fingerprint import fingerprint
from xfront_ir.literal import Literal
from xfront_ir.passes.pipeline import simplify
from xfront_ir.placed_builder import PlacedBuilder
from xfront_ir.types import TensorType

from ..base.collector import uncollected
from ..base.config import enable_checks
from ..tracing import watching
from . import launching, notes
from .capacity import capacity
from .compiled import Body, Compiled, SpreadProgram, executable_of
from .first_runs import uncompiled
from .host import host_functions, slots_in
from .keys import clear, emptied
from .placement import Placement


def prune(function: Function) -> tuple[Function, list[bool]]:
    """The Function without its unread parameters, and for each parameter whether it was kept."""
    read = set(function.returns)
    for op in function.ops:
        read.update(op.operands)
    kept = [v in read for v in function.params]
    if all(kept):
        return function, kept
    return function.replace(params=[v for v, k in zip(function.params, kept, strict=True) if k],
                            param_names=(), weak_params=()), kept


def captures_first(function: Function, n_explicit: int) -> Function:
    """The Function with its parameters after the first `n_explicit` moved to the front."""
    if n_explicit == len(function.params):
        return function

    def moved(items: tuple) -> tuple:
        return items and (*items[n_explicit:], *items[:n_explicit])

    return function.replace(params=moved(function.params), param_names=moved(function.param_names),
                            weak_params=moved(function.weak_params))


@uncollected
def compile_body(body: Body, *, name: str, place: Placement, effort: str = "eager",
                 donated: Sequence[int] = (), options: Any = (), keep_unused: bool = False,
                 n_explicit: int | None = None) -> Compiled:
    """Simplify, lower and compile (or load) a body for `place`.

    The first `n_explicit` parameters are arguments; the later ones, captures, go to the front.
    """
    start = perf_counter()
    note = notes.name_of(body, place, effort, (name, donated, options, keep_unused, n_explicit))
    if note is not None and (noted := notes.read(note, place)) is not None:
        capacity.count_program(clear)
        watching.loaded(name, perf_counter() - start)
        return Compiled(*noted, place, noted=True)
    function = simplify(forced(body))
    if n_explicit is not None:
        function = captures_first(function, n_explicit)
    weaks = function.weak_returns or (False,) * len(function.returns)
    out_types = [(v.type, w) for v, w in zip(function.returns, weaks, strict=True)]
    if keep_unused:
        pruned, kept = function, [True] * len(function.params)
    else:
        pruned, kept = prune(function)
    places = {i: sum(kept[:i]) for i in donated if kept[i]}
    if enable_checks.value:
        watching.verified(pruned)
    if effort == "eager" and not (donated or options or keep_unused):
        first = uncompiled(pruned, name, kept, out_types, place)
        if first is not None:
            return first
    ins, partition = None, None
    if type(place) is not Placement:
        spread: Any = place
        ins = spread.params(function, n_explicit)
        partition = spread.partition(pruned, [s for s, k in zip(ins, kept, strict=True) if k])
    hosts = {slot: launching.holding(f, name, place.devices)
             for slot, f in host_functions(pruned).items()}
    executable = executable_of(
        pruned, name=name, donated=tuple(places.values()), options=options, effort=effort,
        devices=place.devices, callbacks=hosts, partition=partition)
    if ins is not None:
        return SpreadProgram(executable, kept, out_types, place, ins)
    if any([v.type.sharding is not None and v.type.memory is not None
            for v in (*function.params, *function.returns)]):
        home = place.sharding                    # some values are in the host's memory
        ins, outs = ([home.with_memory_kind(v.type.memory) if v.type.memory else home for v in vs]
                     for vs in (function.params, function.returns))
        return Compiled(executable, kept, out_types, place, ins, outs)
    if note is not None:
        notes.write(note, executable, kept, out_types)
    return Compiled(executable, kept, out_types, place)


# --- programs of one op -------------------------------------------------------------------

_LITERALS: dict[tuple[Literal, tuple[int, ...] | None, Placement], Any] = {}


def filled(value: Literal, place: Placement, shape: tuple[int, ...] | None = None) -> Any:
    """The array of a literal at a place, or one of this shape that is filled with it, made without
    a program; recent ones are kept."""
    found = _LITERALS.get((value, shape, place))
    if found is None:
        if len(_LITERALS) > 4096:
            _LITERALS.clear()
        array = value.array if shape is None else np.broadcast_to(value.array, shape)
        found = _LITERALS[value, shape, place] = place.bring(array)
    return found


_UNITS: dict[Any, Compiled] = {}


def unit_of(op: Op, place: Placement) -> Compiled:
    """The executable of one op at a place, memoised on its definition, types, attributes and
    bodies."""
    types = tuple([v.type for v in op.operands])
    if op.definition.has_bodies or op.definition is ops.callback:
        function = single_op(op.definition, types, op.attrs)
        if slots_in(function):                   # the table would keep the host function
            return compile_body(function, name=op.definition.name, place=place)
        key: Any = (place, fingerprint(function))
    else:
        key = (place, op.definition, types, *op.attrs.items())
    found = _UNITS.get(key)
    if found is None:
        function = single_op(op.definition, types, op.attrs)
        found = _UNITS.setdefault(
            key, compile_body(function, name=op.definition.name, place=place))
    return found


def single_op(definition: OpDef, types: Sequence[TensorType], attrs: dict[str, Any],
              weaks: Sequence[bool] = ()) -> Function:
    """The Function that is one op."""
    b = PlacedBuilder(definition.name)
    made = b.emit(definition, *[b.param(t) for t in types], **attrs)
    returns = (made,) if definition.single else made
    return b.close(returns, weaks)


emptied(_UNITS.clear, _LITERALS.clear)
