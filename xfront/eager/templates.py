"""Templates: the ops that the body of a public function recorded once, recorded again by copying.

A body that is called on tracers appends ops to their trace. What it appends depends on its
arguments (types, weakness, which are equal, the values of those that are not arrays) and on the
options of `trace_key`, as far as it reads nothing else. So the ops of one call are a template for
all later calls with the same key, which append copies of them: other operands, the line of their
own caller.

A body gets no template where its ops may depend on something else: where an argument belongs to
another trace, is an array, or has no hash; where Python asked a tracer for its value, or something
outside was read; where the body warned; where an op has a body, an effect, Python, or a mesh; and
inside `shard_map`, under named axes, and under options that look at who calls. `_Making.template`
and `signature` are the two places that decide.
"""

# hot: benchmarks/numeric.py

from __future__ import annotations

import enum
import sys
from collections.abc import Callable, Iterable, Sequence
from operator import itemgetter
from struct import pack
from typing import Any

import numpy as np
from xfront_ir.analysis import op_has_effects
from xfront_ir.builder import Builder
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


class Switch:
    """Whether templates are in use; tests turn it off to compare."""

    __slots__ = ("on",)

    def __init__(self) -> None:
        self.on = True


switch = Switch()


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
        if (self.refused >= TRIES or not switch.on
                or state.place is not None                     # called by a body
                or target.closed or (around is not target and around is not None
                                     and around.level > target.level)
                or state.axes or state.told or open_regions.regions
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
        state.current = target
        place = state.place = capture_location(state.scope)
        making = _Making(target, given, place)
        try:
            result = body(*args, **kwargs)
        finally:
            state.current, state.place = around, None
            making.end()
        if not making.reads_argument():
            self.enter(key, making.template(result) or False)
        return result

    def enter(self, key: Any, found: Template | bool) -> None:
        """Keep what was found out about a signature."""
        if found is False:
            self.refused += 1
        elif found is not True:
            self.refused = -MOST_OF_ONE          # a function with templates is asked on and on
        self.table[key] = found


NO_TEMPLATE: Any = object()


class _Making:
    """The state of a trace before a body runs, from which a template can be made afterwards."""

    __slots__ = ("asked", "constants", "given", "n_ops", "n_params", "place", "target", "warned")

    def __init__(self, target: Trace, given: Sequence[Tracer], place: Location) -> None:
        self.target, self.given, self.place = target, given, place
        self.n_ops, self.n_params = len(target.builder.ops), len(target.builder.params)
        self.asked, self.warned = state.asked, warned.count
        self.constants = target.constants = Followed(target)  # type: ignore[assignment]

    def end(self) -> None:
        """Leave the trace as it was."""
        self.target.constants = self.constants.held

    def reads_argument(self) -> bool:
        """Whether an argument is a literal for which the body asked as well. Then an op that reads
        it may mean either, and in a later call the two may differ."""
        read = self.constants.read
        return any([x.value in read for x in self.given])

    def template(self, result: Any) -> Template | None:
        """The template of the body that has just run and returned `result`; None if the ops that it
        recorded may depend on more than the key."""
        builder, held = self.target.builder, self.constants.held
        if (state.asked != self.asked or warned.count != self.warned or state.told
                or self.constants.listed
                or self.target.closed or len(builder.params) != self.n_params
                or numpy_rank_promotion.value != "allow"
                or promotion.mode_state.value != "standard"):
            return None
        numbers: dict[Value, int] = {}
        for i, x in enumerate(self.given):
            numbers.setdefault(x.value, i)
            if not _is_plain(x.value):
                return None
        count = len(self.given)
        steps: list[Any] = []
        before = self.constants.before(self.n_ops)
        if before is None:
            return None
        ops = [one for i, op in enumerate(builder.ops[self.n_ops:], self.n_ops)
               for one in (*before.get(i, ()), op)]
        for op in (*ops, *before.get(len(builder.ops), ())):
            step = self._step(op, numbers, held)
            if step is None:
                return None
            steps.append(step)
            for v in op.results:
                numbers[v] = count
                count += 1
        return self._with_result(tuple(steps), result, numbers)

    def _step(self, op: Op, numbers: dict[Value, int], constants: dict[Any, Value]) -> Any:
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
        if op.loc is not self.place and key is None:
            return None
        read = [numbers[v] for v in op.operands]
        picks = None if not read else read[0] if len(read) == 1 else itemgetter(*read)
        kinds = tuple([v.type for v in op.results])
        return definition, attrs, picks, kinds[0] if len(kinds) == 1 else kinds, key

    def _with_result(self, steps: tuple[Any, ...], result: Any, numbers: dict[Value, int]
                     ) -> Template | None:
        if type(result) is Tracer and not any([result is x for x in self.given]):
            if result.home is not self.target or result.value not in numbers:
                return None
            return Template(steps, None, numbers[result.value], result.weak)
        seen: list[Tracer] = []
        build = self._builder_of(result, numbers, seen)
        if build is None or len({id(x) for x in seen}) != len(seen):
            return None
        return Template(steps, build, 0, False)

    def _builder_of(self, result: Any, numbers: dict[Value, int], seen: list[Tracer]) -> Any:
        """A function of (trace, arguments, values) that makes a result of this structure, or None.
        """
        kind = type(result)
        if kind is Tracer:
            seen.append(result)
            for i, x in enumerate(self.given):
                if result is x:
                    return lambda target, given, values: given[i]
            if result.home is not self.target or result.value not in numbers:
                return None
            at, weak = numbers[result.value], result.weak
            return lambda target, given, values: Tracer(target, values[at], weak)
        if kind in _IN_RESULTS:
            return lambda target, given, values: result
        if not isinstance(result, (list, tuple)):
            return None
        parts = [self._builder_of(x, numbers, seen) for x in result]
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


class Followed:
    """Stands for the constants of a trace while a body runs. It notes which of the earlier
    constants the body reads, and before which op."""

    __slots__ = ("builder", "held", "listed", "read")

    def __init__(self, target: Trace) -> None:
        self.builder: Builder = target.builder
        self.held = target.constants
        self.read: dict[Value, int] = {}
        self.listed = False

    def get(self, key: Any) -> Value | None:
        """The literal with a key, or None."""
        found = self.held.get(key)
        if found is not None:
            self.read.setdefault(found, len(self.builder.ops))
        return found

    def __setitem__(self, key: Any, value: Value) -> None:
        self.held[key] = value
        self.read.setdefault(value, -1)          # made by the body itself

    def values(self) -> Iterable[Value]:
        """All literals of the trace. A body that asks for them depends on more than its key."""
        self.listed = True
        return self.held.values()

    def before(self, n_ops: int) -> dict[int, list[Op]] | None:
        """The ops of the earlier literals that the body read, under the number of the op before
        which it read them. The trace had `n_ops` ops when the body began."""
        wanted = {v: at for v, at in self.read.items() if at >= 0}
        found: dict[Value, Op] = {}
        if wanted:
            for op in reversed(self.builder.ops[:n_ops]):
                if op.definition is literal and op.results[0] in wanted:
                    found[op.results[0]] = op
                    if len(found) == len(wanted):
                        break
        if len(found) != len(wanted):
            return None
        made: dict[int, list[Op]] = {}
        for value, at in wanted.items():         # in the order in which they were read
            made.setdefault(at, []).append(found[value])
        return made


__all__ = ["NO_TEMPLATE", "Template", "Templates", "signature", "switch"]
