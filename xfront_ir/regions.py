"""Ops with bodies: groups of operands, and the parameters of bodies that each group feeds.

An op declares its groups once, and passes work on any op with a few operations on them:

    scan(*consts, *carry, *xs) {body, n_consts, n_carry, ...}
        body(consts, carry, xs) -> (carry, ys)

    Regions({"consts": "n_consts", "carry": "n_carry", "xs": REST},
            {"carry": "n_carry", "ys": REST},
            {"body": Body(("consts", "carry", "xs"), ("carry", "ys"), grows="consts")}, ...)

Three names mean the same in every op: `carry` goes from one turn of a loop to the next, and each
turn reads one row of `xs` and makes one row of `ys`. All else that a loop's body takes is the same
in every turn.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from .core import Function, Op, Value, remembered

T = TypeVar("T")
Flags = Sequence[bool]
Size = int | str | None
REST = None
"""The size of a group that takes what the other groups leave, or an equal share of it."""


def cut(values: Sequence[T], *sizes: int) -> list[list[T]]:
    """The values cut into parts of these sizes, and a last part with the rest."""
    parts: list[list[T]] = []
    at = 0
    for size in sizes:
        parts.append(list(values[at:at + size]))
        at += size
    return [*parts, list(values[at:])]


def select(values: Sequence[T], flags: Flags) -> list[T]:
    """The values whose flag is set."""
    return [v for v, f in zip(values, flags, strict=True) if f]


class Body(NamedTuple):
    """The groups of values that a body, or each of several branches, takes and gives.

    takes: the groups of operands that its parameters stand for, in order.
    gives: the groups of results that it returns, in order; (): only the op reads what it returns.
    grows: the group that further values from outside join; "": it takes nothing from outside.
    """

    takes: tuple[str, ...] = ()
    gives: tuple[str, ...] = ()
    grows: str = ""


ALL = Body(("operands",), ("results",), "operands")
"""A body that takes the operands and gives the results."""

COMBINER = Body()
"""A body that takes two elements of each operand and gives one."""


class Regions:
    """The declaration of an op's bodies and of the groups of its operands and results.

    operands, results: the groups in order, with their sizes: a number, an attribute, or REST.
    bodies: for each attribute that holds bodies, what they take and give.
    value: the attribute whose body's ops may replace the op once no derivative is taken.
    expanded: function of the op giving these ops, if they are not those of the body itself.
    is_call: whether the ops of its body may replace it at any time.
    is_choice: whether one of several branches runs.
    turns: the number of a loop's turns, from the attributes; None: it depends on values.
    may_not_end: whether it is a loop that its own test ends.
    free: whether operands and results that its bodies do not need may be left out.
    widened: for an op with a custom rule, a function giving its attributes after operands of given
      types have been added.
    """

    __slots__ = ("_operand_sizes", "_result_sizes", "_return_sizes", "bodies", "expanded", "free",
                 "is_call", "is_choice", "is_loop", "may_not_end", "operands", "results", "turns",
                 "value", "widened")

    def __init__(self, operands: Mapping[str, Size], results: Mapping[str, Size],
                 bodies: Mapping[str, Body], *, value: str = "",
                 expanded: Callable[[Op], Function] | None = None, is_call: bool = False,
                 is_choice: bool = False, is_loop: bool = False, may_not_end: bool = False,
                 turns: Callable[[Mapping[str, Any]], int | None] = lambda attrs: 1,
                 free: bool = False, widened: Callable[[Op, Any, Any], Any] | None = None) -> None:
        self.operands, self.results, self.bodies = operands, results, bodies
        self._operand_sizes, self._result_sizes = tuple(operands.values()), tuple(results.values())
        sizes = {**operands, **results}
        self._return_sizes = {name: tuple([sizes[g] for g in body.gives])
                              for name, body in bodies.items()}
        self.value, self.is_call, self.is_choice, self.is_loop = value, is_call, is_choice, is_loop
        self.expanded = expanded
        self.turns, self.may_not_end, self.free, self.widened = turns, may_not_end, free, widened

    @property
    def takes_from_outside(self) -> bool:
        """Whether bodies take values from outside; if not, a literal in them is part of the op."""
        return any(body.grows for body in self.bodies.values())

    # --- groups ---------------------------------------------------------------------------

    def split(self, attrs: Mapping[str, Any], values: Sequence[T]) -> list[list[T]]:
        """Split a sequence with one item per operand (a type, a flag, ...) into groups."""
        return _grouped(self._operand_sizes, attrs, values)

    def split_results(self, attrs: Mapping[str, Any], values: Sequence[T]) -> list[list[T]]:
        """Split a sequence with one item per result into groups."""
        return _grouped(self._result_sizes, attrs, values)

    def split_params(self, name: str, attrs: Mapping[str, Any], values: Sequence[T]
                     ) -> list[list[T]]:
        """Split a sequence with one item per parameter of the body `name` into groups."""
        sizes = {**self.results, **self.operands}
        return _grouped([sizes[g] for g in self.bodies[name].takes], attrs, values)

    def split_returns(self, name: str, attrs: Mapping[str, Any], values: Sequence[T]
                      ) -> list[list[T]]:
        """Split a sequence with one item per return of the body `name` into groups."""
        return _grouped(self._return_sizes[name], attrs, values)

    def fits(self, attrs: Mapping[str, Any], values: Sequence[Any]) -> bool:
        """Whether there are as many operands as the sizes of their groups say."""
        return sum(map(len, groups := self.split(attrs, values))) == len(values) and all(
            attrs[name] == n for name, n in self.sizes(groups).items())

    def sizes(self, groups: Sequence[Sequence[Any]]) -> dict[str, int]:
        """The attributes that say how large groups of operands are."""
        return {size: len(group) for size, group in zip(self.operands.values(), groups, strict=True)
                if type(size) is str}

    def emit(self, emit: Callable[..., Any], definition: Any, groups: Sequence[Sequence[Value]],
             **attrs: Any) -> Any:
        """Call `emit` for the op with these groups of operands and their sizes as attributes."""
        return emit(definition, *[v for group in groups for v in group],
                    **{**attrs, **self.sizes(groups)})

    # --- bodies ---------------------------------------------------------------------------

    def held(self, op: Op) -> list[Held]:
        """The bodies of an op in the order of its schema, pending ones as they are."""
        found: list[Held] = []
        for name in op.definition.body_attrs:
            value = op.attrs.get(name)
            bodies: list[Any] = ([*value] if type(value) is tuple else
                                 [] if value is None else [value])
            found += [Held(name, self.bodies[name], body) for body in bodies]
        return found

    def groups(self, op: Op) -> dict[str, list[Value]]:
        """The operands of an op by the name of their group."""
        return dict(zip(self.operands, self.split(op.attrs, op.operands), strict=True))

    def results_by_group(self, op: Op) -> dict[str, list[Value]]:
        """The results of an op by the name of their group."""
        return dict(zip(self.results, self.split_results(op.attrs, op.results), strict=True))

    def params(self, op: Op, held: Held) -> dict[str, list[Value]]:
        """The parameters of a body by the name of their group."""
        groups = {**self.results_by_group(op), **self.groups(op)}
        return _named(held.function.params, held.body.takes, groups)

    def returns(self, op: Op, held: Held) -> dict[str, list[Value]]:
        """The returns of a body by the name of their group; none where the op alone reads them."""
        groups = {**self.groups(op), **self.results_by_group(op)}
        return _named(held.function.returns, held.body.gives, groups)

    def handed(self, op: Op, held: Held) -> list[tuple[int, int]]:
        """For the body of a loop, pairs of places: of a carry's parameter, and of the return that
        becomes this parameter in the next turn. Empty for other bodies."""
        if "carry" not in held.body.gives:
            return []
        params, returns = self.params(op, held), self.returns(op, held)
        return [*zip(_places(params)["carry"], _places(returns)["carry"], strict=True)]


def _places(groups: Mapping[str, Sequence[Any]]) -> dict[str, list[int]]:
    sizes = [len(group) for group in groups.values()]
    *parts, _ = cut(range(sum(sizes)), *sizes)
    return dict(zip(groups, parts, strict=True))


class Held:
    """A body of an op: the attribute that holds it, what it takes and gives, the Function."""

    __slots__ = ("body", "function", "name")

    def __init__(self, name: str, body: Body, function: Any) -> None:
        self.name, self.body, self.function = name, body, function


class ByGroup:
    """The operands and results of an op by the name of their group, its bodies, and for each of
    these its parameters and returns. Code that asks much about one op makes it once."""

    __slots__ = ("held", "op", "operands", "params", "results", "returns")

    def __init__(self, op: Op, held: Sequence[Held]) -> None:
        regions: Regions = op.definition.regions
        self.op, self.held = op, held
        self.operands, self.results = regions.groups(op), regions.results_by_group(op)
        of_params = {**self.results, **self.operands}
        of_returns = {**self.operands, **self.results}
        self.params = [_named(one.function.params, one.body.takes, of_params) for one in held]
        self.returns = [_named(one.function.returns, one.body.gives, of_returns) for one in held]


def _named(values: Sequence[Value], names: Sequence[str], groups: Mapping[str, list[Value]]
           ) -> dict[str, list[Value]]:
    """The values divided into groups of these names, each of the size of its group in `groups`."""
    made: dict[str, list[Value]] = {}
    at = 0
    for name in names:
        end = at + len(groups[name])
        made[name] = list(values[at:end])
        at = end
    return made


def _grouped(sizes: Sequence[Size], attrs: Mapping[str, Any], values: Sequence[Any]
             ) -> list[list[Any]]:
    rest, n_shares = len(values), 0
    known: list[int | None] = []
    for size in sizes:
        n: Any = attrs[size] if type(size) is str else size
        known += [n]
        if n is None:
            n_shares += 1
        else:
            rest -= n
    parts: list[list[Any]] = []
    at = 0
    for n in known:
        end = at + (rest // n_shares if n is None else n)
        parts += [list(values[at:end])]
        at = end
    return parts


# --- ops with other operands ----------------------------------------------------------------

def rebuilt(op: Op, groups: Sequence[Sequence[Value]], functions: Sequence[Any],
            results: Sequence[Value] | None = None) -> Op:
    """The op with these groups of operands and these bodies in the order of its schema."""
    attrs = {**_attrs_with(op, functions), **op.definition.regions.sizes(groups)}
    return Op(op.definition, tuple([v for group in groups for v in group]), attrs,
              op.results if results is None else tuple(results), op.loc)


def with_bodies(op: Op, functions: Sequence[Any]) -> Op:
    """The op with these bodies in the order of its schema; itself where it has them already."""
    attrs = _attrs_with(op, functions)
    return op if attrs == op.attrs else Op(op.definition, op.operands, attrs, op.results, op.loc)


def _attrs_with(op: Op, functions: Sequence[Any]) -> dict[str, Any]:
    given, attrs = iter(functions), dict(op.attrs)
    for name in op.definition.body_attrs:
        value = attrs.get(name)
        if type(value) is tuple:
            many: list[Any] = [*value]
            attrs[name] = tuple([next(given) for _ in many])
        elif value is not None:
            attrs[name] = next(given)
    return attrs


def add(op: Op, functions: Sequence[Any], extra: Sequence[Sequence[Value]]) -> Op:
    """The op with further values from outside for its bodies.

    Args:
      op: an op with bodies.
      functions: its bodies, with trailing parameters for further values.
      extra: for each body, these values.
    """
    regions = op.definition.regions
    held, groups = regions.held(op), regions.groups(op)
    joining: dict[str, list[Value]] = {}
    for one, values in zip(held, extra, strict=True):
        joined = joining.setdefault(one.body.grows, [])
        joined.extend([v for v in values if v not in joined])
    made: list[Function] = []
    for one, function, values in zip(held, functions, extra, strict=True):
        body, every = one.body, joining[one.body.grows]
        if every != list(values):
            function = _with_others(function, values, every)
        if body.grows != body.takes[-1]:
            before = sum([len(groups[g]) for g in body.takes[:body.takes.index(body.grows) + 1]])
            function = _last_at(function, len(every), before)
        made.append(function)
    for name, values in joining.items():
        groups[name] = [*groups[name], *values]
    found = rebuilt(op, list(groups.values()), made)
    if regions.widened is not None:
        found.attrs.update(regions.widened(op, found.attrs, tuple(
            [v.type for values in joining.values() for v in values])))
    return found


def _with_others(body: Function, own: Sequence[Value], every: Sequence[Value]) -> Function:
    """A body whose last parameters stand for the outer values `own`, with parameters for all of
    `every` in their place."""
    params, last = cut(body.params, len(body.params) - len(own))
    mine = dict(zip(own, last, strict=True))
    return body.replace(params=(*params, *[mine[v] if v in mine else Value(v.type) for v in every]),
                        param_names=(), weak_params=())


def _last_at(body: Function, n: int, at: int) -> Function:
    """`body` with its last n parameters moved to place `at`."""
    if not n:
        return body
    before, rest, last = cut(body.params, at, len(body.params) - n - at)
    return body.replace(params=(*before, *last, *rest), param_names=(), weak_params=())


def returning(op: Op, one: Held, stay: Mapping[str, Flags]) -> Function:
    """A body of an op with only the returns that `stay` flags, which has flags for each group."""
    flags = [f for name in one.body.gives for f in stay[name]]
    return _narrowed(one.function, None, flags if one.body.gives else None)


def keep(op: Op, used: Mapping[str, Flags], stay: Mapping[str, Flags], functions: Sequence[Function]
         ) -> Op:
    """The op with only some of its operands and results.

    Args:
      op: an op whose regions are `free`.
      used, stay: which operands and which results, by group.
      functions: its bodies, which give these results already.
    """
    regions = op.definition.regions
    made = [_narrowed(function, [f for name in one.body.takes for f in used[name]], None)
            for one, function in zip(regions.held(op), functions, strict=True)]
    groups = [select(values, used[name]) for name, values in regions.groups(op).items()]
    return rebuilt(op, groups, made, select(op.results, [f for fs in stay.values() for f in fs]))


def _narrowed(body: Function, params: Flags | None, returns: Flags | None) -> Function:
    """`body` with the flagged parameters and returns (None: all), made once for all ops with it."""
    if all(params or ()) and all(returns or ()):
        return body
    changes: dict[str, Any] = {}
    if params is not None:
        changes = {"params": select(body.params, params), "param_names": (), "weak_params": ()}
    if returns is not None:
        changes |= {"returns": select(body.returns, returns), "weak_returns": ()}
    return remembered(body, ("narrowed", params and tuple(params), returns and tuple(returns)),
                      lambda: body.replace(**changes))


def values_read(body: Function) -> set[Value]:
    """The values that a body's ops read or that it returns."""
    return {v for op in body.ops for v in op.operands}.union(body.returns)


def operands_read(groups: ByGroup, functions: Sequence[Function]) -> dict[str, list[bool]]:
    """Which operands some body reads, by group; an operand that no body takes is read by the op."""
    taken = {name for one in groups.held for name in one.body.takes}
    used = {name: [name not in taken] * len(values) for name, values in groups.operands.items()}
    for params, function in zip(groups.params, functions, strict=True):
        inside = values_read(function)
        for name, values in params.items():
            used[name] = [u or v in inside for u, v in zip(used[name], values, strict=True)]
    return used


def unchanged(groups: ByGroup) -> list[bool]:
    """For each carry of a loop, whether every turn leaves it as it is."""
    for params, returns in zip(groups.params, groups.returns, strict=True):
        if "carry" in returns:
            return [v is r for v, r in zip(params["carry"], returns["carry"], strict=True)]
    return []


def fix(op: Op, fixed: Flags) -> Op:
    """The loop after the carries flagged in `fixed`, which are the same in every turn, have become
    values from outside."""
    regions = op.definition.regions
    free, groups = [not f for f in fixed], regions.groups(op)
    same = select(groups["carry"], fixed)
    made: list[Function] = []
    for one in regions.held(op):
        params = regions.params(op, one)
        params[one.body.grows] += select(params["carry"], fixed)
        params["carry"] = select(params["carry"], free)
        groups[one.body.grows] = [*groups[one.body.grows], *same]
        returns: Sequence[Value] = one.function.returns
        if one.body.gives:
            given = regions.returns(op, one)
            given["carry"] = select(given["carry"], free)
            returns = [v for values in given.values() for v in values]
        made.append(one.function.replace(
            params=[v for values in params.values() for v in values], returns=returns,
            param_names=(), weak_params=(), weak_returns=()))
    groups["carry"] = select(groups["carry"], free)
    results = regions.results_by_group(op)
    results["carry"] = select(results["carry"], free)
    return rebuilt(op, list(groups.values()), made, [v for vs in results.values() for v in vs])
