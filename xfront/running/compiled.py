"""One compiled program, the code that feeds it and wraps its results, and programs of one op.

`clear` empties all tables of programs; modules that keep such a table register it in `TABLES`.
"""

# hot: benchmarks/call.py

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

import lowering
import numpy as np
from lowering.topologies import is_described
from xfront_ir import ops
from xfront_ir.analysis import belongs_to_process
from xfront_ir.core import Function, Op, forced
from xfront_ir.definition import OpDef
from xfront_ir.fingerprint import fingerprint
from xfront_ir.literal import Literal
from xfront_ir.opdef import Pending
from xfront_ir.passes.pipeline import simplify
from xfront_ir.placed_builder import PlacedBuilder
from xfront_ir.types import TensorType

from .. import binding
from ..base.collector import uncollected
from ..base.config import (
    debug_infs,
    debug_nans,
    enable_checks,
    no_execution,
    when_compiled_otherwise,
)
from ..tracing import watching
from ..tracing.trace import type_of
from ..values.keys import KeyArray, key_array
from . import by_numpy, launching, notes, pacing
from .capacity import capacity
from .host import host_functions, slots_in
from .placement import Placement

Body = Function | Pending
K = TypeVar("K")


class Compiled:
    """An executable with the facts needed to feed it and to wrap its results.

    `kept[i]` says whether the executable takes argument i; `out_types` has the IR type and weakness
    of each result; `place` is where it runs. `ins` are the shardings of all arguments, whether kept
    or not, `in_shardings` those of the kept ones, and `out_shardings` those of the results. By
    default each is the sharding of `place`.
    """

    __slots__ = ("executable", "handlers", "host_free", "in_shardings", "ins", "keys", "kept",
                 "noted", "out_avals", "out_shardings", "out_types", "place", "taken")

    def __init__(self, executable: Any, kept: Sequence[bool],
                 out_types: Sequence[tuple[TensorType, bool]], place: Placement,
                 ins: Sequence[Any] | None = None, outs: Sequence[Any] | None = None,
                 noted: bool = False) -> None:
        self.executable, self.kept, self.place = executable, tuple(kept), place
        self.noted = noted                       # found by a note: no Python is part of it
        self.taken = [i for i, k in enumerate(kept) if k]
        self.out_types = tuple(out_types)
        self.keys = [i for i, (t, _) in enumerate(out_types) if t.dtype.is_key]
        self.host_free = executable is None or not executable.has_callbacks
        home = place.sharding
        self.ins = [home] * len(self.kept) if ins is None else [s or home for s in ins]
        self.in_shardings = [self.ins[i] for i in self.taken]
        self.out_shardings = [home] * len(self.out_types) if outs is None else [*outs]
        self.out_avals = [
            binding.AbstractArray((*t.shape, *t.dtype.physical), t.dtype.numpy, w).placed(s)
            for (t, w), s in zip(self.out_types, self.out_shardings, strict=True)]
        self.handlers = [[binding.result_handler(a, s, committed) for a, s in
                          zip(self.out_avals, self.out_shardings, strict=True)]
                         for committed in (False, True)]

    def shardings_of_arguments(self, n: int) -> list[Any]:
        """The sharding in which each of the last n arguments must be, kept or not."""
        return self.ins[len(self.ins) - n:]

    def placed(self, values: Sequence[Any]) -> list[Any]:
        """The first arguments, moved to where the program takes them; unchanged if its devices are
        only described and not present. Raises: as `Placement.bring`."""
        if is_described(self.place.devices[0]):
            return list(values)
        bring = self.place.bring
        return [bring(x, s) if k else x
                for x, s, k in zip(values, self.ins, self.kept, strict=False)]

    def brought(self, buffers: list[Any]) -> None:
        """Move the kept arguments where the program takes them; changes the list in place."""
        for i, wanted in enumerate(self.in_shardings):
            x = buffers[i]
            if type(x) is not binding.ArrayImpl or x._sharding is not wanted:
                buffers[i] = self.place.bring(x, wanted)
            elif x.is_deleted():                 # the runtime would also write to stderr
                self.refuse_deleted(buffers)

    @property
    def fast(self) -> bool:
        """Whether C++ may run it alone: no op calls the host and no option watches its values."""
        return self.host_free and not watching.is_on()

    @property
    def settled(self) -> bool:
        """Whether later runs take the same path. If not, C++ must not remember how to run it."""
        return True

    @property
    def name(self) -> str:
        """The program's name in messages."""
        return self.executable.name

    def run(self, args: Sequence[Any], committed: bool = False, watched: bool = True) -> list[Any]:
        """Run the program.

        Args:
          args: arrays on any devices, key arrays, and NumPy values.
          committed: whether the results are committed to their devices.
          watched: whether options such as debug_nans look at the numbers of the results.
        Returns: a list of arrays and key arrays.
        Raises: RuntimeError where an argument was deleted, or the option no_execution is set;
          FloatingPointError where the options refuse a number.
        """
        if _no_execution.value:
            raise RuntimeError(f"tried to execute {self.name}, but the no_execution "
                               "config option is set")
        buffers = [args[i] for i in self.taken]
        try:
            self.brought(buffers)
            results = self.executed(buffers, committed)
        except (RuntimeError, ValueError) as e:
            self.refuse_deleted(buffers)
            named = binding.of_processes(e)
            if named is e:
                raise
            raise named from None
        if watched and (_nans.value or _infs.value):
            check_numbers(results)
        for i in self.keys:
            results[i] = key_array(self.out_types[i][0].dtype, results[i])
        return results

    def executed(self, buffers: list[Any], committed: bool) -> list[Any]:
        """The results as arrays, a key array as that of its words. `buffers` are the kept
        arguments, already moved to where the program takes them."""
        return self.executable.execute(buffers, self.handlers[committed])

    def refuse_deleted(self, buffers: Sequence[Any]) -> None:
        """Raise a RuntimeError that names the deleted arrays; return where none is deleted."""
        gone = [f"number {i}, of type {type_of(x)[0]}" for i, x in enumerate(buffers)
                if isinstance(x, binding.Array) and x.is_deleted()]
        if gone:
            raise RuntimeError(
                f"Array has been deleted: {self.name} reads {len(gone)} of "
                f"{len(buffers)} arrays that are no longer there ({'; '.join(gone)}). An argument "
                "named in donate_argnums or donate_argnames gives its memory to the results of the "
                "call: use those results, or do not donate the argument.") from None


class FirstRuns(Compiled):
    """A small un-jitted program. NumPy computes the results of its first runs by `first`; then it
    is compiled."""

    __slots__ = ("first", "function", "left", "named")

    def __init__(self, first: Function, function: Function, name: str, kept: Sequence[bool],
                 out_types: Sequence[tuple[TensorType, bool]], place: Placement) -> None:
        super().__init__(None, kept, out_types, place)
        self.first, self.function, self.named = first, function, name
        self.left = by_numpy.RUNS

    @property
    def settled(self) -> bool:
        """Whether it is compiled."""
        return self.executable is not None

    @property
    def name(self) -> str:
        """As `Compiled.name`."""
        return self.named

    @property
    def fast(self) -> bool:
        """As `Compiled.fast`, once the program is compiled."""
        return self.executable is not None and super().fast

    def executed(self, buffers: list[Any], committed: bool) -> list[Any]:
        """As `Compiled.executed`, by NumPy for the first few times."""
        if self.executable is None:
            if self.left > 0:
                self.left -= 1
                values = by_numpy.results(self.first, buffers)
                if values is not None:
                    return by_numpy.put(values, self.out_avals, self.place.sharding, committed)
            self.executable = executable_of(     # if two threads make it, either serves
                self.function, name=self.named, devices=self.place.devices, effort="eager")
        return super().executed(buffers, committed)


class FirstDraws(FirstRuns):
    """A small draw of random numbers. Its first runs draw more numbers than it needs with `first`,
    a program that draws of all shapes share, and keep the first ones; then it is compiled."""

    __slots__ = ()

    def executed(self, buffers: list[Any], committed: bool) -> list[Any]:
        """As `Compiled.executed`, by the longer draw for the first few times."""
        if self.executable is not None or self.left <= 0:
            return super().executed(buffers, committed)
        self.left -= 1
        key = self.place, fingerprint(self.first)
        found = _DRAWS.get(key)
        if found is None:
            made = executable_of(self.first, name=self.named, devices=self.place.devices,
                                 effort="eager")
            found = _DRAWS[key] = Compiled(
                made, self.kept, [(self.first.returns[0].type, False)], self.place)
        (drawn,) = found.executed(buffers, False)
        return [by_numpy.first_of(drawn, self.out_avals[0], self.place.sharding, committed)]


_DRAWS: dict[Any, Compiled] = {}


class SpreadProgram(Compiled):
    """A program on several devices: each argument and each result has its own sharding."""

    __slots__ = ("paced", "partners", "takes_turns")

    place: Any

    def __init__(self, executable: Any, kept: Sequence[bool],
                 out_types: Sequence[tuple[TensorType, bool]], place: Any, ins: Sequence[Any]
                 ) -> None:
        super().__init__(executable, kept, out_types, place, ins,
                         place.results(executable, out_types))
        self.handlers = [self.handlers[True]] * 2     # results are always committed
        self.host_free &= place.is_of_one_process     # else C++ raises errors without names
        self.partners = () if place.is_of_one_process else tuple(
            {d.process_index for d in place.devices})
        self.paced = pacing.begin(executable)
        self.takes_turns = launching.needs_turn(executable.devices)

    @property
    def fast(self) -> bool:
        """As `Compiled.fast`; where several threads run such programs, Python begins them."""
        return (not self.takes_turns or launching.is_free()) and super().fast

    def run(self, args: Sequence[Any], committed: bool = False, watched: bool = True) -> list[Any]:
        """As `Compiled.run`; where devices share few threads, it waits for every few programs.

        Raises: RuntimeError, too, in a host function of such a program.
        """
        if len(self.executable.devices) > 1:
            launching.refuse_held(self.executable.name)
        if self.partners:
            binding.begins_with(self.partners)
        if not self.takes_turns:
            return super().run(args, committed, watched)
        with launching.turn:
            results = super().run(args, committed, watched)
            if self.paced:
                pacing.begun(results)
        return results


_nans, _infs, _no_execution = debug_nans.state, debug_infs.state, no_execution.state


def check_numbers(results: Sequence[Any]) -> None:
    """Raise FloatingPointError for NaN or infinity among results, where the options ask for it."""
    for x in results:
        if (what := watching.bad(x)) is not None:
            raise FloatingPointError(f"invalid value ({what}) encountered in a result of type "
                                     f"{x.dtype.name}{list(x.shape)}; this error is raised because "
                                     f"the option jax_debug_{what}s is set")


def to_array(x: Any) -> Any:
    """An array (or key array) made from an argument of a front door."""
    if type(x) is binding.ArrayImpl or type(x) is KeyArray:
        return x
    return binding.put(x, weak=type(x) in (int, float, complex), copy=True)


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
        capacity.made(clear)
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
    if effort == "eager" and not (donated or options or keep_unused) and _is_alone(place):
        if (first := by_numpy.computed(pruned)) is not None:
            return FirstRuns(first, pruned, name, kept, out_types, place)
        if (longer := by_numpy.draw_of_all_shapes(pruned)) is not None:
            return FirstDraws(longer, pruned, name, kept, out_types, place)
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


@uncollected
def executable_of(function: Function, *, name: str, **request: Any) -> Any:
    """The executable of a Function that is simplified and reads all of its parameters."""
    start = perf_counter()
    print_ = None if belongs_to_process(function) else fingerprint(function)
    lowered: list[float] = []
    executable = lowering.compile_function(function, name=name, fingerprint=print_,
                                           on_lowered=lowered.append, **request)
    watching.compiled(name, function, lowered[0] if lowered else None,
                      perf_counter() - start - sum(lowered))
    capacity.made(clear)
    return executable


def _is_alone(place: Placement) -> bool:
    """Whether the first runs of a program may do without compiling it: it runs on one device of a
    CPU, and no option logs, dumps or checks programs when they are compiled."""
    if type(place) is not Placement or binding.guarded:
        return False
    from lowering import clients, dump  # with the first program, not with the library

    return (clients.platform_of(place.devices[0]) == "cpu" and not watching.is_heard()
            and not dump.is_on())


# --- programs of one op -------------------------------------------------------------------

_FILLED: dict[tuple[Literal, tuple[int, ...], Placement], Any] = {}


def filled(op: Op, place: Placement, kept: bool = True) -> Any:
    """The array of a literal op at `place`, made without a program. Recent ones are kept and
    returned again; with `kept` False the array is a new one, which the user may donate."""
    if not kept:
        return place.bring(np.broadcast_to(op.attrs["value"].array, op.attrs["shape"]))
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
    b = PlacedBuilder(definition.name)
    made = b.emit(definition, *[b.param(t) for t in types], **attrs)
    returns = (made,) if definition.single else made
    return b.close(returns, weaks)


# --- forgetting ---------------------------------------------------------------------------

TABLES: list[Callable[[], None]] = []
"""Functions that empty the tables of programs in other files."""


def living(held: WeakKeyDictionary[K, Any]) -> list[K]:
    """The keys that are alive, though other threads may add some meanwhile."""
    return [x for ref in held.keyrefs() if (x := ref()) is not None]


def clear() -> None:
    """Forget every program of this process, and every trace (those on disk stay)."""
    binding.clear_pjit_caches()
    _UNITS.clear()
    _DRAWS.clear()
    _FILLED.clear()
    for empty in TABLES:
        empty()


when_compiled_otherwise(clear)
