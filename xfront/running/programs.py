"""The table of programs, and how a Function (or a transformation of one) is run on arrays.

The table is keyed on content: the *skeleton* of the traced Function (structure, types, attributes)
and the request. At first its literals are constants. When they come with other values, the literals
that changed become parameters; at the second such change all inexact literals do. So a learning
rate that changes at each step costs two compilations, however the function was made.

Abstraction comes before any pass: no rule may look at a value that is a parameter, so a compiled
program is right for every value.
"""

# hot: benchmarks/transforms.py

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from xfront_ir import ops
from xfront_ir.analysis import axis_names, functions, meshes, standing_bodies
from xfront_ir.core import Function, Value, bodies_of, forced
from xfront_ir.definition import OpDef
from xfront_ir.fingerprint import fingerprint, skeleton
from xfront_ir.literal import Literal
from xfront_ir.opdef import Pending, infer_types
from xfront_ir.passes.discharge import discharge
from xfront_ir.passes.literals import abstract
from xfront_ir.passes.pipeline import simplify

from .. import binding
from ..base.collector import uncollected
from ..base.config import debug_infs, debug_key_reuse, debug_nans
from ..tracing import watching
from ..tracing.trace import Tracer, binder_of, emit, ops_run_by, state, type_of
from ..values.keys import KeyArray, key_array
from ..values.refs import REFS
from .capacity import BYTES, BYTES_OF_AN_OP, KEPT, clock, least_recent
from .compiled import Body, Compiled, check_numbers, to_array
from .compiling import compile_body, filled, single_op, unit_of
from .host import drop_with, slots_in
from .keys import clear, emptied
from .placement import Placement, placement

UNIT_OPS = 1000
"""Un-jitted programs with more ops than this (calls expanded) run by units, op by op."""

BETWEEN = 16
"""After so many new programs, what all of them take is looked at again."""

UNIT_CALL_OPS = 64
"""A called body larger than this that occurs more than once also makes a program run by units."""


# --- the table of skeletons ---------------------------------------------------------------

class Variant:
    """A program for a skeleton: which literals are its parameters, and the values of the others."""

    __slots__ = ("abstracted", "compiled", "literals")

    def __init__(self, literals: tuple[Literal, ...], abstracted: tuple[int, ...],
                 compiled: Any) -> None:
        self.literals, self.abstracted, self.compiled = literals, abstracted, compiled

    def serves(self, literals: tuple[Literal, ...]) -> bool:
        """Whether the program is right for these values of the literals."""
        if not self.abstracted:
            return literals == self.literals
        free = set(self.abstracted)
        return all(i in free or a == b
                   for i, (a, b) in enumerate(zip(literals, self.literals, strict=True)))


class Entry:
    """The programs of one skeleton and request."""

    __slots__ = ("abstracted", "changes", "first", "ops", "used", "variants")

    def __init__(self, literals: tuple[Literal, ...], ops: int) -> None:
        self.first, self.ops, self.used = literals, ops, clock()
        self.changes = 0
        self.abstracted: set[int] = set()
        self.variants: list[Variant] = []

    @property
    def bytes(self) -> int:
        """Roughly how many bytes its programs take."""
        return len(self.variants) * (BYTES + self.ops * BYTES_OF_AN_OP)


_ENTRIES: dict[Any, Entry] = {}


def find(body: Body, key: Any, place: Placement, compile_: Callable[[Body], Any]
         ) -> tuple[Any, list[Any], Variant]:
    """The compiled program of a body, the arrays for its trailing literal parameters, its variant.

    Args:
      body: a Function, or a transformation of one; literals of the Function become parameters.
      key: everything else on which the program depends: options of the request, kind of front door.
      place: the placement of the program.
      compile_: compiles a body, whose Function may have got further parameters.
    """
    function = unpended(body)
    request = (body.request.role, body.request.details) if type(body) is Pending else None
    forward = request is None or request[0] == "vectorize"
    shape, literals = skeleton(function, forward)
    full_key = (shape, request, key, place)
    entry = _ENTRIES.get(full_key)
    if entry is None:
        entry = _ENTRIES.setdefault(full_key, Entry(literals, _size_of(function, request)))
    entry.used = clock()
    for variant in entry.variants:
        if variant.serves(literals):
            return (variant.compiled, [filled(literals[i], place) for i in variant.abstracted],
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
        chosen = with_function(body, abstract(function, abstracted))
    compiled = compile_(chosen)
    _ENTRIES[full_key] = entry                   # compiling may have emptied the table
    variant = Variant(literals, abstracted, compiled)
    # a program that a note found has no host functions; to look for them would run its passes
    known = type(compiled) is Compiled and compiled.noted
    slots = set() if known else (
        slots_in(function) | slots_in(simplify(forced(chosen))))  # type: ignore[arg-type]
    if slots:
        drop_with(slots, _ENTRIES.pop, full_key, None)
    if not (slots and type(compiled) is Units):  # its ops would keep the host functions alive
        entry.variants.insert(0, variant)
        del entry.variants[8:]
    if len(_ENTRIES) % BETWEEN == 0:
        for old in least_recent(_ENTRIES, KEPT):     # a function that holds its programs keeps them
            _ENTRIES.pop(old, None)
    return compiled, [filled(literals[i], place) for i in abstracted], variant


def _size_of(function: Function, request: Any) -> int:
    """Roughly how many ops a program has, with each body counted once. A derivative counts more
    than its function, because it has ops of a forward and a backward pass."""
    ops = sum([len(one.ops) for one in functions(function, standing_bodies)])
    return ops if request is None else 3 * ops


def with_function(body: Body, function: Function) -> Body:
    """The same transformation of another Function (one with further, untouched parameters)."""
    if type(body) is not Pending:
        return function
    return body.transform.pending(function, body.request)


# --- running ------------------------------------------------------------------------------

def bind(body: Body, operands: Sequence[Any], *, name: str) -> list[Any]:
    """Record a call of `body` in the open trace, or run it, and return its flat results.

    Operands and results are tracers or arrays. The operands after the Function's explicit
    parameters are its captures.
    """
    target = state.current
    if target is None and Tracer not in map(type, operands):
        inside = binder_of(axis_names(unpended(body)), None) if state.axes else None
        if inside is None:
            return call_program(body, operands, name=name)
        state.current = inside                   # the body reads the index along a mapped axis
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


def in_place(results: list[Any]) -> list[Any]:
    """The results of a call that `bind` has just recorded, after the call is replaced by the ops of
    its body."""
    if not results or type(results[0]) is not Tracer:
        return results
    home = results[0].home
    made = home.builder.ops[-1]
    if made.definition is not ops.call or type(made.attrs["body"]) is Pending:
        return results
    home.builder.ops.pop()
    values = home.builder.inline(made.attrs["body"], made.operands)
    return [Tracer(home, v, t.weak) for v, t in zip(values, results, strict=True)]


def unpended(body: Body) -> Function:
    """The Function of a body, without its transformation."""
    return body.function if type(body) is Pending else body  # type: ignore[return-value]


def weak_returns_of(body: Body) -> tuple[bool, ...]:
    """Whether each result of a body is weakly typed, also where its transformation is pending."""
    if type(body) is not Pending:
        return body.weak_returns  # type: ignore[union-attr]
    return body.transform.weak_returns(body.function, body.request)


_NEW_IN_A_ROW: dict[str, int] = {}
"""For each name of a function, how many of its last programs were new ones."""

NEW_BEFORE_UNITS = 2


def call_program(body: Body, args: Sequence[Any], *, name: str) -> list[Any]:
    """Run a body on arrays at once, as one program or by units.

    Large programs run by units, that is op by op. So do programs of a function whose last programs
    were all new; a program that occurs again is then compiled as one.
    """
    if REFS & {*map(type, args)}:
        return _on_contents(body, args, name)
    new = False

    def compile_new(chosen: Body) -> Any:
        nonlocal new
        new = True
        count = _NEW_IN_A_ROW[name] = _NEW_IN_A_ROW.get(name, 0) + 1
        return compile_eager(chosen, name, place, once=count > NEW_BEFORE_UNITS)

    place, committed = placement(args, name, named=meshes(unpended(body)))
    compiled, extra, variant = find(body, "eager", place, compile_new)
    if not new:
        _NEW_IN_A_ROW[name] = 0
        if type(compiled) is Units and compiled.once:
            compiled = variant.compiled = compile_eager(compiled.body, name, place, once=False)
    if type(compiled) is Units:
        extra = compiled.apart(extra)
    if not watching.is_on():
        return compiled.run([*args, *extra], committed)
    return watched_run(name, forced(body), args, True,
                        lambda: compiled.run([*args, *extra], committed))


def _on_contents(body: Body, args: Sequence[Any], name: str) -> list[Any]:
    """`call_program` for arguments with references among them, whose contents it updates."""
    if type(body) is Pending:
        n = len(body.return_types)
        made, written, order = body.discharged()
    else:
        made, written = discharge(body)  # type: ignore[arg-type]
        n, order = len(body.returns), range(len(made.returns))  # type: ignore[union-attr]
    found = call_program(made, [x.held if type(x) in REFS else x for x in args], name=name)
    results = [found[i] for i in order]
    for i, content in zip(written, results[n:], strict=False):
        args[i].held = content
    return results[:n]


def watched_run(name: str, function: Function, operands: Sequence[Any], located: bool,
                run_: Callable[[], list[Any]]) -> list[Any]:
    """The results of `run_()`, a run of a program whose keys and numbers the options check.

    Raises: KeyReuseError where a consumed key is used again; FloatingPointError that names the
      operation which made a NaN or an infinity.
    """
    follow = None
    if debug_key_reuse.value:
        from . import key_reuse  # seldom needed

        uses = key_reuse.before(name, function, operands)
        follow = functools.partial(key_reuse.after, uses)
    try:
        results = run_()
    except FloatingPointError:
        from . import blame  # seldom needed

        blame.explain(name, function, operands, located)
        raise
    if follow is not None:
        follow(operands, results)
    return results


@uncollected
def compile_eager(body: Body, name: str, place: Placement, once: bool) -> Any:
    """The program of an un-jitted transformation: one executable if it is small, else units.

    `once` asks for units although the program is small, because it may never occur again.
    """
    function = simplify(forced(body))
    if type(place) is not Placement:             # the compiler places the values between its ops
        return compile_body(function, name=name, place=place)
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
        for body in bodies_of(op):
            total += expanded_size(body, limit)
        if total > limit:
            break
    return total


def repeats_large_call(function: Function) -> bool:
    """Whether a called body of more than a few dozen ops occurs twice."""
    seen: set[bytes] = set()
    for op in function.ops:
        if op.definition.is_call:
            (body,) = bodies_of(op)
            if len(body.ops) > UNIT_CALL_OPS:
                print_ = fingerprint(body)
                if print_ in seen:
                    return True
                seen.add(print_)
    return False


# --- by units -----------------------------------------------------------------------------

class Units:
    """A large un-jitted program that runs op by op, with an executable for each op."""

    __slots__ = ("body", "constants", "last_use", "literals", "once", "out_types", "params",
                 "place", "returns", "steps")

    def __init__(self, function: Function, body: Body, place: Placement, *, once: bool) -> None:
        self.body, self.place, self.once = body, place, once
        self.params, self.returns = function.params, function.returns
        self.steps = [(op, unit_of(op, place)) for op in function.ops
                      if op.definition is not ops.literal]
        self.literals = {op.results[0]: filled(op.attrs["value"], place, op.attrs["shape"])
                         for op in function.ops if op.definition is ops.literal}
        self.constants = [op for op in function.ops if op.definition is ops.literal
                          and op.results[0] in function.returns]
        weaks = function.weak_returns or (False,) * len(function.returns)
        self.out_types = [(v.type, w) for v, w in zip(function.returns, weaks, strict=True)]
        self.last_use: dict[Value, int] = {}
        for i, (op, _) in enumerate(self.steps):
            for v in op.operands:
                self.last_use[v] = i
        for v in self.returns:
            self.last_use[v] = len(self.steps)

    def apart(self, last: Sequence[Any]) -> list[Any]:
        """The arrays for the last parameters. One that the program returns unchanged is copied,
        because the user may delete or donate a result, and the array itself is kept."""
        n = len(self.params) - len(last)
        return [self.place.bring(np.array(x)) if v in self.returns else x
                for v, x in zip(self.params[n:], last, strict=True)]

    def run(self, args: Sequence[Any], committed: bool = False) -> list[Any]:
        """Run on arrays, as `Compiled.run`; an intermediate value is freed after its last use."""
        env = dict(self.literals)
        for op in self.constants:                # the user may donate or delete a result
            env[op.results[0]] = self.place.bring(
                np.broadcast_to(op.attrs["value"].array, op.attrs["shape"]))
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
        """An argument as an array (or key array) at the program's placement."""
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


_OPS: dict[Any, Compiled] = {}


def run_op(definition: OpDef, operands: Sequence[Any], attrs: dict[str, Any]) -> Any:
    """Run one op now, on arrays."""
    if REFS & {*map(type, operands)}:
        found = call_program(single_op(definition, [type_of(x)[0] for x in operands], attrs),
                             operands, name=definition.name)
        return found[0] if definition.single else found
    arrays = [to_array(x) for x in operands]
    types, weaks = zip(*map(type_of, arrays), strict=True) if arrays else ((), ())
    function = single_op(definition, types, attrs) if definition.holds_mesh else None
    place, committed = placement(arrays, definition.name,
                                 named=() if function is None else meshes(function))
    try:
        key = (place, definition, types, weaks, tuple(attrs.items()))
        found = _OPS.get(key)
    except TypeError:
        key, found = None, None
    if definition is ops.callback:               # the key would keep the host function alive
        key = None
    if found is None:
        if not state.out_sharding_given:
            infer_types(definition, types, attrs)    # raises for ambiguous axes, as a trace does
        outs = single_op(definition, types, attrs).returns
        weak = definition.single and bool(types) and all(weaks) \
            and outs[0].type.dtype is types[0].dtype
        function = single_op(definition, types, attrs, (weak,) * len(outs))
        found = compile_body(function, name=definition.name, place=place)
        if key is not None:
            _OPS[key] = found
    if watching.is_on():
        function = single_op(definition, types, attrs)
        results = watched_run(definition.name, function, arrays, False,
                              lambda: found.run(arrays, committed))
    else:
        results = found.run(arrays, committed)
    return results[0] if definition.single else results


emptied(_ENTRIES.clear, _OPS.clear)
ops_run_by(run_op)

__all__ = ["Compiled", "bind", "call_program", "clear", "compile_body", "find", "run_op",
           "to_array"]
