"""Placing forms: ops that have a form for the platform become calls of the form's body.

    func @f(%x: f32[32768]) -> (i32[]) {        func @f(%x: f32[32768]) -> (i32[]) {
      %0: i32[] = argmax(%x) {…}                  %0: i32[] = call(%x) {body = func @argmax(…) {
      return %0                                     …
    }                                             }, name = "reduce.argmax"}
                                                  return %0
                                                }

A body is written once for each form, types and attributes, and shared by all calls and programs,
so the walk is linear in the ops of the program. The body is marked, so that the lowering writes it
out in place and `taken` finds it. Ops of the form's own definition in it stay as they are; all
other ops in it may take forms again. The walk treats bodies as the lowering does: bodies of calls
and branches are walked where they are written out, with what is known there; a private function is
walked once, by itself.
"""

# hot: benchmarks/lower.py

from __future__ import annotations

from collections.abc import Iterator, Sequence
from operator import attrgetter, is_
from typing import Any, NamedTuple

from lowering.context import MARK, body_of
from xfront_ir import ops
from xfront_ir.analysis import functions
from xfront_ir.core import Function, Op, Value, bodies_of
from xfront_ir.definition import OpDef
from xfront_ir.regions import with_bodies

from .facts import NO_FACTS, Facts
from .places import EXPANDED, INLINED, Outside, Place, Source
from .registry import Form, Written, forms_of, written

NO_OPS: frozenset[Op] = frozenset()
_type_of = attrgetter("type")

_QUIET: dict[tuple[str, bool], set[OpDef]] = {}
"""The ops met so far that never change, by platform and whether only needed forms are placed."""


def place_forms(fn: Function, facts: Facts = NO_FACTS, *, has_fences: bool = True,
                platform: str = "cpu", needed_only: bool = False) -> Function:
    """`fn` with its forms placed, bodies included; the same object where it takes none.

    Args:
      fn: any Function in which no forms have been placed.
      facts: which bodies are one function, and which are private.
      has_fences: whether the program gets fences; if not, the user's fences become barriers, and
        forms for whole programs are left out.
      platform: the platform whose forms are placed.
      needed_only: whether to leave out the forms that exist for speed.
    """
    if needed_only and not _may_need_forms(fn, platform):
        return fn
    place = Place(fn, {}, facts.is_private, has_fences=has_fences)
    return _Placing(facts, has_fences, platform, needed_only).function(place, NO_OPS)


def _may_need_forms(fn: Function, platform: str) -> bool:
    """Whether some op has a form that is needed: most programs have none, and finding that out
    takes less than the walk."""
    met = set().union(*[[op.definition for op in one.ops] for one in functions(fn)])
    return any([form.needed for definition in met for form in forms_of(definition, platform)])


def form_of(op: Op) -> Written | None:
    """The form, op and body for which a call stands; None for other ops."""
    return body_of(op).memo.get(MARK) if op.definition is ops.call else None


def taken(fn: Function) -> Iterator[tuple[Op, Form]]:
    """Yield each op that took a form, as it was before, with the form; in order, each body once."""
    seen = {fn}
    stack = [iter(fn.ops)]
    while stack:
        for op in stack[-1]:
            found = form_of(op)
            if found is not None and found.form is not None:
                yield Op(found.definition, op.operands[:found.n_operands], {}, op.results,
                         op.loc), found.form
            bodies = list(bodies_of(op)) if op.definition.has_bodies else ()
            new = [body for body in bodies if body not in seen]
            if new:
                seen.update(new)
                stack.append(iter([inner for body in new for inner in body.ops]))
                break
        else:
            stack.pop()


class _Open(NamedTuple):
    """A Function during the walk: its place, its remaining ops, the ops made so far, the ops that
    take no form, and the call whose body it is."""

    place: Place
    rest: Iterator[Op]
    made: list[Op]
    own: frozenset[Op]
    call: Op | None


class _Placing:
    """The walk through one program; if it does not keep fences, they become barriers."""

    def __init__(self, facts: Facts, keeps_fences: bool, platform: str, needed_only: bool) -> None:
        self.facts, self.keeps_fences, self.platform = facts, keeps_fences, platform
        self.needed_only = needed_only
        self.quiet = _QUIET.setdefault((platform, needed_only), set())
        self.private: dict[Function, Function] = {}
        self.holding: dict[Any, tuple[Form, ...]] = {}

    def function(self, place: Place, own: frozenset[Op]) -> Function:
        """The Function of a place with its forms placed; `own` are ops that take none.

        Users may nest calls to any depth, so they are walked without recursion.
        """
        stack, quiet = [_Open(place, iter(place.function.ops), [], own, None)], self.quiet
        while True:
            place, rest, made, own, call = stack[-1]
            for op in rest:
                if op.definition in quiet or self.is_quiet(op.definition):
                    made.append(op)
                    continue
                if op.definition in INLINED:
                    body = body_of(op)
                    if not self.facts.is_private(body):
                        given: dict[Value, Source] = {
                            p: Outside(place, v)
                            for p, v in zip(body.params, op.operands, strict=True)}
                        stack.append(_Open(place.inside(body, given), iter(body.ops), [], own, op))
                        break
                new = self.changed(op, place, own)
                if new is not op:
                    for v in op.results:
                        place.changed[v] = new
                made.append(new)
            else:
                stack.pop()
                function = place.function
                if not all(map(is_, made, function.ops)):
                    function = function.replace(ops=made)
                if call is None:
                    return function
                place, _, made, _, _ = stack[-1]
                if function is not body_of(call):
                    call = _with(call, {INLINED[call.definition]: function})
                    for v in call.results:
                        place.changed[v] = call
                made.append(call)

    def forms(self, definition: OpDef) -> Sequence[Form]:
        """The forms of an op among which to choose."""
        found = forms_of(definition, self.platform)
        return [form for form in found if form.needed] if self.needed_only else found

    def is_quiet(self, definition: OpDef) -> bool:
        """Whether an op never changes; if so it is added to the quiet ones."""
        if (self.forms(definition) or definition in INLINED or definition in EXPANDED
                or _has_regions(definition) or definition is ops.fence):
            return False
        self.quiet.add(definition)
        return True

    def changed(self, op: Op, place: Place, own: frozenset[Op]) -> Op:
        """The op after forms are placed; the same object where it does not change."""
        definition = op.definition
        if definition is ops.fence:
            return op if self.keeps_fences else Op(ops.optimization_barrier, op.operands, {},
                                                   op.results, op.loc)
        if op not in own:
            for found in self.possible(op):
                if found.only is None or found.only(place, op):
                    made = self.formed(op, found, place)
                    if made is not None:
                        return made
        if definition in INLINED:
            return self.with_private(op)
        expansion = EXPANDED.get(definition)
        if expansion is not None:
            return self.expanded(op, expansion(op), place)
        return self.regions(op, place, own) if _has_regions(definition) else op

    def possible(self, op: Op) -> Sequence[Form]:
        """The forms of an op whose conditions hold, wherever it stands. They are looked for once
        for all ops with the same types and attributes, save ops that hold bodies."""
        definition = op.definition
        key = None if definition.holds_python else (
            definition, *map(_type_of, op.operands), *map(op.attrs.get, definition.attrs))
        found = self.holding.get(key)
        if found is None:
            found = tuple([form for form in self.forms(definition)
                           if form.is_on and form.when(op)])
            if key is not None:
                self.holding[key] = found
        return found

    def formed(self, op: Op, found: Form, place: Place) -> Op | None:
        """The call of a form's body; None where the place does not know what the form needs."""
        attrs = op.attrs
        read: Any = ()
        if found.known is not None:
            known = found.known(place, op)
            if known is None:
                return None
            attrs = {**attrs, "known": known}
        if found.reads is not None:
            read = found.reads(place, op)
            if read is None:
                return None
        operands = (*op.operands, *read)
        body, own = written(found, tuple([v.type for v in operands]), tuple(attrs.items()))
        if op.definition.has_bodies:                     # bodies hold code of the user
            given: dict[Value, Source] = {p: Outside(place, v) for p, v in zip(
                body.params, operands, strict=True)}
            body = self.function(place.inside(body, given), own)
        else:
            key = ("placed", self.platform, self.needed_only, place.in_loop, place.has_fences)
            made = body.memo.get(key)
            if made is None:                             # the form's own fences are always kept
                inside = Place(body, {}, NO_FACTS.is_private, in_loop=place.in_loop,
                               has_fences=place.has_fences)
                made = body.memo[key] = _Placing(
                    NO_FACTS, True, self.platform, self.needed_only).function(inside, own)
            body = made
        body.memo[MARK] = Written(op.definition, found, len(op.operands))
        return Op(ops.call, operands, {"body": body, "name": found.name}, op.results, op.loc)

    def expanded(self, op: Op, body: Function, place: Place) -> Op:
        """An op that is lowered as other ops; a call of these, where one of them takes a form."""
        made = self.function(place.inside(body, {p: Outside(place, v) for p, v in zip(
            body.params, op.operands, strict=True)}), NO_OPS)
        if made is body:
            return op
        made.memo[MARK] = Written(op.definition, None, len(op.operands))
        return Op(ops.call, op.operands, {"body": made, "name": op.definition.name}, op.results,
                  op.loc)

    # --- bodies -------------------------------------------------------------------------------

    def with_private(self, op: Op) -> Op:
        """A call of a private function, with forms placed in the function."""
        held = body_of(op)
        made = self.alone(held)
        return op if made is held else _with(op, {INLINED[op.definition]: made})

    def alone(self, body: Function) -> Function:
        """A private function with its forms placed; the same object where it takes none."""
        one = self.facts.first(body)
        made = self.private.get(one)
        if made is None:
            made = self.private[one] = self.function(
                Place(one, {}, self.facts.is_private, has_fences=self.keeps_fences), NO_OPS)
        return body if made is one else made

    def body(self, body: Function, place: Place, given: dict[Value, Source], own: frozenset[Op],
             in_loop: bool) -> Function:
        """The body of a region with its forms placed: a private one, or one written out there."""
        if self.facts.is_private(body):
            return self.alone(body)
        return self.function(place.inside(body, given, in_loop=in_loop), own)

    def regions(self, op: Op, place: Place, own: frozenset[Op]) -> Op:
        """An op with regions, with forms placed in them.

        A branch reads values outside; a turn of a loop reads constants, carries and rows. A loop
        of one round of turns is written out without a loop. The test of a loop is always written
        out in place, even where other ops share it.
        """
        regions = op.definition.regions
        is_loop, reverse = regions.is_loop, op.attrs.get("reverse", False)
        if (turns := regions.turns(op.attrs)) is not None:
            is_loop = is_loop and turns // max(1, op.attrs.get("unroll", 1)) > 1
        held, operands = regions.held(op), regions.groups(op)
        made = []
        for one in held:
            given: dict[Value, Source] = {}
            for name, params in regions.params(op, one).items():
                if name == "xs":
                    given |= {v: _row(v, is_loop, reverse) for v in params}
                elif name != "carry":
                    given |= {p: Outside(place, v, is_loop)
                              for p, v in zip(params, operands[name], strict=True)}
            if one.body.gives:
                made.append(self.body(one.function, place, given, own, is_loop))
            else:
                made.append(self.function(place.inside(one.function, given, in_loop=True), own))
        return with_bodies(op, made)


def _has_regions(definition: OpDef) -> bool:
    return definition.regions is not None and definition.regions.takes_from_outside


def _row(v: Value, is_loop: bool, reverse: bool) -> int:
    """The number of operations that read a row of an array; in a loop, those that compute its place
    are counted too."""
    if not is_loop:
        return 2
    return 2 + v.type.ndim + len(v.type.dtype.physical) + 2 * reverse


def _with(op: Op, attrs: dict[str, Any]) -> Op:
    return Op(op.definition, op.operands, {**op.attrs, **attrs}, op.results, op.loc)
