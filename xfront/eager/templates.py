"""Templates: the ops that the body of a public function recorded once, recorded again by copying.

A body that is called on tracers appends ops to their trace. What it appends depends on its
arguments (types, weakness, which are equal, the values of those that are not arrays) and on the
options of `trace_key`, as far as it reads nothing else. So the ops of one call are a template for
all later calls with the same key, which append copies of them: other operands, the line of their
own caller.

A body gets no template where its ops may depend on something else: where an argument belongs to
another trace, is an array, or has no hash; where Python asked a tracer for its value, or something
outside was read; where the body warned; where an op has a body, an effect, Python, or a mesh; and
inside `shard_map`, under named axes, and under options that look at who calls. `_written` and
`signature` are the two places that decide.
"""

# hot: benchmarks/numeric.py

from __future__ import annotations

import enum
import sys
from collections.abc import Callable, Sequence
from operator import itemgetter
from struct import pack
from typing import Any

import numpy as np
from xfront_ir.analysis import op_has_effects
from xfront_ir.core import Op, Value
from xfront_ir.literal import literal
from xfront_ir.locations import USER_FILES, Location
from xfront_ir.locations import capture as capture_location

from ..base.config import numpy_rank_promotion, trace_key
from ..base.dtypes import ScalarType
from ..binding import ArrayImpl, promotion
from ..binding.tracebacks import warned
from ..running.keys import SIMPLE, Latest
from ..tracing.regions import open_regions
from ..tracing.trace import Trace, state
from ..tracing.tracer import Tracer

MOST_OF_ONE = 256
"""The greatest number of templates of one function."""

TRIES = 8
"""How many signatures without a template a function is given, before it is asked for none."""

_PLAIN = {*SIMPLE, np.dtype, ScalarType}
"""Types of arguments that are compared by value and never change; those of enums join them."""

_APART = frozenset((int, str, type(None)))
"""Of these types no two values of different types are equal."""

_IN_RESULTS = frozenset((int, bool, str, type(None), float))


def signature(target: Trace, args: Sequence[Any], kwargs: dict[str, Any], given: list[Tracer]
              ) -> tuple[Any, ...] | None:
    """The key of a call whose body will be recorded in `target`, or None where it has none.

    The tracers among the arguments are appended to `given`.
    """
    key: list[Any] = [target.staging, None if target.inputs is None else target.known]
    push = key.append
    for x in args:
        kind = type(x)
        if kind is Tracer:
            if x.home is not target:
                return None
            push(x.value.type)
            push(x.weak)
            given.append(x)
        elif kind in _PLAIN:
            push(kind)
            push(x)
        elif kind is ArrayImpl or not _add(x, kind, key, given, target):
            return None
    for name, x in kwargs.items():
        push(name)
        if not _add(x, type(x), key, given, target):
            return None
    n = len(given)
    if n > 1:                                    # whether arguments are one value, or one object
        first, second = given[0], given[1]
        if n == 2:
            push(first is second or (first.value is second.value) + 2)
        else:
            objects, values = list(map(id, given)), [x.value for x in given]
            push(tuple(map(objects.index, objects)))
            push(tuple(map(values.index, values)))
    push(trace_key())
    return tuple(key)


def _add(x: Any, kind: type, key: list[Any], given: list[Tracer], target: Trace) -> bool:
    """Add one argument to a key; False where it cannot be part of one."""
    if kind is Tracer:
        if x.home is not target:
            return False
        key += x.value.type, x.weak
        given.append(x)
        return True
    if kind in _PLAIN:
        key += kind, x
        return True
    if kind is float or kind is complex:         # compared by bits, for 0.0 == -0.0 and NaN != NaN
        key += kind, x if kind is float and (x < 0 or x > 0) else pack("2d", x.real, x.imag)
        return True
    if kind is tuple or kind is list:
        if _APART.issuperset(map(type, x)):
            key += kind, tuple(x)
            return True
        key += kind, len(x)
        return all([_add(i, type(i), key, given, target) for i in x])
    if isinstance(x, enum.Enum):
        _PLAIN.add(kind)
        key += kind, x
        return True
    return False


class Template:
    """The ops that one call of a body recorded, in a form that can be recorded again.

    Values are numbered: those of the arguments first, then those of the steps. A step is
    `(definition, attrs, picks, type, key)`. `picks` gives the operands: None, the number of the
    only one, or an `itemgetter` of several. `type` is that of the result, or a tuple of types where
    the op gives a tuple. `key` is that of a literal among the constants of a trace, else None.
    """

    __slots__ = ("build", "steps", "value", "weak")

    def __init__(self, steps: tuple[Any, ...], build: Any, value: int, weak: bool) -> None:
        self.steps, self.build, self.value, self.weak = steps, build, value, weak

    def record(self, target: Trace, given: Sequence[Tracer], place: Location) -> Any:
        """Append the ops for these arguments, and return what the body returned."""
        values = [x.value for x in given]
        push, append, constants = values.append, target.builder.ops.append, target.constants
        for definition, attrs, picks, kind, key in self.steps:
            if key is not None:
                found = constants.get(key)
                if found is not None:
                    push(found)
                    continue
            op = _new(Op)
            op.definition, op.attrs, op.loc = definition, attrs, place
            if picks is None:
                op.operands = ()
            elif type(picks) is int:
                op.operands = (values[picks],)
            else:
                op.operands = picks(values)
            if type(kind) is tuple:
                op.results = made = tuple(map(Value, kind))
                values += made
            else:
                value = _new(Value)
                value.type = kind
                op.results = (value,)
                push(value)
                if key is not None:
                    constants[key] = value
            append(op)
        if self.build is None:
            tracer = _new_tracer(Tracer)
            tracer.home, tracer.value, tracer.weak = target, values[self.value], self.weak
            return tracer
        return self.build(target, given, values)


_frame, _new, _new_tracer = sys._getframe, object.__new__, Tracer.__new__


class Templates:
    """The templates of one public function by signature. In place of a template, True stands for a
    signature that was seen once, and False for one that gets no template."""

    __slots__ = ("refused", "table")

    def __init__(self) -> None:
        self.table: Latest[Any, Template | bool] = Latest(MOST_OF_ONE)
        self.refused = 0                         # signatures without a template so far

    def call(self, target: Trace, body: Callable[..., Any], args: Sequence[Any],
             kwargs: dict[str, Any]) -> Any:
        """Record in `target` what a call of the body would record, and return its result; without
        a template for the call, record nothing and return NO_TEMPLATE."""
        around = state.current
        if (self.refused >= TRIES
                or state.place is not None                     # called by a body
                or target.closed or (around is not target and around is not None
                                     and around.level > target.level)
                or state.axes or state.out_sharding_given or open_regions.regions
                or target.following is not None):
            return NO_TEMPLATE
        given: list[Tracer] = []
        key = signature(target, args, kwargs, given)
        if key is None:
            return NO_TEMPLATE
        found = self.table.get(key)
        if type(found) is Template:
            frame = _frame(2)                    # the frame that called the public function
            code = frame.f_code
            if code.co_filename in USER_FILES:
                place = _new(Location)
                place.code, place.lasti, place.scope = code, frame.f_lasti, state.scope
            else:
                place = capture_location(state.scope)
            return found.record(target, given, place)
        if found is False:
            return NO_TEMPLATE
        if found is None:
            self.enter(key, True)
            return NO_TEMPLATE
        place = capture_location(state.scope)
        made = _written(target, body, args, kwargs, given, place)
        self.enter(key, made or False)
        return NO_TEMPLATE if made is None else made.record(target, given, place)

    def enter(self, key: Any, found: Template | bool) -> None:
        """Keep what was found out about a signature."""
        if found is False:
            self.refused += 1
        elif found is not True:
            self.refused = -MOST_OF_ONE          # a function with templates is asked on and on
        self.table[key] = found


NO_TEMPLATE: Any = object()


class _Probe(Trace):
    """The trace of a body that is run to write a template. Who reads whether its values are known
    has asked for more than the key holds."""

    __slots__ = ()

    @property
    def inputs(self) -> None:
        """None, as of a trace whose arguments are not known."""
        state.asked += 1

    @inputs.setter
    def inputs(self, _: Any) -> None:  # type: ignore[override]
        pass


def _written(target: Trace, body: Callable[..., Any], args: Sequence[Any],
             kwargs: dict[str, Any], given: Sequence[Tracer], place: Location
             ) -> Template | None:
    """The template of a body, which is run in a trace of its own; None if the ops that it records
    may depend on more than the key, or if it raises an error or warns."""
    if (numpy_rank_promotion.value != "allow" or promotion.mode_state.value != "standard"
            or not all([_is_plain(x.value) for x in given])):
        return None
    stack = state.stack
    probe = _Probe("template", target.kind, staging=target.staging, level=len(stack) + 1,
                   axis=target.axis)
    params = {x.value: Value(x.value.type) for x in given}
    own = {id(x): Tracer(probe, params[x.value], x.weak) for x in given}

    def replaced(x: Any) -> Any:
        if type(x) is list or type(x) is tuple:
            return type(x)(map(replaced, x))
        return own[id(x)] if type(x) is Tracer else x

    around, asked, count = state.current, state.asked, warned.count
    state.current, state.place, warned.held = probe, place, True
    stack.append(probe)
    try:
        result = body(*map(replaced, args), **dict(zip(kwargs, map(replaced, kwargs.values()),
                                                       strict=True)))
    except Exception:                            # the body raises it again where it is recorded
        return None
    finally:
        state.current, state.place, warned.held = around, None, False
        del stack[probe.level - 1:]
        probe.closed = True
    if (state.asked != asked or warned.count != count or state.out_sharding_given
            or probe.builder.params):
        return None
    numbers: dict[Value, int] = {}
    for i, x in enumerate(given):
        numbers.setdefault(params[x.value], i)
    steps: list[Any] = []
    count = len(given)
    for op in probe.builder.ops:
        step = _step(op, numbers, probe.constants)
        if step is None:
            return None
        steps.append(step)
        for v in op.results:
            numbers[v] = count
            count += 1
    if type(result) is Tracer and numbers.get(result.value, 0) >= len(given):
        return Template(tuple(steps), None, numbers[result.value], result.weak)
    seen: list[Tracer] = []
    build = _builder_of(result, [own[id(x)] for x in given], numbers, seen)
    if build is None or len({id(x) for x in seen}) != len(seen):
        return None
    return Template(tuple(steps), build, 0, False)


def _step(op: Op, numbers: dict[Value, int], constants: dict[Any, Value]) -> Any:
    definition, attrs = op.definition, op.attrs
    if (definition.has_bodies or definition.holds_python or definition.holds_mesh
            or definition.written is not None or definition.mentions_axis is not None
            or op_has_effects(op) or not all(map(_is_plain, op.results))
            or not all([v in numbers for v in op.operands])):
        return None
    key = None
    if definition is literal:
        named = (attrs["value"].key, attrs["shape"])
        if constants.get(named) is op.results[0]:
            key = named
    read = [numbers[v] for v in op.operands]
    picks = None if not read else read[0] if len(read) == 1 else itemgetter(*read)
    kinds = tuple([v.type for v in op.results])
    return definition, attrs, picks, kinds[0] if len(kinds) == 1 else kinds, key


def _builder_of(result: Any, given: Sequence[Tracer], numbers: dict[Value, int],
                seen: list[Tracer]) -> Any:
    """A function of (trace, arguments, values) that makes a result of this structure, or None."""
    kind = type(result)
    if kind is Tracer:
        seen.append(result)
        for i, x in enumerate(given):
            if result is x:
                return lambda target, given, values: given[i]
        if result.value not in numbers:
            return None
        at, weak = numbers[result.value], result.weak
        return lambda target, given, values: Tracer(target, values[at], weak)
    if kind in _IN_RESULTS:
        return lambda target, given, values: result
    if not isinstance(result, (list, tuple)):
        return None
    parts = [_builder_of(x, given, numbers, seen) for x in result]
    if any([part is None for part in parts]):
        return None
    if kind is list or kind is tuple:
        return lambda *given: kind([part(*given) for part in parts])
    if hasattr(kind, "_fields"):
        return lambda *given: kind(*[part(*given) for part in parts])
    return None


def _is_plain(value: Value) -> bool:
    """Whether a value is neither divided over a mesh nor a reference."""
    return value.type.sharding is None and not value.type.dtype.is_ref


__all__ = ["NO_TEMPLATE", "Template", "Templates", "signature"]
