"""One compiled program: the code that makes its executable, feeds it and wraps its results."""

# hot: benchmarks/call.py

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter
from typing import Any

import lowering
from lowering.topologies import is_described
from xfront_ir.analysis import belongs_to_process
from xfront_ir.core import Function
from xfront_ir.fingerprint import fingerprint
from xfront_ir.opdef import Pending
from xfront_ir.types import TensorType

from .. import binding
from ..base.collector import uncollected
from ..base.config import debug_infs, debug_nans, no_execution
from ..tracing import watching
from ..tracing.trace import type_of
from ..values.keys import KeyArray, key_array
from . import launching, pacing
from .capacity import capacity
from .keys import clear
from .placement import Placement

Body = Function | Pending
OutTypes = Sequence[tuple[TensorType, bool]]
"""The type and weakness of each result."""


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
                 out_types: OutTypes, place: Placement,
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
    def is_final(self) -> bool:
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


class SpreadProgram(Compiled):
    """A program on several devices: each argument and each result has its own sharding."""

    __slots__ = ("paced", "partners", "takes_turns")

    place: Any

    def __init__(self, executable: Any, kept: Sequence[bool],
                 out_types: OutTypes, place: Any, ins: Sequence[Any]
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
    capacity.count_program(clear)
    return executable
