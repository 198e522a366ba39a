"""Traces: where operations on tracers are recorded.

A trace is *staging* (jit, bodies of control flow: everything executed while it is innermost is
recorded) or *transforming* (grad, jvp, vmap: only operations on its own tracers are). An operation
goes to the deepest among the traces of its operands and the current one. Tracers of outer traces
and arrays that it reads become parameters of that trace: nesting is closure conversion.

`state.current` is the trace for operations without tracers: the innermost staging trace, or the
trace for which a library function's body runs, or None where they run at once.
"""

# hot: benchmarks/trace.py

from __future__ import annotations

import gc
import sys
import threading
from collections.abc import Callable, Collection, Sequence
from math import copysign
from time import perf_counter
from typing import Any

import numpy as np
from xfront_ir import dtypes
from xfront_ir.analysis import axis_names
from xfront_ir.core import NO_ATTRS, Function, Op, Value
from xfront_ir.definition import OpDef, lookup
from xfront_ir.dtypes import DType
from xfront_ir.literal import MAX_LITERAL_BYTES, Literal, literal
from xfront_ir.locations import LIBRARY_FILES, USER_FILES, Location
from xfront_ir.locations import capture as capture_location
from xfront_ir.opdef import Pending, type_of_alike
from xfront_ir.placed_builder import PlacedBuilder
from xfront_ir.types import TensorType, tensor

from .. import binding
from ..base import monitoring
from ..base.config import check_tracer_leaks, enable_checks, log_compiles, no_tracing
from ..base.config import staging as staging_state
from ..base.errors import UnexpectedTracerError
from ..values.keys import KeyArray
from ..values.refs import REFS, Ref, is_traced
from . import watching
from .following import Following, followed
from .regions import open_regions
from .tracer import Tracer

WEAK_KINDS = frozenset((int, float, complex))
"""Python numbers: their dtype gives way in promotion."""


def is_number(x: Any) -> bool:
    """Whether `x` is a number of Python, of a class derived from these too, such as an enum."""
    return isinstance(x, (int, float, complex)) and not isinstance(x, (bool, np.generic))


def plain_number(x: Any) -> Any:
    """A number of Python in its own class: the member of an `IntEnum` as an int."""
    kind: Any = int if isinstance(x, int) else float if isinstance(x, float) else complex
    return kind(x)


class State(threading.local):
    """What this thread is tracing: the stack of open traces, and the scope and place of new ops."""

    def __init__(self) -> None:
        self.current: Trace | None = None
        self.stack: list[Trace] = []
        self.scope: tuple[str, ...] = ()
        self.place: Location | None = None     # the user's line of the library call that runs
        self.axes: tuple[tuple[Any, int], ...] = ()
        self.out_sharding_given = False        # whether `out_sharding` was given to that call
        self.asked = 0                         # how often Python asked for a tracer's value

    def __reduce__(self) -> str:
        return "state"                           # functions that read it are pickled by content


state = State()


class Recorder(PlacedBuilder):
    """The builder of a trace. It refuses an op if it is ambiguous which explicit axes divide the
    results, unless the user gave `out_sharding`."""

    __slots__ = ()

    @property
    def strict(self) -> bool:  # type: ignore[override]
        """Whether such an op is refused here."""
        return not state.out_sharding_given


class Trace:
    """One open trace: a builder, and the values that it captured from outside."""

    __slots__ = ("axis", "builder", "captured", "closed", "constants", "evaluated", "firsts",
                 "following", "given", "has_refs", "inputs", "kind", "known", "level", "of_rule",
                 "reached", "sources", "staging", "started_at", "thread")

    def __init__(self, name: str, kind: str, *, staging: bool, level: int,
                 axis: tuple[Any, int] | None = None) -> None:
        self.builder = Recorder(name)
        self.kind, self.staging, self.level, self.axis = kind, staging, level, axis
        self.captured: dict[Any, Tracer] = {}
        self.firsts: dict[Any, Any] = {}          # the first source that was captured of each value
        self.sources: list[Any] = []              # the captured values, in order, kept alive
        self.constants: dict[Any, Value] = {}     # the literals that were recorded here, by key
        self.inputs: list[Any] | None = None      # the concrete arguments, where they are known
        self.known = False                        # whether inputs are known, here and further out
        self.of_rule: bool | None = None          # True in a custom rule, False in its function
        self.evaluated: dict[Value, Any] = {}
        self.closed = False
        self.has_refs = False                     # whether references are among its values
        self.following: Following | None = None   # finds over which axes its values vary
        self.given: Sequence[Any] | None = None   # the outer values of parameters, unless staging
        self.reached: Any = None                  # finds which derivatives reach its values
        self.started_at: Any = None
        self.thread = threading.get_ident()

    def parameters(self, types: Sequence[TensorType], weaks: Sequence[bool], names: Sequence[str]
                   ) -> list[Tracer]:
        """Set the first parameters of the trace, and return their tracers."""
        builder, params = self.builder, [Value(t) for t in types]
        builder.params, builder.weak_params = params, list(weaks)
        builder.param_names = list(names) if names else [""] * len(params)
        return [Tracer(self, v, w) for v, w in zip(params, weaks, strict=True)]

    @property
    def differentiates(self) -> bool:
        """Whether a derivative by its parameters is taken."""
        return self.inputs is not None and self.of_rule is None

    @property
    def main(self) -> Trace:
        """The identity of the trace: the trace itself."""
        return self

    # --- values from outside ----------------------------------------------------------

    def capture(self, source: Any) -> Tracer:
        """The tracer of this trace for an outer tracer or an array, which becomes a parameter.

        Raises: UnexpectedTracerError for a tracer whose trace has ended or is not an outer one.
        """
        if type(source) is Tracer:
            outer = source.home
            if outer is self:
                return source
            if outer.closed or outer.level >= self.level or outer.thread != self.thread:
                raise leak_error(source)
            key: Any = source.value
        else:
            key = id(source)
        found = self.captured.get(key)
        if found is not None and self.firsts[key] is not source and _is_literal(source):
            key = id(source)                     # equal numbers share a literal, but not tracers
            found = self.captured.get(key)
        if found is None:
            ir_type, weak = type_of(source)
            found = Tracer(self, self.builder.param(ir_type, "", weak), weak)
            if ir_type.dtype.is_ref:
                self.has_refs = True
            self.captured[key] = found
            self.firsts[key] = source
            self.sources.append(source)
        return found

    def literal(self, array: Any, shape: tuple[int, ...], weak: bool = False) -> Tracer:
        """A tracer of a known scalar or small array, or a Literal, broadcast to `shape`."""
        data = array if type(array) is Literal else Literal(array)
        key = (data.key, shape)
        value = self.constants.get(key)
        if value is None:
            builder = self.builder
            builder.loc = state.place or capture_location(state.scope, 2)
            value = self.constants[key] = builder.add(literal, (), {"value": data, "shape": shape})
        return Tracer(self, value, weak)

    def number(self, y: Any, type_: TensorType, place: Location | None = None
               ) -> Value:
        """A literal of type `type_` with a Python number in every element.

        Equal numbers share one literal.

        Args:
          y: the number.
          type_: type of the literal.
          place: the user's line, if it is known already.
        Raises: OverflowError, as `scalar` does.
        """
        if type(y) is complex:                   # 0.0 and -0.0 are equal, and differ here
            key: Any = (type_, y, copysign(1.0, y.real), copysign(1.0, y.imag))
        else:
            key = (type_, type(y), y) if y else (type_, type(y), y, copysign(1.0, y))
        constants = self.constants
        value = constants.get(key)
        if value is None:
            anywhere = (key, binding.x64_state.value)
            attrs = _NUMBERS.get(anywhere)
            if attrs is None:
                if len(_NUMBERS) >= MOST_NUMBERS:
                    _NUMBERS.clear()
                attrs = _NUMBERS[anywhere] = {"value": Literal(scalar(y, type_.dtype)),
                                              "shape": type_.shape}
            same = (attrs["value"].key, type_.shape)
            value = constants.get(same)
            if value is None:
                builder = self.builder
                builder.loc = place or state.place or capture_location(state.scope, 2)
                value = constants[same] = builder.append(literal, (), attrs, type_)
            constants[key] = value
        return value

    def lift(self, x: Any) -> Tracer:
        """The tracer of this trace for a tracer, an Array, a reference, a NumPy array or a number.
        """
        kind = type(x)
        if kind is Tracer:
            return x if x.home is self else self.capture(x)
        if kind is binding.ArrayImpl or kind is KeyArray:
            return self.capture(x)
        if kind in REFS:
            source = used_as(x)
            return source if type(source) is Tracer and source.home is self else (
                self.capture(source))
        array = binding.host_array(x)
        if array.nbytes <= MAX_LITERAL_BYTES:
            return self.literal(array, array.shape, kind in WEAK_KINDS or is_number(x))
        return self.capture(binding.put(array, copy=True))


def _is_literal(source: Any) -> bool:
    """Whether a tracer's value is a literal of its trace."""
    return type(source) is Tracer and any(
        [v is source.value for v in source.home.constants.values()])


def used_as(ref: Ref) -> Any:
    """The tracer for a reference in the innermost open trace that captured it, else itself."""
    source: Any = ref.held if is_traced(ref) else ref
    for trace in state.stack:
        key = id(source) if source is ref else source.value
        source = trace.captured.get(key, source)
    return source


MOST_NUMBERS = 4096
_NUMBERS: dict[Any, dict[str, Any]] = {}
"""The attributes of literals of Python numbers, shared by all traces."""


def scalar(x: Any, dtype: DType) -> np.ndarray:
    """A Python number in a dtype; integers too wide for a narrow dtype wrap around.

    Raises: OverflowError where an integer does not fit the default integer.
    """
    numpy = dtype.numpy
    if type(x) is int:
        try:
            return np.asarray(x, numpy)
        except OverflowError:
            return binding.host_array(x).astype(numpy)
    return np.asarray(x, numpy)


def type_of(x: Any) -> tuple[TensorType, bool]:
    """IR type and weakness of a tracer or a concrete array."""
    if type(x) is Tracer:
        return x.value.type, x.weak
    if type(x) is KeyArray:
        return x.ir_type, False
    aval = x.aval
    return aval.ir or tensor(aval.shape, dtypes.from_numpy(aval.dtype)), aval.weak_type


def leak_error(tracer: Tracer) -> UnexpectedTracerError:
    """The error for a tracer that is used outside the trace that made it."""
    trace = tracer.home
    made = next((op.loc for op in trace.builder.ops if tracer.value in op.results),
                trace.started_at)
    here = capture_location((), 2)
    why = ("its trace has ended" if trace.closed else
           "its trace belongs to another thread" if trace.thread != threading.get_ident() else
           "its trace is nested inside the trace that uses it")
    return UnexpectedTracerError(
        f"a tracer of type {tracer.value.type} escaped from a function transformed by "
        f"{trace.kind} (@{trace.builder.name}) and is used at {here}, but {why}.\n"
        f"It was made at {made}. Return the value from the transformed function instead of "
        "storing it in a global, an attribute or a closure. Under xfront.checking_leaks() the "
        "error is raised where the function ends.")


# --- recording ----------------------------------------------------------------------------

_runs_op: list[Callable[[OpDef, Sequence[Any], dict[str, Any]], Any]] = []


def ops_run_by(run: Callable[[OpDef, Sequence[Any], dict[str, Any]], Any]) -> None:
    """Have `run(definition, operands, attrs)` called for an op that no trace records."""
    _runs_op[:] = [run]


def emit(definition: OpDef, *operands: Any, **attrs: Any) -> Any:
    """Record one op, or run it where no trace is concerned, and return tracers or arrays.

    Operands are tracers, arrays or NumPy values of types that the op's rule accepts unchanged. A
    single result is weakly typed where all operands are and it has the dtype of the first.
    """
    target = state.current
    for x in operands:
        if type(x) is Tracer:
            trace = x.home
            if target is None or trace.level > target.level:
                target = trace
    if definition.mentions_axis is not None:
        target = binder_of(definition.mentions_axis(attrs), target)
    elif definition.has_bodies and state.axes:
        target = binder_of(_names_in(definition, attrs), target)
    if target is None:
        if not operands and state.stack:
            target = state.stack[-1]           # an iota becomes part of a transforming trace too
        else:
            return _runs_op[0](definition, operands, attrs)
    if target.closed:
        raise leak_error(next(x for x in operands if type(x) is Tracer and x.home is target))
    values = []
    weak = bool(operands)
    for x in operands:
        if type(x) is not Tracer or x.home is not target:
            x = target.lift(x)
        values.append(x.value)
        weak = weak and x.weak
    builder = target.builder
    builder.loc = state.place or capture_location(state.scope, 2)
    made = builder.add(definition, tuple(values), attrs)
    if definition.single:
        return Tracer(target, made, weak and made.type.dtype is values[0].type.dtype)
    return [Tracer(target, v, False) for v in made]


def pcast(x: Any, names: Collection[str]) -> Any:
    """`x`, cast to vary over those of `names` that are bound here."""
    axes = [(a, n) for a, n in state.axes if a in names]
    return emit(lookup("pcast"), x, axes=tuple([a for a, _ in axes]),
                sizes=tuple([n for _, n in axes]))


def is_open(trace: Trace) -> bool:
    """Whether an op whose operands are all tracers of `trace` is recorded there."""
    around = state.current
    return not trace.closed and (around is trace or around is None or around.level <= trace.level)


def emit_alike(definition: OpDef, x: Tracer, y: Any = None) -> Tracer:
    """As `emit`, for an elementwise op without attributes.

    Args:
      definition: definition of an op with one operand, or with two where `y` is given.
      x: the first operand.
      y: the second operand: a tracer of the same trace, type and weakness, or a Python number that
        takes the type and weakness of `x`.
    """
    home, around = x.home, state.current
    if home.closed or (around is not home and around is not None and around.level > home.level):
        return _emit_elsewhere(definition, x, y)
    value = x.value
    kind = value.type
    found = definition.alike.get(kind) or type_of_alike(definition, kind)
    place = state.place
    if place is None:
        frame = _frame(2)
        code = frame.f_code
        if code.co_filename in LIBRARY_FILES:    # an operator
            frame = frame.f_back or frame
            code = frame.f_code
        if code.co_filename in USER_FILES:
            place = _new(Location)
            place.code, place.lasti, place.scope = code, frame.f_lasti, state.scope
        else:
            place = capture_location(state.scope, 3)
    if y is None:
        operands = (value,)
    elif type(y) is Tracer:
        operands = (value, y.value)
    else:
        if kind.sharding is not None and kind.sharding.spec.unreduced:   # y itself is whole
            return emit(definition, x, Tracer(home, home.number(y, kind.plain, place), x.weak))
        operands = (value, home.constants.get((kind, type(y), y)) or home.number(y, kind, place))
    made, op, tracer = _new(Value), _new(Op), _new_tracer(Tracer)
    made.type = found
    op.definition, op.operands, op.attrs = definition, operands, NO_ATTRS
    op.results, op.loc = (made,), place
    home.builder.ops.append(op)
    tracer.home, tracer.value, tracer.weak = home, made, x.weak and found.dtype is kind.dtype
    return tracer


_frame, _new, _new_tracer = sys._getframe, object.__new__, Tracer.__new__
"""The objects of each op get their attributes in `emit_alike`: a call of `__init__` takes longer
than all the rest."""


def _emit_elsewhere(definition: OpDef, x: Tracer, y: Any) -> Tracer:
    """`emit_alike` where the op is not recorded in the trace of `x`."""
    if x.home.closed:
        raise leak_error(x)
    if y is None:
        return emit(definition, x)
    if type(y) is not Tracer:
        target = state.current
        assert target is not None                # a deeper trace is current, or x would be recorded
        y = Tracer(target, target.number(y, x.value.type.plain), x.weak)
    return emit(definition, x, y)


def _names_in(definition: OpDef, attrs: dict[str, Any]) -> set[Any]:
    """The named axes that the bodies of an op read."""
    found: set[Any] = set()
    for key in definition.body_attrs:
        held = attrs.get(key)
        for body in held if type(held) is tuple else () if held is None else (held,):
            found |= axis_names(body.function if type(body) is Pending else body)
    return found


def binder_of(names: Collection[Any], target: Trace | None) -> Trace | None:
    """The deeper of `target` and the traces that bind the axis names."""
    for trace in state.stack:
        if trace.axis is not None and trace.axis[0] in names and (
                target is None or trace.level > target.level):
            target = trace
    return target


# --- opening and closing ------------------------------------------------------------------

class Recorded:
    """A closed trace: its Function, and the captured tracers and arrays for its last parameters."""

    __slots__ = ("captures", "function", "trace")

    def __init__(self, function: Function, captures: list[Any], trace: Trace) -> None:
        self.function, self.captures, self.trace = function, captures, trace


def trace_function(run: Callable[[list[Tracer]], Sequence[Any]], types: Sequence[TensorType],
                   weaks: Sequence[bool], *, name: str, kind: str, staging: bool,
                   param_names: Sequence[str] = (), axis: tuple[Any, int] | None = None,
                   inputs: list[Any] | None = None, origins: Sequence[Any] | None = None,
                   of_rule: bool | None = None, reached: Sequence[int] = ()) -> Recorded:
    """Run Python once on tracers of `types`, and close the recorded Function.

    Args:
      run: function from the tracers to flat outputs (tracers, arrays, numbers).
      types, weaks: type and weakness of each parameter.
      name: name of the Function.
      kind: the transformation as users call it, for errors.
      staging: whether operations without tracers are recorded too.
      param_names: a name for each parameter; empty for none.
      axis: (name, size) of an axis that is bound while `run` runs, or None.
      inputs: concrete values of the parameters, where Python may read them, or None.
      origins: for each parameter the value outside for which it stands, or the axes of
        `shard_map`s over which it varies; None where neither is known.
      of_rule: True for a rule of a custom derivative, False for the function that has the rule.
      reached: for each parameter of such a rule, by which derivatives further out it is reached.
    """
    if _no_tracing.value:
        watching.refuse_tracing(name, kind)
    start = perf_counter()
    stack = state.stack
    outer_current, outer_axes, outer_scope = state.current, state.axes, state.scope
    outer_place = state.place
    outermost = not stack
    trace = Trace(name, kind, staging=staging, level=len(stack) + 1, axis=axis)
    trace.started_at = capture_location(outer_scope, 2)
    tracers = trace.parameters(types, weaks, param_names)
    if open_regions.regions:
        trace.following = followed(trace, stack[-1] if stack else None, origins, len(types))
    if of_rule or not staging:
        trace.given = (reached if of_rule else () if outermost or of_rule is False else
                       _kept(origins or ()))
    if inputs is not None:
        trace.inputs, trace.of_rule = inputs, of_rule
        trace.known = all([type(x) is not Tracer or x.home.known for x in inputs])
    collecting = outermost and gc.isenabled()
    bit = staging_state
    outer_bit = bit.value
    deep, depth = trace.level > DEEP, len(stack)
    if deep:
        make_room(trace.level, name)
    try:
        if collecting:
            gc.disable()
        state.place = None
        stack.append(trace)
        if staging:
            state.current = trace
            bit.set_local(True)
        elif axis is not None and type(axis[0]) is not tuple:   # a tuple: vmap without a name
            state.axes = (*outer_axes, axis)
        outputs = [x if type(x) is Tracer and x.home is trace else trace.lift(x)
                   for x in run(tracers)]
    finally:
        # KeyboardInterrupt is raised where a call returns, so the state is restored before any call
        del stack[depth:]
        state.current, state.axes, state.scope = outer_current, outer_axes, outer_scope
        state.place, trace.closed = outer_place, True
        try:
            if staging and not outer_bit:
                bit.set_local(False)
            trace.captured.clear()               # these tracers hold the trace: a cycle
            trace.firsts = {}
        finally:
            if collecting:
                gc.enable()
            if deep:
                give_back()
    if collecting and len(trace.builder.ops) > 10_000:
        gc.collect(0)
    function = trace.builder.close([t.value for t in outputs], [t.weak for t in outputs])
    del outputs, tracers
    if trace.has_refs and not any([v.type.dtype.is_ref for v in function.params]):
        from xfront_ir.passes.discharge import discharge  # few programs have references

        function, _ = discharge(function)
    if _logs.value or _checks.value or _leaks.value or _hearers:
        watching.traced(trace, function, perf_counter() - start, outer_current is None)
    return Recorded(function, trace.sources, trace)


def _kept(origins: Sequence[Any]) -> list[Tracer | None]:
    """The tracers for which parameters stand; a trace keeps no arrays alive."""
    kept: list[Tracer | None] = []
    for x in origins:                            # a comprehension is one more call before 3.12
        kept.append(x if type(x) is Tracer else None)
    return kept


_no_tracing, _logs = no_tracing.state, log_compiles.state
_checks, _leaks = enable_checks.state, check_tracer_leaks.state
_hearers = monitoring.hears_durations
DEEP = 30
FRAMES_A_LEVEL = 16
MOST_LEVELS = 300 if sys.version_info[:2] == (3, 12) else 1600
"""CPython 3.12 counts calls of C apart, up to a number that no setting changes: about 370 levels.
"""
BYTES_A_LEVEL = 4800
"""Bytes of the thread's stack that a level takes; an overflow inside C++ ends the process."""

THREAD_STACK = 2 << 20
"""Size in bytes of a thread's stack where that of the process has no limit (glibc's default)."""

_making_room = threading.Lock()
_deep = 0
"""How many deep traces are open in all threads, which share one recursion limit."""
_limit_before: int | None = None
"""The recursion limit before the first of them raised it."""


def make_room(level: int, name: str) -> None:
    """Raise the recursion limit for nested transformations, of which each level takes a few frames.

    `give_back` must be called when the trace has ended.
    Raises: RecursionError where more transformations are open than `MOST_LEVELS` or the stack
      allow; only a function that calls itself under a transformation gets there.
    """
    most = min(MOST_LEVELS, _stack_bytes() // BYTES_A_LEVEL)
    if level > most:
        raise RecursionError(
            f"maximum recursion depth exceeded: {name} is traced inside {level - 1} nested "
            "transformations. A function that calls itself under jit, grad, vmap, cond or scan is "
            "traced without end: bound the recursion by a value that is known while tracing, or "
            "write it as a lax.while_loop")
    wanted = 1000 + FRAMES_A_LEVEL * (level + DEEP)
    global _deep, _limit_before
    with _making_room:
        _deep += 1
        found = sys.getrecursionlimit()
        if found < wanted:
            if _limit_before is None:
                _limit_before = found
            sys.setrecursionlimit(wanted)


def give_back() -> None:
    """Undo `make_room`, once the last deep trace of any thread has ended."""
    global _deep, _limit_before
    with _making_room:
        _deep -= 1
        if not _deep and _limit_before is not None:
            sys.setrecursionlimit(_limit_before)
            _limit_before = None


def _stack_bytes() -> int:
    """Size in bytes of this thread's stack; that of the process where none is set for threads."""
    in_main = threading.current_thread() is threading.main_thread()
    own = threading.stack_size()
    if own and not in_main:
        return own
    try:
        import resource  # Windows has no such module
    except ImportError:
        return 1 << 20
    soft, _ = resource.getrlimit(resource.RLIMIT_STACK)
    if soft == resource.RLIM_INFINITY:
        return sys.maxsize if in_main else THREAD_STACK
    return soft


class concretely:
    """A context in which code runs as if no staging trace were open, to find known values."""

    __slots__ = ("_bit", "_current")

    def __enter__(self) -> None:
        self._current, state.current = state.current, None
        self._bit = staging_state.value
        if self._bit:
            staging_state.set_local(False)

    def __exit__(self, *exc: object) -> None:
        state.current = self._current
        if self._bit:
            staging_state.set_local(True)
