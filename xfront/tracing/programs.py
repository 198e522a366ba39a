"""Programs that run: from a Function (or a transformation of one) and arrays to arrays.

The table is keyed on content: the *skeleton* of the traced Function (structure, types, attributes)
and what is asked of it. The first time its literals are constants. Seen again with other values,
those that changed become parameters; at the second such change all inexact ones do. So a learning
rate that changes at each step costs two compilations, however the function came to be.

Abstraction comes before any pass: no rule may look at a value that is a parameter, so a compiled
program is right for every value.
"""

# hot: benchmarks/transforms.py

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Any

import lowering
import numpy as np
from xfront_ir import ops
from xfront_ir.analysis import axis_names, belongs_to_process
from xfront_ir.builder import Builder
from xfront_ir.core import Function, Op, Value
from xfront_ir.fingerprint import fingerprint, skeleton
from xfront_ir.literal import Literal
from xfront_ir.opdef import OpDef, Pending
from xfront_ir.passes.literals import abstract
from xfront_ir.passes.pipeline import simplify
from xfront_ir.types import TensorType

from ..arrays import binding
from ..arrays.keys import KeyArray, key_array
from ..arrays.placement import Placement, placement
from ..config import debug_infs, debug_nans, enable_checks, no_execution
from . import notes, watching
from .capacity import capacity
from .collector import uncollected
from .host import drop_with, host_functions, slots_in
from .trace import State, Tracer, binder_of, emit, state, type_of

Body = Function | Pending

UNIT_OPS = 1000
"""Un-jitted programs with more ops than this (calls expanded) run by units, op by op."""

UNIT_CALL_OPS = 64
"""A called body larger than this that occurs more than once also makes a program run by units."""


# --- one compiled program -----------------------------------------------------------------

class Compiled:
    """An executable with what is needed to feed it and to wrap its results.

    `kept[i]` says whether the executable takes argument i; `out_types` are IR types and weakness;
    `place` is where it runs.
    """

    __slots__ = ("executable", "handlers", "host_free", "keys", "kept", "noted", "out_avals",
                 "out_types", "place", "taken")

    def __init__(self, executable: Any, kept: Sequence[bool],
                 out_types: Sequence[tuple[TensorType, bool]], place: Placement,
                 noted: bool = False) -> None:
        self.executable, self.kept, self.place = executable, tuple(kept), place
        self.noted = noted                       # found by a note: no Python is part of it
        self.taken = [i for i, k in enumerate(kept) if k]
        self.out_types = tuple(out_types)
        self.keys = [i for i, (t, _) in enumerate(out_types) if t.dtype.is_key]
        self.host_free = not executable.has_callbacks
        self.out_avals = [binding.AbstractArray((*t.shape, *t.dtype.physical), t.dtype.numpy, w)
                          for t, w in out_types]
        self.handlers = [[binding.result_handler(a, place.sharding, committed)
                          for a in self.out_avals] for committed in (False, True)]

    @property
    def fast(self) -> bool:
        """Whether C++ may run it alone: nothing calls the host, nothing is to be looked at."""
        return self.host_free and not watching.is_on()

    def run(self, args: Sequence[Any], committed: bool = False, watched: bool = True) -> list[Any]:
        """Run on arrays, wherever they lie, and values of the host; key arrays in and out.

        `committed`: whether the results must stay where they are; `watched`: whether they are
        anyone's, for the options that look at their numbers.
        """
        if _no_execution.value:
            raise RuntimeError(f"tried to execute {self.executable.name}, but the no_execution "
                               "config option is set")
        place = self.place
        home = place.sharding
        buffers = [args[i] for i in self.taken]
        try:
            for i, x in enumerate(buffers):
                if type(x) is not binding.ArrayImpl or x._sharding is not home:
                    buffers[i] = place.bring(x)
                elif x.is_deleted():             # the runtime would write of it to stderr, too
                    self.refuse_deleted(buffers)
            results = self.executable.execute(buffers, self.handlers[committed])
        except (RuntimeError, ValueError):
            self.refuse_deleted(buffers)
            raise
        if watched and (_nans.value or _infs.value):
            check_numbers(results)
        for i in self.keys:
            results[i] = key_array(self.out_types[i][0].dtype, results[i])
        return results

    def refuse_deleted(self, buffers: Sequence[Any]) -> None:
        """Raise the RuntimeError that says which arrays were deleted; none where all are there."""
        gone = [f"number {i}, of type {type_of(x)[0]}" for i, x in enumerate(buffers)
                if isinstance(x, binding.Array) and x.is_deleted()]
        if gone:
            raise RuntimeError(
                f"Array has been deleted: {self.executable.name} reads {len(gone)} of "
                f"{len(buffers)} arrays that are no longer there ({'; '.join(gone)}). An argument "
                "that donate_argnums or donate_argnames names gives its memory to the results of "
                "the call: use those, or do not donate it.") from None


_nans, _infs, _no_execution = debug_nans.state, debug_infs.state, no_execution.state


def check_numbers(results: Sequence[Any]) -> None:
    """Raise where the options say so: FloatingPointError for NaN or infinity among results."""
    from .blame import bad  # seldom asked for

    for x in results:
        if (what := bad(x)) is not None:
            raise FloatingPointError(f"invalid value ({what}) encountered in a result of type "
                                     f"{x.dtype.name}{list(x.shape)}; the option "
                                     f"jax_debug_{what}s asks for this error")


def prune(function: Function) -> tuple[Function, list[bool]]:
    """The Function without the parameters that nothing reads, and which ones were kept."""
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


def forced(body: Body) -> Function:
    """The Function of a body, its pending transformation carried out."""
    return body.force() if type(body) is Pending else body  # type: ignore[return-value]


@uncollected
def compile_body(body: Body, *, name: str, place: Placement, effort: str = "eager",
                 donated: Sequence[int] = (), options: Any = (), keep_unused: bool = False,
                 n_explicit: int | None = None) -> Compiled:
    """Simplify, lower and compile (or load) a body for `place`.

    `n_explicit` parameters are arguments; the later ones (what was captured) go to the front.
    """
    note = notes.name_of(body, place, effort, (name, donated, options, keep_unused, n_explicit))
    if note is not None and (noted := notes.read(note, place)) is not None:
        capacity.made(clear)
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
    start = perf_counter()
    print_ = None if belongs_to_process(pruned) else fingerprint(pruned)
    executable = lowering.compile_function(
        pruned, name=name, fingerprint=print_, donated=tuple(places.values()),
        options=options, effort=effort, devices=place.devices,
        callbacks=host_functions(pruned))
    watching.compiled(name, pruned, perf_counter() - start)
    capacity.made(clear)
    if note is not None:
        notes.write(note, executable, kept, out_types)
    return Compiled(executable, kept, out_types, place)


# --- the table of skeletons ---------------------------------------------------------------

class Variant:
    """A program compiled for a skeleton: which literals are parameters, and the others' values."""

    __slots__ = ("abstracted", "compiled", "literals")

    def __init__(self, literals: tuple[Literal, ...], abstracted: tuple[int, ...],
                 compiled: Any) -> None:
        self.literals, self.abstracted, self.compiled = literals, abstracted, compiled

    def serves(self, literals: tuple[Literal, ...]) -> bool:
        """Whether the program is right for these values."""
        free = set(self.abstracted)
        return all(i in free or a == b
                   for i, (a, b) in enumerate(zip(literals, self.literals, strict=True)))


class Entry:
    """What is known of one skeleton and request."""

    __slots__ = ("abstracted", "changes", "first", "variants")

    def __init__(self, literals: tuple[Literal, ...]) -> None:
        self.first = literals
        self.changes = 0
        self.abstracted: set[int] = set()
        self.variants: list[Variant] = []


_ENTRIES: dict[Any, Entry] = {}


def find(body: Body, key: Any, place: Placement, compile_: Callable[[Body], Any]
         ) -> tuple[Any, list[Any], Variant]:
    """The compiled program of a body, the arrays for its trailing literal parameters, its variant.

    Args:
      body: a Function, or a transformation of one: then the Function is what is abstracted.
      key: what else the program depends on (request options, kind of front door).
      place: where it is to run.
      compile_: makes the program of a body, whose Function may have further parameters.
    """
    function = body.function if type(body) is Pending else body
    request = (body.request.role, body.request.details) if type(body) is Pending else None
    forward = request is None or request[0] == "vectorize"
    shape, literals = skeleton(function, forward)  # type: ignore[arg-type]
    full_key = (shape, request, key, place)
    entry = _ENTRIES.get(full_key)
    if entry is None:
        entry = _ENTRIES.setdefault(full_key, Entry(literals))
    for variant in entry.variants:
        if not variant.abstracted:
            if literals == variant.literals:
                return variant.compiled, [], variant
        elif variant.serves(literals):
            return (variant.compiled, [constant(literals[i], place) for i in variant.abstracted],
                    variant)
    if entry.variants:
        entry.changes += 1
        changed = {i for i, (a, b) in enumerate(zip(literals, entry.first, strict=True)) if a != b}
        entry.abstracted |= changed
        if entry.changes >= 2:
            entry.abstracted |= {i for i, x in enumerate(literals) if x.dtype.is_inexact}
    abstracted = tuple(sorted(entry.abstracted))
    chosen = body
    if abstracted:
        general = abstract(function, abstracted)  # type: ignore[arg-type]
        chosen = with_function(body, general)
    compiled = compile_(chosen)
    _ENTRIES[full_key] = entry                   # compiling may have emptied the table
    variant = Variant(literals, abstracted, compiled)
    known = type(compiled) is Compiled and compiled.noted   # to look would carry transforms out
    slots = set() if known else (
        slots_in(function) | slots_in(simplify(forced(chosen))))  # type: ignore[arg-type]
    if slots:
        drop_with(slots, _ENTRIES.pop, full_key, None)
        if type(compiled) is Units:              # it holds ops, and so the host functions
            return compiled, [constant(literals[i], place) for i in abstracted], variant
    entry.variants.insert(0, variant)
    del entry.variants[8:]
    return compiled, [constant(literals[i], place) for i in abstracted], variant


def with_function(body: Body, function: Function) -> Body:
    """The same transformation of another Function (one with further, untouched parameters)."""
    if type(body) is not Pending:
        return function
    return body._transform.pending(function, body.request)  # type: ignore[union-attr]


_CONSTANTS: dict[tuple[Literal, Placement], Any] = {}


def constant(value: Literal, place: Placement) -> Any:
    """The array of a literal at a place; recent ones are kept."""
    found = _CONSTANTS.get((value, place))
    if found is None:
        if len(_CONSTANTS) > 4096:
            _CONSTANTS.clear()
        found = _CONSTANTS[value, place] = place.bring(value.array)
    return found


# --- running ------------------------------------------------------------------------------

def bind(body: Body, operands: Sequence[Any], *, name: str) -> list[Any]:
    """Record a call of `body`, or run it: flat results (tracers or arrays).

    Operands are tracers or arrays; those after the Function's explicit parameters are captures.
    """
    target = state.current
    if target is None and Tracer not in map(type, operands):
        inside = binder_of(axis_names(unpended(body)), None) if state.axes else None
        if inside is None:
            return call_program(body, operands, name=name)
        state.current = inside                   # it asks for the index along a mapped axis
        try:
            return bind(body, operands, name=name)
        finally:
            state.current = None
    results = emit(ops.call, *operands, body=body, name=name)
    weaks = weak_returns_of(body)
    if weaks:
        for t, w in zip(results, weaks, strict=True):
            t.weak = w
    return results


def unpended(body: Body) -> Function:
    """The Function of a body, its transformation left undone."""
    return body.function if type(body) is Pending else body  # type: ignore[return-value]


def weak_returns_of(body: Body) -> tuple[bool, ...]:
    """Weakness of a body's results; a transformation says what its results' weakness is."""
    if type(body) is not Pending:
        return body.weak_returns  # type: ignore[union-attr]
    return body._transform.weak_returns(body.function, body.request)  # type: ignore[union-attr]


_NEW_IN_A_ROW: dict[str, int] = {}
"""By name of the function: how many of its last programs had never been seen."""

NEW_BEFORE_UNITS = 2


def call_program(body: Body, args: Sequence[Any], *, name: str) -> list[Any]:
    """Run a body on arrays, now: as one program, or by units.

    By units run large programs, and a function whose last programs were all new ones: then one
    that is met again is compiled whole.
    """
    new = False

    def compile_new(chosen: Body) -> Any:
        nonlocal new
        new = True
        count = _NEW_IN_A_ROW[name] = _NEW_IN_A_ROW.get(name, 0) + 1
        return compile_eager(chosen, name, place, once=count > NEW_BEFORE_UNITS)

    place, committed = placement(args, name)
    compiled, extra, variant = find(body, "eager", place, compile_new)
    if not new:
        _NEW_IN_A_ROW[name] = 0
        if type(compiled) is Units and compiled.once:
            compiled = variant.compiled = compile_eager(compiled.body, name, place, once=False)
    if not watching.is_on():
        return compiled.run([*args, *extra], committed)
    return watching.run(name, forced(body), args, True,
                        lambda: compiled.run([*args, *extra], committed))


def to_array(x: Any) -> Any:
    """An array (or key array) of whatever a front door was given."""
    if type(x) is binding.ArrayImpl or type(x) is KeyArray:
        return x
    return binding.put(x, weak=type(x) in (int, float, complex), copy=True)


@uncollected
def compile_eager(body: Body, name: str, place: Placement, once: bool) -> Any:
    """The program of an un-jitted transformation: whole if it is small, else by units.

    `once`: by units, for now, since it may never be met again.
    """
    function = simplify(forced(body))
    if expanded_size(function, UNIT_OPS) > UNIT_OPS or repeats_large_call(function):
        return Units(function, function, place, once=False)
    if once:
        return Units(function, body, place, once=True)
    return compile_body(function, name=name, place=place)


def expanded_size(function: Function, limit: int) -> int:
    """Ops of a Function with calls expanded at each use, counted up to `limit`."""
    total = 0
    for op in function.ops:
        total += 1
        for body in bodies(op):
            total += expanded_size(body, limit)
        if total > limit:
            break
    return total


def repeats_large_call(function: Function) -> bool:
    """Whether one called body of more than a few dozen ops occurs twice."""
    seen: set[bytes] = set()
    for op in function.ops:
        if op.definition is ops.call:
            body = forced(op.attrs["body"])
            if len(body.ops) > UNIT_CALL_OPS:
                print_ = fingerprint(body)
                if print_ in seen:
                    return True
                seen.add(print_)
    return False


def bodies(op: Op) -> Any:
    """Bodies of an op, if it has any."""
    from xfront_ir.core import bodies_of

    return bodies_of(op) if op.definition.has_bodies else ()


# --- by units -----------------------------------------------------------------------------

class Units:
    """A large un-jitted program: its ops in order, each an executable of its own."""

    __slots__ = ("body", "last_use", "literals", "once", "out_types", "params", "place", "returns",
                 "steps")

    def __init__(self, function: Function, body: Body, place: Placement, *, once: bool) -> None:
        self.body, self.place, self.once = body, place, once
        self.params, self.returns = function.params, function.returns
        self.steps = [(op, unit_of(op, place)) for op in function.ops
                      if op.definition is not ops.literal]
        self.literals = {op.results[0]: filled(op, place) for op in function.ops
                         if op.definition is ops.literal}
        weaks = function.weak_returns or (False,) * len(function.returns)
        self.out_types = [(v.type, w) for v, w in zip(function.returns, weaks, strict=True)]
        self.last_use: dict[Value, int] = {}
        for i, (op, _) in enumerate(self.steps):
            for v in op.operands:
                self.last_use[v] = i
        for v in self.returns:
            self.last_use[v] = len(self.steps)

    def run(self, args: Sequence[Any], committed: bool = False) -> list[Any]:
        """Run on arrays, as a `Compiled` does; an intermediate value lives until its last use."""
        env = dict(self.literals)
        env.update(zip(self.params, map(self.here, args), strict=True))
        last_use = self.last_use
        for i, (op, unit) in enumerate(self.steps):
            results = unit.run([env[v] for v in op.operands], watched=False)
            env.update(zip(op.results, results, strict=True))
            for v in op.operands:
                if last_use[v] == i:
                    env.pop(v, None)
        if debug_nans.value or debug_infs.value:
            check_numbers([x for x in map(env.get, self.returns) if type(x) is not KeyArray])
        return [returned(env[v], w, committed)
                for v, (_, w) in zip(self.returns, self.out_types, strict=True)]

    def here(self, x: Any) -> Any:
        """An argument as an array (or key array) at the place of the program."""
        if type(x) is KeyArray:
            return key_array(x.dtype.ir, self.place.bring(x))
        return self.place.bring(x)


def returned(x: Any, weak: bool, committed: bool) -> Any:
    """An array or key array with this weakness and commitment."""
    if type(x) is KeyArray:
        return key_array(x.dtype.ir, returned(x._base, False, committed))
    if x.aval.weak_type == weak and x._committed == committed:
        return x
    return binding.rewrap(x, weak=weak, committed=committed)


_FILLED: dict[tuple[Literal, tuple[int, ...], Placement], Any] = {}


def filled(op: Op, place: Placement) -> Any:
    """The array of a literal op, put there without a program; recent ones are kept."""
    key = (op.attrs["value"], op.attrs["shape"], place)
    found = _FILLED.get(key)
    if found is None:
        if len(_FILLED) > 1024:
            _FILLED.clear()
        value, shape, _ = key
        found = _FILLED[key] = place.bring(np.broadcast_to(value.array, shape))
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
    b = Builder(definition.name)
    made = b.emit(definition, *[b.param(t) for t in types], **attrs)
    returns = (made,) if definition.single else made
    return b.close(returns, weaks)


_OPS: dict[Any, Compiled] = {}


def run_op(definition: OpDef, operands: Sequence[Any], attrs: dict[str, Any]) -> Any:
    """Run one op now, on arrays."""
    arrays = [to_array(x) for x in operands]
    types, weaks = zip(*map(type_of, arrays), strict=True) if arrays else ((), ())
    place, committed = placement(arrays, definition.name)
    try:
        key = (place, definition, types, weaks, tuple(attrs.items()))
        found = _OPS.get(key)
    except TypeError:
        key, found = None, None
    if definition is ops.callback:               # the key would keep its host function
        key = None
    if found is None:
        outs = single_op(definition, types, attrs).returns
        weak = definition.single and bool(types) and all(weaks) \
            and outs[0].type.dtype is types[0].dtype
        function = single_op(definition, types, attrs, (weak,) * len(outs))
        found = compile_body(function, name=definition.name, place=place)
        if key is not None:
            _OPS[key] = found
    if watching.is_on():
        function = single_op(definition, types, attrs)
        results = watching.run(definition.name, function, arrays, False,
                               lambda: found.run(arrays, committed))
    else:
        results = found.run(arrays, committed)
    return results[0] if definition.single else results


TABLES: list[Callable[[], None]] = []
"""What empties the tables of programs that other files have."""


def clear() -> None:
    """Forget every program of this process, and every trace (those on disk stay)."""
    binding.clear_pjit_caches()
    for table in (_ENTRIES, _UNITS, _OPS, _CONSTANTS, _FILLED):
        table.clear()
    for empty in TABLES:
        empty()


__all__ = ["Compiled", "State", "bind", "call_program", "clear", "compile_body", "find", "run_op",
           "to_array"]
